"""The hour on a graphics card, in miniature on the CPU: no step may fail of a slip once there is a card."""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY

# Not imported by name: benchmarks are not type-checked, and what they import of each other would be.
gpu_hour: Any = importlib.import_module("benchmarks.gpu_hour")
gpu_pack: Any = importlib.import_module("benchmarks.gpu_pack")

SAYS = "import json, sys, time; open(sys.argv[1], 'w').write(json.dumps({'found': 1})); "
ENDS = {"works": "pass", "fails": "sys.exit('a slip')", "hangs": "time.sleep(60)"}


def steps_of(script: dict[str, str], started: list[str]) -> Any:
    def command(name: str, part: Path) -> Sequence[str]:
        started.append(name)
        return [sys.executable, "-S", "-c", SAYS + script[name], str(part)]

    return command


@pytest.mark.slow
def test_steps_fail_hang_and_are_continued(tmp_path: Path) -> None:
    output, started = tmp_path / "hour.json", list[str]()
    limits = {"fails": 30.0, "hangs": 2.0, "works": 30.0}
    said: Any = {"said": {"miniature": True}, "tell": lambda _: None}
    content = gpu_hour.run_steps(limits, steps_of(ENDS, started), output, seconds=60, **said)
    assert content == json.loads(output.read_text())
    assert {name: step["state"] for name, step in content["steps"].items()} == {
        **{"fails": "failed", "hangs": "late", "works": "done"}
    }
    assert all(step["found"] == {"found": 1} for step in content["steps"].values())  # what was there is kept
    assert "a slip" in content["steps"]["fails"]["end"]
    started.clear()
    mended = steps_of({"fails": "pass", "new": "pass"}, started)
    content = gpu_hour.run_steps({"fails": 30, "works": 30, "new": 30}, mended, output, seconds=60, **said)
    assert started == ["new", "fails"]
    assert content["steps"]["fails"]["state"] == "done"
    started.clear()
    gpu_hour.run_steps({"hangs": 30}, steps_of(ENDS, started), output, seconds=1, **said)
    assert started == []  # no time left
    with pytest.raises(SystemExit):
        gpu_hour.run_steps(limits, mended, output, seconds=60, said={"miniature": False})


def test_the_time_that_a_card_is_busy() -> None:
    assert gpu_hour.busy([(5, 6), (0, 2), (1, 3)]) == (4, 6)
    assert gpu_hour.busy([]) == (0, 0)


def test_operations_of_an_encoder() -> None:
    # Of one layer of width 2 with 3 inside, and 5 tokens: 4·2·2 + 2·2·3 = 28 weights; attention 2·5·5·2 twice.
    assert gpu_hour.operations([5], 1, 2, 3) == 2 * 5 * 28 + 2 * 2 * 5 * 5 * 2


def miniature(shared: Path, work: Path, step: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    gpu_hour.STEPS[step].work(gpu_hour.Run(gpu_hour.MINIATURE, shared / "data", work, found.__setitem__))
    return found


def test_short_memory_in_miniature(shared: Path, tmp_path: Path) -> None:
    found = miniature(shared, tmp_path, "memory")
    assert found["simulated"]
    room = found["1 MB"]
    assert room["within_1e-5"]
    assert room["encoder_retries"] > 0
    assert room["matching_retries"] > 0
    assert room["tokens_of_a_batch_then"] <= 300


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_step_in_miniature(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    work = tmp_path_factory.mktemp("hour")
    found = {step: miniature(shared, work, step) for step in gpu_hour.STEPS}
    assert found["parity"]["minilm"]["within_1e-5"]
    assert found["parity"]["matrix"] == found["parity"]["moverscore"] == {"largest_difference": 0.0}
    assert found["speed"]["pairs_per_second"].keys() >= {"bert-score", "bsx fp32"}
    assert "share" in found["speed"]["encoder_and_matrix_rate"]["fp32"]
    for step in ("formats-large", "formats-minilm", "formats-me5"):
        assert found[step].keys() == {*gpu_hour.FORMATS, "int8"}
        assert found[step]["compiled"]["largest_deviation_from_fp32"] < 1e-5
    assert found["formats-minilm"]["fp32"]["pearson_wmt17"] > 0.3
    assert all(len(found["budgets"][model]) == 3 + 3 for model in ("large", "minilm"))
    assert found["profile"].keys() == {"encoder", "scoring", "matrix", "moverscore", "cache, written", "cache, read"}
    assert all("copies_to_host" in part for part in found["profile"].values())
    assert found["tests"]["cuda"]["skipped"] == found["tests"]["cuda"]["tests"] == 1
    content = {"steps": {"speed": {"found": found["speed"]}}}
    assert any("fp32" in line for line in gpu_hour.summary(content))


@pytest.mark.slow
def test_the_script_in_miniature(shared: Path, tmp_path: Path) -> None:
    output = tmp_path / "hour.json"
    options = ["--miniature", "--steps", "machine", "--output", str(output), "--work", str(tmp_path)]
    command = ["bash", "benchmarks/gpu_hour.sh", *options, "--data", str(shared / "data")]
    environment = {"PYTHON": sys.executable, "PATH": "/usr/bin:/bin", "HOUR_PACK": str(tmp_path / "none")}
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True)
    step = json.loads(output.read_text())["steps"]["machine"]
    assert step["state"] == "done"
    assert "fp32" in step["found"]["matrix_teraflops"]


def test_a_pack_is_laid_out(tmp_path: Path) -> None:
    import tarfile

    wheels = {"pytest-9-py3-none-any.whl": "pytest/x.py", "no_such_thing-1-py3-none-any.whl": "no_such_thing.py"}
    with tarfile.open(tmp_path / "pack.tar", "w") as archive:
        for name, module in wheels.items():
            with zipfile.ZipFile(tmp_path / name, "w") as wheel:
                wheel.writestr(module, "HERE = True\n")
            archive.add(tmp_path / name, f"wheels/{name}")
        table = tmp_path / "table.tsv"
        table.write_text("lp\n")
        archive.add(table, f"data/{gpu_pack.SLICE[0]}")
    whole = (tmp_path / "pack.tar").read_bytes()
    folder, site = tmp_path / "pack", tmp_path / "site"
    folder.mkdir()
    for number, start in enumerate(range(0, len(whole), 4000)):
        (folder / f"part-{number:03d}").write_bytes(whole[start : start + 4000])
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    said = {"python": python, "parts": number + 1, "sha256": hashlib.sha256(whole).hexdigest()}
    (folder / "pack.json").write_text(json.dumps(said))
    (folder / "part-000").rename(tmp_path / "kept")
    with pytest.raises(SystemExit, match="parts are there"):
        gpu_pack.unpack(folder, site)
    (tmp_path / "kept").rename(folder / "part-000")
    assert gpu_pack.unpack(folder, site) == ["no_such_thing-1-py3-none-any.whl"]  # pytest is here already
    assert (site / "no_such_thing.py").is_file()
    assert (site / "data" / gpu_pack.SLICE[0]).read_text() == "lp\n"
    assert gpu_pack.unpack(folder, site) == []
    (folder / "part-000").write_bytes(b"x" * 4000)
    (site / "unpacked").unlink()
    with pytest.raises(SystemExit, match="not those that were packed"):
        gpu_pack.unpack(folder, site)
