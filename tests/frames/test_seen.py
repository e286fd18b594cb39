"""Rows that something was fitted to are told apart from others wherever it is judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import bsx
from bsx.catalog.catalog import load_registry
from tests.conftest import Cli, Outcome
from tests.helpers.tables import write_lines
from tests.networks.test_run import sentences

pytestmark = pytest.mark.usefixtures("one_thread")


def write(file: Path, rows: list[tuple[Any, ...]], header: str = "lp reference candidate human") -> Path:
    return write_lines(file, [header.split(), *rows])


def rows(n: int, seed: int) -> list[tuple[Any, ...]]:
    human = np.round(np.random.default_rng(seed).normal(size=n), 2)
    return [("de-en", r, f"{c} {k}", h) for k, (r, c, h) in enumerate(
        zip(sentences(n, 10 * seed), sentences(n, 10 * seed + 1), human, strict=True)
    )]  # fmt: skip


@pytest.fixture
def trained(cli: Cli, tiny_model: Callable[[str], str], tmp_path: Path) -> Path:
    """A metric that was really trained, beside the tables of its training and validation."""
    train, valid = write(tmp_path / "train.tsv", rows(40, 1)), write(tmp_path / "valid.tsv", rows(30, 2))
    small = ("--network", "hidden=4,epochs=2")
    folder = tmp_path / "metric"
    done = cli("train", "bilstm", train, "--valid", valid, "-m", tiny_model("bert"), "-o", folder, *small)
    assert done.status == 0, done.err
    return folder


def warnings(out: Outcome) -> list[dict[str, Any]]:
    assert out.status == 0, out.err
    found: list[dict[str, Any]] = json.loads(out.out).get("warnings", [])
    return found


def test_meta_names_rows_of_training_and_validation(cli: Cli, trained: Path, tmp_path: Path) -> None:
    spec = f"trained:{trained}"
    mixed = write(tmp_path / "mixed.tsv", rows(40, 1)[:12] + rows(30, 2)[:7] + rows(30, 3))
    found = warnings(cli("meta", mixed, "--metrics", spec, "--format", "json"))
    assert [(one["name"], one["about"], one["values"]) for one in found] == [
        ("seen-rows", spec, {"rows": 12, "of": 49, "part": "train", "by": "networks"}),
        ("seen-rows", spec, {"rows": 7, "of": 49, "part": "valid", "by": "networks"}),
    ]
    assert f"{spec} was trained on 12 of the 49 rows" in cli("meta", mixed, "--metrics", spec).out
    assert warnings(cli("meta", write(tmp_path / "new.tsv", rows(30, 3)), "--metrics", spec, "--format", "json")) == []
    # The same of scores that stand in a table, by the sidecar; their folder may have been trained anew since.
    scores = tmp_path / "scores.tsv"
    done = cli("score", "--metrics", spec, mixed, "--candidate", "candidate", "--reference", "reference", "-o", scores)
    assert done.status == 0, done.err
    assert [one["values"]["rows"] for one in warnings(cli("meta", scores, "--format", "json"))] == [12, 7]
    # And of a member of an ensemble.
    out = cli("ensemble", mixed, "--metrics", "chrf", "--metrics", spec, "--resamples", 20)
    assert out.status == 0, out.err
    assert f"{spec} was trained on 12 of the 49 rows" in out.out


def test_what_is_not_recorded_or_has_no_texts_cannot_be_told(cli: Cli, trained: Path, tmp_path: Path) -> None:
    spec = f"trained:{trained}"
    plain = write(tmp_path / "plain.tsv", [(k % 7, k) for k in range(40)], f"{spec} human")
    assert [one["name"] for one in warnings(cli("meta", plain, "--columns", spec, "--format", "json"))] == ["no-texts"]
    (trained / "rows.safetensors").unlink()  # a metric of before, of which that is said once
    words = ("meta", write(tmp_path / "new.tsv", rows(30, 3)), "--metrics", spec)
    assert [one["name"] for one in warnings(cli(*words, "--format", "json"))] == ["training-unknown"]
    assert cli(*words).out.count("is not recorded") == 1


def test_an_ensemble_keeps_what_its_weights_were_fitted_to(cli: Cli, tmp_path: Path) -> None:
    table = write(tmp_path / "judged.tsv", rows(60, 4))
    arguments = ("--metrics", "chrf,bleu", "--how", "weights", "--resamples", 20)
    saved = tmp_path / "both.yaml"
    assert cli("ensemble", table, *arguments, "--save", saved).status == 0
    assert (tmp_path / "both.rows.safetensors").is_file()
    spec = f"ensemble:{saved}"
    found = warnings(cli("meta", table, "--metrics", spec, "--format", "json"))
    assert [one["values"] for one in found] == [{"rows": 60, "of": 60, "part": "train", "by": "weights"}]
    assert warnings(cli("meta", write(tmp_path / "new.tsv", rows(30, 5)), "--metrics", spec, "--format", "json")) == []
    # Rules that learn nothing of human judgments keep nothing, and say nothing.
    equal = tmp_path / "equal.yaml"
    assert cli("ensemble", table, *arguments[:2], "--how", "z", "--resamples", 20, "--save", equal).status == 0
    assert not (tmp_path / "equal.rows.safetensors").exists()
    assert warnings(cli("meta", table, "--metrics", f"ensemble:{equal}", "--format", "json")) == []


def test_meta_reads_the_registry_only_where_a_metric_may_have_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Mock(wraps=load_registry)
    monkeypatch.setattr("bsx.analysis.meta.run.load_registry", asked)
    human, *scores = np.random.default_rng(1).normal(size=(3, 30)).tolist()
    table = {"human": human, "chrf": scores[0], "other": scores[1]}
    assert not bsx.meta(table, columns=["chrf", "other"]).warnings
    assert not asked.called
    (notice,) = bsx.meta({**table, "trained:gone": scores[0]}, columns=["chrf", "trained:gone"]).warnings
    assert (notice.name, notice.about, asked.call_count) == ("training-unknown", "trained:gone", 1)
    # A name of one's own does not say so; the signature of its scores does.
    file = write_lines(tmp_path / "t.tsv", [("human", "mine"), *zip(human, scores[0], strict=True)])
    signature = "metric:mine|folder:bilstm@0123456789ab|seeds:1|bsx:0.1.0"
    entry = {"metric": "mine", "signature": signature, "higher_is_better": True}
    Path(f"{file}.signatures.json").write_text(json.dumps({"metrics": [entry]}))
    bsx.meta(file, columns=["mine"])
    assert asked.call_count == 2
