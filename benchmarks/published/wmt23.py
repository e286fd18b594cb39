"""The WMT23 metrics task (Freitag et al. 2023) as Perrella et al. 2024 rank it, from the published scores."""

from __future__ import annotations

import numpy as np

from benchmarks.published.table import Figure, PublishedFacts, Work, read_facts
from bsx.analysis.datasets.mtme import load_scores
from bsx.analysis.meta.wmt import ranked
from bsx.analysis.stats.systems.grouped import group_mean, group_values
from bsx.analysis.stats.systems.swapped import swapped_accuracy, swapped_pearson, swapped_ties
from bsx.catalog.protocols import find_protocol
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.support.checks import Array

_TABLES = {
    ("seg_level", "pearson"): "seg pearson",
    ("seg_level_item", "pearson"): "seg pearson item",
    ("seg_level", "acc-t"): "seg acc-t",
}
"""Table and statistic of the file of three digits -> figure; its other tables repeat these."""


class Wmt23Facts(PublishedFacts):
    """``wmt23.yaml``: the figures with seven digits, by language pair, figure and metric."""

    fine: float
    metrics: int
    printed: dict[str, dict[str, dict[str, float]]]


FACTS = read_facts("wmt23", Wmt23Facts)


def recompute(work: Work) -> list[Figure]:
    """Return every figure, as `benchmarks.published.__main__.reproduce` wants them."""
    coarse = _coarse(work)
    protocol = find_protocol("wmt23")
    figures: list[Figure] = []
    systems: dict[str, tuple[dict[str, Array], Array]] = {}
    for place, (pair, printed) in enumerate(FACTS.printed.items()):
        work.step("wmt23", place, len(FACTS.printed))
        folder = work.find(f"wmt23/{pair}.metrics.tsv.gz").parent
        rules = protocol.language_pairs[pair]
        scores = load_scores(folder, pair, rules.gold, {name for own in printed.values() for name in own})
        own, _ = ranked(scores, rules)
        ours = _ours(
            {name.removesuffix("[noref]"): values for name, values in own.of_segments.items()}, own.human_segments
        )
        of_systems = {name.removesuffix("[noref]"): values for name, values in own.of_systems.items()}
        systems[pair] = (of_systems, own.human_systems)
        values = swapped_pearson(np.stack(list(of_systems.values())), own.human_systems, 0, 1).values
        ours["sys pearson"] = dict(zip(of_systems, values.tolist(), strict=True))
        for figure, metrics in coarse[pair].items():
            for metric, value in metrics.items():
                at = {"pair": pair, "figure": figure, "metric": metric, "digits": "3"}
                figures.append(Figure(at, value, _of(ours, figure, metric)))
        for figure, metrics in printed.items():
            for metric, value in metrics.items():
                at = {"pair": pair, "figure": figure, "metric": metric, "digits": "7"}
                figures.append(Figure(at, value, _of(ours, figure, metric), FACTS.fine))
    names = [name for name in protocol.primary + protocol.baselines if all(name in own for own, _ in systems.values())]
    grids = [np.stack([own[name] for name in names]) for own, _ in systems.values()]
    accuracy = swapped_accuracy(grids, [human for _, human in systems.values()], 0, 1).values
    for name, value in zip(names, accuracy.tolist(), strict=True):
        at = {"pair": "+".join(systems), "figure": "sys accuracy", "metric": name, "digits": ""}
        figures.append(Figure(at, None, value))
    return figures


def _ours(metrics: dict[str, Array], human: Array) -> dict[str, dict[str, float]]:
    """Return figure -> metric -> value of scores (systems, segments)."""
    grid = np.stack(list(metrics.values()))
    present = ~np.isnan(human)
    missing = np.where(present, grid, np.nan)
    by_item = np.nan_to_num(group_mean(group_values(missing, np.broadcast_to(human, grid.shape), "item", "pearson")))
    found = {
        "seg pearson": swapped_pearson(grid[:, present], human[present], 0, 1).values,
        "seg pearson item": by_item,
        "seg acc-t": swapped_ties(grid, human, 0, 1).values,
    }
    return {figure: dict(zip(metrics, values.tolist(), strict=True)) for figure, values in found.items()}


def _of(ours: dict[str, dict[str, float]], figure: str, metric: str) -> float:
    if metric not in ours[figure]:
        raise InputError(f"wmt23: the scores have no metric {metric}, which was published")
    return ours[figure][metric]


def _coarse(work: Work) -> dict[str, dict[str, dict[str, float]]]:
    """Return the figures with three digits: pair -> figure -> metric -> value."""
    file = work.find("published/wmt23-seg-ranking.tsv")
    found: dict[str, dict[str, dict[str, float]]] = {
        pair: {figure: {} for figure in _TABLES.values()} for pair in FACTS.printed
    }
    for row in Table(file).rows("table", "metric", "lp", "statistic", "value"):
        figure = _TABLES.get((row.name("table"), row.name("statistic")))
        if figure is not None and row.name("lp") in found:
            found[row.name("lp")][figure][row.name("metric")] = row.finite("value")
    for pair, figures in found.items():
        for figure, metrics in figures.items():
            if len(metrics) != FACTS.metrics:
                raise InputError(
                    f"has {len(metrics)} metrics for {pair} {figure}, {FACTS.metrics} were published", file=file
                )
    return found
