"""Where types end: libraries without any, JSON as it is read, settings before their class has checked them."""

from __future__ import annotations

import contextlib
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
