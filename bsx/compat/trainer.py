"""``compute_metrics`` for the trainers of transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from bsx.encode.session import SharedSettings
from bsx.metrics.base import get_metrics
from bsx.support.settings import set_fields, settled
from bsx.support.untyped import Untyped


@settled(SharedSettings)
def compute_metrics(
    tokenizer: Untyped, metrics: str | Iterable[str], settings: SharedSettings
) -> Callable[[Untyped], dict[str, float]]:
    """Return what ``Seq2SeqTrainer(compute_metrics=…)`` calls, with ``predict_with_generate=True``.

    Args:
        tokenizer: of the model that is trained: predictions and labels are decoded with it.
        metrics: names or ``name:field=value``; metrics that need references only.
        settings: see `bsx.encode.session.SharedSettings`.

    Returns:
        A function from predictions and labels to each metric's corpus score.
    """
    loaded = get_metrics(metrics, **set_fields(settings))

    def texts(ids: Untyped) -> list[str]:
        array = np.asarray(ids[0] if isinstance(ids, tuple) else ids)
        if array.ndim == 3:  # scores of the whole vocabulary, without predict_with_generate
            array = array.argmax(axis=-1)
        # -100 marks what the loss leaves out.
        decoded = tokenizer.batch_decode(np.where(array < 0, tokenizer.pad_token_id, array), skip_special_tokens=True)
        return [text.strip() for text in decoded]

    def compute(prediction: Untyped) -> dict[str, float]:
        candidates, references = texts(prediction.predictions), texts(prediction.label_ids)
        return {metric.spec: metric.score(candidates, references).system for metric in loaded}

    return compute
