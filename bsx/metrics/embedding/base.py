"""What metrics on an encoder's hidden states have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bsx.encode.states import States, encode_texts
from bsx.metrics.base import PairMetric
from bsx.metrics.core import ConfigT, Fitted


class EncoderMetric(PairMetric[ConfigT]):
    """A metric on hidden states of one encoder; its configuration has a field ``model``."""

    def open_model(self, *, default: str | None = None) -> None:
        """Find the model, its tokenizer and how deep it is; ``default`` is the metric's own model, else the entry's."""
        named, default = getattr(self.config, "model", None), default or self.entry.model
        self.located = self.encoders.locate(named, default=default, sources="source" in self.needs)
        self.depth = self.located.architecture.depth
        self.tokenizer = self.located.tokenizer(context=self.context > 0)

    def use_layers(self, layers: Iterable[int]) -> None:
        """Say which layers `states` returns, in rising order.

        Raises:
            InputError: for a layer that the model does not have.
        """
        self._view = self.encoders.encoder(self.located).view(layers)
        self.tokenizer.token_bytes = self.bytes_per_token

    def states(self, texts: Sequence[str]) -> States:
        """Return the hidden states of distinct texts."""
        return encode_texts(texts, self.tokenizer, self._view)

    @property
    def bytes_per_token(self) -> int:
        """All layers' states, held twice while they are worked on."""
        return 8 * len(self._view.layers) * self._view.dimensions

    def signature_fields(self, fitted: Fitted) -> dict[str, object]:
        """Return model, number format and tokenizer."""
        return {
            "model": self.located.identity,
            "layers": f"{','.join(map(str, self._view.layers))}/{self.depth}",
            "limit": self.tokenizer.max_tokens or "unlimited",
            "dtype": self.encoders.signed_dtype,
            "tokenizer": f"{self.tokenizer.backend}@{self.located.checkpoint.tokenizer_digest[:8]}",
        }
