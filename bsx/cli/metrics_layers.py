"""``bsx metrics layers``: how well each layer of a metric's model agrees with people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.cli.messages import say

if TYPE_CHECKING:
    from bsx.analysis.stats.layers import LayerAgreement


def layers(
    data: Annotated[list[str], typer.Option(help="Table of human-judged segments; repeatable.")],
    model: Annotated[str, typer.Option("-m", "--model", help="Encoder.")],
    metric: Annotated[
        list[str] | None, typer.Option(help="Metrics with a field layer, as for bsx score --metric. [bertscore]")
    ] = None,
    candidate: Annotated[str, typer.Option(help="Column of candidates.")] = "candidate",
    reference: Annotated[str, typer.Option(help="Column of references.")] = "reference",
    human: Annotated[str, typer.Option(help="Column of human scores.")] = "human",
    group: Annotated[str | None, typer.Option(help="Column to correlate within; lp if there is one.")] = None,
    lang: Annotated[str, typer.Option("-l", "--lang", help="Keep rows of a column lp that go into this language.")] = (
        "en"
    ),
    statistic: Annotated[Literal["pearson", "kendall"], typer.Option(help="Which correlation.")] = "pearson",
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples of segments, for the intervals.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw it: .png, .svg or .pdf.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write a table: .tsv, .csv, .jsonl.")] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """Score human-judged data with every layer, for any metrics that have layers; each text is encoded once."""
    from bsx.catalog.specs import split_specs
    from bsx.cli.judged import read_judged
    from bsx.data.output import ScoreTable

    specs = [spec for part in metric or ["bertscore"] for spec in split_specs(part)]
    judged = read_judged(data, candidate, reference, human, group, lang)
    say(judged.notes)
    results = dict(_sweep(specs, judged, model, device, (statistic, resamples, seed)))
    rows = [
        {
            "metric": spec,
            "layer": layer,
            "mean": float(result.mean[layer, 2]),
            "low": float(result.low[layer]),
            "high": float(result.high[layer]),
            "best": layer == result.best_layer,
            **{name: float(result.by_group[i, layer, 2]) for i, name in enumerate(result.groups)},
        }
        for spec, result in results.items()
        for layer in range(len(result.mean))
    ]
    if output is not None:
        with ScoreTable(output) as table:
            for row in rows:
                table.write(row)
    if plot is not None:
        from bsx.analysis.agreement.plots import draw_metric_layers

        draw_metric_layers(results, plot, title=f"{model}: {', '.join(judged.names)}")
    print(json.dumps(rows, ensure_ascii=False) if format == "json" else _text(rows))


def _sweep(
    specs: Sequence[str], judged: Any, model: str, device: str, settings: tuple[Any, int, int]
) -> Iterator[tuple[str, LayerAgreement]]:
    import numpy as np

    from bsx.analysis.stats.layers import layer_agreement
    from bsx.catalog.specs import read_spec
    from bsx.cli.progress import progress_bar
    from bsx.data.corpus import MemoryCorpus
    from bsx.encode.session import Encoders
    from bsx.errors import InputError
    from bsx.metrics.run import score_corpus
    from bsx.metrics.zoo import find_metric, get_metrics

    encoders = Encoders(model=model, device=device)
    depth = encoders.locate(None).architecture.depth
    for spec in specs:
        name, given = read_spec(spec)
        if "layer" not in find_metric(name, encoders.catalog)[0].Config.model_fields or "layer" in given:
            raise InputError(f"{spec}: a sweep needs a metric with a setting layer, left open")
    joined = [[f"{spec}{',' if ':' in spec else ':'}layer={k}" for k in range(depth + 1)] for spec in specs]
    metrics = get_metrics([name for names in joined for name in names], encoders=encoders)
    corpus = MemoryCorpus({"candidate": judged.candidates}, judged.references)
    with progress_bar() as report:
        scores = score_corpus(metrics, corpus, progress=report)
    statistic, resamples, seed = settings
    for spec, names in zip(specs, joined, strict=True):
        values = np.stack([scores[name]["candidate"].values for name in names]).astype(np.float32)
        # One figure, not three: it takes the place of P, R and F1.
        yield (
            spec,
            layer_agreement(
                values, values, values, judged.human, judged.groups, statistic=statistic, resamples=resamples, seed=seed
            ),
        )


def _text(rows: list[dict[str, Any]]) -> str:
    width = max(len(row["metric"]) for row in rows)
    lines = [f"{'metric':<{width}}  layer     mean  95% interval"]
    for row in rows:
        mark = "  <- best" if row["best"] else ""
        interval = f"[{row['low']:.4f}, {row['high']:.4f}]"
        lines.append(f"{row['metric']:<{width}}  {row['layer']:>5}  {row['mean']:7.4f}  {interval}{mark}")
    return "\n".join(lines)
