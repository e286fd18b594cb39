"""A server with a real tiny model, for the tests of judges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.judge_server import JudgeServer, TinyModel


@pytest.fixture(scope="session")
def tiny_judge(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    """Return the model, made once for all processes of a run of tests."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "popen-gw" in base.name else base
    return TinyModel(shared / "tiny-judge")


@pytest.fixture
def server(tiny_judge: TinyModel) -> Iterator[JudgeServer]:
    with closing(JudgeServer(tiny_judge)) as running:
        yield running


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BSX_CACHE", str(tmp_path / "cache-of-bsx"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
