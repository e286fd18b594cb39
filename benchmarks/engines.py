"""How fast engines score with `bsx.BatchScorer` on two workers, compared with two processes without an engine.

Run: python benchmarks/engines.py [--engines ray,spark,daft,dask] [--rows 6000] [--rounds 3] [--output FILE.json]

Distinct made-up pairs lie in memory as Arrow tables of 200 rows, for Spark and Daft in Parquet files. Each engine has
two workers of one thread. It is started and scores everything once before; then contenders take turns, and figures are
medians of rounds. The ratio is an engine's rate over that of two processes of `multiprocessing` in the same run.
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

BATCH = 200
WORDS = ["the", "cat", "dog", "house", "sees", "runs", "under", "old", "new", "green", "with", "rain", "falls", "small"]
Run = Callable[[], int]


@contextlib.contextmanager
def local(scorer: Any, parts: list[Any], folder: Path) -> Iterator[Run]:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        yield lambda: sum(one.num_rows for one in pool.imap(scorer, parts))


@contextlib.contextmanager
def ray(scorer: Any, parts: list[Any], folder: Path) -> Iterator[Run]:
    import ray as engine

    from bsx.cluster.dataset import connect

    connect(None, 1)
    engine.data.DataContext.get_current().enable_progress_bars = False
    arrow: dict[str, Any] = {"batch_format": "pyarrow", "batch_size": None}
    pairs = engine.data.from_arrow(parts)
    yield lambda: sum(one.num_rows for one in pairs.map_batches(scorer, **arrow).iter_batches(**arrow))
    engine.shutdown()


@contextlib.contextmanager
def spark(scorer: Any, parts: list[Any], folder: Path) -> Iterator[Run]:
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH)).getOrCreate()
    pairs = session.read.parquet(str(folder))
    schema = from_arrow_schema(scorer.schema(parts[0].schema))
    yield lambda: pairs.mapInArrow(lambda batches: map(scorer, batches), schema).toArrow().num_rows
    session.stop()


@contextlib.contextmanager
def daft(scorer: Any, parts: list[Any], folder: Path) -> Iterator[Run]:
    import daft as engine
    import pyarrow as pa

    made = scorer.schema(parts[0].schema)
    fields = {field.name: engine.DataType.from_arrow_type(field.type) for field in made}

    @engine.cls(max_concurrency=2, use_process=True)
    class Score:
        def __init__(self, scorer: Any) -> None:
            self.scorer = scorer

        @engine.method.batch(return_dtype=engine.DataType.struct(fields), unnest=True, batch_size=BATCH)
        def __call__(self, candidate: Any, reference: Any) -> Any:
            table = pa.table({"candidate": candidate.to_arrow(), "reference": reference.to_arrow()})
            return self.scorer(table).to_struct_array().combine_chunks()

    pairs = engine.read_parquet(str(folder / "*.parquet"))
    yield lambda: pairs.select(Score(scorer)(pairs["candidate"], pairs["reference"])).to_arrow().num_rows


@contextlib.contextmanager
def dask(scorer: Any, parts: list[Any], folder: Path) -> Iterator[Run]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield lambda: sum(one.num_rows for one in client.gather(client.map(scorer, parts, pure=False)))


PACKAGES = {"ray": "ray", "spark": "pyspark", "daft": "daft", "dask": "distributed"}
CONTENDERS = {"local": local, "ray": ray, "spark": spark, "daft": daft, "dask": dask}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", default="ray,spark,daft,dask")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--metrics", default="chrf")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import bsx

    facts = machine()
    rng = np.random.default_rng(1)
    texts = [[" ".join(rng.choice(WORDS, 20)) for _ in range(arguments.rows)] for _ in range(2)]
    whole = pa.table({"candidate": texts[0], "reference": texts[1]})
    parts = [whole.slice(start, BATCH) for start in range(0, len(whole), BATCH)]
    scorer = bsx.BatchScorer(arguments.metrics, model="minilm", lang="en")
    rates: dict[str, list[float]] = {name: [] for name in ("local", *arguments.engines.split(","))}
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        for part in range(2):
            half = -(-len(whole) // 2)
            pq.write_table(whole.slice(part * half, half), Path(name) / f"{part}.parquet")
        runs = {one: stack.enter_context(CONTENDERS[one](scorer, parts, Path(name))) for one in rates}
        for run in runs.values():
            run()
        print("warm", flush=True)
        for _ in range(arguments.rounds):
            for one, run in runs.items():
                start = time.perf_counter()
                assert run() == len(whole), one
                rates[one].append(len(whole) / (time.perf_counter() - start))
                print(f"{one}: {rates[one][-1]:.0f} rows a second", flush=True)
        medians = {one: statistics.median(values) for one, values in rates.items()}
    facts["versions"] |= {PACKAGES[one]: version(PACKAGES[one]) for one in rates if one in PACKAGES}
    result = {
        "machine": facts,
        "metrics": arguments.metrics,
        "rows": arguments.rows,
        "rounds": arguments.rounds,
        "rows_per_second": {one: round(rate) for one, rate in medians.items()},
        "ratio_to_local": {one: round(rate / medians["local"], 2) for one, rate in medians.items()},
    }
    print(json.dumps(result, indent=2))
    if arguments.output:
        arguments.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
