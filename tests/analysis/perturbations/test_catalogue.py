"""Perturbations: what each does in several languages, and what holds for any text."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bsx.analysis.perturbations.base import Perturbation, register
from bsx.analysis.perturbations.letters import LOOKALIKES, neighbours
from bsx.analysis.perturbations.perturb import DEFAULT_CONTROL, PERTURBATIONS, get_perturbation, perturb
from bsx.analysis.perturbations.substitutions import forms
from bsx.analysis.perturbations.units import characters, share, units
from bsx.catalog.catalog import shipped_folder
from bsx.catalog.entries.perturbations import PerturbationWords
from bsx.catalog.words import words
from bsx.errors import InputError, UnknownNameError

TEXTS = {
    "en": ["I don't think the 27 cyclists of May 3 could win, but 5% were “fast”.", "The house is big.", "A dog"],
    "de": ["Das Haus ist groß und ein alter Mann wohnt dort.", "Er kaufte am 3. Mai kein Buch.", "Sie kommt nie."],
    "zh": ["他不是老师，他是学生。", "我在2017年三月有三个苹果。", "好"],
    "ja": ["私は東京へ行きます。", "コーヒーを3杯飲んだ。"],
    "th": ["ฉันชอบกินข้าว", "เขาไม่ไปโรงเรียน"],
    "ar": ["ذهب الولد إلى المدرسة.", "عندي ٣ كتب."],
    "hi": ["लड़का स्कूल जाता है।", "मेरे पास ३ किताबें हैं।"],
    "ru": ["Он был дома в понедельник.", "Это не правда."],
    "tr": ["İstanbul'da ılık bir gün.", "Iğdır küçük."],
    "el": ["Ο σκύλος τρέχει στο πάρκο."],
}
FREE = [one for one in PERTURBATIONS.values() if not one.needs & {"parse", "source"}]
GRADED = [one.name for one in FREE if one.graded]
NOTHING = PerturbationWords()
ANY = st.text(max_size=40)
SPACED = st.lists(st.text("abcdefghij", min_size=1, max_size=6), min_size=2, max_size=12)


def changed(name: str, text: str, lang: str = "en", strength: float | None = None, seed: int = 1) -> str | None:
    made = perturb([text], name, lang=lang, strength=strength, seed=seed)
    return None if made.not_applicable else made.texts[0]


@pytest.mark.parametrize(
    ("name", "lang", "text", "expected"),
    [
        ("lower", "en", "The NATO.", "the nato."),
        ("lower", "tr", "Işık İyi", "ışık iyi"),
        ("upper", "tr", "iki ılık", "İKİ ILIK"),
        ("upper", "de", "Straße", "STRASSE"),
        ("lower", "zh", "你好。", None),
        ("title", "en", "a dog's (big) day-off", "A Dog's (Big) Day-off"),
        ("no-punctuation", "en", "“No,” he said – it's 3.5% of well-known…", "No he said it's 3.5% of well-known"),
        ("no-punctuation", "en", "It is -5 (or so) degrees—cold.", "It is -5 or so degrees cold"),
        ("no-punctuation", "zh", "他来了，我走。", "他来了我走"),
        ("no-punctuation", "ar", "نعم، ذهب.", "نعم ذهب"),
        ("no-punctuation", "en", "No marks here", None),
        ("quotes", "en", "“It’s” fine", '"It\'s" fine'),
        ("quotes", "de", '"Ja", sagte er.', "„Ja“, sagte er."),
        ("quotes", "fr", 'Il dit "oui".', "Il dit «oui»."),
        ("quotes", "en", "none", None),
        ("spacing", "en", "a b\tc", "a  b  c"),
        ("contractions", "en", "I'm sure they don't and can't.", "I am sure they do not and cannot."),
        ("contractions", "en", "She will not. He's gone.", "She won't. He's gone."),
        ("contractions", "en", "Don't you know?", None),
        ("negation", "en", "He can't go.", "He can go."),
        ("negation", "en", "They won't.", "They will."),
        ("negation", "en", "It does n't work.", "It does work."),
        ("negation", "en", "He cannot go.", "He can go."),
        ("negation", "en", "The bill was not passed.", "The bill was passed."),
        ("negation", "en", "This is not only good.", None),
        ("negation", "en", "The bill was passed.", "The bill was not passed."),
        ("negation", "en", "We can win.", "We cannot win."),
        ("negation", "en", "He has seen it.", "He has not seen it."),
        ("negation", "en", "He has seven dogs.", None),
        ("negation", "en", "I think so.", "I do not think so."),
        ("negation", "en", "Is he here?", None),
        ("negation", "en", "Birds sing.", None),
        ("negation", "de", "Das ist nicht gut.", "Das ist gut."),
        ("negation", "de", "Das ist nicht nur gut.", None),
        ("negation", "de", "Er hat kein Haus.", "Er hat ein Haus."),
        ("negation", "de", "Kein Haus brennt.", "Ein Haus brennt."),
        ("negation", "de", "Er hat ein altes Haus.", "Er hat kein altes Haus."),
        ("negation", "de", "Eine Frau lacht.", "Keine Frau lacht."),
        ("negation", "de", "Er hat ein paar Bücher.", None),
        ("negation", "de", "Er kauft morgen ein.", None),
        ("negation", "de", "Er kommt nie zu spät.", "Er kommt immer zu spät."),
        ("negation", "fr", "Je n'ai pas faim.", "J'ai faim."),
        ("negation", "fr", "Ce n'est pas vrai.", "C'est vrai."),
        ("negation", "fr", "Il ne l'a pas vu.", "Il l'a vu."),
        ("negation", "fr", "C'est vrai.", "Ce n'est pas vrai."),
        ("negation", "fr", "Le train est arrivé.", "Le train n'est pas arrivé."),
        ("negation", "fr", "Elle peut venir.", "Elle ne peut pas venir."),
        ("negation", "fr", "Il y a un chat.", None),
        ("negation", "es", "El tren no llega.", "El tren llega."),
        ("negation", "es", "No quiere comer.", "Quiere comer."),
        ("negation", "es", "La casa es grande.", "La casa no es grande."),
        ("negation", "es", "No hay nada.", None),
        ("negation", "ru", "Это не правда.", "Это правда."),
        ("negation", "ru", "Он был дома.", "Он не был дома."),
        ("negation", "ru", "Никто не пришёл.", None),
        ("negation", "zh", "他不是老师。", "他是老师。"),
        ("negation", "zh", "他没有钱。", "他有钱。"),
        ("negation", "zh", "但是他来了。", None),
        ("negation", "zh", "可惜的是他没来。", None),
        ("negation", "ru", "Не может быть.", None),
        ("opposites", "en", "Sales rose sharply.", "Sales fell sharply."),
        ("opposites", "en", "It was an increase.", "It was a decrease."),
        ("opposites", "en", "A legal dispute.", "An illegal dispute."),
        ("opposites", "en", "After all, he came.", None),
        ("opposites", "en", "He was named after him.", None),
        ("opposites", "en", "The well-known best-seller.", None),
        ("opposites", "de", "Sie kaufte ein großes Haus.", "Sie kaufte ein kleines Haus."),
        ("opposites", "de", "Der Gewinn ist gestiegen.", "Der Gewinn ist gesunken."),
        ("opposites", "de", "Früher war das anders.", "Später war das anders."),
        ("opposites", "de", "Ein Krieg im Nahen Osten.", None),
        ("opposites", "de", "Das Großereignis beginnt.", None),
        ("opposites", "es", "La casa está cerrada.", "La casa está abierta."),
        ("opposites", "es", "Vive en el norte.", "Vive en el sur."),
        ("opposites", "es", "Sin embargo, vino.", None),
        ("opposites", "es", "Ya no viene más.", None),
        ("opposites", "es", "Se fue sin decir adiós.", None),
        ("opposites", "fr", "Le premier train arrive.", "Le dernier train arrive."),
        ("opposites", "fr", "Cette fenêtre est fermée.", "Cette fenêtre est ouverte."),
        ("opposites", "fr", "L'ancien directeur parle.", None),
        ("opposites", "fr", "Son ancien directeur parle.", None),
        ("opposites", "fr", "Le nouveau directeur parle.", None),
        ("opposites", "fr", "Il n'a plus de pain.", None),
        ("opposites", "fr", "Sa grand-mère dort.", None),
        ("opposites", "ru", "Он живёт в богатом доме.", "Он живёт в бедном доме."),
        ("opposites", "ru", "Цены выросли.", "Цены упали."),
        ("opposites", "ru", "Тем не менее он пришёл.", None),
        ("opposites", "ru", "Он больше не придёт.", None),
        ("opposites", "zh", "产量增加了。", "产量减少了。"),
        ("opposites", "zh", "產量增加了。", "產量減少了。"),
        ("opposites", "zh", "会议在上午开始。", "会议在下午开始。"),
        ("opposites", "zh", "他来了。", None),
        ("modality", "en", "You must go.", "You may go."),
        ("modality", "en", "You must not go.", None),
        ("modality", "en", "He came in May.", None),
        ("modality", "de", "Er muss heute arbeiten.", "Er kann heute arbeiten."),
        ("modality", "de", "Das könnten sie sehen.", "Das müssten sie sehen."),
        ("modality", "es", "Debe salir hoy.", "Puede salir hoy."),
        ("modality", "es", "Se debe a la lluvia.", None),
        ("modality", "fr", "Ils peuvent partir.", "Ils doivent partir."),
        ("modality", "fr", "Peut-être viendra-t-il.", None),
        ("modality", "fr", "Il doit 100 euros.", None),
        ("modality", "ru", "Он должен прийти.", "Он может прийти."),
        ("modality", "ru", "Нам нужно идти.", "Нам можно идти."),
        ("modality", "ru", "Мне нужно время.", None),
        ("modality", "ru", "Он должен был прийти.", None),
        ("modality", "zh", "你必须来。", "你可以来。"),
        ("modality", "zh", "你必須說實話。", "你可以說實話。"),
        ("modality", "zh", "这不可能。", None),
        ("spelling", "de", "Die Straße ist schön.", "Die Strasse ist schön."),
        ("spelling", "de", "Öl für Müller.", "Oel fuer Mueller."),
        ("spelling", "de", "Das ist gut.", None),
        ("spelling", "en", "The colour of the centre.", "The color of the center."),
        ("spelling", "en", "Organized labor.", "Organised labour."),
        ("spelling", "en", "A laboratory in Colorado.", None),
        ("spelling", "fr", "Le maître connaît l'île.", "Le maitre connait l'ile."),
        ("spelling", "fr", "Il fût sûr.", None),
        ("spelling", "fr", "Ma sœur", "Ma soeur"),
        ("spelling", "ru", "Ещё не всё.", "Еще не все."),
        ("marks", "es", "¿Qué? ¡Ven!", "Qué? Ven!"),
        ("marks", "fr", "Vraiment ? « Oui »", "Vraiment? «Oui»"),
        ("marks", "fr", "Vraiment? À 10:30.", "Vraiment\u202f? À 10:30."),
        ("marks", "zh", "你好，世界！", "你好,世界!"),
        ("marks", "zh", "你好,世界!", "你好，世界！"),
        ("marks", "zh", "3.5元", None),
        ("small-nouns", "de", "Der Hund sieht das Haus.", "Der hund sieht das haus."),
        ("small-nouns", "de", "Kennen Sie Ihre EU?", None),
        ("small-nouns", "de", "Er sagt: „Das Haus.“", "Er sagt: „Das haus.“"),
        ("function-words", "en", "The dog bit a man.", "The dog bit man."),
        ("function-words", "zh", "我的爸爸很好。", "我爸爸很好。"),
        ("function-words", "zh", "他的目的很明确。", None),
        ("numbers", "en", "Exactly twenty-one.", None),
        ("numbers", "es", "Treinta y cinco años.", None),
        ("numbers", "fr", "Dix-sept ans.", None),
        ("numbers", "zh", "三十年", None),
        ("numbers", "zh", "第三个", None),
        ("numbers", "en", "Nothing here but A4 paper.", None),
        ("dates", "en", "They may march.", None),
        ("truncate", "zh", "好", None),
        ("homoglyphs", "zh", "你好", None),
        ("typos", "hi", "लड़का स्कूल जाता है।", None),
        ("empty", "en", "", None),
        ("empty", "en", "x", ""),
    ],
)
def test_fixed_changes(name: str, lang: str, text: str, expected: str | None) -> None:
    assert changed(name, text, lang) == expected


def test_numbers_keep_their_length_and_script() -> None:
    for seed in range(20):
        for text, lang in (("It cost 1,234.50 in 1999.", "en"), ("عندي ٣ كتب.", "ar"), ("मेरे पास ३ किताबें हैं।", "hi")):
            new = changed("numbers", text, lang, seed=seed) or ""
            ((old, put),) = [(a, b) for a, b in zip(text, new, strict=True) if a != b]
            assert ord(put) - unicodedata.decimal(put) == ord(old) - unicodedata.decimal(old)
            assert "0,234" not in new
            assert lang != "en" or "19" in new  # a year keeps its century
    assert changed("numbers", "Seven men and a dog.", "en") != "Seven men and a dog."
    assert (changed("numbers", "Zwei Männer.", "de") or "")[0].isupper()
    for seed in range(8):
        assert changed("numbers", "У него три брата.", "ru", seed=seed) == "У него четыре брата."
        number = (changed("numbers", "Их было пять.", "ru", seed=seed) or "")[8:-1]
        assert number in {"шесть", "семь", "восемь", "девять"}
        assert (changed("numbers", "他有三个苹果。", "zh", seed=seed) or "")[2] in "四五六七八九"


def test_dates_become_another_of_their_kind() -> None:
    months = ["January", "February", "March", "April", "June", "July", "August", "September", "October", "November"]
    months.append("December")
    for seed in range(10):
        word = (changed("dates", "It was on 3 May 2017 that we met.", seed=seed) or "").split()[4]
        assert word in months  # not May again
        assert "May 1st" not in (changed("dates", "May 1st, they may march.", seed=seed) or "May 1st")
        assert (changed("dates", "Am Montag.", "de", seed=seed) or "").split()[1].rstrip(".").endswith(("tag", "woch"))
    assert (changed("dates", "他三月来。", "zh") or "").endswith("月来。")


@pytest.mark.parametrize("lang", TEXTS)
@pytest.mark.parametrize("one", FREE, ids=lambda one: one.name)
def test_order_and_company_do_not_matter(one: Perturbation, lang: str) -> None:
    texts = TEXTS[lang]
    if one.lacks(lang, source=False, parse=False):
        with pytest.raises(InputError, match=f"perturbation {one.name} is (for|withdrawn for) "):
            perturb(texts, one, lang=lang)
        return
    whole = perturb(texts, one, lang=lang, seed=7)
    assert perturb(texts, one, lang=lang, seed=7).texts == whole.texts
    assert perturb(texts[::-1], one, lang=lang, seed=7).texts == whole.texts[::-1]
    if "corpus" not in one.needs:
        assert tuple(perturb([text], one, lang=lang, seed=7).texts[0] for text in texts) == whole.texts
    assert one.graded or one.preserves or whole.unchanged == 0


@given(ANY)
@example("\U0001ccf0")  # a digit to the package regex, none to an older Python
@example("en 3:0\U0001ccf1, 1\U0001ccf2")
@settings(max_examples=60, deadline=None)
def test_any_text_is_taken(text: str) -> None:
    for one in FREE:
        for lang in ("en", "zh", "tr"):
            if one.lacks(lang, source=False, parse=False) is None:
                assert all(isinstance(new, str) for new in perturb([text, "x y"], one, lang=lang).texts)


@given(SPACED, st.floats(0.01, 1))
@settings(max_examples=100, deadline=None)
def test_what_stays_of_the_words(words: list[str], strength: float) -> None:
    text, count = " ".join(words), len(words)
    wanted = min(count, max(1, int(strength * count + 0.5)))
    shuffled = changed("shuffle", text, strength=strength) or ""
    assert Counter(shuffled.split()) == Counter(words)
    moved = sum(a != b for a, b in zip(shuffled.split(), words, strict=True))
    assert moved <= max(2, wanted) + 1
    assert (shuffled == text) == (len(set(words)) == 1)
    kept = (changed("drop-words", text, strength=strength) or "").split()
    assert len(kept) == count - min(wanted, count - 1)
    assert not Counter(kept) - Counter(words)
    assert in_order(kept, words)
    repeated = (changed("repeat-words", text, strength=strength) or "").split()
    assert len(repeated) == count + wanted
    assert in_order(words, repeated)
    assert (changed("truncate", text, strength=strength) or "").split() == words[: count - min(wanted, count - 1)]
    marked = changed("extra-punctuation", text, strength=strength) or ""
    assert marked.replace(",", "") == text
    assert marked.count(",") == min(count - 1, max(1, int(strength * (count - 1) + 0.5)))


def in_order(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


def distance(a: str, b: str) -> int:
    """Edits, swaps of neighbours among them, by the textbook's recurrence (optimal string alignment)."""
    table = [[i + j if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            best = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, table[i - 2][j - 2] + 1)
            table[i][j] = best
    return table[-1][-1]


@given(st.lists(st.text("abcdeéüфиж", min_size=3, max_size=7), min_size=1, max_size=8), st.floats(0.05, 1))
@settings(max_examples=100, deadline=None)
def test_typos_are_one_edit_in_each_chosen_word(words: list[str], strength: float) -> None:
    text = " ".join(words)
    new = (changed("typos", text, strength=strength) or "").split()
    edits = [distance(a, b) for a, b in zip(words, new, strict=True)]
    assert max(edits) == 1
    assert sum(edits) == share(len(words), strength)


@given(st.text("aceopxАВС123 bd", min_size=1, max_size=30), st.floats(0.05, 1))
@settings(max_examples=60, deadline=None)
def test_homoglyphs_are_of_another_script(text: str, strength: float) -> None:
    places = sum(letter in LOOKALIKES for letter in text)
    new = changed("homoglyphs", text, strength=strength)
    if not places:
        assert new is None
        return
    pairs = [(a, b) for a, b in zip(text, new or "", strict=True) if a != b]
    assert len(pairs) == share(places, strength)
    for a, b in pairs:
        assert LOOKALIKES[a] == b
        assert unicodedata.name(a).split()[0] != unicodedata.name(b).split()[0]


def test_lookalikes_are_of_the_same_case_and_kind() -> None:
    for a, b in LOOKALIKES.items():
        assert unicodedata.category(a) == unicodedata.category(b)


def test_scripts_without_spaces_are_cut_into_characters() -> None:
    def cut(text: str) -> list[str]:
        return [text[start:end] for start, end in units(text)]

    assert cut("我用iPhone，3.5元。") == ["我", "用", "iPhone", "3.5", "元"]
    assert cut("コーヒー") == ["コ", "ー", "ヒ", "ー"]
    assert "".join(cut("ที่นี่")) == "ที่นี่"
    assert len(cut("ที่นี่")) == 2  # a consonant keeps its vowel and tone
    assert cut("l'été (well-known) – 5%") == ["l'été", "well-known", "5"]
    assert characters("e\u0301👩‍👩‍👧x") == ["e\u0301", "👩‍👩‍👧", "x"]
    assert changed("repeat-words", "好", "zh") == "好好"


def test_chinese_typing_errors_sound_the_same() -> None:
    assert changed("typos", "他在家。", "zh") == "他再家。"
    assert changed("typos", "他在家。", "ja") is None
    assert changed("typos", "他走了。", "zh") is None


def has(lang: str, field: str) -> bool:
    """Tell whether a language has anything there: by print, for patterns that are compiled again are others."""
    return repr(getattr(words(lang), field)) != repr(getattr(NOTHING, field))


def test_every_language_of_a_list_is_declared() -> None:
    regex.purge()  # as many other patterns would
    files = [file.stem for file in (shipped_folder() / "perturbations").glob("*.yaml")]
    sections = ("negation", "opposites", "modality", "synonyms", "dates", "spelling", "marks", "contractions")
    for field in (*sections, "function_words"):
        listed = {lang.partition("-")[0] for lang in files if has(lang, field)}
        assert listed == set(get_perturbation(field.replace("_", "-")).languages or ()), field
    counted = {lang for lang in files if has(lang, "numbers")}
    assert counted == set(get_perturbation("numbers").acts_on.partition("words of ")[2].split(", "))
    for lang in files:
        for table in (words(lang).opposites, words(lang).modality, words(lang).synonyms):
            for old, new in forms(table):
                assert old != new, (lang, old)
    with pytest.raises(InputError, match="perturbation opposites is for de, en, es, fr, ru, zh, not fi"):
        perturb(["x"], "opposites", lang="fi")


def test_keyboards() -> None:
    assert "z" in neighbours("de")["t"]
    assert "y" in neighbours("en")["t"]
    assert set(neighbours("fr")["a"]) == {"z", "q"}
    assert "ñ" in neighbours("es")["l"]
    for table in (neighbours("en"), neighbours("de"), neighbours("fr"), neighbours("es")):
        for key, around in table.items():
            assert all(key in table[other] for other in around), key  # being a neighbour is mutual


def test_strengths_seeds_and_needs() -> None:
    assert {"typos", "shuffle"} < set(GRADED)
    text = "one two three four five six seven eight nine ten"
    assert len({changed("shuffle", text, seed=seed) for seed in range(10)}) > 5
    assert perturb(["a", "c"], "source", sources=["b", "d"]).texts == ("b", "d")
    assert perturb(["a", "b", "a"], "unrelated").texts == ("b", "a", "b")
    assert perturb(["a", "a"], "unrelated").not_applicable == 2
    for name, given_, message in [
        ("shuffle", {"strength": 0.0}, "strength 0: it is a share"),
        ("shuffle", {"strength": 1.5}, "strength 1.5: it is a share"),
        ("lower", {"strength": 0.5}, "perturbation lower has no strength"),
        ("source", {}, "perturbation source needs the sources"),
        ("noun-swap", {}, "perturbation noun-swap needs parses"),
        ("negation", {}, "perturbation negation is for cs, de, en.*: say which it is"),
        ("function-words", {"lang": "de"}, "perturbation function-words is withdrawn for de: without articles"),
        ("negation", {"lang": "ja"}, "perturbation negation is for .*, not ja"),
        ("lower", {"sources": ["a", "b"]}, "1 texts, 2 sources"),
    ]:
        with pytest.raises(InputError, match=message):
            perturb(["a b"], name, **given_)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match=r"unknown perturbation 'shufle'; there are .*Near: shuffle"):
        get_perturbation("shufle")


def test_a_perturbation_registers_itself_once_and_stands_in_its_place() -> None:
    kept = [one.preserves for one in PERTURBATIONS.values()]
    assert kept == sorted(kept, reverse=True)
    assert (next(iter(PERTURBATIONS)), list(PERTURBATIONS)[-1]) == (DEFAULT_CONTROL, "empty")
    assert all(one.name == name and one.description and one.acts_on for name, one in PERTURBATIONS.items())
    try:
        register("own-lower", "small letters", True, place=25)(lambda item, strength, rng: item.text.lower())
        assert perturb(["A B"], "own-lower").texts == ("a b",)
        assert list(PERTURBATIONS)[2] == "own-lower"
        with pytest.raises(InputError, match="there is a perturbation own-lower already"):
            register("own-lower", "again", True)
    finally:
        del PERTURBATIONS["own-lower"]


def test_what_did_not_change_is_counted() -> None:
    result = perturb(["ABC", "abc", "123", "e\u0301"], "lower")
    assert result.changed.tolist() == [True, False, False, False]
    assert (result.not_applicable, result.unchanged) == (1, 2)
    assert result.texts == ("abc", "abc", "123", "e\u0301")
    assert result.strength is None
    assert perturb(["a b"], "shuffle").strength == 0.2
    composed = Perturbation("composed", "one code point", True, lambda item, *_: "\u00e9")
    assert perturb(["e\u0301"], composed).unchanged == 1  # canonically equivalent


def test_draws_do_not_touch_the_global_generator() -> None:
    random.seed(3)
    before = random.getstate()
    changed("shuffle", "a b c d e")
    assert random.getstate() == before
