"""What metrics on words and characters have in common."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bsx.errors import BsxError, ModelUnavailableError
from bsx.metrics.blocks import Block
from bsx.support.download import download
from bsx.support.folders import cache_folder
from bsx.support.optional import need
from bsx.support.untyped import Untyped

if TYPE_CHECKING:
    from bsx.encode.session import Encoders


def present(references: Sequence[str]) -> list[str]:
    """Return the references that are not blank; one blank one if there is no other."""
    kept = [reference for reference in references if reference.strip()]
    return kept or [""]


def row_flags(block: Block) -> NDArray[np.bool_]:
    """Return which rows have no content on one side (rows,)."""
    rows = zip(block.candidates, block.references, strict=True)
    return np.array([not c.strip() or not any(r.strip() for r in refs) for c, refs in rows], dtype=bool)


def sacrebleu_tokenizer(encoders: Encoders) -> str:
    """Return sacreBLEU's tokenizer for the language of the run; 13a if none was given."""
    return "13a" if encoders.language is None else encoders.language.sacrebleu


@contextlib.contextmanager
def with_model_of(tokenizer: str) -> Iterator[None]:
    """Have sacreBLEU find the model of one of its tokenizers, fetched into bsx's cache unless sacreBLEU has it already.

    Left to itself it would ask the network even where that is forbidden, and write into the user's home.

    Raises:
        ModelUnavailableError: if the tokenizer has a model that is neither here nor to be had.
    """
    module: Untyped = need("sacrebleu.tokenizers.tokenizer_spm", "BLEU")
    known = module.SPM_MODELS.get(tokenizer)
    if known is None:
        yield
        return
    usual = module.SACREBLEU_DIR
    file = Path("models", os.path.basename(known["url"]))  # noqa: PTH119 - of a URL
    place = Path(usual)
    if not (place / file).is_file() and "SACREBLEU" not in os.environ:
        place = cache_folder() / "sacrebleu"
    if not (place / file).is_file():
        try:
            download(known["url"], place / file, None, None, otherwise=f"; {place / file} is where it belongs")
        except BsxError as error:
            raise ModelUnavailableError(
                f"sacreBLEU's tokenizer {tokenizer} is not on this machine: {error}; tokenize=char needs nothing more"
            ) from error
    module.SACREBLEU_DIR = str(place)
    try:
        yield
    finally:
        module.SACREBLEU_DIR = usual
