"""MetricX: an error score from 0 to 25 that mT5 gives a candidate, its reference, its source, or both."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import torch
from pydantic import Field

from bsx.encode.tokenizer import load_tokenizer
from bsx.errors import InputError, ModelUnavailableError
from bsx.metrics.core import MetricConfig, MultiRef, Pairs, PairScores
from bsx.metrics.learned.regression import Regression
from bsx.models.files import TOKENIZERS, digest_of, matching_files
from bsx.support.environment import forbidden
from bsx.support.untyped import Untyped

if TYPE_CHECKING:
    from bsx.catalog.catalog import Catalog
    from bsx.catalog.entries.metrics import MetricEntry

_TOKENIZER = "google/mt5-small"
_SCORE = 250089  # <extra_id_10>, the piece whose logit is the score
_WORST = 25.0
_LIMITS = {"23": 1024, "24": 1536}
_READS = {  # by layout, and whether there are references
    ("23", True): "candidate: {candidate} reference: {other}",
    ("23", False): "candidate: {candidate} source: {other}",
    ("24", True): "source: {source} candidate: {candidate} reference: {other}",
    ("24", False): "source: {other} candidate: {candidate}",
}
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


class MetricX(Regression[MetricXConfig]):
    """An error score of a candidate, 0 to 25, lower is better. Source: Juraska et al. 2023; Juraska et al. 2024.

    As google-research/metricx computes it: mT5 reads all texts as one, its decoder takes one step from the padding
    piece, and the logit of the piece <extra_id_10>, cut off at 0 and 25, is the score.
    """

    Config = MetricXConfig
    title = "MetricX"
    architectures = ("mt5",)
    size_field = "d_model"

    def setup(self) -> None:
        """Find the checkpoint and read its configuration."""
        if self.config.layout == "23" and self.config.model is None:
            raise InputError(f"{self.name}: layout 23 needs model: the default reads as MetricX-24 does")
        super().setup()
        if int(self.checkpoint.get("vocab_size", 0)) <= _SCORE:
            raise InputError(f"{self.folder}: has {self.checkpoint.get('vocab_size')} pieces: too few for MetricX")

    def most_tokens(self) -> int:
        """Return how many tokens it reads at most."""
        return _LIMITS[self.config.layout]

    def signature_fields(self, fitted: object) -> dict[str, object]:
        """Return the checkpoint's identity, and what it reads."""
        tokenizer = f"sha256-{digest_of(matching_files(self._pieces(), TOKENIZERS))[:12]}"
        return {**super().signature_fields(fitted), "tokenizer": tokenizer, "layout": self.config.layout}

    @cached_property
    def _tokenizer(self) -> Untyped:
        return load_tokenizer(self._pieces())

    def _pieces(self) -> Path:
        """Return the folder of the tokenizer's files: the checkpoint's, one that was named, or the hub's."""
        if self.config.tokenizer is None and matching_files(self.folder, ("tokenizer.json", "*.model")):
            return self.folder
        name = self.config.tokenizer or _TOKENIZER
        if Path(name).is_dir():
            return Path(name)
        if name.count("/") != 1 or name.startswith((".", "/", "~")):
            raise InputError(f"{self.name}: tokenizer {name!r} is neither a folder nor a hub id like owner/name")
        from huggingface_hub import snapshot_download

        wanted = [*TOKENIZERS, "config.json"]
        try:
            return Path(snapshot_download(name, allow_patterns=wanted, local_files_only=forbidden() is not None))
        except Exception as error:  # a connection's errors share no class that the client exports
            why = forbidden() or str(error).partition("\n")[0]
            raise ModelUnavailableError(f"{self.name}: the tokenizer {name} is not on this machine: {why}") from error

    def build(self, weights: dict[str, torch.Tensor]) -> tuple[Untyped, torch.Tensor]:
        """Return the encoder-decoder, and the row of the output layer that gives the score (d_model,)."""
        from transformers import MT5Config, MT5Model

        # transformers of today takes mT5's embeddings for tied, whatever the checkpoint says.
        tied = bool(self.checkpoint.get("tie_word_embeddings", True))
        head = weights.pop("lm_head.weight", weights.get("shared.weight") if tied else None)
        if head is None:
            raise self.bad_weights("lack lm_head.weight")
        settings = {k: v for k, v in self.checkpoint.items() if k not in ("model_type", "architectures")}
        with torch.device("meta"):  # its weights are the checkpoint's
            model: Untyped = MT5Model(MT5Config(**settings))
        if "shared.weight" in weights:
            weights |= dict.fromkeys(_COPIES, weights["shared.weight"])
        self.load(model, weights, ("EncDecAttention.relative_attention_bias.weight",))
        row = head[_SCORE] * (self.dimensions**-0.5 if tied else 1.0)
        device = self.encoders.device
        return model.to(device).eval().requires_grad_(False), row.to(device)

    def score_pairs(self, pairs: Pairs, fitted: object) -> PairScores:
        """Score pairs, each read as one text; see `PairMetric.score_pairs`."""
        layout = _READS[self.config.layout, "reference" in self.needs]
        # Where there are no sources, the layout names none.
        sides = [pairs.left, pairs.right, pairs.left if pairs.sources is None else pairs.sources]
        rows = ([pairs.texts[i] for i in row] for row in np.stack(sides, axis=1).tolist())
        read = [layout.format(candidate=text, other=other, source=source) for text, other, source in rows]
        # Upstream cuts with the end piece on, and then takes that off.
        whole = self._tokenizer(read, add_special_tokens=False, verbose=False)["input_ids"]
        cut = [ids[: self.limit - 1] for ids in whole]
        lost = [len(ids) - len(kept) for ids, kept in zip(whole, cut, strict=True)]
        model, row = self.model

        def forward(batch: list[int], ids: torch.Tensor, mask: torch.Tensor) -> Untyped:
            start = torch.zeros((len(batch), 1), dtype=torch.long, device=ids.device)
            states = model(input_ids=ids, attention_mask=mask, decoder_input_ids=start, use_cache=False)
            return (states.last_hidden_state[:, 0] @ row).clamp(0, _WORST)

        return PairScores(self.score_sequences(cut, 0, forward), lost_together=np.array(lost, dtype=np.int64))
