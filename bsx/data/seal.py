"""A first line that tells whether what follows in a YAML file is what was written."""

from __future__ import annotations

import hashlib

from bsx.errors import InputError

_SAYS = "# sha256 of the lines below: "


def sealed(text: str) -> str:
    """Return a text with its seal, a comment, before it."""
    return f"{_SAYS}{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def check_seal(text: str, name: str) -> None:
    """Refuse a text whose seal is not its own; one without a seal may say anything.

    Raises:
        InputError: naming the file.
    """
    text = text.replace("\r\n", "\n")
    if _SAYS in text.partition("\n")[0] and sealed(text.partition("\n")[2]) != text:
        raise InputError(
            f"{name}: is damaged or was changed: its sha256 is not the one in line 1; restore it, or remove that line "
            "if the change is meant"
        )
