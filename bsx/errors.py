"""Everything bsx raises on purpose: one tree, so that a caller can catch it and the command line can print it."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable, Mapping

# What a write to an open file fails with; Python does not say then which file it was.
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS)


_LONG = 1000  # characters: what is shorter is said as it is
_VALUE = re.compile(r"""'[^']{400,}'|"[^"]{400,}"|`[^`]{400,}`|[^\s'"`]{200,}""")


def shortened(message: str) -> str:
    """Return a message without the middle of long values that it quotes, such as a whole text in place of a name.

    >>> len(shortened(f"unknown metric {'x' * 70_000}. Near: chrf."))
    124
    """
    if len(message) <= _LONG:
        return message
    parts = _VALUE.sub(lambda match: _cut(match[0], 60, 14), message).split(" | ")  # several problems in one message
    return " | ".join(_cut(part, _LONG, 400) if len(part) > _LONG + 450 else part for part in parts)


def _cut(text: str, head: int, tail: int) -> str:
    return f"{text[:head]}… ({len(text):,} characters) …{text[-tail:]}"


def _in_words_of(door: Mapping[str, str], message: str, setting: str | None) -> str:
    """Call settings as a door does, where a message means them: ``name=value``, ``(name)``, ``leave out name``."""
    if re.match("metric |perturbation ", message):  # settings of its own may have the same names
        return message
    message, *listed = re.split("(; it has |; there are |; the columns are )", message, maxsplit=1)
    names = "|".join(sorted(map(re.escape, door), key=len, reverse=True))
    plain = "|".join(re.escape(name) for name in door if re.search("[_ ]", name)) or "(?!)"
    start, end = r"(?<!the )(?<![\w:,.=/'\"`-])", r"(?=$|[,;:)]|\.(?:\s|$)| and | or )"
    before = "|".join(f"(?<={words})" for words in ("leave out ", "one with "))
    # What the user named, in quotes, comes first and is left as it is.
    option = (
        rf"(?<!\w)'[^']*'|\A{setting or '(?!)'}(?![\w=])|\A(?:{names})(?=: )|"
        rf"{start}(?:{plain})(?![\w/-]|\.\w)|(?:{before})(?:{names}){end}|"
        rf"(?<=\()(?:{names})(?=\))|{start}(?:{names})(?= names | needs | computes | has no |=(?!True|False)[^=\s])"
    )
    return re.sub(option, lambda match: door.get(match[0], match[0]), message) + "".join(listed)


class BsxError(Exception):
    """Base of all errors that bsx raises for wrong input, missing models or missing extras.

    The message is written for the person at the keyboard: what is wrong, where, and what to do about it.

    Attributes:
        file: the file that it is about, if it is about one; the message begins with it.
        line: the line or row of that file, from 1.
        setting: the setting that it is about, if it is about one; the message begins with that name.
        door: setting -> what it is called where it was given, such as an option; the same with a value.
    """

    def __init__(
        self, message: str = "", *, file: object = None, line: int | None = None, setting: str | None = None
    ) -> None:
        super().__init__(message)
        self.file = None if file is None else str(file)
        self.line = line
        self.setting = setting
        self.door: Mapping[str, str] | None = None

    def __str__(self) -> str:
        """Return where and what, by the names that settings have at the door, with long values shortened."""
        text = super().__str__()
        message = _in_words_of(self.door, text, self.setting) if self.door else text
        where = (
            "" if self.file is None else f"{self.file}: " if self.line is None else f"{self.file}: line {self.line}: "
        )
        return shortened(f"{where}{message}")


class InputError(BsxError):
    """Texts, files or settings that cannot be used as they are."""


class LanguageError(InputError):
    """Texts in a language that a model or metric is not made for, where that was to be an error."""


class RegistryError(BsxError):
    """A registry file that is malformed or contradicts another one; the message names file and field."""


class UnknownNameError(BsxError):
    """A model, language, metric or column that does not exist; the message lists the nearest names."""


class ModelUnavailableError(BsxError):
    """A known model whose weights are neither on this machine nor reachable; the message says what works here now."""


class DataUnavailableError(BsxError):
    """A known data set whose files are neither on this machine nor reachable."""


class MissingExtraError(BsxError):
    """A feature whose optional dependency is not installed; the message names the extra."""


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names nearest in spelling to ``name``, best first; comparison ignores case.

    >>> near("roberta-lage", ["minilm", "roberta-large"])
    ['roberta-large']
    """
    by_lower: dict[str, str] = {}
    for candidate in known:
        by_lower.setdefault(candidate.lower(), candidate)
    wanted = name.lower()
    close = difflib.get_close_matches(wanted, by_lower, n=5, cutoff=0.55)
    close += [low for low in by_lower if len(wanted) > 2 and wanted in low and low not in close]
    return [by_lower[low] for low in close[:5]]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" Near: a, b."`` for an error message, or an empty string when nothing is near."""
    close = near(name, known)
    return f" Near: {', '.join(close)}." if close else ""
