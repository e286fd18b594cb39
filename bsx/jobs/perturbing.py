"""How far scores fall when texts of a table are changed on purpose: texts, parses, metrics as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.adversarial.result import PerturbedScores, Robustness
from bsx.analysis.adversarial.robustness import falls, perturbed_scores
from bsx.bertscore.config import ScorerConfig
from bsx.data.lines import NamedFile
from bsx.data.long import together
from bsx.data.output import ScoreTable, check_table, refuse_taken
from bsx.errors import InputError
from bsx.jobs.metrics import open_metrics
from bsx.jobs.settings.adversarial import PerturbSettings
from bsx.jobs.settings.shared import ParseSettings
from bsx.metrics.failures import score_without_failures
from bsx.metrics.summary import about
from bsx.support.progress import Progress, Watch, told
from bsx.support.settings import complete, refuse_idle, takes

if TYPE_CHECKING:
    from bsx.analysis.factors.parses import Parse
    from bsx.metrics.base import Metric

_SAVED = ("row", "perturbation", "strength", "seed", "preserves", "reference", "original", "perturbed")
"""Columns of the table of changed texts beside scores."""

Function = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]


@dataclass(frozen=True)
class Texts:
    """Columns of a table of texts.

    Attributes:
        references: n texts.
        candidates: n texts, or None if the references are to be perturbed.
        sources: n texts, or None.
        rows: the whole rows (n,), if they are to be kept.
        notes: what is to be said of the rows.
    """

    references: list[str]
    candidates: list[str] | None
    sources: list[str] | None
    rows: Sequence[Mapping[str, object]] = ()
    notes: Sequence[str] = ()

    @property
    def clean(self) -> list[str]:
        """The texts to perturb."""
        return self.references if self.candidates is None else self.candidates


def read_texts(file: str, candidate: str | None, reference: str, source: str | None, *, keep: bool = False) -> Texts:
    """Read a table's texts, with ``keep`` whole rows; ``-`` is standard input.

    Raises:
        InputError: for a missing column, a cell that is not one text, or a table without rows.
    """
    from bsx.data.open import open_corpus

    wants = frozenset({"reference", "source"} if source is not None else {"reference"})
    with open_corpus(
        [], [], file, [candidate or reference], [reference], None, source_column=source, wants=wants, keep_rows=keep
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
        [segment.row or {} for segment in segments] if keep else (),
        together([segment.system for segment in segments if segment.system is not None]),
    )


def find_parses(
    texts: Texts,
    column: str,
    lang: str | None,
    how: ParseSettings,
    cache: Path | None,
    report: Progress | None,
) -> tuple[list[Parse | None] | None, dict[str, object] | None]:
    """Return parses of the clean texts, from a file or a parser, and where they are from; None without either."""
    from bsx.analysis.factors.parsers import make_parser
    from bsx.analysis.factors.parses import ParseCache, match_parses

    parses, parser = how["parses"], how["parser"]
    if parses is not None:
        if parser is not None:
            raise InputError("give `parses=FILE` or `parser=NAME`, not both")
        return list(match_parses(parses, texts.clean, column)), {
            "file": parses.name,
            "sha256": NamedFile(parses).digest(),
        }
    if parser is None:
        return None, None
    if lang is None:
        raise InputError("`parser=` needs to know the language: say `lang=`")
    made = make_parser(parser, lang, "parse", pretokenized=False, folder=how["parser_dir"], download=how["download"])
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
        about: what the metrics say of themselves.
    """

    functions: dict[str, Function] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    skipped: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    about: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, metrics: Sequence[Metric], sources: list[str] | None, *, skip: bool) -> MetricFunctions:
        """Make functions of metrics.

        Args:
            metrics: the metrics.
            sources: of the rows, for metrics that need them; every call has all rows in their order.
            skip: whether to go on without rows on which a metric fails.

        Raises:
            InputError: if a metric needs sources and there are none.
        """
        made = cls(about=about(metrics))
        for metric in metrics:
            if "source" in metric.needs and sources is None:
                raise InputError(f"{metric.spec} compares candidates with sources: say which column with `source=`")
            if not metric.higher_is_better:
                made.notes.append(f"{metric.spec}: lower is better, so the sign of its scores is turned")
            made.functions[metric.spec] = made._function(metric, sources, skip)
        return made

    def left_out(self) -> list[str]:
        """Return how many texts metrics failed on, if they were skipped, and the first of them."""
        if not self.skipped:
            return []
        first = self.skipped[0]
        return [
            f"{len(self.skipped)} texts are left out because a metric failed on them, the first {first['metric']} "
            f"on row {first['row']}: {first['error']}"
        ]

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


@takes(PerturbSettings)
def perturb(
    file: str,
    metrics: Sequence[str],
    *,
    perturbations: Sequence[str] | None = None,
    strengths: Sequence[float] = (0.1, 0.3),
    save: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[PerturbSettings],
) -> Robustness:
    """Change the texts of a table on purpose and measure how far each metric's scores fall.

    It reads files; `bsx.analysis.perturb` works on columns.

    Args:
        file: the table; ``-`` is standard input.
        metrics: their specs.
        perturbations: their names; all that can be applied unless given.
        strengths: shares of words or letters.
        save: table to write: every text that a perturbation changed, with the scores before and after; the other
            columns of the table that was read stand between, and none may be called as one of these.
        settings: model, language, and where and within what limits to run.
        progress: called with phase, done and total; True draws bars.
        **how: columns, parses, and what is measured.

    Raises:
        InputError: for a table, metric or perturbation that cannot be used.
    """
    progress = told(progress)
    if save is not None:
        check_table(save)
    asked = complete(how, PerturbSettings)
    settings = settings if settings is not None else ScorerConfig()
    if settings.lang == "auto":
        raise InputError("`lang='auto'`: perturbations have rules by language; say which it is")
    if asked["parser"] is None:
        refuse_idle(asked, PerturbSettings, "without `parser=`", "parser_dir", "download")
    texts = read_texts(file, asked["candidate"], asked["reference"], asked["source"], keep=save is not None)
    if save is not None:
        made = [f"{spec}{end}" for spec in metrics for end in ("", " original")]
        refuse_taken(set(texts.rows[0]) - {asked["reference"]}, [*_SAVED, *made])
    column = asked["candidate"] or asked["reference"]
    cache = None if settings.cache is None else Path(settings.cache) / "parses"
    parses, origin = find_parses(texts, column, settings.lang, asked, cache, progress)
    functions = MetricFunctions.of(open_metrics(metrics, settings), texts.sources, skip=asked["skip_errors"])
    found = perturbed_scores(
        texts.references,
        functions.functions,
        perturbations,
        candidates=texts.candidates,
        sources=texts.sources,
        parses=parses,
        lang=settings.lang,
        strengths=strengths,
        control=asked["control"],
        seed=asked["seed"],
        nan="omit" if asked["skip_errors"] else "error",
        progress=progress,
    )
    if save is not None:
        _write_cases(save, found, texts.rows)
    result = falls(
        found,
        resamples=asked["resamples"],
        confidence=asked["confidence"],
        correction=asked["correction"],
        worst=asked["worst"],
    )
    notes = [*functions.about, *functions.notes, *texts.notes, *result.notes]
    notes += [f"{one.perturbation} is left out: it {one.why}" for one in result.left_out]
    return replace(
        result,
        skipped=tuple(functions.skipped),
        settings={**result.settings, "column": column, "parses": origin},
        signatures=functions.signatures,
        notes=(*notes, *functions.left_out()),
    )


def _write_cases(path: Path, found: PerturbedScores, kept: Sequence[Mapping[str, object]]) -> None:
    """Write every text that a perturbation changed, with the scores before and after, and the kept rows' columns."""
    with ScoreTable(path) as table:
        for number, case in enumerate(found.cases):
            for row in map(int, case.changed.nonzero()[0]):
                cells: dict[str, object] = {
                    "row": row + 1,
                    "perturbation": case.perturbation.name,
                    "strength": "" if case.strength is None else f"{case.strength:g}",
                    "seed": case.seed,
                    "preserves": str(case.perturbation.preserves).lower(),
                    "reference": found.references[row],
                    "original": found.clean[row],
                    "perturbed": case.texts[row],
                }
                cells |= {n: v for n, v in (kept[row] if kept else {}).items() if n not in cells}
                for metric, scores in found.case_scores.items():
                    cells[f"{metric} original"] = float(found.clean_scores[metric][row])
                    cells[metric] = float(scores[number, row])
                table.write(cells)
