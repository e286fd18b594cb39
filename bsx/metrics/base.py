"""A metric as its users and its authors see it, and found by name: the registry's, and those of other packages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.specs import UNNAMED, class_of, naming, read_spec, split_specs
from bsx.data import cells
from bsx.data.corpus import (
    Corpus,
    InContext,
    MemoryCorpus,
    References,
    Texts,
    about_tokens,
    as_texts,
    without_context,
)
from bsx.encode.session import Encoders, SharedSettings
from bsx.errors import InputError, RegistryError, UnknownNameError, did_you_mean
from bsx.metrics.core import (
    Block,
    BlockScores,
    ConfigT,
    Fitted,
    MetricConfig,
    MetricCore,
    Pairs,
    PairScores,
    Reading,
    Values,
    check_scores,
)
from bsx.metrics.run import refuse_large_texts
from bsx.support.progress import Watch, reporter
from bsx.support.settings import UserOnly, build_config, marked, our_names, read_spelled, settled

if TYPE_CHECKING:
    from bsx.metrics.results import MetricScores

GROUP = "bsx.metrics"
_SIDE = 256  # texts of each side scored in one call


class Metric(MetricCore[ConfigT]):
    """A metric with its settings, ready to score.

    Made by `bsx.get_metric`. A subclass names its ``Config`` and defines `score_block`; see
    docs/extend/add-a-metric.md.
    """

    @our_names
    def score(
        self,
        candidates: Texts,
        references: References | None = None,
        sources: Texts | None = None,
        *,
        documents: Sequence[str] | None = None,
        progress: Watch = None,
    ) -> MetricScores:
        """Score candidates.

        Args:
            candidates: n texts.
            references: n texts, or n lists of texts; for a metric that needs them.
            sources: n texts; for a metric that needs them.
            documents: n names of documents, whose sentences stand together; for encoders with ``context`` only.
            progress: called with a phase's name, segments done and segments in all; True draws bars.

        Returns:
            Scores of shape (n,).

        Raises:
            InputError: if the numbers differ, anything is not a text, or what the metric needs is missing.
        """
        from bsx.metrics.results import score_corpus

        if (documents is None) == bool(self.context):
            raise InputError("context and documents go together: documents name what the context of a sentence is from")
        given = {"reference": references, "source": sources}
        missing = [kind for kind in sorted(self.needs - {"candidate"}) if given[kind] is None]
        if missing:
            raise InputError(f"{self.name} compares candidates with {missing[0]}s: give {missing[0]}s=")
        corpus: Corpus = MemoryCorpus({"candidate": candidates}, references, sources, documents)
        if self.context:
            corpus = InContext(corpus, self.context)
        return score_corpus([self], corpus, progress=reporter(progress))[self.spec]["candidate"]

    __call__ = score

    @our_names
    def corpus_score(
        self, candidates: Texts, references: References | None = None, sources: Texts | None = None
    ) -> float:
        """Return the score of all segments together, the ``system`` of `score`, which see for arguments and errors."""
        return self.score(candidates, references, sources).system

    def score_matrix(
        self, candidates: Texts, references: Texts | None = None, *, sources: Texts | str | None = None
    ) -> Values:
        """Score every candidate against every reference, as minimum Bayes risk decoding needs it.

        Every distinct text is encoded once: n + m texts, not n * m.

        Args:
            candidates: n texts.
            references: m texts; for a metric that needs references.
            sources: m texts for a metric that compares with sources only; one text, the source of all, for a metric
                that needs references and source.

        Returns:
            Scores (n, m); undefined ones as an empty text's.
        """
        if self.context:
            raise InputError("a matrix is of texts alone: leave out context")
        rows, by_reference = as_texts(candidates, "candidates"), "reference" in self.needs
        kind, given = ("references", references) if by_reference else ("sources", sources)
        if given is None:
            raise InputError(f"{self.name} compares candidates with {kind}: give {kind}")
        columns, source = as_texts(given, kind), None
        if by_reference and "source" in self.needs:
            if sources is None:
                raise InputError(
                    f"{self.name} reads the source too: give sources one text, the source of all candidates"
                )
            source = self.encoders.in_form([cells.text(sources, "sources")])[0]
        if not rows or not columns:
            raise InputError("there is nothing to score: a matrix needs at least one candidate and one other text")
        rows, columns = self.encoders.in_form(rows), self.encoders.in_form(columns)
        # Every text once, for metrics that count words; the shorter list is filled up with blanks.
        n = max(len(rows), len(columns))
        left, right = ([*texts, *[""] * (n - len(texts))] for texts in (rows, columns))
        once = MemoryCorpus({"candidate": left}, right if by_reference else None, None if by_reference else right)
        fitted = self.fit(Reading(once, self.encoders.config.normalize))
        side = _SIDE
        if self.bytes_per_token:  # as many texts of each side as fit in the memory budget together
            longest = max(about_tokens(text) for text in (*rows, *columns))
            side = max(1, min(side, self.encoders.budget // 4 // self.bytes_per_token // (2 * longest)))
        scores = np.zeros((len(rows), len(columns)))
        for top in range(0, len(rows), side):
            for start in range(0, len(columns), side):
                part = scores[top : top + side, start : start + side]
                some, others = rows[top : top + side], columns[start : start + side]
                whole = by_reference and source is None
                product = self.score_product(some, others, fitted) if whole else None
                if product is None:
                    right = [*others] * len(some)
                    block = Block(
                        [text for text in some for _ in others],
                        [(text,) for text in right] if by_reference else [()] * len(right),
                        right if not by_reference else None if source is None else [source] * len(right),
                        np.zeros(len(right), dtype=np.int64),
                    )
                    refuse_large_texts([self], block)
                    product = self.score_block(block, fitted).values.reshape(part.shape)
                part[:] = product
        self.refuse_missing(scores)
        fill = self.entry.empty
        return np.where(np.isnan(scores), 0.0 if fill is None else fill, scores)


class PairMetric(Metric[ConfigT]):
    """A metric that compares a candidate with one other text; several references give one score, as ``multi_ref`` says.

    A pair of which one text is blank is not scored: it gets the entry's ``empty`` score and is counted. A metric that
    needs reference and source gets the row's source with each pair.
    """

    @abstractmethod
    def score_pairs(self, pairs: Pairs, fitted: Fitted) -> PairScores:
        """Score pairs of non-blank texts."""

    def score_block(self, block: Block, fitted: Fitted) -> BlockScores:
        """Score rows pair by pair; see `Metric.score_block`."""
        texts: dict[str, int] = {}
        rows: list[tuple[int, int, int]] = []
        sources = (block.sources or []) if {"reference", "source"} <= self.needs else None
        compared = block.references if "reference" in self.needs else [(source,) for source in block.sources or ()]
        for row, (candidate, others) in enumerate(zip(block.candidates, compared, strict=True)):
            if not self.alone(candidate).strip() or (sources is not None and not self.alone(sources[row]).strip()):
                continue
            left = texts.setdefault(candidate, len(texts))
            rows += [(row, left, texts.setdefault(other, len(texts))) for other in others if self.alone(other).strip()]
        table, third = np.asarray(rows, dtype=np.int64).reshape(-1, 3), None
        if sources is not None:
            third = np.array([texts.setdefault(sources[row], len(texts)) for row in table[:, 0]], dtype=np.int64)
        values = np.full(len(block), np.nan)
        lost = np.zeros(len(block), dtype=np.int64)
        empty = np.ones(len(block), dtype=bool)
        if len(table):
            pairs = Pairs(list(texts), table[:, 1], table[:, 2], block.systems[table[:, 0]], table[:, 0], third)
            scored = self.score_pairs(pairs, fitted)
            check_scores(self, scored, PairScores, len(table))
            present, starts = np.unique(table[:, 0], return_index=True)
            empty[present] = False
            scores = np.asarray(scored.values, dtype=np.float64)
            if getattr(self.config, "multi_ref", "best") == "mean":
                defined = ~np.isnan(scores)
                total = np.add.reduceat(np.where(defined, scores, 0.0), starts)
                count = np.add.reduceat(defined.astype(np.float64), starts)
                values[present] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
            else:
                values[present] = (np.fmax if self.higher_is_better else np.fmin).reduceat(scores, starts)
            if scored.lost is not None:
                lost[present] = np.add.reduceat(scored.lost[table[:, 2]], starts) + scored.lost[table[starts, 1]]
                if third is not None:
                    lost[present] += scored.lost[third[starts]]
            if scored.lost_together is not None:
                lost[present] += np.add.reduceat(scored.lost_together, starts)
        if self.entry.empty is not None:
            values[empty] = self.entry.empty
        return BlockScores(values, empty, lost)

    def alone(self, text: str) -> str:
        """Return a text without the sentences that are its context."""
        return without_context(text) if self.context else text


def plugins() -> dict[str, EntryPoint]:
    """Return the metrics of other installed packages: name -> entry point in the group ``bsx.metrics``."""
    return {point.name: point for point in entry_points(group=GROUP)}


def metric_names(catalog: Catalog | None = None) -> list[str]:
    """Return the names of all metrics, those of other packages included."""
    catalog = catalog if catalog is not None else load_registry()
    return sorted({*catalog.metrics, *plugins()})


def find_metric(name: str, catalog: Catalog) -> tuple[type[Metric], MetricEntry]:
    """Return the class and the entry of a metric.

    Raises:
        UnknownNameError: listing near names, or saying that there are published scores of it only.
        RegistryError: if its entry names code that is not there, or that it may not run; see `class_of`.
    """
    entry = catalog.metric(name)
    if entry is not None:
        kind = class_of(catalog, entry, Metric)
    elif name in plugins():
        kind = plugins()[name].load()
        entry = getattr(kind, "entry", None)
        if isinstance(entry, MetricEntry) and entry.name != name:
            raise RegistryError(f"metric {name!r}: its entry is called {entry.name!r}; both names must be the same")
    elif name.lower() in (known := metric_names(catalog)):
        return find_metric(name.lower(), catalog)
    else:
        from bsx.catalog.published import find_published

        if (published := find_published(name, catalog)) is not None:
            instead = f" {published.here} is the nearest that runs here." if published.here is not None else ""
            raise UnknownNameError(
                f"metric {name!r} is known by its published scores and does not run here.{instead} "
                f"`bsx metrics show {published.name}` says where its scores are and how its authors run it; "
                "columns names a column of them."
            )
        raise UnknownNameError(f"unknown metric {name!r}.{did_you_mean(name, known)} `bsx metrics` lists all of them.")
    if not (isinstance(kind, type) and issubclass(kind, Metric) and isinstance(entry, MetricEntry)):
        raise RegistryError(
            f"metric {name!r}: {kind!r} is not a subclass of bsx.metrics.base.Metric with an entry of type MetricEntry"
        )
    return kind, entry


def needs_of(spec: str, catalog: Catalog) -> frozenset[str]:
    """Return what a metric with these settings reads, without loading any model.

    Raises:
        UnknownNameError: for an unknown metric; lists near names.
        InputError: for wrong settings.
    """
    name, spelled = read_spec(spec)
    kind, entry = find_metric(name, catalog)
    return config_of(kind, entry, spelled, {}).reads(entry, catalog)


def check_from_file(spec: str, file: str | Path, catalog: Catalog) -> None:
    """Raise InputError for a metric that a file names with a setting that only the user may give; see `UserOnly`."""
    name, spelled = read_spec(spec)
    kind, _ = find_metric(name, catalog)
    for field in _with_fields(kind, spelled, {}):
        if marked(kind.Config, field, UserOnly):
            raise InputError(
                f"the member {spec!r} sets {field}, which decides what code runs here, and a file may not: "
                f"name the member {name} there, and give {field} under `defaults:` of that metric's entry in your own "
                "registry",
                file=file,
            )


def config_of(
    kind: type[Metric], entry: MetricEntry, spelled: Mapping[str, str], settings: Mapping[str, object]
) -> MetricConfig:
    """Return a metric's settings: the class's defaults, then the entry's, then what the user spelled or gave as values.

    An InputError names the metric and every setting that is wrong.
    """
    try:
        named = _with_fields(kind, spelled, settings)
        read = {name: read_spelled(kind.Config, name, text) for name, text in named.items()}
        return build_config({**entry.defaults, **read, **settings}, kind.Config)
    except InputError as error:
        raise InputError(f"metric {entry.name}: {error}") from error


def _with_fields(kind: type[Metric], spelled: Mapping[str, str], settings: Mapping[str, object]) -> dict[str, str]:
    """Return spelled settings with the field of the one that lacks it."""
    if UNNAMED not in spelled:
        return dict(spelled)
    field = kind.Config.positional
    if field is None:
        raise InputError(f"{spelled[UNNAMED]!r} is not field=value")
    if field in spelled or field in settings:
        raise InputError(f"{field} is given twice")
    return {name or field: text for name, text in spelled.items()}


def get_metric(spec: str, *, encoders: Encoders | None = None, **settings: object) -> Metric:
    """Return a metric, ready to score.

    Args:
        spec: a name, in capitals too, or ``name:field=value,…`` as on the command line; some take ``name:value``.
        encoders: encoders to share with other metrics; they say where to run, the language, and the registry.
        settings: the metric's settings by name; see its ``Config``.

    Raises:
        UnknownNameError: for an unknown metric; lists near names.
        InputError: for wrong settings.
        MissingExtraError: naming the pip command, if a package it needs is not installed.
        ModelUnavailableError: if its model is neither here nor to be had.

    >>> get_metric("chrf").score(["a small cat"], ["the small cat"]).values.round(1).tolist()
    [66.4]
    """
    name, spelled = read_spec(spec)
    encoders = encoders if encoders is not None else Encoders()
    if not isinstance(encoders, Encoders):
        raise InputError(f"encoders is a {type(encoders).__name__}: give bsx.Encoders(…)")
    if both := [field for field in settings if field in spelled]:
        raise InputError(f"metric {name}: {both[0]} is given twice")
    kind, entry = find_metric(name, encoders.catalog)
    config = config_of(kind, entry, spelled, settings)
    if settings:
        values = {**spelled, **settings}.items()
        texts = {field: str(value).lower() if isinstance(value, bool) else str(value) for field, value in values}
        spec = f"{name}:" + ",".join(f"{field}={text}" if field else text for field, text in texts.items())
    return kind(entry, config, encoders, spec)


@settled(SharedSettings)
def get_metrics(specs: str | Iterable[str], settings: SharedSettings) -> list[Metric]:
    """Return several metrics that share encoders.

    Args:
        specs: names or ``name:field=value``, as a list or as one comma-separated text.
        settings: encoders to share beyond this call, or what to make some of; see `bsx.encode.session.SharedSettings`.

    Raises:
        InputError: as `get_metric`, or if a metric is named twice.
    """
    encoders = settings.opened()
    given = split_specs(specs) if isinstance(specs, str) else [*specs] if isinstance(specs, Iterable) else [specs]
    names = [name for name in given if isinstance(name, str)]
    if len(names) < len(given):
        wrong = next(name for name in given if not isinstance(name, str))
        raise InputError(f"metrics are named by texts, such as 'chrf' (got {wrong!r})")
    if not names:
        raise InputError("name at least one metric; `bsx metrics` lists them")
    results = []
    for name in names:
        with naming(name, among=len(names)):
            results.append(get_metric(name, encoders=encoders))
    return results
