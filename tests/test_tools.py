"""The committed registry files and tables of pages are what their generators write."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY


@pytest.mark.parametrize(
    "script",
    [
        "alignment_picture.py",
        "carry_models.py",
        "carry_baselines.py",
        "house_map.py",
        "language_table.py",
        "make_languages.py",
        "metric_checks.py",
        "metric_pages.py",
        "speed_tables.py",
    ],
)
def test_generated_files_are_fresh(script: str) -> None:
    done = subprocess.run(
        [sys.executable, REPOSITORY / "tools" / script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
