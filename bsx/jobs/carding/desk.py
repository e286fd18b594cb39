"""What every step of a card works with: metrics, data and settings of the run, and how findings are gathered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypedDict, TypeVar

import numpy as np
from pydantic import Field

from bsx.analysis.datasets.challenge import ChallengeSet
from bsx.analysis.datasets.triples import TripleTable
from bsx.bertscore.config import ScorerConfig
from bsx.data.columns import number_column
from bsx.errors import BsxError
from bsx.jobs.carding.data import DataSet, JudgedRows, LabelledPairs
from bsx.jobs.carding.scoring import Lab, Problem, Scored
from bsx.jobs.settings.shared import Confidence, Seed
from bsx.support.settings import set_fields
from bsx.support.untyped import JsonObject

Content = TypeVar("Content", JudgedRows, LabelledPairs, TripleTable, ChallengeSet)


class CardSettings(TypedDict, total=False):
    """How much a card measures, and how."""

    human: Annotated[str | None, Field(default=None, description="Column of human scores. [human, human_z or z]")]
    system: Annotated[str | None, Field(default=None, description="Column of systems. [system, if there]")]
    segment: Annotated[
        str | None, Field(default=None, description="Column of segments. [segment, sid or id, if there]")
    ]
    limit: Annotated[
        int | None,
        Field(default=None, ge=20, description="Use at most this many rows of a table, drawn at random."),
    ]
    perturbed: Annotated[int, Field(default=200, ge=10, description="References to perturb, drawn at random.")]
    checked: Annotated[int, Field(default=100, ge=10, description="Rows to check invariance on, drawn at random.")]
    timed: Annotated[int, Field(default=1000, ge=10, description="Segments to measure the cost on.")]
    parser: Annotated[
        Literal["stanza", "spacy"] | None, Field(default=None, description="Parse texts, for the factors of syntax.")
    ]
    parser_dir: Annotated[str | None, Field(default=None, description="Its models.")]
    resamples: Annotated[int, Field(default=1000, ge=20, description="Bootstrap resamples.")]
    confidence: Confidence
    alpha: Annotated[float, Field(default=0.05, gt=0, lt=1, description="Level of significance over all tests.")]
    seed: Seed


@dataclass(frozen=True)
class Subject:
    """What a card is about: a metric, or a column of published scores.

    Attributes:
        name: spec, or name of the column.
        column: whether it is a column.
        lower: of a column, whether lower is better.
    """

    name: str
    column: bool = False
    lower: bool = False


@dataclass(frozen=True, eq=False)
class Desk:
    """A run.

    Attributes:
        subjects: what cards are made of.
        sentinels: metrics that cannot know anything, by name.
        lab: subjects that are metrics, and sentinels.
        data: tables by language.
        how: how much is measured, and how.
        settings: model, language, and where and within what limits to run.
    """

    subjects: tuple[Subject, ...]
    sentinels: tuple[str, ...]
    lab: Lab
    data: tuple[DataSet, ...]
    how: CardSettings
    settings: ScorerConfig

    @property
    def asked(self) -> dict[str, object]:
        """All settings that were given, as plain values."""
        return {**self.how, **{name: str(value) for name, value in set_fields(self.settings).items()}}

    def of(self, kind: type[Content]) -> Iterator[tuple[DataSet, Content]]:
        """Yield the data sets of a kind, each with its content."""
        return ((one, one.content) for one in self.data if isinstance(one.content, kind))

    def scorable(self, found: CardFindings, part: str, why: str) -> Iterator[str]:
        """Yield the names of subjects that are metrics; of columns of scores, a part of the card is missing."""
        for subject in self.subjects:
            if subject.column:
                found.miss(part, subject.name, Problem(False, f"{subject.name} is a column of scores{why}"))
            else:
                yield subject.name

    @property
    def metrics(self) -> list[str]:
        """Subjects that are metrics, and sentinels."""
        return [one.name for one in self.subjects if not one.column] + list(self.sentinels)

    def judged(self, one: DataSet, content: JudgedRows) -> dict[str, Scored | Problem]:
        """Return the scores of all subjects and sentinels on a table of segments."""
        found: dict[str, Scored | Problem] = {}
        if content.texts.candidates is not None:
            found = self.lab.score(one.lang, content.texts, self.metrics)
        else:
            found = {name: Problem(False, f"{one.name} holds no texts to score") for name in self.metrics}
        if isinstance(found.get("length"), Scored):
            found.pop("length-qe", None)  # it is the same
        for subject in self.subjects:
            if subject.column:
                found[subject.name] = _published(subject, one, content)
        return found


def _published(subject: Subject, one: DataSet, content: JudgedRows) -> Scored | Problem:
    if subject.name not in content.columns:
        return Problem(False, f"{one.name} has no column {subject.name!r}")
    try:
        values = number_column(subject.name, content.columns[subject.name])
    except BsxError as error:
        return Problem(True, f"{one.name}: {error}")
    if np.isnan(values).all():
        return Problem(False, f"{one.name}: the column {subject.name!r} has no value in {one.lang}")
    return Scored(-values if subject.lower else values, f"column:{subject.name}|published:yes")


@dataclass
class CardFindings:
    """What a step found of each subject, part by part.

    Attributes:
        made: part -> subject -> lists that belong to the part.
        problems: part -> subject -> why something is missing.
    """

    made: dict[str, dict[str, JsonObject]] = field(default_factory=dict)
    problems: dict[str, dict[str, list[Problem]]] = field(default_factory=dict)

    def add(self, part: str, subject: str, **items: object) -> None:
        """Add items: a list is appended to, anything else is set."""
        content = self.made.setdefault(part, {}).setdefault(subject, {})
        for name, item in items.items():
            if isinstance(item, list):
                content.setdefault(name, []).extend(item)
            else:
                content[name] = item

    def miss(self, part: str, subject: str, problem: Problem) -> None:
        """Say why something is missing from a part."""
        self.problems.setdefault(part, {}).setdefault(subject, []).append(problem)

    def merge(self, other: CardFindings) -> None:
        """Take over what another step found."""
        for part, of in other.made.items():
            for subject, content in of.items():
                self.add(part, subject, **content)
        for part, missing in other.problems.items():
            for subject, problems in missing.items():
                for problem in problems:
                    self.miss(part, subject, problem)

    def to_dict(self) -> JsonObject:
        """Return plain values."""
        return {
            "made": self.made,
            "problems": [
                [part, subject, problem.failed, problem.reason]
                for part, of in self.problems.items()
                for subject, several in of.items()
                for problem in several
            ],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, object]) -> CardFindings:
        """Read what `to_dict` returned."""
        found = cls(made=content["made"])  # type: ignore[arg-type]
        for part, subject, failed, reason in content["problems"]:  # type: ignore[attr-defined]
            found.miss(part, subject, Problem(failed, reason))
        return found

    @property
    def broken(self) -> bool:
        """Whether anything failed, which another run may mend."""
        return any(problem.failed for of in self.problems.values() for several in of.values() for problem in several)
