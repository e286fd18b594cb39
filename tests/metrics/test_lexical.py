"""Metrics on words and characters, which count many pairs at once, give the digits that packages give each pair."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from bsx.data.corpus import MemoryCorpus
from bsx.encode.session import Encoders
from bsx.metrics.base import get_metric
from bsx.metrics.core import Values
from bsx.metrics.lexical import ngrams
from bsx.metrics.lexical.ngrams import Cutter13a, count_ngrams, letters_of, numbered
from bsx.metrics.lexical.shifts import Reference
from bsx.metrics.run import survey

PIECES = (
    *("a", "b", "the", "The", "cat", ".", ",", "..", "1.5", "3-4", "-", "(x)", "'s", "!", "“q”", "x" * 40),
    *("&amp;", "&quot;", "<skipped>", "中文", "語", "é", "e\u0301", "العربية", "שלום", "😀", "🇪🇺"),
    *("\u2028", "\u00a0", "\x1c", "\u200b", " ", "\t", "ab\ncd", "-\n", "\ue000", "\x01"),
)


def some_texts(seed: int, number: int, most: int = 25) -> list[str]:
    rng = random.Random(seed)  # noqa: S311
    return [rng.choice((" ", "")).join(rng.choices(PIECES, k=rng.choice((0, 1, 2, 5, most)))) for _ in range(number)]


CANDIDATES = ["", " ", "a", "", "a b c", *some_texts(1, 120)]
REFERENCES = [[""], [" "], ["a"], ["a"], [""], *[some_texts(i, 1 + i % 3) for i in range(2, 122)]]


def present(references: Sequence[str]) -> list[str]:
    return [text for text in references if text.strip()] or [""]


def as_they_are(spec: str) -> Any:
    return get_metric(spec, encoders=Encoders(normalize="none"))


def by_characters(rows: Sequence[tuple[str, ...]], orders: int) -> Values:
    texts = [text for row in rows for text in row]
    return count_ngrams(letters_of(texts), np.arange(len(texts)), np.array([len(row) for row in rows]), orders)


CHRF: list[dict[str, Any]] = [
    {},
    {"word_order": 2},
    {"word_order": 1, "lowercase": True, "eps_smoothing": True, "beta": 3},
    {"whitespace": True, "char_order": 12},
    {"char_order": 1},
    {"char_order": 4, "beta": 3, "lowercase": True, "whitespace": True},
    {"eps_smoothing": True},
]
BLEU: list[dict[str, Any]] = [
    {"tokenize": "13a"},
    {"tokenize": "13a", "lowercase": True, "smooth_method": "floor"},
    {"tokenize": "intl", "smooth_method": "add-k", "smooth_value": 0.5},
    {"tokenize": "zh", "smooth_method": "none", "max_ngram_order": 6},
    {"tokenize": "none", "effective_order": False},
    {"tokenize": "none", "max_ngram_order": 2},
    {"tokenize": "char", "lowercase": True},
    {"tokenize": "13a", "smooth_method": "add-k"},
]
TER: list[dict[str, Any]] = [
    {"normalized": False, "asian_support": False},
    {"normalized": True, "asian_support": True, "no_punct": True, "case_sensitive": True},
]


def spelled(name: str, settings: dict[str, Any]) -> str:
    fields = ",".join(f"{key}={str(value).lower()}" for key, value in settings.items())
    return f"{name}:{fields}" if fields else name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "settings"),
    [(name, settings) for name, several in (("chrf", CHRF), ("bleu", BLEU), ("ter", TER)) for settings in several],
)
def test_segments_and_corpus_have_sacrebleus_digits(name: str, settings: dict[str, Any]) -> None:
    import sacrebleu.metrics as peers

    peer = getattr(peers, {"chrf": "CHRF"}.get(name, name.upper()))(
        **({"effective_order": True} if name == "bleu" else {}) | settings
    )
    found = as_they_are(spelled(name, settings)).score(CANDIDATES, REFERENCES)
    rows = [(one, [[other] for other in present(others)]) for one, others in zip(CANDIDATES, REFERENCES, strict=True)]
    statistics = [peer._extract_corpus_statistics([one], others)[0] for one, others in rows]
    # The corpus comes first: smoothing with add-k writes into the statistics that it is given.
    assert found.system == peer._aggregate_and_compute(statistics).score
    assert found.values.tolist() == [peer._compute_score_from_stats(list(row)).score for row in statistics]


@pytest.mark.parametrize("variant", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
@pytest.mark.parametrize("stemmer", [False, True])
def test_rouge_has_the_packages_digits(variant: str, stemmer: bool) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    peer = RougeScorer([variant], use_stemmer=stemmer)
    rows = zip(CANDIDATES, map(present, REFERENCES), strict=True)
    scores = [[peer.score(other, one)[variant] for other in others] for one, others in rows]
    for measure, field in (("f1", "fmeasure"), ("precision", "precision"), ("recall", "recall")):
        spec = f"rouge-l:variant={variant},tokenizer=ascii,stemmer={str(stemmer).lower()},measure={measure}"
        expected = [max(getattr(score, field) for score in row) for row in scores]
        assert as_they_are(spec).score(CANDIDATES, REFERENCES).values.tolist() == expected


def test_edits_with_shifts_are_sacrebleus_in_and_beyond_its_beam() -> None:
    from sacrebleu.metrics.lib_ter import translation_edit_rate

    rng = random.Random(5)  # noqa: S311
    sizes = [(18, 18)] * 60 + [(70, 70), (70, 35), (35, 70), (4, 120), (120, 4), (1, 90)] * 2
    for longest, other in sizes:
        kinds = rng.choice((2, 3, 8, 40)) if longest == other == 18 else 300
        words = [str(rng.randrange(kinds)) for _ in range(rng.randrange(longest // 2, longest + 1))]
        reference = [str(rng.randrange(kinds)) for _ in range(rng.randrange(other // 2, other + 1))]
        for _ in range(rng.randrange(5)):  # blocks in common, at other places
            block, start = words[: rng.randrange(1, 9)], rng.randrange(len(reference) + 1)
            reference[start : start + len(block)] = block
        assert Reference(reference).edits(words) == translation_edit_rate(words, reference)[0]


def test_edits_are_sacrebleus_where_the_beam_or_the_number_of_shifts_costs_some() -> None:
    from sacrebleu.metrics.lib_ter import translation_edit_rate

    # Without a beam, 30 words taken out and 30 put in.
    words = [f"a{i}" for i in range(30)] + [f"b{i}" for i in range(30)]
    reference = words[30:] + [f"c{i}" for i in range(30)]
    found = Reference(reference).edits(words)
    assert found == translation_edit_rate(words, reference)[0] != Reference(reference).edits(words[30:]) + 30
    # More than a thousand shifts are not tried.
    words, reference = ["a", "b", "a", "c"] * 5, ["b", "a", "c", "a"] * 3 + ["a", "b"] * 4
    assert Reference(reference).edits(words) == translation_edit_rate(words, reference)[0]


def test_words_of_13a_are_sacrebleus_also_after_what_is_known_was_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.metrics import bleu

    monkeypatch.setattr(ngrams, "_KNOWN", 200)
    peer = bleu.BLEU()
    cut = Cutter13a(peer.tokenizer._post_tokenizer._re)
    for seed in range(30):
        texts = [*some_texts(seed, 60, 9), *some_texts(seed + 1000, 40, 3)]
        words = [peer._preprocess_segment(text).split() for text in texts]
        numbers: dict[str, int] = {}
        one = cut(texts)
        assert one.lengths.tolist() == [len(text) for text in words]
        found = [text.tolist() for text in np.split(one.numbers, np.cumsum(one.lengths)[:-1])]
        for text, expected in zip(found, words, strict=True):
            for number, word in zip(text, expected, strict=True):
                assert numbers.setdefault(word, number) == number
        assert len(set(numbers.values())) == len(numbers)


def test_words_are_right_after_an_interrupt() -> None:
    class Interrupted:
        left = 3

        def sub(self, by: str, page: str) -> str:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return page

    rule: Any = Interrupted()
    cut = Cutter13a([(rule, "")])
    assert cut(["a b", "b"]).numbers.tolist() == [0, 1, 1]
    with pytest.raises(KeyboardInterrupt):
        cut(["c d e"])
    found = cut(["f e f", "", "c a"])
    assert found.lengths.tolist() == [3, 0, 2]
    assert found.numbers.tolist() == [0, 1, 0, 2, 3]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_number_of_threads_changes_no_bit(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(one, *others) for one, others in zip(CANDIDATES, REFERENCES, strict=True)]
    words, places = numbered([list(text) for row in rows for text in row]), np.arange(sum(map(len, rows)))
    many = np.array([len(row) for row in rows])
    expected = by_characters(rows, 6), count_ngrams(words, places, many, 4)
    started = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, number: int, **settings: Any) -> None:
            started.append(number)
            super().__init__(number, **settings)

    monkeypatch.setattr(ngrams, "_TOGETHER", 300)
    monkeypatch.setattr(ngrams, "threads", lambda: workers)
    monkeypatch.setattr(ngrams, "ThreadPoolExecutor", Pool)
    for one, other in zip(expected, (by_characters(rows, 6), count_ngrams(words, places, many, 4)), strict=True):
        assert np.array_equal(one, other)
    assert started == ([] if workers == 1 else [workers, workers])


def test_a_few_texts_start_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a thread for a few texts")

    monkeypatch.setattr(ngrams, "ThreadPoolExecutor", refused)
    monkeypatch.setattr(ngrams, "threads", lambda: 8)
    assert by_characters([("some words", "other words")] * 50, 6)[2, 0, 0] == 8


def test_counts_of_texts_of_any_alphabet() -> None:
    """More letters than bits: 20 bits each, of which six take 120."""
    letters = [chr(code) for code in range(0x20, sys.maxunicode, 97) if not 0xD800 <= code < 0xE000]
    text = "".join(letters)
    _, _, matches = by_characters([(text, text[: len(text) // 2]), ("ab" * 9, "ba" * 9), ("", "")], 6)
    assert matches[:, 0].tolist() == [len(text) // 2 - n for n in range(6)]
    assert matches[:, 1].tolist() == [18.0, 16.0, 16.0, 14.0, 14.0, 12.0]
    assert matches[:, 2].tolist() == [0.0] * 6


def test_uses_of_texts_are_not_counted_for_metrics_without_an_encoder() -> None:
    corpus = MemoryCorpus({"candidate": ["a", "a"]}, ["b", "b"])
    assert len(survey(corpus, "nfc").reused) == 2
    assert survey(corpus, "nfc", reused=False).reused == {}
    words, encoded = get_metric("chrf"), get_metric("bertscore", encoders=Encoders(model="minilm"))
    assert (words.encodes, words.bytes_per_token, encoded.encodes) == (False, 0, True)
    assert encoded.bytes_per_token > 0


@pytest.mark.parametrize(
    ("unit", "candidate", "reference", "overlap"),
    [
        ("words", "The the CAT", "the cat sat", 2 * 2 / 6),  # one "the" of two, whatever the case
        ("words", "the cat", "cat the the", 2 * 2 / 5),
        ("words", "a b", "c", 0.0),
        ("characters", "A bc", "abd", 2 * 2 / 6),  # white space does not count
        ("characters", "aab", "ab", 2 * 2 / 5),
    ],
)
def test_overlap_is_f1_of_what_is_shared(unit: str, candidate: str, reference: str, overlap: float) -> None:
    found = get_metric("overlap", unit=unit).score([candidate], [reference])
    assert found.values.tolist() == [pytest.approx(overlap)]


def test_length_counts_what_it_says() -> None:
    texts, others = ["ab  c", "x"], ["a b c d", "xyz"]
    for of, letters, words in (("candidate", [3, 1], [2, 1]), ("other", [4, 3], [4, 1])):
        assert get_metric("length", of=of, unit="characters").score(texts, others).values.tolist() == letters
        assert get_metric("length", of=of, unit="words").score(texts, others).values.tolist() == words
    assert get_metric("length").score(texts, others).values.tolist() == [3, 1]
    assert get_metric("overlap").score(["a b", "a b"], [["a c d", "a b"], ["c d", "a"]]).values.tolist() == [1, 2 / 3]


# -- every candidate against every reference at once --------------------------------------------------------------

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "The", "dog", "ran"]


def sentences(seed: int) -> list[str]:
    drawn = random.Random(seed)  # noqa: S311 - words for a test
    made = [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 12))) for _ in range(20)]
    return [*made, "", "  ", "the the the the the", "cat."]


@pytest.mark.parametrize(
    "spec",
    [
        *(spelled("bleu", settings) for settings in BLEU),
        *(spelled("chrf", settings) for settings in CHRF),
        "bleu:smooth_method=none,effective_order=false",
        "bleu:variant=coco",
        "sentbleu:lowercase=true",
        "chrf:char_order=15,beta=1",
    ],
)
def test_a_product_is_pair_by_pair(spec: str) -> None:
    metric = get_metric(spec)
    candidates, references = sentences(1), sentences(2)
    flat = metric.score([text for text in candidates for _ in references], references * len(candidates))
    found = metric.score_matrix(candidates, references)
    # The same operations; only the logarithms of NumPy and of the C library may differ in the last bit.
    np.testing.assert_allclose(found, flat.values.reshape(found.shape), rtol=1e-13, atol=1e-13)


def test_a_product_in_parts_is_the_product(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = get_metric("chrf")
    whole = metric.score_matrix(sentences(5), sentences(6))
    monkeypatch.setattr("bsx.metrics.lexical.ngrams._COLUMNS", 7)
    assert (metric.score_matrix(sentences(5), sentences(6)) == whole).all()
