"""What metric cards look like: what a metric is better than, and every part of its card; and cards side by side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from bsx.analysis.cards.leaderboard import CardFigure, CardValue, FigureRow, Leaderboard, card_figures, times_what
from bsx.analysis.cards.result import (
    AgreementPart,
    AgreementRow,
    Card,
    CardRun,
    CardTest,
    ChallengePart,
    CostPart,
    CostRow,
    FactorsPart,
    FamilyRow,
    InvariancePart,
    LanguagesPart,
    LengthPart,
    ParaphrasePart,
    PerturbationsPart,
    SentinelsPart,
)
from bsx.analysis.present import charts
from bsx.analysis.present.cells import (
    NONE,
    few,
    few_note,
    interval,
    listed,
    number,
    p_value,
    percent,
    table,
    text,
)
from bsx.analysis.present.families.disentangling import worded
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.notices import seen_rows
from bsx.analysis.present.parts import Answer, Cell, Chart, Heading, Notes, Part, Prose, TablePart
from bsx.support.checks import FEW_ITEMS

_TITLES = {
    "agreement": "Agreement with human judgments",
    "factors": "What its scores are associated with",
    "paraphrase": "Paraphrases",
    "perturbations": "Controlled changes",
    "challenge": "Challenge sets",
    "sentinels": "What is trivial",
    "length": "Score against length",
    "invariance": "What should change nothing",
    "cost": "Cost",
    "languages": "Languages",
}
_ROWS = 18  # figures that the short form shows before it turns to means over groups
_PANELS = 8


@presents(Card, section=("card", "Metric cards"))
def parts(card: Card) -> Iterator[Part]:
    """Yield what the metric is better than, its figures beside those of sentinels, then each part of the card."""
    yield Answer(_finding(card))
    yield from _figures([card])
    yield from _noted(_remarks(card))
    yield from _chart([card])
    yield from _whole(card)


@presents(CardRun, section=("cards", "Metric cards of one run"))
def run(result: CardRun) -> Iterator[Part]:
    """Yield what each metric is better than, their figures side by side, then each card."""
    if len(result.cards) == 1:
        yield from parts(result.cards[0])
        return
    yield Answer(" ".join(_finding(card) for card in result.cards), answers=True)
    yield from _figures(result.cards)
    yield from _noted([*result.notes, *(note for card in result.cards for note in _remarks(card, named=True))])
    yield from _chart(result.cards)
    for card in result.cards:
        yield from _whole(card, f"{card.metric}: ")


@presents(Leaderboard, section=("leaderboard", "Metric cards compared"))
def board(result: Leaderboard) -> Iterator[Part]:
    """Yield which metrics stand alone in front, and all figures with their clusters."""
    yield Answer(_front(result), answers=True)
    rows = []
    for figure in result.figures:
        cells = {
            row.metric: _standing(row.value, row.ci, row.rank, figure.n, strong=row.winner) for row in figure.standings
        }
        shown = [cells.get(name, Cell(NONE)) for name in result.metrics]
        at = [text(figure.part), text(figure.data), _where(figure), text(figure.figure), number(figure.n)]
        rows.append([*at, *shown])
    note = (
        f"Bold: no metric with a better figure is significantly better, p < {result.alpha:g}, Holm correction over the "
        "pairs of a row; in brackets behind: cluster. Tables are named with the digest of their rows: only figures of "
        f"the same rows stand in one line. {_about(dict.fromkeys(figure.part for figure in result.figures))}"
    )
    heads = ["part", "table", "where", "figure", "n", *result.metrics]
    yield table("Figures of all cards", heads, rows, note=note + few_note(rows), names=4)
    yield from _noted([f"{note}." for note in result.notes])
    panels = []
    for figure in result.figures[:_PANELS]:
        title = " ".join(filter(None, (figure.figure, figure.data, figure.level, figure.group)))
        points = [
            charts.Point(row.metric + ("" if row.winner else " (outperformed)"), 0, row.value, *(row.ci or ()))
            for row in sorted(figure.standings, key=lambda row: result.metrics.index(row.metric))
        ]
        axis = figure.figure if len(result.figures) > 1 else title
        panels.append((title, charts.intervals(points, alt=title, axis=axis, series=1, zero=None)))
    alt = "Figures of the cards with their intervals; outperformed: another metric is significantly better."
    yield Chart("Metric cards side by side", alt, tuple(panels))


@lists(Card)
def figures(card: Card) -> Iterator[Mapping[str, object]]:
    """Yield a row a figure."""
    for at, value, ends, n in card_figures(card):
        low, high = ends or (None, None)
        yield {"metric": card.metric, **vars(at), "n": n, "value": value, "low": low, "high": high}


@lists(CardRun)
def all_figures(result: CardRun) -> Iterator[Mapping[str, object]]:
    """Yield a row a figure of each card."""
    for card in result.cards:
        yield from figures(card)


@lists(Leaderboard)
def standings(result: Leaderboard) -> Iterator[Mapping[str, object]]:
    """Yield a row a figure and metric."""
    for figure in result.figures:
        place = {name: getattr(figure, name) for name in ("part", "figure", "data", "level", "group", "n")}
        for row in figure.standings:
            low, high = row.ci or (None, None)
            own = {"metric": row.metric, "value": row.value, "low": low, "high": high, "rank": row.rank}
            yield place | own | {"winner": row.winner}


def _together(family: FamilyRow) -> str:
    if family.family is None or family.family <= family.tests:
        return "together"
    return f"with those of the cards made with it, {family.family} in all"


def _finding(card: Card) -> str:
    """Return what a metric is significantly better than, and which checks it fails."""
    family, made = card.multiplicity, card.parts.made()
    scored = "published scores" if card.of == "column" else "scored here"
    many = len(card.data)
    said = [f"{card.metric}, {scored}, was measured on {many} table{'s' * (many != 1)}."]
    tests = [test for part in made.values() for test in part.tests if not few(test.n)]
    sentinels = [test for test in made["sentinels"].tests if test in tests] if "sentinels" in made else []
    rivals = [test for test in tests if test.b in card.against]
    left = sum(len(part.tests) for part in made.values()) - len(tests)
    if sentinels:
        said.append(f"Compared with controls, which cannot measure quality: {_won(sentinels, family.alpha)}.")
    for name in card.against:
        own = [test for test in rivals if test.b == name]
        if own:
            said.append(f"Compared with {name}: {_won(own, family.alpha)}.")
    if card.parts.invariance is not None:
        tried = [
            check for check in card.parts.invariance.checks if check.holds is not None and check.kind != "property"
        ]
        broken = list(dict.fromkeys(item.name for item in tried if not item.holds))
        failed = f"; broken: {listed(broken)}" if broken else ""
        said.append(f"{sum(bool(item.holds) for item in tried)} of {len(tried)} checks of invariance hold{failed}.")
    if left:
        said.append(_few_left(left, "test"))
    if family.tests:
        said.append(
            f"The card's {family.tests} tests are corrected {_together(family)} ({family.correction.capitalize()}): "
            f"{family.significant} {'is' if family.significant == 1 else 'are'} below {family.alpha:g}."
        )
    else:
        said.append("No test compares it with another metric or a control.")
    return " ".join(said)


def _few_left(count: int, what: str) -> str:
    """Return that so many tests or figures rest on too few items to count."""
    counted = (
        f"{what} of fewer than {FEW_ITEMS} items is" if count == 1 else f"{what}s of fewer than {FEW_ITEMS} items are"
    )
    return f"{count} {counted} not counted here."


def _won(tests: Sequence[CardTest], alpha: float) -> str:
    """Return in how many tests a metric is better or worse; neither is said where p is above alpha."""
    clear = [test.difference for test in tests if test.p_adjusted is not None and test.p_adjusted < alpha]
    better, worse = (sum(d is not None and sign * d > 0 for d in clear) for sign in (1, -1))
    of = f"{len(tests)} test{'s' * (len(tests) != 1)}"
    if not better:
        return f"significantly worse in {worse} of {of}" if worse else f"no significant difference in {of}"
    return f"significantly better in {better} of {of}" + (f", and worse in {worse}" if worse else "")


def _front(result: Leaderboard) -> str:
    """Return which metrics stand alone in the first cluster, and in how many figures; of cost by itself."""
    said = []
    costs = [figure for figure in result.figures if figure.part == "cost"]
    others = [figure for figure in result.figures if figure.part != "cost" and not few(figure.n)]
    small = len(result.figures) - len(costs) - len(others)
    for found, what in ((others, "figures"), (costs, "figures of cost")):
        alone = Counter(name for figure in found if (name := _alone(figure)) is not None)
        if not found:
            continue
        left = len(found) - alone.total()
        told = ", ".join(f"{name} ({count})" for name, count in alone.most_common())
        if not alone:
            said.append(f"In none of {len(found)} {what} is one metric told apart from all others as the best.")
        else:
            rest = f"; in the other {left} the best are not told apart" if left else ""
            said.append(f"In {alone.total()} of {len(found)} {what} one metric is alone in front: {told}{rest}.")
    if small:
        said.append(_few_left(small, "figure"))
    tables = len({figure.data for figure in result.figures if figure.data})
    return f"{len(result.metrics)} metrics on {tables} table{'s' * (tables != 1)}. {' '.join(said)}"


def _alone(figure: FigureRow) -> str | None:
    """Return the only metric that no other one significantly beats."""
    front = [row.metric for row in figure.standings if row.winner]
    return front[0] if len(front) == 1 else None


def _remarks(card: Card, *, named: bool = False) -> list[str]:
    """Return the notes of a card, and why parts that were asked for are missing."""
    missing = [
        f"{f'{card.metric}: ' if named else ''}{_TITLES[name]}: {status.status}: {status.reason}"
        for name, status in card.status.items()
        if status.status == "failed" or (status.status == "left out" and status.reason != "not asked for")
    ]
    mqm = [
        f"{data.name} is judged by MQM, which counts errors against the source: it is no judgment of similarity to the "
        "reference"
        for data in card.data
        if data.kind == "judged" and "mqm" in f"{data.human} {data.name}".casefold()
    ]
    seen = [f"{f'{card.metric}: ' if named else ''}{seen_rows(notice)}" for notice in card.warnings]
    return [*seen, *dict.fromkeys(mqm), *card.notes, *missing]


def _where(at: CardFigure | FigureRow) -> Cell:
    return text(" ".join(filter(None, (at.level, at.group))) or NONE)


def _standing(
    value: float, ci: tuple[float, float] | None, rank: int | None = None, n: int | None = None, *, strong: bool = False
) -> Cell:
    ends = interval(ci).text
    behind = ["" if ends == NONE else ends, "" if rank is None else f"({rank})"]
    return Cell(" ".join(filter(None, [number(value).text, *behind])), value, strong=strong, mark=few(n))


_SAMPLED = {
    "agreement": "other items like these",
    "factors": "other rows like these",
    "paraphrase": "other pairs and triples like these, those that share a text drawn together",
    "perturbations": "other texts like these",
    "challenge": "other rows like these",
    "cost": "the range of several runs on this machine",
}
"""Part -> what its intervals speak about, unless its rows say more."""


def _at_level(row: AgreementRow) -> str:
    return f"at the level of {row.level}s {row.sampled}" if row.sampled else ""


def _about(parts: Iterable[str], sampled: Iterable[str] = ()) -> str:
    """Return what the intervals of some parts speak about; ``sampled`` is what rows of agreement say."""
    known = list(dict.fromkeys(filter(None, sampled)))
    said = [
        f"{part}: {'; '.join(known) if part == 'agreement' and known else _SAMPLED[part]}"
        for part in parts
        if part in _SAMPLED
    ]
    return f"Intervals speak about: {'. '.join(said)}." if said else ""


def _figures(cards: Sequence[Card]) -> Iterator[TablePart]:
    """Yield the figures of cards, a column a metric, beside the best sentinel of the same rows."""
    values: dict[CardFigure, dict[str, CardValue]] = {}
    for card in cards:
        for card_figure in card_figures(card):
            values.setdefault(card_figure.at, {})[card.metric] = card_figure
    if not values:
        return
    means = {replace(at, group="") for at in values if at.group == "average"}
    few = {at: of for at, of in values.items() if at.group == "average" or replace(at, group="") not in means}
    cut = len(values) > _ROWS and len(few) < len(values)
    level = f"{100 * float(cards[0].settings.get('confidence', 0.95)):g} % intervals"
    for shown, full in ((few, False), (values, True)) if cut else ((values, False),):
        rows = []
        for at, of in shown.items():
            own = [
                _standing(of[card.metric].value, of[card.metric].ci, n=of[card.metric].n)
                if card.metric in of
                else Cell(NONE)
                for card in cards
            ]
            n = " to ".join(f"{size:,}" for size in sorted({one.n for one in of.values() if one.n is not None}))
            where = [text(at.part), text(at.data), _where(at), text(at.figure), text(n or NONE)]
            rows.append([*where, *own, _trivial(cards, at)])
        caption = f"Figures of the card{'s' * (len(cards) > 1)}; {level}"
        heads = ["part", "table", "where", "figure", "n", *(card.metric for card in cards), "best control"]
        agreed = [card.parts.agreement for card in cards if card.parts.agreement is not None]
        about = _about(dict.fromkeys(at.part for at in shown), (_at_level(row) for part in agreed for row in part.rows))
        yield table(caption, heads, rows, note=about + few_note(rows), names=4, full=full)


def _trivial(cards: Sequence[Card], at: CardFigure) -> Cell:
    """Return what the best sentinel reaches on the same rows."""
    place = (at.figure, at.data, at.level, at.group)
    rows = [
        (row.value, row.sentinel)
        for card in cards
        for row in (card.parts.sentinels.rows if card.parts.sentinels is not None else ())
        if (row.figure, row.data, row.level, row.group) == place and row.value == row.value
    ]
    if not rows:
        return Cell(NONE)
    value, name = max(rows)
    return Cell(f"{number(value).text} ({name})", value)


def _chart(cards: Sequence[Card]) -> Iterator[Chart]:
    """Yield agreement on every table, metrics in colours."""
    points = [
        charts.Point(" ".join(filter(None, (at.data, at.level, at.group))), place, value, *ends, card.metric)
        if ends is not None
        else charts.Point(" ".join(filter(None, (at.data, at.level, at.group))), place, value, label=card.metric)
        for place, card in enumerate(cards)
        for at, value, ends, _ in card_figures(card)
        if at.part == "agreement"
    ]
    if points:
        names = tuple(card.metric for card in cards)
        alt = "Agreement with human judgments on every table, level and language pair, with intervals."
        spec = charts.intervals(points, alt=alt, axis="agreement with human judgments", series=len(names))
        yield Chart("Agreement of each metric", alt, (("", spec),), names if len(names) > 1 else ())


def _whole(card: Card, before: str = "") -> Iterator[Part]:
    """Yield what a card rests on, and all its parts, for the full form."""
    yield Heading(f"{before}What this card rests on", full=True)
    rows = [
        [
            text(data.name),
            text(data.kind),
            text(", ".join(data.languages)),
            number(data.n),
            text(", ".join(data.groups[:12]) + (", …" if len(data.groups) > 12 else "")),
            text(data.sha256[:12], code=True),
        ]
        for data in card.data
    ]
    yield table("Data", ["table", "kind", "language", "rows", "groups", "sha256"], rows, sortable=False, full=True)
    rows = [[text(_TITLES[name]), text(part.status), text(part.reason or NONE)] for name, part in card.status.items()]
    if rows:
        yield table("Parts", ["part", "status", "why"], rows, sortable=False, full=True)
    signed = [[text(lang), text(signature, code=True)] for lang, signature in card.signatures.items()]
    if signed:
        yield table("Signatures", ["language", "signature"], signed, sortable=False, full=True)
    made = card.parts.made()
    for name, title in _TITLES.items():
        if name in made:
            yield Heading(f"{before}{title}", full=True)
            tests = _tests(made[name].tests, title, name)
            for part in (*_PARTS[name](made[name]), *tests, *_noted(made[name].notes)):
                yield replace(part, full=True)


def _noted(notes: Sequence[str]) -> list[Notes]:
    """Return notes as a part, if there are any."""
    return [Notes(tuple(dict.fromkeys(notes)))] if notes else []


def _tests(tests: Sequence[CardTest], of: str, part: str) -> Iterator[Part]:
    if not tests:
        return
    rows = [
        [
            text(test.data),
            text(" ".join(filter(None, (test.level, test.group))) or NONE),
            text(test.figure),
            text(test.a),
            text(test.b),
            number(test.difference),
            interval(test.ci),
            p_value(test.p, mark=few(test.n)),
            p_value(test.p_adjusted, mark=few(test.n)),
            number(test.n),
        ]
        for test in tests
    ]
    heads = ["table", "where", "figure", "A", "B", "A less B", "interval", "p", "p (all tests of the card)", "n"]
    methods = "; ".join(dict.fromkeys(test.method for test in tests if test.method))
    about = _about([part]) if any(test.ci is not None for test in tests) else ""
    note = " ".join(filter(None, [f"{methods}." if methods else "", about])) + few_note(rows)
    yield table(f"Tests: {of[0].lower()}{of[1:]}", heads, rows, note=note, names=5, folded=len(rows) > 12)


def _agreement(part: AgreementPart) -> Iterator[Part]:
    rows = [
        [
            text(row.data),
            text(row.level),
            text(row.group),
            number(row.n),
            text(row.statistic),
            number(row.value, strong=row.rank == 1, mark=few(row.n)),
            interval(row.ci),
            text(
                NONE if row.rank is None else f"{row.rank} (of {row.of})", mark="" if row.rank is None else few(row.n)
            ),
        ]
        for row in part.rows
    ]
    heads = ["table", "level", "group", "n", "statistic", "value", "interval", "rank"]
    note = (
        "n: rows, or systems at their level. Rank: metrics of the run in clusters of significance (Holm within the "
        f"group); 1 is best. {_about(['agreement'], map(_at_level, part.rows))}"
    )
    yield table("Correlation with human judgments", heads, rows, note=note + few_note(rows))


def _factors(part: FactorsPart) -> Iterator[Part]:
    rows = []
    for row in part.observational:
        for place, factor in enumerate(row.factors):
            share = row.r2_share.get(factor)
            rows.append(
                [
                    text(row.data if not place else ""),
                    text(row.group if not place else ""),
                    number(row.n, mark=few(row.n)) if not place else Cell(""),
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
    how = "; ".join(dict.fromkeys(row.se for row in part.observational if row.se))
    note = (
        "Observational: standardised coefficients say what scores are associated with, not what moves them. "
        f"Intervals speak about {_SAMPLED['factors']}{f' ({how})' if how else ''}.{few_note(rows)}"
    )
    yield table("Scores regressed on linguistic factors", heads, rows, note=note, sortable=False)
    moved = part.interventional
    if moved:
        rows = [
            [
                text(item.data),
                text(item.group),
                number(item.n),
                text(item.factor),
                number(item.observed),
                interval(item.observed_ci),
                number(item.edited),
                interval(item.edited_ci),
                number(item.difference),
                interval(item.difference_ci),
            ]
            for item in moved
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
            "interval of that",
        ]
        note = (
            "Edited: references are edited factor by factor, and falls of scores regressed on the factors' changes; "
            "of sem, per changed meaning; surface: what an edit of writing alone costs; lex:lowercase=true: words in "
            "common without case, for a metric that ignores it."
        )
        yield table("What scores are associated with, and what moves them", heads, rows, note=note)
    warnings = [worded(notice) for row in part.observational for notice in row.warnings]
    left = [f"{name} is left out: {why}" for name, why in part.left_out.items()]
    yield from _noted(list(dict.fromkeys([*left, *warnings])))


def _paraphrase(part: ParaphrasePart) -> Iterator[Part]:
    about = _about(["paraphrase"])
    pairs = [
        [text(row.data), text(row.group), number(row.n), number(row.auc, mark=few(row.n)), interval(row.ci)]
        for row in part.pairs
    ]
    if pairs:
        heads = ["table", "language", "pairs", "ROC AUC", "interval"]
        yield table("Paraphrase pairs told from others", heads, pairs, note=about + few_note(pairs))
    triples = [
        [
            text(row.data),
            text(row.group),
            number(row.n),
            percent(row.rate, mark=few(row.n)),
            interval(row.ci),
            number(row.mean_margin),
        ]
        for row in part.triples
    ]
    if triples:
        heads = ["table", "language", "triples", "prefers the paraphrase", "interval", "mean margin"]
        caption = "Triples: a paraphrase against a sentence that shares words"
        yield table(caption, heads, triples, note=about + few_note(triples))


def _perturbations(part: PerturbationsPart) -> Iterator[Part]:
    whole = [
        [
            text(row.data),
            text(row.group),
            number(row.n),
            number(row.texts),
            percent(row.rate, mark=few(row.n)),
            interval(row.ci),
        ]
        for row in part.overall
    ]
    if whole:
        heads = ["table", "language", "changed meanings", "texts", "cost more", "interval"]
        controls = " or ".join(dict.fromkeys(row.control for row in part.overall))
        note = (
            f"How often a single change of meaning (a negation, another number) costs more than {controls}, which "
            f"keeps the meaning, does in the same text; a tie is an error. {_about(['perturbations'])}"
        )
        yield table("Changed meanings against the control", heads, whole, note=note + few_note(whole))
    rows = [
        [
            text(row.group),
            text(row.perturbation + (f" {row.strength:g}" if row.strength is not None else "")),
            text("keeps" if row.preserves else "changes"),
            number(row.n),
            number(row.drop, mark=few(row.n)),
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
        "Drop: mean score of references compared with themselves, minus that of changed ones. Of range: as a share of "
        "what unrelated texts lose. Unseen: changed texts that score no lower. Excess: drop minus that of the control. "
        f"{_about(['perturbations'])}{few_note(rows)}"
    )
    yield table("What changes of the text do to the score", heads, rows, note=note)
    left = [f"{row.perturbation} is left out ({row.why})" for row in part.left_out]
    yield from _noted(list(dict.fromkeys(left)))


def _challenge(part: ChallengePart) -> Iterator[Part]:
    rows = []
    for item in part.sets:
        results = [("all", "", item.overall), *((name, row.severity, row) for name, row in item.phenomena.items())]
        for name, severity, row in results:
            if row is not None:
                rows.append(
                    [
                        text(item.data),
                        text(item.group),
                        text(name),
                        text(severity or NONE),
                        number(row.n),
                        percent(row.rate, strong=name == "all", mark=few(row.n)),
                        interval(row.ci),
                        number(row.kendall),
                    ]
                )
    heads = ["table", "language", "phenomenon", "severity", "rows", "right", "interval", "Kendall-like"]
    note = f"Right: the good translation scores strictly higher; a tie is an error. {_about(['challenge'])}"
    note += few_note(rows)
    yield table("Good translations against bad ones", heads, rows, note=note)


def _sentinels(part: SentinelsPart) -> Iterator[Part]:
    rows = [
        [
            text(row.sentinel),
            text(row.data),
            text(row.level or NONE),
            text(row.group or NONE),
            text(row.figure),
            number(row.value, mark=few(row.n) if row.value == row.value else ""),
            interval(row.ci),
            number(row.metric_value),
            text(row.note),
        ]
        for row in part.rows
    ]
    heads = ["control", "table", "level", "group", "figure", "reaches", "interval", "this metric", "note"]
    note = f"Intervals speak about what those of this metric on the same rows do.{few_note(rows)}"
    yield table("What metrics reach that cannot know anything", heads, rows, note=note)


def _length(part: LengthPart) -> Iterator[Part]:
    rows = [
        [
            text(row.data),
            text(row.group),
            text(f"{row.unit} of the {row.side}"),
            number(row.n, mark=few(row.n)),
            number(row.slope),
            interval(row.ci),
            p_value(row.p),
            number(row.human),
            interval(row.human_ci),
            text(f"{row.clusters:,} {row.sampled}s"),
        ]
        for row in part.rows
    ]
    heads = ["table", "group", "length", "n", "score", "interval", "p", "human", "human interval", "drawn"]
    note = (
        "In standard deviations a doubling of length. score: of texts with equal human scores; below 0, long texts get "
        "lower scores than by human judgments. human: of the human scores themselves. Human scores that add up errors "
        "fall with length at the same quality a word, so that the metric's slope is to be held against theirs."
    )
    yield table("Score against length at equal human scores", heads, rows, note=note + few_note(rows), names=3)
    panels = []
    for row in part.rows[:_PANELS]:
        title = " ".join(filter(None, (row.data, row.group, row.side)))
        points = [
            (float(round(math.sqrt(step.low * step.high))), 0, step.score, f"{step.low:g} to {step.high:g} {row.unit}")
            for step in row.steps
        ]
        ends = [step.score for step in row.steps]
        span = (min(*ends, -0.5), max(*ends, 0.5))
        x, y = f"{row.unit} of the {row.side}", "score at equal human scores, SDs"
        ticks = [point[0] for point in points]
        panels.append((title, charts.lines(points, alt=title, x=x, y=y, series=1, span=span, ticks=ticks, log=True)))
    alt = "Mean score of the quarters of the texts by length, at equal human scores."
    yield Chart("Score against length", alt, tuple(panels))


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
            Cell(f"{row.largest:.3g}", row.largest) if row.largest == row.largest else Cell(NONE),
        ]
        for row in part.checks
    ]
    heads = ["language", "check", "what should hold", "found", "rows", "differ", "largest difference"]
    yield table("Invariance and determinism", heads, rows, sortable=False)


def _cost(part: CostPart) -> Iterator[Part]:
    def row(name: str, cost: CostRow) -> list[Cell]:
        return [
            text(name),
            number(cost.seconds),
            interval(cost.seconds_range),
            number(cost.processor),
            number(cost.start_seconds, 2),
            number(cost.memory, 0),
            number(cost.memory - cost.memory_before, 0),
        ]

    rows = [row("this metric", part.metric)]
    if part.chrf is not None:
        rows.append(row("chrF", part.chrf))
    heads = [
        "what",
        "seconds",
        "lowest and highest",
        "of processors",
        "to start, s",
        "most memory, MB",
        "of that its own",
    ]
    machine = ", ".join(f"{name} {value}" for name, value in part.machine.items() if value)
    yield table(
        "For 1,000 segments, in a process of its own", heads, rows, note=f"Measured on: {machine}.", sortable=False
    )
    if part.times_chrf is not None:
        low, high = part.times_chrf_range or (None, None)
        between = "" if low is None else f" (from {low:.3g} to {high:.3g} by the slowest and the fastest runs)"
        yield Prose(f"It takes {part.times_chrf:.3g} {times_what(part)} in the same run{between}.")


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
    yield from _noted(doubts)


_PARTS: Mapping[str, Callable[..., Iterator[Part]]] = {
    "agreement": _agreement,
    "factors": _factors,
    "paraphrase": _paraphrase,
    "perturbations": _perturbations,
    "challenge": _challenge,
    "sentinels": _sentinels,
    "length": _length,
    "invariance": _invariance,
    "cost": _cost,
    "languages": _languages,
}
"""Part -> the function that shows it."""
