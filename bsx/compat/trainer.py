"""``compute_metrics`` for the trainers of transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Unpack

import numpy as np

from bsx.encode.run_config import RunSettings
from bsx.metrics.zoo import get_metrics
from bsx.support.untyped import Untyped


def compute_metrics(
    tokenizer: Untyped,
    metrics: str | Iterable[str] = "chrf",
    *,
    model: str | None = None,
    lang: str | None = None,
    **run: Unpack[RunSettings],
) -> Callable[[Untyped], dict[str, float]]:
    """Return what ``Seq2SeqTrainer(compute_metrics=…)`` calls, with ``predict_with_generate=True``.

    Args:
        tokenizer: of the model that is trained: predictions and labels are decoded with it.
        metrics: names or ``name:field=value``; metrics that need references only.
        model: the model of metrics that need one.
        lang: the language of the texts.
        run: where to run, fields of `bsx.RunConfig`.

    Returns:
        A function from predictions and labels to each metric's corpus score.
    """
    loaded = get_metrics(metrics, model=model, lang=lang, **run)

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
