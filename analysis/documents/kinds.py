"""Which document is which."""

from __future__ import annotations

from bsx.analysis.documents.base import ResultDocument
from bsx.analysis.documents.cards import CardDocument
from bsx.analysis.documents.reproduction import ReproduceDocument

KINDS: dict[str, type[ResultDocument]] = {
    "card": CardDocument,
    "reproduce": ReproduceDocument,
}
"""``provenance.kind`` -> class."""
