"""Where types end: libraries without any, JSON as it is read and written, settings that no class has checked yet."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from typing import Any, TypeAlias

from bsx.errors import BsxError, InputError

Untyped: TypeAlias = Any
"""An object of a library without types, such as torch, transformers, pyarrow, stanza or scikit-learn."""

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object, read or to be written, of which no class says what it holds."""

Settings: TypeAlias = dict[str, Any]
"""Settings by name, on their way to the class that checks them."""


@contextlib.contextmanager
def blaming(what: str, advice: str | None = None) -> Iterator[None]:
    """Blame a file for whatever a library raises while it reads or runs what is in it; no list of that would be whole.

    Args:
        what: the file and what failed, as the start of a sentence.
        advice: what to do, said instead of the library's words.

    Raises:
        InputError: instead of any other error.
    """
    try:
        yield
    except BsxError:
        raise
    except BaseException as error:
        # What a panic in Rust raises is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if advice is not None:
            raise InputError(f"{what}: {advice}") from error
        plain = isinstance(error, OSError | ValueError | RuntimeError) or type(error) is Exception
        kind = "" if plain else f"{type(error).__name__}: "
        raise InputError(f"{what}: {kind}{' '.join(str(error).split())[:300]}") from error


def to_json(content: object) -> str:
    """Return JSON without escapes of letters; a number that is not finite, for which JSON has no word, is null.

    >>> to_json({"é": [1.5, float("nan")]})
    '{"é": [1.5, null]}'
    """
    return json.dumps(_finite(content), ensure_ascii=False, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
