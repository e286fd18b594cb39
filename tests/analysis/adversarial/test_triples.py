"""Paraphrase pairs and triples: counts by hand, the published triples, and builders."""

from __future__ import annotations

import functools
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")
from bsx.analysis.adversarial.build_triples import (
    Tagged,
    build_paws,
    clean_table6,
    lexical_overlap,
    overlaps,
    permute_nouns,
)
from bsx.analysis.adversarial.challenge import challenge
from bsx.analysis.adversarial.pairs import PairsResult, detect_pairs, easy_to_hard
from bsx.analysis.adversarial.triples import TriplesResult, prefer_paraphrase
from bsx.analysis.datasets.challenge import MinimalPair
from bsx.analysis.datasets.pairs import load_pairs
from bsx.analysis.datasets.triples import Triple, load_triples
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import TablePart
from bsx.analysis.present.significance import standing
from bsx.analysis.stats.detection import roc_auc
from bsx.errors import InputError, ModelUnavailableError, UnknownNameError
from tests.helpers.tables import write_plain


def test_preferences_counted_by_hand() -> None:
    found = prefer_paraphrase({"words": ([1.0, 2, 1], [3.0, 0, 1])}, worst=2).results[0]
    assert (found.first, found.ties, found.n) == (1, 1, 3)
    assert (found.mean_paraphrase, found.mean_nonparaphrase) == pytest.approx((4 / 3, 4 / 3))


def test_triples_tests_worst_and_what_is_left_out() -> None:
    good = {"a": [1.0, 2, 3, 4, np.nan], "b": [0.0, 0, 9, 9, 1]}
    bad = {"a": [0.5, 3, 1, 4, 0], "b": [1.0, 1, 1, 1, 0]}
    scores: dict[str, Any] = {name: (good[name], bad[name]) for name in good}
    with pytest.raises(InputError, match="a of the paraphrase: 1 missing values"):
        prefer_paraphrase(scores)
    result = prefer_paraphrase(scores, nan="omit", worst=2, correction="holm")
    assert [one.n for one in result.results] == [4, 4]
    (test,) = result.tests
    assert (test.n, test.only_a, test.only_b, test.both) == (4, 1, 1, 1)
    assert test.p_adjusted == test.p_two_sided
    assert [(one.metric, one.row) for one in result.worst] == [("a", 2), ("a", 4), ("b", 1), ("b", 2)]
    later = prefer_paraphrase({"a": (good["a"][::-1], bad["a"][::-1])}, nan="omit", worst=1)
    assert [one.row for one in later.worst] == [4]  # a place among the given triples, not among those kept
    assert TriplesResult.from_dict(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()


@pytest.mark.parametrize("kind", ["pairs", "triples", "challenge"])
def test_a_best_is_named_only_where_a_test_says_so(kind: str) -> None:
    """What a result says of its metrics is said by `standing`, of its own figures and tests."""
    noise, labels = np.random.default_rng(5).normal(size=(3, 80)), np.arange(80) % 2
    scores = {"good": labels * 3 + noise[0], "alike": labels * 3 + noise[1], "poor": noise[2]}
    sides = {name: (values[1::2], values[::2]) for name, values in scores.items()}
    if kind == "challenge":
        rows = [MinimalPair("g", "b", "r", None, "p", "", "", str(i), "") for i in range(40)]
        result: Any = challenge(rows, sides)
        values = {name: one.overall.rate for name, one in result.metrics.items() if one.overall is not None}
    else:
        result = prefer_paraphrase(sides) if kind == "triples" else detect_pairs(labels, scores, resamples=50)
        values = {one.metric: one.rate if kind == "triples" else one.auc for one in result.results}
    how = "DeLong tests, uncorrected" if kind == "pairs" else "McNemar tests, uncorrected"
    best, told, said = standing(values, result.tests, alpha=0.05, how=how)
    assert (best in ("good", "alike"), told) == (True, False)
    assert f" {best} is {said}." in result.answer


def test_splits_hold_every_triple_once() -> None:
    rng = np.random.default_rng(2)
    gap = np.round(rng.random(83), 1)
    good, bad = rng.normal(size=(2, 83))
    result = prefer_paraphrase({"m": (good, bad)}, gap=gap, bins=4)
    assert sum(s.n for s in result.splits) == 83
    for i, s in enumerate(result.splits):
        last = i == len(result.splits) - 1
        inside = (gap >= s.low) & ((gap <= s.high) if last else (gap < s.high))
        assert s.n == inside.sum()
        assert s.rate == pytest.approx((good > bad)[inside].mean())
        assert s.ci[0] < s.rate < s.ci[1]
    one = prefer_paraphrase({"m": (good, bad)}, gap=np.ones(83), bins=4).splits
    assert [(s.low, s.high, s.n) for s in one] == [(1, 1, 83)]


def test_pairs_and_the_drop_to_a_hard_set() -> None:
    rng = np.random.default_rng(3)
    labels = np.arange(100) % 2
    easy = {"a": labels * 2 + rng.normal(size=100), "b": rng.normal(size=100)}
    hard = {"b": rng.normal(size=80), "a": rng.normal(size=80)}
    result = detect_pairs(labels, easy, resamples=50, correction="holm")
    assert [one.auc for one in result.results] == [roc_auc(labels, v).estimate for v in easy.values()]
    assert [(test.a, test.b) for test in result.tests] == [("a", "b")]
    assert result.tests[0].p_adjusted == result.tests[0].p_two_sided
    assert PairsResult.from_dict(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()
    drops = easy_to_hard((labels, easy), (labels[:80], hard))
    assert drops["a"].value_a == result.results[0].auc
    assert drops["a"].difference == pytest.approx(drops["a"].value_a - roc_auc(labels[:80], hard["a"]).estimate)
    assert drops["a"].p < 0.001 < drops["b"].p
    near = easy_to_hard((labels, {"a": labels + easy["b"] / 9}), (labels, {"a": easy["b"] / 9 - labels}))["a"]
    assert near.difference > 0.99
    assert near.ci[1] == 1  # and not beyond, as the normal approximation has it
    with pytest.raises(InputError, match="have other metrics: a, b and a"):
        easy_to_hard((labels, easy), (labels[:80], {"a": hard["a"]}))
    with pytest.raises(InputError, match="there is no metric"):
        detect_pairs(labels, {})
    with pytest.raises(InputError, match="labels: all 100 items have the label 1"):
        detect_pairs(np.ones(100), easy)


def test_published_preferences(shared: Path) -> None:
    """All 27 rates of the reference values: counts exactly, shares and means to 8 digits, as they are given."""
    content = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))["figure3_preference"]
    tables = {name: load_triples(shared / f"data/kaster2021/{name}.tsv") for name in ("freitag", "paws")}
    assert all(not table.notes for table in tables.values())
    checked = 0
    for key, expected in content.items():
        name, n, metric = key.split("_", 2)
        good, bad = (side[: int(n)] for side in tables[name].scores[metric])
        found = prefer_paraphrase({metric: (good, bad)}, resamples=50).results[0]
        assert (found.first, found.ties, found.n) == (expected["prefers_B"], expected["ties"], expected["n"])
        assert [found.rate, *found.ci] == pytest.approx([expected["rate"], *expected["wilson95"]], abs=1e-8)
        means = [found.mean_paraphrase, found.mean_nonparaphrase, found.margin]
        assert means == pytest.approx([expected[k] for k in ("mean_B", "mean_C", "mean_diff")], abs=1e-8)
        checked += 1
    assert checked == 27


@pytest.mark.slow
def test_published_overlaps(shared: Path) -> None:
    """Table 6 to the four digits given, after its clean-up and before."""
    pytest.importorskip("nltk")
    content = json.loads((shared / "reference_values.json").read_text(encoding="utf-8"))["table6"]
    for name in ("freitag", "paws"):
        triples = load_triples(shared / f"data/kaster2021/triples-{name}.tsv").triples
        cleaned = [Triple(clean_table6(a), clean_table6(b), clean_table6(c)) for a, b, c, _ in triples]
        low, high = overlaps(cleaned, lexical_overlap())
        expected = content[name]
        key = "computed_cleaned" if name == "freitag" else "computed_all300_cleaned"
        assert [low.mean(), high.mean(), len(low)] == pytest.approx(expected[key], abs=6e-5)
        assert [round(low.mean(), 2), round(high.mean(), 2)] == expected["published"][:2]
        if name == "paws":
            first = [low[:100].mean(), high[:100].mean(), 100]
            assert first == pytest.approx(expected["computed_first100_cleaned"], abs=6e-5)
            # The script's sum starts at 1: it adds 1/300.
            assert low.mean() + 1 / 300 == pytest.approx(expected["with_off_by_one_init"]["all300_AB"], abs=6e-5)
        else:
            raw = [values.mean() for values in overlaps(triples, lexical_overlap())]
            assert raw == pytest.approx(expected["computed_raw_text"], abs=1e-4)  # NLTK 3.5's Punkt is a download


def test_paws_triples_follow_the_rule(shared: Path) -> None:
    pytest.importorskip("nltk")
    overlap = functools.cache(lexical_overlap())
    published = load_triples(shared / "data/kaster2021/triples-paws.tsv").triples
    rows = load_pairs(shared / "data/paws/paws-wiki-test.tsv")
    pairs = list(zip(rows.texts("reference"), rows.texts("candidate"), map(int, rows.numbers("label")), strict=True))
    built = build_paws(pairs, overlap=overlap)
    assert len(built) == 300
    for low, high in (overlaps(published, overlap), overlaps(built, overlap)):
        assert (low < high).all()
        assert (np.diff(high - low) <= 1e-12).all()
    anchors = {t.anchor for t in built} & {t.anchor for t in published}
    assert len(anchors) == 265  # theirs went through a Python set, whose order no two runs share
    least = build_paws(pairs, overlap=overlap, keep=100, by="overlap")
    assert (np.diff(overlaps(least, overlap)[0]) >= 0).all()
    every = build_paws(pairs, overlap=overlap, keep=None)
    used = [text for t in every for text in t[:3]]
    assert len(used) == len(set(used))
    assert {t.row for t in built} <= set(range(1, 8001))


def test_paws_rule_on_a_handful() -> None:
    pairs = [
        ("a b c d", "d c b a", 0),  # C of anchor "a b c d": all words
        ("a b c d", "a b x y", 0),
        ("a q r s", "a b c d", 1),  # B: least overlap
        ("a b c z", "a b c d", 1),
        ("m n", "m o", 0),
        ("m n o", "m n", 1),  # overlaps more than its C: no triple
    ]
    overlap = lexical_overlap(tokenize="whitespace")
    assert build_paws(pairs, overlap=overlap) == (Triple("a b c d", "a q r s", "d c b a", 1),)
    with pytest.raises(InputError, match="no triple can be built"):
        build_paws(pairs[:2], overlap=overlap)


def by_case(texts: Sequence[str]) -> Iterator[Tagged | None]:
    """Take capitalised words for nouns."""
    for text in texts:
        words = text.split()
        yield Tagged(words, [i for i, word in enumerate(words) if word[0].isupper()]) if words else None


def reordered(rng: random.Random, n: int) -> list[int]:
    """Return the first order drawn of n places that is another than theirs."""
    order = list(range(n))
    while order == list(range(n)):
        rng.shuffle(order)
    return order


def test_nouns_change_places_and_nothing_else() -> None:
    texts = ["the Dog saw a Cat", "one Dog ran", "", "A B C D", "Cat and Cat"]
    made = permute_nouns(texts, ["p"] * 5, by_case, seed=5)
    assert (made.dropped, made.same) == ((2, 3), (5,))
    assert [t.row for t in made.triples] == [1, 4, 5]
    assert made.triples[0].nonparaphrase == "the Cat saw a Dog"
    for triple in made.triples:
        assert Counter(triple.nonparaphrase.split()) == Counter(triple.anchor.split())
    rng = random.Random(5)  # noqa: S311 - a seed whose first order is no other
    expected = [reordered(rng, n) for n in (2, 4, 2)]  # one generator for all texts; those dropped draw nothing
    assert made.triples[1].nonparaphrase.split() == ["ABCD"[i] for i in expected[1]]
    assert permute_nouns(texts, ["p"] * 5, by_case, seed=5) == made
    with pytest.raises(InputError, match="none of 1 texts has two nouns"):
        permute_nouns(["a"], ["b"], by_case)


def moved(before: Sequence[str], after: Sequence[str]) -> list[int]:
    return [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]


def fits(before: Sequence[str], after: Sequence[str], order: Sequence[int]) -> bool:
    """Whether nouns at unknown places, put in this order, turn one text into the other; words that stay say nothing."""
    places, changed = moved(before, after), [j for j, origin in enumerate(order) if j != origin]
    if len(places) != len(changed):  # equal nouns changed places; this test leaves such texts open
        repeated = sum(n - 1 for word, n in Counter(before).items() if word.isalpha())
        return 0 < len(changed) - len(places) <= 2 * repeated
    at = dict(zip(changed, places, strict=True))
    return all(after[at[j]] == before[at[order[j]]] for j in changed)


def test_the_published_permutations_are_those_of_seed_42(shared: Path) -> None:
    """Which words NLTK's model took for nouns cannot be seen, but how many fits the generator's next orders can.

    A search over the number of nouns of each text follows one `random.Random(42)` through the first 120 published
    triples. It stays alive; with another seed, or another rule for putting the words, it dies within 80.
    """
    pytest.importorskip("nltk")
    from bsx.analysis.factors.treebank import treebank_tokens

    triples = load_triples(shared / "data/kaster2021/triples-freitag.tsv").triples
    assert len(triples) == 1452
    texts = [(treebank_tokens(t.anchor), t.nonparaphrase.split(" ")) for t in triples]
    same_words = [sorted(a) == sorted(c) for a, c in texts]
    assert sum(same_words) == 1450  # Punkt cuts two abbreviations otherwise
    assert sum(a == c for a, c in texts) == 5

    def survives(seed: int) -> int:
        rng = random.Random(seed)  # noqa: S311
        states = {rng.getstate()}
        for number, (before, after) in enumerate(texts[:120]):
            following = set()
            for state in states:
                least = max(2, len(moved(before, after)))
                for nouns in range(least, least + 4):
                    rng.setstate(state)
                    if fits(before, after, reordered(rng, nouns)):
                        following.add(rng.getstate())
            states = set(sorted(following)[:400])
            if not states:
                return number
        return 120

    assert survives(42) == 120
    assert survives(43) < 80


def test_taggers(tmp_path: Path) -> None:
    pytest.importorskip("nltk")
    from bsx.analysis.adversarial.build_triples import conllu_tagger, nltk_tagger

    rows = [("The", "DET"), ("dog", "NOUN"), ("saw", "VERB"), ("cats", "NOUN"), (".", "PUNCT")]
    lines = [f"{i}\t{w}\t_\t{tag}\t_\t_\t{0 if i == 3 else 3}\t_\t_\t_" for i, (w, tag) in enumerate(rows, start=1)]
    file = write_plain(tmp_path / "p.conllu", *lines, "")
    assert list(conllu_tagger(file)(["The dog saw cats."])) == [Tagged(tuple(w for w, _ in rows), [1, 3])]
    import nltk

    try:
        nltk.pos_tag(["dog"])
    except LookupError:
        with pytest.raises(ModelUnavailableError, match="averaged_perceptron_tagger_eng"):
            list(nltk_tagger()(["The dog saw cats."]))
    else:
        tagged = next(iter(nltk_tagger()(["The dog saw the cat."])))
        assert tagged is not None
        assert list(tagged.nouns) == [1, 4]


def test_stanza_finds_nouns(shared: Path) -> None:
    pytest.importorskip("stanza")
    from bsx.analysis.adversarial.build_triples import stanza_tagger

    tagger = stanza_tagger("en", folder=shared / "data/models/stanza_en")
    first, blank = tagger(["The teacher praised the parents for their patience.", ""])
    assert first is not None
    assert blank is None
    assert [first.words[i] for i in first.nouns] == ["teacher", "parents", "patience"]


def test_loading_triples(tmp_path: Path) -> None:
    head = "id\tlabel\tsentence1\tsentence2\tm\tnote"
    rows = ["1\t1\ta\tb\t0.5\tx", "2\t0\tc\td\t0.1\tx", "3\t0\ta\te\t0.7\tx", "4\t1\tc\tf\t\tx"]
    table = load_triples(write_plain(tmp_path / "t.tsv", head, *rows))
    assert table.triples == (Triple("a", "b", "e", 1), Triple("c", "f", "d", 2))
    assert list(table.scores) == ["m"]
    assert table.scores["m"][0] == pytest.approx([0.5, np.nan], nan_ok=True)
    assert table.scores["m"][1].tolist() == [0.7, 0.1]
    assert "not taken for metrics: note" in table.notes[0]
    with pytest.raises(InputError, match="row 2: the anchor 'c' has 0 paraphrases .* and 1 non-paraphrases"):
        load_triples(write_plain(tmp_path / "u.tsv", head, *rows[:3]))
    with pytest.raises(InputError, match="line 2, column 'label' is '2', not 0 or 1"):
        load_triples(write_plain(tmp_path / "v.tsv", head, "1\t2\ta\tb\t1\tx"))
    with pytest.raises(InputError, match="line 2, column 'note' is 'x', not a finite number"):
        load_triples(tmp_path / "t.tsv", ["note"])
    with pytest.raises(UnknownNameError, match="has no column 'label'"):
        load_triples(write_plain(tmp_path / "w.tsv", "anchor\tparaphrase", "a\tb"))
    wide = load_triples(write_plain(tmp_path / "x.tsv", "anchor\tparaphrase\tnonparaphrase", "a\tb\tc"))
    assert wide.triples == (Triple("a", "b", "c", 1),)
    with pytest.raises(InputError, match="has one row for two scores"):
        load_triples(tmp_path / "x.tsv", ["m"])


def test_loading_pairs(tmp_path: Path) -> None:
    file = write_plain(
        tmp_path / "p.tsv", "id\tquestion1\tquestion2\tis_duplicate\tm", "1\ta\tb\t1\t2", "2\tc\tNS\t0\t"
    )
    table = load_pairs(file, metrics=["m"])
    assert (table.texts("reference"), table.texts("candidate")) == (["a", "c"], ["b", "NS"])
    assert table.numbers("m") == pytest.approx([2, np.nan], nan_ok=True)
    assert any("1 rows with the placeholder 'NS'" in note for note in table.notes)
    bare = load_pairs(write_plain(tmp_path / "q.tsv", "L\tm", "1\t2", "0\t3"), label="L", metrics=["m"])
    assert "candidate" not in bare
    with pytest.raises(UnknownNameError, match="has no column 'label'"):
        load_pairs(tmp_path / "q.tsv")


def test_bold_is_what_nothing_higher_beats() -> None:
    rng = np.random.default_rng(3)
    labels = np.tile([0, 1], 60)
    scores = {"good": labels + rng.normal(0, 0.4, 120), "poor": rng.normal(0, 1, 120)}
    result = detect_pairs(labels, scores, resamples=50)
    (main, *_) = (part for part in parts_of(result) if isinstance(part, TablePart))
    assert {row[0].text: any(cell.strong for cell in row) for row in main.rows} == {"good": True, "poor": False}
