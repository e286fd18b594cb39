"""A chosen model with its files on this machine: what its tokenizer and its encoder are opened from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bsx.catalog.catalog import Catalog
from bsx.encode.architecture import Architecture
from bsx.encode.tokenizer import LongText, Specials, Tokenizer, load_tokenizer
from bsx.errors import InputError
from bsx.models.files import TOKENIZERS, part_of
from bsx.models.locate import Checkpoint, Choice, locate
from bsx.support.untyped import Untyped, blaming


@dataclass(frozen=True)
class LocatedModel:
    """A chosen model with its files on this machine.

    Attributes:
        choice: what was chosen.
        checkpoint: its files.
        architecture: its configuration.
        trust_remote_code: whether it may bring its own tokenizer code.
        budget: bytes of memory that one text may take; None if unlimited.
    """

    choice: Choice
    checkpoint: Checkpoint
    architecture: Architecture
    trust_remote_code: bool = False
    budget: int | None = None

    @property
    def identity(self) -> str:
        """Name and shortened digest, for a signature."""
        unknown = self.choice.entry is None and self.choice.source.path
        name = Path(os.path.realpath(unknown)).name if unknown else self.choice.name  # where it lies changes no score
        return f"{name}@{self.checkpoint.label}"

    @cached_property
    def _inner_tokenizer(self) -> Untyped:
        return load_tokenizer(self.checkpoint.folder, light=True, trust_remote_code=self.trust_remote_code)

    def tokenizer(
        self,
        *,
        limit: int | None = None,
        leading_space: bool | None = None,
        specials: Specials = "match",
        long: LongText = "truncate",
        before: str = "",
        keep_before: bool = False,
        context: bool = False,
    ) -> Tokenizer:
        """Return the model's tokenizer with its rules.

        Args:
            limit: a further limit on the tokens of a text.
            leading_space: put a space before each text; what the registry says unless given.
            specials: whether special tokens may be matched.
            long: what happens to a text that is too long.
            before: a text that every text follows.
            keep_before: whether its vectors are kept.
            context: whether texts come with context in front.
        """
        entry = self.choice.entry
        limits = [self.architecture.position_limit, entry.max_tokens if entry is not None else None, limit]
        if leading_space is None:
            leading_space = entry.leading_space if entry is not None else False
        folder = self.checkpoint.folder
        with blaming(f"{folder}: {part_of(folder, 'its tokenizer', TOKENIZERS)} cannot be used"):
            return Tokenizer(
                self._inner_tokenizer,
                position_limit=min((at for at in limits if at is not None), default=None),
                leading_space=leading_space,
                specials=specials,
                long=long,
                before=before,
                keep_before=keep_before,
                context=context,
                vocabulary=self.architecture.vocabulary,
                budget=self.budget,
                # Scores of attention, their bias, and both once more while they are worked on.
                pair_bytes=16 * self.architecture.heads,
            )


def locate_model(
    choice: Choice, catalog: Catalog, *, trust_remote_code: bool = False, budget: int | None = None
) -> LocatedModel:
    """Find or fetch a model's files and read its configuration.

    Raises:
        ModelUnavailableError: if its files are neither here nor to be had.
        InputError: if the files are not what the registry says.
    """
    catalog.require("families.yaml")
    checkpoint = locate(choice, catalog)
    architecture = Architecture.read(checkpoint.folder, catalog.families, trust_remote_code=trust_remote_code)
    entry = choice.entry
    if entry is not None and entry.layers != architecture.depth:
        raise InputError(
            f"{entry.name}: the registry says {entry.layers} layers, the checkpoint in {checkpoint.folder} "
            f"has {architecture.depth}: correct the entry"
        )
    return LocatedModel(choice, checkpoint, architecture, trust_remote_code, budget)
