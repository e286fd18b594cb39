"""A table scored in parts by processes that share a folder and nothing else, and the parts put together again.

The folder holds a manifest, which the first process writes: the files of the table with digests and numbers of rows,
the settings, and how many parts there are. Each part is one file: what was computed of its rows, block by block as in
`bsx.data.journal`, behind its own digest. Putting them together is the run itself, with the parts in place of scoring,
so that table, summary and signatures are made by the code that makes them of a run in one piece.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from bsx.catalog.catalog import Catalog
from bsx.data.files import PartFile
from bsx.data.formats.source import MEMORIES
from bsx.data.journal import Arrays
from bsx.data.lines import NamedFile
from bsx.data.open import table_parts
from bsx.data.output import Commit, atomic_text, make_folder
from bsx.data.run import as_one_run, check_folder
from bsx.data.tables import Table
from bsx.encode.run_config import RunConfig
from bsx.errors import BsxError, InputError
from bsx.jobs.scoring.resume import pack, unpack
from bsx.jobs.scoring.run import MergeRun, ScoredFiles, ScoreRun, scored, shard_of
from bsx.jobs.tables import Reported
from bsx.metrics.run import Prepared, ScoredBlock, blocks_of
from bsx.support.progress import Progress, told
from bsx.support.settings import build_config, part, set_fields, settled
from bsx.support.signature import Signature
from bsx.support.untyped import JsonObject, Settings

_MANIFEST, _LOCK, _RECORD = "manifest.json", "bsx.lock", "record.json"
_SHARD = re.compile(r"shard-(\d+)-of-(\d+)\.npz")
_LEFT = re.compile(r"\..+\.bsx-[0-9a-f]{16}\.tmp")  # what a killed process leaves
_DIGEST = hashlib.sha256().digest_size
_HERE = frozenset({"device", "spread", "memory", "batch_tokens", "cache", "cache_size", "trust_remote_code"})
"""Settings that each process has of its own: they change no score, or nobody but the user may say them."""
_OTHERS = frozenset({"output", "shard", "resume", "fail_under", "engine", "address", "workers"})
_OTHERS |= {"progress", "say", "blocks"}


class _File(BaseModel):
    """A file of the table."""

    model_config = ConfigDict(extra="forbid")
    name: str
    sha256: str
    rows: int


class _Manifest(BaseModel):
    """What all parts have in common."""

    model_config = ConfigDict(extra="forbid")
    format: Literal["bsx shards 1"] = "bsx shards 1"
    shards: int
    rows: int
    settings: dict[str, object]
    files: list[_File]

    def range(self, number: int) -> tuple[int, int]:
        """Return the first row of a part, counted from 0, and the one after its last."""
        return (number - 1) * self.rows // self.shards, number * self.rows // self.shards


class _Record(BaseModel):
    """What a part says of itself; ``manifest`` is the digest of the manifest that it was scored by."""

    model_config = ConfigDict(extra="forbid")
    manifest: str
    shard: int
    rows: tuple[int, int]
    signatures: dict[str, str]


@dataclass(frozen=True)
class ScoredShard:
    """A part that is finished.

    Attributes:
        number: which one, from 1.
        shards: how many there are.
        rows: the first of its rows, counted from 1, and the last.
        file: what it was written to.
        finished: how many parts are there now.
        before: whether it was finished before, so that nothing was scored.
        scored: what its rows came to; None if it was finished before.
    """

    number: int
    shards: int
    rows: tuple[int, int]
    file: Path
    finished: int
    before: bool
    scored: ScoredFiles | None = None

    def to_dict(self) -> JsonObject:
        """Return what is known of it, as ``bsx score --shard`` prints it in JSON."""
        return {
            "shard": self.number,
            "shards": self.shards,
            "rows": list(self.rows),
            "file": str(self.file),
            "before": self.before,
            "finished": self.finished,
        }

    def to_text(self, result: JsonObject, *, full: bool = False) -> str:
        """Return a sentence on it, and one on what is left to do."""
        first, last = self.rows
        done = "was finished before" if self.before else "is finished"
        left = f"{self.finished:,} of {self.shards:,} shards are there."
        if self.finished == self.shards:
            left = "No shard is missing: bsx merge puts them together."
        return f"Shard {self.number} of {self.shards} {done}: rows {first:,} to {last:,}, in {self.file}.\n{left}"

    def notes(self) -> list[str]:
        """Return what the user should know about its metrics and rows, one sentence each."""
        return [] if self.scored is None else self.scored.notes()


@settled(ScoreRun)
@as_one_run
def score_shard(settings: ScoreRun) -> ScoredShard:
    """Score one part of a table's rows into a folder, where `merge_shards` finds all parts.

    A part that is there and whole is not scored again; one that is not is scored anew and appears when it is complete.
    Any number of processes may work in one folder, on any machines that see it.

    Args:
        settings: see `ScoreRun`; ``shard`` says which part, ``output`` names the folder.

    Raises:
        InputError: as `bsx.jobs.score_files`; if the folder holds something else or parts of another run, a file was
            changed since the first part was scored, or a metric counts something over the whole corpus (idf).
    """
    if settings.shard is None:
        raise InputError("shard is missing: say which part of how many, such as 3/64", setting="shard")
    number, shards = shard_of(settings.shard)
    folder = Path(str(settings.output))
    check_folder(folder)
    _refuse_foreign(folder)
    progress = told(settings.progress)
    files = _Files(str(settings.table))
    with _undone(folder):
        for name in files.names:
            if name.lower().removesuffix(".gz").endswith(MEMORIES):
                raise InputError("units without a language are left out, so a shard cannot count them", file=name)
        manifest, digest = _agree(folder, settings, shards, files, progress)
        start, stop = manifest.range(number)
        path = _path(folder, number, shards)
        before = _is_finished(path, number, manifest, digest, settings)
        result = None
        parts, first = _files_of(manifest, files, start, stop)
        if not before:
            run = settings.of(parts, start - first, stop - first).model_copy(update={"output": None, "shard": None})
            result = _score(run, path, _Record(manifest=digest, shard=number, rows=(start, stop), signatures={}))
    finished = sum(_path(folder, one, shards).is_file() for one in range(1, shards + 1))
    return ScoredShard(number, shards, (start + 1, stop), path, finished, before, result)


@settled(MergeRun)
@as_one_run
def merge_shards(settings: MergeRun) -> ScoredFiles:
    """Put together what `score_shard` wrote: the table, the summary and the signatures of a run in one piece.

    The files of the table are read again and the metrics are opened, but nothing is scored.

    Args:
        settings: see `MergeRun`.

    Raises:
        InputError: if a part is missing, damaged or of another run; if a file of the table is another than it was;
            or if metrics or versions here are not those of the parts. Names the part or file, and what to do.
    """
    folder = Path(settings.folder)
    manifest, digest = _read_manifest(folder)
    paths = _all_shards(folder, manifest)
    records = [_record(path, one, manifest, digest) for one, path in enumerate(paths, start=1)]
    signatures = records[0].signatures
    for path, record in zip(paths, records, strict=True):
        if difference := _differing(signatures, record.signatures):
            raise InputError(f"{difference} as {paths[0].name} has it: {_SCORE_AGAIN}", file=path)
    files = _Files(str(manifest.settings["table"]))
    parts, _ = _files_of(manifest, files, 0, manifest.rows)
    own = {**part(settings, RunConfig), **part(settings, Reported), "output": settings.output}
    run = build_config({**manifest.settings, **own}, ScoreRun).of(parts, 0, manifest.rows)
    progress = told(settings.progress)

    def check(prepared: Prepared) -> None:
        if prepared.segments != manifest.rows:
            raise InputError(f"the table has {prepared.segments} rows, the parts are of {manifest.rows}")
        if difference := _differing(signatures, _signatures(prepared)):
            raise InputError(f"the whole table has {difference} in the parts: {_SCORE_AGAIN}", file=folder)

    return scored(run, begun=check, stored=lambda prepared, tokens: _stored(paths, prepared, tokens, progress))


_SCORE_AGAIN = (
    "score all parts with the same versions of bsx and its packages, and name what the texts' script decides "
    "(lang, or the metric's own setting)"
)


class _Files:
    """The files of a table by their names.

    Args:
        table: a file, a folder or a pattern.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self._parts = {part.name: part for part in table_parts(table)}
        self.names = list(self._parts)

    def get(self, names: Sequence[str]) -> list[PartFile]:
        """Return some files.

        Raises:
            InputError: if one is not there.
        """
        for name in names:
            if name not in self._parts:
                raise InputError(f"the file {name} is not there any more", file=self._table)
        return [self._parts[name] for name in names]

    def facts(self, progress: Progress | None) -> list[_File]:
        """Return name, digest and number of rows of each file, one file being here at a time."""
        results = []
        for done, name in enumerate(self.names):
            if progress is not None:
                progress("counting", done, len(self.names))
            (one,) = self.get([name])
            results.append(_File(name=name, sha256=NamedFile(one.path).digest(), rows=Table(one.path).count()))
        return results


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds something else than parts."""
    if not folder.is_dir() or (folder / _MANIFEST).is_file():
        return
    for path in folder.iterdir():
        if path.name != _LOCK and not _LEFT.fullmatch(path.name):
            raise InputError(f"holds {path.name} and no manifest of parts: name a new folder (output)", file=folder)


@contextlib.contextmanager
def _undone(folder: Path) -> Iterator[None]:
    """Leave nothing of a first part that could not be scored; another process that comes writes the same manifest."""
    there = folder.exists()
    try:
        make_folder(folder)
        yield
    except (BsxError, KeyboardInterrupt):
        with contextlib.suppress(OSError):
            if {path.name for path in folder.iterdir()} <= {_MANIFEST, _LOCK}:
                for name in (_MANIFEST, _LOCK):
                    (folder / name).unlink(missing_ok=True)
                if not there:
                    folder.rmdir()
        raise


def _settings_of(settings: ScoreRun) -> Settings:
    """Return the settings that all parts share, as JSON holds them."""
    if isinstance(settings.registry, Catalog):
        raise InputError("shard: registry must be a folder, which the manifest can name", setting="registry")
    include = set_fields(settings).keys() - _HERE - _OTHERS
    dumped = settings.model_dump(mode="json", include=set(include), exclude_defaults=True)
    result: Settings = json.loads(json.dumps(dumped))
    return result


def _agree(
    folder: Path, settings: ScoreRun, shards: int, files: _Files, progress: Progress | None
) -> tuple[_Manifest, str]:
    """Return the manifest of a folder with its digest, written by the first process that comes.

    Raises:
        InputError: if parts are there that were scored otherwise.
    """
    from filelock import FileLock

    wanted: JsonObject = {"settings": _settings_of(settings), "number of shards": shards, "files": files.names}
    with FileLock(folder / _LOCK, thread_local=False):
        if (folder / _MANIFEST).is_file():
            manifest, digest = _read_manifest(folder)
            begun = {
                "settings": manifest.settings,
                "number of shards": manifest.shards,
                "files": [file.name for file in manifest.files],
            }
            if begun == wanted:
                return manifest, digest
            if any(_SHARD.fullmatch(path.name) for path in folder.iterdir()):
                raise InputError(f"was begun with {_other(begun, wanted)}: name a new folder (output)", file=folder)
        facts = files.facts(progress)
        manifest = _Manifest(
            shards=shards, rows=sum(file.rows for file in facts), settings=wanted["settings"], files=facts
        )
        if manifest.rows < shards:
            raise InputError(f"has {manifest.rows} rows: no more shards than that", file=settings.table)
        with atomic_text(folder / _MANIFEST, own=True) as stream:
            stream.write(manifest.model_dump_json(indent=2) + "\n")
        return _read_manifest(folder)


def _other(begun: JsonObject, wanted: JsonObject) -> str:
    name = next(name for name in wanted if begun[name] != wanted[name])
    then, now = begun[name], wanted[name]
    if isinstance(then, dict) and isinstance(now, dict):
        name = next(one for one in {**then, **now} if then.get(one) != now.get(one))
        then, now = then.get(name, "its default"), now.get(name, "its default")
    if isinstance(then, list) and isinstance(now, list) and name == "files":
        return f"other files: {', '.join(sorted({*then} ^ {*now})[:5])}"
    then, now = (",".join(map(str, one)) if isinstance(one, list) else str(one) for one in (then, now))
    return f"{name} {then[:100]}, not {now[:100]}"


def _read_manifest(folder: Path) -> tuple[_Manifest, str]:
    """Return the manifest of a folder and its digest."""
    path = folder / _MANIFEST
    if not path.is_file():
        raise InputError("holds no manifest.json: it is no folder that bsx score --shard wrote", file=folder)
    content = NamedFile(path).all_bytes()
    try:
        manifest = _Manifest.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f"{key}: {first['msg'].lower()}; bsx did not write this manifest", file=path) from error
    sums = manifest.rows == sum(file.rows for file in manifest.files) and 1 <= manifest.shards <= manifest.rows
    foreign = manifest.settings.keys() & (_HERE | _OTHERS)
    if foreign or not sums or not isinstance(manifest.settings.get("table"), str):
        raise InputError("was changed since bsx wrote it: score the parts again in a new folder", file=path)
    return manifest, hashlib.sha256(content).hexdigest()


def _files_of(manifest: _Manifest, files: _Files, start: int, stop: int) -> tuple[list[PartFile], int]:
    """Return the files that hold some rows, and the number of rows before the first of them.

    Raises:
        InputError: if one is not what it was when the first part was scored.
    """
    chosen, first, end = list[_File](), 0, 0
    for file in manifest.files:
        end += file.rows
        if end <= start:
            first = end
        elif end - file.rows < stop and file.rows:
            chosen.append(file)
    parts = files.get([file.name for file in chosen])
    for file, found in zip(chosen, parts, strict=True):
        if NamedFile(found.path).digest() != file.sha256:
            raise InputError(
                "was changed since the first part was scored: put it back, or score all parts in a new folder",
                file=found.path,
            )
    return parts, first


def _path(folder: Path, number: int, shards: int) -> Path:
    return folder / f"shard-{number:0{len(str(shards))}d}-of-{shards}.npz"


def _all_shards(folder: Path, manifest: _Manifest) -> list[Path]:
    """Return the files of all parts, in order.

    Raises:
        InputError: if some are missing, or others are there.
    """
    paths = [_path(folder, one, manifest.shards) for one in range(1, manifest.shards + 1)]
    there = {path.name for path in folder.iterdir() if _SHARD.fullmatch(path.name)}
    if others := sorted(there - {path.name for path in paths}):
        raise InputError(f"is no part of {manifest.shards}: take it away", file=folder / others[0])
    missing = [str(number) for number, path in enumerate(paths, start=1) if path.name not in there]
    if missing:
        told = ", ".join(missing[:10]) + (", …" if len(missing) > 10 else "")
        raise InputError(
            f"{len(missing)} of {manifest.shards} shards are missing ({told}): score {missing[0]}/{manifest.shards} "
            "with shard",
            file=folder,
        )
    return paths


class _DamagedError(InputError):
    """A part that is not whole."""


def _record(path: Path, number: int, manifest: _Manifest, digest: str) -> _Record:
    """Return what a part says of itself, when it is whole and of this manifest.

    Raises:
        InputError: if it is not.
    """
    again = f"score it again with shard={number}/{manifest.shards}"
    try:
        with path.open("rb") as stream:
            said = stream.read(_DIGEST)
            whole = hashlib.file_digest(stream, "sha256").digest() == said
        if not whole:
            raise _DamagedError(f"is damaged: {again}", file=path)
        with zipfile.ZipFile(path) as archive:
            record = _Record.model_validate_json(archive.read(_RECORD))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise _DamagedError(f"cannot be read ({error}): {again}", file=path) from error
    if (record.manifest, record.shard, record.rows) != (digest, number, manifest.range(number)):
        raise _DamagedError(f"is a part of another run, or another part: {again}", file=path)
    return record


def _is_finished(path: Path, number: int, manifest: _Manifest, digest: str, settings: ScoreRun) -> bool:
    if not path.exists():
        return False
    try:
        _record(path, number, manifest, digest)
    except _DamagedError as problem:
        settings.say(f"{problem}; that is done now")
        return False
    return True


def _signatures(prepared: Prepared) -> dict[str, str]:
    return {metric.spec: str(prepared.signature(place)) for place, metric in enumerate(prepared.metrics)}


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> str | None:
    """Say how signatures differ but in the number of references, which is that of the rows; None if they do not."""
    for spec in {**one, **other}:
        mine, theirs = (dict(Signature.read(part.get(spec, "")).without_notes().fields) for part in (one, other))
        for name in {**mine, **theirs}:
            if name != "refs" and mine.get(name) != theirs.get(name):
                return f"{name}:{theirs.get(name)} in the signature of {spec}, not {name}:{mine.get(name)}"
    return None


def _score(run: ScoreRun, path: Path, record: _Record) -> ScoredFiles:
    """Score the rows of a part and write what was computed; the file appears when it is complete."""

    def check(prepared: Prepared) -> None:
        for metric in prepared.metrics:
            if metric.counts is not None:
                raise InputError(
                    f"{metric.spec} counts {metric.counts} over the whole corpus, of which a shard sees a part: give "
                    "it weights that were counted over all of it (idf=Idf.load(FILE) in Python, "
                    "moverscore:idf_texts=FILE), leave idf out, or score without shard"
                )

    with Commit(path, own=True) as commit, commit.new().open("w+b") as stream:
        stream.write(bytes(_DIGEST))
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            written = 0

            def keep(block: ScoredBlock) -> None:
                nonlocal written
                for name, array in pack(block).items():
                    with archive.open(f"{written:07d}/{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
                written += 1
                if run.blocks is not None:
                    run.blocks(block)

            result = scored(run.model_copy(update={"blocks": keep}), begun=check)
            said = record.model_copy(update={"signatures": _signatures(result.prepared)})
            archive.writestr(_RECORD, said.model_dump_json())
        _seal(stream)
    return result


def _seal(stream: IO[bytes]) -> None:
    """Write the digest of what follows it to the start of a file."""
    stream.seek(_DIGEST)
    digest = hashlib.file_digest(stream, "sha256").digest()  # type: ignore[arg-type]
    stream.seek(0)
    stream.write(digest)


def _stored(paths: Sequence[Path], prepared: Prepared, tokens: int, progress: Progress | None) -> Iterator[ScoredBlock]:
    """Yield what the parts hold in the blocks of a run in one piece, so that sums are rounded as there."""
    pieces = (arrays for path in paths for arrays in _pieces(path))
    systems, held, done = len(prepared.corpus.systems), Arrays(), 0
    for segments in blocks_of(prepared.corpus, tokens):
        due = len(segments)
        waiting = [held] if held else []
        while sum(int(one["segments"]) for one in waiting) < due:
            waiting.append(next(pieces))
        whole = _joined(waiting)
        yield unpack(_cut(whole, 0, due, systems), segments)
        held = _cut(whole, due, int(whole["segments"]), systems)
        done += due
        if progress is not None:
            progress("merging", done, prepared.segments)


def _pieces(path: Path) -> Iterator[Arrays]:
    with zipfile.ZipFile(path) as archive:
        blocks: dict[str, list[str]] = {}
        for name in archive.namelist():
            if name != _RECORD:
                blocks.setdefault(name.partition("/")[0], []).append(name)
        for _, names in sorted(blocks.items()):
            arrays = Arrays()
            for name in names:
                with archive.open(name) as member:
                    arrays[name.partition("/")[2].removesuffix(".npy")] = np.lib.format.read_array(
                        member, allow_pickle=False
                    )
            yield arrays


def _joined(pieces: Sequence[Arrays]) -> Arrays:
    """Return the arrays of several pieces as those of one; of figures, rows are the second axis."""
    if len(pieces) == 1:
        return pieces[0]
    whole = {
        name: np.concatenate([piece[name] for piece in pieces], axis=int(name.endswith(".figures")))
        for name in pieces[0]
        if name != "segments"
    }
    return {**whole, "segments": np.array(sum(int(piece["segments"]) for piece in pieces))}


def _cut(arrays: Arrays, start: int, stop: int, systems: int) -> Arrays:
    """Return the arrays of some segments."""
    rows = slice(start * systems, stop * systems)
    cut = {
        name: array[:, rows] if name.endswith(".figures") else array[rows]
        for name, array in arrays.items()
        if name != "segments"
    }
    return {**cut, "segments": np.array(stop - start)}
