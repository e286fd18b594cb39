"""The findings of ``bsx probe`` as text and LaTeX, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bsx.analysis.render.tables import latex_escape, latex_table
from bsx.support.aligned import text_table

if TYPE_CHECKING:
    from bsx.analysis.probing.beside_people import SideBySide
    from bsx.analysis.probing.experiment import ProbeResult
    from bsx.jobs.probing.run import Findings, People


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
    head = ["layer", "accuracy", "95% interval", "seeds±", "macro-F1"]
    if control is not None:
        lines.append(
            f"control task: {control.types} types, {control.seen:.0%} of test items have a type to remember; "
            f"most frequent label {control.baseline:.4f}"
        )
        head += ["control", "selectivity", "95% interval"]
    rows = [[*head, *(f"at {size}" for size in (() if curve is None else curve.sizes)), ""]]
    for i, layer in enumerate(result.layers):
        row = [str(layer), f"{result.accuracy[i]:.4f}", f"[{result.low[i]:.4f}, {result.high[i]:.4f}]"]
        row += [f"{result.spread[i]:.4f}", f"{result.macro_f1[i]:.4f}"]
        if control is not None:
            interval = f"[{control.low[i]:+.4f}, {control.high[i]:+.4f}]"
            row += [f"{control.accuracy[i]:.4f}", f"{control.selectivity[i]:+.4f}", interval]
        if curve is not None:
            row += [f"{value:.4f}" for value in curve.accuracy[:, i]]
        rows.append([*row, "<- best" if layer == result.best_layer else ""])
    lines.append(text_table(rows, "r"))
    if len(result.layers) > 1:
        lines.append(f"layer {result.best_layer} is best in {result.win_share:.0%} of bootstrap resamples")
    return "\n".join(lines)


def _beside_text(beside: SideBySide, people: People) -> str:
    head = (
        f"agreement with people: mean {beside.statistic} of BERTScore's F1 over {len(people['groups'])} groups of "
        f"{people['data']}, {people['n']} segments; probes: accuracy"
    )
    rows = [["layer", "agreement", "95% interval", *beside.tasks]]
    for i, layer in enumerate(beside.layers):
        known = [f"{value:.4f}" for value in beside.accuracy[:, i]]
        rows.append([str(layer), f"{beside.agreement[i]:.4f}", f"[{beside.low[i]:.4f}, {beside.high[i]:.4f}]", *known])
    over = [["", *beside.tasks]]
    for name, values in (("Pearson", beside.pearson), ("Spearman", beside.spearman)):
        over.append([f"{name} with agreement, over layers", *(f"{value:.2f}" for value in values)])
    return "\n".join([head, text_table(rows, "r"), text_table(over)])


def as_latex(findings: Findings) -> str:
    """Return a tabular of accuracies, a row a layer, the best of each column bold (needs booktabs)."""
    columns = [(r.task.replace("_", " "), r.accuracy.tolist()) for r in findings.results]
    if findings.beside is not None:
        columns.append((f"{findings.beside.statistic} with people", findings.beside.agreement.tolist()))
    rows = [["layer", *(latex_escape(name) for name, _ in columns)]]
    for i, layer in enumerate(findings.results[0].layers):
        cells = [rf"\textbf{{{v[i]:.3f}}}" if v[i] == max(v) else f"{v[i]:.3f}" for _, v in columns]
        rows.append([str(layer), *cells])
    baselines = [f"{result.baseline:.3f}" for result in findings.results]
    last = ["majority", *baselines, *[""] * (len(columns) - len(baselines))]
    return latex_table([*rows, last], columns="r" * len(rows[0]), foot=1)
