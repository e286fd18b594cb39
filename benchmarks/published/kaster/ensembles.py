"""Table 13 of Kaster, Zhao & Eger 2021: what z-averages of two metrics gain on WMT17, from the published scores.

The published per-pair scores name neither the system nor the human score of a pair, so both come from WMT17's direct
assessment, joined by the texts. The authors joined by system and dropped, without a word, the rows of which several
systems share one output (``A+B``): no system is called that. Both joins are computed here.
"""

from __future__ import annotations

import html
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.ensembles.run import ensemble
from bsx.data.columns import Labels, read_columns
from bsx.errors import InputError
from bsx.support.checks import Array

FILE = "daseg-wmt17.tsv"
Scores: TypeAlias = "Mapping[str, Array | Labels]"
JOINS = ("theirs", "proper")


class EnsembleFacts(TypedDict):
    """What the table prints: gains by ensemble, its members, rows of each language pair, cells known to match."""

    rows: dict[str, int]
    expected: int
    members: dict[str, list[str]]
    printed: dict[str, list[int]]


@dataclass(frozen=True)
class GainCell:
    """One figure of Table 13.

    Attributes:
        ensemble: as the paper calls it.
        group: language pair, or ``Avg``.
        paper: printed gain in percent.
        ours: gain in percent with the paper's join.
        matches: ours, rounded, is the printed one.
        proper: gain in percent with all rows.
        low: lower end of its 95 % bootstrap interval.
        high: upper end.
    """

    ensemble: str
    group: str
    paper: int
    ours: float
    matches: bool
    proper: float
    low: float
    high: float


@dataclass(frozen=True)
class Table13:
    """The table's reference-based half.

    Attributes:
        ok: whether every average matches, and as many cells of language pairs as are known to.
        cells: the figures, those of the averages (``Avg``) included.
        count: cells of language pairs.
        match: of them, those that match.
        averages_match: averages that match.
        rows: language pair -> rows with scores and a human judgment.
        dropped: language pair -> rows that the paper's join drops.
    """

    ok: bool
    cells: tuple[GainCell, ...]
    count: int
    match: int
    averages_match: int
    rows: dict[str, int]
    dropped: dict[str, int]


def find_judgments(folder: Path) -> Path | None:
    """Return WMT17's direct assessment if it lies in the folder of published scores or beside it."""
    places = (folder / FILE, folder / "wmt" / FILE, folder.parent / "wmt" / FILE)
    return next((place for place in places if place.is_file()), None)


def reproduce_ensembles(scores: Scores, judgments: Path, facts: EnsembleFacts) -> Table13:
    """Recompute the table.

    Args:
        scores: columns of the published English WMT scores, texts included.
        judgments: table with lp, system, reference, candidate, human of WMT17.
        facts: what is printed: ``rows`` of each language pair at the end of ``scores``, ``members``, ``printed``,
            ``expected``.

    Raises:
        InputError: if a published pair has no human judgment.
    """
    table, several = _join(scores, judgments, facts)
    cells = []
    for name, members in facts["members"].items():
        # Constants come from all rows of WMT17, whichever rows the correlation then sees.
        found = {
            join: ensemble(_rows(table, rows), members, "human", group="lp", texts=(), how="z", fit=table)
            for join, rows in zip(JOINS, (~several, np.ones_like(several)), strict=True)
        }
        theirs, proper = (found[join] for join in JOINS)
        gains = [(group.gain, group.group) for group in theirs.groups] + [(theirs.average_gain, "Avg")]
        ends = [(g.gain, *g.ci) for g in proper.groups] + [(proper.average_gain, *proper.average_ci)]
        for (gain, group), (whole, low, high), paper in zip(gains, ends, facts["printed"][name], strict=True):
            same = round(100 * gain) == paper
            cells.append(GainCell(name, group, paper, 100 * gain, same, 100 * whole, 100 * low, 100 * high))
    labels = np.array(table["lp"])
    rows = {group: int(np.count_nonzero(labels == group)) for group in facts["rows"]}
    dropped = {group: int(np.count_nonzero(several[labels == group])) for group in facts["rows"]}
    pairs, averages = ([cell.matches for cell in cells if (cell.group == "Avg") is mean] for mean in (False, True))
    ok = sum(pairs) >= facts["expected"] and all(averages)
    return Table13(ok, tuple(cells), len(pairs), sum(pairs), sum(averages), rows, dropped)


def _join(scores: Scores, judgments: Path, facts: EnsembleFacts) -> tuple[Scores, NDArray[np.bool_]]:
    """Return the WMT17 rows with language pair and human score, and which of them several systems share."""
    human = read_columns(judgments, ["human"], ["lp", "system", "reference", "candidate"])
    places: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for i, key in enumerate(zip(human["lp"], human["reference"], human["candidate"], strict=True)):
        places[key[0], _letters(key[1]), _letters(key[2])].append(i)
    groups = [group for group, count in facts["rows"].items() for _ in range(count)]
    start = len(scores["sentence1"]) - len(groups)
    found = []
    for row, group in enumerate(groups, start=start):
        # In these rows the candidate comes first.
        key = (group, _letters(scores["sentence2"][row]), _letters(scores["sentence1"][row]))
        if not places[key]:
            raise InputError(f"{judgments}: has no {group} row with the texts of row {row + 1} of the published scores")
        found.append(places[key].pop(0) if len(places[key]) > 1 else places[key][0])
    metrics = dict.fromkeys(name for members in facts["members"].values() for name in members)
    table: dict[str, Array | Labels] = {name: scores[name][start:] for name in metrics}
    table |= {"human": np.asarray(human["human"])[found], "lp": groups}
    return table, np.array(["+" in human["system"][i] for i in found])


def _rows(table: Scores, kept: NDArray[np.bool_]) -> dict[str, Sequence[str | float]]:
    return {name: [value for value, keep in zip(column, kept, strict=True) if keep] for name, column in table.items()}


def _letters(text: str) -> str:
    """Return a text's letters and digits: the published copy is tokenised, lower-cased and escaped, partly twice."""
    bare = "".join(text.split())
    for _ in range(3):
        bare = html.unescape(bare)
    return "".join(c for c in unicodedata.normalize("NFKD", bare).lower() if c.isalnum())
