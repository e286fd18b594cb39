"""Compare bsx's meta-evaluation with Google's mt-metrics-eval on the same scores, and write a page of both.

Run: PYTHONPATH=MTME:. python -m benchmarks.mt_metrics_eval --data DATA

MTME is a clone of https://github.com/google-research/mt-metrics-eval (it needs NumPy and SciPy only), DATA the folder
with wmt/wmt20-*.scores.tsv and mqm/newstest2021-en-de.tsv.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from mt_metrics_eval import stats as theirs

from bsx import get_metric
from bsx.analysis import calibrate_ties, compare_ties, grouped, perm_both, soft_pairwise_accuracy
from bsx.analysis.stats.systems.grouped import Grid, grid
from bsx.data.output import atomic_text
from bsx.data.tables import Table
from bsx.support.checks import Array

PAGE = Path(__file__).parent / "agreement" / "mt-metrics-eval.md"
PERMUTATIONS = 1000
EXACT = 1e-9
FEW = 60  # segments for what takes mt-metrics-eval hours: pairs of any two cells, and permutations of pairs

Row = tuple[str, str, str, float, float]
"""Data, metric, figure, theirs, ours."""


def packed(scores: Array) -> list[float | None]:
    """Return a matrix (systems, segments) as mt-metrics-eval has it: a list by system, None where nothing is."""
    return [None if np.isnan(value) else float(value) for value in scores.ravel()]


def correlation(human: Array, metric: Array) -> theirs.Correlation:
    return theirs.Correlation(len(human), packed(human), np.nan_to_num(metric).ravel().tolist())


def correlations(data: str, name: str, metric: Array, human: Array) -> Iterator[Row]:
    """Yield Pearson, Spearman and both taus by grouping, with missing judgments where there are some."""
    both = correlation(human, metric)
    for by in ("none", "item", "sys"):
        for statistic, found in {
            "pearson": both.Pearson(by)[0],
            "spearman": both.Spearman(by)[0],
            "kendall": both.KendallVariants(by, "b")[0],
            "kendall_c": both.KendallVariants(by, "c")[0],
        }.items():
            ours = grouped(metric, human, by=by, statistic=statistic, resamples=1, nan="omit").estimate  # type: ignore[arg-type]
            yield data, name, f"{statistic}, {by}", found, ours


def ties(data: str, name: str, metric: Array, human: Array) -> Iterator[Row]:
    """Yield acc_eq at the best epsilon, and the epsilon, by grouping; all systems, so that every pair is counted."""
    few = (slice(None), slice(FEW))
    for by in ("item", "sys", "none"):
        x, y = (metric, human) if by == "item" else (metric[few], human[few])
        complete = not np.isnan(y).any()
        if not complete:
            continue
        accuracy, epsilon, _ = theirs.KendallWithTiesOpt(
            packed(y), packed(x), "acc23", num_sys=len(y), average_by=by, sample_rate=1.0
        )
        found = calibrate_ties(x, y, by=by, resamples=1)  # type: ignore[arg-type]
        yield data, name, f"acc_eq, {by}", accuracy, found.acc_eq
        yield data, name, f"epsilon, {by}", epsilon, found.epsilon
        tau = theirs.KendallWithTiesOpt(packed(y), packed(x), "23", len(y), by, 1.0)[0]
        yield data, name, f"tau_eq, {by}", tau, found.tau_eq


def soft(data: str, name: str, metric: Array, human: Array) -> Iterator[Row]:
    """Yield soft pairwise accuracy with their generator."""
    found = theirs.PairwiseConfidenceError(packed(human), packed(metric), len(human))[0]
    ours = soft_pairwise_accuracy(metric, human, method="wmt", resamples=1).estimate
    yield data, name, "SPA", found, ours


def tests(data: str, metrics: Mapping[str, Array], human: Array) -> Iterator[Row]:
    """Yield the p-value of each pair of metrics: cells swapped, pooled; pairs swapped, within segments."""
    all_of_them = theirs.PermutationSigDiffParams(block_size=10**9)
    few = (slice(None), slice(FEW))
    for a, b in combinations(metrics, 2):
        np.random.seed(1)
        first, second = (correlation(human, metrics[name]) for name in (a, b))
        p = theirs.PermutationSigDiff(second, first, theirs.scipy.stats.pearsonr, "none", PERMUTATIONS, all_of_them)[0]
        ours = perm_both(metrics[a], metrics[b], human, resamples=PERMUTATIONS, nan="omit")
        yield data, f"{a} > {b}", "PERM-BOTH of r, p", p, ours.p
        x, y, h = (z[few] for z in (metrics[a], metrics[b], human))
        first, second = (correlation(h, z) for z in (x, y))
        p = theirs.PairwisePermutationSigDiff(second, first, average_by="item", k=PERMUTATIONS, params=all_of_them)[0]
        tied = compare_ties(x, y, h, swap="pairs", resamples=PERMUTATIONS)
        yield data, f"{a} > {b}", "PERM-BOTH of acc_eq, p", p, tied.p


def newstest2021(folder: Path) -> Grid:
    """Return eight systems of newstest2021 with MQM scores, chrF, and two controls that tie often."""
    rows = list(Table(folder / "mqm" / "newstest2021-en-de.tsv").rows())
    kept = [row for row in rows if not row.name("system").startswith("ref")]
    candidates, references = ([row.text(side) for row in kept] for side in ("candidate", "reference_C"))
    columns = {"human": [row.number("mqm") for row in kept]}
    for name in ("chrf", "overlap", "length"):
        columns[name] = list(get_metric(name).score(candidates, references))
    return grid([row.name("system") for row in kept], [row.name("sid") for row in kept], columns).complete()


def wmt20(folder: Path, pair: str, human: str) -> Grid:
    """Return WMT20's scores of one language pair."""
    rows = list(Table(folder / "wmt" / f"wmt20-{pair}.scores.tsv").rows())
    names = [name for name in rows[0] if name not in ("system", "sid") and not name.startswith("human")]
    columns = {name: [row.number(name) for row in rows] for name in [*names[:3], human]}
    return grid([row.name("system") for row in rows], [row.name("sid") for row in rows], columns)


def complete(found: Grid) -> Grid:
    """Return the systems with half of the segments or more, and the segments that all of these have."""
    present = ~np.any([np.isnan(values) for values in found.columns.values()], axis=0)
    often = present.mean(axis=1) >= 0.5
    names = tuple(name for name, kept in zip(found.systems, often, strict=True) if kept)
    return Grid(names, found.segments, {name: values[often] for name, values in found.columns.items()}).complete()


def compared(folder: Path) -> Iterator[Row]:
    """Yield every figure of both."""
    for pair in ("cs-en", "ru-en"):
        raw, z = wmt20(folder, pair, "human_raw"), wmt20(folder, pair, "human_z")
        for found, human, what in ((raw, "human_raw", "some cells missing"), (complete(raw), "human_raw", "complete")):
            people = found.columns.pop(human)
            data = f"WMT20 {pair} raw, {what}"
            for name, scores in found.columns.items():
                missing = np.isnan(scores) | np.isnan(people)
                yield from correlations(data, name, scores, np.where(missing, np.nan, people))
                if what == "complete":
                    yield from ties(data, name, scores, people)
            if what == "complete":
                yield from tests(data, found.columns, people)
        z = complete(z)
        people = z.columns.pop("human_z")
        for name, scores in z.columns.items():
            yield from soft(f"WMT20 {pair} z", name, scores, people)
    found = newstest2021(folder)
    people = found.columns.pop("human")
    for name, scores in found.columns.items():
        yield from correlations("newstest2021 en-de MQM", name, scores, people)
        yield from ties("newstest2021 en-de MQM", name, scores, people)
        yield from soft("newstest2021 en-de MQM", name, scores, people)
    yield from tests("newstest2021 en-de MQM", found.columns, people)


def tolerance(figure: str) -> float:
    """Return what may separate the two: rounding, or random draws."""
    return 4 * (2 * 0.25 / PERMUTATIONS) ** 0.5 if figure.endswith(", p") else EXACT


def page(rows: list[Row]) -> str:
    """Return the page in Markdown: the widest difference of each kind of figure, then every figure."""
    kinds = list(dict.fromkeys(row[2] for row in rows))
    lines = [
        "# Beside Google's mt-metrics-eval",
        "",
        "The same scores through [mt-metrics-eval](https://github.com/google-research/mt-metrics-eval)",
        "(its `stats.py`) and through bsx. Made by",
        "",
        "```console",
        "$ PYTHONPATH=MTME:. python -m benchmarks.mt_metrics_eval --data DATA",
        "```",
        "",
        "with MTME, a clone of that repository. Correlations by grouping, accuracies with ties, their thresholds",
        "and SPA (with their generator, single precision and layout) are equal to rounding, with and without",
        f"missing judgments. p-values come from {PERMUTATIONS:,} random permutations on each side, so they differ by",
        "chance (4 standard errors of the difference at p = 1/2 are allowed); their early stopping is off. acc_eq",
        "over any two cells or within systems, and the permutation of pairs, use the first",
        f"{FEW} segments, because their code takes hours for all.",
        "",
        "| figure | compared | largest difference | allowed |",
        "|---|---:|---:|---:|",
    ]
    for kind in kinds:
        apart = [abs(row[3] - row[4]) for row in rows if row[2] == kind]
        lines.append(f"| {kind} | {len(apart)} | {max(apart):.1e} | {tolerance(kind):.1e} |")
    beyond = [row for row in rows if not abs(row[3] - row[4]) <= tolerance(row[2])]
    lines += ["", f"{len(rows) - len(beyond)} of {len(rows)} figures are within what is allowed.", ""]
    lines += ["| data | metric | figure | mt-metrics-eval | bsx |", "|---|---|---|---:|---:|"]
    lines += [f"| {d} | {name} | {figure} | {a:.6f} | {b:.6f} |" for d, name, figure, a, b in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    asked = parser.parse_args()
    start, rows = time.monotonic(), []
    for row in compared(asked.data):
        rows.append(row)
        print(f"{time.monotonic() - start:7.1f} s", *row, flush=True)
    with atomic_text(PAGE) as stream:
        stream.write(page(rows))


if __name__ == "__main__":
    main()
