"""The findings of ``bsx probe`` as text and LaTeX, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bsx.analysis.render.tables import latex_escape, latex_table

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


def _beside_text(beside: SideBySide, people: People) -> str:
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
    rows = [["layer", *(latex_escape(name) for name, _ in columns)]]
    for i, layer in enumerate(findings.results[0].layers):
        cells = [rf"\textbf{{{v[i]:.3f}}}" if v[i] == max(v) else f"{v[i]:.3f}" for _, v in columns]
        rows.append([str(layer), *cells])
    baselines = [f"{result.baseline:.3f}" for result in findings.results]
    last = ["majority", *baselines, *[""] * (len(columns) - len(baselines))]
    return latex_table([*rows, last], columns="r" * len(rows[0]), foot=1)
