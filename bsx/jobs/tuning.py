"""Which layer of a model agrees best with people."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

import numpy as np

from bsx.analysis.stats.layers import LayerAgreement
from bsx.bertscore.config import ScorerConfig
from bsx.bertscore.scorer import Scorer
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.evidence import Evidence
from bsx.catalog.entries.models import ModelEntry, Source
from bsx.catalog.languages import find_language
from bsx.catalog.overlay import write_model
from bsx.jobs.judged import read_judged
from bsx.jobs.settings.layers import TuneSettings
from bsx.support.aligned import text_table
from bsx.support.progress import Watch, told
from bsx.support.settings import complete, set_fields, takes


@dataclass(frozen=True, eq=False)
class Tuning:
    """How the layers of a model agree with people.

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
        """Return a table of the layers, for people."""
        result = self.agreement
        head = f"{self.model}: mean {result.statistic} over {len(result.groups)} groups, {result.n} segments"
        rows = [["layer", "precision", "recall", "f1", "95% interval of f1", ""]]
        for row in self.rows():
            figures = [f"{row[name]:.4f}" for name in ("precision", "recall", "f1")]
            interval = f"[{row['f1_low']:.4f}, {row['f1_high']:.4f}]"
            best = "<- best" if row["layer"] == result.best_layer else ""
            rows.append([str(row["layer"]), *figures, interval, best])
        lines = [head, text_table(rows, "rrrrl")]
        margin = result.mean[result.best_layer, 2] - result.mean[result.runner_up, 2]
        lines.append(
            f"layer {result.best_layer} is best in {result.win_share:.0%} of bootstrap resamples; "
            f"it leads layer {result.runner_up} by {margin:.4f}"
        )
        return "\n".join([*lines, self.signature])

    def write(self, registry: Path | None = None) -> Path | None:
        """Write layer and evidence to an overlay registry; return the file, None if no layer has a correlation.

        A model that the registry does not know, a folder or one of a hub, gets an entry of its own there.

        Args:
            registry: the folder; the user's own unless given.
        """
        result, entry = self.agreement, self.entry
        value = float(np.round(result.mean[result.best_layer, 2], 6))
        if not math.isfinite(value):
            return None
        evidence = Evidence(
            dataset=f"{', '.join(self.data)} ({', '.join(result.groups)})",
            language=self.language,
            statistic=f"mean {result.statistic} of F1, {result.n} segments",
            value=value,
            source=f"bsx registry tune; {self.signature}",
        )
        kept = [old for old in entry.evidence if old.dataset != evidence.dataset]
        update = {"layer": result.best_layer, "evidence": [*kept, evidence]}
        return write_model(entry.model_copy(update=update), registry)


@takes(TuneSettings)
def tune(
    model: str,
    data: Sequence[str],
    lang: str,
    *,
    registry: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[TuneSettings],
) -> Tuning:
    """Score human-judged data with every layer of a model.

    Args:
        model: registry name or alias, folder, or hub id.
        data: tables with candidates, references and human scores.
        lang: language of the candidates; rows of a column ``lp`` that go into another are left out.
        registry: a folder to lay over the registry, if it exists.
        settings: of the scorer and where it runs; model, language, registry and layer are said here.
        progress: called with phase, done and total; True draws bars.
        **how: columns of the tables, and what is measured on them.

    Raises:
        InputError: for a table that cannot be used, or if no row is left.
        UnknownNameError: for an unknown language or column.
    """
    progress = told(progress)
    asked = complete(how, TuneSettings)
    catalog = _catalog(registry)
    language = find_language(lang, catalog)
    judged = read_judged(data, asked, language.code)
    given = set_fields(settings, "model", "lang", "registry", "layer", "all_layers")
    scorer = Scorer(model=model, lang=language.code, all_layers=True, registry=catalog, **given)
    scores = scorer.score(judged.candidates, judged.references, progress=progress)
    agreement = judged.agreement(scores.precision, scores.recall, scores.f1, asked)
    notes, entry = [*judged.notes, *scorer.notes, *agreement.notes], _entry(scorer, language.code, catalog)
    return Tuning(scorer.model, agreement, tuple(judged.names), language.code, str(scores.signature), entry, notes)


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


def _catalog(registry: Path | None) -> Catalog:
    return load_registry(registry if registry is not None and registry.is_dir() else None)
