"""No word to anyone: with a fresh home, runs write nothing outside bsx's own cache and look nobody up."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import bsx
from bsx.catalog.catalog import load_registry
from bsx.catalog.datasets import load_datasets
from bsx.support.environment import SILENT, silence
from tests.cli.test_data import Server

# Whatever a process opens to another one, in Python or beneath it. Looking up a user's name in the daemon that some
# systems have for it is no word to anyone.
GUARD = """
import socket, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        print("GUARD", event, arguments, file=sys.stderr)

sys.addaudithook(refuse)
"""

COMMANDS = [
    "score -c c.txt -r r.txt -m minilm --encoder backend=onnx -o o.tsv",
    "score -c c.txt -r r.txt --metrics chrf,bleu,rouge-l,ter -o m.tsv",
    "match 'a cat' 'the cat' -m minilm --plot picture.png",
    "meta t.tsv --human human --columns a,b --resamples 20",
    "report m.tsv -o report.html",
    "models",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder with one home for all runs: digests are kept from the first on."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "c.txt").write_text("a cat sat\nthe mat\n")
    (folder / "r.txt").write_text("the cat sat\non a mat\n")
    (folder / "t.tsv").write_text("human\ta\tb\n" + "".join(f"{i % 7}\t{i}\t{-i % 5}\n" for i in range(20)))
    return folder


def run(program: list[str], folder: Path, **told: str) -> tuple[str, list[str]]:
    """Run a program with a fresh home; return what it said, and the files it made there and among temporary ones."""
    home, temporary = folder / "home", folder / "tmp"
    for place in (home, temporary, folder / "guard"):
        place.mkdir(exist_ok=True)
    (folder / "guard" / "sitecustomize.py").write_text(GUARD)
    kept = ("PATH", "LANG", "SYSTEMROOT", "LD_LIBRARY_PATH")
    inherited = {name: value for name, value in os.environ.items() if name in kept}
    path = os.pathsep.join([str(folder / "guard"), *(part for part in sys.path if part)])
    environment = {**inherited, "HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    environment |= told
    tracer, trace = shutil.which("strace"), folder / "trace"
    if tracer is not None:
        traced = "trace=connect,sendto,sendmsg,sendmmsg"
        program = [tracer, "-f", "--seccomp-bpf", "-o", str(trace), "-e", traced, *program]
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "GUARD" not in done.stderr
    if tracer is not None:
        assert not [line for line in trace.read_text().splitlines() if "AF_INET" in line]
    made = [
        file for place in (home, temporary) for file in place.rglob("*") if file.is_file() or not any(file.iterdir())
    ]
    return done.stdout, [str(file.relative_to(folder)) for file in made]


# One process for many calls: what its metrics import is imported once. GUARD sees it all the same.
MANY = """
import json, sys
from bsx.cli.main import _status

ends = {}
for call in json.loads(sys.stdin.read()):
    sys.argv[1:] = call.split()
    ends[call] = _status()
print("\\n" + json.dumps(ends))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="knows where Linux keeps a user's files")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nobody_is_asked_where_the_network_is_forbidden(whole: bool, tmp_path: Path) -> None:
    """Every metric, tokenizer, data set and command that could download something, where nothing is here yet."""
    sacrebleu = pytest.importorskip("sacrebleu.metrics.bleu")
    (tmp_path / "c.txt").write_text("a cat sat\nthe mat\n")
    (tmp_path / "t.tsv").write_text("anchor\tparaphrase\ncats sit on mats\ton mats sit cats\n" * 2)
    catalog = load_registry()
    tokenizers = [f"bleu:tokenize={name}" for name in sacrebleu.BLEU.TOKENIZERS]
    score = "score -c c.txt -r c.txt -s c.txt --encoder device=cpu -o o.tsv"
    calls = [f"{score} --metrics {spec} -l en" for spec in (*catalog.metrics, *tokenizers)]
    calls += [f"models pull {name}" for name, entry in catalog.models.items() if entry.source.hub is not None]
    calls += [f"data get {name}" for name, entry in load_datasets().items() if entry.files]
    calls += [
        f"{score} -m somebody/model --layer 1",
        f"{score} -l auto",
        "models pull --lang de",
        "models pin somebody/model",
        "models pull somebody/model",
        "registry tune roberta-large t.tsv -l en --resamples 20",
        "registry baseline roberta-large --corpus c.txt -l en --pairs 4 --registry overlay",
        "factors t.tsv -o f.tsv --factors syn --reference anchor --candidate paraphrase -l en --stanza download=true",
        "adversarial build-triples t.tsv -o x.tsv --recipe nouns --stanza download=true",
        "adversarial build-triples t.tsv -o x.tsv --recipe nouns --detail tagger=nltk",
    ]
    if not whole:
        tokenizer = f"{score} --metrics bleu:tokenize=flores200"
        quick = ("models pull", "models pull --lang", "data get", tokenizer, f"{score} -m")
        calls = [next(call for call in calls if call.startswith(kind)) for kind in quick]
    program = [sys.executable, "-c", f"import io, sys; sys.stdin = io.StringIO({json.dumps(calls)!r})\n{MANY}"]
    said, made = run(program, tmp_path, HF_HUB_OFFLINE="1")
    ends = json.loads(said.splitlines()[-1])
    assert set(ends.values()) <= {0, 2}
    assert {ends[call] for call in calls if "flores" in call or call.startswith(("data get", "models pull"))} == {2}
    assert [file for file in made if not file.startswith("home/.cache/bsx/")] == []


@pytest.mark.usefixtures("online")
@pytest.mark.skipif(sys.platform != "linux", reason="knows where Linux keeps a user's files")
def test_what_may_be_fetched_goes_into_the_cache_of_bsx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model of a tokenizer, from a server on this machine."""
    spm = pytest.importorskip("sacrebleu.tokenizers.tokenizer_spm")
    sentencepiece = pytest.importorskip("sentencepiece")
    texts = iter(f"the {a} {b} sat on a {c}" for a in "abcdefgh" for b in "ijkl" for c in "mnop")
    model = tmp_path / "spm.model"
    with model.open("wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=texts, model_writer=stream, vocab_size=22, minloglevel=2
        )
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "SACREBLEU"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(spm, "SACREBLEU_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("BSX_CACHE", str(tmp_path / "cache"))
    with contextlib.closing(Server()) as server:
        server.content["/spm.model"] = model.read_bytes()
        known = {"url": f"{server.url}/spm.model", "signature": "flores200"}
        monkeypatch.setattr(spm, "SPM_MODELS", {**spm.SPM_MODELS, "flores200": known})
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        with pytest.raises(bsx.ModelUnavailableError, match="HF_HUB_OFFLINE is set"):
            bsx.get_metric("bleu:tokenize=flores200")
        assert not (tmp_path / "cache").exists()
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        found = bsx.get_metric("bleu:tokenize=flores200").score(["the a sat"], [["the a sat"]])
    assert found.values.tolist() == [pytest.approx(100)]
    assert (tmp_path / "cache/sacrebleu/models/spm.model").read_bytes() == model.read_bytes()
    assert not (tmp_path / "home").exists()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    bsx.get_metric("bleu:tokenize=flores200")  # it is here now
    assert str(tmp_path / "home") == spm.SACREBLEU_DIR  # others look where they always did


def test_the_guard_of_a_command_lets_no_library_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import socket; from bsx.support.environment import guard; guard(); guard()\n"
    code += "socket.create_server(('127.0.0.1', 0)).close(); socket.getaddrinfo('localhost', 1)\n"
    code += "with socket.socket(socket.AF_UNIX) as near:\n    near.connect_ex('/nowhere')\n"
    code += "for turn in (lambda s: s.getaddrinfo('example.org', 1), lambda s: s.gethostbyname('example.org'),\n"
    code += "             lambda s: s.socket().connect(('192.0.2.1', 1))):\n"
    code += "    try: turn(socket)\n    except ConnectionRefusedError as error: print(error)\n"
    for name, value in (("HF_HUB_OFFLINE", "TRUE"), ("TRANSFORMERS_OFFLINE", "1")):
        told = {**os.environ, "HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": "", name: value}
        done = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True, check=True)
        assert done.stdout.count(f"{name} is set") == 3, done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="knows where Linux keeps a user's files")
def test_commands_write_and_say_nothing_elsewhere(world: Path) -> None:
    for command in COMMANDS:
        _, made = run(["bash", "-c", f"exec {sys.executable} -m bsx {command}"], world)
        assert [file for file in made if not file.startswith("home/.cache/bsx/")] == []
    assert any("digests" in file for file in made)


@pytest.mark.skipif(sys.platform != "linux", reason="knows where Linux keeps a user's files")
def test_scoring_from_python_says_nothing(world: Path) -> None:
    """ONNX Runtime is asked again after `import bsx`, in a process of its own that inherits the environment."""
    code = "import bsx, onnxruntime; print(bsx.score(['a cat'], ['the cat'], model='minilm', backend='onnx').f1[0] > 0)"
    said, made = run([sys.executable, "-c", code], world)
    assert said == "True\n"
    assert [file for file in made if not file.startswith(("home/.cache/bsx/", "tmp/torchinductor"))] == []


def test_attempts_to_reach_the_hub_are_not_reported_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import bsx.cli.commands as c; c.call(['--version']); from huggingface_hub.utils import logging; "
    code += "logging.get_logger('huggingface_hub.utils._http').warning('Retrying in 1s [Retry 1/5].')"

    def said() -> str:
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr

    assert "Retrying" not in said()
    monkeypatch.setenv("HF_HUB_VERBOSITY", "warning")
    assert "Retrying" in said()


def test_what_the_user_says_wins() -> None:
    code = f"import bsx, json, os; print(json.dumps({{name: os.environ[name] for name in {list(SILENT)!r}}}))"

    def told(**given: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in SILENT}
        done = subprocess.run(
            [sys.executable, "-c", code], env={**kept, **given}, capture_output=True, text=True, check=True
        )
        found: dict[str, str] = json.loads(done.stdout)
        return found

    assert told() == SILENT
    assert told(RAY_USAGE_STATS_ENABLED="1") == {**SILENT, "RAY_USAGE_STATS_ENABLED": "1"}


def test_a_notebook_without_widgets_opens_without_tqdms_warning() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        silence()
        warnings.warn("IProgress not found. Please update jupyter and ipywidgets.", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    assert [str(one.message) for one in said] == ["something else"]
