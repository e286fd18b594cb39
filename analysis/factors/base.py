"""What a factor is: settings, what it reads, one score a sentence pair, and an account of how it was computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Generic, SupportsFloat, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeVar

from bsx.catalog.entries import FactorEntry
from bsx.data.columns import number_column
from bsx.errors import InputError
from bsx.support.progress import Progress

Values = NDArray[np.float64]
FactorCell: TypeAlias = "str | SupportsFloat | None"


class FactorConfig(BaseModel):
    """Base of a factor's settings: frozen, strictly named; written ``factor:field=value`` on the command line."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
            present = ", ".join(map(repr, self.columns)) or "none beside the sentences"
            raise InputError(f"there is no column {name!r}; the columns are {present}")
        return self.columns[name]

    def numbers(self, name: str) -> Values:
        """Return a column of numbers (n,), which `bsx.data.cells` tells from others; missing ones are NaN.

        Raises:
            InputError: naming the row of a cell that is not a finite number.
        """
        return number_column(name, self.column(name))


class ResourceOptions(TypedDict, total=False):
    """`Resources` as keyword arguments."""

    human: str | None
    translation: str | None
    dictionary: Path | None
    parallel: str | None
    parses1: Path | None
    parses2: Path | None
    parser: str
    parser_dir: Path | None
    download: bool
    vectors: Path | None
    train_vectors: bool
    lexicon: Path | None
    cache: Path | None
    jobs: int
    seed: int
    progress: Progress | None


@dataclass(frozen=True)
class Resources:
    """What factors may read beside the sentences, and where they may keep what is costly to compute.

    Attributes:
        human: column of human judgements (semantic factor).
        translation: column with the translation of each first sentence into the language of the second.
        dictionary: file ``word TAB translation``, first language to second, for want of a translation.
        parallel: column with the metric's score of parallel text (cross-lingual bias).
        parses1: CoNLL-U file with a parse of each first sentence.
        parses2: the same for the second sentences.
        parser: ``stanza`` or ``spacy``, unless there are files of parses.
        parser_dir: folder of a local parser model.
        download: let the parser's package fetch its model.
        vectors: file of word vectors, ``.vec`` or ``.bin``.
        train_vectors: train word vectors on the sentences instead.
        lexicon: file of a morphological lexicon; built from the parses' features unless given.
        cache: folder that keeps parses and trained vectors; a later run goes on from there.
        jobs: processes at a time.
        seed: seed of everything that draws at random.
        progress: called with a phase's name, items done and items in all.
    """

    human: str | None = None
    translation: str | None = None
    dictionary: Path | None = None
    parallel: str | None = None
    parses1: Path | None = None
    parses2: Path | None = None
    parser: str = "stanza"
    parser_dir: Path | None = None
    download: bool = False
    vectors: Path | None = None
    train_vectors: bool = False
    lexicon: Path | None = None
    cache: Path | None = None
    jobs: int = 1
    seed: int = 42
    progress: Progress | None = None

    def report(self, phase: str, done: int, total: int) -> None:
        """Tell how far a phase is, if anybody listens."""
        if self.progress is not None:
            self.progress(phase, done, total)


@dataclass(frozen=True)
class FactorScores:
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


class Factor(ABC, Generic[ConfigT]):
    """A factor with its settings, ready to compute.

    Made by `bsx.analysis.factors.zoo.get_factor`. A subclass names its ``Config`` and defines `compute`.

    Args:
        entry: what the registry says about it.
        config: its settings.
        spec: how the user spelled it; the name of its column.
    """

    Config: ClassVar[type[FactorConfig]]

    def __init__(self, entry: FactorEntry, config: ConfigT, spec: str | None = None) -> None:
        self.entry = entry
        self.config = config
        self.spec = spec or entry.name

    @abstractmethod
    def compute(self, pairs: SentencePairs, resources: Resources) -> FactorScores:
        """Score sentence pairs.

        Raises:
            InputError: if something it needs is missing or does not fit the sentences.
        """
