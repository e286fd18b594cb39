"""Show the notebooks on the documentation's website, with their stored outputs; mkdocs calls this file as a hook.

A notebook becomes a page of Markdown, and so has the look, the search and the checked links of all other pages.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File, Files

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"


def fenced(text: str, language: str = "") -> str:
    return f"````{language}\n{text.rstrip()}\n````"


def shown(output: Any) -> str:
    """Return one output as Markdown: a picture, a table in HTML, or text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![](data:image/png;base64,{data['image/png'].strip()})"
    if "image/svg+xml" in data:
        return f"![](data:image/svg+xml;base64,{base64.b64encode(data['image/svg+xml'].encode()).decode()})"
    if "text/html" in data:
        # A table without a class takes the look of the theme's.
        html = data["text/html"].strip().replace('<table border="1" class="dataframe">', "<table>")
        return f"<div>{html}</div>"
    return fenced(data["text/plain"] if data else output.text, "text")


def page(path: Path) -> str:
    """Return a notebook as a page."""
    notebook = nbformat.read(path, as_version=4)
    parts: list[str] = []
    for cell in notebook.cells:
        parts.append(cell.source if cell.cell_type == "markdown" else fenced(cell.source, "python"))
        parts += [shown(output) for output in cell.get("outputs", [])]
    title, *rest = parts[0].split("\n", 1)
    origin = f"*This page is `notebooks/{path.name}` with its outputs.*"
    return "\n\n".join([title, *rest, *parts[1:], origin]) + "\n"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a page for every notebook; mkdocs calls this before it reads the navigation."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page(path)))
    return files
