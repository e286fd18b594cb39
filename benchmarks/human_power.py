"""How many segments would tell two systems of WMT20 apart by human judgments? The table of docs/evaluate/plan.md.

Run: python benchmarks/human_power.py DATA, the folder that holds wmt/wmt20-*.scores.tsv.
"""

from __future__ import annotations

import csv
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

from bsx.analysis.plan.run import plan_compare


def needed(first: dict[str, float], second: dict[str, float], *, documents: bool) -> tuple[int, int] | None:
    """Return the segments judged for both systems and those that 80 % power asks for; None where it is not defined."""
    both = [name for name in first if name in second]
    table: dict[str, list[str] | list[float]] = {
        "system": ["a"] * len(both) + ["b"] * len(both),
        "segment": both * 2,
        "z": [scores[name] for scores in (first, second) for name in both],
    }
    if documents:
        table["doc"] = [name.rpartition("::")[0] for name in both] * 2
        if len(set(table["doc"])) < 2:
            return None
    plan = plan_compare(
        table,
        columns=["z"],
        systems=["a", "b"],
        system="system",
        segment="segment",
        document="doc" if documents else None,
        effect=abs(float(np.mean([first[name] - second[name] for name in both]))),
        resamples=20,
    )
    return len(both), plan.needed.units


def figures(data: Path, lp: str) -> list[str]:
    """Return a language pair's cells: pairs of systems, medians of segments judged and needed, share with enough."""
    scores: dict[str, dict[str, float]] = {}
    with (data / "wmt" / f"wmt20-{lp}.scores.tsv").open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["human_z"].strip():
                scores.setdefault(row["system"], {})[row["sid"]] = float(row["human_z"])
    plain = [found for a, b in combinations(scores.values(), 2) if (found := needed(a, b, documents=False))]
    whole = [found for a, b in combinations(scores.values(), 2) if (found := needed(a, b, documents=True))]
    enough = np.mean([there >= asked for there, asked in whole or plain])
    columns = [np.median([found[0] for found in plain]), np.median([found[1] for found in plain])]
    columns.append(np.median([found[1] for found in whole]) if whole else np.nan)
    return [str(len(plain)), *(f"{value:,.0f}" for value in columns), f"{100 * enough:.0f} %"]


def main() -> None:
    print("pair systems judged independent documents enough")
    for lp in ("cs-en", "ru-en", "iu-en", "km-en"):
        print(lp, *figures(Path(sys.argv[1]), lp))


if __name__ == "__main__":
    main()
