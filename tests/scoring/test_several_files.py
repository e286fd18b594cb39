"""A folder, or a pattern of names, is one table: nothing hangs on how its rows are cut into files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bsx import score_files
from bsx.errors import InputError
from tests.helpers.tables import write_rows

Row = dict[str, Any]
ROWS: list[Row] = [
    {"segment": f"{i}", "candidate": f"the old bridge {'of' * (i % 3)} river {i}", "reference": f"a bridge, river {i}"}
    for i in range(12)
]


def write(path: Path, rows: Sequence[Row]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(list(rows)), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        write_rows(path, rows)
    return str(path)


@pytest.mark.parametrize("kind", [".tsv", ".jsonl", ".parquet"])
def test_several_files_are_scored_as_one(kind: str, tmp_path: Path) -> None:
    table = tmp_path / "in"
    for i, some in enumerate([ROWS[:2], ROWS[2:3], ROWS[3:9], ROWS[9:]]):
        write(table / f"lang={'de' if i < 2 else 'en'}" / f"part-{i}{kind}", some)
    write(table / "_left" / f"part{kind}", ROWS[:3])  # not for readers, as the name says
    whole, again = tmp_path / f"whole{kind}", tmp_path / f"again{kind}"
    settings: Any = {"metrics": ["chrf", "bleu"]}
    expected = score_files(table=str(table), output=whole, **settings).to_dict()
    assert expected["segments"] == 12
    one = write(tmp_path / f"one{kind}", [{**row, "lang": "de" if i < 3 else "en"} for i, row in enumerate(ROWS)])
    found = score_files(table=one, output=again, **settings).to_dict()
    assert found["metrics"] == expected["metrics"]
    assert again.read_bytes() == whole.read_bytes() or kind == ".parquet"
    half = score_files(table=str(table / "lang=en" / f"*{kind}"), **settings).to_dict()
    assert half["segments"] == 9


def test_files_that_are_no_table_together(tmp_path: Path) -> None:
    write(tmp_path / "in" / "lang=de" / "a.tsv", ROWS)
    write(tmp_path / "in" / "lang=de" / "b.tsv", [{**row, "more": "x"} for row in ROWS])
    write(tmp_path / "twice" / "lang=de" / "a.tsv", [{**row, "lang": "de"} for row in ROWS])
    (tmp_path / "empty").mkdir()
    for name, said in (("in", "more"), ("twice", "lang"), ("empty", "without tables"), ("*.none", "no file")):
        with pytest.raises(InputError, match=said):
            score_files(table=str(tmp_path / name), metrics=["chrf"])
