"""The registry's figures are those that papers and this project's pages print; its lists are those of their sources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bsx.catalog.catalog import shipped
from bsx.catalog.datasets import load_datasets
from bsx.catalog.entries import Evidence
from bsx.catalog.entries.metrics import MetricEntry
from bsx.catalog.entries.models import ModelEntry
from bsx.catalog.languages import find_language
from tests.conftest import REPOSITORY

PAPERS = {"Zhang et al. 2020": "000_*.txt", "Mathur et al. 2019": "003_*.txt", "Zhang et al. 2019": "002_*.txt"}


def figures() -> Iterator[tuple[str, Evidence]]:
    catalog = shipped()
    entries: list[ModelEntry | MetricEntry] = [*catalog.models.values(), *catalog.metrics.values()]
    for entry in entries:
        yield from ((entry.name, evidence) for evidence in entry.evidence)


def printed(text: str, number: int, row: str, column: str) -> list[str]:
    """Return the cells that a table, printed above its caption, has under ``column`` in the rows called ``row``."""
    lines = text.split("\n")
    caption = next(i for i, line in enumerate(lines) if line.startswith(f"Table {number}:"))
    plain = [[cell.replace("–", "-") for cell in line.split("\t")] for line in lines]
    head = max(i for i in range(caption) if any(cell.split(" ")[0] == column for cell in plain[i]))
    at = next(k for k, cell in enumerate(plain[head]) if cell.split(" ")[0] == column)
    columns = [cell for cell in plain[head] if re.match(r"[a-z]{2}-[a-z]{2}\b", cell)]
    found = []
    for cells in plain[head:caption]:
        if row in cells:  # some rows have lost the cells before their name
            values = [cell for cell in cells[cells.index(row) + 1 :] if cell != ""]
            found.append(values[columns.index(plain[head][at])])
    return found


def test_every_published_figure_stands_in_its_table(shared: Path) -> None:
    if not (shared / "papers").is_dir():
        pytest.skip("the papers (../shared/papers) are not here")
    texts = {paper: next((shared / "papers").glob(name)).read_text(encoding="utf-8") for paper, name in PAPERS.items()}
    checked: dict[str, int] = {}
    for name, evidence in figures():
        match = re.fullmatch(r"(.* 20\d\d)(?: \(.*\))?, Table (\d+)", evidence.source)
        if match is None:
            continue
        paper, number = match[1], int(match[2])
        assert evidence.called is not None
        assert evidence.direction is not None
        called = evidence.called.partition(" (")[0]
        if paper == "Zhang et al. 2019":  # P, R and F1 of two models on one pair of languages
            row = next(line for line in texts[paper].split("\n") if line.startswith(f"{called}\t"))
            assert f"{evidence.value:.3f}" == row.split("\t")[3], name
        else:
            row = f"$F_{{\\text{{{called}}}}}$" if name in shipped().models else called
            assert printed(texts[paper], number, row, evidence.direction) == [f"{evidence.value:.3f}"], (name, evidence)
            caption = next(line for line in texts[paper].split("\n") if line.startswith(f"Table {number}:"))
            assert evidence.dataset[:5].replace("WMT", "") in caption.replace("2017", "17")
            assert paper.startswith("Mathur") or evidence.level in caption or "hybrid systems" in caption
        checked[evidence.source] = checked.get(evidence.source, 0) + 1
    zhang = {table: checked[f"Zhang et al. 2020, Table {table}"] for table in (14, 16, 18, 20, 22)}
    assert zhang == {14: 35, 16: 34, 18: 21, 20: 28, 22: 28}
    assert checked["Mathur et al. 2019, Table 2"] == 14


def test_segments_of_wmt17_are_judged_as_the_tables_head_says() -> None:
    """Only en-ru and en-zh had enough judgments for Pearson's r; Kendall's tau is over pairs of judgments."""
    for name, evidence in figures():
        if evidence.source in ("Zhang et al. 2020, Table 14", "Mathur et al. 2019, Table 2"):
            wanted = "Pearson r" if evidence.direction in ("en-ru", "en-zh") else "Kendall tau"
            assert evidence.statistic.startswith(wanted), (name, evidence)
            assert evidence.level == "segment"


def test_figures_measured_here_stand_on_their_pages() -> None:
    pages = {}
    for name, evidence in figures():
        if evidence.source.startswith("measured here"):
            found = re.search(r"benchmarks/agreement/[\w-]+\.md", evidence.source)
            assert found is not None, name
            pages[name] = (REPOSITORY / found[0]).read_text(encoding="utf-8")
            printed_as = f"{evidence.value:.3f}".replace("0.", ".", 1)
            assert re.search(rf"(?<!\d){re.escape(printed_as)}", pages[name].replace("0.", ".")), (name, evidence)
    assert {"me5-small-q4", "minilm"} <= set(pages)


def test_lists_of_languages_are_those_of_transformers() -> None:
    from transformers.models.mbart import tokenization_mbart
    from transformers.models.mbart50 import tokenization_mbart50

    for name, module in (("mbart-large-cc25", tokenization_mbart), ("mbart-large-50", tokenization_mbart50)):
        codes = {code.partition("_")[0] for code in module.FAIRSEQ_LANGUAGE_CODES}
        assert set(shipped().models[name].languages) == codes


def test_lists_of_languages_have_their_number() -> None:
    """How many their sources count; two Chineses are one code here, letters of another script none."""
    lists = yaml.safe_load((REPOSITORY / "tools" / "language_lists.yaml").read_text(encoding="utf-8"))
    sizes = {name: len(set(entry["languages"])) for name, entry in lists.items() if "languages" in entry}
    counted = {"mbert": 104 - 1, "xlm-100": 100 - 1, "xlm-r": 100 - 7, "mt5": 101, "labse": 109, "muril": 17}
    assert sizes | counted | {"mbart-25": 25, "mbart-50": 52} == sizes
    models = shipped().models
    assert models["me5-small-q4"].languages == models["multilingual-e5-small"].languages
    assert "am" not in models["bert-base-multilingual-cased"].languages
    assert "sw" not in models["mbart-large-cc25"].languages
    # Of others somebody says which languages they were trained on.
    assert [name for name, entry in models.items() if entry.languages == "multilingual"] == ["embeddinggemma-300m"]
    page = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f'`bsx.Scorer(model="me5-small-q4")` scores [{len(models["me5-small-q4"].languages)} languages]' in page


def test_every_language_that_an_entry_names_is_known() -> None:
    catalog = shipped()
    named = {code for entry in catalog.models.values() if entry.languages != "multilingual" for code in entry.languages}
    named |= {code for one in catalog.metrics.values() if isinstance(one.languages, list) for code in one.languages}
    named |= {evidence.language for _, evidence in figures()}
    named |= {half for one in load_datasets().values() for pair in one.language_pairs for half in pair.split("-")}
    assert len(named) > 165
    assert {code for code in named if len(code) == 2} <= catalog.languages.keys()
    assert all(find_language(code, catalog).code in catalog.languages for code in named)
    assert {find_language(code, catalog).code for code in ("no", "nb", "Norwegian")} == {"nb"}
    assert "no" not in catalog.languages


def test_judgments_in_thirty_languages_are_evidence() -> None:
    """Figures by language pair say what was judged, when, on how many items, how sure they are, and chrF's figure."""
    found = [one for _, one in figures() if one.source.endswith("benchmarks/agreement/languages.md")]
    assert found
    languages = set()
    for one in found:
        languages |= {one.language, *(one.direction or "").split("-")}
        assert (one.kind == "human-translation") == (one.direction is not None)
        assert one.year is not None
        assert one.n is not None
        assert one.interval is not None
        assert one.interval[0] <= one.value <= one.interval[1]
    languages -= {""}
    results = json.loads((REPOSITORY / "benchmarks/agreement/languages.json").read_text(encoding="utf-8"))
    judged = {code for one in results["sets"] for code in one["pair"].split("-")}
    assert len(judged) >= 30
    assert judged >= languages
    swahili = [one for _, one in figures() if one.language == "sw" and one.statistic == "Pearson r of F1"]
    assert [(one.dataset, one.year, one.direction, one.n) for one in swahili] == [("AfriMTE DA", 2024, "en-sw", 157)]
    assert swahili[0].chrf == pytest.approx(0.648, abs=5e-4)
