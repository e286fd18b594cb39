"""JSON Schemas of the registry's files, generated from the types that validate them."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from bsx.catalog.datasets import DatasetEntry
from bsx.catalog.depths import DepthRule
from bsx.catalog.entries.metrics import EnsembleEntry, FactorEntry, JudgeEntry, MetricEntry
from bsx.catalog.entries.models import Baseline, Family, LanguageEntry, ModelEntry
from bsx.catalog.entries.perturbations import PerturbationWords
from bsx.catalog.protocols import ProtocolEntry
from bsx.catalog.published import PublishedEntry
from bsx.catalog.thresholds import StudyEntry
from bsx.errors import UnknownNameError

KINDS: dict[str, Any] = {
    "model": ModelEntry,
    "language": list[LanguageEntry],
    "baseline": Baseline,
    "metric": MetricEntry,
    "factor": FactorEntry,
    "ensemble": EnsembleEntry,
    "judge": JudgeEntry,
    "perturbation": PerturbationWords,
    "family": dict[str, Family],
    "depth": list[DepthRule],
    "dataset": list[DatasetEntry],
    "threshold": list[StudyEntry],
    "protocol": list[ProtocolEntry],
    "published": list[PublishedEntry],
}


def schema_text(kind: str) -> str:
    """Return the JSON Schema of one kind of file, as indented JSON; UnknownNameError lists the kinds."""
    if kind not in KINDS:
        raise UnknownNameError(f"unknown kind {kind!r}: one of {', '.join(KINDS)}")
    schema = TypeAdapter(KINDS[kind]).json_schema()
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"
