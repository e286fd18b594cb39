"""The findings of ``bsx probe`` as JSON, CSV and a table file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bsx.analysis.probing.beside_people import SideBySide
    from bsx.analysis.probing.experiment import ProbeResult
    from bsx.jobs.probing.run import Findings


def _rows(findings: Findings) -> Iterator[dict[str, object]]:
    """Yield a row a task and layer; what was not measured is None."""
    for result in findings.results:
        for i, layer in enumerate(result.layers):
            row: dict[str, object] = {"task": result.task, "layer": layer, **_measured(result, i)}
            if findings.beside is not None:
                row["agreement"] = float(findings.beside.agreement[i])
            yield row


def _measured(result: ProbeResult, i: int) -> dict[str, object]:
    control, curve = result.control, result.curve
    row: dict[str, object] = {
        "accuracy": float(result.accuracy[i]),
        "low": float(result.low[i]),
        "high": float(result.high[i]),
        "spread": _finite(result.spread[i]),
        "macro_f1": float(result.macro_f1[i]),
        "baseline": result.baseline,
        "control": None if control is None else float(control.accuracy[i]),
        "selectivity": None if control is None else float(control.selectivity[i]),
        "selectivity_low": None if control is None else float(control.low[i]),
        "selectivity_high": None if control is None else float(control.high[i]),
    }
    if curve is not None:
        row |= {f"accuracy_at_{size}": float(curve.accuracy[j, i]) for j, size in enumerate(curve.sizes)}
    return row


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def as_json(findings: Findings) -> dict[str, object]:
    """Return everything, for other programs."""
    tasks = []
    for task, result in zip(findings.tasks, findings.results, strict=True):
        control, curve = result.control, result.curve
        content: dict[str, object] = {
            "task": result.task,
            "n": result.n,
            "train": result.parts[0],
            "validation": result.parts[1],
            "test": result.parts[2],
            "split": "given" if result.given else "drawn",
            "labels": list(result.labels),
            "seeds": list(result.seeds),
            "baseline": result.baseline,
            "ceiling": task.ceiling,
            "best_layer": result.best_layer,
            "runner_up": result.runner_up,
            "win_share": result.win_share,
            "layers": [
                {"layer": layer, **_measured(result, i), "by_seed": result.by_seed[i].tolist()}
                for i, layer in enumerate(result.layers)
            ],
            "control": control and {"baseline": control.baseline, "types": control.types, "seen": control.seen},
            "curve": [
                {"size": size}
                | {name: getattr(curve, name)[j].tolist() for name in ("accuracy", "low", "high", "by_seed")}
                for j, size in enumerate(() if curve is None else curve.sizes)
            ],
        }
        tasks.append(content)
    people = None
    if findings.beside is not None and findings.people is not None:
        people = {**findings.people, **_agreement(findings.beside)}
    return {
        "model": findings.model,
        "probe": findings.results[0].probe,
        "tasks": tasks,
        "agreement": people,
        "notes": findings.notes,
        "signature": findings.signature,
    }


def _agreement(beside: SideBySide) -> dict[str, object]:
    return {
        "statistic": beside.statistic,
        "layers": list(beside.rows()),
        "across_layers": {
            task: {"pearson": _finite(r), "spearman": _finite(rho)}
            for task, r, rho in zip(beside.tasks, beside.pearson, beside.spearman, strict=True)
        },
    }


def as_csv(findings: Findings) -> str:
    """Return a row a task and layer."""
    from bsx.analysis.render.tables import csv_table

    rows = [{name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()} for row in _rows(findings)]
    columns = {name: None for row in rows for name in row}
    return csv_table([columns, *([row.get(name, "") for name in columns] for row in rows)]).rstrip("\n")


def write_table(findings: Findings, path: Path) -> None:
    """Write a row a task and layer, with the signature beside it."""
    from bsx.data.output import ScoreTable

    rows = list(_rows(findings))
    columns = {name: None for row in rows for name in row}  # a size may be beyond one task's training part
    with ScoreTable(path) as table:
        table.signature = findings.signature
        for row in rows:
            table.write({name: row.get(name) for name in columns})
