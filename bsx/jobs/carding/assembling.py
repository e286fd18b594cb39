"""A card put together from what its steps found: which parts were made, left out or failed, all tests corrected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from bsx.analysis.cards.result import SCHEMA, Card, PartName
from bsx.analysis.stats.clusters import Correction, adjust
from bsx.jobs.carding.data import DataSet, JudgedRows
from bsx.jobs.carding.desk import CardFindings, Desk, Subject
from bsx.metrics.base import Metric
from bsx.support.provenance import provenance
from bsx.support.untyped import JsonObject

PARTS: tuple[str, ...] = get_args(PartName)
_CORRECTION: Correction = "holm"


def assemble(
    subject: Subject,
    desk: Desk,
    found: CardFindings,
    wanted: set[str],
    files: Sequence[Path],
    notes: Sequence[str],
) -> Card:
    """Return the card of a subject from what all steps found; parts that were not wanted are left out."""
    name = subject.name
    parts: dict[str, JsonObject] = {}
    status: dict[str, dict[str, str]] = {}
    partial = False
    for part in PARTS:
        problems = found.problems.get(part, {}).get(name, [])
        content = found.made.get(part, {}).get(name)
        if part not in wanted:
            status[part] = {"status": "left out", "reason": "not asked for"}
        elif content is not None and any(content.get(name) for name in _PROOF[part][0]):
            said = [problem.reason for problem in problems]
            parts[part] = {**content, "notes": list(dict.fromkeys([*content.get("notes", []), *said]))}
            status[part] = {"status": "made"}
            partial = partial or any(problem.failed for problem in problems)
        else:
            broken = [problem for problem in problems if problem.failed]
            kind = "failed" if broken else "left out"
            said = [problem.reason for problem in (broken or problems)] or (content or {}).get("notes", [])
            status[part] = {"status": kind, "reason": "; ".join(dict.fromkeys(said)) or _PROOF[part][1]}
            partial = True
    _fill_languages(parts)
    family = _corrected(parts, float(desk.how["alpha"]))
    least = family["tests"] / (desk.how["resamples"] + 1)
    if least > float(desk.how["alpha"]):
        notes = [
            *notes,
            f"tests by resampling give no p below 1 in {desk.how['resamples'] + 1}, which {family['tests']} tests "
            f"correct to {min(least, 1.0):.2g}: resamples raises the number of draws",
        ]
    metrics = {lang: desk.lab.build(lang).get(name) for lang in dict.fromkeys(one.lang for one in desk.data)}
    built = {lang: metric for lang, metric in metrics.items() if isinstance(metric, Metric)}
    signatures = {lang: _signature(metric) for lang, metric in built.items()}
    if subject.column:
        signatures = {"any": f"column:{name}|published:yes"}
    first = next(iter(built.values()), None)
    return Card.from_dict(
        {
            "schema_version": SCHEMA,
            "metric": name,
            "of": "column" if subject.column else "metric",
            "signature": next(iter(signatures.values()), ""),
            "signatures": signatures,
            "higher_is_better": not subject.lower if first is None else first.higher_is_better,
            "partial": partial,
            "data": [_described(one) for one in desk.data],
            "against": [one.name for one in desk.subjects if one.name != name],
            "status": status,
            "parts": parts,
            "multiplicity": family,
            "settings": desk.asked,
            "notes": list(notes),
            "provenance": provenance("card", files, {name: next(iter(signatures.values()), "")}),
        }
    )


_PROOF: Mapping[str, tuple[tuple[str, ...], str]] = {
    "agreement": (("rows",), "no table has human scores (columns candidate, reference or source, human)"),
    "factors": (("observational",), "no table has candidates with references"),
    "paraphrase": (
        ("pairs", "triples"),
        "no table has pairs (sentence1 sentence2 label) or triples (anchor paraphrase nonparaphrase)",
    ),
    "perturbations": (("rows",), "no table has references to change"),
    "challenge": (
        ("sets",),
        "no challenge set is among the tables (columns good, bad, phenomenon, reference or source)",
    ),
    "sentinels": (("rows",), "there is nothing that sentinels could be measured on"),
    "invariance": (("checks",), "no table has texts to try the metric on"),
    "cost": (("metric",), "no table has texts to score"),
    "languages": (("measured",), "no table has texts to score"),
}
"""Part -> what of it must be filled, one of these at least, and why it is not where nothing else says so."""


def _signature(metric: Metric) -> str:
    try:
        return str(metric.signature())
    except Exception:  # noqa: BLE001 - a metric that learns from its corpus may have no signature before
        return metric.spec


def _described(one: DataSet) -> JsonObject:
    groups = list(dict.fromkeys(one.content.group)) if isinstance(one.content, JudgedRows) else []
    return {
        "name": one.name,
        "kind": one.kind,
        "n": one.n,
        "sha256": one.sha256,
        "languages": [one.lang],
        "groups": groups,
        "examples": one.examples,
    }


def _fill_languages(parts: Mapping[str, JsonObject]) -> None:
    """Put each language's mean agreement on segments beside what was counted there."""
    rows = parts.get("agreement", {}).get("rows", [])
    for measured in parts.get("languages", {}).get("measured", []):
        values = [
            row["value"]
            for row in rows
            if row["level"] == "segment" and row["data"] in measured["data"] and row["group"] != "average"
            if row["value"] is not None and row["group"].rpartition("-")[2] in (measured["lang"], "all")
        ]
        measured["agreement"] = math.fsum(values) / len(values) if values else None


def _corrected(parts: Mapping[str, JsonObject], alpha: float) -> JsonObject:
    """Correct the p-values of all tests together, in place, and return what the family is."""
    tests = [test for part in parts.values() for test in part.get("tests", [])]
    if tests:
        for test, p in zip(tests, adjust([test["p"] for test in tests], _CORRECTION).tolist(), strict=True):
            test["p_adjusted"] = p
    significant = sum(test["p_adjusted"] < alpha for test in tests)
    return {"tests": len(tests), "correction": _CORRECTION, "alpha": alpha, "significant": significant}
