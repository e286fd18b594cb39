"""Every result of the public faces: short by name, a table in notebooks and papers, a DataFrame, and a picture."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import bsx
import bsx.analysis as analysis
from bsx.analysis.agreement.systems.result import CompareResult
from bsx.analysis.datasets.challenge import MinimalPair
from bsx.analysis.documents.intervening import InterveneDocument
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.stats.regression import Ols, WaldTest
from bsx.support.result import Shown

NAMES = ["good", "50%_x", "poor & slow"]
NO_RESULTS = {
    # What is read or made, and not measured: texts, data, models, entries, settings.
    *(
        "Catalog",
        "Check",
        "ChallengeSet",
        "Document",
        "EditedText",
        "Encoders",
        "Factor",
        "FactorConfig",
        "FrozenEncoder",
    ),
    *("Idf", "Inflections", "Instances", "JudgedTable", "MemoryCorpus", "Metric", "MetricConfig", "MetricEntry"),
    *("MinimalPair", "ModelRecord", "PairMetric", "EncoderMetric", "PairScores", "Pairs", "Parse", "Parser"),
    *("Perturbation", "Perturbed", "ProbingTask", "Resources", "RunConfig", "Scorer", "ScorerConfig", "SentencePairs"),
    *("Signature", "TestData", "TrainConfig", "Training", "Triple", "TripleTable", "VectorStore", "CorpusScores"),
    *(
        "CompareSettings",
        "EnsembleSettings",
        "MetaSettings",
        "BaselineRun",
        "PermutedNouns",
        "ResultDocument",
        "ScoredDataset",
        "Weights",
        "TableColumns",
        "TestSet",
    ),
    # What was decided; the model or text is the answer.
    *("Decision", "ModelChoice", "Detection"),
    # Pages, which are HTML and Markdown already.
    "Report",
    # A part of a result that has all of it.
    *("ExplainedRow", "Transferred"),
}


@cache
def table() -> Mapping[str, Any]:
    draw = np.random.default_rng(3)
    human, other = draw.normal(size=(2, 40))
    poor = draw.normal(size=40)
    return {"human": human, "good": human + 0.3 * other, "50%_x": other, "poor & slow": poor, "lp": ["a", "b"] * 20}


def _scores() -> Mapping[str, np.ndarray[Any, Any]]:
    return {"x_1": table()["human"], "y%": table()["good"], "z": table()["human"] - 3}


def _intervened() -> analysis.Interventions:
    effect = {"metric": "m_1", "factor": "lex", "edited": 0.3, "edited_ci": (0.1, 0.5), "p_adjusted": 0.01}
    fit = {"metric": "m_1", "n_observed": 0, "r2_observed": None, "n_edited": 9, "r2_edited": 0.4, "sd": 1.0}
    content = {"effects": [effect], "fits": [fit], "edits": [], "drops": [], "factors": ["lex"], "correction": "none"}
    return analysis.Interventions(InterveneDocument.model_validate({**content, "confidence": 0.95, "base": "lex"}), ())


def _challenge() -> analysis.ChallengeResult:
    pairs = [
        MinimalPair(
            f"good {i}",
            f"bad {i}",
            "ref",
            None,
            ("negation", "5%_more")[i % 2],
            "major",
            "en",
            f"i{i // 2}",
            f"row {i}",
        )
        for i in range(8)
    ]
    high, low = np.arange(8.0) + 1, np.arange(8.0)
    return analysis.challenge(pairs, {"m_1": (high, low), "n": (low, low + [0, 1] * 4)})


def _side_by_side() -> analysis.SideBySide:
    probes, people = made("ProbeResult"), made("LayerAgreement")
    assert isinstance(probes, analysis.ProbeResult)
    assert isinstance(people, analysis.LayerAgreement)
    return analysis.probe_with_agreement([probes], people)


def _wald() -> WaldTest:
    fitted = made("Ols")
    assert isinstance(fitted, Ols)
    return analysis.wald(fitted, [0])


BUILDERS: dict[str, Callable[[], object]] = {
    "Alignment": lambda: bsx.Scorer(model="minilm").align("a cat", "the cat"),
    "Attribution": lambda: analysis.erasure(lambda kept: kept @ np.array([0.1, 0.4]), 2),
    "AllComparisons": lambda: analysis.compare_all({n: table()[n] for n in NAMES}, table()["human"], analysis.williams),
    "Calibration": lambda: analysis.calibration([[0.1, 0.9], [0.4, 0.2]], [[0, 1], [0, 1]], resamples=20),
    "ChallengeResult": _challenge,
    "CompareResult": lambda: CompareResult(
        analysis.CompareSettings(resamples=40, all_pairs=True),
        40,
        (
            analysis.compare_systems(
                _scores(), metric="m_1", settings=analysis.CompareSettings(resamples=40, all_pairs=True)
            ),
        ),
    ),
    "Clusters": lambda: analysis.significance_clusters({"a_1": 0.5, "b": 0.4}, np.array([[1, 0.01], [0.9, 1]])),
    "DarrTau": lambda: analysis.darr_from_pairs([1.0, 2, 3, 4], [0.0, 1, 4, 2], [1, 2, 3, 4], resamples=20),
    "Dominance": lambda: analysis.dominance(["a_1", "b"], np.array([0, 0.3, 0.2, 0.4])),
    "GroupedEstimate": lambda: analysis.grouped(
        table()["good"].reshape(5, 8), table()["human"].reshape(5, 8), resamples=20
    ),
    "McNemar": lambda: analysis.mcnemar(table()["good"] > 0, table()["50%_x"] > 0),
    "Ols": lambda: analysis.fit_ols(table()["good"], np.stack([table()["50%_x"], table()["poor & slow"]], axis=1)),
    "PooledTest": lambda: analysis.pooled_test(
        "m_1", ["lex"], {n: (table()["human"], table()[n][:, None]) for n in NAMES[:2]}
    ),
    "WaldTest": lambda: _wald(),
    "PrecisionRecall": lambda: analysis.precision_recall([0, 1] * 20, table()["good"], resamples=20),
    "Preference": lambda: analysis.preference(table()["good"], table()["50%_x"], resamples=20),
    "ThresholdAccuracy": lambda: analysis.best_threshold([0, 1] * 20, table()["good"]),
    "TiedAccuracy": lambda: analysis.pairwise_accuracy_with_ties(
        table()["good"].reshape(5, 8), table()["human"].reshape(5, 8)
    ),
    "Comparison": lambda: analysis.williams(table()["good"], table()["50%_x"], table()["human"]),
    "DisentangleResult": lambda: analysis.disentangle(table(), metrics=["good"], factors=["50%_x", "poor & slow"]),
    "EnsembleResult": lambda: analysis.ensemble(table(), NAMES[:2], "human", resamples=20),
    "Estimate": lambda: analysis.pearson(table()["good"], table()["human"]),
    "Explanations": lambda: analysis.Explanations(
        [analysis.ExplainedRow("a b_c", np.array([0.1, 0.9]))], "m_1", {"candidate": "erasure"}, {"candidate": False}
    ),
    "FactorScores": lambda: analysis.compute_factors("lex", ["A plane flies.", "a b"], ["A plane lands.", "a c"])[
        "lex"
    ],
    "Interventions": _intervened,
    "Judgments": lambda: analysis.Judgments(
        tuple(analysis.meta_evaluate(table(), metrics=NAMES[1:], human=human) for human in ("human", "good"))
    ),
    "LayerAgreement": lambda: analysis.layer_agreement(
        *(np.stack([table()["good"], table()["50%_x"]]),) * 3, table()["human"], table()["lp"], resamples=20
    ),
    "LearningCurve": lambda: analysis.learning_curve(
        lambda sample: table()["good"], table()["human"], table()["human"], table()["lp"], sizes=[10, 20], seeds=(1, 2)
    ),
    "MarkAgreement": lambda: analysis.mark_agreement([[0.1, 0.9], [0.4, 0.2]], [[0, 1], [0, 1]], resamples=20),
    "MetaResult": lambda: analysis.meta_evaluate(table(), metrics=NAMES, human="human", group="lp"),
    "MetricComparison": lambda: analysis.compare_systems(
        _scores(), metric="m_1", settings=analysis.CompareSettings(resamples=40)
    ),
    "MetricScores": lambda: bsx.get_metric("chrf").score(["a cat", "a dog"], ["a cat", "the dog"]),
    "ModelSelection": lambda: analysis.expected_model_selection(table()["good"], table()["human"], sample=5),
    "NestedTest": lambda: analysis.nested_test(table(), "good", ["50%_x"], ["poor & slow"]),
    "PairsResult": lambda: analysis.detect_pairs([0, 1] * 20, {name: table()[name] for name in NAMES}, resamples=20),
    "PeopleCurve": lambda: analysis.people_curve(table()["good"], table()["human"], metric="m_1"),
    "ProbeResult": lambda: analysis.probe_layers(
        np.random.default_rng(1).normal(size=(2, 60, 3)).astype(np.float32),
        [0, 1] * 30,
        types=list("abc") * 20,
        seeds=(1,),
        resamples=20,
        task="word_content",
    ),
    "RaterAgreement": lambda: analysis.rater_agreement(
        {
            "human": table()["human"],
            "judge": ["a_1", "b"] * 20,
            "system": ["s"] * 40,
            "segment": [i // 2 for i in range(40)],
        },
        resamples=20,
    ),
    "Robustness": lambda: analysis.robustness(
        ["The cat sat on 3 mats.", "A dog ran home late."] * 3,
        {"m_1": lambda c, r: np.array([len(set(a.split()) & set(b.split())) / 5 for a, b in zip(c, r, strict=True)])},
        ["typos", "negation"],
        resamples=20,
        strengths=[0.3],
        lang="en",
    ),
    "Scores": lambda: bsx.score(["a cat", "a dog"], ["a cat", "the dog"], model="minilm"),
    "SideBySide": lambda: _side_by_side(),
    "TriplesResult": lambda: analysis.prefer_paraphrase(
        {"m_1": (table()["good"], table()["50%_x"]), "n": (table()["good"], table()["poor & slow"])}, resamples=20
    ),
    "CoefficientComparison": lambda: analysis.compare_coefficients(
        table(), "good", "50%_x", ["poor & slow"], resamples=20
    ),
}


@cache
def made(name: str) -> InNotebooks:
    found = BUILDERS[name]()
    assert type(found).__name__ == name
    assert isinstance(found, InNotebooks)
    return found


def public() -> dict[str, type]:
    """Return every class of the public faces."""
    faces = (getattr(face, name) for face in (bsx, analysis) for name in dir(face) if not name.startswith("_"))
    return {kind.__name__: kind for kind in faces if inspect.isclass(kind) and not issubclass(kind, Exception)}


def returned() -> dict[str, type]:
    """Return every class of the product that a function of the public faces returns."""
    found = {}
    for face in (bsx, analysis):
        for name in dir(face):
            function = getattr(face, name)
            if inspect.isfunction(function):
                kind = vars(inspect.getmodule(function)).get(str(function.__annotations__.get("return")))
                if inspect.isclass(kind) and kind.__module__.startswith("bsx."):
                    found[kind.__name__] = kind
    return found


def test_every_public_class_is_a_result_or_known_to_be_none() -> None:
    kinds = public() | returned()
    results = {name for name, kind in kinds.items() if issubclass(kind, InNotebooks | Shown)}
    assert set(kinds) - results - NO_RESULTS == set()
    assert not NO_RESULTS & results
    assert {name for name in results if not issubclass(kinds[name], Shown)} - set(BUILDERS) == set()


@pytest.mark.parametrize("name", BUILDERS)
def test_results_are_at_home_in_notebooks_and_papers(name: str) -> None:
    result = made(name)
    shown = repr(result)
    assert len(shown) < 400
    assert "\n" not in shown
    assert "array(" not in shown
    assert shown.startswith(f"{name}(")
    page = result._repr_html_()
    assert page.count("<table>") == page.count("</table>") >= 1
    assert 'class="bsx-result"' in page
    frame = result.to_pandas()
    assert len(frame) > 0
    assert len(set(frame.columns)) == len(frame.columns)
    latex = result.to_latex(data="wmt_17 & co", signatures={"m_1": "a|b_c"})
    check_latex(latex, data=r"wmt\_17 \& co")
    assert r"m\_1: a|\allowbreak b\_c" in latex


@pytest.mark.parametrize("name", BUILDERS)
def test_results_draw_themselves(name: str) -> None:
    figure = made(name).plot()
    assert figure.axes
    assert any(axes.lines or axes.patches or axes.images for axes in figure.axes)


def check_latex(latex: str, data: str) -> None:
    """Hold LaTeX to what a compiler would ask: balanced, escaped, rows of equal length, a caption and a label."""
    opened: list[str] = []
    for begin, end in re.findall(r"\\begin\{(\w+\*?)\}|\\end\{(\w+\*?)\}", latex):
        if begin:
            opened.append(begin)
        else:
            assert opened.pop() == end
    assert not opened
    plain = re.sub(r"\\[&%$#_{}]", "", latex)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert "%" not in plain
    assert not re.search(r"_", re.sub(r"\$[^$]*\$", "", re.sub(r"\\label\{[^}]*\}", "", plain)))
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", plain, re.DOTALL):
        for line in body.splitlines():
            if line.endswith(r"\\"):
                assert line.count("&") == len(columns) - 1
        assert body.index(r"\toprule") < body.index(r"\midrule") < body.index(r"\bottomrule")
    for part in latex.split("\n\n"):
        assert rf"\caption{{{data}: " in part
        assert r"\label{tab:" in part
    labels = re.findall(r"\\label\{([^}]*)\}", latex)
    assert len(labels) == len(set(labels))


def test_a_picture_is_written_where_it_should_be(tmp_path: Any) -> None:
    figure = made("MetaResult").plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert dataclasses.is_dataclass(made("MetaResult"))


def test_results_say_what_is_missing_to_draw_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(bsx.MissingExtraError, match="drawing needs the package matplotlib"):
        made("Estimate").plot()
