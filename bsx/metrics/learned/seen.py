"""Whether rows that metrics are judged on were among those that they, their weights or their members learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.metrics import LEARNED
from bsx.catalog.specs import UNNAMED, read_spec
from bsx.data.seen import RowTexts, SeenRows, beside_entry
from bsx.errors import BsxError
from bsx.support.result import Notice

_NAMED_BY = {"bsx.metrics.learned.trained:Trained": "folder", "bsx.metrics.learned.ensemble:Ensemble": "file"}


def _learned(spec: str, catalog: Catalog, signature: str = "") -> Iterator[tuple[str, SeenRows | None]]:
    """Yield what in a metric was fitted to human scores by ``bsx train`` or ``bsx ensemble``; no model is loaded.

    That is ``networks``, ``weights`` or the member of an ensemble, and the rows; None if unknown. A column that is
    called as no metric has learned nothing here. By the signature of the scores, if known, a folder that was trained
    anew since is not what scored.
    """
    try:
        name, settings = read_spec(spec)
    except BsxError:
        return
    entry = catalog.metric(name)
    field = None if entry is None else _NAMED_BY.get(entry.implementation)
    if entry is None or field is None:
        return
    named = settings.get(field, settings.get(UNNAMED, entry.defaults.get(field)))
    if named is None:  # a column that is only called so
        return
    if field == "folder":
        from bsx.networks.record import SavedModel

        try:
            trained = SavedModel.open(Path(str(named)).expanduser())
        except BsxError:  # a column of scores whose metric is gone
            yield "networks", None
            return
        yield "networks", None if signature and trained.digest not in signature else trained.seen
        return
    from bsx.metrics.learned.ensemble import read_ensemble

    try:
        ensemble = read_ensemble(str(named), catalog)
    except BsxError:
        yield "weights", None
        return
    if ensemble.combination.how in LEARNED:
        file = catalog.origins.get(("ensemble", str(named))) or Path(str(named)).expanduser()
        yield "weights", SeenRows.read(beside_entry(file), ensemble.fitted.seen)
    for member in ensemble.combination.members:
        yield from ((member.metric, rows) for _, rows in _learned(member.metric, catalog))


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
    read = cache(read)
    where = {"table": table} if table else {}
    notices: list[Notice] = []
    for metric in dict.fromkeys(metrics):
        learned = list(_learned(metric, catalog, (signatures or {}).get(metric, "")))
        if any(rows is None for _, rows in learned):
            notices.append(Notice("training-unknown", metric))
        for by, rows in learned:
            if rows is None:
                continue
            texts = read()
            if texts is None or not len(texts.digests[0]):
                notices.append(Notice("no-texts", metric, where))
                break
            for part, count in rows.count(texts).items():
                if count:
                    values = {"rows": count, "of": len(texts), "part": part, "by": by}
                    notices.append(Notice("seen-rows", metric, values | where))
    return tuple(notices)
