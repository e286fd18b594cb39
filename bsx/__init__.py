"""bsx: BERTScore and its relatives for any language, and a view of what a metric measures.

Importing this package is cheap: torch, transformers and pandas are imported when first needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bsx.bertscore.alignment import Alignment as Alignment
    from bsx.bertscore.idf import Idf as Idf
    from bsx.bertscore.results import Scores as Scores
    from bsx.bertscore.scorer import Scorer as Scorer
    from bsx.encode.session import Encoders as Encoders
    from bsx.errors import BsxError as BsxError
    from bsx.metrics.base import Metric as Metric
    from bsx.metrics.results import MetricScores as MetricScores
    from bsx.metrics.zoo import get_metric as get_metric
    from bsx.metrics.zoo import get_metrics as get_metrics
    from bsx.models.ranking import ModelChoice as ModelChoice
    from bsx.models.ranking import select_model as select_model
    from bsx.support.signature import Signature as Signature

    __version__: str

_HOMES = {
    "Alignment": "bsx.bertscore.alignment",
    "BsxError": "bsx.errors",
    "Encoders": "bsx.encode.session",
    "Idf": "bsx.bertscore.idf",
    "Metric": "bsx.metrics.base",
    "MetricScores": "bsx.metrics.results",
    "ModelChoice": "bsx.models.ranking",
    "Scorer": "bsx.bertscore.scorer",
    "Scores": "bsx.bertscore.results",
    "Signature": "bsx.support.signature",
    "get_metric": "bsx.metrics.zoo",
    "get_metrics": "bsx.metrics.zoo",
    "select_model": "bsx.models.ranking",
}

__all__ = [
    "Alignment",
    "BsxError",
    "Encoders",
    "Idf",
    "Metric",
    "MetricScores",
    "ModelChoice",
    "Scorer",
    "Scores",
    "Signature",
    "__version__",
    "get_metric",
    "get_metrics",
    "score",
    "select_model",
]


def score(candidates: object, references: object, *, lang: str | None = None, **settings: Any) -> Scores:
    """Score candidates against references in one call.

    Args:
        candidates: n texts.
        references: n texts, or n lists of texts.
        lang: BCP-47 language tag, which chooses the model, or ``auto`` to detect it from the references; or name a
            model with ``model=``.
        settings: as for `bsx.Scorer`.

    Returns:
        Precision, recall and F1 as arrays (n,), with their signature.
    """
    from bsx.bertscore.scorer import Scorer
    from bsx.data.corpus import as_references

    if lang == "auto":
        from bsx.data.detect import detect_language

        references = as_references(references)
        lang = detect_language(text for group in references for text in group).code
    return Scorer(lang=lang, **settings).score(candidates, references)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("bsx")  # read once: it costs milliseconds
        return globals()[name]
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'bsx' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
