"""Backends on the CPU against bert-score 0.3.13 in one run, and what int8 and bf16 do to agreement with people.

Run: python benchmarks/cpu.py [--data FOLDER] [--model minilm] [--sizes 1,10,100,1000] [--repeats 5] [--threads 2]
     [--parts speed,encoder,profile,agreement] [--output benchmarks/results/cpu.json]
     python benchmarks/cpu.py --model me5-small-q4 --output benchmarks/results/cpu-me5.json

FOLDER holds daseg-wmt15.tsv to daseg-wmt17.tsv (default ../shared/data/wmt). All contenders score the same WMT17
pairs into English with MiniLM, layer 6 (me5-small-q4: layer 7), taking turns, each loaded beforehand; each figure is
a median over the turns. Agreement is of all language pairs that the model knows. Wall time is what counts on an idle
machine. CPU seconds are given too, because other work hardly shows in them.

The encoder's rate is measured with one thread: the floating-point work of its matrix products, padding included, over
the CPU time spent in it. It is compared with that of one large matrix product of the feed-forward layer's shape, timed
between the turns, by the faster of PyTorch and ONNX Runtime. The profile is ONNX Runtime's own, of the same pairs on
one thread: where the time in the encoder goes by kind of operator.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bsx.support.provenance import VERSION

warnings.simplefilter("ignore")
HERE = Path(__file__).resolve().parent
DATA = HERE.parent.parent / "shared" / "data" / "wmt"
LAYERS = {"minilm": 6, "me5-small-q4": 7}
CONTENDERS: dict[str, dict[str, str]] = {
    "bsx, PyTorch": {"backend": "torch"},
    "bsx, ONNX Runtime": {"backend": "onnx"},
    "bsx, ONNX Runtime, int8": {"backend": "onnx", "dtype": "int8"},
    "bsx, PyTorch, bf16": {"backend": "torch", "dtype": "bf16"},
}
FORMATS = {"bsx, ONNX Runtime": "fp32", "bsx, ONNX Runtime, int8": "int8", "bsx, PyTorch, bf16": "bf16"}
PEER = "bert-score"
INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8", "amx_bf16")


def read(year: int, folder: Path, into: str = "-en") -> list[dict[str, str]]:
    with (folder / f"daseg-wmt{year}.tsv").open(encoding="utf-8", newline="") as stream:
        return [r for r in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE) if r["lp"].endswith(into)]


class Clock:
    """Wall and CPU seconds of calls."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def run(self, score: Any, *columns: list[str]) -> None:
        """Time one call."""
        wall, cpu = time.perf_counter(), time.process_time()
        score(*columns)
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)


class Inside:
    """The floating-point operations of an embedder's matrix products, and the CPU time that they take.

    Args:
        embedder: is watched from now on.
        inner_size: width of its feed-forward layers.
    """

    def __init__(self, embedder: Any, inner_size: int) -> None:
        self._work = self._seconds = 0.0
        begin, depth, dim = embedder.begin, embedder.layers[-1], embedder.dimensions

        def timed(ids: Any, mask: Any) -> Any:
            start = time.thread_time()
            finish = begin(ids, mask)  # on a CPU all is done then
            self._seconds += time.thread_time() - start
            batch, tokens = ids.shape
            each = 2 * (4 * dim * dim + 2 * dim * inner_size) + 4 * tokens * dim
            self._work += depth * batch * tokens * each
            return finish

        embedder.begin = timed

    def rate(self) -> float:
        """Return GFLOP/s since it was asked last."""
        rate = self._work / self._seconds / 1e9
        self._work = self._seconds = 0.0
        return rate


class Gemm:
    """One large matrix product, (1024, 384) by (384, 1536), in PyTorch and in ONNX Runtime."""

    def __init__(self) -> None:
        from bsx.encode.light import Graph, open_session

        rows, inner, columns = 1024, 384, 1536
        rng = np.random.default_rng(1)
        self._left = rng.standard_normal((rows, inner), dtype=np.float32)
        right = rng.standard_normal((inner, columns), dtype=np.float32)
        self._torch = torch.from_numpy(self._left), torch.from_numpy(right)
        self._graph = Graph()
        left = self._graph.input("a", np.float32, (rows, inner))
        self._graph.node("MatMul", left, self._graph.array("b", right), name="c")
        self._graph.output("c", (rows, columns))
        self._session = open_session(self._graph, torch.get_num_threads())
        self._work = 2 * rows * inner * columns
        self.rates: list[float] = []

    def measure(self, repeats: int = 20) -> None:
        """Time some products with each library."""
        for compute in (lambda: torch.mm(*self._torch), lambda: self._session.run(None, {"a": self._left})):
            compute()
            start = time.thread_time()
            for _ in range(repeats):
                compute()
            self.rates.append(self._work * repeats / (time.thread_time() - start) / 1e9)

    @property
    def best(self) -> float:
        """GFLOP/s of the faster library, the median over turns."""
        return statistics.median(max(pair) for pair in zip(self.rates[::2], self.rates[1::2], strict=True))


def open_all(model: str) -> tuple[dict[str, Any], Path]:
    """Return a scorer for each contender that this processor can run, and the checkpoint's folder."""
    import bsx
    from bsx.catalog.catalog import shipped
    from bsx.models.files import find

    scorers = {}
    for name, how in CONTENDERS.items():
        try:
            scorers[name] = bsx.Scorer(model=model, layer=LAYERS[model], **how)
        except bsx.InputError as error:
            if "dtype" not in how:
                raise
            print(f"{name}: {error}", flush=True)
    # A packaged model is unpacked when it is opened first.
    checkpoint = find(shipped().model(model).source)
    assert checkpoint is not None
    return scorers, checkpoint


def first(folder: Path, size: int) -> list[list[str]]:
    """Return candidates and references of the first pairs of WMT17."""
    rows = read(17, folder)[:size]
    return [[row[side] for row in rows] for side in ("candidate", "reference")]


def encoder(folder: Path, model: str, size: int, repeats: int) -> dict[str, Any]:
    """Return the rate of each backend's matrix products on one thread, beside that of one large product."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    scorers, checkpoint = open_all(model)
    inner_size = int(json.loads((checkpoint / "config.json").read_text())["intermediate_size"])
    columns, gemm = first(folder, size), Gemm()
    for scorer in scorers.values():
        scorer.score(*columns)
    watched = {
        name: Inside(scorer.metric.encoding.shared.batcher.embedder, inner_size) for name, scorer in scorers.items()
    }
    rates: dict[str, list[float]] = {name: [] for name in scorers}
    for _ in range(repeats):
        gemm.measure()
        for name, scorer in scorers.items():
            scorer.score(*columns)
            rates[name].append(watched[name].rate())
    torch.set_num_threads(threads)
    inside = {name: round(statistics.median(values), 1) for name, values in rates.items()}
    result = {
        "pairs": size,
        "turns": repeats,
        "gemm_gflops": round(gemm.best, 1),
        "encoder_gflops": inside,
        "encoder_share_of_gemm": {name: round(rate / gemm.best, 3) for name, rate in inside.items()},
    }
    print(json.dumps(result), flush=True)
    return result


def profile(folder: Path, model: str, size: int) -> dict[str, Any]:
    """Return the share of each kind of operator in the time that ONNX Runtime spends in the encoder, on one thread."""
    import onnxruntime

    import bsx

    threads, opened = torch.get_num_threads(), onnxruntime.InferenceSession
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:

        def watched(model: bytes, options: Any, **how: Any) -> Any:
            options.enable_profiling = True
            options.profile_file_prefix = f"{place}/profile"
            return opened(model, options, **how)

        onnxruntime.InferenceSession = watched
        try:
            scorer = bsx.Scorer(model=model, layer=LAYERS[model], backend="onnx")
            scorer.score(*first(folder, size))
            written = scorer.metric.encoding.shared.batcher.embedder._session.end_profiling()
        finally:
            onnxruntime.InferenceSession = opened
            torch.set_num_threads(threads)
        events = json.loads(Path(written).read_text())
    spent: Counter[str] = Counter()
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            spent[event["args"]["op_name"]] += event["dur"]
    total = spent.total()
    result = {"pairs": size, "share": {kind: round(time / total, 4) for kind, time in spent.most_common()}}
    print(json.dumps(result), flush=True)
    return result


def speed(folder: Path, model: str, sizes: list[int], repeats: int) -> dict[str, Any]:
    """Time all contenders on the first pairs of WMT17."""
    import bert_score

    scorers, checkpoint = open_all(model)
    peer = bert_score.BERTScorer(model_type=str(checkpoint), num_layers=LAYERS[model])
    calls = {PEER: peer.score, **{name: scorer.score for name, scorer in scorers.items()}}
    table = []
    for size in sizes:
        columns = first(folder, size)
        clocks = {name: Clock() for name in calls}
        for call in calls.values():
            call(columns[0][:8], columns[1][:8])
        for _ in range(max(repeats, 40 // size)):
            for name, call in calls.items():
                clocks[name].run(call, *columns)
        wall = {name: statistics.median(clock.wall) for name, clock in clocks.items()}
        cpu = {name: statistics.median(clock.cpu) for name, clock in clocks.items()}
        table.append(
            {
                "pairs": len(columns[0]),
                "turns": len(clocks[PEER].wall),
                "pairs_per_second": {name: round(len(columns[0]) / t, 1) for name, t in wall.items()},
                "ratio": {name: round(wall[PEER] / t, 2) for name, t in wall.items() if name != PEER},
                "cpu_seconds": {name: round(t, 3) for name, t in cpu.items()},
                "cpu_ratio": {name: round(cpu[PEER] / t, 2) for name, t in cpu.items() if name != PEER},
            }
        )
        print(json.dumps(table[-1]), flush=True)
    scores = {name: scorer.score(*columns).f1 for name, scorer in scorers.items()}
    exact = scores["bsx, PyTorch"]
    result = {
        "table": table,
        "largest_f1_difference": {name: float(np.abs(f1 - exact).max()) for name, f1 in scores.items()},
    }
    print(json.dumps(result["largest_f1_difference"]), flush=True)
    return result


def agreement(folder: Path, model: str) -> dict[str, Any]:
    """Return Pearson's r with human judgments, per year and language pair, in each number format."""
    scorers = {FORMATS[name]: scorer for name, scorer in open_all(model)[0].items() if name in FORMATS}
    rows: list[dict[str, Any]] = []
    largest = dict.fromkeys(scorers, 0.0)
    for year in (15, 16, 17):
        data = read(year, folder, "-en" if model == "minilm" else "")
        human = np.array([float(row["human"]) for row in data])
        pairs = np.array([row["lp"] for row in data])
        f1 = {
            how: scorer.score([r["candidate"] for r in data], [r["reference"] for r in data]).f1
            for how, scorer in scorers.items()
        }
        largest = {how: max(largest[how], float(np.abs(values - f1["fp32"]).max())) for how, values in f1.items()}
        for pair in dict.fromkeys(pairs.tolist()):
            mine = pairs == pair
            r = {how: float(np.corrcoef(values[mine], human[mine])[0, 1]) for how, values in f1.items()}
            rows.append({"year": 2000 + year, "lp": pair, "n": int(mine.sum()), **r})
            print(json.dumps(rows[-1]), flush=True)
    return {"rows": rows, "largest_f1_difference": largest}


def machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    flags: set[str] = set()
    if info.exists():
        lines = [line.partition(":") for line in info.read_text().splitlines()]
        model = next((value.strip() for key, _, value in lines if key.strip() == "model name"), model)
        flags = set(next((value.split() for key, _, value in lines if key.strip() == "flags"), []))
    packages = ("bert-score", "torch", "transformers", "tokenizers", "onnxruntime", "numpy")
    return {
        "processor": model,
        "instructions": [flag for flag in INSTRUCTIONS if flag in flags],
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": {"bsx": VERSION, **{name: version(name) for name in packages}},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--model", choices=sorted(LAYERS), default="minilm")
    parser.add_argument("--sizes", default="1,10,100,1000", help="numbers of pairs")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument(
        "--parts", default="speed,encoder,profile,agreement", help="what to measure; others keep their results"
    )
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if not (arguments.data / "daseg-wmt17.tsv").is_file():
        raise SystemExit(f"{arguments.data}: holds no daseg-wmt17.tsv; name its folder by --data")
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    sizes = [int(size) for size in arguments.sizes.split(",")]
    measures = {
        "speed": lambda: speed(arguments.data, arguments.model, sizes, arguments.repeats),
        "encoder": lambda: encoder(arguments.data, arguments.model, max(sizes), arguments.repeats),
        "profile": lambda: profile(arguments.data, arguments.model, max(sizes)),
        "agreement": lambda: agreement(arguments.data, arguments.model),
    }
    result: dict[str, Any] = {}
    if arguments.output and arguments.output.is_file():
        result = json.loads(arguments.output.read_text())
    for part in arguments.parts.split(","):
        measured = measures[part]()
        result[part] = {"machine": machine(), "model": arguments.model, "layer": LAYERS[arguments.model], **measured}
        if arguments.output:
            arguments.output.parent.mkdir(parents=True, exist_ok=True)
            arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
