"""Whether rows that metrics are judged on were among those that they, their weights or their members learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bsx.catalog.catalog import Catalog
from bsx.catalog.combination import LEARNED
from bsx.catalog.specs import UNNAMED, read_spec
from bsx.data.seen import RowTexts, SeenRows, beside_entry
from bsx.errors import BsxError
from bsx.support.result import Notice

_TRAINED = "bsx.metrics.learned.trained:Trained"
_ENSEMBLE = "bsx.metrics.learned.ensemble:Ensemble"


@dataclass(frozen=True)
class Learned:
    """Something in a metric that was fitted to human scores.

    Attributes:
        by: what it is: ``networks``, ``weights``, or the member of an ensemble.
        rows: what it was fitted to; None if that was not kept.
    """

    by: str
    rows: SeenRows | None


def learned_by(spec: str, catalog: Catalog, signature: str = "") -> list[Learned]:
    """Return what in a metric was fitted to human scores by ``bsx train`` or ``bsx ensemble``; no model is loaded.

    Args:
        spec: the metric, or a column that is called as one; a name that is none has learned nothing here.
        catalog: the registry.
        signature: of the scores, if it is known; a folder that was trained anew since is not what scored.
    """
    try:
        name, settings = read_spec(spec)
    except BsxError:
        return []
    entry = catalog.metric(name)
    if entry is None:
        return []
    field = {_TRAINED: "folder", _ENSEMBLE: "file"}.get(entry.implementation)
    if field is None:
        return []
    named = {**entry.defaults, **({field: settings[UNNAMED]} if UNNAMED in settings else {}), **settings}.get(field)
    if named is None:  # a column that is only called so
        return []
    if field == "folder":
        from bsx.train.record import SavedModel

        try:
            model = SavedModel.open(Path(str(named)).expanduser())
        except BsxError:  # a column of scores whose metric is gone
            return [Learned("networks", None)]
        return [Learned("networks", None if signature and model.digest not in signature else model.seen)]
    return list(_of_ensemble(str(named), catalog))


def _of_ensemble(named: str, catalog: Catalog) -> Iterator[Learned]:
    from bsx.metrics.learned.ensemble import read_ensemble

    try:
        saved = read_ensemble(named, catalog)
    except BsxError:
        yield Learned("weights", None)
        return
    if saved.combination.how in LEARNED:
        place = catalog.origins.get(("ensemble", named))
        file = place if place is not None else Path(named).expanduser()
        yield Learned("weights", SeenRows.read(beside_entry(file), saved.fitted.seen))
    for member in saved.combination.members:
        yield from (Learned(member.metric, one.rows) for one in learned_by(member.metric, catalog))


def seen_notices(
    metrics: Iterable[str],
    catalog: Catalog,
    read: Callable[[], RowTexts | None],
    *,
    signatures: Mapping[str, str] | None = None,
    table: str = "",
) -> tuple[Notice, ...]:
    """Say which metrics were fitted to rows that they are judged on, or may have been.

    Args:
        metrics: specs, or columns that are called as metrics.
        catalog: the registry.
        read: returns the texts of the rows, None if there are none; called if a metric has learned anything.
        signatures: of the metrics' scores, where known.
        table: where the rows are, if there are several tables.

    Returns:
        ``seen-rows`` for each part of what a metric learned from that shares rows, with ``rows``, ``of``, ``part`` and
        ``by``; ``training-unknown`` once a metric where that was not kept; ``no-texts`` where rows cannot be compared.
    """
    texts, found = cache(read), list[Notice]()
    where = {"table": table} if table else {}
    for about in dict.fromkeys(metrics):
        learned = learned_by(about, catalog, (signatures or {}).get(about, ""))
        if any(one.rows is None for one in learned):
            found.append(Notice("training-unknown", about))
        for one in learned:
            if one.rows is None:
                continue
            judged = texts()
            if judged is None or not len(judged.digests[0]):
                found.append(Notice("no-texts", about, where))
                break
            for part, rows in one.rows.count(judged).items():
                if rows:
                    values = {"rows": rows, "of": len(judged), "part": part, "by": one.by}
                    found.append(Notice("seen-rows", about, values | where))
    return tuple(found)
