"""Fetching a file over the network so that it can be interrupted: all that bsx fetches itself comes through here."""

from __future__ import annotations

import contextlib
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bsx.errors import DataUnavailableError, InputError
from bsx.support.environment import forbidden
from bsx.support.progress import Progress
from bsx.support.provenance import file_digest

BLOCK = 1 << 20
TIMEOUT = 60.0
"""Seconds without a byte after which a server counts as gone."""


def check(path: Path, sha256: str | None, size: int | None, name: str) -> None:
    """Raise InputError unless a file, called ``name`` in messages, is what is known about it; None: not known."""
    if size is not None and path.stat().st_size != size:
        raise InputError(f"{name}: has {path.stat().st_size:,} bytes, {size:,} are expected")
    if sha256 is not None and (result := file_digest(path)) != sha256:
        raise InputError(f"{name}: the sha256 is {result}, {sha256} is expected")


def download(
    url: str, target: Path, sha256: str | None, size: int | None, report: Progress | None = None, *, otherwise: str = ""
) -> None:
    """Fetch a file over HTTP into ``target``, which appears only when it is complete and right; its folder is made.

    An interrupted download leaves ``<target>.part`` and is resumed by the next call, if the server can do that and has
    the same file still. A file that is complete but wrong is removed. ``report`` is called with the file's name, the
    bytes so far and the bytes in all (or 0). ``otherwise`` says in errors what helps where there is no network.

    Raises:
        DataUnavailableError: if the network is forbidden, or the server cannot be reached, refuses, or stops early.
        InputError: if the file is not what it should be.
    """
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url}: only http and https can be fetched")
    if (why := forbidden()) is not None:
        raise DataUnavailableError(f"{url}: cannot be fetched ({why}){otherwise}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target.parent}: cannot be made ({error.strerror})") from error
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
        raise DataUnavailableError(f"{url}: cannot be fetched ({reason}){otherwise}") from error
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
    start, validator = 0, ""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(state.read_text(encoding="utf-8"))
        if known["url"] == url and known["validator"]:  # tells whether the server still has the same file
            start, validator = part.stat().st_size, str(known["validator"])
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
            yield response, start, int(response.headers["Content-Range"].rpartition("/")[2])
            return
        length = response.headers.get("Content-Length")
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        # A weak tag promises the same meaning, not the same bytes: such a download cannot be resumed.
        state.write_text(json.dumps({"url": url, "validator": "" if tag.startswith("W/") else tag}), encoding="utf-8")
        yield response, 0, int(length) if length is not None and length.isdecimal() else None
