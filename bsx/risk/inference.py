"""The small network that tells from a word's vector, its features and those of its neighbours whether it is wrong."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError

Floats32 = NDArray[np.float32]


class TrainedNetwork:
    """A layer on each word, one on each word with its two neighbours, and a logit.

    Args:
        arrays: what `bsx.risk.network.RiskNetwork` learned, by name.
        name: what to call them in messages.

    Raises:
        InputError: if an array is missing or of another shape.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.floating]], name: str) -> None:
        try:
            self._of = {key: np.asarray(array, dtype=np.float32) for key, array in arrays.items()}
            hidden, inputs = self._of["entrance.weight"].shape
            shapes = {
                **{"centre": (inputs,), "spread": (inputs,), "entrance.bias": (hidden,), "exit.weight": (1, hidden)},
                **{"neighbours.weight": (hidden, hidden, 3), "neighbours.bias": (hidden,), "exit.bias": (1,)},
            }
            wrong = [key for key, shape in shapes.items() if self._of[key].shape != shape]
        except (KeyError, ValueError) as error:
            raise InputError(f"{name}: does not hold the weights of such a network ({error})") from error
        if wrong:
            raise InputError(f"{name}: does not hold the weights of such a network (shape of {', '.join(wrong)})")
        self.inputs = int(inputs)

    def logits(self, x: Floats32) -> Floats32:
        """Return the logit of each word of one text (words,), from its words' inputs (words, inputs)."""
        of = self._of
        hidden = np.maximum((x - of["centre"]) / of["spread"] @ of["entrance.weight"].T + of["entrance.bias"], 0)
        framed = np.pad(hidden, ((1, 1), (0, 0)))  # nothing stands before the first word, nor after the last
        three = np.concatenate([framed[:-2], framed[1:-1], framed[2:]], axis=1)
        weights = np.concatenate(list(np.moveaxis(of["neighbours.weight"], 2, 0)), axis=1)
        beside = np.maximum(three @ weights.T + of["neighbours.bias"], 0)
        logits: Floats32 = ((hidden + beside) @ of["exit.weight"].T + of["exit.bias"])[:, 0]
        return logits


def word_inputs(vectors: Floats32, features: NDArray[np.float64]) -> Floats32:
    """Return what the network takes of each word (words, dim + features): its vector, normalised by itself, first.

    Args:
        vectors: of the words (words, dim).
        features: see `bsx.risk.features.word_features` (words, features).
    """
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    own = centred / (vectors.std(axis=-1, ddof=1, keepdims=True) + np.float32(1e-5))
    return np.concatenate([own, features], axis=-1).astype(np.float32)
