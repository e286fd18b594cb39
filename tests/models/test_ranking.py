"""Model selection: the papers' choice, evidence, cost, constraints; overlays and who wins."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import bsx
from bsx.catalog.catalog import Catalog, load_registry, overlay_folders, shipped, shipped_folder
from bsx.catalog.entries import Evidence, Judged
from bsx.catalog.languages import knows, unseen
from bsx.encode.model import choose
from bsx.errors import InputError, RegistryError, UnknownNameError
from bsx.models.evidence import Pooled, by_evidence, pooled, rows_of
from bsx.models.files import config_digest, is_here
from bsx.models.ranking import PERMISSIVE, SelectSettings, cost, parse_count, rank, select_model, unranked
from tests.conftest import REPOSITORY, Cli, Model

PAPERS = {
    "en": "roberta-large",
    "zh": "bert-base-chinese",
    "tr": "bert-base-turkish-cased",
    "en-sci": "scibert_scivocab_uncased",
    **dict.fromkeys(
        ["de", "cs", "fi", "fr", "es", "ru", "lv", "et", "ja", "ko", "ar", "hi", "sw", "he", "vi"],
        "bert-base-multilingual-cased",
    ),
}

# The models that need no hub: they are close in English.
OFFLINE = ("minilm", "me5-small-q4")


@pytest.mark.parametrize(("code", "name"), PAPERS.items())
def test_the_papers_choice_comes_first_where_it_is_asked_for(code: str, name: str) -> None:
    choice = select_model(code, prefer="paper", registry=shipped())
    assert choice.name == choice.recommended == choice.language.model == name
    assert "the papers' choice" in choice.advice
    assert choice.language.papers is None


LANGUAGES = ("ar", "cs", "de", "en", "es", "et", "fi", "fr", "ha", "hi", "ja", "ko", "lv", "pt", "ru", "sw", "ta", "tr")
CHRF_FOR = ("ar", "ja", "ko", "pt")


@pytest.mark.parametrize("code", [*LANGUAGES, "zh", "en-sci", "en-de", "zh-en", "gu"])
def test_the_first_row_is_advised_and_what_was_measured_stands_before_what_was_not(code: str) -> None:
    choice = select_model(code, registry=shipped())
    rows = [row.advantage for row in choice.ranking]
    order = [(one.sets == 0, not one.measured, -round(one.difference, 6)) for one in rows]
    assert order == sorted(order)
    assert f"{choice.name}, which is " in choice.advice
    nothing = rows[0].sets == 0
    assert choice.recommended == ("chrf" if nothing else choice.name)
    assert nothing == (code in (*CHRF_FOR, "gu"))
    assert ("use chrF: of BERTScore nothing was measured" in choice.advice) == nothing
    for one in rows:
        assert one.interval[0] < one.difference < one.interval[1]
        assert len(one.sources) == one.sets


def test_one_answer_at_all_doors(cli: Cli) -> None:
    for code in ("sw", "de", "is", "en"):  # in English, models whose size nobody states are listed too
        choice = select_model(code, registry=shipped())
        chosen, here = choose(None, code, shipped()), [row for row in choice.ranking if is_here(row.entry.source)]
        assert chosen.name == (here[0].entry.name if here else choice.name)
        assert chosen.note == (None if chosen.name == choice.name else f"{choice.advice} {chosen.name} is used.")
        result = json.loads(cli("models", "--lang", code, "--format", "json").out)
        found = [result[name] for name in ("selected", "recommended", "advice")]
        assert found == [choice.name, choice.recommended, choice.advice]
        shown = cli("models", "--lang", code).out.splitlines()
        assert shown[0] == choice.advice
        assert shown[3].split()[0] == ("chrF" if choice.recommended == "chrf" else choice.name)


def test_what_was_measured_besides_bertscore_is_named() -> None:
    """Swahili went to a model that was never measured in it; in Gujarati, "nothing was measured"."""
    assert select_model("sw", registry=shipped()).name == "me5-small-q4"
    assert "sentence-qe" in select_model("gu", registry=shipped()).advice
    assert "with other models only (me5-small-q4)" in select_model("yo", registry=shipped()).advice
    here = select_model("de-en", available=True, registry=shipped())
    assert "3 from German, others from " in here.reason
    assert "no source language is named" in select_model("de-en", registry=shipped()).reason


GERMAN = {"language": "de", "direction": "en-de", "statistic": "Pearson r", "source": "I"}


def figures(*values: float, beside: float | None = None, **changes: object) -> list[Evidence]:
    """Figures of so many sets, with chrF's beside them."""
    more = {} if beside is None else {"chrf": beside}
    return [
        Evidence.model_validate({**GERMAN, "dataset": f"set {place}", "n": 400, "value": value, **more, **changes})
        for place, value in enumerate(values)
    ]


def pool_of(**arms: list[Evidence]) -> Pooled:
    return Pooled(arms, shipped().languages, models=[name for name in arms if name != "chrf"])


def test_sets_are_pooled_and_more_of_them_shrink_less() -> None:
    german = shipped().languages["de"]
    one, many = (pool_of(a=figures(*[0.5] * count, beside=0.3)).advantage("a", german) for count in (1, 8))
    assert 0.1 < one.difference < many.difference < 0.2
    assert many.interval[1] - many.interval[0] < one.interval[1] - one.interval[0]
    assert (one.sets, many.sets, many.sources) == (1, 8, ("en",) * 8)
    # The newest set alone said that it is worse than chrF.
    mixed = [*figures(0.5, 0.5, 0.5, beside=0.4, year=2016), *figures(0.35, beside=0.4, year=2024)]
    assert pool_of(a=mixed).advantage("a", german).difference > 0


def test_only_differences_on_the_same_rows_count() -> None:
    german = shipped().languages["de"]
    easy, hard = figures(0.9, 0.9, beside=0.88), figures(0.3, 0.3, beside=0.1, year=2020)
    found = pool_of(a=easy, b=hard)
    assert found.advantage("b", german).difference > found.advantage("a", german).difference
    # Without chrF's figure, models are compared with each other.
    chained = pool_of(a=figures(0.5, 0.5, beside=0.4), b=figures(0.6, 0.6))
    assert chained.advantage("b", german).difference > chained.advantage("a", german).difference > 0
    assert pool_of(a=figures(0.5)).advantage("chrf", german).difference == 0


def test_figures_are_of_the_same_rows_whatever_their_statistic_is_of_and_with() -> None:
    spelled = ("Pearson r", "Pearson r of F1", "Kendall tau", "Kendall tau with ties", "Kendall tau of F1 with ties")
    r, r_of_f1, tau, *others = (rows_of(figures(0.5, statistic=statistic)[0]) for statistic in spelled)
    assert r == r_of_f1 != tau
    assert others == [tau, tau]


def test_metrics_without_references_may_lie_far_from_chrf() -> None:
    registry = shipped()
    arms = {name: metric.evidence for name, metric in registry.metrics.items()}
    arms |= {name: model.evidence for name, model in registry.models.items()}
    free = [name for name, metric in registry.metrics.items() if "reference" not in metric.needs]
    expected = Pooled(arms, registry.languages, models=registry.models, wide=free)
    for metric in ("sentence-qe", "xmoverscore", "bleu"):
        german = (found.advantage(metric, registry.languages["de"]) for found in (pooled(registry), expected))
        assert len(set(german)) == 1, metric


def test_two_models_are_told_apart_by_sets_that_have_both() -> None:
    german = shipped().languages["de"]
    clear = pool_of(a=figures(*[0.6] * 6), b=figures(*[0.4] * 6))  # without chrF's figure
    difference, (low, high) = clear.difference("a", "b", german)
    first, second = (clear.advantage(name, german) for name in "ab")
    assert difference == pytest.approx(first.difference - second.difference)
    other, ends = clear.difference("b", "a", german)
    assert (other, *ends) == pytest.approx((-difference, -high, -low))
    assert 0 < low < difference < 0.2 < high  # shrunk towards each other
    assert high - low < first.interval[1] - first.interval[0]  # a mean that both have does not count
    alike = pool_of(a=figures(0.5, beside=0.4), b=figures(0.49, beside=0.4, year=2019)).difference("a", "b", german)
    assert alike[1][0] < 0 < alike[1][1]
    for code, told in (("de", "the two are not told apart"), ("en", "it is worse")):
        choice = select_model(code, registry=shipped())
        there = select_model(code, available=True, registry=shipped())
        assert f"{there.name} ({there.reason}); {told}." in choice.advice


def test_related_languages_say_more_than_others() -> None:
    measured = figures(0.6, 0.6, 0.6, 0.6, beside=0.3)
    found = pool_of(a=measured, b=figures(0.5, beside=0.4, year=2019))
    near, far = (found.advantage("a", shipped().languages[code]) for code in ("nl", "ja"))
    assert near.sets == far.sets == 0
    assert near.measured
    assert near.difference > far.difference > 0
    assert near.interval[1] - near.interval[0] < far.interval[1] - far.interval[0]
    unknown = found.advantage("c", shipped().languages["de"])
    assert (unknown.measured, unknown.difference) == (False, 0)


def test_how_similar_sentences_are_speaks_for_its_own_language_only() -> None:
    minilm = shipped().models["minilm"]
    alike = minilm.model_copy(update={"evidence": figures(0.8, kind="similarity", direction=None)})
    for code, evidence in (("de", alike.evidence[0]), ("nl", None)):
        (row,) = by_evidence([(alike, "minilm")], shipped().languages[code], pool_of(minilm=[]))
        assert row.evidence == evidence


@pytest.mark.parametrize(
    ("changes", "task", "counts"),
    [
        ({"level": "system"}, "human-translation", False),
        ({"n": 9}, "human-translation", False),
        ({"kind": "similarity"}, "human-translation", False),
        ({"kind": "similarity"}, "similarity", True),
        ({"kind": "human-summary"}, "human-translation", True),
        ({}, "similarity", False),
    ],
)
def test_what_counts(changes: dict[str, object], task: Judged, counts: bool) -> None:
    found = Pooled({"a": figures(0.5, beside=0.3, **changes)}, shipped().languages, task=task)
    assert found.advantage("a", shipped().languages["de"]).measured == counts


def test_chrf_is_advised_where_the_best_model_is_not_better(overlay: Path) -> None:
    for name, entry in shipped().models.items():
        if "af" in entry.languages:
            fields = yaml.safe_load((shipped_folder() / "models" / f"{name}.yaml").read_text(encoding="utf-8"))
            poor: dict[str, Any] = {**GERMAN, "dataset": "A", "language": "af", "direction": "en-af"}
            poor |= {"n": 9000, "value": 0.0, "chrf": 0.9}
            write_minilm(overlay, **fields | {"evidence": [poor, {**poor, "dataset": "B"}]})
    choice = select_model("af", registry=overlay)
    assert choice.recommended == "chrf"
    assert "use chrF. The best of BERTScore's models is not better" in choice.advice
    assert choice.ranking[0].advantage.sets == 2


def test_a_language_without_a_default_says_what_to_do(cli: Cli) -> None:
    assert shipped().languages["gn"].model is None
    with pytest.raises(InputError, match=r"Guarani: .* chrF, or name model and layer \(mmBERT-base"):
        select_model("gn", registry=shipped())
    assert cli("models", "--lang", "gn").status == 2


def test_the_papers_choice_gives_way_where_it_was_not_trained_on_the_language() -> None:
    amharic = select_model("am", prefer="paper", registry=shipped())
    assert amharic.name == "mdeberta-v3-base"
    papers = "the papers' choice, bert-base-multilingual-cased, was not trained on Amharic; mdeberta-v3-base was"
    assert amharic.notes[0] == papers
    catalog = shipped()
    for language in catalog.languages.values():
        if language.model is None:
            assert not any(knows(e, language) for e in catalog.models.values() if e.layer != "unvalidated")
            continue
        default = catalog.models[language.model]
        assert {language.code, language.code.partition("-")[0]} & set(default.languages), language.code
        assert not unseen(default, language)
        assert language.papers is None or unseen(catalog.models[language.papers], language)


def test_nobody_knows_every_language(overlay: Path) -> None:
    catalog = shipped()
    for name, missing in {"mbart-large-cc25": "sw", "distilbert-base-multilingual-cased": "am", "minilm": "de"}.items():
        language = catalog.languages[missing]
        assert unseen(catalog.models[name], language)
        assert name not in {row.entry.name for row in rank(language, catalog).ranking}
    write_minilm(overlay, languages="multilingual")  # without a list there is no claim, and nothing to contradict
    entry, german = load_registry(overlay).models["minilm"], catalog.languages["de"]
    assert not knows(entry, german)
    assert not unseen(entry, german)


def test_a_claim_needs_a_source(overlay: Path, cli: Cli) -> None:
    write_minilm(overlay, languages=["en", "de"])
    assert "minilm.yaml: languages_source: who says" in cli("registry", "validate", overlay).err
    write_minilm(overlay, languages=["en", "de"], languages_source="its authors")
    assert "all valid" in cli("registry", "validate", overlay).out
    figure = {"dataset": "mine", "language": "qqq", "statistic": "Pearson r of F1", "value": 0.5, "source": "I"}
    write_minilm(overlay, evidence=[figure])
    assert "evidence.0.language: there is no language 'qqq'" in cli("registry", "validate", overlay).err
    for wrong in ({"direction": "en-de"}, {"value": 1.5}, {"level": "word"}, {"language": "German"}):
        write_minilm(overlay, evidence=[figure | wrong])
        assert "minilm.yaml: evidence.0" in cli("registry", "validate", overlay).err


def test_speed_ranks_by_cost() -> None:
    choice = select_model("en", prefer="speed", registry=shipped())
    costs = [
        (max(r.entry.layer, 1) if isinstance(r.entry.layer, int) else 0) * r.entry.dimensions**2 for r in choice.ranking
    ]
    assert costs == sorted(costs)
    assert "estimated" in choice.notes[-1]


def test_without_a_language_constraints_narrow_too(overlay: Path) -> None:
    everything = unranked(shipped(), SelectSettings())
    assert everything == list(shipped().models.values())
    small = unranked(shipped(), SelectSettings(max_parameters="30M", licence="permissive"), by_cost=True)
    assert 0 < len(small) < len(everything)
    assert {entry.name for entry in small} == {
        entry.name for entry in everything if (entry.parameters or 1e12) <= 3e7 and entry.licence in PERMISSIVE
    }
    assert [cost(entry) for entry in small] == sorted(cost(entry) for entry in small)
    with pytest.raises(InputError, match="no model is left: .*loosen max_parameters 1"):
        unranked(shipped(), SelectSettings(max_parameters="1"))
    assert bsx.select_model("de", registry=overlay).name == bsx.select_model("de").name
    assert bsx.select_model("de", registry=str(overlay)).name == bsx.select_model("de").name


def test_constraints_narrow_and_explain() -> None:
    small = select_model("en", max_parameters="70M", prefer="paper", registry=shipped())
    assert all(r.entry.parameters is not None and r.entry.parameters <= 70e6 for r in small.ranking)
    assert "roberta-large, is left out (max_parameters 70M)" in small.notes[0]
    free = select_model("de", licence="permissive", registry=shipped())
    assert all(r.entry.licence in ("MIT", "Apache-2.0", "BSD-3-Clause") for r in free.ranking)
    fits = select_model("en", max_memory="200MB", registry=shipped())
    assert all(r.entry.parameters is not None and r.entry.parameters * 4 <= 200 * 2**20 for r in fits.ranking)
    here = select_model("en", available=True, registry=shipped())
    assert here.name in OFFLINE
    with pytest.raises(InputError, match=r"no model for German is left: max_parameters 1K excludes \d+; loosen max"):
        select_model("de", max_parameters="1K", registry=shipped())
    with pytest.raises(InputError, match=r"licence permissive excludes \d+, max_memory 1MB excludes \d+; loosen max_m"):
        select_model("de", licence="permissive", max_memory="1MB", registry=shipped())


def test_wrong_requests_are_named() -> None:
    for text in ("lots", "-3M", "0"):
        with pytest.raises(InputError, match="number of parameters"):
            parse_count(text)
    with pytest.raises(InputError, match="no setting 'size'"):
        select_model("en", size=3)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="prefer: must be 'paper', 'quality' or 'speed'"):
        select_model("en", prefer="best")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError):
        select_model("klingon")


def test_unvalidated_models_are_never_chosen() -> None:
    catalog = shipped()
    unvalidated = [entry.name for entry in catalog.models.values() if entry.layer == "unvalidated"]
    assert "bge-m3" in unvalidated
    for language in catalog.languages.values():
        assert language.model is None or rank(language, catalog).entry.layer != "unvalidated"
    names = {r.entry.name for r in select_model("en", registry=catalog).ranking}
    assert not names & set(unvalidated)


def test_listing_as_json(cli: Cli) -> None:
    result, pair = (json.loads(cli("models", "--lang", of, "--format", "json").out) for of in ("de_AT", "en-de"))
    assert result["language"] == "de"
    assert result["selected"] == result["models"][0]["name"] == "xlm-mlm-100-1280"
    keys = "name hub_id layer layers parameters licence evidence baseline available source".split()  # noqa: SIM905
    assert all(set(row) >= set(keys) for row in result["models"])
    assert result["models"][0]["baseline"] is True
    assert (pair["language"], pair["pair"]) == ("de", "en-de")  # by its target
    assert {"difference", "interval", "sets", "sources"} <= set(pair["models"][0]["advantage"])
    assert any(f"English: use {name}" in cli("models", "-l", "en", "--available").out for name in OFFLINE)
    assert cli("models", "-l", "ht", "--available").status == 2


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    (tmp_path / "mine" / "models").mkdir(parents=True)
    return tmp_path / "mine"


def write_minilm(folder: Path, **changes: object) -> None:
    entry = yaml.safe_load((shipped_folder() / "models" / "minilm.yaml").read_text(encoding="utf-8"))
    text = yaml.safe_dump({**entry, **changes})
    (folder / "models" / f"{changes.get('name', 'minilm')}.yaml").write_text(text, encoding="utf-8")


def test_overlays_win_in_order(overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    write_minilm(overlay, layer=2)
    second = tmp_path / "second"
    (second / "models").mkdir(parents=True)
    write_minilm(second, layer=3)
    monkeypatch.setattr("bsx.catalog.catalog.user_folder", lambda: second)
    assert overlay_folders() == [second]
    assert load_registry().model("minilm").layer == 3
    assert load_registry(overlay).model("minilm").layer == 2
    monkeypatch.setenv("BSX_REGISTRY", str(overlay))
    assert load_registry().model("minilm").layer == 2
    assert load_registry(second).model("minilm").layer == 3
    monkeypatch.setenv("BSX_REGISTRY", os.pathsep.join([str(second), str(overlay)]))
    assert load_registry().model("minilm").layer == 2
    assert str(overlay / "models" / "minilm.yaml") in cli("models", "show", "minilm").out
    assert bsx.Scorer(model="minilm", registry=second).layers == (3,)
    assert shipped().model("minilm").layer == 4


def test_missing_overlays_are_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="registry: there is no folder"):
        load_registry(tmp_path / "none")
    monkeypatch.setenv("BSX_REGISTRY", str(tmp_path / "none"))
    with pytest.raises(InputError, match="BSX_REGISTRY: there is no folder"):
        load_registry()


def test_a_broken_overlay_file_costs_only_its_entry(overlay: Path, cli: Cli) -> None:
    write_minilm(overlay, layer=99)
    (overlay / "baselines" / "en").mkdir(parents=True)
    (overlay / "baselines" / "en" / "roberta-large.yaml").write_text("f1: no", encoding="utf-8")
    (overlay / "datasets.yaml").write_text("- name: x\n", encoding="utf-8")
    catalog = load_registry(overlay)
    with pytest.raises(RegistryError, match=r"mine.models.minilm.yaml: .*layer 99"):
        catalog.model("minilm")
    assert catalog.model("roberta-large").layer == 17
    with pytest.raises(RegistryError, match="roberta-large"):
        catalog.baseline("en", "roberta-large")
    assert catalog.baseline("de", "bert-base-multilingual-cased") is not None
    listing = cli("models", "--registry", overlay)
    assert listing.status == 0
    assert "layer 99" in listing.err
    report = cli("registry", "validate", overlay)
    assert report.status == 2
    assert "3 problems" in report.err
    assert "[0].title: Field required" in report.err
    assert "all valid" in cli("registry", "validate").out


def test_relative_paths_are_relative_to_the_overlay(overlay: Path, tiny_model: Model) -> None:
    shutil.copytree(tiny_model("bert"), overlay / "weights")
    changes = {"name": "tiny", "aliases": [], "source": {"path": "weights"}, "layers": 3, "layer": 2, "dimensions": 32}
    write_minilm(overlay, **changes)
    scorer = bsx.Scorer(model="tiny", registry=overlay)
    assert scorer.layers == (2,)
    assert scorer.score(["the cat"], ["the cat"]).f1[0] == pytest.approx(1, abs=1e-5)


def test_an_entry_that_contradicts_its_checkpoint_is_an_error(overlay: Path) -> None:
    write_minilm(overlay, layers=12)
    with pytest.raises(InputError, match="the registry says 12 layers, the checkpoint in .* has 6"):
        bsx.Scorer(model="minilm", registry=overlay)


def test_schemas_are_those_of_the_types(cli: Cli) -> None:
    for kind in ("model", "language", "metric", "baseline", "family", "dataset", "threshold", "perturbation", "depth"):
        committed = (REPOSITORY / "registry" / "schema" / f"{kind}.json").read_text(encoding="utf-8")
        assert cli("registry", "schema", kind).out == committed
    assert "unknown kind 'planet'" in cli("registry", "schema", "planet").err


def test_every_entry_of_the_registry_is_right() -> None:
    catalog = Catalog(shipped_folder())
    assert catalog.check() == []
    for language in catalog.languages.values():
        named = (language.model, language.papers, *language.alternatives)
        assert all(name in catalog.models for name in named if name is not None)
    assert len(list(catalog.names())) == len(set(catalog.names()))


def test_every_figure_of_bert_score_is_ours() -> None:
    from bert_score import utils

    catalog = shipped()
    source = Path(str(utils.__file__)).read_text(encoding="utf-8")
    figures = dict(re.findall(r'^    "([^"]+)": \d+,  # .*?(\d\.\d+)$', source, flags=re.MULTILINE))
    for name, layer in utils.model2layers.items():
        entry = catalog.model(name)
        assert entry.layer == layer, name
        if name in figures:
            assert float(figures[name]) in [evidence.value for evidence in entry.evidence], name
    for tag, name in utils.lang2model.items():
        assert catalog.languages[tag].model == catalog.model(name).name
    tables = Path(str(importlib.resources.files("bert_score"))) / "rescale_baseline"
    count = 0
    for table in tables.rglob("*.tsv"):
        language, _, name = table.relative_to(tables).with_suffix("").as_posix().partition("/")
        baseline = catalog.baseline(language, catalog.model(name).name)
        assert baseline is not None, table
        columns = np.loadtxt(table, delimiter=",", skiprows=1, ndmin=2).T.tolist()  # LAYER, P, R, F
        assert [baseline.precision, baseline.recall, baseline.f1] == columns[1:], table
        count += 1
    assert count > 70


def test_figures_and_lists_are_shown_with_their_sources(cli: Cli) -> None:
    model = cli("models", "show", "XLM-100", "--full").out
    assert re.search(r"^evidence +WMT17 en-tr segment tau \.628; Zhang et al\. 2020, Table 14$", model, re.MULTILINE)
    assert "facebookresearch/XLM, README.md" in model
    assert "evidence: WMT17 en-zh segment r .803; Mathur" in cli("metrics", "show", "bertr", "--full").out
    shown = json.loads(cli("metrics", "show", "laser", "--format", "json").out)
    assert "laser_encoders/language_list.py" in shown["languages_source"]


def test_a_choice_speaks_of_its_first_model_and_sizes_are_numbers_or_texts(tmp_path: Path) -> None:
    chosen = rank(shipped().languages["de"], shipped())
    assert chosen.reason == chosen.ranking[0].reason != chosen.ranking[1].reason
    assert SelectSettings(max_parameters=300).max_parameters == "300"  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_parameters"):
        SelectSettings(max_parameters=True)  # type: ignore[arg-type]
    digests = []
    for text in ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 1, "b": 3}'):
        (tmp_path / "config.json").write_text(text)
        digests.append(config_digest(tmp_path))
    assert digests[0] == digests[1] != digests[2]
