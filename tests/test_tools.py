"""The committed registry files and tables of pages are what their generators write."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.slow
def test_the_house_shows_where_data_flow(tmp_path: Path) -> None:
    house = runpy.run_path(str(REPOSITORY / "tools" / "house.py"))
    line = "score systems.tsv --candidate atlas --metrics chrf"
    found = house["run"](line, str(tmp_path))
    assert found[0] == "bsx/cli/score.py"
    own = [file for file in found if house["room"](file) not in house["GROUPS"]]
    assert own.index("bsx/scoring/run.py") < own.index("bsx/metrics/lexical/chrf.py")
    assert len(found) == len(set(found))
    assert "bsx/scoring/run.py" in house["chain"](line, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["score", "meta", "disentangle"])
def test_contributors_are_shown_the_chains_as_they_are(name: str) -> None:
    told = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.search(rf"^{name} {{2,}}((?:.*\n)(?: .*\n)*)", told, re.MULTILINE)
    house = [sys.executable, str(REPOSITORY / "tools" / "house.py"), name]
    shown = subprocess.run(house, check=True, capture_output=True, text=True).stdout
    own = shown[shown.index("  own:") : shown.index("  data:")]
    files = {line.split()[1] for line in own.splitlines() if ".py" in line and "bsx/catalog/" not in line}
    files |= {"bsx/data/frame.py"} & set(shown.split())
    assert block is not None
    assert set(block[1].split()) == files | {f"bsx/cli/{name}.py"}


@pytest.mark.slow
def test_the_house_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(REPOSITORY / "tools" / "count.py"))["main"](REPOSITORY)
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()][::5] == ["lines", "commands"]
