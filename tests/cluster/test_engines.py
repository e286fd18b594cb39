"""`bsx.BatchScorer` on real engines, of which one worker is killed in the middle: complete, and the same bit for bit.

What an adapter takes is what docs/scale/engines.md shows.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bsx
from tests.conftest import REPOSITORY

# Engines warn about themselves in many places; only our own code is held to no warnings, in the other modules.
pytestmark = pytest.mark.filterwarnings("default")
WORDS = ["the", "a", "cat", "dog", "house", "sees", "runs", "under", "old", "new", "green", "and", "with"]
ROWS, BATCH, FATAL = 180, 30, 100
METRICS = "chrf,bleu,ter,bertscore:idf=true"


def texts(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(count)]


class Killed:
    """Work whose process is killed, the first time that it gets a certain row."""

    def __init__(self, work: Any, flag: Path) -> None:
        self.work, self.flag = work, flag

    def __call__(self, table: Any) -> Any:
        if FATAL in table.column("n").to_pylist() and not self.flag.exists():
            self.flag.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(table)


@pytest.fixture(scope="module")
def whole() -> Any:
    return pa.table({"n": range(ROWS), "candidate": texts(ROWS, 1), "reference": texts(ROWS, 2)})


@pytest.fixture(scope="module")
def scorer() -> bsx.BatchScorer:
    return bsx.BatchScorer(METRICS, model="minilm", backend="onnx", statistics=True)


@pytest.fixture
def flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What is written when a worker is killed; one was, at the end."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))  # workers unpickle what is defined here
    yield (file := tmp_path / "killed")
    assert not file.exists() or int(file.read_text()) != os.getpid()


def check(scorer: bsx.BatchScorer, whole: Any, counts: list[Any], scored: Any, totals: list[Any]) -> None:
    """Compare what an engine made with scoring here in the same batches, and corpus scores with those of a run here."""
    assert all(one.num_rows < 3 * ROWS for one in counts)  # sums, no texts
    learnt = scorer.learn(counts)
    expected = pa.concat_tables([learnt(whole.slice(start, BATCH)) for start in range(0, ROWS, BATCH)])
    scored = scored.sort_by("n")
    for column in expected.column_names:
        assert scored.column(column).to_pylist() == expected.column(column).to_pylist(), column
    found = learnt.corpus_scores(totals)
    candidates, references = whole.column("candidate").to_pylist(), whole.column("reference").to_pylist()
    for metric in bsx.get_metrics(METRICS, model="minilm", backend="onnx"):
        local = metric.score(candidates, references)
        assert found[metric.spec].signature == local.signature
        assert found[metric.spec].n == ROWS
        if metric.name == "bertscore":
            assert found[metric.spec].system == pytest.approx(local.system, abs=1e-5)
        else:
            assert found[metric.spec].system == local.system


def test_ray(scorer: bsx.BatchScorer, whole: Any, flag: Path) -> None:
    ray = pytest.importorskip("ray", reason="needs Ray: make test-engines")
    from bsx.cluster.dataset import connect

    assert connect(None, 2)
    try:
        pairs = ray.data.from_arrow([whole.slice(start, BATCH) for start in range(0, ROWS, BATCH)])
        arrow: dict[str, Any] = {"batch_format": "pyarrow", "batch_size": None}
        counts = pairs.map_batches(scorer.count, **arrow).iter_batches(**arrow)
        counts = list(counts)
        learnt = scorer.learn(counts)
        scored = pairs.map_batches(Killed(learnt, flag), **arrow).materialize()
        totals = list(scored.map_batches(learnt.totals, **arrow).iter_batches(**arrow))
        check(scorer, whole, counts, pa.concat_tables(list(scored.iter_batches(**arrow))), totals)
    finally:
        ray.shutdown()


def test_spark(
    scorer: bsx.BatchScorer, whole: Any, flag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = pytest.importorskip("pyspark.sql", reason="needs Spark: make test-engines")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: default-jre-headless of Debian")
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    for start in range(0, ROWS, BATCH):
        pq.write_table(whole.slice(start, BATCH), tmp_path / f"part-{start:04}.parquet")
    builder = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    # A file a partition: no file is cut (a limit of a byte makes a task of each byte), and none is packed with another,
    # since opening one costs as much as a partition holds. Other partitions would be other batches.
    for limit in ("maxPartitionBytes", "openCostInBytes"):
        builder = builder.config(f"spark.sql.files.{limit}", str(2**20))
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    try:
        pairs = spark.read.parquet(str(tmp_path / "part-*.parquet"))
        assert pairs.rdd.getNumPartitions() == ROWS // BATCH

        def run(frame: Any, work: Any, schema: Any) -> Any:
            return frame.mapInArrow(lambda batches: map(work, batches), from_arrow_schema(schema))

        small = whole.slice(0, 1)
        counted = run(pairs, scorer.count, scorer.count(small).schema)
        counts = [counted.groupBy("what", "value").sum("rows").withColumnRenamed("sum(rows)", "rows").toArrow()]
        learnt = scorer.learn(counts)
        scored = run(pairs, Killed(learnt, flag), learnt.schema(to_arrow_schema(pairs.schema)))
        scored.write.parquet(str(tmp_path / "scores"))
        written = spark.read.parquet(str(tmp_path / "scores"))
        totals = [run(written, learnt.totals, learnt.totals(learnt(small)).schema).toArrow()]
        check(scorer, whole, counts, written.toArrow(), totals)
    finally:
        spark.stop()


def test_daft(scorer: bsx.BatchScorer, whole: Any, flag: Path) -> None:
    daft: Any = pytest.importorskip("daft", reason="needs Daft: make test-engines")

    def run(frame: Any, work: Any, columns: list[str], made: Any) -> Any:
        fields = {field.name: daft.DataType.from_arrow_type(field.type) for field in made}

        @daft.cls(max_concurrency=2, use_process=True)
        class Work:
            def __init__(self, work: Any) -> None:
                self.work = work

            @daft.method.batch(return_dtype=daft.DataType.struct(fields), unnest=True, batch_size=BATCH)  # type: ignore[untyped-decorator]
            def __call__(self, *given: Any) -> Any:
                table = pa.table({name: one.to_arrow() for name, one in zip(columns, given, strict=True)})
                return self.work(table).select(list(fields)).to_struct_array().combine_chunks()

        return frame.select(Work(work)(*(frame[name] for name in columns)))

    pairs = daft.from_arrow(whole)
    counts = list(map(scorer.count, pairs.to_arrow_iter()))
    learnt = scorer.learn(counts)
    scored = run(pairs, Killed(learnt, flag), whole.column_names, learnt.schema(whole.schema))
    with pytest.raises(Exception, match="UDF process"):  # Daft does not start it again
        scored.to_arrow()
    table = scored.to_arrow()
    check(scorer, whole, counts, table, [learnt.totals(table)])


def test_dask(scorer: bsx.BatchScorer, whole: Any, flag: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="needs Dask: make test-engines")
    parts = [whole.slice(start, BATCH) for start in range(0, ROWS, BATCH)]
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pairs = client.scatter(parts, hash=False)  # slices of one table have one hash
        counts = client.gather(client.map(scorer.count, pairs, pure=False))
        learnt = scorer.learn(counts)
        # Parts that lay on the killed worker only are made again; what was scattered to it cannot be.
        scored = client.map(Killed(learnt, flag), parts, pure=False)
        totals = client.gather(client.map(learnt.totals, scored, pure=False))
        check(scorer, whole, counts, pa.concat_tables(client.gather(scored)), totals)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [None, 2])
def test_datasets(scorer: bsx.BatchScorer, whole: Any, processes: int | None) -> None:
    datasets = pytest.importorskip("datasets", reason="needs Hugging Face datasets: make test-engines")
    datasets.disable_progress_bars()
    pairs = datasets.Dataset(whole).with_format("arrow")
    arrow: dict[str, Any] = {"batched": True, "batch_size": BATCH, "num_proc": processes}
    counts = [pairs.map(scorer.count, remove_columns=pairs.column_names, **arrow)[:]]
    learnt = scorer.learn(counts)
    scored = pairs.map(learnt, **arrow)
    totals = [scored.map(learnt.totals, remove_columns=scored.column_names, **arrow)[:]]
    check(scorer, whole, counts, scored[:], totals)


class KilledLater(Killed):
    """Killed when another process has written what it made."""

    def __call__(self, table: Any) -> Any:
        end = time.monotonic() + 60
        while FATAL in table.column("n").to_pylist() and not self.flag.exists() and time.monotonic() < end:
            if list(self.flag.parent.rglob("cache-*_of_00002.arrow")):
                break
            time.sleep(0.01)
        return super().__call__(table)


@pytest.mark.slow
def test_datasets_killed(scorer: bsx.BatchScorer, whole: Any, flag: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs Hugging Face datasets: make test-engines")
    datasets.disable_progress_bars()
    pq.write_table(whole, tmp_path / "pairs.parquet")
    pairs = datasets.Dataset.from_parquet(str(tmp_path / "pairs.parquet"), cache_dir=str(tmp_path / "cache"))
    pairs = pairs.with_format("arrow")
    counts = [scorer.count(whole)]
    learnt = scorer.learn(counts)
    work = KilledLater(learnt, flag)
    with pytest.raises(RuntimeError, match="subprocesses has abruptly died"):  # and nothing is repeated
        pairs.map(work, batched=True, batch_size=BATCH, num_proc=2)
    assert flag.exists()
    (kept,) = tmp_path.rglob("cache-*_of_00002.arrow")
    written = kept.stat().st_mtime_ns
    scored = pairs.map(work, batched=True, batch_size=BATCH, num_proc=2)
    assert kept.stat().st_mtime_ns == written  # of the two processes, only the dead one's rows are scored again
    check(scorer, whole, counts, scored[:], [learnt.totals(scored[:])])
