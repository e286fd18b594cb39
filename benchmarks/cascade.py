"""Does a cascade lose less than a random choice of as many rows? Published scores of WMT23, cheap and costly metrics.

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
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.systems.ties import calibrate_ties
from bsx.data.output import atomic_text
from bsx.metrics.cascade import ANCHOR, BAND, MAPPED, Band, Line, Unit, choose

Grid = NDArray[np.float64]
HUMAN_OUTPUTS = {"en-de": ("refA", "synthetic_ref"), "he-en": ("refB",)}
REFERENCE = {"en-de": "refA", "he-en": "refB"}
SHARES = (10, 25, 50, 75)
DRAWS = 10
ANCHORS = 200
PAIRS = (
    ("chrF", "BERTscore"),
    ("chrF", "COMET"),
    ("chrF", "XCOMET-Ensemble"),
    ("BERTscore", "XCOMET-Ensemble"),
)


@dataclass(frozen=True, eq=False)
class Judged:
    """A test set: human scores, NaN where there is none, and each metric's (segments, systems)."""

    name: str
    human: Grid
    metrics: dict[str, Grid]


def read(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of a table by system and segment."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    rows = csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {(row["system"], row["seg"]): row for row in rows}


def sets(data: Path) -> Iterator[Judged]:
    """Yield the test sets."""
    for pair, reference in REFERENCE.items():
        scores, human = (read(data / "wmt23" / f"{pair}.{part}.tsv.gz") for part in ("metrics", "human"))
        systems = [s for s in dict.fromkeys(s for s, _ in scores) if s not in HUMAN_OUTPUTS[pair]]
        segments = list(dict.fromkeys(segment for _, segment in scores))

        def grid(
            rows: dict[tuple[str, str], dict[str, str]],
            column: str,
            segments: list[str] = segments,
            systems: list[str] = systems,
        ) -> Grid:
            cells = [[rows.get((system, segment), {}).get(column) for system in systems] for segment in segments]
            return np.array([[float(cell) if cell else np.nan for cell in row] for row in cells])

        names = dict.fromkeys(name for both in PAIRS for name in both)
        metrics = {name: grid(scores, f"{name}-{reference}") for name in names}
        yield Judged(f"WMT23 {pair}", grid(human, "mqm"), metrics)


def cascade(ranked: Grid, cheap: Grid, costly: Grid, band: Band, unit: Unit) -> tuple[Grid, NDArray[np.bool_]]:
    """Return what a cascade makes of all rows, and which of them are in the band.

    Args:
        ranked: what rows are ranked by: the cheap metric's scores, or chance (segments, systems).
        cheap: the cheap metric's scores.
        costly: the costly metric's.
        band: ranks.
        unit: what is ranked.
    """
    segments = np.repeat(np.arange(len(cheap)), cheap.shape[1])
    marks = choose(ranked.ravel(), segments, np.zeros(cheap.size, dtype=bool), band, unit, ANCHORS)
    anchors = marks == ANCHOR
    line = Line.fit(cheap.ravel()[anchors], costly.ravel()[anchors], alike=True)
    values = np.where(marks == MAPPED, line(cheap.ravel()), costly.ravel())
    return values.reshape(cheap.shape), (marks == BAND).reshape(cheap.shape)


def ordered_alike(gold: Grid, values: Grid) -> float:
    """Return the share of pairs in a row of `gold`, ties there aside, that `values` orders alike; its ties are half."""
    i, j = np.triu_indices(gold.shape[1], 1)
    one, two = np.sign(gold[:, i] - gold[:, j]), np.sign(values[:, i] - values[:, j])
    return float(np.where(two == 0, 0.5, one == two)[one != 0].mean())


def best_lost(cheap: Grid, costly: Grid, band: NDArray[np.bool_]) -> float:
    """Return how much of the costly score is lost by choosing a segment's best candidate, on average.

    It is the best of the band under the costly metric; in a segment without any in the band, the cheap metric's best.
    """
    inside = np.where(band, costly, -np.inf)
    best = np.where(band.any(axis=1), inside.argmax(axis=1), cheap.argmax(axis=1))
    return float((costly.max(axis=1) - costly[np.arange(len(costly)), best]).mean())


Measure = Callable[[Grid, NDArray[np.bool_]], float]


def measures(judged: Judged, cheap: Grid, costly: Grid) -> dict[str, Measure]:
    """Return what is measured of scores and the band that they have."""
    known = ~np.isnan(judged.human).any(axis=1)
    human = judged.human[known]
    means = human.mean(axis=0)[None]

    def r(one: Grid, two: Grid) -> float:
        return float(np.corrcoef(one.ravel(), two.ravel())[0, 1])

    alone = best_lost(cheap, costly, np.zeros(cheap.shape, dtype=bool))
    return {
        "r costly": lambda v, _: r(costly, v),
        "r human": lambda v, _: r(human, v[known]),
        "pairs costly": lambda v, _: ordered_alike(costly, v),
        "acc_eq human": lambda v, _: calibrate_ties(v[known].T, human.T, resamples=2).acc_eq,
        "systems costly": lambda v, _: ordered_alike(costly.mean(axis=0)[None], v.mean(axis=0)[None]),
        "systems human": lambda v, _: ordered_alike(means, v[known].mean(axis=0)[None]),
        "scored": lambda _, band: float(band.mean()),
        "best lost": lambda _, band: best_lost(cheap, costly, band) / alone,
    }


WAYS: dict[str, tuple[Unit, Callable[[int], float]]] = {
    "rows, worst": ("rows", lambda share: 0.0),
    "rows, middle": ("rows", lambda share: 50 - share / 2),
    "segments, worst": ("segments", lambda share: 0.0),
    "segments, middle": ("segments", lambda share: 50 - share / 2),
    "candidates, best": ("candidates", lambda share: 100.0 - share),
}
RANDOM: tuple[Unit, ...] = ("rows", "segments")
PURPOSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Ranking the rows of a corpus": (
        ("r costly", "r human"),
        ("rows, worst", "rows, middle", "rows, random"),
    ),
    "Ranking systems within segments": (
        ("pairs costly", "acc_eq human"),
        ("segments, worst", "segments, middle", "segments, random", "rows, worst", "rows, middle", "rows, random"),
    ),
    "Ranking systems": (
        ("systems costly", "systems human"),
        ("segments, worst", "segments, middle", "segments, random", "rows, worst", "rows, random"),
    ),
    "Choosing the best candidate of each segment": (
        ("best lost",),
        ("candidates, best", "segments, random"),
    ),
}
Found = dict[tuple[str, int], dict[str, list[float]]]


def measured(judged: Judged, cheap: Grid, costly: Grid) -> Found:
    """Return way and share -> measure -> its figure, of random choice one a draw.

    A share of 0 is the cheap metric alone, one of 100 the costly one.
    """
    what = measures(judged, cheap, costly)

    def of(*results: tuple[Grid, NDArray[np.bool_]]) -> dict[str, list[float]]:
        return {name: [measure(*result) for result in results] for name, measure in what.items()}

    every = np.ones(cheap.shape, dtype=bool)
    found: Found = {("", 0): of((cheap, ~every)), ("", 100): of((costly, every))}
    for share in SHARES:
        for way, (unit, low) in WAYS.items():
            found[way, share] = of(cascade(cheap, cheap, costly, Band(low(share), low(share) + share), unit))
        for unit in RANDOM:
            chance = [np.random.default_rng(seed).random(cheap.shape) for seed in range(DRAWS)]
            found[f"{unit}, random", share] = of(
                *(cascade(ranked, cheap, costly, Band(0, share), unit) for ranked in chance)
            )
    return found


def cell(figures: dict[str, list[float]], name: str) -> str:
    """Return a figure, with the deviation of several draws; of the best candidate with the share that was scored."""
    values = figures[name]
    more = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    scored = f" ({np.mean(figures['scored']):.0%})" if name == "best lost" else ""
    return f"{np.mean(values):.3f}{more}{scored}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    found = {
        (judged.name, cheap, costly): measured(judged, judged.metrics[cheap], judged.metrics[costly])
        for judged in sets(arguments.data)
        for cheap, costly in PAIRS
    }
    lines = list(HEAD)
    for purpose, (names, ways) in PURPOSES.items():
        lines += ["", f"## {purpose}"]
        for name in names:
            heads = " | ".join(f"{share} %" for share in (0, *SHARES, 100))
            lines += ["", EXPLAINED[name], "", f"| test set | cheap, costly | band | {heads} |"]
            lines += ["|---|---|---|" + "---:|" * (len(SHARES) + 2)]
            for (judged, cheap, costly), figures in found.items():
                for way in ways:
                    places = [("", 0), *((way, share) for share in SHARES), ("", 100)]
                    told = " | ".join(cell(figures[place], name) for place in places)
                    lines.append(f"| {judged} | {cheap}, {costly} | {way} | {told} |")
    text = "\n".join(lines) + "\n"
    if arguments.output is None:
        print(text)
        return
    with atomic_text(arguments.output) as stream:
        stream.write(text)


HEAD = (
    "# A cascade, and as many rows at random",
    "",
    "`python benchmarks/cascade.py --data FOLDER`",
    "",
    "WMT23 (human: MQM), scores of metrics as published; 12 systems x 557 segments en-de, 13 x 1,910 he-en. The costly",
    f"metric scores a band of ranks under the cheap one, and {ANCHORS} anchors outside it; the others are mapped.",
    f"Random: the same share of rows, or of whole segments, and as many anchors, {DRAWS} draws (± is their deviation).",
    "0 % is the cheap metric alone, 100 % the costly one; anchors come on top of the share.",
)
EXPLAINED = {
    "r costly": "Pearson's r with the costly metric over all rows:",
    "r human": "Pearson's r with human scores over all judged rows:",
    "pairs costly": "Pairs of systems in a segment that are ordered as by the costly metric (ties of it left out):",
    "acc_eq human": "acc_eq with human scores, ties calibrated (Deutsch et al. 2023):",
    "systems costly": "Pairs of systems whose means are ordered as by the costly metric alone:",
    "systems human": "Pairs of systems whose means are ordered as by human scores:",
    "best lost": (
        "Loss of the costly score by choosing the best of the band (without a band in the segment: the cheap metric's "
        "best), as a share of what the cheap metric alone loses, and in brackets the share of candidates in the band:"
    ),
}

if __name__ == "__main__":
    main()
