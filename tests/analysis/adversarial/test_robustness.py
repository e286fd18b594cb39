"""The battery against plain arithmetic, and what it says when there is nothing to say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bsx
from bsx.analysis.adversarial.perturb import MetricFunctions
from bsx.analysis.adversarial.result import CaseResult, DropExample, Robustness
from bsx.analysis.adversarial.robustness import robustness
from bsx.analysis.perturbations.perturb import Perturbed, perturb
from bsx.analysis.perturbations.scoring import Function
from bsx.analysis.stats.clusters import adjust
from bsx.errors import InputError, UnknownNameError

WORDS = "The old dog saw a young cat and it was not afraid of her at all today".split()  # noqa: SIM905 - a sentence
REFERENCES = [
    " ".join([*WORDS[shift % 7 :: 1 + shift % 3], str(1900 + 3 * shift)]) + (",!.;"[shift % 4] if shift % 5 else "")
    for shift in range(40)
]
CANDIDATES = [reference.replace("cat", "kitten").replace("old ", "") for reference in REFERENCES]


def overlap(candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """Jaccard similarity of sets of characters' pairs."""

    def pairs(text: str) -> set[str]:
        return {text[i : i + 2] for i in range(len(text) - 1)}

    values = []
    for a, b in zip(candidates, references, strict=True):
        both = pairs(a) | pairs(b)
        values.append(len(pairs(a) & pairs(b)) / len(both) if both else 0.0)
    return np.array(values)


def length(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
    return [-abs(len(a) - len(b)) / 10 for a, b in zip(candidates, references, strict=True)]


METRICS: dict[str, Function] = {"overlap": overlap, "length": length}


def case(result: Robustness, *of: object) -> CaseResult:
    """Return the case of a metric, a perturbation and perhaps a strength."""
    wanted = (*of, None)[:3]
    (found,) = [one for one in result.results if (one.metric, one.perturbation, one.strength) == wanted]
    return found


def worst_of(result: Robustness, name: str) -> list[DropExample]:
    return [one for one in result.worst if (one.metric, one.perturbation) == ("overlap", name)]


@pytest.fixture(scope="module")
def battery() -> Robustness:
    return robustness(REFERENCES, METRICS, candidates=CANDIDATES, lang="en", strengths=(0.2,), correction="holm")


def test_every_number_against_plain_arithmetic(battery: Robustness) -> None:
    unrelated = perturb(CANDIDATES, "unrelated").texts
    control = perturb(CANDIDATES, "no-punctuation")
    for metric, function in METRICS.items():
        clean = np.asarray(function(CANDIDATES, REFERENCES))
        span = clean.mean() - np.asarray(function(unrelated, REFERENCES)).mean()
        own = clean - np.asarray(function(control.texts, REFERENCES))
        for name, strength in (("negation", None), ("shuffle", 0.2), ("lower", None), ("numbers", None)):
            made = perturb(CANDIDATES, name, strength=strength, lang="en")
            rows = np.array([a != b for a, b in zip(CANDIDATES, made.texts, strict=True)])
            drops = (clean - np.asarray(function(made.texts, REFERENCES)))[rows]
            found = case(battery, metric, name, strength)
            assert found.n == rows.sum()
            assert found.n + found.unchanged + found.not_applicable == len(CANDIDATES)
            # Sums in another order: rounding of doubles only.
            assert found.drop == pytest.approx(drops.mean(), abs=1e-12)
            assert found.mean_clean == pytest.approx(clean[rows].mean(), abs=1e-12)
            assert found.mean_clean - found.mean_score == pytest.approx(found.drop, abs=1e-12)
            assert found.relative_drop == pytest.approx(drops.mean() / span, abs=1e-12)
            assert found.unnoticed == pytest.approx((drops <= 1e-6).mean(), abs=1e-12)
            draws = np.random.default_rng(1).integers(len(drops), size=(1000, len(drops)))
            assert found.ci == pytest.approx(np.percentile(drops[draws].mean(axis=1), [2.5, 97.5]), abs=1e-9)
            both = rows & control.changed
            more = (clean - np.asarray(function(made.texts, REFERENCES)) - own)[both]
            assert found.excess_n == both.sum()
            assert found.excess == pytest.approx(more.mean(), abs=1e-12)
            signs = np.where(np.random.default_rng(1).random((1000, len(more))) < 0.5, -1, 1)
            p = (1 + ((signs * more).mean(axis=1) >= more.mean() - 1e-10).sum()) / 1001
            assert found.p == pytest.approx(p)


def test_swaps_agree_with_scipy(battery: Robustness) -> None:
    scipy = pytest.importorskip("scipy.stats")
    clean = overlap(CANDIDATES, REFERENCES)
    changed, control = perturb(CANDIDATES, "shuffle", strength=0.2), perturb(CANDIDATES, "no-punctuation")
    rows = changed.changed & control.changed
    a, b = ((clean - overlap(one.texts, REFERENCES))[rows] for one in (changed, control))
    peer = scipy.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        alternative="greater",
        n_resamples=9999,
        rng=np.random.default_rng(5),
    )
    # Two Monte Carlo estimates, with 1,000 and 10,000 draws: 4 standard errors of the coarser one.
    error = 4 * (peer.pvalue * (1 - peer.pvalue) / 1000) ** 0.5 + 0.002
    assert case(battery, "overlap", "shuffle", 0.2).p == pytest.approx(peer.pvalue, abs=error)


def test_control_range_and_correction(battery: Robustness) -> None:
    for metric in METRICS:
        control = case(battery, metric, "no-punctuation")
        assert np.isnan([control.excess, control.p]).all()
        assert control.excess_n == 0
        unrelated = case(battery, metric, "unrelated")
        assert unrelated.n == len(CANDIDATES)
        assert unrelated.relative_drop == pytest.approx(1)
    expected = adjust([one.p for one in battery.results], "holm")
    assert [one.p_adjusted for one in battery.results] == pytest.approx(expected.tolist(), nan_ok=True)
    assert max(one.p_adjusted - one.p for one in battery.results if one.p == one.p) > 0


def test_worst_rows(battery: Robustness) -> None:
    # Where the meaning changed the smallest drop is first, where it stayed the largest.
    for name, first in (("numbers", slice(3)), ("upper", slice(None, -4, -1))):
        drops = overlap(CANDIDATES, REFERENCES) - overlap(perturb(CANDIDATES, name).texts, REFERENCES)
        assert [one.drop for one in worst_of(battery, name)] == pytest.approx(sorted(drops)[first])
    one = worst_of(battery, "numbers")[0]
    assert one.reference == REFERENCES[int(one.row) - 1]
    assert one.original == CANDIDATES[int(one.row) - 1]
    assert overlap([one.perturbed], [one.reference])[0] == pytest.approx(one.scores["overlap"][1])


def test_every_call_has_all_rows_in_order() -> None:
    seen: list[tuple[int, list[str]]] = []

    def metric(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
        seen.append((sum(a != b for a, b in zip(candidates, REFERENCES, strict=True)), list(references)))
        return [1.0] * len(candidates)

    result = robustness(REFERENCES, {"m": metric}, perturbations=["numbers", "negation"], lang="en")
    assert [references for _, references in seen] == [REFERENCES] * 5  # clean, control, two, unrelated
    assert [count for count, _ in seen][2] == case(result, "m", "numbers").n
    assert case(result, "m", "numbers").unnoticed == 1
    assert np.isnan(case(result, "m", "numbers").relative_drop)
    assert any(note.startswith("m: unrelated texts score no lower") for note in result.notes)
    assert any("the references themselves" in note for note in result.notes)


def test_what_was_scored_can_be_kept() -> None:
    kept: list[tuple[Sequence[Perturbed], Mapping[str, Sequence[NDArray[np.float64]]]]] = []
    how: dict[str, Any] = {"perturbations": ["numbers"], "lang": "en", "keep": lambda *scored: kept.append(scored)}
    result = robustness(REFERENCES, METRICS, **how)
    ((cases, scored),) = kept
    assert [one.perturbation.name for one in cases] == ["no-punctuation", "numbers"]
    for metric, (clean, _, numbers, *_) in scored.items():
        assert np.nanmean(numbers) == pytest.approx(case(result, metric, "numbers").mean_score)
        assert np.isnan(numbers).tolist() == (~cases[1].changed).tolist()
        assert clean == pytest.approx(METRICS[metric](REFERENCES, REFERENCES))


def test_nothing_changed_is_no_robustness() -> None:
    result = robustness(["abc.", "abd!", "x"], METRICS, perturbations=["lower", "dates", "quotes"], lang="en")
    for name, unchanged in (("lower", 3), ("dates", 0)):
        found = case(result, "overlap", name)
        assert (found.n, found.unchanged, found.not_applicable) == (0, unchanged, 3 - unchanged)
        assert np.isnan([found.drop, found.relative_drop, found.unnoticed, found.excess, found.p]).all()
        assert any(note.startswith(f"{name} changed none of 3 texts") for note in result.notes)
    content = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    entry = next(one for one in content["results"] if one["perturbation"] == "lower")
    assert entry["drop"] is None
    assert entry["ci"] == [None, None]
    assert Robustness.from_dict(content).to_dict() == content
    assert "lower" in result.to_text(full=True)


def test_perturbations_that_cannot_be_applied() -> None:
    result = robustness(REFERENCES[:5], METRICS, lang="ja")
    assert {one.perturbation for one in result.left_out} >= {"negation", "source", "noun-swap", "contractions"}
    assert "negation" not in {one.perturbation for one in result.results}
    with pytest.raises(InputError, match="perturbation negation is for .*, not ja"):
        robustness(REFERENCES[:5], METRICS, perturbations=["negation"], lang="ja")
    with pytest.raises(InputError, match="perturbation source needs the sources"):
        robustness(REFERENCES[:5], METRICS, perturbations=["source"])
    alone = robustness(["one text"], METRICS, perturbations=["upper"])
    assert any("there is no unrelated text" in note for note in alone.notes)


def test_missing_scores() -> None:
    def holes(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
        return [float("nan") if "SAW" in text else 1.0 - 0.01 * len(text) for text in candidates]

    names = ["upper", "lower"]
    with pytest.raises(InputError, match=r"m on upper: row \d+ has no score"):
        robustness(REFERENCES, {"m": holes}, perturbations=names)
    found = case(robustness(REFERENCES, {"m": holes}, perturbations=names, nan="omit"), "m", "upper")
    assert found.failed == sum("SAW" in text.upper() for text in REFERENCES) > 0
    assert found.n + found.failed == len(REFERENCES)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"candidates": ["a"]}, "1 candidates, 40 references"),
        ({"control_perturbation": "shuffle"}, "control_perturbation 'shuffle': use one that keeps .*: no-punctuation"),
        ({"control_perturbation": "typos"}, "control_perturbation 'typos': use one"),
        ({"strengths": [0.0]}, "strengths: must be more than 0"),
        ({"resamples": 0}, r"resamples\b.*got 0"),
        ({"confidence": 1.0}, "confidence: .*1.0"),
        ({"correction": "bonferroni"}, "correction: .*bonferroni"),
        ({"metrics": {}}, "there is nothing to measure"),
        ({"metrics": {"m": lambda a, b: [1.0]}}, r"m on the clean texts: 40 rows, scores of shape \(1,\)"),
        ({"metrics": {"m": lambda a, b: [float("inf")] * len(a)}}, "row 1 has an infinite score"),
    ],
)
def test_bad_input(how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        robustness(REFERENCES, **{"metrics": METRICS, "perturbations": ["shuffle"], **how})  # type: ignore[call-arg]
    with pytest.raises(UnknownNameError, match="unknown perturbation 'nope'"):
        robustness(REFERENCES, METRICS, perturbations=["nope"])


def test_a_change_is_said_to_cost_more_only_where_a_test_says_so() -> None:
    def planted(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
        """Take off 1 for other digits, and 0.01 for a lost comma; nothing else counts."""

        def kept(text: str, wanted: str) -> str:
            return "".join(character for character in text if character in wanted)

        digits, stops = "0123456789", ",!.;"
        return [
            -1.0 * (kept(a, digits) != kept(b, digits)) - 0.01 * (kept(a, stops) != kept(b, stops))
            for a, b in zip(candidates, references, strict=True)
        ]

    how: dict[str, Any] = {"perturbations": ["numbers", "negation", "unrelated"], "lang": "en"}
    found = robustness([f"{text}." for text in REFERENCES], {"m": planted}, **how)
    said = found.to_text().splitlines()[0]
    more = [one.perturbation for one in found.results if not one.preserves and one.p_adjusted < 0.05]
    assert more == ["numbers", "unrelated"]
    assert "1 of 2 changes of meaning cost significantly more under m (not negation)" in said  # nor an unrelated text


def test_seed_decides() -> None:
    how: dict[str, Any] = {"perturbations": ["shuffle"], "strengths": [0.3]}
    results = [robustness(REFERENCES, {"overlap": overlap}, seed=seed, **how) for seed in (4, 4, 5)]
    one, again, other = (case(result, "overlap", "shuffle", 0.3) for result in results)
    assert one == again
    assert one.drop != other.drop


def test_an_edit_towards_the_reference_is_no_failure() -> None:
    references = ["It cost 45 euros.", "The cat sat here."]
    candidates = ["It cost 15 euros.", "The cat sat there."]
    seed = next(s for s in range(200) if perturb(candidates, "numbers", seed=s).texts[0] == references[0])
    how: dict[str, Any] = {"perturbations": ["numbers"], "seed": seed, "worst": 3}
    found = robustness(references, {"overlap": overlap}, candidates=candidates, **how)
    one = case(found, "overlap", "numbers")
    assert (one.n, one.nearer, one.drop < 0) == (1, 1, True)
    assert worst_of(found, "numbers") == []
    assert any("1 change of meaning brought a text nearer" in note for note in found.notes)
    how |= {"perturbations": ["empty", "truncate"], "candidates": ["Oh no, it rained all day."]}
    longer = robustness(["Rain fell."], {"overlap": overlap}, **how)
    assert [one.nearer for one in longer.results] == [0] * len(longer.results)  # less is not nearer
    own = robustness(candidates, {"overlap": overlap}, perturbations=["numbers"], seed=seed, worst=3)
    assert case(own, "overlap", "numbers").nearer == 0
    assert [row.row for row in worst_of(own, "numbers")] == [1]


def test_the_first_text_that_a_metric_failed_on_is_named() -> None:
    functions = MetricFunctions([bsx.get_metric("chrf")], None, skip=True)
    assert functions.left_out() == []
    functions.skipped += [{"metric": "chrf", "row": row, "error": f"too long by {row}"} for row in (3, 7)]
    (note,) = functions.left_out()
    assert note.startswith("2 texts are left out")
    assert note.endswith("chrf on row 3: too long by 3")
