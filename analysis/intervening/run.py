"""What a metric reacts to: edits that move single factors, their size measured, and the falls of scores explained.

A regression on texts as they come tells what scores go with; it cannot tell a factor from what goes with it. Here
factors are moved on purpose, and the same factors explain how far scores fall (Pearl 2009, ch. 3; minimal pairs as in
Gardner et al. 2020 and Kaushik, Hovy & Lipton 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.documents.intervening import (
    EditDropRow,
    EditRow,
    EffectFitRow,
    EffectRow,
    InterveneDocument,
    ScaleRow,
)
from bsx.analysis.factors.base import Resources
from bsx.analysis.factors.parses import Parse
from bsx.analysis.factors.zoo import compute_factors
from bsx.analysis.intervening.edits import AIMS, DEFAULT_SHARE, SURFACE, make_pairs
from bsx.analysis.intervening.estimate import Difference, FactorSample, compare_sides, inflation, mean_by_sentence
from bsx.analysis.intervening.result import EditedText, Interventions
from bsx.analysis.perturbations.grammar.inflections import Inflections
from bsx.analysis.perturbations.perturb import Perturbed
from bsx.analysis.stats.clusters import Correction, adjust
from bsx.analysis.stats.folds import units
from bsx.analysis.stats.regression import Ols, WaldTest
from bsx.analysis.stats.validate import settings
from bsx.data.corpus import as_texts
from bsx.errors import InputError
from bsx.support.checks import Array, NanPolicy, choice
from bsx.support.progress import Watch, told
from bsx.support.settings import in_range

Function = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]
"""A metric: candidates and references -> scores (n,), higher is better."""
Measure = Callable[[Sequence[str], Sequence[str]], NDArray[np.float64]]
"""A factor: references and texts -> values (n,), higher is more alike."""
SEM = "sem"


@in_range
def intervene(
    references: Sequence[str],
    metrics: Mapping[str, Function],
    edits: Sequence[str] | None = None,
    *,
    factors: Sequence[str] | Mapping[str, Measure] = ("lex",),
    candidates: Sequence[str] | None = None,
    human: Sequence[float] | None = None,
    base: Literal["reference", "candidate"] = "reference",
    parses: Sequence[Parse | None] | None = None,
    lang: str | None = None,
    inflections: Inflections | None = None,
    resources: Resources | None = None,
    meaning: float | None = None,
    strength: float = DEFAULT_SHARE,
    seed: int = 1,
    confidence: float = 0.95,
    correction: Correction = "none",
    nan: NanPolicy = "error",
    progress: Watch = None,
) -> Interventions:
    """Edit texts factor by factor, measure by how much each factor changed, and explain the falls of scores by that.

    Two regressions stand side by side, on one scale (standard deviations of scores and factors among the candidates):
    of the candidates' scores on their factors, as `bsx.analysis.disentangle` fits it (*observed*), and of the falls of
    scores from a text to its edited form on the falls of its factors (*edited*), without an intercept, because nothing
    edited is nothing lost. Both have standard errors by sentence. Where a factor is in both, a test tells whether the
    coefficients agree (`compare_sides`).

    SEM is declared: an edit changes the meaning or keeps it, and no person rated how much. Its coefficient is per
    changed meaning, and is compared with the observed one only if ``meaning`` says how far the human score would fall.
    ``surface`` is declared likewise: what an edit of writing alone costs beyond the factors it moves.

    Source: Kaster, Zhao & Eger 2021, section 3, for the factors; see `compare_sides` for the test.

    Args:
        references: n texts.
        metrics: name -> function of candidates and references that returns n scores, higher is better. Each call has
            all rows in their order, those of texts that an edit does not change too.
        edits: names out of `bsx.analysis.intervening.edits.AIMS`; all that can be made unless given.
        factors: names for `bsx.analysis.compute_factors`, or name -> function of references and texts. Each is computed
            once, on all pairs of texts together.
        candidates: n texts that systems wrote; without them there is no observed side.
        human: n human scores of the candidates, the observed SEM; NaN for rows without one, which are left out there.
        base: which texts to edit, the references or the candidates.
        parses: n parses of the texts to edit.
        lang: language of the texts.
        inflections: forms of words from treebanks; English ones are known by rule.
        resources: what factors may read, see `bsx.analysis.factors.base.Resources`.
        meaning: how far the human score falls where an edit changes the meaning; one standard deviation, untested,
            unless given.
        strength: share of the words that graded edits change.
        seed: of the draws.
        confidence: level of the intervals.
        correction: of p for the number of tests (metrics x factors): ``none``, ``holm`` or ``bh``.
        nan: ``error``, or ``omit`` to leave out pairs without a score.
        progress: called with what is scored, done and total; True draws bars.

    Returns:
        The coefficients, their differences, and every edit with what it moved.

    Raises:
        InputError: if sizes do not match, an edit or factor cannot be used, or a regression is not defined.
    """
    progress = told(progress)
    references = as_texts(references, "references")
    written = as_texts(candidates, "candidates") if candidates is not None else None
    choice("base", base, ("reference", "candidate"))
    choice("correction", correction, ("none", "holm", "bh"))
    settings(resamples=1, confidence=confidence)
    if not metrics or not references:
        raise InputError("there is nothing to measure: give at least one text and one metric")
    for name, column in (("candidates", written), ("human", human)):
        if column is not None and len(column) != len(references):
            raise InputError(f"{len(references)} references, {len(column)} {name}: numbers must match")
    if written is None and (base == "candidate" or human is not None):
        raise InputError(f"{'`base=candidate`' if base == 'candidate' else '`human=`'} needs candidates")
    if meaning is not None and human is None:
        raise InputError("`meaning=` is in units of human scores: give those with `human=`")
    texts = written if base == "candidate" and written is not None else references
    made, left_out = make_pairs(
        texts, edits, lang=lang, parses=parses, inflections=inflections, strength=strength, seed=seed
    )
    names = list(factors)
    for reserved in (SEM, SURFACE):
        if reserved in names:
            raise InputError(f"factor {reserved!r} is not computed here: it is declared, by the kind of each edit")
    measured, notes = _measured(factors, references, texts, written, made, lang, resources)
    sentences = units([references, *([written] if written is not None else [])], len(references))
    world = _World(references, texts, written, human, made, measured, sentences, meaning, notes)
    tables = []
    for done, (name, metric) in enumerate(metrics.items()):
        if progress is not None:
            progress(f"scoring with {name}", done, len(metrics))
        tables.append(world.of_metric(name, metric, nan, confidence))
    effects = _adjusted([row for table in tables for row in table.effects], correction)
    document = InterveneDocument(
        base=base,
        factors=world.names,
        effects=effects,
        fits=[table.fit for table in tables],
        edits=world.rows(),
        drops=[row for table in tables for row in table.drops],
        scales=world.scales(),
        left_out=left_out,
        confidence=confidence,
        correction=correction,
        settings={"lang": lang, "strength": strength, "seed": seed, "meaning": meaning, "rows": len(references)},
        notes=world.notes,
    )
    return Interventions(document, tuple(world.pairs({table.fit.metric: table.falls for table in tables})))


def _measured(
    factors: Sequence[str] | Mapping[str, Measure],
    references: Sequence[str],
    texts: Sequence[str],
    written: Sequence[str] | None,
    made: Sequence[Perturbed],
    lang: str | None,
    resources: Resources | None,
) -> tuple[dict[str, list[Array]], list[str]]:
    """Return each factor's values of the candidates, the texts before, and after each edit, and what is to know."""
    versions: list[Sequence[str]] = [*([written] if written is not None else []), texts, *(one.texts for one in made)]
    kept = [np.ones(len(references), dtype=np.bool_)] * (len(versions) - len(made)) + [one.changed for one in made]
    first = [text for keep in kept for text, is_kept in zip(references, keep.tolist(), strict=True) if is_kept]
    second = [
        text
        for version, keep in zip(versions, kept, strict=True)
        for text, is_kept in zip(version, keep.tolist(), strict=True)
        if is_kept
    ]
    notes: list[str] = []
    columns: dict[str, Array] = {}
    if isinstance(factors, Mapping):
        for name, measure in factors.items():
            columns[name] = np.asarray(measure(first, second), dtype=np.float64)
            if columns[name].shape != (len(first),):
                raise InputError(f"factor {name}: {len(first)} pairs, values of shape {columns[name].shape}")
    elif factors:
        given = dict(resources or Resources())
        for name, scores in compute_factors(list(factors), first, second, lang=lang or "en", **given).items():
            notes += scores.notes
            if scores.excluded is not None:
                raise InputError(scores.excluded)
            columns[name] = scores.values
    found = {}
    for name, column in columns.items():
        parts, at = [], 0
        for keep in kept:
            values = np.full(len(references), np.nan)
            values[keep] = column[at : at + int(keep.sum())]
            at += int(keep.sum())
            parts.append(values)
        found[name] = parts if written is not None else [np.full(len(references), np.nan), *parts]
    return found, notes


@dataclass(frozen=True, eq=False)
class _OfMetric:
    effects: list[EffectRow]
    fit: EffectFitRow
    drops: list[EditDropRow]
    falls: list[Array]


class _World:
    """The texts, their edits and their factors: everything that metrics share."""

    def __init__(
        self,
        references: Sequence[str],
        texts: Sequence[str],
        written: Sequence[str] | None,
        human: Sequence[float] | None,
        made: Sequence[Perturbed],
        measured: Mapping[str, Sequence[Array]],
        sentences: NDArray[np.int64],
        meaning: float | None,
        notes: Sequence[str],
    ) -> None:
        self._references, self._texts, self._written, self._made = references, texts, written, made
        self._meaning, self.notes = meaning, list(notes)
        self._sentences = np.asarray(sentences, dtype=np.float64)
        self._row = np.concatenate([np.flatnonzero(one.changed) for one in made])
        self._of = np.concatenate([np.full(int(one.changed.sum()), place) for place, one in enumerate(made)])
        changes = {
            name: np.concatenate([(parts[1] - after)[one.changed] for after, one in zip(parts[2:], made, strict=True)])
            for name, parts in measured.items()
        }
        whole = [not one.perturbation.preserves for one in made]
        surface = [AIMS[one.perturbation.name] == SURFACE for one in made]
        changes[SEM] = np.array(whole, dtype=np.float64)[self._of]
        changes[SURFACE] = np.array(surface, dtype=np.float64)[self._of]
        observed = {name: parts[0] for name, parts in measured.items()}
        if human is not None:
            observed[SEM] = np.asarray(human, dtype=np.float64)
        order = [SEM, *measured, SURFACE]
        self._moved = [name for name in order if np.nanmax(np.abs(changes[name]), initial=0.0) > 0]
        self._seen = [name for name in order if written is not None and name in observed]
        self.names = [name for name in order if name in self._moved or name in self._seen]
        still = [name for name in measured if name not in self._moved]
        self.notes += [f"no edit moves {name}, so that it has no edited coefficient" for name in still]
        there = ~np.isnan(np.column_stack([observed[name] for name in self._seen])).any(axis=1) if self._seen else None
        self._there = np.flatnonzero(there) if there is not None else np.array([], dtype=np.int64)
        whole_pairs = ~np.isnan(np.column_stack([changes[name] for name in self._moved])).any(axis=1)
        for what, missing in (
            ("candidates", 0 if there is None else int((~there).sum())),
            ("edited texts", int((~whole_pairs).sum())),
        ):
            if missing:
                self.notes.append(f"{missing} {what} lack a factor or human score and are left out")
        self._good = whole_pairs
        if len(np.unique(self._sentences[self._row[whole_pairs]])) < 2:
            raise InputError("edited texts are of one sentence or none: standard errors by sentence need two at least")
        self._unit, self._source = {}, {}
        for name in self.names:
            self._unit[name], self._source[name] = self._scale(name, observed, changes)
        if meaning is not None:
            changes[SEM] = changes[SEM] * meaning
        units_of = self._unit if meaning is not None else {**self._unit, SEM: 1.0}
        self._x = np.column_stack([changes[name] / units_of[name] for name in self._moved])
        self._changes = changes
        if self._seen:
            z = np.column_stack([observed[name][self._there] / self._unit[name] for name in self._seen])
            self._z = z - z.mean(axis=0)
        if SEM in self._moved:
            self.notes.append(
                "sem is declared by the kind of each edit, not rated: a changed meaning counts as "
                + (f"{meaning:g} points of the human score" if meaning is not None else "one unit; `meaning=` sets it")
            )
        vif = inflation(self._x[self._good])
        self._inflation = dict(zip(self._moved, map(float, vif), strict=True))
        high = [f"{name} {value:.1f}" for name, value in self._inflation.items() if value > 10]
        if high:
            self.notes.append(f"edits hardly tell factors apart (variance inflation above 10: {', '.join(high)})")

    def _scale(self, name: str, observed: Mapping[str, Array], changes: Mapping[str, Array]) -> tuple[float, str]:
        if name == SURFACE:
            return 1.0, "an edit of writing alone"
        if name in self._seen:
            sd = float(observed[name][self._there].std())
            if not sd > 0:
                raise InputError(f"factor {name!r} is the same for all candidates: it explains nothing")
            return sd, "sd among the candidates"
        if name == SEM:
            return 1.0, "a changed meaning, declared"
        return float(np.sqrt(np.nanmean(np.square(changes[name])))), "root mean square of the edits' changes"

    def scales(self) -> list[ScaleRow]:
        return [
            ScaleRow(factor=name, unit=self._unit[name], source=self._source[name], inflation=self._inflation.get(name))
            for name in self.names
        ]

    def rows(self) -> list[EditRow]:
        found = []
        for place, one in enumerate(self._made):
            mine = (self._of == place) & self._good
            found.append(
                EditRow(
                    edit=one.perturbation.name,
                    aim=AIMS[one.perturbation.name],
                    preserves=one.perturbation.preserves,
                    strength=one.strength,
                    n=int(mine.sum()),
                    unchanged=one.unchanged,
                    not_applicable=one.not_applicable,
                    changes={
                        name: float(self._changes[name][mine].mean()) if mine.any() else None
                        for name in self._moved
                        if name != SURFACE
                    },
                )
            )
        return found

    def pairs(self, falls: Mapping[str, Sequence[Array]]) -> list[EditedText]:
        found = []
        for at, (place, row) in enumerate(zip(self._of.tolist(), self._row.tolist(), strict=True)):
            one = self._made[place]
            found.append(
                EditedText(
                    edit=one.perturbation.name,
                    aim=AIMS[one.perturbation.name],
                    row=row + 1,
                    reference=self._references[row],
                    original=self._texts[row],
                    edited=one.texts[row],
                    changes={name: float(self._changes[name][at]) for name in self._moved if name != SURFACE},
                    falls={metric: float(own[place][row]) for metric, own in falls.items()},
                )
            )
        return found

    def of_metric(self, name: str, metric: Function, nan: NanPolicy, confidence: float) -> _OfMetric:
        before = self._scored(name, metric, self._texts, np.ones(len(self._texts), dtype=np.bool_), nan)
        falls = [before - self._scored(name, metric, one.texts, one.changed, nan) for one in self._made]
        drops = np.concatenate([fall[one.changed] for fall, one in zip(falls, self._made, strict=True)])
        kept = self._good & ~np.isnan(drops)
        if not kept.any():
            raise InputError(f"{name}: no edited text has a score and all factors")
        observed, sd, n, r2 = None, float(np.sqrt(np.square(drops[kept]).mean())), 0, float("nan")
        seen: Ols | None = None
        if self._seen and self._written is not None:
            scores = self._scored(name, metric, self._written, np.ones(len(self._written), dtype=np.bool_), nan)
            there = self._there[~np.isnan(scores[self._there])]
            own = np.isin(self._there, there)
            sd, n = float(scores[there].std()), len(there)
            if not sd > 0:
                raise InputError(f"{name}: all candidates have the same score")
            z = self._z[own] - self._z[own].mean(axis=0)
            y = (scores[there] - scores[there].mean()) / sd
            observed = FactorSample(y, z, self._seen, self._sentences[there])
            seen = observed.fit(confidence)
            r2 = seen.r2
        if not sd > 0:
            raise InputError(f"{name}: no edit changes its score")
        edited = FactorSample(drops[kept] / sd, self._x[kept], self._moved, self._sentences[self._row[kept]])
        moved = edited.fit(confidence)
        test: WaldTest | None = None
        differences: dict[str, Difference] = {}
        # A meaning that is declared without a unit is another factor than the one that people rated.
        own_names = ["" if name == SEM and self._meaning is None else name for name in self._moved]
        if observed is not None and set(self._seen) & set(own_names):
            differences, test = compare_sides(observed, replace(edited, names=own_names), confidence)
        fit = EffectFitRow(
            metric=name,
            n_observed=n,
            r2_observed=r2,
            n_edited=int(kept.sum()),
            r2_edited=moved.r2,
            sd=sd,
            statistic=None if test is None else test.statistic,
            df1=0 if test is None else test.df1,
            df2=None if test is None else test.df2,
            p=None if test is None else test.p,
        )
        effects = [self._effect(name, factor, seen, moved, differences.get(factor)) for factor in self.names]
        expected = self._x @ moved.coef
        rows = []
        for place, one in enumerate(self._made):
            mine = kept & (self._of == place)
            if mine.any():
                fall, low, high = mean_by_sentence(drops[mine] / sd, self._sentences[self._row[mine]], confidence)
                rows.append(
                    EditDropRow(
                        metric=name,
                        edit=one.perturbation.name,
                        n=int(mine.sum()),
                        drop=fall,
                        ci=(low, high),
                        expected=float(expected[mine].mean()),
                    )
                )
        return _OfMetric(effects, fit, rows, falls)

    def _effect(
        self, metric: str, factor: str, seen: Ols | None, moved: Ols, difference: Difference | None
    ) -> EffectRow:
        found: dict[str, object] = {}
        for side, fit, names in (("observed", seen, self._seen), ("edited", moved, self._moved)):
            if fit is None or factor not in names:
                continue
            at = names.index(factor)
            found |= {
                side: float(fit.coef[at]),
                f"{side}_se": float(fit.se[at]),
                f"{side}_ci": (float(fit.low[at]), float(fit.high[at])),
                f"{side}_p": float(fit.p[at]),
            }
        if difference is not None:
            found |= {
                "difference": difference.value,
                "difference_ci": (difference.low, difference.high),
                "p": difference.p,
            }
        return EffectRow.model_validate({"metric": metric, "factor": factor, **found})

    def _scored(
        self, name: str, metric: Function, texts: Sequence[str], wanted: NDArray[np.bool_], nan: NanPolicy
    ) -> Array:
        """Return scores (n,), NaN where a text did not change; nothing is scored if none did."""
        values = np.full(len(texts), np.nan)
        if wanted.any():
            found = np.asarray(metric(texts, self._references), dtype=np.float64)
            if found.shape != values.shape:
                raise InputError(f"{name}: {len(texts)} rows, scores of shape {found.shape}")
            values[wanted] = found[wanted]
            if nan == "error" and np.isnan(found[wanted]).any():
                row = int(np.flatnonzero(wanted & np.isnan(found))[0]) + 1
                raise InputError(f"{name}: row {row} has no score; `nan='omit'` leaves such pairs out")
            if np.isinf(values).any():
                raise InputError(f"{name}: row {int(np.flatnonzero(np.isinf(values))[0]) + 1} has an infinite score")
        return values


def _adjusted(effects: list[EffectRow], correction: Correction) -> list[EffectRow]:
    """Return the effects with p corrected for the number of tests of each kind."""
    found = effects
    for kind in ("p", "edited_p"):
        values = [getattr(row, kind) for row in found]
        p = adjust([np.nan if value is None else value for value in values], correction)
        found = [
            row if value is None else row.model_copy(update={f"{kind}_adjusted": float(new)})
            for row, value, new in zip(found, values, p, strict=True)
        ]
    return found
