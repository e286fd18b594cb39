"""What a judge's answer says: a score, the errors it names, or that it cannot be read; nothing is guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bsx.catalog.entries.judges import NumberAnswer, SpanAnswer

CUT = "length"
"""How an endpoint says that an answer was cut off at its greatest length."""
_WHOLE = ("stop", "eos", "end_turn")
_NUMBER = re.compile(r"(?<![\w.,])[-−–]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_PLAIN = re.compile(r"[-−–]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"[-−–]?[1-9]\d{0,2},\d{3}")  # a thousand to one reader, one to another
_LISTED = re.compile(r"\[['\"](\d+)['\"]\]")  # as GEMBA's code takes it
_HEADER = re.compile(r"(critical|major|minor)\s*:\s*(.*)", re.IGNORECASE)
_DRESS = re.compile(r"^(?:[-*•]\s+|[*#_]+\s*)+|[*_]+$")  # Markdown around a line
_NO_ERROR = re.compile(r"no[- ]errors?\b[.]?", re.IGNORECASE)
_QUOTED = re.compile(r"(?P<category>[^\"“”„«»]*?)\s*[-–—:]\s*[\"“„«](?P<text>.*)[\"”“»]", re.DOTALL)
_CATEGORIES = ("accuracy", "fluency", "locale convention", "style", "terminology", "non-translation", "other")
_SHOWN = 40  # characters of a number in a message
_GRAVEST = ("critical", "major", "minor")


@dataclass(frozen=True)
class Named:
    """An error that an answer names.

    Attributes:
        severity: ``critical``, ``major`` or ``minor``.
        category: as the answer spells it, in small letters.
        text: what it quotes; "" if it quotes nothing.
    """

    severity: str
    category: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """What an answer says.

    Attributes:
        score: NaN if the answer cannot be read.
        problem: why it cannot, in a few words.
        errors: what it names, the gravest first.
        weighted: whether the score is a mean weighted by probabilities.
    """

    score: float
    problem: str | None = None
    errors: tuple[Named, ...] = ()
    weighted: bool = False


def read_answer(
    how: NumberAnswer | SpanAnswer,
    content: str,
    finish: str | None,
    scores: Sequence[tuple[str, float]] = (),
) -> Verdict:
    """Read an answer.

    Args:
        how: what the prompt asks for.
        content: the answer.
        finish: how the endpoint says that it ended: ``stop``, or ``length`` if it was cut off.
        scores: the tokens that could have stood where the score stands, each with its log probability.
    """
    if finish not in (*_WHOLE, CUT):
        return _unread(f"it ended by {finish or 'nothing that was said'}")
    if not content.strip():
        return _unread("it is empty")
    if isinstance(how, SpanAnswer):
        return _unread("it is cut off at max_tokens") if finish == CUT else _errors(how, content)
    value = _number(how, content.strip(), cut=finish == CUT)
    if isinstance(value, str):
        return _unread(value)
    whole = value.is_integer()  # of a number such as 4.5 the tokens hold a part
    mean = weighted_score(how, scores) if how.weighted and whole else None
    return Verdict(value) if mean is None else Verdict(mean, weighted=True)


def weighted_score(how: NumberAnswer, tokens: Sequence[tuple[str, float]]) -> float | None:
    """Return the mean of the scores of a scale, weighted by their probabilities; None if none of them is given.

    Tokens that are no score of the scale, such as ``**``, count for nothing, so that the weights add up to 1.

    Source: Liu et al. 2023, equation 1.

    >>> how = NumberAnswer(kind="number", low=1.0, high=5.0, weighted=True)
    >>> round(weighted_score(how, [("4", -0.2231), (" 2", -1.6094)]), 3)
    3.6
    """
    weights: dict[int, float] = {}
    for token, log in tokens:
        if (score := as_score(how, token)) is not None and math.isfinite(log):
            weights[score] = weights.get(score, 0.0) + math.exp(log)
    total = sum(weights.values())
    return sum(score * weight for score, weight in weights.items()) / total if total > 0 else None


def as_score(how: NumberAnswer, token: str) -> int | None:
    """Return the score of a scale of single digits that a token spells; None if it spells none."""
    text = token.strip()
    return int(text) if re.fullmatch("[0-9]", text) and how.low <= int(text) <= how.high else None


def _unread(problem: str) -> Verdict:
    return Verdict(math.nan, problem)


def _number(how: NumberAnswer, answer: str, *, cut: bool) -> float | str:
    """Return the number of an answer, or why it has none.

    As GEMBA's code: the answer holds one number, or is ``['90']`` or ``90/100``. Otherwise than there, ``85.5`` is one
    number, and a sign belongs to it. A number is read whole or not at all: see `_read`.
    """
    whole = _LISTED.fullmatch(answer) or re.fullmatch(rf"(\d+(?:\.\d+)?)\s*/\s*{how.high:g}", answer)
    if how.where == "only" and whole:
        found = [(whole[1], "")]
    else:
        matches = list(_NUMBER.finditer(answer))
        if how.where == "start":
            matches = [match for match in matches[:1] if match.start() == 0]
        found = [(match[0], answer[match.end() :]) for match in matches]
    if len(found) != 1:
        return f"it holds {len(found) or 'no'} number{'s' * (len(found) != 1)}"
    text, rest = found[0]
    if cut and not rest.strip(".,"):
        return "it is cut off at max_tokens where the number stands"
    value = _read(text, rest[:1])
    text = text[:_SHOWN]
    if value is None:
        return f"{text} may be a part of something else, or another number"
    return value if how.low <= value <= how.high else f"{text} is not from {how.low:g} to {how.high:g}"


def _read(text: str, following: str) -> float | None:
    """Return the value of what looks like a number; None if it may be another one, or a part of something else.

    ``1e2`` is 100 and ``8,5`` is 8.5; ``0x55``, ``85th``, ``1.2.3`` and ``1,000`` are none. A unit in a script without
    small and capital letters may follow at once, unless it is itself a number: ``85分``, but not ``8千``.

    Args:
        text: digits with marks.
        following: the character after it.
    """
    joined = following == "_" or following.isnumeric() or following.lower() != following.upper()
    if joined or not _PLAIN.fullmatch(text) or _THOUSANDS.fullmatch(text):
        return None
    return float(text.replace("−", "-").replace("–", "-").replace(",", "."))


def _errors(how: SpanAnswer, content: str) -> Verdict:
    """Read a list of errors: as GEMBA's code, but of lines that it would miscount the answer counts as unreadable."""
    level: str | None = None
    clean = False
    found: list[Named] = []
    for raw in content.splitlines():
        line = _DRESS.sub("", raw.strip()).strip()
        header = _HEADER.fullmatch(line)
        if header is not None:
            level, line = header[1].lower(), header[2].strip("* ").strip()
        if not line:
            continue
        if _NO_ERROR.fullmatch(line):
            clean = True
            continue
        quoted = _QUOTED.fullmatch(line)
        category = (quoted["category"] if quoted else line).strip().lower()
        is_error = quoted is not None or category.startswith(_CATEGORIES)
        if level is None:
            if is_error:
                return _unread(f"{line[:60]!r} stands below no severity")
            continue  # what leads up to the list
        if not is_error:
            return _unread(f"{line[:60]!r} is no error")
        severity = "critical" if "non-translation" in category else level
        found.append(
            Named(severity, category if quoted else category.split(" - ")[0], quoted["text"] if quoted else "")
        )
    if level is None and not clean:
        return _unread("it names no severity")
    found.sort(key=lambda error: _GRAVEST.index(error.severity))
    weights = {str(severity): weight for severity, weight in how.weights.items()}
    lost = sum(weights.get(error.severity, 0.0) for error in found[: how.counted])
    return Verdict(-min(how.cap, lost) + 0.0, errors=tuple(found))
