"""Every result of the public faces: short by name, a table in notebooks and papers, a DataFrame, and pictures."""

from __future__ import annotations

import csv
import dataclasses
import inspect
import io
import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

import bsx
import bsx.analysis as analysis
from bsx.analysis.adversarial.triples import BuiltTriples
from bsx.analysis.datasets.challenge import MinimalPair
from bsx.analysis.disentangle.fit import disentangle
from bsx.analysis.ensemble.combine import combine
from bsx.analysis.factors.base import FactorSummary, ScoredFactors
from bsx.analysis.meta.protocol import ProtocolScores
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.plan.run import plan_meta
from bsx.analysis.present import forms
from bsx.analysis.present.cells import number
from bsx.analysis.present.cells import table as plain
from bsx.analysis.present.cells import text as word
from bsx.analysis.present.forms import parts_of, section_of
from bsx.analysis.present.parts import Answer, Chart, TablePart
from bsx.analysis.present.pictures import picture
from bsx.analysis.present.text import aligned, text
from bsx.analysis.report.documents import load_results, parse_document
from bsx.analysis.train.result import TrainedMetric
from bsx.bertscore.baseline import BaselineResult
from bsx.catalog.protocols import ProtocolTaskEntry
from bsx.support.result import Result, Shown
from tests.helpers import report_samples as samples

DRAWN: Any = np.random.default_rng(3).normal(size=(3, 40))
HUMAN, OTHER, POOR = DRAWN
GOOD = HUMAN + 0.3 * OTHER
NAMES = ["good", "50%_x", "poor & slow"]
SYSTEMS = {"x_1": HUMAN, "y%": GOOD, "z": HUMAN - 3}
VECTORS = np.random.default_rng(1).normal(size=(2, 60, 3)).astype(np.float32)
TABLE: Any = {"human": HUMAN, **dict(zip(NAMES, (GOOD, OTHER, POOR), strict=True)), "lp": ["a", "b"] * 20}
# What is read or made, and not measured: texts, data, models, entries, settings.
NO_MEASUREMENTS = (  # noqa: SIM905 - prose reads better
    "BaselineRun BatchScorer Catalog ChallengeSet ChallengeSettings Check Combined ComparePlan CompareSettings "
    "CorpusResult CorpusScores DisentangleSettings Document EditedText EncoderMetric Encoders EnsembleSettings Factor "
    "FactorConfig FrozenEncoder Idf Inflections Instances InterveneSettings JudgedTable Mapping MemoryCorpus MetaPlan "
    "MetaSettings Metric MetricConfig MetricEntry MinimalPair ModelRecord PairMetric PairScores PairSettings Pairs "
    "Parse PermutedNouns Perturbation Perturbed ProbingTask Resources RobustnessSettings RunConfig ScoredFiles "
    "ScoredLanguages Scorer ScorerConfig SentencePairs Signature StanzaParser TableColumns TestData TestSet "
    "TrainConfig Training Triple TripleSettings TripleTable VectorStore Weights"
).split()
NO_RESULTS = {
    *NO_MEASUREMENTS,
    *("ModelChoice", "Detection"),  # what was decided; the model or text is the answer
    "Report",  # pages, which are HTML and Markdown already
    *("MetricComparison", "Transferred"),  # a part of a result that has all of it
    "Factored",  # a summary of a table that was written
}


@cache
def made(name: str) -> Any:
    found = BUILDERS[name]()
    assert type(found).__name__ == name
    assert isinstance(found, Shown)
    return found


def _interventions() -> analysis.Interventions:
    texts = ["A large cat often sat here.", "The good dog rarely ran home.", "An early train is usually late."] * 4

    def shared(candidates: Sequence[str], references: Sequence[str]) -> np.ndarray[Any, Any]:
        pairs = zip(candidates, references, strict=True)
        return np.array([len({*a.split()} & {*b.split()}) / len({*a.split()} | {*b.split()}) for a, b in pairs])

    references = [f"{text} {place}" for place, text in enumerate(texts)]
    candidates = [text.replace("sat", "lay").replace("home", "away") for text in references]
    how: Any = {"edits": ["synonyms", "opposites"], "factors": {"lex": shared}, "candidates": candidates, "lang": "en"}
    return analysis.intervene_texts(references, {"m_1": shared}, **how)


def _protocol() -> analysis.ProtocolResult:
    human = HUMAN.reshape(4, 10)
    metrics = {name: TABLE[name].reshape(4, 10) for name in NAMES[:2]}
    of_systems = {name: values.mean(axis=1) for name, values in metrics.items()}
    pairs = [ProtocolScores("de-en", ("a", "b", "c", "d"), human.mean(axis=1), human, of_systems, metrics)]
    columns = [
        ProtocolTaskEntry(level="sys", statistic="pairwise_accuracy", pooled=True),
        ProtocolTaskEntry(level="seg", statistic="acc_eq"),
    ]
    tasks, ranked = analysis.rank_by_protocol(columns, pairs, None, resamples=20)
    return analysis.ProtocolResult(protocol="wmt_1", title="A title", source="a source", tasks=tasks, metrics=ranked)


ELSEWHERE = {"EvaluationResult"}
"""Results that test_answer builds."""
FACTORS = (FactorSummary("lex", 9, 0.5, 0.1, None, {"case": True}), FactorSummary("syn", 0, None, None, "x", {}))
BUILDERS: dict[str, Callable[[], object]] = {
    "Alignment": lambda: bsx.Scorer(model="minilm").align("a cat", "the cat"),
    "BaselineResult": lambda: BaselineResult(
        *("en", "m_1", None, 9.5, (0.1, 0.2), (0.1, 0.3), (0.1, 0.4), "a source", "a corpus", 20, 1, (0.01, 0.02))
    ),
    "BuiltTriples": lambda: BuiltTriples(9, 12, 0.3, 0.9, (1, 4, 5), ()),
    "ScoredFactors": lambda: ScoredFactors(9, "en", None, FACTORS),
    "TrainedMetric": lambda: TrainedMetric(
        *("folder", "esim", {"model": "m_1"}, {"instances": 20}, {"instances": 9}, 1.0, 0.0, -1.0, 0.51),
        ({"seed": 1, "log": [{"epoch": k, "valid": value} for k, value in enumerate((None, 0.5, 0.4), start=1)]},),
        None,
    ),
    "ChallengeResult": lambda: parse_document(samples.spoiler(" 5%_x")(samples.challenge()), ""),
    "CompareResult": lambda: analysis.compare_systems(SYSTEMS, metric="m_1", resamples=40, all_pairs=True),
    "Clusters": lambda: analysis.significance_clusters({"a_1": 0.5, "b": 0.4}, np.array([[1, 0.01], [0.9, 1]])),
    "DarrTau": lambda: analysis.darr_from_pairs([1.0, 2, 3, 4], [0.0, 1, 4, 2], [1, 2, 3, 4], resamples=20),
    "GroupedEstimate": lambda: analysis.grouped(GOOD.reshape(5, 8), HUMAN.reshape(5, 8), resamples=20),
    "McNemar": lambda: analysis.mcnemar(GOOD > 0, OTHER > 0),
    "Ols": lambda: analysis.fit_ols(GOOD, np.stack([OTHER, POOR], axis=1)),
    "PooledTest": lambda: analysis.pooled_test("m_1", ["lex"], {n: (HUMAN, TABLE[n][:, None]) for n in NAMES[:2]}),
    "WaldTest": lambda: analysis.wald(made("Ols"), [0]),
    "PrecisionRecall": lambda: analysis.precision_recall([0, 1] * 20, GOOD, resamples=20),
    "Preference": lambda: analysis.preference(GOOD, OTHER, resamples=20),
    "ThresholdAccuracy": lambda: analysis.best_threshold([0, 1] * 20, GOOD),
    "TiedAccuracy": lambda: analysis.pairwise_accuracy_with_ties(GOOD.reshape(5, 8), HUMAN.reshape(5, 8), epsilon=0),
    "Comparison": lambda: analysis.williams(GOOD, OTHER, HUMAN),
    "DisentangleResult": lambda: disentangle(TABLE, ["good"], ["50%_x", "poor & slow"]),
    "Estimate": lambda: analysis.pearson(GOOD, HUMAN),
    "EnsembleResult": lambda: combine(TABLE, NAMES, "human", group="lp", resamples=20).result,
    "FactorScores": lambda: analysis.compute_factors("lex", ["a cat", "a dog"], ["a cat", "the dog"])["lex"],
    "Interventions": _interventions,
    "Judgments": lambda: analysis.Judgments(
        tuple(meta_evaluate(TABLE, NAMES[1:], human) for human in ("human", "good"))
    ),
    "LayerAgreement": lambda: analysis.layer_agreement(
        *(np.stack([GOOD, OTHER]),) * 3, HUMAN, TABLE["lp"], resamples=20
    ),
    "LearningCurve": lambda: analysis.learning_curve(
        lambda sample: GOOD, HUMAN, HUMAN, TABLE["lp"], sizes=[10, 20], seeds=(1, 2)
    ),
    "MetaResult": lambda: meta_evaluate(TABLE, NAMES, "human", group="lp"),
    "MetricScores": lambda: bsx.get_metric("chrf").score(["a cat", "a dog"], ["a cat", "the dog"]),
    "ModelSelection": lambda: analysis.expected_model_selection(GOOD, HUMAN, sample=5),
    "NestedTest": lambda: analysis.nested_test(TABLE, "good", ["50%_x"], ["poor & slow"]),
    "PairsResult": lambda: analysis.detect_pairs([0, 1] * 20, {name: TABLE[name] for name in NAMES}, resamples=20),
    "PlanResult": lambda: plan_meta(
        {**TABLE, "lp": ["a"] * 40}, effect=0.2, columns=["good", "50%_x"], human="human", resamples=20
    ),
    "ProtocolResult": _protocol,
    "ProbeResult": lambda: analysis.probe_layers(
        VECTORS, [0, 1] * 30, types=list("abc") * 20, seeds=(1,), resamples=20, task="word_content"
    ),
    "RaterAgreement": lambda: analysis.rater_agreement(
        {"human": HUMAN, "judge": ["a_1", "b"] * 20, "system": ["s"] * 40, "segment": np.arange(40) // 2},
        resamples=20,
    ),
    "Robustness": lambda: parse_document(samples.spoiler(" 5%_x")(samples.perturb()), ""),
    "Scores": lambda: bsx.score(["a cat", "a dog"], ["a cat", "the dog"], model="minilm"),
    "ProbedModel": lambda: analysis.ProbedModel("m_1", "logistic", (made("ProbeResult"),), made("LayerAgreement")),
    "TriplesResult": lambda: analysis.prefer_paraphrase({"m_1": (GOOD, OTHER), "n": (GOOD, POOR)}, resamples=20),
    "CoefficientComparison": lambda: analysis.compare_coefficients(
        TABLE, "good", "50%_x", ["poor & slow"], resamples=20
    ),
}


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
    results = {name for name, kind in kinds.items() if issubclass(kind, Shown)}
    assert set(kinds) - results - NO_RESULTS == set()
    assert not NO_RESULTS & results
    assert results - set(BUILDERS) - ELSEWHERE - {"Result"} == set()


def test_every_kind_is_built() -> None:
    load_results()
    names = {kind.__name__ for kind in Result.kinds.values()}
    assert names <= set(BUILDERS) | ELSEWHERE
    assert [name for name in names - ELSEWHERE if section_of(made(name)) is None] == []  # a report would leave it out


def shown(base: type = Shown) -> list[str]:
    """Return the builders of the classes that are `base` or come from it."""
    public()  # imports what they are defined in
    below, found = [base], set()
    for kind in below:
        found.add(kind.__name__)
        below += kind.__subclasses__()
    return [name for name in BUILDERS if name in found]


@pytest.mark.parametrize("name", shown())
def test_results_are_shown(name: str) -> None:
    result = made(name)
    short = repr(result)
    assert len(short) < 400
    assert "\n" not in short
    assert "array(" not in short
    assert short.startswith(f"{name}(")
    assert str(result) == result.to_text()
    assert str(result).strip()
    assert "--full." not in str(result)
    assert result.summary() == result.to_text(full=True)
    assert len(result.estimates) == len(result.to_frame())
    assert result.to_markdown().strip()
    page = result._repr_html_()
    assert page.count("<table>") == page.count("</table>") >= 1
    assert 'class="bsx-result"' in page
    frame = result.to_frame()
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert len(frame) == len(rows) > 0
    assert list(frame.columns) == list(rows[0])
    for column in frame.select_dtypes("float"):
        assert frame[column].tolist() == pytest.approx([float(row[column] or "nan") for row in rows], nan_ok=True)
    check_latex(result.to_latex(data="wmt_17 & co"), data=r"wmt\_17 \& co")


@pytest.mark.parametrize("name", shown())
def test_results_draw_their_charts(name: str) -> None:
    pytest.importorskip("vl_convert")
    charts = [part for part in parts_of(made(name)) if isinstance(part, Chart)]
    for chart in charts:
        assert chart.alt
        drawn = made(name).plot(chart=chart.title)._repr_svg_()
        assert drawn.startswith("<svg")
        assert re.search(r'class="mark-(symbol|line|rule|rect)', drawn)
    if not charts:
        with pytest.raises(bsx.UnknownNameError):
            made(name).plot()


@pytest.mark.parametrize("name", shown(Result))
def test_results_answer_first_and_are_read_back(name: str) -> None:
    result = made(name)
    first = parts_of(result)[0]
    assert isinstance(first, Answer)
    assert first.text
    assert not first.full
    held = json.loads(json.dumps(result.to_dict()))
    assert type(result).from_dict(held).to_dict() == result.to_dict()
    with pytest.raises(bsx.InputError, match="nonsense: is no key"):
        type(result).from_dict({**held, "nonsense": 1})


@pytest.mark.parametrize("name", shown())
def test_short_forms_fit_a_terminal(name: str) -> None:
    every = parts_of(made(name))
    tables = [part for part in every if isinstance(part, TablePart) and not part.full]
    lines = text(every, full=False).splitlines()
    assert len(lines) <= 30
    for table_part in tables:
        assert max(map(len, aligned(table_part).splitlines())) <= 100
    if isinstance(every[0], Answer):
        assert lines[0] == every[0].text.splitlines()[0]
        assert every[0].text[-1] in ".?!"


def test_wide_tables_fold_texts_or_go_on_below() -> None:
    long = "so many words that " * 6
    folded = aligned(
        plain("", ["name", "who", "why", "p"], [[word("a"), word("b" * 40), word(long), number(0.5)]], names=3)
    )
    assert max(map(len, folded.splitlines())) <= 100
    assert " ".join(folded.split()).count("so many") == 6
    heads = ["name", *(f"column {i}" for i in range(20))]
    wide = plain("", heads, [[word("a"), *(number(i) for i in range(20))]])
    pieces = aligned(wide).split("\n\n")
    assert len(pieces) > 1
    assert all(piece.startswith("name") and max(map(len, piece.splitlines())) <= 100 for piece in pieces)
    assert aligned(wide).count("column") == 20
    assert "\n\n" not in aligned(plain("", heads[:3], [[word("a"), number(0), number(1)]]))
    assert " ".join(" ".join(piece.splitlines()[1].split()[1:]) for piece in pieces) == " ".join(map(str, range(20)))


def check_latex(latex: str, data: str) -> None:
    """Hold LaTeX to what a compiler would ask: balanced, escaped, rows of equal length, a caption and a label."""
    opened: list[str] = []
    for begin, end in re.findall(r"\\begin\{(\w+\*?)\}|\\end\{(\w+\*?)\}", latex):
        opened += [begin] if begin else []
        assert begin or opened.pop() == end
    assert not opened
    plain = re.sub(r"\\[&%$#_{}]", "", latex)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    assert "%" not in plain
    assert not re.search(r"_", re.sub(r"\$[^$]*\$", "", re.sub(r"\\label\{[^}]*\}", "", plain)))
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", plain, re.DOTALL):
        counts = {line.count("&") for line in body.splitlines() if line.endswith(r"\\")}
        assert counts == {len(columns) - 1}
        assert body.index(r"\toprule") < body.index(r"\midrule") < body.index(r"\bottomrule")
    for part in latex.split("\n\n"):
        assert rf"\caption{{{data}: " in part
        assert r"\label{tab:" in part
    labels = re.findall(r"\\label\{([^}]*)\}", latex)
    assert len(labels) == len(set(labels))


def test_a_picture_is_written_where_it_should_be(tmp_path: Any) -> None:
    pytest.importorskip("vl_convert")
    scores = made("MetricScores")
    for ending, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        scores.plot(tmp_path / f"a{ending}")
        assert (tmp_path / f"a{ending}").read_bytes().startswith(start)
    assert dataclasses.is_dataclass(scores)


def test_a_picture_is_called_as_its_chart_is_however_many_panels_that_has() -> None:
    spec: dict[str, object] = {"width": "container"}
    alone, beside = (picture(Chart("Spread", "a", panels)) for panels in ((("", spec),), (("x", spec), ("y", spec))))
    assert alone.spec["title"] == {"text": "Spread", "anchor": "start"}
    assert (beside.spec["title"], repr(beside)) == ({"text": "Spread"}, "Picture('Spread')")
    assert [panel["title"] for panel in cast("Any", beside.spec["concat"])] == ["x", "y"]


def test_results_say_what_is_missing_to_draw_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(bsx.MissingExtraError, match="drawing charts needs the package vl_convert"):
        made("MetricScores").plot().svg()


def test_a_regression_has_its_coefficients_by_metric_and_factor() -> None:
    result = made("DisentangleResult")
    assert result.params == {fit.metric: fit.coef for fit in result.results}
    first = result.estimates[0]
    assert (first["metric"], first["factor"]) == (result.results[0].metric, result.factors[0])
    assert "more tables: summary()." in str(result)


def test_an_answer_on_a_challenge_set_names_no_anchor_as_a_weakness() -> None:
    kinds = [("reference", "base")] * 40 + [("negation", "major")] * 40
    pairs = [
        MinimalPair(f"good {i}", f"bad {i}", "ref", None, name, severity, "en", f"i{i}", f"row {i}")
        for i, (name, severity) in enumerate(kinds)
    ]
    result = analysis.challenge(pairs, {"m": (np.repeat([0.0, 1.0], 40), np.full(80, 0.5))})
    assert result.metrics["m"].phenomena["reference"].rate == 0
    first = parts_of(result)[0]
    assert isinstance(first, Answer)
    assert "reference" not in first.text


def test_what_shows_a_result_stands_beside_it_or_in_the_presenting_room() -> None:
    load_results()
    for registered in (forms._PARTS, forms._RECORDS):
        for kind, function in registered.items():
            homes = {kind.__module__.rpartition(".")[0], "bsx.analysis.present"}
            assert function.__module__.rpartition(".")[0] in homes, kind
