"""Each setting that can change a score changes the signature; those that cannot, do not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import bsx
from bsx import Scorer
from bsx.support.provenance import Signature
from tests.conftest import Model
from tests.helpers import tiny

CANDIDATES, REFERENCES = ["the cat", "a dog"], ["a cat", "rain"]


def signature(folder: str, references: Any = REFERENCES, **settings: Any) -> str:
    base: dict[str, Any] = {} if settings.get("all_layers") else {"layer": 2}
    return str(Scorer(model=folder, **{**base, **settings}).score(CANDIDATES, references).signature)


@pytest.mark.usefixtures("any_backend")
def test_every_setting_shows(tiny_model: Model, tmp_path: Path) -> None:
    folder = tiny_model("bert")
    for number in (1, 2):
        rows = "".join(f"{layer},0.{number},0.1,0.1\n" for layer in range(4))
        (tmp_path / f"{number}.csv").write_text("LAYER,P,R,F\n" + rows)
    seen = [
        signature(folder),
        signature(folder, layer=1),
        signature(folder, all_layers=True),
        signature(folder, all_layers=True, final_norm=False),
        signature(folder, idf=True),
        signature(folder, ["a cat", "snow"], idf=True),
        signature(folder, idf=["one", "two"]),
        signature(folder, rescale=True, baseline=tmp_path / "1.csv"),
        signature(folder, rescale=True, baseline=tmp_path / "2.csv"),
        signature(folder, multi_ref="best"),
        signature(folder, [["a", "b"], ["c", "d"]]),
        signature(folder, [["a", "b"], ["c"]]),
        signature(folder, specials="exclude"),
        signature(folder, specials="bert-score"),
        signature(folder, leading_space=True),
        signature(folder, long="window"),
        signature(tiny_model("bert-cased")),
        signature(tiny_model("xlm")),
    ]
    assert len(set(seen)) == len(seen)


def test_other_weights_or_tokenizer_show(tiny_model: Model, tmp_path: Path) -> None:
    folder = tiny_model("bert")
    fields = Scorer(model=folder, layer=2).signature()
    other = Scorer(model=str(tiny.build("bert", tmp_path / "other", seed=8)), layer=2).signature()
    assert fields["model"].partition("@")[2] != other["model"].partition("@")[2]
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    config = copy / "tokenizer_config.json"
    config.write_text(config.read_text().replace("{", '{"extra": 1,', 1))
    changed = Scorer(model=str(copy), layer=2).signature()
    assert changed["model"].partition("@")[2] == fields["model"].partition("@")[2]
    assert changed["tokenizer"] != fields["tokenizer"]
    assert len(fields.digest) == 12
    assert fields.digest != changed.digest


def test_what_cannot_change_a_score_does_not_show(tiny_model: Model) -> None:
    folder = tiny_model("bert")
    assert signature(folder) == signature(folder, batch_tokens=7, memory="2MB", device="cpu", strict=True)


@pytest.mark.usefixtures("any_backend")
def test_versions_are_in(tiny_model: Model) -> None:
    fields = Scorer(model=tiny_model("bert"), layer=2).signature()
    assert fields["bsx"] == bsx.__version__
    assert fields["tokenizer"].startswith(f"tokenizers-{tokenizers.__version__}@")
    assert fields["dtype"] == "fp32"
    assert Scorer(model=tiny_model("xlm"), layer=2).signature()["tokenizer"].startswith("python-")


@pytest.mark.parametrize("value", ["a|b", "c:d"])
def test_values_cannot_forge_fields(value: str) -> None:
    assert str(Signature.of({"model": value, "layer": 1})).count("|") == 1
