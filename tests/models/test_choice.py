"""From what a user says to one model; and what a comparison of models rests on."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.catalog.catalog import shipped
from bsx.catalog.entries import Evidence
from bsx.catalog.entries.models import Source
from bsx.encode.model import choose
from bsx.errors import InputError, UnknownNameError
from bsx.models.evidence import Compared, chrf_beside


@pytest.mark.parametrize("model", ["~/model", "./model", "../model", "/model", "a/b/c", "no-such-model", ".m/x"])
def test_a_path_without_a_folder_is_no_hub_id(model: str) -> None:
    with pytest.raises(UnknownNameError):
        choose(model, None, shipped())


def test_what_is_said_is_a_name_a_folder_or_a_hub_id(tmp_path: Path) -> None:
    named = choose("minilm", "en-de", shipped())
    assert (named.name, named.entry, named.source) == (
        "minilm",
        shipped().models["minilm"],
        shipped().models["minilm"].source,
    )
    assert named.language is not None
    assert named.language.code == "de"
    folder = choose(tmp_path, None, shipped())
    assert (folder.name, folder.source, folder.entry) == (str(tmp_path), Source(path=str(tmp_path)), None)
    hub = choose("someone/model", None, shipped())
    assert (hub.name, hub.source) == ("someone/model", Source(hub="someone/model", revision="main"))
    assert (hub.entry, hub.language) == (None, None)
    with pytest.raises(InputError):
        choose(None, None, shipped())
    with pytest.raises(UnknownNameError):
        choose("minilm", "no-such-language", shipped())


def evidence(**figures: object) -> Evidence:
    plain = {"dataset": "WMT21", "language": "de", "statistic": "Kendall tau of F1", "source": "I", "value": 0.4}
    return Evidence.model_validate(plain | figures)


@pytest.mark.parametrize(
    ("models", "figure", "near", "decides"),
    [
        (2, {}, 3, True),  # of two models a test says which is better, in any language
        (2, {"n": 29}, 0, False),  # nothing is decided by fewer than thirty items
        (2, {"n": 30}, 0, True),
        (1, {}, 0, True),  # alone: better than chrF, in the language itself
        (1, {"n": 29}, 0, False),
        (1, {}, 1, True),
        (1, {}, 2, False),
        (1, {"value": 0.3}, 0, False),
    ],
)
def test_what_decides_between_models(models: int, figure: dict[str, object], near: int, decides: bool) -> None:
    entries = [shipped().models[name] for name in ("minilm", "me5-small-q4")][:models]
    test = Compared(tuple((entry, evidence(**figure)) for entry in entries), 0.3, near)
    assert test.decides == decides
    assert Compared(test.figures, None, near).decides == (decides and models == 2)


def test_chrf_stands_beside_figures_of_the_same_rows() -> None:
    others = [
        evidence(statistic="Kendall tau", value=0.2, year=2020),
        evidence(statistic="Pearson r", value=0.3),
        evidence(statistic="Kendall tau", value=0.1),
    ]
    assert chrf_beside(evidence(), others) == 0.1
    assert chrf_beside(evidence(chrf=0.25), others) == 0.25
    assert chrf_beside(evidence(dataset="WMT22"), others) is None
    assert chrf_beside(evidence(level="system"), others) is None
