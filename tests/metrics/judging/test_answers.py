"""What answers are read as, against the rules of the authors' code written anew."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from bsx.catalog.catalog import shipped
from bsx.catalog.entries import validate
from bsx.catalog.entries.metrics import JudgeEntry, NumberAnswer
from bsx.errors import RegistryError
from bsx.metrics.judging.answers import read_answer

JUDGES = [name for kind, name in shipped().origins if kind == "judge"]
PERCENT = NumberAnswer(kind="number", low=0.0, high=100.0)
STARS = NumberAnswer(kind="number", low=1.0, high=5.0, where="start", weighted=True)
MQM = shipped().judge("gemba-mqm").answer


def gemba_number(answer: str) -> float | None:
    """GEMBA's parse_and_check_numerical_answer for 0 to 100, written down from its description."""
    numbers = re.findall(r"\d+", answer)
    value = None
    if len(numbers) == 1:
        value = int(numbers[0])
    elif re.match(r"^[0-9]*/100$", answer):
        value = int(answer.split("/")[0])
    return value if value is not None and 0 <= value <= 100 else None


def gemba_mqm(answer: str) -> float:
    """GEMBA's parse_mqm_answer, for answers in the form it asks for."""
    errors: dict[str, int] = {"critical": 0, "major": 0, "minor": 0}
    level = ""
    for line in (line.strip() for line in answer.lower().split("\n")):
        if line in ("critical:", "major:", "minor:"):
            level = line[:-1]
        elif line and "no-error" not in line and "no error" not in line and level:
            errors["critical" if "non-translation" in line else level] += 1
    weights = [25] * errors["critical"] + [5] * errors["major"] + [1] * errors["minor"]
    return -min(25, sum(weights[:5]))


@pytest.mark.parametrize(
    "answer", ["85", "Score: 85", "85/100", "85.", "['85']", "The score is 90 points", "101", "", "none", "7 of 9", "0"]
)
def test_numbers_as_gembas_code_reads_them(answer: str) -> None:
    got, wanted = read_answer(PERCENT, answer, "stop"), gemba_number(answer)
    assert math.isnan(got.score) == (wanted is None) == (got.problem is not None)
    assert wanted is None or got.score == wanted


@pytest.mark.parametrize(
    ("answer", "finish", "score"),
    [
        ("85.5", "stop", 85.5),  # two numbers for GEMBA's code
        ("-5", "stop", None),  # 5 for GEMBA's code
        ("8", "length", None),  # may be the 8 of 85
        ("85.", "length", None),  # may be 85.5
        ("8 points, because", "length", 8),
        ("1e1", "stop", 10),
        ("1E+2.", "stop", 100),
        *((answer, "stop", None) for answer in ("1e999", "0x55", "85th", "8_5", "8²", "1.2.3", "9" * 400, "  ")),
        *((answer, "stop", None) for answer in ("1,000", "1,000.5")),  # one, or a thousand
        ("1e2", "length", None),
        ("8,5", "stop", 8.5),
        ("0,500", "stop", 0.5),
        ("85%", "stop", 85),
        ("85分", "stop", 85),
        ("8千", "stop", None),  # 8000
        ("85", "content_filter", None),
        ("85", None, None),
    ],
)
def test_numbers_are_not_guessed(answer: str, finish: str | None, score: float | None) -> None:
    got = read_answer(PERCENT, answer, finish)
    assert (got.problem is None, got.score if score is not None else score) == (score is not None, score)


def test_scores_are_weighted_by_their_probabilities() -> None:
    logs = [("4", math.log(0.6)), (" 3", math.log(0.2)), ("**", math.log(0.1)), ("9", math.log(0.1))]
    got = read_answer(STARS, "4", "stop", logs)
    assert got.weighted
    assert got.score == pytest.approx((4 * 0.6 + 3 * 0.2) / 0.8)
    plain = read_answer(STARS, " 4\n- Fluency: 3", "stop")
    assert (plain.score, plain.weighted) == (4.0, False)
    assert math.isnan(read_answer(STARS, "a 4", "stop", logs).score)
    for other in ("47", "4e1", "4x", "1,000", "0x4"):
        assert math.isnan(read_answer(STARS, other, "stop", logs).score)
    half = read_answer(STARS, "4.5\n", "stop", logs)
    assert (half.score, half.weighted) == (4.5, False)  # its first token is a part of it
    assert read_answer(STARS, "4,5 of 5", "stop").score == 4.5


@pytest.mark.parametrize(
    "answer",
    [
        'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "a"\naccuracy/omission - "b"\nMinor:\nstyle - "c"\n',
        "Critical:\nno-error\nMajor:\nno-error\nMinor:\nno-error\n",
        "no-error",
        'Critical:\naccuracy/addition - "x"\nMajor:\nno-error\nMinor:\nfluency/grammar - "y"',
        'Major:\nnon-translation - "x"\n',
        "Major:\n" + 'fluency/grammar - "x"\n' * 4 + "Minor:\n" + 'fluency/spelling - "y"\n' * 9,
    ],
)
def test_errors_as_gembas_code_counts_them(answer: str) -> None:
    got = read_answer(MQM, answer, "stop")
    assert got.problem is None
    assert got.score == gemba_mqm(answer)


@pytest.mark.parametrize(
    ("answer", "finish"),
    [
        ("I am sorry, I cannot help with that.", "stop"),  # no error at all for GEMBA's code
        ('accuracy/omission - "x"', "stop"),  # an error without a severity
        ("Minor:\nOverall, the translation is good.", "stop"),  # one error for GEMBA's code
        ('Major:\naccuracy/omission - "x"\nMi', "length"),
    ],
)
def test_lists_of_errors_are_not_guessed(answer: str, finish: str) -> None:
    got = read_answer(MQM, answer, finish)
    assert math.isnan(got.score)
    assert got.problem


def test_lists_of_errors_in_other_clothes() -> None:
    answer = 'Here:\n\n**Critical:** no-error\n**Major:**\n- accuracy/mistranslation - "Die Katze"\n* Minor: no error'
    assert read_answer(MQM, answer, "stop").score == -5.0


@pytest.mark.parametrize("name", JUDGES)
def test_prompts_name_where_they_are_from(name: str) -> None:
    entry = shipped().judge(name)
    assert entry.source
    assert entry.licence
    assert entry.citation


OWN: dict[str, Any] = {
    "name": "own",
    "title": "Own",
    "needs": ["candidate", "source"],
    "messages": [{"role": "user", "content": "Rate {candidate} of {source}, as {{json}}: "}],
    "answer": {"kind": "number", "low": 0, "high": 10},
    "max_tokens": 5,
}


def test_a_prompt_of_ones_own() -> None:
    entry = validate(JudgeEntry, OWN, "own.yaml")
    assert entry.filled({"candidate": "a {source}", "source": "b"})[0]["content"] == "Rate a {source} of b, as {json}: "


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"messages": [{"role": "user", "content": "{candidate} {source} {sorce}"}]}, "{sorce}"),
        ({"messages": [{"role": "user", "content": "{candidate.__class__} {source}"}]}, "{candidate.__class__}"),
        ({"messages": [{"role": "user", "content": "{candidate} {source} {"}]}, "'{'"),
        ({"messages": [{"role": "user", "content": "{candidate}"}]}, "source"),
        ({"messages": [{"role": "user", "content": "{candidate} {source} {reference}"}]}, "reference"),
        ({"needs": ["candidate"]}, "needs"),
        ({"answer": {"kind": "number", "low": 5, "high": 1}}, "low"),
        ({"answer": {"kind": "number", "low": 0, "high": 100, "weighted": True}}, "weighted"),
        ({"answer": {"kind": "essay"}}, "answer"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"prompt": "x"}, "prompt"),
    ],
)
def test_wrong_prompts_are_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(RegistryError) as caught:
        validate(JudgeEntry, {**OWN, **change}, "own.yaml")
    assert str(caught.value).startswith("own.yaml: ")
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
