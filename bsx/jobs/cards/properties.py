"""What should not change a metric's scores, tried; and the languages it was measured in, and what was cut off there."""

from __future__ import annotations

import contextlib
import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.cards.result import InvarianceRow, LanguageRow
from bsx.jobs.cards.data import JudgedRows, SegmentTexts
from bsx.jobs.cards.inputs import CardFindings, CardInputs
from bsx.jobs.cards.scoring import Problem, Scored, one_line
from bsx.support.checks import Array
from bsx.support.result import as_json
from bsx.support.untyped import JsonObject

TOLERANCE = 1e-5
"""Largest difference that is none, as a share of the largest score (or of 1): what signatures promise in fp32."""
_ONE_BY_ONE = 20

Score = Callable[[SegmentTexts], Array]


def check_invariance(inputs: CardInputs) -> CardFindings:
    """Check every metric on a sample of the first texts of each language that it can read."""
    findings = CardFindings()
    for name in inputs.scorable(findings, "invariance", ", which nothing can be tried on"):
        done: set[str] = set()
        for data, content in inputs.tables(JudgedRows):
            texts = content.texts
            metric = inputs.metrics.build(data.lang)[name]
            if data.lang in done or texts.candidates is None:
                continue
            if isinstance(metric, Problem):
                findings.miss("invariance", name, metric)
                continue
            if metric.needs - texts.has:
                needs = " and ".join(sorted(metric.needs - {"candidate"}))
                reason = f"{name} needs {needs}s, which {data.name} lacks"
                findings.miss("invariance", name, Problem(False, reason))
                continue
            done.add(data.lang)
            draw = np.random.default_rng(inputs.settings.seed)
            most = min(inputs.settings.checked, len(texts))
            some = texts.at(sorted(draw.choice(len(texts), most, replace=False).tolist()))
            try:
                torch = "backend:torch" in str(inputs.metrics.identity(data.lang, name).get("signature"))
                score = inputs.metrics.function(data.lang, name)
                rows = checks(score, some, compares="reference" in metric.needs, threads=torch)
            except Exception as error:  # noqa: BLE001 - a metric may be anybody's code and raise anything
                findings.miss("invariance", name, Problem(True, f"{data.name}: {one_line(error)}"))
                continue
            findings.add("invariance", name, checks=[{**row, "group": data.lang} for row in rows], tolerance=TOLERANCE)
    return findings


def checks(score: Score, texts: SegmentTexts, *, compares: bool = True, threads: bool = False) -> list[JsonObject]:
    """Return what each check finds.

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
        places: Sequence[int] | None = None,
        *,
        exact: bool = False,
        kind: str = "invariance",
    ) -> JsonObject:
        own = before if places is None else before[list(places)]
        return _compared(name, what, own, after, scale, exact=exact, kind=kind)

    rows = [
        row("repeat", "the same texts again: exactly the same scores", score(texts), exact=True, kind="determinism")
    ]
    backwards = list(range(n))[::-1]
    rows.append(row("order", "rows in reverse order", score(texts.at(backwards))[::-1]))
    few = list(range(min(n, _ONE_BY_ONE)))
    alone = np.concatenate([score(texts.at([i])) for i in few])
    rows.append(row("batch", "each row scored by itself", alone, few))
    what = "PyTorch with one thread and with two"
    if threads:
        with _threads(1):
            single = score(texts)
        with _threads(2):
            double = score(texts)
        rows.append(_compared("threads", what, single, double, scale, kind="determinism"))
    else:
        rows.append(_nothing("threads", what, "it does not compute with PyTorch", kind="determinism"))
    spaced = _each(texts, lambda text: f" {text.replace(' ', '  ')} ")
    rows.append(row("spaces", "double spaces, and spaces at both ends", score(spaced)))
    decomposed = _each(texts, lambda text: unicodedata.normalize("NFD", text))
    pairs = zip(texts.candidates or [], decomposed.candidates or [], strict=True)
    other = [i for i, (composed, cut) in enumerate(pairs) if composed != cut]
    what = "candidates in another Unicode form than what they are compared with (NFD)"
    if other:
        half = SegmentTexts(decomposed.candidates, texts.references, texts.sources).at(other)
        rows.append(row("unicode", what, score(half), other))
    else:
        rows.append(_nothing("unicode", what, "no text has a character with two forms"))
    rows += _extremes(score, texts, before, scale, compares)
    return rows


def _extremes(score: Score, texts: SegmentTexts, before: Array, scale: float, compares: bool) -> list[JsonObject]:
    """Check that a text compared with itself scores highest, an empty one lowest, and whether sides can be swapped."""
    n = len(texts)
    what = "a text compared with itself scores as high as any candidate compared with it"
    swapped = "candidate and reference swapped (a property; it need not hold)"
    rows = []
    if compares and texts.references is not None and texts.candidates is not None:
        first = [several[0] for several in texts.references]
        own = score(SegmentTexts(first, [(text,) for text in first], texts.sources))
        short = np.maximum(before - own, 0.0)
        rows.append(_row("identical", what, n, short > TOLERANCE * scale, short))
        spread = own - np.nanmax(own)
        rows.append(
            _row(
                "identical-equal",
                "every text compared with itself scores the same",
                n,
                np.abs(spread) > TOLERANCE * scale,
                np.abs(spread),
            )
        )
        single = SegmentTexts(texts.candidates, [(text,) for text in first], texts.sources)
        other = SegmentTexts(first, [(text,) for text in texts.candidates], texts.sources)
        difference = np.abs(score(single) - score(other))
        rows.append(_row("symmetry", swapped, n, difference > TOLERANCE * scale, difference, kind="property"))
    else:
        why = "it compares candidates with sources"
        rows += [_nothing("identical", what, why), _nothing("symmetry", swapped, why, kind="property")]
    if texts.candidates is not None:
        empty = score(SegmentTexts([""] * n, texts.references, texts.sources))
        above = np.maximum(empty - before, 0.0)
        what = "an empty candidate scores no higher than the one that is there"
        rows.append(_row("empty", what, n, above > TOLERANCE * scale, above))
    return rows


def _compared(
    name: str, what: str, before: Array, after: Array, scale: float, *, exact: bool = False, kind: str = "invariance"
) -> JsonObject:
    lost = np.isnan(before) != np.isnan(after)
    difference = np.where(np.isnan(before) | np.isnan(after), 0.0, np.abs(before - after))
    changed = (difference > (0 if exact else TOLERANCE * scale)) | lost
    return _row(name, what, len(before), changed, difference, kind=kind)


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


def _each(texts: SegmentTexts, change: Callable[[str], str]) -> SegmentTexts:
    return SegmentTexts(
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


def count_languages(inputs: CardInputs) -> CardFindings:
    """Count, for every language that there are texts in, what was scored and what was cut off."""
    findings = CardFindings()
    for name in inputs.scorable(findings, "languages", ": the registry declares nothing of it"):
        rows: dict[str, dict[str, int]] = {}
        files: dict[str, list[str]] = {}
        notes: dict[str, list[str]] = {}
        declared: list[str] | str = "any"
        source = ""
        for data, content in inputs.tables(JudgedRows):
            metric = inputs.metrics.build(data.lang)[name]
            if isinstance(metric, Problem):
                findings.miss("languages", name, metric)
                continue
            declared, source = metric.languages, metric.entry.languages_source or ""
            notes.setdefault(data.lang, []).extend(metric.doubts)
            if content.texts.candidates is None:
                continue
            scored = inputs.judged(data, content)[name]
            if not isinstance(scored, Scored):
                findings.miss("languages", name, scored)
                continue
            counts = rows.setdefault(data.lang, dict.fromkeys(("segments", "truncated", "empty", "failed"), 0))
            files.setdefault(data.lang, []).append(data.name)
            counts["segments"] += data.n
            counts["truncated"] += scored.truncated
            counts["empty"] += scored.empty
            counts["failed"] += len(scored.failed)
        measured = [
            as_json(
                LanguageRow(
                    lang=lang,
                    data=tuple(files[lang]),
                    **counts,
                    truncated_share=counts["truncated"] / counts["segments"],
                    agreement=None,
                    declared=None if declared == "any" else lang in declared or lang.partition("-")[0] in declared,
                    notes=tuple(dict.fromkeys(notes[lang])),
                )
            )
            for lang, counts in rows.items()
        ]
        if measured:
            findings.add("languages", name, declared=declared, source=source, measured=measured)
    return findings
