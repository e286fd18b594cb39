"""What a metric is: rows in, scores out, with the settings, needs and signature that belong to them."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator
from typing_extensions import TypeVar

from bsx.catalog.entries import UNSCORED
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.languages import codes_of, count_languages
from bsx.data.corpus import Corpus, Segment
from bsx.data.writing import SCRIPTS, Form, InForm, parts_of, scripts_of
from bsx.errors import InputError
from bsx.support.folders import path_as_name
from bsx.support.memory import PER_BYTE, text_size
from bsx.support.optional import source_of
from bsx.support.progress import Progress, Say
from bsx.support.provenance import VERSION, Signature
from bsx.support.settings import BaseSettings, Unscored, marked
from bsx.support.untyped import Untyped

_FEW = 5
BY_SCRIPT = "script"
"""In the signature of a metric that has not seen texts: a setting that their script decides."""

if TYPE_CHECKING:
    from bsx.catalog.catalog import Catalog
    from bsx.encode.idf import IdfCounter
    from bsx.encode.session import Encoders

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Some rows of a corpus: one candidate each, with what it is compared to.

    Attributes:
        candidates: one text a row.
        references: each row's references; empty tuples if the corpus has none.
        sources: each row's source, or None if the corpus has none.
        systems: index of the system each row belongs to (rows,).
        ids: the name of the segment that each row is from; empty if they have none.
        ahead: what metrics prepared of it while another was scored, by how they were asked for; see
            `bsx.metrics.core.MetricCore.look_ahead`.
        report: told the share of the block's work that is done, by a metric that works on it for long.
    """

    candidates: list[str]
    references: list[tuple[str, ...]]
    sources: list[str] | None
    systems: NDArray[np.int64]
    ids: Sequence[str] = ()
    ahead: dict[str, object] = field(default_factory=dict)
    report: Callable[[float], None] | None = None

    def __len__(self) -> int:
        return len(self.candidates)

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Block:
        """Return the rows of segments: every system's candidate, systems fastest."""
        rows = [(segment, system) for segment in segments for system in range(len(segment.candidates))]
        sources = [segment.source for segment, _ in rows if segment.source is not None]
        return cls(
            [segment.candidates[system] for segment, system in rows],
            [segment.references for segment, _ in rows],
            sources if len(sources) == len(rows) else None,
            np.array([system for _, system in rows], dtype=np.int64),
            [segment.id for segment, _ in rows],
        )


@dataclass
class BlockScores:
    """Scores of a block's rows.

    Attributes:
        values: (rows,); NaN where the metric is not defined.
        empty: rows of which one side has no content (rows,).
        lost: tokens that a model's limit cut off (rows,).
        statistics: what the metric's score of a whole system is computed from (rows, k); None if that is the mean.
        undefined: rows that are not defined though their ``values`` are numbers (rows,), none unless given; once the
            run has filled in ``values``, all rows that are not defined though they are not empty.
        figures: all figures of a metric that has several, ``values`` among them (layers, rows, figures); None: one.
    """

    values: Values
    empty: NDArray[np.bool_]
    lost: NDArray[np.int64]
    statistics: Values | None = None
    undefined: NDArray[np.bool_] = field(default_factory=lambda: np.array(False))
    figures: NDArray[np.float32] | None = None

    def select(self, rows: NDArray[np.int64]) -> BlockScores:
        """Return the scores of some rows."""
        columns: dict[str, Untyped] = {
            name: values[:, rows] if name == "figures" else values[rows]
            for name, values in vars(self).items()
            if values is not None
        }
        return BlockScores(**columns)

    @classmethod
    def joined(cls, parts: Sequence[BlockScores]) -> BlockScores:
        """Return the scores of all rows of several blocks."""
        columns: dict[str, Untyped] = {}
        for name, first in vars(parts[0]).items():
            if first is not None:
                several = [getattr(part, name) for part in parts]
                columns[name] = np.concatenate(several, axis=1 if name == "figures" else 0)
        return cls(**columns)

    def all_figures(self) -> NDArray[np.float32]:
        """Return all figures (layers, rows, figures), of a metric with one figure that one."""
        return self.values.astype(np.float32)[None, :, None] if self.figures is None else self.figures


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts to compare.

    Attributes:
        texts: distinct texts.
        left: index of each pair's candidate (pairs,).
        right: index of each pair's reference, or source for a metric that needs no reference (pairs,).
        systems: the system each candidate belongs to (pairs,).
        rows: the row of the block each pair belongs to, in rising order (pairs,).
        sources: index of each pair's source (pairs,), for a metric that needs reference and source; else None.
    """

    texts: list[str]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    systems: NDArray[np.int64]
    rows: NDArray[np.int64]
    sources: NDArray[np.int64] | None = None


@dataclass
class PairScores:
    """Scores of pairs.

    Attributes:
        values: (pairs,); NaN where the metric is not defined.
        lost: tokens of each distinct text that a model's limit cut off (texts,); None if there is no limit.
        lost_together: tokens cut off from each pair (pairs,), for a model that reads both texts as one sequence.
    """

    values: Values
    lost: NDArray[np.int64] | None = field(default=None)
    lost_together: NDArray[np.int64] | None = field(default=None)


def check_scores(metric: object, result: object, kind: type[BlockScores | PairScores], rows: int) -> None:
    """Raise InputError for what a metric of somebody's own returned instead of scores, naming its file and function."""
    function, of = ("score_block", "rows") if kind is BlockScores else ("score_pairs", "pairs")
    checked = ("values", "empty", "lost") if kind is BlockScores else ("values",)
    shapes = {name: np.asarray(getattr(result, name, None)).shape for name in checked}
    odd = [f"{name} of shape {shape}" for name, shape in shapes.items() if shape != (rows,)]
    if not isinstance(result, kind):
        wrong = repr(result)[:100]
    elif odd:
        wrong = odd[0]
    elif (values := np.asarray(result.values)).dtype.kind not in "biuf":
        wrong = f"values of type {values.dtype}"
    elif np.isinf(values).any():
        wrong = "an infinite score"
    else:
        return
    what = f"{type(metric).__name__}.{function} returned {wrong} for {rows} {of}"
    raise InputError(f"{source_of(type(metric))}: {what}; a finite number, or NaN, is due for each")


def _version(package: str) -> str:
    """Return the version of the package that is imported; what is installed may be another one."""
    imported = import_module(package.replace("-", "_"))
    return str(getattr(imported, "__version__", None) or version(package))


class MetricConfig(BaseSettings):
    """Base of a metric's settings: frozen, strictly named; the spelling ``metric:field=value`` comes from the fields.

    Every field changes the signature, unless it is marked `bsx.support.settings.Unscored`. Where to run and how much
    memory to use are not settings of a metric.

    Attributes:
        positional: the field that may be written without its name, as the first: ``metric:value`` means
            ``metric:field=value``. A value that looks like ``field=value`` itself needs the name.
    """

    positional: ClassVar[str | None] = None

    _path_as_name = field_validator("model", mode="before", check_fields=False)(path_as_name)

    def reads(self, entry: MetricEntry, catalog: Catalog) -> frozenset[str]:
        """Return what a metric reads with these settings: ``candidate`` with ``reference``, ``source`` or both.

        That is what its entry says, unless a subclass knows better. No model is loaded for it.
        """
        return frozenset(entry.needs)


MultiRef = Annotated[Literal["best", "mean"], Field(description="How several references become one score.")]
"""The setting of metrics that compare a candidate with one reference at a time."""

ConfigT = TypeVar("ConfigT", bound=MetricConfig, covariant=True, default=MetricConfig)
"""The settings of a metric; ``Metric`` alone is a metric with any settings."""


@dataclass(frozen=True)
class Figures:
    """What a metric is summed up by that has no single number.

    Attributes:
        names: of its figures.
        model: which model they are of.
        layers: which of its layers.
        every: whether those are all of its layers, each of which has figures.
        undefined: what rows are called of which not every figure is defined.
        remarks: what to say of rows that are ``empty``, ``undefined`` or ``truncated`` ({lost} tokens).
    """

    names: tuple[str, ...]
    model: str
    layers: tuple[int, ...]
    every: bool
    undefined: str
    remarks: dict[str, str]


Fitted: TypeAlias = Any
"""What `MetricCore.fit` learnt from a corpus: only the metric itself knows its type."""


class Reading(InForm):
    """A corpus as metrics read it once before they score it, in the form in which texts are compared.

    Args:
        progress: called with a phase's name, what is done and what there is, by a metric whose reading takes long.
        say: told what the user should know before that begins.
        counted: what `MetricCore.count` returned for all parts of a data set that is elsewhere, added up, metric by
            metric; None: the segments are here.
    """

    def __init__(
        self,
        corpus: Corpus,
        form: Form,
        *,
        progress: Progress | None = None,
        say: Say | None = None,
        counted: Iterator[IdfCounter] | None = None,
    ) -> None:
        super().__init__(corpus, form)
        self.progress, self.say, self._counted = progress, say, counted

    def counters(self, metric: MetricCore, number: int = 1) -> list[IdfCounter]:
        """Return what a metric counts in the whole corpus: a number of counters."""
        return metric.count(self) if self._counted is None else list(islice(self._counted, number))


class MetricCore(ABC, Generic[ConfigT]):
    """What a run needs of a metric: its settings, what it reads, the scores of a block, its signature.

    `bsx.metrics.base.Metric` adds the calls a user makes. A subclass names its ``Config`` and defines `score_block`;
    see docs/extend/add-a-metric.md. Pickled or copied deeply, it is a recipe: what it is made of, not what is loaded.

    Args:
        entry: what the registry says about it.
        config: its settings.
        encoders: the encoders of this run, shared by all its metrics.
        spec: how the user spelled it, ``name:field=value``; the name of its column.

    Attributes:
        doubts: what speaks against it in the language of the texts, one sentence each.
        shares_model: whether it runs the model of all metrics unless it was given one of its own.
        takes_context: whether it can read the sentences before a text, of which it scores nothing.
        keeps_missing: whether a row for which it is not defined has no score, NaN, instead of that of an empty text.
        encodes: whether it runs texts through an encoder, which keeps the vectors of those that come again.
        pace: about how many seconds it computes, on one core, for a character of a candidate and each reference; 0 if
            several processes would not make it faster. None: it is never spread over several unasked, because its
            scores of a block do not depend on that alone, to the bit, or because it is not known.
    """

    Config: ClassVar[type[MetricConfig]]
    shares_model: ClassVar[bool] = True
    takes_context: ClassVar[bool] = False
    keeps_missing: ClassVar[bool] = False
    encodes: ClassVar[bool] = True
    pace: ClassVar[float | None] = None
    _packages: ClassVar[tuple[str, ...]] = ()  # what computes it, whose versions stand in its signature

    def __init__(self, entry: MetricEntry, config: ConfigT, encoders: Encoders, spec: str | None = None) -> None:
        self.entry = entry
        self.config = config
        self.encoders = encoders
        self.spec = spec or entry.name
        encoders.uses_entry("metric", entry.name)
        if self.context and not self.takes_context:
            raise self.without_context("it reads each text by itself")
        with encoders.hearing_doubts() as self.doubts:
            self._check_language()
            self.setup()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.entry, self.config, self.encoders, self.spec)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec}>"

    def _check_language(self) -> None:
        """Doubt a metric that is made for other languages; an encoder that the registry knows speaks for itself."""
        made_for = self.languages
        read = [self.encoders.language, self.encoders.source if "source" in self.needs else None]
        others = [entry for entry in read if entry is not None and not set(codes_of(entry)) & set(made_for)]
        if made_for == "any" or not others:
            return
        if "model" in type(self.config).model_fields:
            shared = self.encoders.model if self.shares_model else None
            named = getattr(self.config, "model", None) or shared or self.entry.model
            if named is None or named != self.entry.model or self.encoders.catalog.find(named) is not None:
                return
        few = ", ".join(made_for) if len(made_for) <= _FEW else f"{count_languages(made_for)} other languages"
        names = " and ".join(entry.name for entry in others)
        self.encoders.doubt(f"{self.name} is made for {few}, the texts are {names}")

    @property
    def context(self) -> int:
        """How many sentences before each text it reads as context."""
        return self.encoders.config.context

    def without_context(self, why: str) -> InputError:
        """Return the error that it cannot read context."""
        return InputError(
            f"context: {self.spec} takes none, because {why}: leave out the metric, or context", setting="context"
        )

    def spelled_context(self) -> dict[str, object]:
        """Return what the signature says of context: how many sentences of what."""
        of = "reference" if "reference" in self.needs else "candidate"
        both = "+source" if "source" in self.needs else ""
        return {"context": f"{self.context}*{of}{both}"} if self.context else {}

    @property
    def looks_at_script(self) -> bool:
        """Whether the script of texts decides settings that nobody gave: not where texts are read as they are."""
        return self.encoders.config.normalize != "none"

    def doubts_of(self, corpus: Corpus) -> tuple[str, ...]:
        """Return what speaks against it on texts whose language nobody named: that its model does not know the script.

        Raises:
            LanguageError: instead, with ``strict``.
        """
        located = getattr(self, "located", None)
        entry = None if located is None else located.choice.entry
        known = self.languages if located is None else "any" if entry is None else entry.languages
        if self.encoders.language is not None or isinstance(known, str):
            return ()
        languages = self.encoders.catalog.languages
        written = {part for code in known if code in languages for part in parts_of(languages[code].script)}
        sides = [script for side, script in scripts_of(corpus).items() if side in self.needs]
        which = self.name if entry is None else entry.name
        notes = tuple(
            f"{which} knows no language that is written in {SCRIPTS[script]} script, as the texts are"
            for script in dict.fromkeys(sides)
            if written and script not in written
        )
        for note in notes:
            self.encoders.doubt(note)
        return notes

    def setup(self) -> None:
        """Check settings, find the model and packages; called once, before anything is scored."""

    @classmethod
    def lacks(cls) -> str | None:
        """Return what is missing on this machine beside packages and models, in a few words."""
        return None

    @property
    def name(self) -> str:
        """Name in the registry."""
        return self.entry.name

    @cached_property
    def needs(self) -> frozenset[str]:
        """What it reads: ``candidate`` with ``reference``, ``source`` or both."""
        return self.config.reads(self.entry, self.encoders.catalog)

    @property
    def higher_is_better(self) -> bool:
        """Whether the higher of two scores is the better one."""
        return self.entry.higher_is_better

    @property
    def languages(self) -> list[str] | str:
        """Languages that it, or its default model, is made for; ``any`` if it depends on no language."""
        return self.entry.languages

    @property
    def bytes_per_token(self) -> int:
        """Memory a token of a block takes; 0 if it keeps no vectors."""
        return 0

    def memory(self, candidate: str, other: str) -> int:
        """Return about how many bytes it takes to score one candidate against one other text."""
        return PER_BYTE * (text_size(candidate) + text_size(other))

    @property
    def counts(self) -> str | None:
        """What it gathers of the whole corpus before it scores, so that a part of the corpus does not do: ``idf``."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about this metric with these settings, one sentence each."""
        return ()

    @property
    def figures(self) -> Figures | None:
        """What it is summed up by where it is run by itself; None: by its score."""
        return None

    def look_ahead(self, block: Block) -> object:
        """Return what can be prepared of a block while another is scored; `score_block` finds it in its ``ahead``."""
        return None

    def signature_fields(self, fitted: Fitted) -> dict[str, object]:
        """Return what replaces or adds to the signature's settings: a model's identity, a file's digest, a version."""
        return {name.replace("-", "_"): _version(name) for name in self._packages}

    def signature(self, fitted: Fitted = None, references: tuple[int, int] | None = None) -> Signature:
        """Return everything that changes these scores.

        Args:
            fitted: what `fit` returned for the corpus.
            references: the least and greatest number of references of a segment.
        """
        fields: dict[str, object] = {"metric": self.name}
        kind = type(self.config)
        for name in (name for name in kind.model_fields if not marked(kind, name, Unscored)):
            value = getattr(self.config, name)
            value = value.name if isinstance(value, Path) else f"{value:.15g}" if isinstance(value, float) else value
            fields[name] = "default" if value is None else value
        fields |= self.signature_fields(fitted) | self.entry_fields() | self.spelled_context()
        fields["normalize"] = self.encoders.config.normalize
        if references is not None and "reference" in self.needs:
            fewest, most = references
            fields["refs"] = f"{fewest}" if fewest == most else f"{fewest}-{most}"
        fields["bsx"] = VERSION
        return Signature.of(fields, self.doubts)

    def entry_fields(self) -> dict[str, object]:
        """Return what tells the scores of an overlay's entry from those of the entry that it replaces."""
        if self.encoders.catalog.replacement("metric", self.name) is None:
            return {}
        content = self.entry.model_dump(exclude=UNSCORED)
        return {"entry": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]}

    def fit(self, corpus: Reading) -> Fitted:
        """Read the corpus once before scoring, if the metric needs it; return what was learnt.

        One that ``counts`` asks `Reading.counters` for the whole corpus's counts.
        """
        return None

    def count(self, corpus: Corpus) -> list[IdfCounter]:
        """Count what `fit` needs of a corpus or a part of it, for a metric that ``counts``; counts of parts add up.

        Raises:
            InputError: if there is nothing that adds up, as of answers.
        """
        raise InputError(f"{self.spec} reads all rows before it scores one: score it without an engine")

    def refuse_missing(self, values: Values) -> None:
        """Refuse scores of which some are missing, where systems or candidates are compared by all of them.

        Raises:
            InputError: saying how many, for a metric that keeps what is missing.
        """
        if self.keeps_missing and (missing := int(np.isnan(values).sum())):
            raise InputError(
                f"{self.spec} has no score for {missing:,} of {values.size:,} rows, and nothing stands in for it: "
                "bsx score says which; leave those segments out"
            )

    @abstractmethod
    def score_block(self, block: Block, fitted: Fitted) -> BlockScores:
        """Score some rows.

        Args:
            block: the rows.
            fitted: what `fit` returned for the corpus they are from.
        """

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: Fitted) -> Values | None:
        """Return the scores of every candidate against every reference (n, m), NaN where not defined.

        None if the metric has no faster way than pair by pair.
        """
        return None

    def system_score(self, statistics: Values) -> float:
        """Return the score of a whole system from the sum of its rows' statistics (k,)."""
        raise NotImplementedError(f"{self.name} has no statistics: the mean is its score of a system")
