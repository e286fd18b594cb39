"""Published curves of agreement: each digit as published, and which metrics and settings they speak about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bsx.analysis.compare.run import published_curves
from bsx.bertscore.metric import BertScore
from bsx.catalog.catalog import Catalog, load_registry, shipped, shipped_folder
from bsx.catalog.entries import read_lists
from bsx.catalog.thresholds import CurveEntry, StudyEntry, covering
from bsx.errors import RegistryError
from bsx.metrics.base import get_metrics
from bsx.metrics.lexical.bleu import BleuConfig
from bsx.metrics.lexical.chrf import ChrfConfig
from tests.helpers.tables import read_rows

BLEU = (
    "metric:bleu|tokenize:13a|lowercase:no|smooth_method:exp|smooth_value:default|max_ngram_order:4|effective_order:yes|"
    "variant:sacrebleu|system:corpus|sacrebleu:2.6.0|normalize:nfc|refs:1|bsx:0.1.0"
)
COMET = (
    "metric:comet|model:Unbabel/wmt22-comet-da@hub-2760a223ac95|multi_ref:best|python:3.11|unbabel_comet:2.2.6|dtype:fp32|"
    "backend:torch-2.6.0|normalize:nfc|refs:1|bsx:0.1.0"
)
REPLACED = {"tokenize:13a": "tokenize:intl", "refs:1": "refs:2", "lowercase:no": "lowercase:yes", "nfc": "nfkc"}


def published(shared: Path, name: str) -> list[dict[str, str]]:
    return read_rows(shared / f"data/published/mt-thresholds.{name}.tsv")


def curves() -> dict[str, CurveEntry]:
    return {curve.name: curve for curve in read_lists(StudyEntry, shipped().folders)["kocmi2024"].curves}


def names(signature: str, language: str | None = None, catalog: Catalog | None = None) -> list[str]:
    return [curve.name for _, curve in covering(catalog or shipped(), signature, language)]


def test_parameters_and_accuracies_are_the_published_ones(shared: Path) -> None:
    mine = curves()
    given = published(shared, "params")
    assert {row["metric"]: (float(row["a"]), float(row["b"])) for row in given} == {
        name: (curve.a, curve.b) for name, curve in mine.items()
    }
    accuracy = {
        (row["metric"], row["subset"]): float(row["pairwise_accuracy"]) for row in published(shared, "accuracy")
    }
    assert accuracy["n_system_pairs", "ToShip23"] == read_lists(StudyEntry, shipped().folders)["kocmi2024"].system_pairs
    for name, curve in mine.items():
        found = (curve.accuracy.all, curve.accuracy.versions, curve.accuracy.unrelated)
        assert found == tuple(accuracy[name, subset] for subset in ("ToShip23", "Iterated", "Unrelated"))


def test_signatures_of_all_settings_are_covered_or_not() -> None:
    assert names(BLEU) == names(BLEU, "de") == ["bleu"]
    assert names(BLEU.replace("13a", "flores200")) == ["spBLEU200"]
    for of, to in REPLACED.items():
        assert names(BLEU.replace(of, to)) == []
    assert names(f"{BLEU}|entry:0123456789ab") == []  # an overlay's BLEU is another metric
    assert names(f"{BLEU}|note:is doubted") == ["bleu"]
    # Chinese needs its own tokenizer, and nothing else does.
    chinese = BLEU.replace("13a", "zh")
    assert (names(BLEU, "zh"), names(chinese, "zh"), names(chinese), names(chinese, "de")) == (
        [],
        ["bleu"],
        ["bleu"],
        [],
    )
    assert names(COMET) == ["comet22"]
    assert names(COMET.replace("hub-2760a223ac95", "sha256-2760a223ac95")) == []  # a folder may be called anything
    assert names(COMET.replace("wmt22-comet-da", "wmt20-comet-da")) == ["comet20"]
    assert names("metric:bertscore|model:roberta-large|layer:17|refs:1") == []


@pytest.mark.parametrize(("spec", "covered"), [("bleu", True), ("chrf", True), ("chrf++", False), ("sentbleu", False)])
def test_metrics_as_they_sign_themselves(spec: str, covered: bool) -> None:
    (metric,) = get_metrics([spec])
    signature = str(metric.score(["a cat sat here"], ["the cat sat there"]).signature)
    assert bool(names(signature)) == covered
    assert [one.curve for one in published_curves(shipped(), {spec: signature}, means=True)] == []  # no corpus score


def test_every_setting_of_a_covered_metric_is_spoken_of() -> None:
    """A new setting of BLEU or chrF must be weighed here: a curve covers no signature with an unknown field."""
    for name, config in (("bleu", BleuConfig), ("chrf", ChrfConfig)):
        assert {*config.model_fields, "normalize", "refs"} == {*curves()[name].settings}
    assert BertScore.Config.model_fields  # BERTScore's curve names no model: it covers nothing
    assert curves()["bertscore"].metric is None


def test_overlays_add_studies_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    text = (shipped_folder() / "thresholds.yaml").read_text(encoding="utf-8")
    (tmp_path / "thresholds.yaml").write_text(text.replace("name: kocmi2024", "name: again"), encoding="utf-8")
    assert names(BLEU, catalog=load_registry(tmp_path)) == ["bleu", "bleu"]
    wrong: Sequence[tuple[str, str]] = (("b: 0.9663926931178954", "b: -1.0"), ("scale: 1.0", "scales: 1.0"))
    for of, to in wrong:
        (tmp_path / "thresholds.yaml").write_text(text.replace(of, to, 1), encoding="utf-8")
        with pytest.raises(RegistryError, match=r"thresholds\.yaml.*curves\.0"):
            read_lists(StudyEntry, load_registry(tmp_path).folders)
