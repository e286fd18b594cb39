"""``bsx data``: data sets with human judgments, where they come from, and whether they are here and unchanged."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bsx.cli.messages import say
from bsx.cli.options import Confidence, Format, Full, Output, Resamples, TableFormat
from bsx.cli.output import group, names, progress_bar, write_shown
from bsx.errors import InputError
from bsx.support.aligned import text_table
from bsx.support.json_text import to_json

if TYPE_CHECKING:
    from bsx.catalog.datasets import DatasetEntry

data = group()
Name = Annotated[str, typer.Argument(help="Name of the data set.")]
Folder = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder of all data sets; BSX_DATA or your data folder unless given.")
]


@data.callback(invoke_without_command=True)
def show_help(context: typer.Context) -> None:
    """List, show, fetch and verify data sets with human judgments."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@data.command("list")
def list_data(data_dir: Folder = None, format: Format = "text") -> None:
    """List the data sets of the registry and say which are here."""
    from bsx.catalog.datasets import load_dataset_catalog

    rows = [_row(entry, data_dir) for entry in load_dataset_catalog().entries.values()]
    if format == "json":
        print(to_json({"datasets": rows}))
        return
    cells = [["name", "here", "download", "licence", "title"]]
    for row in rows:
        here, download = ("yes" if row[name] else "no" for name in ("here", "files"))
        cells.append([str(row["name"]), here, download, str(row["licence"]), str(row["title"])])
    print(text_table(cells, "l"))


@data.command("test-sets")
def list_test_sets(data_dir: Folder = None, format: Format = "text") -> None:
    """List the test sets that `--test-set` takes: parts of data sets with candidates, and which are here."""
    from bsx.analysis.datasets.store import find_layout
    from bsx.analysis.datasets.testsets import test_sets
    from bsx.catalog.datasets import load_dataset_catalog

    catalog = load_dataset_catalog()
    here = {entry.name: find_layout(entry, data_dir) is not None for entry in catalog.entries.values()}
    rows = [{"name": one.name, "here": here[one.dataset], "dataset": one.dataset} for one in test_sets().values()]
    if format == "json":
        print(to_json({"test_sets": rows}))
        return
    cells = [["name", "here", "data set"]]
    cells += [[str(row["name"]), "yes" if row["here"] else "no", str(row["dataset"])] for row in rows]
    print(text_table(cells, "l"))
    say(["mt-metrics-eval holds others: mt-metrics-eval/wmt22/en-de, and so on"])


@data.command()
def show(name: Name, data_dir: Folder = None, format: Format = "text") -> None:
    """Show everything the registry says about one data set, and where it is."""
    from bsx.catalog.datasets import load_dataset_catalog

    row = _row(load_dataset_catalog().entry(name), data_dir)
    if format == "json":
        print(to_json(row))
        return
    cells = []
    for key, value in row.items():
        if key == "files":
            continue
        shown = ", ".join(value) if isinstance(value, list) else {None: "-", True: "yes", False: "no"}.get(value, value)
        cells.append([key, str(shown or "-")])
    for file in row["files"]:
        size = f"{file['size']:,} bytes" if file["size"] is not None else "size unknown"
        cells.append(["file", f"{file['url']} ({size}; sha256 {file['sha256'] or 'unknown'})"])
    print(text_table(cells, "l"))


@data.command()
def get(
    name: Name,
    data_dir: Folder = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Copy from this folder instead of using the network.")
    ] = None,
) -> None:
    """Fetch a data set, resuming where an earlier try ended; check and unpack it."""
    from bsx.analysis.datasets.obtain import get_dataset

    with progress_bar() as report:
        folder = get_dataset(name, data_dir=data_dir, source=source, report=report)
    print(f"{name}: in {folder}")


@data.command()
def verify(name: Name, data_dir: Folder = None, format: Format = "text") -> None:
    """Check a data set's files against the registry, and against what they were when they were fetched."""
    from bsx.analysis.datasets.obtain import verify_dataset

    results = verify_dataset(name, data_dir=data_dir)
    if format == "json":
        print(to_json(results))
        return
    for status, count in Counter(results.values()).items():
        named = [path for path, found in results.items() if found == status]
        print(
            f"{name}: {count} files, {named[0]} and others: {status}"
            if count > 3
            else f"{name}: {', '.join(named)}: {status}"
        )


@data.command()
def table(
    name: Annotated[str, typer.Argument(help="Name of the data set; a file or folder with --loader.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Table to write: .tsv, .csv, .jsonl or .parquet.", writable=True)
    ],
    loader: Annotated[
        str | None, typer.Option(help="Read NAME as this loader does: mqm, esa, wmt_da, stsb, …; see the docs.")
    ] = None,
    lp: Annotated[str | None, typer.Option(help="Language pair to load, such as de-en.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="mqm: the system whose translation is the reference, such as ref.")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="mqm: weights of errors, such as 'major=5,minor fluency/punctuation=0.1'.")
    ] = None,
    per_rater: Annotated[
        bool, typer.Option("--per-rater", help="mqm, esa, da_sqm: a row a rating, with the column judge; no means.")
    ] = False,
    drop_human: Annotated[
        bool, typer.Option("--drop-human", help="mqm, esa, da_sqm: leave human translations out, and count them.")
    ] = False,
    data_dir: Folder = None,
) -> None:
    """Write a data set as one table, a row a judgment, for meta, tune, train and the others."""
    from bsx.analysis.datasets.store import load_data
    from bsx.data.output import check_table

    check_table(output)
    given = {
        "lp": lp,
        "reference": reference,
        "weights": None if weights is None else _weights(weights),
        "per_rater": per_rater or None,
        "drop_human": drop_human or None,
    }
    options = {key: value for key, value in given.items() if value is not None}
    found = load_data(name, loader=loader, data_dir=data_dir, **options)  # type: ignore[arg-type]
    found.save(output)
    print(f"{len(found)} rows, columns {', '.join(found.columns)}")
    say(found.notes)


def _weights(text: str) -> dict[str, float]:
    found = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            name = ""
        if not name.strip():
            raise InputError(f"--weights {part.strip()!r}: write WHAT=NUMBER, such as major=5, separated by commas")
    return found


@data.command()
def raters(
    file: Annotated[str, typer.Argument(help="Table with a row a rating; - is stdin.")],
    human: Annotated[str, typer.Option(help="Column of scores.")] = "human",
    judge: Annotated[str, typer.Option(help="Column that names the rater.")] = "judge",
    item: Annotated[str, typer.Option(help="Columns that together name what was rated.")] = "system,segment",
    confidence: Confidence = 0.95,
    resamples: Resamples = 1000,
    seed: Annotated[int, typer.Option(help="Of the random draws.")] = 1,
    format: TableFormat = None,
    output: Output = None,
    full: Full = False,
) -> None:
    """Measure how far raters agree, how reliable the mean of their scores is, and how severe each is."""
    from bsx.analysis.agreement.raters import rater_agreement
    from bsx.data.columns import read_columns
    from bsx.data.tables import Table

    items = names([item])
    columns = read_columns(Table(file), [human], [judge, *items])
    found = rater_agreement(
        columns, human=human, judge=judge, item=items, confidence=confidence, resamples=resamples, seed=seed
    )
    write_shown(found, [file], format, output, full=full)


def _row(entry: DatasetEntry, data_dir: Path | None) -> dict[str, Any]:
    from bsx.analysis.datasets.store import find_layout

    found = find_layout(entry, data_dir)
    return {
        "name": entry.name,
        "title": entry.title,
        "here": found is not None,
        "folder": os.fspath(found[1]) if found is not None else None,
        "licence": entry.licence,
        "language_pairs": entry.language_pairs,
        "loader": found[0].loader if found is not None else (entry.layout or entry.local).loader,  # type: ignore[union-attr]
        "homepage": entry.homepage,
        "citation": entry.citation,
        "notes": entry.notes,
        "files": [file.model_dump() for file in entry.files],
    }
