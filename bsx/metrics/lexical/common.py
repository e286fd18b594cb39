"""What metrics on words and characters have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.metrics.blocks import Block

if TYPE_CHECKING:
    from bsx.encode.session import Encoders


def present(references: Sequence[str]) -> list[str]:
    """Return the references that are not blank; one blank one if there is no other."""
    kept = [reference for reference in references if reference.strip()]
    return kept or [""]


def row_flags(block: Block) -> NDArray[np.bool_]:
    """Return which rows have no content on one side (rows,)."""
    rows = zip(block.candidates, block.references, strict=True)
    return np.array([not c.strip() or not any(r.strip() for r in refs) for c, refs in rows], dtype=bool)


def sacrebleu_tokenizer(encoders: Encoders) -> str:
    """Return sacreBLEU's tokenizer for the language of the run; 13a if none was given."""
    return "13a" if encoders.language is None else encoders.language.sacrebleu
