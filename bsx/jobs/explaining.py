"""Which words are probably wrong: explanations of texts in memory and of tables, held against human marks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from pydantic import Field, model_validator

from bsx.analysis.explanations.attribution import Kept, erasure, shapley
from bsx.analysis.explanations.calibration import Calibration, calibration
from bsx.analysis.explanations.marks import MarkAgreement, compare_marks, mark_agreement
from bsx.analysis.explanations.result import ExplainedRow, Explanations
from bsx.analysis.stats.results import Comparison
from bsx.data.cells import spelled
from bsx.data.corpus import as_texts
from bsx.data.files import TableFile
from bsx.data.output import refuse_taken
from bsx.data.run import as_one_run
from bsx.data.seen import RowTexts, SeenRows, beside_entry
from bsx.data.tables import Row
from bsx.encode.run_config import RunConfig
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.tables import FORMATS, Watched
from bsx.metrics.base import Metric
from bsx.metrics.learned.seen import Learned, learned_by, notices_of
from bsx.metrics.zoo import get_metric
from bsx.risk.explainer import RiskMethod, Side, TextRow, WordRisks, idf_weights
from bsx.support.checks import Array
from bsx.support.progress import Progress, told
from bsx.support.result import as_json
from bsx.support.settings import Option, part, refuse_idle, settled
from bsx.support.untyped import to_json

_DIGITS = 9
"""Decimals of a risk; beyond them processors differ."""
Risks = dict[Side, list[Array]]
"""Of each side, the risks of each row's words."""


class ExplainSettings(RunConfig, Watched):
    """How the risk of each word, higher for a word that is likelier wrong, is told, and what it is held against."""

    method: Annotated[
        Literal["auto", "trained", "ranks", "match", "erasure", "shapley"],
        Field(
            description="trained, ranks or match: from an encoder's vectors; erasure or shapley: from a metric's "
            "scores. auto: erasure with a metric; match with a reference; else trained for pairs where it was "
            "measured to help, ranks for others.",
        ),
    ] = "auto"
    metrics: Annotated[Sequence[str], Field(description="Metric whose score is explained: NAME[:field=value,…].")] = ()
    model: Annotated[
        str | None, Field(description="Model: a registry name, a folder, or a hub id."), Option(("-m",))
    ] = None
    lang: Annotated[
        str | None,
        Field(description="Language of the texts (tag or English name), or auto; chooses the model."),
        Option(("-l",)),
    ] = None
    layer: Annotated[int | None, Field(ge=0, description="Layer to match on, instead of the registry's.")] = None
    idf: Annotated[bool, Field(description="Weigh matches by how rare the word is in these texts.")] = False
    budget: Annotated[int, Field(ge=2, description="Texts to score a row and side, for shapley.")] = 256
    seed: Annotated[int, Field(ge=0, description="Random seed.")] = 1
    resamples: Annotated[int, Field(ge=20, description="Bootstrap resamples of sentences, for marks.")] = 1000
    confidence: Annotated[float, Field(gt=0, lt=1, description="Level of the intervals.")] = 0.95

    @model_validator(mode="after")
    def _method_of_a_metric(self) -> Self:
        if len(self.metrics) > 1:
            raise ValueError(f"metrics: one is explained at a time, not {len(self.metrics)}")
        by_scores = self.method in ("erasure", "shapley") or (self.method == "auto" and len(self.metrics) > 0)
        if by_scores and not self.metrics:
            raise ValueError(f"method {self.method} explains the score of a metric: name it with metrics")
        if not by_scores and self.metrics:
            raise ValueError(f"method {self.method} reads vectors and no scores: leave metrics out, or use erasure")
        if (by_scores or self.method in ("trained", "ranks")) and (self.idf or self.layer is not None):
            own = "; the metric has settings of its own" if by_scores else ""
            raise ValueError(f"idf and layer belong to method match{own}")
        return self


class ExplainTextsSettings(ExplainSettings):
    """Settings of `explain`."""

    references: Annotated[
        object,
        Field(description="n texts, or n lists of texts; without them, candidates are held against their sources."),
    ] = None
    sources: Annotated[
        object,
        Field(description="n texts; with references they are explained, but play no part in the candidates' risks."),
    ] = None
    marks: Annotated[
        Mapping[Side, Sequence[Sequence[int]]] | None,
        Field(description="Human marks to measure by: side -> for each row 1 (an error) or 0 for each word."),
    ] = None


class ExplainTableSettings(ExplainSettings):
    """Settings of `explain_table`; columns that are not named are left alone."""

    table: Annotated[str | Path, Field(description=f"Table of texts: {FORMATS}."), Option(argument=True)]
    candidate: Annotated[str, Field(description="Column of candidates.")] = "candidate"
    reference: Annotated[Sequence[str], Field(description="Columns of references. [reference]")] = ()
    source: Annotated[str | None, Field(description="Column of sources. [source]")] = None
    reference_free: Annotated[
        bool, Field(description="Hold candidates against their sources, not against references.")
    ] = False
    marks: Annotated[
        str | None,
        Field(description="Column of human marks: 0 or 1 (an error) for each word of the candidate, to measure by."),
    ] = None
    source_marks: Annotated[str | None, Field(description="The same for the source.")] = None


@settled(ExplainTextsSettings)
def explain(candidates: object, settings: ExplainTextsSettings) -> Explanations:
    """Tell how likely each word of some candidates, and of their sources, is an error.

    Args:
        candidates: n texts.
        settings: see `ExplainTextsSettings`.

    Returns:
        One number for each word that white space parts, higher for a likelier error. By ``match``, ``ranks`` and
        ``trained`` it lies between 0 and 1, and is a probability where ``calibrated`` says so; by ``erasure`` and
        ``shapley`` it is how much the word lowers the metric's score.

    Raises:
        InputError: if numbers differ, there is neither reference nor source, or settings do not fit together.
    """
    texts = as_texts(candidates, "candidates")
    references = _references(settings.references, len(texts))
    sources = as_texts(settings.sources, "sources") if settings.sources is not None else None
    for name, other in (("references", references), ("sources", sources)):
        if other is not None and len(other) != len(texts):
            raise InputError(f"there are {len(texts)} candidates and {len(other)} {name}")
    if not texts:
        raise InputError("there are no candidates to explain")
    rows = [
        TextRow(
            text,
            references[place] if references is not None else (),
            sources[place] if sources is not None else None,
        )
        for place, text in enumerate(texts)
    ]
    return _explained(rows, settings.marks or {}, settings)


@settled(ExplainTableSettings)
@as_one_run
def explain_table(settings: ExplainTableSettings) -> Explanations:
    """Explain the rows of a table; see `explain`.

    Args:
        settings: see `ExplainTableSettings`.

    Raises:
        InputError: for a table, column or setting that cannot be used.
    """
    table, candidate, source = settings.table, settings.candidate, settings.source
    free = settings.reference_free
    if free and settings.reference:
        raise InputError("reference_free takes no column of references: leave reference out")
    columns = TableFile(table, [candidate], []).table
    named = list(settings.reference) or ([] if free else ["reference"])
    source = source if source is not None else columns.first("source") if not free else "source"
    if not free and not settings.reference and "reference" not in columns.columns:
        alone = "explain by the source alone with reference_free, or " if source else ""
        raise InputError(
            f"has no column 'reference'; it has {', '.join(columns.columns)}: {alone}name the column with reference",
            file=columns.name,
        )
    columns.require(*(name for name in (settings.marks, settings.source_marks) if name is not None))
    if settings.source_marks is not None and source is None:
        raise InputError(
            f"has no column of sources for the marks in {settings.source_marks!r}: name it with source",
            file=columns.name,
        )
    used = {candidate, *named, *([] if source is None else [source])}
    own = ["candidate", "risk", "source_risk", *["source"] * (source is not None), *["reference"] * bool(named)]
    refuse_taken(set(columns.columns) - used, own)
    rows: list[TextRow] = []
    seen: list[Mapping[str, object]] = []
    for segment in TableFile(table, [candidate], named, source=source, keep_rows=True):
        rows.append(TextRow(segment.candidates[0], segment.references, segment.source))
        seen.append(segment.row or {})
    sides: list[tuple[Side, str | None]] = [("candidate", settings.marks), ("source", settings.source_marks)]
    marks = {
        side: [_marks(row, column, text) for row, text in zip(seen, _texts(rows, side), strict=True)]
        for side, column in sides
        if column is not None
    }
    result = _explained(rows, marks, settings)
    kept = [{name: _kept(name, cell) for name, cell in row.items() if name not in used} for row in seen]
    return replace(result, rows=tuple(replace(row, columns=more) for row, more in zip(result.rows, kept, strict=True)))


def json_lines(explanations: Explanations) -> str:
    """Return one JSON object a row, with ``risk``, where there is a source ``source_risk``, and its further columns."""
    lines = []
    for row in explanations.rows:
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
    texts = [(item,) if isinstance(item, str) else tuple(as_texts(item, "references")) for item in listed]
    if len(texts) == rows and not all(texts):
        raise InputError(f"row {list(map(bool, texts)).index(False) + 1}: has an empty list of references")
    return texts


def _texts(rows: Sequence[TextRow], side: Side) -> list[str]:
    return [row.candidate if side == "candidate" else row.source or "" for row in rows]


def _marks(row: Mapping[str, object], column: str, text: str) -> list[int]:
    where = row.where if isinstance(row, Row) else "a row"
    marks = str(row[column]).split()
    if len(marks) != len(text.split()) or not set(marks) <= {"0", "1"}:
        raise InputError(
            f"{where}, column {column!r}: must hold 0 or 1 for each of {len(text.split())} words, with spaces "
            f"between them; it holds {' '.join(marks)[:40]!r} ({len(marks)} parts)"
        )
    return [int(mark) for mark in marks]


def _explained(
    rows: list[TextRow], marks: Mapping[Side, Sequence[Sequence[int]]], settings: ExplainSettings
) -> Explanations:
    progress = told(settings.progress)
    method = "erasure" if settings.method == "auto" and settings.metrics else settings.method
    given = dict(settings)
    if method != "shapley":
        refuse_idle(given, ExplainSettings, f"with method {method}", "budget")
    if not marks:
        refuse_idle(given, ExplainSettings, "without marks", "resamples", "confidence")
        if method != "shapley":
            refuse_idle(given, ExplainSettings, f"with method {method} and without marks", "seed")
    encoders = Encoders(model=settings.model, lang=settings.lang, **part(settings, RunConfig))
    if settings.metrics:
        untrained: list[Mapping[Side, Mapping[str, Array]]] = []
        result, risks = _by_scores(rows, get_metric(settings.metrics[0], encoders=encoders), method, settings, progress)
    else:
        result, risks, untrained = _by_vectors(rows, encoders, method, settings, progress)
    if not marks:
        return result
    agreement: dict[str, MarkAgreement] = {}
    shares: dict[str, Calibration] = {}
    baselines: dict[str, dict[str, Comparison]] = {}
    draws: dict[str, Any] = {
        "seed": settings.seed,
        "resamples": settings.resamples,
        "confidence": settings.confidence,
    }
    for side, marked in marks.items():
        if side not in risks:
            raise InputError(f"there are no risks of the {side} to hold against its marks")
        agreement[side] = mark_agreement(risks[side], marked, **draws)
        if untrained:
            names = [name for name in untrained[0][side] if name != result.method[side]]
            given = {name: [row[side][name] for row in untrained] for name in names}
            baselines[side] = {
                name: compare_marks(risks[side], values, marked, **draws)["auc"] for name, values in given.items()
            }
        if result.calibrated[side]:
            shares[side] = calibration(risks[side], marked, **draws)
    texts = RowTexts(
        [row.candidate for row in rows],
        [row.references for row in rows],
        [row.source for row in rows] if all(row.source is not None for row in rows) else None,  # type: ignore[misc]
    )
    catalog = encoders.catalog
    learned = learned_by(settings.metrics[0], catalog) if settings.metrics else _learned(encoders, result)
    warnings = notices_of(result.by, learned, lambda: texts)
    return replace(
        result,
        marks=agreement,
        baselines=baselines,
        calibration=shares,
        settings={**result.settings, **draws},
        warnings=warnings,
    )


def _learned(encoders: Encoders, result: Explanations) -> list[Learned]:
    """Return what the networks and curves behind risks were fitted to."""
    entry = encoders.catalog.explainer(result.by)
    if entry is None or not ("trained" in result.method.values() or any(result.calibrated.values())):
        return []
    file = encoders.catalog.origins["explainer", entry.model]
    return [Learned("networks", SeenRows.read(beside_entry(file), entry.seen))]


def _by_vectors(
    rows: list[TextRow], encoders: Encoders, method: str, settings: ExplainSettings, progress: Progress | None
) -> tuple[Explanations, Risks, list[Mapping[Side, Mapping[str, Array]]]]:
    how: RiskMethod | None = next((name for name in get_args(RiskMethod) if name == method), None)
    weights: dict[Side, Mapping[str, float]] | None = None
    if settings.idf:
        sides: tuple[Side, ...] = ("candidate", "source")
        weights = {side: idf_weights(_texts(rows, side)) for side in sides}
    maker = WordRisks(encoders, method=how, layer=settings.layer, weights=weights)
    reference, source = bool(rows[0].references), rows[0].source is not None
    if method in ("trained", "ranks") and reference:
        raise InputError(f"method {method} holds candidates against their sources: use reference_free")
    by_row = list(maker.risks(rows, progress))
    risks: Risks = {"candidate": [row.candidate for row in by_row]}
    known = [row.source for row in by_row if row.source is not None]
    if len(known) == len(rows):
        risks["source"] = known
    present: list[Side] = ["candidate", "source"] if source else ["candidate"]
    notes = list(encoders.notes)
    if cut := sum(row.cut for row in by_row):
        notes.append(
            f"{cut} of {len(rows)} rows have a text longer than the model reads; the words cut off got the mean risk "
            "of the others"
        )
    by = maker.located.choice.name
    notes += _of_kind(maker, method) if source and not reference else []
    result = Explanations(
        by,
        {side: maker.method(side, reference=reference) for side in present},
        {side: maker.calibrated(side, reference=reference) for side in present},
        _explained_rows(rows, risks),
        settings={"idf": settings.idf} if settings.idf else {},
        signatures={by: str(maker.signature(reference=reference, source=source))},
        notes=tuple(notes),
    )
    return result, risks, [row.untrained for row in by_row]


def _of_kind(maker: WordRisks, method: str) -> list[str]:
    """Say what the default is without a reference, and on which pairs it was measured."""
    if method != "auto" or maker.pair is None:
        return []
    pair = " to ".join("English" if one == "en" else f"{one} script" for one in maker.pair)
    used, kind = maker.method("candidate", reference=False), maker.kind
    order = "risks order the words of a row and are not probabilities"
    if used == "match":
        return []
    if maker.entry.trained is None:
        return [f"there are no networks for {maker.located.choice.name}: ranks of match, length and frequency; {order}"]
    if kind is None:
        return [
            f"no pair like this one ({pair}) was measured: ranks of match, length and frequency instead of the "
            f"networks; {order}"
        ]
    known = ", ".join(dict.fromkeys(one.pair for one in kind.pairs))
    if measured := kind.found(maker.languages, "candidate"):
        shown = "; ".join(
            f"{one.trained:.3f} against {one.ranks:.3f} of ranks on {one.dataset}, {one.sentences} sentences"
            for one in measured
        )
        name = "networks" if used == "trained" else "ranks of match, length and frequency"
        return [f"{name}, by what was measured on {maker.languages}: AUC of networks {shown}; {order}"]
    if used == "ranks":
        return [
            f"on pairs like this one ({pair}: {known}) networks did not find more than ranks of match, length and "
            f"frequency, which are used; {order}"
        ]
    return [f"networks, for they found more on pairs like this one ({pair}: {known}); {order}"]


def _by_scores(
    rows: list[TextRow], metric: Metric, method: str, settings: ExplainSettings, progress: Progress | None
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
                else shapley(value, len(words), budget=settings.budget, seed=settings.seed)
            )
            risks[side].append(-np.array(added.values))
        if progress is not None:
            progress("explaining", number, len(rows))
    result = Explanations(
        metric.spec,
        dict.fromkeys(sides, method),
        dict.fromkeys(sides, False),
        _explained_rows(rows, risks),
        settings={"budget": settings.budget, "seed": settings.seed} if method == "shapley" else {},
        signatures={metric.spec: signature},
        notes=tuple(metric.encoders.notes),
    )
    return result, risks


def _explained_rows(rows: Sequence[TextRow], risks: Risks) -> tuple[ExplainedRow, ...]:
    of_source = [_rounded(values) for values in risks["source"]] if "source" in risks else [None] * len(rows)
    return tuple(
        ExplainedRow(row.candidate, _rounded(risk), row.source, source, row.references)
        for row, risk, source in zip(rows, risks["candidate"], of_source, strict=True)
    )


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(round(float(value), _DIGITS) for value in values)
