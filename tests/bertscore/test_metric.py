"""BERTScore by two doors: the scorer's and the zoo's; settings that an editor shows."""

from __future__ import annotations

import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.bertscore.config import ScorerConfig, ScorerSettings
from bsx.encode.run_config import RunConfig, RunSettings

CANDIDATES = ["the cat sat on the mat", "a dog walked slowly", "rain", ""]
REFERENCES = [["a cat sat on a mat"], ["the old dog walked", "a dog"], ["it rained at the station"], ["rain"]]


@pytest.mark.parametrize("settings", [{}, {"idf": True}, {"multi_ref": "best", "specials": "exclude"}])
def test_both_doors_lead_to_the_same_bits(settings: dict[str, Any], tiny_model: Callable[[str], str]) -> None:
    encoders = bsx.Encoders(model=tiny_model("bert"))
    scores = bsx.Scorer(encoders=encoders, layer=2, **settings).score(CANDIDATES, REFERENCES)
    alone = bsx.Scorer(tiny_model("bert"), layer=2, **settings).score(CANDIDATES, REFERENCES)
    for measure in ("precision", "recall", "f1"):
        metric = bsx.get_metric("bertscore", encoders=encoders, layer=2, measure=measure, **settings)
        found = metric.score(CANDIDATES, REFERENCES)
        assert found.values.tolist() == getattr(scores, measure).astype(np.float64).tolist()
        assert getattr(alone, measure).tolist() == getattr(scores, measure).tolist()
        assert str(found.signature) == f"{scores.signature}|measure:{measure}"
        assert found.empty.tolist() == scores.empty.tolist() == [3]


# What Python callers may also write, and validation turns into the field's type.
WIDER = {"memory": str | int | None, "cache": Path | str | None, "cache_size": str | int, "baseline": Path | str | None}


@pytest.mark.parametrize(
    ("typed", "config", "named"),
    [(RunSettings, RunConfig, {"registry"}), (ScorerSettings, ScorerConfig, {"registry", "model", "lang", "idf"})],
)
def test_typed_settings_are_the_fields_of_the_configuration(typed: Any, config: Any, named: set[str]) -> None:
    fields = {name: field.annotation for name, field in config.model_fields.items() if name not in named}
    assert typing.get_type_hints(typed) == {name: WIDER.get(name, kind) for name, kind in fields.items()}
