"""Published values of hub models; run where a hub is reachable or the models are cached: make test-hub."""

from __future__ import annotations

from typing import Any

import pytest

import bsx
from bsx.compat.bert_score import score as compat_score

pytestmark = pytest.mark.hub

# The sentences and expected figures of bert-score's own tests (tests/test_score_function.py), roberta-large layer 17.
CANDIDATES = [
    "28-year-old chef found dead in San Francisco mall",
    "A 28-year-old chef who recently moved to San Francisco was found dead in the staircase of a local shopping "
    "center.",
    "The victim's brother said he cannot imagine anyone who would want to harm him,"
    '"Finally, it went uphill again at him."',
]
REFERENCES = [
    "28-Year-Old Chef Found Dead at San Francisco Mall",
    "A 28-year-old chef who had recently moved to San Francisco was found dead in the stairwell of a local mall this "
    "week.",
    "But the victim's brother says he can't think of anyone who would want to hurt him, saying, "
    '"Things were finally going well for him."',
]
# (idf, rescale) -> precision, recall, f1
EXPECTED = {
    (False, False): (
        [0.9843302369117737, 0.9832239747047424, 0.9120386242866516],
        [0.9823839068412781, 0.9732863903045654, 0.920428991317749],
        [0.9833561182022095, 0.9782299995422363, 0.916214644908905],
    ),
    (True, False): (
        [0.9837872385978699, 0.9754738807678223, 0.8947395086288452],
        [0.9827190637588501, 0.9697767496109009, 0.9172918796539307],
        [0.9832529425621033, 0.972616970539093, 0.9058753848075867],
    ),
    (False, True): (
        [0.907000780105591, 0.900435566902161, 0.477955609560013],
        [0.895456790924072, 0.841467440128326, 0.527785062789917],
        [0.901383399963379, 0.871010780334473, 0.503565192222595],
    ),
    (True, True): (
        [0.903778135776520, 0.854439020156860, 0.375287383794785],
        [0.897446095943451, 0.820639789104462, 0.509167850017548],
        [0.900772094726562, 0.837753534317017, 0.442304641008377],
    ),
}


@pytest.mark.parametrize(("idf", "rescale"), EXPECTED)
def test_published_values_of_roberta_large(idf: bool, rescale: bool) -> None:
    scores = bsx.Scorer(lang="en", idf=idf, rescale=rescale).score(CANDIDATES, REFERENCES)
    assert scores.signature["layer"] == "17/24"
    assert scores.signature["space"] == "yes"
    # bert-score's tests allow 1e-5; other kernels move fp32 a little more, and rescaling multiplies that by six.
    tolerance = 6e-5 if rescale else 1e-5
    for name, values in zip(("precision", "recall", "f1"), EXPECTED[idf, rescale], strict=True):
        assert getattr(scores, name).tolist() == pytest.approx(values, abs=tolerance)


@pytest.mark.parametrize("name", ["bert-base-chinese", "bert-base-multilingual-cased", "xlm-mlm-100-1280"])
def test_registered_models_load_and_score(name: str) -> None:
    scores = bsx.Scorer(model=name).score(["一只猫", "the cat"], ["一只猫", "a dog"])
    assert scores.f1[0] == pytest.approx(1, abs=1e-4)
    assert 0 < scores.f1[1] < 1
    ours: Any = compat_score(["a"], ["b"], model_type=name)
    p, _, _ = ours
    assert p.shape == (1,)
