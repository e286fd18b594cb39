"""Copying a published file, and unpacking an archive so that it cannot write elsewhere."""

from __future__ import annotations

import re
import shutil
import tarfile
import zipfile
from pathlib import Path

from bsx.errors import InputError
from bsx.support.download import check


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
            with tarfile.open(archive) as packed_tar:
                packed_tar.extractall(folder, filter="data")
    except tarfile.FilterError as error:
        raise InputError(f"{archive}: has a member that is not safe to unpack ({error})") from error
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise InputError(f"{archive}: cannot be unpacked ({error})") from error
