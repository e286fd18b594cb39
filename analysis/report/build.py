"""From documents to a report, and from a report to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bsx.analysis.cards.leaderboard import Leaderboard
from bsx.analysis.cards.result import Card, CardRun
from bsx.analysis.disentangling.result import DisentangleResult
from bsx.analysis.documents.adversarial import PerturbDocument, TriplesDocument
from bsx.analysis.documents.challenge import ChallengeDocument
from bsx.analysis.published.kaster.result import Reproduction
from bsx.analysis.published.result import Reproduced, together
from bsx.analysis.report.alignments import Align, Aligner
from bsx.analysis.report.documents import Document, ScoreRows
from bsx.analysis.report.result import Report
from bsx.analysis.report.sections.agreement import agreement
from bsx.analysis.report.sections.ensembles import ensembles
from bsx.analysis.report.sections.explanations import explanations
from bsx.analysis.report.sections.interventions import interventions
from bsx.analysis.report.sections.presented import presented
from bsx.analysis.report.sections.repeat import repeat
from bsx.analysis.report.sections.robustness import robustness
from bsx.analysis.report.sections.scored import compared, scored, segments
from bsx.errors import InputError
from bsx.support.settings import in_range


def has_examples(document: Document) -> bool:
    """Return whether a document has examples whose tokens could be aligned."""
    content = document.content
    if isinstance(content, ChallengeDocument):
        return any(example.reference is not None for example in content.examples)
    return isinstance(content, TriplesDocument | PerturbDocument) and bool(content.worst)


@in_range
def build_report(
    documents: Sequence[Document],
    *,
    title: str = "Evaluation report",
    align: Align | None = None,
    examples: int = 10,
    origin: Mapping[str, object] | None = None,
) -> Report:
    """Put a report together.

    Args:
        documents: from `bsx.analysis.report.read_document`.
        title: its heading.
        align: from candidate and reference to the token alignment, as ``Scorer(...).align(c, r).to_dict()`` gives it;
            None leaves alignments out.
        examples: how many of the worst examples to show, and to align, of each document on robustness; and how many
            rows of each explanation, the riskiest.
        origin: where the report itself comes from, see `bsx.support.provenance.provenance`.

    Raises:
        InputError: if there is nothing to report on.
    """
    if not documents:
        raise InputError("a report needs at least one table of scores or document of results")
    aligner = Aligner(align)
    what = scored(documents)
    leads = any(isinstance(document.content, ScoreRows) for document in documents)  # else it is signatures alone
    found = [
        what if leads else None,
        agreement(documents),
        compared(documents),
        presented(documents, DisentangleResult, aligner),
        interventions(documents),
        robustness(documents, aligner, examples),
        explanations(documents, examples),
        ensembles(documents),
        presented(documents, Card, aligner),
        presented(documents, CardRun, aligner),
        presented(documents, Leaderboard, aligner),
        presented(_reproduced(documents), Reproduced, aligner),
        presented(documents, Reproduction, aligner),
        segments(documents),
        None if leads else what,
        repeat(documents, origin, aligner.signature),
    ]
    return Report(title, tuple(section for section in found if section is not None))


def _reproduced(documents: Sequence[Document]) -> list[Document]:
    """Return published tables of all documents as one."""
    found = [one.content for one in documents if isinstance(one.content, Reproduced)]
    return [Document("published tables", None, together(found))] if found else []
