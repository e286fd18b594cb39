"""`bsx.BatchScorer` without an engine: the numbers of scoring here, in any process, and corpus scores of parts."""

from __future__ import annotations

import ast
import copy
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bsx
from bsx.cluster import scorer as module
from bsx.data.corpus import MemoryCorpus
from bsx.errors import InputError
from bsx.metrics.results import score_corpus

WORDS = ["the", "a", "cat", "dog", "house", "sees", "runs", "under", "old", "new", "green", "and", "with"]
LEXICAL = "chrf,chrf:word_order=2,bleu,bleu:variant=coco,ter,meteor:synonyms=false,rouge-l"


def texts(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(count)]


def table(count: int) -> Any:
    references = [
        [one, other] if i % 3 else [one]
        for i, (one, other) in enumerate(zip(texts(count, 2), texts(count, 3), strict=True))
    ]
    candidates = texts(count, 1)
    candidates[-1] = ""
    return pa.table({"n": range(count), "candidate": candidates, "reference": references})


def cut(whole: Any, rows: int) -> list[Any]:
    return [whole.slice(start, rows) for start in range(0, whole.num_rows, rows)]


def here(metrics: str, whole: Any, **settings: Any) -> Any:
    corpus = MemoryCorpus({"candidate": whole.column("candidate").to_pylist()}, whole.column("reference").to_pylist())
    return score_corpus(bsx.get_metrics(metrics, **settings), corpus)


@pytest.fixture
def anew() -> None:
    """Let nothing be open, as in a new process."""
    module._OPENED.clear()


@pytest.mark.parametrize("lang", [None, "en"])
def test_parts_have_the_scores_of_the_whole(lang: str | None) -> None:
    whole = table(60)
    scorer = bsx.BatchScorer(LEXICAL, statistics=True, lang=lang)
    assert (scorer.learns is None) == (lang is not None)
    # Parts of any size, counted in any order.
    scorer = scorer.learn([scorer.count(part) for part in reversed(cut(whole, 11))])
    parts = [scorer(part) for part in cut(whole, 7)]
    # Totals of parts, of totals, and of rows are alike.
    totals = [scorer.totals(pa.concat_tables(list(map(scorer.totals, parts[:3])))), *map(scorer.totals, parts[3:6])]
    found = scorer.corpus_scores([*totals, *parts[6:]])
    for spec, by_system in here(LEXICAL, whole, lang=lang).items():
        expected = by_system["candidate"]
        scored = np.concatenate([part.column(spec).to_numpy() for part in parts])
        assert scored.tolist() == expected.values.tolist()
        score = found[spec]
        assert (score.n, score.empty, score.signature) == (60, 1, expected.signature)
        assert scorer.signatures[spec] == str(expected.signature)
        assert score.mean == pytest.approx(expected.mean(), rel=1e-13)
        if spec.startswith(("chrf", "bleu")):
            assert score.system == expected.system
        else:  # TER divides by the mean length of several references
            assert score.system == pytest.approx(expected.system, rel=1e-13)


@pytest.mark.parametrize("metrics", ["bertscore:idf=true", "moverscore", "bertscore,sentence,chrf"])
def test_encoders_give_the_same_bits_whatever_came_before(metrics: str, anew: None) -> None:
    whole = table(12)
    settings: dict[str, Any] = {"model": "minilm", "backend": "onnx", "batch_tokens": 512}
    scorer = bsx.BatchScorer(metrics, statistics=True, **settings)
    scorer = scorer.learn([scorer.count(part) for part in cut(whole, 5)])
    first = scorer(whole)
    expected = here(metrics, whole, **settings)
    parts = [scorer(part) for part in cut(whole, 5)]
    again = pickle.loads(pickle.dumps(scorer))(whole)  # noqa: S301
    corpus = scorer.corpus_scores(parts)
    for spec, by_system in expected.items():
        assert first.column(spec).to_pylist() == by_system["candidate"].values.tolist()
        assert again.column(spec).equals(first.column(spec))
        # In batches of other sizes, fp32 rounds differently.
        scored = np.concatenate([part.column(spec).to_numpy() for part in parts])
        np.testing.assert_allclose(scored, by_system["candidate"].values, atol=1e-5)
        assert corpus[spec].signature == by_system["candidate"].signature


def test_it_travels_without_weights_to_a_process_that_opens_it_once() -> None:
    whole = table(6)
    scorer = bsx.BatchScorer("bertscore,chrf", model="minilm", backend="onnx")
    sent = pickle.dumps((scorer, whole))
    assert len(pickle.dumps(scorer)) < 10_000
    code = f"""
import pickle, sys
from bsx.cluster import scorer as module
scorer, table = pickle.loads({sent!r})
assert not module._OPENED
first = scorer(table)
(metrics,) = module._OPENED.values()
again = pickle.loads(pickle.dumps(scorer))
assert again(table).equals(first)
assert [one is metrics for one in module._OPENED.values()] == [True]
sys.stdout.write(repr(first.column("bertscore").to_pylist()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # The same to the tolerance of fp32: `--ulps` disturbs this process alone.
    assert ast.literal_eval(done.stdout) == pytest.approx(scorer(whole).column("bertscore").to_pylist(), abs=1e-5)


def test_record_batches_become_record_batches_of_the_schema_that_was_told() -> None:
    whole = table(4).select(["candidate", "reference"])
    scorer = bsx.BatchScorer("chrf", statistics=True, prefix="by ")
    (batch,) = whole.to_batches()
    for given in (batch, batch.slice(0, 0)):
        scored = scorer(given)
        assert isinstance(scored, pa.RecordBatch)
        assert scored.schema == scorer.schema(whole.schema)
        assert scorer.totals(scored).num_rows == min(1, given.num_rows)
    assert scored.schema.names == ["candidate", "reference", "by chrf", "by chrf statistics"]


def test_another_model_than_where_it_is_from_is_refused(anew: None) -> None:
    scorer = bsx.BatchScorer("bertscore", model="minilm", backend="onnx")
    (known,) = scorer._work.signatures
    fields = [(name, "minilm@sha256-000000000000" if name == "model" else value) for name, value in known.fields]
    elsewhere = copy.copy(scorer)
    elsewhere._work = replace(scorer._work, signatures=[type(known)(tuple(fields))])
    module._OPENED.clear()
    with pytest.raises(InputError, match="bertscore has model minilm@sha256-.* on this machine") as refused:
        elsewhere(table(2))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("where", "field"), [("bsx.metrics.core.VERSION", "bsx"), ("sacrebleu.__version__", "sacrebleu")]
)
def test_another_version_is_refused(where: str, field: str, anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = pickle.dumps(bsx.BatchScorer("chrf"))
    module._OPENED.clear()
    monkeypatch.setattr(where, "0.0.7")
    with pytest.raises(InputError, match=f"chrf has {field} 0.0.7 on this machine, the scorer is from one with"):
        pickle.loads(sent)(table(2))  # noqa: S301


KINDS = {
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "lists": pa.large_list(pa.large_string()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_any_arrow_type_and_parts_without_rows(kind: str) -> None:
    whole = table(6).select(["candidate"]).append_column("reference", pa.array(texts(6, 2)))
    scorer = bsx.BatchScorer("chrf,bleu", lang="en", statistics=True)
    given = whole
    for i, name in enumerate(whole.column_names):
        if kind != "lists" or name == "reference":
            values = [[text] for text in texts(6, 2)] if kind == "lists" else whole.column(name).to_pylist()
            given = given.set_column(i, name, pa.array(values, KINDS[kind]))
    for start in (0, 6):
        expected = scorer(whole.slice(start))
        found = scorer(given.slice(start))
        assert found.schema == scorer.schema(given.schema)
        assert scorer.totals(found).equals(scorer.totals(expected))
        assert all(found.column(name).equals(expected.column(name)) for name in ("chrf", "bleu"))


def test_what_a_part_cannot_know_is_learnt_first() -> None:
    for metrics in ("bleu", "ter", "rouge-l", "bertscore:idf=true"):
        scorer = bsx.BatchScorer(metrics, model="minilm", backend="onnx")
        assert scorer.learns is not None
        with pytest.raises(InputError, match="learn from the counts"):
            scorer(table(2))
        with pytest.raises(InputError, match="nothing to learn from"):
            scorer.learn([])
    chinese = pa.table({"candidate": ["在下雨", "猫"], "reference": ["下雨了", "狗"]})
    scorer = bsx.BatchScorer("bleu")
    assert "tokenize:zh" in scorer.learn(scorer.count(chinese)).signatures["bleu"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"reference": [["a", None], ["b"]]}, "column 'reference' .*is None"),
        ({"reference": [["a"], None]}, "column 'reference' .*is None"),
        ({"reference": [["a"], []]}, "column 'reference' .*an empty list"),
        ({"candidate": pa.array(["a", None], pa.string())}, "column 'candidate' is None"),
        ({"chrf": [1, 2]}, "has a column 'chrf' already"),
    ],
)
def test_wrong_columns_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        bsx.BatchScorer("chrf")(pa.table({"candidate": ["a", "b"], "reference": ["a", "b"], **columns}))


def test_wrong_tables_and_metrics_are_refused() -> None:
    with pytest.raises(InputError, match="compares candidates with sources"):
        bsx.BatchScorer("xmoverscore", model="minilm")
    with pytest.raises(InputError, match="no column 'wrong'; it has n, candidate, reference"):
        bsx.BatchScorer("chrf", candidate="wrong")(table(4))
    scorer = bsx.BatchScorer("chrf")
    with pytest.raises(InputError, match="statistics=True"):
        scorer.totals(scorer(table(4)))
    with pytest.raises(InputError, match="hold no row"):
        scorer.corpus_scores([])
    for wrong in (None, "x", {"candidate": ["a"], "reference": ["b"]}, table(4).to_pandas()):
        for call in (scorer, scorer.count, scorer.totals, scorer.corpus_scores, scorer.learn):
            with pytest.raises(InputError, match="Arrow table or record batch"):
                call(wrong)
    twice = pa.table([["a"], ["b"], ["c"]], names=["candidate", "candidate", "reference"])
    for call in (scorer, scorer.count):
        with pytest.raises(InputError, match="2 columns 'candidate'"):
            call(twice)
    for metrics in (None, 5, [5], [None]):
        with pytest.raises(InputError, match="named by texts"):
            bsx.BatchScorer(metrics)  # type: ignore[arg-type]
