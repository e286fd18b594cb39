"""What ensembles of metrics gain on WMT15-17 segments into English: fitted on WMT15 and 16, tested on WMT17.

Run from the repository, with the tables of WMT's segment-level direct assessment (columns lp, source, reference,
candidate, human) and the factor scores that Kaster et al. 2021 published, by which the rule ``factors`` chooses::

    .venv/bin/python benchmarks/ensembles.py --wmt FOLDER --factors wmt-en.tsv --work scores -o benchmarks/agreement/ensembles.md

Score tables are kept in the folder ``--work`` and used again.
"""  # noqa: E501 - a command is one line

from __future__ import annotations

import argparse
import csv
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.ensembles.result import EnsembleResult
from bsx.analysis.ensembles.run import ensemble
from bsx.data.columns import read_columns
from bsx.data.output import atomic_text

NEURAL = ("bertscore", "moverscore:ngram=2,idf=false", "moverscore-v2:idf=false", "bertr", "sentence")
LEXICAL = ("sentbleu", "chrf", "ter", "rouge-l", "meteor:synonyms=false")
FACTORS = ("sem", "syn", "morph", "bleu")
SETS = {"all": (*NEURAL, *LEXICAL), "embedding": NEURAL, "lexical": LEXICAL}
RULES = ("mean", "z", "rank", "weights", "ridge", "greedy", "factors")
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


def profiles(table: dict[str, object], published: Path) -> tuple[dict[str, dict[str, float]], int]:
    """Return each metric's factor profile on the rows whose factors are published, and how many these are."""
    found = read_columns(published, FACTORS, ["sentence1", "sentence2"])
    place = {frozenset(pair): i for i, pair in enumerate(zip(found["sentence1"], found["sentence2"], strict=True))}
    pairs = zip(table["candidate"], table["reference"], strict=True)  # type: ignore[call-overload]
    rows = [(i, place[frozenset(pair)]) for i, pair in enumerate(pairs) if frozenset(pair) in place]
    own, theirs = (list(part) for part in zip(*rows, strict=True))
    joined = {name: np.asarray(table[name])[own] for name in SETS["all"]}
    joined |= {name: found[name][theirs] for name in FACTORS}
    fits = disentangle(joined, SETS["all"], FACTORS)
    return {fit.metric: dict(fit.coef) for fit in fits.results}, len(rows)


def line(rule: str, result: EnsembleResult) -> str:
    wins = sum(group.p("williams") < 0.05 for group in result.groups)
    losses = sum(group.p("williams") > 0.95 for group in result.groups)
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
    parser.add_argument("--factors", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    train, test = (read(scored(given.wmt, years, given.work)) for years in ((15, 16), (17,)))
    shapes, joined = profiles(train, given.factors)
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
            how = {"how": rule, "lower": lower, **({"profiles": shapes} if rule == "factors" else {})}
            fitted[rule] = ensemble(test, members, fit=train, **common, **how)
            honest[rule] = ensemble(test, members, fit=train, best="training", **common, **how)
            if rule != "factors":
                nested[rule] = ensemble(test, members, **common, **how)
        out += ["", f"## {name.capitalize()} metrics ({len(members)})", ""]
        out += ["Constants and weights from WMT15 and 16, tested on WMT17:", "", *table_of(fitted)]
        rival = next(iter(honest.values())).groups[0].best
        out += ["", f"The same, against the member that is best on WMT15 and 16, `{rival}`:", "", *table_of(honest)]
        out += ["", "Within WMT17; learnt weights by 10-fold cross-validation over segments:", "", *table_of(nested)]
        out += ["", "Gains in percent by pair, fitted on WMT15 and 16:", "", *by_pair(fitted)]
        weights = ", ".join(f"`{m}` {w:.2f}" for m, w in fitted["weights"].weights.items() if w)
        taken = ", ".join(f"`{m}`" for m, w in fitted["greedy"].weights.items() if w)
        apart = [m for m, w in fitted["factors"].weights.items() if w]
        pair = ensemble(test, apart, fit=train, lower=[m for m in apart if m == "ter"], how="z", **common)
        low, high = pair.average_ci
        of_pair = f"{100 * pair.average_gain:+.1f} % [{100 * low:+.1f}, {100 * high:+.1f}]"
        out += [
            "",
            f"- weights: {weights}",
            f"- greedy takes {taken}",
            f"- factors takes {' and '.join(f'`{m}`' for m in apart)}: {of_pair} over the better of the two",
        ]
        signs = ", ".join(f"`{m}` {w:+.2f}" for m, w in fitted["ridge"].weights.items())
        out += [f"- ridge, penalty {fitted['ridge'].settings['penalty']:g}: {signs}"]
    out += [
        "",
        f"Profiles for `factors`: coefficients of SEM, SYN, MOR and LEX on the {joined} rows of WMT15 and 16 whose",
        "factor scores Kaster et al. published (SEM is the human score there).",
        "",
        "Made by `benchmarks/ensembles.py --wmt FOLDER --factors wmt-en.tsv --work scores -o",
        f"benchmarks/agreement/ensembles.md`; {platform.machine()}, {platform.system()}, Python",
        f"{platform.python_version()}, {', '.join(f'{name} {version(name)}' for name in PACKAGES)}.",
    ]
    with atomic_text(given.output) as stream:
        stream.write("\n".join(out) + "\n")
    print("\n".join(out))


if __name__ == "__main__":
    main()
