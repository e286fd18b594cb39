"""Rank what people wrote above what is made while the documentation is built; mkdocs calls this file as a hook.

Generated pages (every option, every function, every file, the notebooks) have most of the words that one may search
for: at full weight they stand above the guide that answers.
"""

from __future__ import annotations

from typing import Any

WEIGHT = 0.3


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Lower a generated page's weight in the search; mkdocs calls this for every page before the search reads it."""
    if page.file.generated_by is not None:
        page.meta.setdefault("search", {"boost": WEIGHT})
    return html
