"""COMET and LASER: run by their own packages in other environments.

What needs such an environment runs where ``BSX_COMET_PYTHON`` and ``BSX_LASER_PYTHON`` name its interpreter, on tiny
random models that the packages build themselves; ``BSX_COMET_MODEL`` names a further COMET model to compare with.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bsx.catalog.catalog import load_registry
from bsx.cluster.scorer import BatchScorer
from bsx.encode.session import Encoders
from bsx.errors import BsxError, InputError, MissingExtraError, ModelUnavailableError
from bsx.metrics.base import get_metric
from bsx.metrics.learned.comet import Comet
from bsx.metrics.learned.external import ExternalConfig, Package, Worker
from bsx.metrics.learned.laser import Laser
from bsx.support.environment import SILENT

BUILDER = Path(__file__).parents[1] / "helpers" / "external_models.py"
CANDIDATES = ["the cat sat on the mat", "a man walked to the bridge", "the old train", "dog", "rain was slow " * 12, ""]
REFERENCES = ["the cat is on the mat", "the man walked to the river", "a new report", "a dog", "the rain", "the house"]
SOURCES = ["die katze", "der mann", "ein neuer bericht", "hund", "der regen war langsam", "haus"]
CPU: dict[str, Any] = {"device": "cpu"}


def interpreter(name: str) -> str:
    if not os.environ.get(name):
        pytest.skip(f"{name} names no interpreter with the package")
    return os.environ[name]


def said(python: str, *arguments: str, given: object = None) -> Any:
    """Return what external_models.py prints as its last line, in the other environment."""
    done = subprocess.run(
        [python, BUILDER, *arguments], input=json.dumps(given), capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]) if given is not None else None


def built(package: str, python: str, factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return the interpreter that has a package, and a folder of tiny models that it made."""
    home = factory.mktemp(package)
    said(python, package, str(home))
    return python, home


@pytest.fixture(scope="module")
def comet(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return built("comet", interpreter("BSX_COMET_PYTHON"), tmp_path_factory)


@pytest.fixture(scope="module")
def laser(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return built("laser", interpreter("BSX_LASER_PYTHON"), tmp_path_factory)


def samples(references: bool) -> list[dict[str, str]]:
    texts = [{"src": source, "mt": candidate} for source, candidate in zip(SOURCES, CANDIDATES, strict=True)]
    return [{**t, "ref": ref} for t, ref in zip(texts, REFERENCES, strict=True)] if references else texts


# Without the packages


@pytest.mark.parametrize("name", ["comet", "comet-qe", "xcomet", "xcomet-qe", "laser", "laser-qe"])
def test_the_entries_are_honest(name: str) -> None:
    entry = load_registry().metrics[name]
    assert entry.needs_hub
    assert entry.check.values is None
    kind = Comet if "comet" in name else Laser
    for part in (p for names in kind.package.requirements for p in names):
        assert part in str(entry.notes)


@pytest.mark.parametrize(
    ("name", "package", "command"),
    [
        ("comet", "unbabel-comet", "python -m venv comet-env && comet-env/bin/pip install unbabel-comet"),
        ("comet-qe", "unbabel-comet", "python=comet-env/bin/python"),
        ("laser", "laser-encoders", "python3.10 -m venv laser-env && laser-env/bin/pip install 'pip<24.1' && "),
        ("laser-qe", "laser-encoders", "laser-env/bin/pip install laser-encoders requests"),
    ],
)
def test_a_missing_package_names_the_command(name: str, package: str, command: str) -> None:
    for python in (None, sys.executable):
        with pytest.raises(MissingExtraError) as caught:
            get_metric(name, encoders=Encoders(**CPU), python=python)
        message = str(caught.value)
        assert message.startswith(f"{name} needs the package {package}, which {sys.executable} has not")
        assert command in message
        assert "\n" not in message


SHEBANG = f"#!{sys.executable}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "comet: there is no interpreter .*python: python -m venv comet-env"),
        (SHEBANG, "ended with status 0"),
        (f"{SHEBANG}import sys; sys.exit('first\\nthe last word')", "ended with status 1: the last word"),
        (f"{SHEBANG}print('hello')", "ended with status 0"),
        (f"{SHEBANG}print([1], flush=True)\nimport time; time.sleep(60)", "answered what is no answer"),
        (f"{SHEBANG}import os; os.kill(os.getpid(), 9)", r"was killed by SIGKILL \(out of memory\?\)"),
        ("\x00\x01 no program", "python cannot be run: Exec format error"),
    ],
)
def test_what_is_no_interpreter_is_one_clear_line(tmp_path: Path, text: str | None, message: str) -> None:
    python = tmp_path / "python"
    if text is not None:
        python.write_text(text)
        python.chmod(0o755)
    with pytest.raises(InputError, match=message) as caught:
        get_metric("comet", encoders=Encoders(**CPU), python=python)
    assert "\n" not in str(caught.value)


# The worker, with a package that is here: a stand-in adapter in another folder

STAND_IN = """
import os, time
PACKAGE, MODULE = "pydantic", "stand_in_package"
class ModelMissing(Exception): pass
def open_model(options, device):
    if options["model"] == "absent": raise ModelMissing("absent is\\nnot here")
    if options["model"] == "bad": raise RuntimeError("cannot")
    def answer(request):
        print("and between replies")
        if request["do"] == "die": os._exit(3)
        if request["do"] == "wait": time.sleep(60)
        if request["do"] == "look up": import socket; socket.getaddrinfo("example.org", 443)
        if request["do"] == "kill": os.kill(os.getpid(), 40)
        if request["do"] == "fail": raise KeyError("why")
        return {"said": request["do"], "pid": os.getpid(), "path": os.environ.get("PYTHONPATH")}
    return {"model": options["model"]}, answer
"""

IMPORTED = """
import os
print("packages print what they like")
if os.environ.get("STAND_IN") == "broken": raise ValueError("no\\ngood")
"""

TORCH = """
class cuda:
    is_available = staticmethod(lambda: False)
class backends: pass
__version__ = "2.0"
"""


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Worker]:
    import bsx.metrics.learned.external as external

    (tmp_path / "serve.py").write_text((external._WORKERS / "serve.py").read_text())
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    (tmp_path / "stand_in_package.py").write_text(IMPORTED)
    (tmp_path / "torch.py").write_text(TORCH)  # the real one takes seconds
    monkeypatch.setattr(external, "_WORKERS", tmp_path)
    package = Package("pydantic", "stand_in", "env", (("pydantic",),))

    def start(model: str = "m", device: str = "cpu", strict: bool = False, python: Path | None = None) -> Worker:
        run: Any = SimpleNamespace(device=device, config=SimpleNamespace(device=device if strict else "auto"))
        return Worker(package, ExternalConfig(python=python), run, {"model": model}, "it")

    return start


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_worker_answers_whatever_its_package_prints(start: Callable[..., Worker]) -> None:
    import pydantic

    worker = start()
    assert worker.greeting["version"] == pydantic.VERSION
    texts = "räksmörgås 我们 \u2028 \n \x00 " * 5000
    assert worker.ask({"do": texts})["said"] == texts
    assert {"python", "pydantic", "backend", "dtype"} == set(worker.signature_fields())
    worker.close()


def test_a_worker_asks_nobody_where_the_network_is_forbidden(
    start: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="ConnectionRefusedError: HF_HUB_OFFLINE is set"):
        start().ask({"do": "look up"})


def test_a_worker_ends_with_its_metric(start: Callable[..., Worker]) -> None:
    worker = start()
    pid = worker.ask({"do": "x"})["pid"]
    assert alive(pid)
    worker.close()
    assert not alive(pid)
    other = worker.ask({"do": "x"})["pid"]  # and starts again when it is needed
    assert alive(other)
    del worker
    assert not alive(other)


@pytest.mark.parametrize(
    ("do", "message"),
    [
        ("die", "ended with status 3"),
        ("kill", "was killed by signal 40"),
        ("fail", r"it: pydantic failed: KeyError: 'why'"),
    ],
)
def test_a_failing_worker_is_one_line_and_is_ended(start: Callable[..., Worker], do: str, message: str) -> None:
    worker = start()
    pid = worker.ask({"do": "x"})["pid"]
    with pytest.raises(InputError, match=message):
        worker.ask({"do": do})
    assert not alive(pid)
    assert worker.ask({"do": "again"})["said"] == "again"
    worker.close()


def test_ctrl_c_ends_the_worker_and_the_next_answer_is_the_right_one(start: Callable[..., Worker]) -> None:
    worker = start()
    pid = worker.ask({"do": "x"})["pid"]
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        worker.ask({"do": "wait"})
    assert time.monotonic() - began < 30  # not the minute that the answer takes
    assert not alive(pid)
    assert worker.ask({"do": "after"})["said"] == "after"
    worker.close()


def test_why_a_model_does_not_open(start: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailableError, match=r"^it: absent is not here$"):
        start("absent")
    with pytest.raises(InputError, match=r"^it: pydantic failed: RuntimeError: cannot$"):
        start("bad")
    monkeypatch.setenv("STAND_IN", "broken")
    with pytest.raises(InputError, match=r"pydantic .* is installed .* \(ValueError: no good\): python -m venv env"):
        start()


def test_the_device_is_what_the_other_torch_sees(start: Callable[..., Worker]) -> None:
    worker = start(device="mps" if sys.platform != "darwin" else "cuda")
    assert worker.greeting["device"] == "cpu"
    worker.close()
    with pytest.raises(InputError, match="sees no device"):
        start(device="mps" if sys.platform != "darwin" else "cuda", strict=True)


def test_this_environments_paths_do_not_reach_another(
    start: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    for python, path in ((Path(sys.executable), None), (None, [path for path in sys.path if Path(path).is_absolute()])):
        worker = start(python=python)
        found = worker.ask({"do": "x"})["path"]
        assert (found and found.split(os.pathsep)) == path
        worker.close()


# COMET for real


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("comet", "comet"),
        ("comet", "unified"),
        ("comet-qe", "comet-qe"),
        ("comet-qe", "unified-qe"),
        ("comet-qe", "unified"),
        ("xcomet", "xcomet"),
        ("xcomet-qe", "xcomet"),
    ],
)
def test_comet_equals_the_package(comet: tuple[str, Path], name: str, model: str) -> None:
    python, home = comet
    with_references = not name.endswith("-qe")
    metric = get_metric(name, encoders=Encoders(**CPU), python=python, model=str(home / model))
    scores = metric.score(CANDIDATES, REFERENCES if with_references else None, SOURCES)
    expected = said(python, "comet-scores", str(home / model), given=samples(with_references))
    np.testing.assert_allclose(scores.values, expected, atol=1e-6)
    assert np.ptp(scores.values) > 0.01
    alone = metric.score(CANDIDATES[1:2], REFERENCES[1:2] if with_references else None, SOURCES[1:2])
    np.testing.assert_allclose(scores.values[1:2], alone.values, atol=1e-6)
    assert scores.empty.tolist() == [5]
    assert scores.truncated.tolist() == [4]
    assert scores.signature["model"].startswith(f"{model}@sha256-")
    assert scores.signature["unbabel_comet"].startswith("2.")


def test_comet_on_a_named_model(comet: tuple[str, Path]) -> None:
    model = os.environ.get("BSX_COMET_MODEL")
    if not model:
        pytest.skip("BSX_COMET_MODEL names no model")
    metric = get_metric("comet", encoders=Encoders(**CPU), python=comet[0], model=model)
    expected = said(comet[0], "comet-scores", model, given=samples(True))
    np.testing.assert_allclose(metric.score(CANDIDATES, REFERENCES, SOURCES).values, expected, atol=1e-5)


def test_comet_with_several_references(comet: tuple[str, Path]) -> None:
    python, home = comet
    best, mean = (
        get_metric("comet", encoders=Encoders(**CPU), python=python, model=str(home / "comet"), multi_ref=how)
        for how in ("best", "mean")
    )
    both = [[a, b, " "] for a, b in zip(REFERENCES, REFERENCES[::-1], strict=True)]
    one, other = (best.score(CANDIDATES, texts, SOURCES).values for texts in (REFERENCES, REFERENCES[::-1]))
    np.testing.assert_allclose(best.score(CANDIDATES, both, SOURCES).values, np.maximum(one, other), atol=1e-6)
    np.testing.assert_allclose(mean.score(CANDIDATES, both, SOURCES).values, (one + other) / 2, atol=1e-6)
    matrix = best.score_matrix(CANDIDATES[:2], REFERENCES[:3], sources=SOURCES[0])
    direct = best.score([CANDIDATES[1]] * 3, REFERENCES[:3], [SOURCES[0]] * 3).values
    np.testing.assert_allclose(matrix[1], direct, atol=1e-6)


def test_comet_counts_what_its_limit_cuts_off(comet: tuple[str, Path]) -> None:
    python, home = comet
    metric = get_metric("comet", encoders=Encoders(**CPU), python=python, model=str(home / "comet"))
    long = "cat " * 50  # of one token each, and two special tokens; 42 positions less 2, less 2, are read
    scores = metric.score([long, "cat"], ["cat", long], ["cat", long])
    assert scores.tokens_lost.tolist() == [14, 28]


@pytest.mark.parametrize(
    ("name", "model", "message"),
    [
        ("comet", "comet-qe", "reads no references: use comet-qe with it"),
        ("comet", "unified-qe", "reads no references: use comet-qe with it"),
        ("comet-qe", "comet", "needs references: use comet with it"),
        ("comet", ".", r"holds no hparams.yaml with checkpoints/\*.ckpt next to it"),
        ("comet", "none.ckpt", "is not a checkpoint with hparams.yaml in the folder above it"),
        ("comet", "", "Unbabel/wmt22-comet-da is not on this machine and cannot be fetched"),
    ],
)
def test_comet_models_that_do_not_fit(
    comet: tuple[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, model: str, message: str
) -> None:
    kind = InputError if "use comet" in message else ModelUnavailableError
    for variable, value in (("HF_HUB_OFFLINE", "1"), ("HF_HUB_CACHE", str(tmp_path)), ("HOME", str(tmp_path))):
        monkeypatch.setenv(variable, value)
    settings: dict[str, Any] = {"model": str(comet[1] / model)} if model else {}
    with pytest.raises(kind, match=message) as caught:
        get_metric(name, encoders=Encoders(**CPU), python=comet[0], **settings)
    assert "\n" not in str(caught.value)


def test_a_comet_model_whose_encoder_is_not_here(
    comet: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, home = comet
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (home / "encoder").rename(home / "elsewhere")
    try:
        with pytest.raises(BsxError, match=r"comet is here, but not all that it loads") as caught:
            get_metric("comet", encoders=Encoders(**CPU), python=python, model=str(home / "comet"))
    finally:
        (home / "elsewhere").rename(home / "encoder")
    assert "\n" not in str(caught.value)


# LASER for real


@pytest.mark.parametrize(
    ("name", "settings", "langs"),
    [
        ("laser", {}, ("laser2", "laser2")),
        ("laser", {"lang": "wol_Latn"}, ("wol_Latn", "wol_Latn")),
        ("laser-qe", {"source_lang": "wol_Latn"}, ("laser2", "wol_Latn")),
        ("laser-qe", {"lang": "eng_Latn"}, ("eng_Latn", "laser2")),
    ],
)
def test_laser_equals_the_package(
    laser: tuple[str, Path], name: str, settings: dict[str, Any], langs: tuple[str, str]
) -> None:
    python, home = laser
    metric = get_metric(name, encoders=Encoders(**CPU), python=python, model_dir=home, **settings)
    others = REFERENCES if name == "laser" else SOURCES
    scores = metric.score(CANDIDATES, others if name == "laser" else None, others if name == "laser-qe" else None)
    pairs = list(zip(CANDIDATES, others, strict=True))[:-1]  # the last candidate is blank
    expected = said(python, "laser-scores", str(home), *langs, given=pairs)
    np.testing.assert_allclose(scores.values[:-1], expected, atol=1e-6)
    assert scores.values[-1] == 0
    assert scores.empty.tolist() == [5]
    same = metric.score(["the cat"] * 2, ["the cat"] * 2, ["the cat"] * 2).values
    assert same.tolist() == pytest.approx([1.0, 1.0] if langs[0] == langs[1] else [same[0]] * 2)
    names = dict.fromkeys("laser3-wol_Latn.v1" if lang == "wol_Latn" else "laser2" for lang in langs)
    assert [part.partition("@")[0] for part in scores.signature["model_dir"].split("+")] == list(names)


def test_laser_without_its_models(laser: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")  # nothing answers there
    with pytest.raises(ModelUnavailableError, match=r"laser: laser2.pt, laser2.spm, laser2.cvocab: not in") as caught:
        get_metric("laser", encoders=Encoders(**CPU), python=laser[0], model_dir=tmp_path)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="LASER knows no language 'tlh'"):
        get_metric("laser", encoders=Encoders(**CPU), python=laser[0], model_dir=tmp_path, lang="tlh")
    with pytest.raises(ModelUnavailableError, match="there is no folder"):
        get_metric("laser", encoders=Encoders(**CPU), python=laser[0], model_dir=tmp_path / "none")


def test_laser_does_not_keep_a_servers_refusal(laser: tuple[str, Path], tmp_path: Path) -> None:
    code = """
import sys; sys.path.insert(0, sys.argv[1])
import laser_model, threading, http.server
from laser_encoders import download_models
class Refuse(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(403); self.end_headers(); self.wfile.write(b"no")
    def log_message(self, *said): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Refuse)
threading.Thread(target=server.serve_forever, daemon=True).start()
kind = laser_model.fetch_checked()
loader = download_models.LaserModelDownloader(sys.argv[2])
loader.base_url = f"http://127.0.0.1:{server.server_port}"
try:
    loader.download("laser2.spm")
except kind as error:
    sys.exit(0 if "403" in str(error) else 2)
sys.exit(3)
"""
    workers = Path(__file__).parents[2] / "bsx/metrics/learned/workers"
    done = subprocess.run([laser[0], "-c", code, workers, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.iterdir())


def test_workers_inherit_what_packages_are_told(start: Callable[..., Worker], tmp_path: Path) -> None:
    child = tmp_path / "python"
    child.write_text(f"#!/bin/sh\nenv > {tmp_path}/told\n")
    child.chmod(0o755)
    with pytest.raises(InputError):
        start(python=child)
    told = dict(line.split("=", 1) for line in (tmp_path / "told").read_text().splitlines() if "=" in line)
    assert told.items() >= SILENT.items()
    # What a cluster runs tells its process when it is unpickled there, whatever that inherited.
    worker = pickle.dumps(BatchScorer)
    code = f"import os, pickle; pickle.loads({worker!r}); print([os.environ[name] for name in {list(SILENT)!r}])"
    kept = {name: value for name, value in os.environ.items() if name not in SILENT}
    done = subprocess.run([sys.executable, "-c", code], env=kept, capture_output=True, text=True, check=True)
    assert done.stdout == f"{list(SILENT.values())}\n"
