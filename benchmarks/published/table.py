"""One published table: what its YAML states, where its data are, and what becomes of the recomputed figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict

from bsx.analysis.stats.correlation import pearson
from bsx.errors import DataUnavailableError, InputError
from bsx.support.checks import Array
from bsx.support.progress import Progress

Verdict = Literal["met", "exception", "exception no longer needed", "off", "ours"]
"""``met``: within the tolerance. ``exception``: beyond it, for a named reason. ``exception no longer needed``: named as
an exception, but within the tolerance. ``off``: beyond it without a reason. ``ours``: no figure is published."""


class FactsPart(BaseModel):
    """A part of a table's YAML."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LeftOut(FactsPart):
    """What was not recomputed, and why."""

    what: str
    reason: str


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
        called: ``published``, or ``independent`` for figures that nobody printed.
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
        at: which one: key, such as ``pair`` -> value, such as ``cs-en``.
        published: as published; None for a figure of ours next to the published ones.
        ours: recomputed.
        tolerance: its own, if not the table's.
        reason: why it is an exception, or what else to know about it.
        verdict: what came out; see `judged`.
    """

    at: Mapping[str, str]
    published: float | None
    ours: float
    tolerance: float | None = None
    reason: str = ""
    verdict: Verdict = "ours"


@dataclass(frozen=True)
class ReproducedTable:
    """One publication's figures: what its YAML states, each figure with a verdict, and what was not recomputed."""

    facts: PublishedFacts
    figures: tuple[Figure, ...]
    left_out: tuple[LeftOut, ...]

    def count(self, *verdicts: Verdict) -> int:
        """Return how many figures have one of these verdicts."""
        return sum(figure.verdict in verdicts for figure in self.figures)


@dataclass
class Work:
    """What a table's function is given, and what it notes on the way.

    Attributes:
        folder: of the data.
        score: computes metrics.
        progress: told how far the work is.
        left_out: figures that the data at hand do not allow.
    """

    folder: Path
    score: Score
    progress: Progress | None = None
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
                return place
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        raise DataUnavailableError(f"has no {names[0]}{others}", file=self.folder)

    def agreement(
        self, metric: str, candidates: Sequence[str], references: Sequence[str | Sequence[str]], human: Array
    ) -> float:
        """Return Pearson's r of a metric with people, positive if they agree."""
        scored = self.score(metric, candidates, references)
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
    return ReproducedTable(facts, tuple(_verdict(facts, each) for each in figures), (*facts.left_out, *left_out))


def _verdict(facts: PublishedFacts, figure: Figure) -> Figure:
    if figure.published is None:
        return figure
    tolerance = facts.tolerance if figure.tolerance is None else figure.tolerance
    # A published figure is a decimal fraction, which its double only comes near to.
    near = abs(figure.ours - figure.published) <= tolerance + 1e-12
    reason = facts.why(figure.at)
    verdict: Verdict = "met" if near else "off"
    if reason:
        verdict = "exception no longer needed" if near else "exception"
    return replace(figure, tolerance=tolerance, reason=reason or figure.reason, verdict=verdict)


def same_count(path: Path, found: int, expected: int, what: str = "rows") -> None:
    """Raise InputError unless a file holds as many rows as were published."""
    if found != expected:
        raise InputError(f"has {found:,} {what}, {expected:,} were published", file=path)
