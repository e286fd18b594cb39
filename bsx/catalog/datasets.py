"""What the registry says about data sets: where their files come from and how to read them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from bsx.catalog.catalog import overlay_folders, shipped_folder
from bsx.catalog.entries import Entry, Listed, Sha256, read_lists
from bsx.errors import UnknownNameError, did_you_mean

ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")

_Tables = Literal["table", "multi_reference"]
_Wmt = Literal["wmt_da", "wmt_da_system", "darr", "system_outputs", "metric_scores"]
_MtMetricsEval = Literal["mt_metrics_eval", "mt_metrics_eval_tables"]
_Sentences = Literal["stsb", "paws", "qqp", "mlqe", "flickr8k"]
_Errors = Literal["mqm", "esa", "challenge"]
_Summaries = Literal["summeval", "realsumm", "eval4nlp"]
LoaderName = Literal[_Tables, _Wmt, _MtMetricsEval, _Sentences, _Errors, _Summaries]
Option = str | int | bool | list[str] | dict[str, str]


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith(("/", "~")) or ".." in parts or "\\" in path or ":" in parts[0]:
        raise ValueError(f"{path!r} must be a relative path that stays inside the data set's folder")
    return path


InsidePath = Annotated[str, AfterValidator(_inside)]


class DatasetFile(Entry):
    """One file to fetch. ``sha256`` and ``size`` (bytes) are null where nobody published or checked them.

    An archive is unpacked into a folder of its own name without the ending, and so is each archive of ``inner``, which
    are paths inside it.
    """

    path: InsidePath
    url: Annotated[str, Field(pattern=r"^https?://")]
    sha256: Sha256 | None
    size: int | None = Field(ge=1)
    inner: list[InsidePath] = Field(default_factory=list)

    @property
    def is_archive(self) -> bool:
        """Whether the file is unpacked after it was fetched."""
        return self.path.endswith(ARCHIVES)

    @property
    def folder(self) -> str:
        """Where an archive is unpacked to."""
        ending = next(ending for ending in ARCHIVES if self.path.endswith(ending))
        return self.path.removesuffix(ending)

    @model_validator(mode="after")
    def _inner_needs_archive(self) -> DatasetFile:
        if self.inner and not self.is_archive:
            raise ValueError("inner needs archives only")
        return self


class Layout(Entry):
    """Where a loader finds the data, below the data set's folder, and what it is told.

    A path may be a pattern (``**/test.tsv``), which just one file must match. ``arguments`` are further paths that the
    loader takes, by name.
    """

    path: Annotated[str, AfterValidator(lambda path: path if path == "." else _inside(path))]
    loader: LoaderName
    arguments: dict[str, InsidePath] = Field(default_factory=dict)
    options: dict[str, Option] = Field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """All paths of the layout."""
        return [self.path, *self.arguments.values()]


class LocalTables(Layout):
    """Plain tables in this project's own layout. ``sha256``: path -> checksum of the copy that was measured on."""

    sha256: dict[str, Sha256] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _checksums_of_its_files(self) -> LocalTables:
        other = sorted(set(self.sha256) - set(self.paths))
        if other:
            raise ValueError(f"sha256 names {other[0]!r}, which is none of its files")
        return self


class DatasetEntry(Listed):
    """One data set.

    ``files`` are what ``bsx data get`` fetches, and ``layout`` how they are read. ``local`` is a plain table of the
    same data in this project's own layout; where it is present it is read instead.
    """

    file: ClassVar[str] = "datasets.yaml"
    what: ClassVar[str] = "data sets"
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    homepage: str | None
    files: list[DatasetFile]
    layout: Layout | None
    local: LocalTables | None = None
    licence: str
    citation: str
    language_pairs: list[str]
    notes: str | None = None

    @model_validator(mode="after")
    def _can_be_read(self) -> DatasetEntry:
        if (self.layout is None) != (not self.files):
            raise ValueError("files and layout go together")
        if self.layout is None and self.local is None:
            raise ValueError("needs layout with files, or local")
        paths = [file.path for file in self.files]
        if len(set(paths)) != len(paths):
            raise ValueError("two files have the same path")
        return self


def load_datasets(named: Path | None = None) -> dict[str, DatasetEntry]:
    """Return the shipped data sets with those of the user's registry folders over them; see `read_lists`."""
    return read_lists(DatasetEntry, (shipped_folder(), *overlay_folders(named)))


def find_dataset(name: str) -> DatasetEntry:
    """Return a data set's entry; UnknownNameError lists near names."""
    entries = load_datasets()
    if name not in entries:
        near = did_you_mean(name, entries)
        raise UnknownNameError(f"unknown data set {name!r}.{near} There are {', '.join(entries)}.")
    return entries[name]
