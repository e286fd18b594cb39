"""Files that become visible whole, several as one, or not at all, whatever ends the process at whatever moment.

Each is written under a name of its own beside its place, brought to the disk, and renamed into place. Where several
belong together, a record of what is to be renamed and removed comes first: with it the new state holds, and whoever
reads or writes there next carries out what is left of it. What a killed process left unfinished, the next one removes.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import platform
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from bsx.data.run import BESIDE, begin_output, check_place, end_output, is_stream, standard_output, through_links
from bsx.errors import NO_ROOM, InputError

_RECORD = ".bsx-commit"
_TEMPORARY = re.compile(r"\.(.+)\.bsx-([0-9a-f]{8})-(\d+)-(\d+)-\d+\.tmp", re.DOTALL)
_numbers = itertools.count()


class Commit:
    """A file and what lies beside it, all to be written; use it as a context manager.

    Args:
        path: the file, a link to it, or a name of standard output, to which it is copied in the end.
        own: whether bsx chose the place; otherwise it may be no input and no other output of the run.

    Raises:
        InputError: if the place cannot be written to, or the disk is full.
    """

    def __init__(self, path: Path, *, own: bool = False) -> None:
        self.path = path
        self._own = own
        self._stream = not own and is_stream(path)
        self._final = through_links(path)
        self._folder = Path(tempfile.gettempdir()) if self._stream else self._final.parent
        self._record = _record_of(self._final)
        self._temporary: dict[str, Path] = {}

    def __enter__(self) -> Commit:
        with self._named():
            if self._own:
                check_place(self.path)
            else:
                begin_output(self.path)
            tidy(self._folder)
        return self

    def new(self, beside: str = "") -> Path:
        """Return an empty file to write, which becomes ``path`` or, with an end to its name, the file beside it."""
        final = ("stdout" if self._stream else self._final.name) + beside
        temporary = self._folder / f".{final}.bsx-{_owner()}-{next(_numbers)}.tmp"
        with self._named(f"cannot write in {self._folder}"):
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        self._temporary[final] = temporary
        return temporary

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._named():
                if error is None:
                    self._complete()
                elif isinstance(error, OSError) and error.errno in NO_ROOM and error.filename in self._ours():
                    raise error
        finally:
            with contextlib.suppress(InputError):
                settle(self.path)  # interrupted between the record and its end
            if not os.access(self._record, os.F_OK):
                for temporary in self._temporary.values():
                    temporary.unlink(missing_ok=True)
            if not self._own:
                end_output(self.path)

    def _complete(self) -> None:
        for final, temporary in self._temporary.items():
            if (self._folder / final).exists() and not self._stream:
                temporary.chmod((self._folder / final).stat().st_mode & 0o777)
            _sync(temporary)
        if self._stream:
            with next(iter(self._temporary.values())).open("rb") as stream:
                output = standard_output()
                output.flush()
                shutil.copyfileobj(stream, output.buffer)
                output.flush()
            return
        names = [self._final.name + end for end in BESIDE]
        stale = [name for name in names if name not in self._temporary and (self._folder / name).exists()]
        if len(self._temporary) + len(stale) == 1:
            ((final, temporary),) = self._temporary.items()
            temporary.replace(self._folder / final)
            _sync(self._folder)
            return
        put = {final: temporary.name for final, temporary in self._temporary.items()}
        draft = self.new(_RECORD)
        draft.write_text(json.dumps({"put": put, "remove": stale}), encoding="utf-8")
        _sync(draft)
        with _locked(draft):
            draft.replace(self._record)
            _sync(self._folder)
            _carry_out(self._record)

    def _ours(self) -> set[str | None]:
        return {None, *map(str, self._temporary.values())}

    @contextlib.contextmanager
    def _named(self, what: str = "cannot be written") -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # whoever reads our standard output has enough
            raise
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else error
            raise InputError(f"{self.path}: {what} ({reason})") from error


def settle(path: Path) -> None:
    """Complete what a run that was killed had begun to put in the place of a file and of what lies beside it.

    Raises:
        InputError: if that cannot be done, so that what is there is partly old and partly new.
    """
    record = _record_of(through_links(path))
    if not os.access(record, os.F_OK):
        return
    try:
        with _locked(record):
            _carry_out(record)
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: was left half written by a run that was killed, and {record} cannot be carried out ({error}): "
            "write it again"
        ) from error


def _record_of(path: Path) -> Path:
    return path.parent / f".{path.name}{_RECORD}"


def tidy(folder: Path) -> None:
    """Complete or remove what killed processes of this user on this machine left in a folder."""
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = [file.name for file in folder.iterdir() if file.name.startswith(".") and ".bsx-" in file.name]
    for name in names:
        if name.endswith(_RECORD):
            with contextlib.suppress(InputError):
                settle(folder / name[1:].removesuffix(_RECORD))
    for name in names:
        found = _TEMPORARY.fullmatch(name)
        with contextlib.suppress(OSError):
            if found and found[2] == _machine() and _started(int(found[3])) != int(found[4]) and _mine(folder / name):
                (folder / name).unlink()


def _carry_out(record: Path) -> None:
    """Do what is left of a record; every step may have been done before."""
    content = json.loads(record.read_text(encoding="utf-8"))
    main = record.name[1:].removesuffix(_RECORD)
    put, remove = dict(content["put"]), list(content["remove"])
    if not {*put, *remove} <= {main + end for end in ("", *BESIDE)}:
        raise ValueError("it names other files")
    for final, temporary in put.items():
        found = _TEMPORARY.fullmatch(temporary)
        if found is None or found[1] != final:
            raise ValueError("it names other files")
        with contextlib.suppress(FileNotFoundError):
            record.with_name(temporary).replace(record.with_name(final))
    for name in remove:
        record.with_name(name).unlink(missing_ok=True)
    _sync(record.parent)
    record.unlink()
    _sync(record.parent)


@contextlib.contextmanager
def _locked(record: Path) -> Iterator[None]:
    """Keep other processes from carrying out a record at the same time, where the system can.

    Raises:
        FileNotFoundError: if there is none any more.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with record.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink == 0:
            raise FileNotFoundError(record)
        yield


def _sync(path: Path) -> None:
    """Bring a file or a folder to the disk."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(handle)


def _machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _owner() -> str:
    return f"{_machine()}-{os.getpid()}-{_started(os.getpid())}"


def _started(process: int) -> int:
    """Return when a process began, 0 if the system does not say, -1 if there is no such process."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return -1
    if os.name == "posix":
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return -1
        except PermissionError:
            return 0
    return 0


def _mine(file: Path) -> bool:
    """Tell whether a file is this user's: other users' processes may be hidden from us."""
    return not hasattr(os, "getuid") or file.lstat().st_uid == os.getuid()
