"""What a perturbation is: a named, seeded change of a text, and an account of what it is for."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.catalog.languages import language_code
from bsx.errors import InputError

Need = Literal["parse", "source", "corpus", "inflections"]
Aim = Literal["sem", "syn", "lex", "mor", "surface"]


@dataclass(frozen=True)
class Item:
    """One text to change, and what a perturbation may read beside it.

    Attributes:
        text: the text.
        lang: its language, the first subtag in small letters; empty if unknown.
        source: the text it was translated from, if known.
        parse: its parse, if there is one.
        others: the distinct texts of the corpus, sorted, so that their order does not matter.
        names: kinds and distinct names in the parses of the corpus, sorted.
        inflections: forms of words, from treebanks.
    """

    text: str
    lang: str = ""
    source: str | None = None
    parse: Parse | None = None
    others: Sequence[str] = ()
    names: Sequence[tuple[str, str]] = ()
    inflections: Inflections | None = None


Change = Callable[[Item, float, random.Random], str | None]


@dataclass(frozen=True)
class Perturbation:
    """A named change of a text.

    Attributes:
        name: what it is called.
        description: what it does, in one line.
        preserves: whether a reader of the changed text still gets the same meaning from it.
        change: item, strength, random numbers -> the changed text; None where there is nothing it could act on.
        languages: primary subtags of the languages it is for; None for any.
        acts_on: which texts it can change, in words.
        graded: whether it has a strength: a share, in (0, 1], of the words or letters it could act on.
        needs: what it reads beside the text.
        aim: the one factor that it is to move, or ``surface`` for the writing alone; None if there is no such one.
        place: where it stands in lists, among those that keep the meaning or those that change it: mild ones first.
        withdrawn: languages that its rules do not do justice to, by primary subtag, and why.
    """

    name: str
    description: str
    preserves: bool
    change: Change = field(repr=False)
    languages: tuple[str, ...] | None = None
    acts_on: str = "any text"
    graded: bool = False
    needs: frozenset[Need] = frozenset()
    aim: Aim | None = None
    place: int = 1000
    withdrawn: Mapping[str, str] = field(default_factory=dict, hash=False)

    def lacks(self, lang: str | None, *, source: bool, parse: bool, inflections: bool = False) -> str | None:
        """Return why it cannot be applied to such texts, in words; None if it can.

        Args:
            lang: language of the texts; None if unknown.
            source: whether there are sources.
            parse: whether there are parses.
            inflections: whether there are forms of words from treebanks; English ones are known by rule.
        """
        if primary(lang) in self.withdrawn:
            return f"is withdrawn for {lang}: {self.withdrawn[primary(lang)]}"
        if self.languages is not None and primary(lang) not in self.languages:
            other = f", not {lang}" if lang else ": say which it is (lang)"
            return f"is for {', '.join(self.languages)}{other}"
        if "source" in self.needs and not source:
            return "needs the sources of the texts (source)"
        if "parse" in self.needs and not parse:
            return "needs parses of the texts (parses, or parser and lang)"
        if "inflections" in self.needs and not inflections and primary(lang) != "en":
            return "needs a treebank with lemmas and features of the language (treebank)"
        return None


REGISTERED: dict[str, Perturbation] = {}
"""Name -> perturbation: first those that keep the meaning, then those that change it, mild ones first."""


def register(name: str, description: str, preserves: bool, **facts: Any) -> Callable[[Change], Change]:
    """Decorate a change, and have a `Perturbation` of its name everywhere: in lists, on the command line, in the docs.

    Any module of this room may do so.

    Args:
        name: what it is called.
        description: what it does, in one line.
        preserves: whether the meaning stays.
        facts: the other attributes of `Perturbation`.

    Raises:
        InputError: if there is one of this name.
    """
    if name in REGISTERED:
        raise InputError(f"there is a perturbation {name} already")

    def registered(change: Change) -> Change:
        several = [*REGISTERED.values(), Perturbation(name, description, preserves, change, **facts)]
        several.sort(key=lambda perturbation: (not perturbation.preserves, perturbation.place, perturbation.name))
        REGISTERED.clear()
        REGISTERED.update((perturbation.name, perturbation) for perturbation in several)
        return change

    return registered


@functools.lru_cache(maxsize=64)
def primary(lang: str | None) -> str:
    """Return the first subtag of a language's code in small letters, of a language given by tag or name.

    Raises:
        UnknownNameError: for what is neither a known name nor spelled like a code.

    >>> primary("pt_BR"), primary("German"), primary(None)
    ('pt', 'de', '')
    """
    return language_code(lang).replace("_", "-").partition("-")[0].lower() if lang else ""
