"""All outputs of all systems with the judgments of some, and tables of metric scores beside human ones."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable, pair_in_name
from bsx.data.tables import Row
from bsx.errors import InputError

_HUMAN = re.compile(r"human([-._].*)?", re.IGNORECASE)
"""What WMT calls a human translation, such as the reference, among the systems that are judged."""


def load_system_outputs(
    systems: Path | str,
    references: Path | str,
    judgments: Path | str | None = None,
    *,
    lp: str | None = None,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load every system's output for every segment; those that were judged have a human score, the others NaN.

    Args:
        systems: table with the columns system, sid, candidate.
        references: table with the columns sid, reference (or reference_A, reference_B, …) and perhaps source.
        judgments: table with the columns system, sid, z and perhaps raw and n (the number of judgments).
        lp: the language pair; taken from the name of the first file unless given.
        name: name of the data set; the first file's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Errors: as for `bsx.analysis.load_table`. An output without a reference, a second output or
    judgment of the same system and segment, and a judgment without an output are malformed. Judgments of a system
    HUMAN, of which there are no outputs, are counted in a note.
    """
    pair = pair_in_name(systems) if lp is None else lp
    builder = Builder(systems, name or Path(systems).name.partition(".")[0], skip_malformed)
    texts = builder.table(references, "sid")
    several = sorted(name for name in texts.columns if re.fullmatch("reference_[A-Z]", name))
    if "reference" in texts.columns or not several:
        texts.require("reference")
        several = ["reference"]
    segments: dict[str, dict[str, Given]] = {}
    for row in texts.rows():
        with builder.problems:
            sid = row.name("sid")
            if sid in segments:
                raise InputError(f"{row.where}: a second reference for segment {sid}")
            segment: dict[str, Given] = {"references": [row.text(name) for name in several]}
            segments[sid] = segment | ({"source": row.text("source")} if "source" in row else {})
    outputs: dict[tuple[str, str], str] = {}
    for row in builder.table(systems, "system", "sid", "candidate").rows():
        with builder.problems:
            key = _key(row)
            if key in outputs:
                raise InputError(f"{row.where}: a second output of {key[0]} for segment {key[1]}")
            if key[1] not in segments:
                raise InputError(f"{row.where}: segment {key[1]} has no reference in {references}")
            outputs[key] = row.text("candidate")
    scores: dict[tuple[str, str], dict[str, Given]] = {}
    names, people = {system for system, _ in outputs}, 0
    for row in [] if judgments is None else builder.table(judgments, "system", "sid", "z").rows():
        with builder.problems:
            key = _key(row)
            if _HUMAN.fullmatch(key[0]) and key[0] not in names:
                people += 1
                continue
            if key not in outputs:
                raise InputError(f"{row.where}: there is no output of {key[0]} for segment {key[1]}")
            if key in scores:
                raise InputError(f"{row.where}: a second judgment of {key[0]} for segment {key[1]}")
            columns = {"human": "z", "human_raw": "raw", "judgments": "n"}
            scores[key] = {new: row.number(old) for new, old in columns.items() if old in row}
    if people:
        builder.notes.append(
            f"{people} judgments of human translators are left out: no system's output belongs to them"
        )
    none: dict[str, Given] = dict.fromkeys(next(iter(scores.values()), {}), math.nan)
    for (system, sid), candidate in outputs.items():
        values = {} if judgments is None else scores.get((system, sid), none)
        builder.add(lp=pair, system=system, segment=sid, candidate=candidate, **segments[sid], **values)
    return builder.finish()


def load_metric_scores(
    path: Path | str,
    *,
    metrics: Sequence[str] | None = None,
    lp: str | None = None,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load a table with one row a judged output: system, sid, human_raw, human_z and one column a metric.

    A blank cell is a missing score. ``metrics`` are all columns but the named ones, and ``lp`` is taken from the file's
    name, unless given. Other arguments and errors: as for `bsx.analysis.load_table`.
    """
    known = ("system", "sid", "human_raw", "human_z")
    builder = Builder(path, name or Path(path).name.partition(".")[0], skip_malformed)
    table = builder.table(path, "system", "sid", "human_z", *(metrics or ()))
    builder.metrics = [column for column in table.columns if column not in known] if metrics is None else metrics
    pair = pair_in_name(path) if lp is None else lp
    for row in table.rows():
        with builder.problems:
            system, sid = _key(row)
            values: dict[str, Given] = {"lp": pair, "system": system, "segment": sid, "human": row.number("human_z")}
            values |= {"human_raw": row.number("human_raw")} if "human_raw" in row else {}
            builder.add(**values | {column: row.number(column) for column in builder.metrics})
    return builder.finish()


def _key(row: Row) -> tuple[str, str]:
    return row.name("system"), row.name("sid")
