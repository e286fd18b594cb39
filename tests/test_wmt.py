"""Agreement with people on WMT17, against figures measured independently (issue 2)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bsx import Scorer
from tests.conftest import Pairs

# Pearson r of F1 with the human score, layer 6, as bert-score 0.3.13 gives it.
PEER_LAYER_6 = {
    "cs-en": 0.5958,
    "de-en": 0.6182,
    "fi-en": 0.7463,
    "lv-en": 0.6672,
    "ru-en": 0.6874,
    "tr-en": 0.6381,
    "zh-en": 0.6475,
}
# Mean over the seven pairs, by layer 0 to 6.
MEAN_BY_LAYER = [0.591, 0.602, 0.630, 0.655, 0.666, 0.625, 0.657]


def by_pair(f1: NDArray[np.float32], pairs: Pairs) -> dict[str, float]:
    lp, human = np.array(pairs.lp), np.array(pairs.human)
    return {name: float(np.corrcoef(f1[lp == name], human[lp == name])[0, 1]) for name in dict.fromkeys(pairs.lp)}


@pytest.mark.slow
def test_correlation_with_people_on_wmt17(wmt17: Pairs) -> None:
    scores = Scorer(model="minilm", all_layers=True).score(wmt17.candidates, wmt17.references)
    assert by_pair(scores.f1[6], wmt17) == pytest.approx(PEER_LAYER_6, abs=0.001)
    means = [np.mean(list(by_pair(f1, wmt17).values())) for f1 in scores.f1]
    assert means == pytest.approx(MEAN_BY_LAYER, abs=0.001)
