"""Where a document of results comes from: the command, the versions, the digests of what was read, the signatures."""

from __future__ import annotations

import functools
import hashlib
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

# Packages whose version can change a number.
_PACKAGES = (
    "torch",
    "transformers",
    "tokenizers",
    "numpy",
    "scipy",
    "scikit-learn",
    "statsmodels",
    "pot",
    "sacrebleu",
    "onnxruntime",
)


@functools.cache
def bsx_version() -> str:
    """Return the version of bsx that is installed; read once, because that takes milliseconds."""
    return metadata.version("bsx")


def versions() -> dict[str, str]:
    """Return the versions of bsx, Python and the installed packages that compute scores and statistics."""
    found = {"bsx": bsx_version(), "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def file_digest(file: str | Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def provenance(
    kind: str, files: Iterable[str | Path] = (), signatures: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return what a reader needs to repeat a result, to lie beside it in a JSON document.

    Args:
        kind: what the document holds: ``meta``, ``disentangle``, ``adversarial-triples``, ``ensemble``, …
        files: what was read. Standard input and pipes have no digest.
        signatures: metric -> signature, where known.

    Returns:
        A mapping with ``kind``, ``command``, ``versions``, ``files`` (name and sha256 each) and ``signatures``.
    """
    read = [Path(file) for file in files if Path(file).is_file()]
    return {
        "kind": kind,
        "command": shlex.join(["bsx", *sys.argv[1:]]),
        "versions": versions(),
        "files": [{"name": file.name, "sha256": file_digest(file)} for file in read],
        "signatures": dict(signatures or {}),
    }
