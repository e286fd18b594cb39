"""A margin tells metrics and coefficients that are the same from those of which nothing is known."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from bsx.analysis import compare_coefficients
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.disentangle.result import DisentangleResult
from bsx.analysis.meta.result import MetaResult
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import TablePart
from bsx.analysis.stats.clusters import adjust
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.errors import InputError
from bsx.support.result import Result


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    sem, lex, noise = rng.normal(size=(3, 600))
    human = sem + rng.normal(size=600)
    return {
        **{"sem": sem, "lex": lex, "human": human, "m": sem + noise},
        **{"twin": sem + noise + rng.normal(size=600) / 20, "poor": lex + rng.normal(size=600)},
    }


def verdicts(result: Result, title: str) -> dict[tuple[str, str], str]:
    part = next(part for part in parts_of(result) if isinstance(part, TablePart) and title in part.caption)
    return {(row[0].text, row[1].text): row[-1].text for row in part.rows}


@pytest.mark.parametrize("test", [None, "permutation", "bootstrap"])
@pytest.mark.parametrize("correction", ["none", "holm"])
def test_metrics(columns: dict[str, np.ndarray], test: str | None, correction: str) -> None:
    how: dict[str, Any] = {"margin": 0.1, "test": test, "correction": correction, "resamples": 200}
    found = meta_evaluate(columns, ["m", "twin", "poor"], "human", **how)
    said = verdicts(found, "Each pair of metrics")
    by_pair = {frozenset(pair): verdict for pair, verdict in said.items()}
    # The twin has a little more noise: a difference, if one is seen, is too small to matter.
    assert by_pair.pop(frozenset({"m", "twin"})) in ("equivalent within 0.1", "different, but within 0.1")
    assert set(by_pair.values()) == {"different"}
    tests = {(one.a, one.b): one.p_equivalence for one in found.groups[0].tests}
    assert tests["m", "twin"] == tests["twin", "m"]
    assert MetaResult.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()
    with pytest.raises(InputError, match="margin"):
        meta_evaluate(columns, ["m", "twin"], "human", margin=-0.1)


def test_coefficients(columns: dict[str, np.ndarray]) -> None:
    found = disentangle(columns, ["m", "poor"], ["sem", "lex"], margin=0.12, correction="holm")
    said = verdicts(found, "too small to matter")
    assert said["m", "sem"] == said["poor", "lex"] == "different"
    assert said["m", "lex"] == said["poor", "sem"] == "equivalent within 0.12"
    plain = [equivalence_p(fit.coef[name], fit.ci[name], 0.12) for fit in found.results for name in found.factors]
    held = [fit.p_equivalence[name] for fit in found.results for name in found.factors]
    assert held == pytest.approx(adjust(plain, "holm"))
    assert DisentangleResult.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()
    assert "p_equivalence" not in disentangle(columns, ["m"], ["sem"]).to_dict()["results"][0]
    compared = compare_coefficients(columns, "m", "twin", ["sem", "lex"], margin=0.1, resamples=200)
    assert all(comparison.p_equivalence is not None for comparison in compared.by.values())
    assert "equivalent within 0.1" in compared.to_text()
    with pytest.raises(InputError, match="margin"):
        disentangle(columns, ["m"], ["sem"], margin=0)


@pytest.mark.parametrize(
    ("difference", "ends", "p"),
    [
        (0.0, (-math.inf, math.inf), 1.0),  # nothing is known
        (0.0, (-0.1, math.inf), 1.0),
        (0.05, (0.05, 0.05), 0.0),  # without any spread
        (0.2, (0.2, 0.2), 1.0),
        (0.1, (0.1, 0.1), 1.0),  # the margin itself
        (0.0, (math.nan, math.nan), math.nan),
    ],
)
def test_equivalence_at_the_ends(difference: float, ends: tuple[float, float], p: float) -> None:
    assert equivalence_p(difference, ends, 0.1) == pytest.approx(p, nan_ok=True)
