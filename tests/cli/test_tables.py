"""Tables of every analysis in every form, by option or by the name of the output."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.present.test_results import check_latex
from tests.conftest import Cli
from tests.helpers.tables import write_columns

FORMS = {"txt": "text", "md": "markdown", "tex": "latex", "csv": "csv", "json": "json", "html": "html"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small table for each command."""
    place = tmp_path_factory.mktemp("tables")
    draw = np.random.default_rng(5)
    human, other, third = draw.normal(size=(3, 40)).round(3)
    scores = {"human": human, "m_1": (human + 0.4 * other).round(3), "50%": third, "lex": other, "label": [0, 1] * 20}
    scores |= {"sentence1": [f"one {i}" for i in range(40)], "sentence2": [f"two {i}" for i in range(40)]}
    write_columns(place / "scores_1.tsv", scores)
    pairs = {"good": ["a b c", "d e"] * 4, "bad": ["a b", "e e"] * 4, "reference": ["a b c", "d e f"] * 4}
    pairs |= {"phenomenon": ["50%_less", "copy"] * 4, "severity": ["major", "minor"] * 4}
    pairs |= {"m_1-good": human[:8], "m_1-bad": other[:8], "n-good": other[:8], "n-bad": third[:8]}
    write_columns(place / "pairs.tsv", pairs)
    triples = {"anchor": ["a b c", "d e f"], "paraphrase": ["a b", "d e"], "nonparaphrase": ["c b a", "f e d"]}
    write_columns(place / "triples.tsv", {name: texts * 5 for name, texts in triples.items()})
    write_columns(place / "texts.tsv", {"reference": ["The cat sat on 3 mats.", "A dog ran home late."] * 3})
    write_columns(
        place / "systems.tsv",
        {"x_1": ["a b", "c d", "e f"] * 4, "y": ["a", "c", "f"] * 4, "reference": ["a b", "c", "e"] * 4},
    )
    return place


COMMANDS = {
    "meta": ("meta", "scores_1.tsv", "--columns", "m_1,50%", "--human", "human"),
    "compare": ("compare", "systems.tsv", "--candidate", "x_1,y", "--metrics", "chrf,ter", "--resamples", "20"),
    "disentangle": (
        *("disentangle", "scores_1.tsv", "--columns", "m_1,50%", "--factor-columns", "lex,label", "--add", "lex"),
    ),
    "ensemble": ("ensemble", "scores_1.tsv", "--columns", "m_1,50%", "--human", "human", "--resamples", "20"),
    "plan": ("plan", "meta", "scores_1.tsv", "--columns", "m_1,50%", "--human", "human", "--effect", "0.2"),
    "pairs": ("adversarial", "pairs", "scores_1.tsv", "--columns", "m_1,50%", "--resamples", "20"),
    "triples": ("adversarial", "triples", "triples.tsv", "--metrics", "chrf,length", "--resamples", "20"),
    "challenge": ("adversarial", "challenge", "pairs.tsv", "--columns", "m_1,n"),
    "robustness": (
        *("adversarial", "perturb", "texts.tsv", "--metrics", "chrf", "--reference", "reference", "-l", "en"),
        *("--perturbations", "typos,negation", "--resamples", "20"),
    ),
}


def test_every_form_by_option_and_by_name(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    command = COMMANDS["pairs"]
    written = {}
    for suffix, form in FORMS.items():
        done = cli(*command, "-o", f"out.{suffix}")
        assert (done.status, done.out) == (0, ""), done.err
        written[form] = Path(f"out.{suffix}").read_text(encoding="utf-8")
        if form != "json":  # which names the command
            full = ["--full"] if form == "text" else []
            assert cli(*command, "--format", form, *full).out == written[form]
    assert "provenance" in json.loads(written["json"])
    assert written["html"].startswith("<!doctype html>")
    assert written["html"].count("<table>") == written["latex"].count(r"\begin{table")
    assert cli(*command, "--format", "latex", "-o", "out.txt").status == 0  # what is said wins over the name
    assert Path("out.txt").read_text(encoding="utf-8") == written["latex"]


KNOWN = "end the name in .txt, .md, .tex, .csv, .json, .html, .xlsx"


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        *((COMMANDS[name], "-o drawn.pdf", "a picture's name") for name in ("meta", "compare", "disentangle")),
        (COMMANDS["meta"], "-o r.tsv", f"r.tsv: this command writes no tsv; {KNOWN}\n"),
        (("adversarial", "perturb", "--list"), "-o r.parquet", f"r.parquet: this command writes no parquet; {KNOWN}\n"),
        (COMMANDS["disentangle"], "-o r.tsv", "this command writes no tsv; end the name in .txt"),
        *((COMMANDS[n], "-o r.log", f"r.log: cannot tell the format; {KNOWN}\n") for n in ("meta", "challenge")),
        *((COMMANDS["challenge"], f"--format xlsx{also}", "is not printed") for also in ("", " --plot p.svg")),
    ],
)
def test_a_name_of_another_form_or_none_is_refused(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], more: str, said: str
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    done = cli(*command, *more.split())
    assert (done.status, done.err.count("\n"), sorted(folder.iterdir())) == (2, 1, before)
    assert said in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_tables_name_what_they_are_of_and_what_marks_mean(
    cli: Cli, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    command = COMMANDS[name]
    file = next(part for part in command if part.endswith(".tsv"))
    latex, markdown, table = (cli(*command, "--format", form).out for form in ("latex", "markdown", "csv"))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert rows
    assert None not in rows[0]
    assert f"{file}: " in markdown
    assert re.search(r"n = \d|sampled: the [\d,]+ segments", latex)
    assert rf"\label{{tab:{name}}}" in latex
    check_latex(latex, data=file.replace("_", r"\_"))
    titles = re.compile(r"^\*[^*]+\*", re.MULTILINE)  # of charts
    assert "*" not in titles.sub("", markdown.replace("**", ""))  # one mark for one meaning
    assert ("†" in markdown) <= any(said in markdown for said in ("†: ", "† p &lt;"))
    strong = any("**" in line for line in markdown.splitlines() if line.startswith("|"))
    assert strong <= ("Bold: " in markdown)
