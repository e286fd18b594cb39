"""Public test sets by name, ``wmt17/zh-en``: the part of a data set of the registry that is about one language pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bsx.analysis.datasets.judged import JudgedTable
from bsx.analysis.datasets.store import find_layout, load_data
from bsx.catalog.datasets import DatasetEntry, find_dataset, load_datasets
from bsx.catalog.protocols import load_protocols
from bsx.errors import UnknownNameError, did_you_mean
from bsx.support.untyped import Settings

_OTHER = frozenset({"wmt_da_system", "darr", "paws", "qqp", "challenge", "mt_metrics_eval"})
"""Loaders of what is no table of candidates: systems, preferences, labelled pairs, and what holds many test sets."""
_MANY = "mt-metrics-eval"


@dataclass(frozen=True)
class TestSet:
    """A test set.

    Attributes:
        name: how it is called, ``wmt17/zh-en``.
        dataset: the data set that it is, or is part of.
        options: what the loader is told.
        folder: where it lies, if that was named instead of a data set; ``dataset`` is then the loader.
    """

    __test__ = False  # pytest would take the class for tests

    name: str
    dataset: str
    options: Settings
    folder: Path | None = None

    def files(self, data_dir: Path | str | None = None) -> list[Path]:
        """Return the files that it is read from, where they are single files."""
        if self.folder is not None:
            return []
        result = find_layout(find_dataset(self.dataset), data_dir)
        if result is None:
            return []
        layout, folder = result
        return [path for name in layout.paths for path in folder.glob(name) if path.is_file()]


def test_sets() -> dict[str, TestSet]:
    """Return the test sets of the registry by name: of each data set with candidates, one for each language pair.

    The data set ``newstest2017-cs-en`` is the test set ``newstest2017/cs-en``; ``wmt17-da`` holds ``wmt17/cs-en`` and
    others. mt-metrics-eval, which holds test sets by other names, is not among them; see `load_test_set`.
    """
    return {item.name: item for entry in load_datasets().values() for item in _of(entry)}


test_sets.__test__ = False  # type: ignore[attr-defined]


def _of(entry: DatasetEntry) -> list[TestSet]:
    layout = entry.local if entry.local is not None else entry.layout
    if layout is None or layout.loader in _OTHER:
        return []
    for lp in entry.language_pairs:
        if entry.name.endswith(f"-{lp}"):
            return [TestSet(f"{entry.name.removesuffix(f'-{lp}')}/{lp}", entry.name, {})]
    if len(entry.language_pairs) < 2:
        return [TestSet(entry.name, entry.name, {})]
    stem = entry.name.removesuffix("-da")
    return [TestSet(f"{stem}/{lp}", entry.name, {"lp": lp}) for lp in entry.language_pairs]


def find_test_set(name: str) -> TestSet:
    """Return a test set.

    Args:
        name: one of `test_sets`, ``mt-metrics-eval/TESTSET/PAIR``, or ``FOLDER/PAIR`` with a folder of one test set in
            the layout of mt-metrics-eval, or of tables of it.

    Raises:
        UnknownNameError: listing near names.
    """
    parts = name.split("/")
    if parts[0] == _MANY and len(parts) == 3:
        options = {"testset": parts[1], "lp": parts[2], "human": _gold(parts[1], parts[2]), "metrics": "all"}
        return TestSet(name, _MANY, options)
    folder, pair = Path(name).expanduser().parent, Path(name).name
    if len(parts) > 1 and folder.is_dir():
        options = {"lp": pair, "human": _gold(folder.name, pair), "metrics": "all"}
        if (folder / "sources").is_dir():
            return TestSet(name, "mt_metrics_eval", options, folder)
        if next(folder.glob(f"{pair}.texts.tsv*"), None) is not None:
            human = "mqm" if options["human"] == "all" else options["human"]
            return TestSet(name, "mt_metrics_eval_tables", {**options, "human": human}, folder)
    known: Mapping[str, TestSet] = test_sets()
    if name not in known:
        raise UnknownNameError(
            f"unknown test set {name!r}.{did_you_mean(name, known)} `bsx data test-sets` lists them; "
            f"{_MANY} holds others, as {_MANY}/wmt22/en-de"
        )
    return known[name]


def _gold(testset: str, pair: str) -> str:
    """Return the human scores that the protocol of a test set takes, or all of them."""
    protocols = (entry for entry in load_protocols().values() if entry.test_set == testset)
    return next((entry.language_pairs[pair].gold for entry in protocols if pair in entry.language_pairs), "all")


def load_test_set(name: str, data_dir: Path | str | None = None) -> JudgedTable:
    """Load a test set: every system's candidates, their sources and references, and human scores where there are any.

    Args:
        name: see `find_test_set`.
        data_dir: the folder of all data sets; ``BSX_DATA``, or the platform's place for user data, unless given.

    Raises:
        UnknownNameError: listing near names.
        DataUnavailableError: if it is not in the data folder; says how to get it.
        InputError: for files that cannot be read.
    """
    result = find_test_set(name)
    if result.folder is not None:
        return load_data(str(result.folder), loader=result.dataset, **result.options)
    return load_data(result.dataset, data_dir=data_dir, **result.options)
