"""Every candidate against every reference, as minimum-Bayes-risk decoding wants it: bsx against bert-score 0.3.13.

Run: python benchmarks/matrix.py [--side 200] [--repeats 3] [--output FILE.json]

bsx scores the matrix by `score_matrix`; bert-score, which has no such call, gets the flattened list of all pairs. Both
encode each distinct text once. The turn "vectors known" is bsx when the texts were encoded before, which leaves the
matching. Models are loaded, the ONNX export is made, contenders alternate, and figures are medians. Memory is the peak
resident size of a process that does nothing else.

bert-score pads a batch with zeros and lets tokens match them, so that its score depends on what else is in the batch
wherever the best cosine of a token is negative, which happens for texts that have nothing to do with each other.
Differences are therefore given twice: from its scores in the flattened list, and from those of pairs scored alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from speed import WMT17, machine, read_pairs, time_of

ALONE = 300  # pairs that bert-score scores one by one


def bsx_matrix(backend: str, candidates: list[str], references: list[str], *, known: bool = False) -> Callable[[], Any]:
    """Return a function that scores the matrix; the encoder is loaded by now."""
    import bsx

    encoders = bsx.Encoders(model="minilm", backend=backend)
    metric = bsx.get_metric("bertscore:layer=6", encoders=encoders)
    metric.score_matrix(candidates[:2] if not known else candidates, references[:2] if not known else references)

    def score() -> Any:
        if not known:
            encoders.forget()
        return metric.score_matrix(candidates, references)

    return score


def bert_score_matrix(candidates: list[str], references: list[str]) -> tuple[Callable[[], Any], Any]:
    """Return a function that scores the flattened list, and the scorer."""
    import bert_score

    from bsx.catalog.catalog import shipped
    from bsx.models.files import find

    folder = find(shipped().model("minilm").source)
    scorer = bert_score.BERTScorer(model_type=str(folder), num_layers=6)
    scorer.score(candidates[:2], references[:2])
    flat = [c for c in candidates for _ in references], [r for _ in candidates for r in references]
    return lambda: scorer.score(*flat)[2].numpy().reshape(len(candidates), len(references)), scorer


def peak_mib(contender: str, side: int) -> int:
    command = [sys.executable, "-W", "ignore", __file__, "--child", contender, "--side", str(side)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return round(float(done.stdout.split()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", help="score the matrix alone and print the peak memory")
    arguments = parser.parse_args()
    texts = [column[: arguments.side] for column in read_pairs(WMT17)]
    if arguments.child:
        (bert_score_matrix(*texts)[0] if arguments.child == "bert-score" else bsx_matrix(arguments.child, *texts))()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    # Before anything is loaded here: a process starts with the peak of the one it was forked from.
    peaks = {name: peak_mib(name, arguments.side) for name in ("torch", "onnx", "bert-score")}
    import numpy as np
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    flattened, scorer = bert_score_matrix(*texts)
    calls = {
        "bert-score": flattened,
        "bsx, PyTorch": bsx_matrix("torch", *texts),
        "bsx, ONNX Runtime": bsx_matrix("onnx", *texts),
        "bsx, vectors known": bsx_matrix("onnx", *texts, known=True),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(arguments.repeats):
        for name, call in calls.items():
            times[name].append(time_of(call))
    seconds = {name: statistics.median(values) for name, values in times.items()}
    scores = {name: call() for name, call in calls.items()}
    picked = np.random.default_rng(1).integers(arguments.side, size=(ALONE, 2))
    alone = [float(scorer.score([texts[0][i]], [texts[1][j]])[2][0]) for i, j in picked]
    result = {
        "machine": machine(),
        "model": "minilm, layer 6",
        "pairs": arguments.side**2,
        "repeats": arguments.repeats,
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "times_bert_score": {name: round(seconds["bert-score"] / value, 1) for name, value in seconds.items()},
        "largest_difference": {
            name: {
                "from_bert_score": float(np.abs(matrix - scores["bert-score"]).max()),
                "from_bert_score_alone": float(np.abs(matrix[tuple(picked.T)] - alone).max()),
            }
            for name, matrix in scores.items()
        },
        "peak_mib": peaks,
    }
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
