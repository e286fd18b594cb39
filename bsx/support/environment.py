"""What a process and the packages in it are told before they work: what not to do, and where to write.

Packages are told through the environment: to send nothing, and where to write. What the user has set himself is left as
it is, and processes that bsx starts inherit all of it. Whether the network may be used, `forbidden` says to whoever
calls a library that would fetch something.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings

SILENT = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime 1.31 keeps a device id and events in ~/.cache, and sends them
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub and transformers add to each request what else is installed
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray reports once an hour
}
"""Variable -> the value that switches off what a package would tell its makers."""

_YES = {"1", "ON", "YES", "TRUE"}
_LOOKS_UP = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.connect", "socket.sendto"})
_HERE = ("localhost", "127.", "::1")

_FOLDERS = {
    "MPLCONFIGDIR": "matplotlib",  # its list of fonts; its own places are ~/.config/matplotlib and ~/.cache/matplotlib
    "TORCHINDUCTOR_CACHE_DIR": "torchinductor",  # PyTorch makes it, and leaves it empty, among temporary files
}


def silence() -> None:
    """Switch off what packages tell their makers, and one idle warning of theirs.

    `import bsx` calls it, so it holds in every process and worker.
    """
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)
    # In a notebook tqdm asks for ipywidgets, which nothing of bsx needs, when transformers imports it.
    warnings.filterwarnings("ignore", message="IProgress not found")


def forbidden() -> str | None:
    """Return what says that the network may not be used, for a message; None if it may.

    ``HF_HUB_OFFLINE`` says it, or where that is not set ``TRANSFORMERS_OFFLINE``: as the hub's client reads them, but
    at any time, not only when that is imported.
    """
    name = "HF_HUB_OFFLINE" if os.environ.get("HF_HUB_OFFLINE") else "TRANSFORMERS_OFFLINE"
    if os.environ.get(name, "").upper() in _YES:
        return f"{name} is set"
    client = sys.modules.get("huggingface_hub.constants")
    return "HF_HUB_OFFLINE is set" if getattr(client, "HF_HUB_OFFLINE", False) else None


@functools.cache
def guard() -> None:
    """Have this process fail where anything in it turns to another machine although that is `forbidden`.

    It is for the command line, which is a process of its own: no library that nobody thought of gets past it.
    """

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event not in _LOOKS_UP or (why := forbidden()) is None:
            return
        place: object = arguments[event in ("socket.connect", "socket.sendto")]
        host = place[0] if isinstance(place, tuple) and place else place if "get" in event else None
        if isinstance(host, str | bytes) and not os.fsdecode(host).startswith(_HERE):
            raise ConnectionRefusedError(f"{why}: {os.fsdecode(host)} is not asked")

    sys.addaudithook(refuse)


def keep_together() -> None:
    """Have packages write into bsx's folder for caches, say nothing of their own, and obey a ban on the network.

    As `guard`, it is for the command line.
    """
    from bsx.support.folders import cache_folder

    guard()
    # Each of its attempts to reach the hub is a warning; bsx says what came of them.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    folder = cache_folder().absolute()
    nearest = next(above for above in (folder, *folder.parents) if above.exists())
    if os.access(nearest, os.W_OK):
        for name, place in _FOLDERS.items():
            os.environ.setdefault(name, str(folder / place))


def import_path() -> list[str]:
    """Return ``sys.path`` without the current folder, where an entry of PYTHONPATH means it but does not name it.

    An empty entry, such as that of ``:/x``, does: what lies in the folder that somebody works in is data, not code.
    """
    given = os.environ.get("PYTHONPATH")
    entries = given.split(os.pathsep) if given else []
    try:
        here = os.getcwd()  # noqa: PTH109 - compared with texts
    except OSError:  # it was removed: nothing lies there
        return list(sys.path)
    meant = any(not os.path.isabs(entry) and os.path.abspath(entry) == here for entry in entries)  # noqa: PTH100, PTH117
    return [entry for entry in sys.path if entry != here] if meant and here not in entries else list(sys.path)
