"""The metrics of a run: what they read, the language of their texts, and built once that is known.

Some score texts that an analysis makes itself: they are opened once, and called as often as there are tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import find_languages
from bsx.catalog.specs import naming, read_spec, split_specs
from bsx.data.corpus import Corpus
from bsx.data.tables import Table
from bsx.encode.run_config import EncoderSettings
from bsx.encode.session import Encoders
from bsx.errors import InputError, UnknownNameError
from bsx.frames.settings import MetricSettings, TextColumns
from bsx.metrics.base import Metric, find_metric, get_metrics, needs_of
from bsx.metrics.run import lacking
from bsx.support.progress import Say
from bsx.support.settings import part, set_fields

Run = TypeVar("Run", bound=EncoderSettings)
SHARED = frozenset({*EncoderSettings.model_fields, "context"})
"""Settings that all metrics of a run share; others are one metric's."""


def wanted_sides(specs: Sequence[str], settings: EncoderSettings) -> frozenset[str]:
    """Return what these metrics compare candidates with, without loading any model.

    InputError for a setting of BERTScore, which the metrics do not share.
    """
    if not specs and isinstance(settings, ScorerConfig):
        return frozenset({"reference"})
    catalog = load_registry(settings.registry)
    foreign = [name for name in set_fields(settings) if name in ScorerConfig.model_fields and name not in SHARED]
    if specs and foreign:
        named = [read_spec(spec)[0] for spec in specs]
        named_here = [name for name in named if foreign[0] in find_metric(name, catalog)[0].Config.model_fields]
        hint = (
            f"write it as {named_here[0]}:{foreign[0]}=…" if named_here else f"{', '.join(named)} has none of that name"
        )
        raise InputError(f"{foreign[0]}: with metrics this is a setting of one of them: {hint}")
    sides: frozenset[str] = frozenset()
    for spec in specs:
        with naming(spec, among=len(specs)):
            sides |= needs_of(spec, catalog)
    return sides - {"candidate"}


def encoding(specs: Sequence[str], settings: EncoderSettings) -> bool:
    """Return whether any of these metrics, or BERTScore if there are none, runs texts through an encoder."""
    catalog = load_registry(settings.registry)
    return not specs or any(find_metric(read_spec(spec)[0], catalog)[0].encodes for spec in specs)


def check_sides(specs: Sequence[str], settings: EncoderSettings, corpus: Corpus) -> None:
    """Raise InputError for the first metric that reads what a corpus has not."""
    for spec in specs:
        for kind in sorted(wanted_sides([spec], settings) - corpus.has):
            raise InputError(lacking(spec, kind))


def detected(settings: Run, corpus: Corpus, say: Say) -> Run:
    """Return the settings with the language of the texts in place of ``auto``, or of none where their file says it.

    Files that do are XLIFF and TMX.
    """
    if settings.lang == "auto":
        from bsx.data.writing import detect_language

        detection = detect_language(text for segment in corpus for text in segment.references or segment.candidates)
        say(f"language detected from the {'references' if 'reference' in corpus.has else 'texts'}: {detection}")
        return settings.model_copy(update={"lang": detection.code})
    table: Table | None = getattr(corpus, "table", None)
    codes = {table.languages.get(name) for name in corpus.systems} if table is not None else {None}
    code = next(iter(codes)) if len(codes) == 1 else None
    if settings.lang is not None or table is None or code is None:
        return settings
    from langcodes import standardize_tag

    try:
        code = standardize_tag(code)
        find_languages(code, load_registry(settings.registry))
    except (ValueError, InputError, UnknownNameError):
        return settings  # no language that bsx knows: the user may name one
    say(f"the language is {code}, as {table.name} says of {', '.join(corpus.systems)}; lang names another")
    return settings.model_copy(update={"lang": code})


def build_metrics(specs: Sequence[str], settings: EncoderSettings, context: int = 0) -> list[Metric]:
    """Build metrics that share encoders, and read so many sentences before each text; BERTScore, if none is named."""
    if not specs and isinstance(settings, ScorerConfig):
        from bsx.bertscore.metric import BertScore

        return [BertScore.of(settings)]
    encoders = Encoders(remember=False, context=context, **part(settings, EncoderSettings))
    return get_metrics(specs, encoders=encoders)


def open_distinct(settings: MetricSettings, columns: Iterable[str] = (), *useful: str) -> list[Metric]:
    """Build the metrics that are to score; none if none is named.

    Args:
        settings: the metrics, and where they run.
        columns: of scores that are there already.
        useful: settings that have an effect without metrics too.

    Raises:
        InputError: for an unknown metric, one that is named twice or called like a column, or settings of metrics where
            none is named.
    """
    if not settings.metrics:
        for name in set_fields(settings, *useful):
            if name in MetricSettings.model_fields or name in TextColumns.model_fields:
                raise InputError(f"{name} has no effect without metrics: leave it out", setting=name)
        return []
    specs = [spec for text in settings.metrics for spec in split_specs(text)]
    metrics = get_metrics(specs, **part(settings, EncoderSettings))
    wanted = [*columns, *(metric.spec for metric in metrics)]
    for metric in metrics:
        if wanted.count(metric.spec) > 1:
            raise InputError(f"the metric {metric.spec} is asked for twice", setting="metrics")
    return metrics
