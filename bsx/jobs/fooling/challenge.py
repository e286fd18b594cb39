"""Challenge sets: metrics of the zoo, or scores in the file, on good and bad translations of the same segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, Unpack

import numpy as np

from bsx.analysis.adversarial.challenge import Accuracy, ChallengeResult, challenge
from bsx.analysis.adversarial.tables import mcnemar_rows
from bsx.analysis.datasets.challenge import ChallengeSet, load_challenge
from bsx.analysis.documents.challenge import ChallengedMetric, ChallengeDocument, ChallengeRow, PhenomenonRow
from bsx.analysis.render.numbers import p_value
from bsx.bertscore.config import ScorerConfig
from bsx.data.picture import label, picture
from bsx.errors import InputError
from bsx.jobs.metrics import open_metrics
from bsx.jobs.settings import ChallengeSettings
from bsx.metrics.failures import RowScores, score_all
from bsx.metrics.summary import about
from bsx.support.aligned import text_table
from bsx.support.checks import Array
from bsx.support.progress import Progress
from bsx.support.settings import complete, in_range, set_fields, takes

Row = TypeVar("Row", bound=ChallengeRow)


@dataclass(eq=False)
class ChallengeRun:
    """What came out.

    Attributes:
        result: accuracies and tests.
        document: the same, as it is printed.
        settings: what was asked for, by name.
        signatures: metric -> signature, of those that scored here.
        notes: what the reader should know.
        about: what the metrics say of themselves.
    """

    result: ChallengeResult
    document: ChallengeDocument
    settings: dict[str, object]
    signatures: dict[str, str]
    notes: list[str]
    about: list[str]

    def to_dict(self) -> dict[str, object]:
        """Return everything but the provenance, for other programs."""
        return {**self.document.to_dict(), "settings": self.settings, "notes": self.notes}

    def to_text(self) -> str:
        """Return tables, for people."""
        return _text(self.document)

    def plot(self, path: Path) -> None:
        """Draw the accuracies as a map of metrics and phenomena.

        Args:
            path: .png, .svg or .pdf.
        """
        _draw(self.document, path)


@in_range
@takes(ChallengeSettings)
def challenge_metrics(
    file: Path,
    *,
    columns: Sequence[str] = (),
    metrics: Sequence[str] = (),
    lower: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    settings: ScorerConfig | None = None,
    progress: Progress | None = None,
    **how: Unpack[ChallengeSettings],
) -> ChallengeRun:
    """Count how often metrics score a good translation above a bad one, by phenomenon and severity.

    Args:
        file: challenge set; see `bsx.analysis.load_challenge` for its layouts.
        columns: metrics with scores in the file: of ``chrf`` the columns ``chrf-good`` and ``chrf-bad``.
        metrics: specs of metrics to score the texts with; those without references compare with the sources.
        lower: those of ``columns`` of which lower is better: their sign is turned.
        weights: severity -> weight of its rows; critical 25, major 5, minor 1 unless given.
        settings: model, language, and where and within what limits ``metrics`` run.
        progress: called with phase, done and total.
        **how: see `bsx.jobs.settings.ChallengeSettings`.

    Raises:
        InputError: for a file or metric that cannot be used.
    """
    if not columns and not metrics:
        raise InputError("give `columns=COL,…` for columns of scores, or `metrics=METRICS` to compute them")
    asked = complete(how, ChallengeSettings)
    found = load_challenge(file, columns)
    scores = dict(found.scores)
    for name in lower:
        if name not in scores:
            raise InputError(f"`lower={name}`: is none of the columns of scores ({', '.join(scores)})")
        scores[name] = (-scores[name][0], -scores[name][1])
    notes, said = list(found.notes), list[str]()
    signatures: dict[str, str] = {}
    if metrics:
        rows, said = _scored(found, metrics, scores, settings, asked["skip_errors"], progress)
        for one in rows:
            half = len(found.pairs)
            scores[one.metric] = (one.values[:half], one.values[half:])
            signatures[one.metric] = one.signature
            notes += one.notes
    missing = any(np.isnan(side).any() for both in scores.values() for side in both)
    result = challenge(
        found.pairs,
        scores,
        weights=weights,
        anchor=asked["anchor"],
        correction=asked["correction"],
        confidence=asked["confidence"],
        nan="omit" if missing and asked["skip_errors"] else asked["nan"],
    )
    if len(result.kept) < len(found.pairs):
        left = len(found.pairs) - len(result.kept)
        notes.append(f"{left} of {len(found.pairs)} pairs miss a score and are left out for all metrics")
    notes += result.notes
    named = {
        **asked,
        "columns": list(columns),
        "metrics": list(metrics),
        "lower": list(lower),
        "weights": dict(result.weights),
    }
    named |= {name: str(value) for name, value in set_fields(settings).items()}
    return ChallengeRun(result, challenge_document(result), named, signatures, notes, said)


def _scored(
    found: ChallengeSet,
    named: Sequence[str],
    columns: Mapping[str, tuple[Array, Array]],
    settings: ScorerConfig | None,
    skip: bool,
    progress: Progress | None,
) -> tuple[list[RowScores], list[str]]:
    metrics = open_metrics(named, settings if settings is not None else ScorerConfig())
    wanted = [*columns, *(metric.spec for metric in metrics)]
    for metric in metrics:
        if wanted.count(metric.spec) > 1:
            raise InputError(f"the metric {metric.spec} is asked for twice")
        lacks = metric.needs - {"candidate"} - found.has
        if lacks:
            place = next(p.where for p in found.pairs if any(getattr(p, kind) is None for kind in lacks))
            raise InputError(
                f"{metric.spec} needs a {' and a '.join(sorted(lacks))}, and {place} has none: leave it out"
            )
    pairs, n = found.pairs, len(found.pairs)

    def where(place: int) -> str:
        return f"the {'good' if place < n else 'bad'} text of {pairs[place % n].where}"

    candidates = [pair.good for pair in pairs] + [pair.bad for pair in pairs]
    references, sources = (
        [str(getattr(pair, kind)) for pair in pairs] * 2 if kind in found.has else None
        for kind in ("reference", "source")
    )
    rows = score_all(metrics, candidates, references, sources, skip_errors=skip, where=where, progress=progress)
    return rows, about(metrics)


def challenge_document(result: ChallengeResult) -> ChallengeDocument:
    """Return the document that ``bsx adversarial challenge`` prints, without settings, notes and provenance."""
    metrics = {}
    for one in result.results:
        metrics[one.metric] = ChallengedMetric(
            overall=None if one.overall is None else _row(one.overall),
            macro=one.macro,
            weighted=one.weighted,
            severities={name: _row(found) for name, found in one.severities.items()},
            phenomena={
                name: _row(found, PhenomenonRow, severity=result.severity_of[name])
                for name, found in one.phenomena.items()
            },
        )
    tests = mcnemar_rows(result.tests, result.p_corrected)
    return ChallengeDocument(metrics=metrics, tests=tests, anchor=result.anchor, weights=dict(result.weights))


def _row(found: Accuracy, kind: type[Row] = ChallengeRow, **more: str) -> Row:  # type: ignore[assignment]
    figures = {
        "n": found.n,
        "right": found.right,
        "tied": found.tied,
        "items": found.items,
        "rate": found.rate,
        "ci": (found.low, found.high),
        "kendall": found.kendall,
        "drop": found.drop,
        "sensitivity": found.sensitivity,
    }
    return kind.model_validate({**more, **figures})


def _text(content: ChallengeDocument) -> str:
    rows = [["metric", "severity", "n", "right", "ties", "accuracy with interval", "Kendall-like"]]
    for name, one in content.metrics.items():
        parts = [("all", one.overall), *sorted(one.severities.items(), key=lambda part: _order(part[0]))]
        for place, (severity, found) in enumerate(part for part in parts if part[1] is not None):
            assert found is not None  # noqa: S101 - for the type checker
            counts = map(str, (found.n, found.right, found.tied))
            rows.append([name if not place else "", severity, *counts, _rate(found), f"{found.kendall:+.4f}"])
    blocks = [text_table(rows, "llr")]
    rows = [["metric", "mean of phenomena", "weighted by severity"]]
    rows += [[name, f"{_shown(one.macro)}", _shown(one.weighted)] for name, one in content.metrics.items()]
    blocks.append(text_table(rows))
    first = next(iter(content.metrics.values()))
    names = sorted(first.phenomena, key=lambda name: (_order(first.phenomena[name].severity), name))
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
            rows.append([name, *(_shown(one.phenomena[name].sensitivity) for one in content.metrics.values())])
        blocks.append(f"Sensitivity: mean drop, that of {content.anchor!r} being 1\n{text_table(rows)}")
    if content.tests:
        lines = ["McNemar tests with sentences as clusters (rows that only one of the two gets right; two-sided p)"]
        lines += [
            f"  {t.a} {t.only_a}, {t.b} {t.only_b}: p {p_value(t.p)}"
            + (f", corrected {p_value(t.p_corrected)}" if t.p_corrected is not None else "")
            for t in content.tests
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _order(severity: str) -> int:
    known = ("critical", "major", "minor", "base")
    return known.index(severity) if severity in known else -1


def _rate(found: ChallengeRow) -> str:
    return f"{found.rate:.4f}" + (f" [{found.ci[0]:.4f}, {found.ci[1]:.4f}]" if found.ci else "")


def _shown(value: float | None) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.4f}"


def _draw(content: ChallengeDocument, path: Path) -> None:
    first = next(iter(content.metrics.values()))
    names = sorted(first.phenomena, key=lambda name: (_order(first.phenomena[name].severity), name))
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
        figure.colorbar(image, ax=axes, label="share of rows on which the good translation scores higher")
