"""From documents to a report, and from a report to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bsx.analysis.adversarial.challenge import ChallengeResult
from bsx.analysis.adversarial.pairs import PairsResult
from bsx.analysis.adversarial.result import Robustness
from bsx.analysis.adversarial.triples import TriplesResult
from bsx.analysis.agreement.learning_curve import LearningCurve
from bsx.analysis.agreement.raters import RaterAgreement
from bsx.analysis.agreement.result import CompareResult, Judgments, MetaResult
from bsx.analysis.cards.leaderboard import Leaderboard
from bsx.analysis.cards.result import Card, CardRun
from bsx.analysis.disentangling.result import DisentangleResult
from bsx.analysis.ensembles.result import EnsembleResult
from bsx.analysis.explanations.result import Explanations
from bsx.analysis.intervening.result import Interventions
from bsx.analysis.probing.result import ProbedModel
from bsx.analysis.published.kaster.result import Reproduction
from bsx.analysis.published.result import Reproduced, together
from bsx.analysis.report.alignments import Align, Aligner
from bsx.analysis.report.documents import Document, ScoreRows
from bsx.analysis.report.result import Report
from bsx.analysis.report.sections.presented import presented
from bsx.analysis.report.sections.repeat import repeat
from bsx.analysis.report.sections.scored import scored, segments
from bsx.errors import InputError
from bsx.support.settings import in_range


def has_examples(document: Document) -> bool:
    """Return whether a document has examples whose tokens could be aligned."""
    content = document.content
    if isinstance(content, ChallengeResult):
        return any(example.reference is not None for example in content.examples)
    return isinstance(content, TriplesResult | Robustness) and bool(content.worst)


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
        presented(documents, MetaResult, aligner),
        presented(documents, Judgments, aligner),
        presented(documents, RaterAgreement, aligner),
        presented(documents, LearningCurve, aligner),
        presented(documents, CompareResult, aligner),
        presented(documents, DisentangleResult, aligner),
        presented(documents, Interventions, aligner),
        presented(documents, (ChallengeResult, TriplesResult, PairsResult, Robustness), aligner, examples),
        presented(documents, Explanations, aligner, examples),
        presented(documents, ProbedModel, aligner),
        presented(documents, EnsembleResult, aligner),
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
