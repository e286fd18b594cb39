"""How fluent a text is to a causal language model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from bsx.encode.architecture import use_own_code
from bsx.encode.batching import pad, plan_batches
from bsx.encode.session import Encoders
from bsx.encode.tokenizer import load_tokenizer
from bsx.errors import InputError
from bsx.metrics.learned.regression import locate_resource
from bsx.support.arrays import finite, tensor
from bsx.support.untyped import Settings, Untyped, blaming

_BATCH_TOKENS = 2048


class LanguageModel:
    """A causal language model, named by a folder or a hub id, that scores texts where the encoders run.

    Attributes:
        identity: name and shortened digest, for a signature.
    """

    def __init__(self, name: str, encoders: Encoders) -> None:
        self._folder, self.identity = locate_resource(name, "language model")
        self._device = encoders.device
        self._tokenizer = load_tokenizer(self._folder)

    @cached_property
    def _model(self) -> Untyped:
        from transformers import AutoConfig, AutoModelForCausalLM

        local: Settings = {"local_files_only": True, "trust_remote_code": False}
        folder = self._folder
        with blaming(f"{folder}: cannot be loaded as a language model"):
            config = AutoConfig.from_pretrained(folder, **local)
            use_own_code(config, folder)
            model: Untyped = AutoModelForCausalLM.from_pretrained(folder, config=config, weights_only=True, **local)
        return model.float().to(self._device).eval().requires_grad_(False)

    def score(self, texts: Sequence[str], *, root: bool = False) -> NDArray[np.float64]:
        """Return each text's mean log-likelihood of a token in nats, 0 for a text of at most one token.

        Args:
            texts: the texts; those beyond the model's positions are cut.
            root: return exp(mean log-likelihood) ** (1 / tokens) instead, which normalises by length twice, as the
                second released code does.
        """
        limit = getattr(self._model.config, "max_position_embeddings", None)
        ids = [self._tokenizer(text, add_special_tokens=False)["input_ids"][:limit] for text in texts]
        values = np.zeros(len(texts))
        scored = [i for i, tokens in enumerate(ids) if len(tokens) > 1]
        for batch in plan_batches([len(ids[i]) for i in scored], _BATCH_TOKENS):
            rows = [scored[i] for i in batch]
            token_ids, present = pad([ids[i] for i in rows], 0, self._device)
            padded = tensor(token_ids)
            mask = torch.ones_like(padded) if present is None else tensor(present)
            with torch.inference_mode():
                logits = self._model(input_ids=padded, attention_mask=mask).logits[:, :-1]
            chosen = logits.log_softmax(dim=-1).gather(2, padded[:, 1:, None])[..., 0] * mask[:, 1:]
            mean = (chosen.sum(dim=1) / (mask.sum(dim=1) - 1)).double().cpu().numpy()
            lengths = np.array([len(ids[i]) for i in rows])
            if not finite(mean):
                raise InputError(f"{self._folder}: its weights cannot be used: they make no finite numbers")
            values[rows] = np.exp(mean) ** (1 / lengths) if root else mean
        return values
