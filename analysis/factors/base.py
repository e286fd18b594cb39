"""What a factor is: settings, what it reads, one score a sentence pair, and an account of how it was computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, SupportsFloat, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import TypeVar

from bsx.catalog.entries.metrics import FactorEntry
from bsx.data.columns import number_column
from bsx.data.long import ColumnName
from bsx.errors import InputError
from bsx.support.memory import DEFAULT_SHARE, PER_BYTE, free_memory, refuse_beyond, text_size
from bsx.support.progress import Watch, reporter
from bsx.support.result import Result, Shown
from bsx.support.settings import BaseSettings, Option, Seed

_SHORT = 1_024  # characters of sentences that fit in any budget
Values = NDArray[np.float64]
FactorCell: TypeAlias = "str | SupportsFloat | None"


class FactorConfig(BaseSettings):
    """Base of a factor's settings: frozen, strictly named; written ``factor:field=value`` on the command line."""


ConfigT = TypeVar("ConfigT", bound=FactorConfig, covariant=True, default=FactorConfig)
"""The settings of a factor; ``Factor`` alone is a factor with any settings."""


@dataclass(frozen=True)
class SentencePairs:
    """Sentence pairs to describe.

    Attributes:
        sentence1: n texts, in language ``lang1``.
        sentence2: n texts, in language ``lang2``.
        lang1: code of the language of the first sentences.
        lang2: code of the language of the second ones.
        columns: further columns by name, n cells each.
    """

    sentence1: Sequence[str]
    sentence2: Sequence[str]
    lang1: str = "en"
    lang2: str = "en"
    columns: Mapping[str, Sequence[FactorCell]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.sentence1) != len(self.sentence2):
            raise InputError(f"sentence1: {len(self.sentence1)} texts, sentence2: {len(self.sentence2)}")
        budget = int(free_memory() * DEFAULT_SHARE)
        for row, (first, second) in enumerate(zip(self.sentence1, self.sentence2, strict=True), start=1):
            if max(len(first), len(second)) >= _SHORT:
                # Whatever reads a sentence, and a table with a cell for each two words, as trees and edits want it.
                needed = PER_BYTE * (text_size(first) + text_size(second))
                needed += 16 * len(first.split()) * len(second.split())
                what = f"row {row}: comparing sentences of {len(first):,} and {len(second):,} letters"
                refuse_beyond(needed, budget, what)
        for name, values in self.columns.items():
            if len(values) != len(self):
                raise InputError(f"column {name!r}: {len(values)} cells, {len(self)} sentence pairs")

    def __len__(self) -> int:
        return len(self.sentence1)

    @property
    def crosslingual(self) -> bool:
        """Whether the two sides are in different languages."""
        return self.lang1 != self.lang2

    def column(self, name: str) -> Sequence[FactorCell]:
        """Return a column.

        Raises:
            InputError: if there is none of that name; lists those present.
        """
        if name not in self.columns:
            present = ", ".join(map(repr, self.columns)) or "none in the sentences' place"
            raise InputError(f"there is no column {name!r}; the columns are {present}")
        return self.columns[name]

    def numbers(self, name: str) -> Values:
        """Return a column of numbers (n,), which `bsx.data.cells` tells from others; missing ones are NaN.

        Raises:
            InputError: naming the row of a cell that is not a finite number.
        """
        return number_column(name, self.column(name))


_DETAIL = Option(folded="detail")  # of one factor only


class Resources(BaseSettings):
    """What factors may read beside the sentences, and where they may keep what is costly to compute."""

    human: Annotated[ColumnName, Field(description="Column of human judgments, for sem.")] = None
    translation: Annotated[
        ColumnName,
        Field(description="Column of translations of the sources into the candidates' language, for lex."),
        _DETAIL,
    ] = None
    dictionary: Annotated[
        Path | None, Field(description="File with word TAB translation on each line, for lex instead."), _DETAIL
    ] = None
    parallel_scores: Annotated[
        ColumnName, Field(description="Column of scores of parallel text, for clb."), _DETAIL
    ] = None
    parses1: Annotated[Path | None, Field(description="CoNLL-U file with parses of the references, or sources.")] = None
    parses2: Annotated[Path | None, Field(description="The same of the candidates.")] = None
    parser_dir: Annotated[
        Path | None, Field(description="Stanza's models, where no parses are given."), Option(folded="stanza")
    ] = None
    download: Annotated[bool, Field(description="Let stanza fetch its model."), Option(folded="stanza")] = False
    vectors: Annotated[Path | None, Field(description="Word vectors, .vec or .bin, for mor.")] = None
    train_vectors: Annotated[bool, Field(description="Train them on these sentences.")] = False
    lexicon: Annotated[Path | None, Field(description="Morphological lexicon; built from tags otherwise."), _DETAIL] = (
        None
    )
    cache: Annotated[Path | None, Field(description="Folder to keep parses and vectors in; go on from there.")] = None
    seed: Seed = 42
    progress: Annotated[
        Watch,
        BeforeValidator(reporter),
        Field(description="Called with a phase's name, items done and items in all; True draws bars."),
        Option(python=True),
    ] = None

    @model_validator(mode="after")
    def _both_sides(self) -> Self:
        if (self.parses1 is None) != (self.parses2 is None):
            raise ValueError("parses come for both sides: give parses1 and parses2")
        return self

    def report(self, phase: str, done: int, total: int) -> None:
        """Tell how far a phase is, if anybody listens."""
        if callable(self.progress):
            self.progress(phase, done, total)


class FactorSettings(Resources):
    """How factors are computed: languages, presets, and what they may read."""

    lang: Annotated[
        str, Field(description="Language of both sides, code or name, or of each: de-en."), Option(("-l",))
    ] = "en"
    preset: Annotated[
        str | None, Field(description="Settings by name, e.g. kaster2021, of factors that name no other."), _DETAIL
    ] = None


@dataclass(frozen=True, repr=False, eq=False)
class FactorScores(Shown):
    """A factor's scores.

    Attributes:
        values: (n,); NaN where the factor is not defined.
        details: settings, digests and counts that say how they were computed; JSON values only.
        notes: what the user should know, one sentence each.
        excluded: why the factor should be left out of an analysis of these pairs; None if it need not be.
    """

    values: Values
    details: dict[str, object]
    notes: tuple[str, ...] = ()
    excluded: str | None = None


@dataclass(frozen=True)
class FactorSummary:
    """One factor over the sentence pairs that have a value.

    Attributes:
        factor: as it was asked for; the name of its column.
        n: how many pairs have a value.
        mean: their mean; None of none.
        sd: their standard deviation.
        excluded: why the factor is left out; None if it is not.
        settings: what it was computed with, as JSON has it.
    """

    factor: str
    n: int
    mean: float | None
    sd: float | None
    excluded: str | None
    settings: dict[str, Any]


@dataclass(frozen=True, repr=False)
class ScoredFactors(Result):
    """Which factors a table of sentence pairs was scored by.

    Attributes:
        pairs: its rows.
        lang: language, or languages, of the texts.
        preset: of the factors, if one was named.
        factors: a row each.
    """

    kind: ClassVar[str] = "factors"

    pairs: int
    lang: str
    preset: str | None
    factors: tuple[FactorSummary, ...]


class Factor(ABC, Generic[ConfigT]):
    """A factor with its settings, ready to compute.

    Made by `bsx.analysis.factors.zoo.get_factor`. A subclass names its ``Config`` and defines `compute`.

    Args:
        entry: what the registry says about it.
        config: its settings.
        spec: how the user spelled it; the name of its column.
    """

    Config: ClassVar[type[FactorConfig]]
    reads: ClassVar[frozenset[str]] = frozenset(Resources.model_fields)
    """The fields of `Resources` that it reads; all of them, for what a factor of somebody's own reads nobody knows."""

    def __init__(self, entry: FactorEntry, config: ConfigT, spec: str | None = None) -> None:
        self.entry = entry
        self.config = config
        self.spec = spec or entry.name

    def check(self, pairs: SentencePairs, resources: Resources) -> None:
        """Look for the packages, models and files it needs; called of all factors before any computes.

        Raises:
            MissingExtraError: if a package is missing.
            ModelUnavailableError: if a model or word vectors are.
        """

    @abstractmethod
    def compute(self, pairs: SentencePairs, resources: Resources) -> FactorScores:
        """Score sentence pairs.

        Raises:
            InputError: if something it needs is missing or does not fit the sentences.
        """
