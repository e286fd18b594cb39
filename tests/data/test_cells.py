"""A cell means the same to every command that reads it, in every format."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bsx.analysis import compute_factors
from bsx.analysis.datasets.tabular import load_table
from bsx.analysis.datasets.triples import load_triples
from bsx.analysis.meta.run import MetaRun
from bsx.analysis.report.documents import ScoreRows, read_document
from bsx.analysis.train.run import TrainingColumns
from bsx.analysis.tune.run import JudgedColumns
from bsx.bertscore.rescale import read_baseline
from bsx.catalog.catalog import shipped
from bsx.catalog.entries.models import Source
from bsx.data import cells
from bsx.data.columns import number_column, read_columns
from bsx.data.lines import NamedFile
from bsx.data.run import one_run
from bsx.data.tables import Table
from bsx.encode.model import Choice
from bsx.errors import InputError
from bsx.frames.judged import read_judged
from bsx.frames.open import open_frame

NAN, REFUSED = math.nan, None
NUMBERS: dict[object, float | None] = {
    **{"7": 7.0, " 0.5 ": 0.5, "-1e-3": -0.001, "+2.": 2.0},
    **dict.fromkeys(("", "  ", "NA", "na", "NaN", "None", "NULL"), NAN),
    **dict.fromkeys(("inf", "-Infinity", "1e999", "1_000", "1,5", "1 000", "n/a", "-", "true", "0x10", "٣"), REFUSED),
}
IN_JSON: dict[str, float | None] = {
    **{"5": 5.0, "0.25": 0.25, '"0.5"': 0.5},
    **dict.fromkeys(("null", "NaN", '"NA"'), NAN),
    **dict.fromkeys(("true", "[1]", "{}", "1e999", "1" + "0" * 400), REFUSED),
}
SEVERAL = ("candidate", "reference", "human", "other")

OTHER: Any = {"columns": ["other"], "human": ["human"]}


def columns_of(file: Path) -> dict[str, Any]:
    rows = list(Table(file).rows())
    return {name: [row[name] for row in rows] for name in SEVERAL}


def factor(file: Path) -> Any:
    return compute_factors("sem", ["a"] * 3, ["a"] * 3, columns=columns_of(file), human="human")["sem"].values


READERS: dict[str, Callable[[Path], Any]] = {
    "frame": lambda file: open_frame(MetaRun(table=file, **OTHER))[0].read(["human"])["human"],
    "load_table": lambda file: load_table(file).numbers("human"),
    "load_table(metrics)": lambda file: load_table(file, metrics=["human"]).numbers("human"),
    "tune and probe": lambda file: read_judged([file], JudgedColumns(), "en").human[:, 0],
    "train": lambda file: read_judged([file], TrainingColumns(human=["other", "human"]), None).human[:, 1],
    "columns": lambda file: number_column("human", columns_of(file)["human"]),
    "factors": factor,
    "disentangle": lambda file: read_columns(file, ["human"])["human"],
}


def write(file: Path, cell: str) -> Path:
    """Write a table of three rows, the second with the cell as it is spelled in the file."""
    rows = [("1", "5"), (cell, "6"), ("3", "7")]
    if file.suffix == ".jsonl":
        lines = [f'{{"candidate": "c", "reference": "r", "human": {a}, "other": {b}}}' for a, b in rows]
    else:
        between = "\t" if file.suffix == ".tsv" else ","
        quoted = [(f'"{a}"' if "," in a else a, b) for a, b in rows]
        lines = [between.join(SEVERAL), *(between.join(["c", "r", a, b]) for a, b in quoted)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def holds(reader: str, file: Path, expected: float | None) -> None:
    if expected is REFUSED or (math.isnan(expected) and reader == "tune and probe"):
        said = rf"({file.name}: line \d|'human').*('human'|row 2) is .*finite number|line \d has no human score"
        with pytest.raises(InputError, match=said):
            READERS[reader](file)
        return
    found = [float(x) for x in READERS[reader](file)]
    assert (found[0], found[2]) == (1.0, 3.0)
    assert found[1] == expected or (math.isnan(found[1]) and math.isnan(expected))


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_takes_a_cell_for_the_same(reader: str, tmp_path: Path) -> None:
    for number, (cell, expected) in enumerate(NUMBERS.items()):
        for suffix in (".tsv", ".csv"):
            holds(reader, write(tmp_path / f"t{number}{suffix}", str(cell)), expected)
    for number, (spelled, expected) in enumerate(IN_JSON.items() if reader not in ("columns", "factors") else ()):
        holds(reader, write(tmp_path / f"t{number}.jsonl", spelled), expected)


def test_a_column_that_nobody_named_is_one_of_numbers_by_the_same_rule(tmp_path: Path) -> None:
    for cell, expected in {**NUMBERS, "007": REFUSED}.items():
        file = write(tmp_path / "t.tsv", str(cell))
        if expected is REFUSED and cell != "007":  # one word among numbers
            with pytest.raises(InputError, match="column 'human'"):
                read_document(file)
        else:
            content = read_document(file).content
            assert isinstance(content, ScoreRows)
            assert "human" in content.numeric
        lines = f"label\tsentence1\tsentence2\tm\n1\ta\tb\t1\n0\ta\tc\t{cell}\n"
        (tmp_path / "triples.tsv").write_text(lines, encoding="utf-8")
        assert ("m" in load_triples(tmp_path / "triples.tsv").scores) == (expected is not REFUSED)


def test_baselines_of_bert_score_have_finite_numbers(tmp_path: Path) -> None:
    file = tmp_path / "base.tsv"  # as bert-score names them, though commas stand between the fields
    model = Choice("own", Source(path="own"), None, None)
    for cell, expected in NUMBERS.items():
        file.write_text(f'LAYER,P,R,F\n0,0.1,"{cell}",0.1\n', encoding="utf-8")
        if expected is not REFUSED and -1 <= expected < 1:
            assert read_baseline(file, 0, model, shipped(), "").figures[0, 1] == pytest.approx(expected)
            continue
        finite = expected is not REFUSED and not math.isnan(expected)
        with pytest.raises(InputError, match=r"must lie in \[-1, 1\)" if finite else "not a baseline file"):
            read_baseline(file, 0, model, shipped(), "")


def test_names_labels_and_texts() -> None:
    assert [cells.name(value, "x") for value in ("a", " b ", 3, 2.5, True)] == ["a", " b ", "3", "2.5", "True"]
    empty: list[Any] = ["", " ", "NA", "nan", "null", None, math.nan, ["a"], {}]
    for missing in empty:
        with pytest.raises(InputError, match=r"^here is "):
            cells.name(missing, "here")
    assert [cells.label(value, "x") for value in ("1", " 0 ", 1)] == [1, 0, 1]
    for wrong in ("", "2", "1.0", None, True):
        with pytest.raises(InputError, match="not 0 or 1"):
            cells.label(wrong, "x")
    assert [cells.text(value, "x") for value in ("", "NA", " a ")] == ["", "NA", " a "]
    for other in (None, 3, math.nan, ["a"]):
        with pytest.raises(InputError, match="not a text"):
            cells.text(other, "x")
    assert cells.texts(["a", ""], "x") == ["a", ""]
    assert cells.whole("12", "x") == 12
    for wrong in ("", "-1", "²", "1.0", "1" * 5000):
        with pytest.raises(InputError, match="not a whole number"):
            cells.whole(wrong, "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_what_can_be_read_but_once_is_read_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = "".join(f"line {i}\n" for i in range(20_000))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    file = NamedFile(pipe)
    writer.join()
    assert (file.name, len(list(file.lines())), len(list(file.lines()))) == (str(pipe), 20_000, 20_000)
    assert file.digest() == hashlib.sha256(text.encode()).hexdigest()
    copy = file.stored
    assert copy.parent == Path(tempfile.gettempdir())
    del file
    assert not copy.exists()

    row = json.dumps({"candidate": "c", "reference": "r", "human": 1, "other": 2})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((row + "\n").encode())))
    with one_run():
        for _ in range(2):  # all who read it in one run find all of it
            read = Table("-")
            assert (read.name, read.columns, len(list(read.rows()))) == ("standard input", list(SEVERAL), 1)
