"""BERTScore by two doors: the scorer's and the zoo's; settings that an editor shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bsx

CANDIDATES = ["the cat sat on the mat", "a dog walked slowly", "rain", ""]
REFERENCES = [["a cat sat on a mat"], ["the old dog walked", "a dog"], ["it rained at the station"], ["rain"]]


@pytest.mark.parametrize("settings", [{}, {"idf": True}, {"multi_ref": "best", "specials": "exclude"}])
def test_both_doors_lead_to_the_same_bits(settings: dict[str, Any], tiny_model: Callable[[str], str]) -> None:
    encoders = bsx.Encoders(model=tiny_model("bert"))
    scores = bsx.Scorer(encoders=encoders, layer=2, **settings).score(CANDIDATES, REFERENCES)
    alone = bsx.Scorer(model=tiny_model("bert"), layer=2, **settings).score(CANDIDATES, REFERENCES)
    for measure in ("precision", "recall", "f1"):
        metric = bsx.get_metric("bertscore", encoders=encoders, layer=2, measure=measure, **settings)
        found = metric.score(CANDIDATES, REFERENCES)
        assert found.values.tolist() == getattr(scores, measure).astype(np.float64).tolist()
        assert getattr(alone, measure).tolist() == getattr(scores, measure).tolist()
        assert str(found.signature) == f"{scores.signature}|measure:{measure}"
        assert found.empty.tolist() == scores.empty.tolist() == [3]
