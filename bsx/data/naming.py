"""What columns and files of texts are called outside of bsx, in the languages that most people write."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Role = Literal["candidate", "reference", "source", "system", "segment", "document", "human", "label", "score", "note"]


def _bare(text: str) -> str:
    """Return a name in small letters, without accents."""
    return unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text.lower())))


# English, Chinese, Hindi, Spanish, Arabic, French, Bengali, Portuguese, Russian, Urdu, Indonesian, German, Japanese,
# Italian, Polish, Turkish, Czech, Dutch, Ukrainian, Korean, Vietnamese, in this order.
_NAMES: dict[Role, str] = {
    "candidate": r"cand(idate)?s?|targets?( text)?|translations?|mt|hyp(othesis|otheses|s|o)?|outputs?"
    r"|machine translations?|译文|機器翻譯|机器翻译|机翻|机器译文|候选译文|अनुवाद|मशीनी? अनुवाद|traducción( automática)?"
    r"|ترجمة|الترجمة|ترجمة آلية|الترجمة الآلية|(texte )?cible|traduction( automatique)?|অনুবাদ|মেশিন অনুবাদ"
    r"|tradução( automática)?|((машинный|автоматический) )?перевод|ترجمہ|مشینی ترجمہ|terjemahan( mesin)?"
    r"|ziel(text|sprache)?|((maschinelle|automatische) )?(übersetzung|uebersetzung)|maschinenübersetzung"
    r"|機械翻訳|訳文|traduzione( automatica)?|tłumaczenie( maszynowe)?|(makine )?çeviri(si)?|(strojový )?překlad"
    r"|(machine)?vertaling|(машинний )?переклад|(기계 ?)?번역|bản dịch( máy)?",
    "reference": r"(human )?ref(erence)?s?( (ref|text|translation|human|official)s?)?"
    r"|(human|approved|reviewed|proofread) (translation|target|text)s?|参考(译文|翻译|答案)?"
    r"|參考(譯文|翻譯)?|标准译文|人工(翻译|译文)|संदर्भ( अनुवाद)?|मानव अनुवाद|(traducción de )?referencias?"
    r"|traducción humana|مرجع|المرجع|ترجمة مرجعية|الترجمة المرجعية|ترجمة بشرية|(traduction de )?références?"
    r"|traduction humaine|রেফারেন্স( অনুবাদ)?|মানব অনুবাদ|(tradução de )?referências?|tradução humana|эталон(ный перевод)?"
    r"|референс(ный перевод)?|перевод человека|حوالہ( ترجمہ)?|انسانی ترجمہ|(terjemahan )?(referensi|acuan)"
    r"|referenz(en|texte?|datei|(ü|ue)bersetzung(en)?)?|humanübersetzung|参照訳?|参考訳"
    r"|(traduzione di )?riferiment[oi]|referencj[ae]|tłumaczenie (referencyjne|ludzkie)|wzorzec|referans( çeviri)?"
    r"|referenční překlad|referentie(vertaling)?|еталон(ний переклад)?|참조( 번역)?|정답|(bản dịch )?tham chiếu",
    "source": r"src|sources?( (text|segment)s?)?|originals?|原文|源文本?|स्रोत( पाठ)?|मूल( पाठ)?|origen|fuente"
    r"|texto (de )?(origen|origem|fuente|fonte|original)|مصدر|المصدر|النص الأصلي|النص المصدر|texte (source|original)"
    r"|উৎস|মূল( পাঠ)?|origem|fonte|оригинал|источник|исходный текст|исходник|ماخذ|اصل متن|sumber|teks (sumber|asli)"
    r"|quell(e|text|sprache)|ausgangs(text|sprache)|original(text|e)|testo di partenza|sorgente"
    r"|źródło|(tekst )?źródłowy|oryginał|kaynak( metin)?|zdroj(ový text)?|originál|bron(tekst)?|джерело|оригінал|원문"
    r"|bản gốc",
    "system": r"systems?|sys|engines?|models?|vendors?|providers?|系统|moteur|motore?|система|anbieter",
    "segment": r"(seg(ment)?|unit|row|string|sentence)?s?[ -]?(ids?|nr|no|number|key)|seg(ment)?s?|key|编号|序号"
    r"|n°|nº|№|номер|сегмент|nummer|zeile|(№ )?п/п|lp",
    "document": r"doc(ument)?s?([ -]?(ids?|name))?|files?( ?names?)?|文档|文件|fichier|documento|archivo|документ|файл"
    r"|dokument|datei(name)?",
    "label": r"labels?",
    "note": r"notes?|(reviewer )?comments?|remarks?|备注|注释|评论|टिप्पणी|comentarios?|observaciones|ملاحظات|remarques?"
    r"|commentaires?|মন্তব্য|observaç(ão|ões)|комментари[йи]|примечани[ея]|تبصرہ|catatan|anmerkung(en)?|kommentare?"
    r"|bemerkung(en)?|備考|コメント|note|commenti|uwagi.*|komentarz.*|notlar|poznámk[ay]|opmerkingen|примітк[аи]"
    r"|비고|ghi chú",
}
_MAYBE = re.compile("gold|human|approved|reviewed|proofread|post ?edit(ed|s)?|pe")
"""What columns of references are called, and others too: columns of scores, flags and dates."""
_PATTERNS = {role: re.compile(_bare(names)) for role, names in _NAMES.items()}
_LAST = re.compile(r"(?<=ref)[a-d]$|(?<!human)(?<!human ) ?\d+$|(?<=\W)(?<!human )[a-z]$|(?<=[^\x00-\u024f])[a-z]$")
"""What tells several of a kind apart: ``refA``, ``reference_B``, ``System 2``, ``译文A``; ``human_b`` are scores."""


def role_of(name: str, *, sure: bool = False) -> Role | None:
    """Return what a column or file is for by its name; None where that says nothing.

    Accents, capitals, and a number or single letter at the end do not count; words in brackets do where those before
    them say nothing, or candidates, as in ``German (approved)`` and ``Translation (reference)``.

    Args:
        name: that of a column, or of a file without its ending.
        sure: say nothing where the name may as well mean something else.
    """
    bare, inside, _ = re.split(r"\(([^()]*)\)\s*$|$", _bare(name), maxsplit=1)
    found, meant = _named(bare, sure=sure), _named(inside or "", sure=sure)
    swayed = found == "candidate" or (found is None and not sure)
    return meant if swayed and meant in ("candidate", "reference", "source") else found


def _named(text: str, *, sure: bool) -> Role | None:
    plain = re.sub(r"[_\-\s.:]+", " ", text).strip()
    shorter = _LAST.sub("", plain).strip()
    if not sure and (_MAYBE.fullmatch(plain) or _MAYBE.fullmatch(shorter)):
        return "reference"
    return next((role for role, names in _PATTERNS.items() if names.fullmatch(plain) or names.fullmatch(shorter)), None)


def role_of_file(name: str) -> Role | None:
    """Return what a file of texts holds by its name: what all of it says, or a word of it; references first."""
    roles = {role_of(name.removesuffix(".gz").rpartition(".")[0]), *map(role_of, re.split(r"[._\-\s]+", name))}
    return next((role for role in ("reference", "source", "candidate") if role in roles), None)
