"""What all fuzz cases start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.world import build


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all inputs; no case may change it."""
    return build(tmp_path_factory.mktemp("world"))
