"""Metrics trained on WMT16 direct assessment into English, validated on WMT15, tested on WMT17.

Run from the repository: ``.venv/bin/python benchmarks/trained.py --data FOLDER --work FOLDER -o
benchmarks/agreement/trained-metrics.md``. The folder of data holds daseg-wmt15.tsv, -wmt16.tsv and -wmt17.tsv with the
columns lp, source, reference, candidate, human. What is trained is kept in the work folder; a later run goes on there.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from bsx.encoders import Encoders
from bsx.train.config import ARCHITECTURES, TrainConfig
from bsx.train.data import Instances
from bsx.train.encoder import FrozenEncoder
from bsx.train.run import train


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row for row in rows if row["lp"].endswith("-en")]


def instances(rows: list[dict[str, str]]) -> Instances:
    columns = {name: [row[name] for row in rows] for name in ("candidate", "reference")}
    return Instances.scored(columns["candidate"], [float(row["human"]) for row in rows], columns["reference"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", default="1,2,3")
    arguments = parser.parse_args()
    files = {name: arguments.data / f"daseg-wmt{year}.tsv" for name, year in (("train", 16), ("valid", 15))}
    parts = {name: instances(read(file)) for name, file in files.items()}
    encoder = FrozenEncoder(Encoders(model=arguments.model, device="cpu"), max_pieces=TrainConfig().max_pieces)
    for architecture in sorted(ARCHITECTURES, key=("bilstm", "bilstm-attention", "esim").index):
        record = train(
            architecture, parts["train"], parts["valid"], encoder=encoder, output=arguments.work / architecture,
            seeds=[int(seed) for seed in arguments.seeds.split(",")], resume=True, vectors=arguments.work / "vectors",
            files={name: [file] for name, file in files.items()},
            notify=lambda line, name=architecture: print(f"{name}: {line}", file=sys.stderr, flush=True),  # type: ignore[misc]
        )  # fmt: skip
        print(architecture, record.ensemble_valid, flush=True)


if __name__ == "__main__":
    main()
