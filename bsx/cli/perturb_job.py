"""What ``bsx adversarial perturb`` works on: texts, parses, metrics as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bsx.cli.metric_functions import open_metrics
from bsx.cli.skip_errors import score_without_failures
from bsx.errors import InputError
from bsx.support.progress import Progress

if TYPE_CHECKING:
    from bsx.analysis.factors.parses import Parse
    from bsx.metrics.base import Metric

Function = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]


@dataclass(frozen=True)
class Texts:
    """Columns of a table of texts.

    Attributes:
        references: n texts.
        candidates: n texts, or None if the references are to be perturbed.
        sources: n texts, or None.
    """

    references: list[str]
    candidates: list[str] | None
    sources: list[str] | None

    @property
    def clean(self) -> list[str]:
        """The texts to perturb."""
        return self.references if self.candidates is None else self.candidates


def read_texts(file: str, candidate: str | None, reference: str, source: str | None) -> Texts:
    """Read a table's texts; ``-`` is standard input.

    Raises:
        InputError: for a missing column, a cell that is not one text, or a table without rows.
    """
    from bsx.data.open import open_corpus

    wants = frozenset({"reference", "source"} if source is not None else {"reference"})
    with open_corpus(
        [], [], file, [candidate or reference], [reference], None, source_column=source, wants=wants
    ) as corpus:
        segments = list(corpus)
    if not segments:
        raise InputError(f"{file}: has no rows")
    for segment in segments:
        if len(segment.references) != 1:
            raise InputError(f"{file}: segment {segment.id} has {len(segment.references)} references, one is needed")
    return Texts(
        [segment.references[0] for segment in segments],
        [segment.candidates[0] for segment in segments] if candidate is not None else None,
        [segment.source or "" for segment in segments] if source is not None else None,
    )


def find_parses(
    texts: Texts,
    column: str,
    lang: str | None,
    parses: Path | None,
    parser: str | None,
    folder: Path | None,
    download: bool,
    cache: Path | None,
    report: Progress | None,
) -> tuple[list[Parse | None] | None, dict[str, Any] | None]:
    """Return parses of the clean texts, from a file or a parser, and where they are from; None without either."""
    from bsx.analysis.factors.parsers import make_parser
    from bsx.analysis.factors.parses import ParseCache, match_parses
    from bsx.support.provenance import file_digest

    if parses is not None:
        if parser is not None:
            raise InputError("give --parses FILE or --parser NAME, not both")
        return list(match_parses(parses, texts.clean, column)), {"file": parses.name, "sha256": file_digest(parses)}
    if parser is None:
        return None, None
    if lang is None:
        raise InputError("--parser needs to know the language: say --lang")
    made = make_parser(parser, lang, "parse", pretokenized=False, folder=folder, download=download)
    identity = made.identity
    # Caches of parses without relations are kept under the plain identity.
    store = ParseCache(cache, {**identity, "relations": True})
    told = (lambda done, total: report("parsing", done, total)) if report is not None else lambda done, total: None
    return store.parse(texts.clean, made, told), identity


@dataclass
class MetricFunctions:
    """Metrics of the zoo as functions of candidates and references, higher is better.

    Attributes:
        functions: spec -> function.
        signatures: spec -> signature, once it has scored.
        skipped: rows that failed, with metric and reason.
        notes: what a reader should know.
    """

    functions: dict[str, Function] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, named: Sequence[str], settings: dict[str, Any], sources: list[str] | None, *, skip: bool) -> Any:
        """Build metrics; see `bsx.cli.metric_functions.open_metrics`.

        Args:
            named: specs.
            settings: of the run.
            sources: of the rows, for metrics that need them; every call has all rows in their order.
            skip: whether to go on without rows on which a metric fails.
        """
        made = cls()
        for metric in open_metrics(named, settings):
            if "source" in metric.needs and sources is None:
                raise InputError(f"{metric.spec} compares candidates with sources: say which column with --source")
            if not metric.higher_is_better:
                made.notes.append(f"{metric.spec}: lower is better, so the sign of its scores is turned")
            made.functions[metric.spec] = made._function(metric, sources, skip)
        return made

    def _function(self, metric: Metric, sources: list[str] | None, skip: bool) -> Function:
        sign = 1.0 if metric.higher_is_better else -1.0

        def function(candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
            def score(rows: Sequence[int]) -> NDArray[np.float64]:
                scores = metric.score(
                    [candidates[row] for row in rows],
                    [references[row] for row in rows] if "reference" in metric.needs else None,
                    [sources[row] for row in rows] if "source" in metric.needs and sources else None,
                )
                self.signatures.setdefault(metric.spec, str(scores.signature))
                return sign * np.asarray(scores, dtype=np.float64)

            found, good, failed = score_without_failures(
                metric.spec, score, len(candidates), skip_errors=skip, where=lambda place: f"row {place + 1}"
            )
            values = np.full(len(candidates), np.nan)
            values[good] = found
            for row, why in failed.items():
                entry = {"metric": metric.spec, "row": row + 1, "text": candidates[row], "error": why}
                if entry not in self.skipped:  # an unchanged text fails again under every perturbation
                    self.skipped.append(entry)
            return values

        return function
