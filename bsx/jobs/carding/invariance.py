"""What should not change a metric's scores, tried: order, batches, threads, white space, Unicode form, repetition."""

from __future__ import annotations

import contextlib
import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.cards.result import InvarianceRow
from bsx.jobs.carding.data import JudgedRows, RowTexts
from bsx.jobs.carding.desk import CardFindings, Desk
from bsx.jobs.carding.scoring import Problem, one_line
from bsx.support.checks import Array
from bsx.support.result import as_json
from bsx.support.untyped import JsonObject

TOLERANCE = 1e-5
"""Largest difference that is none, as a share of the largest score (or of 1): what signatures promise in fp32."""
_ONE_BY_ONE = 20

Score = Callable[[RowTexts], Array]


def check(desk: Desk) -> CardFindings:
    """Check every metric on a sample of the first texts of each language that it can read."""
    found = CardFindings()
    for name in desk.scorable(found, "invariance", ", which nothing can be tried on"):
        done: set[str] = set()
        for one, content in desk.of(JudgedRows):
            texts = content.texts
            metric = desk.lab.build(one.lang)[name]
            if one.lang in done or texts.candidates is None:
                continue
            if isinstance(metric, Problem):
                found.miss("invariance", name, metric)
                continue
            if metric.needs - texts.has:
                needs = " and ".join(sorted(metric.needs - {"candidate"}))
                reason = f"{name} needs {needs}s, which {one.name} lacks"
                found.miss("invariance", name, Problem(False, reason))
                continue
            done.add(one.lang)
            draw = np.random.default_rng(desk.how["seed"])
            most = min(desk.how["checked"], len(texts))
            some = texts.at(sorted(draw.choice(len(texts), most, replace=False).tolist()))
            try:
                torch = "backend:torch" in str(desk.lab.identity(one.lang, name).get("signature"))
                score = desk.lab.function(one.lang, name)
                rows = checks(score, some, compares="reference" in metric.needs, threads=torch)
            except Exception as error:  # noqa: BLE001 - a metric may be anybody's code and raise anything
                found.miss("invariance", name, Problem(True, f"{one.name}: {one_line(error)}"))
                continue
            found.add("invariance", name, checks=[{**row, "group": one.lang} for row in rows], tolerance=TOLERANCE)
    return found


def checks(score: Score, texts: RowTexts, *, compares: bool = True, threads: bool = False) -> list[JsonObject]:
    """Return what each check found.

    Args:
        score: from n texts to their scores (n,), higher is better, computed anew in every call.
        texts: the rows.
        compares: whether candidates are compared with references, or with sources alone.
        threads: whether it computes with PyTorch, whose threads are tried too.
    """
    n = len(texts)
    before = score(texts)
    scale = max(1.0, float(np.nanmax(np.abs(before), initial=0.0)))

    def row(
        name: str,
        what: str,
        after: Array,
        rows: Sequence[int] | None = None,
        *,
        exact: bool = False,
        kind: str = "invariance",
    ) -> JsonObject:
        own = before if rows is None else before[list(rows)]
        return _compared(name, what, own, after, scale, exact=exact, kind=kind)

    found = [
        row("repeat", "the same texts again: exactly the same scores", score(texts), exact=True, kind="determinism")
    ]
    backwards = list(range(n))[::-1]
    found.append(row("order", "rows in reverse order", score(texts.at(backwards))[::-1]))
    few = list(range(min(n, _ONE_BY_ONE)))
    alone = np.concatenate([score(texts.at([i])) for i in few])
    found.append(row("batch", "each row scored by itself", alone, few))
    what = "PyTorch with one thread and with two"
    if threads:
        with _threads(1):
            one = score(texts)
        with _threads(2):
            two = score(texts)
        found.append(_compared("threads", what, one, two, scale, kind="determinism"))
    else:
        found.append(_nothing("threads", what, "it does not compute with PyTorch", kind="determinism"))
    spaced = _each(texts, lambda text: f" {text.replace(' ', '  ')} ")
    found.append(row("spaces", "double spaces, and spaces at both ends", score(spaced)))
    decomposed = _each(texts, lambda text: unicodedata.normalize("NFD", text))
    pairs = zip(texts.candidates or [], decomposed.candidates or [], strict=True)
    other = [i for i, (one, two) in enumerate(pairs) if one != two]
    what = "candidates in another Unicode form than what they are compared with (NFD)"
    if other:
        half = RowTexts(decomposed.candidates, texts.references, texts.sources).at(other)
        found.append(row("unicode", what, score(half), other))
    else:
        found.append(_nothing("unicode", what, "no text has a character with two forms"))
    found += _extremes(score, texts, before, scale, compares)
    return found


def _extremes(score: Score, texts: RowTexts, before: Array, scale: float, compares: bool) -> list[JsonObject]:
    """Check that a text compared with itself scores highest, an empty one lowest, and whether sides can be swapped."""
    n = len(texts)
    what = "a text beside itself scores as high as any candidate beside it"
    swapped = "candidate and reference swapped (a property; it need not hold)"
    found = []
    if compares and texts.references is not None and texts.candidates is not None:
        first = [several[0] for several in texts.references]
        own = score(RowTexts(first, [(text,) for text in first], texts.sources))
        short = np.maximum(before - own, 0.0)
        found.append(_row("identical", what, n, short > TOLERANCE * scale, short))
        spread = own - np.nanmax(own)
        found.append(
            _row(
                "identical-equal",
                "every text beside itself scores the same",
                n,
                np.abs(spread) > TOLERANCE * scale,
                np.abs(spread),
            )
        )
        single = RowTexts(texts.candidates, [(text,) for text in first], texts.sources)
        other = RowTexts(first, [(text,) for text in texts.candidates], texts.sources)
        difference = np.abs(score(single) - score(other))
        found.append(_row("symmetry", swapped, n, difference > TOLERANCE * scale, difference, kind="property"))
    else:
        why = "it compares candidates with sources"
        found += [_nothing("identical", what, why), _nothing("symmetry", swapped, why, kind="property")]
    if texts.candidates is not None:
        empty = score(RowTexts([""] * n, texts.references, texts.sources))
        above = np.maximum(empty - before, 0.0)
        what = "an empty candidate scores no higher than the one that is there"
        found.append(_row("empty", what, n, above > TOLERANCE * scale, above))
    return found


def _compared(
    name: str, what: str, one: Array, two: Array, scale: float, *, exact: bool = False, kind: str = "invariance"
) -> JsonObject:
    lost = np.isnan(one) != np.isnan(two)
    difference = np.where(np.isnan(one) | np.isnan(two), 0.0, np.abs(one - two))
    return _row(name, what, len(one), (difference > (0 if exact else TOLERANCE * scale)) | lost, difference, kind=kind)


def _row(
    name: str, what: str, n: int, changed: NDArray[np.bool_], difference: Array, *, kind: str = "invariance"
) -> JsonObject:
    row: JsonObject = as_json(
        InvarianceRow(
            name=name,
            what=what,
            n=n,
            changed=int(changed.sum()),
            largest=float(np.nanmax(difference, initial=0.0)),
            holds=not changed.any(),
            kind=kind,
        )
    )
    return row


def _nothing(name: str, what: str, why: str, *, kind: str = "invariance") -> JsonObject:
    none = InvarianceRow(name=name, what=what, n=0, changed=0, largest=math.nan, holds=None, kind=kind, note=why)
    row: JsonObject = as_json(none)
    return row


def _each(texts: RowTexts, change: Callable[[str], str]) -> RowTexts:
    return RowTexts(
        [change(text) for text in texts.candidates or []],
        None if texts.references is None else [tuple(change(text) for text in several) for several in texts.references],
        None if texts.sources is None else [change(text) for text in texts.sources],
    )


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
