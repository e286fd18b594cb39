"""Scoring files: with BERTScore by itself, three figures a segment, or with any metrics, one column a metric."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.languages import find_language
from bsx.catalog.specs import read_spec
from bsx.data.corpus import Corpus, InContext, Segment, without_context
from bsx.data.long import SEGMENTS
from bsx.data.open import open_corpus
from bsx.data.output import ScoreTable, atomic_text, check_table, refuse_taken
from bsx.data.run import as_one_run, is_stream
from bsx.data.sidecar import FIGURES, carried
from bsx.data.tables import Row
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import BsxError, InputError
from bsx.jobs.resume import Say, keeping, kept_blocks
from bsx.metrics.base import Metric
from bsx.metrics.core import MetricCore
from bsx.metrics.gates import read_gates, shortfalls
from bsx.metrics.plan import Plan, survey
from bsx.metrics.run import Prepared, ScoredBlock, block_tokens, lacking, prepare, stream
from bsx.metrics.summary import about, apart, flags, summarise, to_text
from bsx.metrics.totals import Totals
from bsx.metrics.zoo import find_metric, get_metrics, needs_of
from bsx.support.progress import Watch, told
from bsx.support.provenance import provenance
from bsx.support.settings import build_config, check_ranges, set_fields
from bsx.support.untyped import JsonObject, Settings, Untyped

if TYPE_CHECKING:
    from bsx.analysis.datasets.judged import JudgedTable
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
        id: its column that names the segments; ``segment``, if there is one beside systems.
        system: its column of systems whose rows stand one below the other; ``system``, if there is one.
        document: its column that names the documents, for BERTScore's ``context``.
        lang_column: its column that names each row's language, for `score_languages`.
        test_set: a public test set by name instead of the table, or, beside candidates, of the references and sources.
        data_dir: the folder of all data sets; see `bsx.analysis.load_test_set`.
        read: the files that a test set was read from; set by `Input.opened`.
    """

    candidates: Sequence[str] = ()
    references: Sequence[str] = ()
    sources: str | None = None
    data: str | None = None
    candidate: Sequence[str] = ()
    reference: Sequence[str] = ()
    source: str | None = None
    id: str | None = None
    system: str | None = None
    document: str | None = None
    lang_column: str | None = None
    test_set: str | None = None
    data_dir: Path | str | None = None
    read: Sequence[str] = ()

    @contextlib.contextmanager
    def opened(self, say: Say = lambda note: None) -> Iterator[Input]:
        """Yield the same with a test set as files, which are there until the context ends.

        Args:
            say: told what a reader of the test set must know.

        Raises:
            UnknownNameError: for an unknown test set.
            DataUnavailableError: if it is not in the data folder; says how to get it.
            InputError: if other texts are named beside it.
        """
        if self.test_set is None:
            yield self
            return
        if self.data is not None or self.references or self.sources is not None:
            raise InputError("`test_set=` has the texts: leave out `data=`, `references=` and `sources=`")
        from bsx.analysis.datasets.testsets import find_test_set, load_test_set

        table = load_test_set(self.test_set, self.data_dir)
        read = [str(path) for path in find_test_set(self.test_set).files(self.data_dir)]
        for note in table.notes:
            say(f"{self.test_set}: {note}")
        with tempfile.TemporaryDirectory(prefix="bsx-test-set-") as folder:
            stem = Path(folder) / self.test_set.replace("/", "-")
            if self.candidates:
                lines = _line_files(table, stem)
                yield replace(self, references=lines[1:], sources=lines[0] or None, test_set=None, read=read)
                return
            table.save(path := stem.with_name(f"{stem.name}.jsonl"))
            references = self.reference or ([name for name in table.columns if re.fullmatch(r"reference\d*", name)])
            yield replace(self, data=str(path), reference=references, test_set=None, read=read)

    def files(self) -> list[str]:
        """Return the names of all files."""
        if self.read:
            return [*self.candidates, *self.read]
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
            system_column=self.system,
            wants=wants,
            keep_rows=keep_rows,
            document_column=self.document,
        )


def _line_files(table: JudgedTable, stem: Path) -> list[str]:
    """Write the sources of a test set's segments and their references, a line a segment; no name where are no sources.

    Raises:
        InputError: if it has no references, or a text of several lines.
    """
    names = [name for name in table.columns if re.fullmatch(r"reference\d*", name)]
    if not names:
        raise InputError(f"{table.name}: has no references to hold candidates against")
    segments = table.texts("segment") if "segment" in table else [str(row) for row in range(len(table))]
    rows = list({segment: row for row, segment in reversed(list(enumerate(segments)))}.values())[::-1]
    written = []
    for name in ("source", *names):
        texts = [table.texts(name)[row] for row in rows] if name in table else []
        if any("\n" in text for text in texts):
            raise InputError(f"{table.name}: a text has several lines, which files with a line a segment cannot hold")
        path = stem.with_name(f"{stem.name}.{name}.txt")
        with atomic_text(path, own=True) as stream:
            stream.writelines(f"{text}\n" for text in texts)
        written.append(str(path) if texts else "")
    return written


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
    """

    prepared: Prepared
    totals: Sequence[Totals]
    alone: BertScore | None
    files: Sequence[str]
    by_system: Mapping[str, Sequence[Totals]]
    gates: Mapping[str, float] = field(default_factory=dict)
    column: str | None = None

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

    def shortfalls(self, result: JsonObject) -> list[str]:
        """Return one sentence for each score of a summary that `to_dict` made that is worse than it had to be."""
        return shortfalls(result, self.gates)

    def notes(self) -> list[str]:
        """Return what the user should know about metrics, encoders and rows, one sentence each."""
        several = len(self.by_system)
        column = self.column or "system"
        below = [f"the column {column!r} names {several} systems: each is summed up by itself"] if several > 1 else []
        return [*below, *about(self.prepared.metrics), *flags(self.prepared, self.totals)]


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
    _check_columns(given, run)
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
        for spec in metrics or ():
            for kind in sorted(wanted_sides([spec], run) - corpus.has):
                raise InputError(lacking(spec, kind))
        texts = corpus
        if run.get("context"):
            corpus = InContext(corpus, run["context"])
        plan = survey(corpus)  # malformed input is found before a model is loaded
        run = detected(run, texts, say)
        journal = stack.enter_context(keeping(output, resume, say))
        types = {} if output is None else _types(texts, metrics, output, layers=bool(run.get("all_layers")))
        table = None if output is None else stack.enter_context(ScoreTable(output, types))
        alone = _bertscore(run) if metrics is None else None
        made = [alone] if alone is not None else _metrics(metrics or (), run)
        _look_at_scripts(run, texts, say)
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
        result = ScoredFiles(prepared, totals, alone, given.files(), by_system, gates, given.system)
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


def _check_columns(given: Input, run: Settings) -> None:
    if bool(run.get("context")) != (given.document is not None):
        raise InputError("`context=` and `document=` go together: `document=COL` names the column of documents")


@dataclass(frozen=True)
class ScoredLanguages:
    """What a run over rows of several languages came to: that of each language, by its code."""

    languages: Mapping[str, ScoredFiles]

    def to_dict(self) -> JsonObject:
        """Return the summary of each language."""
        return {"languages": {code: scored.to_dict() for code, scored in self.languages.items()}}

    def to_text(self, result: JsonObject) -> str:
        """Return a summary that `to_dict` made, language by language, for a terminal."""
        parts = result["languages"]
        return "\n\n".join(f"{code}\n{scored.to_text(parts[code])}" for code, scored in self.languages.items())

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
    found: dict[str, list[str]] = {}
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
        found.setdefault(code, []).append(spelling)
    return found


@as_one_run
def score_languages(
    given: Input,
    metrics: Sequence[str] | None = None,
    *,
    output: Path | None = None,
    progress: Watch = None,
    say: Say = lambda note: None,
    settings: ScorerConfig | None = None,
) -> ScoredLanguages:
    """Score a table each row of which names its language, which decides on model, baseline and tokeniser.

    One language is scored after the other, so that one model is in memory at a time. The output has the order of the
    input, and a column for the language; the scores of all rows are held in memory until it is written.

    Args:
        given: the table; its ``lang_column`` holds tags or English names.
        metrics: names or ``name:field=value``; None: BERTScore by itself, all three figures.
        output: a table to write, one row a segment.
        progress: called with a phase's name, segments done and segments in all; True draws bars.
        say: told what the user should know while it runs.
        settings: of BERTScore and where it runs, as of `score_files`, but for the language.

    Raises:
        InputError: if the table, settings or metrics are wrong or do not fit together.
    """
    progress = told(progress)
    run, column = set_fields(settings), given.lang_column
    _check_columns(given, run)
    if column is None or given.data is None:
        raise InputError("`lang_column=COL` names a column of a table: give `data=FILE` too")
    if run.get("lang") is not None:
        raise InputError("`lang=` and `lang_column=` exclude each other")
    if output is not None:
        check_table(output)
    catalog = load_registry(run.get("registry"))
    wants = frozenset({"reference"}) if metrics is None else wanted_sides(metrics, run)
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(given.open(wants, keep_rows=True))
        if column not in corpus.columns:  # type: ignore[attr-defined]
            corpus.table.require(column)  # type: ignore[attr-defined]
        for spec in metrics or ():
            for kind in sorted(wanted_sides([spec], run) - corpus.has):
                raise InputError(lacking(spec, kind))
        types = {} if output is None else _types(corpus, metrics, output, layers=bool(run.get("all_layers")))
        if run.get("context"):
            corpus = InContext(corpus, run["context"])
        spelled = _languages(corpus, column, catalog)
        table = None if output is None else stack.enter_context(ScoreTable(output, types))
        found: dict[str, ScoredFiles] = {}
        blocks: dict[str, list[ScoredBlock]] = {}
        for code, spellings in spelled.items():
            part = _OfLanguage(corpus, column, spellings)
            plan = survey(part)
            alone = _bertscore({**run, "lang": code}) if metrics is None else None
            made = [alone] if alone is not None else _metrics(metrics or (), {**run, "lang": code})
            totals = [Totals(metric, len(corpus.systems)) for metric in made]
            by_system: dict[str, list[Totals]] = {}
            prepared = prepare(made, part, plan=plan, progress=progress)
            blocks[code] = []
            for block in stream(prepared, progress=progress):
                for total, scores, undefined in zip(totals, block.scores, block.undefined, strict=True):
                    total.add(scores, undefined, block.segments)
                add_apart(by_system, made, block, [segment.system for segment in block.segments])
                if table is not None:
                    blocks[code].append(replace(block, segments=[]))
            found[code] = ScoredFiles(prepared, totals, alone, given.files(), by_system, column=given.system)
        result = ScoredLanguages(found)
        if table is not None:
            codes = {spelling: code for code, spellings in spelled.items() for spelling in spellings}
            for row in _in_order(corpus, column, codes, found, blocks):
                table.write(row)
            if metrics is None:
                signatures = (f"{code}: {one.prepared.signature(0)}" for code, one in found.items())
                table.signature = "\n".join(signatures)
                before = carried(given.data)
                table.sidecar = {"metrics": before} if before else None
            else:
                table.sidecar = {"metrics": [*carried(given.data), *_joined(result)], **result.to_dict()}
    return result


def _in_order(
    corpus: Corpus,
    column: str,
    codes: Mapping[str, str],
    found: Mapping[str, ScoredFiles],
    blocks: Mapping[str, Sequence[ScoredBlock]],
) -> Iterator[dict[str, object]]:
    """Yield the rows of the table in the order of the input."""
    wide = len(corpus.systems)
    places = {
        code: ((block, at) for block in some for at in range(0, len(block.undefined[0]), wide))
        for code, some in blocks.items()
    }
    for segment in corpus:
        code = codes[_language(segment, column)]
        block, at = next(places[code])
        rows = np.arange(at, at + wide)
        one = ScoredBlock([segment], [part.select(rows) for part in block.scores], block.undefined)
        if (alone := found[code].alone) is None:
            yield from _rows(one, found[code].prepared)
            continue
        for row in _figures(one, alone, corpus):
            yield {"id": row["id"], column: code} | row | {column: code}


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


def _types(corpus: Corpus, specs: Sequence[str] | None, output: Path, *, layers: bool) -> dict[str, Untyped]:
    """Return the Arrow types of a Parquet file's columns, for other files none; refuse columns that would be two."""
    own = [*(["layer"] if layers else []), *FIGURES] if specs is None else specs
    columns = list(getattr(corpus, "columns", ("id",)))
    refuse_taken(columns, [*(["system"] if len(corpus.systems) > 1 else []), *own])
    if output.suffix != ".parquet":
        return {}
    import pyarrow

    read = corpus.types() if hasattr(corpus, "types") else {}
    return {**read, **{spec: pyarrow.float64() for spec in specs or ()}}


def _rows(block: ScoredBlock, prepared: Prepared) -> Iterator[dict[str, object]]:
    """Yield the rows of the table: what the input has, and a column a metric.

    Of several systems, each row says which segment and candidate it is about, where no usual column does.
    """
    systems = prepared.corpus.systems
    for i, segment in enumerate(block.segments):
        for k, system in enumerate(systems):
            row: dict[str, object] = dict(segment.row) if segment.row is not None else {"id": segment.id}
            if len(systems) > 1:
                row |= {**_long(segment, k), "system": system}
            at = i * len(systems) + k
            yield row | {m.spec: float(s.values[at]) for m, s in zip(prepared.metrics, block.scores, strict=True)}


def _long(segment: Segment, k: int) -> dict[str, object]:
    """Return the cells by which a system's row of a wide table is one of a long table: segment and candidate."""
    if segment.row is None:
        return {}
    named = {} if any(name in segment.row for name in SEGMENTS) else {"id": segment.id}
    candidate = {} if "candidate" in segment.row else {"candidate": without_context(segment.candidates[k])}
    return {**named, **candidate}


def _figures(block: ScoredBlock, metric: BertScore, corpus: Corpus) -> Iterator[dict[str, object]]:
    """Yield the rows of the table: a row's name, what the input has, and three figures.

    If all layers are scored, each has a row. Names in ``id`` and ``system`` are added where the input lacks them.
    """
    figures = block.scores[0].all_figures()
    for i, segment in enumerate(block.segments):
        for k, system in enumerate(corpus.systems):
            for position, layer in enumerate(metric.layers):
                precision, recall, f1 = (float(value) for value in figures[position, i * len(corpus.systems) + k])
                row: dict[str, object] = {"id": segment.id}
                if len(corpus.systems) > 1 or segment.system is not None:
                    row["system"] = segment.system or system
                row |= segment.row or {}
                if len(corpus.systems) > 1:
                    row = {**row, **{name: cell for name, cell in _long(segment, k).items() if name not in row}}
                if metric.settings.all_layers:
                    row["layer"] = layer
                yield {**row, "precision": precision, "recall": recall, "f1": f1}
