"""Which document is which."""

from __future__ import annotations

from bsx.analysis.documents.base import ResultDocument

KINDS: dict[str, type[ResultDocument]] = {}
"""``provenance.kind`` -> class."""
