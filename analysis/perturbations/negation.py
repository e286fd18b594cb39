"""Negation put in or taken out, by rules for each language that act on the first place they fit.

They change words they know: auxiliaries, copulas, modals, articles. Sentences with none of these are left alone, which
is counted; a wrong negation would measure something else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import regex

from bsx.analysis.perturbations.base import Item, register

Rule = tuple[str, str | Callable[[regex.Match[str]], str]]


def _capital(match: regex.Match[str]) -> str:
    return str(match[1]).upper()


_EN_NEGATIVE = r"(?!\s+(?:not|never|no|nothing|nobody|none|neither|nowhere|hardly|only|just|all)\b)"
_EN_SUBJECT = r"(?!\s+(?:I|you|he|she|it|we|they|this|these|those|there|been)\b)"
_EN_AUXILIARY = "is|are|was|were|am|will|would|can|could|should|must|may|might|shall"
_EN_PARTICIPLE = (
    r"(?:\p{Ll}{2,}ed|been|become|begun|broken|brought|built|bought|caught|chosen|come|cut|done|drawn|driven|fallen|"
    r"felt|found|forgotten|given|gone|grown|had|heard|held|kept|known|led|left|lost|made|meant|met|paid|put|read|risen|"
    r"run|said|seen|sent|set|shown|spent|spoken|stood|taken|thought|told|understood|won|worn|written)"
)
_DE_NOT_AFTER = (  # words that cannot follow "nicht" here: articles, pronouns, particles, conjunctions
    r"(?:der|die|das|den|dem|des|(?:d?ein|kein|mein|sein|ihr|unser)\p{Ll}{0,2}|ich|du|er|sie|es|wir|man|sich|mich|dich|"
    r"uns|euch|mir|dir|ihm|ihn|ihnen|dies\p{Ll}*|jed\p{Ll}+|all\p{Ll}+|viel\p{Ll}*|einig\p{Ll}+|beid\p{Ll}+|nicht|nie|"
    r"niemals|niemand|nichts|auch|ja|doch|noch|schon|nun|also|aber|denn|und|oder|sondern|wie|als|wenn|dass|dabei|da|"
    r"dort|hier|jetzt|heute|gestern|dann|so|damit|daher|deshalb|wohl|bereits|wer|was|wo)"
)
_FR_BEFORE = r"(?:(?:me|te|se|le|la|les|lui|leur|nous|vous|y|en)\s+|[mtsl]['’])*"
_FR_NEGATIVE = r"(?!\s+(?:pas|jamais|plus|rien|personne|que|aucune?|point|guère|ni)\b)"
_FR_FREE = r"(?<=\p{L}\s)(?<!\b(?:me|te|se|le|la|les|lui|leur|nous|vous|y|en|ne|à|de|du|vers)\s)"
_ES_FREE = r"(?<=\p{L}\s)(?<!\b(?:me|te|se|le|les|lo|la|los|las|nos|os|no|nunca|ni|tampoco|jamás|nada|nadie)\s)"
_ZH_NOT_BEFORE_IS = "但可还還于於总總只要或凡正算乃老若不倒既先却都就也又便即如仅僅"

# Taking a negation out, tried first.
_REMOVE: dict[str, Sequence[Rule]] = {
    "en": (
        (r"\b([Cc]an)not\b", r"\1"),
        (r"\b([Cc])a ?n['’]t\b", r"\1an"),
        (r"\b([Ww])o ?n['’]t\b", r"\1ill"),
        (r"\b([Ss]ha) ?n['’]t\b", r"\1ll"),
        (r"(?i:\b(is|are|was|were|do|does|did|has|have|had|would|could|should|must|might|need)) ?n['’]t\b", r"\1"),
        (rf"\b((?i:{_EN_AUXILIARY}|do|does|did|has|have|had)) not\b(?!\s+(?:only|just|least|all)\b)", r"\1"),
        (r"(?<=\w )never\s+(?!before|again|mind)", ""),
    ),
    "de": (
        (r"(?<=\w)\s+nicht\b(?!\s+(?:nur|wahr|einmal|zuletzt|mehr|weniger|zu)\b)", ""),
        (r"\bk(ein|einem|eines)\b", r"\1"),
        (r"\bK(e)(?=in(?:em|es)?\b)", _capital),
        (r"(?<!\bnoch )\b(?:nie|niemals)\b(?!\s+(?:mehr|wieder|zuvor)\b)", "immer"),
    ),
    "es": (
        (r"(?<=\p{L},? )no (?=\p{Ll}{2,})", ""),
        (r"^No (\p{Ll})(?=\p{Ll})", _capital),
    ),
    "fr": (
        (r"\b([Cc])e n['’](est|était)\s+(?:pas|jamais|plus)\b(?!\s+(?:que|seulement)\b)", r"\1'\2"),
        (rf"\b([Jj])e n['’]({_FR_BEFORE}\p{{L}}+)\s+(?:pas|jamais|plus)\b(?!\s+(?:que|seulement)\b)", r"\1'\2"),
        (rf"\b(?:ne\s+|n['’])({_FR_BEFORE}\p{{L}}+)\s+(?:pas|jamais|plus)\b(?!\s+(?:que|seulement)\b)", r"\1"),
    ),
    "ru": ((r"(?<=\p{L},? )не (?!только|менее|более|столько|раз\b|просто|без)(?=\p{L})", ""),),
    "zh": (
        ("(?<!是)不是(?![吗嗎所每])", "是"),
        ("(?<!有)(?:没|沒)有", "有"),
        ("(?<![能会會要想该該可也])不(?=能|会|會|可以|应该|應該|需要)", ""),
    ),
}
# Putting one in.
_INSERT: dict[str, Sequence[Rule]] = {
    "en": (
        (
            rf"(?<=[\w,] )(?<!\b(?:the|a|an|his|her|their|my|our|your|free|good|ill) )(?<!^(?:Who|What|Where|How|Why) )"
            rf"({_EN_AUXILIARY})\b(?=\s+\w){_EN_NEGATIVE}{_EN_SUBJECT}",
            lambda match: "cannot" if match[1] == "can" else f"{match[1]} not",
        ),
        (rf"(?<=\w )(has|have|had)\b{_EN_NEGATIVE}(?=\s+(?:\p{{Ll}}+ly\s+)?{_EN_PARTICIPLE}\b)", r"\1 not"),
        (
            rf"\b(I['’]m|(?:[Yy]ou|[Ww]e|[Tt]hey)['’]re|(?:I|[Yy]ou|[Hh]e|[Ss]he|[Ii]t|[Ww]e|[Tt]hey)['’]ll)\b(?=\s+\w)"
            rf"{_EN_NEGATIVE}",
            r"\1 not",
        ),
        (
            r"(?<!\b(?i:do|did|will|would|can|could|should|must|may|might|shall) )\b(I|[Yy]ou|[Ww]e|[Tt]hey) (think|"
            r"know|want|need|like|believe|love|see|feel|understand|agree|remember|expect|hope)\b",
            r"\1 do not \2",
        ),
    ),
    "de": (
        (rf"(?<=\w )(ist|sind|war|waren|wird|wurde|wurden|bin|bist)(?=\s\p{{Ll}})(?!\s{_DE_NOT_AFTER}\b)", r"\1 nicht"),
        (
            r"(?<!\b(?:nur|um|auch|was für|sondern) )\b([Ee])(in(?:e|en|em|er|es)?)\b(?!\s(?:paar|bisschen|wenig|Tages|"
            r"Morgens|Abends|d\p{Ll}{2}|jede[rs]?|unser\p{Ll}*|meiner|seiner|ihrer)\b)"
            r"(?=\s(?:\p{Ll}{2,}e[nrsm]?\s){0,2}\p{Lu}\p{L}+)",
            lambda match: ("K" if match[1] == "E" else "k") + "e" + match[2],
        ),
    ),
    "es": (
        (
            rf"{_ES_FREE}(es|son|está|están|era|eran|fue|fueron|será|serán|ha|han|había|habían|puede|pueden|podría|"
            r"debe|deben|tiene|tienen|va|van|quiere|quieren|hay|sabe|saben)\b(?=\s+\p{L})",
            r"no \1",
        ),
    ),
    "fr": (
        (rf"\b([Cc])['’](est|était)\b(?=\s+\p{{L}}){_FR_NEGATIVE}", r"\1e n'\2 pas"),
        (rf"{_FR_FREE}(est|était|étaient|a|ont|avait|avaient|aura|auront)\b(?=\s+\p{{L}}){_FR_NEGATIVE}", r"n'\1 pas"),
        (
            rf"{_FR_FREE}(sont|sera|seront|serait|peut|peuvent|pourrait|doit|doivent|va|vont|faut|veut|veulent)\b"
            rf"(?=\s+\p{{L}}){_FR_NEGATIVE}",
            r"ne \1 pas",
        ),
    ),
    "ru": (
        (
            r"(?<=\p{L} )(?<!\b(?:[Нн]е|[Нн]и) )(был|была|было|были|будет|будут|может|могут|мог|могла|могли|должен|"
            r"должна|должны|является|являются|стал|стала|стали|хочет|хотят|имеет|знает)\b(?!\s+быть\b)(?=\s+\p{L})",
            r"не \1",
        ),
    ),
    "zh": (
        (rf"(?<![{_ZH_NOT_BEFORE_IS}]|[幸惜]的|最多)是(?![否的非不吗嗎，])", "不是"),
        ("(?<!不)(可以|应该|應該|能够|能夠|需要)", r"不\1"),
    ),
}
# Where such words stand, a negation belongs to another one: neither is taken out alone.
_TIED = {"es": r"(?i)\b(?:nada|nadie|nunca|jamás|ning[uú]n\p{L}*|tampoco|ni|sino)\b", "ru": r"(?i)\bни\p{L}*\b"}
# Where such words stand, there is a negation already that could not be taken out: no second one is put in.
_NEGATIVE = {
    "de": r"(?i)\b(?:nicht|kein\p{L}*|nie|niemals|niemand|nichts|ohne)\b",
    "es": _TIED["es"],
    "ru": _TIED["ru"],
}
LANGUAGES = tuple(sorted(_REMOVE))


def _compiled(rules: dict[str, Sequence[Rule]]) -> dict[str, list[tuple[regex.Pattern[str], object]]]:
    return {lang: [(regex.compile(pattern), to) for pattern, to in listed] for lang, listed in rules.items()}


_REMOVALS, _INSERTIONS = _compiled(_REMOVE), _compiled(_INSERT)


def _negation(item: Item, strength: float, rng: random.Random) -> str | None:
    for rules, unless in ((_REMOVALS, _TIED), (_INSERTIONS, _NEGATIVE)):
        if item.lang in unless and regex.search(unless[item.lang], item.text):
            continue
        for pattern, to in rules[item.lang]:
            text = pattern.sub(to, item.text, count=1)
            if text != item.text:
                return str(text)
    return None


register(
    "negation",
    "takes a negation out of the text, or puts one in if there is none to take out",
    False,
    _negation,
    languages=LANGUAGES,
    acts_on="texts with an auxiliary, copula, modal or article that the rules know",
    aim="sem",
    place=50,
)
