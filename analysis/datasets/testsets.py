"""Public test sets by name, ``wmt17/zh-en``: the part of a data set of the registry that is about one language pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bsx.analysis.datasets.judged import JudgedTable
from bsx.analysis.datasets.store import find_layout, load_data
from bsx.catalog.datasets import DatasetEntry, load_dataset_catalog
from bsx.errors import InputError, UnknownNameError
from bsx.support.near import did_you_mean
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
    """

    __test__ = False  # pytest would take the class for tests

    name: str
    dataset: str
    options: Settings

    def files(self, data_dir: Path | str | None = None) -> list[Path]:
        """Return the files that it is read from, where they are single files."""
        result = find_layout(load_dataset_catalog().entry(self.dataset), data_dir)
        if result is None:
            return []
        layout, folder = result
        return [path for name in layout.paths for path in folder.glob(name) if path.is_file()]


def test_sets() -> dict[str, TestSet]:
    """Return the test sets of the registry by name: of each data set with candidates, one for each language pair.

    The data set ``newstest2017-cs-en`` is the test set ``newstest2017/cs-en``; ``wmt17-da`` holds ``wmt17/cs-en`` and
    others. mt-metrics-eval, which holds test sets by other names, is not among them; see `load_test_set`.
    """
    return {item.name: item for entry in load_dataset_catalog().entries.values() for item in _of(entry)}


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
        name: one of `test_sets`, or ``mt-metrics-eval/TESTSET/PAIR``.

    Raises:
        UnknownNameError: listing near names.
    """
    parts = name.split("/")
    if parts[0] == _MANY and len(parts) == 3:
        return TestSet(name, _MANY, {"testset": parts[1], "lp": parts[2]})
    known: Mapping[str, TestSet] = test_sets()
    if name not in known:
        raise UnknownNameError(
            f"unknown test set {name!r}.{did_you_mean(name, known)} `bsx data test-sets` lists them; "
            f"{_MANY} holds others, as {_MANY}/wmt22/en-de"
        )
    return known[name]


def load_test_set(name: str, data_dir: Path | str | None = None) -> JudgedTable:
    """Load a test set: every system's candidates, their sources and references, and human scores where there are any.

    Args:
        name: one of `test_sets`, or ``mt-metrics-eval/TESTSET/PAIR``.
        data_dir: the folder of all data sets; ``BSX_DATA``, or the platform's place for user data, unless given.

    Raises:
        UnknownNameError: listing near names.
        DataUnavailableError: if it is not in the data folder; says how to get it.
        InputError: for files that cannot be read.
    """
    result = find_test_set(name)
    table = load_data(result.dataset, data_dir=data_dir, **result.options)
    if not len(table):
        raise InputError(f"{name}: holds no rows")
    return table
