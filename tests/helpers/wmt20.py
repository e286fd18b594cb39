"""WMT20's judgments and metric scores as matrices, and the published numbers to compare with."""

from __future__ import annotations

import html
import json
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bsx.analysis.stats.systems.grouped import grid
from bsx.support.checks import Array
from tests.helpers.tables import read_rows


@cache
def reference(shared: Path) -> dict[str, Any]:
    values = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))
    assert isinstance(values, dict)
    return values


@cache
def judged(shared: Path, pair: str) -> dict[str, Array]:
    """All judged systems and segments of a language pair; blank cells are NaN."""
    return as_grid(read_rows(shared / f"data/wmt/wmt20-{pair}.scores.tsv"))[1]


@cache
def complete(shared: Path, pair: str) -> dict[str, Array]:
    """The segments that all listed systems have, in the order of the reference values: both by name."""
    expected = reference(shared)["wmt20_complete_matrix"][pair]
    table = [
        row for row in read_rows(shared / f"data/wmt/wmt20-{pair}.scores.tsv") if row["system"] in expected["systems"]
    ]
    names = [*expected["metrics"], "human_raw", "human_z"]
    systems, columns = as_grid(table, names)
    whole = np.flatnonzero(np.isfinite(list(columns.values())).all(axis=(0, 1)))
    assert len(whole) == expected["n_segments"]
    order = [systems.index(name) for name in expected["systems"]]
    segments = list(dict.fromkeys(row["sid"] for row in table))
    by_name = sorted(whole.tolist(), key=lambda k: segments[k])
    return {name: values[np.ix_(order, by_name)] for name, values in columns.items()}


def as_grid(table: list[dict[str, str]], names: list[str] | None = None) -> tuple[tuple[Any, ...], dict[str, Array]]:
    names = names or [name for name in table[0] if name not in ("system", "sid")]
    columns = {name: [float(row[name] or "nan") for row in table] for name in names}
    return grid([row["system"] for row in table], [row["sid"] for row in table], columns)


def letters(text: str) -> str:
    """Return what two copies of a text share that differ in escapes, accents, case and spacing."""
    text = unicodedata.normalize("NFKD", html.unescape(html.unescape(text))).casefold()
    return "".join(c for c in text if c.isascii() and c.isalnum())
