"""Perturbations that read a parse: by hand, and on real treebanks where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bsx.analysis.factors.parses import Parse, ParseCache, read_conllu
from bsx.analysis.perturbations.names import names_of, word_spans
from bsx.analysis.perturbations.perturb import perturb


def parse(words: str) -> Parse:
    """Build a parse from words with their head, part of speech, relation and perhaps features: ``dog/3/NOUN/nsubj``."""
    rows = [(*word.split("/"), "")[:5] for word in words.split()]
    names = ("words", "heads", "upos", "deprels", "feats")
    parts: dict[str, list[Any]] = {
        name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    return Parse.of({**parts, "heads": [int(head) for head in parts["heads"]]})


DOG = parse(
    "The/2/DET/det dog/3/NOUN/nsubj/Number=Sing bit/0/VERB/root the/6/DET/det old/6/ADJ/amod "
    "man/3/NOUN/obj/Number=Sing in/8/ADP/case Rome/3/PROPN/obl ./3/PUNCT/punct"
)
I_SAW = parse("I/2/PRON/nsubj saw/0/VERB/root him/2/PRON/obj ./2/PUNCT/punct")
WHO = parse("Who/2/PRON/nsubj/PronType=Int saw/0/VERB/root him/2/PRON/obj")
NAMED = parse(
    "New/2/PROPN/nmod York/4/PROPN/nsubj 's/2/PART/case fell/0/VERB/root "
    "and/7/CCONJ/cc New/7/PROPN/nmod York/4/PROPN/conj rose/4/VERB/conj"
)


def one(
    text: str, name: str, tree: Parse | None, lang: str = "en", others: dict[str, Parse] | None = None
) -> str | None:
    texts, parses = [text, *(others or {})], [tree, *(others or {}).values()]
    result = perturb(texts, name, lang=lang, parses=parses)
    return result.texts[0] if result.changed[0] else None


def test_subject_and_object_change_places() -> None:
    assert one("The dog bit the old man in Rome.", "subject-object", DOG) == "The old man bit the dog in Rome."
    assert one("I saw him.", "subject-object", I_SAW) == "He saw me."
    assert one("Who saw him", "subject-object", WHO) is None
    tagged = Parse(DOG.words, (), DOG.upos, DOG.feats)
    assert one("The dog bit the old man in Rome.", "subject-object", tagged) is None
    assert one("The dog bit the old man in Rome.", "subject-object", None) is None


def test_names_keep_their_capital_and_others_lose_it() -> None:
    tree = parse("Rome/2/PROPN/nsubj conquered/0/VERB/root most/2/ADJ/obj")
    assert one("Rome conquered most", "subject-object", tree) == "Most conquered Rome"


def test_nouns_change_places() -> None:
    assert one("The dog bit the old man in Rome.", "noun-swap", DOG) == "The man bit the old dog in Rome."
    tree = parse("Hunde/2/NOUN/nsubj/Number=Plur jagen/0/VERB/root Katzen/2/NOUN/obj/Number=Plur")
    assert one("Hunde jagen Katzen", "noun-swap", tree, "de") is None  # no articles that tell their form
    assert one("I saw him.", "noun-swap", I_SAW) is None


def test_a_name_becomes_another_texts_name_everywhere() -> None:
    text = "New York's fell and New York rose"
    others = {"The dog bit the old man in Rome.": DOG}
    assert one(text, "entities", NAMED, others=others) == "Rome's fell and Rome rose"
    assert one(text, "entities", NAMED) is None  # no other name in the corpus
    assert names_of([text, *others], [NAMED, DOG], "en") == [("name", "New York"), ("name", "Rome")]


def tagged(*words: str, flat: int = -1) -> Parse:
    """Build a parse of names, the word at ``flat`` joined to the one before it."""
    return parse(" ".join(f"{word}/0/PROPN/{'flat' if at == flat else 'root'}" for at, word in enumerate(words)))


def test_a_name_becomes_one_of_its_own_kind_or_stays() -> None:
    on = parse("On/2/ADP/case Wednesday/0/PROPN/root")
    others = {"1.1262": tagged("1.1262"), "May": tagged("May"), "Ann Lee": tagged("Ann", "Lee", flat=1)}
    others |= {"NATO": tagged("NATO"), "G20": tagged("G20"), "%": tagged("%"), "May 3": tagged("May", "3")}
    assert one("On Wednesday", "entities", on, others=others) is None
    assert one("On Wednesday", "entities", on, others=others | {"Friday": tagged("Friday")}) == "On Friday"
    assert one("Jo Ray", "entities", tagged("Jo", "Ray", flat=1), others=others) == "Ann Lee"
    assert one("4.5", "entities", tagged("4.5"), others=others) == "1.1262"
    assert one("EU", "entities", tagged("EU"), others=others) == "NATO"
    assert one("%", "entities", tagged("%"), others=others) is None
    assert one("nightfall", "entities", tagged("nightfall"), others=others | {"Rome": tagged("Rome")}) is None
    assert one("ローマ", "entities", tagged("ローマ"), "ja", {"パリ": tagged("パリ")}) == "パリ"
    assert one("Rome", "entities", tagged("Rome"), others=others) is None


def test_words_that_the_text_does_not_spell_have_no_place() -> None:
    tree = parse("Er/0/X/dep geht/0/X/dep in/0/X/dep dem/0/X/dep Zoo/0/X/dep zu/0/X/dep dem/0/X/dep Bären/0/X/dep")
    text = "Er geht im Zoo zum Bären"
    spans = word_spans(text, tree)
    assert [text[slice(*span)] if span else None for span in spans][:5] == ["Er", "geht", None, None, "Zoo"]
    assert spans[-1] == (19, 24)


def test_relations_survive_joining_dropping_and_the_cache(tmp_path: Path) -> None:
    joined = Parse.joined([I_SAW, DOG])
    assert joined.deprels[4:7] == ("det", "nsubj", "root")
    assert DOG.without(lambda word, tag: tag == "PUNCT").deprels == DOG.deprels[:-1]
    cache = ParseCache(tmp_path, {"parser": "x"})
    cache.parse(["a"], lambda texts: iter([[DOG]]), lambda done, total: None)
    assert ParseCache(tmp_path, {"parser": "x"}).parse(["a"], lambda texts: iter([]), lambda done, total: None) == [DOG]
    before: dict[str, list[Any]] = {"words": ["a"], "heads": [0], "upos": ["X"], "feats": [""]}
    assert Parse.of(before).deprels == ()  # as earlier caches have it


@pytest.mark.parametrize(
    ("folder", "lang", "least"),
    [("UD_English-PUD", "en", 350), ("UD_English-EWT", "en", 300), ("UD_German-PUD", "de", None)],
)
def test_real_treebanks(shared: Path, folder: str, lang: str, least: int | None) -> None:
    files = sorted((shared / "data/ud" / folder).glob("*.conllu"))
    if not files:
        pytest.skip(f"the treebank {folder} is not here")
    parses = [sentence.parse for sentence in read_conllu(files[0])]
    lines = files[0].read_text(encoding="utf-8").split("\n")
    texts = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
    assert len(texts) == len(parses)
    for name in ("noun-swap", *(["entities", "subject-object"] if least else [])):
        result = perturb(texts, name, lang=lang, parses=parses)
        rows = result.changed.nonzero()[0]
        assert len(rows) > (least or 100), name
        for row in rows if name != "entities" else ():
            # Nothing is lost or made up: the same letters in another order, but for capitals and pronouns.
            old, new = texts[row].lower(), result.texts[row].lower()
            if sorted(old) != sorted(new):
                assert name == "subject-object"
                assert "PRON" in parses[row].upos, old
