"""What a metric is: settings, needs, scores of rows, and the signature that goes with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

import bsx
from bsx.entries import MetricEntry
from bsx.errors import InputError
from bsx.signature import Signature
from bsx.text import Corpus, MemoryCorpus, as_texts, check_text

if TYPE_CHECKING:
    from bsx.catalog import Catalog
    from bsx.encoders import Encoders
    from bsx.metrics.scores import MetricScores

Progress = Callable[[str, int, int], None]
Values = NDArray[np.float64]


class MetricConfig(BaseModel):
    """Base of a metric's settings: frozen, strictly named; the spelling ``metric:field=value`` comes from the fields.

    Every field changes the signature. Where to run and how much memory to use are not settings of a metric.

    Attributes:
        positional: the field that may be written without its name, as the first: ``metric:value`` means
            ``metric:field=value``. A value that looks like ``field=value`` itself needs the name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    positional: ClassVar[str | None] = None


@dataclass(frozen=True)
class Block:
    """Some rows of a corpus: one candidate each, with what it is compared to.

    Attributes:
        candidates: one text a row.
        references: each row's references; empty tuples if the corpus has none.
        sources: each row's source, or None if the corpus has none.
        systems: index of the system each row belongs to (rows,).
    """

    candidates: list[str]
    references: list[tuple[str, ...]]
    sources: list[str] | None
    systems: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.candidates)


@dataclass
class BlockScores:
    """Scores of a block's rows.

    Attributes:
        values: (rows,); NaN where the metric is not defined.
        empty: rows of which one side has no content (rows,).
        lost: tokens that a model's limit cut off (rows,).
        statistics: what the metric's score of a whole system is computed from (rows, k); None if that is the mean.
        undefined: rows that are not defined though their ``values`` are numbers (rows,); None: those that are NaN.
    """

    values: Values
    empty: NDArray[np.bool_]
    lost: NDArray[np.int64]
    statistics: Values | None = None
    undefined: NDArray[np.bool_] | None = None


class Metric(ABC):
    """A metric with its settings, ready to score.

    Made by `bsx.get_metric`. A subclass names its ``Config`` and defines `score_block`; see docs/add-a-metric.md.

    Args:
        entry: what the registry says about it.
        config: its settings.
        encoders: the encoders of this run, shared by all its metrics.
        spec: how the user spelled it, ``name:field=value``; the name of its column.
    """

    Config: ClassVar[type[MetricConfig]]

    def __init__(self, entry: MetricEntry, config: MetricConfig, encoders: Encoders, spec: str | None = None) -> None:
        self.entry = entry
        self.config: Any = config
        self.encoders = encoders
        self.spec = spec or entry.name
        self.setup()

    def setup(self) -> None:  # noqa: B027 - a metric may have nothing to set up
        """Check settings, find the model and packages; called once, before anything is scored."""

    @classmethod
    def lacks(cls) -> str | None:
        """Return what is missing on this machine beside packages and models, in a few words."""
        return None

    @property
    def name(self) -> str:
        """Name in the registry."""
        return self.entry.name

    @classmethod
    def reads(cls, entry: MetricEntry, config: Any, catalog: Catalog) -> frozenset[str]:
        """Return what it reads with these settings: ``candidate`` with ``reference``, ``source`` or both.

        That is what its entry says, unless a subclass knows better.
        """
        return frozenset(entry.needs)

    @cached_property
    def needs(self) -> frozenset[str]:
        """What it reads: ``candidate`` with ``reference``, ``source`` or both."""
        return self.reads(self.entry, self.config, self.encoders.catalog)

    @property
    def higher_is_better(self) -> bool:
        """Whether the higher of two scores is the better one."""
        return self.entry.higher_is_better

    @property
    def languages(self) -> list[str] | str:
        """Languages that its default model is made for; ``any`` if it depends on no language."""
        return self.entry.languages

    @property
    def extra(self) -> str | None:
        """The extra of bsx that brings the packages it needs, if any."""
        return self.entry.extra

    @property
    def citation(self) -> str:
        """The paper to cite."""
        return self.entry.citation

    @property
    def bytes_per_token(self) -> int:
        """Memory a token of a block takes; 0 if it keeps no vectors."""
        return 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about this metric with these settings, one sentence each."""
        return ()

    def signature_fields(self, fitted: Any) -> dict[str, object]:
        """Return what replaces or adds to the settings in the signature: a model's identity, a file's digest."""
        return {}

    def signature(self, fitted: Any = None, references: tuple[int, int] | None = None) -> Signature:
        """Return everything that changes these scores.

        Args:
            fitted: what `fit` returned for the corpus.
            references: the least and greatest number of references of a segment.
        """
        fields: dict[str, object] = {"metric": self.name}
        fields |= {name: _spelled(getattr(self.config, name)) for name in type(self.config).model_fields}
        fields |= self.signature_fields(fitted)
        if references is not None and "reference" in self.needs:
            fewest, most = references
            fields["refs"] = f"{fewest}" if fewest == most else f"{fewest}-{most}"
        fields["bsx"] = bsx.__version__
        return Signature.of(fields)

    def fit(self, corpus: Corpus) -> Any:
        """Read the corpus once before scoring, if the metric needs it (idf); return what was learnt."""
        return None

    @abstractmethod
    def score_block(self, block: Block, fitted: Any) -> BlockScores:
        """Score some rows.

        Args:
            block: the rows.
            fitted: what `fit` returned for the corpus they are from.
        """

    def score_product(self, candidates: Sequence[str], references: Sequence[str], fitted: Any) -> Values | None:
        """Return the scores of every candidate against every reference (n, m), NaN where not defined.

        None if the metric has no faster way than pair by pair.
        """
        return None

    def system_score(self, statistics: Values) -> float:
        """Return the score of a whole system from the sum of its rows' statistics (k,)."""
        raise NotImplementedError(f"{self.name} has no statistics: the mean is its score of a system")

    def score(
        self,
        candidates: object,
        references: object | None = None,
        sources: object | None = None,
        *,
        progress: Progress | None = None,
    ) -> MetricScores:
        """Score candidates.

        Args:
            candidates: n texts.
            references: n texts, or n lists of texts; for a metric that needs them.
            sources: n texts; for a metric that needs them.
            progress: called with a phase's name, segments done and segments in all.

        Returns:
            Scores of shape (n,).

        Raises:
            InputError: if the numbers differ, anything is not a text, or what the metric needs is missing.
        """
        from bsx.metrics.run import score_corpus

        corpus = _corpus(self, candidates, references, sources)
        return score_corpus([self], corpus, progress=progress)[self.spec]["candidate"]

    def score_matrix(
        self, candidates: object, references: object | None = None, *, sources: object | None = None
    ) -> Values:
        """Score every candidate against every reference, as minimum-Bayes-risk decoding wants it.

        Every distinct text is encoded once: n + m texts, not n * m.

        Args:
            candidates: n texts.
            references: m texts; for a metric that needs references.
            sources: m texts for a metric that compares with sources only; one text, the source of all, for a metric
                that needs references and source.

        Returns:
            Scores (n, m).
        """
        from bsx.metrics.matrix import matrix

        return matrix(self, as_texts(candidates, "candidates"), *_matrix_sides(self, references, sources))


def _corpus(metric: Metric, candidates: object, references: object | None, sources: object | None) -> MemoryCorpus:
    given = {"reference": references, "source": sources}
    missing = [kind for kind in sorted(metric.needs - {"candidate"}) if given[kind] is None]
    if missing:
        raise InputError(f"{metric.name} compares candidates with {missing[0]}s: give {missing[0]}s=")
    return MemoryCorpus({"candidate": candidates}, references, sources)


def _matrix_sides(metric: Metric, references: object | None, sources: object | None) -> tuple[list[str], str | None]:
    """Return the matrix's columns, and the one source of all rows if the metric needs it beside references."""
    if "reference" not in metric.needs:
        if sources is None:
            raise InputError(f"{metric.name} compares candidates with sources: give sources=")
        return as_texts(sources, "sources"), None
    if references is None:
        raise InputError(f"{metric.name} compares candidates with references: give references=")
    if "source" not in metric.needs:
        return as_texts(references, "references"), None
    if sources is None:
        raise InputError(f"{metric.name} reads the source too: give sources= one text, the source of all candidates")
    return as_texts(references, "references"), check_text(sources, "sources")


def _spelled(value: object) -> object:
    if isinstance(value, Path):
        return value.name
    if isinstance(value, float):
        return f"{value:.15g}"
    return "default" if value is None else value


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


class PairMetric(Metric):
    """A metric that compares a candidate with one other text; several references are reduced to one score.

    A pair of which one text is blank is not scored: it gets the entry's ``empty`` score and is counted. A metric that
    needs reference and source gets the row's source with each pair.
    """

    @abstractmethod
    def score_pairs(self, pairs: Pairs, fitted: Any) -> PairScores:
        """Score pairs of non-blank texts."""

    @cached_property
    def reduction(self) -> str:
        """How several references become one score: ``best`` or ``mean``; the field ``multi_ref`` if there is one."""
        return str(getattr(self.config, "multi_ref", "best"))

    def others(self, block: Block) -> Sequence[Sequence[str]]:
        """Return the texts that each row's candidate is compared with."""
        if "reference" in self.needs:
            return block.references
        return [(source,) for source in block.sources or ()]

    def score_block(self, block: Block, fitted: Any) -> BlockScores:
        """Score rows pair by pair; see `Metric.score_block`."""
        texts: dict[str, int] = {}
        rows: list[tuple[int, int, int]] = []
        sources = (block.sources or []) if {"reference", "source"} <= self.needs else None
        for row, (candidate, others) in enumerate(zip(block.candidates, self.others(block), strict=True)):
            if not candidate.strip() or (sources is not None and not sources[row].strip()):
                continue
            left = texts.setdefault(candidate, len(texts))
            rows += [(row, left, texts.setdefault(other, len(texts))) for other in others if other.strip()]
        table = np.asarray(rows, dtype=np.int64).reshape(-1, 3)
        third = None
        if sources is not None:
            third = np.array([texts.setdefault(sources[row], len(texts)) for row in table[:, 0]], dtype=np.int64)
        values = np.full(len(block), np.nan)
        lost = np.zeros(len(block), dtype=np.int64)
        empty = np.ones(len(block), dtype=bool)
        if len(table):
            pairs = Pairs(list(texts), table[:, 1], table[:, 2], block.systems[table[:, 0]], table[:, 0], third)
            scored = self.score_pairs(pairs, fitted)
            present, starts = np.unique(table[:, 0], return_index=True)
            empty[present] = False
            values[present] = self._reduce(np.asarray(scored.values, dtype=np.float64), starts)
            if scored.lost is not None:
                lost[present] = np.add.reduceat(scored.lost[table[:, 2]], starts) + scored.lost[table[starts, 1]]
                if third is not None:
                    lost[present] += scored.lost[third[starts]]
            if scored.lost_together is not None:
                lost[present] += np.add.reduceat(scored.lost_together, starts)
        if self.entry.empty is not None:
            values[empty] = self.entry.empty
        return BlockScores(values, empty, lost)

    def _reduce(self, values: Values, starts: NDArray[np.int64]) -> Values:
        if self.reduction == "mean":
            defined = ~np.isnan(values)
            total = np.add.reduceat(np.where(defined, values, 0.0), starts)
            count = np.add.reduceat(defined.astype(np.float64), starts)
            return np.where(count > 0, total / np.maximum(count, 1), np.nan)
        best = np.fmax if self.higher_is_better else np.fmin
        return np.asarray(best.reduceat(values, starts))


def about_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many: letters of Latin script by three, others singly."""
    return (len(text) // 3 if text.isascii() else len(text)) + 2


def as_block(rows: Sequence[tuple[str, tuple[str, ...], str | None, int]]) -> Block:
    """Build a block from (candidate, references, source, system) rows."""
    sources = [source for _, _, source, _ in rows if source is not None]
    return Block(
        [row[0] for row in rows],
        [row[1] for row in rows],
        sources if len(sources) == len(rows) else None,
        np.array([row[3] for row in rows], dtype=np.int64),
    )
