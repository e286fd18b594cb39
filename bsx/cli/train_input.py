"""Reading training data: tables of human scores, or of preferences (DARR) with the texts they are about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.datasets import load_darr, load_system_outputs
from bsx.data.tables import NamedFile, TableFile
from bsx.errors import InputError
from bsx.train.config import Inputs
from bsx.train.data import Instances

_PREFERENCE = ("better", "worse")


@dataclass(frozen=True)
class Columns:
    """What the user calls things, and where the texts of preferences are.

    Attributes:
        candidate: column of candidates.
        reference: column of references.
        source: column of sources.
        human: columns of human scores; several are several judgments of an instance.
        lang: keep rows whose ``lp`` goes into this language; all unless given.
        outputs: tables of systems' outputs that preferences are about.
        references: tables of their references.
    """

    candidate: str
    reference: str
    source: str
    human: Sequence[str]
    lang: str | None = None
    outputs: Sequence[str] = ()
    references: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Data:
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


def read_data(files: Sequence[str], columns: Columns, inputs: Inputs) -> Data:
    """Read tables of one kind, scored or preferences, as one set of instances.

    Raises:
        InputError: naming file and row of what is wrong, or if nothing is left.
    """
    tables = [TableFile(NamedFile(Path(name)), [], []) for name in files]
    preferences = [columns.human[0] not in t.columns and set(_PREFERENCE) <= set(t.columns) for t in tables]
    if len(set(preferences)) > 1:
        raise InputError(f"{', '.join(files)}: some hold human scores and others preferences: give one kind")
    parts = [
        _read_preferences(name, columns, inputs) if preferences[0] else _read_scored(name, columns, inputs)
        for name in files
    ]
    rows: dict[str, list[str]] = {name: [] for name in ("candidate", *_PREFERENCE, "reference", "source")}
    judgments, groups, notes = [], [], []
    for name, part in zip(files, parts, strict=True):
        keep = [i for i, lp in enumerate(part.groups) if columns.lang is None or lp.rpartition("-")[2] == columns.lang]
        if len(keep) < len(part.groups):
            notes.append(f"{name}: left out {len(part.groups) - len(keep)} rows that do not go into {columns.lang}")
        for key, values in part.texts.items():
            rows[key] += [values[i] for i in keep]
        judgments.append(part.judgments[keep])
        groups += [part.groups[i] for i in keep]
    if not groups:
        which = "whose language pair --outputs covers" if preferences[0] and columns.outputs else "with data"
        into = f" and goes into {columns.lang}" if columns.lang is not None else ""
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
    return Data(built, judged, groups, [Path(name) for name in dict.fromkeys(read)], notes)


@dataclass(frozen=True, eq=False)
class _Part:
    texts: dict[str, list[str]]
    judgments: NDArray[np.float64]
    groups: list[str]


def _read_texts(name: str, candidates: Sequence[str], columns: Columns, inputs: Inputs) -> tuple[_Part, TableFile]:
    references = [columns.reference] if inputs != "source" else []
    source = columns.source if inputs != "reference" else None
    table = TableFile(NamedFile(Path(name)), candidates, references, source=source)
    segments = list(table)
    keys = _PREFERENCE if len(candidates) == 2 else ("candidate",)
    texts = {key: [segment.candidates[k] for segment in segments] for k, key in enumerate(keys)}
    if references:
        texts["reference"] = [segment.references[0] for segment in segments]
    if source is not None:
        texts["source"] = [segment.source or "" for segment in segments]
    groups = table.column("lp") if "lp" in table.columns else ["all"] * len(segments)
    if columns.lang is not None and "lp" not in table.columns:
        raise InputError(f"{name}: has no column 'lp', which --lang needs; it has {', '.join(table.columns)}")
    return _Part(texts, np.zeros((len(segments), 0)), groups), table


def _read_scored(name: str, columns: Columns, inputs: Inputs) -> _Part:
    part, table = _read_texts(name, [columns.candidate], columns, inputs)
    judgments = np.array([_numbers(table.column(column), name, column) for column in columns.human]).T
    blank = np.flatnonzero(np.isnan(judgments).all(axis=1))
    if len(blank):
        raise InputError(
            f"{name}: row {blank[0] + 1} has no human score in {', '.join(columns.human)}; every row needs one"
        )
    return _Part(part.texts, judgments, part.groups)


def _numbers(cells: Sequence[str], name: str, column: str) -> list[float]:
    values = []
    for row, cell in enumerate(cells, start=1):
        try:
            value = float(cell) if cell.strip() and cell != "None" else math.nan
        except ValueError:
            raise InputError(f"{name}: row {row}, column {column!r}: {cell!r} is no number") from None
        if math.isinf(value):
            raise InputError(f"{name}: row {row}, column {column!r}: {cell!r} is no finite number")
        values.append(value)
    return values


def _read_preferences(name: str, columns: Columns, inputs: Inputs) -> _Part:
    """Read texts from the table itself, or, with systems' outputs, those that its systems wrote."""
    if not columns.outputs:
        return _read_texts(name, _PREFERENCE, columns, inputs)[0]
    if len(columns.outputs) != len(columns.references):
        raise InputError("--outputs and --references go together: one file of references for each of outputs")
    wanted = load_darr(name)
    outputs: dict[tuple[str, str, str], tuple[str, str, str]] = {}
    for file, references in zip(columns.outputs, columns.references, strict=True):
        table = load_system_outputs(file, references)
        sources = table.texts("source") if "source" in table else [""] * len(table)
        keys = zip(table.texts("lp"), table.texts("segment"), table.texts("system"), strict=True)
        values = zip(table.texts("candidate"), table.texts("reference"), sources, strict=True)
        outputs.update(zip(keys, values, strict=True))
    pairs = {lp for lp, _, _ in outputs}
    texts: dict[str, list[str]] = {key: [] for key in (*_PREFERENCE, "reference", "source")}
    groups = []
    for row in wanted.rows():
        if row["lp"] not in pairs:  # outputs say which language pairs are wanted
            continue
        found = [outputs.get((row["lp"], str(row["segment"]), row[side])) for side in _PREFERENCE]
        if None in found:
            side = _PREFERENCE[found.index(None)]
            raise InputError(f"{name}: no output of {row[side]} for segment {row['segment']} of {row['lp']}")
        better, worse = (value for value in found if value is not None)
        for key, text in zip(texts, (better[0], worse[0], better[1], better[2]), strict=True):
            texts[key].append(text)
        groups.append(row["lp"])
    if inputs == "reference":
        del texts["source"]
    if inputs == "source":
        del texts["reference"]
    return _Part(texts, np.zeros((len(groups), 0)), groups)
