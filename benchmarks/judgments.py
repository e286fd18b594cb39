"""More instances or more judgments of each? A trained metric on the expert judgments of Flickr8k.

Run: python benchmarks/judgments.py --data FOLDER --work FOLDER [--sizes 300,900] [--seeds 1,2,3]
     [-o benchmarks/agreement/trained-judgments.md]

FOLDER holds captions/flickr8k-expert.tsv: captions of images with three judgments (1 to 4) and five references, the
first of which is used. Captions that equal one of their references are dropped. Images are dealt by a digest of their
name: three in five for training, one for validation, one for the test; agreement is Pearson's r with the mean of the
three judgments. The trainings are kept in the work folder, so that an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from bsx.data.output import atomic_text

JUDGES = ("judge1", "judge2", "judge3")
PARTS = ("train", "train", "train", "valid", "test")


def deal(data: Path, work: Path) -> dict[str, int]:
    """Write the three tables; return their sizes."""
    with (data / "captions" / "flickr8k-expert.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    tables: dict[str, list[str]] = {name: ["\t".join(("reference", "candidate", *JUDGES))] for name in PARTS}
    for row in rows:
        if row["candidate"] in {row[f"ref{k}"] for k in range(1, 6)}:
            continue
        part = PARTS[int(hashlib.sha256(row["imageid"].encode()).hexdigest(), 16) % len(PARTS)]
        tables[part].append("\t".join((row["ref1"], row["candidate"], *(row[judge] for judge in JUDGES))))
    work.mkdir(parents=True, exist_ok=True)
    for name, lines in tables.items():
        with atomic_text(work / f"{name}.tsv") as stream:
            stream.write("\n".join(lines) + "\n")
    return {name: len(lines) - 1 for name, lines in tables.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--sizes", default="300,900")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    sizes = deal(arguments.data, arguments.work)
    command = [sys.executable, "-m", "bsx", "train", "curve", "bilstm", "--model", "minilm", "--device", "cpu"]
    tables = {name: str(arguments.work / f"{name}.tsv") for name in sizes}
    command += [tables.pop("train"), *(word for name, file in tables.items() for word in (f"--{name}", file))]
    command += [word for judge in JUDGES for word in ("--human", judge)]
    command += ["--sizes", arguments.sizes, "--judgments", "1,3", "--seeds", arguments.seeds, "--format", "json"]
    command += ["--encoder", "backend=torch", "-o", str(arguments.work / "curve")]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    lines = [
        "| instances | judgments of each | judgments | mean r | 95 % interval over seeds | seeds |",
        "|---" * 6 + "|",
    ]
    lines += [
        f"| {p['instances']} | {p['judgments']} | {p['instances'] * p['judgments']} | {p['estimate']:.3f} "
        f"| {p['low']:.3f} to {p['high']:.3f} | {', '.join(f'{value:.3f}' for value in p['values'])} |"
        for p in found["points"]
    ]
    text = f"""# More instances, or more judgments of each?

`benchmarks/judgments.py --sizes {arguments.sizes} --seeds {arguments.seeds}`: a BiLSTM on MiniLM, trained on expert
judgments of Flickr8k captions (first reference). {sizes["train"]:,} captions are there for training,
{sizes["valid"]:,} for validation, {sizes["test"]:,} for the test, split by image. Pearson's r with the mean of three
judgments on the test captions.

{chr(10).join(lines)}
"""
    print(text)
    if arguments.output:
        with atomic_text(arguments.output) as stream:
            stream.write(text)


if __name__ == "__main__":
    main()
