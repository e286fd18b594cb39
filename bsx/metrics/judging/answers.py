"""What a judge's answer says: a score, or that it cannot be read; nothing is guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bsx.catalog.entries.metrics import NumberAnswer, SpanAnswer

_CUT = "length"  # how an endpoint says that an answer was cut off at its greatest length
_WHOLE = ("stop", "eos", "end_turn")
_NUMBER = re.compile(r"(?<![\w.,])[-−–]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_PLAIN = re.compile(r"[-−–]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"[-−–]?[1-9]\d{0,2},\d{3}")  # a thousand to one reader, one to another
_LISTED = re.compile(r"\[['\"](\d+)['\"]\]")  # as GEMBA's code takes it
_HEADER = re.compile(r"(critical|major|minor)\s*:\s*(.*)", re.IGNORECASE)
_DRESS = re.compile(r"^(?:[-*•]\s+|[*#_]+\s*)+|[*_]+$")  # Markdown around a line
_NO_ERROR = re.compile(r"no[- ]errors?\b[.]?", re.IGNORECASE)
_QUOTED = re.compile(r"([^\"“”„«»]*?)\s*[-–—:]\s*[\"“„«].*[\"”“»]", re.DOTALL)
_CATEGORIES = ("accuracy", "fluency", "locale convention", "style", "terminology", "non-translation", "other")
_GRAVEST = ("critical", "major", "minor")


@dataclass(frozen=True)
class Verdict:
    """What an answer says.

    Attributes:
        score: NaN if the answer cannot be read.
        problem: why it cannot, in a few words.
        weighted: whether the score is a mean weighted by probabilities.
    """

    score: float
    problem: str | None = None
    weighted: bool = False


def read_answer(
    how: NumberAnswer | SpanAnswer, content: str, finish: str | None, scores: Sequence[tuple[str, float]] = ()
) -> Verdict:
    """Read an answer to a prompt that asks for ``how``.

    The score of a scale of which the prompt asks for probabilities is the mean of its scores, weighted by them; tokens
    that are no score, such as ``**``, count for nothing, so that the weights add up to 1 (Liu et al. 2023, equation 1).

    >>> how = NumberAnswer(kind="number", low=1.0, high=5.0, where="start", weighted=True)
    >>> round(read_answer(how, "4", "stop", [("4", -0.2231), (" 2", -1.6094)]).score, 3)
    3.6

    ``finish`` is how the endpoint says that the answer ended: ``stop``, or ``length`` if it was cut off; ``scores`` are
    tokens that could have stood where the score stands, with log probabilities.
    """
    if finish not in (*_WHOLE, _CUT):
        return Verdict(math.nan, f"it ended by {finish or 'nothing that was said'}")
    if not content.strip():
        return Verdict(math.nan, "it is empty")
    if isinstance(how, SpanAnswer):
        value = "it is cut off at max_tokens" if finish == _CUT else _errors(how, content)
    else:
        value = _number(how, content.strip(), cut=finish == _CUT)
    if isinstance(value, str):
        return Verdict(math.nan, value)
    weights: dict[int, float] = {}
    if isinstance(how, NumberAnswer) and how.weighted and value.is_integer():  # of 4.5 the tokens hold a part
        for token, log in scores:
            if (score := as_score(how, token)) is not None and math.isfinite(log):
                weights[score] = weights.get(score, 0.0) + math.exp(log)
    total = sum(weights.values())
    if total > 0:
        return Verdict(sum(score * weight for score, weight in weights.items()) / total, weighted=True)
    return Verdict(value)


def as_score(how: NumberAnswer, token: str) -> int | None:
    """Return the score of a scale of single digits that a token spells; None if it spells none."""
    text = token.strip()
    return int(text) if re.fullmatch("[0-9]", text) and how.low <= int(text) <= how.high else None


def _number(how: NumberAnswer, answer: str, *, cut: bool) -> float | str:
    """Return the number of an answer, or why it has none.

    As GEMBA's code: the answer holds one number, or is ``['90']`` or ``90/100``. Otherwise than there, ``85.5`` is one
    number, and a sign belongs to it. A number is read whole or not at all: ``1e2`` is 100 and ``8,5`` is 8.5; ``0x55``,
    ``85th``, ``1.2.3`` and ``1,000`` are none. A unit in a script without small and capital letters may follow at once,
    unless it is itself a number: ``85分``, but not ``8千``.
    """
    whole = _LISTED.fullmatch(answer) or re.fullmatch(rf"(\d+(?:\.\d+)?)\s*/\s*{how.high:g}", answer)
    if how.where == "only" and whole:
        text, rest = whole[1], ""
    else:
        matches = list(_NUMBER.finditer(answer))
        if how.where == "start":
            matches = [match for match in matches[:1] if match.start() == 0]
        if len(matches) != 1:
            return f"it holds {len(matches) or 'no'} numbers"
        text, rest = matches[0][0], answer[matches[0].end() :]
    if cut and not rest.strip(".,"):
        return "it is cut off at max_tokens where the number stands"
    follows = rest[:1]
    joined = follows == "_" or follows.isnumeric() or follows.lower() != follows.upper()
    if joined or not _PLAIN.fullmatch(text) or _THOUSANDS.fullmatch(text):
        return f"{text[:40]} may be a part of something else, or another number"
    value = float(text.replace("−", "-").replace("–", "-").replace(",", "."))
    return value if how.low <= value <= how.high else f"{text[:40]} is not from {how.low:g} to {how.high:g}"


def _errors(how: SpanAnswer, content: str) -> float | str:
    """Return what the errors of a list cost, or why it cannot be read.

    As GEMBA's code, but with lines that it would miscount the answer counts as unreadable.
    """
    level: str | None = None
    clean = False
    errors: list[str] = []
    for raw in content.splitlines():
        line = _DRESS.sub("", raw.strip()).strip()
        if header := _HEADER.fullmatch(line):
            level, line = header[1].lower(), header[2].strip("* ").strip()
        if not line:
            continue
        if _NO_ERROR.fullmatch(line):
            clean = True
            continue
        quoted = _QUOTED.fullmatch(line)
        category = (quoted[1] if quoted else line).strip().lower()
        is_error = quoted is not None or category.startswith(_CATEGORIES)
        if level is not None and is_error:
            errors.append("critical" if "non-translation" in category else level)
        elif level is not None:
            return f"{line[:60]!r} is no error"
        elif is_error:
            return f"{line[:60]!r} stands below no severity"  # other lines lead up to the list
    if level is None and not clean:
        return "it names no severity"
    weights = {str(severity): weight for severity, weight in how.weights.items()}
    lost = sum(weights.get(severity, 0.0) for severity in sorted(errors, key=_GRAVEST.index)[: how.counted])
    return -min(how.cap, lost) + 0.0
