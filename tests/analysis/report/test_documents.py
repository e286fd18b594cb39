"""Documents of a report: what a command prints is read again as it was; what is not defined is null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from bsx.analysis.report.documents import parse_document
from bsx.errors import InputError
from bsx.support.result import Endless, Number, Result


@dataclass(frozen=True, kw_only=True, repr=False)
class Weighed(Result):
    """A result with numbers that JSON cannot hold."""

    weights: Mapping[str, Number]
    penalty: Endless


def test_numbers_that_json_cannot_hold_are_null_and_come_back() -> None:
    result = Weighed(weights={"a": 1.0, "b": math.nan}, penalty=math.inf, settings={"how": "z"}, notes=("n",))
    held = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert held == {"weights": {"a": 1.0, "b": None}, "penalty": None, "settings": {"how": "z"}, "notes": ["n"]}
    assert list(held) == ["weights", "penalty", "settings", "notes"]
    again = Weighed.from_dict(held)
    assert math.isnan(again.weights["b"])
    assert again.penalty == math.inf


@pytest.mark.parametrize("kind", ["nonsense", None, ["meta"]])
def test_an_unknown_kind_is_refused(kind: object) -> None:
    with pytest.raises(InputError, match=r"x\.json: provenance\.kind is"):
        parse_document({"provenance": {"kind": kind}}, "x.json")
