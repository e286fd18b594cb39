"""Settings of a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.metrics import MetricEntry
from bsx.metrics.core import MetricConfig, MultiRef
from bsx.support.settings import LAST_SEED, Unscored, UserOnly


class JudgeConfig(MetricConfig):
    """Settings of a judge."""

    positional: ClassVar[str | None] = "prompt"

    prompt: Annotated[str, Field(description="A prompt of the registry.")] = "gemba-da"
    model: Annotated[str | None, Field(description="The model to ask for, as the endpoint calls it.")] = None
    temperature: Annotated[float, Field(ge=0, le=2, description="Temperature of the answers.")] = 0.0
    seed: Annotated[
        int | None,
        Field(
            ge=0,
            le=LAST_SEED,
            description="Seed that is sent, for the second of several answers one more; none unless given.",
        ),
    ] = None
    max_tokens: Annotated[
        int | None, Field(ge=1, le=10**9, description="Tokens of an answer at most; as the prompt says unless given.")
    ] = None
    answers: Annotated[
        int, Field(ge=1, le=100, description="How many answers to ask for; the score is their mean.")
    ] = 1
    multi_ref: MultiRef = "best"
    base_url: Annotated[
        str | None,
        Field(description="Address of the endpoint, up to /v1; OPENAI_BASE_URL, or else OpenAI's own."),
        UserOnly(),
        Unscored(),
    ] = None
    key: Annotated[
        str, Field(description="Environment variable that holds the key; an endpoint of your own may want none."),
        UserOnly(), Unscored(),
    ] = "OPENAI_API_KEY"  # fmt: skip
    cache: Annotated[
        Path | None,
        Field(
            description="File that keeps the answers, JSON lines; in bsx's cache folder, one a prompt, unless given."
        ),
        UserOnly(),
        Unscored(),
    ] = None
    concurrency: Annotated[int, Field(ge=1, le=256, description="Questions at once."), Unscored()] = 4
    retries: Annotated[
        int, Field(ge=0, le=100, description="How often to ask again after 429, 5xx, a timeout or a lost connection."),
        Unscored(),
    ] = 5  # fmt: skip
    timeout: Annotated[float, Field(gt=0, le=86400, description="Seconds for an answer."), Unscored()] = 120.0
    budget_requests: Annotated[
        int | None,
        Field(ge=0, le=10**12, description="New questions at most; 0 takes kept answers, or says what is missing."),
        Unscored(),
    ] = None
    budget_tokens: Annotated[
        int | None, Field(ge=0, le=10**15, description="Tokens of new questions and answers at most."), Unscored()
    ] = None
    length_field: Annotated[
        Literal["max_tokens", "max_completion_tokens"],
        Field(description="What the endpoint calls max_tokens; OpenAI's newest models want max_completion_tokens."),
        Unscored(),
    ] = "max_tokens"

    def reads(self, entry: MetricEntry, catalog: Catalog) -> frozenset[str]:
        """Return what the prompt reads."""
        return frozenset(catalog.judge(self.prompt).needs)
