"""What went wrong is told by the names of settings, and with a command to copy where one helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bsx.cli.output import progress_bar
from bsx.errors import InputError
from tests.conftest import Cli


def test_a_language_is_told_of_models_only_where_a_model_could_be_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("sentence1\tsentence2\na\tb\n")
    done = cli("factors", tmp_path / "p.tsv", "-o", tmp_path / "o.tsv", "--factors", "lex", "--lang", "qq")
    assert "unknown language 'qq'" in done.err
    assert "--model" not in done.err
    done = cli("score", tmp_path / "p.tsv", "--candidate", "sentence1", "--reference", "sentence2", "-l", "qq")
    assert "Without lang, a model that is named" in done.err


DOOR = {"sample": "--sample", "columns": "--columns", "data_dir": "--data-dir", "dtype": "--encoder dtype"}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("sample: cannot draw 5 of 4", "--sample: cannot draw 5 of 4"),
        ("sample=5 is one", "--sample=5 is one"),
        ("use dtype=fp32, or columns: a", "use --encoder dtype=fp32, or columns: a"),
        ("name some (columns), or leave out sample", "name some (--columns), or leave out --sample"),
        ("columns names scores; it has columns, data_dir", "--columns names scores; it has columns, data_dir"),
        ("no folder: data_dir names one", "no folder: --data-dir names one"),
        ("columns: 'a' is none", "--columns: 'a' is none"),
        ("level none leaves columns out", "--level none leaves columns out"),
    ],
)
def test_a_door_words_the_settings_that_a_message_mentions(message: str, told: str) -> None:
    error = InputError(message, file="t.tsv", setting="sample")
    assert str(error) == f"t.tsv: {message}"
    error.door = {**DOOR, "level none": "--level none"}
    assert str(error) == f"t.tsv: {told}"


@pytest.mark.parametrize(
    "message",
    [
        *("samples are few", "a sample", "the columns are wide", "'sample=5' and a:sample=5"),
        *("in /x/data_dir/y", "data_dir.tsv is empty", "sample=False is no number", "text 1 (sample, 9)"),
        *("there is 'x (sample)'", "column 'use sample=5 now' is 'a (columns)'", "metric m: sample needs columns=a"),
    ],
)
def test_a_door_leaves_what_is_merely_a_word(message: str) -> None:
    error = InputError(message, setting="sample")
    error.door = DOOR
    assert str(error) == message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("meta x.tsv --scores a", "; write --columns"),
        ("disentangle x.tsv --factors lex", "; write --factor-columns"),
        ("meta x.tsv --backend onnx", "; write --encoder backend=VALUE"),
        ("meta x.tsv --data d", "; write --data-dir"),
        ("score --hyp a", "; write --candidates"),
        ("score --cands a", "; write --candidates"),
        ("score --refs a", "; write --references"),
        ("adversarial challenge --refs a", "; write --reference"),
        ("score --batch-size 3", "; write --encoder batch_tokens=VALUE"),
        ("score --model-type x", "; write --model"),
        ("score --num-layers 3", "; write --layer"),
        ("score --rescale-with-baseline", "; write --rescale"),
        ("adversarial triples --scores-out x", "; --scores-out is of bsx meta, bsx ensemble (bsx adversarial triples"),
        ("score --all-pairs", "; --all-pairs is of bsx compare (bsx score --help"),
        ("meta x.tsv --colums a", ". Near: --columns, "),
        ("score --nosuchthing", ". (bsx score --help shows how)"),
    ],
)
def test_an_option_that_a_command_lacks_is_answered(cli: Cli, arguments: str, told: str) -> None:
    done = cli(*arguments.split())
    assert (done.status, done.err.count("\n")) == (2, 1)
    option = next(word for word in arguments.split() if word.startswith("--"))
    assert done.err.startswith(f"bsx: error: No such option: {option}{told}")


def test_missing_data_name_the_option_of_their_folder(cli: Cli, tmp_path: Path) -> None:
    done = cli("meta", "--test-set", "wmt17/zh-en", "--data-dir", tmp_path)
    assert f"wmt17-da is not in {tmp_path}: `bsx data get wmt17-da` fetches it; --data-dir names another" in done.err


def test_what_was_written_is_said_once_for_every_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("m\ta\tb\n1\t2\t3\n2\t1\t5\n3\t4\t4\n4\t5\t3\n5\t5\t6\n")
    words = ("meta", tmp_path / "t.tsv", "--columns", "a,b", "--human", "m", "-o")
    done = cli(*words, tmp_path / "x.tex", "--plot", tmp_path / "x.svg")
    said = [line for line in done.err.splitlines() if line.startswith("bsx: wrote ")]
    assert sorted(said) == [f"bsx: wrote {tmp_path / name}" for name in ("x.svg", "x.tex")], done.err
    assert "wrote" not in cli(*words, "-").err


def test_a_log_gets_a_line_of_progress_at_times(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    now = [0.0]
    monkeypatch.setattr("bsx.cli.output._Lines.seconds", 10.0)
    monkeypatch.setattr("bsx.cli.output.time.monotonic", lambda: now[0])
    with progress_bar() as report:
        for done in range(0, 3001, 100):
            now[0] += 1
            report("parsing", done, 3000)
    assert capsys.readouterr().err.splitlines() == [
        f"bsx: parsing: {n} of 3,000, about 0:00:{left} left"
        for n, left in (("900", 21), ("1,900", 11), ("2,900", "01"))
    ]


def test_too_few_rows_for_a_test_name_the_option(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("m\ta\tb\n1\t2\t3\n2\t1\t5\n3\t4\t4\n")
    done = cli("meta", tmp_path / "t.tsv", "--columns", "a,b", "--human", "m")
    assert done.status == 2
    assert "which needs 4; --test none leaves it out" in done.err


def test_what_works_without_a_hub_is_named_and_works(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    (tmp_path / "c.txt").write_text("U ghjattu dorme\n", encoding="utf-8")
    given = ["score", "-c", str(tmp_path / "c.txt"), "-r", str(tmp_path / "c.txt"), "--lang", "Corsican"]
    failed = cli(*given)
    assert failed.status == 2
    option = failed.err.strip().removesuffix(" needs none.").rpartition(" ")[2]
    assert option == "--metrics=chrf"
    assert "100.0000" in cli(*given, option).out
