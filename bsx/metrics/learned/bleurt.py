"""BLEURT: a regression model that reads reference and candidate together."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import nn

from bsx.encode.batching import default_batch_tokens, plan_batches
from bsx.encode.tokenizer import load_tokenizer
from bsx.errors import InputError
from bsx.metrics.base import PairMetric
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.learned.resources import locate_resource
from bsx.support.arrays import finite, gathered
from bsx.support.tensors import load_weights
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

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Return scores (batch,) of padded pairs (batch, tokens)."""
        states = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        scores: torch.Tensor = self.classifier(torch.tanh(self.pooler(states[:, 0])))
        return scores[:, 0]

    def load(self, weights: dict[str, torch.Tensor], where: Path) -> None:
        """Take over a checkpoint's weights, whose encoder is called ``bleurt`` or ``bert``.

        Raises:
            InputError: if weights are missing or left over.
        """
        renamed = {}
        for name, tensor in weights.items():
            head, _, rest = name.partition(".")
            if head in ("bleurt", "bert"):
                name = rest if rest.startswith("pooler.") else f"encoder.{rest}"
            name = name.replace("encoder.encoder.embedding_projection.", "encoder.embeddings_project.")
            renamed[name.replace("pooler.dense.", "pooler.")] = tensor.float()
        missing, unexpected = self.load_state_dict(renamed, strict=False)
        unexpected = [name for name in unexpected if not name.endswith(("position_ids", "token_type_ids"))]
        if missing or unexpected:
            what = f"lack {missing[0]}" if missing else f"hold {unexpected[0]}, which BLEURT has not"
            raise InputError(f"{where}: is no BLEURT checkpoint: its weights (model.safetensors, or .bin) {what}")


class Bleurt(PairMetric[BleurtConfig]):
    """A learned score of a candidate given a reference, about 0 to 1. Source: Sellam et al. 2020; Pu et al. 2021."""

    Config = BleurtConfig
    shares_model = False

    def setup(self) -> None:
        """Find the checkpoint and read its configuration."""
        name = self.config.model or self.entry.model
        self._resource = locate_resource(str(name), "bleurt")
        with blaming(f"{self._resource.folder}: its config.json cannot be used"):
            self._said = json.loads((self._resource.folder / "config.json").read_text(encoding="utf-8"))
            kind = self._said.get("model_type")
            if kind not in ("bleurt", "bert"):
                raise InputError(f"{self._resource.folder}: is a {kind} checkpoint, not BLEURT's")
            int(self._said["hidden_size"]), self._limit

    @property
    def bytes_per_token(self) -> int:
        """Nothing is kept, but a batch's activations must fit."""
        return 8 * int(self._said["hidden_size"])

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the checkpoint's identity."""
        import transformers

        return {
            "model": self._resource.identity,
            "limit": self._limit,
            "dtype": "fp32",
            "backend": f"torch-{torch.__version__.partition('+')[0]}",
            "transformers": transformers.__version__,
        }

    @property
    def _limit(self) -> int:
        return min(_LIMIT, int(self._said.get("max_position_embeddings", _LIMIT)))

    @cached_property
    def _pieces(self) -> Path | None:
        """SentencePiece's file, if the checkpoint has one."""
        names = ("sent_piece.model", "spiece.model", "spm.model")
        files = (self._resource.folder / name for name in names)
        return next((file for file in files if file.is_file()), None)

    @cached_property
    def _normalise(self) -> Callable[[str], str]:
        """What SentencePiece's file does to a text before it cuts it, which transformers leaves out."""
        if self._pieces is None or self._said.get("model_type") != "bleurt":
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

        folder, pieces = self._resource.folder, self._pieces
        if self._said.get("model_type") != "bleurt":
            return load_tokenizer(folder)
        with blaming(f"{folder}: its tokenizer (tokenizer.json, vocab.txt) cannot be loaded"):
            if pieces is not None:
                return DebertaV2Tokenizer.from_pretrained(folder, vocab_file=str(pieces))
            return BertTokenizer.from_pretrained(folder)

    @cached_property
    def _model(self) -> BleurtModel:
        with blaming(f"{self._resource.folder}: its config.json or its weights cannot be used"):
            weights = load_weights(self._resource.folder)
            if int(self._said.get("num_hidden_layers", 0)) > len(weights):
                raise ValueError("it says more layers than there are weights")
            with torch.device("meta"):  # what does not fit takes no memory
                BleurtModel(self._said).load({n: w.to("meta") for n, w in weights.items()}, self._resource.folder)
            model = BleurtModel(self._said)
            model.load(weights, self._resource.folder)
        return model.to(self.encoders.device).eval().requires_grad_(False)

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs, the reference read first; see `PairMetric.score_pairs`."""
        read = [self._normalise(text) for text in pairs.texts]
        texts = [(read[j], read[i]) for i, j in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)]
        encoded = self._tokenizer(
            [a for a, _ in texts], [b for _, b in texts], return_token_type_ids=True, verbose=False
        )
        cut = self._tokenizer(
            [a for a, _ in texts],
            [b for _, b in texts],
            return_token_type_ids=True,
            truncation="longest_first",
            max_length=self._limit,
            verbose=False,
        )
        lengths = [len(ids) for ids in cut["input_ids"]]
        lost = [len(whole) - kept for whole, kept in zip(encoded["input_ids"], lengths, strict=True)]
        done = []
        device = self.encoders.device
        budget = self.encoders.config.batch_tokens or default_batch_tokens(device)
        for batch in plan_batches(lengths, budget):
            longest = max(lengths[i] for i in batch)
            tensors = []
            for name, fill in (
                ("input_ids", self._said.get("pad_token_id") or 0),
                ("attention_mask", 0),
                ("token_type_ids", 0),
            ):
                rows = [[*cut[name][i], *[fill] * (longest - lengths[i])] for i in batch]
                tensors.append(torch.tensor(rows, device=device))
            with torch.inference_mode():
                done.append((batch, self._model(*tensors).double()))
        values = gathered(done, len(texts))
        if not finite(values):
            raise InputError(
                f"{self._resource.folder}: its weights (model.safetensors, or .bin) make scores that are no numbers"
            )
        return PairScores(values, lost_together=np.array(lost, dtype=np.int64))
