"""How long it takes to start: `bsx --help`, and one pair scored with a small model, each in a process of its own.

Run: python benchmarks/start.py [--repeats 5] [--output benchmarks/results/start.json]

Figures are medians over the repeats, in seconds: by the clock, until the process has ended or, from Python, until the
score is there; and CPU seconds of the whole process, in which other work on the machine hardly shows. Files are read
once beforehand, so that the disk does not count. What says "empty cache" starts with a cache folder of its own, empty
each time. bert-score scores the same pair.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cpu import machine

PAIR = "['He never calls.'], ['He does not ring.']"
SAY = "; print('scored', flush=True)"
BSX = f"import bsx; bsx.Scorer(model={{!r}}, backend={{!r}}).score({PAIR}){SAY}"
PEER = (
    "import warnings; warnings.simplefilter('ignore'); import bert_score; from bsx.catalog.catalog import shipped; "
    "from bsx.models.files import find; "
    "folder = str(find(shipped().model({!r}).source)); "
    f"bert_score.BERTScorer(model_type=folder, num_layers={{}}).score({PAIR}){SAY}"
)
SCORE = ["-c", "from bsx.cli.main import run; run()", "score", "-c", "one.txt", "-r", "other.txt"]
ME5 = "me5-small-q4"
EMPTY = "empty cache"
STARTS = {
    "bsx --help": ["-m", "bsx", "--help"],
    "bsx score, one pair, ONNX Runtime": [*SCORE, "-m", "minilm", "--encoder", "backend=onnx"],
    f"bsx score, one pair, ONNX Runtime, {EMPTY}": [*SCORE, "-m", "minilm", "--encoder", "backend=onnx"],
    "bsx score, one pair, PyTorch": [*SCORE, "-m", "minilm", "--encoder", "backend=torch"],
    "bsx score, one pair, me5-small-q4, ONNX Runtime": [*SCORE, "-m", ME5, "--encoder", "backend=onnx"],
    "Python, one pair, ONNX Runtime": ["-c", BSX.format("minilm", "onnx")],
    "Python, one pair, PyTorch": ["-c", BSX.format("minilm", "torch")],
    "Python, one pair, bert-score": ["-c", PEER.format("minilm", 4)],
    "Python, one pair, me5-small-q4, ONNX Runtime": ["-c", BSX.format(ME5, "onnx")],
    "Python, one pair, me5-small-q4, bert-score": ["-c", PEER.format(ME5, 7)],
}
Figures = tuple[float, float]


def seconds(name: str) -> Figures:
    if name.endswith(EMPTY):
        with tempfile.TemporaryDirectory() as cache:
            return _seconds(STARTS[name], {**os.environ, "BSX_CACHE": cache})
    return _seconds(STARTS[name], dict(os.environ))


def _seconds(arguments: list[str], environment: dict[str, str]) -> Figures:
    command = [sys.executable, *arguments]
    start = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        scored = next((time.perf_counter() - start for line in process.stdout if line == b"scored\n"), None)
        process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = scored if scored is not None else time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{arguments}: ended with status {process.returncode}")
    return wall, used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    output = arguments.output.absolute() if arguments.output else None
    os.environ["HF_HUB_OFFLINE"] = "1"
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)
    for name, text in (("one.txt", "He never calls."), ("other.txt", "He does not ring.")):
        Path(name).write_text(text + "\n", encoding="utf-8")
    for name in STARTS:
        seconds(name)
    runs: dict[str, list[Figures]] = {name: [] for name in STARTS}
    for _ in range(arguments.repeats):
        for name in STARTS:
            runs[name].append(seconds(name))
    result: dict[str, Any] = {"machine": machine(), "repeats": arguments.repeats, "starts": {}}
    for name, times in runs.items():
        wall, cpu = (round(statistics.median(column), 3) for column in zip(*times, strict=True))
        result["starts"][name] = {"seconds": wall, "cpu_seconds": cpu}
        print(f"{name:<52} {wall:7.3f} s, {cpu:7.3f} CPU s")
    if output:
        output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
