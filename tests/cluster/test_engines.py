"""The recipes of docs/scale/engines.md, run as they stand there: complete, and the same bit for bit."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bsx
from tests.cluster.test_scorer import texts
from tests.conftest import REPOSITORY

# Engines warn about themselves in many places; only our own code is held to no warnings, in the other modules.
pytestmark = pytest.mark.filterwarnings("default")
ROWS, FILES = 120, 3
PAGE = (REPOSITORY / "docs" / "scale" / "engines.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^### ([^\n]+)\n\n```text\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL))
PACKAGES = {"Ray": "ray.data", "Spark": "pyspark", "Daft": "daft", "Dask": "distributed"}
PACKAGES["Hugging Face"] = "datasets"


def test_every_engine_has_a_recipe() -> None:
    assert RECIPES.keys() == PACKAGES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("engine", PACKAGES)
def test_recipe(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(PACKAGES[engine], reason=f"needs {engine}: make test-engines")
    if engine == "Spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java: default-jre-headless of Debian")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    whole = pa.table({"n": range(ROWS), "candidate": texts(ROWS, 1), "reference": texts(ROWS, 2)})
    Path("pairs").mkdir()
    for i in range(FILES):
        pq.write_table(whole.slice(i * ROWS // FILES, ROWS // FILES), f"pairs/{i}.parquet")
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(RECIPES[engine], names)  # noqa: S102 - our own documentation
    finally:
        if engine == "Ray":
            sys.modules["ray"].shutdown()
        elif engine == "Spark" and "spark" in names:
            names["spark"].stop()
        elif engine == "Dask" and "client" in names:
            names["client"].shutdown()
    scored = pq.read_table("scores/").sort_by("n")
    assert scored.column("n").to_pylist() == list(range(ROWS))
    corpus = names.get("learnt", names["scorer"]).corpus_scores(scored)
    for metric in bsx.get_metrics("chrf,bleu"):
        here = metric.score(whole.column("candidate").to_pylist(), whole.column("reference").to_pylist())
        assert scored.column(metric.spec).to_pylist() == here.values.tolist()
        assert (corpus[metric.spec].system, corpus[metric.spec].n) == (here.system, ROWS)
        assert corpus[metric.spec].signature == here.signature
