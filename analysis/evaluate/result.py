"""What one command found about systems: which is better, whether its metrics agree with human judgments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from bsx.analysis.compare.result import CompareResult
from bsx.analysis.meta.result import MetaResult
from bsx.support.result import Notice, Number, Result

Why = Literal["lowest", "difference", "disagreement"]


@dataclass(frozen=True)
class LookAt:
    """A segment to look at.

    Attributes:
        why: ``lowest``, the worst score of the best system; largest ``difference`` between the two best
            systems; largest ``disagreement`` of the first two metrics, in standard deviations of each.
        segment: its name.
        system: whose candidate it is.
        score: of the first metric.
        candidate: the text.
        compared: what it is compared with: the reference, or the source without one.
        other: the other system, or the other metric.
        other_score: its score.
    """

    why: Why
    segment: str
    system: str
    score: Number
    candidate: str
    compared: str
    other: str | None = None
    other_score: Number | None = None


@dataclass(frozen=True)
class Chosen:
    """Something that was chosen.

    Attributes:
        about: what: ``language``, ``metrics``, ``model``, ``systems``, ``documents``, ``compare``, ``meta``.
        chosen: what was taken.
        command: what changes it, or does the same by itself.
        given: whether the user named it.
    """

    about: str
    chosen: str
    command: str
    given: bool = False


@dataclass(frozen=True)
class SystemFigure:
    """The score of one system under one metric."""

    metric: str
    system: str
    n: int
    score: Number


@dataclass(frozen=True, kw_only=True, repr=False)
class EvaluationResult(Result):
    """What `bsx.evaluate` found.

    Attributes:
        language: code of the language of the texts.
        detected: how sure its detection is; None if it was given.
        metrics: those that systems are compared by, the first one the main one.
        model: the model of those that have one; None without any.
        evidence: what `bsx models` says of the language; None if the user chose, or BERTScore is not computed.
        scores: of each system under each metric.
        compare: all pairs of systems; None for a single system.
        meta: correlation with human judgments; None without any.
        segments: to look at.
        choices: each with the command that changes it.
        files: what was written, by their names.
        given: whether the user chose the metrics or the model.
        outputs: which candidates are no translation, by kind and system; see `bsx.data.outputs.KINDS`.
    """

    kind: ClassVar[str] = "evaluate"

    language: str
    detected: str | None
    metrics: tuple[str, ...]
    model: str | None
    evidence: str | None
    scores: tuple[SystemFigure, ...]
    compare: CompareResult | None
    meta: MetaResult | None
    segments: tuple[LookAt, ...]
    choices: tuple[Chosen, ...]
    files: tuple[str, ...] = ()
    given: bool = False
    outputs: tuple[Notice, ...] = ()
