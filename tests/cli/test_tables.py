"""Tables of every analysis in every form, by option or by the name of the output."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.render.test_results import check_latex

Run = Callable[..., Any]
FORMS = {"txt": "text", "md": "markdown", "tex": "latex", "csv": "csv", "json": "json", "html": "html"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small table for each command."""
    place = tmp_path_factory.mktemp("tables")
    draw = np.random.default_rng(5)
    human, other, third = draw.normal(size=(3, 40)).round(3)
    scores = {"human": human, "m_1": (human + 0.4 * other).round(3), "50%": third, "lex": other, "label": [0, 1] * 20}
    scores |= {"sentence1": [f"one {i}" for i in range(40)], "sentence2": [f"two {i}" for i in range(40)]}
    _write(place / "scores_1.tsv", scores)
    pairs = {"good": ["a b c", "d e"] * 4, "bad": ["a b", "e e"] * 4, "reference": ["a b c", "d e f"] * 4}
    pairs |= {"phenomenon": ["50%_less", "copy"] * 4, "severity": ["major", "minor"] * 4}
    pairs |= {"m_1-good": human[:8], "m_1-bad": other[:8], "n-good": other[:8], "n-bad": third[:8]}
    _write(place / "pairs.tsv", pairs)
    triples = {"anchor": ["a b c", "d e f"], "paraphrase": ["a b", "d e"], "nonparaphrase": ["c b a", "f e d"]}
    _write(place / "triples.tsv", {name: texts * 5 for name, texts in triples.items()})
    _write(place / "texts.tsv", {"reference": ["The cat sat on 3 mats.", "A dog ran home late."] * 3})
    _write(
        place / "systems.tsv",
        {"x_1": ["a b", "c d", "e f"] * 4, "y": ["a", "c", "f"] * 4, "reference": ["a b", "c", "e"] * 4},
    )
    return place


def _write(path: Path, columns: Mapping[str, Iterable[object]]) -> None:
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


COMMANDS = {
    "meta": ("meta", "scores_1.tsv", "--column", "m_1,50%", "--human", "human"),
    "compare": ("compare", "x_1", "y", "--data", "systems.tsv", "--metric", "chrf,ter", "--resamples", "20"),
    "disentangle": (
        "disentangle",
        "scores_1.tsv",
        "--column",
        "m_1,50%",
        "--factor-column",
        "lex,label",
        "--add",
        "lex",
    ),
    "ensemble": ("ensemble", "scores_1.tsv", "--column", "m_1,50%", "--human", "human", "--resamples", "20"),
    "pairs": ("adversarial", "pairs", "scores_1.tsv", "--column", "m_1,50%", "--resamples", "20"),
    "triples": ("adversarial", "triples", "triples.tsv", "--metric", "chrf,length", "--resamples", "20"),
    "challenge": ("adversarial", "challenge", "pairs.tsv", "--column", "m_1,n"),
    "robustness": (
        *("adversarial", "perturb", "texts.tsv", "--metric", "chrf", "--reference", "reference", "-l", "en"),
        *("--perturbation", "typos,negation", "--resamples", "20"),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_form_by_option_and_by_name(cli: Run, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    command = COMMANDS[name]
    file = next(part for part in command if part.endswith(".tsv"))
    written = {}
    for suffix, form in FORMS.items():
        done = cli(*command, "-o", f"{name}.{suffix}")
        assert (done.status, done.out) == (0, ""), done.err
        written[form] = Path(f"{name}.{suffix}").read_text(encoding="utf-8")
    for form in ("markdown", "latex", "csv"):
        assert cli(*command, "--format", form).out == written[form]
    assert "provenance" in json.loads(written["json"])
    rows = list(csv.DictReader(io.StringIO(written["csv"])))
    assert rows
    assert None not in rows[0]
    assert f"{file}: " in written["markdown"]
    assert written["html"].startswith("<!doctype html>")
    assert written["html"].count("<table>") == written["latex"].count(r"\begin{table")
    assert "n = " in written["latex"]
    assert rf"\label{{tab:{name}}}" in written["latex"]
    check_latex(written["latex"], data=file.replace("_", r"\_"))
    for form in ("text", "markdown"):  # one mark for one meaning
        assert "*" not in written[form].replace("**", "")
        assert ("†" in written[form]) <= any(said in written[form] for said in ("†: ", "† p <"))
        assert ("**" in written[form]) <= ("Bold: " in written[form])
