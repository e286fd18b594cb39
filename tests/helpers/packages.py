"""Copies of other projects' repositories that some tests read, where somebody has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def clone(variable: str, holds: str) -> Path:
    """Return the folder that an environment variable names, or skip the test.

    Args:
        variable: the environment variable; CONTRIBUTING.md lists them.
        holds: a file that must be in it.
    """
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} does not name a clone of the repository")
    assert (Path(folder) / holds).is_file(), f"{variable}={folder} has no {holds}"
    return Path(folder)
