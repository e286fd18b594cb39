"""How well each layer of a model agrees with human judgments: tables of them read, BERTScore tuned."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from bsx.analysis.stats.layers import LayerAgreement, Statistic, layer_agreement
from bsx.bertscore.config import ScorerConfig
from bsx.bertscore.metric import BertScore
from bsx.bertscore.scorer import Scorer
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries import Evidence
from bsx.catalog.entries.models import ModelEntry, Source
from bsx.catalog.languages import find_language
from bsx.catalog.overlay import overlay_folder, write_entry
from bsx.data.corpus import MemoryCorpus
from bsx.data.long import ColumnName, HumanColumn
from bsx.data.sources import AnyTable
from bsx.frames.judged import LANG, Judged, JudgedTexts, read_judged
from bsx.frames.settings import Reported
from bsx.metrics.core import BlockScores
from bsx.metrics.run import prepare, stream
from bsx.support.checks import FEW_ITEMS, FEWEST_ITEMS
from bsx.support.progress import Progress, reporter
from bsx.support.settings import Option, Resamples95, Seeded, narrowed, part, settled


class JudgedColumns(HumanColumn, JudgedTexts):
    """Columns of a table of human-judged segments."""

    group: Annotated[ColumnName, Field(description="Column of groups to correlate within. [lp, if there]")] = None


class OnEveryLayer(ScorerConfig):
    """A scorer of all layers of one model, in one language; what it computes may be kept in a registry."""

    # What makes no sense where every layer is looked at.
    python_only: ClassVar[tuple[str, ...]] = ("layer", "all_layers", "rescale", "baseline", "final_norm")

    model: Annotated[str, Field(description="Registry name or alias, a folder, or a hub id."), Option(argument=True)]
    lang: Annotated[str, Field(description=LANG), Option(("-l",))]
    registry: Annotated[Path | None, Field(description="Overlay folder to read and write; the user's own.")] = None

    @model_validator(mode="after")
    def _no_layer(self) -> Self:
        if self.layer is not None or self.all_layers:
            raise ValueError("every layer is scored: leave out layer and all_layers")
        return self

    def scorer(self, model: str, code: str, catalog: Catalog) -> Scorer:
        """Return the scorer, with a model and a language's code."""
        known = {"model": model, "lang": code, "all_layers": True, "registry": catalog}
        return Scorer(**part(self, ScorerConfig) | known)

    def catalog(self) -> Catalog:
        """Return the registry with the overlay folder laid over it, if that exists."""
        return load_registry(self.registry if self.registry is not None and self.registry.is_dir() else None)


class TuneSettings(Seeded, OnEveryLayer, JudgedColumns, Reported):
    """Settings of `tune`."""

    python_only = (*OnEveryLayer.python_only, "idf", "context")

    tables: Annotated[
        Sequence[AnyTable],
        Field(min_length=1, description="Tables with candidates, references and human scores."),
        Option(argument=True, metavar="TABLE"),
    ]
    statistic: Annotated[Statistic, Field(description="Correlation with human judgments.")] = "pearson"
    resamples: Resamples95 = 1000
    write: Annotated[bool, Field(description="Write layer and evidence to the overlay registry.")] = False

    @model_validator(mode="after")
    def _both(self) -> Self:
        if self.idf is not False:
            raise ValueError("every layer is scored with idf and without: leave out idf")
        if self.context:
            raise ValueError("texts are scored without their documents: leave out context")
        return self


def layers_and_judgments(
    scorer: Scorer,
    judged: Judged,
    statistic: Statistic,
    *,
    idf: bool = False,
    resamples: int = 1000,
    seed: int = 1,
    progress: Progress | None = None,
) -> LayerAgreement:
    """Return how the layers of a scorer agree with human judgments.

    Args:
        scorer: of all layers.
        judged: the judgments.
        statistic: correlation.
        idf: whether they are scored with idf too; each text is encoded once.
        resamples: bootstrap resamples of documents or segments.
        seed: of them.
        progress: called with phase, done and total.
    """
    metrics = [scorer.metric]
    if idf:
        entry, settings = scorer.metric.entry, scorer.config.model_copy(update={"idf": True})
        metrics.append(BertScore(entry, narrowed(settings, ScorerConfig), scorer.encoders, "bertscore:idf=true"))
    corpus = MemoryCorpus({"candidate": judged.texts.candidates}, judged.texts.references or ())
    prepared = prepare(metrics, corpus, progress=progress)
    blocks = [block.scores for block in stream(prepared, progress=progress)]
    scores, *weighted = (BlockScores.joined(scored).all_figures() for scored in zip(*blocks, strict=True))
    clusters, unit = judged.units()
    agreement = layer_agreement(
        scores[..., 0],
        scores[..., 1],
        scores[..., 2],
        judged.human[:, 0].tolist(),
        judged.groups,
        idf=weighted[0][..., 2] if weighted else None,
        statistic=statistic,
        resamples=resamples,
        seed=seed,
        clusters=clusters,
        unit=unit,
    )
    signatures = {scorer.model: str(prepared.signature(0))}
    return replace(agreement, model=scorer.model, data=tuple(judged.names), signatures=signatures)


@settled(TuneSettings)
def tune(settings: TuneSettings) -> LayerAgreement:
    """Score human-judged data with every layer of a model and choose the one that agrees best.

    Args:
        settings: see `TuneSettings`. Nothing is written if no layer has a correlation or segments are fewer than
            `FEWEST_ITEMS`; a model that the registry does not know, a folder or one of a hub, gets an entry of its own.

    Raises:
        InputError: for a table that cannot be used, or if no row is left.
        UnknownNameError: for an unknown language or column.
    """
    if settings.write:
        overlay_folder(settings.registry)  # a folder that cannot be written to is refused before anything is computed
    catalog = settings.catalog()
    language = find_language(settings.lang, catalog)
    judged = read_judged(settings.tables, settings, language.code, settings.group)
    scorer = settings.scorer(settings.model, language.code, catalog)
    result = layers_and_judgments(
        scorer,
        judged,
        settings.statistic,
        idf=True,
        resamples=settings.resamples,
        seed=settings.seed,
        progress=reporter(settings.progress),
    )
    chosen, unit = result.chosen, result.unit
    few = [] if chosen.n >= FEW_ITEMS else [f"{chosen.n} {unit} are too few to rely on a layer chosen by them"]
    few += [f"of fewer than {FEWEST_ITEMS} {unit} nothing is written"] if chosen.n < FEWEST_ITEMS else []
    result = replace(result, notes=(*judged.notes, *scorer.notes, *result.notes, *few))
    if settings.write and math.isfinite(chosen.estimate) and chosen.n >= FEWEST_ITEMS:
        evidence = Evidence(
            dataset=f"{', '.join(result.data)} ({', '.join(result.groups)})",
            language=language.code,
            statistic=f"mean {result.statistic} of F1 by a layer chosen without them, {chosen.n} {unit}",
            value=float(np.round(chosen.estimate, 6)),
            source=f"bsx registry tune; {result.signatures[result.model]}",
            n=result.n,
            interval=np.round(chosen.ci, 6).tolist() if np.isfinite(chosen.ci).all() else None,
        )
        entry = _entry(scorer, language.code, catalog)
        kept = [old for old in entry.evidence if old.dataset != evidence.dataset]
        update = {"layer": result.best_layer, "evidence": [*kept, evidence]}
        settings.say(f"written: {write_entry(entry.model_copy(update=update), settings.registry)}")
    return result


def _entry(scorer: Scorer, language: str, catalog: Catalog) -> ModelEntry:
    """Return what the registry says of the model, or a new entry named after its folder or hub id."""
    located = scorer.metric.located
    if located.choice.entry is not None:
        return located.choice.entry
    checkpoint, hub = located.checkpoint, located.choice.source.hub
    kind, _, digest = checkpoint.identity.partition(":")
    path = os.path.realpath(checkpoint.folder)
    source = (
        Source(hub=hub, revision=digest)
        if kind == "hub"
        else Source(path=path, sha256=digest, config=checkpoint.config)
    )
    for known in catalog.models.values():
        if known.source.path == path:
            return known.model_copy(update={"source": source})
    name = re.sub(r"[^\w.+-]+", "-", Path(hub or path).name)
    if catalog.find(name) is not None:
        name = f"{name}-{digest[:8]}"
    return ModelEntry(
        name=name,
        aliases=[] if hub is None else [hub],
        source=source,
        family=located.architecture.kind,
        layers=scorer.depth,
        layer="unvalidated",
        dimensions=scorer.dimensions,
        max_tokens=scorer.tokenizer.max_tokens,
        licence="unknown",
        languages=[language],
        leading_space=scorer.tokenizer.leading_space,
        evidence=[],
    )
