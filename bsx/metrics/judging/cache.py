"""Answers that were given, kept in a file of JSON lines: what was paid for once is there for ever."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from bsx.errors import InputError

_BEGINNING = b'{"key": "'


@dataclass(frozen=True)
class KeptAnswer:
    """An answer as the endpoint gave it.

    Attributes:
        key: digest of what was asked: prompt, texts, and all that the model was told.
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


class AnswerCache:
    """A file of answers, one a line, that only grows; each is on the disk before the next one counts.

    A process that dies in the middle of a line leaves a torn last line, which is read as if it were not there and is
    removed before the next one is written.

    Args:
        path: the file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream: IO[bytes] | None = None

    @cached_property
    def answers(self) -> dict[str, KeptAnswer]:
        """The last answer of each key; InputError names the line if the file holds something else."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            lines = [b""]
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=self.path) from error
        if not (lines[-1].startswith(_BEGINNING) or _BEGINNING.startswith(lines[-1])):  # nobody's answer, torn or not
            raise InputError("holds no answers of a judge: name another cache", file=self.path, line=len(lines))
        answers: dict[str, KeptAnswer] = {}
        for number, line in enumerate(lines[:-1], start=1):  # after the last line break stands nothing, or a torn line
            if not line.strip():
                continue
            try:
                fields = json.loads(line)
                scores = tuple((str(token), float(log)) for token, log in fields["scores"])
                answers[fields["key"]] = KeptAnswer(**{**fields, "scores": scores})
            except (ValueError, TypeError, KeyError, RecursionError):
                raise InputError(
                    "holds no answer of a judge: name another cache, or delete the line", file=self.path, line=number
                ) from None
        return answers

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Keep the file for this process alone while answers are added; raise InputError if another process has it."""
        from filelock import FileLock, Timeout

        with contextlib.ExitStack() as stack:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(FileLock(self.path.with_name(self.path.name + ".lock")).acquire(timeout=0))
                vars(self).pop("answers", None)  # another process may have added some in the meantime
                self.answers  # noqa: B018 - refuses what is no file of answers before anything of it is cut off
                self._stream = stack.enter_context(self.path.open("ab"))
                self._stream.truncate(self.path.read_bytes().rfind(b"\n") + 1)
            except Timeout:
                raise InputError(
                    "another process is adding answers to it: wait, or name another cache", file=self.path
                ) from None
            except OSError as error:
                raise InputError(f"cannot be written ({error.strerror})", file=self.path) from error
            yield

    def add(self, answer: KeptAnswer) -> None:
        """Bring an answer to the disk."""
        assert self._stream is not None  # noqa: S101 - inside writing()
        try:
            self._stream.write(json.dumps(asdict(answer), ensure_ascii=True).encode("ascii") + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", file=self.path) from error
        self.answers[answer.key] = answer
