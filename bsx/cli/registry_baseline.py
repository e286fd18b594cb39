"""``bsx registry baseline``: compute the baseline that ``--rescale`` needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bsx.cli.options import with_settings
from bsx.cli.progress import progress_bar

_NOT_HERE = ("model", "lang", "layer", "all_layers", "idf", "rescale", "baseline", "multi_ref", "strict", "final_norm")


@with_settings(*_NOT_HERE, "registry")
def baseline(
    model: Annotated[str, typer.Argument(help="Registry name or alias.")],
    corpus: Annotated[str, typer.Option(help="Sentences of the language, one a line.")],
    lang: Annotated[str, typer.Option("-l", "--lang", help="Their language.")],
    pairs: Annotated[int, typer.Option(min=2, help="Random pairs to score.")] = 1_000_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the random pairs.")] = 1,
    tolerance: Annotated[
        float | None, typer.Option(min=0, help="Stop when every standard error is at most this.")
    ] = None,
    state: Annotated[Path | None, typer.Option(help="File that keeps the sums, so that a run can go on.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the baseline to the overlay registry.")] = False,
    registry: Annotated[Path | None, typer.Option(help="Overlay folder to read and write; the user's own.")] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",
    **settings: Any,
) -> None:
    """Compute a rescaling baseline: the mean scores of random pairs of sentences, for every layer."""
    from bsx.bertscore.baseline import FIGURES, BaselineRun
    from bsx.catalog.catalog import load_registry
    from bsx.catalog.languages import find_language
    from bsx.data.lines import NamedFile

    sentences = list(NamedFile(corpus).lines())
    catalog = load_registry(registry if registry is not None and registry.is_dir() else None)
    entry, language = catalog.model(model), find_language(lang, catalog)
    from bsx.bertscore.scorer import Scorer
    from bsx.catalog.overlay import overlay_folder, write_baseline

    if state is None and write:
        state = overlay_folder(registry) / f".{language.code}-{entry.name}-{seed}.baseline-state.json"
    run = BaselineRun(
        Scorer(entry.name, all_layers=True, registry=catalog, **settings), sentences, seed=seed, state=state
    )
    if run.pairs:
        print(f"bsx: note: going on after {run.pairs} pairs ({state})", file=sys.stderr)
    with progress_bar() as report:
        run.run(pairs, tolerance=tolerance, progress=report)
    result = run.result(language.code, Path(corpus).name)
    if format == "json":
        print(json.dumps({**result.model_dump(), "pairs": run.pairs, "seed": seed}, ensure_ascii=False))
    else:
        print(f"{entry.name}, {language.name}: {run.pairs} pairs\nlayer  precision  recall     f1   s.e. of f1")
        for layer, (p, r, f) in enumerate(zip(*(getattr(result, name) for name in FIGURES), strict=True)):
            print(f"{layer:>5}  {p:9.4f}  {r:6.4f}  {f:.4f}  {run.standard_error()[layer, 2]:.5f}")
    if write:
        print(f"written: {write_baseline(result, registry)}", file=sys.stderr)
        run.finish()
