"""Published tables, recomputed: ``python -m benchmarks.published [TABLE …] [--data FOLDER]``, or ``make reproduce``.

Each table is one YAML and one module. Prints Markdown: every figure as published and as computed here, with a verdict.
The exit status is 1 if a figure is off without a reason, 2 if data are missing or are not as published.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import get_args

import bsx
from benchmarks.published import demetr, effeval, flickr8k, kaster2021, mteb, paws, wmt17, wmt22_auto, wmt23
from benchmarks.published.table import Figure, LeftOut, PublishedFacts, ReproducedTable, Verdict, Work, judged
from bsx.analysis.present.markdown import escape, rows_of
from bsx.errors import BsxError, DataUnavailableError, InputError, UnknownNameError, did_you_mean
from bsx.metrics.base import Metric
from bsx.metrics.results import MetricScores
from bsx.support.progress import Watch, reporter

TABLES: dict[str, tuple[PublishedFacts, Callable[[Work], list[Figure]]]] = {
    "kaster2021": (kaster2021.FACTS, kaster2021.recompute),
    "effeval": (effeval.FACTS, effeval.recompute),
    "wmt22-auto": (wmt22_auto.FACTS, wmt22_auto.recompute),
    "mteb": (mteb.FACTS, mteb.recompute),
    "wmt17": (wmt17.FACTS, wmt17.recompute),
    "demetr": (demetr.FACTS, demetr.recompute),
    "flickr8k": (flickr8k.FACTS, flickr8k.recompute),
    "paws": (paws.FACTS, paws.recompute),
    "wmt23": (wmt23.FACTS, wmt23.recompute),
}
"""Name -> what its YAML states, and the function that recomputes it."""
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def reproduce(
    names: Sequence[str], data: Path, progress: Watch = None
) -> tuple[dict[str, ReproducedTable], list[LeftOut]]:
    """Recompute published tables and compare them with what was published.

    Args:
        names: tables, of `TABLES`; none for all that the data allow.
        data: folder of the data: a table's own folder or the one above; see docs/evaluate/reproduce.md.
        progress: called with a phase's name, what is done, and what there is in all; True draws bars.

    Returns:
        The tables, and, of all, those whose data are missing.

    Raises:
        UnknownNameError: for an unknown table.
        DataUnavailableError: if the data of a named table are missing, or those of all tables.
        InputError: naming file and row of data that are not as published.
    """
    if not data.is_dir():
        raise InputError("there is no such folder of data", file=data)
    for name in names:
        if name not in TABLES:
            raise UnknownNameError(f"{name}: no such table; known are {', '.join(TABLES)}.{did_you_mean(name, TABLES)}")
    encoders, metrics = bsx.Encoders(normalize="none"), dict[str, Metric]()  # as the published metrics read texts

    def score(spec: str, candidates: Sequence[str], references: Sequence[str | Sequence[str]]) -> MetricScores:
        if spec not in metrics:
            metrics[spec] = bsx.get_metric(spec, encoders=encoders)
        return metrics[spec].score(candidates, references)

    tables: dict[str, ReproducedTable] = {}
    left_out: list[LeftOut] = []
    for name in names or TABLES:
        facts, recompute = TABLES[name]
        work = Work(data, score, reporter(progress))
        try:
            tables[name] = judged(facts, recompute(work), work.left_out)
        except DataUnavailableError as error:
            if names:
                raise
            left_out.append(LeftOut(what=name, reason=str(error)))
    if not tables:
        where = f"has the data of no published table, --data names another folder; the first: {left_out[0].reason}"
        raise DataUnavailableError(where, file=data)
    return tables, left_out


def page(tables: dict[str, ReproducedTable], left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Yield the lines of a page: how many figures are met, the tables, what is left out, then every figure."""
    yield "# Published tables and ours\n"
    yield f"{summary([*tables.values()])}\n"
    verdicts = get_args(Verdict)
    counts = [[len(table.figures), *(table.count(verdict) for verdict in verdicts)] for table in tables.values()]
    rows = [[name, *map(str, row)] for name, row in zip(tables, counts, strict=True)]
    yield rows_of(["table", "figures", *verdicts], rows, range(1, 7))
    yield from ("", *(f"Left out: {part.what}: {part.reason}." for part in left_out))
    for name, table in tables.items():
        facts = table.facts
        yield f"\n## {name}: {facts.title}\n\nSource: {facts.source}. Data: {', '.join(facts.data)}.\n"
        yield from (f"- {setting}" for setting in facts.settings)
        yield ""
        keys = list(dict.fromkeys(key for figure in table.figures for key in figure.at))
        reasons = list(dict.fromkeys(figure.reason for figure in table.figures if figure.reason))
        heads = [*keys, facts.called, "ours", "difference", "verdict"]
        yield rows_of(
            heads, (_row(figure, keys, reasons) for figure in table.figures), range(len(keys), len(heads) - 1)
        )
        yield from ("", *(f"{place}. {reason}" for place, reason in enumerate(reasons, start=1)))
        if table.left_out:
            yield "\nNot recomputed:\n"
            yield from (f"- {part.what}: {part.reason}" for part in table.left_out)


def summary(tables: Sequence[ReproducedTable]) -> str:
    """Return how many figures are met, and how many are off."""
    lines = []
    for called in dict.fromkeys(table.facts.called for table in tables):
        own = [table for table in tables if table.facts.called == called]
        every = sum(len(table.figures) - table.count("ours") for table in own)
        met = sum(table.count("met", "exception no longer needed") for table in own)
        noun = "table" if len(own) == 1 else "tables"
        lines.append(f"{met:,} of {every:,} {called} figures in {len(own)} {noun} are met within their tolerance.")
    exceptions, off = (sum(table.count(verdict) for table in tables) for verdict in ("exception", "off"))
    lines.append(f"Off for a named reason: {exceptions}. Off without a reason: {off}.")
    return " ".join(lines)


def _row(figure: Figure, keys: Sequence[str], reasons: Sequence[str]) -> Iterator[str]:
    yield from (escape(figure.at.get(key, "")) for key in keys)
    yield "–" if figure.published is None else f"{figure.published:.6g}"
    yield f"{figure.ours:.6g}"
    yield "–" if figure.published is None else f"{figure.ours - figure.published:+.1e}"
    yield figure.verdict + (f" ({reasons.index(figure.reason) + 1})" if figure.reason else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; all that the data allow unless given")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data")
    given = parser.parse_args(arguments)
    try:
        tables, left_out = reproduce(given.tables, given.data, progress=sys.stderr.isatty())
    except BsxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        print("\n".join(page(tables, left_out)), flush=True)
    except BrokenPipeError:  # a reader such as head has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(any(table.count("off") for table in tables.values()))


if __name__ == "__main__":
    sys.exit(main())
