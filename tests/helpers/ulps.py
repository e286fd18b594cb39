"""Noise of a few units in the last place on all token vectors, as another processor's kernels would make it."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest


def noisy(vectors: Any, content: bytes, ulps: int) -> Any:
    """Return vectors each of whose numbers is up to ``ulps`` units in the last place of fp32 away.

    As with a processor, the same batch gets the same noise each time, and another batch with the same text another.

    Args:
        vectors: of a batch (layers, batch, tokens, dim).
        content: the batch.
        ulps: the most units.
    """
    rng = np.random.default_rng(zlib.crc32(content))
    units = rng.integers(-ulps, ulps + 1, size=tuple(vectors.shape), dtype=np.int8)
    factors = 1 + units.astype(np.float32) * np.float32(2**-23)
    if isinstance(vectors, np.ndarray):
        return vectors * factors.astype(vectors.dtype)
    import torch

    return vectors * torch.from_numpy(factors).to(vectors)


def disturb(patch: pytest.MonkeyPatch, ulps: int) -> None:
    """Let every encoder of this process give noisy vectors."""
    from bsx.encode.light import LightEmbedder
    from bsx.encode.torch_encoder import TransformerEmbedder
    from bsx.support.arrays import fetch

    for kind in (LightEmbedder, TransformerEmbedder):

        def begin(self: Any, ids: Any, mask: Any, plain: Any = kind.begin) -> Any:
            parts = [np.ascontiguousarray(fetch(one)) for one in (ids, mask) if one is not None]
            content = b" ".join(part.tobytes() + str(part.shape).encode() for part in parts)
            finish = plain(self, ids, mask)
            return lambda: noisy(finish(), content, ulps)

        patch.setattr(kind, "begin", begin)
