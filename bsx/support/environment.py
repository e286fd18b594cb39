"""What other packages are told through the environment, before they are imported.

To send nothing, where to write, and how many cores a container has.

What the user has set himself is left as it is. Processes that bsx starts inherit all of it.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import warnings
from pathlib import Path, PurePosixPath

SILENT = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime 1.31 keeps a device id and events in ~/.cache, and sends them
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub and transformers add to each request what else is installed
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray reports once an hour
}
"""Variable -> the value that switches off what a package would tell its makers."""

_UNLIMITED = 2**31

_QUIET = {"HF_HUB_VERBOSITY": "error"}  # each of its attempts to reach the hub is a warning; bsx says what came of them

_FOLDERS = {
    "MPLCONFIGDIR": "matplotlib",  # its list of fonts; its own places are ~/.config/matplotlib and ~/.cache/matplotlib
    "TORCHINDUCTOR_CACHE_DIR": "torchinductor",  # PyTorch makes it, and leaves it empty, among temporary files
}


def silence() -> None:
    """Switch off what packages tell their makers, and one idle warning of theirs; keep to a container's quota.

    `import bsx` calls it, so it holds in every process and worker.
    """
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)
    keep_to_quota()
    # In a notebook tqdm asks for ipywidgets, which nothing of bsx needs, when transformers imports it.
    warnings.filterwarnings("ignore", message="IProgress not found")


def cores() -> int:
    """Return how many cores the system gives this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_to_quota() -> None:
    """Have as many threads compute as a container's quota lets run at a time, unless ``OMP_NUM_THREADS`` is set.

    A container that may use two of 64 cores still sees all of them: threads beyond its quota only stop each other.
    """
    allowed = quota()
    if allowed < cores() and not os.environ.get("OMP_NUM_THREADS"):
        os.environ["OMP_NUM_THREADS"] = str(allowed)
        if (torch := sys.modules.get("torch")) is not None:  # it has read the variable already
            torch.set_num_threads(min(allowed, torch.get_num_threads()))


def quota(root: Path = Path("/")) -> int:
    """Return how many cores Linux's control groups let this process use, at least 1; a huge number without a limit.

    Of the group that it is in and of those above, the least quota counts, in whole cores; versions 1 and 2 are read.

    Args:
        root: where ``/proc`` and ``/sys`` are.
    """
    least = math.inf
    with contextlib.suppress(OSError, ValueError):  # not Linux, or not as its kernel writes them
        mounts = (root / "proc/self/mountinfo").read_text().splitlines()
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for mount in mounts:
                before, _, after = mount.partition(" - ")
                top, folder = before.split()[3:5]
                kind, _, options = after.split(" ", 2)
                if controllers:
                    of_cores = kind == "cgroup" and "cpu" in controllers.split(",") and "cpu" in options.split(",")
                else:
                    of_cores = kind == "cgroup2"
                if of_cores:
                    group = PurePosixPath(path)
                    # A container may see its own group at the top, by whatever name the host knows that.
                    inside = group.relative_to(top) if group.is_relative_to(top) else PurePosixPath()
                    above = root / folder.lstrip("/")
                    least = min(least, *(_quota_of(above / one) for one in (inside, *inside.parents)))
    return _UNLIMITED if least == math.inf else max(1, int(least))


def _quota_of(group: Path) -> float:
    """Return how many cores the files of one control group allow."""
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        limit, period = (group / "cpu.max").read_text().split()
        return math.inf if limit == "max" else int(limit) / int(period)
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        allowed = int((group / "cpu.cfs_quota_us").read_text())
        return math.inf if allowed < 0 else allowed / int((group / "cpu.cfs_period_us").read_text())
    return math.inf


def keep_together() -> None:
    """Have packages write into bsx's folder for caches, say nothing of their own, and obey a ban on the network.

    It is for the command line, which is a process of its own.
    """
    from bsx.support.download import guard
    from bsx.support.folders import cache_folder

    guard()
    for name, level in _QUIET.items():
        os.environ.setdefault(name, level)

    folder = cache_folder().absolute()
    there = next(above for above in (folder, *folder.parents) if above.exists())
    if os.access(there, os.W_OK):
        for name, place in _FOLDERS.items():
            os.environ.setdefault(name, str(folder / place))
