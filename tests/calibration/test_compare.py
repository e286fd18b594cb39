"""Comparisons of systems keep their promises: the section of the calibration page in small."""

from __future__ import annotations

from functools import partial

import pytest

from benchmarks.calibration import compare
from benchmarks.calibration.rates import simulate


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, pytest.param(40, marks=pytest.mark.slow)])
def test_documents_are_what_counts(n: int) -> None:
    found = simulate(partial(compare.documents, n=n), compare.by_documents, runs=120)
    for way in ("default", "bootstrap"):
        assert found[f"size, {way}"].near(0.05)
        assert found[f"coverage, {way}"].near(0.95)
    for test in ("bootstrap", "randomise"):
        assert found[f"size, {test} without documents"].share > 0.2


def test_eight_equal_systems_show_a_dagger_in_one_table_of_twenty() -> None:
    found = simulate(partial(compare.equal_systems, k=8), compare.any_dagger, runs=100)
    assert found["any pair, default (Holm)"].near(0.05)
    assert found["several ranks, default"].near(0.05)
    assert found["any pair, uncorrected"].share > 0.3


def test_few_segments_that_differ_decide_nothing_and_are_named() -> None:
    found = simulate(partial(compare.differing, n=60, share=0.1, skew=1.3), compare.few_decide, runs=80)
    assert found["size, default"].near(0.05)
    assert found["said"].share > 0.9
    assert found["size, bootstrap"].share > 0.1
    at_margin = simulate(
        partial(compare.differing, n=60, share=0.2, skew=1.0, mean=compare.MARGIN), compare.verdicts, runs=80
    )
    assert at_margin["equivalent"].near(0.05)


def test_corpus_scores_of_twenty_real_segments_keep_their_level() -> None:
    found = simulate(partial(compare.swapped, n=20, metric="bleu"), compare.few_segments, runs=60)
    assert found["size, default"].near(0.05)
    assert found["coverage, default"].near(0.95)


def test_equivalence_is_claimed_wrongly_in_five_per_cent_at_most() -> None:
    at_margin = simulate(partial(compare.apart, n=100, difference=compare.MARGIN), compare.verdicts, runs=150)
    assert at_margin["equivalent"].near(0.05)
    assert at_margin["not significant"].share > 0.15  # and so not the same
    none = simulate(partial(compare.apart, n=300, difference=0.0), compare.verdicts, runs=50)
    assert none["equivalent"].share > 0.9
