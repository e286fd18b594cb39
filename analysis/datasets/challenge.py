"""Challenge sets: a good and a bad translation of the same segment, and what is wrong with the bad one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable
from bsx.data import cells
from bsx.data.lines import NamedFile
from bsx.data.long import SEGMENTS
from bsx.data.open import open_table
from bsx.data.sources import AnyTable
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError
from bsx.support.checks import Array

# The first name of each is ours; the others are those of ACES, HW-TSC and DEMETR (as a table).
_NAMES = {
    "good": ("good", "good-translation"),
    "bad": ("bad", "incorrect-translation"),
    "reference": ("reference",),
    "source": ("source",),
    "phenomenon": ("phenomenon", "phenomena", "category"),
    "severity": ("severity",),
    "lang": ("lang", "langpair", "lp"),
    "segment": SEGMENTS,
}
# HW-TSC's header calls two columns "source"; the second tells where a sentence comes from.
_HWTSC = ["source", "good-translation", "incorrect-translation", "reference", "phenomena"]
_DEMETR = {
    "good": "mt_sent",
    "bad": "pert_sent",
    "reference": "eng_sent",
    "source": "src_sent",
    "phenomenon": "pert_name",
    "severity": "severity",
    "lang": "lang_tag",
    "segment": "id",
}


class MinimalPair(NamedTuple):
    """A good and a bad translation of one segment.

    Attributes:
        good: the better translation.
        bad: the worse one.
        reference: a reference; None if the set has none.
        source: the source; None if the set has none.
        phenomenon: what is wrong with the bad one.
        severity: how bad that is; "" if the set does not say.
        lang: language or language pair; "" if the set does not say.
        item: rows with the same item are about the same sentence.
        where: file and row, for messages.
    """

    good: str
    bad: str
    reference: str | None
    source: str | None
    phenomenon: str
    severity: str
    lang: str
    item: str
    where: str


@dataclass(frozen=True)
class ChallengeSet:
    """Minimal pairs of a challenge set.

    Attributes:
        pairs: as they stand in the file.
        scores: metric -> (scores of the good (n,), of the bad (n,)), for the columns asked for.
        notes: what a reader must know.
    """

    pairs: tuple[MinimalPair, ...]
    scores: Mapping[str, tuple[Array, Array]]
    notes: tuple[str, ...] = ()

    @cached_property
    def has(self) -> frozenset[str]:
        """What beside candidates every pair has: ``reference``, ``source``."""
        kinds = ("reference", "source")
        return frozenset(kind for kind in kinds if all(getattr(pair, kind) is not None for pair in self.pairs))


def load_challenge(
    path: AnyTable, metrics: Sequence[str] = (), columns: Mapping[str, str] | None = None
) -> ChallengeSet:
    """Load a challenge set, in the layout of its publishers or as a plain table.

    Layouts, told apart by name and header:

    - a table (.tsv, .csv, .jsonl or .parquet, perhaps gzip-compressed) with the columns good and bad, reference or
      source or both, and perhaps phenomenon (or category), severity, lang (or lp) and segment (or sid, or id);
    - ACES (Amrhein, Moghe & Guillou 2022) and HW-TSC (Chen et al. 2022): the same with good-translation,
      incorrect-translation, phenomena, langpair;
    - DEMETR (Karpinska et al. 2022): a .json file of the set, or the folder with all of them; rows whose perturbation
      its authors marked as failed are left out and counted.

    Args:
        path: file or folder, or a table in memory.
        metrics: scores in the table: of ``chrf`` the columns ``chrf-good`` and ``chrf-bad``.
        columns: columns of the table that are called otherwise: ``good``, ``bad``, ``reference``, ``source``,
            ``phenomenon``, ``severity``, ``lang`` or ``segment`` -> column.

    Raises:
        InputError: naming file, row and reason.
        UnknownNameError: for a column that is not there.
    """
    named = columns or {}
    for kind in named:
        if kind not in _NAMES:
            raise UnknownNameError(f"a challenge set has no {kind!r}; it has {', '.join(_NAMES)}")
    if not isinstance(path, str | Path):
        return _read_table(open_table(path), metrics, named)
    place = Path(path)
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files:
        raise InputError(f"{place}: the folder holds no .json file of DEMETR; name a table by its file")
    if place.is_dir() or NamedFile(place).suffix == ".json":
        if metrics:
            raise InputError(f"{place}: files of DEMETR hold no scores: compute them with metrics")
        if named:
            raise InputError(f"{place}: files of DEMETR have fields of their own: name columns of tables only")
        return _read_demetr(files)
    file = NamedFile(place)
    first = "" if file.suffix in (".parquet", ".jsonl") else next(file.lines(), "").rstrip("\r\n")
    repeated = first.split("\t") == [*_HWTSC, "source"]
    return _read_table(
        Table(file, header=[*_HWTSC, "origin"] if repeated else None), metrics, named, skip=int(repeated)
    )


def load_challenge_table(path: Path | str, *, name: str | None = None) -> JudgedTable:
    """Load a challenge set as a table: lp, segment, source, reference, good, bad, phenomenon, severity.

    Args:
        path: see `load_challenge`.
        name: name of the data set; the path's unless given.

    Raises:
        InputError: naming file, row and reason.
    """
    result, builder = load_challenge(path), Builder(path, name)
    builder.notes.extend(result.notes)
    for pair in result.pairs:
        texts: dict[str, Given] = {side: str(getattr(pair, side)) for side in sorted(result.has)}
        texts |= {"good": pair.good, "bad": pair.bad, "phenomenon": pair.phenomenon, "severity": pair.severity}
        builder.add(lp=pair.lang, segment=pair.item, **texts)
    return builder.finish()


def _read_demetr(files: Sequence[Path]) -> ChallengeSet:
    pairs: list[MinimalPair] = []
    failed = 0
    for file in files:
        items = NamedFile(file).json()
        if not isinstance(items, list) or not items:
            raise InputError("is no list of items, as DEMETR's files are", file=file)
        for number, item in enumerate(items, start=1):
            where = f"{file}: item {number}"
            if lacking := [key for key in _DEMETR.values() if not isinstance(item, dict) or key not in item]:
                raise InputError(f"{where}: has no {lacking[0]!r}, which DEMETR's items have")
            if item.get("pert_check", True) is False:
                failed += 1
                continue
            item["id"] = str(item["id"])
            fields = {field: cells.text(item[key], f"{where}, {key!r}") for field, key in _DEMETR.items()}
            # critical_id10_numbers_replaced; the number inside the item differs for two operations.
            operation = fields["phenomenon"].removeprefix(f"{fields['severity']}_")
            fields["phenomenon"] = re.sub(r"^id\d+_(?=.)", "", operation)
            fields["item"] = f"{fields['lang']} {fields.pop('segment')}"
            pairs.append(MinimalPair(**fields, where=where))
    if not pairs:
        raise InputError(f"{files[0]}: holds no item whose perturbation was marked as right")
    notes = (f"{failed} items whose perturbation was marked as failed are left out",) if failed else ()
    return ChallengeSet(tuple(pairs), {}, notes)


def _read_table(table: Table, metrics: Sequence[str], named: Mapping[str, str], skip: int = 0) -> ChallengeSet:
    table.require(*named.values())
    columns = {name: named.get(name, table.first(*spellings)) for name, spellings in _NAMES.items()}
    for name in ("good", "bad"):
        if columns[name] is None:
            known = ", ".join(table.columns)
            raise UnknownNameError(f"has no column {name!r}; say which it is ({name}); it has {known}", file=table.name)
    if columns["reference"] is None and columns["source"] is None:
        raise InputError(
            "has neither a column reference nor a column source to compare with: say which it is (reference or source)",
            file=table.name,
        )
    sides = {metric: (f"{metric}-good", f"{metric}-bad") for metric in metrics}
    table.require(*(column for both in sides.values() for column in both))
    pairs: list[MinimalPair] = []
    scores: dict[str, list[list[float]]] = {metric: [] for metric in metrics}
    for row in islice(table.rows(), skip, None):
        good, bad, reference, source = (
            None if (column := columns[name]) is None else row.text(column)
            for name in ("good", "bad", "reference", "source")
        )
        phenomenon, severity, lang, segment = (
            "" if (column := columns[name]) is None or row[column] is None else str(row[column]).strip()
            for name in ("phenomenon", "severity", "lang", "segment")
        )
        if columns["phenomenon"] is not None and not phenomenon:
            raise InputError(f"{row.where}: names no phenomenon (column {columns['phenomenon']!r})")
        item = f"{lang} {segment}" if segment else f"{source}\t{reference}"
        texts = (str(good), str(bad), reference, source)
        pairs.append(MinimalPair(*texts, phenomenon or "all", severity, lang, item, row.where))
        for metric, both in sides.items():
            scores[metric].append([row.number(column) for column in both])
    if not pairs:
        raise InputError("has a header but no rows", file=table.name)
    arrays = {metric: tuple(map(np.array, zip(*values, strict=True))) for metric, values in scores.items()}
    return ChallengeSet(tuple(pairs), {metric: (good, bad) for metric, (good, bad) in arrays.items()})
