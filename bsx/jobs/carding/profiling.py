"""The step of a card that asks what a metric's scores go with: regressions on linguistic factors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.documents.cards import ProfileRow
from bsx.analysis.documents.disentangling import NoticeRow
from bsx.analysis.factors.zoo import compute_factors
from bsx.errors import BsxError
from bsx.jobs.carding.data import DataSet, JudgedRows
from bsx.jobs.carding.desk import CardFindings, Desk, test_row
from bsx.jobs.carding.scoring import Problem, Scored
from bsx.support.checks import Array

_NEED_PARSES = ("syn", "mor")


def profile(desk: Desk) -> CardFindings:
    """Regress every subject's scores on meaning (human scores), words, and with a parser structure and word forms."""
    found = CardFindings()
    for one in desk.of("judged"):
        if not isinstance(one.content, JudgedRows):
            continue
        texts = one.content.texts
        if texts.candidates is None or texts.references is None:
            reason = Problem(False, f"{one.name} has no candidates with references: factors compare their texts")
            for subject in desk.subjects:
                found.miss("factors", subject.name, reason)
            continue
        factors, missing = _factors(desk, one, one.content)
        for subject in desk.subjects:
            scored = desk.judged(one)[subject.name]
            if isinstance(scored, Problem):
                found.miss("factors", subject.name, scored)
            elif len(factors) < 1:
                found.miss("factors", subject.name, Problem(False, "; ".join(missing.values())))
            else:
                _fit(found, desk, one, one.content, subject.name, scored, factors, missing)
    return found


def _factors(desk: Desk, one: DataSet, content: JudgedRows) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the factors that can be computed, and why others are missing."""
    found: dict[str, Array] = {}
    missing: dict[str, str] = {}
    if content.human is not None:
        found["sem"] = content.human
    else:
        missing["sem"] = "meaning is taken from human scores, and there are none"
    candidates, references = content.texts.candidates or [], content.texts.references or []
    first = [several[0] for several in references]
    parser, folder = desk.how["parser"], desk.how["parser_dir"]
    for name in ("lex", *_NEED_PARSES):
        if name in _NEED_PARSES and parser is None:
            missing[name] = "needs parses: `parser=` names a parser"
            continue
        more: dict[str, object] = {}
        if parser is not None:
            more = {"parser": parser, "parser_dir": None if folder is None else Path(folder), "train_vectors": True}
        try:
            scores = compute_factors(name, first, candidates, lang=one.lang, **more)[name]  # type: ignore[arg-type]
        except BsxError as error:
            missing[name] = str(error)
            continue
        if scores.excluded is not None:
            missing[name] = scores.excluded
        else:
            found[name] = scores.values
    return found, missing


def _fit(
    found: CardFindings,
    desk: Desk,
    one: DataSet,
    content: JudgedRows,
    name: str,
    scored: Scored,
    factors: dict[str, Array],
    missing: dict[str, str],
) -> None:
    texts = content.texts
    table: dict[str, object] = {
        "score": scored.values,
        **factors,
        "reference": [several[0] for several in texts.references or []],
        "candidate": texts.candidates,
        "lp": content.group,
    }
    if content.segment is not None:
        table["segment"] = content.segment
    varied = [factor for factor, values in factors.items() if np.ptp(values[~np.isnan(values)]) > 0]
    try:
        result = disentangle(
            table,
            ["score"],
            varied,
            nan="omit",
            confidence=desk.how["confidence"],
            alpha=desk.how["alpha"],
            seed=desk.how["seed"],
        )
    except BsxError as error:
        found.miss("factors", name, Problem(True, f"{one.name}: {error}"))
        return
    document = result.to_document()
    fit = document.results[0]
    row = ProfileRow(
        data=one.name,
        group=one.lang,
        n=document.n,
        factors=varied,
        coef=fit.coef,
        ci=fit.ci,
        p=fit.p,
        r2=fit.r2,
        r2_ci=fit.r2_ci,
        r2_share=fit.r2_share,
        se=f"{document.se}: {document.se_reason}" if document.se_reason else document.se,
        warnings=[NoticeRow(name=notice.name, message=notice.message) for notice in document.warnings],
    )
    tests = [
        row
        for factor in varied
        for row in test_row(
            data=one.name,
            group=one.lang,
            figure="standardised coefficient",
            a=factor,
            b="0",
            difference=fit.coef[factor],
            ci=fit.ci[factor],
            p=float(fit.p[factor] if fit.p[factor] is not None else np.nan),  # type: ignore[arg-type]
            method=f"t test, {document.se} standard errors",
        )
    ]
    found.add("factors", name, observational=[row.to_dict()], tests=tests, left_out=missing)
