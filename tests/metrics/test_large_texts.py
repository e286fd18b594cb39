"""One text may be larger than the budget: it is refused with the numbers, before anything is computed of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import bsx
from bsx.analysis.factors.base import SentencePairs
from bsx.encode.tokenizer import Tokenizer, load_tokenizer
from bsx.errors import InputError
from bsx.support import memory

REFERENCE = "the dog sat on a mat"
LARGE = "the cat sat on a mat " * 100_000  # 2 MB, which a tokenizer takes 440 MB for


@pytest.mark.parametrize("spec", ["bertscore", "bertr", "sbert", "moverscore", "bleurt", "chrf", "bleu", "rouge-l"])
def test_a_text_beyond_the_budget_is_refused(spec: str, tiny_model: Callable[[str], str]) -> None:
    pytest.importorskip("rouge_score")
    model = f":model={tiny_model('bleurt')}" if spec == "bleurt" else ":layer=2" if spec == "bertscore" else ""
    metric = bsx.get_metric(spec + model, encoders=bsx.Encoders(memory="100MB", model=tiny_model("bert")))
    for texts in (["a", LARGE], ["a", "b"]), (["a", "b"], ["a", LARGE]):
        with pytest.raises(InputError, match=r"51[0-9]\.[0-9] MiB of memory, and 100\.0 MiB may be used") as raised:
            metric.score(*texts)
        assert "2.0 MiB" in str(raised.value)
        assert len(str(raised.value)) < 300


def test_a_quarter_of_a_mebibyte_is_always_read(tiny_model: Callable[[str], str]) -> None:
    text = LARGE[:250_000]
    small = bsx.Scorer(model=tiny_model("bert"), layer=2, memory="1MB")
    scores = small.score([text, "rain"] * 3, [REFERENCE] * 6)
    assert scores.truncated.tolist() == [0, 2, 4]
    large = bsx.Scorer(model=tiny_model("bert"), layer=2).score([text, "rain"] * 3, [REFERENCE] * 6)
    assert scores.f1 == pytest.approx(large.f1, abs=1e-5)


def test_windows_pairs_and_idf(tiny_model: Callable[[str], str]) -> None:
    every = bsx.Scorer(model=tiny_model("bert"), all_layers=True, long="window", memory="1MB")
    with pytest.raises(InputError, match=r"a text of 100,000 tokens takes about 97.7 MiB .* 64.0 MiB may be used"):
        every.score(["a " * 100_000], [REFERENCE])
    one = bsx.Scorer(model=tiny_model("bert"), layer=1, long="window", memory="1MB")
    with pytest.raises(InputError, match=r"matching 4,002 with 3,002 tokens takes about 91\.7 MiB"):
        one.score(["rain", "a " * 4_000], ["rain", "a " * 3_000])
    with pytest.raises(InputError, match="matching 4,002 with 3,002 tokens"):
        one.align("a " * 4_000, "a " * 3_000)
    with pytest.raises(InputError, match=r"64\.0 MiB may be used"):
        one.count_idf([LARGE])
    # With room for it, what was refused is scored.
    assert bsx.Scorer(model=tiny_model("bert"), layer=1, long="window", memory="200MB").score(
        ["a " * 4_000], ["a " * 3_000]
    )


def test_quadratic_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rouge_score")
    text = "one two three four five six seven " * 400
    for spec, message in (("ter", "754"), ("rouge-l", "73")):
        with pytest.raises(InputError, match=rf"segment 2: .* 13\.3 KiB with {spec} takes about {message}"):
            bsx.get_metric(spec, encoders=bsx.Encoders(memory="1MB")).score(["a", text], ["a", text])
    with pytest.raises(InputError, match="with ter takes about"):
        bsx.get_metric("ter", encoders=bsx.Encoders(memory="1MB")).score_matrix([text], [text])
    monkeypatch.setattr(memory, "free_memory", lambda: 2**20)
    monkeypatch.setattr("bsx.analysis.factors.base.free_memory", lambda: 2**20)
    with pytest.raises(InputError, match=r"row 2: comparing sentences of 13,600 and 13,600 letters takes about"):
        SentencePairs(["a", text], ["b", text])


def test_a_model_without_a_limit_compares_all_tokens(tiny_model: Callable[[str], str]) -> None:
    inner = load_tokenizer(Path(tiny_model("bert")))
    inner.model_max_length = int(1e30)
    tokenizer = Tokenizer(inner, position_limit=None, budget=2**20, pair_bytes=16 * 12)
    assert len(tokenizer.tokenize(["a " * 500])[0].ids) == 502
    with pytest.raises(InputError, match=r"a text of 1,000 tokens takes about 183\.1 MiB"):
        tokenizer.tokenize(["a", "a " * 1_000])


def test_large_pictures_are_refused(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    scorer = bsx.Scorer(model=tiny_model("bert"), layer=1, long="window")
    alignment = scorer.align("a " * 150, "the " * 100)
    with pytest.raises(InputError, match=r"152 x 102 tokens make 15,504 cells, and at most 10,000 .* or write \.html"):
        bsx.draw_alignment(alignment, tmp_path / "a.png")
    bsx.draw_alignment(alignment, str(tmp_path / "a.html"))
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]
