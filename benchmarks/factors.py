"""Factors of the English pairs of Kaster, Zhao & Eger 2021, computed by us, beside their published columns.

python benchmarks/factors.py DATA STANZA_DIR CACHE, with DATA holding wmt-en.tsv and sts-en.tsv. Writes
benchmarks/agreement/kaster2021-factors.md. The first run parses; later ones take parses and vectors from CACHE.
"""

from __future__ import annotations

import csv
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bsx.analysis.factors.zoo import compute_factors

PUBLISHED = {"syn": "syn", "lex": "bleu", "mor": "morph"}


def main(data: Path, parser: Path, cache: Path) -> None:
    lines = [
        "# Linguistic factors computed here, beside the published ones",
        "",
        "Pearson r of each factor with the column that Kaster, Zhao & Eger 2021 published, all English pairs.",
        "",
        "```console",
        "$ python benchmarks/factors.py DATA STANZA_DIR CACHE",
        "```",
        "",
        "| data | factor | pairs | r | mean | published | sd | published | equal to 1e-9 | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    extra = []
    for name in ("wmt", "sts"):
        with (data / f"{name}-en.tsv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
        first, second = ([row[f"sentence{side}"] for row in rows] for side in (1, 2))
        settings = {"parser_dir": parser, "cache": cache, "preset": "kaster2021", "train_vectors": True}
        found = {}
        for factor, column in PUBLISHED.items():
            start = time.perf_counter()
            ours = found[factor] = compute_factors(factor, first, second, **settings)[factor].values
            seconds = time.perf_counter() - start
            theirs = np.array([float(row[column]) for row in rows])
            equal = int((abs(ours - theirs) < 1e-9).sum())
            figures = f"{np.corrcoef(ours, theirs)[0, 1]:.3f} | {ours.mean():.3f} | {theirs.mean():.3f}"
            spread = f"{ours.std():.3f} | {theirs.std():.3f} | {equal} | {seconds:.0f}"
            lines.append(f"| {name} | {factor} | {len(rows)} | {figures} | {spread} |")
        theirs = np.array([float(row["syn"]) for row in rows])
        words = np.array([len(one.split()) + len(two.split()) for one, two in zip(first, second, strict=True)])
        bands = [(0, 20), (21, 40), (41, 60), (61, 10**6)]
        by_length = [
            f"{np.corrcoef(found['syn'][chosen], theirs[chosen])[0, 1]:.2f} ({chosen.sum()})"
            for low, high in bands
            if (chosen := (words >= low) & (words <= high)).sum() > 50
        ]
        other = compute_factors("mor", first, second, seed=7, **settings)["mor"].values
        plain = compute_factors("mor:retrofitting=none", first, second, **settings)["mor:retrofitting=none"].values
        morph = np.array([float(row["morph"]) for row in rows])
        extra += [
            f"- {name}, SYN by words of both sides (to 20, 40, 60, more): r {', '.join(by_length)} pairs.",
            f"- {name}, MOR with another seed: r {np.corrcoef(found['mor'], other)[0, 1]:.3f} with ours, "
            f"{np.corrcoef(other, morph)[0, 1]:.3f} with theirs; without retrofitting "
            f"{np.corrcoef(plain, morph)[0, 1]:.3f} with theirs.",
        ]
    packages = ", ".join(f"{name} {version(name)}" for name in ("stanza", "fasttext", "nltk"))
    lines += ["", *extra, "", f"{packages}; seconds on two shared cores, parses and vectors from the cache.", ""]
    Path(__file__).with_name("agreement").joinpath("kaster2021-factors.md").write_text(
        "\n".join(lines), encoding="utf-8"
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
