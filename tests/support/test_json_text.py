"""JSON is JSON: no NaN, no Infinity."""

from __future__ import annotations

import json

from bsx.support.untyped import to_json


def test_numbers_that_are_not_finite_are_null() -> None:
    content = {"a": [float("nan"), (float("inf"), 1.5)], "b": {"ü": -float("inf")}, "c": "NaN", "d": None}

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    read = json.loads(to_json(content), parse_constant=refuse)
    assert read == {"a": [None, [None, 1.5]], "b": {"ü": None}, "c": "NaN", "d": None}
    assert "ü" in to_json(content)
