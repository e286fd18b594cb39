"""Token alignments of a report's worst examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bsx.analysis.present.parts import AlignmentGrid
from bsx.errors import InputError
from bsx.support.untyped import JsonObject

Align = Callable[[str, str], JsonObject]
"""From candidate and reference to what `bsx.bertscore.alignment.Alignment.to_dict` returns."""

_WIDEST = 40  # tokens of a side that fit on a page


class Aligner:
    """Aligns the texts of examples.

    Args:
        align: the function; None leaves alignments out.

    Attributes:
        signature: of the alignments, once there is one.
    """

    def __init__(self, align: Align | None) -> None:
        self._align = align
        self.signature: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether alignments were asked for."""
        return self._align is not None

    def align(self, pairs: Sequence[tuple[str, str, str]]) -> tuple[tuple[AlignmentGrid, ...], str]:
        """Return the alignments of an example's pairs (label, candidate, reference), and what stood in the way."""
        if self._align is None:
            return (), ""
        grids, remarks = [], []
        for label, candidate, reference in pairs:
            try:
                found = self._align(candidate, reference)
            except InputError as error:
                remarks.append(f"{label}: {error}")
                continue
            self.signature = str(found["signature"])
            grid = _grid(label, found)
            if max(len(grid.rows), len(grid.columns)) > _WIDEST:
                remarks.append(f"{label}: too long to draw ({len(grid.rows)} by {len(grid.columns)} tokens)")
            else:
                grids.append(grid)
        return tuple(grids), "; ".join(remarks)


def _grid(label: str, found: JsonObject) -> AlignmentGrid:
    """Return an alignment without the tokens that weigh nothing, unless one is somebody's match."""
    sides = [found[name]["tokens"] for name in ("candidate", "reference")]
    matched = [{token["match"] for token in sides[1 - side] if token["weight"]} for side in (0, 1)]
    kept = [
        [place for place, token in enumerate(sides[side]) if token["weight"] or place in matched[side]]
        for side in (0, 1)
    ]
    moved = [{old: new for new, old in enumerate(places)} for places in kept]
    matches = [
        tuple(
            moved[1 - side].get(sides[side][place]["match"], -1) if sides[side][place]["weight"] else -1
            for place in kept[side]
        )
        for side in (0, 1)
    ]
    cosines = tuple(tuple(float(found["cosines"][row][column]) for column in kept[1]) for row in kept[0])
    tokens = [tuple(str(sides[side][place]["token"]) for place in kept[side]) for side in (0, 1)]
    summary = f"P {found['precision']:.3f}, R {found['recall']:.3f}, F1 {found['f1']:.3f}"
    return AlignmentGrid(label, tokens[0], tokens[1], cosines, matches[0], matches[1], summary)
