"""Edited coefficients of planted metrics: what the worlds plant, and small runs of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.calibration import interventions
from benchmarks.calibration.rates import Rate
from bsx.analysis import intervene_texts


def test_the_metric_is_what_was_planted() -> None:
    for blind in (True, False):
        world = interventions.planted(np.random.default_rng(3), 60, blind=blind)
        scores = world.metric(world.candidates, world.references)
        small = world.metric([text.lower() for text in world.candidates], world.references)
        assert bool(np.allclose(scores, small)) is blind
        found = intervene_texts(
            world.references,
            {"m": world.metric},
            edits=interventions.EDITS,
            factors=["lex:tokenize=whitespace"],
            candidates=world.candidates,
            human=world.human.tolist(),
            lang="en",
        )
        assert found.fits[0].ignores_case is blind
        assert ("lower" in found.fits[0].unseen) is blind
        effect = found.effect("m", "lex:tokenize=whitespace")
        assert effect.observed == pytest.approx(interventions.LEX / found.fits[0].sd, abs=0.03)
        assert effect.edited is not None
        assert effect.edited_se is not None
        assert abs(effect.edited - interventions.LEX / found.fits[0].sd) < 3 * effect.edited_se


@pytest.mark.slow
def test_the_edited_coefficient_covers_what_was_planted() -> None:
    world = interventions.SECTION.tables[0].worlds[1]  # case-blind, 30 sentences
    counts = {name: Rate(*found) for name, found in world.counts(0, 60).items()}
    assert counts["covers"].share > 0.87
    assert counts["counted as words: covers"].share < 0.2
    assert counts["observed = edited"].share < 0.15
    assert counts["counted as words: observed = edited"].share > 0.8
