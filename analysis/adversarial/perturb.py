"""How far scores fall when texts of a table are changed on purpose: texts, parses, metrics as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from bsx.analysis.adversarial.result import Robustness
from bsx.analysis.adversarial.robustness import robustness
from bsx.analysis.adversarial.settings import ChangeSettings, FallSettings
from bsx.analysis.perturbations.perturb import Perturbed
from bsx.analysis.perturbations.scoring import Function
from bsx.data.lines import NamedFile
from bsx.data.long import COLUMN, ColumnName, systems_together
from bsx.data.open import TableFile, open_table
from bsx.data.output import ScoreTable, check_table, refuse_taken
from bsx.data.sources import AnyTable
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.frames.metrics import open_distinct
from bsx.frames.settings import FORMATS, MetricSettings, ParseSettings, Skipping, Watched, on_table
from bsx.metrics.failures import score_rows
from bsx.metrics.summary import about
from bsx.support.checks import Array
from bsx.support.progress import Progress, reporter
from bsx.support.settings import BaseSettings, Option, part, refuse_idle

if TYPE_CHECKING:
    from bsx.analysis.factors.parses import Parse
    from bsx.analysis.perturbations.grammar.inflections import Inflections
    from bsx.metrics.base import Metric

_SAVED = ("row", "perturbation", "strength", "seed", "preserves", "reference", "original", "perturbed")
"""Columns of the table of changed texts in addition to scores."""


@dataclass(frozen=True)
class Texts:
    """Columns of a table of n texts, None without; its whole rows, if they are to be kept, and what to know of them."""

    references: list[str]
    candidates: list[str] | None
    sources: list[str] | None
    rows: Sequence[Mapping[str, object]]
    notes: Sequence[str]


def read_texts(table: Table, candidate: str | None, reference: str, source: str | None, *, keep: bool = False) -> Texts:
    """Read a table's texts, with ``keep`` whole rows.

    Raises:
        InputError: for a missing column, a cell that is not one text, or a table without rows.
    """
    segments = list(TableFile(table, [candidate or reference], [reference], source=source, keep_rows=keep))
    for segment in segments:
        if len(segment.references) != 1:
            several = f"segment {segment.id} has {len(segment.references)} references, one is needed"
            raise InputError(several, file=table.name)
    return Texts(
        [segment.references[0] for segment in segments],
        [segment.candidates[0] for segment in segments] if candidate is not None else None,
        [segment.source or "" for segment in segments] if source is not None else None,
        [segment.row or {} for segment in segments] if keep else (),
        systems_together(table),
    )


def find_parses(
    texts: Sequence[str], column: str, lang: str | None, how: ParseSettings, cache: Path | None, report: Progress | None
) -> tuple[list[Parse | None] | None, dict[str, object] | None]:
    """Return parses of texts, from a file or a parser, and where they are from; None without either."""
    from bsx.analysis.factors.parsers import StanzaParser
    from bsx.analysis.factors.parses import ParseCache, match_parses

    if how.parses is not None:
        file = Path(how.parses)
        origin: dict[str, object] = {"file": file.name, "sha256": NamedFile(file).digest()}
        return list(match_parses(file, texts, column)), origin
    if how.parser is None:
        return None, None
    if lang is None:
        raise InputError("parser needs to know the language: say lang", setting="parser")
    folder = None if how.parser_dir is None else Path(how.parser_dir)
    made = StanzaParser(lang, "parse", pretokenized=False, folder=folder, download=how.download)
    identity = made.identity
    # Caches of parses without relations are kept under the plain identity.
    store = ParseCache(cache, {**identity, "relations": True})
    return store.parse(texts, made, partial(report or (lambda phase, done, total: None), "parsing")), identity


class MetricFunctions:
    """Metrics of the zoo as functions of candidates and references, higher is better.

    Args:
        metrics: the metrics.
        sources: of the rows, for metrics that need them; every call has all rows in their order.
        skip: whether to go on without rows on which a metric fails.

    Attributes:
        functions: spec -> function.
        signatures: spec -> signature, once it has scored.
        skipped: rows that failed, with metric and reason.
        notes: what a reader should know.
        about: what the metrics say of themselves.

    Raises:
        InputError: if a metric needs sources and there are none.
    """

    def __init__(self, metrics: Sequence[Metric], sources: list[str] | None, *, skip: bool) -> None:
        self.functions: dict[str, Function] = {}
        self.signatures: dict[str, str] = {}  # of those that have scored
        self.skipped: list[dict[str, object]] = []  # rows that failed, with metric and reason
        self.notes: list[str] = []
        self.about = about(metrics)  # what the metrics say of themselves
        self._sources, self._skip = sources, skip
        for metric in metrics:
            if "source" in metric.needs and sources is None:
                raise InputError(f"{metric.spec} compares candidates with sources: say which column (source)")
            if not metric.higher_is_better:
                self.notes.append(f"{metric.spec}: lower is better, so its scores are multiplied by -1")
            self.functions[metric.spec] = partial(self._scores, metric)

    def left_out(self) -> list[str]:
        """Return how many texts metrics failed on, if they were skipped, and the first of them."""
        if not self.skipped:
            return []
        first = self.skipped[0]
        return [
            f"{len(self.skipped)} texts are left out because a metric failed on them, the first {first['metric']} "
            f"on row {first['row']}: {first['error']}"
        ]

    def _scores(self, metric: Metric, candidates: Sequence[str], references: Sequence[str]) -> Array:
        compared = references if "reference" in metric.needs else None
        sources = self._sources if "source" in metric.needs else None
        scored = score_rows([metric], candidates, compared, sources, skip_errors=self._skip)
        self.signatures.setdefault(metric.spec, scored.signatures[metric.spec])
        for row, why in scored.failed.get(metric.spec, {}).items():
            entry = {"metric": metric.spec, "row": row + 1, "text": candidates[row], "error": why}
            if entry not in self.skipped:  # an unchanged text fails again under every perturbation
                self.skipped.append(entry)
        return scored.values[metric.spec]


class PerturbColumns(BaseSettings):
    """A table of texts to change."""

    table: Annotated[AnyTable | None, Field(description=f"Table of texts: {FORMATS}."), Option(argument=True)] = None
    candidate: Annotated[
        ColumnName, Field(description="Column of texts to change; the references themselves unless given.")
    ] = None
    reference: Annotated[str, Field(description="Column of references."), COLUMN] = "reference"
    source: Annotated[ColumnName, Field(description="Column of sources, for the perturbation source.")] = None


class WordForms(BaseSettings):
    """Where the forms of words are from, other than English ones."""

    treebank: Annotated[
        Path | str | None,
        Field(description="CoNLL-U treebank with lemmas and features: word forms, for other languages."),
    ] = None

    def inflections(self) -> Inflections | None:
        """Return the forms of the treebank; None without one."""
        from bsx.analysis.perturbations.grammar.inflections import Inflections

        return None if self.treebank is None else Inflections.from_treebanks([Path(self.treebank)])


class PerturbRun(
    Watched, MetricSettings, WordForms, ParseSettings, Skipping, FallSettings, ChangeSettings, PerturbColumns
):
    """Everything that `perturb` takes."""

    edits_out: Annotated[
        Path | str | None,
        Field(
            description="Keep changed texts and scores, with the table's columns: .tsv, .csv, .jsonl, .parquet or "
            ".xlsx."
        ),
        Option(writable=True),
    ] = None


@on_table(PerturbRun)
def perturb(settings: PerturbRun) -> Robustness:
    """Change the texts of a table on purpose and measure how far each metric's scores fall.

    `bsx.analysis.robustness` takes functions of texts.

    Args:
        settings: see `PerturbRun`. What it saves is every text that a perturbation changed, with the scores before and
            after; the other columns of the table that was read stand between, and none may be called as one of these.

    Raises:
        InputError: for a table, metric or perturbation that cannot be used.
    """
    progress = reporter(settings.progress)
    table, save = settings.table, None if settings.edits_out is None else Path(settings.edits_out)
    if table is None or not settings.metrics:
        raise InputError("give a table of texts and metrics; bsx adversarial perturb --list shows the perturbations")
    if save is not None:
        check_table(save)
    if settings.lang == "auto":
        raise InputError("lang auto: perturbations have rules by language; say which it is", setting="lang")
    if settings.parser is None:
        refuse_idle(settings, "without parser", "parser_dir", "download")
    opened = open_table(table, first_line=True)
    texts = read_texts(opened, settings.candidate, settings.reference, settings.source, keep=save is not None)
    if save is not None:
        made = [f"{spec}{end}" for spec in settings.metrics for end in ("", " original")]
        refuse_taken(set(opened.columns) - {settings.reference}, [*_SAVED, *made])
    column = settings.candidate or settings.reference
    cache = None if settings.cache is None else Path(settings.cache) / "parses"
    clean = texts.references if texts.candidates is None else texts.candidates
    parses, origin = find_parses(clean, column, settings.lang, settings, cache, progress)
    functions = MetricFunctions(open_distinct(settings), texts.sources, skip=settings.skip_errors)

    def write(path: Path, cases: Sequence[Perturbed], scored: Mapping[str, Sequence[Array]]) -> None:
        """Write every text that a perturbation changed, with the scores before and after, and the rows' own columns."""
        with ScoreTable(path) as written:
            for place, case in enumerate(cases, start=1):
                for row in map(int, case.changed.nonzero()[0]):
                    cells: dict[str, object] = {
                        "row": row + 1,
                        "perturbation": case.perturbation.name,
                        "strength": "" if case.strength is None else f"{case.strength:g}",
                        "seed": case.seed,
                        "preserves": str(case.perturbation.preserves).lower(),
                        "reference": texts.references[row],
                        "original": clean[row],
                        "perturbed": case.texts[row],
                    }
                    cells |= {n: v for n, v in texts.rows[row].items() if n not in cells}
                    for metric, scores in scored.items():
                        cells |= {f"{metric} original": float(scores[0][row]), metric: float(scores[place][row])}
                    written.write(cells)

    result = robustness(
        texts.references,
        functions.functions,
        **(part(settings, ChangeSettings) | part(settings, FallSettings)),
        candidates=texts.candidates,
        sources=texts.sources,
        parses=parses,
        lang=settings.lang,
        inflections=settings.inflections(),
        nan="omit" if settings.skip_errors else "error",
        keep=None if save is None else partial(write, save),
        progress=progress,
    )
    notes = [*functions.about, *functions.notes, *texts.notes, *result.notes]
    notes += [f"{item.perturbation} is left out: it {item.why}" for item in result.left_out]
    return replace(
        result,
        skipped=tuple(functions.skipped),
        settings={**result.settings, "column": column, "parses": origin},
        signatures=functions.signatures,
        notes=(*notes, *functions.left_out()),
    )
