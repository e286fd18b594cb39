"""Context with any metric: those that can use it encode it and score the text's own tokens; all others refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import bsx
from bsx.catalog.catalog import load_registry
from bsx.data.corpus import BREAK, InContext, MemoryCorpus
from bsx.errors import InputError
from bsx.metrics.base import find_metric, metric_names
from tests.helpers.tables import write_columns

REFERENCES = ["the old man sat", "rain on the river", "it had rain", "the bank"]
CANDIDATES = ["an old man sat", "the rain", "it rain", "a river bank"]
DOCUMENTS = ["a", "a", "a", "b"]
BEFORE = [[], REFERENCES[:1], REFERENCES[:2], []]


def test_every_metric_takes_context_or_refuses() -> None:
    takes = set()
    for name in metric_names():
        if find_metric(name, load_registry())[0].takes_context:
            takes.add(name)
            continue
        with pytest.raises(InputError, match=re.escape(f"context: {name} takes none")):
            bsx.get_metric(name, encoders=bsx.Encoders(context=1))
    assert takes >= {"bertscore", "bertr", "moverscore", "sentence", "sentence-qe"}
    assert not takes & {"chrf", "bleu", "ter", "comet", "trained", "ensemble", "xmoverscore"}


def test_a_sentence_vector_is_of_its_own_tokens(tiny_model: Callable[[str], str]) -> None:
    """An independent computation: encode by hand with the sentences before, average the text's own tokens."""
    from transformers import AutoModel

    path = tiny_model("bert")
    metric = bsx.get_metric("sentence", encoders=bsx.Encoders(model=path, context=2, backend="torch"))
    found = metric.score(CANDIDATES, REFERENCES, documents=DOCUMENTS)
    tokenizer, model = metric.tokenizer, AutoModel.from_pretrained(path).eval()  # type: ignore[attr-defined]
    separator = tokenizer._inner.sep_token_id

    def vector(text: str, before: list[str]) -> torch.Tensor:
        context = [token for ids in tokenizer.contents(before) for token in (*ids, separator)]
        ids = [*tokenizer.prefix, *context, *tokenizer.contents([text])[0], *tokenizer.suffix]
        with torch.inference_mode():
            states = model(torch.tensor([ids])).last_hidden_state[0]
        start = len(tokenizer.prefix)
        return torch.nn.functional.normalize(
            states[[*range(start), *range(start + len(context), len(ids))]].mean(dim=0), dim=0
        )

    for place, before in enumerate(BEFORE):
        both = vector(CANDIDATES[place], before) @ vector(REFERENCES[place], before)
        assert found.values[place] == pytest.approx(float(both), abs=2e-5)
    assert "|context:2*reference|" in str(found.signature)


@pytest.mark.parametrize("spec", ["bertr", "moverscore", "sentence", "bertscore:layer=2", "bertscore:layer=2,idf=true"])
def test_first_sentences_score_as_they_do_alone(spec: str, tiny_model: Callable[[str], str]) -> None:
    model = tiny_model("bert")
    there = bsx.get_metric(spec, encoders=bsx.Encoders(model=model, lang="en", context=2))
    with_context = there.score(CANDIDATES, REFERENCES, documents=DOCUMENTS)
    alone = bsx.get_metric(spec, encoders=bsx.Encoders(model=model, lang="en")).score(CANDIDATES, REFERENCES)
    assert with_context.values[[0, 3]] == pytest.approx(alone.values[[0, 3]], abs=1e-5)
    assert abs(with_context.values[2] - alone.values[2]) > 1e-6
    with pytest.raises(InputError, match="go together"):
        there.score(CANDIDATES, REFERENCES)


def test_a_blank_text_stays_blank_behind_its_context(tiny_model: Callable[[str], str]) -> None:
    metric = bsx.get_metric("sentence", encoders=bsx.Encoders(model=tiny_model("bert"), context=1))
    found = metric.score(["old man", " "], ["old man", "rain"], documents=["a", "a"])
    assert (found.values[1], found.empty.tolist()) == (0, [1])


def test_without_references_candidates_have_their_own_context() -> None:
    corpus = InContext(MemoryCorpus({"x": ["a", "b"], "y": ["c", "d"]}, None, ["s", "t"], documents=["1", "1"]), 1)
    second = list(corpus)[1]
    assert (second.candidates, second.source) == ((f"a{BREAK}b", f"c{BREAK}d"), f"s{BREAK}t")


def test_one_token_pooling_is_refused(tiny_model: Callable[[str], str]) -> None:
    with pytest.raises(InputError, match="pooling=cls"):
        bsx.get_metric("sentence:pooling=cls", encoders=bsx.Encoders(model=tiny_model("bert"), context=1))


def test_scores_by_document_of_several_columns_of_candidates(cli: Callable[..., Any], tmp_path: Path) -> None:
    systems = {"one": [*CANDIDATES, "new words"], "two": [*CANDIDATES[::-1], "words"]}
    columns = {"document": [*DOCUMENTS, "b"], **systems, "reference": [*REFERENCES, ""]}
    file = write_columns(tmp_path / "wide.tsv", columns)
    options = ("--metrics", "chrf", "--candidate", "one,two", "--document", "document", "--format", "json")
    found = {(row["document"], row["system"]): row for row in json.loads(cli("score", file, *options).out)["documents"]}
    assert {key: (row["segments"], row["empty"]) for key, row in found.items()} == {
        (document, system): n for system in systems for document, n in (("a", (3, 0)), ("b", (2, 1)))
    }
    for system, candidates in systems.items():
        for document, rows in (("a", slice(3)), ("b", slice(3, 4))):
            scores = bsx.get_metric("chrf").score(candidates[rows], REFERENCES[rows])
            row = found[document, system]
            assert row["scores"]["chrf"] == pytest.approx(scores.system, abs=1e-9)
            # A candidate without a reference counts as nothing in the mean.
            assert row["means"]["chrf"] == pytest.approx(scores.values.sum() / row["segments"], abs=1e-9)
