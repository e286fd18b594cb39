"""Pickle files of plain values, read without running anything that they name."""

from __future__ import annotations

import io
import pickle
import struct

from bsx.data.lines import NamedFile
from bsx.errors import InputError
from bsx.support.untyped import Untyped


class _Kind:
    """Stands for a NumPy dtype while a pickle file is read."""

    def __init__(self, code: str, *_: object) -> None:
        self.code = code
        self.order = "<"

    def __setstate__(self, state: tuple[object, ...]) -> None:
        self.order = ">" if state[1] == ">" else "<"


def _number(kind: _Kind, raw: bytes) -> float:
    """Stand for ``numpy.core.multiarray.scalar`` while a pickle file is read."""
    letter = {"f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i"}[kind.code]
    return float(struct.unpack(kind.order + letter, raw)[0])


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values and NumPy's numbers; whatever else a file names is refused, not imported."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == ("_codecs", "encode"):  # how protocol 2 spells bytes
            return lambda text, _: text.encode("latin-1")
        if module.startswith("numpy"):
            if name == "dtype":
                return _Kind
            if name == "scalar":
                return _number
        raise InputError(f"it names {module}.{name}; only plain values and numbers are read")


def pickled(file: NamedFile) -> Untyped:
    """Return what a pickle file holds: plain values, and NumPy's numbers as floats.

    Raises:
        InputError: if it names anything else, or is not a whole pickle file.
    """
    with file.open() as stream:
        content = stream.read()
    try:
        return _PlainUnpickler(io.BytesIO(content)).load()
    except InputError as error:
        raise InputError(f"{error}", file=file.name) from error
    except Exception as error:  # damaged files make it raise errors of many classes
        raise InputError(f"is not a whole pickle file ({type(error).__name__}: {error})", file=file.name) from error
