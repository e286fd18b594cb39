"""The field's words: phrases that readers stumble over are in no page, help text, message, report or card."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

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
    r"paraphrase detectors": "paraphrase detection",
    r"noticed least": "smallest fall of the score",
    r"way to an unrelated": "share of the fall to an unrelated text",
    r"member to beat": "best single metric",
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
    """Return where a text stands, and the text: pages, and string constants of the code that are no docstrings."""
    found = []
    for page in PAGES:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            found.append((f"{page.relative_to(ROOT)}:{number}", line))
    for path in [*sorted((ROOT / "bsx").rglob("*.py")), *sorted((ROOT / "analysis").rglob("*.py"))]:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or id(node) in docstrings:
                continue
            if " " in node.value.strip():  # a word alone is no sentence
                found.append((f"{path.relative_to(ROOT)}:{node.lineno}", " ".join(node.value.split())))
    return found


@pytest.mark.parametrize("phrase", INSTEAD)
def test_the_fields_words(phrase: str) -> None:
    expression = re.compile(phrase, re.IGNORECASE)
    found = [where for where, text in texts() if expression.search(text)]
    assert not found, f"write {INSTEAD[phrase]} instead: {', '.join(found)}"
