"""The same said in another order: an adverbial moved, coordinated words exchanged, active made passive."""

from __future__ import annotations

import regex

from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.base import Item, register
from bsx.analysis.perturbations.grammar.inflections import as_features, inflected
from bsx.analysis.perturbations.grammar.swaps import (
    BREAK,
    below,
    by_parse,
    clause_forms,
    keeps_capital,
    opens,
    phrase,
    phrase_of,
    swapped,
)
from bsx.analysis.perturbations.names import Span

_FRONTING = ("en",)  # elsewhere what is put in front is too often what the verb cannot do without
_EACH = regex.compile(r"(?i)分[别別]|各|jeweils|respecti[vf]|соответственно|beziehungsweise")
_MOVES = ("obl", "obl:tmod", "obl:unmarked", "obl:npmod", "advcl")
_STATE_TEXT = "have has had lack lacks lacked mean means meant cost costs become becomes became resemble"
_STATES = frozenset(_STATE_TEXT.split())
_FULL = ("aux", "iobj", "ccomp", "xcomp", "expl", "compound", "cop", "conj")  # a verb with such has no plain passive


@register(
    "reorder",
    "an adverbial moves from the end to the front, or two words joined by and change places",
    True,
    acts_on="texts with two such words; in English those with an adverbial at the end",
    needs=frozenset({"parse"}),
    aim="syn",
    place=170,
)
@by_parse
def _reorder(item: Item, parse: Parse, spans: list[Span | None]) -> list[str]:
    return [*_coordinated(item, parse, spans), *(_fronted(item, parse, spans) if item.lang in _FRONTING else [])]


def _coordinated(item: Item, parse: Parse, spans: list[Span | None]) -> list[str]:
    """Return the text with two coordinated words exchanged, for each pair of them: *dogs and cats*."""
    results = []
    for at in range(len(parse.words) - 2):
        head, last = at, at + 2
        joined = parse.deprels[at + 1] == "cc" and parse.deprels[last] == "conj" and parse.heads[last] == head + 1
        joined = joined and parse.words[at + 1].lower() not in ("als", "wie", "than", "as")
        alike = parse.upos[head] == parse.upos[last] and parse.upos[head] in ("NOUN", "PROPN", "ADJ")
        # What stands in front of the first belongs to both, if to either.
        shared = [place for place in below(parse, head) if place < head]
        alone = len(below(parse, head)) + len(below(parse, last)) == 2 + len(shared)
        plain = all(parse.upos[place] in ("ADP", "DET", "PUNCT") for place in shared)
        plain = plain and not any(parse.words[place].lower() in ("a", "an") for place in shared)
        first, second = spans[head], spans[last]
        if item.lang != "en" and not _equal(item, parse, head, last):
            continue
        if joined and alike and alone and plain and first is not None and second is not None and head > 0:
            results.append(swapped(item, first, second))
    return results


def _equal(item: Item, parse: Parse, first: int, last: int) -> bool:
    """Tell whether two joined words fit each other's places outside English: no names of one thing, nothing "each"."""
    words = parse.words[first], parse.words[last]
    governor = parse.heads[first] - 1
    around = [parse.upos[at] for at in (first - 1, last + 1, governor) if 0 <= at < len(parse.upos)]
    if _EACH.search(item.text) or not all(word.isalpha() for word in words):
        return False
    if item.lang in ("es", "it") and any(regex.match(r"(?i)h?[ioe]|y", word) for word in words):
        return False
    if item.lang in ("fr", "it") and opens(words[0]) != opens(words[1]):
        return False
    if "PROPN" in (parse.upos[first], *around) and parse.upos[last + 1 : last + 2] in (("NOUN",), ("PROPN",)):
        return False
    if parse.upos[first] == "PROPN" and ("PROPN" in around or any(parse.upos[i] == "DET" for i in below(parse, first))):
        return False
    if item.lang == "zh" and (parse.upos.count("CCONJ") > 1 or {"NOUN", "PART", "PROPN"} & set(around[:2])):
        return False
    if any(parse.upos[i] == "DET" for i in below(parse, first)):
        has, other = (as_features(parse.feats[at]) for at in (first, last))
        return all(has.get(name) == other.get(name) for name in ("Gender", "Number"))
    return words[0][0].isupper() == words[1][0].isupper()


def _fronted(item: Item, parse: Parse, spans: list[Span | None]) -> list[str]:
    """Return the text with the adverbial at its end moved to its front, if it has one and is one sentence."""
    roots = [at for at, head in enumerate(parse.heads, start=1) if head == 0]
    if len(roots) != 1 or any(BREAK & set(word) for word in parse.words):
        return []
    text = item.text
    body = text.rstrip().rstrip(".!")
    results = []
    for at, (head, relation) in enumerate(zip(parse.heads, parse.deprels, strict=True)):
        if head != roots[0] or relation not in _MOVES:
            continue
        whole = phrase_of(parse, at, spans)
        if whole is None or whole[0][1] != len(body) or whole[2] < 2:
            continue
        start, end = whole[0]
        if text[start:end].lower().startswith(("if ", "whether ", "that ")):
            continue  # more often what is asked or said
        rest = body[:start].rstrip().rstrip(",")
        subject = next((i for i in below(parse, roots[0] - 1) if "subj" in parse.deprels[i]), None)
        opens = subject is not None and (first := phrase_of(parse, subject, spans)) is not None and first[0][0] == 0
        if opens and rest:
            front = text[start].upper() + text[start + 1 : end]
            kept = rest if keeps_capital(item, (0, 1)) else rest[0].lower() + rest[1:]
            results.append(f"{front}, {kept}{text[len(body) :]}")
    return results


@register(
    "voice",
    "an active clause becomes passive",
    True,
    languages=("en",),
    acts_on="texts with a verb in present or past between its subject and its object",
    needs=frozenset({"parse"}),
    aim="syn",
    place=180,
)
@by_parse
def _voice(item: Item, parse: Parse, spans: list[Span | None]) -> list[str]:
    results = []
    for at in range(len(parse.words)):
        has, place = as_features(parse.feats[at]), spans[at]
        tense = has.get("Tense")
        if parse.upos[at] != "VERB" or parse.words[at].lower() in _STATES or has.get("VerbForm", "Fin") != "Fin":
            continue
        if tense is None or place is None or any(parse.deprels[i].startswith(_FULL) for i in below(parse, at)):
            continue
        subject, thing = (phrase(parse, at + 1, relations, spans) for relations in (("nsubj",), ("obj",)))
        if subject is None or thing is None:
            continue
        before, after = subject[0][1], thing[0][0]
        adjacent = item.text[before : place[0]].isspace() and item.text[place[1] : after].isspace()
        forms = clause_forms(item, parse, subject, thing) if adjacent else None
        joined = any(parse.deprels[i] == "conj" for i in below(parse, thing[1]))
        many = joined or parse.words[thing[1]].lower() in ("us", "them", "you", "these", "those")
        plural = many or as_features(parse.feats[thing[1]]).get("Number") == "Plur"
        past = inflected(
            parse.words[at], "VERB", parse.feats[at], {"Tense": "Past", "VerbForm": "Part"}, lang="en", treebanks=None
        )
        participle = past or (parse.words[at] if tense == "Past" and parse.words[at].endswith("ed") else None)
        reflexive = parse.words[thing[1]].lower().endswith(("self", "selves", "other"))
        if forms is None or participle is None or reflexive:
            continue
        first = forms[1].lower() == "i"
        being = {"Past": ("was", "were"), "Pres": ("am" if first else "is", "are")}[tense][plural]
        results.append(swapped(item, subject[0], thing[0], forms, f" {being} {participle} by "))
    return results
