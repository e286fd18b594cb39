"""How fast engines score with `bsx.BatchScorer` on two workers, compared with two processes without an engine.

Run: python benchmarks/engines.py [--engines ray,spark,daft,dask] [--jobs chrf,bertscore] [--scale 1] [--rounds 3]
[--output FILE.json]

Distinct made-up pairs lie in memory as Arrow tables (200 rows for chrF, 50 for BERTScore), for Spark and Daft in two
Parquet files. Each engine has two workers of one thread. It is started and scores everything once before; then
contenders take turns. Figures are medians of rounds: of rates, and of ratios to two processes of `multiprocessing` in
the same round.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("RAY_worker_niceness", "0")  # of the others' priority, not 15 below
from speed import machine

JOBS = {"chrf": (40_000, 200), "bertscore": (1000, 50)}
"""Rows, and rows of a batch."""
WORDS = ["the", "cat", "dog", "house", "sees", "runs", "under", "old", "new", "green", "with", "rain", "falls", "small"]
Run = Callable[[], int]
Ready = Callable[[Any, list[Any], Path], Run]
"""Make of a scorer, tables, and a folder with the same rows what scores them all and returns their number."""


@contextlib.contextmanager
def local() -> Iterator[Ready]:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        yield lambda scorer, parts, folder: lambda: sum(one.num_rows for one in pool.imap(scorer, parts))


@contextlib.contextmanager
def ray() -> Iterator[Ready]:
    import ray as engine

    from bsx.cluster.dataset import connect

    connect(None, 1)
    engine.data.DataContext.get_current().enable_progress_bars = False
    arrow: dict[str, Any] = {"batch_format": "pyarrow", "batch_size": None}

    def ready(scorer: Any, parts: list[Any], folder: Path) -> Run:
        pairs = engine.data.from_arrow(parts)
        return lambda: sum(one.num_rows for one in pairs.map_batches(scorer, **arrow).iter_batches(**arrow))

    yield ready
    engine.shutdown()


@contextlib.contextmanager
def spark() -> Iterator[Ready]:
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

    def ready(scorer: Any, parts: list[Any], folder: Path) -> Run:
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", len(parts[0]))
        pairs = session.read.parquet(str(folder))
        schema = from_arrow_schema(scorer.schema(parts[0].schema))
        return lambda: pairs.mapInArrow(lambda batches: map(scorer, batches), schema).toArrow().num_rows

    yield ready
    session.stop()


@contextlib.contextmanager
def daft() -> Iterator[Ready]:
    import daft as engine
    import pyarrow as pa

    engine.set_runner_native()  # in a process that is connected to Ray, it would run on Ray

    def ready(scorer: Any, parts: list[Any], folder: Path) -> Run:
        made = scorer.schema(parts[0].schema)
        fields = {field.name: engine.DataType.from_arrow_type(field.type) for field in made}

        @engine.cls(max_concurrency=2, use_process=True)
        class Score:
            def __init__(self, scorer: Any) -> None:
                self.scorer = scorer

            @engine.method.batch(return_dtype=engine.DataType.struct(fields), unnest=True, batch_size=len(parts[0]))
            def __call__(self, candidate: Any, reference: Any) -> Any:
                table = pa.table({"candidate": candidate.to_arrow(), "reference": reference.to_arrow()})
                return self.scorer(table).to_struct_array().combine_chunks()

        pairs = engine.read_parquet(str(folder / "*.parquet"))
        return lambda: pairs.select(Score(scorer)(pairs["candidate"], pairs["reference"])).to_arrow().num_rows

    yield ready


@contextlib.contextmanager
def dask() -> Iterator[Ready]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield (
            lambda scorer, parts, folder: (
                lambda: sum(one.num_rows for one in client.gather(client.map(scorer, parts, pure=False)))
            )
        )


PACKAGES = {"ray": "ray", "spark": "pyspark", "daft": "daft", "dask": "distributed"}
CONTENDERS = {"local": local, "ray": ray, "spark": spark, "daft": daft, "dask": dask}


def measure(job: str, engines: dict[str, Ready], scale: float, rounds: int) -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import bsx

    rows, batch = JOBS[job]
    rows = max(2 * batch, int(rows * scale) // batch * batch)
    rng = np.random.default_rng(1)
    texts = [[" ".join(rng.choice(WORDS, 20)) for _ in range(rows)] for _ in range(2)]
    # Tables of their own: a slice would be pickled with all that it is a slice of.
    parts = [
        pa.table({"candidate": texts[0][start : start + batch], "reference": texts[1][start : start + batch]})
        for start in range(0, rows, batch)
    ]
    scorer = bsx.BatchScorer(job, model="minilm", backend="onnx", lang="en")
    rates: dict[str, list[float]] = {name: [] for name in engines}
    with tempfile.TemporaryDirectory() as name:
        for part in range(2):
            pq.write_table(pa.concat_tables(parts[part::2]), Path(name) / f"{part}.parquet")
        runs = {one: ready(scorer, parts, Path(name)) for one, ready in engines.items()}
        for run in runs.values():
            run()
        print(f"{job}: warm", flush=True)
        for _ in range(rounds):
            for one, run in runs.items():
                start = time.perf_counter()
                assert run() == rows, one
                rates[one].append(rows / (time.perf_counter() - start))
                print(f"{job}, {one}: {rates[one][-1]:.0f} rows a second", flush=True)
    ratios = {one: [mine / local for mine, local in zip(rates[one], rates["local"], strict=True)] for one in rates}
    return {
        "rows": rows,
        "batch": batch,
        "rows_per_second": {one: round(statistics.median(values), 1) for one, values in rates.items()},
        "ratio_to_local": {one: round(statistics.median(values), 2) for one, values in ratios.items()},
        "ratio_range": {one: [round(min(values), 2), round(max(values), 2)] for one, values in ratios.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", default="ray,spark,daft,dask")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    facts = machine()
    with contextlib.ExitStack() as stack:
        names = ["local", *arguments.engines.split(",")]
        engines = {one: stack.enter_context(CONTENDERS[one]()) for one in names}
        jobs = {job: measure(job, engines, arguments.scale, arguments.rounds) for job in arguments.jobs.split(",")}
    facts["versions"] |= {PACKAGES[one]: version(PACKAGES[one]) for one in names[1:]}
    facts["load_average_at_end"] = round(os.getloadavg()[0], 1)
    result = {"machine": facts, "rounds": arguments.rounds, "jobs": jobs}
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
