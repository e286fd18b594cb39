"""Reading training data: tables of human scores, or of preferences (DARR) with the texts they are about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.datasets.systems import load_system_outputs
from bsx.analysis.datasets.wmt import load_darr
from bsx.catalog.languages import language_code
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.settings.combining import TrainingColumns
from bsx.train.config import Inputs
from bsx.train.data import Instances

_PREFERENCE = ("better", "worse")


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Instances with what else their tables say.

    Attributes:
        instances: the instances; their score is the mean of their judgments.
        judgments: (n, columns of human scores), NaN where a cell is blank; (n, 0) for preferences.
        groups: language pair of each, or ``all``.
        files: what was read.
        notes: what the user should know.
    """

    instances: Instances
    judgments: NDArray[np.float64]
    groups: list[str]
    files: list[Path]
    notes: list[str] = field(default_factory=list)


def read_data(files: Sequence[str], columns: TrainingColumns, inputs: Inputs) -> TrainingData:
    """Read tables of one kind, scored or preferences, as one set of instances.

    Raises:
        InputError: naming file and line of what is wrong, or if nothing is left.
    """
    tables = [Table(name) for name in files]
    preferences = [columns.human[0] not in t.columns and set(_PREFERENCE) <= set(t.columns) for t in tables]
    if len(set(preferences)) > 1:
        raise InputError(f"{', '.join(files)}: some hold human scores and others preferences: give one kind")
    parts = [
        _read_preferences(table, columns, inputs) if preferences[0] else _read_scored(table, columns, inputs)
        for table in tables
    ]
    rows: dict[str, list[str]] = {name: [] for name in ("candidate", *_PREFERENCE, "reference", "source")}
    judgments, groups, notes = [], [], []
    target = None if columns.lang is None else language_code(columns.lang)
    for name, part in zip(files, parts, strict=True):
        keep = [i for i, lp in enumerate(part.groups) if target is None or lp.rpartition("-")[2] == target]
        if len(keep) < len(part.groups):
            notes.append(f"{name}: left out {len(part.groups) - len(keep)} rows that do not go into {target}")
        for key, values in part.texts.items():
            rows[key] += [values[i] for i in keep]
        judgments.append(part.judgments[keep])
        groups += [part.groups[i] for i in keep]
    if not groups:
        which = "whose language pair `outputs=` covers" if preferences[0] and columns.outputs else "with data"
        into = f" and goes into {target}" if target is not None else ""
        raise InputError(f"{', '.join(files)}: there is no row {which}{into}")
    sides = {key: rows[key] if rows[key] else None for key in ("reference", "source")}
    judged = np.concatenate(judgments)
    if preferences[0]:
        built = Instances.preferences(rows["better"], rows["worse"], sides["reference"], sides["source"], inputs=inputs)
    else:
        built = Instances.scored(
            rows["candidate"], np.nanmean(judged, axis=1), sides["reference"], sides["source"], inputs=inputs
        )
    read = [*files, *(columns.outputs if preferences[0] else ()), *(columns.references if preferences[0] else ())]
    return TrainingData(built, judged, groups, [Path(name) for name in dict.fromkeys(read)], notes)


@dataclass(frozen=True, eq=False)
class _Part:
    texts: dict[str, list[str]]
    judgments: NDArray[np.float64]
    groups: list[str]


def _read_texts(
    table: Table, candidates: Sequence[str], columns: TrainingColumns, inputs: Inputs, human: Sequence[str] = ()
) -> _Part:
    sides = {"reference": columns.reference, "source": columns.source}
    named = dict(zip(_PREFERENCE if len(candidates) == 2 else ("candidate",), candidates, strict=True))
    named |= {side: column for side, column in sides.items() if inputs in (side, "both")}
    if columns.lang is not None and "lp" not in table.columns:
        raise InputError(f"{table.name}: has no column 'lp', which `lang=` needs; it has {', '.join(table.columns)}")
    wanted = [*named.values(), *human, *(["lp"] if "lp" in table.columns else [])]
    table.require(*wanted)
    texts: dict[str, list[str]] = {key: [] for key in named}
    judgments, groups = [], []
    for row in table.rows(*wanted, only=True):
        for key, column in named.items():
            several = row.texts(column) if key == "reference" and row[column] else [row.text(column)]
            texts[key].append(several[0])
        judged = [row.number(column) for column in human]
        if human and all(map(math.isnan, judged)):
            raise InputError(f"{row.where} has no human score in {', '.join(human)}; every row needs one")
        judgments.append(judged)
        groups.append(row.name("lp") if "lp" in row else "all")
    if not groups:
        raise InputError(f"{table.name}: has a header but no rows")
    return _Part(texts, np.array(judgments, dtype=np.float64), groups)


def _read_scored(table: Table, columns: TrainingColumns, inputs: Inputs) -> _Part:
    return _read_texts(table, [columns.candidate], columns, inputs, columns.human)


def _read_preferences(table: Table, columns: TrainingColumns, inputs: Inputs) -> _Part:
    """Read texts from the table itself, or, with systems' outputs, those that its systems wrote."""
    if not columns.outputs:
        return _read_texts(table, _PREFERENCE, columns, inputs)
    if len(columns.outputs) != len(columns.references):
        raise InputError("`outputs=` and `references=` go together: one file of references for each of outputs")
    wanted = load_darr(table.name)
    outputs: dict[tuple[str, str, str], tuple[str, str, str]] = {}
    for file, references in zip(columns.outputs, columns.references, strict=True):
        written = load_system_outputs(file, references)
        sources = written.texts("source") if "source" in written else [""] * len(written)
        keys = zip(written.texts("lp"), written.texts("segment"), written.texts("system"), strict=True)
        values = zip(written.texts("candidate"), written.texts("reference"), sources, strict=True)
        outputs.update(zip(keys, values, strict=True))
    pairs = {lp for lp, _, _ in outputs}
    texts: dict[str, list[str]] = {key: [] for key in (*_PREFERENCE, "reference", "source")}
    groups = []
    for row in wanted.rows():
        if row["lp"] not in pairs:  # outputs say which language pairs are wanted
            continue
        found = [outputs.get((row["lp"], str(row["segment"]), str(row[side]))) for side in _PREFERENCE]
        if None in found:
            side = _PREFERENCE[found.index(None)]
            raise InputError(f"{table.name}: no output of {row[side]} for segment {row['segment']} of {row['lp']}")
        better, worse = (value for value in found if value is not None)
        for key, text in zip(texts, (better[0], worse[0], better[1], better[2]), strict=True):
            texts[key].append(text)
        groups.append(row["lp"])
    if inputs == "reference":
        del texts["source"]
    if inputs == "source":
        del texts["reference"]
    return _Part(texts, np.zeros((len(groups), 0)), groups)
