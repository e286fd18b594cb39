"""What other packages are told through the environment, before they are imported: to send nothing, and where to write.

What the user has set himself is left as it is. Processes that bsx starts inherit all of it.
"""

from __future__ import annotations

import os
import warnings

SILENT = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime 1.31 keeps a device id and events in ~/.cache, and sends them
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub and transformers add to each request what else is installed
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray reports once an hour
}
"""Variable -> the value that switches off what a package would tell its makers."""

_QUIET = {"HF_HUB_VERBOSITY": "error"}  # each of its attempts to reach the hub is a warning; bsx says what came of them

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
