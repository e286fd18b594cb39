"""The field's words: phrases that readers stumble over are in no page, notebook, help text, message, report or card."""

from __future__ import annotations

import ast
import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
# What not to write -> what to write instead; docs/reference/glossary.md has the terms.
INSTEAD = {
    r"(agree\w*|correlat\w*|r [.\d]+) with people": "with human judgments",
    r"\bpeople('s)? (rank|judge|score|rate)": "human judgments",
    r"no accident": "significant",
    r"\b(go|goes|went|going) with\b": "needs, is associated with, correlates with",
    r"\bbeside\b": "compared with, next to, in addition to",
    r"look round": "look around",
    r"what one imports": "you import",
    r"knows? nothing of": "cannot measure",
    r"errors of a truncated": "stop with an error where a text is truncated",
    r"rows stand one below": "in rows, one per system and segment",
    r"(its|their) sign is turned": "multiplied by -1",
    r"of all random draws": "random seed",
    r"dealt out anew": "shuffled",
    r"paraphrase detectors|detectors? of paraphrases": "paraphrase detection",
    r"to be expected wrong": "expected to be wrong",
    r"one below the other": "in rows, one per system and segment",
    r"\ba coin (would|does)": "chance",
    r"\bminds? (a|the) change": "loses less, loses more",
    r"\bdecide about\b": "determine",
    r"\b(what|as|that) people (say|said|do|like|liked)\b|r with people|scores of people": "human judgments",
    r"member to beat": "best single metric",
    r"\bturns? (its|their) sign|(its|their) sign turned": "multiplied by -1",
    r"noticed least": "smallest fall of the score",
    r"way to an unrelated": "share of the fall to an unrelated text",
    r"want of evidence": "without evidence",
    r"tried down to": "tested for reliabilities from",
    r"\bless the word's\b": "minus",
    r"\bheeds?\b": "depends on, reacts to",
    r"than a coin\b": "chance",
    r"\bsays? nothing of\b": "says nothing about",
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@functools.cache
def texts() -> list[tuple[str, str]]:
    """Return where a text stands, and the text: of pages, of notebooks and their outputs, and of the code's strings.

    Docstrings are left out, but for those of commands, which are their help.
    """
    found = []
    for page in PAGES:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            found.append((f"{page.relative_to(ROOT)}:{number}", line))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            shown = [kind for output in cell.get("outputs", []) for kind in _texts(output)]
            found += [
                (f"{path.name}, cell {number}", " ".join("".join(text).split())) for text in [cell["source"], *shown]
            ]
    for path in [*sorted((ROOT / "bsx").rglob("*.py")), *sorted((ROOT / "analysis").rglob("*.py"))]:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        commands = {
            id(node.body[0])
            for node in nodes
            if isinstance(node, ast.FunctionDef) and node.decorator_list and path.is_relative_to(ROOT / "bsx" / "cli")
        }
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr) and id(node) not in commands}
        for node in nodes:
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or id(node) in docstrings:
                continue
            if " " in node.value.strip():  # a word alone is no sentence
                found.append((f"{path.relative_to(ROOT)}:{node.lineno}", " ".join(node.value.split())))
    return found


def _texts(output: dict[str, Any]) -> list[str]:
    """Return the texts that an output shows: printed, or as HTML without its pictures."""
    data = output.get("data", {})
    return [output.get("text", ""), data.get("text/html", ""), data.get("text/plain", "")]


@pytest.mark.parametrize("phrase", INSTEAD)
def test_the_fields_words(phrase: str) -> None:
    expression = re.compile(phrase, re.IGNORECASE)
    found = [where for where, text in texts() if expression.search(text)]
    assert not found, f"write {INSTEAD[phrase]} instead: {', '.join(found)}"
