"""Judgments by marked errors: MQM spans turned into scores, and error span annotation (ESA), from 0 to 100."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable, pair_in_name
from bsx.data import cells
from bsx.data.tables import Row, Table
from bsx.errors import InputError, UnknownNameError, did_you_mean

MQM_WEIGHTS: Mapping[str, float] = {
    "critical": 25.0,
    "major": 5.0,
    "minor": 1.0,
    "minor fluency/punctuation": 0.1,
    "neutral": 0.0,
    "no-error": 0.0,
    "non-translation": 25.0,
}
"""Freitag et al. 2021; critical as in the MQM framework (themqm.org), which that paper does not use."""

_MARK = re.compile(r"</?v>")
_SEGMENT = ("seg", "seg_id", "globalSegId", "segment")
_NOTHING = "no-error"


_Rating = list[tuple[str, str, float]]
"""What one rater found in one translation: its errors' categories, severities and weights."""


def load_mqm(
    path: Path | str,
    *,
    weights: Mapping[str, float] | None = None,
    reference: str | None = None,
    per_rater: bool = False,
    drop_human: bool = False,
    lp: str | None = None,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load MQM error spans and turn them into scores of segments: minus the sum of weights, the mean over raters.

    The table has the columns system, doc, seg (or seg_id, globalSegId), rater, source, target, category, severity, one
    row an error with ``<v>…</v>`` around it; a segment without errors has one row with the category No-error.

    Beside ``human``, the score, there is a column of scores for each top category, each category and each severity that
    occurs (``human_accuracy``, ``human_accuracy_omission``, ``human_major``), 0 where there is no such error; so a
    metric's correlation can be had by category. ``judgments`` is the number of raters.

    Source: Freitag et al. 2021.

    Args:
        path: the table.
        weights: weight of an error, by severity (``major``), by severity and category (``minor fluency/punctuation``)
            or by category (``non-translation``), without regard to case; what is more special wins. Over
            `MQM_WEIGHTS`.
        reference: system whose translation is the reference, such as ``ref``; its own rows are left out then, and those
            of segments that it lacks, which are counted.
        per_rater: one row a rating, with the column ``judge``, instead of the mean over raters.
        drop_human: leave out human translations (see ``human_system``), and count them.
        lp: language pair; taken from the file's name unless given.
        name: name of the data set; the path's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Errors: as for `bsx.analysis.load_table`; a severity without a weight is one.
    """
    builder = Builder(path, name or Path(path).name.partition(".")[0], skip_malformed)
    table = builder.table(path)
    segment = table.first(*_SEGMENT) or _SEGMENT[0]
    table.require("system", "doc", segment, "rater", "source", "target", "category", "severity")
    known = {key.lower(): float(weight) for key, weight in {**MQM_WEIGHTS, **(weights or {})}.items()}
    texts: dict[tuple[str, str, str], tuple[str, str]] = {}
    ratings: dict[tuple[str, str, str], dict[str, _Rating]] = {}
    checks = 0
    for row in table.rows():
        with builder.problems:
            key = (row.name("system"), row.name("doc"), row.name(segment))
            category, severity = row.name("category").rstrip("!"), row.name("severity")
            if severity.lower() == "hotw-test":
                checks += 1
                continue
            special_first = (f"{severity} {category}".lower(), category.lower(), severity.lower())
            weight = next((known[kind] for kind in special_first if kind in known), None)
            if weight is None:
                raise InputError(
                    f"{row.where}: the severity {severity!r} (category {category!r}) has no weight; weights gives it "
                    f"one in addition to {', '.join(known)}"
                )
            source, target = (_MARK.sub("", row.text(side)) for side in ("source", "target"))
            texts.setdefault(key, (source, target))
            rating = ratings.setdefault(key, {}).setdefault(row.name("rater"), [])
            if severity.lower() != _NOTHING and category.lower() != _NOTHING:
                rating.append((category, severity, weight))
    systems = list(dict.fromkeys(system for system, _, _ in texts))
    if reference is not None and reference not in systems:
        known_systems = f"it has {', '.join(systems)}.{did_you_mean(reference, systems)}"
        raise UnknownNameError(f"has no system {reference!r} to take references from; {known_systems}", file=table.name)
    references = {key[1:]: text for key, (_, text) in texts.items() if key[0] == reference}
    parts = _parts(ratings)
    places = {(document, item) for _, document, item in texts}
    unique = len(places) == len({item for _, item in places})  # else numbers start anew in each document
    pair = lp or pair_in_name(path)
    lacking = 0
    for key, raters in ratings.items():
        system, document, item = key
        if system == reference:
            continue
        if reference is not None and key[1:] not in references:
            lacking += 1
            continue
        source, target = texts[key]
        values: dict[str, Given] = {"system": system, "segment": item if unique else f"{document}:{item}"}
        values |= {"document": document, "source": source, "candidate": target}
        values |= {} if reference is None else {"references": [references[key[1:]]]}
        groups = [[rating] for rating in raters.values()] if per_rater else [list(raters.values())]
        for number, group in enumerate(groups):
            scores = {column: _score(group, *part) for column, part in parts.items()}
            counted: dict[str, Given] = {"judge": list(raters)[number]} if per_rater else {"judgments": len(raters)}
            builder.add(lp=pair or None, **values, **scores, human_system=human_translation(system), **counted)
    if checks:
        builder.notes.append(f"{checks} attention checks (HOTW-test) are left out")
    if lacking:
        builder.notes.append(f"{lacking} translations of segments that {reference} lacks are left out")
    uneven = {len(raters) for raters in ratings.values()}
    if len(uneven) > 1 and not per_rater:
        builder.notes.append(f"translations have {min(uneven)} to {max(uneven)} raters; scores are their means")
    return builder.finish(drop_human=drop_human)


def _parts(ratings: Mapping[tuple[str, str, str], Mapping[str, _Rating]]) -> dict[str, tuple[int, str]]:
    """Return column -> what it counts: place in an error, and what stands there or before a slash; all for ``""``."""
    results: dict[str, tuple[int, str]] = {"human": (0, "")}
    errors = [error for raters in ratings.values() for rating in raters.values() for error in rating]
    for category in sorted({category for category, _, _ in errors}):
        for part in dict.fromkeys((category.split("/")[0], category)):
            results[f"human_{_slug(part)}"] = (0, part)
    for severity in sorted({severity for _, severity, _ in errors}):
        results[f"human_{_slug(severity)}"] = (1, severity)
    return results


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _score(group: Sequence[_Rating], place: int, wanted: str) -> float:
    """Return minus the mean weight of the errors with what is wanted at a place, as it stands or before a slash."""
    total = 0.0
    for error in chain.from_iterable(group):
        if not wanted or f"{error[place]}/".startswith(f"{wanted}/"):
            total += error[2]
    return -total / len(group) if total else 0.0


def human_translation(system: str) -> int:
    """Return 1 for a system whose name says that it is a human translation: ref, ref-A, refB, Human-A.0, HUMAN."""
    return int(
        re.match(r"(?:ref|human)(?:erence)?(?:$|[-_.:0-9]|[A-Z](?:$|[^a-z]))", system, re.IGNORECASE) is not None
    )


_ESA_FIELDS = ["annotator", "system", "item", "kind", "src", "tgt", "score", "doc", "whole", "spans", "start", "end"]


def load_esa(
    path: Path | str,
    *,
    lp: str | None = None,
    per_rater: bool = False,
    drop_human: bool = False,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load error span annotation as WMT24 gives it out: a CSV without a header, one row a judgment, without texts.

    The fields are annotator, system, item, kind (TGT, or BAD for an attention check), source and target language,
    score from 0 to 100, document, whether the row is about the whole document, spans as JSON, start and end time.
    ``human`` is the mean score of a segment over annotators, ``human_spans`` minus 5 for each major and 1 for each
    minor span.
    Tutorials, attention checks and judgments of whole documents are left out and counted.

    Source: Kocmi et al. 2024.

    Args:
        path: the file.
        lp: load only this language pair, such as eng-jpn.
        per_rater: one row a judgment, with the column ``judge``, instead of the mean over annotators.
        drop_human: leave out human translations (see ``human_system``), and count them.
        name: name of the data set; the path's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Errors: as for `bsx.analysis.load_table`.
    """
    builder = Builder(path, name, skip_malformed)
    table = Table(path, builder.problems, separator=",", quoted=True, header=_ESA_FIELDS)
    left_out = {"tutorials": 0, "attention checks": 0, "judgments of whole documents": 0}
    results: dict[tuple[str, str, str, str], list[tuple[str, float, float]]] = {}  # annotator, score, score of spans
    for row in table.rows():
        with builder.problems:
            pair = f"{row.name('src')}-{row.name('tgt')}"
            document = row.name("doc").removesuffix("#incomplete")
            if lp not in (None, pair):
                continue
            if "tutorial" in document or "tutorial" in row.name("system"):
                left_out["tutorials"] += 1
            elif row.name("kind") != "TGT" or document.endswith("#bad"):
                left_out["attention checks"] += 1
            elif row.name("whole").lower() == "true":
                left_out["judgments of whole documents"] += 1
            else:
                score = row.finite("score")
                if not 0 <= score <= 100:
                    raise InputError(f"{row.where}: the score {score:g} is not between 0 and 100")
                key = (pair, row.name("system"), document, row.name("item"))
                results.setdefault(key, []).append((row.name("annotator"), score, _span_score(row)))
    builder.notes += [f"{count} {what} are left out" for what, count in left_out.items() if count]
    builder.notes.append("the file has no texts; segments have the numbers that the test set gives them")
    for (pair, system, document, item), judged in results.items():
        for group in [[each] for each in judged] if per_rater else [judged]:
            counted: dict[str, Given] = {"judge": group[0][0]} if per_rater else {"judgments": len(group)}
            builder.add(
                lp=pair,
                system=system,
                segment=item,
                document=document,
                human=sum(score for _, score, _ in group) / len(group),
                human_spans=sum(spans for _, _, spans in group) / len(group),
                human_system=human_translation(system),
                **counted,
            )
    return builder.finish(drop_human=drop_human)


def _span_score(row: Row) -> float:
    where = f"{row.where}, column 'spans'"
    try:
        spans = json.loads(cells.text(row["spans"], where))
        severities = [str(span["severity"]).lower() for span in spans]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{where}: is no list of error spans with a severity") from error
    for severity in severities:
        if severity not in ("major", "minor", "undecided"):
            raise InputError(f"{where}: the severity {severity!r} is none of major, minor, undecided")
    return -sum({"major": 5.0, "minor": 1.0}.get(severity, 0.0) for severity in severities) or 0.0
