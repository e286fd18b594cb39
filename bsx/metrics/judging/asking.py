"""Many questions to an endpoint: several at once, within limits and a budget, each answer kept as it comes."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from bsx.data.corpus import about_tokens
from bsx.errors import BsxError, InputError, ModelUnavailableError
from bsx.metrics.judging.cache import AnswerCache, KeptAnswer
from bsx.metrics.judging.endpoint import Endpoint, Gate, Question, Stopped
from bsx.support.progress import Progress, Say

_PER_MESSAGE = 4  # tokens that a conversation adds to a message's own
_FIRST = 8  # answers after which the rest can be told
_MILLION = 1_000_000
_MINUTE, _HOUR = 60, 3600
_POLL = 0.2  # seconds until an interrupt is noticed


@dataclass(frozen=True)
class Limits:
    """How fast and how dear a run may be.

    Attributes:
        concurrency: questions at once.
        per_minute: questions a minute; None: no limit.
        requests: questions in all; None: no limit. So of the next two.
        tokens: tokens in all, of questions and answers.
        cost: in the currency of the prices.
        price_in: of a million tokens of questions.
        price_out: of a million tokens of answers.
    """

    concurrency: int = 4
    per_minute: float | None = None
    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None

    def price(self, tokens_in: float, tokens_out: float) -> float | None:
        """Return what tokens cost; None without prices."""
        if self.price_in is None or self.price_out is None:
            return None
        return (tokens_in * self.price_in + tokens_out * self.price_out) / _MILLION


@dataclass(frozen=True)
class AskingCost:
    """What questions will take.

    Attributes:
        requests: how many there are.
        tokens_in: about how many tokens they have, rather too many.
        tokens_out: how many tokens the answers may have at most.
        cost: at most; None without prices.
        seconds: at least; None if no limit says so.
    """

    requests: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float | None

    def __str__(self) -> str:
        """Return it in words."""
        said = f"about {self.tokens_in:,} tokens in, at most {self.tokens_out:,} out"
        if self.cost is not None:
            said += f", at most {self.cost:,.4f} by the prices given"
        return said + (f", at least {spelled_time(self.seconds)}" if self.seconds else "")


def estimated(sizes: Sequence[int], max_tokens: int, limits: Limits) -> AskingCost:
    """Return what questions will take.

    Args:
        sizes: about how many tokens each has.
        max_tokens: of an answer.
        limits: prices and limits.
    """
    tokens_in, tokens_out = sum(sizes), max_tokens * len(sizes)
    seconds = 60 * (len(sizes) - 1) / limits.per_minute if limits.per_minute and sizes else None
    return AskingCost(len(sizes), tokens_in, tokens_out, limits.price(tokens_in, tokens_out), seconds)


def size_of(messages: Sequence[dict[str, str]]) -> int:
    """Return about how many tokens a conversation has, rather too many."""
    return sum(about_tokens(message["content"]) + _PER_MESSAGE for message in messages)


def spelled_time(seconds: float) -> str:
    """Return a time in words.

    >>> spelled_time(90)
    '1.5 min'
    """
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.1f} min" if seconds < _HOUR else f"{seconds / _HOUR:.1f} h"


class _Purse:
    """What has been spent, and what is set aside for questions that are under way."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.requests = 0
        self.tokens_in = self.tokens_out = 0.0
        self.aside: dict[str, tuple[float, float]] = {}

    def blocked(self, tokens_in: int, tokens_out: int) -> str | None:
        """Return the limit that one more question could break, as the user wrote it."""
        inside = self.tokens_in + sum(one for one, _ in self.aside.values()) + tokens_in
        outside = self.tokens_out + sum(one for _, one in self.aside.values()) + tokens_out
        asked, limits = self.requests + len(self.aside) + 1, self.limits
        if limits.requests is not None and asked > limits.requests:
            return f"budget_requests={limits.requests}"
        if limits.tokens is not None and inside + outside > limits.tokens:
            return f"budget_tokens={limits.tokens}"
        if limits.cost is not None and (limits.price(inside, outside) or 0.0) > limits.cost:
            return f"budget_cost={limits.cost:g}"
        return None

    def paid(self, key: str, answer: KeptAnswer | None) -> None:
        """Count a question that is done; one without an answer cost nothing that is known."""
        expected_in, expected_out = self.aside.pop(key)
        self.requests += 1
        if answer is not None:
            self.tokens_in += expected_in if answer.tokens_in is None else answer.tokens_in
            self.tokens_out += expected_out if answer.tokens_out is None else answer.tokens_out


class Served:
    """Holds the answers of a run to one model, and to the one that was asked for.

    Args:
        asked: the model that was asked for.
        allowed: by which other name it may answer.
    """

    def __init__(self, asked: str, allowed: str | None) -> None:
        self._asked, self._allowed = asked, allowed
        self.names = Counter[str]()

    def check(self, answer: KeptAnswer) -> None:
        """Count an answer in.

        Raises:
            ModelUnavailableError: if it is another model's than asked for, or than the answers before it.
        """
        name = answer.model
        if not name:
            return
        self.names[name] += 1
        wanted = self._allowed or self._asked
        if name != wanted and not (self._allowed is None and is_version(name, wanted)):
            raise ModelUnavailableError(
                f"judge: the endpoint answers as {name!r}, and {wanted!r} is asked for: served={name} takes its "
                "answers, which are kept"
            )
        if len(self.names) > 1:
            told = ", ".join(f"{one!r} ({count:,})" for one, count in self.names.most_common())
            raise ModelUnavailableError(
                f"judge: the answers are of several models, {told}: served= names the one to keep to, or model= one "
                "that stays the same"
            )


def is_version(name: str, asked: str) -> bool:
    """Tell whether a name is that of a dated version of a model.

    >>> [is_version(name, "gpt-4o") for name in ("gpt-4o-2024-08-06", "gpt-4o-mini", "gpt-4")]
    [True, False, False]
    """
    rest = name.removeprefix(asked)
    return name.startswith(asked) and rest[:1] in "-@" and bool(rest) and rest[1:].replace("-", "").isdigit()


def ask_all(
    questions: Sequence[Question],
    sizes: Sequence[int],
    max_tokens: int,
    endpoint: Endpoint,
    cache: AnswerCache,
    served: Served,
    limits: Limits,
    *,
    before: int = 0,
    progress: Progress | None = None,
    say: Say | None = None,
) -> None:
    """Ask all questions; every answer is kept in the cache the moment it comes.

    Args:
        questions: what to ask.
        sizes: about how many tokens each has.
        max_tokens: of an answer.
        endpoint: whom to ask.
        cache: where answers are kept.
        served: the model that answers.
        limits: how fast and how dear.
        before: how many questions of the run were answered already.
        progress: called with what is done.
        say: told what the rest will take, once that is known.

    Raises:
        ModelUnavailableError: if the endpoint or the budget ends the run; what is done is kept.
    """
    gate, purse = Gate(limits.per_minute), _Purse(limits)
    waiting: deque[tuple[Question, int]] = deque(zip(questions, sizes, strict=True))
    given: queue.Queue[Question | None] = queue.Queue()
    came: queue.Queue[tuple[Question, KeptAnswer | BaseException]] = queue.Queue()
    threads = [
        threading.Thread(target=_work, args=(given, came, endpoint, gate), name=f"bsx-judge-{i}", daemon=True)
        for i in range(min(limits.concurrency, len(questions)))
    ]
    began, done, total = time.monotonic(), 0, len(questions)
    ended: BaseException | None = None
    problem: str | None = None
    with cache.writing(), endpoint.connected():
        for thread in threads:
            thread.start()
        try:
            while (waiting and ended is None and problem is None) or purse.aside:
                while waiting and ended is None and problem is None and len(purse.aside) < len(threads):
                    question, size = waiting[0]
                    blocked = purse.blocked(size, max_tokens)
                    if blocked is not None:
                        problem = None if purse.aside else blocked  # what is under way may cost less than set aside
                        break
                    waiting.popleft()
                    purse.aside[question.key] = (size, max_tokens)
                    given.put(question)
                if not purse.aside:
                    continue
                try:
                    question, result = came.get(timeout=_POLL)
                except queue.Empty:
                    continue
                answer = result if isinstance(result, KeptAnswer) else None
                purse.paid(question.key, answer)
                if answer is None:
                    assert isinstance(result, BaseException)  # noqa: S101 - for the type checker
                    if not isinstance(result, Stopped):
                        ended = ended or result
                    gate.stopped.set()
                    continue
                cache.add(answer)
                done += 1
                try:
                    served.check(answer)
                except BsxError as error:
                    ended = ended or error
                    gate.stopped.set()
                if progress is not None:
                    progress("judging", before + done, before + total)
                if say is not None and done == max(_FIRST, 2 * len(threads)) and done < total:
                    say(_rest(began, done, total, purse))
        finally:
            gate.stopped.set()
            for _ in threads:
                given.put(None)
    if ended is not None:
        kept = (
            f"; {before + done:,} of {before + total:,} answers are kept in {cache.path}, and the same command goes on"
        )
        if isinstance(ended, BsxError):
            raise type(ended)(f"{ended}{kept}")
        raise ended
    if problem is not None:
        raise ModelUnavailableError(
            f"judge: stopped at {problem}: {before + done:,} of {before + total:,} answers are kept in {cache.path}; "
            f"the other {total - done:,} take {_left(waiting, max_tokens, limits)}: a greater budget goes on"
        )


def _left(waiting: Sequence[tuple[Question, int]], max_tokens: int, limits: Limits) -> AskingCost:
    return estimated([size for _, size in waiting], max_tokens, limits)


def _rest(began: float, done: int, total: int, purse: _Purse) -> str:
    left = total - done
    still = spelled_time((time.monotonic() - began) / done * left)
    said = f"judge: {done:,} new answers: the other {left:,} take about {still}"
    cost = purse.limits.price(purse.tokens_in / done * left, purse.tokens_out / done * left)
    return said + ("" if cost is None else f" and cost about {cost:,.4f}")


def _work(
    given: queue.Queue[Question | None],
    came: queue.Queue[tuple[Question, KeptAnswer | BaseException]],
    endpoint: Endpoint,
    gate: Gate,
) -> None:
    while (question := given.get()) is not None:
        result: KeptAnswer | BaseException
        try:
            result = endpoint.ask(question, gate)
        except BaseException as error:  # noqa: BLE001 - the thread that waits for it raises it
            result = error
        came.put((question, result))


def check_budget(limits: Limits) -> None:
    """Refuse a budget in money without prices.

    Raises:
        InputError: naming what is missing.
    """
    if limits.cost is not None and (limits.price_in is None or limits.price_out is None):
        raise InputError("judge: budget_cost needs price_in and price_out, of a million tokens each")
