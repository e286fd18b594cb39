"""Decides lists as mbrs does, for `benchmarks/mbr.py`: a request a line in, a decision a line out.

It runs in an environment of its own: ``python -m venv FOLDER; FOLDER/bin/pip install mbrs==0.1.8 fastchrf==0.2.1
"setuptools<81" torch``.
"""

from __future__ import annotations

import json
import resource
import sys
from functools import cache
from pathlib import Path
from typing import Any

import torch
from mbrs.decoders import (
    DecoderAggregateMBR,
    DecoderCentroidMBR,
    DecoderMBR,
    DecoderProbabilisticMBR,
    DecoderPruningMBR,
)
from mbrs.metrics import MetricBERTScore, MetricBLEU, MetricChrF, MetricTER
from mbrs.modules.kmeans import Kmeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.mbrs_figures import Cosine

DECODERS = {
    "exact": DecoderMBR,
    "aggregate": DecoderAggregateMBR,
    "prune": DecoderPruningMBR,
    "probabilistic": DecoderProbabilisticMBR,
    "centroid": DecoderCentroidMBR,
}


@cache
def bertscore(model_type: str, num_layers: int) -> MetricBERTScore:
    return MetricBERTScore(
        MetricBERTScore.Config(model_type=model_type, num_layers=num_layers, cpu=True, use_fast_tokenizer=True)
    )


def metric(name: str, texts: list[str], vectors: list[list[float]] | None, model: dict[str, Any] | None = None) -> Any:
    """Return mbrs's metric; one worker, where it has some."""
    if name == "chrf":
        return MetricChrF(MetricChrF.Config(fastchrf=True))
    if name == "bleu":
        return MetricBLEU(MetricBLEU.Config(num_workers=1))
    if name == "ter":
        return MetricTER(MetricTER.Config(num_workers=1))
    if name == "bertscore":
        return bertscore(**(model or {}))
    return Cosine({text: torch.tensor(row) for text, row in zip(texts, vectors or [], strict=True)})


def used() -> float:
    """Return the CPU seconds of this process and of those that it has ended."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def main() -> None:
    torch.set_num_threads(1)
    for line in sys.stdin:
        asked = json.loads(line)
        texts = asked["texts"]
        kind = DECODERS[asked["method"]]
        given = dict(asked["settings"])
        if kind is DecoderCentroidMBR:
            given = {"kmeans": Kmeans.Config(**given), "count_weight": True}
        decoder = kind(kind.Config(**given), metric(asked["metric"], texts, asked.get("vectors"), asked.get("model")))
        began = used()
        found = decoder.decode(texts, texts)
        print(json.dumps({"chosen": found.sentence[0], "seconds": used() - began}), flush=True)


if __name__ == "__main__":
    main()
