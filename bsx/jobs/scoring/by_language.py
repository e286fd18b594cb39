"""Scoring a table each row of which names its language: one language after the other, each with its own model."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.languages import find_language
from bsx.data.corpus import Corpus, InContext, Segment
from bsx.data.files import TableFile
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import carried
from bsx.data.tables import Row
from bsx.errors import BsxError, InputError
from bsx.jobs.scoring.metrics import build_metrics, check_sides, wanted_sides
from bsx.jobs.scoring.rows import column_types, rows_of
from bsx.jobs.scoring.run import ScoredFiles, ScoreRun
from bsx.metrics.run import ScoredBlock, prepare, stream, survey
from bsx.metrics.summary import Tally
from bsx.support.progress import told
from bsx.support.settings import settled
from bsx.support.untyped import JsonObject


@dataclass(frozen=True)
class ScoredLanguages:
    """What a run over rows of several languages came to: that of each language, by its code."""

    languages: Mapping[str, ScoredFiles]

    def to_dict(self) -> JsonObject:
        """Return the summary of each language."""
        return {"languages": {code: scored.to_dict() for code, scored in self.languages.items()}}

    def to_text(self, result: JsonObject, *, full: bool = False) -> str:
        """Return a summary that `to_dict` made, language by language, for a terminal; of all systems if ``full``."""
        parts = result["languages"]
        told = (f"{code}: {scored.to_text(parts[code], full=full)}" for code, scored in self.languages.items())
        return "\n\n".join(told)

    def notes(self) -> list[str]:
        """Return what the user should know, one sentence each."""
        return [f"{code}: {note}" for code, scored in self.languages.items() for note in scored.notes()]


class _OfLanguage:
    """The segments of a corpus of table rows whose language is one of several."""

    def __init__(self, corpus: Corpus, column: str, spellings: Collection[str]) -> None:
        self._corpus, self._column, self._spellings = corpus, column, spellings
        self.systems, self.has = corpus.systems, corpus.has

    def __iter__(self) -> Iterator[Segment]:
        for segment in self._corpus:
            if _language(segment, self._column) in self._spellings:
                yield segment


def _language(segment: Segment, column: str) -> str:
    assert isinstance(segment.row, Row)  # noqa: S101 - for the type checker; the table was asked to keep its rows
    return segment.row.name(column)


def _languages(corpus: Corpus, column: str, catalog: Catalog) -> dict[str, list[str]]:
    """Return how each language is spelled in a column, by its code.

    Raises:
        InputError: naming the row of an unknown language.
    """
    results: dict[str, list[str]] = {}
    known: set[str] = set()
    for segment in corpus:
        spelling = _language(segment, column)
        if spelling in known:
            continue
        try:
            code = find_language(spelling, catalog).code
        except BsxError as error:
            where = segment.row.where if isinstance(segment.row, Row) else segment.id
            raise InputError(f"{where}, column {column!r}: {error}") from error
        known.add(spelling)
        results.setdefault(code, []).append(spelling)
    return results


@settled(ScoreRun)
@as_one_run
def score_languages(settings: ScoreRun) -> ScoredLanguages:
    """Score a table each row of which names its language, which decides on model, baseline and tokeniser.

    One language is scored after the other, so that one model is in memory at a time. The output has the order of the
    input, and a column for the language; the scores of all rows are held in memory until it is written.

    Args:
        settings: see `bsx.jobs.scoring.run.ScoreRun`; ``lang_column`` holds tags or English names.

    Raises:
        InputError: if the table, settings or metrics are wrong or do not fit together.
    """
    progress, metrics, column = told(settings.progress), settings.metrics, settings.lang_column
    output = settings.table_out
    if column is None or settings.table is None:
        raise InputError("lang_column names a column of a table: give the table too", setting="lang_column")
    if output is not None:
        check_table(output)
    catalog = load_registry(settings.registry)
    wants = wanted_sides(metrics, settings)
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(settings.open(wants, keep_rows=True))
        assert isinstance(corpus, TableFile)  # noqa: S101 - for the type checker; the table is one
        corpus.table.require(column)
        check_sides(metrics, settings, corpus)
        types = {} if output is None else column_types(corpus, metrics or None, output, layers=settings.all_layers)
        texts = InContext(corpus, settings.context) if settings.context else corpus
        spelled = _languages(texts, column, catalog)
        table = None if output is None else stack.enter_context(ScoreTable(output, types))
        results: dict[str, ScoredFiles] = {}
        blocks: dict[str, list[ScoredBlock]] = {}
        for code, spellings in spelled.items():
            part = _OfLanguage(texts, column, spellings)
            plan = survey(part, settings.normalize)
            own = settings.model_copy(update={"lang": code})
            prepared = prepare(build_metrics(metrics, own, settings.context), part, plan=plan, progress=progress)
            tally = Tally(prepared)
            blocks[code] = []
            for block in stream(prepared, progress=progress):
                tally.add(block)
                if table is not None:
                    blocks[code].append(replace(block, segments=[]))
            odd = tally.notes()
            results[code] = ScoredFiles(
                prepared,
                tally.totals,
                settings.files(),
                tally.by_system,
                column=settings.system,
                odd=odd,
                by_document=tally.by_document,
            )
        result = ScoredLanguages(results)
        if table is not None:
            codes = {spelling: code for code, spellings in spelled.items() for spelling in spellings}
            for row in _in_order(texts, column, codes, results, blocks):
                table.write(row)
            if not metrics:
                signatures = (f"{code}: {scored.prepared.signature(0)}" for code, scored in results.items())
                table.signature = "\n".join(signatures)
                before = carried(settings.table_name)
                table.sidecar = {"metrics": before} if before else None
            else:
                table.sidecar = {"metrics": [*carried(settings.table_name), *_joined(result)], **result.to_dict()}
    return result


def _in_order(
    corpus: Corpus,
    column: str,
    codes: Mapping[str, str],
    scored: Mapping[str, ScoredFiles],
    blocks: Mapping[str, Sequence[ScoredBlock]],
) -> Iterator[dict[str, object]]:
    """Yield the rows of the table in the order of the input."""
    wide = len(corpus.systems)
    places = {
        code: ((block, at) for block in some for at in range(0, len(block.scores[0].values), wide))
        for code, some in blocks.items()
    }
    for segment in corpus:
        code = codes[_language(segment, column)]
        block, at = next(places[code])
        rows = np.arange(at, at + wide)
        single = ScoredBlock([segment], [part.select(rows) for part in block.scores])
        prepared = scored[code].prepared
        for row in rows_of(single, prepared):
            yield {"id": row["id"], column: code} | row | {column: code} if prepared.metrics[0].figures else row


def _joined(result: ScoredLanguages) -> list[JsonObject]:
    """Return what the sidecar says of each metric, whose signature is of each language."""
    parts = {code: scored.to_dict()["metrics"] for code, scored in result.languages.items()}
    first = next(iter(parts.values()))
    return [
        {
            "metric": entry["metric"],
            "higher_is_better": entry["higher_is_better"],
            "signature": " ".join(f"{code}: {entries[place]['signature']}" for code, entries in parts.items()),
        }
        for place, entry in enumerate(first)
    ]
