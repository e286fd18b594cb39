"""Reading tables of human judgments for tuning and probing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.stats.layers import LayerAgreement, layer_agreement
from bsx.data.pairing import refuse_alike
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.settings.layers import JudgedColumns, TuneSettings

Scores = NDArray[np.float32]


@dataclass
class Judged:
    """Human-judged segments of several tables.

    Attributes:
        candidates: one text a segment.
        references: one or more texts a segment.
        human: the human score.
        groups: group name, made unique by the table's name if there are several tables.
        names: the tables' names.
        notes: what was left out.
    """

    candidates: list[str] = field(default_factory=list)
    references: list[tuple[str, ...]] = field(default_factory=list)
    human: list[float] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def agreement(self, precision: Scores, recall: Scores, f1: Scores, how: TuneSettings) -> LayerAgreement:
        """Correlate the scores of all layers, (layers, segments) each, with the human scores."""
        return layer_agreement(
            precision,
            recall,
            f1,
            self.human,
            self.groups,
            statistic=how["statistic"],
            resamples=how["resamples"],
            seed=how["seed"],
        )


def read_judged(files: Sequence[str], columns: JudgedColumns, code: str) -> Judged:
    """Read tables; rows of a column ``lp`` whose target is another language than ``code`` are left out, with a note.

    Raises:
        InputError: naming file and line of a human score that is not a number, or if nothing is left.
    """
    judged = Judged()
    candidate, reference, human = columns["candidate"], columns["reference"], columns["human"]
    for name in files:
        table = Table(name)
        by = columns["group"] if columns["group"] is not None else table.first("lp")
        wanted = [candidate, reference, human, *([] if by is None else [by])]
        table.require(*wanted)
        stem = Path(name).stem
        skipped: dict[str, int] = {}
        for row in table.rows(*wanted, only=True):
            label = "all" if by is None else row.name(by)
            if by == "lp" and label.rpartition("-")[2] != code:
                skipped[label] = skipped.get(label, 0) + 1
                continue
            judged.human.append(row.finite(human))
            judged.candidates.append(row.text(candidate))
            judged.references.append(tuple(row.texts(reference) if row[reference] else [row.text(reference)]))
            judged.groups.append(f"{stem}:{label}" if len(files) > 1 else label)
        judged.names.append(stem)
        refuse_alike([*skipped, *judged.groups], f"{name}, column {by!r}")
        if skipped:
            pairs = ", ".join(f"{count} of {label}" for label, count in skipped.items())
            judged.notes.append(f"{name}: left out rows that are not into {code}: {pairs}")
    if not judged.human:
        raise InputError(f"no row is left to tune on: none of the language pairs goes into {code}")
    return judged
