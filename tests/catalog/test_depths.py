"""The layer of a model of which nobody validated one."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

import bsx
from bsx.catalog.catalog import load_registry, shipped
from bsx.catalog.depths import DepthRule
from bsx.catalog.entries import read_lists
from bsx.catalog.entries.models import FamilyKind
from bsx.errors import RegistryError
from tests.conftest import Model


def test_every_kind_of_model_has_a_rule() -> None:
    rules, catalog = read_lists(DepthRule, shipped().folders), shipped()
    assert set(rules) == set(get_args(FamilyKind))
    assert {family.kind for family in catalog.families.values()} <= set(rules)
    assert catalog.families["t5"].kind == "encoder-decoder"
    assert all(0 < rule.layer(depth) <= depth for rule in rules.values() for depth in range(1, 99))


@pytest.mark.parametrize(("family", "kind"), [("bert", "encoder"), ("bart", "encoder-decoder")])
def test_a_layer_by_rule_is_said(tiny_model: Model, family: str, kind: FamilyKind) -> None:
    scorer = bsx.Scorer(model=tiny_model(family), backend="torch")
    rule = read_lists(DepthRule, shipped().folders)[kind]
    assert scorer.layers == (rule.layer(scorer.depth),)
    assert sum(rule.worth(scorer.depth) in note for note in scorer.notes) == 1
    by_rule = scorer.score(["a cat"], ["a dog"]).signature
    assert rule.note in by_rule.notes
    given = bsx.Scorer(model=tiny_model(family), layer=scorer.layers[0], backend="torch")
    assert not any("by rule" in note for note in given.notes)
    signature = given.score(["a cat"], ["a dog"]).signature
    assert not signature.notes
    assert signature.digest == by_rule.digest  # the scores are the same: only where the layer comes from differs


def test_rules_of_a_folder_replace_those_of_their_kind(tiny_model: Model, tmp_path: Path) -> None:
    file = tmp_path / "depths.yaml"
    file.write_text("- {kind: encoder, share: 1.0, models: 3, source: mine}\n", encoding="utf-8")
    scorer = bsx.Scorer(model=tiny_model("bert"), registry=tmp_path)
    assert scorer.layers == (scorer.depth,)
    assert load_registry(tmp_path).check() == []
    file.write_text("- {kind: encoder, share: 2, models: 3, source: mine}\n", encoding="utf-8")
    with pytest.raises(RegistryError, match="share"):
        read_lists(DepthRule, load_registry(tmp_path).folders)
