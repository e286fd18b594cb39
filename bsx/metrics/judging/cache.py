"""Answers that were given, kept in a file of JSON lines: what was paid for once is there for ever."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from bsx.errors import InputError

if TYPE_CHECKING:
    from filelock import BaseFileLock


_BEGINNING = b'{"key": "'


@dataclass(frozen=True)
class KeptAnswer:
    """An answer as the endpoint gave it.

    Attributes:
        key: what was asked; see `key_of`.
        prompt: digest of the prompt.
        name: of the prompt.
        asked: the model that was asked for.
        model: the model as the endpoint names it; "" if a filter of the endpoint answered.
        content: the text.
        finish: how it ended.
        scores: tokens that could have stood where the score stands, with log probabilities; none if not asked for.
        tokens_in: tokens of the request, as the endpoint counts them.
        tokens_out: tokens of the answer.
        at: when, in UTC (ISO 8601).
        endpoint: host that answered, with its port unless that is the usual one.
    """

    key: str
    prompt: str
    name: str
    asked: str
    model: str
    content: str
    finish: str | None
    scores: tuple[tuple[str, float], ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    at: str = ""
    endpoint: str = ""


def key_of(said: object) -> str:
    """Return the digest by which an answer is found again: of prompt, texts and all that the model was told."""
    return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class AnswerCache:
    """A file of answers, one a line, that only grows; each is on the disk before the next one counts.

    A process that dies in the middle of a line leaves a torn last line, which is read as if it were not there and is
    removed before the next one is written.

    Args:
        path: the file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[str, list[KeptAnswer]] | None = None
        self._stream: IO[bytes] | None = None

    def find(self, key: str, served: str | None = None) -> KeptAnswer | None:
        """Return the last answer of a key, by the model that is named if one is; None if there is none."""
        found = [answer for answer in self._read().get(key, ()) if served is None or answer.model in (served, "")]
        return found[-1] if found else None

    def prompts(self) -> Counter[tuple[str, str, str]]:
        """Return how many answers it holds: (name of the prompt, its digest, model asked for) -> answers."""
        return Counter((one.name, one.prompt, one.asked) for several in self._read().values() for one in several)

    def _read(self) -> dict[str, list[KeptAnswer]]:
        if self._answers is None:
            self._answers = {}
            for answer in self._lines():
                self._answers.setdefault(answer.key, []).append(answer)
        return self._answers

    def _lines(self) -> Iterator[KeptAnswer]:
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=self.path) from error
        lines = raw.split(b"\n")
        if not (lines[-1].startswith(_BEGINNING) or _BEGINNING.startswith(lines[-1])):  # nobody's answer, torn or not
            raise InputError("holds no answers of a judge: name another cache", file=self.path, line=len(lines))
        for number, line in enumerate(lines[:-1], start=1):  # after the last line break stands nothing, or a torn line
            if not line.strip():
                continue
            try:
                said = json.loads(line)
                scores = tuple((str(token), float(log)) for token, log in said["scores"])
                yield KeptAnswer(**{**said, "scores": scores})
            except (ValueError, TypeError, KeyError, RecursionError):
                raise InputError(
                    "holds no answer of a judge: name another cache, or delete the line", file=self.path, line=number
                ) from None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Keep the file for this process alone while answers are added.

        Raises:
            InputError: if another process has it, or it cannot be written.
        """
        from filelock import FileLock, Timeout

        lock: BaseFileLock = FileLock(self.path.with_name(self.path.name + ".lock"), thread_local=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            raise InputError(
                "another process is adding answers to it: wait, or name another cache", file=self.path
            ) from None
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", file=self.path) from error
        try:
            self._answers = None  # another process may have added some in the meantime
            self._read()
            try:
                self._stream = self.path.open("ab")
                self._mend(self._stream)
            except OSError as error:
                raise InputError(f"cannot be written ({error.strerror})", file=self.path) from error
            yield
        finally:
            if self._stream is not None:
                self._stream.close()
                self._stream = None
            lock.release()

    def _mend(self, stream: IO[bytes]) -> None:
        """Remove a torn last line."""
        raw = self.path.read_bytes()
        if raw and not raw.endswith(b"\n"):
            stream.truncate(raw.rfind(b"\n") + 1)

    def add(self, answer: KeptAnswer) -> None:
        """Bring an answer to the disk."""
        assert self._stream is not None  # noqa: S101 - inside writing()
        line = json.dumps(asdict(answer), ensure_ascii=True)
        try:
            self._stream.write(line.encode("ascii") + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", file=self.path) from error
        self._read().setdefault(answer.key, []).append(answer)
