"""English word forms by rule: number of nouns; third person, past and participle of verbs."""

from __future__ import annotations

from collections.abc import Mapping

_VERBS = """
    bear bore borne|beat beat beaten|become became become|begin began begun|bend bent bent|bet bet bet|bind bound bound
    bite bit bitten|bleed bled bled|blow blew blown|break broke broken|breed bred bred|bring brought brought
    build built built|buy bought bought|cast cast cast|catch caught caught|choose chose chosen|come came come
    cost cost cost|cut cut cut|deal dealt dealt|dig dug dug|do did done|draw drew drawn|drink drank drunk
    drive drove driven|eat ate eaten|fall fell fallen|feed fed fed|feel felt felt|fight fought fought|find found found
    fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen
    get got got|give gave given|go went gone|grow grew grown|hang hung hung|have had had|hear heard heard
    hide hid hidden|hit hit hit|hold held held|hurt hurt hurt|keep kept kept|know knew known|lay laid laid|lead led led
    leave left left|lend lent lent|let let let|lose lost lost
    make made made|mean meant meant|meet met met|overcome overcame overcome
    pay paid paid|put put put|read read read|ride rode ridden|ring rang rung|rise rose risen|run ran run|say said said
    see saw seen|seek sought sought|sell sold sold|send sent sent|set set set|shake shook shaken|shoot shot shot
    show showed shown|shut shut shut|sing sang sung|sink sank sunk|sit sat sat|sleep slept slept|slide slid slid
    speak spoke spoken|spend spent spent|split split split|spread spread spread|stand stood stood|steal stole stolen
    stick stuck stuck|strike struck struck|swear swore sworn|sweep swept swept|swim swam swum|swing swung swung
    take took taken|teach taught taught|tear tore torn|tell told told|think thought thought|throw threw thrown
    understand understood understood|undertake undertook undertaken|wake woke woken|wear wore worn|win won won
    withdraw withdrew withdrawn|write wrote written
"""
_NOUNS = """
    man men|woman women|child children|foot feet|tooth teeth|mouse mice|goose geese|person people|life lives|wife wives
    knife knives|leaf leaves|half halves|wolf wolves|shelf shelves|thief thieves|loaf loaves|crisis crises
    analysis analyses|basis bases|phenomenon phenomena|criterion criteria|hero heroes|potato potatoes|tomato tomatoes
    echo echoes|movie movies|cookie cookies|shoe shoes|toe toes
"""
# Nouns without a plural, or with one that is spelled alike or means something else.
_ALONE_TEXT = """
    information money water news police research evidence music traffic weather advice equipment knowledge furniture
    progress behaviour behavior electricity luck rice gold oil air peace politics economics mathematics physics series
    species means headquarters sheep fish aircraft staff media data trousers clothes goods thanks outskirts unemployment
    violence health education homework luggage software hardware heat help love hope sunshine bread meat milk
"""
_DOUBLED_TEXT = """
    refer occur prefer commit permit admit submit control compel expel rebel transfer regret omit defer confer
"""
_ALONE, _DOUBLED = frozenset(_ALONE_TEXT.split()), frozenset(_DOUBLED_TEXT.split())
_PARADIGMS = {
    base: (past, participle)
    for base, past, participle in (x.split() for x in _VERBS.replace("\n", "|").split("|") if x.strip())
}
_BASES = {form: base for base, forms in _PARADIGMS.items() for form in forms}
_PLURALS = dict(x.split() for x in _NOUNS.replace("\n", "|").split("|") if x.strip())
_SINGULARS = {plural: singular for singular, plural in _PLURALS.items()}
_BE = frozenset(("am", "are", "is", "was", "were", "be", "been", "being"))
_VOWELS = "aeiou"


def english_form(word: str, tag: str, wanted: Mapping[str, str], feats: Mapping[str, str]) -> str | None:
    """Return a form of an English noun or verb, in small letters.

    Args:
        word: the form at hand.
        tag: its part of speech.
        wanted: universal features that the form should have.
        feats: those that the form at hand has.

    Returns:
        The form; None where the rules do not know it.

    >>> english_form("goes", "VERB", {"Tense": "Past"}, {"Tense": "Pres", "Number": "Sing", "Person": "3"})
    'went'
    >>> english_form("cities", "NOUN", {"Number": "Sing"}, {"Number": "Plur"})
    'city'
    """
    word = word.lower()
    if not word.isalpha():
        return None
    if tag == "NOUN":
        return _noun(word, wanted.get("Number"), feats.get("Number"))
    return _verb(word, wanted, feats) if tag in ("VERB", "AUX") else None


def _noun(word: str, number: str | None, now: str | None) -> str | None:
    if word in _ALONE or {number, now} != {"Sing", "Plur"}:
        return None
    if number == "Plur":
        return (
            None if word in _SINGULARS or word.endswith(("ss", "ics", "ing")) else _PLURALS.get(word) or _with_s(word)
        )
    if word in _SINGULARS:
        return _SINGULARS[word]
    singular = _without_s(word)
    return singular if singular is not None and singular not in _ALONE and _with_s(singular) == word else None


def _verb(word: str, wanted: Mapping[str, str], feats: Mapping[str, str]) -> str | None:
    past, participle = wanted.get("Tense") == "Past", wanted.get("VerbForm") == "Part"
    singular = wanted.get("Number") == "Sing"
    first, third = wanted.get("Person") == "1", wanted.get("Person") == "3"
    if word in _BE:
        if participle:
            return "been" if past else "being"
        if past:
            return "was" if singular and (first or third) else "were"
        return "am" if singular and first else "is" if singular and third else "are"
    if past and participle and feats.get("Tense") == "Past" and word.endswith("ed") and word not in _BASES:
        return word
    base = _base(word, feats)
    if base is None:
        return None
    if past:
        return _PARADIGMS.get(base, (_regular(base),) * 2)[participle]
    if participle:
        return None
    return ("has" if base == "have" else _with_s(base)) if singular and third else base


def _base(word: str, feats: Mapping[str, str]) -> str | None:
    if feats.get("Tense") == "Past":
        return _BASES.get(word)
    if feats.get("Number") == "Sing" and feats.get("Person") == "3":
        return {"has": "have", "does": "do", "goes": "go"}.get(word) or _without_s(word)
    return word


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")) or word in ("go", "do", "undergo", "veto"):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def _without_s(word: str) -> str | None:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")) or len(word) < 4:
        return None
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "xes", "zzes", "ches", "shes")):
        return word[:-2]
    return word[:-1]


def _regular(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return base[:-1] + "ied"
    short = sum(letter in _VOWELS for letter in base) == 1 and len(base) > 2
    closed = base[-1] not in _VOWELS + "wxy" and base[-2:-1] in _VOWELS
    return base + (base[-1] if (short and closed) or base in _DOUBLED else "") + "ed"
