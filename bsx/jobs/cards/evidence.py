"""Figures of metric cards as evidence in the registry: for an encoder, or for a metric."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bsx.analysis.cards.leaderboard import CHALLENGE, SECONDS, TOLD_APART, TRIPLES, card_figures
from bsx.analysis.cards.result import Card, read_cards
from bsx.analysis.present.notices import seen_rows
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.evidence import Aspect, Evidence
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.entries.models import ModelEntry
from bsx.catalog.overlay import overlay_folder, write_metric, write_model
from bsx.catalog.specs import read_spec
from bsx.data.run import as_one_run
from bsx.errors import InputError, UnknownNameError
from bsx.support.aligned import text_table
from bsx.support.checks import FEW_ITEMS, FEWEST_ITEMS
from bsx.support.near import did_you_mean
from bsx.support.result import Notice, as_json
from bsx.support.settings import BaseSettings, Option, settled
from bsx.support.signature import Signature

_STATISTICS = {
    **{"pearson": "Pearson r", "spearman": "Spearman rho", "kendall": "Kendall tau"},
    **{TRIPLES: "share of triples right", CHALLENGE: "share of minimal pairs right"},
}
_ASPECTS: Mapping[str, Aspect] = {
    "agreement": "agreement",
    "paraphrase": "semantics",
    "challenge": "robustness",
    "perturbations": "robustness",
    "cost": "speed",
}
"""Part of a card -> what its figures are evidence of, in the order in which they are written."""
_DIRECTION = re.compile("[a-z]{2,3}-[a-z]{2,3}")


@dataclass(frozen=True)
class AddedEvidence:
    """What became of cards in the registry.

    Attributes:
        name: the model or metric.
        evidence: its figures from these cards.
        file: the entry that was written.
        warnings: of the cards, what their metrics were trained on; figures on such rows were left out.
    """

    name: str
    evidence: tuple[Evidence, ...]
    file: Path
    warnings: tuple[Notice, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain values."""
        figures = [item.model_dump(exclude_none=True) for item in self.evidence]
        said = {"warnings": as_json(self.warnings)} if self.warnings else {}
        return {"name": self.name, "evidence": figures, "file": str(self.file), **said}

    def to_text(self) -> str:
        """Return a table, to be read."""
        rows = [["aspect", "language", "on", "n", "figure", "value", "interval"]]
        for item in self.evidence:
            ends = "" if item.interval is None else f"[{item.interval[0]:.3f}, {item.interval[1]:.3f}]"
            few = "" if item.n is None or item.n >= FEW_ITEMS else f" (fewer than {FEW_ITEMS})"
            on = f"{item.dataset} {item.direction or ''} {item.level if item.aspect == 'agreement' else ''}".strip()
            rows.append(
                [str(item.aspect), item.language, on, f"{item.n}{few}", item.statistic, f"{item.value:.3f}", ends]
            )
        few_items = sum(item.n is not None and item.n < FEW_ITEMS for item in self.evidence)
        told = f"{len(self.evidence)} figures are evidence for {self.name} now: bsx models ranks by them."
        told += f" {few_items} of them are of fewer than {FEW_ITEMS} items." if few_items else ""
        return "\n".join([told, "", text_table(rows, "lllrlr"), *map(seen_rows, self.warnings)])


class EvidenceSettings(BaseSettings):
    """Which cards become evidence, for which entry, and where it is written."""

    name: Annotated[
        str, Field(description="A model that the cards' metrics ran on, or a metric."), Option(argument=True)
    ]
    cards: Annotated[
        Sequence[Path | str],
        Field(description="Cards that bsx card wrote as JSON; of several in a file, those of this model or metric."),
        Option(whole=True),
    ]
    registry: Annotated[Path | None, Field(description="Registry folder to write in; the user's own unless given.")] = (
        None
    )


@settled(EvidenceSettings)
@as_one_run
def add_evidence(settings: EvidenceSettings) -> AddedEvidence:
    """Write the figures of cards into an entry of the user's own registry, as measured evidence.

    A figure of the same test (table, rows, statistic) that is there already is replaced. Cards on the shipped examples
    are no evidence and are refused; so are figures of fewer than `bsx.support.checks.FEWEST_ITEMS` items, and those on
    tables with rows that the metric was trained on.

    Args:
        settings: see `EvidenceSettings`.

    Raises:
        UnknownNameError: for a name that is neither a model nor a metric.
        InputError: for a file with cards of other models or metrics only, for a card of the shipped examples, or if no
            figure is left.
    """
    name, registry = settings.name, settings.registry
    overlay_folder(registry)  # a folder that cannot be written to is refused before anything is read
    catalog = load_registry(registry if registry is not None and registry.is_dir() else None)
    added: dict[object, Evidence] = {}
    warnings: dict[str, Notice] = {}
    for file in settings.cards:
        read, others = read_cards([file]), list[InputError]()
        for card in read:
            try:
                figures = evidence_of(card, name, catalog)
            except InputError as error:  # a run of several metrics writes the cards of all into one file
                others.append(error)
                continue
            if any(item.examples for item in card.data):
                raise InputError(f"the card of {card.metric} rests on the shipped examples, which are no evidence")
            warnings |= {repr(notice): notice for notice in card.warnings}
            added |= {(figure.aspect, figure.test): figure for figure in figures}
        if len(others) == len(read):
            raise others[0]
    if not added:
        seen = [notice for notice in warnings.values() if notice.name == "seen-rows"]
        why = f"of fewer than {FEWEST_ITEMS} items there are none"
        if seen:
            at, values = seen[0].about, seen[0].values
            why = (
                f"{at} was trained or chosen on {values['rows']:,} of the {values['of']:,} rows of {values['table']}, "
                "where its figures are no evidence: make a card on other data"
            )
        raise InputError(f"the cards hold no figure that could speak for {name}: {why}")
    entry = _entry(name, catalog)
    kept = [item for item in entry.evidence if (item.aspect, item.test) not in added]
    changed = entry.model_copy(update={"evidence": [*kept, *added.values()]})
    file = write_model(changed, registry) if isinstance(changed, ModelEntry) else write_metric(changed, registry)
    return AddedEvidence(entry.name, tuple(added.values()), file, tuple(warnings.values()))


def _entry(name: str, catalog: Catalog) -> ModelEntry | MetricEntry:
    model = catalog.find(name)
    metric = catalog.metric(name) if model is None else None
    entry = model if model is not None else metric
    if entry is None:
        known = [*catalog.models, *catalog.metrics]
        raise UnknownNameError(f"the registry has no model and no metric {name!r}.{did_you_mean(name, known)}")
    return entry


def evidence_of(card: Card, name: str, catalog: Catalog, *, source: str | None = None) -> list[Evidence]:
    """Return what a card says for a model or metric, but for tables with rows that the metric was trained on.

    Args:
        card: of the metric, or of one that ran on the model.
        name: of the model or metric.
        catalog: the registry.
        source: what is named as the source; the card's command unless given.

    Raises:
        UnknownNameError: for a name that is neither a model nor a metric.
        InputError: if the card is of something else.
    """
    entry = _entry(name, catalog)
    spec, settings = read_spec(card.metric)
    called = spec + "".join(f":{key}={value}" for key, value in settings.items() if key != "model")
    if isinstance(entry, MetricEntry):
        if spec != entry.name:
            raise InputError(f"the card is of {card.metric}, not of {entry.name}")
        langs = set(card.signatures)
        of = "" if card.metric == entry.name else f" of {called}"
    else:
        langs = {lang for lang, signature in card.signatures.items() if _runs_on(signature, entry.name)}
        of = f" of {called}"
        if not langs:
            raise InputError(f"the card is of {card.metric}, which did not run on {entry.name}: {card.signature}")
    versions = dict(card.provenance.versions) if card.provenance is not None else {}
    said = source or (f"measured: {card.provenance.command}" if card.provenance is not None else "a metric card")
    alone = {one.name: one.languages[0] for one in card.data if one.languages}
    told = card.parts.perturbations.overall if card.parts.perturbations is not None else []
    seen = {notice.values["table"] for notice in card.warnings if notice.name == "seen-rows"}
    controls = {(row.data, row.group): row.control for row in told}
    evidence = []
    for at, value, ci, n in sorted(card_figures(card), key=lambda one: list(_ASPECTS).index(one.at.part)):
        judged = at.part == "agreement"
        lang = at.group
        if judged:
            lang = at.group.rpartition("-")[2] if "-" in at.group else alone.get(at.data, "")
        if at.data in seen and at.part != "cost":
            continue
        if ci is None or n is None or lang not in langs or at.group == "average" or at.figure == SECONDS:
            continue
        digest = next((data.sha256[:8] for data in card.data if data.name == at.data), "")
        ends = [end for end in ci if not math.isnan(end)]
        name = _STATISTICS.get(at.figure, at.figure)
        if at.figure == TOLD_APART:
            name = f"share of changed meanings that cost more than {controls[at.data, at.group]}"
        evidence.append(
            Evidence(
                dataset=f"{at.data} ({digest}){_machine(card) if at.part == 'cost' else ''}",
                language=lang,
                direction=at.group if judged and _DIRECTION.fullmatch(at.group) else None,
                level="system" if at.level == "system" else "segment",
                statistic=f"{name}{of}",
                value=float(value),
                source=said,
                aspect=_ASPECTS[at.part],
                n=n,
                interval=ends if len(ends) == 2 else None,
                signature=card.signatures.get(lang),
                versions=versions,
            )
        )
    return evidence


def _machine(card: Card) -> str:
    machine = card.parts.cost.machine if card.parts.cost is not None else {}
    return f" on {machine.get('processor', 'a machine')}, {machine.get('threads') or 'all'} threads"


def _runs_on(signature: str, model: str) -> bool:
    return dict(Signature.read(signature).fields).get("model", "").partition("@")[0] == model
