"""The committed registry files and tables of pages are what their generators write."""

from __future__ import annotations

import runpy
import sys

import pytest

from tests.conftest import REPOSITORY


@pytest.mark.parametrize(
    "script",
    [
        "alignment_picture.py",
        "carry_models.py",
        "carry_baselines.py",
        "language_evidence.py",
        "make_languages.py",
        "metric_checks.py",
        "speed_tables.py",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_generated_files_are_fresh(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, which has imported what they need; what is stale, a script says as it exits."""
    monkeypatch.setattr(sys, "argv", [script, "--check"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    runpy.run_path(str(REPOSITORY / "tools" / script), run_name="__main__")
