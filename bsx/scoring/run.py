"""Scoring files of any size with any metrics, or with BERTScore's three figures, here or on a Ray cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bsx.bertscore.config import ScorerConfig
from bsx.data.corpus import InContext
from bsx.data.run import as_one_run, is_stream
from bsx.encode.run_config import RARE, choose_devices
from bsx.errors import InputError
from bsx.frames.metrics import build_metrics, check_sides, detected, encoding, wanted_sides
from bsx.frames.settings import Input, Reported
from bsx.metrics.gates import read_gates, shortfalls
from bsx.metrics.run import Prepared, ScoredBlock, block_tokens, prepare, stream, survey
from bsx.metrics.summary import Tally, about, to_text
from bsx.support.progress import Progress, reporter
from bsx.support.provenance import provenance
from bsx.support.result import as_json
from bsx.support.settings import Option, settled
from bsx.support.untyped import JsonObject


class ScoreRun(Reported, ScorerConfig, Input):
    """What is scored, by which metrics or by BERTScore with which settings, where, and what is written."""

    metrics: Annotated[
        Sequence[str],
        Field(
            description="Metrics instead of BERTScore's three figures: NAME[:field=value,…][,NAME…]; see bsx metrics."
        ),
    ] = ()
    output: Annotated[
        Path | str | None,
        Field(description="Write one row per segment: .tsv, .csv, .jsonl, .parquet or .xlsx."),
        Option(("-o",), writable=True),
    ] = None
    resume: Annotated[bool, Field(description="Go on where a run that was stopped with the same output left off.")] = (
        False
    )
    fail_under: Annotated[
        Sequence[str],
        Field(
            description="Exit with 1 if a system scores worse: chrf=40, a metric as it is printed, or bertscore.f1 "
            "and its like; or if more of its candidates are no translation: empty=1%, copy, loop, untranslated, "
            "wrong-language, wrong-length."
        ),
        Option(metavar="SCORE=VALUE,…", whole=True),
    ] = ()
    device: Annotated[
        str,
        Field(
            description="auto, cpu, cuda, cuda:N or mps; several for a process each: cuda:0,cuda:1, or cuda:all for "
            "all cards."
        ),
        RARE,
    ] = "auto"
    spread: Annotated[
        Literal["auto", "off"],
        Field(
            description="auto: a long table is scored with TER or METEOR by processes, one for each core; off: by this "
            "one alone."
        ),
        RARE,
    ] = "auto"
    engine: Annotated[
        Literal["local", "ray"], Field(description="Where to score: in this process, or on a Ray cluster.")
    ] = "local"
    address: Annotated[
        str | None, Field(description="Ray cluster, host:port or ray://host:port; one on this machine unless given.")
    ] = None
    workers: Annotated[int, Field(ge=1, le=1024, description="Processes that score, with the engine ray.")] = 1
    blocks: Annotated[
        Callable[[ScoredBlock], None] | None,
        Field(description="Called with each block of scores, in order.", exclude=True),
        Option(python=True),
    ] = None

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.engine == "local" and (self.address is not None or self.workers > 1):
            raise ValueError(f"{'workers' if self.address is None else 'address'} needs the engine ray")
        if self.resume and (self.output is None or is_stream(self.output)):
            raise ValueError("resume goes on with the file of output: name it")
        if self.lang_column is not None:
            other = "resume" if self.resume else "fail_under" if self.fail_under else "the engine ray"
            if self.resume or self.fail_under or self.engine == "ray":
                raise ValueError(f"lang_column cannot be combined with {other}")
            if self.lang is not None:
                raise ValueError("lang and lang_column exclude each other")
        if self.on_several and (self.lang_column is not None or self.engine == "ray"):
            other = "lang_column" if self.lang_column else "the engine ray"
            raise ValueError(f"several devices cannot be combined with {other}: name one")
        if self.context and self.document is None:
            raise ValueError("context needs document, which names the column of documents")
        return self

    @property
    def on_several(self) -> bool:
        """Whether several devices are named."""
        return "," in self.device or self.device == "cuda:all"


@dataclass(frozen=True)
class ScoredFiles:
    """What a run came to.

    Attributes:
        prepared: the metrics and the corpus, which is closed by now.
        tally: what the scores of all rows, systems and documents add up to.
        files: the input.
        column: the column of systems whose rows stand one below the other.
        gates: scores that had to be reached.
    """

    prepared: Prepared
    tally: Tally
    files: Sequence[str]
    column: str | None = None
    gates: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> JsonObject:
        """Return the summary, as ``bsx score`` prints it in JSON."""
        result = self.tally.summary()
        if self.tally.by_document:
            result["documents"] = self.tally.documents()
        if notices := self.tally.outputs.notices():
            result["outputs"] = as_json(notices)
        if self.prepared.metrics[0].figures is not None:
            return result
        known = {entry["metric"]: entry["signature"] for entry in result["metrics"]}
        return {**result, "provenance": provenance("score", list(self.files), known)}

    def to_text(self, result: JsonObject, *, full: bool = False) -> str:
        """Return a summary that `to_dict` made for a terminal: a sentence and a table, of all systems if ``full``."""
        return to_text(self.prepared, result, full=full)

    def shortfalls(self, result: JsonObject) -> list[str]:
        """Return one sentence for each score of a summary that `to_dict` made that is worse than it had to be."""
        return shortfalls(result, self.gates, self.tally.outputs.shares) if self.gates else []

    def notes(self) -> list[str]:
        """Return what the user should know about metrics, encoders and rows, one sentence each."""
        notes, several = [], len(self.tally.by_system)
        if several > 1:
            column = self.column or "system"
            notes.append(f"the column {column!r} names {several} systems: each is summed up by itself")
        return [*notes, *self.tally.notes(), *about(self.prepared.metrics), *self.tally.flags()]


def computed(
    prepared: Prepared,
    start: int,
    tokens: int,
    *,
    progress: Progress | None,
    devices: Sequence[str] = (),
    spread: bool = True,
) -> Generator[ScoredBlock, None, None]:
    """Yield the scores of a corpus, computed by this process, or by one for each device or core where that is faster.

    Args:
        prepared: the metrics and the corpus.
        start: how many segments are scored already.
        tokens: of a block.
        progress: as `stream` calls it.
        devices: several, if they are named.
        spread: whether processes may score texts that take one of them long.
    """
    if not devices and spread and any(metric.pace for metric in prepared.metrics):
        from bsx.cluster.devices import worthwhile

        devices = ["cpu"] * worthwhile(prepared, start)
    if len(devices) < 2:
        yield from stream(prepared, progress=progress, start=start, tokens=tokens)
    else:
        from bsx.cluster.devices import stream as on_devices

        spread_out = on_devices(prepared, devices, tokens=tokens, progress=progress, start=start)
        with contextlib.closing(spread_out) as blocks:
            yield from blocks


@settled(ScoreRun)
@as_one_run
def score_files(settings: ScoreRun) -> ScoredFiles:
    """Score files of any size, within the memory budget, with metrics or with BERTScore by itself.

    Args:
        settings: see `ScoreRun`.

    Raises:
        InputError: if files, settings or metrics are wrong or do not fit together, before anything is scored.
    """
    if settings.lang_column is not None:
        raise InputError("lang_column needs bsx.score_languages", setting="lang_column")
    progress, say, metrics = reporter(settings.progress), settings.say, settings.metrics
    output = None if settings.output is None else Path(settings.output)
    gates = read_gates(settings.fail_under, metrics or None) if settings.fail_under else {}
    if gates and settings.all_layers:
        raise InputError("fail_under is about one layer: choose it with layer", setting="fail_under")
    on_ray, devices = settings.engine == "ray", list[str]()
    if settings.on_several:
        devices = choose_devices(settings.device)
        settings = settings.model_copy(update={"device": devices[0]})
    if on_ray:
        from bsx.cluster.corpus import alike

        settings = alike(settings)
    if output is not None:
        from bsx.data.output import ScoreTable, check_table
        from bsx.scoring.rows import column_types, keeping, kept_blocks, rows_of

        check_table(output)
    wants = wanted_sides(metrics, settings)
    with contextlib.ExitStack() as stack:
        settings = settings.opened(say)
        corpus = settings.open(wants, keep_rows=output is not None)
        check_sides(metrics, settings, corpus)
        texts = corpus
        if settings.context:
            corpus = InContext(corpus, settings.context)
        reused = encoding(metrics, settings)
        plan = survey(corpus, settings.normalize, reused=reused)  # malformed input is found before a model is loaded
        settings = detected(settings, texts, say)
        table = None
        if output is not None:
            journal = stack.enter_context(keeping(output, settings.resume, say))
            table = ScoreTable(output, column_types(texts, metrics or None, output, layers=settings.all_layers))
            table.expect(plan.segments * len(corpus.systems))
            stack.enter_context(table)
        made = build_metrics(metrics, settings, settings.context)
        prepared = prepare(made, corpus, plan=plan, progress=progress, say=say)
        tally = Tally(prepared)
        if name := next((name for name in gates if name in tally.outputs.check.unchecked), None):
            why = tally.outputs.check.unchecked[name]
            raise InputError(f"fail_under: {name} cannot be judged: {why}", setting="fail_under")

        def blocks(start: int, tokens: int) -> Iterator[ScoredBlock]:
            if on_ray:
                from bsx.cluster.corpus import stream as stream_on_ray

                at, workers = settings.address, settings.workers
                scored = stream_on_ray(
                    prepared, tokens=tokens, address=at, workers=workers, progress=progress, start=start
                )
            else:
                spread = settings.spread == "auto"
                scored = computed(prepared, start, tokens, progress=progress, devices=devices, spread=spread)
            return stack.enter_context(contextlib.closing(scored))

        tokens = block_tokens(made)
        if output is None:
            results = blocks(0, tokens)
        else:
            results = kept_blocks(journal, settings.resume, prepared, tokens, blocks, say)
        for block in results:
            tally.add(block)
            if settings.blocks is not None:
                settings.blocks(block)
            if table is not None:
                for row in rows_of(block, prepared):
                    table.write(row)
        result = ScoredFiles(prepared, tally, settings.files(), settings.system, gates)
        if table is not None:  # beside it: what its scores are, those that its input had among them
            from bsx.data.sidecar import carried

            before = carried(settings.table_name)
            summary = result.to_dict()
            if made[0].figures is not None:
                table.signature = str(prepared.signature(0))
                beside = {"outputs": summary["outputs"]} if "outputs" in summary else {}
                table.sidecar = {"metrics": before, **beside} if before or beside else None
            else:
                table.sidecar = {**summary, "metrics": [*before, *summary["metrics"]]}
    return result
