"""Where a document of results comes from: the command, the versions, the digests of what was read, the signatures."""

from __future__ import annotations

import functools
import hashlib
import platform
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import ClassVar, Self

from bsx.support.folders import without_sheet
from bsx.support.untyped import JsonObject

# The one place that says it: pyproject.toml reads it here, so that a checkout knows it without being installed.
VERSION = "0.1.0"

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

# Where files lie on this machine is nobody's business, and helps nobody to repeat a result.
_ABSOLUTE = re.compile(r"(?:^|(?<=[=,:@]))(?:[A-Za-z]:)?[/\\](?:[^/\\,=]+[/\\])*(?=[^/\\,=])")


@dataclass(frozen=True)
class FileRead:
    """A file that a command read."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Provenance:
    """What a reader needs to repeat a result.

    Attributes:
        kind: what the document holds.
        command: as it would be typed in the folder of its files: absolute paths are cut to their last part.
        versions: package -> version.
        files: what was read.
        signatures: metric -> signature, where known.
    """

    kind: str
    command: str
    versions: dict[str, str]
    files: list[FileRead]
    signatures: dict[str, str]
    __pydantic_config__: ClassVar[Mapping[str, object]] = {"extra": "ignore"}

    @classmethod
    def read(cls, content: Mapping[str, object]) -> Self:
        """Return the provenance that a document holds.

        Raises:
            ValidationError: if it is none.
        """
        from pydantic import TypeAdapter

        result: Self = TypeAdapter(cls).validate_python(content)
        return result


def versions() -> dict[str, str]:
    """Return the versions of bsx, Python and the installed packages that compute scores and statistics."""
    return {"bsx": VERSION, "python": platform.python_version(), **_installed()}


@functools.cache
def _installed() -> dict[str, str]:
    results = {}
    for name in _PACKAGES:
        try:
            results[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return results


def file_digest(file: str | Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def provenance(kind: str, files: Iterable[str | Path] = (), signatures: Mapping[str, str] | None = None) -> JsonObject:
    """Return what a reader needs to repeat a result, to lie beside it in a JSON document.

    Args:
        kind: what the document holds: ``meta``, ``disentangle``, ``adversarial-triples``, ``ensemble``, …
        files: what was read. Standard input and pipes have no digest.
        signatures: metric -> signature, where known.

    Returns:
        A `Provenance` as a mapping.
    """
    read = [path for file in files if (path := without_sheet(file)[0]).is_file()]
    result = Provenance(
        kind=kind,
        command=shlex.join(["bsx", *(_ABSOLUTE.sub("", argument) for argument in sys.argv[1:])]),
        versions=versions(),
        files=[FileRead(name=file.name, sha256=file_digest(file)) for file in read],
        signatures=dict(signatures or {}),
    )
    return asdict(result)
