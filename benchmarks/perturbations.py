"""How far metrics fall under perturbations of 500 WMT17 references, as committed in agreement/perturbations.md.

Run from the repository: ``.venv/bin/python benchmarks/perturbations.py --data DIR --work DIR``. DATA holds
wmt/daseg-wmt17.tsv and models/stanza_en/. Results are kept in WORK: what is there already is not computed again.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bsx.data.output import atomic_text

ROWS = 500
SCORE = "bertscore,moverscore,sentence,chrf,sentbleu"
COMMON = (
    f"--metrics {SCORE} --model minilm --lang en --source source --parser stanza --encoder cache=parses --format json"
)
RUNS = {"reference": "", "candidate": "--candidate candidate "}
HEAD = ("perturbation", "meaning", "n", "n/a", "same", "drop", "rel", "unseen", "excess", "p")


def write_table(source: Path, target: Path) -> None:
    """Write the first rows with distinct references of the pairs into English."""
    with source.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    distinct = {row["reference"]: row for row in reversed(rows) if row["lp"].endswith("-en")}
    chosen = [row for row in rows if distinct.get(row["reference"]) is row][:ROWS]
    with atomic_text(target) as stream:
        stream.write("lp\tsource\treference\tcandidate\n")
        for row in chosen:
            stream.write("\t".join(row[name] for name in ("lp", "source", "reference", "candidate")) + "\n")


def measure(clean: str, work: Path, models: Path) -> dict[str, Any]:
    target = work / f"{clean}.json"
    if not target.exists():
        options = [*shlex.split(RUNS[clean] + COMMON), "--stanza", f"parser_dir={models}", "-o", target.name]
        command = [sys.executable, "-m", "bsx", "adversarial", "perturb", "wmt17-500.tsv", *options]
        subprocess.run(command, check=True, cwd=work)
    content: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return content


def number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def interval(value: Sequence[float | None], digits: int) -> str:
    low, high = value
    return "" if low is None or high is None else f" ({low:.{digits}f} to {high:.{digits}f})"


def metric_table(content: dict[str, Any], metric: str) -> list[str]:
    scale = next(one for one in content["ranges"] if one["metric"] == metric)
    digits = 2 if scale["clean"] > 2 else 4
    lines = [f"**{metric}**: clean {scale['clean']:.{digits}f}, unrelated {scale['unrelated']:.{digits}f}.", ""]
    lines += ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for one in (one for one in content["results"] if one["metric"] == metric):
        name = one["perturbation"] + ("" if one["strength"] is None else f" {one['strength']:g}")
        cells = [
            name,
            "keeps" if one["preserves"] else "changes",
            str(one["n"]),
            str(one["not_applicable"]),
            str(one["unchanged"]),
            number(one["drop"], digits) + interval(one["ci"], digits),
            number(one["relative_drop"], 3),
            number(one["unnoticed"], 3),
            number(one["excess"], digits) + interval(one["excess_ci"], digits),
            number(one["p"], 3),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def side_by_side(content: dict[str, Any]) -> list[str]:
    metrics = [one["metric"] for one in content["ranges"]]
    lines = ["| perturbation | meaning | " + " | ".join(metrics) + " |", "|---|---|" + "---|" * len(metrics)]
    by_case: dict[tuple[str, float | None, bool], dict[str, str]] = {}
    for one in content["results"]:
        key = (one["perturbation"], one["strength"], one["preserves"])
        by_case.setdefault(key, {})[one["metric"]] = number(one["relative_drop"], 3)
    for (name, strength, preserves), cells in by_case.items():
        spelled = name + ("" if strength is None else f" {strength:g}")
        row = [spelled, "keeps" if preserves else "changes", *(cells[metric] for metric in metrics)]
        lines.append("| " + " | ".join(row) + " |")
    return [*lines, ""]


def page(found: dict[str, dict[str, Any]]) -> str:
    version = found["reference"]["provenance"]["versions"]
    lines = [
        "# Perturbations of 500 WMT17 references",
        "",
        f"The first {ROWS} rows with distinct references of the pairs into English of `daseg-wmt17.tsv` (all cs-en). "
        "Once the references themselves are perturbed and scored against themselves, once the MT outputs against the "
        "references. [docs/attack/perturbations.md](../../docs/attack/perturbations.md) explains the columns.",
        "",
        "```text",
        "python benchmarks/perturbations.py --data DATA --work WORK",
        "```",
        "",
        "which runs, in WORK,",
        "",
        "```text",
    ]
    lines += [
        f"bsx adversarial perturb wmt17-500.tsv {RUNS[clean]}{COMMON} --stanza parser_dir=DATA/models/stanza_en "
        f"-o {clean}.json"
        for clean in found
    ]
    lines += [
        "```",
        "",
        "1,000 resamples and swaps, seed 1; rel is a share of clean minus unrelated; p (one-sided, not corrected for "
        "the number of tests) cannot be below .001. The parser is a small stanza pipeline trained on English EWT.",
        "",
        f"bsx {version['bsx']}, Python {version['python']}, torch {version['torch']}, "
        f"transformers {version['transformers']}, {platform.machine()}.",
        "",
    ]
    for metric, signature in found["reference"]["provenance"]["signatures"].items():
        lines += [f"- {metric}: `{signature}`"]
    for clean, content in found.items():
        lines += ["", f"## Clean text: the {'reference' if clean == 'reference' else 'MT output'}", ""]
        lines += ["Relative drops side by side:", "", *side_by_side(content)]
        for one in content["ranges"]:
            lines += metric_table(content, one["metric"])
        lines += [f"- {note}" for note in content.get("notes", ())]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/agreement/perturbations.md"))
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    write_table(arguments.data / "wmt/daseg-wmt17.tsv", arguments.work / "wmt17-500.tsv")
    models = (arguments.data / "models/stanza_en").resolve()
    found = {clean: measure(clean, arguments.work, models) for clean in RUNS}
    with atomic_text(arguments.output) as stream:
        stream.write(page(found))


if __name__ == "__main__":
    main()
