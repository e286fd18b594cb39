"""``bsx metrics ablation``: Table 9 of the BERTScore paper on one's own data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.cli.messages import say

if TYPE_CHECKING:
    from bsx.cli.judged import Judged


def ablation(
    data: Annotated[str, typer.Option(help="Table of human-judged segments.")],
    model: Annotated[str, typer.Option("-m", "--model", help="Encoder.")],
    mnli_model: Annotated[str | None, typer.Option(help="Encoder fine-tuned on MNLI, for the rows with MNLI.")] = None,
    layer: Annotated[int | None, typer.Option(help="Layer without power means; the model's best unless given.")] = None,
    candidate: Annotated[str, typer.Option(help="Column of candidates.")] = "candidate",
    reference: Annotated[str, typer.Option(help="Column of references.")] = "reference",
    human: Annotated[str, typer.Option(help="Column of human scores.")] = "human",
    group: Annotated[str | None, typer.Option(help="Column to correlate within; lp if there is one.")] = None,
    long_idf: Annotated[
        list[str] | None,
        typer.Option(help="GROUP=FILE: all references of a group's test set, a text a line (IDF-L); repeatable."),
    ] = None,
    lang: Annotated[str, typer.Option("-l", "--lang", help="Keep rows of a column lp that go into this language.")] = (
        "en"
    ),
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the table: .tsv, .csv, .jsonl.")] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """Correlate every combination of MoverScore's components with human scores, for three ways of matching."""
    from bsx.cli.judged import read_judged
    from bsx.data.output import ScoreTable
    from bsx.errors import InputError

    judged = read_judged([data], candidate, reference, human, group, lang)
    files: dict[str, Path] = {}
    for part in long_idf or []:
        name, equals, file = part.partition("=")
        if not equals or name not in judged.groups:
            known = ", ".join(dict.fromkeys(judged.groups))
            raise InputError(f"--long-idf {part}: write GROUP=FILE with one of the groups {known}")
        files[name] = Path(file)
    rows = _correlate(judged, model, mnli_model, layer, files, device)
    if output is not None:
        with ScoreTable(output) as table:
            for row in rows:
                table.write(row)
    say(judged.notes)
    print(json.dumps(rows, ensure_ascii=False) if format == "json" else _text(rows))


def _correlate(
    judged: Judged, model: str, mnli: str | None, layer: int | None, files: dict[str, Path], device: str
) -> list[dict[str, Any]]:
    import numpy as np

    from bsx.analysis.stats.layers import pearson
    from bsx.catalog.catalog import load_registry
    from bsx.cli.progress import progress_bar
    from bsx.data.corpus import MemoryCorpus
    from bsx.encode.session import Encoders
    from bsx.metrics.embedding.ablation import MATCHINGS, grid
    from bsx.metrics.run import score_corpus

    catalog = load_registry()
    entry = catalog.find(model)
    if layer is None and entry is not None and isinstance(entry.layer, int):
        layer = entry.layer
    groups, figures = list(dict.fromkeys(judged.groups)), {}
    with progress_bar() as report:
        for group in groups:
            encoders = Encoders(device=device, registry=catalog)
            rows = list(grid(model, layer, long_idf=files.get(group), mnli=mnli))
            metrics = {(row.name, m): row.metric(m, encoders) for row in rows for m in MATCHINGS}
            chosen = [i for i, name in enumerate(judged.groups) if name == group]
            corpus = MemoryCorpus(
                {"candidate": [judged.candidates[i] for i in chosen]}, [judged.references[i] for i in chosen]
            )
            people = np.array([judged.human[i] for i in chosen])
            name = group if report is not None else ""
            bar = None if report is None else lambda _, done, total, name=name: report(name, done, total)
            scores = score_corpus(list(metrics.values()), corpus, progress=bar)
            for (row, matching), metric in metrics.items():
                values = scores[metric.spec]["candidate"].values
                figures[row, matching, group] = float(pearson(values, people))
    names = dict.fromkeys((row, matching) for row, matching, _ in figures)
    table = []
    for row_name, matching in names:
        found = {group: figures.get((row_name, matching, group)) for group in groups}
        complete = [value for value in found.values() if value is not None]
        mean = sum(complete) / len(complete) if len(complete) == len(groups) else None
        table.append({"components": row_name, "matching": matching, **found, "mean": mean})
    return table


def _text(rows: list[dict[str, Any]]) -> str:
    width = max(len(row["components"]) for row in rows)
    groups = [name for name in rows[0] if name not in ("components", "matching")]
    lines = [f"{'components':<{width}}  matching  " + "  ".join(f"{name:>7}" for name in groups)]
    for row in rows:
        cells = ("      -" if row[name] is None else f"{row[name]:7.3f}" for name in groups)
        lines.append(f"{row['components']:<{width}}  {row['matching']:<8}  " + "  ".join(cells))
    return "\n".join(lines)
