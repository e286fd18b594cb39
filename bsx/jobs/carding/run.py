"""Metric cards: all that can be measured of a metric with the data at hand, step by step, each kept when it is done."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, get_args

from bsx.analysis.cards.leaderboard import card_figures
from bsx.analysis.documents.cards import SCHEMA, CardDocument, CardParts, PartName
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.stats.clusters import Correction, adjust
from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import split_specs
from bsx.data.run import as_one_run
from bsx.data.sidecar import lower_by_sidecar
from bsx.errors import InputError, UnknownNameError
from bsx.jobs.carding.agreeing import agree
from bsx.jobs.carding.cost import costs
from bsx.jobs.carding.data import DataSet, JudgedRows, LabelledPairs, read_data
from bsx.jobs.carding.desk import CardFindings, CardSettings, Desk, Subject
from bsx.jobs.carding.fooling import challenged, paraphrases, perturbed
from bsx.jobs.carding.invariance import check
from bsx.jobs.carding.profiling import profile
from bsx.jobs.carding.scoring import Lab
from bsx.jobs.carding.speaking import languages
from bsx.jobs.carding.store import Store
from bsx.metrics.base import Metric
from bsx.metrics.zoo import find_metric
from bsx.support.near import did_you_mean
from bsx.support.progress import Watch, told
from bsx.support.provenance import provenance, versions
from bsx.support.settings import complete, set_fields, takes
from bsx.support.untyped import JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS: tuple[str, ...] = get_args(PartName)
SENTINELS = ("length", "length-qe", "overlap")
"""Metrics of the zoo that cannot know how good a translation is."""
_CORRECTION: Correction = "holm"


@dataclass(eq=False, repr=False)
class CardRun(InNotebooks):
    """What came out.

    Attributes:
        cards: one for each metric.
        files: what was read.
        notes: what the reader should know.
    """

    cards: list[CardDocument]
    files: list[Path]
    notes: list[str]

    @property
    def short(self) -> str:
        """Metrics and tables."""
        return f"{', '.join(card.metric for card in self.cards)}; {len(self.files)} tables"

    def sheets(self) -> Sequence[Sheet]:
        """Return each card's figures; a page of the whole card is `bsx.analysis.card_report`."""
        made = []
        for card in self.cards:
            rows = []
            for at, value, ends in card_figures(card):
                low, high = ends or (None, None)
                shown = f"{value:.4f}" + ("" if low is None or high is None else f" [{low:.4f}, {high:.4f}]")
                where = " ".join(filter(None, (at.level, at.group))) or "-"
                rows.append([at.part, at.data, where, at.figure, shown])
            header = ["part", "table", "where", "figure", "value"]
            made.append(Sheet(f"Card of {card.metric}; 95 % intervals", header, rows, card.signature, names=4))
        return made

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a figure of each card."""
        rows = []
        for card in self.cards:
            for at, value, ends in card_figures(card):
                low, high = ends or (None, None)
                rows.append({"metric": card.metric, **vars(at), "value": value, "low": low, "high": high})
        return rows

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw agreement with people on every table, metrics in colours."""
        dots = []
        for card in self.cards:
            for at, value, ends in card_figures(card):
                if at.part == "agreement":
                    row = " ".join(filter(None, (at.data, at.level, at.group)))
                    dots.append(Dot(row, value, *(ends or (None, None)), series=card.metric))
        return draw_dots({"": dots}, "agreement with people", path, line=0)

    def to_dict(self) -> JsonObject:
        """Return the card of one metric; of several, all of them under ``cards``."""
        if len(self.cards) == 1:
            return self.cards[0].to_dict()
        return {"cards": [card.to_dict() for card in self.cards]}

    def __getitem__(self, metric: str) -> CardDocument:
        """Return the card of a metric.

        Raises:
            UnknownNameError: if there is none; names those there are.
        """
        for card in self.cards:
            if card.metric == metric:
                return card
        raise UnknownNameError(f"there is no card of {metric!r}: there are {', '.join(c.metric for c in self.cards)}")


@takes(CardSettings)
@as_one_run
def metric_card(
    specs: str | Sequence[str],
    data: str | Path | Sequence[str | Path] = (),
    *,
    columns: Sequence[str] = (),
    lower: Sequence[str] = (),
    parts: Sequence[str] = (),
    fresh: bool = False,
    store: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[CardSettings],
) -> CardRun:
    """Measure all that can be measured of metrics, and return a card for each.

    Every step is kept when it is done, by the digests of the data, the signatures of the metrics, the settings and the
    versions; the same call goes on where it was stopped, and takes what it needs from earlier calls. A part that lacks
    something is left out, one that breaks is marked as failed, and the card holds the others. All tests of a card are
    corrected together (Holm 1979).

    Args:
        specs: metrics, as `bsx.get_metric` calls them.
        data: tables, or folders of tables, told apart by their columns: judged texts (candidate, reference or source,
            human, perhaps lp, system, segment), pairs (sentence1, sentence2, label), triples (anchor, paraphrase,
            nonparaphrase), challenge sets (good, bad, phenomenon, reference or source). The shipped examples unless
            given.
        columns: columns of published scores, to make cards of too.
        lower: those of ``columns`` of which lower is better.
        parts: which parts to make; all unless given.
        fresh: take nothing from earlier calls.
        store: folder to keep steps in; ``cards`` in the folder of caches unless given.
        settings: model, language, and where and within what limits to run.
        progress: called with phase, done and total; True draws bars.
        **how: how much is measured, and how; see `bsx.jobs.carding.desk.CardSettings`.

    Raises:
        InputError: for a table that is none of these, or a setting that is wrong.
        UnknownNameError: for an unknown metric or part.
        ModelUnavailableError: if a metric's model is not to be had.
    """
    progress = told(progress)
    asked = complete(how, CardSettings)
    settings = settings if settings is not None else ScorerConfig()
    named = _specs(specs)
    wanted = _wanted(parts)
    if not named and not columns:
        raise InputError("name at least one metric, or `columns=COL` with published scores")
    for name in lower:
        if name not in columns:
            raise InputError(
                f"`lower={name}`: is none of the columns of scores ({', '.join(columns) or 'there are none'})"
            )
    twice = next((name for name in [*named, *columns] if [*named, *columns].count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is asked for twice")
    catalog = load_registry(settings.registry)
    for spec in named:
        find_metric(spec.partition(":")[0], catalog)
    paths = [Path(data)] if isinstance(data, str | Path) else [Path(one) for one in data]
    tables, notes = read_data(
        paths,
        catalog,
        lang=settings.lang,
        human=asked["human"],
        columns=columns,
        limit=asked["limit"],
        seed=asked["seed"],
        system=asked["system"],
        segment=asked["segment"],
    )
    _check_columns(columns, tables)
    turned = {name for one in tables if one.path is not None for name in lower_by_sidecar(one.path)}
    known_lower = [name for name in columns if name in turned and name not in lower]
    notes += [f"lower is better for {name}, as what lies beside the table says" for name in known_lower]
    lower = [*lower, *known_lower]
    known = [name for name in SENTINELS if name in catalog.metrics and name not in named]
    kept = Store(store, fresh=fresh)
    lab = Lab([*named, *known], settings, catalog, kept, progress)
    lab.build(tables[0].lang, strict=True)
    subjects = [*(Subject(name) for name in named), *(Subject(name, True, name in lower) for name in columns)]
    desk = Desk(tuple(subjects), tuple(known), lab, tuple(tables), asked)
    found = CardFindings()
    steps: dict[str, tuple[tuple[str, ...], Callable[[], CardFindings]]] = {
        "agreement": (("agreement", "sentinels"), lambda: agree(desk)),
        "factors": (("factors",), lambda: profile(desk)),
        "paraphrases": (("paraphrase", "sentinels"), lambda: paraphrases(desk)),
        "challenge": (("challenge", "sentinels"), lambda: challenged(desk)),
        "perturbations": (("perturbations",), lambda: perturbed(desk)),
        "invariance": (("invariance",), lambda: check(desk)),
        "languages": (("languages",), lambda: languages(desk)),
        "cost": (("cost",), lambda: costs(desk, settings)),
    }
    due = [name for name, (makes, _) in steps.items() if set(makes) & wanted]
    for number, name in enumerate(due):
        if progress is not None:
            progress("card", number, len(due))
        found.merge(_step(name, steps[name][1], desk, settings, kept))
    if progress is not None:
        progress("card", len(due), len(due))
    files = [one.path for one in tables if one.path is not None]
    cards = [_card(subject, desk, found, wanted, settings, files, notes) for subject in subjects]
    return CardRun(cards, list(dict.fromkeys(files)), notes)


def _check_columns(columns: Sequence[str], tables: Sequence[DataSet]) -> None:
    """Raise UnknownNameError for a column that no table has."""
    there: dict[str, None] = {}
    for one in tables:
        if isinstance(one.content, JudgedRows | LabelledPairs):
            there |= dict.fromkeys(one.content.columns)
        else:
            there |= dict.fromkeys(one.content.scores)
    for name in columns:
        if name not in there:
            raise UnknownNameError(f"no table has a column {name!r}.{did_you_mean(name, there)}")


def _specs(specs: str | Sequence[str]) -> list[str]:
    return [spec for part in ([specs] if isinstance(specs, str) else specs) for spec in split_specs(part)]


def _wanted(parts: Sequence[str]) -> set[str]:
    for part in parts:
        if part not in PARTS:
            raise UnknownNameError(f"`parts={part}`: there is no such part of a card; there are {', '.join(PARTS)}")
    return set(parts) or set(PARTS)


def _step(
    name: str, compute: Callable[[], CardFindings], desk: Desk, settings: ScorerConfig, store: Store
) -> CardFindings:
    """Return what a step found, now or before; what broke is tried again."""
    langs = dict.fromkeys(one.lang for one in desk.data)
    key = {
        "what": "step",
        "step": name,
        "data": [[one.name, one.kind, one.lang, one.sha256, one.n, list(one.notes)] for one in desk.data],
        "subjects": [[one.name, one.column, one.lower] for one in desk.subjects],
        "identities": [desk.lab.identity(lang, spec) for lang in langs for spec in desk.lab.specs],
        "settings": {**desk.how, **{field: str(value) for field, value in set_fields(settings).items()}},
        "versions": versions(),
        "schema": SCHEMA,
    }
    found = store.part(key)
    if found is not None:
        return CardFindings.from_dict(found)
    made = compute()
    if not made.broken:
        store.keep_part(key, made.to_dict())
    return made


def _card(
    subject: Subject,
    desk: Desk,
    found: CardFindings,
    wanted: set[str],
    settings: ScorerConfig,
    files: Sequence[Path],
    notes: Sequence[str],
) -> CardDocument:
    name = subject.name
    parts: dict[str, JsonObject] = {}
    status: dict[str, dict[str, str]] = {}
    partial = False
    for part in PARTS:
        problems = found.problems.get(part, {}).get(name, [])
        content = found.made.get(part, {}).get(name)
        if part not in wanted:
            status[part] = {"status": "left out", "reason": "not asked for"}
        elif content is not None and part in _FILLED and _FILLED[part](content):
            said = [problem.reason for problem in problems]
            parts[part] = {**content, "notes": list(dict.fromkeys([*content.get("notes", []), *said]))}
            status[part] = {"status": "made"}
            partial = partial or any(problem.failed for problem in problems)
        else:
            broken = [problem for problem in problems if problem.failed]
            kind = "failed" if broken else "left out"
            said = [problem.reason for problem in (broken or problems)] or (content or {}).get("notes", [])
            status[part] = {"status": kind, "reason": "; ".join(dict.fromkeys(said)) or _MISSING[part]}
            partial = True
    _fill_languages(parts)
    family = _corrected(parts, float(desk.how["alpha"]))
    least = family["tests"] / (desk.how["resamples"] + 1)
    if least > float(desk.how["alpha"]):
        notes = [
            *notes,
            f"tests by resampling give no p below 1 in {desk.how['resamples'] + 1}, which {family['tests']} tests "
            f"correct to {min(least, 1.0):.2g}: `resamples=` raises the number of draws",
        ]
    metrics = {lang: desk.lab.build(lang).get(name) for lang in dict.fromkeys(one.lang for one in desk.data)}
    built = {lang: metric for lang, metric in metrics.items() if isinstance(metric, Metric)}
    signatures = {lang: _signature(metric) for lang, metric in built.items()}
    if subject.column:
        signatures = {"any": f"column:{name}|published:yes"}
    first = next(iter(built.values()), None)
    return CardDocument.model_validate(
        {
            "schema_version": SCHEMA,
            "metric": name,
            "kind": "column" if subject.column else "metric",
            "signature": next(iter(signatures.values()), ""),
            "signatures": signatures,
            "higher_is_better": not subject.lower if first is None else first.higher_is_better,
            "partial": partial,
            "data": [_described(one) for one in desk.data],
            "against": [one.name for one in desk.subjects if one.name != name],
            "status": status,
            "parts": CardParts.model_validate(parts).to_dict(),
            "multiplicity": family,
            "settings": {**desk.how, **{key: str(value) for key, value in set_fields(settings).items()}},
            "notes": list(notes),
            "provenance": provenance("card", files, {name: next(iter(signatures.values()), "")}),
        }
    )


_FILLED: dict[str, Callable[[JsonObject], bool]] = {
    "agreement": lambda part: bool(part.get("rows")),
    "factors": lambda part: bool(part.get("observational")),
    "paraphrase": lambda part: bool(part.get("pairs") or part.get("triples")),
    "perturbations": lambda part: bool(part.get("rows")),
    "challenge": lambda part: bool(part.get("sets")),
    "sentinels": lambda part: bool(part.get("rows")),
    "invariance": lambda part: bool(part.get("checks")),
    "cost": lambda part: "metric" in part,
    "languages": lambda part: bool(part.get("measured")),
}
_MISSING = {
    "agreement": "no table has human scores (columns candidate, reference or source, human)",
    "factors": "no table has candidates with references",
    "paraphrase": "no table has pairs (sentence1 sentence2 label) or triples (anchor paraphrase nonparaphrase)",
    "perturbations": "no table has references to change",
    "challenge": "no challenge set is among the tables (columns good, bad, phenomenon, reference or source)",
    "sentinels": "there is nothing that sentinels could be measured on",
    "invariance": "no table has texts to try the metric on",
    "cost": "no table has texts to score",
    "languages": "no table has texts to score",
}


def _signature(metric: Metric) -> str:
    try:
        return str(metric.signature())
    except Exception:  # noqa: BLE001 - a metric that learns from its corpus may have no signature before
        return metric.spec


def _described(one: DataSet) -> JsonObject:
    groups = list(dict.fromkeys(one.content.group)) if isinstance(one.content, JudgedRows) else []
    return {
        "name": one.name,
        "kind": one.kind,
        "n": one.n,
        "sha256": one.sha256,
        "languages": [one.lang],
        "groups": groups,
        "examples": one.examples,
    }


def _fill_languages(parts: Mapping[str, JsonObject]) -> None:
    """Put each language's mean agreement on segments beside what was counted there."""
    rows = parts.get("agreement", {}).get("rows", [])
    for measured in parts.get("languages", {}).get("measured", []):
        values = [
            row["value"]
            for row in rows
            if row["level"] == "segment" and row["data"] in measured["data"] and row["group"] != "average"
            if row["value"] is not None and row["group"].rpartition("-")[2] in (measured["lang"], "all")
        ]
        measured["agreement"] = math.fsum(values) / len(values) if values else None


def _corrected(parts: Mapping[str, JsonObject], alpha: float) -> JsonObject:
    """Correct the p-values of all tests together, in place, and return what the family is."""
    tests = [test for part in parts.values() for test in part.get("tests", [])]
    if tests:
        for test, p in zip(tests, adjust([test["p"] for test in tests], _CORRECTION).tolist(), strict=True):
            test["p_adjusted"] = p
    significant = sum(test["p_adjusted"] < alpha for test in tests)
    return {"tests": len(tests), "correction": _CORRECTION, "alpha": alpha, "significant": significant}
