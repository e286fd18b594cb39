"""Metric cards: all that can be measured of a metric with the data at hand, step by step, each kept when it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from bsx.analysis.cards.result import SCHEMA, CardRun
from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import split_specs
from bsx.data.run import as_one_run
from bsx.data.sidecar import lower_by_sidecar
from bsx.errors import InputError, UnknownNameError
from bsx.jobs.carding.agreeing import agree
from bsx.jobs.carding.assembling import PARTS, assemble
from bsx.jobs.carding.cost import costs
from bsx.jobs.carding.data import DataSet, JudgedRows, LabelledPairs
from bsx.jobs.carding.desk import CardFindings, CardSettings, Desk, Subject
from bsx.jobs.carding.fooling import challenged, paraphrases
from bsx.jobs.carding.invariance import check
from bsx.jobs.carding.perturbing import perturbed
from bsx.jobs.carding.profiling import profile
from bsx.jobs.carding.reading import read_data
from bsx.jobs.carding.scoring import Lab
from bsx.jobs.carding.speaking import languages
from bsx.jobs.carding.store import Store
from bsx.metrics.zoo import find_metric
from bsx.support.near import did_you_mean
from bsx.support.progress import Watch, told
from bsx.support.provenance import Provenance, provenance, versions
from bsx.support.settings import complete, takes

SENTINELS = ("length", "length-qe", "overlap")
"""Metrics of the zoo that cannot know how good a translation is."""


_STEPS: Mapping[str, tuple[tuple[str, ...], Callable[[Desk], CardFindings]]] = {
    "agreement": (("agreement", "sentinels"), agree),
    "factors": (("factors",), profile),
    "paraphrases": (("paraphrase", "sentinels"), paraphrases),
    "challenge": (("challenge", "sentinels"), challenged),
    "perturbations": (("perturbations",), perturbed),
    "invariance": (("invariance",), check),
    "languages": (("languages",), languages),
    "cost": (("cost",), costs),
}
"""Step -> the parts that it adds to, and what makes it."""


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
    named = [spec for part in ([specs] if isinstance(specs, str) else specs) for spec in split_specs(part)]
    wanted = _wanted(parts)
    if not named and not columns:
        raise InputError("name at least one metric, or columns=COL with published scores")
    for name in lower:
        if name not in columns:
            raise InputError(
                f"lower={name}: is none of the columns of scores ({', '.join(columns) or 'there are none'})"
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
    desk = Desk(tuple(subjects), tuple(known), lab, tuple(tables), asked, settings)
    found = CardFindings()
    due = [name for name, (makes, _) in _STEPS.items() if set(makes) & wanted]
    for number, name in enumerate(due):
        if progress is not None:
            progress("card", number, len(due))
        found.merge(_step(name, _STEPS[name][1], desk, kept))
    if progress is not None:
        progress("card", len(due), len(due))
    files = [one.path for one in tables if one.path is not None]
    files = list(dict.fromkeys(files))
    cards = tuple(assemble(subject, desk, found, wanted, files, notes) for subject in subjects)
    origin = provenance(CardRun.kind, files, {card.metric: card.signature for card in cards})
    return CardRun(cards=cards, notes=tuple(notes), provenance=Provenance.read(origin))


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


def _wanted(parts: Sequence[str]) -> set[str]:
    for part in parts:
        if part not in PARTS:
            raise UnknownNameError(f"parts={part}: there is no such part of a card; there are {', '.join(PARTS)}")
    return set(parts) or set(PARTS)


def _step(name: str, compute: Callable[[Desk], CardFindings], desk: Desk, store: Store) -> CardFindings:
    """Return what a step found, now or before; what broke is tried again."""
    langs = dict.fromkeys(one.lang for one in desk.data)
    key = {
        "what": "step",
        "step": name,
        "data": [[one.name, one.kind, one.lang, one.sha256, one.n, list(one.notes)] for one in desk.data],
        "subjects": [[one.name, one.column, one.lower] for one in desk.subjects],
        "identities": [desk.lab.identity(lang, spec) for lang in langs for spec in desk.lab.specs],
        "settings": desk.asked,
        "versions": versions(),
        "schema": SCHEMA,
    }
    found = store.part(key)
    if found is not None:
        return CardFindings.from_dict(found)
    made = compute(desk)
    if not made.broken:
        store.keep_part(key, made.to_dict())
    return made
