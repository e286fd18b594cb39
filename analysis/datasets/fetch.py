"""Fetching a file so that it can be interrupted, and unpacking an archive so that it cannot write elsewhere."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bsx.errors import DataUnavailableError, InputError
from bsx.support.progress import Progress
from bsx.support.provenance import file_digest

BLOCK = 1 << 20
TIMEOUT = 60.0
"""Seconds without a byte after which a server counts as gone."""


def check(path: Path, sha256: str | None, size: int | None, name: str) -> None:
    """Compare a file, called ``name`` in messages, with what is known about it; None stands for what is not known.

    Raises:
        InputError: saying what was expected and what was found.
    """
    if size is not None and path.stat().st_size != size:
        raise InputError(f"{name}: has {path.stat().st_size:,} bytes, {size:,} are expected")
    if sha256 is not None and (found := file_digest(path)) != sha256:
        raise InputError(f"{name}: the sha256 is {found}, {sha256} is expected")


def download(url: str, target: Path, sha256: str | None, size: int | None, report: Progress | None = None) -> None:
    """Fetch a file over HTTP into ``target``, which appears only when it is complete and right.

    An interrupted download leaves ``<target>.part`` and is resumed by the next call, if the server can do that and has
    the same file still. A file that is complete but wrong is removed. ``report`` is called with the file's name, the
    bytes so far and the bytes in all (or 0).

    Raises:
        DataUnavailableError: if the server cannot be reached, refuses, or stops early.
        InputError: if the file is not what it should be.
    """
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url}: only http and https can be fetched")
    part, state = target.with_name(target.name + ".part"), target.with_name(target.name + ".part.json")
    try:
        with _reading(url, part, state) as (response, start, total):
            done = start
            with part.open("ab" if start else "wb") as stream:
                while block := response.read(BLOCK):
                    stream.write(block)
                    done += len(block)
                    if report is not None:
                        report(target.name, done, total or 0)
        if total is not None and done < total:
            raise DataUnavailableError(
                f"{url}: the connection ended after {done:,} of {total:,} bytes; the same command resumes"
            )
    except urllib.error.HTTPError as error:
        raise DataUnavailableError(f"{url}: the server answers {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DataUnavailableError(
            f"{url}: cannot be fetched ({reason}); without a network, `bsx.analysis.get_dataset(…, "
            f"source=FOLDER)` takes a folder that has {target.name}"
        ) from error
    try:
        check(part, sha256, size, url)
    except InputError:
        part.unlink()
        raise
    finally:
        state.unlink(missing_ok=True)
    part.replace(target)


@contextlib.contextmanager
def _reading(url: str, part: Path, state: Path) -> Iterator[tuple[IO[bytes], int, int | None]]:
    """Open a URL, from where the last try ended if that is safe; yield (response, first byte, bytes in all)."""
    start, validator = _resume_at(url, part, state)
    headers = {"User-Agent": "bsx", "Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": validator}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - download() checked the scheme
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code != 416 or not start:
            raise
        # Nothing lies beyond what is here: it is complete, or of a file that has become shorter. Start over to be sure.
        error.close()
        part.unlink()
        with _reading(url, part, state) as again:
            yield again
        return
    with response:
        if response.status == 206:
            match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
            if match is None or int(match[1]) != start:
                part.unlink()
                raise DataUnavailableError(f"{url}: the server sent another part than asked for; try again")
            yield response, start, int(match[2])
            return
        length = response.headers.get("Content-Length")
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        # A weak tag promises the same meaning, not the same bytes: such a download cannot be resumed.
        state.write_text(json.dumps({"url": url, "validator": "" if tag.startswith("W/") else tag}), encoding="utf-8")
        yield response, 0, int(length) if length is not None and length.isdecimal() else None


def _resume_at(url: str, part: Path, state: Path) -> tuple[int, str]:
    """Return how many bytes are here already and what tells whether the server still has the same file."""
    try:
        known = json.loads(state.read_text(encoding="utf-8"))
        if known["url"] == url and known["validator"]:
            return part.stat().st_size, str(known["validator"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return 0, ""


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
