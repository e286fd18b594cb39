"""What a perturbation is: a named, seeded change of a text, and an account of what it is for."""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, ParamSpec

from bsx.analysis.factors.parses import Parse
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.names import names_of
from bsx.catalog.languages import language_code
from bsx.data.corpus import as_texts
from bsx.errors import InputError

Need = Literal["parse", "source", "corpus", "inflections"]
Aim = Literal["sem", "syn", "lex", "mor", "surface"]
DEFAULT_STRENGTH = 0.2


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

    def apply(
        self,
        texts: Sequence[str],
        *,
        strength: float | None = None,
        seed: int = 1,
        lang: str | None = None,
        sources: Sequence[str] | None = None,
        parses: Sequence[Parse | None] | None = None,
        inflections: Inflections | None = None,
    ) -> list[str | None]:
        """Change texts.

        What happens to a text depends on seed, name, strength and the text itself, not on its place or neighbours. Only
        perturbations that need the corpus also depend on which other texts there are.

        Args:
            texts: n texts.
            strength: share of words or letters in (0, 1], for graded perturbations; `DEFAULT_STRENGTH` unless given.
            seed: of the draws.
            lang: language of the texts.
            sources: n texts they were translated from.
            parses: n parses of the texts, None for a text without one.
            inflections: forms of words, from treebanks.

        Returns:
            n texts; None where there is nothing in the text that it could act on. A text may come back as it was.

        Raises:
            InputError: if it lacks something it needs, is not for the language, or settings or sizes are wrong.
        """
        texts = as_texts(texts, "texts")
        for name, beside in (("sources", sources), ("parses", parses)):
            if beside is not None and len(beside) != len(texts):
                raise InputError(f"{len(texts)} texts, {len(beside)} {name}: numbers must match")
        lacking = self.lacks(
            lang, source=sources is not None, parse=parses is not None, inflections=inflections is not None
        )
        if lacking is not None:
            raise InputError(f"perturbation {self.name} {lacking}")
        if strength is not None and not self.graded:
            raise InputError(f"perturbation {self.name} has no strength")
        usual = DEFAULT_STRENGTH if self.graded else 1.0
        share = usual if strength is None else float(strength)
        if not 0 < share <= 1:
            raise InputError(f"strength {share:g}: it is a share, above 0 and at most 1")
        corpus = "corpus" in self.needs
        others = sorted(set(texts)) if corpus else ()
        names = names_of(texts, parses, primary(lang)) if corpus and parses is not None else ()
        changed = []
        for row, text in enumerate(texts):
            source = sources[row] if sources is not None else None
            parse = parses[row] if parses is not None else None
            item = Item(text, primary(lang), source, parse, others, names, inflections)
            # Random numbers depend on nothing but these; `hash` would differ from run to run.
            drawn_by = "\0".join((str(seed), self.name, f"{share:.12g}", text)).encode("utf-8", "surrogatepass")
            rng = random.Random(hashlib.sha256(drawn_by).digest())  # noqa: S311 - no secrets
            changed.append(self.change(item, share, rng))
        return changed


REGISTERED: dict[str, Perturbation] = {}
"""Name -> perturbation: first those that keep the meaning, then those that change it, mild ones first."""
Made = ParamSpec("Made")


def _registering(make: Callable[Made, Perturbation]) -> Callable[Made, Perturbation]:
    @functools.wraps(make)
    def register(*positional: Made.args, **named: Made.kwargs) -> Perturbation:
        made = make(*positional, **named)
        if made.name in REGISTERED:
            raise InputError(f"there is a perturbation {made.name} already")
        REGISTERED[made.name] = made
        ordered = sorted(
            REGISTERED.values(),
            key=lambda perturbation: (not perturbation.preserves, perturbation.place, perturbation.name),
        )
        REGISTERED.clear()
        REGISTERED.update((perturbation.name, perturbation) for perturbation in ordered)
        return made

    return register


register = _registering(Perturbation)
"""Make a `Perturbation` that has its name everywhere: in lists, on the command line, in the docs. Any module of this
room may call it; one name twice is an `InputError`."""


@functools.lru_cache(maxsize=64)
def primary(lang: str | None) -> str:
    """Return the first subtag of a language's code in small letters, of a language given by tag or name.

    Raises:
        UnknownNameError: for what is neither a known name nor spelled like a code.

    >>> primary("pt_BR"), primary("German"), primary(None)
    ('pt', 'de', '')
    """
    return language_code(lang).replace("_", "-").partition("-")[0].lower() if lang else ""
