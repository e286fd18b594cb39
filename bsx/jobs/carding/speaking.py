"""The step of a card on languages: which the registry declares, which were measured, and how much was cut off there."""

from __future__ import annotations

from bsx.analysis.cards.result import LanguageRow
from bsx.jobs.carding.data import JudgedRows
from bsx.jobs.carding.desk import CardFindings, Desk
from bsx.jobs.carding.scoring import Problem, Scored
from bsx.support.result import as_json


def languages(desk: Desk) -> CardFindings:
    """Count, for every language that there are texts in, what was scored and what was cut off."""
    found = CardFindings()
    for name in desk.scorable(found, "languages", ": the registry declares nothing of it"):
        rows: dict[str, dict[str, int]] = {}
        files: dict[str, list[str]] = {}
        notes: dict[str, list[str]] = {}
        declared: list[str] | str = "any"
        source = ""
        for one, content in desk.of(JudgedRows):
            metric = desk.lab.build(one.lang)[name]
            if isinstance(metric, Problem):
                found.miss("languages", name, metric)
                continue
            declared, source = metric.languages, metric.entry.languages_source or ""
            notes.setdefault(one.lang, []).extend(metric.doubts)
            if content.texts.candidates is None:
                continue
            scored = desk.judged(one, content)[name]
            if not isinstance(scored, Scored):
                found.miss("languages", name, scored)
                continue
            counts = rows.setdefault(one.lang, dict.fromkeys(("segments", "truncated", "empty", "failed"), 0))
            files.setdefault(one.lang, []).append(one.name)
            counts["segments"] += one.n
            counts["truncated"] += scored.truncated
            counts["empty"] += scored.empty
            counts["failed"] += len(scored.failed)
        measured = [
            as_json(
                LanguageRow(
                    lang=lang,
                    data=tuple(files[lang]),
                    **counts,
                    truncated_share=counts["truncated"] / counts["segments"],
                    agreement=None,
                    declared=None if declared == "any" else lang in declared or lang.partition("-")[0] in declared,
                    notes=tuple(dict.fromkeys(notes[lang])),
                )
            )
            for lang, counts in rows.items()
        ]
        if measured:
            found.add("languages", name, declared=declared, source=source, measured=measured)
    return found
