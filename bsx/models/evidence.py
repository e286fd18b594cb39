"""Ranking models by measured figures: of agreement with human judgments near the language, or of its metric cards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bsx.catalog.entries.evidence import Aspect, Evidence, Test
from bsx.catalog.entries.models import LanguageEntry, ModelEntry
from bsx.support.checks import FEW_ITEMS

Weights = Mapping[Aspect, float]
"""How much each aspect of a card counts."""
NOTHING = "no evidence"
"""What is said of an aspect, or of a model, that nothing was measured of."""


@dataclass(frozen=True)
class Ranked:
    """One model in a ranking.

    Attributes:
        entry: the registry's entry.
        reason: why it stands where it does.
        evidence: the figure it was ranked by, if any.
    """

    entry: ModelEntry
    reason: str
    evidence: Evidence | None


_Figures = dict[Test, Evidence]
_NEARNESS = ("", "also {genus}", "also {family}", "in the same script", "in another family and script")


def by_evidence(
    pool: Iterable[ModelEntry], language: LanguageEntry, languages: Mapping[str, LanguageEntry]
) -> tuple[list[Ranked], tuple[str, ...]]:
    """Rank models by how well they agree with human judgments, in the language or as near as there are figures.

    Figures in the language itself count first, then those in a language of its genus, of its family, of its script,
    and others. Two models are compared by the most telling test that both took part in; the more of its comparisons a
    model wins, the further it stands in front.

    Args:
        pool: the models.
        language: the language.
        languages: what is known of the languages that figures were measured in.

    Returns:
        The models, best first, each with the figure that speaks for it beside the best other model's in the same test;
        and notes on how near the figures are.
    """
    groups: dict[int, dict[str, tuple[ModelEntry, _Figures]]] = {}
    for entry in pool:
        known = [e for e in entry.evidence if e.aspect in (None, "agreement") and e.enough]
        near = min((_nearness(e, language, languages) for e in known), default=5)
        figures = {e.test: e for e in known if _nearness(e, language, languages) == near}
        groups.setdefault(near, {})[entry.name] = entry, figures
    ranked = []
    for near, group in sorted(groups.items()):
        names = sorted(group, key=lambda name: (*_standing(name, group), name))
        for name in names:
            entry, figures = group[name]
            ranked.append(
                _reasoned(entry, figures, [group[other] for other in names if other != name], near, language, languages)
            )
    nearest = min(groups, default=0)
    missing = f"there is no figure for {language.name}"
    whose = (language.genus, language.family, f"{language.name}'s script")
    if nearest == 0:
        return ranked, ()
    if nearest > len(whose):
        where = "for other languages" if nearest == 4 else "by name"
        return ranked, (f"{missing}, its family or its script: ranked {'by figures ' if nearest == 4 else ''}{where}",)
    return ranked, (f"{missing}: ranked by figures for other languages, those of {whose[nearest - 1]} first",)


def _nearness(evidence: Evidence, language: LanguageEntry, languages: Mapping[str, LanguageEntry]) -> int:
    """Return how near the language of a figure is: 0 the same, 1 its genus, 2 its family, 3 its script, 4 any other."""
    if evidence.language in (language.code, language.code.partition("-")[0]):
        return 0
    other = languages.get(evidence.language)
    for near, field in enumerate(("genus", "family", "script"), start=1):
        value = getattr(language, field)
        if other is not None and value is not None and value == getattr(other, field):
            return near
    return 4


def _standing(name: str, group: Mapping[str, tuple[ModelEntry, _Figures]]) -> tuple[bool, float]:
    """Return whether a model can be compared with no other, and the balance of its lost and won comparisons.

    The balance is a share of them and one more, so that a single win says less than many.
    """
    mine = group[name][1]
    balance = []
    for other, (_, theirs) in group.items():
        shared = _shared(mine, theirs)
        if other != name and shared:
            rival = theirs[shared[0].test].value
            balance.append((rival > shared[0].value) - (rival < shared[0].value))
    return not balance, sum(balance) / (len(balance) + 1)


def _reasoned(
    entry: ModelEntry,
    figures: _Figures,
    others: list[tuple[ModelEntry, _Figures]],
    near: int,
    language: LanguageEntry,
    languages: Mapping[str, LanguageEntry],
) -> Ranked:
    if not figures:
        return Ranked(entry, "no figure is known", None)
    rivals = [(shared[0], other, theirs) for other, theirs in others if (shared := _shared(figures, theirs))]
    evidence = min(figures.values(), key=_order)
    beside = ""
    if rivals:
        evidence, other, theirs = min(rivals, key=lambda rival: _order(rival[0]))  # of several, the best model
        rival = theirs[evidence.test]
        beside = f", {rival.called or other.name} {_plain(rival.value)}"
    reason = spelled_figure(evidence, beside)
    if near:
        other_language = languages.get(evidence.language)
        name = other_language.name if other_language is not None else evidence.language
        basis = _NEARNESS[near].format(genus=language.genus, family=language.family)
        reason = f"{name}, {basis}: {reason}"
    return Ranked(entry, reason, evidence)


def _shared(mine: _Figures, theirs: _Figures) -> list[Evidence]:
    """Return one's figures of the tests that both took part in, most telling first."""
    return sorted((mine[test] for test in mine.keys() & theirs.keys()), key=_order)


def by_aspects(pool: Iterable[ModelEntry], language: LanguageEntry, weights: Weights) -> list[Ranked]:
    """Rank models by figures in a language; those without any come last, by name, and say so.

    Figures of agreement are published ones too, all others are those of metric cards.

    In each aspect, two models are compared on the tests that both took part in (the same rows, the same statistic): the
    one that is better in more of them wins. A model's standing is the balance of its wins and losses, as a share of its
    comparisons and one more; the weighted mean of the standings ranks. Models that lack an aspect come after those that
    have all.
    """
    figures: dict[str, dict[Aspect, _Figures]] = {}
    entries = {entry.name: entry for entry in pool}
    codes = (language.code, language.code.partition("-")[0])
    for name, entry in entries.items():
        figures[name] = {
            aspect: {
                e.test: e
                for e in entry.evidence
                if (e.aspect or "agreement") == aspect and e.language in codes and e.enough
            }
            for aspect in weights
        }
    ranked = []
    for name, entry in entries.items():
        mine = figures[name]
        standings = {
            aspect: _balance(mine[aspect], [theirs[aspect] for other, theirs in figures.items() if other != name])
            for aspect in weights
            if mine[aspect]
        }
        total = sum(weights[aspect] * standing for aspect, standing in standings.items()) / sum(weights.values())
        reasons = [f"{aspect}: {_telling(mine[aspect])}" for aspect in weights]
        first = next((min(mine[aspect].values(), key=_order) for aspect in weights if mine[aspect]), None)
        reason = "; ".join(reasons) if standings else NOTHING
        ranked.append(((not standings, len(standings) < len(weights), -total, name), Ranked(entry, reason, first)))
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])]


def _balance(mine: _Figures, others: Iterable[_Figures]) -> float:
    balance, met = 0, 0
    for theirs in others:
        shared = mine.keys() & theirs.keys()
        if shared:
            won = sum(_better(mine[test], theirs[test]) for test in shared)
            balance, met = balance + (won > 0) - (won < 0), met + 1
    return balance / (met + 1)


def _better(mine: Evidence, theirs: Evidence) -> int:
    """Return 1 where the first figure is better, -1 where the second is, 0 for equal ones; times are better low."""
    result = (mine.value > theirs.value) - (mine.value < theirs.value)
    return -result if mine.aspect == "speed" else result


def _telling(figures: _Figures) -> str:
    """Return the most telling figure of an aspect in words, and how many more there are."""
    if not figures:
        return NOTHING
    first = min(figures.values(), key=_order)
    more = f" and {len(figures) - 1} more" if len(figures) > 1 else ""
    return f"{spelled_figure(first)}{more}"


def _order(evidence: Evidence) -> tuple[bool, bool, bool, str, str]:
    """Put the tests that say most about single sentences first: segments before systems, r before tau, then by name."""
    return (
        evidence.level != "segment",
        "pearson" not in evidence.statistic.casefold(),
        evidence.aspect is not None,
        evidence.dataset,
        evidence.direction or evidence.language,
    )


def spelled_figure(evidence: Evidence, beside: str = "", *, whole: bool = False) -> str:
    """Return a figure in a few words: ``en-tr segment tau .628; Zhang et al. 2020, Table 14``.

    Args:
        evidence: the figure.
        beside: what to say behind its value.
        whole: name the data set too where there is a direction.
    """
    where = evidence.dataset
    if evidence.aspect is not None:
        ends = "" if evidence.interval is None else " [" + ", ".join(_plain(end) for end in evidence.interval) + "]"
        of = f" {evidence.direction} {evidence.level}" if evidence.direction is not None else ""
        figure = f"{evidence.statistic} {_plain(evidence.value)}{ends}{beside}"
        few = ", too few to rely on" if evidence.n is not None and evidence.n < FEW_ITEMS else ""
        return f"{figure} on {where}{of} (n {evidence.n}{few}); {evidence.source}"
    if evidence.direction is not None:
        where = f"{where} " * whole + f"{evidence.direction} {evidence.level}"
    few = f" (n {evidence.n}, too few to rely on)" if evidence.n is not None and evidence.n < FEW_ITEMS else ""
    statistic = "tau" if "kendall" in evidence.statistic.casefold() else "r"
    return f"{where} {statistic} {_plain(evidence.value)}{beside}{few}; {evidence.source}"


def _plain(value: float) -> str:
    """Return a correlation as papers print it: .628."""
    return f"{value:.3f}".replace("0.", ".", 1)
