"""BLEURT: a regression model that reads reference and candidate together."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import nn

from bsx.encode.batching import pad
from bsx.encode.tokenizer import load_tokenizer
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.learned.regression import Regression
from bsx.support.arrays import tensor
from bsx.support.untyped import JsonObject, Untyped, blaming

_LIMIT = 512


class BleurtConfig(MetricConfig):
    """Settings of BLEURT."""

    model: Annotated[
        str | None, Field(description="Checkpoint in PyTorch: a folder or a hub id; the entry's unless given.")
    ] = None
    multi_ref: MultiRef = "best"


class BleurtModel(nn.Module):
    """BERT with a regression head; embeddings may be smaller than states, and are then projected.

    ELECTRA's encoder is BERT's with exactly that projection, so transformers' implementation of it runs the encoder.

    Args:
        config: the checkpoint's ``config.json``.
    """

    def __init__(self, config: JsonObject) -> None:
        from transformers import ElectraConfig, ElectraModel

        super().__init__()
        names = (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "hidden_act",
            "max_position_embeddings",
            "type_vocab_size",
            "layer_norm_eps",
            "pad_token_id",
        )
        settings = {name: config[name] for name in names if config.get(name) is not None}
        hidden = int(settings["hidden_size"])
        settings["embedding_size"] = int(config.get("embedding_size") or hidden)
        self.encoder = ElectraModel(ElectraConfig(**settings))
        self.pooler = nn.Linear(hidden, hidden)
        self.classifier = nn.Linear(hidden, 1)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> Untyped:
        """Return scores (batch,) of padded pairs (batch, tokens)."""
        states = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        return self.classifier(torch.tanh(self.pooler(states[:, 0])))[:, 0]


class Bleurt(Regression[BleurtConfig]):
    """A learned score of a candidate given a reference, about 0 to 1. Source: Sellam et al. 2020; Pu et al. 2021."""

    Config = BleurtConfig
    title = "BLEURT"
    architectures = ("bleurt", "bert")
    size_field = "hidden_size"

    def most_tokens(self) -> int:
        """Return how many tokens it reads at most: 512, or the checkpoint's positions."""
        return min(_LIMIT, int(self.checkpoint.get("max_position_embeddings", _LIMIT)))

    @cached_property
    def _pieces(self) -> Path | None:
        """SentencePiece's file, if the checkpoint has one."""
        files = (self.folder / name for name in ("sent_piece.model", "spiece.model", "spm.model"))
        return next((file for file in files if file.is_file()), None)

    @cached_property
    def _normalise(self) -> Callable[[str], str]:
        """What SentencePiece's file does to a text before it cuts it, which transformers leaves out."""
        if self._pieces is None or self.checkpoint.get("model_type") != "bleurt":
            return str
        from sentencepiece import SentencePieceNormalizer

        with blaming(f"{self._pieces}: cannot be used"):
            rules = SentencePieceNormalizer(
                model_file=str(self._pieces),
                add_dummy_prefix=False,
                escape_whitespaces=False,
                remove_extra_whitespaces=True,
            )
        normalise: Callable[[str], str] = rules.normalize
        return normalise

    @cached_property
    def _tokenizer(self) -> Untyped:
        from transformers import BertTokenizer, DebertaV2Tokenizer

        folder, pieces = self.folder, self._pieces
        if self.checkpoint.get("model_type") != "bleurt":
            return load_tokenizer(folder)
        with blaming(f"{folder}: its tokenizer (tokenizer.json, vocab.txt) cannot be loaded"):
            if pieces is not None:
                return DebertaV2Tokenizer.from_pretrained(folder, vocab_file=str(pieces))
            return BertTokenizer.from_pretrained(folder)

    def build(self, weights: dict[str, torch.Tensor]) -> BleurtModel:
        """Return the model; checkpoints call its encoder ``bleurt`` or ``bert``."""
        renamed = {}
        for name, weight in weights.items():
            head, _, rest = name.partition(".")
            if head in ("bleurt", "bert"):
                name = rest if rest.startswith("pooler.") else f"encoder.{rest}"
            name = name.replace("encoder.encoder.embedding_projection.", "encoder.embeddings_project.")
            renamed[name.replace("pooler.dense.", "pooler.")] = weight
        model = BleurtModel(self.checkpoint)
        self.load(model, renamed, ("position_ids", "token_type_ids"))
        return model.to(self.encoders.device).eval().requires_grad_(False)

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs, the reference read first; see `PairMetric.score_pairs`."""
        texts = [self._normalise(text) for text in pairs.texts]
        references, candidates = [texts[j] for j in pairs.right], [texts[i] for i in pairs.left]
        whole = self._tokenizer(references, candidates, verbose=False)["input_ids"]
        limits = {"truncation": "longest_first", "max_length": self.limit}
        cut = self._tokenizer(references, candidates, return_token_type_ids=True, verbose=False, **limits)
        lost = [len(ids) - len(kept) for ids, kept in zip(whole, cut["input_ids"], strict=True)]

        def forward(batch: list[int], ids: torch.Tensor, mask: torch.Tensor) -> Untyped:
            types, _ = pad([cut["token_type_ids"][i] for i in batch], 0, self.encoders.device)
            return self.model(ids, mask, tensor(types))

        values = self.score_sequences(cut["input_ids"], self.checkpoint.get("pad_token_id") or 0, forward)
        return PairScores(values, lost_together=np.array(lost, dtype=np.int64))
