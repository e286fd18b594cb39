"""What it takes to score: seconds and memory of a process that does nothing else, beside chrF in the same run."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path

from bsx.analysis.cards.result import CostRow
from bsx.jobs.cards.data import DataSet, JudgedRows, SegmentTexts
from bsx.jobs.cards.inputs import CardFindings, CardInputs
from bsx.jobs.cards.scoring import Problem
from bsx.support.children import run_code
from bsx.support.result import as_json
from bsx.support.untyped import JsonObject, Untyped

_RUNS = 3
_LONG = 5.0  # seconds of a run after which it is not repeated
_IDLE = 0.02  # of the time, in which processors work for this process: another one or a graphics card does the work
_REFERENCE = "chrf"


def measure_costs(inputs: CardInputs) -> CardFindings:
    """Time every metric, each in a process of its own, and chrF on the same texts."""
    findings = CardFindings()
    of_chrf: dict[str, JsonObject] = {}
    for name in inputs.scorable(findings, "cost", ", which costs nothing to read"):
        every = ((data, content.texts) for data, content in inputs.tables(JudgedRows))
        data, texts = next((pair for pair in every if _fits(inputs, *pair, name)), (None, SegmentTexts()))
        if data is None:
            findings.miss("cost", name, Problem(False, f"no table has what {name} compares"))
            continue
        texts = texts.at(list(range(min(len(texts), inputs.settings.timed))))
        run = {key: str(value) if isinstance(value, Path) else value for key, value in inputs.settings.run.items()}
        run["lang"] = data.lang
        try:
            own = measure(name, texts, run)
            if texts.references is not None and data.name not in of_chrf:
                alone = {key: value for key, value in run.items() if key in ("registry", "lang")}
                of_chrf[data.name] = own if name == _REFERENCE else measure(_REFERENCE, texts, alone)
        except _FailedError as error:
            findings.miss("cost", name, Problem(True, str(error)))
            continue
        beside = of_chrf.get(data.name)
        times, times_range = (None, None) if beside is None else _times(own, beside)
        machine = {"processor": _processor(), "cores": os.cpu_count(), "platform": platform.platform(terse=True)}
        machine["threads"] = os.environ.get("OMP_NUM_THREADS", "")
        note = f"{data.name}: {len(texts)} segments in {data.lang}; seconds are for 1,000"
        findings.add(
            "cost",
            name,
            n=len(texts),
            data=data.name,
            group=data.lang,
            metric=own,
            chrf=beside,
            times_chrf=times,
            times_chrf_range=times_range,
            machine=machine,
            notes=[note],
        )
    return findings


def _times(own: JsonObject, chrf: JsonObject) -> tuple[float, tuple[float, float]]:
    """Return how many times as long as chrF a metric takes, and the least and the most that the runs allow.

    By processor time, which other work on the machine changes little; by the clock where something else computes.
    """
    name = "processor" if own["processor"] and chrf["processor"] else "seconds"
    (least, most), (short, long) = own[f"{name}_range"], chrf[f"{name}_range"]
    return own[name] / chrf[name], (least / long, most / short)


class _FailedError(Exception):
    """A process that measures did not come to an end."""


def _fits(inputs: CardInputs, data: DataSet, texts: SegmentTexts, name: str) -> bool:
    metric = inputs.metrics.build(data.lang)[name] if texts.candidates is not None else None
    return metric is not None and not isinstance(metric, Problem) and metric.needs <= texts.has


def measure(spec: str, texts: SegmentTexts, run: JsonObject) -> JsonObject:
    """Return the cost of scoring texts with one metric, measured in a process of its own.

    Args:
        spec: the metric.
        texts: the rows.
        run: model, language, and where and within what limits to run; plain values.

    Returns:
        A `CostRow` as a mapping.
    """
    asked = {
        "spec": spec,
        "candidates": texts.candidates,
        "references": texts.references,
        "sources": texts.sources,
        "run": run,
    }
    done = run_code("from bsx.jobs.cards.cost import main; main()", given=json.dumps(asked))
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise _FailedError(f"the process that measures {spec} failed: {last}")
    findings: JsonObject = json.loads(done.stdout.splitlines()[-1])
    return findings


def main() -> None:
    """Measure in this process what standard input asks for, and print it."""
    asked = json.loads(sys.stdin.read())
    from bsx.encode.session import Encoders
    from bsx.metrics.zoo import get_metric

    before = _memory()
    start = time.perf_counter()
    metric = get_metric(asked["spec"], encoders=Encoders(**{**asked["run"], **_own(asked["run"])}))
    sides = [asked[name] for name in ("candidates", "references", "sources")]
    few: list[Untyped] = [side if side is None else side[:2] for side in sides]
    metric.score(*few)
    started = time.perf_counter() - start
    runs: list[float] = []
    busy: list[float] = []
    while len(runs) < _RUNS and not (runs and runs[-1] > _LONG):
        # Texts are remembered from call to call; a metric built anew knows none.
        metric = get_metric(asked["spec"], encoders=Encoders(**{**asked["run"], **_own(asked["run"])}))
        metric.score(*few)
        begin, own = time.perf_counter(), time.process_time()
        metric.score(*sides)
        busy.append(time.process_time() - own)
        runs.append(time.perf_counter() - begin)
    seconds, processor = (sorted(run * 1000 / len(asked["candidates"]) for run in of) for of in (runs, busy))
    torch = sys.modules.get("torch")
    elsewhere = sum(busy) < _IDLE * sum(runs) or (torch is not None and torch.cuda.is_initialized())
    row = CostRow(
        seconds=seconds[len(seconds) // 2],
        seconds_range=(seconds[0], seconds[-1]),
        processor=None if elsewhere else processor[len(processor) // 2],
        processor_range=None if elsewhere else (processor[0], processor[-1]),
        start_seconds=started,
        memory=_memory(),
        memory_before=before,
        runs=len(seconds),
    )
    print(json.dumps(as_json(row)))


def _own(run: JsonObject) -> JsonObject:
    """Return settings of paths as paths; a cache of vectors would hide what it takes to compute them."""
    findings: JsonObject = {name: Path(run[name]) for name in ("registry",) if run.get(name) is not None}
    return {**findings, "cache": None} if "cache" in run else findings


def _memory() -> float:
    """Return the most memory that this process ever had, in MB."""
    status = Path("/proc/self/status")
    if status.is_file():  # what getrusage says, a process inherits from the one that started it
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource  # there is none on Windows

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1024 / (1024 if sys.platform == "darwin" else 1)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
