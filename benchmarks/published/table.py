"""One published table: what its YAML states, where its data are, and what becomes of the recomputed figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict

from bsx.analysis.published import LeftOut, ReproducedCell, ReproducedTable, Verdict
from bsx.analysis.stats.correlation import pearson
from bsx.errors import DataUnavailableError, InputError
from bsx.support.checks import Array
from bsx.support.progress import Progress


class FactsPart(BaseModel):
    """A part of a table's YAML."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PublishedFacts(FactsPart):
    """What every table's YAML states; each table adds its own.

    Attributes:
        title: what the figures are.
        source: publication, with its tables.
        data: files that are read, as they lie in the folder of data.
        tolerance: how far ours may be from a figure.
        settings: what was published under which settings, and how ours are computed.
        exceptions: cells known to be beyond the tolerance: keys of the cells, each with a value or several, and
            ``reason``.
        left_out: published figures that are never recomputed.
        called: ``published``, or ``independent`` for figures that nobody printed; see `ReproducedTable`.
    """

    title: str
    source: str
    called: Literal["published", "independent"] = "published"
    data: list[str]
    tolerance: float
    settings: list[str]
    exceptions: list[dict[str, str | list[str]]] = []
    left_out: list[LeftOut] = []

    def why(self, at: Mapping[str, str]) -> str:
        """Return the reason why a cell is an exception; empty if it is none."""
        for stated in self.exceptions:
            keys = {key: value for key, value in stated.items() if key != "reason"}
            if all(at.get(key) in ([value] if isinstance(value, str) else value) for key, value in keys.items()):
                return str(stated["reason"])
        return ""


Facts = TypeVar("Facts", bound=PublishedFacts)


def read_facts(name: str, shape: type[Facts]) -> Facts:
    """Return what the YAML of a table states."""
    file = Path(__file__).with_name(f"{name}.yaml")
    return shape.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


class ScoredTexts(Protocol):
    """Scores of a metric, as `bsx.metrics.base.Metric.score` returns them."""

    @property
    def values(self) -> Array:
        """One score a segment (n,)."""
        ...

    @property
    def system(self) -> float:
        """The score of all together."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Whether the higher of two scores is the better one."""
        ...


Score: TypeAlias = "Callable[[str, Sequence[str], Sequence[str] | Sequence[Sequence[str]]], ScoredTexts]"
"""From a metric's spec, candidates and references to its scores."""


@dataclass(frozen=True)
class Figure:
    """A recomputed figure.

    Attributes:
        at: which one: key -> value.
        published: as published; None for a figure of ours next to the published ones.
        ours: recomputed.
        tolerance: its own, if not the table's.
        remark: what to know about it.
    """

    at: Mapping[str, str]
    published: float | None
    ours: float
    tolerance: float | None = None
    remark: str = ""


@dataclass
class Work:
    """What a table's function is given, and what it notes on the way.

    Attributes:
        folder: of the data.
        score: computes metrics; None if there is none to do it.
        own: specs of metrics whose figures to put next to published ones.
        progress: told how far the work is.
        options: settings that only some tables know.
        read: the files that were used.
        left_out: figures that the data at hand do not allow.
    """

    folder: Path
    score: Score | None = None
    own: Sequence[str] = ()
    progress: Progress | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    read: list[Path] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def find(self, *names: str) -> Path:
        """Return the first of several files or folders that is there: below the folder, or in it from some part on.

        So a table's data are found whether the folder is its own, the one above, or the very one of the file.

        Raises:
            DataUnavailableError: if there is none.
        """
        parts = [Path(name).parts for name in names]
        places = [self.folder.joinpath(*path[start:]) for path in parts for start in range(len(path))]
        for place in places:
            if place.exists():
                if place not in self.read:
                    self.read.append(place)
                return place
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        raise DataUnavailableError(f"has no {names[0]}{others}", file=self.folder)

    def scores(self, metric: str, candidates: Sequence[str], references: Sequence[str | Sequence[str]]) -> ScoredTexts:
        """Score candidates.

        Raises:
            DataUnavailableError: if nothing was given that scores.
        """
        if self.score is None:
            raise DataUnavailableError(
                f"{metric} is to be computed: give score, or use bsx.jobs.reproduce, which has the metrics"
            )
        return self.score(metric, candidates, references)

    def agreement(
        self, metric: str, candidates: Sequence[str], references: Sequence[str | Sequence[str]], human: Array
    ) -> float:
        """Return Pearson's r of a metric with people, positive if they agree."""
        scored = self.scores(metric, candidates, references)
        return (1 if scored.higher_is_better else -1) * pearson(scored.values, human).estimate

    @contextmanager
    def part(self, what: str) -> Iterator[None]:
        """Note what data are missing for a part of a table, and go on with the others."""
        try:
            yield
        except DataUnavailableError as error:
            self.left_out.append(LeftOut(what=what, reason=str(error)))

    def step(self, phase: str, done: int, total: int) -> None:
        """Tell how far the work is."""
        if self.progress is not None:
            self.progress(phase, done, total)


def judged(facts: PublishedFacts, figures: Sequence[Figure], left_out: Sequence[LeftOut]) -> ReproducedTable:
    """Return a table with a verdict on each figure.

    Raises:
        DataUnavailableError: if there is no figure.
    """
    if not figures:
        raise DataUnavailableError(left_out[0].reason if left_out else "there is nothing to recompute")
    return ReproducedTable(
        title=facts.title,
        source=facts.source,
        called=facts.called,
        data=tuple(facts.data),
        settings=tuple(facts.settings),
        cells=tuple(_cell(facts, figure) for figure in figures),
        left_out=(*facts.left_out, *left_out),
    )


def _cell(facts: PublishedFacts, figure: Figure) -> ReproducedCell:
    tolerance = facts.tolerance if figure.tolerance is None else figure.tolerance
    at = dict(figure.at)
    if figure.published is None:
        return ReproducedCell(
            at=at,
            published=None,
            ours=figure.ours,
            difference=None,
            tolerance=None,
            verdict="ours",
            reason=figure.remark,
        )
    difference, reason = figure.ours - figure.published, facts.why(at)
    # A published figure is a decimal fraction, which its double only comes near to.
    near = abs(difference) <= tolerance + 1e-12
    verdict: Verdict = "met" if near else "off"
    if reason:
        verdict = "exception no longer needed" if near else "exception"
    return ReproducedCell(
        at=at,
        published=figure.published,
        ours=figure.ours,
        difference=difference,
        tolerance=tolerance,
        verdict=verdict,
        reason=reason or figure.remark,
    )


def same_count(path: Path, found: int, expected: int, what: str = "rows") -> None:
    """Raise InputError unless a file holds as many rows as were published."""
    if found != expected:
        raise InputError(f"has {found:,} {what}, {expected:,} were published", file=path)
