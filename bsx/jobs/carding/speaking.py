"""The step of a card on languages: which the registry declares, which were measured, and how much was cut off there."""

from __future__ import annotations

from bsx.analysis.documents.cards import LanguageRow
from bsx.jobs.carding.data import JudgedRows
from bsx.jobs.carding.desk import CardFindings, Desk
from bsx.jobs.carding.scoring import Problem, Scored


def languages(desk: Desk) -> CardFindings:
    """Count, for every language that there are texts in, what was scored and what was cut off."""
    found = CardFindings()
    for subject in desk.subjects:
        if subject.column:
            reason = f"{subject.name} is a column of scores: the registry declares nothing of it"
            found.miss("languages", subject.name, Problem(False, reason))
            continue
        rows: dict[str, dict[str, int]] = {}
        files: dict[str, list[str]] = {}
        notes: dict[str, list[str]] = {}
        declared: list[str] | str = "any"
        source = ""
        for one in desk.of("judged"):
            metric = desk.lab.build(one.lang)[subject.name]
            if isinstance(metric, Problem):
                found.miss("languages", subject.name, metric)
                continue
            declared, source = metric.languages, metric.entry.languages_source or ""
            notes.setdefault(one.lang, []).extend(metric.doubts)
            if not isinstance(one.content, JudgedRows) or one.content.texts.candidates is None:
                continue
            scored = desk.judged(one)[subject.name]
            if not isinstance(scored, Scored):
                found.miss("languages", subject.name, scored)
                continue
            counts = rows.setdefault(one.lang, dict.fromkeys(("segments", "truncated", "empty", "failed"), 0))
            files.setdefault(one.lang, []).append(one.name)
            counts["segments"] += one.n
            counts["truncated"] += scored.truncated
            counts["empty"] += scored.empty
            counts["failed"] += len(scored.failed)
        measured = [
            LanguageRow(
                lang=lang,
                data=files[lang],
                **counts,
                truncated_share=counts["truncated"] / counts["segments"],
                declared=None if declared == "any" else lang in declared or lang.partition("-")[0] in declared,
                notes=list(dict.fromkeys(notes[lang])),
            ).to_dict()
            for lang, counts in rows.items()
        ]
        if measured:
            found.add("languages", subject.name, declared=declared, source=source, measured=measured)
    return found
