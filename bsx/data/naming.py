"""What columns and files of texts are called outside of bsx, in the languages that most people write."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib import resources
from typing import Literal, cast

import yaml

Role = Literal["candidate", "reference", "source", "system", "segment", "document", "human", "label", "score", "note"]


def _bare(text: str) -> str:
    """Return a name in small letters, without accents."""
    return unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text.lower())))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Return what a column is for -> its names in all languages."""
    read = yaml.safe_load(resources.files("bsx.data").joinpath("names.yaml").read_text(encoding="utf-8"))
    return {role: re.compile(_bare("|".join(names.values()))) for role, names in read.items()}


_LAST = re.compile(r"(?<=ref)[a-d]$|(?<!human)(?<!human ) ?\d+$|(?<=\W)(?<!human )[a-z]$|(?<=[^\x00-\u024f])[a-z]$")
"""What tells several of a kind apart: ``refA``, ``reference_B``, ``System 2``, ``译文A``; ``human_b`` are scores."""


def role_of(name: str, *, sure: bool = False) -> Role | None:
    """Return what a column or file is for by its name; None where that says nothing.

    Accents, capitals, and a number or single letter at the end do not count; words in brackets do where those before
    them say nothing, or candidates, as in ``German (approved)`` and ``Translation (reference)``. Who must be ``sure``
    says nothing where the name may as well mean something else.
    """
    bare, inside, _ = re.split(r"\(([^()]*)\)\s*$|$", _bare(name), maxsplit=1)
    role, meant = _named(bare, sure=sure), _named(inside or "", sure=sure)
    swayed = role == "candidate" or (role is None and not sure)
    return meant if swayed and meant in ("candidate", "reference", "source") else role


def _named(text: str, *, sure: bool) -> Role | None:
    plain = re.sub(r"[_\-\s.:]+", " ", text).strip()
    shorter = _LAST.sub("", plain).strip()
    role = next((role for role, names in _patterns().items() if any(map(names.fullmatch, (plain, shorter)))), None)
    if role == "perhaps reference":
        return None if sure else "reference"
    return cast("Role | None", role)


def role_of_file(name: str) -> Role | None:
    """Return what a file of texts holds by its name: what all of it says, or a word of it; references first."""
    roles = {role_of(name.removesuffix(".gz").rpartition(".")[0]), *map(role_of, re.split(r"[._\-\s]+", name))}
    return next((role for role in ("reference", "source", "candidate") if role in roles), None)
