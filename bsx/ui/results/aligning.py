"""Token alignments of single segments, by an encoder that is opened when it is first asked for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from bsx.errors import BsxError, InputError
from bsx.support.provenance import Signature
from bsx.support.untyped import JsonObject

if TYPE_CHECKING:
    from bsx.bertscore.scorer import Scorer

MOST_TOKENS = 120
"""Of a side, that a page can draw."""


class Aligners:
    """Encoders by model and layer, one at a time: a page asks for one segment after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[str | None, int | None, str | None] | None = None
        self._scorer: Scorer | None = None

    def align(self, candidate: str, reference: str, signature: str, lang: str | None) -> JsonObject:
        """Return a token alignment as `bsx.bertscore.alignment.Alignment.to_dict`.

        Args:
            candidate: the text.
            reference: the other.
            signature: of a score of BERTScore whose model and layer are to be used; may be empty.
            lang: which chooses the model, where the signature does not say it.

        Raises:
            BsxError: if no encoder can run here, or texts cannot be aligned.
        """
        fields = Signature.read(signature)
        model = fields.get("model").partition("@")[0] or None
        layer = fields.get("layer").partition("/")[0]
        key = (model, int(layer) if layer.isdecimal() else None, lang)
        with self._lock:
            if self._key != key or self._scorer is None:
                self._scorer, self._key = _scorer(*key), key
            alignment: JsonObject = self._scorer.align(candidate, reference).to_dict()
        longest = max(len(alignment[side]["tokens"]) for side in ("candidate", "reference"))
        if longest > MOST_TOKENS:
            raise InputError(f"the texts are too long to draw: {longest} tokens, {MOST_TOKENS} are the most")
        return alignment


def _scorer(model: str | None, layer: int | None, lang: str | None) -> Scorer:
    """Open an encoder: the one of the scores, or else the best that is on this machine.

    Raises:
        BsxError: if there is none.
    """
    from bsx.bertscore.scorer import Scorer

    if model is None:
        from bsx.models.ranking import select_model

        try:
            model = select_model(lang or "en", available=True).name
        except BsxError as error:
            raise InputError(f"no encoder can run here: {error}") from error
    return Scorer(model=model) if layer is None else Scorer(model=model, layer=layer)
