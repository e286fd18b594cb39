"""English contractions, written out or contracted."""

from __future__ import annotations

from bsx.analysis.perturbations.base import Perturbation
from bsx.analysis.perturbations.spelling import rewriting

_AUXILIARIES = (
    "is|are|was|were|do|does|did|has|have|had|would|could|should|might|must|need"  # "will" and "can" are irregular
)
# Not before a subject: "Don't you know?" written out is "Do you not know?".
_NO_SUBJECT = r"(?!\s+(?:I|you|he|she|it|we|they|this|that|there|the)\b)"
# 's and 'd are left alone: each may stand for two words.
_EXPAND = [
    (rf"\b(can)['’]t\b{_NO_SUBJECT}", r"\1not"),
    (rf"\b(w)on['’]t\b{_NO_SUBJECT}", r"\1ill not"),
    (rf"\b(sha)n['’]t\b{_NO_SUBJECT}", r"\1ll not"),
    (rf"\b({_AUXILIARIES})n['’]t\b{_NO_SUBJECT}", r"\1 not"),
    (r"\b(I)['’]m\b", r"\1 am"),
    (r"\b(you|we|they)['’]re\b", r"\1 are"),
    (r"\b(I|you|we|they)['’]ve\b", r"\1 have"),
    (r"\b(I|you|he|she|it|we|they)['’]ll\b", r"\1 will"),
]
_CONTRACT = [
    (r"\b(can)(?:not| not)\b(?!\s+only)", r"\1't"),
    (r"\b(w)ill not\b(?!\s+only)", r"\1on't"),
    (rf"\b({_AUXILIARIES}) not\b(?!\s+only)", r"\1n't"),
]
_RULES = [[(f"(?i){pattern}", to) for pattern, to in rules] for rules in (_EXPAND, _CONTRACT)]

CONTRACTIONS = Perturbation(
    "contractions",
    "contractions written out (don't: do not), or, if there are none, negated auxiliaries contracted",
    True,
    rewriting({"en": _RULES}),
    languages=("en",),
    acts_on="texts with such words; 's and 'd are left alone",
)
