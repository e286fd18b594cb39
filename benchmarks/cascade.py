"""Does a cascade lose less than other choices of as many rows? Published scores of WMT23, cheap and costly metrics.

Run: python benchmarks/cascade.py --data FOLDER [-o benchmarks/agreement/cascade.md]

FOLDER holds wmt23. No model runs: the scores of all metrics are those that were published, so that a row "scored by
the costly metric" has that metric's published score. Rows are chosen and mapped by the code of `bsx score --cascade`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, t

from bsx.analysis.stats.resample import bootstrap_rows, cluster_codes
from bsx.data.output import atomic_text
from bsx.metrics.cascade import ANCHOR, BAND, MAPPED, Band, Line, Unit, choose

Grid = NDArray[np.float64]
Mask = NDArray[np.bool_]
HUMAN_OUTPUTS = {"en-de": ("refA", "synthetic_ref"), "he-en": ("refB",)}
REFERENCE = {"en-de": "refA", "he-en": "refB"}
SHARES = (10, 25, 50)
SHARE = 25  # at which ways are compared
DRAWS = 10  # of a random choice
RESAMPLES, CHOICES = 200, 2  # of documents, and random choices in each
ANCHORS = 200
WORST = 0.1  # of the rows, which are looked for
PAIRS = (
    ("chrF", "BERTscore"),
    ("chrF", "COMET"),
    ("chrF", "XCOMET-Ensemble"),
    ("BERTscore", "XCOMET-Ensemble"),
)


@dataclass(frozen=True, eq=False)
class Judged:
    """A test set, or a resample of it, under two metrics; each grid is (segments, systems).

    Attributes:
        name: of the set and the metrics.
        document: each segment's (segments,).
        human: human scores, NaN where there is none.
        blank: candidates without content.
        cheap: the cheap metric's scores.
        costly: the costly metric's.
    """

    name: str
    document: NDArray[np.int64]
    human: Grid
    blank: Mask
    cheap: Grid
    costly: Grid

    def of(self, segments: NDArray[np.int64]) -> Judged:
        """Return some of the segments, each as often as it is named."""
        human, cheap, costly = (grid[segments] for grid in (self.human, self.cheap, self.costly))
        return Judged(self.name, self.document[segments], human, self.blank[segments], cheap, costly)

    @cached_property
    def known(self) -> Mask:
        """Segments whose candidates have human scores (segments,)."""
        return np.asarray(~np.isnan(self.human).any(axis=1))

    @cached_property
    def ranks(self) -> Grid:
        """Ranks of all rows under the costly metric (rows,)."""
        return np.asarray(rankdata(self.costly))

    @cached_property
    def human_ranks(self) -> Grid:
        """Ranks of the judged rows (rows,)."""
        return np.asarray(rankdata(self.human[self.known]))


def read(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of a table by system and segment."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {(row["system"], row["seg"]): row for row in rows}


def sets(data: Path) -> Iterator[Judged]:
    """Yield the test sets under each two metrics."""
    for pair, reference in REFERENCE.items():
        scores, human, texts = (
            read(data / "wmt23" / f"{pair}.{part}.tsv.gz") for part in ("metrics", "human", "texts")
        )
        systems = [s for s in dict.fromkeys(s for s, _ in scores) if s not in HUMAN_OUTPUTS[pair]]
        segments = list(dict.fromkeys(segment for _, segment in scores))
        rows = [[(system, segment) for system in systems] for segment in segments]

        def grid(
            table: dict[tuple[str, str], dict[str, str]],
            column: str,
            rows: list[list[tuple[str, str]]] = rows,
        ) -> Grid:
            cells = [[table.get(place, {}).get(column) for place in row] for row in rows]
            return np.array([[float(cell) if cell else np.nan for cell in row] for row in cells])

        document = cluster_codes([texts[row[0]]["doc"] for row in rows])
        blank = np.array([[not texts[place]["candidate"].strip() for place in row] for row in rows])
        for cheap, costly in PAIRS:
            metrics = (grid(scores, f"{name}-{reference}") for name in (cheap, costly))
            yield Judged(f"{pair} | {cheap}, {costly}", document, grid(human, "mqm"), blank, *metrics)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What becomes of all rows: their scores, NaN where a row is left out, and which are in the band."""

    values: Grid
    band: Mask


def cascade(judged: Judged, ranked: Grid, band: Band, unit: Unit, *, alone: bool = False) -> Outcome:
    """Return what a cascade makes of all rows.

    Args:
        judged: the test set.
        ranked: what rows are ranked by: the cheap metric's scores, or chance (segments, systems).
        band: ranks.
        unit: what is ranked.
        alone: whether segments that the costly metric did not score are left out, instead of mapped.
    """
    cheap, costly = judged.cheap.ravel(), judged.costly.ravel()
    segments = np.repeat(np.arange(len(ranked)), ranked.shape[1])
    marks = choose(ranked.ravel(), segments, judged.blank.ravel(), band, unit, ANCHORS)
    line = Line.fit(cheap[marks == ANCHOR], costly[marks == ANCHOR], alike=True)
    grid = marks.reshape(ranked.shape)
    values = np.where(grid == MAPPED, line(judged.cheap), judged.costly)
    if alone:
        values[~np.isin(grid, (BAND, ANCHOR)).any(axis=1)] = np.nan
    return Outcome(values, grid == BAND)


Chance = np.random.Generator
Way = Callable[[Judged, float, Chance], Outcome]


def best_and_random(judged: Judged, share: float, chance: Chance) -> Outcome:
    """Return what comes of the cheap metric's best candidate and others at random, as many as in its band."""
    ranked = chance.random(judged.cheap.shape)
    ranked[np.arange(len(ranked)), judged.cheap.argmax(axis=1)] = 1
    return cascade(judged, ranked, Band(100 - share, 100), "candidates")


def as_many(judged: Judged, share: float, chance: Chance) -> Outcome:
    """Return what comes of segments at random, as many as have the rows of a band of candidates."""
    n = judged.cheap.shape[1]
    first, end = Band(100 - share, 100).places(n)
    return cascade(judged, chance.random(judged.cheap.shape), Band(0, 100 * (end - first) / n), "segments")


def _worst(unit: Unit) -> Way:
    return lambda judged, share, _: cascade(judged, judged.cheap, Band(0, share), unit)


def _middle(unit: Unit) -> Way:
    return lambda judged, share, _: cascade(judged, judged.cheap, Band(50 - share / 2, 50 + share / 2), unit)


def _random(unit: Unit, *, alone: bool = False) -> Way:
    def way(judged: Judged, share: float, chance: Chance) -> Outcome:
        return cascade(judged, chance.random(judged.cheap.shape), Band(0, share), unit, alone=alone)

    return way


CHEAP, COSTLY = "cheap metric alone", "costly metric alone"
WAYS: dict[str, Way] = {
    CHEAP: lambda judged, *_: Outcome(judged.cheap, np.zeros(judged.cheap.shape, dtype=bool)),
    COSTLY: lambda judged, *_: Outcome(judged.costly, np.ones(judged.cheap.shape, dtype=bool)),
    "rows, worst": _worst("rows"),
    "rows, middle": _middle("rows"),
    "rows, random": _random("rows"),
    "segments, worst": _worst("segments"),
    "segments, middle": _middle("segments"),
    "segments, random": _random("segments"),
    "segments, random, alone": _random("segments", alone=True),
    "candidates, best": lambda judged, share, _: cascade(judged, judged.cheap, Band(100 - share, 100), "candidates"),
    "candidates, best and random": best_and_random,
    "segments, random, as many": as_many,
}
BY_CHANCE = frozenset(name for name in WAYS if "random" in name)


def correlated(one: Grid, two: Grid) -> float:
    """Return Pearson's r of two (rows,)."""
    return float(np.corrcoef(one.ravel(), two.ravel())[0, 1])


def ordered_alike(gold: Grid, values: Grid) -> float:
    """Return the share of pairs in a row of `gold`, ties there aside, that `values` orders alike; its ties are half."""
    i, j = np.triu_indices(gold.shape[1], 1)
    one, two = np.sign(gold[:, i] - gold[:, j]), np.sign(values[:, i] - values[:, j])
    return float(np.where(two == 0, 0.5, one == two)[one != 0].mean())


def acc_eq(human: Grid, values: Grid) -> float:
    """Return the share of pairs in a row that are ordered, or tied, as in `human`, with the best threshold of ties."""
    i, j = np.triu_indices(human.shape[1], 1)
    gold, own = (human[:, i] - human[:, j]).ravel(), (values[:, i] - values[:, j]).ravel()
    tied = np.abs(gold) < 1e-9
    right = ~tied & (np.sign(gold) == np.sign(own))
    gaps = np.abs(own)
    order = np.argsort(gaps)
    last = np.append(np.diff(gaps[order]) > 0, True)  # a threshold at a gap ties all that are as large
    agreed = np.cumsum(tied[order]) + right.sum() - np.cumsum(right[order])
    none = right.sum() if gaps[order[0]] > 0 else 0
    return float(max(none, agreed[last].max()) / tied.size)


def worst_found(judged: Judged, outcome: Outcome) -> float:
    """Return the share of the costly metric's worst rows that are among the worst of the outcome, of as many."""
    costly, values = judged.costly.ravel(), outcome.values.ravel()
    n = round(WORST * costly.size)
    one, two = (np.argsort(scores, kind="stable")[:n] for scores in (costly, values))
    return float(np.isin(one, two).mean())


def chosen(judged: Judged, outcome: Outcome) -> NDArray[np.int64]:
    """Return each segment's best of the band under the costly metric; without any, the cheap metric's best."""
    inside = np.where(outcome.band, judged.costly, -np.inf)
    return np.asarray(np.where(outcome.band.any(axis=1), inside.argmax(axis=1), judged.cheap.argmax(axis=1)))


def best_lost(judged: Judged, outcome: Outcome) -> float:
    """Return the costly score lost by a choice, as a share of what the cheap metric's choice loses."""
    every = np.arange(len(judged.cheap))
    lost = (judged.costly.max(axis=1) - judged.costly[every, best] for best in _choices(judged, outcome))
    return float(np.divide(*(part.mean() for part in lost)))


def human_gained(judged: Judged, outcome: Outcome) -> float:
    """Return the mean human score of a choice, less that of the cheap metric's choice."""
    every, known = np.arange(len(judged.cheap)), judged.known
    one, two = (judged.human[every, best][known].mean() for best in _choices(judged, outcome))
    return float(one - two)


def _choices(judged: Judged, outcome: Outcome) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return chosen(judged, outcome), judged.cheap.argmax(axis=1)


def _means(values: Grid) -> Grid:
    return np.asarray(np.nanmean(values, axis=0)[None])


MEASURES: dict[str, tuple[str, Callable[[Judged, Outcome], float]]] = {
    "rho costly": (
        "Spearman's rho with the costly metric over all rows:",
        lambda judged, outcome: correlated(judged.ranks, rankdata(outcome.values)),
    ),
    "rho human": (
        "Spearman's rho with human scores over all judged rows:",
        lambda judged, outcome: correlated(judged.human_ranks, rankdata(outcome.values[judged.known])),
    ),
    "worst found": (
        f"Share of the costly metric's worst {WORST:.0%} of the rows that are found, of as many named:",
        worst_found,
    ),
    "r costly": (
        "Pearson's r with the costly metric over all rows:",
        lambda judged, outcome: correlated(judged.costly, outcome.values),
    ),
    "pairs costly": (
        "Pairs of systems in a segment that are ordered as by the costly metric (ties of it left out):",
        lambda judged, outcome: ordered_alike(judged.costly, outcome.values),
    ),
    "acc_eq human": (
        "acc_eq with human scores, ties calibrated (Deutsch et al. 2023):",
        lambda judged, outcome: acc_eq(judged.human[judged.known], outcome.values[judged.known]),
    ),
    "systems costly": (
        "Pairs of systems whose means are ordered as by the costly metric alone:",
        lambda judged, outcome: ordered_alike(_means(judged.costly), _means(outcome.values)),
    ),
    "systems human": (
        "Pairs of systems whose means over judged segments are ordered as by human scores:",
        lambda judged, outcome: ordered_alike(_means(judged.human[judged.known]), _means(outcome.values[judged.known])),
    ),
    "best lost": (
        "Costly score lost by choosing the best of the band, as a share of what the cheap metric's choice loses:",
        best_lost,
    ),
    "human gained": ("MQM of the choice, less that of the cheap metric's choice:", human_gained),
}


@dataclass(frozen=True)
class Purpose:
    """What a cascade may be for.

    Attributes:
        title: in words.
        measures: of how well it does.
        ways: to choose rows.
        against: which ways are compared, the one less the other.
    """

    title: str
    measures: tuple[str, ...]
    ways: tuple[str, ...]
    against: tuple[tuple[str, str], ...]


PURPOSES = (
    Purpose(
        "Ranking the rows of a corpus, finding the worst",
        ("rho costly", "rho human", "worst found", "r costly"),
        ("rows, worst", "rows, middle", "rows, random"),
        (("rows, worst", "rows, random"), ("rows, middle", "rows, random"), ("rows, worst", "rows, middle")),
    ),
    Purpose(
        "Ranking systems within segments",
        ("pairs costly", "acc_eq human"),
        ("segments, worst", "segments, middle", "segments, random", "rows, worst"),
        (
            ("segments, worst", "segments, random"),
            ("segments, middle", "segments, random"),
            ("rows, worst", "segments, random"),
            ("rows, worst", CHEAP),
        ),
    ),
    Purpose(
        "Ranking systems",
        ("systems costly", "systems human"),
        ("segments, worst", "segments, middle", "segments, random", "segments, random, alone"),
        (
            ("segments, worst", "segments, random"),
            ("segments, middle", "segments, random"),
            ("segments, random", "segments, random, alone"),
        ),
    ),
    Purpose(
        "Choosing the best candidate of each segment",
        ("best lost", "human gained"),
        ("candidates, best", "candidates, best and random", "segments, random, as many"),
        (
            ("candidates, best", "candidates, best and random"),
            ("candidates, best", "segments, random, as many"),
            ("candidates, best", CHEAP),
            ("candidates, best", COSTLY),
        ),
    ),
)
Drawn = dict[tuple[str, str], list[float]]


def drawn(judged: Judged, ways: dict[str, tuple[str, ...]], share: float, draws: int, seed: int) -> Drawn:
    """Return (measure, way) -> its figure, one a draw of a random choice.

    Args:
        judged: the test set.
        ways: way -> what is measured of it.
        share: of the rows in the band, in per cent.
        draws: random choices.
        seed: of the first.
    """
    found: Drawn = {}
    for way, measures in ways.items():
        for k in range(draws if way in BY_CHANCE else 1):
            outcome = WAYS[way](judged, share, np.random.default_rng([seed, k]))
            for measure in measures:
                found.setdefault((measure, way), []).append(MEASURES[measure][1](judged, outcome))
    return found


def _of_ways(purposes: tuple[Purpose, ...]) -> dict[str, tuple[str, ...]]:
    asked: dict[str, tuple[str, ...]] = {}
    for one in purposes:
        for way in (CHEAP, *one.ways, COSTLY):
            asked[way] = tuple(dict.fromkeys((*asked.get(way, ()), *one.measures)))
    return asked


@dataclass(frozen=True)
class Found:
    """What was measured of a test set.

    Attributes:
        figures: share -> what `drawn` returned.
        intervals: (measure, way, other way) -> difference at `SHARE`, and both ends of its interval.
    """

    figures: dict[int, Drawn]
    intervals: dict[tuple[str, str, str], tuple[float, float, float]]


def measured(judged: Judged) -> Found:
    """Return the figures of all shares, and differences with intervals.

    Documents are drawn. Intervals are as wide as those of all test sets and metrics together must be (Bonferroni).
    """
    ways = _of_ways(PURPOSES)
    figures = {share: drawn(judged, ways, share, DRAWS, 0) for share in SHARES}
    asked = [(m, *two) for one in PURPOSES for m in one.measures for two in one.against]

    def differences(of: Drawn) -> list[float]:
        return [float(np.mean(of[m, one]) - np.mean(of[m, two])) for m, one, two in asked]

    resamples = bootstrap_rows(RESAMPLES, len(judged.cheap), 0, judged.document)
    spread = np.std(
        [differences(drawn(judged.of(rows), ways, SHARE, CHOICES, k + 1)) for k, rows in enumerate(resamples)],
        axis=0,
        ddof=1,
    )
    comparisons = len(PAIRS) * len(REFERENCE)
    half = t.isf(0.025 / comparisons, judged.document.max()) * spread
    values = differences(figures[SHARE])
    return Found(
        figures, {key: (value, value - h, value + h) for key, value, h in zip(asked, values, half, strict=True)}
    )


def tables(found: dict[str, Found]) -> Iterator[str]:
    """Yield the lines of the page after its head."""
    for purpose in PURPOSES:
        yield from ("", f"## {purpose.title}")
        for measure in purpose.measures:
            heads = " | ".join(f"{share} %" for share in (0, *SHARES, 100))
            yield from ("", MEASURES[measure][0], "", f"| pair | cheap, costly | band | {heads} |")
            yield "|---|---|---|" + "---:|" * (len(SHARES) + 2)
            for name, one in found.items():
                for way in purpose.ways:
                    cells = [cell(one.figures[share][measure, way]) for share in SHARES]
                    ends = [cell(one.figures[SHARE][measure, end]) for end in (CHEAP, COSTLY)]
                    yield f"| {name} | {way} | {' | '.join((ends[0], *cells, ends[1]))} |"
            yield from ("", f"Differences at {SHARE} %:", "")
            yield f"| pair | cheap, costly | {' | '.join(f'{a} - {b}' for a, b in purpose.against)} |"
            yield "|---|---|" + "---:|" * len(purpose.against)
            for name, one in found.items():
                ends_of = (one.intervals[measure, a, b] for a, b in purpose.against)
                yield f"| {name} | {' | '.join('{:+.3f} [{:.3f}, {:.3f}]'.format(*ends) for ends in ends_of)} |"


def cell(values: list[float]) -> str:
    """Return a figure, with the deviation of several draws."""
    return f"{np.mean(values):.3f}" + (f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    judged = list(sets(arguments.data))
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip([one.name for one in judged], pool.map(measured, judged), strict=True))
    text = "\n".join((*HEAD, *tables(found))) + "\n"
    if arguments.output is None:
        print(text)
        return
    with atomic_text(arguments.output) as stream:
        stream.write(text)


HEAD = (
    "# A cascade, and other choices of as many rows",
    "",
    "`python benchmarks/cascade.py --data FOLDER`",
    "",
    "WMT23 (human: MQM), scores of metrics as published; 12 systems x 557 segments in 192 documents en-de, 13 x 1,910",
    f"in 94 he-en. The costly metric scores a band of ranks under the cheap one, {ANCHORS} anchors outside it, and 14",
    'blank rows in he-en; the others are mapped, or left out ("alone"). Random: the same share of rows, or of whole',
    f'segments, and as many anchors, {DRAWS} draws (± is their deviation). "Best and random": the cheap metric\'s best',
    'candidate and as many others as the band has, at random; "as many": segments with as many rows as the band of',
    "candidates, which is rounded outwards. 0 % is the cheap metric alone, 100 % the costly one; anchors are on top.",
    "",
    f"Intervals: {RESAMPLES} resamples of whole documents, in each of which rows are chosen and mapped anew",
    f"({CHOICES} times where at random); t of the documents' number, 95 % for the eight rows of a column together",
    "(Bonferroni). Systems are held fixed. Rows of a pair share segments and candidates: they are two test sets, not",
    "eight.",
)

if __name__ == "__main__":
    main()
