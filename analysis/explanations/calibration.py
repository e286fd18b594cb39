"""Whether word risks are probabilities: how far they are from the shares of words that people marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.plots import Dot, draw_dots
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.stats.resample import bootstrap_counts, percentile_interval
from bsx.analysis.stats.results import Estimate
from bsx.analysis.stats.validate import settings
from bsx.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Calibration(InNotebooks):
    """How far risks are from the shares of marked words, over all words of all sentences.

    Attributes:
        error: expected calibration error: the mean distance of risk and share, by ranges of the risk.
        excess: the mean risk less the share of marked words; above 0, risks are too high.
    """

    error: Estimate
    excess: Estimate

    @property
    def short(self) -> str:
        """Both figures and the sentences."""
        return f"error {self.error.estimate:.3f}, excess {self.excess.estimate:+.3f}; {self.error.n} sentences"

    def sheets(self) -> Sequence[Sheet]:
        """Return both figures with intervals."""
        rows = [[n, f"{one.estimate:.4f} [{one.low:.4f}, {one.high:.4f}]"] for n, one in self._figures()]
        level = f"{100 * self.error.confidence:g} % bootstrap intervals"
        title = f"Word risks as probabilities of a mark, n = {self.error.n} sentences; {level}, no tests"
        return [Sheet(title, ["figure", "value"], rows)]

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return a row a figure."""
        return [{"figure": name, **asdict(one)} for name, one in self._figures()]

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw both figures with their intervals."""
        dots = [Dot(name, one.estimate, one.low, one.high) for name, one in self._figures()]
        return draw_dots({"": dots}, "of word risks", path, line=0)

    def _figures(self) -> tuple[tuple[str, Estimate], ...]:
        return ("calibration error", self.error), ("excess", self.excess)

    def to_dict(self) -> dict[str, object]:
        """Return both figures with intervals."""
        found: dict[str, object] = {}
        for name, one in (("calibration_error", self.error), ("excess", self.excess)):
            found |= {name: one.estimate, f"{name}_ci": [one.low, one.high]}
        return found


def calibration(
    risks: Sequence[ArrayLike],
    marks: Sequence[ArrayLike],
    *,
    bins: int = 10,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
) -> Calibration:
    """Measure whether risks are probabilities of a mark.

    The expected calibration error is that of Naeini, Cooper & Hauskrecht 2015 (Guo et al. 2017, equation 3): words in
    ``bins`` ranges of equal width, the distance of mean risk and share of marked words in each, weighted by its words.
    Intervals are percentiles of a bootstrap over sentences. Chance alone makes the error larger than 0, and a bootstrap
    larger still, so an interval of a well calibrated risk may begin above the true error, by about the error of a
    share in one range.

    Args:
        risks: for each sentence a number between 0 and 1 a word.
        marks: for each sentence 1 or 0 a word; 1 is an error.
        bins: number of ranges.
        confidence: level of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Raises:
        InputError: if numbers differ, there is no word, a mark is neither 0 nor 1, or a risk is no probability.
    """
    settings(resamples=resamples, confidence=confidence)
    if bins < 1:
        raise InputError(f"`bins={bins}`: at least one range is due")
    if len(risks) != len(marks):
        raise InputError(f"there are {len(risks)} sentences with risks and {len(marks)} with marks")
    sums = []
    for number, (risk, mark) in enumerate(zip(risks, marks, strict=True), start=1):
        x, y = np.asarray(risk, dtype=np.float64), np.asarray(mark, dtype=np.float64)
        if x.shape != y.shape or x.ndim != 1:
            raise InputError(f"sentence {number}: has {x.size} risks and {y.size} marks")
        if not np.isin(y, (0, 1)).all():
            raise InputError(f"sentence {number}: a mark is neither 0 nor 1")
        if not ((x >= 0) & (x <= 1)).all():
            raise InputError(f"sentence {number}: a risk is no probability between 0 and 1")
        place = np.minimum((x * bins).astype(np.int64), bins - 1)
        sums.append((np.bincount(place, x - y, bins), np.bincount(place, minlength=bins)))
    apart, words = (np.array([of[side] for of in sums], dtype=np.float64).reshape(-1, bins) for side in (0, 1))
    total = int(words.sum())
    if not total:
        raise InputError("there is no word to hold against marks")
    draws = []
    for counts in bootstrap_counts(resamples, len(apart), seed):
        of = np.maximum((counts @ words).sum(axis=1), 1)
        distance = counts @ apart
        draws.append(np.column_stack([np.abs(distance).sum(axis=1) / of, distance.sum(axis=1) / of]))
    drawn = np.concatenate(draws)
    whole = apart.sum(axis=0)
    values = float(np.abs(whole).sum() / total), float(whole.sum() / total)
    error, excess = (
        Estimate(
            value,
            *percentile_interval(drawn[:, place], confidence),
            float("nan"),
            total,
            f"{name} of words, bootstrap interval over sentences",
            confidence,
        )
        for place, (name, value) in enumerate(
            zip((f"expected calibration error in {bins} ranges", "mean risk less share marked"), values, strict=True)
        )
    )
    return Calibration(error, excess)
