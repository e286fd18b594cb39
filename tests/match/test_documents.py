"""What alignments of documents come to."""

from __future__ import annotations

from bsx.match.documents import AlignedSystem


def test_what_has_no_counterpart_is_a_share_of_the_rows() -> None:
    found = AlignedSystem(
        system="a",
        documents=2,
        candidate=9,
        reference=8,
        rows=10,
        one_to_one=5,
        merged=2,
        added=2,
        omitted=1,
        cost=0.4,
        kinds={"1-1": 5, "2-1": 2, "1-0": 2, "0-1": 1},
    )
    assert found.unaligned == 0.3
