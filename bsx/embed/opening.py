"""From settings to something that encodes: an encoder in its batcher, behind a cache if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from bsx.embed.base import Embedder
from bsx.embed.batching import Batcher
from bsx.embed.cache import CachedEncoding, encoder_fields
from bsx.embed.lazy import LazyEmbedder
from bsx.embed.store import VectorCache
from bsx.embed.transformer import Architecture, TransformerEmbedder


def open_encoding(
    architecture: Architecture,
    layers: Sequence[int] | None,
    *,
    device: torch.device,
    dtype: Literal["fp32", "bf16", "fp16"],
    batch_tokens: int | None,
    final_norm: bool = True,
    trust_remote_code: bool = False,
    cache: VectorCache | None = None,
    weights: str = "",
) -> Batcher | CachedEncoding:
    """Return an encoder cut at a layer; with a cache, it is loaded when the cache lacks something.

    Args:
        architecture: what the checkpoint's configuration says.
        layers: the layers to return, or None for all.
        device: where to run.
        dtype: number format of weights and activations.
        batch_tokens: padded tokens of a batch; None for the device's default.
        final_norm: see `bsx.embed.transformer.TransformerEmbedder`.
        trust_remote_code: allow the checkpoint to run its own Python code.
        cache: where vectors outlive the run, if anywhere.
        weights: identity of the checkpoint's weights, for the cache.
    """

    def load() -> Embedder:
        return TransformerEmbedder(
            architecture,
            layers=layers,
            device=device,
            dtype=dtype,
            final_norm=final_norm,
            trust_remote_code=trust_remote_code,
        )

    if cache is None:
        return Batcher(load(), batch_tokens)
    lazy = LazyEmbedder(architecture, layers=layers, device=device, load=load)
    fields = encoder_fields(weights, architecture, dtype=dtype, device=device, final_norm=final_norm)
    return CachedEncoding(Batcher(lazy, batch_tokens), cache, fields, dtype)
