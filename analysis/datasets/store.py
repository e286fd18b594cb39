"""The folder that data sets live in, and loading them from there by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from bsx.analysis.datasets.appraise import load_da_sqm, load_esa
from bsx.analysis.datasets.challenge import load_challenge_table
from bsx.analysis.datasets.eval4nlp import load_eval4nlp
from bsx.analysis.datasets.flickr8k import load_flickr8k
from bsx.analysis.datasets.judged import JudgedTable
from bsx.analysis.datasets.mlqe import load_mlqe
from bsx.analysis.datasets.mqm import load_mqm
from bsx.analysis.datasets.mtme import Level, load_mt_metrics_eval
from bsx.analysis.datasets.pairs import load_paws, load_qqp, load_stsb
from bsx.analysis.datasets.simplification import load_simplification
from bsx.analysis.datasets.summaries import load_realsumm, load_summeval
from bsx.analysis.datasets.systems import load_metric_scores, load_system_outputs
from bsx.analysis.datasets.tabular import load_multi_reference, load_table
from bsx.analysis.datasets.wmt import load_darr, load_wmt_da, load_wmt_da_system
from bsx.catalog.datasets import DatasetEntry, Layout, load_dataset_catalog
from bsx.errors import DataUnavailableError, InputError, UnknownNameError
from bsx.support.folders import data_folder
from bsx.support.near import did_you_mean

LOADERS: dict[str, Callable[..., JudgedTable]] = {
    "table": load_table,
    "multi_reference": load_multi_reference,
    "wmt_da": load_wmt_da,
    "wmt_da_system": load_wmt_da_system,
    "darr": load_darr,
    "system_outputs": load_system_outputs,
    "metric_scores": load_metric_scores,
    "mt_metrics_eval": load_mt_metrics_eval,
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
    "simplification": load_simplification,
    "da_sqm": load_da_sqm,
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
    found = list(folder.glob(path))
    return found[0] if len(found) == 1 else None


class LoaderOptions(TypedDict, total=False):
    """What loaders can be told; each takes those of its own signature."""

    lp: str
    skip_malformed: bool
    columns: Mapping[str, str]
    references: Sequence[str]
    metrics: Sequence[str]
    numbers: Sequence[str]
    quoted: bool
    human: str
    testset: str
    level: Level
    texts: Path | str
    renames: Mapping[str, str]
    drop_own: bool
    drop_placeholders: bool
    per_judge: bool
    weights: Mapping[str, float]
    reference: str
    per_rater: bool
    annotators: str
    drop_human: bool


def load_dataset(name: str, *, data_dir: Path | str | None = None, **options: Unpack[LoaderOptions]) -> JudgedTable:
    """Load a data set of the registry from the data folder.

    Args:
        name: its name; ``bsx data list`` lists them.
        data_dir: the folder of all data sets; ``BSX_DATA``, or the platform's place for user data, unless given.
        **options: passed on to the loader, over those of the registry, e.g. ``lp`` or ``skip_malformed``.

    Raises:
        UnknownNameError: listing near names.
        DataUnavailableError: if it is not in the data folder; says how to get it.
        InputError: naming file, line and reason of a malformed row, or an option that the loader does not have.
    """
    entry = load_dataset_catalog().entry(name)
    found = find_layout(entry, data_dir)
    if found is None:
        raise DataUnavailableError(f"{name} is not in {data_folder(data_dir)}: {how_to_get(entry)}")
    layout, folder = found
    arguments = {key: _resolve(folder, path) for key, path in layout.arguments.items()}
    loader = LOADERS[layout.loader]
    _check_options(name, loader, options)
    given = {"name": name, **layout.options, **options}
    return loader(_resolve(folder, layout.path), **arguments, **given)


def load_data(
    name: str, *, loader: str | None = None, data_dir: Path | str | None = None, **options: Unpack[LoaderOptions]
) -> JudgedTable:
    """Load a data set of the registry, or a file or folder of one's own with a named loader.

    Args:
        name: data set; with ``loader`` a path.
        loader: one of `LOADERS`.
        data_dir: see `load_dataset`.
        **options: passed on to the loader.

    Raises:
        UnknownNameError: for an unknown data set or loader.
        DataUnavailableError: if the data set is not here.
        InputError: as the loader.
    """
    if loader is None:
        return load_dataset(name, data_dir=data_dir, **options)
    if data_dir is not None:
        raise InputError("`data_dir=` has no effect with `loader=`, which reads the file or folder that is named")
    if loader not in LOADERS:
        raise UnknownNameError(f"`loader={loader}`: there are {', '.join(LOADERS)}.{did_you_mean(loader, LOADERS)}")
    _check_options(name, LOADERS[loader], options)
    return LOADERS[loader](Path(name), **options)


def _check_options(name: str, loader: Callable[..., JudgedTable], options: Mapping[str, object]) -> None:
    known = inspect.signature(loader).parameters
    for option in options:
        if option not in known:
            raise InputError(
                f"{name}: its loader {loader.__name__} has no option {option!r}; it has {', '.join(known)}"
            )


def how_to_get(entry: DatasetEntry) -> str:
    """Return what a user can do to have a data set, for an error message."""
    if entry.files:
        return f"`bsx.analysis.get_dataset({entry.name!r})` fetches it"
    paths = ", ".join(entry.local.paths) if entry.local is not None else ""
    return (
        f"nobody publishes it in this form; put {paths} there, or name their folder: "
        f"`bsx.analysis.get_dataset({entry.name!r}, source=FOLDER)` ({entry.homepage})"
    )
