"""``bsx registry tune``: find the layer that agrees best with people."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from bsx.cli.messages import say
from bsx.cli.options import with_settings
from bsx.cli.progress import progress_bar

if TYPE_CHECKING:
    from bsx.analysis.stats.layers import LayerAgreement
    from bsx.catalog.entries import ModelEntry


@with_settings("model", "lang", "layer", "all_layers", "rescale", "baseline", "registry", "final_norm")
def tune(
    model: Annotated[str, typer.Argument(help="Registry name or alias, folder, or hub id.")],
    data: Annotated[list[str], typer.Option(help="Table with candidates, references and human scores; repeatable.")],
    lang: Annotated[str, typer.Option("-l", "--lang", help="Language of the candidates.")],
    candidate: Annotated[str, typer.Option(help="Column of candidates.")] = "candidate",
    reference: Annotated[str, typer.Option(help="Column of references.")] = "reference",
    human: Annotated[str, typer.Option(help="Column of human scores.")] = "human",
    group: Annotated[
        str | None, typer.Option(help="Column of groups to average over; lp (language pairs into --lang) if there.")
    ] = None,
    statistic: Annotated[Literal["pearson", "kendall"], typer.Option(help="Correlation.")] = "pearson",
    resamples: Annotated[int, typer.Option(min=10, help="Bootstrap resamples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw correlation over layers: .png, .svg or .pdf.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write layer and evidence to the overlay registry.")] = False,
    registry: Annotated[Path | None, typer.Option(help="Overlay folder to read and write; the user's own.")] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
    **settings: Any,
) -> None:
    """Score human-judged data with every layer and choose the one that agrees best."""
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.languages import find_language
    from bsx.cli.judged import read_judged

    catalog = load_registry(registry if registry is not None and registry.is_dir() else None)
    language = find_language(lang, catalog)
    judged = read_judged(data, candidate, reference, human, group, language.code)
    say(judged.notes)
    from bsx.analysis.stats.layers import layer_agreement
    from bsx.bertscore.scorer import Scorer

    scorer = Scorer(model, all_layers=True, registry=catalog, **settings)
    with progress_bar() as report:
        scores = scorer.score(judged.candidates, judged.references, progress=report)
    result = layer_agreement(
        scores.precision,
        scores.recall,
        scores.f1,
        judged.human,
        judged.groups,
        statistic=statistic,
        resamples=resamples,
        seed=seed,
    )
    if plot is not None:
        from bsx.analysis.agreement.plots import draw_layers

        draw_layers(result, plot, title=f"{scorer.model}: {', '.join(judged.names)}")
    _show(result, scorer.model, str(scores.signature), format)
    if write:
        _write(catalog.model(model), result, judged.names, language.code, str(scores.signature), registry)


def _show(result: LayerAgreement, model: str, signature: str, format: str) -> None:
    layers = [
        {"layer": layer, "precision": p, "recall": r, "f1": f, "f1_low": low, "f1_high": high}
        for layer, ((p, r, f), low, high) in enumerate(
            zip(result.mean.tolist(), result.low.tolist(), result.high.tolist(), strict=True)
        )
    ]
    if format == "json":
        content = {
            "model": model,
            "n": result.n,
            "statistic": result.statistic,
            "groups": {name: result.by_group[i, :, 2].tolist() for i, name in enumerate(result.groups)},
            "layers": layers,
            "best_layer": result.best_layer,
            "win_share": result.win_share,
            "signature": signature,
        }
        print(json.dumps(content, ensure_ascii=False))
        return
    print(f"{model}: mean {result.statistic} over {len(result.groups)} groups, {result.n} segments")
    print("layer  precision  recall      f1  95% interval of f1")
    for row in layers:
        mark = "  <- best" if row["layer"] == result.best_layer else ""
        print(
            f"{row['layer']:>5}  {row['precision']:9.4f}  {row['recall']:6.4f}  {row['f1']:6.4f}  "
            f"[{row['f1_low']:.4f}, {row['f1_high']:.4f}]{mark}"
        )
    margin = result.mean[result.best_layer, 2] - result.mean[result.runner_up, 2]
    print(
        f"layer {result.best_layer} is best in {result.win_share:.0%} of bootstrap resamples; "
        f"it leads layer {result.runner_up} by {margin:.4f}"
    )
    print(signature)


def _write(
    entry: ModelEntry, result: LayerAgreement, names: list[str], code: str, signature: str, registry: Path | None
) -> None:
    from bsx.catalog.entries import Evidence
    from bsx.catalog.overlay import write_model

    value = float(np.round(result.mean[result.best_layer, 2], 6))
    if not math.isfinite(value):
        return
    evidence = Evidence(
        dataset=f"{', '.join(names)} ({', '.join(result.groups)})",
        language=code,
        statistic=f"mean {result.statistic} of F1, {result.n} segments",
        value=value,
        source=f"bsx registry tune; {signature}",
    )
    kept = [old for old in entry.evidence if old.dataset != evidence.dataset]
    file = write_model(entry.model_copy(update={"layer": result.best_layer, "evidence": [*kept, evidence]}), registry)
    print(f"written: {file}", file=sys.stderr)
