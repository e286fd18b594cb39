"""The form in which texts are compared: Unicode's, and spellings of the same words that a metric would tell apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Literal, TypeAlias

from bsx.data.corpus import Corpus, Segment
from bsx.data.detect import SAMPLE, script_of

Form: TypeAlias = Literal["nfc", "nfkc", "tashkeel", "sr-latn", "none"]
"""NFC; NFKC; NFC without Arabic vowel marks; NFC with Serbian in Latin letters; texts as they are."""

# Short vowels, doubling, Koranic signs, and the stroke that stretches a word; hamza and madda are part of a letter.
_TASHKEEL = re.compile("[\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]")
_SERBIAN = dict(zip("АБВГДЂЕЖЗИЈКЛМНОПРСТЋУФХЦЧШ", "ABVGDĐEŽZIJKLMNOPRSTĆUFHCČŠ", strict=True))
_SERBIAN |= {"Љ": "Lj", "Њ": "Nj", "Џ": "Dž"}
_SERBIAN |= {cyrillic.lower(): latin.lower() for cyrillic, latin in _SERBIAN.items()}
_TWO = re.compile("[ЉЊЏ](?=[А-ЯЂЈЉЊЋЏ])|(?<=[А-ЯЂЈЉЊЋЏ])[ЉЊЏ](?![а-яђјљњћџ])")


def in_form(text: str, form: Form) -> str:
    """Return a text in a form; one that is in it already is returned as it is.

    >>> in_form("Ａ１", "nfkc"), in_form("كَتَبَ", "tashkeel"), in_form("Љубав, ЉУБАВ", "sr-latn")
    ('A1', 'كتب', 'Ljubav, LJUBAV')
    """
    if form == "none" or text.isascii():
        return text
    text = unicodedata.normalize("NFKC" if form == "nfkc" else "NFC", text)
    if form == "tashkeel":
        return unicodedata.normalize("NFC", _TASHKEEL.sub("", text))
    if form == "sr-latn":
        text = _TWO.sub(lambda letter: _SERBIAN[letter[0]].upper(), text)
        return "".join(_SERBIAN.get(letter, letter) for letter in text)
    return text


def form_of(text: str) -> str:
    """Return in which of Unicode's forms a text is: ``NFC``, ``NFD``, ``both`` or ``neither``."""
    if text.isascii():
        return "both"
    composed, cut = (unicodedata.is_normalized(form, text) for form in ("NFC", "NFD"))
    return ("both" if cut else "NFC") if composed else ("NFD" if cut else "neither")


def forms_note(counts: Mapping[str, int], form: Form) -> str | None:
    """Return what the user should know about the forms of the texts; None if all of them are in NFC.

    >>> forms_note({"NFC": 3, "NFD": 2, "both": 1}, "nfc")
    'of 6 texts, 3 are in Unicode form NFC, 2 in NFD, 0 in neither: all are compared in NFC (normalize)'
    """
    if not counts.get("NFD") and not counts.get("neither"):
        return None
    several = [f"{counts.get('NFC', 0):,} are in Unicode form NFC", f"{counts.get('NFD', 0):,} in NFD"]
    several.append(f"{counts.get('neither', 0):,} in neither")
    what = f"all are compared in {'NFKC' if form == 'nfkc' else 'NFC'} (normalize)"
    if form == "none":
        what = "they are compared as they are, so equal texts in two forms do not match; normalize nfc makes them equal"
    return f"of {sum(counts.values()):,} texts, {', '.join(several)}: {what}"


class InForm:
    """Segments whose texts are in a form; each row's own cells stay as they are.

    Args:
        corpus: the segments.
        form: the form.

    """

    def __init__(self, corpus: Corpus, form: Form) -> None:
        self._corpus, self._form = corpus, form
        self.systems, self.has = corpus.systems, corpus.has

    def __iter__(self) -> Iterator[Segment]:
        """Read all segments from the start."""
        return (segment_in_form(segment, self._form) for segment in self._corpus)

    @cached_property
    def scripts(self) -> dict[str, str]:
        """The script of candidates, references and sources; see `scripts_of`."""
        return scripts_of(self._corpus)


def segment_in_form(segment: Segment, form: Form) -> Segment:
    """Return a segment with its texts in a form."""
    if "".join((*segment.candidates, *segment.references, segment.source or "")).isascii():
        return segment
    candidates = tuple([in_form(text, form) for text in segment.candidates])
    references = tuple([in_form(text, form) for text in segment.references])
    source = None if segment.source is None else in_form(segment.source, form)
    if (candidates, references, source) == (segment.candidates, segment.references, segment.source):
        return segment
    return replace(segment, candidates=candidates, references=references, source=source)


def scripts_of(corpus: Corpus) -> dict[str, str]:
    """Return the script in which candidates, references and sources are written; sides without letters are left out.

    What the first `bsx.data.detect.SAMPLE` segments are mostly written in, so that it does not depend on batches.
    """
    if isinstance(corpus, InForm):
        return corpus.scripts
    texts: dict[str, list[str]] = {"candidate": [], "reference": [], "source": []}
    for segment in islice(corpus, SAMPLE):
        texts["candidate"] += segment.candidates
        texts["reference"] += segment.references
        texts["source"] += [] if segment.source is None else [segment.source]
    found = {side: script_of(several) for side, several in texts.items()}
    return {side: script for side, script in found.items() if script is not None}
