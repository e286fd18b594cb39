"""Agreement by kind of error: each column of human scores as a group of its own, on the same rows of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import count

import numpy as np

from bsx.analysis.meta.result import MetaResult
from bsx.data.columns import TableLike, check_present, column_names, label_column, number_column
from bsx.data.frame import CorpusScores
from bsx.errors import InputError, UnknownNameError, did_you_mean


def matching(patterns: Sequence[str], columns: Sequence[str], human: str) -> list[str]:
    """Return the columns that are meant: names as they are, and for a pattern such as ``human_*`` all that match.

    Raises:
        UnknownNameError: for a name that is not there or a pattern that nothing matches.
    """
    results: list[str] = []
    for pattern in patterns:
        names = [name for name in columns if fnmatchcase(name, pattern)] if "*" in pattern else [pattern]
        if not names or names[0] not in columns:
            hint = did_you_mean(pattern, columns)
            raise UnknownNameError(
                f"categories: there is no column {pattern!r}; there are {', '.join(columns)}.{hint}",
                setting="categories",
            )
        results += [name for name in names if name not in (human, *results)]
    return results


@dataclass(frozen=True)
class ByCategory:
    """A table repeated for each column of human scores.

    Attributes:
        columns: name -> values, the rows of the first category first.
        corpus: metric -> what corpus scores are made of, repeated likewise.
        human: the first column; in the repeated table, that of all scores.
        group: the column of labels.
        notes: on how many rows each category has something to say.
    """

    columns: Mapping[str, object]
    corpus: Mapping[str, CorpusScores]
    human: str
    group: str
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, columns: TableLike, categories: Sequence[str], group: str | None, corpus: Mapping[str, CorpusScores]
    ) -> ByCategory:
        """Return the repeated table; a category without any variation is left out, and said so.

        Raises:
            UnknownNameError: for a column that is not there.
            InputError: if nobody varies.
        """
        known = column_names(columns)
        check_present([*categories, *([group] if group is not None else [])], known)
        scores = {name: number_column(name, columns[name]) for name in dict.fromkeys(categories)}
        n = len(scores[categories[0]])
        table = {name: list(columns[name]) for name in known if name not in scores}
        for name, size in [*((name, len(x)) for name, x in scores.items()), *((k, len(x)) for k, x in table.items())]:
            if size != n:
                raise InputError(f"column {name!r} has {size} rows, {categories[0]!r} has {n}")
        places: list[str | None] = [None] * n
        if group is not None:
            places = [*label_column(group, columns[group])]
        rows, notes = [], []
        for name, values in scores.items():
            for place in dict.fromkeys(places):
                here = np.array([place == other for other in places])
                present = here & ~np.isnan(values)
                label = name if place is None else f"{place}: {name}"
                if not present.any() or np.ptp(values[present]) == 0:
                    notes.append(f"{label} is the same in all rows and left out")
                    continue
                if name != categories[0]:
                    best = values[present].max() + 0.0  # no -0
                    notes.append(
                        f"{label}: {(values[present] < best).sum()} of {present.sum()} rows are below {best:g}"
                    )
                rows.append((label, np.flatnonzero(here), values[here]))
        if not rows:
            raise InputError(f"none of {', '.join(scores)} varies: nothing can be ranked")
        chosen = np.concatenate([where for _, where, _ in rows])
        repeated: dict[str, object] = {name: [column[i] for i in chosen.tolist()] for name, column in table.items()}
        repeated[categories[0]] = np.concatenate([values for _, _, values in rows])
        label_of = next(name for k in count() if (name := "category" + "_" * k) not in known)
        repeated[label_of] = [label for label, where, _ in rows for _ in where]
        many = {name: CorpusScores(one.statistics[chosen], one.score) for name, one in corpus.items()}
        return cls(repeated, many, categories[0], label_of, tuple(notes))

    def described(self, result: MetaResult) -> MetaResult:
        """Return the result with what is to be said of the categories, and without an average."""
        return replace(
            result,
            human=self.human,
            average=None,
            notes=(*self.notes, *result.notes),
        )
