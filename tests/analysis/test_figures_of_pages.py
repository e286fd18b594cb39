"""The figures in the pages on explaining, combining and attacking metrics are those of the results they come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bsx.analysis import perturb

ROOT = Path(__file__).resolve().parents[2]
# In the order of the page's table, as the results name them.
NETWORKS = ("chrf", "bertr", "bertscore", "trained:bilstm", "trained:bilstm-attention", "trained:esim")


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def rows(text: str) -> list[list[str]]:
    """Return the cells of the lines that are a table's."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("*`") for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(("language", "folder"), [("en", "English"), ("de", "German"), ("zh", "Chinese")])
def test_the_share_of_sentences_that_negation_changes(language: str, folder: str, shared: Path) -> None:
    file = shared / f"data/ud/UD_{folder}-PUD/{language}_pud-ud-test.conllu"
    if not file.exists():
        pytest.skip("the treebank is not here")
    texts = [line[9:] for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("# text = ")]
    told = re.findall(rf"(\d+) % of the {folder}\b", page("attack/perturbations.md"))
    assert told == [f"{100 * perturb(texts, 'negation', lang=language).changed.mean():.0f}"]


def test_gains_of_ensembles() -> None:
    results = (ROOT / "benchmarks/agreement/ensembles.md").read_text(encoding="utf-8")
    shown = (ROOT / "docs/combine/ensembles.md").read_text(encoding="utf-8")
    sections = {"five with embeddings": "Embedding metrics (5)", "five lexical": "Lexical metrics (5)"}
    for name, heading in {**sections, "all ten": "All metrics (10)"}.items():
        part = results.partition(f"## {heading}\n")[2].partition("tested on WMT17:\n\n")[2].partition("\n\n")[0]
        found = {row[0]: row[1:] for row in rows(part)}
        (row,) = (row for row in rows(shown) if row[0] == name)
        assert row[1:] == [found["z"][1], *(found[rule][2] for rule in ("z", "weights", "ridge"))], name


def test_correlations_of_trained_metrics() -> None:
    results = (ROOT / "benchmarks/agreement/trained-metrics.md").read_text(encoding="utf-8")
    means = {row[0]: row[8] for row in rows(results.partition("## Williams tests")[0]) if len(row) == 10}
    shown = rows((ROOT / "docs/combine/training.md").read_text(encoding="utf-8"))
    place = shown.index(["chrF", "BERTR", "BERTScore", "bilstm", "bilstm-attention", "esim"])
    assert shown[place + 2] == [means[name].removeprefix("0") for name in NETWORKS]
    ablation = rows((ROOT / "benchmarks/agreement/trained-ablation.md").read_text(encoding="utf-8"))
    (best,) = (row[4] for row in ablation if row[0] == "BiLSTM, dropout .1, absolute difference")
    assert f"the plain BiLSTM reaches {best.removeprefix('0')}." in page("combine/training.md")
