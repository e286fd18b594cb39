"""``bsx train`` and ``bsx train curve`` end to end, and what a user can get wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bsx.analysis.train.run import TrainSettings, kept_on_interrupt
from bsx.networks.record import MODEL, SavedModel
from tests.conftest import Cli, Model
from tests.helpers.tables import write_lines
from tests.networks.test_run import sentences

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = ("--network", "hidden=4,epochs=2")


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    """Tables of human scores, with several judgments."""
    rng = np.random.default_rng(1)
    made = {}
    for number, (name, n) in enumerate((("train", 24), ("valid", 12), ("test", 12))):
        texts = [sentences(n, 10 * number + k) for k in range(3)]
        judges = np.round(rng.normal(size=(n, 3)), 2)
        pairs = ["de-en", "fi-en", "en-de"] * (n // 3)
        rows = list(zip(pairs, *texts, judges.mean(axis=1), *judges.T, strict=True))
        head = "lp source reference candidate human j1 j2 j3"
        made[name] = write_lines(tmp_path / f"{name}.tsv", [head.split(), *rows])
    return made


@pytest.fixture
def model(tiny_model: Model) -> str:
    return tiny_model("bert")


def test_train_score_and_add_a_seed(cli: Cli, tables: dict[str, Path], model: str, tmp_path: Path) -> None:
    folder = tmp_path / "metric"
    given = ("train", "esim", tables["train"], "--valid", tables["valid"], "-m", model, "-o", folder, *SMALL)
    done = cli(*given, "--lang", "en")
    assert done.status == 0, done.err
    assert f"--metrics trained:{folder}" in done.out
    assert "left out rows that are not into en: 8 of " in done.err
    assert "seed 1, epoch 2: loss" in done.err
    record = SavedModel.open(folder).record
    assert (record.train.instances, record.valid.instances) == (16, 8)
    assert sorted(file.name for file in folder.iterdir()) == [MODEL, "rows.safetensors", "seed-1.safetensors"]

    table = (tables["test"], "--candidate", "candidate", "--reference", "reference")
    scored = cli("score", "--metrics", f"trained:{folder}", *table, "--format", "json")
    assert scored.status == 0, scored.err
    (metric,) = json.loads(scored.out)["metrics"]
    assert metric["metric"] == f"trained:{folder}"
    assert "folder:esim@" in metric["signature"]

    assert cli("score", "--metrics", f"trained:{folder}", *table, "--model", model).status == 0
    other = cli("score", "--metrics", f"trained:{folder}", *table, "--model", "minilm")
    assert other.status == 2
    assert "leave out model minilm" in other.err
    assert "holds a training already" in cli(*given, "--lang", "en").err
    more = cli(*given, "--lang", "en", "--resume", "--seeds", "1,2", "--format", "json")
    document = json.loads(more.out)
    assert [member["seed"] for member in document["members"]] == [1, 2]
    assert document["provenance"]["kind"] == "train"
    assert [file["name"] for file in document["provenance"]["files"]] == ["train.tsv", "valid.tsv"]


def test_curve(cli: Cli, tables: dict[str, Path], model: str, tmp_path: Path) -> None:
    data = (tables["train"], "--valid", tables["valid"], "--test-data", tables["test"], "--human", "j1,j2,j3")
    kept = ("-o", tmp_path / "curve", "--encoder", f"vector_cache={tmp_path / 'store'}")
    given = ("train", "curve", "bilstm", *data, "-m", model, *SMALL, *kept)
    sizes = ("--sizes", "8,16", "--judgments", "1,3", "--seeds", "1,2")
    done = cli(*given, *sizes, "--format", "json", "--plot", tmp_path / "curve.svg")
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert [(p["instances"], p["judgments"]) for p in document["points"]] == [(8, 1), (16, 1), (8, 3), (16, 3)]
    assert document["groups"] == ["de-en", "fi-en", "en-de"]
    assert document["provenance"]["kind"] == "train-curve"
    assert (tmp_path / "curve.svg").is_file()
    assert len(list((tmp_path / "curve").glob("bilstm-*-seed*"))) == 8
    assert list((tmp_path / "store").iterdir())
    assert not (tmp_path / "curve" / "vectors").exists()
    again = cli(*given, *sizes, "--format", "json")  # nothing is trained again
    assert again.status == 0
    assert "epoch" not in again.err
    assert json.loads(again.out)["points"] == document["points"]
    refused = cli(*given, "--sizes", "8,99")
    assert (refused.status, "99 instances are wanted" in refused.err) == (2, True)


def test_an_interrupt_says_what_is_kept(tmp_path: Path) -> None:
    said: list[str] = []
    settings = TrainSettings.model_construct(output=tmp_path, say=said.append)
    with pytest.raises(KeyboardInterrupt), kept_on_interrupt(settings, "the same goes on from there"):
        raise KeyboardInterrupt
    assert said == [f"{tmp_path} keeps what is done; the same goes on from there"]
