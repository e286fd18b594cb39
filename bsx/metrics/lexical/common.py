"""What metrics on words and characters have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bsx.data.writing import IMPLIED, scripts_of
from bsx.metrics.core import Block, BlockScores, Values

if TYPE_CHECKING:
    from bsx.catalog.entries.models import LanguageEntry
    from bsx.data.corpus import Corpus
    from bsx.metrics.core import MetricCore


def present(references: Sequence[str]) -> list[str]:
    """Return the references that are not blank; one blank one if there is no other."""
    return [reference for reference in references if reference.strip()] or [""]


def block_scores(block: Block, values: Values, statistics: Values | None) -> BlockScores:
    """Return the scores of a block, of which no text is cut off, with the rows that have no content on one side."""
    rows = zip(block.candidates, block.references, strict=True)
    empty = np.array([not c.strip() or not "".join(references).strip() for c, references in rows], dtype=bool)
    return BlockScores(values, empty, np.zeros(len(block), dtype=np.int64), statistics)


def units(text: str) -> int:
    """Return how many words a text has at most, characters of scripts without spaces (Thai and up) taken singly."""
    return len(text.split()) + (0 if text.isascii() else sum(letter >= "\u0e00" for letter in text))


def language_of(metric: MetricCore, corpus: Corpus) -> LanguageEntry | None:
    """Return the language that decides how texts are cut into words.

    That is the run's language; if nobody named one, a language of the script that the texts are written in, where
    tokenizers for Latin script fail (`IMPLIED`). Texts that are read as they are (normalize none) are not looked at.
    """
    encoders = metric.encoders
    if encoders.language is not None or encoders.config.normalize == "none":
        return encoders.language
    scripts = scripts_of(corpus)
    script = scripts.get("reference", scripts.get("candidate", ""))
    return encoders.catalog.languages.get(IMPLIED.get(script, ""))


def say_cut(metric: MetricCore, language: LanguageEntry | None, how: str) -> None:
    """Note how texts are cut into words, and why."""
    named = metric.encoders.language is not None
    why = "" if language is None else language.name if named else f"as their script is that of {language.name}"
    metric.encoders.remark(metric.spec, f"{metric.spec}: the texts are {how} ({why})" if language else None)
