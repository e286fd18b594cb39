"""Changes that need a parse: nouns, subjects and objects, names."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from itertools import combinations

from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.base import Change, Item, register
from bsx.analysis.perturbations.grammar.inflections import as_features
from bsx.analysis.perturbations.names import Span, named, word_spans

# Where a noun's form or article tells subject from object, their order does not: a swap would keep the meaning.
_NO_CASE = ("da", "en", "it", "nb", "nl", "nn", "no", "pt", "sv")
OBJECT_FORM = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
_SUBJECT_FORM = {form: subject for subject, form in OBJECT_FORM.items()}
_SUBJECT, _OBJECT = ("nsubj",), ("obj", "dobj")  # dobj: as spaCy's English models call it
_KEEP_CAPITALS = ("de", "lb", "zh")  # nouns have a capital everywhere, or only foreign names have one
BREAK = set(':;“”„«»"()')


def by_parse(texts: Callable[[Item, Parse, list[Span | None]], list[str]]) -> Change:
    """Return a change that draws one of the texts that a parse with relations, and where its words stand, allow."""

    def change(item: Item, strength: float, rng: random.Random) -> str | None:
        if item.parse is None or not item.parse.deprels:
            return None
        results = texts(item, item.parse, word_spans(item.text, item.parse))
        return rng.choice(results) if results else None

    return change


@register(
    "noun-swap",
    "two nouns, of the same number if there are such, change places",
    False,
    acts_on="texts with two different nouns; outside English, nouns with articles, of one gender, number and case",
    needs=frozenset({"parse"}),
    aim="syn",
    withdrawn={
        "ru": "nouns in set phrases and names cannot be told from others",
        "zh": "measure words and fixed compounds do not let nouns change places",
    },
    place=30,
)
def _noun_swap(item: Item, strength: float, rng: random.Random) -> str | None:
    parse = item.parse
    if parse is None:
        return None
    spans = word_spans(item.text, parse)
    nouns = {at: span for at, span in enumerate(spans) if span is not None and parse.upos[at] == "NOUN"}
    pairs = [(a, b) for a, b in combinations(nouns, 2) if parse.words[a].lower() != parse.words[b].lower()]
    if item.lang != "en":
        if not parse.deprels:
            return None
        free = [at for at in nouns if _free(parse, at)]
        pairs = [(a, b) for a, b in pairs if a in free and b in free and _same_form(item, parse, a, b)]
    alike = [(a, b) for a, b in pairs if _number(parse, a) == _number(parse, b)]
    if not pairs:
        return None
    a, b = rng.choice(alike or pairs)
    return swapped(item, nouns[a], nouns[b])


def below(parse: Parse, at: int) -> list[int]:
    """Return the words that hang on a word directly, all by index."""
    return [i for i, head in enumerate(parse.heads) if head == at + 1]


_NAMELESS = ("flat", "appos", "compound", "fixed", "nummod", "goeswith")
_SHOWN = ("Gender", "Number", "Case", "Animacy")


def _free(parse: Parse, at: int) -> bool:
    """Tell whether a noun stands alone with an article: no name, title, measure, set phrase."""
    under = below(parse, at)
    if parse.deprels[at].startswith(_NAMELESS) or any(parse.deprels[i].startswith(_NAMELESS) for i in under):
        return False
    if parse.deprels[at] == "conj" or any(parse.deprels[i] in ("conj", "acl:relcl", "fixed") for i in under):
        return False
    articles = [i for i in under if i < at and parse.upos[i] == "DET" and parse.deprels[i].startswith(("det", "amod"))]
    return parse.words[at].isalpha() and any(not parse.words[i][0].isdecimal() for i in articles)


def _same_form(item: Item, parse: Parse, a: int, b: int) -> bool:
    """Tell whether two nouns fit each other's articles and adjectives, and in French what is shortened before them."""
    first, second = (as_features(parse.feats[at]) for at in (a, b))
    if not first.get("Number") or any(first.get(name) != second.get(name) for name in _SHOWN):
        return False
    return item.lang not in ("fr", "it") or opens(parse.words[a]) == opens(parse.words[b])


def opens(word: str) -> str:
    """Return how a French or Italian word begins, for what stands before it: vowel, h, or consonant."""
    letter = unicodedata.normalize("NFD", word.lower())[:1]
    return "vowel" if letter in "aeiouœæ" else "h" if letter == "h" else "consonant"


def _number(parse: Parse, at: int) -> str:
    return next((feature for feature in parse.feats[at].split("|") if feature.startswith("Number=")), "")


def swapped(
    item: Item, first: Span, second: Span, forms: tuple[str, str] | None = None, between: str | None = None
) -> str:
    """Let two pieces of a text change places; the first word of the text keeps its capital.

    Args:
        item: the text.
        first: where the one piece stands.
        second: where the other one stands, behind it.
        forms: how they are spelled in each other's place, if not as they are.
        between: what shall stand between them, if not what does.
    """
    text = item.text
    front, back = forms or (text[slice(*first)], text[slice(*second)])
    if not text[: first[0]].strip(" \"'“”‘’«»„(") and text[first[0]].isupper() and item.lang not in _KEEP_CAPITALS:
        front = front if keeps_capital(item, first) else front[0].lower() + front[1:]
        back = back[0].upper() + back[1:]
    middle = text[first[1] : second[0]] if between is None else between
    return text[: first[0]] + back + middle + front + text[second[1] :]


def keeps_capital(item: Item, span: Span) -> bool:
    """Tell whether what begins a text would have its capital elsewhere too: a name, an acronym, *I*."""
    if item.parse is None:
        return True
    word, tag = next(
        (word, tag)
        for word, tag, place in zip(item.parse.words, item.parse.upos, word_spans(item.text, item.parse), strict=True)
        if place is not None and place[0] == span[0]
    )
    return tag == "PROPN" or word == "I" or (len(word) > 1 and word.isupper())


@register(
    "subject-object",
    "subject and object of a verb change places, with all that belongs to them; English pronouns change their form",
    False,
    languages=_NO_CASE,
    acts_on="texts with a verb that has both, each in one piece; outside English, nouns with articles, of one form",
    needs=frozenset({"parse"}),
    aim="syn",
    withdrawn={
        "es": "an object may stand before the verb, so that the swap can keep the meaning",
        "fr": "verbs with fixed objects and clauses that turn their order around leave no sentence",
        "zh": "the swap leaves fragments in clauses without their own subject",
    },
    place=40,
)
@by_parse
def _subject_object(item: Item, parse: Parse, spans: list[Span | None]) -> list[str]:
    results = []
    for verb in range(1, len(parse.words) + 1):
        subject, thing = (phrase(parse, verb, relations, spans) for relations in (_SUBJECT, _OBJECT))
        if subject is None or thing is None:
            continue
        if item.lang != "en" and not _exchangeable(item, parse, verb, subject, thing):
            continue
        forms = clause_forms(item, parse, subject, thing)
        disjoint = subject[0][1] <= thing[0][0] or thing[0][1] <= subject[0][0]
        if forms is not None and disjoint and forms[0].lower() != forms[1].lower():
            pieces = (subject[0], thing[0], forms)
            if subject[0] > thing[0]:
                pieces = (thing[0], subject[0], (forms[1], forms[0]))
            results.append(swapped(item, *pieces))
    return results


def _exchangeable(item: Item, parse: Parse, verb: int, subject: Phrase, thing: Phrase) -> bool:
    """Tell whether subject and object fit each other's places: the same number, articles, no relative clause."""
    if parse.deprels[verb - 1].startswith("acl") or "PronType=Rel" in " ".join(parse.feats):
        return False
    first, second = subject[1], thing[1]
    if _number(parse, first) != _number(parse, second) or subject[0] > thing[0]:
        return False
    under = {at: [parse.deprels[i] for i in below(parse, at)] for at in (first, second)}
    determined = all(
        parse.upos[at] == "NOUN" and any(relation.startswith("det") for relation in under[at]) for at in under
    )
    opened = [item.text[start : start + 1] for (start, _), *_ in (subject, thing)]
    same = item.lang != "it" or opens(opened[0]) == opens(opened[1])
    gender = as_features(parse.feats[first]).get("Gender") == as_features(parse.feats[second]).get("Gender")
    return determined and same and gender and not any("conj" in relation for at in under for relation in under[at])


Phrase = tuple[Span, int, int]  # where it stands, its head's index, how many words it has


def phrase(parse: Parse, verb: int, relations: tuple[str, ...], spans: list[Span | None]) -> Phrase | None:
    """Return a verb's dependent with such a relation and all that hangs on it, if that is one piece of the text."""
    heads = [at for at, head in enumerate(parse.heads) if head == verb and parse.deprels[at] in relations]
    return phrase_of(parse, heads[0], spans) if len(heads) == 1 else None


def phrase_of(parse: Parse, top: int, spans: list[Span | None]) -> Phrase | None:
    """Return a word, given by its index, with all that hangs on it, if that is one piece of the text."""
    whole = {top + 1}
    while more := {at for at, head in enumerate(parse.heads, start=1) if head in whole} - whole:
        whole |= more
    first, last = min(whole), max(whole)
    while parse.upos[last - 1] == "PUNCT" and last > top + 1:
        whole.discard(last)
        last -= 1
    if any(BREAK & set(parse.words[at - 1]) for at in whole):
        return None
    start, end = spans[first - 1], spans[last - 1]
    if last - first + 1 != len(whole) or start is None or end is None:
        return None
    return (start[0], end[1]), top, len(whole)


def clause_forms(item: Item, parse: Parse, subject: Phrase, thing: Phrase) -> tuple[str, str] | None:
    """Return how subject and object are spelled in each other's place; None if that cannot be said."""
    spelled = [item.text[slice(*phrase[0])] for phrase in (subject, thing)]
    if any(kind in parse.feats[phrase[1]] for phrase in (subject, thing) for kind in ("PronType=Rel", "PronType=Int")):
        return None
    pronouns = [parse.upos[phrase[1]] == "PRON" for phrase in (subject, thing)]
    if any(pronouns) and item.lang != "en":
        return None
    for side, table in enumerate((OBJECT_FORM, _SUBJECT_FORM)):
        word = spelled[side] if spelled[side] == "I" else spelled[side].lower()
        if not pronouns[side] or word in ("you", "it", "this", "that", "these", "those"):
            continue
        if word not in table:
            return None  # who, which, himself, everyone who …
        new = table[word]
        spelled[side] = new[0].upper() + new[1:] if spelled[side][0].isupper() and word != "I" else new
    return spelled[0], spelled[1]


@register(
    "entities",
    "a name, every time it occurs, becomes a name of the same kind from another text",
    False,
    acts_on="texts with a proper noun, if other texts have others of its kind: person, weekday, month, number, acronym",
    needs=frozenset({"parse", "corpus"}),
    aim="sem",
    withdrawn={
        **dict.fromkeys(("de", "es", "fr"), "parses do not tell names of persons, places and things apart"),
        "ru": "names have cases, which parses without lemmas do not let it change",
        "zh": "names of persons, places and works look alike",
    },
    place=100,
)
def _entities(item: Item, strength: float, rng: random.Random) -> str | None:
    if item.parse is None:
        return None
    text = item.text
    runs = named(text, item.parse, item.lang)
    others: dict[str, list[str]] = {}
    for kind, name in item.names:
        if name.lower() not in text.lower():
            others.setdefault(kind, []).append(name)
    result = sorted({(text[slice(*span)], kind) for span, kind in runs if kind in others})
    if not result:
        return None
    old, kind = rng.choice(result)
    new = rng.choice(others[kind])
    for (start, end), _ in reversed(runs):
        if text[start:end] == old:
            text = text[:start] + new + text[end:]
    return text
