"""Loading what takes long to load."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Do without Python's search for garbage, as a block or as a decorator.

    Packages like torch and transformers make a million objects that live to the end. Looking through them again and
    again while they are loaded takes a second.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
