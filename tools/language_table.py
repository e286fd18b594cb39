"""Make the table of languages of docs/models/choose.md from the registry; a hook of mkdocs, run in each build.

The languages are LANGUAGES, the models the one that ``--lang`` chooses and those that need no hub.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bsx.catalog.catalog import Catalog, shipped
from bsx.catalog.entries.models import LanguageEntry, ModelEntry
from bsx.catalog.languages import knows
from bsx.models.ranking import cost, rank

ROOT = Path(__file__).resolve().parent.parent
ROBUSTNESS = ROOT / "benchmarks" / "agreement" / "multilingual-robustness.md"
LANGUAGES = ("cs", "de", "en", "es", "fi", "fr", "ru", "tr", "zh")
OFFLINE = ("me5-small-q4", "minilm")


def robustness(page: Path) -> dict[str, str]:
    """Return by language what BERTScore loses, as a share of its range, for a negation and for punctuation left out."""
    lines = page.read_text(encoding="utf-8").partition("### bertscore")[2].partition("### ")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    found = {line[0]: line[2:] for line in cells}
    lost = zip(found["perturbation"], found["negation"], found["no-punctuation"], strict=True)
    return {
        name: " / ".join(cell.replace("*", "").split(" ")[0].removeprefix("0") for cell in both) for name, *both in lost
    }


def agreement(entry: ModelEntry, language: LanguageEntry) -> str:
    """Return the published figures of segments in the language, for the layer of the registry."""
    figures = [
        f"{one.dataset}{' ' + one.direction if one.direction else ''} {one.statistic.split(' of ')[0]} {one.value:.3f}"
        for one in entry.evidence
        if not one.source.endswith("languages.md")
        and one.language == language.code
        and one.level == "segment"
        and one.layer in (None, entry.layer)
    ]
    return "; ".join(figures).replace(" 0.", " .") or "not measured"


def rows(catalog: Catalog) -> Iterator[list[str]]:
    lost = robustness(ROBUSTNESS)
    for code in LANGUAGES:
        language = catalog.languages[code]
        chosen = rank(language, catalog).name
        for name in dict.fromkeys((chosen, *OFFLINE)):
            entry = catalog.models[name]
            if knows(entry, language):
                baseline = "yes" if catalog.baseline(code, name) is not None else "no"
                size = f"{(entry.parameters or 0) / 1e6:.0f} M, {cost(entry) / cost(catalog.models['minilm']):.1f}"
                shown = f"`{name}`" + (" (no hub)" if name in OFFLINE else "")
                fooled = lost.get(language.name, "not measured") if name == OFFLINE[0] else "not measured"
                yield [language.name, shown, str(entry.layer), agreement(entry, language), fooled, baseline, size]


def table(catalog: Catalog) -> str:
    head = [
        "language",
        "model",
        "layer",
        "agreement with human judgments",
        "loss: negation / no full stop",
        "baseline",
        "parameters, cost",
    ]
    lines = [head, ["---"] * len(head), *rows(catalog)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill the mark of docs/models/choose.md; mkdocs calls this for every page."""
    return (
        markdown.replace("<!-- languages -->", table(shipped()))
        if page.file.src_uri == "models/choose.md"
        else markdown
    )
