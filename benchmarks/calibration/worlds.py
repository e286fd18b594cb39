"""Sections that are tables of worlds: their counts are kept in files, so that a run can be stopped and resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration.rates import Rate
from bsx.data.output import atomic_text

COUNTS = Path(__file__).with_name("counts")
BLOCK = 20  # replicates that one worker takes at a time


@dataclass(frozen=True)
class World:
    """One row of a table.

    Attributes:
        name: what the row is called.
        draw: draws one data set.
        measure: of a data set: column -> whether it happened; a column that is left out was not defined.
    """

    name: str
    draw: Callable[[np.random.Generator], Any]
    measure: Callable[[Any], Mapping[str, bool]]

    def counts(self, first: int, last: int) -> dict[str, list[int]]:
        """Return column -> hits and runs of the replicates from ``first`` to before ``last``."""
        found: dict[str, list[int]] = {}
        for run in range(first, last):
            for column, happened in self.measure(self.draw(np.random.default_rng([1, run]))).items():
                hits = found.setdefault(column, [0, 0])
                hits[0] += bool(happened)
                hits[1] += 1
        return found


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Attributes:
        title: its heading.
        text: what the worlds are, and what to see.
        columns: what is counted, in this order.
        worlds: its rows.
    """

    title: str
    text: str
    columns: Sequence[str]
    worlds: Sequence[World]


@dataclass(frozen=True)
class Section:
    """Tables whose counts are kept in one file.

    Attributes:
        name: of the section.
        title: its heading.
        tables: in the page's order.
    """

    name: str
    title: str
    tables: Sequence[Table]

    @property
    def path(self) -> Path:
        """Where the counts are kept."""
        return COUNTS / f"{self.name}.json"

    def run(self, runs: int, workers: int = 1, only: str = "") -> None:
        """Count what is missing up to so many replicates; every block is kept as soon as it is done."""
        known = self._read()
        with ProcessPoolExecutor(workers) as pool:
            for table in self.tables:
                for world in table.worlds:
                    if only not in f"{table.title}: {world.name}":
                        continue
                    entry = known.setdefault(table.title, {}).setdefault(world.name, {"runs": 0, "counts": {}})
                    starts = range(entry["runs"], runs, BLOCK)
                    blocks = iter(starts)
                    while chunk := list(islice(blocks, 4 * workers)):
                        ends = [min(start + BLOCK, runs) for start in chunk]
                        for counted in pool.map(partial(World.counts, world), chunk, ends):
                            for column, (hits, defined) in counted.items():
                                old = entry["counts"].get(column, [0, 0])
                                entry["counts"][column] = [old[0] + hits, old[1] + defined]
                        entry["runs"] = ends[-1]
                        with atomic_text(self.path) as stream:
                            stream.write(json.dumps(known, indent=1, sort_keys=True) + "\n")
                    print(f"{table.title}: {world.name}: {self._cells(table, entry)}", flush=True)

    def text(self) -> str:
        """Return the section as Markdown, from the counts that are there."""
        known = self._read()
        parts = [f"## {self.title}"]
        for table in self.tables:
            rows = known.get(table.title, {})
            there = [world.name for world in table.worlds if world.name in rows]
            if not there:
                continue
            lines = [f"| world | {' | '.join(table.columns)} |", f"|---|{'---:|' * len(table.columns)}"]
            lines += [f"| {name} | {' | '.join(self._cells(table, rows[name]))} |" for name in there]
            runs = sorted({rows[name]["runs"] for name in there})
            many = " to ".join(f"{count:,}" for count in dict.fromkeys((runs[0], runs[-1])))
            end = f"{many} replicates a row; ± is the Monte-Carlo standard error."
            parts += [f"### {table.title}", table.text, "\n".join(lines), end]
        return "\n\n".join(parts)

    def _read(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        return read

    @staticmethod
    def _cells(table: Table, entry: Mapping[str, Any]) -> list[str]:
        counts = entry["counts"]
        return [str(Rate(*counts[column])) if column in counts else "" for column in table.columns]
