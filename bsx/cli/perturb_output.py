"""What ``bsx adversarial perturb`` reads from an option, and lists."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bsx.errors import InputError

if TYPE_CHECKING:
    pass


def read_strengths(spelled: str) -> list[float]:
    """Read shares with commas between.

    Raises:
        InputError: for one that is no number above 0 and at most 1, or for none at all.
    """
    found = []
    for part in filter(None, (part.strip() for part in spelled.split(","))):
        try:
            found.append(float(part))
        except ValueError:
            raise InputError(f"--strength {part}: is not a number") from None
        if not 0 < found[-1] <= 1:
            raise InputError(f"--strength {part}: it is a share, above 0 and at most 1")
    if not found:
        raise InputError("--strength: give at least one share, such as 0.1")
    return found


def listing(format: str) -> str:
    """Return all perturbations as a table or as JSON."""
    from bsx.analysis.perturbations.catalogue import PERTURBATIONS

    rows: list[dict[str, Any]] = [
        {
            "name": one.name,
            "preserves": one.preserves,
            "strength": one.graded,
            "needs": sorted(one.needs),
            "languages": list(one.languages) if one.languages is not None else None,
            "description": one.description,
            "acts_on": one.acts_on,
        }
        for one in PERTURBATIONS.values()
    ]
    if format == "json":
        return json.dumps({"perturbations": rows}, ensure_ascii=False)
    lines = [("name", "meaning", "strength", "needs", "languages", "description")]
    lines += [
        (
            row["name"],
            "keeps" if row["preserves"] else "changes",
            "yes" if row["strength"] else "",
            ", ".join(row["needs"]),
            "any" if row["languages"] is None else " ".join(row["languages"]),
            row["description"],
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[5]]) for line in lines
    )
