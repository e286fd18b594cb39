"""Scoring files: with BERTScore by itself, three figures a segment, or with any metrics, one column a metric."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import find_language
from bsx.catalog.specs import read_spec
from bsx.data.corpus import Corpus
from bsx.data.open import open_corpus
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run, is_stream
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.resume import Say, keeping, kept_blocks
from bsx.metrics.base import Metric
from bsx.metrics.core import MetricCore
from bsx.metrics.plan import Plan, survey
from bsx.metrics.run import Prepared, ScoredBlock, block_tokens, lacking, prepare, stream
from bsx.metrics.summary import about, apart, flags, summarise, to_text
from bsx.metrics.totals import Totals
from bsx.metrics.zoo import find_metric, get_metrics, needs_of
from bsx.support.progress import Progress
from bsx.support.provenance import provenance
from bsx.support.settings import build_config, check_ranges, set_fields
from bsx.support.untyped import JsonObject, Settings, Untyped

if TYPE_CHECKING:
    from bsx.bertscore.metric import BertScore

SHARED = frozenset({*RunConfig.model_fields, "model", "lang"})
"""Settings that all metrics of a run share; others are one metric's."""


@dataclass(frozen=True)
class Input:
    """Files of texts: line files, or one table and its columns.

    Attributes:
        candidates: line files, one a system.
        references: line files.
        sources: line file.
        data: the table.
        candidate: its columns of candidates, one a system.
        reference: its columns of references.
        source: its column of sources.
        id: its column that names the segments.
    """

    candidates: Sequence[str] = ()
    references: Sequence[str] = ()
    sources: str | None = None
    data: str | None = None
    candidate: Sequence[str] = ()
    reference: Sequence[str] = ()
    source: str | None = None
    id: str | None = None

    def files(self) -> list[str]:
        """Return the names of all files."""
        return [name for name in (*self.candidates, *self.references, self.sources, self.data) if name is not None]

    def open(self, wants: frozenset[str], *, keep_rows: bool) -> contextlib.AbstractContextManager[Corpus]:
        """Open them as a corpus; see `bsx.data.open.open_corpus`."""
        return open_corpus(
            self.candidates,
            self.references,
            self.data,
            self.candidate,
            self.reference,
            self.id,
            source_file=self.sources,
            source_column=self.source,
            wants=wants,
            keep_rows=keep_rows,
        )


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
    """

    prepared: Prepared
    totals: Sequence[Totals]
    alone: BertScore | None
    files: Sequence[str]
    by_system: Mapping[str, Sequence[Totals]]

    def to_dict(self) -> JsonObject:
        """Return the summary, as ``bsx score`` prints it in JSON."""
        result = summarise(self.prepared, self.totals)
        if len(self.by_system) > 1:
            result = apart(self.prepared, result, self.by_system)
        if self.alone is not None:
            return result
        known = {entry["metric"]: entry["signature"] for entry in result["metrics"]}
        return {**result, "provenance": provenance("score", list(self.files), known)}

    def to_text(self, result: JsonObject) -> str:
        """Return a summary that `to_dict` made as aligned lines for a terminal."""
        return to_text(self.prepared, result)

    def notes(self) -> list[str]:
        """Return what the user should know about metrics, encoders and rows, one sentence each."""
        several = len(self.by_system)
        below = [f"the column 'system' names {several} systems: each is summed up by itself"] if several > 1 else []
        return [*below, *about(self.prepared.metrics), *flags(self.prepared, self.totals)]


@as_one_run
def score_files(
    given: Input,
    metrics: Sequence[str] | None = None,
    *,
    output: Path | None = None,
    resume: bool = False,
    cluster: Cluster | None = None,
    progress: Progress | None = None,
    say: Say = lambda note: None,
    settings: ScorerConfig | None = None,
) -> ScoredFiles:
    """Score files of any size, within the memory budget.

    Args:
        given: the files.
        metrics: names or ``name:field=value``; None: BERTScore by itself, all three figures.
        output: a table to write, one row a segment.
        resume: go on where a run with the same output was stopped.
        cluster: score on a Ray cluster.
        progress: called with a phase's name, segments done and segments in all.
        say: told what the user should know while it runs.
        settings: of BERTScore and where it runs; with ``metrics``, model, language, and where and within what limits.

    Raises:
        InputError: if files, settings or metrics are wrong or do not fit together, before anything is scored.
    """
    if resume and (output is None or is_stream(output)):
        raise InputError("`resume=True` goes on with the file of `output=FILE`: name it")
    if metrics is None and (given.sources is not None or given.source is not None):
        raise InputError(
            "BERTScore reads no sources; `metrics=[…]` names metrics that do (`bsx.load_registry().metrics` lists them)"
        )
    run = set_fields(settings)
    if cluster is not None:
        from bsx.cluster.dataset import alike

        run = alike(run)
    if output is not None:
        check_table(output)
    wants = frozenset({"reference"}) if metrics is None else wanted_sides(metrics, run)
    with contextlib.ExitStack() as stack:
        keep_rows = metrics is not None and output is not None
        corpus = stack.enter_context(given.open(wants, keep_rows=keep_rows))
        for spec in metrics or ():
            for kind in sorted(wanted_sides([spec], run) - corpus.has):
                raise InputError(lacking(spec, kind))
        plan = survey(corpus)  # malformed input is found before a model is loaded
        run = detected(run, corpus, say)
        journal = stack.enter_context(keeping(output, resume, say))
        types = {} if metrics is None or output is None else _types(corpus, metrics, output)
        table = None if output is None else stack.enter_context(ScoreTable(output, types))
        alone = _bertscore(run) if metrics is None else None
        made = [alone] if alone is not None else _metrics(metrics or (), run)
        _look_at_scripts(run, corpus, say)
        totals = [Totals(metric, len(corpus.systems)) for metric in made]
        by_system: dict[str, list[Totals]] = {}
        prepared = prepare(made, corpus, plan=plan, progress=progress)

        def blocks(start: int, tokens: int) -> Iterator[ScoredBlock]:
            if cluster is None:
                return stream(prepared, progress=progress, start=start, tokens=tokens)
            from bsx.cluster.corpus import stream as elsewhere

            there = elsewhere(
                prepared, address=cluster.address, workers=cluster.workers, progress=progress, start=start
            )
            return stack.enter_context(contextlib.closing(there))

        rows: Callable[[ScoredBlock], Iterator[dict[str, object]]]
        rows = (lambda block: _rows(block, prepared)) if alone is None else lambda block: _figures(block, alone, corpus)
        for block in kept_blocks(journal, resume, prepared, block_tokens(made), blocks, say):
            for total, scores, undefined in zip(totals, block.scores, block.undefined, strict=True):
                total.add(scores, undefined, block.segments)
            add_apart(by_system, made, block, [segment.system for segment in block.segments])
            if table is not None:
                for row in rows(block):
                    table.write(row)
        result = ScoredFiles(prepared, totals, alone, given.files(), by_system)
        if table is not None and alone is not None:
            table.signature = str(prepared.signature(0))
        elif table is not None:
            table.sidecar = result.to_dict()
    return result


def add_apart(
    by_system: dict[str, list[Totals]],
    metrics: Sequence[MetricCore],
    block: ScoredBlock,
    systems: Sequence[str | None],
) -> None:
    """Count a block's rows in for the system of each; None is the system of a row that names none."""
    rows: dict[str, list[int]] = {}
    for row, system in enumerate(systems):
        if system is not None:
            rows.setdefault(system, []).append(row)
    for system, some in rows.items():
        places, segments = np.array(some), [block.segments[row] for row in some]
        totals = by_system.setdefault(system, [Totals(metric, 1) for metric in metrics])
        for total, scores, undefined in zip(totals, block.scores, block.undefined, strict=True):
            total.add(scores.select(places), undefined[places], segments)


def wanted_sides(specs: Sequence[str], settings: Settings) -> frozenset[str]:
    """Return what these metrics compare candidates with, without loading any model.

    Raises:
        InputError: for a setting that the metrics do not share.
    """
    catalog = load_registry(settings.get("registry"))
    foreign = [name for name in settings if name not in SHARED]
    if specs and foreign:
        named = [read_spec(spec)[0] for spec in specs]
        own = [name for name in named if foreign[0] in find_metric(name, catalog)[0].Config.model_fields]
        hint = f"write it as {own[0]}:{foreign[0]}=…" if own else f"{', '.join(named)} has none of that name"
        raise InputError(f"with `metrics=[…]`, `{foreign[0]}=` is a setting of one metric: {hint}")
    return frozenset(need for spec in specs for need in needs_of(spec, catalog)) - {"candidate"}


def load_metrics(
    specs: Sequence[str], settings: Settings, corpus: Corpus, say: Say = lambda note: None
) -> tuple[list[Metric], Plan]:
    """Check the whole input, then build the metrics; returns what is known of the input, too."""
    plan = survey(corpus)  # malformed input is found before a model is loaded
    return _metrics(specs, detected(settings, corpus, say)), plan


def detected(settings: Settings, corpus: Corpus, say: Say) -> Settings:
    """Return the settings with the language of the texts in place of ``auto``."""
    if settings.get("lang") != "auto":
        return dict(settings)
    from bsx.data.detect import detect_language

    found = detect_language(text for segment in corpus for text in segment.references or segment.candidates)
    say(f"language detected from the {'references' if 'reference' in corpus.has else 'texts'}: {found}")
    return {**settings, "lang": found.code}


def _look_at_scripts(settings: Settings, corpus: Corpus, say: Say) -> None:
    """Tell how many texts are written in another script than the language that the user named."""
    if settings.get("lang") is None:
        return
    from bsx.data.scripts import other_script

    language = find_language(settings["lang"], load_registry(settings.get("registry")))
    counts: dict[str, Counter[str]] = {"candidates": Counter(), "references": Counter()}
    totals = Counter[str]()
    for segment in corpus:
        for kind, texts in (("candidates", segment.candidates), ("references", segment.references)):
            totals[kind] += len(texts)
            counts[kind].update(other for text in texts if (other := other_script(text, language.script)) is not None)
    for kind, found in counts.items():
        if found:
            which = ", ".join(f"{script} {count}" for script, count in found.most_common())
            say(
                f"{found.total()} of {totals[kind]} {kind} are not written in the script of {language.name} "
                f"({language.script}): {which}"
            )


def _metrics(specs: Sequence[str], settings: Settings) -> list[Metric]:
    run = {name: value for name, value in settings.items() if name in SHARED - {"registry"}}
    encoders = Encoders(registry=load_registry(settings.get("registry")), remember=False, **run)
    return get_metrics(specs, encoders=encoders)


def _bertscore(settings: Settings) -> BertScore:
    from bsx.bertscore.metric import by_itself

    return by_itself(build_config(settings, ScorerConfig, spelling="`{}=`"))


def _types(corpus: Corpus, specs: Sequence[str], output: Path) -> dict[str, Untyped]:
    columns = list(getattr(corpus, "columns", ("id",)))
    for name in [*(["system"] if len(corpus.systems) > 1 else []), *specs]:
        if name in columns:
            raise InputError(f"the input has a column {name!r} already, which the output adds: rename it")
    if output.suffix != ".parquet":
        return {}
    import pyarrow

    read = corpus.types() if hasattr(corpus, "types") else {}
    return {**read, **{spec: pyarrow.float64() for spec in specs}}


def _rows(block: ScoredBlock, prepared: Prepared) -> Iterator[dict[str, object]]:
    """Yield the rows of the table: what the input has, and a column a metric."""
    systems = prepared.corpus.systems
    for i, segment in enumerate(block.segments):
        for k, system in enumerate(systems):
            row: dict[str, object] = dict(segment.row) if segment.row is not None else {"id": segment.id}
            if len(systems) > 1:
                row["system"] = system
            at = i * len(systems) + k
            yield row | {m.spec: float(s.values[at]) for m, s in zip(prepared.metrics, block.scores, strict=True)}


def _figures(block: ScoredBlock, metric: BertScore, corpus: Corpus) -> Iterator[dict[str, object]]:
    """Yield the rows of the table: a row's name and its three figures, layer by layer if all are scored."""
    figures = block.scores[0].all_figures()
    for i, segment in enumerate(block.segments):
        for k, system in enumerate(corpus.systems):
            for position, layer in enumerate(metric.layers):
                precision, recall, f1 = (float(value) for value in figures[position, i * len(corpus.systems) + k])
                row: dict[str, object] = {"id": segment.id}
                if len(corpus.systems) > 1 or segment.system is not None:
                    row["system"] = segment.system or system
                if metric.settings.all_layers:
                    row["layer"] = layer
                yield {**row, "precision": precision, "recall": recall, "f1": f1}
