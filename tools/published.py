"""Prepare a checkout for the package index: ``python tools/published.py ADDRESS REVISION``, before it is built.

Only whoever builds a release knows where the repository is to be found: this writes the address into pyproject.toml,
and makes links of README.md, which lead to files beside it, absolute. It changes both files in the current folder.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?!https?://|#)([^)\s]+)\)")


def absolute(page: str, address: str, revision: str) -> str:
    """Return a page whose links to files lead to a repository's address, pictures to what they show."""

    def link(found: re.Match[str]) -> str:
        picture, text, file = found.groups()
        return f"{picture}{text}{address}/{'raw' if picture else 'blob'}/{revision}/{file})"

    return _LINK.sub(link, page)


def with_address(project: str, address: str, revision: str) -> str:
    """Return pyproject.toml with a table of addresses."""
    places = {"Source": "", "Documentation": f"/tree/{revision}/docs", "Changelog": f"/blob/{revision}/CHANGELOG.md"}
    table = "".join(f'{name} = "{address}{place}"\n' for name, place in places.items())
    return project.replace("[project.scripts]\n", f"[project.urls]\n{table}\n[project.scripts]\n", 1)


if __name__ == "__main__":
    where, named = sys.argv[1].rstrip("/"), sys.argv[2]
    for name, change in {"README.md": absolute, "pyproject.toml": with_address}.items():
        file = Path(name)
        file.write_text(change(file.read_text(encoding="utf-8"), where, named), encoding="utf-8")
