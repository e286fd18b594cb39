"""Shared fixtures: tiny seeded models, the embedded model, the command line in-process, data that may be absent."""

from __future__ import annotations

import csv
import gc
import math
import os
import random
import signal
import sys
import tracemalloc  # noqa: F401 - pytest needs it whole where two streams were left open, one while it is imported
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

# Started in the background, a shell may have us ignore interrupts, and our children with us; the tests send some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

import pytest
from hypothesis import settings

from tests.helpers import tiny
from tests.helpers.ulps import disturb

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"


LONG = (
    "test_docs.py",
    "test_notebooks.py",
    "metrics/test_contract.py",
    "bertscore/test_parity.py",
    "networks/test_run.py",
    "analysis/report/test_page.py",
    "encode/test_onnx.py",
    "ui/test_browser.py",
    "cli/test_ends.py",
    "test_packaging.py",
)
"""Files that take longest, in the order in which they begin: what is left for the end should be short."""
ALONE = ("tests/test_docs.py", "tests/test_notebooks.py")
"""Files whose tests share little, so that more than two processes may divide them."""

# The same examples in every run; `make test-all` draws new ones. What these find becomes an @example of its test.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("same")

# Imports make a million objects that stay: looking through them again and again for garbage takes seconds.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ways to run the suite as on another machine; tools/processors.py combines them."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and tests in them, in an order of chance")
    parser.addoption("--ulps", type=int, default=0, metavar="N", help="add noise of N units in the last place (fp32)")
    parser.addoption("--backend", choices=("torch", "onnx"), help="what runs encoders where a test names no backend")


def pytest_configure(config: pytest.Config) -> None:
    """Keep what the user has set or stored away from the tests: a registry, a backend, models in a cache."""
    for name in ("BSX_REGISTRY", "BSX_REGISTRY_CODE", "BSX_BACKEND"):
        os.environ.pop(name, None)
    if (backend := config.getoption("backend")) is not None:
        os.environ["BSX_BACKEND"] = backend
    if "not hub" in config.getoption("markexpr"):
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ["HF_HUB_CACHE"] = "/nonexistent"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (seed := config.getoption("shuffle")) is not None:
        by_file: dict[Path, list[pytest.Item]] = {}
        for item in items:
            by_file.setdefault(item.path, []).append(item)
        rng, files = random.Random(seed), list(by_file.values())  # noqa: S311 - no secret
        rng.shuffle(files)
        for tests in files:
            rng.shuffle(tests)
        items[:] = [item for tests in files for item in tests]
        return
    names = [REPOSITORY / "tests" / name for name in LONG]
    items.sort(key=lambda item: names.index(item.path) if item.path in names else len(names))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to the processes of ``-n``, in the order above; pytest-xdist would put the longest last."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            divided = self.numnodes > 2 and nodeid.startswith(ALONE)
            return nodeid if divided else str(super()._split_scope(nodeid))

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; skipped where there is none."""
    from tests.helpers.browser import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session", autouse=True)
def _quiet_transformers() -> None:
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep conversions out of the user's cache, and data sets and a registry of the user's own out of sight."""
    os.environ["BSX_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["BSX_DATA"] = str(tmp_path_factory.mktemp("data"))
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="session", autouse=True)
def _unsynced() -> Iterator[None]:
    """Leave it to the system when files come to the disk: they need not outlive it, and waiting takes minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _ulps(pytestconfig: pytest.Config) -> Iterator[None]:
    """Disturb all token vectors, if asked to: an assertion that hangs on rounding fails on some processor."""
    with pytest.MonkeyPatch.context() as patch:
        if pytestconfig.getoption("ulps"):
            disturb(patch, pytestconfig.getoption("ulps"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_lines() -> None:
    """Keep progress out of what tests compare: on a busy machine anything may take ten seconds."""
    from bsx.cli.output import _Lines

    _Lines.seconds = math.inf


@pytest.fixture(scope="session", autouse=True)
def _no_card() -> Iterator[None]:
    """Compute on the CPU where a test names no device; tests/test_cuda.py takes this back."""
    import torch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(torch.backends.mps, "is_available", lambda: False)
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function: kind of architecture -> folder of a random model, built once a session."""
    home = tmp_path_factory.mktemp("models")

    def folder(kind: str) -> str:
        target = home / kind
        if not target.exists():
            tiny.build(kind, target)
        return str(target)

    return folder


@pytest.fixture(scope="session")
def minilm() -> Any:
    from bsx import Scorer

    return Scorer(model="minilm")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of evaluation data that is not part of the project."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the evaluation data (../shared/data) is not here")
    return SHARED


class Pairs(NamedTuple):
    lp: list[str]
    candidates: list[str]
    references: list[str]
    human: list[float]


@pytest.fixture(scope="session")
def wmt17(shared: Path) -> Pairs:
    """WMT17 segment-level direct assessment, the seven pairs to English."""
    with (shared / "data/wmt/daseg-wmt17.tsv").open(encoding="utf-8", newline="") as stream:
        rows = [r for r in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE) if r["lp"].endswith("-en")]
    lp, candidates, references = ([r[name] for r in rows] for name in ("lp", "candidate", "reference"))
    return Pairs(lp, candidates, references, [float(r["human"]) for r in rows])


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


Cli = Callable[..., Outcome]
"""What `cli` returns."""
Model = Callable[[str], str]
"""What `tiny_model` returns."""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Return a function that runs the command line in this process and gives status, stdout and stderr."""
    from bsx.cli.main import _status

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["bsx", *map(str, arguments)])
        capsys.readouterr()
        status = _status()
        return Outcome(status, *capsys.readouterr())

    return run


@pytest.fixture
def any_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test see what runs encoders where nobody has said it, whatever ``--backend`` says."""
    monkeypatch.delenv("BSX_BACKEND", raising=False)


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test fetch from a server of its own, although the suite itself may ask nobody."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    if (client := sys.modules.get("huggingface_hub.constants")) is not None:
        monkeypatch.setattr(client, "HF_HUB_OFFLINE", False)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Compute with one thread: for tiny models, more only wait for one another."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes the processor one with just the named instructions for low precision.

    What a test asks of bf16 or fp16 on the CPU holds on any machine: PyTorch computes them everywhere, only slowly
    where the processor has no instructions for them, which is why bsx refuses them there.
    """
    import torch

    def has(*flags: str) -> None:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(flags, True), raising=False)

    return has


@pytest.fixture
def wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lend NLTK a WordNet of a few words for the time of a test."""
    import nltk.data
    from nltk.corpus import wordnet as corpus

    tiny.build_wordnet(tmp_path / "corpora" / "wordnet")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    yield
    if hasattr(corpus, "_unload"):
        corpus._unload()
