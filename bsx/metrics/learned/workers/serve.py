"""The far end of `bsx.metrics.learned.external.Worker`: one JSON line in, one JSON line out.

Started as ``python serve.py ADAPTER`` by an interpreter that may be as old as Python 3.8 and has the adapter's package,
but not bsx. The adapter is a module beside this one with

- ``PACKAGE``: the distribution it needs, and ``MODULE``, the module that it imports of it;
- ``open_model(options, device)``: returns a greeting (the model's identity and what else the near end wants to know)
  and a function from requests to replies;
- ``ModelMissing``: what it raises if the model is neither on this machine nor to be had.

The first line in holds the options and is answered by the greeting; each further line is a request. Whatever fails is
answered by ``{"error": kind, "message": text}`` with a kind of missing, broken, model or failed.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from bsx.support.untyped import JsonObject

    Answer = Callable[[JsonObject], JsonObject]


def one_line(error: BaseException) -> str:
    """Return an exception as one line of at most 300 characters."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    return (f"{name}: {text}" if text else name)[:300]


def choose_device(wanted: str, strict: bool) -> str:
    """Return the device to run on; the CPU if this interpreter's torch does not see the one that is wanted.

    Raises:
        RuntimeError: if it is not seen though the user asked for it by name.
    """
    import torch

    mps = getattr(torch.backends, "mps", None)
    kind = wanted.partition(":")[0]
    seen = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": mps is not None and mps.is_available()}
    if seen.get(kind, False):
        return wanted
    if strict:
        raise RuntimeError(f"the torch {torch.__version__} of this environment sees no device {wanted}")
    return "cpu"


def stay_offline(why: str) -> None:
    """Have this process fail where a package turns to another machine."""

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("socket.getaddrinfo", "socket.gethostbyname"):
            host = arguments[0]
        elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
            host = arguments[1][0]
        else:
            return
        if isinstance(host, str) and not host.startswith(("localhost", "127.", "::1")):
            raise ConnectionRefusedError(f"{why}: {host} is not asked")

    sys.addaudithook(refuse)


def failure(kind: str, error: BaseException, **more: str) -> JsonObject:
    """Return the reply that tells of a failure."""
    return {"error": kind, "message": one_line(error), **more}


def greet(adapter: ModuleType, options: JsonObject) -> tuple[JsonObject, Answer | None]:
    """Import the package and open the model; return the first reply, and the function that answers requests."""
    try:
        installed = version(adapter.PACKAGE)
    except PackageNotFoundError as error:
        return failure("missing", error), None
    if options.get("offline"):
        stay_offline(options["offline"])
    if options["device"] == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # packages that take a GPU unasked shall not find one
    try:
        importlib.import_module(adapter.MODULE)
        import torch
    except Exception as error:  # noqa: BLE001 - whatever a package fails with must reach the near end
        return failure("broken", error, version=installed), None
    try:
        device = choose_device(options["device"], options["strict"])
        greeting, answer = adapter.open_model(options, device)
    except adapter.ModelMissing as error:
        return {"error": "model", "message": " ".join(str(error).split())[:300]}, None
    except Exception as error:  # noqa: BLE001
        return failure("failed", error), None
    about = {"version": installed, "python": platform.python_version(), "torch": torch.__version__, "device": device}
    return {**about, **greeting}, answer


def serve(adapter: ModuleType, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
    """Answer lines until there are no more."""

    def reply(message: JsonObject) -> None:
        outgoing.write(json.dumps(message).encode("ascii") + b"\n")
        outgoing.flush()

    first = incoming.readline()
    if not first:
        return
    greeting, answer = greet(adapter, json.loads(first))
    reply(greeting)
    if answer is None:
        return
    for line in incoming:
        try:
            result = answer(json.loads(line))
        except Exception as error:  # noqa: BLE001
            result = failure("failed", error)
        reply(result)


def main() -> None:
    """Serve on standard input and output; what the package prints goes to standard error."""
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # A Python that is told to be safe does not look beside the program.
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - as sys.path has it
    serve(importlib.import_module(sys.argv[1]), sys.stdin.buffer, channel)


if __name__ == "__main__":
    main()
