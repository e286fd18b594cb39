"""chrF and chrF++ by sacreBLEU."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.metrics.base import Metric
from bsx.metrics.blocks import Block, BlockScores, Values
from bsx.metrics.core import MetricConfig
from bsx.metrics.lexical.common import present, row_flags
from bsx.support.optional import need


class ChrfConfig(MetricConfig):
    """Settings of chrF; names and defaults are sacreBLEU's."""

    char_order: Annotated[int, Field(ge=1, description="Longest character n-gram.")] = 6
    word_order: Annotated[int, Field(ge=0, description="Longest word n-gram: 0 is chrF, 2 is chrF++.")] = 0
    beta: Annotated[int, Field(ge=1, description="How many times recall counts as much as precision.")] = 2
    lowercase: Annotated[bool, Field(description="Ignore case.")] = False
    whitespace: Annotated[bool, Field(description="Keep white space as characters.")] = False
    eps_smoothing: Annotated[bool, Field(description="Smooth as the first chrF++ scripts do.")] = False


class Chrf(Metric[ChrfConfig]):
    """Character n-gram F-score. Source: Popović 2015 and 2017; sacreBLEU computes it."""

    Config = ChrfConfig

    def setup(self) -> None:
        """Build sacreBLEU's object."""
        self._chrf = need("sacrebleu.metrics.chrf", "chrF").CHRF(**self.config.model_dump())

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the version."""
        import sacrebleu

        return {"sacrebleu": sacrebleu.__version__}

    def score_block(self, block: Block, fitted: object) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        rows = []
        for candidate, references in zip(block.candidates, block.references, strict=True):
            prepared = self._chrf._preprocess_segment(candidate)
            others = [self._chrf._preprocess_segment(reference) for reference in present(references)]
            rows.append(self._chrf._compute_segment_statistics(prepared, self._chrf._extract_reference_info(others)))
        values = [self._chrf._compute_score_from_stats(row).score for row in rows]
        lost = np.zeros(len(block), dtype=np.int64)
        return BlockScores(np.array(values), row_flags(block), lost, np.array(rows, dtype=np.float64))

    def system_score(self, statistics: Values) -> float:
        """Return corpus chrF."""
        return float(self._chrf._compute_score_from_stats([int(value) for value in statistics]).score)
