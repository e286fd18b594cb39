"""What ensembles of metrics gain on WMT15-17 segments into English: fitted on WMT15 and 16, tested on WMT17.

Run from the repository, with the tables of WMT's segment-level direct assessment (columns lp, source, reference,
candidate, human)::

    .venv/bin/python benchmarks/ensembles.py --wmt FOLDER --work scores -o benchmarks/agreement/ensembles.md

Score tables are kept in the folder ``--work`` and used again.
"""

from __future__ import annotations

import argparse
import csv
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bsx.analysis.ensemble.combine import combine
from bsx.analysis.ensemble.result import EnsembleResult
from bsx.data.columns import read_columns
from bsx.data.output import atomic_text

NEURAL = ("bertscore", "moverscore:ngram=2,idf=false", "moverscore-v2:idf=false", "bertr", "sentence")
LEXICAL = ("sentbleu", "chrf", "ter", "rouge-l", "meteor:synonyms=false")
SETS = {"all": (*NEURAL, *LEXICAL), "embedding": NEURAL, "lexical": LEXICAL}
RULES = ("mean", "z", "rank", "weights", "ridge")
PACKAGES = ("torch", "transformers", "numpy", "scipy", "sacrebleu")
LABELS = ("group", "segment", "candidate", "reference")


def texts(wmt: Path, years: tuple[int, ...], target: Path) -> None:
    """Write the rows into English of some years, with a group and a segment that are unique over the years."""
    with atomic_text(target) as stream:
        stream.write("group\tsegment\treference\tcandidate\thuman\n")
        for year in years:
            with (wmt / f"daseg-wmt{year}.tsv").open(encoding="utf-8", newline="") as table:
                for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
                    if row["lp"].endswith("-en"):
                        group = f"{year} {row['lp']}"
                        name = f"{group} {row.get('sid') or row['id']}"
                        stream.write("\t".join([group, name, row["reference"], row["candidate"], row["human"]]) + "\n")


def scored(wmt: Path, years: tuple[int, ...], work: Path) -> Path:
    """Return the table of all metrics' scores for some years, computed by ``bsx score`` unless it is there."""
    name = "-".join(map(str, years))
    plain, table = work / f"texts-{name}.tsv", work / f"scores-{name}.tsv"
    if not table.is_file():
        texts(wmt, years, plain)
        run = "from bsx.cli.main import run; run()"
        arguments = ["score", plain, "--metrics", ",".join(SETS["all"]), "--model", "minilm", "-o", table]
        subprocess.run([sys.executable, "-c", run, *map(str, arguments)], check=True)
    return table


def read(table: Path) -> dict[str, object]:
    return read_columns(table, [*SETS["all"], "human"], LABELS)


def line(rule: str, result: EnsembleResult) -> str:
    wins = sum(group.tests["williams"].p < 0.05 for group in result.groups)
    losses = sum(group.tests["williams"].p > 0.95 for group in result.groups)
    mean = np.mean([group.ensemble for group in result.groups])
    best = np.mean([group.best_r for group in result.groups])
    low, high = result.average_ci
    gain = f"{100 * result.average_gain:+.1f} % [{100 * low:+.1f}, {100 * high:+.1f}]"
    return f"| {rule} | {mean:.3f} | {best:.3f} | {gain} | {wins} / {losses} |"


def table_of(results: dict[str, EnsembleResult]) -> list[str]:
    head = ["| rule | mean r | best member | average gain, 95 % | better / worse |", "|---|---|---|---|---|"]
    return [*head, *(line(rule, result) for rule, result in results.items())]


def by_pair(results: dict[str, EnsembleResult]) -> list[str]:
    groups = [group.group for group in next(iter(results.values())).groups]
    lines = ["| rule | " + " | ".join(groups) + " |", "|---" * (len(groups) + 1) + "|"]
    for rule, result in results.items():
        cells = [f"{100 * g.gain:+.1f} [{100 * g.ci[0]:+.1f}, {100 * g.ci[1]:+.1f}]" for g in result.groups]
        lines.append(f"| {rule} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wmt", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    train, test = (read(scored(given.wmt, years, given.work)) for years in ((15, 16), (17,)))
    common = {"human": "human", "group": "group", "segment": "segment"}
    out = [
        "# Ensembles of metrics: WMT15-17 segments into English",
        "",
        "Pearson's r with direct assessment within language pairs; metrics with an encoder use minilm.",
        f"{len(test['human'])} segments of WMT17 in 7 pairs, {len(train['human'])} of WMT15 and 16 in 10.",
        "A gain is r of the ensemble over r of the best member of that pair, less 1, on the same rows; the best member",
        "is chosen on these rows, which favours it. Intervals: 1,000 paired bootstrap resamples of segments. Last",
        "column: pairs in which the Williams test finds the ensemble better / worse than the best member (p < .05,",
        "one-sided, uncorrected).",
        "",
        f"Members: {', '.join(f'`{name}`' for name in SETS['all'])}.",
    ]
    for name, members in SETS.items():
        lower = [metric for metric in members if metric == "ter"]
        fitted, nested, honest = {}, {}, {}
        for rule in RULES:
            how = {"how": rule, "lower": lower}
            fitted[rule] = combine(test, members, fit=train, **common, **how).result
            honest[rule] = combine(test, members, fit=train, best="training", **common, **how).result
            nested[rule] = combine(test, members, **common, **how).result
        out += ["", f"## {name.capitalize()} metrics ({len(members)})", ""]
        out += ["Constants and weights from WMT15 and 16, tested on WMT17:", "", *table_of(fitted)]
        rival = next(iter(honest.values())).groups[0].best
        out += ["", f"The same, against the member that is best on WMT15 and 16, `{rival}`:", "", *table_of(honest)]
        out += ["", "Within WMT17; learnt weights by 10-fold cross-validation over segments:", "", *table_of(nested)]
        out += ["", "Gains in percent by pair, fitted on WMT15 and 16:", "", *by_pair(fitted)]
        weights = ", ".join(f"`{m}` {w:.2f}" for m, w in fitted["weights"].weights.items() if w)
        out += ["", f"- weights: {weights}"]
        signs = ", ".join(f"`{m}` {w:+.2f}" for m, w in fitted["ridge"].weights.items())
        out += [f"- ridge, penalty {fitted['ridge'].settings['penalty']:g}: {signs}"]
    out += [
        "",
        "Made by `benchmarks/ensembles.py --wmt FOLDER --work scores -o",
        f"benchmarks/agreement/ensembles.md`; {platform.machine()}, {platform.system()}, Python",
        f"{platform.python_version()}, {', '.join(f'{name} {version(name)}' for name in PACKAGES)}.",
    ]
    with atomic_text(given.output) as stream:
        stream.write("\n".join(out) + "\n")
    print("\n".join(out))


if __name__ == "__main__":
    main()
