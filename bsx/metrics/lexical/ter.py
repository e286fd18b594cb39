"""Translation edit rate by sacreBLEU."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.metrics.base import Metric
from bsx.metrics.blocks import Block, BlockScores, Values
from bsx.metrics.core import MetricConfig
from bsx.metrics.lexical.common import present, row_flags
from bsx.support.optional import need


class TerConfig(MetricConfig):
    """Settings of TER; names and defaults are sacreBLEU's."""

    normalized: Annotated[bool, Field(description="Normalise and split punctuation as mteval does.")] = False
    no_punct: Annotated[bool, Field(description="Leave out punctuation.")] = False
    asian_support: Annotated[bool, Field(description="Split Asian scripts into characters.")] = False
    case_sensitive: Annotated[bool, Field(description="Regard case.")] = False


class Ter(Metric[TerConfig]):
    """Edits with shifts per reference word, times 100; lower is better. Source: Snover et al. 2006."""

    Config = TerConfig

    def setup(self) -> None:
        """Build sacreBLEU's object."""
        self._ter = need("sacrebleu.metrics.ter", "TER").TER(**self.config.model_dump())

    def memory(self, candidate: str, other: str) -> int:
        """Return the bytes of its table of edits, with a cell for each two words; see `Metric.memory`."""
        words = (len(text) if self.config.asian_support else len(text.split()) for text in (candidate, other))
        return super().memory(candidate, other) + 100 * math.prod(words)

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the version."""
        import sacrebleu

        return {"sacrebleu": sacrebleu.__version__}

    def score_block(self, block: Block, fitted: object) -> BlockScores:
        """Score rows; see `Metric.score_block`."""
        rows = zip(block.candidates, block.references, strict=True)
        scored = [self._ter.sentence_score(candidate, present(references)) for candidate, references in rows]
        statistics = np.array([(score.num_edits, score.ref_length) for score in scored], dtype=np.float64)
        lost = np.zeros(len(block), dtype=np.int64)
        return BlockScores(np.array([score.score for score in scored]), row_flags(block), lost, statistics)

    def system_score(self, statistics: Values) -> float:
        """Return all edits over all reference words (the mean number, with several references), times 100."""
        return float(self._ter._compute_score_from_stats(list(statistics)).score)
