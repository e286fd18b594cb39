"""What settings of several jobs have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypedDict

from pydantic import Field

LANG = "Language of the texts; rows of a column lp into another are left out."
Seed = Annotated[int, Field(default=1, ge=0, description="Seed of all random draws.")]
Confidence = Annotated[float, Field(default=0.95, gt=0, lt=1, description="Level of the intervals.")]
Correction = Annotated[
    Literal["none", "holm", "bh"], Field(default="none", description="Correct p for the number of tests.")
]
Download = Annotated[bool, Field(default=False, description="Let stanza fetch its model.")]
System = Annotated[
    str | None,
    Field(default=None, description="Column of systems, whose rows are taken together. [system, if there]"),
]


class ParseSettings(TypedDict, total=False):
    """Where parses of the texts to change come from."""

    parses: Annotated[Path | None, Field(default=None, description="CoNLL-U file with parses of the texts to change.")]
    parser: Annotated[Literal["stanza", "spacy"] | None, Field(default=None, description="Or parse them with this.")]
    parser_dir: Annotated[Path | None, Field(default=None, description="Its models.")]
    download: Download
