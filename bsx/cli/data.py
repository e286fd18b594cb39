"""``bsx data``: data sets with human judgments, where they come from, and whether they are here and unchanged."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.analysis.datasets.settings import DataFolder, FetchSettings, LoaderSettings
from bsx.analysis.datasets.store import find_layout, load_data
from bsx.analysis.datasets.testsets import test_sets
from bsx.analysis.raters.run import rater_agreement
from bsx.catalog.datasets import DatasetEntry, find_dataset, load_datasets
from bsx.cli.options import Format, Full, command, shown
from bsx.cli.output import group, print_rows, progress_bar, say
from bsx.data.output import check_table
from bsx.support.settings import set_fields
from bsx.support.terminal import text_table
from bsx.support.untyped import to_json

data = group(no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Name of the data set.")]


@data.command("list")
@command(DataFolder)
def list_data(settings: DataFolder, format: Format = "text", full: Full = False) -> None:
    """List the data sets of the registry and say which are here."""
    rows = [_row(entry, settings.data_dir) for entry in load_datasets().values()]
    if format == "json":
        print(to_json({"datasets": rows}))
        return
    here = sum(row["here"] for row in rows)
    fetched = sum(bool(row["files"]) and not row["here"] for row in rows)
    print(f"{len(rows)} data sets, {here} of them here; bsx data get NAME fetches {fetched} of the others.\n")
    shown = [{**row, "download": bool(row["files"])} for row in sorted(rows, key=lambda row: not row["here"])]
    columns = ("name", "here", "download", "licence", "title")
    print_rows("data sets", [{name: row[name] for name in columns} for row in shown], full=full)


@data.command("test-sets")
@command(DataFolder)
def list_test_sets(settings: DataFolder, format: Format = "text", full: Full = False) -> None:
    """List the test sets that test_set takes: parts of data sets with candidates, and which are here."""
    here = {entry.name: find_layout(entry, settings.data_dir) is not None for entry in load_datasets().values()}
    rows = [{"name": of.name, "here": here[of.dataset], "dataset": of.dataset} for of in test_sets().values()]
    if format == "json":
        print(to_json({"test_sets": rows}))
        return
    print(f"{len(rows)} test sets, {sum(bool(row['here']) for row in rows)} of them here: bsx meta --test-set NAME.\n")
    rows.sort(key=lambda row: not row["here"])
    print_rows("test sets", [{"name": r["name"], "here": r["here"], "data set": r["dataset"]} for r in rows], full=full)
    say(["mt-metrics-eval holds others: mt-metrics-eval/wmt22/en-de, and so on"])


@data.command()
@command(DataFolder)
def show(settings: DataFolder, name: Name, format: Format = "text") -> None:
    """Show everything the registry says about one data set, and where it is."""
    row = _row(find_dataset(name), settings.data_dir)
    if format == "json":
        print(to_json(row))
        return
    where = "is not here and has no address to fetch it from: its homepage says how to get it"
    if row["here"]:
        where = f"is here, in {row['folder']}"
    elif row["files"]:
        where = f"is not here; bsx data get {name} fetches it"
    print(f"{row['title']}: {where}.\n")
    facts = {key: row[key] for key in row if row[key] and key not in ("files", "title", "here", "folder")}
    cells = [[key, ", ".join(value) if isinstance(value, list) else str(value)] for key, value in facts.items()]
    for file in row["files"]:
        size = f"{file['size']:,} bytes" if file["size"] is not None else "size unknown"
        cells.append(["file", f"{file['url']} ({size}; sha256 {file['sha256'] or 'unknown'})"])
    print(text_table(cells, "l"))


@data.command()
@command(FetchSettings)
def get(settings: FetchSettings, name: Name) -> None:
    """Fetch a data set, resuming where an earlier try ended; check and unpack it."""
    from bsx.analysis.datasets.obtain import get_dataset

    with progress_bar() as report:
        folder = get_dataset(name, **set_fields(settings), progress=report)
    print(f"{name}: in {folder}")


@data.command()
@command(DataFolder)
def verify(settings: DataFolder, name: Name, format: Format = "text") -> None:
    """Check a data set's files against the registry, and against what they were when they were fetched."""
    from bsx.analysis.datasets.obtain import verify_dataset

    results = verify_dataset(name, data_dir=settings.data_dir)
    if format == "json":
        print(to_json(results))
        return
    for status, count in Counter(results.values()).items():
        named = [path for path, state in results.items() if state == status]
        listed = f"{count} files, {named[0]} and others" if count > 3 else ", ".join(named)
        print(f"{name}: {listed}: {status}")


@data.command()
@command(LoaderSettings)
def table(
    settings: LoaderSettings,
    name: Annotated[str, typer.Argument(help="Name of the data set; with a loader, a file or folder.")],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Table to write: .tsv, .csv, .jsonl, .parquet or .xlsx.", writable=True),
    ],
) -> None:
    """Write a data set as one table, a row a judgment, for meta, tune, train and the others."""
    check_table(output)
    judged = load_data(name, **set_fields(settings))
    judged.save(output)
    print(f"{len(judged)} rows, columns {', '.join(judged.columns)}")
    say(judged.notes)


data.command("raters")(shown(rater_agreement, "", plot=False))


def _row(entry: DatasetEntry, data_dir: Path | str | None) -> dict[str, Any]:
    result = find_layout(entry, data_dir)
    return {
        "name": entry.name,
        "title": entry.title,
        "here": result is not None,
        "folder": os.fspath(result[1]) if result is not None else None,
        "licence": entry.licence,
        "language_pairs": entry.language_pairs,
        "loader": result[0].loader if result is not None else (entry.layout or entry.local).loader,  # type: ignore[union-attr]
        "homepage": entry.homepage,
        "citation": entry.citation,
        "notes": entry.notes,
        "files": [file.model_dump() for file in entry.files],
    }
