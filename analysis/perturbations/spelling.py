"""Other ways to write the same words, which readers of the language take for equal: spellings, marks, small nouns."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import regex

from bsx.analysis.perturbations.base import Change, Item, Perturbation

Group = Sequence[tuple[str, str]]

# Groups of rules by language.
_SPELLINGS: Mapping[str, Sequence[Group]] = {
    "de": (  # Swiss spelling; letters for keyboards without umlauts
        (("ß", "ss"),),
        (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue")),
    ),
    "en": (  # British, then American
        (
            (r"\b([Cc]ol|[Ff]lav|[Ff]av|[Hh]on|[Ll]ab|[Nn]eighb|[Bb]ehavi|[Hh]arb|[Hh]um|[Rr]um)our", r"\1or"),
            (r"\b([Cc]ent|[Tt]heat|[Mm]et|[Ll]it|[Ff]ib)re(s?)\b", r"\1er\2"),
            (r"\b([Tt]ravel|[Cc]ancel|[Mm]odel|[Ll]abel|[Ff]uel|[Ss]ignal)l(ed|ing|ers?)\b", r"\1\2"),
            (r"\b([Dd]efen|[Oo]ffen)ce\b", r"\1se"),
            (r"\b([Oo]rgan|[Rr]ecogn|[Rr]eal|[Aa]polog|[Ee]mphas|[Cc]ritic)is(e[ds]?|ing|ation)\b", r"\1iz\2"),
        ),
        (
            (r"\b([Cc]ol|[Ff]lav|[Ff]av|[Hh]on|[Ll]ab|[Nn]eighb|[Bb]ehavi|[Hh]arb)or(?![aio])", r"\1our"),
            (r"\b([Cc]ent|[Tt]heat)er(s?)\b", r"\1re\2"),
            (r"\b([Tt]ravel|[Cc]ancel|[Mm]odel|[Ll]abel|[Ff]uel|[Ss]ignal)(ed|ing|ers?)\b", r"\1l\2"),
            (r"\b([Dd]efen|[Oo]ffen)se\b", r"\1ce"),
            (r"\b([Oo]rgan|[Rr]ecogn|[Rr]eal|[Aa]polog|[Ee]mphas|[Cc]ritic)iz(e[ds]?|ing|ation)\b", r"\1is\2"),
        ),
    ),
    "fr": (  # the spelling of 1990 in words that are nothing else without the accent, and ligatures undone
        (
            (r"(?i)\b((?:re|mé)?conna|(?:dis|ré)?appara|(?:com)?pla|na|ma|tra|cha|entra|fra|bo)î(?=t|n|ch)", r"\1i"),
            (r"\bî(les?)\b", r"i\1"),
            (r"(?i)\b(ao|co|go|vo)û(?=t)", r"\1u"),
            (r"\b([Éé])vén", r"\1vèn"),
        ),
        (("œ", "oe"), ("Œ", "Oe")),
    ),
    "ru": ((("ё", "е"), ("Ё", "Е")),),
}
_FULL, _HALF = "，。！？：；（）", ",.!?:;()"
_WIDTHS: Sequence[Group] = (
    tuple(zip(_FULL, _HALF, strict=True)),
    # Not inside numbers, times and addresses.
    tuple((rf"(?<![\p{{Nd}}A-Za-z]){regex.escape(half)}", full) for full, half in zip(_FULL, _HALF, strict=True)),
)
_MARKS: Mapping[str, Sequence[Group]] = {
    "es": ((("[¿¡]", ""),),),
    "fr": (
        ((r"\s+(?=[;:!?»])", ""), (r"(?<=«)\s+", "")),
        ((r"(?<=[\p{L}\p{N}])(?=[;:!?](?:\s|$))", "\u202f"), (r"(?<=\S)(?=»)", "\u202f"), (r"(?<=«)(?=\S)", "\u202f")),
    ),
    "ja": _WIDTHS,
    "zh": _WIDTHS,
}
# A capital in front of small letters, not where a sentence or a quotation begins. The polite "you" keeps it: small, it
# is "they".
_NOUN = regex.compile(r"(?<=[\p{L}\p{N},;–] |[\p{L}\p{N}]-)(?!(?:Sie|Ihr\p{Ll}*|Ihnen)\b)\p{Lu}(?=\p{Ll}+\b)")


def rewriting(table: Mapping[str, Sequence[Group]]) -> Change:
    """Return a change by rules, pattern and what stands for it, in groups: the first that changes a text counts."""
    compiled = {
        lang: [[(regex.compile(pattern), to) for pattern, to in group] for group in groups]
        for lang, groups in table.items()
    }

    def change(item: Item, strength: float, rng: random.Random) -> str | None:
        for group in compiled[item.lang]:
            text = item.text
            for pattern, to in group:
                text = pattern.sub(to, text)
            if text != item.text:
                return text
        return None

    return change


def _small_nouns(item: Item, strength: float, rng: random.Random) -> str | None:
    text = str(_NOUN.sub(lambda match: match[0].lower(), item.text))
    return text if text != item.text else None


SPELLING = Perturbation(
    "spelling",
    "another accepted spelling: British or American, ß as ss or else ä as ae, the French one of 1990, ё as е",
    True,
    rewriting(_SPELLINGS),
    languages=tuple(_SPELLINGS),
    acts_on="texts with a word or letter that may be spelled in two ways",
)
MARKS = Perturbation(
    "marks",
    "marks as they are written elsewhere: no ¿ and ¡, spaces before French marks, full-width marks half as wide",
    True,
    rewriting(_MARKS),
    languages=tuple(_MARKS),
    acts_on="texts with such marks",
)
SMALL_NOUNS = Perturbation(
    "small-nouns",
    "nouns and names without capitals, as many people type",
    True,
    _small_nouns,
    languages=("de",),
    acts_on="texts with a capital inside a sentence",
)
