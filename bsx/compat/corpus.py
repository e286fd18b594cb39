"""Any metric with the calls of sacrebleu's: ``corpus_score(hypotheses, [references, …])``, ``sentence_score``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

import numpy as np

from bsx.data.corpus import MemoryCorpus
from bsx.encode.session import SharedSettings
from bsx.errors import InputError
from bsx.metrics.base import get_metrics
from bsx.metrics.core import Values
from bsx.metrics.results import MetricScores, paired_scores
from bsx.support.settings import set_fields, settled


@dataclass(frozen=True)
class CorpusScore:
    """A score of a corpus.

    Attributes:
        name: the metric, as it was asked for.
        score: of all segments together: their mean, or what the metric defines (corpus BLEU).
        segments: the score of each, with the signature.
    """

    name: str
    score: float
    segments: MetricScores = field(repr=False)

    def format(self, width: int = 2) -> str:
        """Return the score as a line, with so many decimals."""
        return f"{self.name} = {self.score:.{width}f}"

    def __str__(self) -> str:
        return self.format()


class CorpusMetric:
    """A metric of the zoo, called as sacrebleu's are.

    Like those, it reads texts as they are, unless ``normalize`` is given.

    Args:
        metric: its name, or ``name:field=value,…``.
        settings: see `bsx.encode.session.SharedSettings`.
    """

    @settled(SharedSettings)
    def __init__(self, metric: str, settings: SharedSettings) -> None:
        self._made = (metric, set_fields(settings))
        given = set_fields(settings)
        (self.metric,) = get_metrics([metric], **(given if given.get("encoders") else {"normalize": "none", **given}))

    def corpus_score(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Sequence[str | None]] | None,
        sources: Sequence[str] | None = None,
    ) -> CorpusScore:
        """Score a corpus.

        Args:
            hypotheses: n texts.
            references: lists of n references, one list for each translator; None where one wrote nothing.
            sources: n texts, for metrics that need them.

        Raises:
            InputError: if lists differ in length, or what the metric needs is missing.
        """
        groups = None
        if references is not None:
            if isinstance(references, str) or any(isinstance(column, str) for column in references):
                raise InputError(
                    "references is a list of lists, one for each translator: write [references] for a single one"
                )
            rows = list(zip_longest(*references, fillvalue=...))
            if any(text is ... for row in rows for text in row):
                raise InputError(f"lists of references differ in length: {', '.join(str(len(c)) for c in references)}")
            groups = [[text for text in row if isinstance(text, str)] for row in rows]
        scores = self.metric.score(hypotheses, groups, sources)
        return CorpusScore(self.metric.spec, scores.system, scores)

    def sentence_score(
        self, hypothesis: str, references: Sequence[str] | None, source: str | None = None
    ) -> CorpusScore:
        """Score one text against its references."""
        columns = None if references is None else [[text] for text in references]
        return self.corpus_score([hypothesis], columns, None if source is None else [source])

    def get_signature(self) -> str:
        """Return the settings behind the scores."""
        return str(self.metric.signature())

    def rows(self, candidates: Sequence[str], references: object | None, sources: object | None = None) -> Values:
        """Return what the score of any set of segments is computed from by `of` (n, k): scores, or counts.

        Raises:
            InputError: for a metric that learns from the whole corpus (idf), which no part of it can replace.
        """
        prepared, _, (scored,) = paired_scores([self.metric], MemoryCorpus({"": candidates}, references, sources))
        if prepared.fitted[0] is not None:
            raise InputError(f"{self.metric.spec} learns from the whole corpus, and here it comes in parts")
        rows = scored.scores[""]
        return rows if rows.ndim == 2 else rows[:, None]

    def of(self, rows: Values) -> float:
        """Return the score of the segments behind some `rows`."""
        if rows.shape[1] == 1:
            return float(rows.mean())
        return float(self.metric.system_score(np.round(rows.sum(axis=0), 6)))

    def __deepcopy__(self, memo: object) -> CorpusMetric:
        return self  # it holds a model and no state

    def __reduce__(self) -> tuple[object, ...]:
        metric, settings = self._made
        return partial(CorpusMetric, **settings), (metric,)
