"""Progress as bars, drawn only where they are asked for."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys

import pytest

import bsx
import bsx.analysis as analysis
from bsx.support.progress import Watch, reporter


def test_bars_follow_phases(capsys: pytest.CaptureFixture[str]) -> None:
    report = reporter(True)
    assert report is not None
    report("reading", 3, 0)
    report("scoring", 1, 4)
    report("scoring", 4, 4)
    err = capsys.readouterr().err
    assert "reading: 3it" in err
    assert "scoring: 100%" in err
    assert "4/4" in err


def test_a_phase_that_breaks_off_leaves_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    report = reporter(True)
    assert report is not None
    report("scoring", 1, 4)
    del report
    gc.collect()
    assert capsys.readouterr().err.endswith("\n")


def test_functions_are_called_as_they_are() -> None:
    calls: list[tuple[str, int, int]] = []
    given = lambda *call: calls.append(call)  # noqa: E731
    assert reporter(given) is given
    assert reporter(None) is reporter(False) is None


def test_every_long_function_draws_bars() -> None:
    faces = ((face, name) for face in (bsx, analysis) for name in dir(face) if not name.startswith("_"))
    takes = {}
    for face, name in faces:
        function = getattr(face, name)
        if inspect.isfunction(function) and "progress" in inspect.signature(function).parameters:
            takes[f"{face.__name__}.{name}"] = inspect.signature(function).parameters["progress"].annotation
    assert {"bsx.score", "bsx.analysis.robustness", "bsx.meta"} <= set(takes)
    del takes["bsx.analysis.compute_factors"]  # a setting, which is tried below
    assert set(takes.values()) <= {"Watch", Watch}


def test_scoring_draws_bars(capsys: pytest.CaptureFixture[str]) -> None:
    chrf = bsx.get_metric("chrf")
    quiet = chrf.score(["a cat"], ["the cat"])
    assert capsys.readouterr().err == ""
    assert chrf.score(["a cat"], ["the cat"], progress=True).values == quiet.values
    assert "scoring: 100%" in capsys.readouterr().err
    analysis.compute_factors("lex", ["A plane."], ["A plane."], progress=True)


def test_bars_are_imported_only_where_they_are_drawn() -> None:
    said = "import sys, bsx.support.progress as p; p.reporter(None); assert 'tqdm' not in sys.modules"
    subprocess.run([sys.executable, "-c", said], check=True)
