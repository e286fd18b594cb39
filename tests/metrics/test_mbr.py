"""Minimum Bayes risk: decisions of a plain loop, whatever the order of rows; weights; what the two short cuts lose."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.data.nbest import NBest
from bsx.errors import InputError
from bsx.metrics.mbr import Decoder, MbrSettings

WORDS = ["the", "old", "man", "sat", "on", "a", "river", "bank", "and", "it", "had", "rain"]


def lists(n: int, size: int, seed: int = 0) -> list[list[str]]:
    """Lists of variants of one sentence, some of them twice."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        base = rng.choice(WORDS, 7)
        every = []
        for _ in range(size):
            changed = base.copy()
            changed[rng.integers(7)] = rng.choice(WORDS)
            every.append(" ".join(changed))
        found.append(every)
    return found


def loop(metric: bsx.Metric, texts: list[str], weights: list[float] | None = None) -> tuple[set[str], float]:
    """The plain double loop: the best candidates, and their expected score."""
    sign = 1 if metric.higher_is_better else -1
    share = weights or [1 / len(texts)] * len(texts)
    expected = {
        text: math.fsum(w * metric.score([text], [other]).values[0] for w, other in zip(share, texts, strict=True))
        for text in texts
    }
    best = max(sign * value for value in expected.values())
    return {text for text, value in expected.items() if sign * value > best - 1e-4}, sign * best


@pytest.mark.parametrize("spec", ["chrf", "ter", "sentbleu", "bertscore:layer=1", "sentence"])
def test_exact_is_the_plain_loop(spec: str, tiny_model: Callable[[str], str]) -> None:
    encoders = bsx.Encoders(model=tiny_model("bert"))
    metric = bsx.get_metric(spec, encoders=encoders)
    for texts in lists(2, 6):
        decision = Decoder(metric).decide(NBest("a", texts))[0]
        best, expected = loop(metric, texts)
        assert decision.candidate in best
        assert decision.expected == pytest.approx(expected, abs=1e-4)
        assert (decision.n, decision.distinct, decision.loss) == (6, len(set(texts)), 0.0)
        assert texts[decision.rank - 1] == decision.candidate


def test_the_order_of_rows_is_of_no_consequence(tiny_model: Callable[[str], str]) -> None:
    encoders = bsx.Encoders(model=tiny_model("bert"))
    rng = np.random.default_rng(3)
    for spec in ("chrf", "bertscore:layer=1"):
        decoder = Decoder(bsx.get_metric(spec, encoders=encoders), MbrSettings(temperature=2.0))
        for texts in lists(3, 9, seed=1):
            scores = rng.normal(size=9).tolist()
            found = decoder.decide(NBest("a", texts, scores))[0]
            for _ in range(3):
                order = rng.permutation(9)
                again = NBest("a", [texts[i] for i in order], [scores[i] for i in order])
                assert decoder.decide(again)[0] == found


def test_weights_and_temperature() -> None:
    metric = bsx.get_metric("chrf")
    texts = lists(1, 6)[0]
    scores = [0.1, -2.0, 0.4, -0.3, 1.2, 0.0]
    total = math.fsum(math.exp(score / 0.7) for score in scores)
    share = [math.exp(score / 0.7) / total for score in scores]
    best, expected = loop(metric, texts, share)
    by_scores = bsx.mbr([texts], metric="chrf", scores=[scores], temperature=0.7)[0]
    by_weights = bsx.mbr([texts], metric="chrf", weights=[[1000 * w for w in share]])[0]
    for found in (by_scores, by_weights):
        assert found.candidate in best
        assert found.expected == pytest.approx(expected)
    assert by_scores.rank == 1 + sum(score > scores[texts.index(by_scores.candidate)] for score in scores)
    # A cold softmax leaves one reference, and the candidate that is equal to it.
    assert bsx.mbr([texts], metric="chrf", scores=[scores], temperature=1e-3)[0].candidate == texts[4]


def test_equal_texts_are_scored_once_and_count_together() -> None:
    found, utilities = Decoder(bsx.get_metric("chrf")).decide(NBest("a", ["a b c", "x y", "x y", "x z"]))
    assert utilities is not None
    assert utilities.references == ["a b c", "x y", "x z"]
    assert utilities.weights.tolist() == [0.25, 0.5, 0.25]
    assert (found.candidate, found.rank, found.distinct) == ("x y", 2, 3)


def test_ties_go_by_the_models_score_then_frequency_then_text() -> None:
    decoder = Decoder(bsx.get_metric("chrf"))
    assert decoder.decide(NBest("a", ["dd", "bb", "cc"]))[0].candidate == "bb"
    assert decoder.decide(NBest("a", ["dd", "bb", "cc"], [1.0, 0.0, 3.0]))[0].candidate == "cc"
    same = NBest("a", ["qq"])
    assert decoder.decide(NBest("a", ["dd", "bb", "dd"]), same)[0].candidate == "dd"


def test_references_of_their_own_and_lower_is_better() -> None:
    found = bsx.mbr([["a b c", "q r s"]], references=[["q r s t", "q r"]], metric="ter")[0]
    assert found.candidate == "q r s"
    assert found.expected == pytest.approx((100 / 4 + 100 / 2) / 2)


def test_aggregation_is_exact_for_cosines_and_near_for_chrf(tiny_model: Callable[[str], str]) -> None:
    encoders = bsx.Encoders(model=tiny_model("bert"))
    cosine = bsx.get_metric("sentence", encoders=encoders)
    for texts in lists(3, 8):
        whole = Decoder(cosine).decide(NBest("a", [*texts, ""]))[0]
        together = Decoder(cosine, MbrSettings(method="aggregate")).decide(NBest("a", [*texts, ""]), check=True)[0]
        assert together.expected == pytest.approx(whole.expected, abs=1e-6)
        assert together.loss == 0
    chrf = bsx.get_metric("chrf")
    # References that are all the same are what they are one by one.
    assert chrf.score_aggregate(["a cat", "b"], ["the cat"] * 3, np.full(3, 1 / 3)) == pytest.approx(
        chrf.score(["a cat", "b"], ["the cat"] * 2).values
    )
    losses = [
        Decoder(chrf, MbrSettings(method="aggregate")).decide(NBest("a", t), check=True)[0].loss for t in lists(20, 12)
    ]
    assert np.mean([loss == 0 for loss in losses]) > 0.5
    assert max(loss for loss in losses if loss is not None) < 5


@pytest.mark.parametrize(
    "settings", ["", ":word_order=2", ":eps_smoothing=true", ":beta=3,whitespace=true,lowercase=true"]
)
def test_the_matrix_of_chrf_is_that_of_its_pairs(settings: str) -> None:
    metric = bsx.get_metric(f"chrf{settings}")
    texts = [*lists(1, 5)[0], "", "  ", "a", "aaaa aaa", "The Man", "猫 sat"]
    matrix = metric.score_matrix(texts, texts)
    pairs = [[metric.score([left], [right]).values[0] for right in texts] for left in texts]
    assert (matrix == np.array(pairs)).all()  # bit for bit


def test_aggregated_chrf_by_hand() -> None:
    # Unigrams alone: of "aab", a a b; of "ab" and "b", a .5 and b 1 in the mean. Matched .5 + 1 of 3, and of 1.5.
    chrf = bsx.get_metric("chrf:char_order=1")
    precision, recall = 1.5 / 3, 1.5 / 1.5
    expected = 100 * 5 * precision * recall / (4 * precision + recall)
    assert chrf.score_aggregate(["aab"], ["ab", "b"], np.array([0.5, 0.5])) == pytest.approx([expected])


def test_pruning_decides_among_what_is_proposed_and_states_the_loss() -> None:
    exact = bsx.mbr(lists(12, 15), metric="sentbleu")
    pruned = bsx.mbr(lists(12, 15), metric="sentbleu", method="prune", prune_to=3, check=12)
    assert sum(a.candidate == b.candidate for a, b in zip(exact, pruned, strict=True)) >= 8
    for whole, part in zip(exact, pruned, strict=True):
        assert part.loss == pytest.approx(whole.expected - part.expected, abs=1e-9)
    assert [found.loss for found in bsx.mbr(lists(12, 15), metric="chrf", method="prune", prune_to=3)] == [None] * 12
    # With room for all, nothing is proposed and nothing lost.
    assert bsx.mbr(lists(12, 15), metric="sentbleu", method="prune", prune_to=15) == exact


def test_what_cannot_be_done_is_refused() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"metric": "sentbleu", "method": "aggregate"}, "sentbleu cannot take references together"),
        ({"metric": "chrf", "temperature": 1.0}, "list 1: temperature weighs by the model's scores"),
        ({"metric": "chrf", "weights": [[1.0, -1.0]]}, r"weights\[0\]: must be at least 0"),
        ({"metric": "chrf", "weights": [[1.0]]}, r"weights\[0\]: one finite number for each of 2 texts"),
        *(
            ({"metric": "chrf", "weights": [odd]}, r"weights\[0\]: one finite number for each of 2 texts")
            for odd in (None, 1.0, ["x", "y"], [math.nan, 1.0], [1e308, 1e308], [10**400, 1], {1.0, 2.0})
        ),
        ({"metric": "chrf", "weights": [[0.0, 0.0]]}, r"weights\[0\]: must be at least 0, and one of them above it"),
        *(
            ({"metric": "chrf", "weights": odd}, "weights: give a list of lists of numbers")
            for odd in (1.0, "ab", ["ab"], {"a": 1.0})
        ),
        ({"metric": "chrf", "sources": "x"}, "sources is a single str"),
        ({"metric": "chrf", "scores": []}, "scores: there are 0, and 1 lists of candidates"),
        ({"metric": "chrf", "method": "quick"}, "method: must be 'exact'"),
        ({"metric": "chrf", "references": [["a"], ["b"]]}, "1 lists of candidates, 2 of references"),
        ({"metric": "chrf", "keep": 0}, "keep"),
    ]
    for settings, message in wrong:
        with pytest.raises(InputError, match=message):
            bsx.mbr([["a", "b"]], **settings)
    with pytest.raises(InputError, match=r"candidates\[1\]: is empty"):
        bsx.mbr([["a"], []], metric="chrf")
    odd: Any
    for odd in ("ab", b"ab", ["a", "b"], [["a"], "b"], None, 1.0, {"a": ["b"]}, np.array("a")):
        with pytest.raises(InputError, match="candidates: give a list of lists of texts"):
            bsx.mbr(odd, metric="chrf")
    for odd in ([None], [1.0], [{"a", "b"}], [[None]], [[1.0]], [[["a"]]]):
        with pytest.raises(InputError, match=r"candidates\[0\].* texts?"):
            bsx.mbr(odd, metric="chrf")


def test_lists_may_come_one_by_one() -> None:
    one_by_one: Any = (iter(texts) for texts in (["a", "b", "b"], ["c"]))
    assert [found.candidate for found in bsx.mbr(one_by_one, metric="chrf")] == ["b", "c"]
