"""Which document is which."""

from __future__ import annotations

from bsx.analysis.documents.adversarial import PairsDocument, PerturbDocument, TriplesDocument
from bsx.analysis.documents.agreement import CompareDocument, JudgmentsDocument, MetaDocument
from bsx.analysis.documents.base import ResultDocument
from bsx.analysis.documents.challenge import ChallengeDocument
from bsx.analysis.documents.ensembles import EnsembleDocument
from bsx.analysis.documents.explaining import ExplainDocument
from bsx.analysis.documents.intervening import InterveneDocument

KINDS: dict[str, type[ResultDocument]] = {
    "meta": MetaDocument,
    "meta-judgments": JudgmentsDocument,
    "compare": CompareDocument,
    "adversarial-triples": TriplesDocument,
    "adversarial-pairs": PairsDocument,
    "adversarial-perturb": PerturbDocument,
    "adversarial-challenge": ChallengeDocument,
    "ensemble": EnsembleDocument,
    "intervene": InterveneDocument,
    "explain": ExplainDocument,
}
"""``provenance.kind`` -> class."""
