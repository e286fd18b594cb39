"""MetricX against google-research/metricx, on a tiny random model: its code where it is, its recorded scores else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.encode.session import Encoders
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.base import get_metric
from tests.helpers import tiny
from tests.metrics.test_external import interpreter, said

CANDIDATES = ["the cat sat on the mat .", "a man walked slowly to the bridge", "the old train station " * 9]
REFERENCES = ["the cat is on the mat .", "the man walked to the river bank", "a new report said the rain was slow"]
SOURCES = ["die Katze liegt auf der Matte .", "der Mann ging zum Ufer", "ein neuer Bericht"]
# Of metricx24/models.py (that of metricx23 is the same) at commit fc4978e, with transformers 4.45.2, on this model.
UPSTREAM = {
    ("metricx", "24"): [15.952365, 15.788321, 15.255193],
    ("metricx", "23"): [15.930349, 16.171673, 15.057064],
    ("metricx-qe", "24"): [15.965117, 16.220781, 14.899433],
    ("metricx-qe", "23"): [15.721779, 16.193833, 14.825583],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.build_metricx(tmp_path_factory.mktemp("metricx") / "tiny"))


def texts(name: str, layout: str) -> list[str]:
    """Return what upstream's predict.py makes of the samples, written out."""
    if name == "metricx-qe":
        both = {"24": "source: {1} candidate: {0}", "23": "candidate: {0} source: {1}"}[layout]
        return [both.format(*pair) for pair in zip(CANDIDATES, SOURCES, strict=True)]
    every = {"24": "source: {2} candidate: {0} reference: {1}", "23": "candidate: {0} reference: {1}"}[layout]
    return [every.format(*row) for row in zip(CANDIDATES, REFERENCES, SOURCES, strict=True)]


def scored(name: str, layout: str, model: str, **run: Any) -> Any:
    metric = get_metric(name, encoders=Encoders(device="cpu", **run), model=model, layout=layout)
    needs = metric.needs
    return metric.score(
        CANDIDATES, REFERENCES if "reference" in needs else None, SOURCES if "source" in needs else None
    )


@pytest.mark.parametrize(("name", "layout"), UPSTREAM)
def test_scores_are_those_of_upstream(name: str, layout: str, model: str) -> None:
    # Another version of transformers and of torch's kernels: single precision, sums of a few hundred terms.
    for run in ({}, {"batch_tokens": 16}):
        np.testing.assert_allclose(scored(name, layout, model, **run).values, UPSTREAM[name, layout], atol=5e-5)


@pytest.mark.parametrize(("name", "layout"), UPSTREAM)
def test_scores_are_those_of_upstreams_code(name: str, layout: str, model: str) -> None:
    python = interpreter("BSX_METRICX_PYTHON")  # which has google-research/metricx in ../code
    code = os.environ.get("BSX_METRICX_CODE") or str(Path(python).parents[1] / "code")
    expected = said(python, "metricx-scores", model, code, "1536", given=texts(name, layout))
    np.testing.assert_allclose(scored(name, layout, model).values, expected, atol=5e-5)


def test_blank_texts_are_the_worst_and_references_are_taken_one_by_one(model: str) -> None:
    metric = get_metric("metricx", encoders=Encoders(device="cpu"), model=model)
    given = [[REFERENCES[0], REFERENCES[2]], [REFERENCES[1]], [REFERENCES[2]]]
    found = metric.score([CANDIDATES[0], "", CANDIDATES[2]], given, SOURCES)
    assert found.empty.tolist() == [1]
    assert found.values[1] == 25
    alone = [metric.score([CANDIDATES[0]], [one], [SOURCES[0]]).values[0] for one in given[0]]
    assert found.values[0] == pytest.approx(min(alone), abs=1e-5)  # of errors, the best is the lowest
    assert not metric.higher_is_better
    table = metric.score_matrix(CANDIDATES[:2], REFERENCES, sources=SOURCES[0])
    expected = [metric.score([one], [other], [SOURCES[0]]).values[0] for one in CANDIDATES[:2] for other in REFERENCES]
    np.testing.assert_allclose(table.ravel(), expected, atol=1e-5)


def test_tied_embeddings_are_scaled_as_upstream_does(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    folder = tiny.build_metricx(tmp_path / "tied", tied=True)
    metric = get_metric("metricx", encoders=Encoders(device="cpu"), model=str(folder))
    _, row = metric.model  # type: ignore[attr-defined]
    shared = load_file(folder / "model.safetensors")["shared.weight"][250089]
    torch.testing.assert_close(row, shared * 8**-0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "t5"}, "is a t5 checkpoint, not MetricX's"),
        ({"vocab_size": 250}, "too few for MetricX"),
        ({"num_layers": 3}, r"is no MetricX checkpoint: its weights .* lack"),
    ],
)
def test_what_is_no_checkpoint_is_refused(change: dict[str, Any], message: str, model: str, tmp_path: Path) -> None:
    folder = tiny.rewrite(shutil.copytree(model, tmp_path / "other"), **change)
    with pytest.raises(InputError, match=message):
        get_metric("metricx", encoders=Encoders(device="cpu"), model=folder).score(["a"], ["b"], ["c"])


def test_what_is_missing_is_named(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="layout 23 needs model"):
        get_metric("metricx", encoders=Encoders(device="cpu"), layout="23")
    for file in ("config.json", "model.safetensors"):
        (tmp_path / file).symlink_to(Path(model) / file)
    bare: Callable[..., Any] = lambda **more: get_metric(  # noqa: E731 - short
        "metricx", encoders=Encoders(device="cpu"), model=str(tmp_path), **more
    ).score(["a"], ["b"], ["c"])
    with pytest.raises(InputError, match="neither a folder nor a hub id"):
        bare(tokenizer="nothing")
    with pytest.raises(ModelUnavailableError, match=r"google/mt5-small is not on this machine"):
        bare()
    assert bare(tokenizer=model).values.shape == (1,)
