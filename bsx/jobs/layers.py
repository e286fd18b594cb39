"""How well each layer of a model agrees with human judgments: tables of them read, BERTScore tuned."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from bsx.analysis.stats.layers import LayerAgreement, Statistic, layer_agreement
from bsx.bertscore.config import ScorerConfig
from bsx.bertscore.scorer import Scorer
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.evidence import Evidence
from bsx.catalog.entries.models import ModelEntry, Source
from bsx.catalog.languages import find_language
from bsx.catalog.overlay import write_model
from bsx.data.formats.memory import AnyTable
from bsx.data.long import ColumnName, HumanColumn
from bsx.frames.judged import LANG, Judged, JudgedTexts, read_judged
from bsx.frames.settings import Watched
from bsx.support.aligned import text_table
from bsx.support.checks import FEW_ITEMS, FEWEST_ITEMS
from bsx.support.progress import Progress, told
from bsx.support.settings import Option, Resamples95, Seeded, part, settled

_SURE = 0.95
"""Share of resamples from which a layer is told apart from all others."""
NO_LAYER = ("layer", "all_layers", "rescale", "baseline", "final_norm")
"""Settings of a scorer that make no sense where every layer is looked at."""

_OWN = ("model", "lang", "registry")


class JudgedColumns(HumanColumn, JudgedTexts):
    """Columns of a table of human-judged segments."""

    group: Annotated[ColumnName, Field(description="Column of groups to correlate within. [lp, if there]")] = None


class OnEveryLayer(ScorerConfig):
    """A scorer of all layers of one model, in one language; what it computes may be kept in a registry."""

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
        given = {name: value for name, value in part(self, ScorerConfig).items() if name not in _OWN}
        return Scorer(**given | {"model": model, "lang": code, "all_layers": True, "registry": catalog})

    def catalog(self) -> Catalog:
        """Return the registry with the overlay folder laid over it, if that exists."""
        return load_registry(self.registry if self.registry is not None and self.registry.is_dir() else None)


class TuneSettings(Seeded, OnEveryLayer, JudgedColumns, Watched):
    """Settings of `tune`."""

    tables: Annotated[
        Sequence[AnyTable],
        Field(min_length=1, description="Tables with candidates, references and human scores."),
        Option(argument=True, metavar="TABLE"),
    ]
    statistic: Annotated[Statistic, Field(description="Correlation with human judgments.")] = "pearson"
    resamples: Resamples95 = 1000


def layers_and_judgments(
    scorer: Scorer,
    judged: Judged,
    statistic: Statistic,
    *,
    resamples: int = 1000,
    seed: int = 1,
    progress: Progress | None = None,
) -> tuple[LayerAgreement, str]:
    """Return how the layers of a scorer agree with human judgments, and its signature.

    Args:
        scorer: of all layers.
        judged: the judgments.
        statistic: correlation.
        resamples: bootstrap resamples of segments.
        seed: of them.
        progress: called with phase, done and total.
    """
    scores = scorer.score(judged.texts.candidates, judged.texts.references or (), progress=progress)
    agreement = layer_agreement(
        scores.precision,
        scores.recall,
        scores.f1,
        judged.human[:, 0].tolist(),
        judged.groups,
        statistic=statistic,
        resamples=resamples,
        seed=seed,
    )
    return agreement, str(scores.signature)


@dataclass(frozen=True, eq=False)
class Tuning:
    """How the layers of a model agree with human judgments.

    Attributes:
        model: name of the model.
        agreement: correlation by layer; ``agreement.best_layer`` is the answer.
        data: names of the tables.
        language: code of the candidates' language.
        signature: settings behind the scores.
        entry: what the registry says of the model, or would say of one that it does not know.
        notes: what the reader should know.
    """

    model: str
    agreement: LayerAgreement
    data: tuple[str, ...]
    language: str
    signature: str
    entry: ModelEntry
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[dict[str, int | float]]:
        """Return a row a layer: mean precision, recall and F1 over groups, with the interval of F1."""
        result = self.agreement
        return [
            {"layer": layer, "precision": p, "recall": r, "f1": f, "f1_low": low, "f1_high": high}
            for layer, ((p, r, f), low, high) in enumerate(
                zip(result.mean.tolist(), result.low.tolist(), result.high.tolist(), strict=True)
            )
        ]

    def to_dict(self) -> dict[str, object]:
        """Return everything, for other programs."""
        result = self.agreement
        return {
            "model": self.model,
            "n": result.n,
            "statistic": result.statistic,
            "groups": {name: result.by_group[i, :, 2].tolist() for i, name in enumerate(result.groups)},
            "layers": self.rows(),
            "best_layer": result.best_layer,
            "win_share": result.win_share,
            "signature": self.signature,
        }

    def to_text(self) -> str:
        """Return a table of the layers."""
        result = self.agreement
        rows = [["layer", "precision", "recall", "f1", "95 % interval of f1"]]
        for row in self.rows():
            figures = [f"{row[name]:.4f}" for name in ("precision", "recall", "f1")]
            rows.append([str(row["layer"]), *figures, f"[{row['f1_low']:.4f}, {row['f1_high']:.4f}]"])
        groups = f" in {len(result.groups)} groups" if len(result.groups) > 1 else ""
        caption = f"Mean {result.statistic} with human judgments by layer; intervals over segments like these"
        where = f"on {result.n:,} segments{groups}"
        return "\n".join([_best(self.model, result, where), "", caption, text_table(rows, "r"), "", self.signature])

    def write(self, registry: Path | None = None) -> Path | None:
        """Write layer and evidence to an overlay registry; return the file.

        None is written, and None returned, if no layer has a correlation or segments are fewer than `FEWEST_ITEMS`.

        A model that the registry does not know, a folder or one of a hub, gets an entry of its own there.

        Args:
            registry: the folder; the user's own unless given.
        """
        result, entry = self.agreement, self.entry
        value = float(np.round(result.mean[result.best_layer, 2], 6))
        if not math.isfinite(value) or result.n < FEWEST_ITEMS:
            return None
        evidence = Evidence(
            dataset=f"{', '.join(self.data)} ({', '.join(result.groups)})",
            language=self.language,
            statistic=f"mean {result.statistic} of F1, {result.n} segments",
            value=value,
            source=f"bsx registry tune; {self.signature}",
            n=result.n,
        )
        kept = [old for old in entry.evidence if old.dataset != evidence.dataset]
        update = {"layer": result.best_layer, "evidence": [*kept, evidence]}
        return write_model(entry.model_copy(update=update), registry)


@settled(TuneSettings)
def tune(settings: TuneSettings) -> Tuning:
    """Score human-judged data with every layer of a model.

    Args:
        settings: see `TuneSettings`.

    Raises:
        InputError: for a table that cannot be used, or if no row is left.
        UnknownNameError: for an unknown language or column.
    """
    catalog = settings.catalog()
    language = find_language(settings.lang, catalog)
    judged = read_judged(settings.tables, settings, language.code, settings.group)
    scorer = settings.scorer(settings.model, language.code, catalog)
    agreement, signature = layers_and_judgments(
        scorer,
        judged,
        settings.statistic,
        resamples=settings.resamples,
        seed=settings.seed,
        progress=told(settings.progress),
    )
    few = [] if agreement.n >= FEW_ITEMS else [f"{agreement.n} segments are too few to rely on a layer chosen by them"]
    few += [f"of fewer than {FEWEST_ITEMS} segments nothing is written"] if agreement.n < FEWEST_ITEMS else []
    notes, entry = [*judged.notes, *scorer.notes, *agreement.notes, *few], _entry(scorer, language.code, catalog)
    return Tuning(scorer.model, agreement, tuple(judged.names), language.code, signature, entry, notes)


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


def _best(name: str, result: LayerAgreement, where: str) -> str:
    """Return which layer has the highest correlation, and whether that tells it apart from the next one."""
    best, second = result.best_layer, result.runner_up
    value = result.mean[best, 2]
    if not math.isfinite(value):
        return f"{name}: no layer has a {result.statistic} with human judgments {where}."
    said = (
        f"{name}: layer {best} has the highest {result.statistic} with human judgments {where}, {value:.4f} "
        f"[{result.low[best]:.4f}, {result.high[best]:.4f}], and has it in {result.win_share:.0%} of the bootstrap "
        "resamples."
    )
    if second == best or not math.isfinite(result.mean[second, 2]):
        return said
    apart = "" if result.win_share >= _SURE else "; it is not told apart from all others"
    return f"{said} Layer {second} is {value - result.mean[second, 2]:.4f} behind{apart}."
