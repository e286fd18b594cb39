"""Sentences before a text, of the references of its document: encoded with it, and neither matched nor weighted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bsx
from bsx.data.corpus import BREAK, InContext, MemoryCorpus
from bsx.data.sidecar import FIGURES
from bsx.errors import InputError
from tests.conftest import Cli, Model

REFERENCES = ["the old man sat", "rain on the river", "it had rain", "the bank"]
CANDIDATES = ["an old man sat", "the rain", "it rain", "a river bank"]
DOCUMENTS = ["a", "a", "a", "b"]


def texts(sentences: int, documents: list[str] = DOCUMENTS) -> list[tuple[str, str]]:
    corpus = InContext(MemoryCorpus({"x": CANDIDATES}, REFERENCES, documents=documents), sentences)
    return [(segment.candidates[0], segment.references[0]) for segment in corpus]


def test_which_sentences_are_the_context() -> None:
    lead = f"{REFERENCES[0]}{BREAK}"
    assert texts(1)[0] == (CANDIDATES[0], REFERENCES[0])
    assert texts(1)[1] == (lead + CANDIDATES[1], lead + REFERENCES[1])
    assert texts(1)[2][0] == f"{REFERENCES[1]}{BREAK}{CANDIDATES[2]}"
    assert texts(2)[2][1] == f"{lead}{REFERENCES[1]}{BREAK}{REFERENCES[2]}"
    assert texts(5)[3] == (CANDIDATES[3], REFERENCES[3])  # another document
    with pytest.raises(InputError, match="segment 3: the document 'a' ended further up"):
        texts(1, ["a", "b", "a", "c"])


@pytest.mark.parametrize("kind", ["bert", "roberta", "albert"])
def test_context_is_encoded_and_not_matched(kind: str, tiny_model: Model) -> None:
    """An independent computation: encode by hand, keep the text's own vectors, match greedily."""
    scorer = bsx.Scorer(model=tiny_model(kind), layer=2, context=2, backend="torch")
    found = scorer.score(CANDIDATES, REFERENCES, documents=DOCUMENTS)
    from transformers import AutoModel

    tokenizer = scorer.tokenizer
    model = AutoModel.from_pretrained(tiny_model(kind)).eval()
    separator = tokenizer._inner.sep_token_id

    def vectors(text: str, before: list[str]) -> tuple[torch.Tensor, np.ndarray[Any, Any]]:
        own = tokenizer.contents([text])[0]
        context: list[int] = []
        for sentence in tokenizer.contents(before):
            context += sentence + ([] if separator is None else [separator])
        ids = [*tokenizer.prefix, *context, *own, *tokenizer.suffix]
        with torch.inference_mode():
            states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[2][0]
        start = len(tokenizer.prefix)
        keep = [*range(start), *range(start + len(context), len(ids))]
        weights = np.array([i not in (*range(start), *range(len(ids) - len(tokenizer.suffix), len(ids))) for i in keep])
        return torch.nn.functional.normalize(states[keep], dim=-1), weights

    befores: list[list[str]] = [[], REFERENCES[:1], REFERENCES[:2], []]
    for place, before in enumerate(befores):
        (left, own), (right, theirs) = vectors(CANDIDATES[place], before), vectors(REFERENCES[place], before)
        similar = (left @ right.T).numpy()
        precision, recall = similar.max(axis=1)[own].mean(), similar.max(axis=0)[theirs].mean()
        assert found.precision[place] == pytest.approx(precision, abs=2e-5)
        assert found.recall[place] == pytest.approx(recall, abs=2e-5)
    assert "|context:2*reference|" in str(found.signature)


def test_the_text_keeps_its_place_where_the_limit_is_short(tiny_model: Model) -> None:
    tokenizer = bsx.Scorer(model=tiny_model("bert"), layer=1, context=1).tokenizer
    limit = tokenizer.max_tokens
    assert limit is not None
    own = "rain river bank"
    whole = tokenizer.tokenize([f"{'old ' * limit}{BREAK}{own}"])[0]
    assert len(whole.spans[0].ids) == limit
    assert (whole.lost, whole.ids.tolist()) == (0, tokenizer.tokenize([own])[0].ids.tolist())
    assert whole.spans[0].ids[-len(whole.ids) :][0] != tokenizer.contents(["old"])[0][0]
    long = tokenizer.tokenize([f"old{BREAK}{'rain ' * 2 * limit}"])[0]
    assert (long.lost, len(long.ids)) == (2 * limit - (limit - 2), limit)


def test_idf_counts_no_context(tiny_model: Model) -> None:
    with_context = bsx.Scorer(model=tiny_model("bert"), layer=1, context=2, idf=True)
    without = bsx.Scorer(model=tiny_model("bert"), layer=1, idf=True)
    one = with_context.score(CANDIDATES, REFERENCES, documents=["a", "b", "c", "d"])
    assert one.f1 == pytest.approx(without.score(CANDIDATES, REFERENCES).f1, abs=1e-5)
    digest = str(with_context.score(CANDIDATES, REFERENCES, documents=DOCUMENTS).signature["idf"])
    assert digest == str(one.signature["idf"])


def test_what_goes_together(tiny_model: Model) -> None:
    scorer = bsx.Scorer(model=tiny_model("bert"), layer=1, context=2)
    with pytest.raises(InputError, match="go together"):
        scorer.score(CANDIDATES, REFERENCES)
    with pytest.raises(InputError, match="go together"):
        bsx.Scorer(model=tiny_model("bert"), layer=1).score(CANDIDATES, REFERENCES, documents=DOCUMENTS)
    with pytest.raises(InputError, match="documents: 3; numbers must match"):
        scorer.score(CANDIDATES, REFERENCES, documents=DOCUMENTS[:3])
    with pytest.raises(InputError, match="an alignment is of two texts alone"):
        scorer.align("a", "b")


def test_from_the_command_line(cli: Cli, tiny_model: Model, tmp_path: Path) -> None:
    file, out = tmp_path / "docs.tsv", tmp_path / "out.tsv"
    rows = zip(DOCUMENTS, CANDIDATES, REFERENCES, strict=True)
    lines = ["doc\tsystem\tcandidate\treference"]
    for document, candidate, reference in rows:  # two systems, one below the other, in turn
        lines += [f"{document}\t{name}\t{candidate}\t{reference}" for name in "xy"]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = ["-m", tiny_model("bert"), "--layer", 2]
    done = cli("score", file, *model, "--context", 2, "--document", "doc", "-o", out)
    assert done.status == 0, done.err
    head = out.read_text(encoding="utf-8").split("\n")[0].split("\t")
    assert set(head) >= {*lines[0].split("\t"), *FIGURES}
    found = np.loadtxt(out, delimiter="\t", skiprows=1, usecols=[head.index(name) for name in FIGURES])
    scores = bsx.Scorer(model=tiny_model("bert"), layer=2, context=2).score(CANDIDATES, REFERENCES, documents=DOCUMENTS)
    for start in (0, 1):
        assert found[start::2, 2] == pytest.approx(scores.f1, abs=1e-5)
    assert "|context:2*reference|" in out.with_name("out.tsv.signature.txt").read_text(encoding="utf-8")
    for wrong, message in (
        (["--context", 2], "context needs document"),
        (["--context", 2, "--document", "dok"], "has no column 'dok'"),
        (["--context", 2, "--document", "doc", "--metrics", "chrf"], "context: chrf takes none"),
        (["--context", 2, "--document", "doc", "--rescale", "--lang", "en"], "baselines were measured without context"),
    ):
        refused = cli("score", file, *(model if "--metrics" not in wrong else model[:2]), *wrong)
        assert (refused.status, message in refused.err) == (2, True), refused.err
