"""Published tables, recomputed: each is one YAML and one function, all go through here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.published import demetr, effeval, flickr8k, kaster2021, mteb, paws, wmt17, wmt22_auto, wmt23
from benchmarks.published.table import Figure, PublishedFacts, Score, Work, judged
from bsx.analysis.published import LeftOut, Reproduced, ReproducedTable
from bsx.errors import DataUnavailableError, InputError, UnknownNameError
from bsx.support.near import did_you_mean
from bsx.support.progress import Watch, told
from bsx.support.provenance import Provenance, provenance

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
WITH_TEXTS = ("effeval", "wmt17", "flickr8k", "paws")
"""Tables that other metrics can stand in."""


def reproduce(
    names: Sequence[str] | None,
    data: Path | str,
    *,
    score: Score | None = None,
    own: Sequence[str] = (),
    lex: bool = True,
    wmt17: Path | None = None,
    progress: Watch = None,
) -> Reproduced:
    """Recompute published tables and compare them with what was published.

    Args:
        names: tables, of `TABLES`; None for all that the data allow.
        data: folder of the data: each table's own folder or the one above; see docs/evaluate/reproduce.md.
        score: computes a metric: from its spec, candidates and references to an object with ``values``, ``system`` and
            ``higher_is_better``, such as ``lambda spec, c, r: bsx.get_metric(spec).score(c, r)``. Without it, tables
            for which texts have to be scored are left out.
        own: specs of metrics whose figures to put next to the published ones, in the tables `WITH_TEXTS`.
        lex: for kaster2021, recompute lexical overlaps from the texts.
        wmt17: for kaster2021, table of WMT17's segment judgments.
        progress: called with a phase's name, what is done, and what there is in all; True draws bars.

    Returns:
        Published, ours, difference and a verdict for each cell. With ``names=None``, tables whose data are missing are
        listed with the reason.

    Raises:
        UnknownNameError: for an unknown table.
        DataUnavailableError: if the data of a named table are missing, or those of all tables.
        InputError: naming file and row of data that are not as published.
    """
    progress = told(progress)
    folder = Path(data)
    if not folder.is_dir():
        raise InputError("there is no such folder of data", file=folder)
    for name in names or ():
        if name not in TABLES:
            raise UnknownNameError(f"{name}: no such table; known are {', '.join(TABLES)}.{did_you_mean(name, TABLES)}")
    if own and names is not None and not set(names) & set(WITH_TEXTS):
        raise InputError(f"metrics needs a table that other metrics can stand in: {', '.join(WITH_TEXTS)}")
    tables: dict[str, ReproducedTable] = {}
    left_out: list[LeftOut] = []
    read: list[Path] = []
    for name in dict.fromkeys(TABLES if names is None else names):
        facts, recompute = TABLES[name]
        work = Work(folder, score, own, progress, {"lex": lex, "wmt17": wmt17})
        try:
            tables[name] = judged(facts, recompute(work), work.left_out)
        except DataUnavailableError as error:
            if names is not None:
                raise
            left_out.append(LeftOut(what=name, reason=str(error)))
            continue
        read += [path for path in work.read if path.is_file() and path not in read]
    if not tables:
        raise DataUnavailableError(f"has the data of no published table; the first: {left_out[0].reason}", file=folder)
    return Reproduced(
        ok=not any(table.count("off") for table in tables.values()),
        tables=tables,
        left_out=tuple(left_out),
        provenance=Provenance.read(provenance(Reproduced.kind, read)),
    )
