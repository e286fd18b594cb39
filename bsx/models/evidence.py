"""Ranking models by measured figures of agreement with human judgments, in a language or near it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bsx.catalog.entries import Evidence, Judged, Test
from bsx.catalog.entries.models import LanguageEntry, ModelEntry
from bsx.catalog.languages import codes_of
from bsx.support.checks import FEW_ITEMS

_SAME, _NONE = 1, 6


@dataclass(frozen=True)
class Ranked:
    """One model in a ranking.

    Attributes:
        entry: the registry's entry.
        reason: why it stands where it does.
        evidence: the figure that the reason tells; None where nothing was measured that could be compared.
    """

    entry: ModelEntry
    reason: str
    evidence: Evidence | None


@dataclass(frozen=True)
class Compared:
    """What one test says of models: figures of the same data, year, pair, level and statistic.

    Attributes:
        figures: of each model, best first.
        chrf: chrF's figure on the same rows, where it is known.
        near: how near the language is: 0 the same pair, 1 the same language, 2 its genus, 3 its family, 4 its script,
            5 any other.
    """

    figures: tuple[tuple[ModelEntry, Evidence], ...]
    chrf: float | None
    near: int

    @property
    def evidence(self) -> Evidence:
        """The best figure, which says what the test is."""
        return self.figures[0][1]

    @property
    def decides(self) -> bool:
        """Whether it says which model is better: of two at least, or in the language, that one is better than chrF."""
        few = self.evidence.n is not None and self.evidence.n < FEW_ITEMS
        alone = self.near <= _SAME and self.chrf is not None and self.evidence.value > self.chrf
        return not few and (len(self.figures) > 1 or alone)


@dataclass(frozen=True)
class Standing:
    """What is known of models near a language.

    Attributes:
        ranking: first those of the test that decides, best first; then the others that were measured, by their tests,
            which are not compared with each other; then those of which nothing is known, by name.
        tests: all in the language, or in the nearest one that there are figures for, most telling first, but the one
            that decides before them; if that is in a language further away, it is the last.
        near: how near the nearest figures are, see `Compared`; 6 if there are none.
        notes: how near the figures are, and what could not be compared.
    """

    ranking: tuple[Ranked, ...]
    tests: tuple[Compared, ...]
    near: int
    notes: tuple[str, ...]


_NEARNESS = ("", "", "also {genus}", "also {family}", "in the same script", "in another family and script")


def by_evidence(
    pool: Iterable[ModelEntry],
    language: LanguageEntry,
    languages: Mapping[str, LanguageEntry],
    *,
    source: LanguageEntry | None = None,
    chrf: Sequence[Evidence] = (),
    task: Judged = "human-translation",
) -> Standing:
    """Rank models by how well they agree with human judgments, in the language or as near as there are figures.

    Models are compared only on one and the same test. The one that decides is, of those in the nearest language that
    compare models (the pair asked for, the language, its genus, its family, its script, any other; figures on the
    similarity of sentences speak for their own language only), the first by kind (judgments of the task asked for, then
    of translations, then of others, similarity last), segments before systems, the number of models, the year, and the
    number of items. A model is shown with its figure there, or with that of the first other test by kind, year and n.
    Where a model was not measured, nothing is known of it: that is no last place.

    Args:
        pool: the models.
        language: the language.
        languages: what is known of the languages that figures were measured in.
        source: the language that texts were translated from, if asked for.
        chrf: chrF's figures, which stand beside those on the same rows.
        task: what is to be judged.
    """
    entries = sorted(pool, key=lambda entry: entry.name)
    tests = _tests(entries, language, languages, source, chrf, task)
    nearest = tests[0].near if tests else _NONE
    shown = [test for test in tests if test.near <= max(nearest, _SAME)]
    deciding = min(
        (test for test in tests if test.decides),
        key=lambda test: (test.near, *_kind(test.evidence, task), -len(test.figures), *_telling(test)),
        default=None,
    )
    if tests and (deciding is None or len(entries) == 1):
        deciding = tests[0]
    others = [test for test in shown if test is not deciding]
    first = [deciding] if deciding is not None else []
    further = deciding is not None and deciding.near > max(nearest, _SAME)
    shown = [*others, *first] if further else [*first, *others]
    told: dict[str, Ranked] = {}
    for test in shown:
        for entry, evidence in test.figures:
            if entry.name not in told:
                told[entry.name] = Ranked(entry, _reason(entry, evidence, test, language, languages), evidence)
    order = [entry.name for test in (*first, *others) for entry, _ in test.figures]
    ranked = {name: told[name] for name in order}
    missing = f"not measured in {language.name}" if nearest <= _SAME else "no figure is known"
    unknown = [Ranked(entry, f"unknown: {missing}", None) for entry in entries if entry.name not in ranked]
    notes = _notes(language, nearest, deciding, len(entries))
    return Standing((*ranked.values(), *unknown), tuple(shown), nearest, notes)


def _tests(
    entries: Sequence[ModelEntry],
    language: LanguageEntry,
    languages: Mapping[str, LanguageEntry],
    source: LanguageEntry | None,
    chrf: Sequence[Evidence],
    task: Judged,
) -> list[Compared]:
    """Return the tests that models took part in, most telling first."""
    groups: dict[Test, list[tuple[ModelEntry, Evidence]]] = {}
    for entry in entries:
        for evidence in entry.evidence:
            if evidence.enough:
                groups.setdefault(evidence.test, []).append((entry, evidence))
    tests = []
    for figures in groups.values():
        first = figures[0][1]
        near = _nearness(first, language, languages, source)
        if near > _SAME and first.kind == "similarity":
            continue
        figures.sort(key=lambda figure: (-figure[1].value, figure[0].name))
        beside = next((known for _, one in figures if (known := chrf_beside(one, chrf)) is not None), None)
        tests.append(Compared(tuple(figures), beside, near))
    return sorted(tests, key=lambda test: (test.near, *_kind(test.evidence, task), *_telling(test)))


def _kind(evidence: Evidence, task: Judged) -> tuple[bool, int, bool]:
    kinds = {"human-translation": 1, "human-summary": 2, None: 2, "similarity": 3} | {task: 0}
    few = evidence.n is not None and evidence.n < FEW_ITEMS
    return few, kinds[evidence.judged], evidence.level != "segment"


def _telling(test: Compared) -> tuple[int, int, str, str, str]:
    """Put the newest test first, then the one with most items; names only part what is equal."""
    one = test.evidence
    return -(one.when or 0), -(one.n or 0), one.dataset, one.direction or one.language, one.statistic


def _nearness(
    evidence: Evidence,
    language: LanguageEntry,
    languages: Mapping[str, LanguageEntry],
    source: LanguageEntry | None = None,
) -> int:
    """Return how near the languages of a figure are, see `Compared`."""
    if evidence.language in codes_of(language):
        said = evidence.direction.partition("-")[0] if evidence.direction is not None else None
        return 0 if source is not None and said in codes_of(source) else _SAME
    other = next((entry for entry in languages.values() if evidence.language in (entry.code, *entry.codes)), None)
    for near, field in enumerate(("genus", "family", "script"), start=2):
        value = getattr(language, field)
        if other is not None and value is not None and value == getattr(other, field):
            return near
    return 5


def chrf_beside(evidence: Evidence, chrf: Sequence[Evidence]) -> float | None:
    """Return chrF's figure on the rows of another figure, as that one says or as chrF's own evidence does."""
    if evidence.chrf is not None:
        return evidence.chrf
    *rows, statistic = evidence.test
    for own in chrf:
        *same, plain = own.test
        if same == rows and statistic.rpartition(" of ")[0] == plain:
            return own.value
    return None


def _reason(
    entry: ModelEntry,
    evidence: Evidence,
    test: Compared,
    language: LanguageEntry,
    languages: Mapping[str, LanguageEntry],
) -> str:
    other = next(((model, figure) for model, figure in test.figures if model is not entry), None)
    beside = "" if other is None else f", {other[1].called or other[0].name} {_plain(other[1].value)}"
    beside += "" if test.chrf is None else f", chrF {_plain(test.chrf)}"
    reason = spelled_figure(evidence, beside)
    if test.near > _SAME:
        known = languages.get(evidence.language)
        name = known.name if known is not None else evidence.language
        basis = _NEARNESS[test.near].format(genus=language.genus, family=language.family)
        reason = f"{name}, {basis}: {reason}"
    return reason


def _notes(language: LanguageEntry, nearest: int, deciding: Compared | None, models: int) -> tuple[str, ...]:
    notes = []
    if nearest > _SAME:
        notes.append(unmeasured(language))
        kin = (language.genus, language.family, f"{language.name}'s script")
        if nearest == _NONE:
            notes.append("ranked by name")
        elif nearest == _NONE - 1:
            notes.append("no figure for its family or its script either: ranked by figures for other languages")
        else:
            notes.append(f"ranked by figures for other languages, those of {kin[nearest - 2]} first")
    if deciding is not None and not deciding.decides and models > 1:
        notes.append("no two of these models were measured on the same test: nothing says which is better")
    return tuple(notes)


def unmeasured(language: LanguageEntry) -> str:
    """Return what to do where no model was compared with human judgments in a language."""
    return f"nothing was measured in {language.name}: report chrF next to the model (--metrics chrf,bertscore)"


def spelled_test(evidence: Evidence) -> str:
    """Return in a few words what a figure was measured on: ``WMT18 en-tr segments, tau``."""
    where = evidence.dataset + (f" ({evidence.year})" if evidence.year is not None else "")
    if evidence.direction is not None:
        where = f"{where} {evidence.direction}"
    level = "" if evidence.level in where else f" {evidence.level}s"
    return f"{where}{level}, {_statistic(evidence)}"


def spelled_figure(evidence: Evidence, beside: str = "") -> str:
    """Return a figure in a few words: ``WMT17 en-tr segment tau .628; Zhang et al. 2020, Table 14``.

    Args:
        evidence: the figure.
        beside: what to say behind its value.
    """
    where = evidence.dataset + (f" ({evidence.year})" if evidence.year is not None else "")
    ends = "" if evidence.interval is None else " [" + ", ".join(_plain(end) for end in evidence.interval) + "]"
    few = ", too few to rely on" if evidence.n is not None and evidence.n < FEW_ITEMS else ""
    n = "" if evidence.n is None else f" (n {evidence.n:,}{few})"
    if not beside and evidence.chrf is not None:
        beside = f", chrF {_plain(evidence.chrf)}"
    of = f" {evidence.direction} {evidence.level}" if evidence.direction is not None else ""
    return f"{where}{of} {_statistic(evidence)} {_plain(evidence.value)}{ends}{n}{beside}; {evidence.source}"


def spelled_value(value: float, evidence: Evidence | None = None) -> str:
    """Return a figure as papers print it, with interval and number of items as far as its evidence says them."""
    if evidence is None:
        return _plain(value)
    ends = "" if evidence.interval is None else " [" + ", ".join(_plain(end) for end in evidence.interval) + "]"
    return f"{_plain(value)}{ends}" + ("" if evidence.n is None else f" (n {evidence.n:,})")


def _statistic(evidence: Evidence) -> str:
    plain = evidence.statistic.casefold()
    short = (letter for name, letter in (("kendall", "tau"), ("spearman", "rho"), ("pearson", "r")) if name in plain)
    return next(short, evidence.statistic)


def _plain(value: float) -> str:
    """Return a correlation as papers print it: .628."""
    return f"{value:.3f}".replace("0.", ".", 1)
