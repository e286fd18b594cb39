"""Accuracies on a challenge set as text, tables and a picture, made from its document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bsx.analysis.adversarial.tables import ALPHA, BOLD, ends, four, mcnemar_sheets, mcnemar_text, unbeaten
from bsx.analysis.documents.challenge import ChallengedMetric, ChallengeDocument, ChallengeRow
from bsx.analysis.render.sheets import Bold, Sheet
from bsx.data.picture import label, picture
from bsx.support.aligned import text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def challenge_sheets(content: ChallengeDocument) -> list[Sheet]:
    """Return accuracies of all rows and by severity, then by phenomenon, then the tests."""
    metrics = content.metrics
    first = next(iter(metrics.values()))
    overall = {name: None if one.overall is None else one.overall.rate for name, one in metrics.items()}
    best = unbeaten(overall, content.tests)
    severities = sorted(first.severities, key=_order)
    rows = []
    for name, one in metrics.items():
        shown = "-" if one.overall is None else _rate(one.overall)
        cells = [Bold(shown) if name in best else shown, *(four(one.severities[part].rate) for part in severities)]
        rows.append([name, *cells, four(one.macro), four(one.weighted)])
    n = sum(part.n for part in first.phenomena.values()) if first.overall is None else first.overall.n
    title = f"Share of rows on which the good translation scores higher, n = {n}; a tie is an error"
    header = ["metric", "all", *severities, "mean of phenomena", "weighted"]
    found = [Sheet(title, header, rows, f"{BOLD}, p < {ALPHA}, McNemar tests." if content.tests else "")]
    names = _phenomena(first)
    rows = []
    for name in names:
        shared = first.phenomena[name]
        rates = [one.phenomena[name].rate for one in metrics.values()]
        top = max((rate for rate in rates if rate is not None), default=None)
        cells = [Bold(four(rate)) if rate == top and len(rates) > 1 else four(rate) for rate in rates]
        rows.append([name, shared.severity, str(shared.n), *cells])
    header = ["phenomenon", "severity", "n", *metrics]
    note = "Bold: best of the row." if len(metrics) > 1 else ""
    found.append(Sheet("Accuracy by phenomenon; a tie is an error", header, rows, note, names=2))
    return [*found, *mcnemar_sheets(content.tests, n)]


def challenge_records(content: ChallengeDocument) -> list[dict[str, object]]:
    """Return one row a metric and phenomenon, then one a metric and severity."""
    figures = ("n", "right", "tied", "rate")
    rows: list[dict[str, object]] = []
    for metric, one in content.metrics.items():
        parts: list[tuple[dict[str, object], ChallengeRow]] = [
            ({"metric": metric, "phenomenon": name, "severity": found.severity}, found)
            for name, found in one.phenomena.items()
        ]
        severities = {**({} if one.overall is None else {"all": one.overall}), **one.severities}
        parts += [({"metric": metric, "phenomenon": "", "severity": s}, found) for s, found in severities.items()]
        for place, found in parts:
            more = {"kendall": found.kendall, "drop": found.drop, "sensitivity": found.sensitivity}
            rows.append(place | {name: getattr(found, name) for name in figures} | ends(found.ci) | more)
    return rows


def draw_challenge(content: ChallengeDocument, path: str | Path | None = None) -> Figure:
    """Draw the accuracies as a map of metrics and phenomena."""
    first = next(iter(content.metrics.values()))
    names = _phenomena(first)
    rates = np.array([[one.phenomena[name].rate for one in content.metrics.values()] for name in names], dtype=float)
    with picture(path, 2.6 + 0.9 * len(content.metrics), 1.4 + 0.28 * len(names)) as figure:
        axes = figure.add_subplot()
        image = axes.imshow(rates, vmin=0, vmax=1, cmap="viridis", aspect="auto")
        axes.set_xticks(range(len(content.metrics)), [label(name) for name in content.metrics], rotation=30, ha="right")
        shown = [f"{name} ({first.phenomena[name].severity})".replace(" ()", "") for name in names]
        axes.set_yticks(range(len(names)), [label(name) for name in shown])
        for row, column in np.ndindex(*rates.shape):
            colour = "white" if rates[row, column] < 0.6 else "black"
            axes.text(column, row, f"{rates[row, column]:.2f}", ha="center", va="center", fontsize=7, color=colour)
        figure.colorbar(image, ax=axes, label="share of rows right")
    return figure


def challenge_text(content: ChallengeDocument) -> str:
    """Return the text form of what ``bsx adversarial challenge`` prints as JSON."""
    rows = [["metric", "severity", "n", "right", "ties", "accuracy with interval", "Kendall-like"]]
    for name, one in content.metrics.items():
        parts = [("all", one.overall), *sorted(one.severities.items(), key=lambda part: _order(part[0]))]
        for place, (severity, found) in enumerate(part for part in parts if part[1] is not None):
            assert found is not None  # noqa: S101 - for the type checker
            counts = map(str, (found.n, found.right, found.tied))
            rows.append([name if not place else "", severity, *counts, _rate(found), f"{found.kendall:+.4f}"])
    blocks = [text_table(rows, "llr")]
    rows = [["metric", "mean of phenomena", "weighted by severity"]]
    rows += [[name, four(one.macro), four(one.weighted)] for name, one in content.metrics.items()]
    blocks.append(text_table(rows))
    first = next(iter(content.metrics.values()))
    names = _phenomena(first)
    rows = [["phenomenon", "severity", "n", *content.metrics]]
    for name in names:
        shared = first.phenomena[name]
        rows.append(
            [name, shared.severity, str(shared.n)]
            + [f"{one.phenomena[name].rate:.4f}" for one in content.metrics.values()]
        )
    blocks.append(f"Accuracy by phenomenon (a tie is an error)\n{text_table(rows, 'llr')}")
    if content.anchor:
        rows = [["phenomenon", *content.metrics]]
        for name in names:
            rows.append([name, *(four(one.phenomena[name].sensitivity) for one in content.metrics.values())])
        blocks.append(f"Sensitivity: mean drop, that of {content.anchor!r} being 1\n{text_table(rows)}")
    if content.tests:
        heading = "McNemar tests with sentences as clusters (rows that only one of the two gets right; two-sided p)"
        blocks.append(mcnemar_text(heading, content.tests))
    return "\n\n".join(blocks)


def _phenomena(metric: ChallengedMetric) -> list[str]:
    return sorted(metric.phenomena, key=lambda name: (_order(metric.phenomena[name].severity), name))


def _order(severity: str) -> int:
    known = ("critical", "major", "minor", "base")
    return known.index(severity) if severity in known else -1


def _rate(found: ChallengeRow) -> str:
    return f"{found.rate:.4f}" + (f" [{found.ci[0]:.4f}, {found.ci[1]:.4f}]" if found.ci else "")
