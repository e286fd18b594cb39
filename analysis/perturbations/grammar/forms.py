"""Word forms changed: the number of nouns, tense, agreement of verbs, case."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import regex

from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.base import Change, Item, Need, register
from bsx.analysis.perturbations.grammar.inflections import as_features, inflected
from bsx.analysis.perturbations.grammar.swaps import OBJECT_FORM, below, by_parse, opens
from bsx.analysis.perturbations.names import Span, word_spans
from bsx.catalog.words import words

_OTHER_NUMBER = {"Sing": "Plur", "Plur": "Sing"}
_OTHER_TENSE = {"Pres": "Past", "Past": "Pres"}
_OTHER_CASE = {"Nom": "Acc", "Acc": "Dat", "Dat": "Nom", "Gen": "Nom", "Ins": "Nom", "Loc": "Nom"}
_FITS_BOTH = frozenset(("the", "my", "your", "his", "her", "its", "our", "their", "some", "any", "no", "which", "what"))
_CASES = dict(OBJECT_FORM) | {form: subject for subject, form in OBJECT_FORM.items() if form != "her"}

_FIXED = ("compound", "fixed", "flat", "obl:tmod", "obl:unmarked", "obl:npmod", "nmod:unmarked", "nmod:npmod")

Edit = tuple[int, str]  # which word, and what it becomes


def _nouns(item: Item, parse: Parse) -> Iterator[Edit]:
    """Yield nouns whose number shows in no other word: no subjects, no articles with number, nothing counted."""
    for at, (tag, feats) in enumerate(zip(parse.upos, parse.feats, strict=True)):
        number = as_features(feats).get("Number", "")
        relation = parse.deprels[at]
        if tag != "NOUN" or number not in _OTHER_NUMBER or "subj" in relation or relation in _FIXED:
            continue
        shown = (
            parse.deprels[i].startswith("nummod")
            or (
                parse.words[i].lower() not in _FITS_BOTH
                if item.lang == "en" and parse.upos[i] == "DET"
                else item.lang != "en" and "Number=" in parse.feats[i]
            )
            for i in below(parse, at)
        )
        if not any(shown):
            yield from _changed(item, parse, at, {"Number": _OTHER_NUMBER[number]})


def _changed(item: Item, parse: Parse, at: int, changes: dict[str, str]) -> Iterator[Edit]:
    new = inflected(
        parse.words[at], parse.upos[at], parse.feats[at], changes, lang=item.lang, treebanks=item.inflections
    )
    if new is not None and (item.lang != "fr" or opens(new) == opens(parse.words[at])):
        yield at, new


def _finite(parse: Parse) -> Iterator[tuple[int, dict[str, str]]]:
    for at, (tag, feats) in enumerate(zip(parse.upos, parse.feats, strict=True)):
        has = as_features(feats)
        if tag in ("VERB", "AUX") and has.get("VerbForm", "Fin") == "Fin" and has.get("Mood", "Ind") == "Ind":
            yield at, has


def _tenses(item: Item, parse: Parse) -> Iterator[Edit]:
    for at, has in _finite(parse):
        if has.get("Tense") not in _OTHER_TENSE:
            continue
        if item.lang != "en":
            changes = _other_tense(item, parse, at, has)
            yield from _changed(item, parse, at, changes) if changes else ()
            continue
        agreeing = {} if "Number" in has else _subject(parse, at)
        if agreeing is not None:
            yield from _changed(item, parse, at, {**agreeing, "Tense": _OTHER_TENSE[has["Tense"]]})


def _other_tense(item: Item, parse: Parse, at: int, has: dict[str, str]) -> dict[str, str] | None:
    """Return the features of the other tense outside English; None where it would not be said so."""
    listed = words(item.lang).tense
    if has.get("VerbForm") != "Fin" or has.get("Mood") != "Ind" or listed.never.fullmatch(parse.words[at]):
        return None
    if regex.search(rf"(?i)\b(?:{listed.unless})\b", item.text):
        return None
    if parse.upos[at] == "AUX":
        if item.lang == "ru" or parse.deprels[at] not in ("cop", "aux:pass"):
            return None
    elif any(parse.deprels[i].startswith("aux") for i in below(parse, at)):
        return None
    other = _OTHER_TENSE[has["Tense"]]
    if item.lang != "ru":
        return {"Tense": other}
    subject = overt_subject(parse, at)
    if subject is None or parse.upos[subject] not in ("NOUN", "PROPN"):
        return None
    if other == "Pres":
        return {"Tense": other, "Person": "3", "Gender": ""}
    gender = as_features(parse.feats[subject]).get("Gender", "")
    plural = has.get("Number") == "Plur"
    return {"Tense": other, "Person": "", "Gender": "" if plural else gender} if plural or gender else None


def overt_subject(parse: Parse, at: int) -> int | None:
    """Return the subject of a verb or auxiliary, by index; None if it has none of its own, or joined ones."""
    verb = parse.heads[at] - 1 if parse.upos[at] == "AUX" and parse.heads[at] else at
    subjects = [i for i in below(parse, verb) if parse.deprels[i].startswith("nsubj")]
    return subjects[0] if len(subjects) == 1 and not _joined(parse, subjects[0]) else None


def _joined(parse: Parse, at: int) -> bool:
    return any(parse.deprels[i] == "conj" for i in below(parse, at))


def _subject(parse: Parse, at: int) -> dict[str, str] | None:
    """Return number and person of an English verb's subject; None if it has none."""
    verb = parse.heads[at] - 1 if parse.upos[at] == "AUX" else at
    place = next((i for i in below(parse, verb) if parse.deprels[i].startswith("nsubj")), None)
    if place is None:
        return None
    word = parse.words[place].lower()
    many = _joined(parse, place) or word in ("we", "you", "they") or "Number=Plur" in parse.feats[place]
    return {"Number": "Plur" if many else "Sing", "Person": "1" if word == "i" else "3"}


def _agreements(item: Item, parse: Parse) -> Iterator[Edit]:
    for at, has in _finite(parse):
        if has.get("Number") in _OTHER_NUMBER and has.get("Person", "3") == "3":
            if item.lang != "en":
                # The subject has to say the verb's number, alone and not as a group of many.
                subject = overt_subject(parse, at)
                if subject is None or _GROUPS.fullmatch(parse.words[subject]):
                    continue
                counted = any(parse.deprels[i].startswith("nummod") for i in below(parse, subject))
                if counted or as_features(parse.feats[subject]).get("Number") != has["Number"]:
                    continue
            yield from _changed(item, parse, at, {"Number": _OTHER_NUMBER[has["Number"]]})


_GROUPS = regex.compile(
    r"(?i)teil|reihe|hälfte|mehrheit|anzahl|drittel|grupo|mayoría|mitad|parte|número|total|resto|groupe|majorité|moitié|"
    r"plupart|nombre|reste|dizaine|centaine|millier|ряд|часть|большинство|половина|множество|количество|кто|что|which|who|"
    r"quien(?:es)?|que|qui|es|ce|c['’]|это|prozent"
)


def _cases(item: Item, parse: Parse) -> Iterator[Edit]:
    spans = word_spans(item.text, parse)
    for at, (word, tag, feats) in enumerate(zip(parse.words, parse.upos, parse.feats, strict=True)):
        has, span = as_features(feats), spans[at]
        if item.lang == "en":
            new = "she" if word.lower() == "her" else _CASES.get(word if word == "I" else word.lower())
            alone = span is not None and item.text[span[1] : span[1] + 1] not in ("'", "’")  # not of "I'm"
            if tag == "PRON" and new is not None and alone and "Poss" not in has:
                yield at, new[0].upper() + new[1:] if word[0].isupper() and (word != "I" or at == 0) else new
        elif tag in ("DET", "PRON", "ADJ", "NOUN") and has.get("Case") in _OTHER_CASE:
            yield from _changed(item, parse, at, {"Case": _OTHER_CASE[has["Case"]]})


def _change(edits: Callable[[Item, Parse], Iterator[Edit]]) -> Change:
    @by_parse
    def change(item: Item, parse: Parse, spans: list[Span | None]) -> list[str]:
        places = [(span, new) for at, new in edits(item, parse) if (span := spans[at]) is not None]
        return [item.text[:start] + new + item.text[end:] for (start, end), new in places]

    return change


_NEEDS: frozenset[Need] = frozenset({"parse", "inflections"})

register(
    "noun-number",
    "a noun becomes plural, or singular",
    False,
    acts_on="texts with a noun whose number shows in no other word",
    needs=_NEEDS,
    aim="mor",
    withdrawn=dict.fromkeys(("de", "es", "fr", "ru"), "bare nouns there belong to set phrases, or need an article"),
    place=10,
)(_change(_nouns))
register(
    "tense",
    "a present verb becomes past, or a past one present",
    False,
    acts_on="texts with a finite verb of which the other tense is known",
    needs=_NEEDS,
    aim="mor",
    place=20,
)(_change(_tenses))
register(
    "agreement",
    "a verb no longer agrees with its subject in number: they goes",
    True,
    acts_on="texts with a finite verb in the third person that shows its number",
    needs=_NEEDS,
    aim="mor",
    place=190,
)(_change(_agreements))
register(
    "case",
    "a pronoun, article or noun takes a wrong case: for he",
    True,
    acts_on="texts with an English personal pronoun, or a word of which a treebank has another case",
    needs=_NEEDS,
    aim="mor",
    withdrawn={"es": "only pronouns have case, and le for lo is good usage in places", "fr": "only pronouns have case"},
    place=200,
)(_change(_cases))
