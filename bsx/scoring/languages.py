"""Scoring rows of several languages in one table: one language after the other, each with its own model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import cast

import numpy as np

from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import find_language
from bsx.data.corpus import Corpus, InContext, Segment
from bsx.data.open import TableFile
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import carried
from bsx.data.tables import Row
from bsx.errors import BsxError, InputError
from bsx.frames.metrics import build_metrics, check_sides, wanted_sides
from bsx.metrics.run import ScoredBlock, prepare, stream, survey
from bsx.metrics.summary import Tally
from bsx.scoring.rows import column_types, rows_of
from bsx.scoring.run import ScoredFiles, ScoreRun
from bsx.support.progress import reporter
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
        return "\n\n".join(f"{code}: {of.to_text(parts[code], full=full)}" for code, of in self.languages.items())

    def notes(self) -> list[str]:
        """Return what the user should know, one sentence each."""
        return [f"{code}: {note}" for code, scored in self.languages.items() for note in scored.notes()]


class _OfLanguage:
    """The segments of a corpus that are of one language."""

    def __init__(self, corpus: Corpus, codes: Sequence[str], code: str) -> None:
        self._corpus, self._codes, self._code = corpus, codes, code
        self.systems, self.has = corpus.systems, corpus.has

    def __iter__(self) -> Iterator[Segment]:
        pairs = zip(self._corpus, self._codes, strict=True)
        return (segment for segment, code in pairs if code == self._code)


@settled(ScoreRun)
@as_one_run
def score_languages(settings: ScoreRun) -> ScoredLanguages:
    """Score a table each row of which names its language, which decides on model, baseline and tokeniser.

    One language is scored after the other, so that one model is in memory at a time. The output has the order of the
    input, and a column for the language; the scores of all rows are held in memory until it is written.

    Args:
        settings: see `ScoreRun`; ``lang_column`` holds tags or English names.

    Raises:
        InputError: if the table, settings or metrics are wrong or do not fit together.
    """
    progress, metrics, column = reporter(settings.progress), settings.metrics, settings.lang_column
    output = None if settings.output is None else Path(settings.output)
    if column is None or settings.table is None:
        raise InputError("lang_column names a column of a table: give the table too", setting="lang_column")
    if output is not None:
        check_table(output)
    catalog = load_registry(settings.registry)
    wants = wanted_sides(metrics, settings)
    with contextlib.ExitStack() as stack:
        corpus = settings.open(wants, keep_rows=True)
        cast(TableFile, corpus).table.require(column)
        check_sides(metrics, settings, corpus)
        types = {} if output is None else column_types(corpus, metrics or None, output, layers=settings.all_layers)
        texts = InContext(corpus, settings.context) if settings.context else corpus
        language_of, codes = cache(partial(find_language, catalog=catalog)), list[str]()
        for segment in texts:
            row = cast(Row, segment.row)
            spelling = row.name(column)
            try:
                codes.append(language_of(spelling).code)
            except BsxError as error:
                raise InputError(f"{row.where}, column {column!r}: {error}") from error
        table = None if output is None else stack.enter_context(ScoreTable(output, types))
        results: dict[str, ScoredFiles] = {}
        blocks: dict[str, list[ScoredBlock]] = {}
        for code in dict.fromkeys(codes):
            part = _OfLanguage(texts, codes, code)
            plan = survey(part, settings.normalize)
            made = build_metrics(metrics, settings.model_copy(update={"lang": code}), settings.context)
            prepared = prepare(made, part, plan=plan, progress=progress)
            tally, blocks[code] = Tally(prepared), []
            for block in stream(prepared, progress=progress):
                tally.add(block)
                if table is not None:
                    blocks[code].append(replace(block, segments=[]))
            results[code] = ScoredFiles(prepared, tally, settings.files(), settings.system)
        result = ScoredLanguages(results)
        if table is None:
            return result
        wide = len(texts.systems)
        places = {
            code: ((block, at) for block in some for at in range(0, len(block.scores[0].values), wide))
            for code, some in blocks.items()
        }
        for segment, code in zip(texts, codes, strict=True):
            block, at = next(places[code])
            single = ScoredBlock([segment], [scores.select(np.arange(at, at + wide)) for scores in block.scores])
            for cells in rows_of(single, results[code].prepared):
                table.write(cells if metrics else {"id": cells["id"], column: code} | cells | {column: code})
        before = carried(settings.table_name)
        if not metrics:
            table.signature = "\n".join(f"{code}: {of.prepared.signature(0)}" for code, of in results.items())
            table.sidecar = {"metrics": before} if before else None
            return result
        summaries = {code: of.to_dict()["metrics"] for code, of in results.items()}
        joined = [
            {
                "metric": entry["metric"],
                "higher_is_better": entry["higher_is_better"],
                "signature": " ".join(f"{code}: {entries[place]['signature']}" for code, entries in summaries.items()),
            }
            for place, entry in enumerate(next(iter(summaries.values())))
        ]
        table.sidecar = {"metrics": [*before, *joined], **result.to_dict()}
    return result
