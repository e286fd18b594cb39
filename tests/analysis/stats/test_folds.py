"""Folds by their definition: what is bound together stays together, and nothing leaks."""

from __future__ import annotations

import numpy as np
import pytest

from bsx.analysis.stats.folds import Fold, keys_of, refuse_leak, unit_folds, units
from bsx.errors import InputError


def test_labels_are_numbered_apart_from_case_and_white_space() -> None:
    assert keys_of(["a cat", "dog", " A  Cat", "", "dog ", " "]).tolist() == [0, 1, 0, 2, 1, 3]


def test_units_bind_over_each_other() -> None:
    segments, texts = ["1", "2", "2", "3", "", ""], ["x", "y", "z", "Z", "x", ""]
    # 2 and 3 share segment 2, and the text z with row 4; row 1 and row 5 share x; row 6 has nothing.
    assert units([segments, texts], 6).tolist() == [0, 1, 1, 1, 0, 2]
    assert units([segments], 6).tolist() == [0, 1, 1, 2, 3, 4]
    assert units([], 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_units_are_dealt_out_evenly(folds: int) -> None:
    of = np.repeat(np.arange(12), [7, 1, 2, 1, 3, 1, 1, 2, 1, 1, 3, 1])
    found = unit_folds(of, folds, 4)
    assert len(found) == folds
    assert sorted(row for fold in found for row in fold.test.tolist()) == list(range(24))
    for fold in found:
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(24))
        assert not set(of[fold.train]) & set(of[fold.test])
    # The largest unit first, each into the emptiest fold: no two differ by more than the largest unit but that one.
    sizes = sorted(len(fold.test) for fold in found)
    assert sizes == {2: [12, 12], 3: [8, 8, 8], 10: [1, 1, 1, 2, 2, 2, 2, 3, 3, 7]}[folds]
    assert found[0].name == ("fold 01" if folds == 10 else "fold 1")
    assert [fold.test.tolist() for fold in unit_folds(of, folds, 4)] == [fold.test.tolist() for fold in found]


def test_as_many_folds_as_units_and_no_more() -> None:
    of = np.array([0, 0, 1, 2])
    assert len(unit_folds(of, 3)) == 3
    for folds in (4, 1):
        with pytest.raises(InputError):
            unit_folds(of, folds)


def test_a_leak_is_refused() -> None:
    columns = {"segment": ["1", "2", "3", "4"], "text": ["x", "y", "X ", ""]}
    refuse_leak([Fold("one", np.array([1, 3]), np.array([0, 2]))], columns)
    with pytest.raises(InputError) as shared:
        refuse_leak([Fold("one", np.array([1, 2]), np.array([3, 0]))], columns)
    assert "tests row 1 and is trained on row 3" in str(shared.value)
    with pytest.raises(InputError):
        refuse_leak([Fold("one", np.array([1, 2]), np.array([2]))], {})
