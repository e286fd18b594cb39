"""Changes of order, voice and word forms: by hand, and on real treebanks where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.analysis.factors.parses import Parse, read_conllu
from bsx.analysis.perturbations.grammar.english import english_form
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.perturb import perturb
from bsx.errors import InputError
from tests.analysis.perturbations.test_parsed import DOG, I_SAW, one, parse
from tests.helpers.tables import write_plain

PAST = "Mood=Ind|Number=Sing|Person=3|Tense=Past|VerbForm=Fin"
PRESENT = "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"
BIT = parse(
    f"The/2/DET/det dog/3/NOUN/nsubj/Number=Sing bit/0/VERB/root/{PAST} him/3/PRON/obj/Case=Acc|Number=Sing "
    "in/7/ADP/case the/7/DET/det parks/3/NOUN/obl/Number=Plur ./3/PUNCT/punct"
)
CATS = parse(
    f"He/2/PRON/nsubj/Case=Nom likes/0/VERB/root/{PRESENT} cats/2/NOUN/obj/Number=Plur "
    "and/5/CCONJ/cc dogs/3/NOUN/conj/Number=Plur"
)


def test_what_stands_at_the_end_moves_to_the_front() -> None:
    assert one("The dog bit him in the parks.", "reorder", BIT) == "In the parks, the dog bit him."
    assert one("He likes cats and dogs", "reorder", CATS) == "He likes dogs and cats"
    assert one("The dog bit him in the parks.", "reorder", BIT, "de") is None  # the verb would have to move


def test_active_becomes_passive() -> None:
    assert one("The dog bit him in the parks.", "voice", BIT) == "He was bitten by the dog in the parks."
    assert one("He likes cats and dogs", "voice", CATS) == "Cats and dogs are liked by him"
    assert one("I saw him.", "voice", I_SAW) is None  # nothing says that it is finite


def test_forms_of_words() -> None:
    assert one("The dog bit him in the parks.", "tense", BIT) == "The dog bites him in the parks."
    assert one("The dog bit him in the parks.", "case", BIT) == "The dog bit he in the parks."
    assert one("The dog bit him in the parks.", "noun-number", BIT) == "The dog bit him in the park."
    assert one("He likes cats and dogs", "agreement", CATS) == "He like cats and dogs"
    assert one("The dog bit him in the parks.", "agreement", BIT) is None  # "bit" shows no number
    assert one("The dog bit the old man in Rome.", "tense", DOG) is None  # no features


@pytest.mark.parametrize(
    ("word", "tag", "wanted", "feats", "expected"),
    [
        ("city", "NOUN", {"Number": "Plur"}, {"Number": "Sing"}, "cities"),
        ("boxes", "NOUN", {"Number": "Sing"}, {"Number": "Plur"}, "box"),
        ("houses", "NOUN", {"Number": "Sing"}, {"Number": "Plur"}, "house"),
        ("women", "NOUN", {"Number": "Sing"}, {"Number": "Plur"}, "woman"),
        ("news", "NOUN", {"Number": "Sing"}, {"Number": "Plur"}, None),
        ("stops", "VERB", {"Tense": "Past"}, {"Tense": "Pres", "Number": "Sing", "Person": "3"}, "stopped"),
        ("visit", "VERB", {"Tense": "Past"}, {"Tense": "Pres"}, "visited"),
        ("cries", "VERB", {"Tense": "Past"}, {"Tense": "Pres", "Number": "Sing", "Person": "3"}, "cried"),
        ("is", "AUX", {"Number": "Plur", "Tense": "Pres"}, {}, "are"),
        ("were", "AUX", {"Number": "Sing", "Person": "3", "Tense": "Past"}, {}, "was"),
        ("took", "VERB", {"Tense": "Past", "VerbForm": "Part"}, {"Tense": "Past"}, "taken"),
        ("walked", "VERB", {"Tense": "Pres"}, {"Tense": "Past"}, None),  # hoped is of hope, walked of walk
        ("n't", "PART", {"Number": "Plur"}, {}, None),
    ],
)
def test_english_rules(
    word: str, tag: str, wanted: dict[str, str], feats: dict[str, str], expected: str | None
) -> None:
    assert english_form(word, tag, wanted, feats) == expected


def test_a_treebank_knows_forms(tmp_path: Path) -> None:
    row = "1\t{}\t{}\tNOUN\t_\t{}\t0\troot\t_\t_\n"
    forms = {"Hunde": "Case=Nom|Number=Plur", "Hund": "Case=Nom|Number=Sing", "Hunden": "Case=Dat|Number=Plur"}
    file = write_plain(tmp_path / "de.conllu", *(row.format(form, "Hund", feats) for form, feats in forms.items()))
    known = Inflections.from_treebanks([file])
    assert known.form("Hund", "NOUN", "Case=Nom|Number=Sing", {"Number": "Plur"}) == "hunde"
    assert known.form("Hund", "NOUN", "Case=Dat|Number=Sing", {"Number": "Plur"}) == "hunden"
    assert known.form("Katze", "NOUN", "Number=Sing", {"Number": "Plur"}) is None
    tree = parse("Er/2/PRON/nsubj sah/0/VERB/root Hunde/2/NOUN/obj/Case=Nom|Number=Plur")
    found = perturb(["Er sah Hunde"], "noun-number", lang="nl", parses=[tree], inflections=known)
    assert found.texts == ("Er sah Hund",)
    with pytest.raises(InputError, match="noun-number needs a treebank"):
        perturb(["Er sah Hunde"], "noun-number", lang="nl", parses=[tree])
    with pytest.raises(InputError, match="no words with lemmas and features"):
        Inflections.from_treebanks([write_plain(file, row.format("Hunde", "_", "_"))])


@pytest.mark.parametrize("name", ["reorder", "voice", "agreement", "case", "noun-number", "tense", "synonyms"])
def test_nothing_to_act_on(name: str) -> None:
    empty = Parse((), (), (), ())
    assert perturb(["", "…"], name, lang="en", parses=[empty, None]).not_applicable == 2


def test_real_sentences_change_in_few_words(shared: Path) -> None:
    file = shared / "data/ud/UD_English-PUD/en_pud-ud-test.conllu"
    if not file.exists():
        pytest.skip("the treebank is not here")
    texts = [line[9:] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("# text = ")][:300]
    parses = [sentence.parse for sentence in read_conllu(file)][:300]
    shares = {"reorder": 0.1, "voice": 0.05, "agreement": 0.3, "case": 0.1, "noun-number": 0.3, "tense": 0.4}
    for name, least in shares.items():
        found = perturb(texts, name, lang="en", parses=parses)
        assert found.changed.mean() > least, name
        sides = [[set(text.lower().replace(",", "").split()) for text in side] for side in (texts, found.texts)]
        words = [len(before ^ after) for before, after in zip(*sides, strict=True)]
        assert max(words) <= {"reorder": 4, "voice": 12}.get(name, 2), name
