"""The command line end to end: real model, real files, and everything a user can get wrong."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from bsx import Scorer
from bsx.cli.commands import COMMANDS, HEADINGS, build
from bsx.encode.run_config import RunConfig
from tests.conftest import Cli
from tests.helpers.tables import read_rows

CANDIDATES = ["The cat sat.", "A dog barked at “us”.", "", "Rain\u2028fell\x85today"]
REFERENCES = ["A cat was sitting.", "The dog barked.", "Nothing", "It rained today"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "hyps.txt").write_text("\n".join(CANDIDATES) + "\n", encoding="utf-8", newline="")
    (tmp_path / "refs.txt").write_text("\n".join(REFERENCES) + "\n", encoding="utf-8", newline="")
    return tmp_path


@pytest.fixture
def texts(files: Path) -> tuple[object, ...]:
    return "-c", files / "hyps.txt", "-r", files / "refs.txt", "-m", "minilm"


def test_json_and_rows_are_those_of_the_scorer(
    cli: Cli, files: Path, texts: tuple[object, ...], minilm: Scorer
) -> None:
    out = files / "o.tsv"
    result = cli("score", *texts, "--format", "json", "-o", out)
    assert result.status == 0
    summary = json.loads(result.out)
    expected = minilm.score(CANDIDATES, REFERENCES)
    assert set(summary) >= {"precision", "recall", "f1", "truncated", "systems"}
    assert (summary["metric"], summary["model"], summary["layer"], summary["n"]) == ("bertscore", "minilm", 4, 4)
    assert summary["signature"] == str(expected.signature)
    assert summary["empty"] == 1
    for name in ("precision", "recall", "f1"):
        assert summary[name] == pytest.approx(expected.mean()[name], abs=1e-6)
    rows = read_rows(out)
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    assert list(rows[0]) == ["id", "precision", "recall", "f1"]
    np.testing.assert_allclose([float(row["f1"]) for row in rows], expected.f1, atol=1e-6)
    assert (files / "o.tsv.signature.txt").read_text().strip() == summary["signature"]
    assert "segments 3" in result.err


def test_several_systems_and_references(cli: Cli, files: Path, texts: tuple[object, ...], minilm: Scorer) -> None:
    (files / "other.txt").write_text("\n".join(reversed(CANDIDATES)) + "\n", encoding="utf-8")
    second = ["", "A hound barked.", "x", "Rain came."]
    (files / "refs2.txt").write_text("\n".join(second) + "\n", encoding="utf-8")
    several = (*texts, "-c", files / "other.txt", "-r", files / "refs2.txt")
    result = cli("score", *several, "--format", "json", "-o", files / "o.jsonl")
    summary = json.loads(result.out)
    groups = list(zip(REFERENCES, second, strict=True))
    expected = minilm.score_systems({"hyps": CANDIDATES, "other": CANDIDATES[::-1]}, groups)
    assert [entry["name"] for entry in summary["systems"]] == ["hyps", "other"]
    for entry in summary["systems"]:
        assert entry["f1"] == pytest.approx(expected[entry["name"]].mean()["f1"], abs=1e-6)
    assert summary["n"] == 8
    assert summary["f1"] == pytest.approx(np.mean([entry["f1"] for entry in summary["systems"]]))
    rows = [json.loads(line) for line in (files / "o.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], row["system"]) for row in rows[:3]] == [("1", "hyps"), ("1", "other"), ("2", "hyps")]
    text = cli("score", *texts)
    assert "hyps" in text.out
    assert "metric:bertscore" in text.out


def test_standard_input(cli: Cli, files: Path, texts: tuple[object, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    expected = json.loads(cli("score", *texts, "--format", "json").out)["f1"]
    feed((files / "hyps.txt").read_bytes())
    piped = cli("score", "-c", "-", "-r", files / "refs.txt", "-m", "minilm", "--format", "json")
    assert json.loads(piped.out)["f1"] == expected
    assert json.loads(piped.out)["systems"][0]["name"] == "stdin"
    rows = [{"mt": c, "ref": r} for c, r in zip(CANDIDATES, REFERENCES, strict=True)]
    feed("".join(json.dumps(row) + "\n" for row in rows).encode())
    result = cli("score", "-", "--candidate", "mt", "--reference", "ref", "-m", "minilm", "--format", "json")
    assert json.loads(result.out)["f1"] == expected
    feed(b"")
    assert "standard input: is empty" in cli("score", "-c", "-", "-r", files / "refs.txt", "-m", "minilm").err


def test_all_layers(cli: Cli, files: Path, texts: tuple[object, ...]) -> None:
    result = cli("score", *texts, "--all-layers", "--format", "json", "-o", files / "o.csv")
    summary = json.loads(result.out)
    assert summary["layer"] == "all"
    assert len(summary["f1"]) == 7
    rows = list(csv.DictReader((files / "o.csv").read_text().splitlines()))
    assert len(rows) == 4 * 7
    assert list(rows[0]) == ["id", "layer", "precision", "recall", "f1"]


def test_match(cli: Cli, tmp_path: Path, minilm: Scorer) -> None:
    candidate, reference = "He paid $5 <b>", "She paid five \\dollars"
    result = cli("match", candidate, reference, "-m", "minilm", "--format", "json", "--plot", tmp_path / "a.html")
    alignment = json.loads(result.out)
    assert alignment["f1"] == pytest.approx(minilm.score([candidate], [reference]).f1[0], abs=1e-6)
    for side, figure in (("candidate", "precision"), ("reference", "recall")):
        tokens = alignment[side]["tokens"]
        weighed = sum(t["weight"] * t["similarity"] for t in tokens) / sum(t["weight"] for t in tokens)
        assert weighed == pytest.approx(alignment[figure], abs=1e-5)
    cosines = np.array(alignment["cosines"])
    assert [t["match"] for t in alignment["candidate"]["tokens"]] == cosines.argmax(axis=1).tolist()
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "He paid $5 &lt;b&gt;" in page
    assert "$5 <b>" not in page
    for suffix, start in (("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")):
        assert cli("match", candidate, reference, "-m", "minilm", "--plot", tmp_path / f"a.{suffix}").status == 0
        assert start in (tmp_path / f"a.{suffix}").read_bytes()[:200]
    text = cli("match", "the cat", "a cat", "-m", "minilm").out
    assert text.startswith("BERTScore F1 of the pair: ")
    assert "[CLS]" not in text
    assert "[CLS]" in cli("match", "the cat", "a cat", "-m", "minilm", "--full").out


def test_models(cli: Cli) -> None:
    rows = {row["name"]: row for row in json.loads(cli("models", "--format", "json").out)["models"]}
    assert rows["minilm"]["available"] is True
    assert rows["roberta-large"]["layer"] == 17
    assert "roberta-large" in cli("models", "--full").out
    short = cli("models").out.splitlines()
    assert short[0].startswith(f"{len(rows)} models, ")
    here = [name for name, row in rows.items() if row["available"]]
    assert [line.split()[0] for line in short[3 : 3 + len(here)]] == here
    assert len(short) <= 25
    assert max(map(len, short[2:])) <= 100
    for lang in ("de", "en", "zh-en", "sw", "tr"):
        lines = cli("models", "--lang", lang).out.splitlines()
        assert len(lines) <= 25, lang
        assert max(len(line) for line in lines[2:] if not line.lower().startswith("note")) <= 100, lang
    shown = json.loads(cli("models", "show", "FacebookAI/roberta-large", "--format", "json").out)
    assert shown["name"] == "roberta-large"
    assert shown["baselines"]["en"]["17"]["f1"] == 0.83122575
    assert "leading_space" in cli("models", "show", "roberta-large").out
    languages = json.loads(cli("models", "--languages", "--format", "json").out)["languages"]
    chinese = next(row for row in languages if row["code"] == "zh")
    assert (chinese["name"], chinese["model"]) == ("Chinese", "bert-base-chinese")
    assert "Near: minilm" in cli("models", "show", "minilmm").err
    assert "minilm: sha256:53aa51172d14" in cli("models", "pull", "minilm").out


def test_an_unwritable_folder(cli: Cli, files: Path, texts: tuple[object, ...]) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    locked = files / "locked"
    locked.mkdir(mode=0o500)
    result = cli("score", *texts, "-o", locked / "o.tsv")
    assert result.status == 2
    assert "cannot write in" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
@pytest.mark.parametrize("name", ["o.tsv", "o.jsonl", "o.parquet"])
def test_a_full_disk_is_named_and_nothing_stays(name: str, cli: Cli, files: Path) -> None:
    import resource

    many = files / "many.txt"
    many.write_text("".join(f"number {i}\n" for i in range(400)))
    before = sorted(files.iterdir())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))
    try:
        result = cli("score", "-c", many, "-r", many, "--metrics", "chrf", "-o", files / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.status == 2
    assert result.err == f"bsx: error: {files / name}: cannot be written (File too large)\n"
    assert sorted(files.iterdir()) == before


def test_a_failure_while_scoring_leaves_an_old_output_alone(cli: Cli, files: Path, texts: tuple[object, ...]) -> None:
    out = files / "o.tsv"
    out.write_text("precious")
    (files / "hyps.txt").write_text("word " * 700 + "\nb\nc\nd\n")
    result = cli("score", *texts, "--encoder", "strict=true", "-o", out)
    assert result.status == 2
    assert "segment 1 (candidate, 190 tokens too many)" in result.err
    assert out.read_text() == "precious"
    assert not list(files.glob(".*"))


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


STARTED = "import sys; sys.argv = ['bsx', {}]\nfrom bsx.cli.main import _status\n_status()"


@pytest.mark.parametrize("start", ["import bsx", STARTED.format("'--help'"), STARTED.format("'probe', '--help-all'")])
def test_starting_imports_nothing_heavy(start: str) -> None:
    heavy = ["torch", "transformers", "pandas", "matplotlib", "scipy", "sklearn", "pyarrow"]
    out = run_python(f"{start}\nimport sys\nprint([m for m in {heavy} if m in sys.modules])")
    assert out.splitlines()[-1] == "[]"


def test_scoring_imports_what_it_runs(tmp_path: Path) -> None:
    """Nothing that analyses or shows; without a model, nothing that runs one."""
    (tmp_path / "a.txt").write_text("a cat\n", encoding="utf-8")
    words = ["bsx", "score", "-c", str(tmp_path / "a.txt"), "-r", str(tmp_path / "a.txt"), "--metrics", "chrf"]
    out = run_python(
        f"import sys; sys.argv = {words}\nfrom bsx.cli.main import _status\n_status()\nprint(*sys.modules)"
    )
    loaded = set(out.splitlines()[-1].split())
    assert "bsx.metrics.run" in loaded
    assert len([name for name in loaded if name.startswith("bsx.")]) <= 80
    assert not {name for name in loaded if name.startswith(("bsx.analysis", "bsx.encode.light"))}


def test_version_help_and_module(cli: Cli) -> None:
    import bsx

    assert cli("--version").out.strip() == f"bsx {bsx.__version__}"
    assert "score" in cli().out
    assert "tune" in cli("registry").out
    for command in ("score", "match", "models", "registry"):
        shown = cli(command, "--help")
        assert shown.status == 0
        assert "  -h, --help, --help-all " in shown.out  # in this order, not in that of a set
    assert cli("scroe").err.startswith("bsx: error: No such command 'scroe'")


def test_help_shows_what_most_users_need_and_help_all_the_rest(cli: Cli) -> None:
    short, whole = cli("meta", "--help").out, cli("meta", "--help-all").out
    assert "--level" in short
    assert "--detail" not in short
    assert "more options: --help-all" in short
    assert "--detail" in whole
    assert "More options:" in whole
    for spelled in ("<str>", "<path>", "<list[", "<int", "<float", "<any>", "typing."):
        assert spelled not in whole
    headings = [line for line in whole.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Arguments:", "Texts:", "Metrics:", "Options:", "Output:", "More options:"]


def parameters() -> Iterator[tuple[str, Any, Any]]:
    """Yield every parameter of every command: the command's name, the command, and what Typer knows of it."""

    def within(name: str, command: Any) -> Iterator[tuple[str, Any, Any]]:
        yield from ((name, command, parameter) for parameter in command.params)
        for below, found in getattr(command, "commands", {}).items():
            yield from within(f"{name} {below}", found)

    yield from within("bsx", typer.main.get_command(build(list(COMMANDS))))


def test_settings_that_help_shows_first_exist() -> None:
    commands = {name: command for name, command, _ in parameters()}
    often = {(name, first) for name, command in commands.items() for first in getattr(command.callback, "often", ())}
    assert len(often) > 100
    assert not often - {(name, parameter.name) for name, _, parameter in parameters()}


def test_help_has_arguments_first_and_what_all_commands_share_last() -> None:
    last = {*RunConfig.model_fields, "metrics", "model", "lang"}
    commands = {name: command.params for name, command, _ in parameters()}
    assert next(p for p in commands["bsx probe"] if p.name == "train_sizes").multiple  # of a list of numbers
    checked = 0
    for name, params in commands.items():
        if {"registry", "encoder"} <= {p.name for p in params}:
            kinds = [0 if p.param_type_name == "argument" else 2 if p.name in last else 1 for p in params]
            end = max(place for place, p in enumerate(params) if p.name in RunConfig.model_fields)
            assert kinds[: end + 1] == sorted(kinds[: end + 1]), name
            checked += 1
    assert checked > 15


def test_an_option_takes_the_same_kind_of_value_everywhere() -> None:
    """A flag of one command is no column of another: a name has one meaning."""

    def kinds(annotation: Any) -> str:
        text = re.sub(r"list\[(.*)\]", r"\1", str(annotation))  # one or several
        if text.startswith("typing.Literal"):
            return "choice"
        return next((kind for kind in ("bool", "int", "float") if f"'{kind}'" in text or text == kind), "text")

    found: dict[str, dict[str, set[str]]] = {}
    for name, _, option in parameters():
        for spelled in option.opts:
            found.setdefault(spelled, {}).setdefault(kinds(option.type_descriptor.annotation), set()).add(name)
    found.pop("--judgments")  # a number, or several of them
    assert len(found) > 150
    assert not {name: uses for name, uses in found.items() if name.startswith("-") and len(uses) > 1}


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("bsx sc", ["score"]),
        ("bsx meta {table} --columns c", ["chrF"]),
        ("bsx meta {table} --columns chrF,s", ["chrF,segment", "chrF,system"]),
        ("bsx score --metrics chrf,ble", ["chrf,bleu", "chrf,bleurt"]),
        ("bsx score --model minil", ["minilm"]),
        ("bsx score --lang da", ["da"]),
        ("bsx meta nothing.tsv --columns c", []),
    ],
)
def test_a_shell_completes_commands_names_and_columns(line: str, offers: list[str], tmp_path: Path) -> None:
    table = tmp_path / "scores.tsv"
    table.write_text("system\tsegment\tchrF\thuman\na\t1\t.5\t2\n", encoding="utf-8")
    words = line.format(table=table)
    asked = {"_BSX_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    run = [sys.executable, "-m", "bsx"]
    done = subprocess.run(run, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offers


def test_options_are_the_scorers_settings(cli: Cli) -> None:
    from bsx.bertscore.config import ScorerConfig

    text: Any = cli("score", "--help-all").out
    for name in ScorerConfig.model_fields:
        assert f"--{name.replace('_', '-')}" in text or f"{name}:" in text.partition("--encoder")[2], name


def test_no_command_has_an_option_twice() -> None:
    found = Counter((name, option) for name, _, one in parameters() for option in (*one.opts, *one.secondary_opts))
    assert len(found) > 100
    assert [place for place, times in found.items() if times > 1] == []


def test_the_list_of_commands_is_grouped_and_cuts_no_summary(cli: Cli) -> None:
    assert sorted(name for names in HEADINGS.values() for name in names) == sorted(COMMANDS)
    text = " ".join(cli("--help").out.split())
    assert all(heading in text for heading in HEADINGS)
    assert all(f"{name} {summary}" in text for name, summary in ((n, c.help) for n, c in COMMANDS.items()))
    assert "(Mathur et al. 2019, figure 1)." in " ".join(cli("train", "--help").out.split())


def test_an_option_means_the_same_in_every_command() -> None:
    found = [(name, one.opts[-1], one) for name, _, one in parameters() if one.param_type_name == "option"]
    assert not [command for command, name, _ in found if name in ("--score", "--metric", "--column")]
    for wanted in ("--metrics", "--columns", "--lower"):
        taking = {command: option for command, name, option in found if name == wanted}
        assert len(taking) > 3
        assert all(option.multiple for option in taking.values()), wanted
    # What is taken where nobody names any stands in brackets.
    assert len({option.help.partition(" [")[0] for _, name, option in found if name == "--columns"}) == 1
    assert len({option.help for _, name, option in found if name == "--lower"}) == 1
