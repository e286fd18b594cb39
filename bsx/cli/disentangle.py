"""``bsx disentangle``: which linguistic factors explain a metric's scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.cli.messages import say

if TYPE_CHECKING:
    from bsx.analysis.disentangling.result import DisentangleResult


_ENDINGS = {"text": "txt", "json": "json", "csv": "csv", "latex": "tex", "markdown": "md"}


def disentangle(
    file: Annotated[Path, typer.Argument(help="Table of scores and factors: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    metrics: Annotated[str, typer.Option(help="Columns to explain, separated by commas.")],
    factors: Annotated[str, typer.Option(help="Columns to explain them with, separated by commas.")],
    se: Annotated[Literal["classic", "hc3", "cluster"], typer.Option(help="Kind of standard errors.")] = "classic",
    cluster: Annotated[str | None, typer.Option(help="Column of clusters, for --se cluster.")] = None,
    group: Annotated[str | None, typer.Option(help="Column of groups to fit one by one and compare.")] = None,
    lang: Annotated[
        str | None, typer.Option("-l", "--lang", help="Keep rows of a column lp that go into this language.")
    ] = None,
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = False,
    bootstrap: Annotated[int, typer.Option(help="Resamples for bootstrap intervals; 0 for none.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.")] = 1,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    correction: Annotated[
        Literal["none", "holm", "bh"], typer.Option(help="Correct p for the number of coefficients.")
    ] = "none",
    nan: Annotated[
        Literal["error", "omit"], typer.Option(help="Refuse missing numbers, or leave such rows out.")
    ] = "error",
    add: Annotated[
        list[str] | None, typer.Option(help="Test whether these factors add anything to the others; repeatable.")
    ] = None,
    checks: Annotated[bool, typer.Option("--checks", help="Test for bends and for products of factors.")] = False,
    compare: Annotated[str | None, typer.Option(help="Two metrics A,B whose coefficients to compare.")] = None,
    format: Annotated[Literal["text", "json", "csv", "latex", "markdown"], typer.Option(help="How to print.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for all forms of the result.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw pictures into the folder too.")] = False,
) -> None:
    """Regress metric scores on linguistic factors: coefficients, intervals, explained variance and its shares."""
    from bsx.analysis.disentangling.bootstrap import compare_coefficients
    from bsx.analysis.disentangling.checks import linearity_checks, nested_test
    from bsx.analysis.disentangling.fit import disentangle as regress
    from bsx.analysis.disentangling.tables import as_document, comparison_text, tests_text
    from bsx.cli.output import split_names
    from bsx.data.columns import read_columns
    from bsx.data.sidecar import known_signatures
    from bsx.errors import InputError
    from bsx.support.provenance import provenance

    if plot and output is None:
        raise InputError("--plot draws into a folder: say which with -o DIR")
    names, by = split_names(metrics), split_names(factors)
    labels = [name for name in dict.fromkeys((cluster, group, "lp" if lang else None)) if name is not None]
    table = read_columns(file, [*dict.fromkeys([*names, *by])], labels)
    if lang is not None:
        table = _into(table, lang, str(file))
    settings: dict[str, Any] = {"se": se, "cluster": cluster, "nan": nan}
    result = regress(
        table,
        names,
        by,
        group=group,
        intercept=intercept,
        bootstrap=bootstrap,
        seed=seed,
        confidence=confidence,
        correction=correction,
        **settings,
    )
    tests: dict[str, list[Any]] = {name: [] for name in names}
    for name in names if add or checks else []:
        for added in map(split_names, add or []):
            base = [factor for factor in by if factor not in added]
            tests[name].append(nested_test(table, name, base, added, intercept=intercept, **settings))
        if checks:
            tests[name] += linearity_checks(table, name, by, **settings).values()
    tests = {name: found for name, found in tests.items() if found}
    text, comparison = [result.to_text()], None
    if tests:
        text.append(tests_text(tests))
    if compare is not None:
        a, _, b = (part.strip() for part in compare.partition(","))
        if a == b or not {a, b} <= set(names):
            raise InputError(f"--compare {compare}: name two of the metrics {', '.join(names)}, as A,B")
        draws: dict[str, Any] = {"resamples": bootstrap or 2000, "seed": seed, "confidence": confidence}
        found = compare_coefficients(table, a, b, by, cluster=cluster, nan=nan, **draws)
        comparison = (a, b, found)
        text.append(comparison_text(a, b, found))
    content = as_document(result, tests=tests, comparison=comparison, seed=seed).to_dict()
    origin = provenance("disentangle", [file], known_signatures(file, [*names, *by]))
    forms = {
        "text": lambda: "\n\n".join(text) + "\n",
        "json": lambda: json.dumps({**content, "provenance": origin}, ensure_ascii=False) + "\n",
        "csv": result.to_csv,
        "latex": result.to_latex,
        "markdown": result.to_markdown,
    }
    if output is not None:
        _write_all(result, {name: form() for name, form in forms.items()}, output, plot=plot)
    if format != "text":
        say(notice.message for notice in result.warnings)
    print(forms[format](), end="")


def _into(table: dict[str, Any], lang: str, file: str) -> dict[str, Any]:
    from bsx.errors import InputError

    kept = [i for i, pair in enumerate(table["lp"]) if str(pair).rpartition("-")[2] == lang]
    if not kept:
        raise InputError(
            f"{file}: no row of column 'lp' goes into {lang}; there are {', '.join(sorted(set(table['lp'])))}"
        )
    return {name: [column[i] for i in kept] for name, column in table.items()}


def _write_all(result: DisentangleResult, forms: Mapping[str, str], folder: Path, *, plot: bool) -> None:
    """Write every form of a result, ``disentangle.txt`` and so on, and if wanted the pictures.

    Args:
        result: what to draw.
        forms: key of `_ENDINGS` -> content.
        folder: made if it is missing.
        plot: draw coefficients, shares of R² and each metric's residuals.
    """
    from bsx.data.output import atomic_text

    folder.mkdir(parents=True, exist_ok=True)
    for form, content in forms.items():
        with atomic_text(folder / f"disentangle.{_ENDINGS[form]}") as stream:
            stream.write(content)
    if not plot:
        return
    from bsx.analysis.disentangling.plots import draw_coefficients, draw_residuals, draw_shares

    draw_coefficients(result, folder / "coefficients.png", title="What the metrics depend on")
    draw_shares(result, folder / "shares.png", title="What explains the metrics")
    for fit in result:
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in fit.metric)
        draw_residuals(result, fit.metric, folder / f"residuals-{name}.png")
