"""Which words are probably wrong: explanations of texts in memory and of tables, held against human marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from bsx.analysis.explanations.attribution import Kept, erasure, shapley
from bsx.analysis.explanations.calibration import Calibration, calibration
from bsx.analysis.explanations.marks import MarkAgreement, mark_agreement
from bsx.analysis.explanations.result import ExplainedRow, Explanations
from bsx.bertscore.config import ScorerConfig
from bsx.data.cells import spelled
from bsx.data.corpus import as_texts
from bsx.data.files import TableFile
from bsx.data.output import refuse_taken
from bsx.data.run import as_one_run
from bsx.data.tables import Row
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.settings.factors import ExplainSettings
from bsx.metrics.base import Metric
from bsx.metrics.zoo import get_metric
from bsx.risk.explainer import RiskMethod, Side, TextRow, WordRisks, idf_weights
from bsx.support.checks import Array
from bsx.support.json_text import to_json
from bsx.support.progress import Progress, Watch, told
from bsx.support.result import as_json
from bsx.support.settings import complete, refuse_idle, set_fields, takes

_DIGITS = 9
"""Decimals of a risk; beyond them processors differ."""
Risks = dict[Side, list[Array]]
"""Of each side, the risks of each row's words."""


@takes(ExplainSettings)
def explain(
    candidates: object,
    references: object | None = None,
    sources: object | None = None,
    *,
    settings: ScorerConfig | None = None,
    marks: Mapping[Side, Sequence[Sequence[int]]] | None = None,
    progress: Watch = None,
    **how: Unpack[ExplainSettings],
) -> Explanations:
    """Tell how likely each word of some candidates, and of their sources, is an error.

    Args:
        candidates: n texts.
        references: n texts, or n lists of texts; without them, candidates are held against their sources.
        sources: n texts; with references they are explained, but play no part in the candidates' risks.
        settings: model, language, and where and within what limits to run.
        marks: human marks to measure the risks by: side -> for each row 1 (an error) or 0 for each word.
        progress: called with phase, rows done and rows in all; True draws bars.
        **how: method, metric, layer, idf, budget, seed, and the intervals of the agreement with marks.

    Returns:
        One number for each word that white space parts, higher for a likelier error. By ``match`` and ``trained`` it
        lies between 0 and 1, and is a probability where ``calibrated`` says so; by ``erasure`` and ``shapley`` it is
        how much the word lowers the metric's score.

    Raises:
        InputError: if numbers differ, there is neither reference nor source, or settings do not fit together.
    """
    progress = told(progress)
    texts = as_texts(candidates, "candidates")
    of_references = _references(references, len(texts))
    of_sources = as_texts(sources, "sources") if sources is not None else None
    for name, other in (("references", of_references), ("sources", of_sources)):
        if other is not None and len(other) != len(texts):
            raise InputError(f"there are {len(texts)} candidates and {len(other)} {name}")
    if not texts:
        raise InputError("there are no candidates to explain")
    rows = [
        TextRow(
            text,
            of_references[place] if of_references is not None else (),
            of_sources[place] if of_sources is not None else None,
        )
        for place, text in enumerate(texts)
    ]
    return _explained(rows, settings, marks or {}, progress, how)


@takes(ExplainSettings)
@as_one_run
def explain_table(
    data: str | Path,
    *,
    reference_free: bool = False,
    candidate: str = "candidate",
    reference: Sequence[str] = (),
    source: str | None = None,
    marks: str | None = None,
    source_marks: str | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[ExplainSettings],
) -> Explanations:
    """Explain the rows of a table; see `explain`.

    Args:
        data: the table; columns that are not named are left alone.
        reference_free: hold candidates against their sources, even if there is a column of references.
        candidate: column of candidates.
        reference: columns of references; ``reference`` unless given.
        source: column of sources; ``source``, if there is one, unless given.
        marks: column of human marks on the candidate: 0 or 1 (an error) for each word, with spaces between them.
        source_marks: the same on the source.
        settings: model, language, and where and within what limits to run.
        progress: called with phase, rows done and rows in all; True draws bars.
        **how: see `explain`.

    Raises:
        InputError: for a table, column or setting that cannot be used.
    """
    progress = told(progress)
    if reference_free and reference:
        raise InputError("`reference_free=True` takes no column of references: leave `reference=` out")
    columns = TableFile(data, [candidate], []).table
    named = list(reference) or ([] if reference_free else ["reference"])
    source = source if source is not None else columns.first("source") if not reference_free else "source"
    if not reference_free and not reference and "reference" not in columns.columns:
        free = "explain by the source alone with `reference_free=True`, or " if source else ""
        said = f"{free}name the column of references with `reference=COL`"
        raise InputError(f"{columns.name}: has no column 'reference'; it has {', '.join(columns.columns)}: {said}")
    wanted = [name for name in (marks, source_marks) if name is not None]
    columns.require(*wanted)
    if source_marks is not None and source is None:
        raise InputError(
            f"{columns.name}: has no column of sources for the marks in {source_marks!r}: name it, `source=`"
        )
    used = {candidate, *named, *([] if source is None else [source])}
    own = ["candidate", "risk", "source_risk", *["source"] * (source is not None), *["reference"] * bool(named)]
    refuse_taken(set(columns.columns) - used, own)
    rows: list[TextRow] = []
    seen: list[Mapping[str, object]] = []
    for segment in TableFile(data, [candidate], named, source=source, keep_rows=True):
        rows.append(TextRow(segment.candidates[0], segment.references, segment.source))
        seen.append(segment.row or {})
    sides: list[tuple[Side, str | None]] = [("candidate", marks), ("source", source_marks)]
    given = {
        side: [_marks(row, column, text) for row, text in zip(seen, _texts(rows, side), strict=True)]
        for side, column in sides
        if column is not None
    }
    found = _explained(rows, settings, given, progress, how)
    kept = [{name: _kept(name, cell) for name, cell in row.items() if name not in used} for row in seen]
    return replace(found, rows=tuple(replace(row, columns=more) for row, more in zip(found.rows, kept, strict=True)))


def json_lines(found: Explanations) -> str:
    """Return one JSON object a row, with ``risk``, where there is a source ``source_risk``, and its further columns."""
    lines = []
    for row in found.rows:
        own: dict[str, object] = as_json(replace(row, columns={}))
        lines.append(to_json(own | {name: cell for name, cell in row.columns.items() if name not in own}) + "\n")
    return "".join(lines)


def _kept(name: str, cell: object) -> object:
    """Return a cell as JSON holds it: text, number, or nothing; references are a list, as those that are used."""
    if isinstance(cell, float):
        return float(cell) if math.isfinite(cell) else None
    plain = cell if cell is None or isinstance(cell, str | int) else spelled(cell)
    return [plain] if name == "reference" else plain


def _references(given: object | None, rows: int) -> list[tuple[str, ...]] | None:
    if given is None:
        return None
    listed = list(given) if isinstance(given, list | tuple) else as_texts(given, "references")
    found = [(one,) if isinstance(one, str) else tuple(as_texts(one, "references")) for one in listed]
    if len(found) == rows and not all(found):
        raise InputError(f"row {[bool(one) for one in found].index(False) + 1}: has an empty list of references")
    return found


def _texts(rows: Sequence[TextRow], side: Side) -> list[str]:
    return [row.candidate if side == "candidate" else row.source or "" for row in rows]


def _marks(row: Mapping[str, object], column: str, text: str) -> list[int]:
    where = row.where if isinstance(row, Row) else "a row"
    found = str(row[column]).split()
    if len(found) != len(text.split()) or not set(found) <= {"0", "1"}:
        raise InputError(
            f"{where}, column {column!r}: must hold 0 or 1 for each of {len(text.split())} words, with spaces "
            f"between them; it holds {' '.join(found)[:40]!r} ({len(found)} parts)"
        )
    return [int(mark) for mark in found]


def _explained(
    rows: list[TextRow],
    config: ScorerConfig | None,
    marks: Mapping[Side, Sequence[Sequence[int]]],
    progress: Progress | None,
    how: ExplainSettings,
) -> Explanations:
    asked = complete(how, ExplainSettings)
    method, metric = asked["method"], asked["metric"]
    if method == "auto" and metric is not None:
        method = "erasure"
    if (method in ("erasure", "shapley")) != (metric is not None):
        if metric is None:
            raise InputError(f"`method='{method}'` explains the score of a metric: name it with `metric=`")
        raise InputError(
            f"`method='{method}'` reads vectors and no scores: leave `metric=` out, or use erasure or shapley"
        )
    if metric is not None and (asked["idf"] or asked["layer"] is not None):
        raise InputError("`idf=` and `layer=` belong to `method='match'`; the metric has settings of its own")
    if method == "trained" and (asked["idf"] or asked["layer"] is not None):
        raise InputError("`idf=` and `layer=` belong to `method='match'`")
    if method != "shapley" and asked["budget"] != complete({}, ExplainSettings)["budget"]:
        raise InputError(f"`budget=` belongs to `method='shapley'`; {method} scores what it needs")
    if not marks:
        refuse_idle(asked, ExplainSettings, "without `marks=`", "resamples", "confidence")
        if method != "shapley":
            refuse_idle(asked, ExplainSettings, f"with `method='{method}'` and without `marks=`", "seed")
    encoders = Encoders(**set_fields(config))
    if metric is not None:
        found, risks = _by_scores(rows, get_metric(metric, encoders=encoders), method, asked, progress)
    else:
        found, risks = _by_vectors(rows, encoders, method, asked, progress)
    if not marks:
        return found
    agreement: dict[str, MarkAgreement] = {}
    shares: dict[str, Calibration] = {}
    confidence, resamples, seed = asked["confidence"], asked["resamples"], asked["seed"]
    for side, given in marks.items():
        if side not in risks:
            raise InputError(f"there are no risks of the {side} to hold against its marks")
        agreement[side] = mark_agreement(risks[side], given, confidence=confidence, resamples=resamples, seed=seed)
        if found.calibrated[side]:
            shares[side] = calibration(risks[side], given, confidence=confidence, resamples=resamples, seed=seed)
    settings = {"seed": seed, "resamples": resamples, "confidence": confidence}
    return replace(found, marks=agreement, calibration=shares, settings={**found.settings, **settings})


def _by_vectors(
    rows: list[TextRow], encoders: Encoders, method: str, asked: ExplainSettings, progress: Progress | None
) -> tuple[Explanations, Risks]:
    how: RiskMethod | None = "trained" if method == "trained" else "match" if method == "match" else None
    weights: dict[Side, Mapping[str, float]] | None = None
    if asked["idf"]:
        sides: tuple[Side, ...] = ("candidate", "source")
        weights = {side: idf_weights(_texts(rows, side)) for side in sides}
    maker = WordRisks(encoders, method=how, layer=asked["layer"], weights=weights)
    reference, source = bool(rows[0].references), rows[0].source is not None
    if method == "trained" and reference:
        raise InputError("`method='trained'` holds candidates against their sources: use `reference_free=True`")
    told = list(maker.risks(rows, progress))
    risks: Risks = {"candidate": [one.candidate for one in told]}
    known = [one.source for one in told if one.source is not None]
    if len(known) == len(rows):
        risks["source"] = known
    present: list[Side] = ["candidate", "source"] if source else ["candidate"]
    notes = list(encoders.notes)
    if cut := sum(one.cut for one in told):
        notes.append(
            f"{cut} of {len(rows)} rows have a text longer than the model reads; the words cut off got the mean risk "
            "of the others"
        )
    by = maker.located.choice.name
    found = Explanations(
        by,
        {side: maker.method(side, reference=reference) for side in present},
        {side: maker.calibrated(side, reference=reference) for side in present},
        _explained_rows(rows, risks),
        settings={"idf": asked["idf"]} if asked["idf"] else {},
        signatures={by: str(maker.signature(reference=reference, source=source))},
        notes=tuple(notes),
    )
    return found, risks


def _by_scores(
    rows: list[TextRow], metric: Metric, method: str, asked: ExplainSettings, progress: Progress | None
) -> tuple[Explanations, Risks]:
    """Explain a metric's scores: what each word adds, its sign turned, for a word that lowers the score is a risk."""
    first = rows[0]
    for side, there in (("reference", bool(first.references)), ("source", first.source is not None)):
        if side in metric.needs and not there:
            raise InputError(f"{metric.spec} needs a {side}, and there is none")
    sides: tuple[Side, ...] = ("candidate", "source") if "source" in metric.needs else ("candidate",)
    risks: Risks = {side: [] for side in sides}
    signature = ""
    for number, row in enumerate(rows, start=1):
        for side in sides:
            words = _texts([row], side)[0].split()

            def value(kept: Kept, words: list[str] = words, row: TextRow = row, side: Side = side) -> Array:
                nonlocal signature
                texts = [" ".join(np.array(words, dtype=object)[mask]) for mask in kept]
                same = [row.candidate if side == "source" else row.source or ""] * len(texts)
                scored = metric.score(
                    texts if side == "candidate" else same,
                    [list(row.references)] * len(texts) if "reference" in metric.needs else None,
                    (texts if side == "source" else same) if "source" in metric.needs else None,
                )
                signature = str(scored.signature)
                return scored.values if metric.higher_is_better else -scored.values

            added = (
                erasure(value, len(words))
                if method == "erasure"
                else shapley(value, len(words), budget=asked["budget"], seed=asked["seed"])
            )
            risks[side].append(-np.array(added.values))
        if progress is not None:
            progress("explaining", number, len(rows))
    found = Explanations(
        metric.spec,
        dict.fromkeys(sides, method),
        dict.fromkeys(sides, False),
        _explained_rows(rows, risks),
        settings={"budget": asked["budget"], "seed": asked["seed"]} if method == "shapley" else {},
        signatures={metric.spec: signature},
        notes=tuple(metric.encoders.notes),
    )
    return found, risks


def _explained_rows(rows: Sequence[TextRow], risks: Risks) -> tuple[ExplainedRow, ...]:
    of_source = [_rounded(one) for one in risks["source"]] if "source" in risks else [None] * len(rows)
    return tuple(
        ExplainedRow(row.candidate, _rounded(risk), row.source, source, row.references)
        for row, risk, source in zip(rows, risks["candidate"], of_source, strict=True)
    )


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(round(float(value), _DIGITS) for value in values)
