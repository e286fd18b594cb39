"""What overlays may run, and what is said of those that replace an entry."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import bsx
from bsx.analysis.factors.zoo import get_factor
from bsx.catalog.catalog import load_registry, shipped, shipped_folder
from bsx.errors import InputError, RegistryError
from bsx.support.folders import user_folder
from tests.conftest import Cli, Model

METRIC = """
name: {name}
title: Somebody's metric
implementation: {code}
needs: [candidate, reference]
citation: none
check: {{candidates: ["a b"], references: ["b c"], values: null}}
"""
FACTOR = (
    "name: {name}\ntitle: F\nimplementation: {code}\npresets: {{default: {{}}}}\ndefault: default\ncitation: none\n"
)
SPY = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a working folder with an overlay ``own``, two texts, and code that leaves a file ``ran``."""
    (tmp_path / "evil.py").write_text(SPY)
    (tmp_path / "evil.sh").write_text('#!/bin/sh\ntouch "$(dirname "$0")/ran"\n')
    (tmp_path / "evil.sh").chmod(0o755)
    for kind in ("metrics", "factors", "models", "baselines/en", "ensembles"):
        (tmp_path / "own" / kind).mkdir(parents=True)
    (tmp_path / "c").write_text("a small cat\n")
    (tmp_path / "r").write_text("the small cat\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("evil", None)


def changed(kind: str, name: str, **fields: object) -> str:
    entry = yaml.safe_load((shipped_folder() / kind / f"{name}.yaml").read_text(encoding="utf-8"))
    return yaml.safe_dump({**entry, **fields})


def test_no_code_of_an_overlay_runs_unless_its_folder_is_named(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "own" / "metrics" / "mine.yaml").write_text(METRIC.format(name="mine", code="evil:Mine"))
    (folder / "own" / "factors" / "mine.yaml").write_text(FACTOR.format(name="mine", code="evil:Mine"))
    monkeypatch.syspath_prepend(folder)
    score = ("score", "--registry", "own", "-c", "c", "-r", "r", "--metrics")
    for words in ((*score, "mine"), ("registry", "validate", "own")):
        done = cli(*words)
        assert (done.status, done.err.count("\n")) == (2, 1), done.err
        assert "BSX_REGISTRY_CODE" in done.err
    assert cli("metrics", "--registry", "own").status == 0
    with pytest.raises(RegistryError, match="BSX_REGISTRY_CODE"):
        get_factor("mine", registry="own")
    assert not (folder / "ran").exists()
    monkeypatch.setenv("BSX_REGISTRY_CODE", os.pathsep.join(["elsewhere", "own"]))
    assert "no attribute" in cli(*score, "mine").err  # it was imported
    assert (folder / "ran").exists()


def test_a_program_among_an_overlays_defaults_is_not_run(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = folder / "own" / "metrics" / "comet.yaml"
    spec.write_text(changed("metrics", "comet", defaults={"python": str(folder / "evil.sh")}))
    (folder / "s").write_text("eine kleine Katze\n")
    score = ("score", "--registry", "own", "--metrics", "comet", "-c", "c", "-r", "r", "-s", "s")
    for words in (score, ("registry", "validate", "own")):
        done = cli(*words)
        assert done.status == 2
        assert "comet.yaml: python" in done.err
    assert not (folder / "ran").exists()
    monkeypatch.setenv("BSX_REGISTRY_CODE", "own")
    assert cli(*score).status == 2  # it is no interpreter
    assert (folder / "ran").exists()


def test_the_users_own_folder_is_trusted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "home"))
    if not user_folder().is_relative_to(folder):
        pytest.skip("the place for configuration cannot be moved here")
    (user_folder() / "factors").mkdir(parents=True)
    (user_folder() / "factors" / "mine.yaml").write_text(FACTOR.format(name="mine", code="evil:Mine"))
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(RegistryError, match="no attribute"):
        get_factor("mine")
    assert (folder / "ran").exists()


def test_code_is_not_looked_for_in_the_working_folder(folder: Path) -> None:
    (folder / "own" / "metrics" / "mine.yaml").write_text(METRIC.format(name="mine", code="evil:Mine"))
    for name in ("json", "secrets", "numpy", "yaml"):
        (folder / f"{name}.py").write_text(SPY)
    words = ["-m", "bsx", "score", "--registry", "own", "--metrics", "mine", "-c", "c", "-r", "r"]
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"BSX_REGISTRY_CODE": "own"}
    done = subprocess.run([sys.executable, *words], env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "No module named 'evil'" in done.stderr
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("code", ["evil", "evil:", ":Mine", "evil:Mine:x"])
@pytest.mark.parametrize("kind", ["metrics", "factors"])
def test_what_names_no_class_is_a_problem(folder: Path, cli: Cli, kind: str, code: str) -> None:
    entry = METRIC if kind == "metrics" else FACTOR
    (folder / "own" / kind / "mine.yaml").write_text(entry.format(name="mine", code=f"'{code}'"))
    done = cli("registry", "validate", "own")
    assert done.status == 2
    assert f"implementation: must be module:Class, is '{code}'" in done.err


def test_defaults_that_no_class_has_are_problems(folder: Path, cli: Cli) -> None:
    (folder / "own" / "metrics" / "chrf.yaml").write_text(changed("metrics", "chrf", defaults={"nosuch": 1}))
    done = cli("registry", "validate", "own")
    assert done.status == 2
    assert "nosuch" in done.err


def test_a_metric_that_is_replaced_is_told_and_has_another_signature(folder: Path, cli: Cli) -> None:
    file = folder / "own" / "metrics" / "chrf.yaml"
    score = ("score", "--registry", "own", "--metrics", "chrf", "-c", "c", "-r", "r")
    plain = cli(*score)
    assert plain.err == ""
    file.write_text(changed("metrics", "chrf", notes="another remark", evidence=[]))
    assert cli(*score) == plain  # no score depends on those
    file.write_text(changed("metrics", "chrf", implementation="bsx.metrics.lexical.bleu:Bleu"))
    done = cli(*score)
    assert done.status == 0
    assert "own/metrics/chrf.yaml replaces" in done.err
    assert "|entry:" in done.out
    assert "own/metrics/chrf.yaml replaces" in cli("registry", "validate", "own").err
    first = bsx.get_metric("chrf", encoders=bsx.Encoders(registry="own")).signature()
    file.write_text(changed("metrics", "chrf", empty=50.0))  # nothing else in the signature tells this one
    second = bsx.get_metric("chrf", encoders=bsx.Encoders(registry="own")).signature()
    assert len({first["entry"], second["entry"]}) == 2
    assert "entry" not in dict(bsx.get_metric("chrf").signature().fields)


def test_every_kind_of_entry_that_is_replaced_is_known(folder: Path) -> None:
    own = folder / "own"
    (own / "models" / "minilm.yaml").write_text(changed("models", "minilm", layer=2))
    (own / "baselines" / "en" / "minilm.yaml").write_text(changed("baselines/en", "minilm", corpus="another"))
    same = shipped_folder() / "baselines" / "en" / "roberta-large.yaml"
    (own / "baselines" / "en" / "roberta-large.yaml").write_bytes(same.read_bytes())
    languages = yaml.safe_load((shipped_folder() / "languages.yaml").read_text(encoding="utf-8"))
    (own / "languages.yaml").write_text(yaml.safe_dump([{**one, "model": "minilm"} for one in languages[:1]]))
    families = yaml.safe_load((shipped_folder() / "families.yaml").read_text(encoding="utf-8"))
    (own / "families.yaml").write_text(yaml.safe_dump({"bert": {**families["bert"], "padding": False}}))
    found = load_registry("own").replaced
    language = ("language", languages[0]["code"])
    assert found.keys() == {("model", "minilm"), ("baseline", "en/minilm"), language, ("family", "bert")}
    assert shipped().replaced == {}
    scorer = bsx.Scorer(model="minilm", lang="en", registry="own", rescale=True)
    assert sum("replaces the one that comes with bsx" in note for note in scorer.notes) == 3  # and its family


def test_an_ensemble_of_a_member_that_was_replaced_since_is_refused(folder: Path) -> None:
    signature = str(bsx.get_metric("chrf").signature())
    members = [{"metric": "chrf", "weight": 1.0}, {"metric": "sentbleu", "weight": 1.0}]
    fitted = {"rows": 2, "human": "h", "files": [], "command": "", "versions": {}, "signatures": {"chrf": signature}}
    combination = {"how": "mean", "normalise": "none", "members": members}
    content = {"name": "both", "combination": combination, "fitted": fitted}
    (folder / "own" / "ensembles" / "both.yaml").write_text(yaml.safe_dump(content))
    bsx.get_metric("ensemble:both", encoders=bsx.Encoders(registry="own"))
    (folder / "own" / "metrics" / "chrf.yaml").write_text(changed("metrics", "chrf", empty=50.0))
    with pytest.raises(InputError, match="entry"):
        bsx.get_metric("ensemble:both", encoders=bsx.Encoders(registry="own"))


def test_a_family_of_an_overlay_names_no_kernels(folder: Path, tiny_model: Model) -> None:
    families = yaml.safe_load((shipped_folder() / "families.yaml").read_text(encoding="utf-8"))
    settings = {"_attn_implementation": "somebody/kernels", "_experts_implementation": "somebody/kernels"}
    (folder / "own" / "families.yaml").write_text(yaml.safe_dump({"bert": {**families["bert"], "settings": settings}}))
    encoders = bsx.Encoders(model=tiny_model("bert"), registry="own")
    config = encoders.locate(None).architecture.config
    assert config._attn_implementation in (None, "eager", "sdpa")
    assert config._experts_implementation is None


def test_a_factor_that_is_replaced_is_told(folder: Path, cli: Cli) -> None:
    (folder / "p.tsv").write_text("sentence1\tsentence2\na b\tb c\n")
    factors = ("factors", "p.tsv", "-o", "o.tsv", "--factors", "lex", "--registry", "own")
    assert "replaces" not in cli(*factors).out
    presets = yaml.safe_load((shipped_folder() / "factors" / "lex.yaml").read_text(encoding="utf-8"))["presets"]
    default = next(name for name in presets if presets[name])
    (folder / "own" / "factors" / "lex.yaml").write_text(changed("factors", "lex", default=default, low=-1.0))
    done = cli(*factors)
    assert done.status == 0, done.err
    assert "replaces the one that comes with bsx" in done.out
