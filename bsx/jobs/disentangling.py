"""Which linguistic factors explain metrics: regressions on columns of a table, with tests and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Unpack

from bsx.analysis.disentangling.bootstrap import compare_coefficients
from bsx.analysis.disentangling.checks import NestedTest, linearity_checks, nested_test
from bsx.analysis.disentangling.errors import BINDING, SEGMENTS
from bsx.analysis.disentangling.fit import disentangle as regress
from bsx.analysis.disentangling.noise.reliability import with_repeats
from bsx.analysis.disentangling.residuals import Residuals
from bsx.analysis.disentangling.residuals import residuals as regression_residuals
from bsx.analysis.disentangling.result import DisentangleResult
from bsx.catalog.languages import language_code
from bsx.data.columns import Labels, TableLike, read_columns
from bsx.data.long import SYSTEM, together
from bsx.data.sidecar import factor_columns, known_signatures, scored_columns
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.settings.factors import DisentangleSettings
from bsx.support.checks import Array
from bsx.support.settings import complete, takes


@takes(DisentangleSettings)
def disentangle(
    file: Path,
    columns: Sequence[str] = (),
    factors: Sequence[str] = (),
    *,
    add: Sequence[Sequence[str]] = (),
    compare: tuple[str, str] | None = None,
    **how: Unpack[DisentangleSettings],
) -> DisentangleResult:
    """Regress metric scores on linguistic factors: coefficients, intervals, explained variance and its shares.

    It reads files; `bsx.analysis.disentangle` works on columns.

    Args:
        file: table of scores and factors.
        columns: those to explain; those that are known to be metrics unless given.
        factors: columns to explain them with; those that are known to be factors unless given.
        add: groups of factors; tests whether each adds anything to the others.
        compare: two metrics whose coefficients to compare.
        **how: the regression, its intervals and tests, and rows.

    Raises:
        InputError: for a table that cannot be used, or a metric to compare that is not there.
    """
    asked = complete(how, DisentangleSettings)
    read = _opened(file, columns, factors, asked)
    columns, factors, table = read.columns, read.factors, read.table
    se, cluster, nan, seed, intercept = asked["se"], asked["cluster"], asked["nan"], asked["seed"], asked["intercept"]
    bootstrap, confidence, repeat = asked["bootstrap"], asked["confidence"], read_repeats(asked["repeat"])
    result = regress(
        table,
        columns,
        factors,
        se=se,
        cluster=cluster,
        nan=nan,
        group=asked["group"],
        intercept=intercept,
        bootstrap=bootstrap,
        seed=seed,
        confidence=confidence,
        correction=asked["correction"],
        reliability=read_reliability(asked["reliability"]),
        repeat=repeat,
        simex=asked["simex"],
        control=asked["control"],
        random=asked["random"],
        spline=asked["spline"],
        mediator=asked["mediator"],
    )
    table = with_repeats(table, repeat)
    tests: dict[str, tuple[NestedTest, ...]] = {}
    for name in columns if add or asked["checks"] else ():
        found = []
        for added in add:
            base = [factor for factor in factors if factor not in added]
            found.append(nested_test(table, name, base, added, intercept=intercept, se=se, cluster=cluster, nan=nan))
        if asked["checks"]:
            found += linearity_checks(table, name, factors, se=se, cluster=cluster, nan=nan).values()
        if found:
            tests[name] = tuple(found)
    comparison = None
    if compare is not None:
        a, b = compare
        if a == b or not {a, b} <= set(columns):
            raise InputError(f"`compare={a},{b}`: name two of the metrics {', '.join(columns)}, as A,B")
        resamples = bootstrap or 2000
        comparison = compare_coefficients(
            table, a, b, factors, se=se, cluster=cluster, nan=nan, resamples=resamples, seed=seed, confidence=confidence
        )
    signatures = known_signatures(file, [*columns, *factors])
    return replace(result, tests=tests, comparison=comparison, seed=seed, signatures=signatures, notes=read.notes)


@takes(DisentangleSettings)
def residuals(
    file: Path, columns: Sequence[str] = (), factors: Sequence[str] = (), **how: Unpack[DisentangleSettings]
) -> list[Residuals]:
    """Return the residuals of each metric of the regression that `disentangle` makes of the same arguments."""
    asked = complete(how, DisentangleSettings)
    read = _opened(file, columns, factors, asked)
    table = with_repeats(read.table, read_repeats(asked["repeat"]))
    settled = {"se": asked["se"], "cluster": asked["cluster"], "intercept": asked["intercept"], "nan": asked["nan"]}
    return [regression_residuals(table, name, read.factors, **settled) for name in read.columns]  # type: ignore[arg-type]


class _Opened(NamedTuple):
    columns: list[str]
    factors: list[str]
    table: TableLike
    notes: tuple[str, ...]


def _opened(file: Path, columns: Sequence[str], factors: Sequence[str], asked: DisentangleSettings) -> _Opened:
    """Return the columns of a file that a regression reads, under the names that it knows them by."""
    opened = Table(file)
    columns = list(columns) or scored_columns(file, opened.columns)
    factors = list(factors) or factor_columns(file, opened.columns)
    for setting, names, what in (("columns", columns, "scores"), ("factor_columns", factors, "factors")):
        if not names:
            raise InputError(
                f"{file}: `{setting}=COL,…` names the columns of {what}; it has {', '.join(opened.columns)}"
            )
    group, lang, segment, random = asked["group"], asked["lang"], asked["segment"], asked["random"]
    repeat = read_repeats(asked["repeat"])
    system = asked["system"] if asked["system"] is not None else opened.first(SYSTEM)
    system = None if system in (*columns, *factors, group, *random) else system
    opened.require(*(name for name in (segment, system) if name is not None))
    wanted = (asked["cluster"], group, *random, "lp" if lang else None)
    labels = [name for name in dict.fromkeys(wanted) if name is not None]
    measured = [name for names in repeat.values() for name in names]
    controls = [name for name in asked["control"] if name != "length" or name in opened.columns]
    numbers = [*dict.fromkeys([*columns, *(name for name in factors if name not in repeat), *measured, *controls])]
    binding = [name for name in BINDING if name in opened.columns and name not in (*numbers, *labels)]
    binding = [name for name in binding if segment is None or name not in SEGMENTS]
    keys = dict.fromkeys([*binding, *(name for name in (segment, system) if name is not None and name not in labels)])
    read = read_columns(opened, numbers, labels, keys=list(keys))
    if segment is not None:
        read[SEGMENTS[0]] = read[segment]
    table: TableLike = read if lang is None else _into(read, language_code(lang), file)
    advice = f"`group={system}` fits each by itself"
    notes = () if system is None else tuple(together(list(map(str, table[system])), system, advice))
    return _Opened(columns, factors, table, notes)


def read_reliability(given: Mapping[str, float] | Sequence[str]) -> dict[str, float]:
    """Return factor -> reliability, from a mapping or texts like ``sem=.7``.

    Raises:
        InputError: for a text of another form.
    """
    if isinstance(given, Mapping):
        return dict(given)
    found = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not (name.strip() and equals):
            raise InputError(f"`reliability={text}`: write FACTOR=NUMBER, such as sem=.7")
    return found


def read_repeats(given: Mapping[str, Sequence[str]] | Sequence[str]) -> dict[str, list[str]]:
    """Return factor -> columns that measure it, from a mapping or texts like ``sem=sem1``, ``sem2``.

    Raises:
        InputError: if the first text names no factor.
    """
    if isinstance(given, Mapping):
        return {name: list(columns) for name, columns in given.items()}
    found: dict[str, list[str]] = {}
    factor = ""
    for text in given:
        name, equals, column = text.partition("=")
        factor = name.strip() if equals else factor
        if not factor:
            raise InputError(f"`repeat={text}`: write FACTOR=COLUMN,COLUMN,…, such as sem=sem1,sem2")
        found.setdefault(factor, []).append((column if equals else name).strip())
    return found


def _into(table: Mapping[str, Array | Labels], lang: str, file: Path) -> dict[str, Array | Labels]:
    kept = [i for i, pair in enumerate(table["lp"]) if str(pair).rpartition("-")[2] == lang]
    if not kept:
        raise InputError(
            f"{file}: no row of column 'lp' goes into {lang}; there are {', '.join(sorted(set(map(str, table['lp']))))}"
        )
    return {
        name: [column[i] for i in kept] if isinstance(column, list) else column[kept] for name, column in table.items()
    }
