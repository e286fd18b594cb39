"""Where Python looks for modules, without the folder that somebody works in: what lies there is data, not code.

An empty entry of ``PYTHONPATH``, such as that of ``:/x``, means the current folder. This module imports only what
every Python has imported before it looks anywhere.
"""

import os
import sys


def import_path() -> list[str]:
    """Return ``sys.path`` without the current folder, where an entry of PYTHONPATH means it but does not name it."""
    given = os.environ.get("PYTHONPATH")
    entries = given.split(os.pathsep) if given else []
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib is not imported yet
    except OSError:  # it was removed: nothing lies there
        return list(sys.path)
    meant = any(not os.path.isabs(entry) and os.path.abspath(entry) == here for entry in entries)  # noqa: PTH100, PTH117
    return [entry for entry in sys.path if entry != here] if meant and here not in entries else list(sys.path)


def leave_working_folder() -> None:
    """Have this process import nothing from the current folder."""
    sys.path[:] = import_path()
