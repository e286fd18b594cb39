"""What explanations look like: which words are probably wrong, and how well that finds the words that humans marked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from bsx.analysis.explanations.attribution import Attribution
from bsx.analysis.explanations.calibration import Calibration
from bsx.analysis.explanations.marks import FIGURES, MarkAgreement
from bsx.analysis.explanations.result import ExplainedRow, Explanations
from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, estimate, heat, number, percent, table, text
from bsx.analysis.present.forms import lists, pages, presents
from bsx.analysis.present.notices import seen_rows
from bsx.analysis.present.parts import Answer, Cell, Chart, Notes, Part, Passages, TablePart, TextRun
from bsx.analysis.stats.results import Comparison, Estimate

_WORD = re.compile(r"\S+\s*|\s+")
_PROBABLE = 0.5
_SCORED = ("erasure", "shapley")  # methods whose risks are how far a word lowers a score
_RISKIEST = 3  # words of a row; of two texts, so that they stand side by side on a terminal
_OF_TWO = 2
_SHOWN = 15  # rows of the short form
_PASSAGES = 500  # rows whose words are shaded
_DRAWN = 1  # rows whose words are drawn
_CHANCE = 0.5  # AUC of risks that know nothing
_NAMES = {"auc": "AUC", "average_precision": "average precision", "recall": "recall at K"}
_K = "K: the number of marked words of a sentence."


def _section(result: Explanations) -> tuple[str, str]:
    """Return the section, whose title promises no probabilities that were not checked."""
    return "words", "Words that are probably wrong" if _checked(result) else "Words that may be wrong"


@pages(Explanations)
def on_page(result: Explanations) -> Iterator[Part]:
    """Yield all parts if the risks are calibrated on these texts; else words in order, and why without figures."""
    if _checked(result):
        yield from parts(result)
        return
    yield Answer(" ".join([*(_found(*found) for found in _held(result)), _unchecked(result)]))
    if result.marks:
        yield _marks(result.marks)
    if result.calibration:
        yield _shares(result.calibration)
    order = sorted(range(len(result.rows)), key=lambda place: -_mean(result.rows[place]))
    which = f"the {_SHOWN} rows with the highest mean risk" if len(order) > _SHOWN else "each row"
    caption = f"Words of {which} in the order of their risks, the highest first, n = {len(order):,}"
    yield _riskiest(result, sorted(order[:_SHOWN]), caption, figures=False)
    if result.notes or result.warnings:
        yield Notes((*map(seen_rows, result.warnings), *result.notes))


def _checked(result: Explanations) -> bool:
    """Return whether risks are probabilities, and human marks on these very texts do not show them to be off."""
    found = result.calibration.get("candidate")
    if not result.calibrated.get("candidate") or found is None:
        return False
    return found.excess.n >= FEWEST and found.excess.low <= 0 <= found.excess.high


def _unchecked(result: Explanations) -> str:
    """Return why risks are not shown."""
    risks = f"Risks of words by {result.by} are not shown"
    if not result.calibrated.get("candidate"):
        return f"{risks}: they are not calibrated, so they order words and are not probabilities."
    found = result.calibration.get("candidate")
    if found is None:
        return (
            f"{risks}: they are calibrated on other texts, and there are no human marks that show whether they are "
            "probabilities on these."
        )
    if found.excess.n < FEWEST:
        return f"{risks}: {found.excess.n} marked words are too few to show whether they are probabilities."
    off = "high" if found.excess.low > 0 else "low"
    shown = estimate(found.excess.estimate, (found.excess.low, found.excess.high)).text
    return f"{risks}: held against human marks they are too {off} (mean risk less share of marked words {shown})."


@presents(Explanations, section=_section)
def parts(result: Explanations) -> Iterator[Part]:
    """Yield how many words are probably wrong, how well risks find marked words, and the words."""
    yield Answer(" ".join(_finding(result)))
    if result.marks:
        yield _marks(result.marks)
    if any(result.baselines.values()):
        yield _baselines(result.baselines)
    if result.calibration:
        yield _shares(result.calibration)
    order = sorted(range(len(result.rows)), key=lambda place: -_mean(result.rows[place]))
    first, others = sorted(order[:_SHOWN]), sorted(order[_SHOWN:])
    which = f"the {_SHOWN} rows with the highest mean risk" if others else "each row"
    yield _riskiest(result, first, f"Riskiest words of {which}, n = {len(order):,}")
    if others:
        yield _riskiest(result, others, "Riskiest words of the other rows", full=True)
    if result.notes or result.warnings:
        yield Notes((*map(seen_rows, result.warnings), *result.notes))
    yield _passages(result, order[:_PASSAGES])
    yield from _drawn(result, order[:_DRAWN])


@presents(MarkAgreement)
def marked(result: MarkAgreement) -> Iterator[Part]:
    """Yield whether risks find marked words, and the three figures."""
    yield Answer(_found(result.auc, "Risks"))
    yield from _figures({_NAMES[name]: getattr(result, name) for name in FIGURES}, "Risks and human marks", _K)


@presents(Calibration)
def calibrated(result: Calibration) -> Iterator[Part]:
    """Yield whether risks are too high or too low, and both figures."""
    off = result.excess
    shown = estimate(off.estimate, (off.low, off.high)).text
    said = "too high" if off.low > 0 else "too low" if off.high < 0 else "not significantly too high or too low"
    yield Answer(f"Risks are {said} on average: mean risk less share of marked words {shown}, n = {off.n:,} words.")
    note = "Calibration error: the mean distance of risk and share of marked words, by ranges of the risk."
    yield from _figures(
        {"calibration error": result.error, "mean risk less share": off}, "Risks as probabilities", note
    )


@presents(Attribution)
def attributed(result: Attribution) -> Iterator[Part]:
    """Yield the word that adds most, and what each adds."""
    how = "exact" if result.exact else "sampled"
    if result.values:
        place = max(range(len(result.values)), key=lambda i: result.values[i])
        most = f"{result.values[place]:+.4f}"
        yield Answer(f"Word {place}, counted from 0, adds most ({most}) to the score of {result.whole:.4f} ({how}).")
    else:
        yield Answer(f"There is no word to explain the score of {result.whole:.4f}.")
    rows = [[text(place), number(value, 4)] for place, value in enumerate(result.values)]
    yield table(f"What each word adds; {result.evaluations:,} texts scored, {how}", ["word", "adds"], rows)
    points = [charts.Point(str(place), 0, value) for place, value in enumerate(result.values)]
    alt = "What each word adds to the score, by its place."
    spec = charts.intervals(points, alt=alt, axis="adds to the score", series=1)
    yield Chart("What each word adds", alt, (("", spec),))


@lists(Explanations)
def rows(result: Explanations) -> Iterator[Mapping[str, object]]:
    """Yield a row a word: ``row`` (from 1), ``side``, ``place`` (from 0), ``word`` and ``risk``."""
    for number_, row in enumerate(result.rows, start=1):
        for side, words, risks in _sides(row):
            for place, (word, risk) in enumerate(zip(words, risks, strict=True)):
                yield {"row": number_, "side": side, "place": place, "word": word, "risk": risk}


@lists(MarkAgreement)
def mark_rows(result: MarkAgreement) -> Iterator[Mapping[str, object]]:
    """Yield a row a figure."""
    for name in FIGURES:
        yield {"figure": name, **vars(getattr(result, name))}


@lists(Calibration)
def calibration_rows(result: Calibration) -> Iterator[Mapping[str, object]]:
    """Yield a row a figure."""
    yield {"figure": "calibration error", **vars(result.error)}
    yield {"figure": "excess", **vars(result.excess)}


@lists(Attribution)
def attribution_rows(result: Attribution) -> Iterator[Mapping[str, object]]:
    """Yield a row a word, by its place from 0."""
    for place, value in enumerate(result.values):
        yield {"place": place, "value": value}


def _finding(result: Explanations) -> Iterator[str]:
    for side, found in result.marks.items():
        yield _found(found.auc, f"Risks of the {side}'s words by {result.by}")
        if found.auc.n >= FEWEST and (against := result.baselines.get(side)):
            yield _against(against)
    risks = [risk for row in result.rows for risk in row.risk if math.isfinite(risk)]
    if not risks:
        yield "There is no word to explain."
    elif result.calibrated.get("candidate"):
        probable = sum(risk >= _PROBABLE for risk in risks)
        share = percent(math.fsum(risks) / len(risks)).text
        yield (
            f"{probable:,} of the candidates' {len(risks):,} words are more likely wrong than right, and {share} of "
            f"all are expected to be wrong, by {result.by}."
        )
    else:
        where = ((risk, row, place) for row, one in enumerate(result.rows) for place, risk in enumerate(one.risk))
        risk, row, place = max((one for one in where if math.isfinite(one[0])), key=lambda one: one[0])
        word = f"{result.rows[row].candidate.split()[place]!r} in row {row + 1}"
        lower, every = sum(risk > 0 for risk in risks), f"of the candidates' {len(risks):,} words"
        if result.method.get("candidate") not in _SCORED:
            yield (
                f"The riskiest {every} by {result.by} is {word} ({risk:.2f}); risks that are not calibrated order "
                "words and are not probabilities."
            )
        elif lower:
            yield f"{lower:,} {every} lower the score by {result.by}, most of all {word} (by {risk:.2f})."
        else:
            yield f"None {every} lowers the score by {result.by}; {word} adds least ({-risk:.2f})."


def _held(result: Explanations) -> Iterator[tuple[Estimate, str]]:
    """Yield how well risks of each side find marked words, and what they are called."""
    for side, found in result.marks.items():
        yield found.auc, f"Risks of the {side}'s words by {result.by}"


def _found(auc: Estimate, risks: str) -> str:
    """Say whether risks find marked words, by whether the interval holds chance."""
    where = f"AUC {estimate(auc.estimate, (auc.low, auc.high)).text}, n = {auc.n:,} sentences"
    if auc.n < FEWEST:
        return f"{risks} cannot be judged by human marks: {auc.n} sentence{'s' * (auc.n != 1)} with marks are too few."
    if auc.low > _CHANCE:
        return f"{risks} find the words that humans marked better than chance ({where})."
    if auc.high < _CHANCE:
        return f"{risks} are lower for the words that humans marked ({where})."
    return f"{risks} find the words that humans marked not significantly better than chance ({where})."


def _against(baselines: Mapping[str, Comparison]) -> str:
    """Say which baselines the risks are better than, by whether the interval of the difference holds 0."""
    better = [name for name, one in baselines.items() if one.low > 0]
    worse = [name for name, one in baselines.items() if one.high < 0]
    alike = [name for name in baselines if name not in better and name not in worse]
    said = [
        f"{how} {' and '.join(names)} alone"
        for how, names in (
            ("better than", better),
            ("worse than", worse),
            ("neither better nor worse, significantly, than", alike),
        )
        if names
    ]
    return f"They do {'; '.join(said)}."


def _baselines(of_sides: Mapping[str, Mapping[str, Comparison]]) -> TablePart:
    results = [
        [text(side), text(name), number(one.b, 3), estimate(one.difference, (one.low, one.high))]
        for side, of in of_sides.items()
        for name, one in of.items()
    ]
    level = 100 * next(one for of in of_sides.values() for one in of.values()).confidence
    caption = f"AUC without training; differences with {level:g} % intervals of a paired bootstrap over sentences"
    note = (
        "Length: characters of the word. Frequency: how rare the word is among the texts of its side in this run, "
        "log((N + 1) / (n + 1)) of n in N words."
    )
    return table(caption, ["side", "by", "AUC", "risks less this"], results, note=note)


def _figures(named: Mapping[str, Estimate], title: str, note: str) -> Iterator[Part]:
    """Yield figures with their intervals as a table and a chart."""
    first = next(iter(named.values()))
    caption = f"{title}, n = {first.n:,}; {100 * first.confidence:g} % bootstrap intervals over sentences like these"
    yield table(
        caption, ["figure", "value"], [[text(name), _shown(estimated)] for name, estimated in named.items()], note=note
    )
    points = [
        charts.Point(name, 0, estimated.estimate, estimated.low, estimated.high) for name, estimated in named.items()
    ]
    alt = f"{title}: {', '.join(named)}, with intervals."
    yield Chart(title, alt, (("", charts.intervals(points, alt=alt, axis="value", series=1, zero=None)),))


def _shown(estimated: Estimate) -> Cell:
    return estimate(estimated.estimate, (estimated.low, estimated.high))


def _marks(marks: Mapping[str, MarkAgreement]) -> TablePart:
    results = []
    for side, one in marks.items():
        figures = [_shown(getattr(one, name)) for name in FIGURES]
        results.append([text(side), number(one.auc.n), number(one.left_out), *figures])
    level = 100 * next(iter(marks.values())).auc.confidence
    caption = f"Risks and human marks: means over sentences, {level:g} % bootstrap intervals over sentences like these"
    note = f"Left out: sentences whose words are all marked or all unmarked. {_K}"
    return table(caption, ["side", "sentences", "left out", *_NAMES.values()], results, note=note)


def _shares(shares: Mapping[str, Calibration]) -> TablePart:
    results = [
        [text(side), number(share.error.n), _shown(share.error), _shown(share.excess)] for side, share in shares.items()
    ]
    level = 100 * next(iter(shares.values())).error.confidence
    caption = f"Risks as probabilities of a mark, {level:g} % bootstrap intervals over sentences like these"
    heads = ["side", "words", "calibration error", "mean risk less share marked"]
    note = "Calibration error: the mean distance of risk and share of marked words, in ten ranges."
    return table(caption, heads, results, note=note)


def _riskiest(
    result: Explanations, places: Sequence[int], caption: str, *, full: bool = False, figures: bool = True
) -> TablePart:
    sides = [side for side in ("candidate", "source") if side in result.method]
    most = _RISKIEST if len(sides) == 1 else _OF_TWO
    results = []
    for place in places:
        known = {side: _worst(words, risks, most, figures=figures) for side, words, risks in _sides(result.rows[place])}
        results.append([number(place + 1), *(text(known.get(side, ""), prose=True) for side in sides)])
    heads = ["row", *(f"words of the {side}" for side in sides)]
    return table(caption, heads, results, full=full, folded=full)


def _worst(words: Sequence[str], risks: Sequence[float], most: int, *, figures: bool) -> str:
    order = sorted(range(len(risks)), key=lambda place: -risks[place])[:most]
    return ", ".join(f"{words[place]} {risks[place]:.2f}" if figures else words[place] for place in order)


def _sides(row: ExplainedRow) -> Iterator[tuple[str, list[str], tuple[float, ...]]]:
    yield "candidate", row.candidate.split(), row.risk
    if row.source is not None and row.source_risk is not None:
        yield "source", row.source.split(), row.source_risk


def _mean(row: ExplainedRow) -> float:
    known = [risk for risk in row.risk if math.isfinite(risk)]
    return math.fsum(known) / len(known) if known else -math.inf


def _drawn(result: Explanations, places: Sequence[int]) -> Iterator[Chart]:
    panels = []
    for place in places:
        for side, words, risks in _sides(result.rows[place]):
            points = [charts.Point(f"{i} {words[i]}", 0, risk) for i, risk in enumerate(risks)]
            if points:
                alt = f"Risk of each word of the {side} in row {place + 1}."
                spec = charts.intervals(points, alt=alt, axis="risk", series=1, dense=True)
                panels.append((f"row {place + 1}, {side}", spec))
    if panels:
        yield Chart("Words of the riskiest row", "Risk of each word, by its place in the text.", tuple(panels))


def _passages(result: Explanations, places: Sequence[int]) -> Passages:
    every = [risk for row in result.rows for _, _, risks in _sides(row) for risk in risks if math.isfinite(risk)]
    top = 1.0 if all(0 <= risk <= 1 for risk in every) else max(map(abs, every))
    of = f"; the first {len(places):,}" if len(places) < len(result.rows) else ""
    what = "a probability of an error" if result.calibrated.get("candidate") else f"up to {top:.3g}"
    caption = (
        f"Texts by mean risk, the highest first{of} of {len(result.rows):,} rows. The darker a word, the higher its "
        f"risk ({what}); words from {_PROBABLE * top:.2g} on stand out."
    )
    return Passages(caption, tuple((f"Row {place + 1}", _texts(result.rows[place], top)) for place in places))


def _texts(row: ExplainedRow, top: float) -> tuple[tuple[str, tuple[TextRun, ...]], ...]:
    shown = [("candidate", _runs(row.candidate, row.risk, top))]
    if row.source is not None:
        shown.append(("source", _runs(row.source, row.source_risk or (), top)))
    return (*shown, *(("reference", (TextRun(item, False),)) for item in row.reference))


def _runs(content: str, risks: Sequence[float], top: float) -> tuple[TextRun, ...]:
    """Return a text word by word, each with its shade; without risks, whole."""
    if not risks:
        return (TextRun(content, False),) if content else ()
    runs = []
    left = iter(risks)
    for piece in _WORD.findall(content):
        risk = next(left, None) if piece.strip() else None
        core = piece.rstrip()
        if risk is None or not math.isfinite(risk):
            runs.append(TextRun(piece, False))
            continue
        runs.append(TextRun(core, risk >= _PROBABLE * top, heat(max(risk, 0.0), 0.0, top) or 0, f"risk {risk:.3f}"))
        if core != piece:
            runs.append(TextRun(piece[len(core) :], False))
    return tuple(runs)
