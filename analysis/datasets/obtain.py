"""Getting data sets into the data folder, and checking later that they are still what they were."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
import zipfile
from pathlib import Path

from bsx.analysis.datasets.settings import FetchSettings
from bsx.analysis.datasets.store import find_layout, how_to_get
from bsx.catalog.datasets import DatasetEntry, DatasetFile, find_dataset
from bsx.data.output import atomic_text, make_folder
from bsx.errors import DataUnavailableError, InputError
from bsx.support.download import check, download
from bsx.support.folders import data_folder
from bsx.support.progress import reporter
from bsx.support.provenance import file_digest
from bsx.support.settings import settled
from bsx.support.untyped import JsonObject

LOCK = "bsx-data.lock.json"
_BY_HAND = "; without a network, `bsx data get … --from-folder FOLDER` takes a folder that has {name}"


_Lock = dict[str, dict[str, JsonObject]]
"""Kind of file (``files``, ``unpacked``) -> path -> its ``sha256`` and ``size``."""
_Wanted = tuple[str, DatasetFile | None, Path | None]
"""Where a file is to be, what the registry says about it if it is published, and where to copy it from if local."""


@settled(FetchSettings)
def get_dataset(name: str, settings: FetchSettings) -> Path:
    """Fetch a data set's files, check and unpack them, and write down their checksums in a lock file.

    A file that is here already and is what the registry or the lock file says is not fetched again.

    Args:
        name: its name.
        settings: see `FetchSettings`.

    Returns:
        The data set's folder.

    Raises:
        UnknownNameError: listing near names.
        DataUnavailableError: if a file can neither be fetched nor found.
        InputError: if a file is not what it should be.
    """
    entry = find_dataset(name)
    folder = data_folder(settings.data_dir) / name
    if settings.from_folder is not None:
        wanted = _in_folder(entry, Path(settings.from_folder).expanduser())
    elif entry.files:
        wanted = [(file.path, file, None) for file in entry.files]
    else:
        raise DataUnavailableError(f"{name}: {how_to_get(entry)}")
    lock = _read_lock(folder)
    tables = entry.local.sha256 if entry.local is not None else {}
    for path, file, origin in wanted:
        target = folder / path
        known = (tables.get(path), None) if file is None else (file.sha256, file.size)
        if origin is not None:
            make_folder(target.parent)
            copy(origin, target, *known)
        elif file is not None:
            due = file.sha256 or lock["files"].get(path, {}).get("sha256")
            if due is None or not target.is_file() or file_digest(target) != due:
                download(
                    file.url, target, *known, reporter(settings.progress), otherwise=_BY_HAND.format(name=target.name)
                )
        lock["files"][path] = _facts(target)
        if file is not None and file.is_archive:
            inside = f"{file.folder}/"
            lock["unpacked"] = {key: facts for key, facts in lock["unpacked"].items() if not key.startswith(inside)}
            for member in unpack(target, folder / file.folder, file.inner):
                lock["unpacked"][member.relative_to(folder).as_posix()] = _facts(member)
        # After each file, so that what is complete is not fetched again when a later one fails.
        with atomic_text(folder / LOCK, internal=True) as stream:
            stream.write(json.dumps(lock, indent=1) + "\n")
    return folder


def verify_dataset(name: str, *, data_dir: Path | str | None = None) -> dict[str, str]:
    """Check the files of a data set against the registry and against what they were when they were fetched.

    Args:
        name: its name.
        data_dir: see `data_folder`.

    Returns:
        File -> ``ok`` (as the registry says), ``unchanged`` (since it was fetched; the registry has no checksum), or
        ``no checksum is known``. Files from unpacked archives are in there too.

    Raises:
        UnknownNameError: listing near names.
        DataUnavailableError: if the data set is not here, or one of its files is missing.
        InputError: if a file has changed.
    """
    entry = find_dataset(name)
    root = data_folder(data_dir)
    folder = root / name
    lock = _read_lock(folder)
    seen = {**lock["files"], **lock["unpacked"]}
    published = {file.path: file for file in entry.files}
    here = [path for path in published if (folder / path).exists()]
    results: dict[str, str] = {}
    for path in dict.fromkeys([*here, *seen]):
        target = folder / path
        if not target.is_file():
            raise DataUnavailableError(f"{target}: is missing; {how_to_get(entry)}")
        sha256, size = (published[path].sha256, published[path].size) if path in published else (None, None)
        facts = seen.get(path, {})
        check(target, sha256 or facts.get("sha256"), size or facts.get("size"), str(target))
        results[path] = "ok" if sha256 is not None else "unchanged" if facts else "no checksum is known"
    if not results:
        result = find_layout(entry, data_dir)
        if result is None:
            raise DataUnavailableError(f"{name} is not in {root}: {how_to_get(entry)}")
        known = entry.local.sha256 if entry.local is not None else {}
        layout, place = result
        for path in layout.paths:
            check(place / path, known.get(path), None, str(place / path))
            results[path] = "ok" if path in known else "no checksum is known"
    return results


def _in_folder(entry: DatasetEntry, source: Path) -> list[_Wanted]:
    if not source.is_dir():
        raise InputError(f"there is no folder {source} to copy from")

    def find(path: str) -> Path | None:
        return next((file for file in (source / path, source / Path(path).name) if file.is_file()), None)

    published: list[_Wanted] = [(file.path, file, find(file.path)) for file in entry.files]
    tables: list[_Wanted] = [] if entry.local is None else [(path, None, find(path)) for path in entry.local.paths]
    lacking: list[str] = []
    for wanted in (published, tables):
        missing = [path for path, _, origin in wanted if origin is None]
        if wanted and not missing:
            return wanted
        lacking += missing[:1]
    raise DataUnavailableError(f"{source}: {entry.name} needs {' or '.join(lacking)}, which is not there")


def _facts(path: Path) -> JsonObject:
    return {"sha256": file_digest(path), "size": path.stat().st_size}


def _read_lock(folder: Path) -> _Lock:
    file = folder / LOCK
    if not file.is_file():
        return {"files": {}, "unpacked": {}}
    try:
        lock: _Lock = json.loads(file.read_text(encoding="utf-8"))
        return {kind: lock[kind] for kind in ("files", "unpacked")}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("is not a lock file of bsx; remove it and get the data set again", file=file) from error


def copy(source: Path, target: Path, sha256: str | None, size: int | None) -> None:
    """Copy a file from a local folder, checked like a download.

    Raises:
        InputError: if the file is not what it should be.
    """
    check(source, sha256, size, str(source))
    part = target.with_name(target.name + ".part")
    try:
        shutil.copyfile(source, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path, inner: list[str]) -> list[Path]:
    """Unpack a .tar, .tar.gz, .tgz or .zip file into a folder of its own, which replaces an older one.

    Args:
        archive: the archive.
        folder: where to; appears only when everything is unpacked.
        inner: paths of archives inside, which are unpacked beside themselves, into their name without the ending.

    Returns:
        The files.

    Raises:
        InputError: if the archive is broken, or has a member that would be written outside the folder.
    """
    temporary = folder.with_name(f".{folder.name}.unpacking")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        _extract(archive, temporary)
        for path in inner:
            nested = temporary / path
            if not nested.is_file():
                raise InputError(f"{archive}: holds no {path}")
            _extract(nested, nested.with_name(re.sub(r"\.(tar\.gz|tgz|tar|zip)$", "", nested.name)))
        shutil.rmtree(folder, ignore_errors=True)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _extract(archive: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    try:
        if archive.name.endswith(".zip"):
            with zipfile.ZipFile(archive) as packed:
                for name in packed.namelist():
                    if name.startswith(("/", "\\")) or ".." in Path(name.replace("\\", "/")).parts:
                        raise InputError(f"{archive}: the member {name!r} would be written outside the folder")
                packed.extractall(folder)  # noqa: S202 - the names were checked
        else:
            shutil.unpack_archive(archive, folder, filter="data")
    except tarfile.FilterError as error:
        raise InputError(f"{archive}: has a member that is not safe to unpack ({error})") from error
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise InputError(f"{archive}: cannot be unpacked ({error})") from error
