"""JSON as bsx writes it: strict, so that every reader takes it."""

from __future__ import annotations

import json
import math


def to_json(content: object) -> str:
    """Return JSON without escapes of letters; a number that is not finite, for which JSON has no word, is null.

    >>> to_json({"é": [1.5, float("nan")]})
    '{"é": [1.5, null]}'
    """
    return json.dumps(_finite(content), ensure_ascii=False, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
