"""Error span annotation (ESA) as Appraise exports it: judgments from 0 to 100, with marked errors."""

from __future__ import annotations

import json
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable
from bsx.analysis.datasets.mqm import human_translation
from bsx.data import cells
from bsx.data.tables import Row, Table
from bsx.errors import InputError

_FIELDS = ["annotator", "system", "item", "kind", "src", "tgt", "score", "doc", "whole", "spans", "start", "end"]
_Judgment = tuple[str, float, float]
_Judged = dict[tuple[str, str, str, str], list[_Judgment]]


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

    Raises:
        InputError: naming file, line and reason of a malformed row.
    """
    builder = Builder(path, name, skip_malformed)
    for (pair, system, document, item), judged in _appraised(path, lp, builder).items():
        for group in [[each] for each in judged] if per_rater else [judged]:
            counted: dict[str, Given] = {"judge": group[0][0]} if per_rater else {"judgments": len(group)}
            mean = sum(score for _, score, _ in group) / len(group)
            spans = sum(spans for _, _, spans in group) / len(group)
            builder.add(
                lp=pair,
                system=system,
                segment=item,
                document=document,
                human=float(mean),
                human_spans=float(spans),
                human_system=human_translation(system),
                **counted,
            )
    return builder.finish(drop_human=drop_human)


def _appraised(path: Path | str, lp: str | None, builder: Builder) -> _Judged:
    """Return (pair, system, document, item) -> (annotator, score, score of spans); note what is left out."""
    table = Table(path, builder.problems, separator=",", quoted=True, header=_FIELDS)
    left_out = {"tutorials": 0, "attention checks": 0, "judgments of whole documents": 0}
    results: _Judged = {}
    for row in table.rows():
        with builder.problems:
            pair = f"{row.name('src')}-{row.name('tgt')}"
            document = row.name("doc").removesuffix("#incomplete")
            if lp not in (None, pair):
                continue
            kind = (
                "tutorials"
                if "tutorial" in document or "tutorial" in row.name("system")
                else "attention checks"
                if row.name("kind") != "TGT" or document.endswith("#bad")
                else "judgments of whole documents"
                if row.name("whole").lower() == "true"
                else None
            )
            if kind is not None:
                left_out[kind] += 1
                continue
            score = row.finite("score")
            if not 0 <= score <= 100:
                raise InputError(f"{row.where}: the score {score:g} is not between 0 and 100")
            key = (pair, row.name("system"), document, row.name("item"))
            results.setdefault(key, []).append((row.name("annotator"), score, _span_score(row)))
    builder.notes += [f"{count} {what} are left out" for what, count in left_out.items() if count]
    builder.notes.append("the file has no texts; segments have the numbers that the test set gives them")
    return results


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
