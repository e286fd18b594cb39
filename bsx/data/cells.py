"""What a cell of a table means: one rule for every file that bsx reads.

A table is TSV, CSV, JSON lines, Parquet, a spreadsheet, XLIFF or TMX; TSV, CSV, XLIFF and TMX hold texts only, the
others also numbers and null. A cell is read as what its column is for:

number
    Whole, decimal or with an exponent (``7``, ``-0.5``, ``1e-3``), with ASCII digits; blanks around it do not count.
    A cell that is empty or blank, or ``NA``, ``NaN``, ``None`` or ``null`` in any case, or null in JSON or Parquet, is
    a missing number (NaN). Everything else is refused: infinities (also ``1e999``), underscores (``1_000``), decimal
    commas and separators of thousands (``1,5``), ``n/a``, ``true``, and what is beyond 1e100 either way.
label
    ``0`` or ``1``, of a pair that is a paraphrase or not; blanks around it do not count.
name
    What a row belongs to or is called: a group, a system, a segment, a language pair. Any text, or a number in JSON or
    Parquet, just as it is spelled. What would be a missing number is a missing name, and refused; so are two names of
    a column that look the same, see `bsx.data.pairing`.
text
    Any text as it stands, also an empty one, and also ``NA``. Null and numbers are refused, but for a whole number in
    a spreadsheet, which makes one of every text of digits, and for an empty cell there, which is an empty text.

Whether a missing number may stay is for the caller to say; a text or name never is missing in silence.

A column that is not read but passed through to an output stays as it is spelled: see `Spelled` and `spelled`.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable, Mapping

from bsx.errors import InputError

MISSING = ("", "na", "nan", "none", "null")
"""Cells that stand for a missing number or name, in any case, without the blanks around them."""

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""A number as JSON spells it."""

LARGEST = 1e100
"""Largest number of a column, either way: of larger ones, sums of squares and cubes are no numbers any more."""


class Typed(int):
    """A whole number that a spreadsheet holds where somebody typed digits: it may be meant as a number or as a text."""

    __slots__ = ()


class Spelled(float):
    """A number of a user's table that knows how it is written there, so that it can be written again digit for digit.

    Its value need be given only if it is not what ``float(text)`` gives.
    """

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str, value: float | None = None) -> Spelled:
        """Make the number."""
        made = super().__new__(cls, text if value is None else value)
        made.text = str(text)
        return made

    def __reduce__(self) -> tuple[type[Spelled], tuple[str, float]]:
        """Travel to another process whole."""
        return Spelled, (self.text, float(self))

    def __str__(self) -> str:
        """Return the spelling."""
        return self.text

    __repr__ = __str__


def spelled(value: object) -> str:
    """Return a cell as a text table holds it: a text as it is, a number of the user's as it was, one of bsx rounded.

    Floats that bsx computed have nine significant digits; true, false, lists and objects are written as in JSON;
    nothing stands for null.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and not isinstance(value, Spelled):
        return f"{value:.9g}"
    if isinstance(value, bool | list | dict):
        return spelled_json(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def spelled_json(value: object) -> str:
    """Return a value as JSON: numbers in full, those of the user as they were; a text for what JSON lacks (a date)."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{spelled_json(str(k))}: {spelled_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spelled_json, value)) + "]"
    if isinstance(value, Spelled) and JSON_NUMBER.fullmatch(value.text):
        return value.text
    if isinstance(value, float) and math.isnan(value):
        return "null"
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    return json.dumps(spelled(value), ensure_ascii=False)


def number(value: object, where: str) -> float:
    """Return a cell as a number, NaN if it is missing; InputError if it is neither, infinite, or beyond `LARGEST`."""
    if is_missing(value):
        return math.nan
    result = math.inf
    if isinstance(value, str):
        # float() would also take 1_000 and the digits of other scripts.
        if value.isascii() and "_" not in value:
            with contextlib.suppress(ValueError):
                result = float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            result = float(value)
    if math.isinf(result):
        plain = str(value).replace(",", ".").rstrip("% ")
        odd = plain != str(value) and re.fullmatch(r"-?\d+\.?\d*", plain)
        hint = "; write it with a point, and no percent sign" if odd else ""
        raise InputError(f"{where} is {str(value)[:40]!r}, not a finite number{hint}")
    if abs(result) > LARGEST:
        raise InputError(f"{where} is {str(value)[:40]!r}, too large to compute with: scale the column")
    return result


def finite(value: object, where: str) -> float:
    """Return a cell as a number; InputError if it is missing or no finite number."""
    result = number(value, where)
    if math.isnan(result):
        raise InputError(f"{where} is {'empty' if value in ('', None) else repr(value)}; it must be a finite number")
    return result


def whole(value: str, where: str) -> int:
    """Return a text of ASCII digits as a whole number; InputError if it is anything else."""
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise InputError(f"{where} is {value[:40]!r}, not a whole number")
    return int(value)


def label(value: object, where: str) -> int:
    """Return a cell as a label, 0 or 1; InputError if it is anything else."""
    spelled = str(value).strip()
    if spelled not in ("0", "1"):
        raise InputError(f"{where} is {str(value)[:40]!r}, not 0 or 1")
    return int(spelled)


def name(value: object, where: str) -> str:
    """Return a name as a text; InputError if it is missing, holds a tab or line break, or is a JSON list or object."""
    if value is None or value == "":
        raise InputError(f"{where} is empty")
    if is_missing(value):
        raise InputError(f"{where} is {str(value)!r}, which stands for a missing value")
    if isinstance(value, list | dict | bytes):
        raise InputError(f"{where} is {str(value)[:40]!r} ({type(value).__name__}), not a name")
    if any(character in str(value) for character in "\t\r\n"):
        raise InputError(f"{where} is {str(value)[:40]!r}; a name holds no tabs or line breaks: take them out")
    return str(value)


def text(value: object, where: str) -> str:
    """Return a cell, or any value, that must be a text; InputError says where, and what it is (a number, NaN)."""
    if isinstance(value, str | Typed):
        return str(value)
    advice = "empty texts are written ''" if is_missing(value) else "make it one first"
    kind = "number" if isinstance(value, Spelled) else type(value).__name__
    shown = str(value) if kind in ("date", "datetime", "time") else repr(value)
    raise InputError(f"{where} is {shown[:40]} ({kind}), not a text; {advice}")


def texts(value: object, where: str) -> list[str]:
    """Return a cell that holds a text, or a list of texts in JSON or Parquet, as a list; InputError for all else."""
    return [text(item, where) for item in (value if isinstance(value, list) else [value])]


def is_missing(value: object) -> bool:
    """Tell whether a cell stands for a missing number or name."""
    if isinstance(value, str):
        return value.strip().lower() in MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_numbers(cells: Iterable[object]) -> list[float] | None:
    """Return the numbers of a column about which nobody has said what it holds; None if they are not numbers.

    Every cell must be a number or missing, and one at least a number. Identifiers such as ``007`` are no numbers here.

    >>> as_numbers(["1", "", "2.5"])
    [1.0, nan, 2.5]
    >>> as_numbers(["007", "1"]), as_numbers(["", "NA"])
    (None, None)
    """
    results = []
    try:
        for cell in cells:
            results.append(number(cell, ""))
            spelled = cell.strip() if isinstance(cell, str) else ""
            if len(spelled) > 1 and spelled[0] == "0" and spelled[1].isdigit():
                return None
    except InputError:
        return None
    return None if all(map(math.isnan, results)) else results
