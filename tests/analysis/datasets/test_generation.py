"""Summaries: rows of our own in the layouts of SummEval and REALSumm."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.analysis import load_data, load_realsumm, load_summeval
from bsx.errors import InputError, UnknownNameError
from tests.helpers.tables import write_plain

ASPECTS = ("coherence", "consistency", "fluency", "relevance")


def summaries() -> list[dict[str, Any]]:
    rows = []
    for model, text, experts, turkers in (
        ("M8", "a cat sat there", [(1, 5, 5, 2), (2, 5, 4, 4), (3, 5, 3, 3)], [(4,) * 4, (5,) * 4]),
        ("M0", "rain", [(1, 1, 5, 1)], [(2,) * 4]),
    ):
        row: dict[str, Any] = {"id": "dm-test-1", "filepath": "cnndm/x.story", "model_id": model, "decoded": text}
        row["references"] = ["a cat sat", "the cat was sitting"]
        for kind, judged in (("expert", experts), ("turker", turkers)):
            row[f"{kind}_annotations"] = [dict(zip(ASPECTS, marks, strict=True)) for marks in judged]
        rows.append(row)
    return rows


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    return write_plain(path, *map(json.dumps, rows))


def test_summeval(tmp_path: Path) -> None:
    file = lines(tmp_path / "model_annotations.aligned.jsonl", summaries())
    found = load_summeval(file)
    assert found.texts("system") == ["M8", "M0"]
    assert found.references[0] == ["a cat sat", "the cat was sitting"]
    assert found["coherence"].tolist() == [2.0, 1.0]  # type: ignore[union-attr]
    assert found["judgments"].tolist() == [3, 1]  # type: ignore[union-attr]
    assert found.numbers("human") == pytest.approx([(2 + 5 + 4 + 3) / 4, 2.0])
    assert "mean of coherence" in found.notes[0]
    one = load_data(str(file), loader="summeval", human="relevance", annotators="turker")
    assert one.numbers("human").tolist() == [4.5, 2.0]
    assert one.notes == ()
    each = load_summeval(file, human="coherence", per_judge=True)
    assert each.numbers("human").tolist() == [1, 2, 3, 1]
    assert each.numbers("judge").tolist() == [1, 2, 3, 1]
    paired = [row | {"text": "An article."} for row in summaries()]
    assert load_summeval(lines(tmp_path / "paired.jsonl", paired)).texts("source") == ["An article."] * 2


def test_broken_summeval(tmp_path: Path) -> None:
    rows = summaries()
    del rows[1]["expert_annotations"][0]["fluency"]
    file = lines(tmp_path / "broken.jsonl", rows)
    with pytest.raises(InputError, match=r"broken\.jsonl: line 2, column 'expert_annotations': .* has no fluency"):
        load_summeval(file)
    assert len(load_summeval(file, skip_malformed=True)) == 1
    assert len(load_summeval(file, annotators="turker")) == 2
    with pytest.raises(UnknownNameError, match="human=relevence: there are mean, .* Near: relevance"):
        load_summeval(file, human="relevence")
    rows[1]["expert_annotations"] = 3
    with pytest.raises(InputError, match="is not a list of annotations"):
        load_summeval(lines(file, rows))
    with pytest.raises(UnknownNameError, match="has no column 'model_id'"):
        load_summeval(lines(file, [{"id": 1}]))


def documents() -> dict[int, Any]:
    scores = {"litepyramid_recall": np.float64(0.3), "rouge_1_f_score": 0.5, "js-2": np.float32(-0.25)}
    systems = {
        "bart_out.txt": {"system_summary": "<t> a cat . </t> <t> it sat </t>", "scores": scores},
        "t5_out.txt": {"system_summary": "rain", "scores": {**scores, "litepyramid_recall": np.float64(0)}},
    }
    return {52: {"doc_id": 52, "ref_summ": "<t> a cat sat . </t>", "system_summaries": systems}}


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_realsumm(tmp_path: Path, protocol: int) -> None:
    file = tmp_path / "abs.pkl"
    file.write_bytes(pickle.dumps(documents(), protocol=protocol))
    found = load_realsumm(file)
    assert found.texts("candidate") == ["a cat . it sat", "rain"]
    assert found.texts("reference") == ["a cat sat ."] * 2
    assert found.texts("segment") == ["52"] * 2
    assert found.numbers("human").tolist() == [0.3, 0.0]
    assert found.metrics == ("rouge_1_f_score", "js-2")
    assert found.numbers("js-2").tolist() == [-0.25] * 2
    other = load_realsumm(file, human="rouge_1_f_score", metrics=["js-2"])
    assert (other.numbers("human").tolist(), other.metrics) == ([0.5, 0.5], ("js-2",))
    plain = tmp_path / "abs.json"
    plain.write_text(json.dumps(documents(), default=float), encoding="utf-8")
    assert load_realsumm(plain).numbers("human").tolist() == [0.3, 0.0]


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("made",)


def test_a_pickle_file_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "abs.pkl"
    file.write_bytes(pickle.dumps({52: Harmful()}))
    with pytest.raises(InputError, match=r"abs\.pkl: it names (posix|nt)\.mkdir; only plain values and numbers"):
        load_realsumm(file)
    assert not (tmp_path / "made").exists()
    file.write_bytes(pickle.dumps(np.arange(3)))
    with pytest.raises(InputError, match=r"abs\.pkl: it names numpy"):
        load_realsumm(file)
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match=r"abs\.pkl: is not a whole pickle file"):
        load_realsumm(file)


def test_broken_realsumm(tmp_path: Path) -> None:
    content: Any = json.loads(json.dumps(documents(), default=float))
    del content["52"]["system_summaries"]["t5_out.txt"]["scores"]["litepyramid_recall"]
    file = tmp_path / "abs.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=r"document 52, system t5_out\.txt: has no score 'litepyramid_recall'; it has"):
        load_realsumm(file)
    assert len(load_realsumm(file, skip_malformed=True)) == 1
    with pytest.raises(UnknownNameError, match="not every summary has a score 'bleu'"):
        load_realsumm(file, human="js-2", metrics=["bleu"])
    for wrong, message in (
        ([1], "is not a mapping of documents"),
        ({"1": {"ref_summ": "a"}}, "has no system_summaries"),
    ):
        file.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(InputError, match=message):
            load_realsumm(file)
