"""The parts of a metric card as tables and notes, one function a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from bsx.analysis.agreement.people import PeopleCurve
from bsx.analysis.documents.cards import (
    AgreementPart,
    ChallengePart,
    CostPart,
    CostRow,
    FactorsPart,
    InvariancePart,
    LanguagesPart,
    ParaphrasePart,
    PerturbationsPart,
    SentinelsPart,
)
from bsx.analysis.present.agreement import people_table
from bsx.analysis.present.cells import NONE, interval, number, percent, table, text
from bsx.analysis.present.disentangling import worded
from bsx.analysis.present.parts import Cell, Heading, Part, Prose
from bsx.analysis.report.sections.contents import noted


def _agreement(part: AgreementPart) -> Iterator[Part]:
    rows = [
        [
            text(row.data),
            text(row.level),
            text(row.group),
            number(row.n),
            text(row.statistic),
            number(row.value, strong=row.rank == 1),
            interval(row.ci),
            text(NONE if row.rank is None else f"{row.rank} (of {row.of})"),
        ]
        for row in part.rows
    ]
    heads = ["table", "level", "group", "rows", "statistic", "value", "interval", "rank"]
    note = "Rank: metrics of the run in clusters of significance (Holm within the group); 1 is best."
    yield table("Correlation with human scores", heads, rows, note=note)
    curves = [PeopleCurve.from_dict(one.to_dict()) for one in part.people]
    if curves:
        yield Heading("How often people agree with a difference that large")
        yield people_table(curves)


def _factors(part: FactorsPart) -> Iterator[Part]:
    rows = []
    for row in part.observational:
        for place, factor in enumerate(row.factors):
            share = row.r2_share.get(factor)
            rows.append(
                [
                    text(row.data if not place else ""),
                    text(row.group if not place else ""),
                    number(row.n) if not place else Cell(""),
                    text(factor),
                    number(row.coef.get(factor)),
                    interval(row.ci.get(factor)),
                    number(share),
                    percent(None if share is None or not row.r2 else share / row.r2),
                    number(row.r2) if not place else Cell(""),
                    interval(row.r2_ci) if not place else Cell(""),
                ]
            )
    heads = ["table", "language", "rows", "factor", "coefficient", "interval", "of R²", "share", "R²", "interval of R²"]
    note = "Observational: standardised coefficients say what scores go with, not what moves them."
    yield table("Scores regressed on linguistic factors", heads, rows, note=note, sortable=False)
    moved = part.interventional
    if moved:
        rows = [
            [
                text(one.data),
                text(one.group),
                number(one.n),
                text(one.factor),
                number(one.observed),
                interval(one.observed_ci),
                number(one.edited),
                interval(one.edited_ci),
                number(one.difference),
                interval(one.difference_ci),
            ]
            for one in moved
        ]
        heads = [
            "table",
            "language",
            "texts",
            "factor",
            "observed",
            "interval",
            "edited",
            "interval ",
            "difference",
            " ",
        ]
        note = (
            "Edited: references are edited factor by factor, and falls of scores regressed on the factors' changes; "
            "of sem, per changed meaning; surface: what an edit of writing alone costs beyond the factors."
        )
        yield table("What scores go with, and what moves them", heads, rows, note=note)
    warnings = [worded(notice) for row in part.observational for notice in row.warnings]
    left = [f"{name} is left out: {why}" for name, why in part.left_out.items()]
    yield from noted(list(dict.fromkeys([*left, *warnings])))


def _paraphrase(part: ParaphrasePart) -> Iterator[Part]:
    pairs = [[text(row.data), text(row.group), number(row.n), number(row.auc), interval(row.ci)] for row in part.pairs]
    if pairs:
        yield table("Paraphrase pairs told from others", ["table", "language", "pairs", "ROC AUC", "interval"], pairs)
    triples = [
        [text(row.data), text(row.group), number(row.n), percent(row.rate), interval(row.ci), number(row.mean_margin)]
        for row in part.triples
    ]
    if triples:
        heads = ["table", "language", "triples", "prefers the paraphrase", "interval", "mean margin"]
        yield table("Triples: a paraphrase against a sentence that shares words", heads, triples)


def _perturbations(part: PerturbationsPart) -> Iterator[Part]:
    whole = [
        [text(row.data), text(row.group), number(row.n), number(row.texts), percent(row.rate), interval(row.ci)]
        for row in part.overall
    ]
    if whole:
        heads = ["table", "language", "changed meanings", "texts", "cost more", "interval"]
        controls = " or ".join(dict.fromkeys(row.control for row in part.overall))
        note = (
            f"How often a single change of meaning (a negation, another number) costs more than {controls}, which "
            "keeps the meaning, does in the same text; a tie is an error."
        )
        yield table("Changed meanings against the control", heads, whole, note=note)
    rows = [
        [
            text(row.group),
            text(row.perturbation + (f" {row.strength:g}" if row.strength is not None else "")),
            text("keeps" if row.preserves else "changes"),
            number(row.n),
            number(row.drop),
            interval(row.ci),
            percent(row.relative_drop),
            percent(row.unnoticed),
            number(row.excess),
            interval(row.excess_ci),
        ]
        for row in part.rows
    ]
    heads = ["language", "change", "meaning", "n", "drop", "interval", "of range", "unseen", "excess", "interval "]
    note = (
        "Drop: mean score of references beside themselves, less that of the changed ones. Of range: as a share of what "
        "unrelated texts lose. Unseen: changed texts that score no lower. Excess: drop less that of the control."
    )
    yield table("What changes of the text do to the score", heads, rows, note=note)
    left = [f"{row.perturbation} is left out ({row.why})" for row in part.left_out]
    yield from noted(list(dict.fromkeys(left)))


def _challenge(part: ChallengePart) -> Iterator[Part]:
    rows = []
    for one in part.sets:
        found = [("all", "", one.overall), *((name, row.severity, row) for name, row in one.phenomena.items())]
        for name, severity, row in found:
            if row is not None:
                rows.append(
                    [
                        text(one.data),
                        text(one.group),
                        text(name),
                        text(severity or NONE),
                        number(row.n),
                        percent(row.rate, strong=name == "all"),
                        interval(row.ci),
                        number(row.kendall),
                    ]
                )
    heads = ["table", "language", "phenomenon", "severity", "rows", "right", "interval", "Kendall-like"]
    note = "Right: the good translation scores strictly higher; a tie is an error."
    yield table("Good translations against bad ones", heads, rows, note=note)


def _sentinels(part: SentinelsPart) -> Iterator[Part]:
    rows = [
        [
            text(row.sentinel),
            text(row.data),
            text(row.level or NONE),
            text(row.group or NONE),
            text(row.figure),
            number(row.value),
            interval(row.ci),
            number(row.metric_value),
            text(row.note),
        ]
        for row in part.rows
    ]
    heads = ["sentinel", "table", "level", "group", "figure", "reaches", "interval", "this metric", ""]
    yield table("What metrics reach that cannot know anything", heads, rows)


def _invariance(part: InvariancePart) -> Iterator[Part]:
    said = {True: "holds", False: "broken", None: "not tried"}
    rows = [
        [
            text(row.group),
            text(row.name),
            text(row.what),
            text(said[row.holds] if row.kind != "property" or row.holds is None else ("yes" if row.holds else "no")),
            number(row.n),
            number(row.changed),
            Cell(NONE) if row.largest is None else Cell(f"{row.largest:.3g}", row.largest),
        ]
        for row in part.checks
    ]
    heads = ["language", "check", "what should hold", "", "rows", "differ", "largest difference"]
    yield table("Invariance and determinism", heads, rows, sortable=False)


def _cost(part: CostPart) -> Iterator[Part]:
    def row(name: str, one: CostRow) -> list[Cell]:
        memory = one.memory, one.memory_before
        own = None if memory[0] is None or memory[1] is None else memory[0] - memory[1]
        return [
            text(name),
            number(one.seconds),
            interval(one.seconds_range),
            number(one.processor),
            number(one.start_seconds, 2),
            number(one.memory, 0),
            number(own, 0),
        ]

    rows = [row("this metric", part.metric)]
    if part.chrf is not None:
        rows.append(row("chrF", part.chrf))
    heads = ["", "seconds", "lowest and highest", "of processors", "to start, s", "most memory, MB", "of that its own"]
    machine = ", ".join(f"{name} {value}" for name, value in part.machine.items() if value)
    yield table(
        "For 1,000 segments, in a process of its own", heads, rows, note=f"Measured on: {machine}.", sortable=False
    )
    if part.times_chrf is not None:
        ends = [float(end) for end in part.times_chrf_range or () if end is not None]
        between = (
            f" (from {ends[0]:.3g} to {ends[1]:.3g} by the slowest and the fastest runs)" if len(ends) == 2 else ""
        )
        yield Prose(f"It takes {part.times_chrf:.3g} {part.times_what} in the same run{between}.")


def _languages(part: LanguagesPart) -> Iterator[Part]:
    declared = part.declared
    shown = declared if isinstance(declared, str) else ", ".join(declared)
    source = f" ({part.source})" if part.source else ""
    yield Prose(f"Declared by the registry: {shown}{source}.")
    said = {True: "yes", False: "no", None: "any"}
    rows = [
        [
            text(row.lang),
            text(said[row.declared]),
            number(row.segments),
            percent(row.truncated_share),
            number(row.empty),
            number(row.failed),
            number(row.agreement),
        ]
        for row in part.measured
    ]
    heads = ["language", "declared", "segments", "cut off", "empty", "failed", "mean agreement, segments"]
    yield table("Measured", heads, rows)
    doubts = [f"{row.lang}: {note}" for row in part.measured for note in row.notes]
    yield from noted(doubts)


PARTS: Mapping[str, Callable[..., Iterator[Part]]] = {
    "agreement": _agreement,
    "factors": _factors,
    "paraphrase": _paraphrase,
    "perturbations": _perturbations,
    "challenge": _challenge,
    "sentinels": _sentinels,
    "invariance": _invariance,
    "cost": _cost,
    "languages": _languages,
}
"""Part -> the function that shows it."""
