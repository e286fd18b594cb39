"""Questions to an endpoint that speaks as OpenAI's does: several at once, within a budget, and again where it fails."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import datetime
import email.utils
import ipaddress
import os
import random
import re
import time
from collections import Counter, deque
from collections.abc import Coroutine, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from bsx.catalog.entries.judges import JudgeEntry, NumberAnswer
from bsx.data.corpus import about_tokens
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.judging.answers import as_score
from bsx.metrics.judging.cache import AnswerCache, KeptAnswer
from bsx.metrics.judging.config import JudgeConfig
from bsx.support.download import forbidden
from bsx.support.optional import need
from bsx.support.progress import Progress
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
_PER_MESSAGE = 4  # tokens that a conversation adds to a message's own
_MILLION = 1_000_000
_POLL = 0.2  # seconds until an interrupt is noticed


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


class _Stopped(Exception):  # noqa: N818 - something else ended the run, which is no error of this question
    """The run ends before this question was answered."""


class Endpoint:
    """An endpoint, and what its model is told.

    Args:
        config: model, address, limits and budget.
        prompt: what is asked.
        digest: of the prompt.

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
        here = name == "localhost"
        with contextlib.suppress(ValueError):
            here = here or ipaddress.ip_address(name).is_loopback
        if why is not None and not here:
            raise ModelUnavailableError(f"judge: {self.host} is not asked ({why}): replay=only takes kept answers")
        self._openai: Untyped = need("openai", "asking a judge")
        self._config, self._prompt, self._digest = config, prompt, digest
        self._max_tokens = config.max_tokens or prompt.max_tokens
        how = prompt.answer
        self._weighted = how if isinstance(how, NumberAnswer) and how.weighted else None

    def takes(self, questions: Sequence[Question]) -> str:
        """Return in words what questions take at most."""
        tokens_in, tokens_out = sum(map(self._size, questions)), self._max_tokens * len(questions)
        cost = self._price(tokens_in, tokens_out)
        said = f"about {tokens_in:,} tokens in, at most {tokens_out:,} out"
        return said if cost is None else f"{said}, at most {cost:,.4f} by the prices given"

    def _size(self, asked: Question) -> int:
        return size_of(self._prompt.filled(asked.texts))

    def _price(self, tokens_in: float, tokens_out: float) -> float | None:
        price_in, price_out = self._config.price_in, self._config.price_out
        if price_in is None or price_out is None:
            return None
        return (tokens_in * price_in + tokens_out * price_out) / _MILLION

    def ask_all(
        self,
        questions: Sequence[Question],
        cache: AnswerCache,
        names: Counter[str],
        before: int,
        progress: Progress | None = None,
    ) -> None:
        """Ask all questions; every answer is kept the moment it comes.

        Args:
            questions: what to ask.
            cache: where answers are kept.
            names: by which names the model answered so far -> answers; they are counted in.
            before: how many questions of the run were answered already.
            progress: called with what is done.

        Raises:
            ModelUnavailableError: if the endpoint or the budget ends the run; what is done is kept.
        """
        with cache.writing():
            _in_a_loop(self._all(questions, cache, names, before, progress))

    async def _all(
        self,
        questions: Sequence[Question],
        cache: AnswerCache,
        names: Counter[str],
        before: int,
        progress: Progress | None,
    ) -> None:
        config, waiting, total = self._config, deque(questions), before + len(questions)
        self._stopped, self._next = asyncio.Event(), 0.0
        under_way: dict[asyncio.Task[KeptAnswer], Question] = {}
        sizes = {question.key: self._size(question) for question in questions}
        ended: ModelUnavailableError | None = None
        asked, done, blocked = 0, before, None
        spent_in = spent_out = 0.0
        # Texts and key are for this endpoint alone.
        http = self._openai.DefaultAsyncHttpxClient(follow_redirects=False)
        self._client: Untyped = self._openai.AsyncOpenAI(
            api_key=self._secret or "none", base_url=self.url, timeout=None, max_retries=0, http_client=http
        )
        try:
            while True:
                while waiting and ended is None and len(under_way) < config.concurrency:
                    next_ones = [waiting[0], *under_way.values()]
                    blocked = self._blocked(
                        asked + len(next_ones),
                        spent_in + sum(sizes[one.key] for one in next_ones),
                        spent_out + len(next_ones) * self._max_tokens,
                    )
                    if blocked is not None:  # but what is under way may cost less than it is counted for
                        break
                    one = waiting.popleft()
                    under_way[asyncio.create_task(self._ask(one))] = one
                if not under_way:
                    break
                finished, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    one, asked = under_way.pop(task), asked + 1
                    try:
                        answer = task.result()
                        spent_in += sizes[one.key] if answer.tokens_in is None else answer.tokens_in
                        spent_out += self._max_tokens if answer.tokens_out is None else answer.tokens_out
                        cache.add(answer)
                        done += 1
                        check_model(answer, names, config)
                    except _Stopped:
                        continue
                    except ModelUnavailableError as error:  # what is under way is paid for: it is kept, too
                        ended = ended or error
                        self._stopped.set()
                    if progress is not None:
                        progress("judging", done, total)
        finally:
            for task in under_way:
                task.cancel()
            await self._client.close()
        kept = f"{done:,} of {total:,} answers are kept in {cache.path}"
        if ended is not None:
            raise ModelUnavailableError(f"{ended}; {kept}, and the same command goes on")
        if waiting:
            raise ModelUnavailableError(
                f"judge: stopped at {blocked}: {kept}; the other {len(waiting):,} take {self.takes(waiting)}: "
                "a greater budget goes on"
            )

    def _blocked(self, asked: int, inside: float, outside: float) -> str | None:
        """Return the limit that so much would break, as the user wrote it."""
        config = self._config
        if config.budget_requests is not None and asked > config.budget_requests:
            return f"budget_requests={config.budget_requests}"
        if config.budget_tokens is not None and inside + outside > config.budget_tokens:
            return f"budget_tokens={config.budget_tokens}"
        if config.budget_cost is not None and (self._price(inside, outside) or 0.0) > config.budget_cost:
            return f"budget_cost={config.budget_cost:g}"
        return None

    async def _rest(self, seconds: float) -> None:
        """Wait, but not beyond the end of the run."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), max(0.0, seconds))
        if self._stopped.is_set():
            raise _Stopped

    async def _ask(self, asked: Question) -> KeptAnswer:
        """Return the answer to a question, asking again if the endpoint is busy or fails.

        Raises:
            ModelUnavailableError: if it refuses, cannot be reached, or fails again and again.
            _Stopped: if the run ends meanwhile.
        """
        config, tries = self._config, self._config.retries + 1
        request: dict[str, object] = {config.length_field: self._max_tokens, "temperature": config.temperature}
        if config.seed is not None:
            request["seed"] = config.seed + asked.number
        if self._weighted is not None:
            request |= {"logprobs": True, "top_logprobs": _TOP}
        request |= {"model": config.model, "messages": self._prompt.filled(asked.texts)}
        for number in range(1, tries + 1):
            turn = max(time.monotonic(), self._next)
            self._next = turn + (60.0 / config.per_minute if config.per_minute else 0.0)
            await self._rest(turn - time.monotonic())
            wait: float | None = None
            try:
                async with asyncio.timeout(config.timeout):  # that of a connection begins anew with each byte
                    return self._kept(asked, await self._client.chat.completions.create(**request))
            except self._openai.APIStatusError as error:
                status, code = int(error.status_code), str(getattr(error, "code", None))
                if status in (400, 422) and code in _OF_ONE_TEXT:
                    return self._kept(asked, None, code)
                what = f"answers {status}{self._refused(status, error)}"
                if status not in _AGAIN and status < 500:
                    raise ModelUnavailableError(f"judge: {self.host} {what}") from None
                wait = _wanted_wait(error.response.headers)
            except (TimeoutError, self._openai.APITimeoutError):
                what = f"does not answer in time (timeout={config.timeout:g})"
            except self._openai.APIConnectionError as error:
                what = f"cannot be reached, or hangs up ({self._clean(str(error.__cause__ or error))})"
            except RecursionError:
                what = "sends what is no answer (JSON that is nested too deeply)"
            except (self._openai.APIError, ValueError) as error:  # half an answer, or none that is JSON
                what = f"sends what is no answer ({self._clean(str(error))})"
            if number == tries:
                raise ModelUnavailableError(
                    f"judge: {self.host} {what}, {tries} time{'s' * (tries > 1)} in a row (segment {asked.where})"
                )
            if wait is None:
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (number - 1))
                # So that questions do not all come again at once.
                await self._rest(wait * (1 + 0.25 * random.random()))  # noqa: S311
            elif wait > PATIENCE:
                raise ModelUnavailableError(f"judge: {self.host} {what} and wants {wait:,.0f} s of rest")
            else:
                self._next = max(self._next, time.monotonic() + wait)  # for all questions
        raise AssertionError

    def _kept(self, asked: Question, reply: Untyped, filtered: str | None = None) -> KeptAnswer:
        """Return what a reply says, or that a filter of the endpoint kept it back, and why.

        Raises:
            ValueError: if it is none.
        """
        model: object = ""
        content, finish, usage = "", filtered, getattr(reply, "usage", None)
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
                    scores = [(one.token, float(one.logprob)) for one in token.top_logprobs or [token]]
                    break
        tokens_in, tokens_out = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        return KeptAnswer(
            key=asked.key,
            prompt=self._digest,
            name=self._prompt.name,
            asked=str(self._config.model),
            endpoint=self.host,
            model=self._redacted(str(model)),
            content=self._redacted(content),
            finish=self._redacted(finish) if isinstance(finish, str) else None,
            scores=tuple((self._redacted(token), log) for token, log in scores),
            tokens_in=tokens_in if isinstance(tokens_in, int) else None,
            tokens_out=tokens_out if isinstance(tokens_out, int) else None,
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )

    def _refused(self, status: int, error: Untyped) -> str:
        """Say what an endpoint says with a status, and what to do; of an address nothing that may be secret."""
        if 300 <= status < 400:
            try:
                parts = urlsplit(urljoin(str(error.response.url), error.response.headers.get("location", "")))
                target = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
            except ValueError:
                target = "no address"
            said = f", a redirect to {self._clean(target)}: no redirect is followed; "
            return f"{said}give base_url the address that is meant"
        body = getattr(error, "body", None)
        message = body.get("message") if isinstance(body, Mapping) else body
        said = f" ({self._clean(message)})" if isinstance(message, str) and message.strip() else ""
        return said + {
            401: ": the key is missing or wrong; it is read from the environment variable that key names",
            403: ": the key may not do this",
            404: f": there is no model {self._config.model!r}, or base_url is not what stands before /chat/completions",
        }.get(status, "")

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


def check_model(answer: KeptAnswer, names: Counter[str], config: JudgeConfig) -> None:
    """Hold the answers of a run to one model, and to the one that was asked for, or a dated version of it.

    Args:
        answer: the next one, which is counted in.
        names: by which names the model answered so far -> answers.
        config: the model, and by which other name it may answer.

    Raises:
        ModelUnavailableError: if it is another model's than asked for, or than the answers before it.
    """
    name, wanted = answer.model, str(config.served or config.model)
    if not name:
        return
    names[name] += 1
    rest = name.removeprefix(wanted)
    dated = name.startswith(wanted) and rest[:1] in ("-", "@") and rest[1:].replace("-", "").isdigit()
    if name != wanted and (config.served is not None or not dated):
        raise ModelUnavailableError(
            f"judge: the endpoint answers as {name!r}, and {wanted!r} is asked for: served={name} takes its answers, "
            "which are kept"
        )
    if len(names) > 1:
        counts = ", ".join(f"{one!r} ({count:,})" for one, count in names.most_common())
        raise ModelUnavailableError(
            f"judge: the answers are of several models, {counts}: served= names the one to keep to, or model= one that "
            "stays the same"
        )


def size_of(messages: Sequence[Mapping[str, str]]) -> int:
    """Return about how many tokens a conversation has, rather too many."""
    return sum(about_tokens(message["content"]) + _PER_MESSAGE for message in messages)


def _in_a_loop(work: Coroutine[object, object, None]) -> None:
    """Run in a thread: this one may have a loop already, as in a notebook, and notices Ctrl-C, which ends the work."""
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    async def main() -> None:
        task: Untyped = asyncio.current_task()
        begun.append((asyncio.get_running_loop(), task))
        await work

    with concurrent.futures.ThreadPoolExecutor(1, "bsx-judge") as pool:
        future = pool.submit(contextvars.copy_context().run, asyncio.run, main())
        try:
            while not future.done():
                concurrent.futures.wait([future], timeout=_POLL)
        finally:
            if not future.done():
                for loop, task in begun:
                    with contextlib.suppress(RuntimeError):  # it ended in the meantime
                        loop.call_soon_threadsafe(task.cancel)
        future.result()


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
