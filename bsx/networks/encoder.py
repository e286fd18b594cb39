"""The frozen encoder under a trained metric: which one, which layers, which of its tokens."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, PositiveInt

from bsx.encode.model import LocatedModel
from bsx.encode.session import Encoders
from bsx.encode.states import States, encode_texts
from bsx.encode.tokenizer import Tokenizer
from bsx.errors import InputError, LanguageError, ModelUnavailableError, UnknownNameError


class EncoderRecord(BaseModel):
    """What a trained metric remembers of its encoder, so that no other one is taken for it.

    Attributes:
        model: how it was called: a registry name, a hub id, or the path of a folder.
        identity: its weights, ``hub:<commit>`` or ``sha256:<digest>``.
        config: digest of its configuration.
        tokenizer: sha256 over its tokenizer's files.
        layers: how many layers are mixed: all but the embedding layer.
        dimensions: size of a vector.
        max_pieces: word pieces read of a text, special tokens not counted.
        dtype: number format that it ran in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    identity: str
    config: str
    tokenizer: str
    layers: PositiveInt
    dimensions: PositiveInt
    max_pieces: PositiveInt
    dtype: str


def limited_tokenizer(located: LocatedModel, max_pieces: int) -> Tokenizer:
    """Return a model's tokenizer that reads so many word pieces of a text, beside its special tokens."""
    whole = located.tokenizer()
    return located.tokenizer(limit=max_pieces + len(whole.prefix) + len(whole.suffix))


class FrozenEncoder:
    """All layers of an encoder above its embeddings, at the word pieces of texts.

    Special tokens are encoded but not passed on. Source: Mathur et al. 2019 (configuration files).

    Args:
        encoders: where and how to run, and the model.
        max_pieces: word pieces read of a text.

    Raises:
        InputError: if nothing says which model to use.
        ModelUnavailableError: if it is neither here nor to be had.
    """

    def __init__(self, encoders: Encoders, *, max_pieces: int = 100) -> None:
        located = encoders.locate(None)
        self.tokenizer = limited_tokenizer(located, max_pieces)
        self.view = encoders.encoder(located).view(range(1, located.architecture.depth + 1))
        self.budget = encoders.budget
        self._in_form = encoders.in_form  # as the trained metric will read them
        name = located.choice.name if located.choice.entry is not None else str(encoders.model)
        self.record = EncoderRecord(
            model=os.path.realpath(name) if Path(name).is_dir() else name,
            identity=located.checkpoint.identity,
            config=located.checkpoint.config,
            tokenizer=located.checkpoint.tokenizer_digest,
            layers=len(self.view.layers),
            dimensions=self.view.dimensions,
            max_pieces=max_pieces,
            dtype=encoders.signed_dtype,
        )

    def states(self, texts: Sequence[str]) -> States:
        """Return the states of the word pieces of texts; vectors (layers, pieces, dim)."""
        states = encode_texts(self._in_form(texts), self.tokenizer, self.view)
        return states.select(~self.tokenizer.is_special[states.ids])


def find_again(record: EncoderRecord, encoders: Encoders, what: str) -> LocatedModel:
    """Find the encoder that a metric was trained on, where the encoders' model says, and make sure that it is the same.

    Raises:
        InputError: if weights, configuration or tokenizer are others than in training.
        ModelUnavailableError: if it is neither here nor to be had.
    """
    try:
        located = encoders.locate(encoders.model or record.model)
    except LanguageError:
        raise  # strict refuses the language: nothing is missing, as the message below would say
    except (InputError, ModelUnavailableError, UnknownNameError) as error:
        if encoders.model is not None:
            raise
        raise ModelUnavailableError(
            f"{what}: the encoder it was trained on, {record.model}, is not here ({error}); if it lies elsewhere "
            "now, model says where"
        ) from error
    for part, now, wanted in (
        ("weights", located.checkpoint.identity, record.identity),
        ("configuration", located.checkpoint.config, record.config),
        ("tokenizer", located.checkpoint.tokenizer_digest, record.tokenizer),
    ):
        if now != wanted:
            other = (
                f"leave out model {encoders.model}, or give it to the other metrics by themselves (METRIC:model=NAME)"
            )
            raise InputError(
                f"{what}: was trained on {record.model}, and reads no other encoder: the {part} of "
                f"{located.choice.name} are {now} now, {wanted} in training; "
                + (other if encoders.model is not None else "restore that encoder, or train again")
            )
    return located
