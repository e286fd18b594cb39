"""WMT's official table of a year: the protocol of the registry on scores of mt-metrics-eval, or on tables of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.datasets.mtme import STANDARD, ScoreSet, find_scores, load_scores, pairs_of_scores, references_of
from bsx.analysis.meta.protocol import (
    LeftOutSystem,
    ProtocolResult,
    ProtocolScores,
    ProtocolSettings,
    Why,
    rank_by_protocol,
)
from bsx.catalog.protocols import ProtocolPair, find_protocol, load_protocols
from bsx.data.run import as_one_run
from bsx.errors import InputError, did_you_mean
from bsx.frames.settings import Watched
from bsx.support.checks import Array
from bsx.support.folders import data_folder
from bsx.support.progress import reporter
from bsx.support.provenance import Provenance, provenance
from bsx.support.settings import Option, part, settled


class ProtocolRun(Watched, ProtocolSettings):
    """Which year's table is made, of which language pairs and metrics, and where the scores are."""

    table: Annotated[
        str | None,
        Field(description="Folder of the test set's scores, or the one above; data_dir unless given."),
        Option(argument=True),
    ] = None
    protocol: Annotated[
        str | None,
        Field(
            description="Make the official table of a WMT metrics task, wmt22 to wmt25, of the scores in the folder "
            "TABLE (of mt-metrics-eval) or below data_dir."
        ),
    ] = None
    language_pairs: Annotated[
        Sequence[str],
        Field(description="protocol: language pairs; not the official table if some are left out. [all of it]"),
        Option(folded="detail"),
    ] = ()
    also: Annotated[
        Sequence[str],
        Field(
            description="protocol: metrics to rank next to those of the main table, by the names of their files "
            "without the reference; all: every one that is there."
        ),
        Option(folded="detail"),
    ] = ()
    data_dir: Annotated[Path | None, Field(description="Folder of all data sets; BSX_DATA or your data folder.")] = None


@settled(ProtocolRun)
@as_one_run
def protocol_table(settings: ProtocolRun) -> ProtocolResult:
    """Make the official table of a year of WMT's metrics task.

    Args:
        settings: see `ProtocolRun`.

    Raises:
        UnknownNameError: for an unknown protocol, language pair or metric.
        DataUnavailableError: if there are no scores of the test set.
        InputError: for scores that are not complete, or settings that cannot be used.
    """
    entry = find_protocol(settings.protocol or "")
    settings.tested  # noqa: B018 - a wrong test is refused before anything is read
    for pair in settings.language_pairs:
        if pair not in entry.language_pairs:
            known, hint = ", ".join(entry.language_pairs), did_you_mean(pair, entry.language_pairs)
            message = f"language_pairs: {entry.name} has no {pair}; it has {known}.{hint}"
            raise InputError(message, setting="language_pairs")
    if settings.table is not None and settings.data_dir is not None:
        raise InputError("data_dir has no effect with a folder that is named: leave it out", setting="data_dir")
    root = Path(settings.table) if settings.table is not None else data_folder(settings.data_dir)
    if settings.table is not None and not root.is_dir():
        raise InputError("is no folder; a protocol reads a folder of mt-metrics-eval", file=root)
    folder = find_scores(root, entry.test_set)
    years = {protocol.test_set for protocol in load_protocols().values()} - {entry.test_set}
    if (of := folder.resolve().name) in years:  # the same language pair is there in several years
        raise InputError(f"is {of}; the protocol {entry.name} is of {entry.test_set}", file=folder)
    chosen = [pair for pair in entry.language_pairs if pair in settings.language_pairs or not settings.language_pairs]
    available = pairs_of_scores(folder)
    if missing := [pair for pair in chosen if pair not in available]:
        rest = [pair for pair in chosen if pair in available]
        ask = f"; language_pairs {','.join(rest)} makes a table of the others" if rest else ""
        raise InputError(f"{entry.name} needs {', '.join(missing)}, of which there are no scores{ask}", file=folder)
    wanted = None if "all" in settings.also else {*entry.primary, *entry.baselines, *settings.also}
    watch = reporter(settings.progress) or (lambda phase, done, total: None)
    pairs, read, left_out = list[ProtocolScores](), list[Path](), list[LeftOutSystem]()
    for place, pair in enumerate(chosen):
        watch("scores", place, len(chosen))
        scores = load_scores(folder, pair, entry.language_pairs[pair].gold, wanted)
        read += scores.files
        of_pair, left = ranked(scores, entry.language_pairs[pair])
        pairs.append(of_pair)
        left_out += left
    watch("scores", len(chosen), len(chosen))
    scored = {name.removesuffix(_NOREF) for of in pairs for name in (*of.of_systems, *of.of_segments)}
    if unknown := [name for name in settings.also if name != "all" and name not in scored]:
        hint = did_you_mean(unknown[0], scored)
        raise InputError(
            f"also: there are no scores of {unknown[0]!r} for the reference of {entry.name}.{hint}", setting="also"
        )
    tasks, metrics = rank_by_protocol(entry.tasks, pairs, settings.progress, **part(settings, ProtocolSettings))
    return ProtocolResult(
        protocol=entry.name,
        title=entry.title,
        source=entry.source,
        tasks=tasks,
        metrics=tuple(
            replace(metric, baseline=name in entry.baselines, primary=name in (*entry.primary, *entry.baselines))
            for metric in metrics
            for name in [metric.metric.removesuffix(_NOREF)]
        ),
        left_out=tuple(left_out),
        missing_pairs=tuple(pair for pair in entry.language_pairs if pair not in chosen),
        missing_metrics=tuple(name for name in (*entry.primary, *entry.baselines) if name not in scored),
        tested=settings.tested,
        alpha=settings.alpha,
        resamples=settings.resamples,
        notes=tuple(note.rstrip(".") for note in entry.notes),
        provenance=Provenance.read(provenance(ProtocolResult.kind, read)),
    )


_NOREF = "[noref]"


def ranked(scores: ScoreSet, rules: ProtocolPair) -> tuple[ProtocolScores, list[LeftOutSystem]]:
    """Return the scores of the systems that the rules rank, and the systems that they leave out."""
    where, pair = scores.where, scores.lp
    if rules.reference not in scores.references:
        known = ", ".join(scores.references) or "none"
        raise InputError(f"{pair}: the reference {rules.reference} is not there; there are {known}", file=where)
    for level, people in scores.human.items():
        if rules.gold not in people:
            raise InputError(f"{pair}: there are no human scores {rules.gold} of the level {level}", file=where)
    gold = {level: people[rules.gold] for level, people in scores.human.items()}
    judged = {int(place) for values in gold.values() for place in np.flatnonzero((~np.isnan(values)).any(axis=1))}
    why: dict[str, Why] = {system: "unjudged" for place, system in enumerate(scores.systems) if place not in judged}
    why |= {} if rules.humans else dict.fromkeys(scores.references, "human")
    why |= {**dict.fromkeys(rules.outliers, "outlier"), rules.reference: "reference"}
    left_out = [LeftOutSystem(pair, system, why[system]) for system in scores.systems if system in why]
    kept = [place for place, system in enumerate(scores.systems) if system not in why]
    fits = {level: _named(metrics, rules.reference, scores.references) for level, metrics in scores.metrics.items()}
    systems = tuple(scores.systems[place] for place in kept)
    of_systems = {name: values[kept, 0] for name, values in fits["sys"].items()}
    of_segments = {name: values[kept] for name, values in fits["seg"].items()}
    return ProtocolScores(pair, systems, gold["sys"][kept, 0], gold["seg"][kept], of_systems, of_segments), left_out


def _named(metrics: Mapping[str, Array], reference: str, references: Sequence[str]) -> dict[str, Array]:
    """Return the metrics that use no other reference, as WMT prints their names."""
    results: dict[str, Array] = {}
    for name, values in metrics.items():
        base, used = references_of(name)
        used = frozenset(references) if used is None else used
        if used <= {reference, STANDARD}:
            results[base if used else f"{base}{_NOREF}"] = values
    return results
