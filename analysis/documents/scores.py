"""What lies beside a table of scores: ``<table>.signatures.json``."""

from __future__ import annotations

from bsx.analysis.documents.base import DocumentPart, Number
from bsx.support.provenance import Provenance


class SystemScoreRow(DocumentPart):
    """A system's corpus score and what happened to its segments."""

    system: str = ""
    score: Number = None
    empty: int = 0
    undefined: int = 0
    truncated: int = 0


class ScoredMetricRow(DocumentPart):
    """What a sidecar says of one metric."""

    metric: str
    higher_is_better: bool
    signature: str
    scores: list[SystemScoreRow] = []


class SidecarDocument(DocumentPart):
    """A sidecar; one written before bsx kept provenance has none."""

    metrics: list[ScoredMetricRow]
    segments: int | None = None
    provenance: Provenance | None = None
