"""``bsx spans`` from files: the answer first, every form, and one line for bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
HEADER = "system\tsegment\tdocument\tannotator\tstart\tend\tseverity\tcategory\tcandidate"
TEXT = "the old cat sat down"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two annotators of twelve segments in six documents, and two predictions."""
    gold, near, far = [HEADER], [HEADER], [HEADER]
    for i in range(12):
        of = f"A\t{i}\td{i // 2}"
        for who, end in (("r", 7), ("s", 11)):
            severity = "no-error\t" if i % 4 == 3 else f"{'major' if i % 2 else 'minor'}\tstyle"
            gold.append(f"{of}\t{who}\t{'' if i % 4 == 3 else 4}\t{'' if i % 4 == 3 else end}\t{severity}\t{TEXT}")
        near.append(f"{of}\t\t4\t{7 + i % 3}\tminor\t\t{TEXT}")
        far.append(f"{of}\t\t12\t{15 + i % 3}\tminor\t\t{TEXT}")
    for name, rows in (("gold", gold), ("near", near), ("far", far)):
        (tmp_path / f"{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_answer_comes_first_and_is_short(cli: Cli, files: Path) -> None:
    done = cli("spans", "gold.tsv", "--predicted", "far.tsv", "--predicted", "near.tsv", "--resamples", "200")
    assert done.status == 0, done.err
    first = done.out.partition("\n")[0]
    assert first.startswith("Of 2 predictions, near has the highest F1 by character")
    assert "significantly higher than far" in first
    assert len(done.out.splitlines()) < 50
    assert max(map(len, done.out.splitlines()[1:])) < 250
    whole = cli("spans", "gold.tsv", "--predicted", "far.tsv,near.tsv", "--full")
    assert whole.status == 2  # a name of a file may hold a comma: each is given by itself


def test_f1_is_not_praised_where_nothing_is_marked(cli: Cli, files: Path) -> None:
    done = cli("spans", "gold.tsv", "-p", "near.tsv", "--side", "source")
    first = done.out.partition("\n")[0]
    assert (done.status, "nothing to find" in first, "1.000" in first) == (0, True, False)


def test_every_form_holds_the_figures(cli: Cli, files: Path) -> None:
    command = ("spans", "gold.tsv", "-p", "near.tsv", "--resamples", "50")
    held = json.loads(cli(*command, "--format", "json").out)
    assert (held["units"], held["drawn"], held["outputs"]) == ("documents", 6, 12)
    (near,) = held["predictions"]
    assert cli(*command, "-o", "out.html").status == 0
    assert f"{near['wmt']['f1']:.3f}" in Path("out.html").read_text(encoding="utf-8")
    rows = cli(*command, "--format", "csv").out
    assert rows.splitlines()[0] == "prediction,measure,figure,value,low,high"
    assert cli(*command, "-o", "stored.json").status == 0
    assert cli("report", "stored.json", "-o", "page.html").status == 0
    assert "Error spans" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("gold.tsv", "nothing to judge"),
        ("gold.tsv -p near.tsv --judged gold.tsv", "judged has no effect"),
        ("gold.tsv -p near.tsv --gold q", "no annotator 'q'"),
        ("gold.tsv --as-predicted r,r", "named twice"),
        ("gold.tsv -p near.tsv --layout nosuch", "layout"),
        ("gold.tsv -p near.tsv --severities style", "severities"),
        ("gold.tsv -p absent.tsv", "absent.tsv"),
        ("gold.tsv -p short.tsv", "lacks 11 of the 12"),
        ("gold.tsv -p other.tsv", "other.tsv: line 2"),
        ("gold.tsv -p reversed.tsv", "reversed.tsv: line 2"),
        ("gold.tsv -p near.tsv -p ./near.tsv", "called 'near'"),
        ("gold.tsv -p near.tsv --credit 2", "credit"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(words: str, said: str, cli: Cli, files: Path) -> None:
    near = (files / "near.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (files / "short.tsv").write_text("".join(near[:2]), encoding="utf-8")
    (files / "other.tsv").write_text("".join([near[0], *(row.replace("old", "new") for row in near[1:])]))
    (files / "reversed.tsv").write_text("".join([near[0], near[1].replace("\t4\t7", "\t9\t7"), *near[2:]]))
    done = cli("spans", *words.split(), "-o", "out.json")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert said in done.err
    assert not (files / "out.json").exists()
