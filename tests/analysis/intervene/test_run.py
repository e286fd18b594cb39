"""Interventions on planted metrics: coefficients that are known, worlds in which observation misleads."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bsx.analysis import intervene_texts, parse_document
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.factors.lexical import bleu1
from bsx.analysis.factors.zoo import compute_factors
from bsx.analysis.intervene.edits import EditedText, save_pairs
from bsx.analysis.intervene.result import Interventions
from bsx.analysis.intervene.sides import FactorSample, compare_sides
from bsx.errors import InputError
from bsx.support.provenance import provenance

Array = NDArray[np.float64]
Function = Callable[[Sequence[str], Sequence[str]], Array]
SUBJECT_TEXT = "doctor lawyer author student company error nation photo illness region film physician writer"
SUBJECTS = SUBJECT_TEXT.split()
VERBS = ["requires", "needs", "states", "buys", "stays", "happens", "believes"]
ADVERBS = ["often", "usually", "rarely", "nearly", "mainly", "perhaps", "quickly", "recently"]
OPPOSED = ["north", "large", "high", "early", "more", "good", "strong", "new"]


def lex(references: Sequence[str], texts: Sequence[str]) -> Array:
    return np.array([bleu1(r.split(), t.split()) for r, t in zip(references, texts, strict=True)])


def shape(references: Sequence[str], texts: Sequence[str]) -> Array:
    """How alike two texts are in length: a second factor, which edits move too."""
    pairs = [(len(r), len(t)) for r, t in zip(references, texts, strict=True)]
    return np.array([min(pair) / max(pair) for pair in pairs])


def world(n: int = 120, seed: int = 3) -> tuple[list[str], list[str], Array]:
    """References, candidates that lose words, and a quality that needs the words kept but is no word."""
    rng = random.Random(seed)  # noqa: S311 - a planted world
    references, candidates, quality = [], [], []
    for place in range(n):
        words = [rng.choice(OPPOSED), rng.choice(SUBJECTS), f"name{place}", rng.choice(ADVERBS), rng.choice(VERBS)]
        words += [f"word{rng.randint(0, 999)}" for _ in range(rng.randint(3, 9))]
        kept = [word if rng.random() > 0.35 else f"other{rng.randint(0, 99)}" for word in words]
        references.append(" ".join(words))
        candidates.append(" ".join(kept))
        quality.append(sum(a == b for a, b in zip(words, kept, strict=True)) / len(words) + rng.gauss(0, 0.1))
    return references, candidates, np.array(quality)


def planted(of_lex: float, of_shape: float, hidden: dict[str, float]) -> Function:
    """A metric that is a sum of two factors and of something hidden, which no edit moves."""

    def score(texts: Sequence[str], references: Sequence[str]) -> Array:
        beside = np.array([hidden.get(text, 0.0) for text in texts])
        return of_lex * lex(references, texts) + of_shape * shape(references, texts) + beside

    return score


def scaled(value: float, factor: str, result: Interventions) -> float:
    """Return a planted coefficient in the units that results are in."""
    unit = next(scale.unit for scale in result.scales if scale.factor == factor)
    return value * unit / result.fits[0].sd


REFERENCES, CANDIDATES, QUALITY = world()


def explained(metric: Function, edits: Sequence[str] = ("synonyms", "opposites"), **how: Any) -> Interventions:
    """Return what a metric ``m`` reacts to in the planted world, by LEX unless other factors are given."""
    how = {"factors": {"lex": lex}, "candidates": CANDIDATES, "lang": "en"} | how
    return intervene_texts(REFERENCES, {"m": metric}, edits=edits, **how)


@pytest.mark.parametrize("base", ["reference", "candidate"])
def test_known_coefficients_are_found(base: str) -> None:
    found = explained(planted(0.7, 0.3, {}), factors={"lex": lex, "shape": shape}, base=base)
    for factor, value in {"lex": 0.7, "shape": 0.3}.items():
        effect, true = found.effect("m", factor), scaled(value, factor, found)
        assert (effect.edited, effect.observed, effect.difference) == pytest.approx((true, true, 0), abs=1e-9)
        assert effect.p is None  # nothing is left to test
    meaning = found.effect("m", "sem")
    assert (meaning.edited, meaning.edited_p) == (pytest.approx(0, abs=1e-9), None)
    assert meaning.observed is None  # no human scores
    assert (found.fits[0].r2_edited, found.fits[0].p) == (pytest.approx(1), None)
    assert "nothing moves" in found.to_text()
    assert "[0.000, 0.000]" not in found.to_text()


def test_edits_of_writing_are_a_factor_of_their_own() -> None:
    metric, factors, pairs = planted(0.7, 0.3, {}), {"lex": lex, "shape": shape}, list[EditedText]()
    words = explained(metric, factors=factors)
    both = explained(metric, ["synonyms", "opposites", "typos", "lower"], factors=factors, keep=pairs.extend)
    for factor in ("sem", "lex", "shape"):
        assert both.effect("m", factor).edited == pytest.approx(words.effect("m", factor).edited, abs=1e-9)
    own = [pair.falls["m"] for pair in pairs if pair.aim == "surface"]
    assert both.effect("m", "surface").edited == pytest.approx(np.mean(own) / both.fits[0].sd)
    typos = next(edit for edit in both.edits if edit.edit == "typos")
    assert typos.changes["lex"] > 0  # shown, and not counted


CASED = ["The Children often win in {}.", "A Doctor is rarely Here, says {}.", "My Company usually buys {} films."]


def cased_world(n: int = 60, seed: int = 7) -> tuple[list[str], list[str]]:
    """References with capitals, and candidates that lose words and some of the capitals."""
    rng = random.Random(seed)  # noqa: S311 - a planted world
    references, candidates = [], []
    for place in range(n):
        text = f"{CASED[place % 3].format(f'Name{place}')} Also Word{place % 7} Word{place % 5}"
        words = [word if rng.random() > 0.3 else f"Other{rng.randint(0, 99)}" for word in text.split()]
        references.append(text)
        candidates.append(" ".join(word.lower() if rng.random() < 0.3 else word for word in words))
    return references, candidates


def measured(lowercase: bool) -> Function:
    """A metric that is LEX, with capitals or without."""

    spec = f"lex:lowercase={lowercase}"
    return lambda texts, references: compute_factors([spec], list(references), list(texts), lang="en")[spec].values


@pytest.mark.slow
def test_lex_follows_the_casing_of_each_metric() -> None:
    references, candidates = cased_world()
    pairs: list[EditedText] = []
    metrics = {"cased": measured(False), "blind": measured(True)}
    found = intervene_texts(references, metrics, candidates=candidates, lang="en", keep=pairs.extend)
    for metric, factor, ignores in (("cased", "lex", False), ("blind", "lex:lowercase=true", True)):
        effect = found.effect(metric, "lex")
        assert effect.factor == factor
        assert effect.observed == pytest.approx(1)
        assert effect.edited == pytest.approx(1)
        assert effect.difference_ci == pytest.approx((0, 0), abs=1e-6)
        fit = next(fit for fit in found.fits if fit.metric == metric)
        assert fit.ignores_case is ignores
        assert fit.unseen == (("lower",) if ignores else ())
    assert found.factors == ("sem", "lex", "lex:lowercase=true", "surface")
    assert {"lex", "lex:lowercase=true"} <= {scale.factor for scale in found.scales}
    assert set(pairs[0].changes) == {"sem", "lex", "lex:lowercase=true"}
    about = {notice.name: notice for notice in found.warnings}
    assert about["case-ignored"].values == {"metrics": ["blind"]}
    assert (about["edits-unseen"].about, about["edits-unseen"].values) == ("blind", {"edits": ["lower"]})
    lower = [drop for drop in found.drops if drop.edit == "lower"]
    assert [drop.drop == 0 and np.isnan(drop.expected) for drop in lower] == [False, True]
    content = json.loads(json.dumps(found.to_dict() | {"provenance": provenance("intervene", [], {})}))
    assert isinstance(parse_document(content, "x"), Interventions)
    # what was said of case is kept; without the edit "lower" the metric is asked all the same
    for spec in ("lex:lowercase=false", "lex:lowercase=true"):
        kept = intervene_texts(
            references, metrics, edits=["typos", "synonyms"], factors=[spec], candidates=candidates, lang="en"
        )
        assert {effect.factor for effect in kept.effects} == {spec, "surface"}
    both = intervene_texts(references, {"blind": measured(True)}, factors=["lex", "lex:lowercase=true"], lang="en")
    assert {effect.factor for effect in both.effects} == {"sem", "lex:lowercase=true", "surface"}  # of the two lex, one
    asked = intervene_texts(references, metrics, edits=["synonyms", "opposites"], candidates=candidates, lang="en")
    assert [fit.ignores_case for fit in asked.fits] == [False, True]


def test_texts_without_capitals_say_nothing_of_case() -> None:
    references = [f"children often win in town{place}" for place in range(12)]
    found = intervene_texts(references, {"m": measured(True)}, edits=["synonyms", "typos"], lang="en")
    assert found.fits[0].ignores_case is None
    assert "lex" in found.factors


def length(texts: Sequence[str], wanted: Sequence[str]) -> Array:
    """A metric that counts letters only."""
    return -np.abs([float(len(a) - len(b)) for a, b in zip(texts, wanted, strict=True)])


def test_a_factor_that_the_metric_never_sees_moves_nothing() -> None:
    references, candidates = cased_world()
    how: dict[str, Any] = {"factors": {"lex": lex}, "lang": "en"}
    found = intervene_texts(references, {"m": length}, edits=["synonyms", "lower"], candidates=candidates, **how)
    assert found.fits[0].unseen == ("lower",)
    effect = found.effect("m", "surface")
    assert (effect.edited, effect.edited_ci, effect.edited_p) == (0, (0, 0), None)
    assert (found.effect("m", "lex").edited_p or 1) < 0.05
    assert "nothing moves" in found.to_text()
    found = intervene_texts(references, {"m": length}, edits=["lower"], candidates=candidates, **how)
    assert (found.fits[0].n_edited, found.fits[0].p) == (0, None)
    assert found.effect("m", "surface").edited_ci == (0, 0)
    assert found.effect("m", "lex").edited is None  # what lower does to words does not count
    assert found.to_text(full=True)
    with pytest.raises(InputError, match="m: no edit changes its score"):  # without candidates there is no unit
        intervene_texts(references, {"m": length}, edits=["lower"], **how)


def test_a_collapse_of_what_is_explained_is_told() -> None:
    def metric(texts: Sequence[str], wanted: Sequence[str]) -> Array:
        """Count words in common; a reversed word is worth nothing, most synonyms are worth a lot."""
        good = {"physician", "attorney", "writer", "pupil", "mistake", "firm", "frequently"}
        bonus = [3.0 * bool((set(t.split()) - set(w.split())) & good) for t, w in zip(texts, wanted, strict=True)]
        return lex(wanted, texts) - np.array(bonus)

    found = explained(metric, ["synonyms"])
    fit, notices = found.fits[0], {notice.name: notice.values for notice in found.warnings}
    assert fit.r2_edited < 0.5 * fit.r2_observed
    assert notices["explains-less"] == {"observed": fit.r2_observed, "edited": fit.r2_edited}
    little_less = explained(planted(0.7, 0.3, {}), ["synonyms"])
    assert "explains-less" not in {notice.name for notice in little_less.warnings}


def test_observation_misleads_where_something_hidden_goes_with_a_factor() -> None:
    found = explained(planted(0.2, 0.0, dict(zip(CANDIDATES, 2 * QUALITY, strict=True))))
    effect, true = found.effect("m", "lex"), scaled(0.2, "lex", found)
    assert effect.edited == pytest.approx(true, abs=1e-9)
    assert (effect.observed or 0) > 3 * true
    assert (effect.p if effect.p is not None else 1) < 1e-6
    assert effect.difference == pytest.approx(true - (effect.observed or 0))


def test_a_changed_meaning_in_units_of_people() -> None:
    human = 10 * QUALITY

    def meaning(texts: Sequence[str], _: Sequence[str]) -> Array:
        """Score texts by what people would say, a reversed word counting three points."""
        own = dict(zip(CANDIDATES, human, strict=True))
        reversed_words = {"south", "small", "low", "late", "bad", "weak", "old", "sell", "sells"}
        return np.array([own.get(text, 0.0) - 3.0 * bool(set(text.split()) & reversed_words) for text in texts])

    effect = explained(meaning, human=human, meaning=3.0).effect("m", "sem")
    assert (effect.observed, effect.edited) == pytest.approx((1.0, 1.0), abs=1e-6)
    assert effect.difference == pytest.approx(0.0, abs=1e-6)
    undeclared = explained(meaning, human=human).effect("m", "sem")
    assert (undeclared.difference, undeclared.edited is None) == (None, False)


def test_the_test_keeps_its_level() -> None:
    rng, p = np.random.default_rng(5), []
    for _ in range(300):
        x, moved = rng.normal(size=(60, 2)), rng.normal(size=(120, 2))
        of_sentence = rng.normal(size=60)
        clusters, other = np.arange(60.0), np.repeat(np.arange(60.0), 2)
        y = x @ [0.5, -0.2] + of_sentence
        fallen = moved @ [0.5, -0.2] + of_sentence[other.astype(int)] * moved[:, 0] + rng.normal(size=120)
        observed = FactorSample(y, x, ["a", "b"], clusters)
        test = compare_sides(observed, FactorSample(fallen, moved, ["a", "b"], other), 0.95)[1]
        p.append(np.nan if test is None else test.p)
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.12  # 60 sentences: a little liberal


def test_differences_are_those_of_two_fits() -> None:
    rng = np.random.default_rng(1)
    x, moved = rng.normal(size=(50, 2)), rng.normal(size=(80, 3))
    observed = FactorSample(x @ [1.0, 2.0] + rng.normal(size=50), x, ["a", "b"], np.arange(50.0))
    edited = FactorSample(moved @ [3.0, 1.0, 2.0] + rng.normal(size=80), moved, ["c", "a", "b"], np.arange(80.0) % 50)
    found, test = compare_sides(observed, edited, 0.95)
    for place, name in enumerate(("a", "b")):
        expected = edited.fit(0.95).coef[place + 1] - observed.fit(0.95).coef[place]
        assert found[name]["difference"] == pytest.approx(expected)
    assert test is not None
    assert test.df1 == 2


def test_the_observed_side_is_what_disentangle_fits() -> None:
    metric, factors = planted(0.5, 0.2, dict(zip(CANDIDATES, QUALITY, strict=True))), {"lex": lex, "shape": shape}
    human = (QUALITY + 1).tolist()
    found = explained(metric, ["synonyms", "typos"], factors=factors, human=human)
    table = {"m": metric(CANDIDATES, REFERENCES), "sem": human, "candidate": CANDIDATES, "reference": REFERENCES}
    table |= {name: measure(REFERENCES, CANDIDATES) for name, measure in factors.items()}
    table["s"] = [f"s{place:03}" for place in range(len(human))]
    fit = disentangle(table, ["m"], ["sem", *factors], cluster="s")["m"]
    for factor in ("sem", *factors):
        effect = found.effect("m", factor)
        assert effect.observed == pytest.approx(fit.coef[factor])
        assert effect.observed_ci == pytest.approx(fit.ci[factor])


def test_the_document_and_the_pairs(tmp_path: Path) -> None:
    metric, pairs = planted(0.7, 0.3, {}), list[EditedText]()
    found = explained(metric, ["synonyms", "lower"], keep=pairs.extend)
    assert len(pairs) == sum(edit.n for edit in found.edits)
    pair = pairs[0]
    fall = metric([pair.original], [pair.reference]) - metric([pair.edited], [pair.reference])
    assert pair.falls["m"] == pytest.approx(fall[0])
    assert pair.changes["lex"] == pytest.approx(1 - bleu1(pair.reference.split(), pair.edited.split()))
    save_pairs(pairs, tmp_path / "pairs.tsv")
    assert len((tmp_path / "pairs.tsv").read_text().splitlines()) == 1 + len(pairs)
    assert "| m | lex |" in found.to_markdown()


@pytest.mark.parametrize("of_lex", [0.0, 0.7])
def test_a_metric_is_said_to_react_only_to_what_it_reacts_to(of_lex: float) -> None:
    draw, lexical = np.random.default_rng(4), planted(of_lex, 0.0, {})

    def metric(texts: Sequence[str], wanted: Sequence[str]) -> Array:
        return lexical(texts, wanted) + 0.01 * draw.normal(size=len(texts))

    found = explained(metric, ["synonyms", "opposites", "typos"], correction="holm")
    reacts = found.to_text().split(". ")[0]
    assert ("lex (" in reacts) == bool(of_lex)
    for effect in found.effects:
        if effect.edited_p_adjusted is not None:
            assert (f"{effect.factor} (" in reacts) == (effect.edited_p_adjusted < 0.05)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"references": ["Children often win."], "edits": ["typos"]}, "edited texts are of one sentence"),
        ({"edits": ["shuffle"]}, "aims at no single factor"),
        ({"edits": ["synonyms"], "lang": "ja"}, "edit synonyms is for"),
        ({"edits": ["voice"]}, "edit voice needs parses"),
        ({"candidates": ["a"]}, "2 references, 1 candidates"),
        ({"base": "candidate"}, "needs candidates"),
        ({"human": [1.0, 2.0]}, "^human needs candidates"),
        ({"human": [1.0, np.inf], "candidates": ["a", "b"]}, "human: row 2 is infinite"),
        ({"human": [np.nan, np.nan], "candidates": ["Children often", "b"]}, "no candidate has all factors: sem, lex"),
        ({"factors": {"a": lambda r, _: np.full(len(r), np.inf)}}, "factor a is infinite for 'Children"),
        ({"factors": {"a": lambda r, _: ["x"] * len(r)}}, r"factor a returned \['x'"),
        ({"metrics": {"m": lambda t, _: ["x"] * len(t)}}, r"m returned \['x'"),
        ({"metrics": {"m": lambda t, _: 1}}, "m: 2 rows, scores of shape"),
        ({"metrics": {"m": lambda t, _: np.full(len(t), np.inf)}}, "m: row 1 has an infinite score"),
        ({"meaning": 1.0}, "^meaning is in units"),
        ({"factors": {"sem": lex}}, "'sem' is not computed here"),
        ({"edits": ["numbers"]}, "changes any of the 2 texts"),
        ({"factors": {"a": lex, "b": lex}}, "'b' cannot be told from sem, a"),
        ({"edits": ["lower"], "metrics": {"m": lambda t, _: np.zeros(len(t))}}, "m: no edit changes its score"),
    ],
)
def test_what_cannot_be_done(how: dict[str, object], message: str) -> None:
    given: dict[str, Any] = {"references": ["Children often win.", "The doctor is Here."]}
    given |= {"metrics": {"m": planted(1, 0, {})}, "factors": {"lex": lex}, "lang": "en"} | how
    with pytest.raises(InputError, match=message):
        intervene_texts(given.pop("references"), given.pop("metrics"), **given)


def test_pairs_without_a_score_are_refused_or_left_out() -> None:
    references, _, _ = world(20)

    def metric(texts: Sequence[str], wanted: Sequence[str]) -> Array:
        scores = lex(wanted, texts)
        scores[4] = np.nan
        return scores

    pairs: list[EditedText] = []
    how: dict[str, Any] = {"factors": {"lex": lex}, "lang": "en"}
    with pytest.raises(InputError, match="m: row 5 has no score"):
        intervene_texts(references, {"m": metric}, edits=["typos"], **how)
    found = intervene_texts(references, {"m": metric}, edits=["synonyms"], nan="omit", keep=pairs.extend, **how)
    assert found.fits[0].n_edited == len(pairs) - sum(pair.row == 5 for pair in pairs)
