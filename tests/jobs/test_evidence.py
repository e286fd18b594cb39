"""`bsx registry evidence`: figures of cards in the user's registry, and models ranked by them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bsx.analysis import read_cards
from bsx.catalog.catalog import load_registry, shipped
from bsx.catalog.entries.evidence import Evidence
from bsx.errors import InputError, UnknownNameError
from bsx.jobs import add_evidence
from bsx.models.evidence import by_aspects
from bsx.models.ranking import select_model
from tests.conftest import Outcome

Cli = Callable[..., Outcome]
MORE = {"groups": [], "examples": False, "rows": "d" * 64}


def card(path: Path, metric: str, model: str, *, auc: float, r: float, lang: str = "de", **more: Any) -> Path:
    """Write a card as ``bsx card`` does, with a figure of each aspect."""
    kind = metric.partition(":")[0]
    tables = [("judged.tsv", "judged", "a"), ("pairs.tsv", "pairs", "b"), ("pairs.json", "challenge", "c")]
    content: dict[str, Any] = {
        "schema_version": 4,
        "metric": metric,
        "of": "metric",
        "signature": f"metric:{kind}|model:{model}@sha256-1",
        "signatures": {lang: f"metric:{kind}|model:{model}@sha256-1"},
        "higher_is_better": True,
        "partial": True,
        "against": [],
        "data": [
            {"name": name, "kind": kind, "n": 50, "sha256": letter * 64, "languages": [lang]} | MORE
            for name, kind, letter in tables
        ],
        "status": {},
        "parts": {
            "agreement": {
                "rows": [
                    {
                        "data": "judged.tsv",
                        "level": "segment",
                        "group": f"en-{lang}",
                        "n": 50,
                        "statistic": "pearson",
                        "value": r,
                        "ci": [r - 0.1, r + 0.1],
                        **{"rank": None, "of": None, "others": {}, "method": ""},
                    }
                ]
            },
            "paraphrase": {
                "pairs": [
                    {
                        "data": "pairs.tsv",
                        "group": lang,
                        "metric": metric,
                        "n": 50,
                        "positives": 20,
                        "p": 0.01,
                        "auc": auc,
                        "ci": [auc - 0.1, auc + 0.1],
                    }
                ]
            },
            "perturbations": {
                "rows": [],
                "overall": [
                    {
                        "data": "judged.tsv",
                        "group": lang,
                        "control": "no-punctuation",
                        "n": 60,
                        "texts": 30,
                        "rate": 0.7,
                        "ci": [0.6, 0.8],
                    }
                ],
            },
            "cost": {
                "n": 50,
                "data": "judged.tsv",
                "group": lang,
                "metric": {"seconds": 3.5, "seconds_range": [3.0, 4.0], "processor": None, "processor_range": None}
                | {"start_seconds": 1.0, "memory": 9.0, "memory_before": 1.0, "runs": 3},
                "times_chrf": 7.0,
                "times_chrf_range": [6.5, 7.5],
                "machine": {"processor": "A chip", "threads": "1"},
            },
        },
        "multiplicity": {"tests": 0, "correction": "holm", "alpha": 0.05, "significant": 0},
        "provenance": {
            "kind": "card",
            "command": f"bsx card {metric}",
            "versions": {"bsx": "0.1.0"},
            "files": [],
            "signatures": {},
        },
        **more,
    }
    path.write_text(json.dumps(content))
    return path


def test_figures_go_into_the_overlay_and_rank(tmp_path: Path, cli: Cli) -> None:
    own = tmp_path / "registry"
    for model, auc, r in (("me5-small-q4", 0.8, 0.3), ("bert-base-multilingual-cased", 0.7, 0.5)):
        file = card(tmp_path / f"{model}.json", f"bertscore:model={model}", model, auc=auc, r=r)
        out = cli("registry", "evidence", model, "--cards", file, "--registry", own)
        assert out.status == 0, out.err
        assert re.search(rf"ROC AUC of bertscore +{auc:.3f}", out.out)
    entry = yaml.safe_load((own / "models" / "me5-small-q4.yaml").read_text())
    figure = next(one for one in entry["evidence"] if one["dataset"] == "pairs.tsv (bbbbbbbb)")
    assert figure["aspect"] == "semantics"
    assert (figure["n"], figure["value"], figure["versions"]) == (50, 0.8, {"bsx": "0.1.0"})
    assert figure["interval"] == pytest.approx([0.7, 0.9])
    assert cli("registry", "validate", own).status == 0
    catalog = load_registry(own)
    assert select_model("de", prefer="semantics", registry=catalog).name == "me5-small-q4"
    pool = [catalog.models[name] for name in ("me5-small-q4", "bert-base-multilingual-cased", "xlm-roberta-base")]
    measured = [
        entry.model_copy(update={"evidence": [e for e in entry.evidence if e.aspect is not None]}) for entry in pool
    ]
    german = catalog.languages["de"]
    ranked, compared = by_aspects(measured, german, {"agreement": 1})
    assert [row.entry.name for row in ranked] == ["bert-base-multilingual-cased", "me5-small-q4", "xlm-roberta-base"]
    assert compared == 2
    assert ranked[-1].reason == "no evidence"
    assert by_aspects(measured, german, {"semantics": 2, "agreement": 1})[0][0].entry.name == "me5-small-q4"
    assert by_aspects(measured, german, {"semantics": 1, "agreement": 2})[0][0].entry.name == pool[1].name
    reason = by_aspects(measured, german, {"semantics": 2, "agreement": 1})[0][0].reason
    assert "semantics: ROC AUC of bertscore .800 [.700, .900] on pairs.tsv (bbbbbbbb) (n 50)" in reason
    assert "agreement: Pearson r of " in reason
    out = cli("models", "--lang", "de", "--prefer", "semantics=2,agreement=1", "--registry", own, "--format", "json")
    assert json.loads(out.out)["models"][0]["reason"].count("judged.tsv") + out.out.count("pairs.tsv") > 0


def test_a_file_with_several_cards_gives_those_that_fit(tmp_path: Path) -> None:
    one = card(tmp_path / "a.json", "chrf", "none", auc=0.5, r=0.2)
    other = card(tmp_path / "b.json", "bertscore:model=me5-small-q4", "me5-small-q4", auc=0.8, r=0.3)
    both = tmp_path / "both.json"
    both.write_text(json.dumps({"cards": [json.loads(file.read_text()) for file in (one, other)]}))
    for name, auc in (("me5-small-q4", 0.8), ("chrf", 0.5)):
        added = add_evidence(name=name, cards=[both], registry=tmp_path / "registry")
        assert [e.value for e in added.evidence if e.aspect == "semantics"] == [auc]
    with pytest.raises(InputError, match="the card is of chrf, not of bleu"):
        add_evidence(name="bleu", cards=[both], registry=tmp_path / "registry")


def test_the_same_test_is_replaced(tmp_path: Path) -> None:
    own = tmp_path / "registry"
    for auc in (0.6, 0.9):
        file = card(tmp_path / "card.json", "bertscore:model=me5-small-q4", "me5-small-q4", auc=auc, r=0.1)
        add_evidence(name="me5-small-q4", cards=[file], registry=own)
    figures = [e for e in load_registry(own).models["me5-small-q4"].evidence if e.aspect == "semantics"]
    shipped_ones = [e for e in shipped().models["me5-small-q4"].evidence if e.aspect == "semantics"]
    assert [e.value for e in figures if e not in shipped_ones] == [0.9]


def test_without_evidence_nothing_is_chosen(cli: Cli) -> None:
    choice = select_model("sw", prefer="robustness", registry=shipped())
    assert choice.abstains
    assert choice.notes[-1].startswith("no evidence of robustness in Swahili")
    assert {row.reason for row in choice.ranking} == {"no evidence"}
    with pytest.raises(InputError, match="no model is chosen for Swahili: no evidence"):
        choice.entry  # noqa: B018 - a property
    out = cli("models", "--lang", "sw", "--prefer", "robustness=1", "--format", "json")
    assert json.loads(out.out)["selected"] is None
    assert "no model is chosen" in cli("models", "--lang", "sw", "--prefer", "robustness").out


def test_shipped_cards_rank() -> None:
    choice = select_model("en", prefer={"semantics": 2, "agreement": 1}, registry=shipped())
    assert choice.name == "minilm"
    assert re.search(
        r"\.\d{3} \[-?\.\d{3}, \.\d{3}\] on .*\(n \d+(, too few to rely on)?\); measured here", choice.reason
    )


@pytest.mark.parametrize(("lang", "aspects"), [("de", {"semantics": 2, "agreement": 1}), ("zh", {"robustness": 1})])
def test_a_model_measured_alone_does_not_win(lang: str, aspects: Any) -> None:
    """Robustness .000 [.000, .194] won in Chinese because nobody else was measured."""
    choice = select_model(lang, prefer=aspects, registry=shipped())
    assert choice.abstains
    alone = next(row for row in choice.ranking if row.entry.name == "me5-small-q4")
    assert alone.reason.endswith("compared with no other model")
    assert choice.ranking[-1].reason == "no evidence"
    assert "no two models were measured on the same test" in choice.notes[-1]


def test_a_note_tells_models_with_all_aspects_from_those_with_some() -> None:
    choice = select_model("en", prefer={"semantics": 2, "agreement": 1}, registry=shipped())
    found = re.fullmatch(
        r"(\d+) of (\d+) models can be compared by semantics and agreement in English; (\d+) have figures of some of "
        "it, or on other tests, and are not ranked",
        choice.notes[-1],
    )
    assert found is not None, choice.notes
    whole, every, some = map(int, found.groups())
    assert whole + some == every == len(choice.ranking)
    assert ["compared with no other" in row.reason for row in choice.ranking] == [False] * whole + [True] * some


def test_speed_is_better_low(tmp_path: Path) -> None:
    def entry(name: str, seconds: float) -> Any:
        figure = Evidence(dataset="d", language="de", statistic="s", value=seconds, source="I", aspect="speed", n=90)
        return shipped().models[name].model_copy(update={"evidence": [figure]})

    pool = [entry("me5-small-q4", 9.0), entry("bert-base-multilingual-cased", 2.0)]
    ranked, _ = by_aspects(pool, shipped().languages["de"], {"speed": 1})
    assert [row.entry.name for row in ranked] == ["bert-base-multilingual-cased", "me5-small-q4"]


def test_a_metric_s_own_card(tmp_path: Path) -> None:
    file = card(tmp_path / "card.json", "chrf", "none", auc=0.5, r=0.2)
    added = add_evidence(name="chrf", cards=[file], registry=tmp_path / "registry")
    assert {(one.aspect, one.statistic) for one in added.evidence} == {
        ("agreement", "Pearson r"),
        ("semantics", "ROC AUC"),
        ("robustness", "share of changed meanings that cost more than no-punctuation"),
        ("speed", "times as long as chrF"),
    }
    speed = next(one for one in added.evidence if one.aspect == "speed")
    assert (speed.value, speed.interval, speed.n) == (7.0, [6.5, 7.5], 50)
    assert speed.dataset == "judged.tsv (aaaaaaaa) on A chip, 1 threads"
    assert load_registry(tmp_path / "registry").metrics["chrf"].evidence[-1].aspect is not None


def test_wrong_cards_are_one_line(tmp_path: Path, cli: Cli) -> None:
    file = card(tmp_path / "card.json", "bertscore:model=minilm", "minilm", auc=0.5, r=0.2)
    table = {
        "name": "en-systems.tsv",
        "kind": "judged",
        "n": 9,
        "sha256": "a" * 64,
        "languages": ["de"],
        "groups": [],
        "rows": "a",
    }
    rests = [{**table, "examples": True}]
    examples = card(tmp_path / "examples.json", "chrf", "none", auc=0.5, r=0.2, data=rests)
    for name, path, message in (
        ("me5-small-q4", file, "which did not run on me5-small-q4"),
        ("chrf", file, "the card is of bertscore:model=minilm, not of chrf"),
        ("nobody", file, "the registry has no model and no metric 'nobody'"),
        ("chrf", examples, "rests on the shipped examples, which are no evidence"),
    ):
        out = cli("registry", "evidence", name, "--cards", path, "--registry", tmp_path / "own")
        assert (out.status, out.out, out.err.count("\n")) == (2, "", 1)
        assert message in out.err
    assert not list((tmp_path / "own").rglob("*.yaml"))
    with pytest.raises(UnknownNameError):
        add_evidence(name="nobody", cards=[file])
    assert read_cards([file])[0].metric == "bertscore:model=minilm"
