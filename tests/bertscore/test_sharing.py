"""One scorer in several threads, and scorers that travel: pickled and copied."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import cloudpickle
import numpy as np
import pytest

from bsx.bertscore.scorer import Scorer, score
from bsx.catalog.catalog import load_registry
from bsx.encode.session import Encoders
from bsx.errors import BsxError
from bsx.metrics.base import get_metric, get_metrics
from bsx.support.settings import set_fields
from tests.conftest import Model

THREADS = 8
Backend = Literal["torch", "onnx"]


def jobs(count: int) -> list[tuple[list[str], list[str]]]:
    """Return lists of candidates and references that have texts in common, and repeat some of their own."""
    rng = np.random.default_rng(7)
    words = ["cat", "dog", "rain", "house", "old", "man", "the", "walked"]
    pool = [" ".join(rng.choice(words, rng.integers(2, 12))) for _ in range(12)]
    return [([pool[i] for i in a], [pool[i] for i in b]) for a, b in rng.integers(0, len(pool), (count, 2, 24))]


@pytest.mark.parametrize(("backend", "budget"), [("onnx", None), ("onnx", 20_000), ("torch", None)])
def test_threads_share_a_scorer(tiny_model: Model, backend: Backend, budget: int | None) -> None:
    scorer = Scorer(model=tiny_model("bert"), layer=2, backend=backend, idf=True)
    work = jobs(48 if backend == "onnx" else 16)
    expected = [scorer.score(*job).f1 for job in work]
    if budget is not None:
        scorer.metric.encoding.shared.budget = lambda: budget
    with ThreadPoolExecutor(THREADS) as pool:
        got = [one.f1 for one in pool.map(lambda job: scorer.score(*job), work)]
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert not scorer.metric.encoding.shared._where
    assert not scorer.encoders._uses


def test_threads_share_encoders_that_remember_and_a_cache(tiny_model: Model, tmp_path: Path) -> None:
    folder = tiny_model("bert")
    work = jobs(24)
    expected = [Scorer(model=folder, layer=2).score(*job).f1 for job in work[:1]]
    encoders = Encoders(model=folder, cache=tmp_path / "vectors")

    def task(number: int) -> Any:
        if number % 6 == 5:
            encoders.forget()
            encoders.flush()
        # Each makes a metric of its own, of another layer: what is loaded changes while others score.
        metrics = get_metrics(["bertscore:layer=1", "bertscore:layer=2"][:: 1 if number % 2 else -1], encoders=encoders)
        return {metric.spec: metric.score(*work[number]).values for metric in metrics}

    with ThreadPoolExecutor(THREADS) as pool:
        got = list(pool.map(task, range(len(work))))
    np.testing.assert_allclose(got[0]["bertscore:layer=2"], expected[0], atol=1e-5)
    alone = Encoders(model=folder)
    for layer in (1, 2):
        metric = get_metric("bertscore", encoders=alone, layer=layer)
        for job, found in zip(work, got, strict=True):
            np.testing.assert_allclose(found[f"bertscore:layer={layer}"], metric.score(*job).values, atol=1e-5)


def test_each_run_forgets_what_it_alone_expects(tiny_model: Model) -> None:
    encoders = Encoders(model=tiny_model("bert"), remember=False)
    one, other = {hash("a"): 2, hash("b"): 1}, {hash("a"): 3}
    with encoders.expecting(one) as used:
        with encoders.expecting(other):
            used(["a", "c"])
            assert dict(encoders._uses) == {hash("a"): 4, hash("b"): 1}
        assert dict(encoders._uses) == {hash("a"): 1, hash("b"): 1}
    assert not encoders._uses


WAYS = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),  # noqa: S301 - pickled here
    "cloudpickle": lambda thing: pickle.loads(cloudpickle.dumps(thing)),  # noqa: S301
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_scorer_travels_as_a_recipe(tiny_model: Model, way: str) -> None:
    folder = tiny_model("bert")
    for scorer in (
        Scorer(model=folder, layer=2, idf=["the cat", "a dog"], device="cpu"),
        Scorer(model=folder, layer=1, idf=True, multi_ref="best", registry=load_registry()),
        Scorer(model=folder, all_layers=True, encoders=Encoders(memory="1GB")),
    ):
        again = WAYS[way](scorer)
        made = [set_fields(one.config, "registry", "encoders") for one in (again, scorer)]
        assert made[0] == {**made[1], "idf": again.config.idf}
        assert again.encoders is not scorer.encoders
        assert again.signature() == scorer.signature()
        job = jobs(1)[0]
        np.testing.assert_allclose(again.score(*job).f1, scorer.score(*job).f1, atol=1e-5)
        assert len(pickle.dumps(Scorer(model=folder, layer=2))) < 5_000  # no weights


def test_scorers_that_share_encoders_share_them_again(tiny_model: Model) -> None:
    encoders = Encoders(model=tiny_model("bert"))
    both = [Scorer(layer=layer, encoders=encoders) for layer in (1, 2)]
    one, other = copy.deepcopy(both)
    assert one.encoders is other.encoders is not encoders


@pytest.mark.parametrize("spec", ["chrf", "ter", "meteor:synonyms=false", "bertscore:layer=1", "moverscore"])
def test_metrics_travel_too(tiny_model: Model, spec: str) -> None:
    metric = get_metric(spec, encoders=Encoders(model=tiny_model("bert"), lang="en"))
    again = pickle.loads(pickle.dumps(metric))  # noqa: S301
    assert again.spec == metric.spec
    assert again.encoders.lang == "en"
    job = jobs(1)[0]
    np.testing.assert_allclose(again.score(*job).values, metric.score(*job).values, atol=1e-5)


def test_a_folder_may_be_a_path(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tiny_model("bert"))
    monkeypatch.chdir(folder.parent)
    job = jobs(1)[0]
    expected = Scorer(model=str(folder), layer=2).score(*job)
    relative = Path(folder.name)  # a text like this would be a name of the registry
    for found in (
        Scorer(model=relative, layer=2).score(*job),
        score(*job, model=folder, layer=2),
        Scorer(layer=2, encoders=Encoders(model=relative)).score(*job),
    ):
        assert found.signature == expected.signature
        np.testing.assert_allclose(found.f1, expected.f1, atol=1e-5)
    metric = get_metric("bertscore", model=relative, layer=2)
    np.testing.assert_allclose(metric.score(*job).values, expected.f1, atol=1e-5)
    with pytest.raises(BsxError, match="nosuch"):
        Scorer(model=Path("nosuch/folder"), layer=2)


def test_a_scorer_says_what_it_is(tiny_model: Model) -> None:
    folder = tiny_model("bert")
    assert repr(Scorer(model=folder, layer=2)) == f"Scorer(model={folder!r}, layer=2)"
    assert (
        repr(Scorer(model=folder, layer=2, lang="en", idf=["a"]))
        == f"Scorer(model={folder!r}, lang='en', idf=True, layer=2)"
    )
    assert "0x" not in repr(get_metric("chrf"))
