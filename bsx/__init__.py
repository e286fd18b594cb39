"""bsx: BERTScore and its relatives for any language, and a view of what a metric measures.

Importing this package is cheap: torch, transformers and pandas are imported when first needed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bsx.loading import uncollected

if TYPE_CHECKING:
    from bsx.alignment import Alignment as Alignment
    from bsx.encoders import Encoders as Encoders
    from bsx.errors import BsxError as BsxError
    from bsx.idf import Idf as Idf
    from bsx.metrics.base import Metric as Metric
    from bsx.metrics.scores import MetricScores as MetricScores
    from bsx.metrics.zoo import get_metric as get_metric
    from bsx.metrics.zoo import get_metrics as get_metrics
    from bsx.scorer import Scorer as Scorer
    from bsx.scores import Scores as Scores
    from bsx.select import ModelChoice as ModelChoice
    from bsx.select import select_model as select_model
    from bsx.signature import Signature as Signature

    __version__: str

_HOMES = {
    "Alignment": "bsx.alignment",
    "BsxError": "bsx.errors",
    "Encoders": "bsx.encoders",
    "Idf": "bsx.idf",
    "Metric": "bsx.metrics.base",
    "MetricScores": "bsx.metrics.scores",
    "ModelChoice": "bsx.select",
    "Scorer": "bsx.scorer",
    "Scores": "bsx.scores",
    "Signature": "bsx.signature",
    "get_metric": "bsx.metrics.zoo",
    "get_metrics": "bsx.metrics.zoo",
    "select_model": "bsx.select",
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
    with uncollected():
        from bsx.scorer import Scorer
    from bsx.text import as_references

    if lang == "auto":
        from bsx.detect import detect_language

        references = as_references(references)
        lang = detect_language(text for group in references for text in group).code
    return Scorer(lang=lang, **settings).score(candidates, references)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("bsx")  # read once: it costs milliseconds
        return globals()[name]
    if name in _HOMES:
        with uncollected():
            return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'bsx' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
