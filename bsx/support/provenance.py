"""Where figures come from: the settings of a score as one line, and of a document the command, versions and files."""

from __future__ import annotations

import contextlib
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

_NOTE = "note"


def _one_field(text: str) -> str:
    """Escape what would end a field or the line."""
    return text.replace("|", "%7C").replace("\n", "%0A")


SOFTWARE = frozenset(
    {"backend", "bsx", "nltk", "python", "rouge_score", "sacrebleu", "tokenizer", "torch", "transformers", "version"}
)
"""Fields that say which packages ran; the others are settings."""


def other_weights(*identities: str) -> bool:
    """Tell whether two identities, ``name@kind-digest``, are of different weights; those of two kinds nobody can tell.

    >>> other_weights("minilm@sha256-53aa", "copy@sha256-53aa"), other_weights("a@sha256-53aa", "a@sha256-9f7a")
    (False, True)
    >>> other_weights("a@hub-8d1c", "a@sha256-53aa")
    False
    """
    (kind, _, digest), (other_kind, _, other) = (name.rpartition("@")[2].partition("-") for name in identities)
    return kind == other_kind and digest != other


@dataclass(frozen=True)
class Signature:
    """Name-value pairs that identify a computation.

    Two runs with equal signatures and equal input agree (fp32: within 1e-5). Device, batch size, memory budget and
    thread count are not part of it, because they do not change a score beyond that tolerance. What speaks against the
    scores stands at the end as its notes: it belongs to them, but makes them no other scores.

    >>> print(Signature.of({"metric": "bertscore", "idf": False}, ["minilm was not trained on Swahili"]))
    metric:bertscore|idf:no|note:minilm was not trained on Swahili
    """

    fields: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, fields: Mapping[str, object], notes: Iterable[str] = ()) -> Signature:
        """Build a signature; booleans become ``yes`` and ``no``."""
        pairs = [*fields.items(), *((_NOTE, note) for note in notes)]
        texts = ((name, ("no", "yes")[value] if isinstance(value, bool) else str(value)) for name, value in pairs)
        return cls(tuple((name, _one_field(text)) for name, text in texts))

    @property
    def notes(self) -> tuple[str, ...]:
        """What speaks against the scores, such as a language that the model was not trained on; one sentence each."""
        return tuple(value for name, value in self.fields if name == _NOTE)

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that stand for the whole signature, its notes aside."""
        return hashlib.sha256(str(self.without_notes()).encode()).hexdigest()[:12]

    def without_notes(self) -> Signature:
        """Return what identifies the computation, and nothing else."""
        return Signature(tuple((name, value) for name, value in self.fields if name != _NOTE))

    def doubted(self, notes: Iterable[str]) -> Signature:
        """Return it with further notes."""
        further = [(_NOTE, _one_field(note)) for note in notes]
        return Signature((*self.fields, *(field for field in further if field not in self.fields)))

    @classmethod
    def read(cls, text: str) -> Signature:
        """Return what is spelled ``name:value|…``."""
        return cls(tuple(part.partition(":")[::2] for part in text.split("|")))

    def differs(self, other: Signature) -> list[str]:
        """Return the fields that make scores of the two incomparable.

        Before there was ``normalize``, texts were read as they are; nearly all are in NFC, where that is the same.
        In fp32, backends agree within 1e-5: `onnxruntime` or `torch`, whichever is installed, is no difference.

        >>> one, two = (Signature.read(f"metric:bertscore|layer:4|dtype:fp32|backend:{b}") for b in ("torch", "onnx"))
        >>> one.differs(two), one.differs(Signature.read("metric:bertscore|layer:5|dtype:fp32|backend:torch"))
        ([], ['layer'])
        """
        mine, theirs = dict(self.fields), dict(other.fields)
        results = [name for name in {**mine, **theirs} if name != _NOTE and mine.get(name) != theirs.get(name)]
        results = [name for name in results if not (name == "normalize" and None in (mine.get(name), theirs.get(name)))]
        same = mine.get("dtype") == theirs.get("dtype") == "fp32"
        return [name for name in results if not (same and name == "backend")]

    def get(self, name: str) -> str:
        """Return a field's value; nothing if there is no such field."""
        return dict(self.fields).get(name, "")

    def __str__(self) -> str:
        return "|".join(f"{name}:{value}" for name, value in self.fields)

    def __getitem__(self, name: str) -> str:
        return dict(self.fields)[name]


# The one place that says it: pyproject.toml reads it here, so that a checkout knows it without being installed.
VERSION = "0.1.0"

# Packages whose version can change a number.
_PACKAGES = (
    *("torch", "transformers", "tokenizers"),
    *("numpy", "scipy", "scikit-learn", "statsmodels"),
    *("pot", "sacrebleu", "onnxruntime"),
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
        """Return the provenance that a document holds; pydantic's ValidationError is raised if that is none."""
        from pydantic import TypeAdapter

        result: Self = TypeAdapter(cls).validate_python(content)
        return result


@functools.cache
def versions() -> Mapping[str, str]:
    """Return the versions of bsx, Python and the installed packages that compute scores and statistics."""
    results = {"bsx": VERSION, "python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            results[name] = metadata.version(name)
    return results


def file_digest(file: str | Path) -> str:
    """Return the sha256 of a file, in hexadecimal."""
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def provenance(kind: str, files: Iterable[str | Path] = (), signatures: Mapping[str, str] | None = None) -> JsonObject:
    """Return what a reader needs to repeat a result, a `Provenance` as a mapping, to lie beside it in a JSON document.

    Args:
        kind: what the document holds: ``meta``, ``disentangle``, ``adversarial-triples``, ``ensemble``, …
        files: what was read. Standard input and pipes have no digest.
        signatures: metric -> signature, where known.
    """
    read = [path for file in files if (path := without_sheet(file)[0]).is_file()]
    result = Provenance(
        kind=kind,
        command=shlex.join(["bsx", *(_ABSOLUTE.sub("", argument) for argument in sys.argv[1:])]),
        versions=dict(versions()),
        files=[FileRead(name=file.name, sha256=file_digest(file)) for file in read],
        signatures=dict(signatures or {}),
    )
    return asdict(result)
