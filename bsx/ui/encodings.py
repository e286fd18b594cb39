"""Files of texts in another encoding than UTF-8: what it looks like, and how it is taken."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from bsx.data.lines import NamedFile
from bsx.data.output import atomic_text
from bsx.data.sources import OFFICE
from bsx.errors import InputError
from bsx.support.optional import need

KNOWN = {
    **{f"cp125{number}": f"Windows-125{number}" for number in range(9)},
    **{"gb18030": "GB 18030", "big5": "Big5", "cp932": "Shift JIS", "euc_jp": "EUC-JP", "cp949": "EUC-KR"},
    **{"koi8_r": "KOI8-R", "cp866": "DOS 866", "cp874": "Windows-874", "iso8859_2": "ISO 8859-2"},
}
"""Python's name -> what people call it."""
_MOST, _WORDS = 4, 8  # encodings that are offered, and words that are shown of each
_SAMPLE = 1 << 18  # bytes by which an encoding is guessed


def guesses(path: Path, was: str | None = None) -> list[tuple[str, str, list[str]]]:
    """Return in which encodings a file of texts may be, the likeliest first.

    Args:
        path: the file.
        was: in which it was read, if it is kept in UTF-8 now.

    Returns:
        Encoding, what people call it, and some words as it reads them, those first that others read otherwise; empty
        for UTF-8, and for what no encoding makes text of.
    """
    with NamedFile(path).reading() as stream:
        content = stream.read(_SAMPLE)
    content = _original(content[: content.rfind(b"\n") + 1] or content, was)
    if path.suffix in (*OFFICE, ".gz", ".parquet") or b"\0" in content or _decoded(content, "utf-8") is not None:
        return []
    matches = need("charset_normalizer", "guessing an encoding").from_bytes(content, cp_isolation=[*KNOWN])
    read: dict[str, str] = {}  # text -> encoding; of those that read it alike the one that is used most
    for name in [*(match.encoding for match in matches), "cp1252"]:
        text = _decoded(content, name)
        if text is not None and (text not in read or name == "cp1252"):
            read[text] = name
    first = [*read.items()][:_MOST]
    offered = {name: dict.fromkeys(word[:40] for word in text.split() if not word.isascii()) for text, name in first}
    return [
        (name, KNOWN[name], sorted(words, key=lambda word: sum(word in others for others in offered.values()))[:_WORDS])
        for name, words in offered.items()
    ]


def convert(path: Path, encoding: str, was: str | None = None) -> None:
    """Write a file anew in UTF-8, unless it is in UTF-8 already.

    Args:
        path: the file.
        encoding: that of its bytes.
        was: what it was taken for before, which was wrong.

    Raises:
        InputError: if it is not in this encoding, or that is none of those offered.
    """
    content = _original(NamedFile(path).all_bytes(), was)
    if _decoded(content, "utf-8") is not None:
        return
    text = _decoded(content, encoding) if encoding in KNOWN else None
    if text is None:
        raise InputError(f"is not in {KNOWN.get(encoding, 'this encoding')} throughout: choose another", file=path)
    with atomic_text(path, internal=True) as stream:
        stream.write(text)


def _original(content: bytes, was: str | None) -> bytes:
    """Return what a file held before it was read in an encoding; what it holds, if that cannot have been."""
    try:
        return content.decode().encode(was) if was in KNOWN else content
    except UnicodeError:
        return content


def _decoded(content: bytes, encoding: str) -> str | None:
    """Return what an encoding makes of bytes; None if that is no text."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if any(unicodedata.category(character) in ("Cc", "Co") for character in {*text} - {*"\t\r\n"}) else text
