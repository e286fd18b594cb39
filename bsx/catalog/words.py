"""The words and patterns that perturbations change a language's texts by."""

from __future__ import annotations

import functools

from bsx.catalog.catalog import shipped_folder
from bsx.catalog.entries import read_entry
from bsx.catalog.entries.perturbations import PerturbationWords


@functools.cache
def words(language: str) -> PerturbationWords:
    """Return what the shipped registry has for perturbations of a language; of one without a file, nothing.

    It is read, and its patterns are compiled, when first asked for; RegistryError names what is wrong.
    """
    file = shipped_folder() / "perturbations" / f"{language}.yaml"
    return read_entry(PerturbationWords, file) if file.is_file() else PerturbationWords()
