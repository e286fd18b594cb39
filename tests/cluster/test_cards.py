"""Graphics cards of a Ray cluster: one worker a card. The cards are Ray's word only, so that no card is needed here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bsx import get_metrics
from bsx.data.corpus import MemoryCorpus
from bsx.errors import InputError
from bsx.metrics.run import prepare

ray = pytest.importorskip("ray", reason="needs the extra ray: make test-engines")

pytestmark = pytest.mark.filterwarnings("default")
CANDIDATES = ["the cat sees a dog", "a green house", "the old dog runs"]
REFERENCES = ["a cat sees the dog", "the house is green", "an old dog runs"]


@pytest.fixture(scope="module")
def two_cards() -> Iterator[None]:
    ray.init(address="local", num_cpus=3, num_gpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def scored(specs: list[str], workers: int, **run: Any) -> list[float]:
    from bsx.cluster.corpus import stream

    run = {"model": "minilm", "backend": "torch", **run}
    metrics = get_metrics(specs, **run)
    prepared = prepare(metrics, MemoryCorpus({"candidate": CANDIDATES}, REFERENCES))
    return [float(value) for block in stream(prepared, workers=workers) for value in block.scores[0].values]


def cards_taken(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record how many cards each call asks Ray for a worker."""
    import bsx.cluster.corpus as module

    home: Any = module

    taken: list[float] = []
    original = home.map_workers

    def watched(*arguments: Any) -> Any:
        taken.append(arguments[-2])
        return original(*arguments)

    monkeypatch.setattr(home, "map_workers", watched)
    return taken


def test_a_worker_takes_a_card(two_cards: None, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = cards_taken(monkeypatch)
    here = get_metrics(["bertscore"], model="minilm", backend="torch")[0].score(CANDIDATES, REFERENCES).values
    np.testing.assert_allclose(scored(["bertscore"], 2), here, atol=1e-5)
    np.testing.assert_allclose(scored(["bertscore"], 1, device="cpu"), here, atol=1e-5)
    scored(["chrf"], 1)
    assert taken == [1, 0, 0]  # the device is the CPU; chrF has no use for a card


def test_more_workers_than_cards_would_wait_for_ever(two_cards: None) -> None:
    with pytest.raises(InputError, match=r"has 2 for 3 workers"):
        scored(["bertscore"], 3)
