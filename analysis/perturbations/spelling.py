"""Other ways to write the same, which readers take for equal: spellings, marks, contractions, no function words."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import regex

from bsx.analysis.perturbations.base import Change, Item, register

Group = Sequence[tuple[str, str]]

# Groups of rules by language.
_SPELLINGS: Mapping[str, Sequence[Group]] = {
    "de": (  # Swiss spelling; letters for keyboards without umlauts
        (("ß", "ss"),),
        (
            *((rf"{old}(?=\p{{Lu}})|(?<=\p{{Lu}}){old}", new) for old, new in (("Ä", "AE"), ("Ö", "OE"), ("Ü", "UE"))),
            *(("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue")),
        ),
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

_AUXILIARIES = (
    "is|are|was|were|do|does|did|has|have|had|would|could|should|might|must|need"  # "will" and "can" are irregular
)
# Not before a subject: "Don't you know?" written out is "Do you not know?".
_NO_SUBJECT = r"(?!\s+(?:I|you|he|she|it|we|they|this|that|there|the)\b)"
# 's and 'd are left alone: each may stand for two words.
_EXPAND = [
    (rf"\b(can)['’]t\b{_NO_SUBJECT}", r"\1not"),
    (rf"\b(w)on['’]t\b{_NO_SUBJECT}", r"\1ill not"),
    (rf"\b(sha)n['’]t\b{_NO_SUBJECT}", r"\1ll not"),
    (rf"\b({_AUXILIARIES})n['’]t\b{_NO_SUBJECT}", r"\1 not"),
    (r"\b(I)['’]m\b", r"\1 am"),
    (r"\b(you|we|they)['’]re\b", r"\1 are"),
    (r"\b(I|you|we|they)['’]ve\b", r"\1 have"),
    (r"\b(I|you|he|she|it|we|they)['’]ll\b", r"\1 will"),
]
_CONTRACT = [
    (r"\b(can)(?:not| not)\b(?!\s+only)", r"\1't"),
    (r"\b(w)ill not\b(?!\s+only)", r"\1on't"),
    (rf"\b({_AUXILIARIES}) not\b(?!\s+only)", r"\1n't"),
]
_RULES = [[(f"(?i){pattern}", to) for pattern, to in rules] for rules in (_EXPAND, _CONTRACT)]

# Articles, and in Chinese the particle of attributes behind adjectives and persons that do without it. German, French
# and Spanish nouns do not: their telegrams lose inflections and set phrases with the article.
_ZH_CLOSE = (
    "父|母|爸|妈|媽|妻|丈夫|儿子|兒子|女儿|女兒|孩子|哥|弟|姐|妹|朋友|老师|老師|同学|同學|同事|家|房间|房間|手机|手機|"
    "肩膀|头发|頭髮|眼睛|身体|身體|名字|生日|学校|學校|公司"
)
_ZH_ADJECTIVES = (
    "(?:特殊|重要|主要|健康|丰富|豐富|传统|傳統|现代|現代|基本|正式|完整|独立|獨立|美丽|美麗|著名|巨大|"
    "严重|嚴重|普通|优秀|優秀|不同|大型|小型|新型|年轻|年輕|强大|強大|真正|最新|具体|具體)"
)
_FUNCTION_WORDS = {
    "en": r"(?<![\p{L}\p{N}'’-])(?:the|a|an) (?=[\p{L}\p{N}])",
    "zh": f"(?<={_ZH_ADJECTIVES}|(?<![和与與跟对對給给为為把被向讓让])(?:[我你您他她]|[我你他她]们|"
    f"[我你他她]們))的(?:(?={_ZH_CLOSE})|(?<={_ZH_ADJECTIVES}的))"
    r"(?=\p{Script=Han}{2})(?![是了也都就在不很确確士话話时時，。第一那这這][^，。]|那|这|這|一|第)",
}
_PATTERNS = {lang: regex.compile(pattern) for lang, pattern in _FUNCTION_WORDS.items()}


def _rewriting(table: Mapping[str, Sequence[Group]]) -> Change:
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


def _function_words(item: Item, strength: float, rng: random.Random) -> str | None:
    text = str(_PATTERNS[item.lang].sub("", item.text))
    return text if text != item.text else None


register(
    "spelling",
    "another accepted spelling: British or American, ß as ss or else ä as ae, the French one of 1990, ё as е",
    True,
    _rewriting(_SPELLINGS),
    languages=tuple(_SPELLINGS),
    acts_on="texts with a word or letter that may be spelled in two ways",
    aim="lex",
    place=80,
)
register(
    "marks",
    "marks as they are written elsewhere: no ¿ and ¡, spaces before French marks, full-width marks half as wide",
    True,
    _rewriting(_MARKS),
    languages=tuple(_MARKS),
    acts_on="texts with such marks",
    place=90,
)
register(
    "small-nouns",
    "nouns and names without capitals, as many people type",
    True,
    _small_nouns,
    languages=("de",),
    acts_on="texts with a capital inside a sentence",
    place=100,
)
register(
    "contractions",
    "contractions written out (don't: do not), or, if there are none, negated auxiliaries contracted",
    True,
    _rewriting({"en": _RULES}),
    languages=("en",),
    acts_on="texts with such words; 's and 'd are left alone",
    aim="lex",
    place=70,
)
register(
    "function-words",
    "articles left out, in Chinese the particle of attributes, as in a telegram",
    True,
    _function_words,
    languages=tuple(_PATTERNS),
    acts_on="texts with such a word inside; in Chinese, behind adjectives and persons that do without it",
    aim="lex",
    withdrawn=dict.fromkeys(("de", "es", "fr"), "without articles, inflections and set phrases break"),
    place=110,
)
