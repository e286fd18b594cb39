"""The folder that data sets live in, and loading them from there by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from bsx.analysis.datasets.challenge import load_challenge_table
from bsx.analysis.datasets.eval4nlp import load_eval4nlp
from bsx.analysis.datasets.flickr8k import load_flickr8k
from bsx.analysis.datasets.judged import Builder, JudgedTable
from bsx.analysis.datasets.mqm import load_esa, load_mqm
from bsx.analysis.datasets.mtme import load_mt_metrics_eval, load_mt_metrics_eval_tables
from bsx.analysis.datasets.pairs import load_paws, load_qqp, load_stsb
from bsx.analysis.datasets.settings import LoaderSettings
from bsx.analysis.datasets.summaries import load_realsumm, load_summeval
from bsx.analysis.datasets.systems import load_metric_scores, load_system_outputs
from bsx.analysis.datasets.tabular import load_multi_reference, load_table
from bsx.analysis.datasets.wmt import load_darr, load_mlqe, load_wmt_da, load_wmt_da_system
from bsx.catalog.datasets import DatasetEntry, Layout, find_dataset
from bsx.data.tables import Table
from bsx.errors import DataUnavailableError, InputError, UnknownNameError, did_you_mean
from bsx.support.folders import data_folder
from bsx.support.settings import set_fields, settled

LOADERS: dict[str, Callable[..., JudgedTable]] = {
    "table": load_table,
    "multi_reference": load_multi_reference,
    "wmt_da": load_wmt_da,
    "wmt_da_system": load_wmt_da_system,
    "darr": load_darr,
    "system_outputs": load_system_outputs,
    "metric_scores": load_metric_scores,
    "mt_metrics_eval": load_mt_metrics_eval,
    "mt_metrics_eval_tables": load_mt_metrics_eval_tables,
    "stsb": load_stsb,
    "paws": load_paws,
    "qqp": load_qqp,
    "mlqe": load_mlqe,
    "flickr8k": load_flickr8k,
    "mqm": load_mqm,
    "esa": load_esa,
    "challenge": load_challenge_table,
    "summeval": load_summeval,
    "realsumm": load_realsumm,
    "eval4nlp": load_eval4nlp,
}
"""The loaders by the names that registry entries use."""


def find_layout(entry: DatasetEntry, data_dir: Path | str | None = None) -> tuple[Layout, Path] | None:
    """Return how a data set can be read here and the folder its paths start at, or None if it is not here.

    A local table (``local``) may lie below the data set's own folder or directly below the data folder.
    """
    root = data_folder(data_dir)
    for layout, folder in ((entry.local, root / entry.name), (entry.local, root), (entry.layout, root / entry.name)):
        if layout is not None and all(_resolve(folder, path) is not None for path in layout.paths):
            return layout, folder
    return None


def _resolve(folder: Path, path: str) -> Path | None:
    """Return the one file or folder that a path or pattern of the registry means, or None."""
    if "*" not in path:
        return folder / path if (folder / path).exists() else None
    result = list(folder.glob(path))
    return result[0] if len(result) == 1 else None


@settled(LoaderSettings)
def load_data(name: str, settings: LoaderSettings) -> JudgedTable:
    """Load a data set of the registry, or a file or folder of one's own with a named loader.

    Args:
        name: data set, ``bsx data list`` lists them; with ``loader`` a path.
        settings: see `LoaderSettings`; those given win over what the registry says.

    Raises:
        UnknownNameError: for an unknown data set or loader; lists near names.
        DataUnavailableError: if the data set is not here; says how to get it.
        InputError: naming file, line and reason of a malformed row, or a setting that the loader does not have.
    """
    given = set_fields(settings, "loader", "data_dir")
    if settings.loader is not None:
        if settings.data_dir is not None:
            raise InputError(
                "data_dir has no effect with loader, which reads the file or folder that is named", setting="data_dir"
            )
        if settings.loader not in LOADERS:
            hint = did_you_mean(settings.loader, LOADERS)
            raise UnknownNameError(
                f"loader: there is no {settings.loader!r}; there are {', '.join(LOADERS)}.{hint}", setting="loader"
            )
        loader, options = LOADERS[settings.loader], dict[str, object]()
        path: Path | None = Path(name)
    else:
        entry = find_dataset(name)
        result = find_layout(entry, settings.data_dir)
        if result is None:
            how = f"{how_to_get(entry)}; data_dir names another folder"
            raise DataUnavailableError(f"{name} is not in {data_folder(settings.data_dir)}: {how}")
        layout, folder = result
        loader, path = LOADERS[layout.loader], _resolve(folder, layout.path)
        options = {key: _resolve(folder, value) for key, value in layout.arguments.items()}
        options |= {"name": name, **layout.options}
    known = inspect.signature(loader).parameters
    if unknown := [setting for setting in given if setting not in known]:
        raise InputError(
            f"{name}: its loader {loader.__name__} has no setting {unknown[0]!r}; it has {', '.join(known)}"
        )
    return loader(path, **options | given)


@settled(LoaderSettings)
def load_data_or_example(name: str, settings: LoaderSettings) -> JudgedTable:
    """Load a data set of the registry, or the shipped example of its form where it is not here; print which it is.

    The example of a challenge set are the shipped minimal pairs, that of paraphrases the shipped triples, and that of
    everything else the three systems in German or English; ``example`` of the table is true of them. Their grades are
    constructed, so figures on them show the method and are no evidence.

    Args:
        name: data set, ``bsx data list`` lists them.
        settings: see `LoaderSettings`; none has an effect on an example.

    Raises:
        UnknownNameError: for an unknown data set; lists near names.
        InputError: naming file, line and reason of a malformed row, or a setting that the loader does not have.
    """
    try:
        table = load_data(name, **set_fields(settings))
    except DataUnavailableError:
        entry = find_dataset(name)
        table = _example(entry)
        print(
            f"{name} is not here ({how_to_get(entry)}). Shown instead: the shipped example {table.name}, "
            f"{len(table)} rows, invented, with constructed grades."
        )
    else:
        print(f"{name}: real data, {len(table):,} rows.")
    return table


def _example(entry: DatasetEntry) -> JudgedTable:
    """Return the shipped example that has the form of a data set."""
    layout = entry.layout or entry.local
    kind = layout.loader if layout is not None else ""
    german = any(pair.rpartition("-")[2] == "de" for pair in entry.language_pairs)
    systems = "de-systems" if german else "en-systems"
    name = {"challenge": "en-challenge", "paws": "en-triples", "qqp": "en-triples"}.get(kind, systems)
    builder, same = Builder(name), {"lp": f"{name[:2]}-{name[:2]}"}
    builder.notes.append("an example that comes with bsx, with constructed grades")
    with as_file(files("bsx.examples") / f"{name}.tsv") as path:
        rows = list(Table(path).rows())
    for row in rows:
        same["segment"] = row.name("id")
        if name == "en-challenge":
            texts = {side: row.text(side) for side in ("reference", "good", "bad", "phenomenon")}
            builder.add(**same, source="", **texts, severity="")
            continue
        if name == "en-triples":
            for side, label in (("paraphrase", 1), ("nonparaphrase", 0)):
                builder.add(**same, candidate=row.text(side), reference=row.text("anchor"), label=label)
            continue
        grades = {system: row.number(f"{system}_grade") for system in ("atlas", "brook", "cinder")}
        for system, grade in grades.items():
            # Where another system kept all of the meaning, its text is a second reference.
            others = [row.text(other) for other in grades if other != system and grades[other] == 4]
            texts = {"candidate": row.text(system), "reference": row.text("reference")}
            builder.add(**same, system=system, **texts, reference2=next(iter(others), ""), human=grade)
    return replace(builder.finish(), example=True)


def how_to_get(entry: DatasetEntry) -> str:
    """Return what a user can do to have a data set, for an error message."""
    if entry.files:
        return f"`bsx data get {entry.name}` fetches it"
    paths = ", ".join(entry.local.paths) if entry.local is not None else ""
    return (
        f"nobody publishes it in this form; put {paths} there, or name their folder: "
        f"`bsx data get {entry.name} --from-folder FOLDER` ({entry.homepage})"
    )
