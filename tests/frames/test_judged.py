"""Which rows of judged tables are drawn together."""

from __future__ import annotations

import pytest

from bsx.analysis.tune.run import JudgedColumns
from bsx.frames.judged import read_judged

LP = ["cs-en", "en-de", "cs-en", "cs-en", "de-en", "de-en"]
ROWS = {"candidate": list("abcdef"), "reference": list("rrrsst"), "human": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "lp": LP}


@pytest.mark.parametrize(
    ("more", "expected", "called"),
    [
        ({}, "00112", "segments"),  # the same reference in one language pair
        ({"doc": ["x", "x", "x", "x", "y", "z"]}, "00012", "documents"),
        ({"doc": ["x"] * 6}, "00112", "segments"),
        ({"id": list("123456"), "system": list("AABABA")}, "00112", "segments"),  # no two systems meet under it
        ({"system": list("ABBAAB"), "sid": list("112234")}, "01123", "segments"),
        ({"doc": ["x", "", "", "x", "y", "z"]}, "01023", "documents"),  # a row without a document is by itself
    ],
)
def test_units_are_documents_or_segments_by_their_usual_names(
    more: dict[str, list[str]], expected: str, called: str
) -> None:
    judged = read_judged([ROWS | more], JudgedColumns(), "en")
    labels, unit = judged.units()
    groups = list(zip(judged.groups, labels, strict=True))
    same = [[a == b for b in groups] for a in groups]
    wanted = list(zip(judged.groups, expected, strict=True))
    assert same == [[a == b for b in wanted] for a in wanted]
    assert unit == called
