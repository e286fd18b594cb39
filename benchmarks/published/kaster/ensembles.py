"""Table 13 of Kaster, Zhao & Eger 2021: what z-averages of two metrics gain on WMT17, from the published scores.

The published per-pair scores name neither the system nor the human score of a pair, so both come from WMT17's direct
assessment, joined by the texts. The authors joined by system and dropped, without a word, the rows of which several
systems share one output (``A+B``): no system is called that.
"""

from __future__ import annotations

import html
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.published.table import FactsPart, Figure
from bsx.analysis.ensemble.combine import combine
from bsx.data.columns import Labels, read_columns
from bsx.errors import InputError
from bsx.support.checks import Array

Scores: TypeAlias = "Mapping[str, Array | Labels]"


class EnsembleFacts(FactsPart):
    """What the table prints: gains by ensemble, its members, and the rows of each language pair."""

    rows: dict[str, int]
    members: dict[str, list[str]]
    printed: dict[str, list[int]]


def gains(scores: Scores, judgments: Path, facts: EnsembleFacts) -> Iterator[Figure]:
    """Yield the gains over the best member in percent, with the paper's join.

    Args:
        scores: columns of the published English WMT scores, texts included.
        judgments: table with lp, system, reference, candidate, human of WMT17.
        facts: what is printed; ``rows`` of each language pair are at the end of ``scores``.

    Raises:
        InputError: if a published pair has no human judgment.
    """
    table, several = _join(scores, judgments, facts)
    for name, members in facts.members.items():
        # Constants come from all rows of WMT17, whichever rows the correlation then sees.
        found = combine(_rows(table, ~several), members, "human", group="lp", texts=(), how="z", fit=table).result
        ours = [(group.group, group.gain) for group in found.groups] + [("Avg", found.average_gain)]
        for (group, gain), paper in zip(ours, facts.printed[name], strict=True):
            at = {"table": "13", "part": name, "metric": "gain", "term": group}
            yield Figure(at, paper, 100 * gain, tolerance=0.5)


def _join(scores: Scores, judgments: Path, facts: EnsembleFacts) -> tuple[Scores, NDArray[np.bool_]]:
    """Return the WMT17 rows with language pair and human score, and which of them several systems share."""
    human = read_columns(judgments, ["human"], ["lp", "system", "reference", "candidate"])
    places: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for i, key in enumerate(zip(human["lp"], human["reference"], human["candidate"], strict=True)):
        places[key[0], _letters(key[1]), _letters(key[2])].append(i)
    groups = [group for group, count in facts.rows.items() for _ in range(count)]
    start = len(scores["sentence1"]) - len(groups)
    found = []
    for row, group in enumerate(groups, start=start):
        # In these rows the candidate comes first.
        key = (group, _letters(scores["sentence2"][row]), _letters(scores["sentence1"][row]))
        if not places[key]:
            raise InputError(f"{judgments}: has no {group} row with the texts of row {row + 1} of the published scores")
        found.append(places[key].pop(0) if len(places[key]) > 1 else places[key][0])
    metrics = dict.fromkeys(name for members in facts.members.values() for name in members)
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
