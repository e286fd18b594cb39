"""Both sides of an intervention, texts as they come and edited ones: what metrics share, and each one's regressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bsx.analysis.intervene.edits import AIMS, SURFACE, EditedText, EditScores, Versions
from bsx.analysis.intervene.result import ROUNDING, VIF_LIMIT, Edit, EditDrop, Effect, EffectFit, FactorScale
from bsx.analysis.stats.regression import Ols, WaldTest, fit_ols, standardised_errors, wald
from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.optional import need
from bsx.support.result import Notice

SEM = "sem"
COLLAPSE = 0.5
"""Share of the observed R² below which that of the edited side is said to have collapsed."""


@dataclass(frozen=True, eq=False)
class FactorSample:
    """One of the two samples, on the scale that both share."""

    y: Array  # responses (n,): scores less their mean, or falls of scores
    x: Array  # factors (n, p), likewise
    names: Sequence[str]  # of the factors (p,)
    clusters: Array  # sentence of each row (n,)

    def fit(self, confidence: float) -> Ols:
        """Fit by least squares without an intercept, standard errors by sentence.

        Raises:
            InputError: for too few rows or sentences, or a factor that the others determine.
        """
        rank = 0
        for place, name in enumerate(self.names):
            now = int(np.linalg.matrix_rank(self.x[:, : place + 1], tol=1e-7 * np.abs(self.x).max()))
            if now == rank:
                others = ", ".join(self.names[:place]) or "nothing"
                raise InputError(f"factor {name!r} cannot be told from {others}: leave one of them out, or add edits")
            rank = now
        return _clustered(self.y, self.x, self.clusters, confidence)


def compare_sides(
    observed: FactorSample, edited: FactorSample, confidence: float
) -> tuple[dict[str, dict[str, Any]], WaldTest | None]:
    """Test whether the coefficients of two samples of the same sentences agree.

    Both regressions are one: the rows of both samples are stacked, and factors that both have come twice, once for all
    rows and once for the edited rows alone. The coefficients of the second set are the differences; standard errors by
    sentence take account of sentences that are in both samples. (Seemingly unrelated estimation: Weesie 1999; Clogg,
    Petkova & Haritou 1995.)

    Args:
        observed: scores as they come.
        edited: falls of scores under edits, with the same names of sentences.
        confidence: level of the intervals.

    Returns:
        Factor -> the fields ``difference``, ``difference_ci`` and ``p`` of its `Effect`, and the test that all
        differences are 0 that are not so to rounding; None if there are too few sentences for it, or no difference.

    Raises:
        InputError: if they share no factor, or there are too few sentences.
    """
    shared = [name for name in observed.names if name in edited.names]
    if not shared:
        raise InputError("observed and edited texts have no factor in common")
    above, below = ([list(sample.names).index(name) for name in shared] for sample in (observed, edited))
    rest = [place for place in range(len(edited.names)) if place not in below]
    p = len(observed.names)
    top = np.column_stack([observed.x, np.zeros((len(observed.y), len(shared) + len(rest)))])
    moved = np.zeros((len(edited.y), p))
    moved[:, above] = edited.x[:, below]
    bottom = np.column_stack([moved, edited.x[:, below], edited.x[:, rest]])
    y, clusters = np.concatenate([observed.y, edited.y]), np.concatenate([observed.clusters, edited.clusters])
    fit = _clustered(y, np.vstack([top, bottom]), clusters, confidence)
    results, tested = {}, []
    for at, name in enumerate(shared, start=p):
        ends = float(fit.low[at]), float(fit.high[at])
        results[name] = {"difference": float(fit.coef[at]), "difference_ci": ends}
        if not is_none(*ends):
            results[name]["p"] = float(fit.p[at])
            tested.append(at)
    try:
        return results, wald(fit, tested) if tested else None
    except InputError:  # more coefficients than the sentences have degrees of freedom
        return results, None


def is_none(low: float, high: float) -> bool:
    """Say whether an interval of a standardised coefficient is 0 to rounding, so that there is nothing to test."""
    return max(abs(low), abs(high)) < ROUNDING


def _clustered(y: Array, x: Array, sentences: Array, confidence: float) -> Ols:
    clusters = [str(int(sentence)) for sentence in sentences]
    return fit_ols(y, x, se="cluster", clusters=clusters, confidence=confidence)


class Sides:
    """The texts, their edits and what these measure, and the factors: everything that metrics of one casing share.

    Edits of writing alone are a factor of their own, ``surface``: by how much they change what is counted in the others
    (a word in small letters is another word to a count of words) is kept for the table of edits and explains nothing.
    """

    def __init__(
        self,
        versions: Versions,
        human: Sequence[float] | None,
        measured: Mapping[str, Sequence[Array]],
        factors: Sequence[str],
        sentences: NDArray[np.int64],
        meaning: float | None,
    ) -> None:
        self._versions, self._made, made = versions, versions.made, versions.made
        self._meaning, self.warnings = meaning, list[Notice]()
        self._sentences = np.asarray(sentences, dtype=np.float64)
        self._of, self._row = at = np.nonzero([pairs.changed for pairs in made])  # edit and text of each pair
        changes = {name: (before - np.stack(edited))[at] for name, (_, before, *edited) in measured.items()}
        surface = np.array([AIMS[pairs.perturbation.name] == SURFACE for pairs in made])[self._of]
        changes[SEM] = np.array([float(not pairs.perturbation.preserves) for pairs in made])[self._of]
        self._measured = dict(changes)
        changes = {name: np.where(surface, 0.0, values) for name, values in changes.items()}
        changes[SURFACE] = surface.astype(np.float64)
        observed = {name: parts[0] for name, parts in measured.items()}
        if human is not None:
            observed[SEM] = np.asarray(human, dtype=np.float64)
        order = [SEM, *factors, SURFACE]
        # What only edits of writing move is shown, too.
        self._shown = [n for n in (SEM, *measured) if np.nanmax(np.abs(self._measured[n]), initial=0.0) > 0]
        self._moved = [name for name in order if np.nanmax(np.abs(changes[name]), initial=0.0) > 0]
        self._seen = [name for name in order if versions.written is not None and name in observed]
        self.names = [name for name in order if name in self._moved or name in self._seen]
        self.warnings += [Notice("not-moved", name) for name in factors if name not in self._moved]
        seen = np.array([observed[name] for name in self._seen]).reshape(len(self._seen), len(versions.texts))
        complete = ~np.isnan(seen).any(axis=0)
        self._complete = np.flatnonzero(complete)
        if not len(self._complete):
            raise InputError(f"no candidate has all factors: {', '.join(self._seen)}")
        whole_pairs = ~np.isnan(np.column_stack([changes[name] for name in self._moved])).any(axis=1)
        for what, usable in (("candidates", complete), ("edited texts", whole_pairs)):
            if not usable.all():
                self.warnings.append(Notice("rows-left-out", what, {"rows": int((~usable).sum())}))
        self._good = whole_pairs
        if len(np.unique(self._sentences[self._row[whole_pairs]])) < 2:
            raise InputError("edited texts are of one sentence or none: standard errors by sentence need two at least")
        self._unit, self._source = dict[str, float](), dict[str, str]()
        for name in self.names:
            unit, origin = 1.0, "an edit of writing alone" if name == SURFACE else "a changed meaning, declared"
            if name in self._seen:
                unit, origin = float(observed[name][self._complete].std()), "sd among the candidates"
                if not unit > 0:
                    raise InputError(f"factor {name!r} is the same for all candidates: it explains nothing")
            elif name not in (SEM, SURFACE):
                unit = float(np.sqrt(np.nanmean(np.square(changes[name][~surface]))))
                origin = "root mean square of the edits' changes"
            self._unit[name], self._source[name] = unit, origin
        if meaning is not None:
            changes[SEM] = changes[SEM] * meaning
            self._measured[SEM] = self._measured[SEM] * meaning
        units_of = self._unit if meaning is not None else {**self._unit, SEM: 1.0}
        self._x = np.column_stack([changes[name] / units_of[name] for name in self._moved])
        if self._seen:
            z = np.column_stack([observed[name][self._complete] / self._unit[name] for name in self._seen])
            self._z = z - z.mean(axis=0)
        if SEM in self._moved:
            self.warnings.append(Notice("meaning-declared", values={"meaning": meaning}))
        x, linalg = self._x[self._good], need("scipy.linalg", "the regression")
        scale = np.sqrt(np.square(x).sum(axis=0))  # how much each coefficient varies more than if it stood alone
        vif = np.diag(linalg.pinvh((x.T @ x) / np.outer(scale, scale)))
        self._inflation = dict(zip(self._moved, map(float, vif), strict=True))
        high = {name: value for name, value in self._inflation.items() if value > VIF_LIMIT}
        if high:
            self.warnings.append(Notice("edits-alike", values={"vif": high}))

    def scales(self) -> list[FactorScale]:
        """Return the unit of each factor and where it is from."""
        return [FactorScale(n, self._unit[n], self._source[n], self._inflation.get(n)) for n in self.names]

    def edits(self) -> list[Edit]:
        """Return each edit with what it moved on average."""
        results = []
        for place, pairs in enumerate(self._made):
            mine = (self._of == place) & self._good
            results.append(
                Edit(
                    edit=pairs.perturbation.name,
                    aim=AIMS[pairs.perturbation.name],
                    preserves=pairs.perturbation.preserves,
                    strength=pairs.strength,
                    n=int(mine.sum()),
                    unchanged=pairs.unchanged,
                    not_applicable=pairs.not_applicable,
                    changes={
                        name: float(self._measured[name][mine].mean()) if mine.any() else float("nan")
                        for name in self._shown
                    },
                )
            )
        return results

    def pairs(self, falls: Mapping[str, Sequence[Array]]) -> list[EditedText]:
        """Return every edited text with what it moved and how far each metric fell; metric -> falls (n,) by edit."""
        return [
            EditedText(
                edit=self._made[place].perturbation.name,
                aim=AIMS[self._made[place].perturbation.name],
                row=row + 1,
                reference=self._versions.references[row],
                original=self._versions.texts[row],
                edited=self._made[place].texts[row],
                changes={name: float(self._measured[name][at]) for name in self._shown},
                falls={metric: float(by_edit[place][row]) for metric, by_edit in falls.items()},
            )
            for at, (place, row) in enumerate(zip(self._of.tolist(), self._row.tolist(), strict=True))
        ]

    def of_metric(
        self, scores: EditScores, confidence: float
    ) -> tuple[list[Effect], EffectFit, list[EditDrop], list[Notice]]:
        """Return a metric's coefficients, its two fits, what each edit costs it, and what to know of them."""
        name, unseen = scores.name, list[str]()  # edits, of those that have scores, under which no score changes
        for pairs, by_text in zip(self._made, scores.falls, strict=True):
            sizes = np.abs(by_text[~np.isnan(by_text)])
            unseen += [pairs.perturbation.name] if len(sizes) and (sizes < scores.rounding).all() else []
        drops = np.stack(scores.falls)[self._of, self._row]
        scored = self._good & ~np.isnan(drops)
        blind = np.array([pairs.perturbation.name in unseen for pairs in self._made])[self._of]
        kept = scored & ~blind
        if not scored.any():
            raise InputError(f"{name}: no edited text has a score and all factors")
        sd = float(np.sqrt(np.square(drops[kept]).mean())) if kept.any() else 0.0
        observed, n, r2 = None, 0, float("nan")
        seen: Ols | None = None
        if self._seen and scores.written is not None:
            places = self._complete[~np.isnan(scores.written[self._complete])]
            judged = np.isin(self._complete, places)
            sd, n = float(scores.written[places].std()) if len(places) else 0.0, len(places)
            if not sd > 0:
                raise InputError(f"{name}: all candidates have the same score")
            z = self._z[judged] - self._z[judged].mean(axis=0)
            y = (scores.written[places] - scores.written[places].mean()) / sd
            observed = FactorSample(y, z, self._seen, self._sentences[places])
            seen = standardised_errors(observed.fit(confidence), confidence=confidence)
            r2 = seen.r2
        # Of a factor that only edits move that the metric does not see, nothing is left to fit.
        left = [place for place in range(len(self._moved)) if np.abs(self._x[kept, place]).max(initial=0.0) > 0]
        reached = [self._moved[place] for place in left]
        edited = FactorSample(drops[kept] / sd, self._x[kept][:, left], reached, self._sentences[self._row[kept]])
        moved = edited.fit(confidence) if reached else None
        test: WaldTest | None = None
        differences: dict[str, dict[str, Any]] = {}
        # A meaning that is declared without a unit is another factor than the one that was judged.
        names = ["" if name == SEM and self._meaning is None else name for name in reached]
        if observed is not None and set(self._seen) & set(names):
            differences, test = compare_sides(observed, replace(edited, names=names), confidence)
        fit = EffectFit(
            metric=name,
            n_observed=n,
            r2_observed=r2,
            n_edited=int(kept.sum()),
            r2_edited=float("nan") if moved is None else moved.r2,
            sd=sd,
            statistic=None if test is None else _defined(test.statistic),
            df1=0 if test is None else test.df1,
            df2=None if test is None else _defined(test.df2),
            p=None if test is None else _defined(test.p),
            ignores_case=scores.ignores_case,
            unseen=tuple(unseen),
        )
        effects = []
        for factor in self.names:
            fields = dict(differences.get(factor, {}))
            for side, at_hand, of_side in (("observed", seen, self._seen), ("edited", moved, reached)):
                if at_hand is not None and factor in of_side:
                    at = of_side.index(factor)
                    ends = float(at_hand.low[at]), float(at_hand.high[at])
                    fields |= {side: float(at_hand.coef[at]), f"{side}_se": float(at_hand.se[at]), f"{side}_ci": ends}
                    fields |= {} if is_none(*ends) else {f"{side}_p": float(at_hand.p[at])}
                elif side == "edited" and factor in self._moved:
                    fields |= {"edited": 0.0, "edited_se": 0.0, "edited_ci": (0.0, 0.0)}
            defined = {key: value for key, value in fields.items() if key.endswith("_ci") or np.isfinite(value)}
            effects.append(Effect(name, factor, **defined))
        expected = np.full(len(drops), np.nan) if moved is None else self._x[:, left] @ moved.coef
        rows = []
        for place, pairs in enumerate(self._made):
            mine = scored & (self._of == place)
            if mine.any():
                y, of = drops[mine] / sd, self._sentences[self._row[mine]]
                fall, low, high = float(y.mean()), float("nan"), float("nan")
                if len(np.unique(of)) > 1:
                    mean = _clustered(y, np.ones((len(y), 1)), of, confidence)
                    fall, low, high = float(mean.coef[0]), float(mean.low[0]), float(mean.high[0])
                seen_here = pairs.perturbation.name not in unseen
                rows.append(
                    EditDrop(
                        metric=name,
                        edit=pairs.perturbation.name,
                        n=int(mine.sum()),
                        drop=fall,
                        ci=(low, high),
                        expected=float(expected[mine].mean()) if seen_here else float("nan"),
                    )
                )
        warnings = [Notice("edits-unseen", name, {"edits": unseen})] if unseen else []
        if seen is not None and moved is not None and moved.r2 < COLLAPSE * seen.r2:
            warnings.append(Notice("explains-less", name, {"observed": seen.r2, "edited": moved.r2}))
        return effects, fit, rows, warnings


def _defined(value: float) -> float | None:
    return value if np.isfinite(value) else None
