"""Metrics whose package needs an environment of its own: another interpreter runs it, as a worker process."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated

from pydantic import Field

from bsx.encode.session import Encoders
from bsx.errors import BsxError, InputError, MissingExtraError, ModelUnavailableError
from bsx.metrics.core import MetricConfig, MultiRef
from bsx.support.children import start
from bsx.support.environment import forbidden
from bsx.support.settings import UserOnly
from bsx.support.untyped import JsonObject

_WORKERS = Path(__file__).parent / "workers"
_PATIENCE = 5  # seconds until a worker that does not end is killed


class ExternalConfig(MetricConfig):
    """Settings of every metric that runs in an environment of its own."""

    python: Annotated[
        Path | None,
        Field(description="Interpreter of an environment with the package; this one unless given."),
        UserOnly(),
    ] = None
    multi_ref: MultiRef = "best"


@dataclass(frozen=True)
class Package:
    """A package that cannot run beside bsx.

    Attributes:
        name: of its distribution.
        adapter: the module of `bsx.metrics.learned.workers` that runs it.
        environment: a name for its environment.
        requirements: what pip must be told to install there.
        python: the interpreter to make the environment with.
    """

    name: str
    adapter: str
    environment: str
    requirements: tuple[tuple[str, ...], ...]
    python: str = "python"

    @property
    def advice(self) -> str:
        """How to get its environment, and how to use it."""
        folder = f"{self.environment}/bin"
        steps = [f"{folder}/pip install {shlex.join(names)}" for names in self.requirements]
        command = " && ".join([f"{self.python} -m venv {self.environment}", *steps])
        return f"{command} makes an environment for it, python={folder}/python uses it"


class Worker:
    """A package in another interpreter, spoken to in JSON lines; started at once, and again after Ctrl-C.

    The settings name the interpreter, this one unless given. It runs where the encoders do; on the CPU if it does not
    see that device, unless the user named it.

    Args:
        options: what the adapter is to open.
        metric: the metric's name, for messages.

    Attributes:
        greeting: what the worker said about itself: versions, device, the model's identity.

    Raises:
        InputError: if the interpreter is missing, or the worker fails.
        MissingExtraError: if the package is not installed there; says the command.
        ModelUnavailableError: if the model is neither here nor to be had.
    """

    def __init__(
        self, package: Package, config: ExternalConfig, encoders: Encoders, options: Mapping[str, object], metric: str
    ) -> None:
        self._package, self._metric = package, metric
        self._elsewhere = config.python is not None
        wanted = sys.executable if config.python is None else str(config.python.expanduser())
        python = shutil.which(wanted)
        if python is None:
            raise InputError(f"{metric}: there is no interpreter {wanted}: {package.advice}")
        self._python, strict = python, encoders.config.device != "auto"
        self._options = {**options, "device": str(encoders.device), "strict": strict, "offline": forbidden()}
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._stop: weakref.finalize[..., Worker] | None = None
        self.greeting = self._start()

    def ask(self, request: Mapping[str, object]) -> JsonObject:
        """Return the reply to a request; raise InputError if the worker fails or has died, and end it."""
        if self._process is None:
            self._start()
        return self._exchange(request)

    def close(self) -> None:
        """End the worker; the next request starts another one."""
        if self._stop is not None:
            self._stop()
        self._process = self._errors = self._stop = None

    def _start(self) -> JsonObject:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            # A session of its own: Ctrl-C is for this process, which then ends the worker.
            python = self._python if self._elsewhere else None
            process = start(str(_WORKERS / "serve.py"), self._package.adapter, python=python, stderr=errors)
        except OSError as error:
            errors.close()
            raise InputError(f"{self._metric}: {self._python} cannot be run: {error.strerror}") from error
        self._process, self._errors = process, errors
        self._stop = weakref.finalize(self, _end, process, errors)
        return self._exchange(self._options)

    def _exchange(self, message: Mapping[str, object]) -> JsonObject:
        """Return the reply to a message; whatever goes wrong ends the worker."""
        process, line, answered = self._process, b"", False
        assert process is not None and process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - for the type checker
        try:
            with suppress(OSError):
                process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
                process.stdin.flush()
                line = process.stdout.readline()
            if not (line.startswith(b"{") and line.endswith(b"\n")):  # cut off where the worker died
                raise self._death(process)
            reply: JsonObject = json.loads(line)
            if "error" in reply:
                raise self._explain(reply)
            answered = True
        finally:
            if not answered:  # on Ctrl-C too: its answer would be taken for the next one
                self.close()
        return reply

    def _death(self, process: subprocess.Popen[bytes]) -> InputError:
        """Return the error that says how the worker died, or that it is none, and its last line of standard error."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
        status = process.poll()
        if status is None:
            how = "answered what is no answer"
        elif status < 0:
            names = {Signal.value: Signal.name for Signal in signal.Signals}
            how = f"was killed by {names.get(-status, f'signal {-status}')}"
            how += " (out of memory?)" if -status == signal.SIGKILL else ""
        else:
            how = f"ended with status {status}"
        assert self._errors is not None  # noqa: S101 - for the type checker
        self._errors.seek(max(0, os.fstat(self._errors.fileno()).st_size - 4096))
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        last = next((f": {' '.join(line.split())[:300]}" for line in reversed(lines) if line.strip()), "")
        return InputError(f"{self._metric}: the worker {self._python} for {self._package.name} {how}{last}")

    def _explain(self, reply: JsonObject) -> BsxError:
        name, message, advice = self._package.name, reply.get("message", ""), self._package.advice
        if reply["error"] == "missing":
            needs = f"{self._metric} needs the package {name}, which {self._python} has not"
            return MissingExtraError(f"{needs}; it wants an environment of its own: {advice}")
        if reply["error"] == "broken":
            version = f"{self._metric}: {name} {reply.get('version', '')} is installed for {self._python}"
            return InputError(f"{version} but cannot be imported ({message}): {advice}")
        if reply["error"] == "model":
            return ModelUnavailableError(f"{self._metric}: {message}")
        return InputError(f"{self._metric}: {name} failed: {message}")

    def notes(self, metric: str) -> tuple[str, ...]:
        """Say when it runs elsewhere than the rest of the run."""
        wanted, ran = str(self._options["device"]).partition(":")[0], str(self.greeting["device"])
        if ran.partition(":")[0] == wanted:
            return ()
        return (f"{metric}: the torch of its environment does not run on {wanted}; it runs on {ran}",)

    def signature_fields(self) -> dict[str, object]:
        """Return what the worker's environment adds to a signature."""
        return {
            "python": self.greeting["python"],
            self._package.name.replace("-", "_"): self.greeting["version"],
            "dtype": "fp32",
            "backend": f"torch-{str(self.greeting['torch']).partition('+')[0]}",
        }


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """End a worker and close what led to it."""
    process.terminate()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    errors.close()
