"""Speed on a graphics card: bsx against bert-score 0.3.13, and how near the encoder comes to what the card can do.

Run: python benchmarks/gpu.py [--device cuda] [--pairs 10000] [--repeats 3] [--output FILE.json]

The encoder has roberta-large's shape and random weights, cut at layer 17; the pairs are WMT17's, as often as needed,
each made distinct by a number. Both packages score the same pairs on the same card, alternating, loaded already; the
figure is the median. bsx is timed in fp32, fp16 and bf16. The share of the card is the encoder's own operations (two
for each weight and token, and attention) by the time it takes, over the rate of a large bf16 product measured here.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from speed import WMT17, machine, random_roberta_large, read_pairs, time_of

LAYER, WIDTH, INNER = 17, 1024, 4096


def matrix_rate(device: str) -> float:
    """Return the operations a second of a large bf16 matrix product."""
    import torch

    size, rounds = 8192, 20
    left, right = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        left @ right
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(rounds):
        left @ right
    torch.cuda.synchronize()
    return 2 * size**3 * rounds / (time.perf_counter() - start)


def encoder_operations(lengths: list[int]) -> float:
    """Return the operations that encoding sequences of these lengths takes, padding not counted."""
    weights = LAYER * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER)
    return float(sum(2 * n * weights + LAYER * 4 * n * n * WIDTH for n in lengths))


def encoding_time(scorer: Any, sequences: list[list[int]]) -> float:
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in scorer.metric.encoding.shared.batcher.run(sequences):
        pass
    torch.cuda.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    import bert_score
    import numpy as np
    import torch
    from transformers.utils import logging

    import bsx

    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA device")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    columns = read_pairs(WMT17)
    candidates, references = ([f"{column[i % len(column)]} {i}" for i in range(arguments.pairs)] for column in columns)
    result: dict[str, Any] = {
        "machine": machine() | {"device": torch.cuda.get_device_name()},
        "model": "random roberta-large, layer 17",
        "pairs": arguments.pairs,
        "repeats": arguments.repeats,
        "bf16_matrix_teraflops": round(matrix_rate(arguments.device) / 1e12, 1),
    }
    with tempfile.TemporaryDirectory() as home:
        folder = random_roberta_large(Path(home) / "roberta-large")
        theirs = bert_score.BERTScorer(model_type=str(folder), num_layers=LAYER, device=arguments.device)
        ours = {
            dtype: bsx.Scorer(model=str(folder), layer=LAYER, device=arguments.device, dtype=dtype)
            for dtype in ("fp32", "fp16", "bf16")
        }
        times: dict[str, list[float]] = {name: [] for name in ("bert-score", *ours)}
        for scorer in (theirs, *ours.values()):
            scorer.score(candidates[:500], references[:500])
        for _ in range(arguments.repeats):
            times["bert-score"].append(time_of(theirs.score, candidates, references))
            for dtype, scorer in ours.items():
                times[dtype].append(time_of(scorer.score, candidates, references))
        exact = ours["fp32"].score(candidates, references).f1
        tokenized = ours["bf16"].tokenizer.tokenize(candidates + references)
        sequences = [list(span.ids) for text in tokenized for span in text.spans]
        operations = encoder_operations([len(sequence) for sequence in sequences])
        for dtype, scorer in ours.items():
            seconds = statistics.median(times[dtype])
            rate = operations / encoding_time(scorer, sequences)
            result[dtype] = {
                "pairs_per_second": round(arguments.pairs / seconds, 1),
                "times_bert_score": round(statistics.median(times["bert-score"]) / seconds, 2),
                "encoder_teraflops": round(rate / 1e12, 1),
                "share_of_bf16_matrix_rate": round(rate / 1e12 / result["bf16_matrix_teraflops"], 3),
                "largest_f1_difference_from_fp32": float(np.abs(scorer.score(candidates, references).f1 - exact).max()),
            }
        result["bert_score_pairs_per_second"] = round(arguments.pairs / statistics.median(times["bert-score"]), 1)
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
