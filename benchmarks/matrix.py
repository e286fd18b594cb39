"""Every candidate against every reference, as minimum-Bayes-risk decoding wants it: bsx against bert-score 0.3.13.

Run: python benchmarks/matrix.py [--side 200] [--sample 1000] [--repeats 3] [--output FILE.json]

bsx scores the matrix by `score_matrix`. bert-score has no such call: it gets the flattened list of pairs. All of it
takes long, so bert-score is timed on a sample of the flattened list, spread evenly over it, and its time for all pairs
is extrapolated; it encodes the distinct texts of a call once, and the time for the texts of the sample, which hardly
grows with the list, is measured apart and not extrapolated. Both are loaded already, alternate, and the figure is the
median. Memory is the peak resident size of a process of its own that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from speed import WMT17, machine, read_pairs, time_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=200)
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", action="store_true", help="score the matrix alone and print the peak memory")
    arguments = parser.parse_args()
    import numpy as np
    from transformers.utils import logging

    import bsx
    from bsx.catalog import shipped
    from bsx.checkpoint import find

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    side = arguments.side
    candidates, references = (column[:side] for column in read_pairs(WMT17))

    def matrix() -> Any:
        metric = bsx.get_metric("bertscore:layer=6", encoders=encoders)
        encoders.forget()
        return metric.score_matrix(candidates, references)

    encoders = bsx.Encoders(model="minilm")
    if arguments.child:
        matrix()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    import bert_score

    folder = find(shipped().model("minilm").source)
    theirs = bert_score.BERTScorer(model_type=str(folder), num_layers=6)
    pairs = side * side
    picked = np.linspace(0, pairs - 1, arguments.sample).astype(int)
    flat = ([candidates[i // side] for i in picked], [references[i % side] for i in picked])
    distinct = (candidates, references)  # the same texts in as few pairs as hold them all
    ours, sampled, once = [], [], []
    for _ in range(arguments.repeats):
        once.append(time_of(theirs.score, *distinct))
        sampled.append(time_of(theirs.score, *flat))
        ours.append(time_of(matrix))
    scores, f1 = matrix(), theirs.score(*flat)[2].numpy()
    gap = float(np.abs(scores[picked // side, picked % side] - f1).max())
    texts, sample, seconds = (statistics.median(values) for values in (once, sampled, ours))
    per_pair = max(0.0, sample - texts) / (arguments.sample - side)
    extrapolated = texts + per_pair * (pairs - side)
    child = subprocess.run(
        [sys.executable, __file__, "--child", "--side", str(side)], capture_output=True, text=True, check=True
    )
    result = {
        "machine": machine(),
        "model": "minilm, layer 6",
        "pairs": pairs,
        "repeats": arguments.repeats,
        "bsx_seconds": round(seconds, 2),
        "bert_score_seconds_for_its_texts": round(texts, 2),
        "bert_score_seconds_for_the_sample": round(sample, 2),
        "sample": arguments.sample,
        "bert_score_seconds_extrapolated": round(extrapolated, 1),
        "ratio": round(extrapolated / seconds, 1),
        "largest_difference": gap,
        "peak_mib": round(float(child.stdout.split()[-1])),
    }
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
