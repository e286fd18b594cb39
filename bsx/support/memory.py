"""Memory budgets: reading what the user wrote and what the machine has."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bsx.errors import InputError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
DEFAULT_SHARE = 0.25
# What a tokenizer takes for a byte of text, rounded up: 110 to 240 were measured, for lists of ids and much else.
PER_BYTE = 256
# What one text may always take, however small the budget: a quarter of a MiB of text.
_ALWAYS = 2**26


def parse_bytes(text: str | int) -> int:
    """Return a size in bytes from ``"2GB"``, ``"512 MiB"``, ``"1.5g"`` or a number of bytes (1 KB = 1,024 bytes).

    >>> parse_bytes("1.5 MiB")
    1572864
    """
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(I?B)?\s*", str(text).upper())
    if match is None:
        raise InputError(f"cannot read the size {text!r}: write it like 2GB or 512MB")
    size = int(float(match[1]) * _UNITS[match[2]])
    if size < 2**20:
        raise InputError(f"a size of {text} is too small to work with: give at least 1MB")
    return size


def text_size(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def show_bytes(size: float) -> str:
    """Return a size for people.

    >>> show_bytes(1_610_612_736), show_bytes(400)
    ('1.5 GiB', '400 bytes')
    """
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def refuse_beyond(needed: int, budget: int, what: str) -> None:
    """Raise InputError for work on one text, or one pair, that takes more bytes than the memory budget has.

    ``what`` is the text and what would be done with it, for the message; a text of 256 KiB may always be read.
    """
    if needed > max(budget, _ALWAYS):
        raise InputError(
            f"{what} takes about {show_bytes(needed)} of memory, and {show_bytes(max(budget, _ALWAYS))} may be used: "
            "shorten the text, or allow more (memory)"
        )


def free_memory() -> int:
    """Return the main memory that is free, in bytes (half of all memory where the system does not say)."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError, AttributeError):
        return 2**31
