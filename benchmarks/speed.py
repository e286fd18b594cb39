"""Speed and memory of bsx against bert-score 0.3.13, in one run on one machine.

Run: python benchmarks/speed.py [--data FILE.tsv] [--repeats 5] [--parts minilm,large,memory] [--output FILE.json]

FILE has the columns `candidate` and `reference` (default: WMT17 segments from ../shared, if there). Both packages
score the same pairs with the same weights and layer, alternating, each with a scorer that is already loaded; the
figure is the median over repeats. Ratios are what counts: pairs per second depend on the machine. Memory is the peak
resident size of a process of its own that scores distinct pairs and writes nothing.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bsx.support.provenance import VERSION

warnings.simplefilter("ignore")
HERE = Path(__file__).resolve().parent
WMT17 = HERE.parent.parent / "shared" / "data" / "wmt" / "daseg-wmt17.tsv"


def read_pairs(path: Path) -> tuple[list[str], list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = [r for r in rows if r.get("lp", "x-en").endswith("-en")]
    return [r["candidate"] for r in rows], [r["reference"] for r in rows]


def random_roberta_large(folder: Path, **sizes: int) -> Path:
    """Write a RoBERTa of roberta-large's shape, or of other sizes, with random weights and a word-piece tokenizer."""
    import torch
    from transformers import AutoTokenizer, RobertaConfig, RobertaModel

    from bsx.catalog.catalog import shipped
    from bsx.models.files import find

    torch.manual_seed(1)
    shape: dict[str, Any] = {
        "vocab_size": 30522,
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "max_position_embeddings": 514,
        "type_vocab_size": 1,
    }
    RobertaModel(RobertaConfig(**(shape | sizes))).save_pretrained(folder)
    minilm = find(shipped().model("minilm").source)
    AutoTokenizer.from_pretrained(minilm).save_pretrained(folder)
    return folder


def time_of(function: Callable[..., object], *arguments: object) -> float:
    gc.collect()
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


class Stopwatch:
    """Adds up the time spent in functions of the scorer, without changing what they do."""

    def __init__(self, scorer: Any) -> None:
        import bsx.bertscore.metric as wiring

        self.seconds = dict.fromkeys(("tokenising", "encoding", "matching"), 0.0)
        self._wrap(scorer.tokenizer, "tokenize", "tokenising")
        self._wrap(scorer.metric.encoding.shared.batcher.embedder, "begin", "encoding")
        self._wrap(wiring, "match_pairs", "matching")

    def _wrap(self, owner: Any, name: str, phase: str) -> None:
        inner = getattr(owner, name)

        def timed(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return inner(*arguments)
            finally:
                self.seconds[phase] += time.perf_counter() - start

        setattr(owner, name, timed)


def compare(model: str, folder: Path, layer: int, sizes: list[int], repeats: int, pairs: Any) -> list[dict[str, Any]]:
    import bert_score
    import numpy as np

    import bsx

    ours = bsx.Scorer(model=model, layer=layer)
    theirs = bert_score.BERTScorer(model_type=str(folder), num_layers=layer)
    rows = []
    for size in sizes:
        copies = -(-size // len(pairs[0]))
        candidates, references = ((column * copies)[:size] for column in pairs)
        times: dict[str, list[float]] = {"bsx": [], "bert-score": []}
        ours.score(candidates[:8], references[:8])
        theirs.score(candidates[:8], references[:8])
        # Single pairs take milliseconds: more of them, so that the median means something.
        rounds = max(repeats, 40 // size)
        for _ in range(rounds):
            times["bsx"].append(time_of(ours.score, candidates, references))
            times["bert-score"].append(time_of(theirs.score, candidates, references))
        medians = {name: statistics.median(values) for name, values in times.items()}
        f1 = theirs.score(candidates, references)[2].numpy()
        gap = np.abs(ours.score(candidates, references).f1 - f1)
        row = {
            "model": model if "/" not in model else "random roberta-large",
            "layer": layer,
            "pairs": size,
            "bsx_pairs_per_second": round(size / medians["bsx"], 1),
            "bert_score_pairs_per_second": round(size / medians["bert-score"], 1),
            "ratio": round(medians["bert-score"] / medians["bsx"], 2),
            "median_f1_difference": float(np.median(gap)),
            "repeats": rounds,
        }
        rows.append(row)
        print(json.dumps(row), flush=True)
    watch = Stopwatch(ours)
    total = time_of(ours.score, candidates, references)
    shares = {phase: round(seconds / total, 3) for phase, seconds in watch.seconds.items()}
    rows[-1]["share_of_wall_time"] = shares  # tokenising runs beside the encoder, so shares may add up to more than 1
    print(json.dumps(shares), flush=True)
    return rows


def peak_memory(package: str, size: int, layer: int, data: Path) -> float:
    """Return the peak resident size, in MiB, of a process that scores ``size`` distinct pairs."""
    command = [sys.executable, __file__, "--child", package, "--size", str(size), "--layer", str(layer)]
    done = subprocess.run([*command, "--data", str(data)], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def child(package: str, size: int, layer: int, pairs: Any) -> None:
    """Score ``size`` pairs made distinct by a number, then print the peak resident size."""

    def distinct(column: list[str]) -> Iterator[str]:
        return (f"{column[i % len(column)]} {i}" for i in range(size))

    if package == "bsx":
        import bsx

        with tempfile.TemporaryDirectory() as home:
            for name, column in zip("cr", pairs, strict=True):
                with (Path(home) / f"{name}.txt").open("w", encoding="utf-8") as stream:
                    stream.writelines(f"{text}\n" for text in distinct(column))
            from bsx.data.lines import NamedFile
            from bsx.data.open import LineFiles

            corpus = LineFiles({"c": NamedFile(Path(home) / "c.txt")}, [NamedFile(Path(home) / "r.txt")])
            scorer = bsx.Scorer(model="minilm", layer=layer, memory="1GB")
            from bsx.metrics.run import prepare, stream

            scored = sum(len(block.segments) for block in stream(prepare([scorer.metric], corpus)))
            assert scored == size
    else:
        import bert_score

        from bsx.catalog.catalog import shipped
        from bsx.models.files import find

        folder = find(shipped().model("minilm").source)
        bert_score.BERTScorer(model_type=str(folder), num_layers=layer).score(*(list(distinct(c)) for c in pairs))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def machine() -> dict[str, Any]:
    import torch

    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    # What measures something else runs in environments without these two.
    others = {"bert_score": "bert-score", "onnxruntime": "onnxruntime"}
    packages = ["torch", "transformers", "tokenizers", "numpy"]
    packages += [package for module, package in others.items() if find_spec(module) is not None]
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": {"bsx": VERSION, **{name: version(name) for name in packages}},
        "device": "cpu",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=WMT17)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--sizes", default="1,10,100,1000", help="numbers of pairs for MiniLM")
    parser.add_argument("--parts", default="minilm,large,memory", help="what to measure; others keep their results")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", choices=("bsx", "bert-score"))
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument(
        "--layer", type=int, default=0, help="of the memory runs: it changes their time, not their size"
    )
    arguments = parser.parse_args()
    if not arguments.data.is_file():
        raise SystemExit(f"{arguments.data}: not there; name a TSV with the columns candidate and reference by --data")
    pairs = read_pairs(arguments.data)
    if arguments.child:
        child(arguments.child, arguments.size, arguments.layer, pairs)
        return
    from transformers.utils import logging

    from bsx.catalog.catalog import shipped
    from bsx.models.files import find

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder = find(shipped().model("minilm").source)
    assert folder is not None
    parts = arguments.parts.split(",")
    result: dict[str, Any] = {}
    if arguments.output and arguments.output.is_file():
        result = json.loads(arguments.output.read_text())
    result |= {"machine": machine(), "data": arguments.data.name}
    if "minilm" in parts:
        sizes = [int(size) for size in arguments.sizes.split(",")]
        result["minilm"] = compare("minilm", folder, 6, sizes, arguments.repeats, pairs)
    if "large" in parts:
        with tempfile.TemporaryDirectory() as home:
            large = random_roberta_large(Path(home) / "roberta-large")
            result["large"] = compare(str(large), large, 17, [8, 32], 3, pairs)
    if "memory" in parts:
        result["memory_mib"] = {
            f"{package} {size}": round(peak_memory(package, size, arguments.layer, arguments.data))
            for package, size in (("bsx", 1000), ("bsx", 10_000), ("bsx", 100_000), ("bert-score", 10_000))
        }
        print(json.dumps(result["memory_mib"]))
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
