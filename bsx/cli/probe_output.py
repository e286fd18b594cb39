"""The findings of ``bsx probe`` as text, JSON, CSV, LaTeX and as a table file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bsx.analysis.probing import ProbeResult
    from bsx.analysis.side_by_side import SideBySide
    from bsx.cli.probe_job import Findings


def _rows(findings: Findings) -> Iterator[dict[str, Any]]:
    """Yield a row a task and layer; what was not measured is None."""
    for result in findings.results:
        for i, layer in enumerate(result.layers):
            row: dict[str, Any] = {"task": result.task, "layer": layer, **_measured(result, i)}
            if findings.beside is not None:
                row["agreement"] = float(findings.beside.agreement[i])
            yield row


def _measured(result: ProbeResult, i: int) -> dict[str, Any]:
    control, curve = result.control, result.curve
    row: dict[str, Any] = {
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


def as_json(findings: Findings) -> dict[str, Any]:
    """Return everything, for other programs."""
    tasks = []
    for task, result in zip(findings.tasks, findings.results, strict=True):
        control, curve = result.control, result.curve
        content: dict[str, Any] = {
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
            "control": None,
            "curve": [],
        }
        if control is not None:
            content["control"] = {"baseline": control.baseline, "types": control.types, "seen": control.seen}
        for j, size in enumerate(() if curve is None else curve.sizes):
            figures = {name: getattr(curve, name)[j].tolist() for name in ("accuracy", "low", "high", "by_seed")}
            content["curve"].append({"size": size, **figures})
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


def _agreement(beside: SideBySide) -> dict[str, Any]:
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
    stream = io.StringIO()
    rows = list(_rows(findings))
    writer = csv.DictWriter(stream, list({name: None for row in rows for name in row}), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: f"{v:.6g}" if isinstance(v, float) else v for name, v in row.items()} for row in rows)
    return stream.getvalue().rstrip("\n")


def write_table(findings: Findings, path: Path) -> None:
    """Write a row a task and layer, with the signature beside it."""
    from bsx.table import ScoreTable

    rows = list(_rows(findings))
    columns = {name: None for row in rows for name in row}  # a size may be beyond one task's training part
    with ScoreTable(path) as table:
        table.signature = findings.signature
        for row in rows:
            table.write({name: row.get(name) for name in columns})


def as_text(findings: Findings) -> str:
    """Return a table a task, then all tasks beside the agreement with people."""
    blocks = [_task_text(result) for result in findings.results]
    if findings.beside is not None and findings.people is not None:
        blocks.append(_beside_text(findings.beside, findings.people))
    return "\n\n".join([*blocks, findings.signature])


def _task_text(result: ProbeResult) -> str:
    control, curve = result.control, result.curve
    split = "given split" if result.given else f"{len(result.seeds)} random splits"
    lines = [
        f"{result.task}: {result.n} items, {len(result.labels)} labels; {split}, "
        f"{result.parts[0]} to train, {result.parts[1]} to validate, {result.parts[2]} to test; "
        f"most frequent label {result.baseline:.4f}"
    ]
    head = "layer  accuracy      95% interval  seeds±  macro-F1"
    if control is not None:
        lines.append(
            f"control task: {control.types} types, {control.seen:.0%} of test items have a type to remember; "
            f"most frequent label {control.baseline:.4f}"
        )
        head += "  control  selectivity       95% interval"
    sizes = () if curve is None else curve.sizes
    lines.append(head + "".join(f"  {f'at {size}':>8}" for size in sizes))
    for i, layer in enumerate(result.layers):
        line = (
            f"{layer:>5}  {result.accuracy[i]:8.4f}  [{result.low[i]:.4f}, {result.high[i]:.4f}]  "
            f"{result.spread[i]:6.4f}  {result.macro_f1[i]:8.4f}"
        )
        if control is not None:
            interval = f"[{control.low[i]:+.4f}, {control.high[i]:+.4f}]"
            line += f"  {control.accuracy[i]:7.4f}  {control.selectivity[i]:+11.4f}  {interval}"
        if curve is not None:
            line += "".join(f"  {value:8.4f}" for value in curve.accuracy[:, i])
        lines.append(line + ("  <- best" if layer == result.best_layer else ""))
    if len(result.layers) > 1:
        lines.append(f"layer {result.best_layer} is best in {result.win_share:.0%} of bootstrap resamples")
    return "\n".join(lines)


def _beside_text(beside: SideBySide, people: dict[str, Any]) -> str:
    width = max(12, *(len(task) for task in beside.tasks))
    named = "  ".join(f"{task:>{width}}" for task in beside.tasks)
    lines = [
        f"agreement with people: mean {beside.statistic} of BERTScore's F1 over {len(people['groups'])} groups of "
        f"{people['data']}, {people['n']} segments; probes: accuracy",
        f"layer  agreement      95% interval  {named}",
    ]
    for i, layer in enumerate(beside.layers):
        known = "  ".join(f"{value:{width}.4f}" for value in beside.accuracy[:, i])
        interval = f"[{beside.low[i]:.4f}, {beside.high[i]:.4f}]"
        lines.append(f"{layer:>5}  {beside.agreement[i]:9.4f}  {interval}  {known}")
    for name, values in (("Pearson", beside.pearson), ("Spearman", beside.spearman)):
        known = "  ".join(f"{value:{width}.2f}" for value in values)
        lines.append(f"{f'{name} with agreement, over layers':<34}  {known}")
    return "\n".join(lines)


def as_latex(findings: Findings) -> str:
    """Return a tabular of accuracies, a row a layer, the best of each column bold (needs booktabs)."""
    columns = [(r.task.replace("_", " "), r.accuracy.tolist()) for r in findings.results]
    if findings.beside is not None:
        columns.append((f"{findings.beside.statistic} with people", findings.beside.agreement.tolist()))
    lines = [
        rf"\begin{{tabular}}{{r{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(["layer", *(_escape(name) for name, _ in columns)]) + r" \\",
        r"\midrule",
    ]
    for i, layer in enumerate(findings.results[0].layers):
        cells = [rf"\textbf{{{v[i]:.3f}}}" if v[i] == max(v) else f"{v[i]:.3f}" for _, v in columns]
        lines.append(" & ".join([str(layer), *cells]) + r" \\")
    baselines = [f"{result.baseline:.3f}" for result in findings.results]
    baselines += [""] * (len(columns) - len(baselines))
    lines += [r"\midrule", " & ".join(["majority", *baselines]) + r" \\", r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines)


def _escape(text: str) -> str:
    return "".join(rf"\{c}" if c in "&%$#_{}" else c for c in text)
