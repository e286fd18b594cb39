"""``bsx score --metric``: one wide table, a column a metric."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsx.cli.messages import say
from bsx.cli.progress import progress_bar
from bsx.data.open import open_corpus
from bsx.encode.run_config import RunConfig
from bsx.errors import InputError

if TYPE_CHECKING:
    from bsx.data.corpus import Corpus
    from bsx.metrics.base import Metric
    from bsx.metrics.run import Prepared, ScoredBlock, Totals

_SHARED = {*RunConfig.model_fields, "model", "lang"}


@dataclass(frozen=True)
class Input:
    """The files and columns that the user named."""

    candidates: list[str]
    references: list[str]
    sources: str | None
    data: str | None
    candidate: list[str]
    reference: list[str]
    source: str | None
    id: str | None

    def files(self) -> list[str]:
        """Return the names of all files."""
        return [name for name in (*self.candidates, *self.references, self.sources, self.data) if name is not None]

    def open(
        self, wants: frozenset[str], *, keep_rows: bool, output: Path | None = None
    ) -> contextlib.AbstractContextManager[Corpus]:
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
            output=output,
        )


@dataclass(frozen=True)
class Cluster:
    """Where else than here to score: the address of a Ray cluster, None for one on this machine, and its workers."""

    address: str | None
    workers: int

    def stream(self, prepared: Prepared, settings: dict[str, Any], progress: Any) -> Generator[ScoredBlock, None, None]:
        """Score there; see `bsx.cluster.corpus.stream`."""
        from bsx.cluster.corpus import stream

        run = {name: value for name, value in settings.items() if name in _SHARED}
        run["lang"] = prepared.metrics[0].encoders.lang  # auto has become a language by now
        return stream(prepared, run, address=self.address, workers=self.workers, progress=progress)


def score_metrics(
    named: Sequence[str],
    given: Input,
    output: Path | None,
    resume: bool,
    format: str,
    settings: dict[str, Any],
    cluster: Cluster | None = None,
) -> None:
    """Score with several metrics, print a summary, write a wide table if ``output`` says so."""
    from bsx.catalog.specs import split_specs
    from bsx.cli.resume import BLOCKS, keeping, kept_blocks
    from bsx.metrics.run import Totals, block_tokens, prepare, stream
    from bsx.support.provenance import provenance

    specs = [spec for part in named for spec in split_specs(part)]
    foreign = [name for name in settings if name not in _SHARED]
    if foreign:
        raise InputError(
            f"with --metric, --{foreign[0].replace('_', '-')} is a setting of one metric: "
            f"write it as {specs[0].partition(':')[0]}:{foreign[0]}=…"
        )
    if cluster is not None:
        from bsx.cluster.dataset import alike

        settings = alike(settings)
    with contextlib.ExitStack() as stack:
        corpus = stack.enter_context(
            given.open(wanted_sides(specs, settings), keep_rows=output is not None, output=output)
        )
        _check_needs(specs, settings, corpus)
        metrics = load_metrics(specs, settings, corpus)
        journal = stack.enter_context(keeping(output, resume))
        table = None
        if output is not None:
            from bsx.data.output import ScoreTable

            table = stack.enter_context(ScoreTable(output, _types(corpus, metrics, output)))
        totals = [Totals(metric, len(corpus.systems)) for metric in metrics]
        with progress_bar() as report:
            prepared = prepare(metrics, corpus, progress=report)
            signatures = [prepared.signature(i) for i in range(len(metrics))]

            def blocks(start: int, how: dict[str, int]) -> Iterator[ScoredBlock]:
                if cluster is not None:
                    return stack.enter_context(contextlib.closing(cluster.stream(prepared, settings, report)))
                return stream(prepared, progress=report, start=start, **how)

            kept = {"tokens": block_tokens(metrics)}
            for block in kept_blocks(
                journal, table, resume, corpus, prepared.segments, signatures, kept, blocks, BLOCKS
            ):
                for total, scores, undefined in zip(totals, block.scores, block.undefined, strict=True):
                    total.add(scores, undefined)
                if table is not None:
                    for row in _rows(block, prepared):
                        table.write(row)
        result = summarise(prepared, totals)
        known = {entry["metric"]: entry["signature"] for entry in result["metrics"]}
        result["provenance"] = provenance("score", given.files(), known)
        if table is not None:
            table.sidecar = result
    print(json.dumps(result, ensure_ascii=False) if format == "json" else _text(result))
    about_encoders = dict.fromkeys(note for metric in metrics for note in metric.encoders.notes)
    say([*(note for metric in metrics for note in metric.notes), *about_encoders, *flags(result)])


def wanted_sides(specs: Sequence[str], settings: dict[str, Any]) -> frozenset[str]:
    """Return what these metrics compare candidates with, without loading any model."""
    from bsx.catalog.catalog import load_registry
    from bsx.metrics.zoo import needs_of

    catalog = load_registry(settings.get("registry"))
    return frozenset(need for spec in specs for need in needs_of(spec, catalog)) - {"candidate"}


def _check_needs(specs: Sequence[str], settings: dict[str, Any], corpus: Corpus) -> None:
    """Say what the data lacks before any model or package is looked for."""
    from bsx.metrics.run import lacking

    for spec in specs:
        for kind in sorted(wanted_sides([spec], settings) - corpus.has):
            raise InputError(lacking(spec, kind))


def load_metrics(specs: Sequence[str], settings: dict[str, Any], corpus: Corpus) -> list[Metric]:
    """Check the whole input, then build the metrics."""
    from bsx.bertscore.windows import survey
    from bsx.metrics.zoo import get_metrics

    survey(corpus)  # malformed input is found before a model is loaded
    run = {name: value for name, value in settings.items() if name in _SHARED}
    if run.get("lang") == "auto":
        from bsx.data.detect import detect_language

        found = detect_language(text for segment in corpus for text in segment.references or segment.candidates)
        print(f"bsx: note: language detected from the texts: {found}", file=sys.stderr)
        run["lang"] = found.code
    folder = run.pop("registry", None)
    from bsx.catalog.catalog import load_registry

    return get_metrics(specs, registry=load_registry(folder), **run)


def _types(corpus: Corpus, metrics: Sequence[Metric], output: Path) -> dict[str, Any]:
    columns = list(getattr(corpus, "columns", ("id",)))
    added = [*(["system"] if len(corpus.systems) > 1 else []), *(metric.spec for metric in metrics)]
    for name in added:
        if name in columns:
            raise InputError(f"the input has a column {name!r} already, which the output adds: rename it")
    if output.suffix != ".parquet":
        return {}
    import pyarrow

    read = corpus.types() if hasattr(corpus, "types") else {}
    return {**read, **{metric.spec: pyarrow.float64() for metric in metrics}}


def _rows(block: ScoredBlock, prepared: Prepared) -> Iterator[dict[str, Any]]:
    systems = prepared.corpus.systems
    for i, segment in enumerate(block.segments):
        for k, system in enumerate(systems):
            row: dict[str, Any] = dict(segment.row) if segment.row is not None else {"id": segment.id}
            if len(systems) > 1:
                row["system"] = system
            at = i * len(systems) + k
            yield row | {m.spec: float(s.values[at]) for m, s in zip(prepared.metrics, block.scores, strict=True)}


def summarise(prepared: Prepared, totals: Sequence[Totals]) -> dict[str, Any]:
    """Return every metric's signature and every system's score with its counts."""
    metrics = []
    for i, (metric, total) in enumerate(zip(prepared.metrics, totals, strict=True)):
        scores = [
            {
                "system": system,
                "score": total.system(k),
                "mean": total.mean(k),
                **{name: int(total.counts[name][k]) for name in ("empty", "undefined", "truncated")},
                "tokens_lost": int(total.counts["lost"][k]),
            }
            for k, system in enumerate(prepared.corpus.systems)
        ]
        metrics.append(
            {
                "metric": metric.spec,
                "higher_is_better": metric.higher_is_better,
                "signature": str(prepared.signature(i)),
                "scores": scores,
            }
        )
    return {"segments": prepared.segments, "systems": list(prepared.corpus.systems), "metrics": metrics}


def _text(result: dict[str, Any]) -> str:
    width = max(len("system"), *(len(name) for name in result["systems"]))
    label = max(len("metric"), *(len(entry["metric"]) for entry in result["metrics"]))
    lines = [f"{'metric':<{label}}  {'system':<{width}}  {'n':>7}  {'score':>9}"]
    for entry in result["metrics"]:
        for score in entry["scores"]:
            figure = f"{score['score']:9.4f}"
            lines.append(f"{entry['metric']:<{label}}  {score['system']:<{width}}  {result['segments']:>7}  {figure}")
    return "\n".join([*lines, *(entry["signature"] for entry in result["metrics"])])


def flags(result: dict[str, Any]) -> list[str]:
    """Return one sentence for each kind of row that the user should know about."""
    texts = {
        "empty": "without content on one side",
        "undefined": "for which it is not defined (no token has weight); they score as empty ones",
        "truncated": "cut off at the model's limit",
    }
    rows = result["segments"] * len(result["systems"])
    found = []
    for entry in result["metrics"]:
        for name, text in texts.items():
            count = sum(score[name] for score in entry["scores"])
            if count:
                found.append(f"{entry['metric']}: {count} of {rows} rows {text}")
    return found
