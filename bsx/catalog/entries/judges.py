"""Entries of prompts for judges that are language models: what is asked, and how the answer becomes a score."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, model_validator

from bsx.catalog.entries.base import Entry
from bsx.catalog.entries.evidence import Evidence
from bsx.catalog.entries.metrics import Need

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
    needs: list[Need]
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
        if "candidate" not in self.needs or len(set(self.needs)) < 2 or len(set(self.needs)) != len(self.needs):
            raise ValueError("needs must name candidate, and reference or source or both, once each")
        for number, message in enumerate(self.messages):
            for match in _PIECE.finditer(message.content):
                if match[0] in ("{{", "}}") or match[1] in PLACEHOLDERS:
                    continue
                raise ValueError(
                    f"messages.{number}: {match[0]!r} is no placeholder; there are "
                    f"{', '.join(f'{{{name}}}' for name in PLACEHOLDERS)}, and {{{{ and }}}} stand for braces"
                )
        held = self.placeholders & {"candidate", "reference", "source"}
        if held != set(self.needs):
            raise ValueError(
                f"needs names {', '.join(sorted(self.needs))}, and the messages hold {', '.join(sorted(held))}"
            )
        return self

    @property
    def placeholders(self) -> frozenset[str]:
        """The placeholders that its messages hold."""
        found = (match[1] for message in self.messages for match in _PIECE.finditer(message.content))
        return frozenset(name for name in found if name)

    def filled(self, texts: dict[str, str]) -> list[dict[str, str]]:
        """Return the messages with texts in place of their names, as an endpoint takes them."""

        def put(match: re.Match[str]) -> str:
            return match[0][0] if match[0] in ("{{", "}}") else texts[match[1]]

        return [{"role": item.role, "content": _PIECE.sub(put, item.content)} for item in self.messages]
