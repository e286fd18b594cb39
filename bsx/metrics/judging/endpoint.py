"""A judge's settings, and questions to an endpoint as OpenAI's: several at once, in a budget, again where it fails."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import datetime
import ipaddress
import os
import re
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.metrics import JudgeEntry, MetricEntry, NumberAnswer
from bsx.data.corpus import about_tokens
from bsx.errors import BsxError, InputError, ModelUnavailableError
from bsx.metrics.core import MetricConfig, MultiRef
from bsx.metrics.judging.answers import as_score
from bsx.metrics.judging.cache import AnswerCache, KeptAnswer
from bsx.support.environment import forbidden
from bsx.support.optional import need
from bsx.support.progress import Progress
from bsx.support.settings import LAST_SEED, Unscored, UserOnly
from bsx.support.untyped import Untyped

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PUBLIC = "https://api.openai.com/v1"
_TOP = 20  # the most that OpenAI gives
_OF_ONE_TEXT = frozenset({"content_filter", "context_length_exceeded", "string_above_max_length"})
_LONG = 300
_SECRET = 8  # characters from which on a key is a secret; a shorter one, such as EMPTY, is made up where none is wanted
_PORTS = {"http": 80, "https": 443}
_PER_MESSAGE = 4  # tokens that a conversation adds to a message's own
_POLL = 0.2  # seconds until an interrupt is noticed


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


class Question(NamedTuple):
    """A question.

    Attributes:
        key: by which its answer is kept.
        texts: what stands for the placeholders.
        number: which of several answers to the same question this is, from 0.
        where: the segment, for messages.
    """

    key: str
    texts: dict[str, str]
    number: int
    where: str


class Endpoint:
    """An endpoint, and what its model is told: settings, a prompt, and the digest of that.

    Raises:
        InputError: if the address or the name of the variable is none, or the key is missing.
        MissingExtraError: if the package openai is not installed.
        ModelUnavailableError: if the network may not be used.
    """

    def __init__(self, config: JudgeConfig, prompt: JudgeEntry, digest: str) -> None:
        self.url = config.base_url or os.environ.get("OPENAI_BASE_URL") or _PUBLIC
        self.host = checked_address(self.url)
        if not _VARIABLE.fullmatch(config.key):
            raise InputError("judge: key names the environment variable that holds the key, never the key itself")
        self._secret = os.environ.get(config.key, "")
        if not self._secret and self.url.rstrip("/") == _PUBLIC:
            raise InputError(f"judge: {self.host} wants a key: put it into the environment variable {config.key}, or "
                             "name another endpoint with base_url")  # fmt: skip
        name, why = urlsplit(self.url).hostname or "", forbidden()
        local = name == "localhost"
        with contextlib.suppress(ValueError):
            local = local or ipaddress.ip_address(name).is_loopback
        if why is not None and not local:
            raise ModelUnavailableError(
                f"judge: {self.host} is not asked ({why}): budget_requests=0 takes kept answers alone"
            )
        self._openai: Untyped = need("openai", "asking a judge")
        self._config, self._prompt, self._digest = config, prompt, digest
        self._max_tokens = config.max_tokens or prompt.max_tokens
        how = prompt.answer
        self._weighted = how if isinstance(how, NumberAnswer) and how.weighted else None

    def ask_all(
        self, questions: Sequence[Question], cache: AnswerCache, before: int, progress: Progress | None = None
    ) -> None:
        """Ask all questions; every answer is kept the moment it comes. ``before`` of the run's were answered already.

        If the endpoint or the budget ends the run, a ModelUnavailableError says what is kept.
        """
        import httpx2  # the client's own
        from anyio.from_thread import start_blocking_portal

        config, waiting, total = self._config, deque(questions), before + len(questions)
        asked, tokens, done, blocked = 0, 0, before, ""
        ended: list[BsxError] = []

        async def one_by_one() -> None:
            nonlocal asked, tokens, done, blocked
            while waiting and not ended:
                takes = size_of(self._prompt.filled(waiting[0].texts))
                if config.budget_requests is not None and asked + 1 > config.budget_requests:
                    blocked = f"budget_requests={config.budget_requests}"
                    return
                # What is under way is counted as the most that it can take: the last row to end sees what it took.
                if config.budget_tokens is not None and tokens + takes + self._max_tokens > config.budget_tokens:
                    blocked = f"budget_tokens={config.budget_tokens}"
                    return
                asked, tokens = asked + 1, tokens + takes + self._max_tokens
                try:
                    answer = await self._ask(waiting.popleft())
                    tokens += 0 if answer.tokens_in is None else answer.tokens_in - takes
                    tokens += 0 if answer.tokens_out is None else answer.tokens_out - self._max_tokens
                    cache.add(answer)
                    done += 1
                except BsxError as error:  # what is under way is paid for: it is kept, too
                    ended.append(error)
                if progress is not None:
                    progress("judging", done, total)

        async def side_by_side() -> None:
            # Texts and key are for this host alone.
            http: Untyped = self._openai.DefaultAsyncHttpxClient(follow_redirects=False)
            send = http.send

            async def send_in_time(*args: object, **named: object) -> object:
                try:
                    async with asyncio.timeout(config.timeout):  # that of a connection begins anew with each byte
                        return await send(*args, **named)
                except TimeoutError as error:
                    raise httpx2.ReadTimeout(str(error)) from error

            http.send = send_in_time
            settings = {"api_key": self._secret or "none", "base_url": self.url, "max_retries": config.retries}
            async with self._openai.AsyncOpenAI(**settings, timeout=None, http_client=http) as self._client:
                await asyncio.gather(*(one_by_one() for _ in range(config.concurrency)))

        # In a thread: this one may have a loop already, as in a notebook, and notices Ctrl-C, which ends the work.
        with cache.writing(), start_blocking_portal() as portal:
            work = portal.start_task_soon(side_by_side)
            while concurrent.futures.wait([work], timeout=_POLL).not_done:
                continue
            work.result()
        kept = f"{done:,} of {total:,} answers are kept in {cache.path}"
        if ended:
            raise ModelUnavailableError(f"{ended[0]}; {kept}, and the same command goes on")
        if waiting:
            raise ModelUnavailableError(f"judge: stopped at {blocked}: {kept}; a greater budget goes on")

    async def _ask(self, asked: Question) -> KeptAnswer:
        """Return the answer to a question; the client asks again if the endpoint is busy or fails."""
        config, openai = self._config, self._openai
        request: dict[str, object] = {config.length_field: self._max_tokens, "temperature": config.temperature}
        if config.seed is not None:
            request["seed"] = config.seed + asked.number
        if self._weighted is not None:
            request |= {"logprobs": True, "top_logprobs": _TOP}
        request |= {"model": config.model, "messages": self._prompt.filled(asked.texts)}
        try:
            return self._kept(asked, await self._client.chat.completions.create(**request))
        except openai.APIStatusError as error:
            status, code = int(error.status_code), str(error.code)
            if status in (400, 422) and code in _OF_ONE_TEXT:
                return self._kept(asked, None, code)
            what = f"answers {status}{self._refused(status, error.body)}"
        except openai.APITimeoutError:
            what = f"does not answer in time (timeout={config.timeout:g})"
        except openai.APIConnectionError as error:
            what = f"cannot be reached, or hangs up ({self._clean(str(error.__cause__ or error))})"
        except (openai.APIError, ValueError, RecursionError) as error:  # half an answer, or none that is JSON
            what = f"sends what is no answer ({self._clean(str(error))})"
        raise ModelUnavailableError(f"judge: {self.host} {what} (segment {asked.where})")

    def _kept(self, asked: Question, reply: Untyped, filtered: str | None = None) -> KeptAnswer:
        """Return what a reply says, or that a filter of the endpoint kept it back, and why; ValueError for no reply."""
        model: Untyped = ""
        content, finish = "", filtered
        scores: list[tuple[str, float]] = []
        if filtered is None:
            choices, model = getattr(reply, "choices", None), getattr(reply, "model", None)
            choice: Untyped = choices[0] if isinstance(choices, list) and choices else None
            message = getattr(choice, "message", None)
            if message is None or not isinstance(model, str) or not model:
                raise ValueError("what it answers is no completion")
            content = message.content if isinstance(message.content, str) else ""
            finish = getattr(choice, "finish_reason", None)
            # What could have stood at the first token that is a score.
            for token in getattr(getattr(choice, "logprobs", None), "content", None) or ():
                if self._weighted is not None and as_score(self._weighted, token.token) is not None:
                    scores = [(option.token, float(option.logprob)) for option in token.top_logprobs or [token]]
                    break
        usage = getattr(reply, "usage", None)
        tokens_in, tokens_out = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        return KeptAnswer(
            key=asked.key,
            prompt=self._digest,
            name=self._prompt.name,
            asked=str(self._config.model),
            endpoint=self.host,
            model=self._redacted(model),
            content=self._redacted(content),
            finish=self._redacted(finish) if isinstance(finish, str) else None,
            scores=tuple((self._redacted(token), log) for token, log in scores),
            tokens_in=tokens_in if isinstance(tokens_in, int) else None,
            tokens_out=tokens_out if isinstance(tokens_out, int) else None,
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )

    def _refused(self, status: int, body: object) -> str:
        """Say what an endpoint says with a status, and what to do."""
        if 300 <= status < 400:
            return ", a redirect, and none is followed: give base_url the address that is meant"
        message = body.get("message") if isinstance(body, Mapping) else body
        advice = {
            401: ": the key is missing or wrong; it is read from the environment variable that key names",
            403: ": the key may not do this",
            404: f": there is no model {self._config.model!r}, or base_url is not what stands before /chat/completions",
        }.get(status, "")
        return f" ({self._clean(message)}){advice}" if isinstance(message, str) and message.strip() else advice

    def _clean(self, text: str) -> str:
        """Return what an endpoint said on one line, short, and without the key."""
        return " ".join(re.sub(r"\bsk-[\w*-]+", "…", self._redacted(text)).split())[:_LONG]

    def _redacted(self, text: str) -> str:
        """Return what an endpoint said without the key."""
        return text.replace(self._secret, "…") if len(self._secret) >= _SECRET else text


def checked_address(url: str) -> str:
    """Return the host of an address, with its port unless that is the usual one; refuse one that holds a password."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in _PORTS or not host:
        raise InputError("judge: base_url is no address such as http://127.0.0.1:8080/v1", setting="base_url")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError("judge: base_url holds more than an address: a key belongs into the environment, not there")
    name = f"[{host}]" if ":" in host else host
    return name if port in (None, _PORTS[parts.scheme]) else f"{name}:{port}"


def size_of(messages: Sequence[Mapping[str, str]]) -> int:
    """Return about how many tokens a conversation has, rather too many."""
    return sum(about_tokens(message["content"]) + _PER_MESSAGE for message in messages)
