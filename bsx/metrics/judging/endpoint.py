"""One question to an endpoint that speaks as OpenAI's does, and what can go wrong with it."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import email.utils
import ipaddress
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from bsx.catalog.entries.judges import JudgeEntry, NumberAnswer
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.judging.answers import as_score
from bsx.metrics.judging.cache import KeptAnswer
from bsx.support.download import forbidden
from bsx.support.optional import need
from bsx.support.untyped import Untyped

FIRST_WAIT = 1.0
"""Seconds before the second try; each further one waits twice as long."""
LONGEST_WAIT = 60.0
"""Seconds between two tries at most, unless the endpoint asks for more."""
PATIENCE = 900.0
"""Seconds that an endpoint may ask to be left alone; beyond that the run ends."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PUBLIC = "https://api.openai.com/v1"
_TOP = 20  # the most that OpenAI gives
_AGAIN = frozenset({408, 409, 425, 429})
_OF_ONE_TEXT = frozenset({"content_filter", "context_length_exceeded", "string_above_max_length"})
_LONG = 300
_SECRET = 8
"""Characters from which on a key is a secret; a shorter one, such as EMPTY, is made up where none is wanted."""
_PORTS = {"http": 80, "https": 443}


class Stopped(Exception):  # noqa: N818 - another thread ended the run, which is no error of this one
    """The run ends before this question was answered."""


class Gate:
    """Lets questions through at most so often, and none while the endpoint asks to be left alone.

    Args:
        per_minute: how many a minute; None: no limit.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._apart = 60.0 / per_minute if per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0
        self.stopped = threading.Event()

    def enter(self) -> None:
        """Wait for one's turn.

        Raises:
            Stopped: if the run ends meanwhile.
        """
        with self._lock:
            turn = max(time.monotonic(), self._next)
            self._next = turn + self._apart
        self.rest(turn - time.monotonic())

    def hold(self, seconds: float) -> None:
        """Let nobody through for a while."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def rest(self, seconds: float) -> None:
        """Wait, but not beyond the end of the run."""
        if self.stopped.wait(max(0.0, seconds)):
            raise Stopped


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        key: by which its answer is kept.
        texts: what stands for the placeholders.
        number: which of several answers to the same question this is, from 0.
        where: the segment, for messages.
    """

    key: str
    texts: Mapping[str, str]
    number: int
    where: str


class Endpoint:
    """An endpoint with a model and what it is told.

    Args:
        base_url: where it is; None: ``OPENAI_BASE_URL``, or OpenAI's own.
        key: the environment variable that holds the key.
        model: the model to ask for.
        prompt: what is asked.
        digest: of the prompt.
        temperature: of the answers.
        seed: of the first answer to a question, and so on; None: none is sent.
        max_tokens: of an answer.
        timeout: seconds for a whole answer, from the connection to its last byte.
        retries: how often a question is asked again.
        length_field: what the endpoint calls ``max_tokens``.

    Raises:
        InputError: if the address or the name of the variable is none, or the key is missing.
        MissingExtraError: if the package openai is not installed.
        ModelUnavailableError: if the network may not be used.
    """

    def __init__(
        self,
        *,
        base_url: str | None,
        key: str,
        model: str,
        prompt: JudgeEntry,
        digest: str,
        temperature: float,
        seed: int | None,
        max_tokens: int,
        timeout: float,
        retries: int,
        length_field: str,
    ) -> None:
        self.url = base_url or os.environ.get("OPENAI_BASE_URL") or _PUBLIC
        self.host = checked_address(self.url)
        if not _VARIABLE.fullmatch(key):
            raise InputError("judge: key names the environment variable that holds the key, never the key itself")
        self._secret = os.environ.get(key, "")
        if not self._secret and self.url.rstrip("/") == _PUBLIC:
            raise InputError(f"judge: {self.host} wants a key: put it into the environment variable {key}, or name "
                             "another endpoint with base_url")  # fmt: skip
        why = forbidden()
        if why is not None and not _is_here(self.url):
            raise ModelUnavailableError(f"judge: {self.host} is not asked ({why}): replay=only takes kept answers")
        self._openai: Untyped = need("openai", "asking a judge")
        self.model, self._prompt, self._digest = model, prompt, digest
        self._temperature, self._seed, self._max_tokens = temperature, seed, max_tokens
        self._retries, self._length_field = retries, length_field
        self._timeout = timeout
        self._client: Untyped = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def connected(self) -> Iterator[None]:
        """Let questions be asked; what is under way at the end is cut off.

        Connections live in a loop of their own, where an answer can be cut off wherever it is: a timeout of a
        connection begins anew with each byte.
        """
        http = self._openai.DefaultAsyncHttpxClient(follow_redirects=False)  # texts and key are for this endpoint alone
        self._client = self._openai.AsyncOpenAI(
            api_key=self._secret or "none", base_url=self.url, timeout=None, max_retries=0, http_client=http
        )
        self._loop = loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="bsx-judge-loop", daemon=True)
        thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._loop = None
            asyncio.run_coroutine_threadsafe(self._hang_up(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _hang_up(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()

    def ask(self, asked: Question, gate: Gate) -> KeptAnswer:
        """Return the answer to a question, asking again if the endpoint is busy or fails.

        Raises:
            ModelUnavailableError: if it refuses, cannot be reached, or fails again and again.
            Stopped: if the run ends meanwhile.
        """
        tries = self._retries + 1
        for number in range(1, tries + 1):
            gate.enter()
            try:
                return self._answer(asked, self._send(asked))
            except self._openai.APIStatusError as error:
                status, said = int(error.status_code), self._said(error)
                code = _code(error)
                if status in (400, 422) and code in _OF_ONE_TEXT:
                    return self._kept(asked, "", "", code)
                if 300 <= status < 400:
                    raise ModelUnavailableError(self._redirected(status, error.response)) from None
                if status not in _AGAIN and status < 500:
                    raise ModelUnavailableError(self._refusal(status, said)) from None
                wait, what = _wanted_wait(error.response.headers), f"answers {status}{said}"
            except (self._openai.APIError, TimeoutError, ValueError, RecursionError) as error:
                # No connection, half an answer, or none that is JSON (RecursionError: nested too deeply).
                wait, what = None, self._failure(error)
            if number == tries:
                raise ModelUnavailableError(
                    f"judge: {self.host} {what}, {tries} time{'s' * (tries > 1)} in a row (segment {asked.where})"
                )
            if wait is not None and wait > PATIENCE:
                raise ModelUnavailableError(f"judge: {self.host} {what} and wants {wait:,.0f} s of rest")
            if wait is None:
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (number - 1))
                wait *= 1 + 0.25 * random.random()  # noqa: S311 - so that questions do not all come again at once
                gate.rest(wait)
            else:
                gate.hold(wait)
        raise AssertionError

    def _send(self, asked: Question) -> Untyped:
        more: dict[str, object] = {self._length_field: self._max_tokens}
        if self._seed is not None:
            more["seed"] = self._seed + asked.number
        if isinstance(self._prompt.answer, NumberAnswer) and self._prompt.answer.weighted:
            more |= {"logprobs": True, "top_logprobs": _TOP}
        more |= {"model": self.model, "messages": self._prompt.filled(dict(asked.texts))}
        with self._lock:
            if self._loop is None:
                raise Stopped
            coming = asyncio.run_coroutine_threadsafe(self._created(more), self._loop)
        return coming.result()

    async def _created(self, request: Mapping[str, object]) -> Untyped:
        async with asyncio.timeout(self._timeout):
            return await self._client.chat.completions.create(temperature=self._temperature, **request)

    def _answer(self, asked: Question, reply: Untyped) -> KeptAnswer:
        """Return what a reply says.

        Raises:
            ValueError: if it is none.
        """
        choices, model = getattr(reply, "choices", None), getattr(reply, "model", None)
        choice: Untyped = choices[0] if isinstance(choices, list) and choices else None
        message = getattr(choice, "message", None)
        if message is None or not isinstance(model, str) or not model:
            raise ValueError("what it answers is no completion")
        content = message.content if isinstance(message.content, str) else ""
        return self._kept(asked, model, content, choice.finish_reason, reply, choice)

    def _kept(
        self,
        asked: Question,
        model: str,
        content: str,
        finish: str | None,
        reply: Untyped = None,
        choice: Untyped = None,
    ) -> KeptAnswer:
        usage = getattr(reply, "usage", None)
        now = datetime.datetime.now(datetime.UTC)
        return KeptAnswer(
            key=asked.key,
            prompt=self._digest,
            name=self._prompt.name,
            asked=self.model,
            endpoint=self.host,
            model=self._redacted(model),
            content=self._redacted(content),
            finish=self._redacted(finish) if isinstance(finish, str) else None,
            scores=tuple((self._redacted(token), log) for token, log in _scores(self._prompt, choice)),
            tokens_in=_count(usage, "prompt_tokens"),
            tokens_out=_count(usage, "completion_tokens"),
            at=now.isoformat(timespec="seconds"),
        )

    def _refusal(self, status: int, said: str) -> str:
        help_ = {
            401: ": the key is missing or wrong; it is read from the environment variable that key names",
            403: ": the key may not do this",
            404: f": there is no model {self.model!r}, or base_url is not what stands before /chat/completions",
        }.get(status, "")
        return f"judge: {self.host} answers {status}{said}{help_}"

    def _redirected(self, status: int, response: Untyped) -> str:
        """Say where an endpoint sends one, without what may be secret of that address."""
        try:
            parts = urlsplit(urljoin(str(response.url), response.headers.get("location", "")))
            target = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        except ValueError:
            target = "no address"
        return (
            f"judge: {self.host} answers {status}, a redirect to {self._clean(target)}: no redirect is followed; "
            "give base_url the address that is meant"
        )

    def _failure(self, error: Exception) -> str:
        if isinstance(error, TimeoutError | self._openai.APITimeoutError):
            return f"does not answer in time (timeout={self._timeout:g})"
        if isinstance(error, RecursionError):
            return "sends what is no answer (JSON that is nested too deeply)"
        if isinstance(error, self._openai.APIConnectionError):
            cause = error.__cause__
            return f"cannot be reached, or hangs up ({self._clean(str(cause or error))})"
        return f"sends what is no answer ({self._clean(str(error))})"

    def _said(self, error: Untyped) -> str:
        body = getattr(error, "body", None)
        said = body.get("message") if isinstance(body, Mapping) else body if isinstance(body, str) else None
        return f" ({self._clean(said)})" if isinstance(said, str) and said.strip() else ""

    def _clean(self, text: str) -> str:
        """Return what an endpoint said on one line, short, and without the key."""
        return " ".join(re.sub(r"\bsk-[\w*-]+", "…", self._redacted(text)).split())[:_LONG]

    def _redacted(self, text: str) -> str:
        """Return what an endpoint said without the key."""
        return text.replace(self._secret, "…") if len(self._secret) >= _SECRET else text


def checked_address(url: str) -> str:
    """Return the host of an address, with its port unless that is the usual one.

    Raises:
        InputError: if it is none, or holds a password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise InputError("judge: base_url is no address such as http://127.0.0.1:8080/v1", setting="base_url")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InputError("judge: base_url holds more than an address: a key belongs into the environment, not there")
    name = f"[{host}]" if ":" in host else host
    return name if port in (None, _PORTS[parts.scheme]) else f"{name}:{port}"


def _is_here(url: str) -> bool:
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _wanted_wait(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds an endpoint asks to be left alone (Retry-After, RFC 9110); None if it does not."""
    said = headers.get("retry-after", "")
    try:
        wait = float(said)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(said).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, wait) if wait == wait else None


def _code(error: Untyped) -> str | None:
    code = getattr(error, "code", None)
    return code if isinstance(code, str) else None


def _count(usage: Untyped, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) else None


def _scores(prompt: JudgeEntry, choice: Untyped) -> tuple[tuple[str, float], ...]:
    """Return what could have stood at the first token that is a score, with log probabilities."""
    how = prompt.answer
    if not (isinstance(how, NumberAnswer) and how.weighted):
        return ()
    tokens: Sequence[Untyped] = getattr(getattr(choice, "logprobs", None), "content", None) or ()
    for token in tokens:
        if as_score(how, token.token) is not None:
            top = [(one.token, float(one.logprob)) for one in token.top_logprobs or ()]
            return tuple(top or [(token.token, float(token.logprob))])
    return ()
