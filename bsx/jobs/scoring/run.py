"""Scoring files of any size with any metrics, or with BERTScore by itself, here or on a Ray cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bsx.bertscore.config import ScorerConfig
from bsx.data.corpus import InContext
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run, is_stream
from bsx.data.sidecar import carried
from bsx.errors import InputError
from bsx.jobs.scoring.input import Input
from bsx.jobs.scoring.metrics import (
    build_bertscore,
    build_metrics,
    check_sides,
    detected,
    look_at_scripts,
    wanted_sides,
)
from bsx.jobs.scoring.resume import keeping, kept_blocks
from bsx.jobs.scoring.rows import column_types, rows_of
from bsx.metrics.gates import read_gates, shortfalls
from bsx.metrics.plan import survey
from bsx.metrics.run import Prepared, ScoredBlock, block_tokens, prepare, stream
from bsx.metrics.summary import Tally, about, flags, summarise, to_text
from bsx.metrics.totals import Totals
from bsx.support.progress import Say, Watch, told
from bsx.support.provenance import provenance
from bsx.support.settings import check_ranges, set_fields
from bsx.support.untyped import JsonObject

if TYPE_CHECKING:
    from bsx.bertscore.metric import BertScore


@dataclass(frozen=True)
class Cluster:
    """Where else than here to score: the address of a Ray cluster, None for one on this machine, and its workers."""

    address: str | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        check_ranges(vars(self))


@dataclass(frozen=True)
class ScoredFiles:
    """What a run came to.

    Attributes:
        prepared: the metrics and the corpus, which is closed by now.
        totals: each metric's totals.
        alone: BERTScore, if the run was of its three figures; else None.
        files: the input.
        by_system: the same for each of several systems whose rows stand one below the other.
        gates: scores that had to be reached.
        column: the column of those systems.
        odd: what is odd about the rows of those systems, one sentence each.
    """

    prepared: Prepared
    totals: Sequence[Totals]
    alone: BertScore | None
    files: Sequence[str]
    by_system: Mapping[str, Sequence[Totals]]
    gates: Mapping[str, float] = field(default_factory=dict)
    column: str | None = None
    odd: Sequence[str] = ()

    def to_dict(self) -> JsonObject:
        """Return the summary, as ``bsx score`` prints it in JSON."""
        result = summarise(self.prepared, self.totals, self.by_system)
        if self.alone is not None:
            return result
        known = {entry["metric"]: entry["signature"] for entry in result["metrics"]}
        return {**result, "provenance": provenance("score", list(self.files), known)}

    def to_text(self, result: JsonObject) -> str:
        """Return a summary that `to_dict` made as aligned lines for a terminal."""
        return to_text(self.prepared, result)

    def shortfalls(self, result: JsonObject) -> list[str]:
        """Return one sentence for each score of a summary that `to_dict` made that is worse than it had to be."""
        return shortfalls(result, self.gates)

    def notes(self) -> list[str]:
        """Return what the user should know about metrics, encoders and rows, one sentence each."""
        several = len(self.by_system)
        column = self.column or "system"
        below = [f"the column {column!r} names {several} systems: each is summed up by itself"] if several > 1 else []
        return [*below, *self.odd, *about(self.prepared.metrics), *flags(self.prepared, self.totals)]


@as_one_run
def score_files(
    given: Input,
    metrics: Sequence[str] | None = None,
    *,
    output: Path | None = None,
    resume: bool = False,
    fail_under: Sequence[str] = (),
    cluster: Cluster | None = None,
    progress: Watch = None,
    say: Say = lambda note: None,
    settings: ScorerConfig | None = None,
) -> ScoredFiles:
    """Score files of any size, within the memory budget.

    Args:
        given: the files.
        metrics: names or ``name:field=value``; None: BERTScore by itself, all three figures.
        output: a table to write, one row a segment.
        resume: go on where a run with the same output was stopped.
        fail_under: scores that must be reached, ``chrf=55``, ``bertscore.f1=0.8``; see `ScoredFiles.shortfalls`.
        cluster: score on a Ray cluster.
        progress: called with a phase's name, segments done and segments in all; True draws bars.
        say: told what the user should know while it runs.
        settings: of BERTScore and where it runs; with ``metrics``, model, language, and where and within what limits.

    Raises:
        InputError: if files, settings or metrics are wrong or do not fit together, before anything is scored.
    """
    progress = told(progress)
    if resume and (output is None or is_stream(output)):
        raise InputError("`resume=True` goes on with the file of `output=FILE`: name it")
    if metrics is None and (given.sources is not None or given.source is not None):
        raise InputError(
            "BERTScore reads no sources; `metrics=[…]` names metrics that do (`bsx.load_registry().metrics` lists them)"
        )
    run = set_fields(settings)
    given.check_context(run.get("context"))
    if given.lang_column is not None:
        raise InputError("`lang_column=` goes with `bsx.jobs.score_languages(…)`")
    gates = read_gates(fail_under, metrics)
    if gates and run.get("all_layers"):
        raise InputError("`fail_under=` is about one layer: choose it with `layer=`")
    if cluster is not None:
        from bsx.cluster.dataset import alike

        run = alike(run)
    if output is not None:
        check_table(output)
    wants = frozenset({"reference"}) if metrics is None else wanted_sides(metrics, run)
    with contextlib.ExitStack() as stack:
        given = stack.enter_context(given.opened(say))
        corpus = stack.enter_context(given.open(wants, keep_rows=output is not None))
        check_sides(metrics or (), run, corpus)
        texts = corpus
        if run.get("context"):
            corpus = InContext(corpus, run["context"])
        plan = survey(corpus)  # malformed input is found before a model is loaded
        run = detected(run, texts, say)
        journal = stack.enter_context(keeping(output, resume, say))
        types = {} if output is None else column_types(texts, metrics, output, layers=bool(run.get("all_layers")))
        table = None if output is None else stack.enter_context(ScoreTable(output, types))
        alone = build_bertscore(run) if metrics is None else None
        made = [alone] if alone is not None else build_metrics(metrics or (), run)
        look_at_scripts(run, texts, say)
        prepared = prepare(made, corpus, plan=plan, progress=progress)
        tally = Tally(prepared)

        def blocks(start: int, tokens: int) -> Iterator[ScoredBlock]:
            if cluster is None:
                return stream(prepared, progress=progress, start=start, tokens=tokens)
            from bsx.cluster.corpus import stream as elsewhere

            there = elsewhere(
                prepared, address=cluster.address, workers=cluster.workers, progress=progress, start=start
            )
            return stack.enter_context(contextlib.closing(there))

        for block in kept_blocks(journal, resume, prepared, block_tokens(made), blocks, say):
            tally.add(block)
            if table is not None:
                for row in rows_of(block, prepared, alone):
                    table.write(row)
        odd = tally.pairing.notes()
        result = ScoredFiles(prepared, tally.totals, alone, given.files(), tally.by_system, gates, given.system, odd)
        if table is not None:
            _describe(table, result, given.data)
    return result


def _describe(table: ScoreTable, result: ScoredFiles, data: str | None) -> None:
    """Say beside a table what its scores are, those that its input had among them."""
    before = carried(data)
    if result.alone is not None:
        table.signature = str(result.prepared.signature(0))
        table.sidecar = {"metrics": before} if before else None
    else:
        summary = result.to_dict()
        table.sidecar = {**summary, "metrics": [*before, *summary["metrics"]]}
