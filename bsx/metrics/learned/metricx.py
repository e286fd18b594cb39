"""MetricX: an error score from 0 to 25 that mT5 gives a candidate, its reference, its source, or both."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import torch
from pydantic import Field

from bsx.encode.batching import default_batch_tokens, plan_batches
from bsx.encode.tokenizer import load_tokenizer
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.base import PairMetric
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.learned.resources import locate_resource
from bsx.models.files import TOKENIZERS, digest_of, matching_files
from bsx.support.arrays import finite, gathered
from bsx.support.environment import forbidden
from bsx.support.tensors import load_weights
from bsx.support.untyped import JsonObject, Untyped, blaming

if TYPE_CHECKING:
    from bsx.catalog.catalog import Catalog
    from bsx.catalog.entries.metrics import MetricEntry

_TOKENIZER = "google/mt5-small"
_SCORE = 250089  # <extra_id_10>, the piece whose logit is the score
_WORST = 25.0
_LIMITS = {"23": 1024, "24": 1536}
_COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")


class MetricXConfig(MetricConfig):
    """Settings of MetricX."""

    model: Annotated[str | None, Field(description="Checkpoint: a folder or a hub id; the entry's unless given.")] = (
        None
    )
    tokenizer: Annotated[
        str | None,
        Field(
            description="Tokenizer: a folder or a hub id. Unless given: the checkpoint's if it has one, else that of "
            "google/mt5-small, which all sizes of mT5 share."
        ),
    ] = None
    layout: Annotated[
        Literal["23", "24"],
        Field(description="What the model reads: that of MetricX-23, or of MetricX-24, which reads the source first."),
    ] = "24"
    multi_ref: MultiRef = "best"

    def reads(self, entry: MetricEntry, catalog: Catalog) -> frozenset[str]:
        """Return what the entry says; MetricX-23 reads no source beside a reference."""
        needs = frozenset(entry.needs)
        return needs - {"source"} if self.layout == "23" and "reference" in needs else needs


class MetricX(PairMetric[MetricXConfig]):
    """An error score of a candidate, 0 to 25, lower is better. Source: Juraska et al. 2023; Juraska et al. 2024.

    As google-research/metricx computes it: mT5 reads all texts as one, its decoder takes one step from the padding
    piece, and the logit of the piece <extra_id_10>, cut off at 0 and 25, is the score.
    """

    Config = MetricXConfig
    shares_model = False

    def setup(self) -> None:
        """Find the checkpoint and read its configuration."""
        if self.config.layout == "23" and self.config.model is None:
            raise InputError(f"{self.name}: layout 23 needs model: the default reads as MetricX-24 does")
        name = str(self.config.model or self.entry.model)
        self._resource = locate_resource(name, self.name)
        with blaming(f"{self._resource.folder}: its config.json cannot be used"):
            self._said: JsonObject = json.loads((self._resource.folder / "config.json").read_text(encoding="utf-8"))
            kind = self._said.get("model_type")
            if kind != "mt5":
                raise InputError(f"{self._resource.folder}: is a {kind} checkpoint, not MetricX's, which are mt5")
            if int(self._said["vocab_size"]) <= _SCORE:
                raise InputError(f"{self._resource.folder}: has {self._said['vocab_size']} pieces: too few for MetricX")

    @property
    def bytes_per_token(self) -> int:
        """Nothing is kept, but a batch's activations must fit."""
        return 8 * int(self._said["d_model"])

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the checkpoint's identity, and what it reads."""
        import transformers

        return {
            "model": self._resource.identity,
            "tokenizer": f"sha256-{digest_of(matching_files(self._pieces(), TOKENIZERS))[:12]}",
            "layout": self.config.layout,
            "limit": _LIMITS[self.config.layout],
            "dtype": "fp32",
            "backend": f"torch-{torch.__version__.partition('+')[0]}",
            "transformers": transformers.__version__,
        }

    @cached_property
    def _tokenizer(self) -> Untyped:
        return load_tokenizer(self._pieces())

    def _pieces(self) -> Path:
        """Return the folder of the tokenizer's files: the checkpoint's, one that was named, or the hub's.

        Raises:
            InputError: if it is neither a folder nor a hub id.
            ModelUnavailableError: if the hub cannot be reached and the files are not here.
        """
        if self.config.tokenizer is None and matching_files(self._resource.folder, ("tokenizer.json", "*.model")):
            return self._resource.folder
        name = self.config.tokenizer or _TOKENIZER
        if Path(name).is_dir():
            return Path(name)
        if name.count("/") != 1 or name.startswith((".", "/", "~")):
            raise InputError(f"{self.name}: tokenizer {name!r} is neither a folder nor a hub id like owner/name")
        from huggingface_hub import snapshot_download

        wanted = [*TOKENIZERS, "config.json"]
        try:
            found = snapshot_download(name, allow_patterns=wanted, local_files_only=forbidden() is not None)
        except Exception as error:  # a connection's errors share no class that the client exports
            why = forbidden() or str(error).partition("\n")[0]
            raise ModelUnavailableError(f"{self.name}: the tokenizer {name} is not on this machine: {why}") from error
        return Path(found)

    @cached_property
    def _model(self) -> tuple[Untyped, torch.Tensor]:
        """The encoder-decoder, and the row of the output layer that gives the score (d_model,)."""
        from transformers import MT5Config, MT5Model

        where = self._resource.folder
        with blaming(f"{where}: its config.json or its weights cannot be used"):
            weights = {name: tensor.float() for name, tensor in load_weights(where).items()}
            # transformers of today takes mT5's embeddings for tied, whatever the checkpoint says.
            tied = bool(self._said.get("tie_word_embeddings", True))
            head = weights.pop("lm_head.weight", None)
            if head is None and tied:
                head = weights.get("shared.weight")
            if head is None:
                raise InputError(f"{where}: is no MetricX checkpoint: its weights lack lm_head.weight")
            config = MT5Config(**{k: v for k, v in self._said.items() if k not in ("model_type", "architectures")})
            with torch.device("meta"):  # what does not fit takes no memory
                model = MT5Model(config)
            if "shared.weight" in weights:
                weights |= dict.fromkeys(_COPIES, weights["shared.weight"])
            missing, unexpected = model.load_state_dict(weights, strict=False, assign=True)
            unexpected = [
                name for name in unexpected if not name.endswith("EncDecAttention.relative_attention_bias.weight")
            ]
            if missing or unexpected:
                what = f"lack {missing[0]}" if missing else f"hold {unexpected[0]}, which mT5 has not"
                raise InputError(f"{where}: is no MetricX checkpoint: its weights {what}")
            row = head[_SCORE] * (int(self._said["d_model"]) ** -0.5 if tied else 1.0)
        made: Untyped = model
        device = self.encoders.device
        return made.to(device).eval().requires_grad_(False), row.to(device)

    def read(self, candidate: str, other: str, source: str | None) -> str:
        """Return what the model reads.

        Args:
            candidate: the candidate.
            other: its reference; its source, for a metric without references.
            source: its source, for a metric that reads both.
        """
        with_references = "reference" in self.needs
        if self.config.layout == "23":
            return f"candidate: {candidate} {'reference' if with_references else 'source'}: {other}"
        if not with_references:
            return f"source: {other} candidate: {candidate}"
        return f"source: {source or ''} candidate: {candidate} reference: {other}"

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs, each read as one text; see `PairMetric.score_pairs`."""
        sources = [None] * len(pairs.left) if pairs.sources is None else [pairs.texts[i] for i in pairs.sources]
        read = [
            self.read(pairs.texts[i], pairs.texts[j], source)
            for i, j, source in zip(pairs.left.tolist(), pairs.right.tolist(), sources, strict=True)
        ]
        # Upstream cuts with the end piece on, and then takes that off.
        most = _LIMITS[self.config.layout] - 1
        whole = self._tokenizer(read, add_special_tokens=False, verbose=False)["input_ids"]
        cut = [ids[:most] for ids in whole]
        lost = [len(ids) - len(kept) for ids, kept in zip(whole, cut, strict=True)]
        lengths = [len(ids) for ids in cut]
        done = []
        model, row = self._model
        device = self.encoders.device
        budget = self.encoders.config.batch_tokens or default_batch_tokens(device, int(self._said["d_model"]))
        for batch in plan_batches(lengths, budget):
            longest = max(lengths[i] for i in batch)
            ids = torch.tensor([[*cut[i], *[0] * (longest - lengths[i])] for i in batch], device=device)
            mask = torch.tensor([[1] * lengths[i] + [0] * (longest - lengths[i]) for i in batch], device=device)
            with torch.inference_mode():
                states = model(
                    input_ids=ids,
                    attention_mask=mask,
                    decoder_input_ids=torch.zeros((len(batch), 1), dtype=torch.long, device=device),
                    use_cache=False,
                ).last_hidden_state
                done.append((batch, (states[:, 0] @ row).clamp(0, _WORST).double()))
        values = gathered(done, len(read))
        if not finite(values):
            raise InputError(
                f"{self._resource.folder}: its weights (model.safetensors, or .bin) make scores that are no numbers"
            )
        return PairScores(values, lost_together=np.array(lost, dtype=np.int64))
