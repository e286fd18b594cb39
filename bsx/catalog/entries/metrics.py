"""Entries of what computes columns: metrics, prompts of judges, saved ensembles of metrics, linguistic factors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from bsx.catalog.entries import Code, Entry, Evidence, Sha256
from bsx.errors import InputError

Normalise = Literal["none", "z", "rank"]
LEARNED = ("weights", "ridge")
"""Rules whose weights are fitted to human scores."""


class Member(Entry):
    """One metric of a combination.

    Attributes:
        metric: its column, or how `bsx.get_metric` calls it.
        weight: what its normalised score is multiplied by.
        lower: lower scores are better: the sign is turned before all else.
        centre: subtracted from the turned score, for ``normalise: z``.
        spread: what the rest is divided by, for ``normalise: z``.
        ranks: (turned score, position from 0 to 1 among the scores that it was fitted on), both rising, for
            ``normalise: rank``; scores between are interpolated.
    """

    model_config = ConfigDict(allow_inf_nan=False)
    metric: str
    weight: float
    lower: bool = False
    centre: float | None = None
    spread: Annotated[float, Field(gt=0)] | None = None
    ranks: list[list[float]] | None = None

    @field_validator("ranks")
    @classmethod
    def _rising(cls, ranks: list[list[float]] | None) -> list[list[float]] | None:
        if ranks is not None:
            if not ranks or any(len(pair) != 2 for pair in ranks):
                raise ValueError("needs pairs of score and position")
            table = np.array(ranks)
            if len(table) > 1 and not (np.diff(table, axis=0) > 0).all():
                raise ValueError("scores and positions must rise")
        return ranks

    def normalised(self, scores: NDArray[np.float64], normalise: Normalise) -> NDArray[np.float64]:
        """Return turned and normalised scores (n,); NaN stays NaN."""
        turned = -scores if self.lower else scores
        if normalise == "z":
            return np.asarray((turned - (self.centre or 0.0)) / (self.spread or 1.0))  # a combination has checked both
        if normalise == "rank":
            points, positions = np.array(self.ranks).T
            return np.where(np.isnan(turned), np.nan, np.interp(turned, points, positions))
        return turned


class Combination(Entry):
    """A weighted sum of normalised scores; higher is better.

    Attributes:
        how: the rule that chose the weights, for the record: ``mean``, ``z``, ``rank``, ``weights``, …
        normalise: ``none``, ``z`` (less a mean, over a standard deviation) or ``rank`` (position among known scores).
        members: the metrics.
    """

    model_config = ConfigDict(allow_inf_nan=False)
    how: str
    normalise: Normalise
    members: list[Member]

    @model_validator(mode="after")
    def _complete(self) -> Combination:
        names = [member.metric for member in self.members]
        if not names:
            raise ValueError("members: at least one is needed")
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"members: {twice[0]!r} is there twice")
        needed = {"none": (), "z": ("centre", "spread"), "rank": ("ranks",)}[self.normalise]
        for member in self.members:
            lacking = [field for field in needed if getattr(member, field) is None]
            if lacking:
                raise ValueError(f"members: {member.metric}: normalise={self.normalise} needs {lacking[0]}")
        if not any(member.weight for member in self.members):
            raise ValueError("members: every weight is 0")
        return self

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each metric."""
        return {member.metric: member.weight for member in self.members}

    def normalised(self, columns: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return every member's turned and normalised scores (n, members) of columns, metric -> raw scores (n,).

        InputError is raised if a member has no column.
        """
        absent = [member.metric for member in self.members if member.metric not in columns]
        if absent:
            raise InputError(f"the ensemble has a member {absent[0]!r}, of which there are no scores")
        parts = [
            member.normalised(np.asarray(columns[member.metric], dtype=np.float64), self.normalise)
            for member in self.members
        ]
        return np.stack(parts, axis=-1)

    def apply(self, columns: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return the combined scores (n,); arguments and errors as for `normalised`.

        >>> both = Combination(how="mean", normalise="none", members=[
        ...     Member(metric="a", weight=0.5), Member(metric="b", weight=0.5, lower=True)])
        >>> both.apply({"a": [1.0, 2.0], "b": [1.0, 0.0]}).tolist()
        [0.0, 1.0]
        """
        used = self.model_copy(update={"members": [member for member in self.members if member.weight]})
        return np.asarray(used.normalised(columns) @ np.array([member.weight for member in used.members]))


class Check(Entry):
    """Scores that the metric must give again, on a fixed input (`model`: the recipe of the tests' tiny model)."""

    model: str | None = None
    settings: dict[str, str | int | float | bool] = {}
    candidates: list[str]
    references: list[str] | None = None
    sources: list[str] | None = None
    values: list[float] | None
    tolerance: float = 1e-4


Need = Literal["candidate", "reference", "source"]


def _compared(needs: list[Need]) -> list[Need]:
    if "candidate" not in needs or len(needs) < 2 or len(set(needs)) != len(needs):
        raise ValueError("needs must name candidate, and reference or source or both, once each")
    return needs


_CLASS = "[^:]+:[^:]+"


def _named_class(implementation: str) -> str:
    if not re.fullmatch(_CLASS, implementation):
        raise ValueError(f"must be module:Class, is {implementation!r}")
    return implementation


Needs = Annotated[list[Need], AfterValidator(_compared)]
Setting = str | int | float | bool
Implementation = Annotated[str, AfterValidator(_named_class), Field(json_schema_extra={"pattern": f"^{_CLASS}$"})]
"""A class, ``module:Class``."""


class MetricEntry(Entry):
    """One metric: what it is, what it needs, and which code computes it.

    ``implementation`` is ``module:Class``; ``defaults`` replace defaults of that class's settings. ``empty`` is what a
    text without content scores (None: the metric says so itself). ``model`` is the encoder of the paper, ``languages``
    those that this encoder (or the metric) is made for, and ``languages_source`` is who says so. ``extra`` brings the
    packages it needs; ``needs_hub`` says that its own model comes from a hub only. ``evidence`` is how well it agrees
    with people, as published. ``check`` holds scores that tests reproduce.
    """

    name: str
    title: str
    implementation: Implementation
    defaults: dict[str, Setting] = {}
    needs: Needs
    higher_is_better: bool = True
    low: float | None = None
    high: float | None = None
    empty: float | None = 0.0
    model: str | None = None
    languages: list[Code] | Literal["any"] = "any"
    languages_source: str | None = None
    extra: str | None = None
    needs_hub: bool = False
    citation: str
    evidence: list[Evidence] = []
    notes: str | None = None
    check: Check


class EnsembleOrigin(Entry):
    """What a saved ensemble was fitted on: rows, the column of human scores, files with digests, command, versions.

    ``signatures`` says what each member's scores were computed with, where the table said so; ``seen`` is the sha256 of
    the file beside the entry with digests of the rows that weights were fitted to.
    """

    rows: int
    human: str
    files: list[dict[str, str]]
    command: str
    versions: dict[str, str]
    signatures: dict[str, str] = {}
    seen: Sha256 | None = None


class EnsembleEntry(Entry):
    """A saved ensemble: its members as `bsx.get_metric` calls them, with normalisation and weights."""

    name: str
    combination: Combination
    fitted: EnsembleOrigin
    notes: str | None = None


class FactorEntry(Entry):
    """One linguistic factor: what it is, what it reads, and which code computes it.

    ``implementation`` is ``module:Class``; ``reads`` what it needs beside the two sentences; ``presets`` are named sets
    of settings, ``default`` the one that holds unless the user names another. ``low`` and ``high`` bound its scores.
    """

    name: str
    title: str
    implementation: Implementation
    reads: list[Literal["parses", "vectors", "human", "translation", "parallel"]] = []
    presets: dict[str, dict[str, Setting]]
    default: str
    low: float | None = None
    high: float | None = None
    extra: str | None = None
    citation: str
    notes: str | None = None

    @model_validator(mode="after")
    def _sensible(self) -> FactorEntry:
        if self.default not in self.presets:
            raise ValueError(f"default names no preset: {self.default!r} is not one of {', '.join(self.presets)}")
        return self


PLACEHOLDERS = ("candidate", "reference", "source", "source_lang", "target_lang")
"""What a message may name in braces."""
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}\n]*)\}|[{}]")


class NumberAnswer(Entry):
    """The answer is a number from ``low`` to ``high``.

    ``where`` says where it stands: ``only`` (the answer holds one number) or ``start`` (the answer begins with it).
    ``weighted`` asks for the probabilities of the scores, which then is their mean weighted by them.
    """

    kind: Literal["number"]
    low: float
    high: float
    where: Literal["only", "start"] = "only"
    weighted: bool = False

    @model_validator(mode="after")
    def _sensible(self) -> NumberAnswer:
        if not self.low < self.high:
            raise ValueError("low must be less than high")
        if self.weighted and not (self.low >= 0 and self.high <= 9):
            raise ValueError("weighted needs a scale of single digits: low and high from 0 to 9")
        return self

    @property
    def worst(self) -> float:
        """The score of a candidate without content."""
        return self.low


class SpanAnswer(Entry):
    """The answer lists errors below lines ``Critical:``, ``Major:`` or ``Minor:``, each as ``category - "quotation"``.

    The score is minus the sum of the weights of the first ``counted`` errors, the gravest first, ``cap`` at most.
    """

    kind: Literal["spans"]
    weights: dict[Literal["critical", "major", "minor"], float]
    counted: Annotated[int, Field(ge=1)] | None = None
    cap: Annotated[float, Field(gt=0)]

    @property
    def worst(self) -> float:
        """The score of a candidate without content."""
        return -self.cap


class Message(Entry):
    """One message of the conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class JudgeEntry(Entry):
    """One prompt: its messages, with texts in place of names in braces, and how the answer is read.

    ``needs`` says what it reads, ``max_tokens`` how long an answer may be; ``{{`` and ``}}`` stand for braces.
    ``licence`` is that of its text, ``source`` where the text is from, ``evidence`` how well judges with it agree with
    people, as published.
    """

    name: str
    title: str
    needs: Needs
    messages: Annotated[list[Message], Field(min_length=1)]
    answer: Annotated[NumberAnswer | SpanAnswer, Field(discriminator="kind")]
    max_tokens: Annotated[int, Field(ge=1)]
    licence: str | None = None
    source: str | None = None
    citation: str | None = None
    evidence: list[Evidence] = []
    notes: str | None = None

    @model_validator(mode="after")
    def _sensible(self) -> JudgeEntry:
        for number, message in enumerate(self.messages):
            for match in _PIECE.finditer(message.content):
                if match[0] in ("{{", "}}") or match[1] in PLACEHOLDERS:
                    continue
                raise ValueError(
                    f"messages.{number}: {match[0]!r} is no placeholder; there are "
                    f"{', '.join(f'{{{name}}}' for name in PLACEHOLDERS)}, and {{{{ and }}}} stand for braces"
                )
        texts = self.placeholders & {"candidate", "reference", "source"}
        if texts != set(self.needs):
            raise ValueError(
                f"needs names {', '.join(sorted(self.needs))}, and the messages hold {', '.join(sorted(texts))}"
            )
        return self

    @property
    def placeholders(self) -> frozenset[str]:
        """The placeholders that its messages hold."""
        names = (match[1] for message in self.messages for match in _PIECE.finditer(message.content))
        return frozenset(name for name in names if name)

    def filled(self, texts: dict[str, str]) -> list[dict[str, str]]:
        """Return the messages with texts in place of their names, as an endpoint takes them."""

        def put(match: re.Match[str]) -> str:
            return match[0][0] if match[0] in ("{{", "}}") else texts[match[1]]

        return [{"role": item.role, "content": _PIECE.sub(put, item.content)} for item in self.messages]
