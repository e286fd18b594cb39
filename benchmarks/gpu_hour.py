"""Ten minutes on a graphics card: tests, short memory, number formats, batch sizes, a profile, and bert-score in turns.

Run: bash benchmarks/gpu_hour.sh [--output gpu-hour.json] [--minutes 9.5] [--pairs 10000] [--steps machine,parity,...]
     python benchmarks/gpu_hour.py --miniature        the same on the CPU with a tiny model, to find slips before

Each step runs in a process of its own, with a time limit, and is in the JSON file when it ends, with whatever it had
found if it failed or ran out of time. A further run skips the steps that are done; those that failed come last.

- machine: the card, and its rate in large matrix products by number format;
- parity: scores of the card and of the CPU, which may differ by 1e-5; of all pairs and of optimal transport too;
- memory: the card's memory cut to a little more than the weights take; batches are halved, scores stay;
- speed: roberta-large's shape with random weights, layer 17, against bert-score 0.3.13, in turns; and the share of the
  card's matrix rate that the encoder reaches (its own operations, padding not counted, by the time it takes);
- formats-large, formats-minilm, formats-me5: pairs a second, the largest deviation of F1 from fp32, and with real
  weights the mean Pearson correlation with WMT17's human judgments, in five number formats: fp32, tf32, bf16, fp16, and
  bf16 compiled by PyTorch (bsx does not compile; this tells whether it should). int8 is of CPUs only (cpu.py);
- budgets: tokens of a batch from 4,096 to 262,144: tokens a second and memory; and batches of one length, unmasked;
- profile: 20 batches: where the card's time goes, how long it idles, how often the processor waits for it and copies
  from it; so too of all pairs, optimal transport, and vectors written to a cache and read;
- tests: the CUDA tests, then those of encoding and matching.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

DATA = HERE.parent.parent / "shared" / "data"
# fp32 and tf32 differ in how a card multiplies; "compiled" is bf16 through torch.compile.
FORMATS = ("fp32", "tf32", "bf16", "fp16", "compiled")
GOALS = {"bf16_times_bert_score": 10.0, "fp32_or_tf32_times_bert_score": 5.0, "share_of_matrix_rate": 0.8}
_GRACE = 5.0  # seconds that no step is started in


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Attributes:
        device: where.
        pairs: pairs to time.
        real: pairs of WMT17 for deviations and agreement.
        repeats: turns.
        large: changes of roberta-large's shape.
        layer: of the large model.
        matrix: rows and columns of the matrix product.
        budgets: tokens of a batch.
        batches: how many are profiled.
        rooms: megabytes of the card left to work in.
    """

    device: str = "cuda"
    pairs: int = 10_000
    real: int = 10_000
    repeats: int = 3
    large: Mapping[str, int] = field(default_factory=dict)
    layer: int = 17
    matrix: int = 8192
    budgets: tuple[int, ...] = (4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144)
    batches: int = 20
    rooms: tuple[int, ...] = (2048, 1024, 512)


MINIATURE = Size(
    device="cpu",
    pairs=12,
    real=24,
    repeats=1,
    large={"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64},
    layer=2,
    matrix=64,
    budgets=(64, 256),
    batches=2,
    rooms=(1,),
)


@dataclass(frozen=True)
class Run:
    """What a step has: the size, where to read and keep files, and where to say what it found.

    Attributes:
        size: how much is measured.
        data: the folder of the evaluation data.
        work: a folder for models, which outlives the step.
        keep: takes a name and what was found, which is on disk from then on.
    """

    size: Size
    data: Path
    work: Path
    keep: Callable[[str, Any], None]

    @property
    def device(self) -> str:
        """Where to compute."""
        return self.size.device

    @property
    def card(self) -> bool:
        """Whether that is a graphics card."""
        return self.device.startswith("cuda")

    def sync(self) -> None:
        """Wait for the card."""
        if self.card:
            import torch

            torch.cuda.synchronize(self.device)

    def seconds(self, work: Callable[[], object]) -> float:
        """Return how long work takes, on the card too."""
        self.sync()
        start = time.perf_counter()
        work()
        self.sync()
        return time.perf_counter() - start

    def rows(self) -> list[dict[str, str]]:
        """Return WMT17's judged segments into English; in miniature a few of each language pair."""
        with (self.data / "wmt" / "daseg-wmt17.tsv").open(encoding="utf-8", newline="") as stream:
            rows = [r for r in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE) if r["lp"][-3:] == "-en"]
        return rows[:: max(1, len(rows) // self.size.real)][: self.size.real]

    def pairs(self, count: int | None = None) -> tuple[list[str], list[str]]:
        """Return distinct candidates and references: WMT17's, as often as needed, with a number at the end."""
        rows, count = self.rows(), count or self.size.pairs
        candidates, references = (
            [f"{rows[i % len(rows)][name]} {i}" for i in range(count)] for name in ("candidate", "reference")
        )
        return candidates, references

    def large(self) -> str:
        """Return the folder of a model of roberta-large's shape with random weights, made once."""
        from benchmarks.speed import random_roberta_large

        folder = self.work / "roberta-large"
        if not (folder / "tokenizer_config.json").is_file():
            random_roberta_large(folder, **self.size.large)
        return str(folder)

    def scorer(self, model: str, dtype: str = "fp32", **settings: Any) -> Any:
        """Return a scorer by PyTorch, of the large model at its layer, of others at the registry's."""
        import bsx

        layer = {"layer": self.size.layer} if model == "large" else {}
        name = self.large() if model == "large" else model
        settings = {"device": self.device, "dtype": dtype, "backend": "torch"} | layer | settings
        return bsx.Scorer(model=name, **settings)


def batcher_of(scorer: Any) -> Any:
    """Return what runs a scorer's encoder."""
    return scorer.metric.encoding.shared.batcher


def sequences_of(scorer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Return token ids as a scorer's encoder gets them."""
    return [list(span.ids) for text in scorer.tokenizer.tokenize(list(texts)) for span in text.spans]


def mover_score(device: str) -> Any:
    """Return a metric whose results the processor computes from distances that a device does."""
    import bsx

    return bsx.get_metric("moverscore:model=minilm", encoders=bsx.Encoders(device=device, backend="torch"))


def encode_all(batcher: Any, sequences: Sequence[Sequence[int]]) -> None:
    """Encode, and drop the vectors."""
    for _ in batcher.run(sequences):
        pass


def operations(lengths: Sequence[int], layers: int, width: int, inner: int) -> float:
    """Return the operations that encoding sequences of these lengths takes, padding not counted.

    Two for each weight and token in the products of a layer, and two products of attention.
    """
    weights = layers * (4 * width * width + 2 * width * inner)
    return float(sum(2 * n * weights + layers * 4 * n * n * width for n in lengths))


def matrix_rate(run: Run, dtype: str) -> float:
    """Return the operations a second of a large matrix product in a number format."""
    import torch

    from bsx.encode.torch_encoder import TORCH_DTYPES

    size, rounds = run.size.matrix, 10
    left, right = (torch.randn(size, size, device=run.device).to(TORCH_DTYPES[dtype]) for _ in range(2))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
    try:
        for _ in range(3):
            left @ right

        def products() -> None:
            for _ in range(rounds):
                left @ right

        return 2 * size**3 * rounds / run.seconds(products)
    finally:
        torch.set_float32_matmul_precision(before)


def attempt(work: Callable[[], Any]) -> Any:
    """Return what work returns, or what went wrong, so that the rest of a step is measured."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - a card may refuse anything
        return {"error": f"{type(error).__name__}: {error}"[:500]}


# -- the steps


def machine(run: Run) -> None:
    """Say what there is."""
    import torch

    from bsx.support.provenance import VERSION

    versions = {"bsx": VERSION}
    for name in ("torch", "transformers", "tokenizers", "numpy", "bert-score", "triton"):
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    run.keep("versions", versions)
    run.keep("python", platform.python_version())
    run.keep("processor", names[0] if names else platform.machine())
    run.keep("cores", os.cpu_count())
    run.keep("device", run.device)
    if run.card:
        card = torch.cuda.get_device_properties(run.device)
        run.keep("card", card.name)
        run.keep("capability", f"{card.major}.{card.minor}")
        run.keep("memory_gib", round(card.total_memory / 2**30, 1))
        run.keep("free_gib", round(torch.cuda.mem_get_info(run.device)[0] / 2**30, 1))
        run.keep("cuda", torch.version.cuda)
    rates = {}
    for dtype in ("fp32", "tf32", "bf16", "fp16"):
        found = attempt(lambda dtype=dtype: matrix_rate(run, dtype) / 1e12)
        rates[dtype] = round(found, 4) if isinstance(found, float) else found
        run.keep("matrix_teraflops", rates)


def parity(run: Run) -> None:
    """Compare the card with the CPU, in fp32."""
    rows = run.rows()[:: 1 if run.size.real < 200 else 20]
    candidates, references = [r["candidate"] for r in rows], [r["reference"] for r in rows]
    for model in ("minilm", "me5-small-q4") if run.card else ("minilm",):
        here, there = (run.scorer(model, device=device).score(candidates, references) for device in ("cpu", run.device))
        gaps = {
            name: float(np.abs(getattr(here, name) - getattr(there, name)).max())
            for name in ("precision", "recall", "f1")
        }
        run.keep(model, {"pairs": len(rows), "largest_difference": gaps, "within_1e-5": max(gaps.values()) <= 1e-5})
    texts = candidates[:40], references[:40]
    for name, scores in {
        "matrix": lambda device: run.scorer("minilm", device=device).metric.score_matrix(*texts),
        "moverscore": lambda device: mover_score(device).score(*texts).values,
    }.items():
        outcome = attempt(lambda scores=scores: float(np.nanmax(np.abs(scores("cpu") - scores(run.device)))))
        run.keep(name, outcome if isinstance(outcome, dict) else {"largest_difference": outcome})


@dataclass
class Retries:
    """Counts what did not fit: batches of the encoder, and batches of pairs."""

    encoder: int = 0
    matching: int = 0

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count until the end."""
        from bsx.encode.batching import Batcher
        from bsx.match import greedy

        untyped: Any = Batcher
        shrink, halving, depth = untyped._shrink, greedy.halving, 0

        def counted(batcher: Any, lengths: Sequence[int], lacking: str) -> None:
            self.encoder += 1
            shrink(batcher, lengths, lacking)

        def halved(work: Any, batch: Any) -> None:
            nonlocal depth
            self.matching += depth > 0
            depth += 1
            try:
                halving(work, batch)
            finally:
                depth -= 1

        untyped._shrink, greedy.halving = counted, halved
        try:
            yield
        finally:
            untyped._shrink, greedy.halving = shrink, halving


@contextlib.contextmanager
def little_memory(run: Run, megabytes: int) -> Iterator[None]:
    """Leave the card only so much beyond what it holds; the CPU, which has no such bound, refuses large batches."""
    import torch

    if run.card:
        torch.cuda.empty_cache()
        total = torch.cuda.get_device_properties(run.device).total_memory
        torch.cuda.set_per_process_memory_fraction(
            min(1.0, (torch.cuda.memory_reserved(run.device) + megabytes * 1_000_000) / total)
        )
        try:
            yield
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        return
    from bsx.encode.torch_encoder import TransformerEmbedder
    from bsx.match import greedy

    untyped: Any = TransformerEmbedder
    states, rows = untyped.hidden_states, greedy.padded_rows

    def refusing(embedder: Any, ids: Any, mask: Any) -> Any:
        if ids.numel() > 300:
            raise torch.OutOfMemoryError("simulated")
        return states(embedder, ids, mask)

    def refusing_rows(window: Any, texts: Any) -> Any:
        if len(texts) > 4:
            raise torch.OutOfMemoryError("simulated")
        return rows(window, texts)

    untyped.hidden_states, greedy.padded_rows = refusing, refusing_rows
    try:
        yield
    finally:
        untyped.hidden_states, greedy.padded_rows = states, rows


def memory(run: Run) -> None:
    """Run out of memory, and score the same all the same."""
    candidates, references = run.pairs(min(run.size.pairs, 4000))
    exact = run.scorer("minilm", batch_tokens=8192).score(candidates, references).f1
    run.keep("simulated", not run.card)
    for room in run.size.rooms:

        def tried(room: int = room) -> dict[str, Any]:
            scorer = run.scorer("minilm", batch_tokens=262_144)
            scorer.score(candidates[:2], references[:2])  # the weights are there
            retries = Retries()
            with retries.counting(), little_memory(run, room):
                found = scorer.score(candidates, references).f1
            gap = float(np.abs(found - exact).max())
            return {
                "encoder_retries": retries.encoder,
                "matching_retries": retries.matching,
                "tokens_of_a_batch_then": batcher_of(scorer).batch_tokens,
                "largest_difference": gap,
                "within_1e-5": gap <= 1e-5,
            }

        run.keep(f"{room} MB", attempt(tried))


def speed(run: Run) -> None:
    """Time the large model against bert-score, in turns, then its encoder against the card's matrix rate."""
    import bert_score

    candidates, references = run.pairs(min(run.size.pairs, 5000))
    theirs = bert_score.BERTScorer(model_type=run.large(), num_layers=run.size.layer, device=run.device)
    contenders: dict[str, Callable[[list[str], list[str]], object]] = {
        "bert-score": theirs.score,
        "bert-score, batches of 512": lambda left, right: theirs.score(left, right, batch_size=512),
    }
    scorers: dict[str, Any] = {}
    refused = {}
    for dtype in FORMATS[:-1]:
        made = attempt(lambda dtype=dtype: run.scorer("large", dtype))
        if isinstance(made, dict):
            refused[dtype] = made
        else:
            scorers[dtype] = made
            contenders[f"bsx {dtype}"] = made.score
    if refused:
        run.keep("refused", refused)
    for score in contenders.values():
        score(candidates[:500], references[:500])
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(run.size.repeats):
        for name, score in contenders.items():
            times[name].append(run.seconds(lambda score=score: score(candidates, references)))
        medians = {name: statistics.median(values) for name, values in times.items() if values}
        best = min(medians["bert-score"], medians["bert-score, batches of 512"])
        run.keep("pairs", len(candidates))
        run.keep("turns", len(times["bert-score"]))
        run.keep("pairs_per_second", {name: round(len(candidates) / s, 1) for name, s in medians.items()})
        run.keep("times_bert_score", {name: round(medians["bert-score"] / s, 2) for name, s in medians.items()})
        run.keep("times_bert_score_at_its_best", {name: round(best / s, 2) for name, s in medians.items()})
    config = json.loads((Path(run.large()) / "config.json").read_text())
    shape = run.size.layer, config["hidden_size"], config["intermediate_size"]
    shares = {}
    for dtype, scorer in scorers.items():
        sequences = sequences_of(scorer, candidates + references)
        work = operations([len(sequence) for sequence in sequences], *shape)
        batcher = batcher_of(scorer)
        rate = work / run.seconds(lambda batcher=batcher, sequences=sequences: encode_all(batcher, sequences))
        most = matrix_rate(run, dtype)
        shares[dtype] = {
            "encoder_teraflops": round(rate / 1e12, 4),
            "matrix_teraflops": round(most / 1e12, 4),
            "share": round(rate / most, 3),
        }
        run.keep("encoder_and_matrix_rate", shares)


def agreement(rows: Sequence[Mapping[str, str]], scores: Any) -> float:
    """Return the mean over language pairs of Pearson's correlation with the human judgments."""
    found = []
    for lp in sorted({row["lp"] for row in rows}):
        chosen = [i for i, row in enumerate(rows) if row["lp"] == lp]
        if len(chosen) > 2:
            found.append(np.corrcoef(scores[chosen], [float(rows[i]["human"]) for i in chosen])[0, 1])
    return float(np.mean(found))


def formats(run: Run, model: str) -> None:
    """Score with one model in every number format."""
    import torch

    rows = run.rows()
    real = [r["candidate"] for r in rows], [r["reference"] for r in rows]
    timed = run.pairs()
    exact: Any = None
    run.keep("int8", "is computed on CPUs only, by ONNX Runtime: benchmarks/cpu.py measures it")
    for name in FORMATS:

        def measured(name: str = name, exact: Any = exact) -> tuple[dict[str, Any], Any]:
            dtype = name if name != "compiled" else "bf16" if run.card else "fp32"
            scorer = run.scorer(model, dtype)
            if name == "compiled":
                embedder = batcher_of(scorer).embedder
                embedder.module = torch.compile(
                    embedder.module, dynamic=True, backend="inductor" if run.card else "eager"
                )
            scores = scorer.score(*real).f1
            scorer.score(*(column[:500] for column in timed))
            seconds = [run.seconds(lambda: scorer.score(*timed)) for _ in range(run.size.repeats)]
            found = {"pairs_per_second": round(len(timed[0]) / statistics.median(seconds), 1)}
            if exact is not None:
                found["largest_deviation_from_fp32"] = float(np.abs(scores - exact).max())
            if model != "large":
                found["pearson_wmt17"] = round(agreement(rows, scores), 5)
            return found, scores

        outcome = attempt(measured)
        found, scores = outcome if isinstance(outcome, tuple) else (outcome, None)
        exact = scores if name == "fp32" else exact
        run.keep(name, found)
        if run.card:
            torch.cuda.empty_cache()


def budgets(run: Run) -> None:
    """Encode with batches of many sizes, padded; and with batches of one length, which need no mask."""
    import torch

    for model in ("large", "minilm"):
        outcome = attempt(lambda model=model: run.scorer(model, "bf16"))
        scorer = outcome if not isinstance(outcome, dict) else run.scorer(model)
        batcher = batcher_of(scorer)
        candidates, references = run.pairs()
        sequences = sequences_of(scorer, candidates + references)
        tokens = sum(map(len, sequences))
        encode_all(batcher, sequences[:1000])
        table = {"default": batcher.batch_tokens, "sequences": len(sequences), "tokens": tokens}

        def measured(budget: int, *, padding: bool, batcher: Any = batcher, sequences: Any = sequences) -> Any:
            batcher.batch_tokens, batcher.embedder.ignores_padding = budget, padding
            if run.card:
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats(run.device)
            seconds = run.seconds(lambda: encode_all(batcher, sequences))
            found = {"tokens_per_second": round(sum(map(len, sequences)) / seconds), "shrunk_to": batcher.batch_tokens}
            if run.card:
                found["peak_mib"] = round(torch.cuda.max_memory_allocated(run.device) / 2**20)
            return found

        for budget in run.size.budgets:
            table[f"{budget} tokens"] = attempt(lambda budget=budget: measured(budget, padding=True))
            run.keep(model, table)
        for budget in run.size.budgets[len(run.size.budgets) // 2 :]:
            table[f"{budget} tokens, one length"] = attempt(lambda budget=budget: measured(budget, padding=False))
            run.keep(model, table)


def busy(intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return how long any of some intervals lasts, and from the first one's start to the last one's end.

    >>> busy([(0, 2), (1, 3), (5, 6)])
    (4, 6)
    """
    total = 0.0
    reached = -float("inf")
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total, reached - min(start for start, _ in intervals) if intervals else 0.0


def profile(run: Run) -> None:
    """Trace some batches of the large model: the encoder alone, whole scoring, and what copies results to the host.

    The card's queue is filled where it idles little. Waits and copies to the host that grow with batches drain it.
    """
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as tracing

    outcome = attempt(lambda: run.scorer("large", "bf16"))
    scorer = outcome if not isinstance(outcome, dict) else run.scorer("large")
    batcher = batcher_of(scorer)
    candidates, references = run.pairs()
    sequences = sequences_of(scorer, candidates + references)
    enough, tokens = 0, 0
    while enough < len(sequences) and tokens < run.size.batches * batcher.batch_tokens:
        tokens += len(sequences[enough])
        enough += 1
    pairs = max(1, enough // 2)
    encode_all(batcher, sequences[: min(enough, 2000)])
    scorer.score(candidates[:500], references[:500])
    few, some = max(2, pairs // 50), max(2, pairs // 5)
    folder = tempfile.TemporaryDirectory(prefix="gpu-hour-")

    settings = {} if isinstance(outcome, dict) else {"dtype": "bf16"}
    caching = [run.scorer("large", cache=folder.name, **settings) for _ in range(2)]
    mover = attempt(lambda: mover_score(run.device))
    for opened in (*caching, mover):  # loading a model is not what is traced
        attempt(lambda opened=opened: opened.score(["a"], ["b"]))

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if run.card else [])]
    for name, work in {
        "encoder": lambda: encode_all(batcher, sequences[:enough]),
        "scoring": lambda: scorer.score(candidates[:pairs], references[:pairs]),
        "matrix": lambda: scorer.metric.score_matrix(candidates[:few], references[:few]),
        "moverscore": lambda: mover.score(candidates[:few], references[:few]),
        "cache, written": lambda: caching[0].score(candidates[:some], references[:some]),
        "cache, read": lambda: caching[1].score(candidates[:some], references[:some]),
    }.items():
        with tracing(activities=activities) as traced:
            lasting = attempt(lambda work=work: run.seconds(work))
        if isinstance(lasting, dict):
            run.keep(name, lasting)
            continue
        events = list(traced.events())
        there = [e for e in events if str(e.device_type).endswith("CUDA")] if run.card else []
        spans = [(e.time_range.start, e.time_range.end) for e in there]
        worked, lasted = busy(spans)
        own = "self_device_time_total" if run.card else "self_cpu_time_total"
        table = sorted(traced.key_averages(), key=lambda row: -getattr(row, own, 0))
        every = sum(getattr(row, own, 0) for row in table) or 1
        waits = {
            wait: sum(event.name == wait for event in events)
            for wait in ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "aten::item")
        }
        found = {
            "sequences": enough,
            "batch_tokens": batcher.batch_tokens,
            "batches": round(tokens / batcher.batch_tokens, 1),
            "copies_to_host": sum("DtoH" in event.name for event in there),
            "card_idle_share": round(1 - worked / lasted, 3) if lasted else None,
            "waits": waits,
            "top": [
                {"name": row.key[:100], "calls": row.count, "share": round(getattr(row, own, 0) / every, 3)}
                for row in table[:15]
            ],
        }
        run.keep(name, found)
    folder.cleanup()


def tests(run: Run) -> None:
    """Run the CUDA tests, then those of encoding and matching."""
    import xml.etree.ElementTree as Tree

    groups: dict[str, list[str]] = {
        "cuda": ["tests/test_cuda.py"],
        "encoding and matching": [
            *("tests/encode/test_short_of_memory.py", "tests/encode/test_torch_encoder.py", "tests/match"),
        ],
    }
    if not run.card:
        groups = {"cuda": [f"{groups['cuda'][0]}::test_fp32_is_the_cpu"]}
    for name, paths in groups.items():
        report = run.work / "tests.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not hub"]
        command += ["--tb=short", f"--junitxml={report}", *paths]
        done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
        found: dict[str, Any] = {"status": done.returncode}
        if report.is_file():
            suite = next(Tree.parse(report).getroot().iter("testsuite"))  # noqa: S314 - of our own pytest
            found |= {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
        if done.returncode:
            found["end"] = done.stdout[-3000:] + done.stderr[-1000:]
        run.keep(name, found)


@dataclass(frozen=True)
class Step:
    """A step and the seconds that it may take."""

    work: Callable[[Run], None]
    limit: float


STEPS = {
    "machine": Step(machine, 60),
    "parity": Step(parity, 60),
    "memory": Step(memory, 60),
    "speed": Step(speed, 150),
    "formats-large": Step(lambda run: formats(run, "large"), 90),
    "formats-minilm": Step(lambda run: formats(run, "minilm"), 75),
    "formats-me5": Step(lambda run: formats(run, "me5-small-q4" if run.card else "minilm"), 75),
    "budgets": Step(budgets, 75),
    "profile": Step(profile, 60),
    "tests": Step(tests, 150),
}


# -- running them


def write(file: Path, content: Any) -> None:
    """Write JSON so that a reader finds the old file or the new one."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    beside.replace(file)


def read(file: Path) -> dict[str, Any]:
    """Return JSON, or nothing if the file is not there or broken off."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def keeping(file: Path) -> Callable[[str, Any], None]:
    """Return what a step says its findings to, which writes all of them each time."""
    found: dict[str, Any] = {}

    def keep(name: str, value: Any) -> None:
        found[name] = value
        write(file, found)

    return keep


def one_step(command: Sequence[str], part: Path, limit: float) -> dict[str, Any]:
    """Run a step in a process of its own.

    Args:
        command: starts it.
        part: where it says what it found.
        limit: seconds, after which it and all that it started is ended.

    Returns:
        How it ended, how long it took, and what it found, be that all or not.
    """
    part.unlink(missing_ok=True)
    start = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            state = "done" if process.wait(limit) == 0 else "failed"
        except subprocess.TimeoutExpired:
            state = "late"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        end = said.read()[-3000:].decode("utf-8", "replace")
    entry = {"state": state, "seconds": round(time.monotonic() - start, 1), "found": read(part)}
    return entry if state == "done" else entry | {"end": end}


def run_steps(
    limits: Mapping[str, float],
    command: Callable[[str, Path], Sequence[str]],
    output: Path,
    *,
    seconds: float,
    said: Mapping[str, Any],
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Run steps that are not done yet, one after another, within some time; those that failed before come last.

    Args:
        limits: name -> seconds that the step may take.
        command: returns what starts a step, given its name and where it says what it found.
        output: the JSON file, written after each step.
        seconds: for all of them.
        said: what else the file holds.
        tell: takes a line for the person at the keyboard.

    Returns:
        What the file holds then.
    """
    deadline = time.monotonic() + seconds
    content = read(output)
    if content and content.get("miniature") != said.get("miniature"):
        raise SystemExit(f"{output} is of another kind of run: name another file by --output")
    content |= said
    steps: dict[str, Any] = content.setdefault("steps", {})
    left = [name for name in limits if steps.get(name, {}).get("state") != "done"]
    for name in sorted(left, key=lambda name: name in steps):
        time_left = deadline - time.monotonic()
        if time_left < _GRACE:
            tell(f"{name}: no time left; run again to go on")
            continue
        part = output.with_name(f".{output.name}.{name}")
        steps[name] = one_step(command(name, part), part, min(limits[name], time_left))
        part.unlink(missing_ok=True)
        write(output, content)
        tell(f"{name}: {steps[name]['state']}, {steps[name]['seconds']:.0f} s")
    return content


def summary(content: Mapping[str, Any]) -> list[str]:
    """Return the goals and what was reached, a line each, as far as it was measured."""
    found = content.get("steps", {}).get("speed", {}).get("found", {})
    times, shares = found.get("times_bert_score", {}), found.get("encoder_and_matrix_rate", {})
    reached = {
        "bf16_times_bert_score": times.get("bsx bf16"),
        "fp32_or_tf32_times_bert_score": max((times[n] for n in ("bsx fp32", "bsx tf32") if n in times), default=None),
        "share_of_matrix_rate": max((row["share"] for row in shares.values()), default=None),
    }
    return [f"{name}: {reached[name]} (goal {goal:g})" for name, goal in GOALS.items() if reached[name] is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("gpu-hour.json"), help="the JSON file, which is continued")
    parser.add_argument("--minutes", type=float, default=9.5, help="for all steps (9.5)")
    parser.add_argument("--pairs", type=int, help="pairs that are timed (10,000)")
    parser.add_argument("--steps", default=",".join(STEPS), help="names, with commas between them (all)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds wmt/daseg-wmt17.tsv")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "gpu-hour", help="for models")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--miniature", action="store_true", help="on the CPU, with a tiny model")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    size = MINIATURE if arguments.miniature else Size(device=arguments.device)
    if arguments.pairs:
        size = Size(**(vars(size) | {"pairs": arguments.pairs}))
    work = arguments.work / ("miniature" if arguments.miniature else "whole")
    work.mkdir(parents=True, exist_ok=True)
    if arguments.step:
        warnings.simplefilter("ignore")
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        STEPS[arguments.step].work(Run(size, arguments.data, work, keeping(arguments.part)))
        return
    names = arguments.steps.split(",")
    if unknown := [name for name in names if name not in STEPS]:
        raise SystemExit(f"there is no step {unknown[0]}: there are {', '.join(STEPS)}")
    if not (arguments.data / "wmt" / "daseg-wmt17.tsv").is_file():
        raise SystemExit(f"{arguments.data}: it holds no wmt/daseg-wmt17.tsv; name the folder by --data")
    if importlib.util.find_spec("torch") is None:
        raise SystemExit("PyTorch is not installed: install the build for your card")
    if not arguments.miniature:
        import torch

        if not torch.cuda.is_available():
            raise SystemExit("PyTorch finds no CUDA device here; --miniature tries all steps on the CPU")
    options = ["--data", str(arguments.data), "--work", str(arguments.work), "--device", arguments.device]
    options += ["--miniature"] if arguments.miniature else []
    options += ["--pairs", str(arguments.pairs)] if arguments.pairs else []
    content = run_steps(
        {name: STEPS[name].limit * (10 if arguments.miniature else 1) for name in names},
        lambda name, part: [sys.executable, str(Path(__file__)), "--step", name, "--part", str(part), *options],
        arguments.output,
        seconds=60 * arguments.minutes * (10 if arguments.miniature else 1),
        said={"miniature": arguments.miniature, "pairs": size.pairs, "goals": GOALS},
    )
    print("\n".join(summary(content)))


if __name__ == "__main__":
    main()
