"""Metrics of a card, built once for each language; scores and finished steps are kept, never computed twice."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bsx.analysis.agreement.rows import CorpusScores
from bsx.catalog.catalog import Catalog
from bsx.data.corpus import MemoryCorpus
from bsx.data.output import atomic_path, atomic_text, make_folder
from bsx.encode.session import Encoders
from bsx.errors import BsxError, InputError
from bsx.jobs.cards.data import SegmentTexts, digest_of
from bsx.metrics.base import Metric
from bsx.metrics.blocks import Values
from bsx.metrics.core import MetricCore
from bsx.metrics.failures import score_without_failures
from bsx.metrics.run import prepare, stream
from bsx.metrics.zoo import get_metric
from bsx.support.checks import Array
from bsx.support.folders import cache_folder, claim_cache
from bsx.support.progress import Progress
from bsx.support.provenance import file_digest, versions
from bsx.support.untyped import JsonObject, to_json


class CardStore:
    """A folder of scores and finished steps of cards, which can be made again.

    Args:
        folder: where; ``cards`` in the folder of caches unless given.
        fresh: take nothing that is there; what is made is kept all the same.
    """

    def __init__(self, folder: Path | None = None, *, fresh: bool = False) -> None:
        self.folder = cache_folder() / "cards" if folder is None else claim_cache(folder, "[0-9a-f]" * 40 + ".*")
        self._fresh = fresh

    def _file(self, key: Mapping[str, object], ending: str) -> Path:
        return self.folder / f"{digest_of(key)[:40]}.{ending}"

    def part(self, key: Mapping[str, object]) -> JsonObject | None:
        """Return a finished part, or None; a damaged file is none."""
        if self._fresh:
            return None
        with contextlib.suppress(OSError, ValueError):
            content = json.loads(self._file(key, "json").read_text(encoding="utf-8"))
            return content if isinstance(content, dict) else None
        return None

    def keep_part(self, key: Mapping[str, object], content: Mapping[str, object]) -> None:
        """Keep a finished part."""
        make_folder(self.folder)
        with atomic_text(self._file(key, "json"), own=True) as stream:
            stream.write(to_json(content))

    def arrays(self, key: Mapping[str, object]) -> dict[str, Array] | None:
        """Return kept arrays, or None."""
        if self._fresh:
            return None
        with contextlib.suppress(OSError, ValueError, KeyError, EOFError), np.load(self._file(key, "npz")) as kept:
            return {name: kept[name] for name in kept.files}
        return None

    def keep_arrays(self, key: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
        """Keep arrays."""
        make_folder(self.folder)
        with (
            atomic_path(self._file(key, "npz"), own=True) as temporary,
            temporary.open("wb") as stream,
        ):
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Problem:
    """Why a metric has no scores of some texts.

    Attributes:
        failed: whether it broke, rather than not being made for them.
        reason: in one line.
    """

    failed: bool
    reason: str


@dataclass(frozen=True, eq=False)
class Scored:
    """A metric's scores of some texts, higher is better.

    Attributes:
        values: (n,); NaN where the metric failed.
        signature: the settings behind them.
        corpus: what its score of a whole system is made of; None if that is the mean.
        truncated: rows of which a text was cut off at the model's limit.
        empty: rows of which one side has no content.
        failed: place of a row on which the metric failed -> its message.
    """

    values: Array
    signature: str
    corpus: CorpusScores | None = None
    truncated: int = 0
    empty: int = 0
    failed: Mapping[int, str] = field(default_factory=dict)

    def notes(self, name: str) -> list[str]:
        """Return what a reader must know."""
        if not self.failed:
            return []
        place, message = next(iter(self.failed.items()))
        return [
            f"{name} failed on {len(self.failed)} of {len(self.values)} rows, which are left out; the first is row "
            f"{place + 1}: {message}"
        ]


class CardMetrics:
    """The metrics of a run.

    Args:
        specs: their names.
        run: model, and where and within what limits to run, as `bsx.encode.session.Encoders` takes them.
        catalog: the registry.
        store: where scores are kept.
        progress: called with phase, done and total.
    """

    def __init__(
        self,
        specs: Sequence[str],
        run: Mapping[str, Any],
        catalog: Catalog,
        store: CardStore,
        progress: Progress | None,
    ) -> None:
        self.specs = list(specs)
        self._run = run
        self.catalog = catalog
        self._store = store
        self._progress = progress
        self._encoders: Encoders | None = None
        self._built: dict[str, dict[str, Metric | Problem]] = {}
        self._versions = versions()

    def build(self, lang: str, *, strict: bool = False) -> dict[str, Metric | Problem]:
        """Return the metrics for a language, or why there is none.

        Args:
            lang: the language.
            strict: raise what building a metric raises.
        """
        if lang not in self._built:
            # Steps score the same references, and candidates in another order, again and again: vectors are remembered.
            if self._encoders is None:
                run = {name: value for name, value in self._run.items() if name not in ("registry", "lang")}
                self._encoders = Encoders(registry=self.catalog, lang=lang, **run)
            encoders = self._encoders.in_language(lang)
            built: dict[str, Metric | Problem] = {}
            for spec in self.specs:
                try:
                    built[spec] = get_metric(spec, encoders=encoders)
                except Exception as error:  # a metric may be anybody's code and raise anything
                    if strict and isinstance(error, BsxError):
                        raise
                    if strict:
                        raise InputError(f"{spec} cannot be built: {one_line(error)}") from error
                    built[spec] = Problem(True, one_line(error))
            self._built[lang] = built
        return self._built[lang]

    def identity(self, lang: str, spec: str) -> dict[str, object]:
        """Return all that a metric's scores depend on beside the texts."""
        metric = self.build(lang)[spec]
        if isinstance(metric, Problem):
            return {"spec": spec, "lang": lang, "problem": metric.reason}
        try:
            signature = str(metric.signature())
        except Exception:  # noqa: BLE001 - a metric that learns from its corpus may have no signature before
            signature = metric.config.model_dump_json()
        return {
            "spec": spec,
            "lang": lang,
            "signature": signature,
            "code": _code(type(metric)),
            "versions": self._versions,
        }

    def score(self, lang: str, texts: SegmentTexts, specs: Sequence[str] | None = None) -> dict[str, Scored | Problem]:
        """Return every metric's scores of texts, those on one model with one encoding."""
        built = self.build(lang)
        of_texts = digest_of([texts.candidates, texts.references, texts.sources])
        scores: dict[str, Scored | Problem] = {}
        waiting: list[Metric] = []
        for spec in self.specs if specs is None else specs:
            metric = built[spec]
            if isinstance(metric, Problem):
                scores[spec] = metric
                continue
            lacks = metric.needs - texts.has
            if lacks:
                scores[spec] = Problem(False, f"{spec} needs {' and '.join(sorted(lacks))}s, and there are none here")
                continue
            kept = self._store.arrays(self._key(lang, spec, of_texts))
            if kept is None:
                waiting.append(metric)
            else:
                scores[spec] = _unpack(kept, metric)
        for metric, scored in self._compute(waiting, texts):
            scores[metric.spec] = scored
            if isinstance(scored, Scored):
                self._store.keep_arrays(self._key(lang, metric.spec, of_texts), _pack(scored))
        return scores

    def function(self, lang: str, spec: str) -> Callable[[SegmentTexts], Array]:
        """Return a metric as a function of texts that is asked anew each time, higher is better.

        Raises:
            InputError: from the function, if the metric fails.
        """
        metric = self.build(lang)[spec]
        if isinstance(metric, Problem):
            raise InputError(metric.reason)

        def score(texts: SegmentTexts) -> Array:
            if self._encoders is not None:
                self._encoders.forget()  # what is remembered would always be the same
            (scored,) = score_rows([metric], texts, None)
            return scored.values

        return score

    def pairwise(self, lang: str, spec: str) -> Callable[[Sequence[str], Sequence[str]], Array]:
        """Return a metric as a function of candidates and references, whose scores are kept; higher is better.

        Raises:
            InputError: from the function, if the metric fails.
        """

        def score(candidates: Sequence[str], references: Sequence[str]) -> Array:
            asked = SegmentTexts(list(candidates), [(text,) for text in references])
            scored = self.score(lang, asked, [spec])[spec]
            if isinstance(scored, Problem):
                raise InputError(scored.reason)
            return scored.values

        return score

    def _key(self, lang: str, spec: str, texts: str) -> dict[str, object]:
        return {"what": "scores", "texts": texts, **self.identity(lang, spec)}

    def _compute(self, metrics: Sequence[Metric], texts: SegmentTexts) -> list[tuple[Metric, Scored | Problem]]:
        if not metrics:
            return []
        try:
            return list(zip(metrics, score_rows(metrics, texts, self._progress), strict=True))
        except Exception:  # noqa: BLE001 - whose fault it is, and on which row, comes out below
            return [(metric, self._alone(metric, texts)) for metric in metrics]

    def _alone(self, metric: Metric, texts: SegmentTexts) -> Scored | Problem:
        try:
            scored, good, failed = score_without_failures(
                metric.spec,
                lambda rows: score_rows([metric], texts.at(rows), self._progress)[0],
                len(texts),
                skip_errors=True,
                where=lambda place: f"row {place + 1}",
            )
        except BsxError as error:
            return Problem(True, one_line(error))
        values = np.full(len(texts), np.nan)
        values[good] = scored.values
        corpus = scored.corpus
        if corpus is not None and failed:
            statistics = np.zeros((len(texts), corpus.statistics.shape[1]))
            statistics[good] = corpus.statistics
            corpus = replace(corpus, statistics=statistics)
        return replace(scored, values=values, corpus=corpus, failed=failed)


def score_rows(metrics: Sequence[MetricCore], texts: SegmentTexts, progress: Progress | None) -> list[Scored]:
    """Return each metric's scores of texts."""
    corpus = MemoryCorpus({"candidate": texts.candidates}, texts.references, texts.sources)
    prepared = prepare(metrics, corpus, progress=progress)
    parts: list[list[Values]] = [[] for _ in metrics]
    statistics: list[list[Values]] = [[] for _ in metrics]
    counts = np.zeros((len(metrics), 2), dtype=np.int64)
    for block in stream(prepared, progress=progress):
        for i, scores in enumerate(block.scores):
            parts[i].append(np.asarray(scores.values, dtype=np.float64))
            counts[i] += ((scores.lost > 0).sum(), scores.empty.sum())
            if scores.statistics is not None:
                statistics[i].append(scores.statistics)
    return [
        Scored(
            np.concatenate(parts[i]) * _sign(metric),
            str(prepared.signature(i)),
            _corpus(np.concatenate(statistics[i]), metric) if statistics[i] else None,
            int(counts[i, 0]),
            int(counts[i, 1]),
        )
        for i, metric in enumerate(metrics)
    ]


def _sign(metric: MetricCore) -> float:
    return 1.0 if metric.higher_is_better else -1.0


def _corpus(statistics: Array, metric: MetricCore) -> CorpusScores:
    return CorpusScores(statistics, lambda sums: _sign(metric) * metric.system_score(sums))


def _pack(scored: Scored) -> dict[str, Array]:
    arrays = {
        "values": scored.values,
        "counts": np.array([scored.truncated, scored.empty]),
        "signature": np.array(scored.signature),
        "failed": np.array(list(scored.failed), dtype=np.int64),
        "messages": np.array(list(scored.failed.values()), dtype=str),
    }
    return arrays if scored.corpus is None else {**arrays, "statistics": scored.corpus.statistics}


def _unpack(arrays: Mapping[str, Array], metric: Metric) -> Scored:
    truncated, empty = (int(count) for count in arrays["counts"])
    failed = dict(zip(arrays["failed"].tolist(), arrays["messages"].tolist(), strict=True))
    corpus = _corpus(arrays["statistics"], metric) if "statistics" in arrays else None
    return Scored(arrays["values"], str(arrays["signature"]), corpus, truncated, empty, failed)


@cache
def _code(kind: type) -> str:
    """Return the digest of the file that a metric's class stands in: a plug-in may change without its version."""
    try:
        file = inspect.getsourcefile(kind)
    except TypeError:
        file = None
    return (
        file_digest(file)
        if file is not None and Path(file).is_file()
        else hashlib.sha256(repr(kind).encode()).hexdigest()
    )


def one_line(error: BaseException) -> str:
    """Return what an error says, in one line."""
    return " ".join(str(error).split()) or type(error).__name__
