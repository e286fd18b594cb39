"""The step of a card that asks what a metric's scores go with: regressions on linguistic factors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bsx.analysis.cards.result import InterventionRow, ProfileRow
from bsx.analysis.disentangling.fit import disentangle
from bsx.analysis.factors.zoo import compute_factors
from bsx.analysis.intervening.run import intervene
from bsx.analysis.present.families.intervening import worded
from bsx.errors import BsxError
from bsx.jobs.cards.data import DataSet, JudgedRows
from bsx.jobs.cards.inputs import CardFindings, CardInputs, test_row
from bsx.jobs.cards.scoring import Problem, Scored
from bsx.support.checks import Array
from bsx.support.result import as_json

_NEED_PARSES = ("syn", "mor")


def measure_factors(inputs: CardInputs) -> CardFindings:
    """Regress every subject's scores on meaning (human scores), words, and with a parser structure and word forms."""
    findings = CardFindings()
    for data, content in inputs.tables(JudgedRows):
        texts = content.texts
        if texts.candidates is None or texts.references is None:
            reason = Problem(False, f"{data.name} has no candidates with references: factors compare their texts")
            for subject in inputs.subjects:
                findings.miss("factors", subject.name, reason)
            continue
        factors, missing = _factors(inputs, data, content)
        for subject in inputs.subjects:
            scored = inputs.judged(data, content)[subject.name]
            if isinstance(scored, Problem):
                findings.miss("factors", subject.name, scored)
            elif len(factors) < 1:
                findings.miss("factors", subject.name, Problem(False, "; ".join(missing.values())))
            else:
                _fit(findings, inputs, data, content, subject.name, scored, factors, missing)
                if not subject.column:
                    _intervene(findings, inputs, data, content, subject.name)
    return findings


def _intervene(findings: CardFindings, inputs: CardInputs, data: DataSet, content: JudgedRows, name: str) -> None:
    """Edit references factor by factor, and explain how far the metric's scores fall by what was changed."""
    metric = inputs.metrics.build(data.lang)[name]
    if isinstance(metric, Problem) or "source" in metric.needs:
        findings.add(
            "factors", name, notes=[f"{data.name}: {name} reads sources, so there is no interventional profile"]
        )
        return
    most, texts = min(inputs.settings.perturbed, len(content)), content.texts
    rows = sorted(np.random.default_rng(inputs.settings.seed).choice(len(content), most, replace=False).tolist())
    some = texts.at(rows)
    human = None if content.human is None else content.human[rows].tolist()
    try:
        result = intervene(
            [several[0] for several in some.references or []],
            {name: inputs.metrics.pairwise(data.lang, name)},
            candidates=some.candidates,
            human=human,
            lang=data.lang,
            seed=inputs.settings.seed,
            confidence=inputs.settings.confidence,
            nan="omit",
        )
    except BsxError as error:
        findings.add("factors", name, notes=[f"{data.name}: no interventional profile: {error}"])
        return
    moved = [
        as_json(InterventionRow(**as_json(row), data=data.name, group=data.lang, n=most)) for row in result.effects
    ]
    tests = [
        row
        for effect in result.effects
        for kind, value, ends, p in (
            ("coefficient under edits", effect.edited, effect.edited_ci, effect.edited_p),
            ("coefficient under edits less observed", effect.difference, effect.difference_ci, effect.p),
        )
        if p is not None
        for row in test_row(
            data=data.name,
            group=data.lang,
            figure=kind,
            a=effect.factor,
            b="0",
            difference=value,
            ci=ends,
            p=float(p),
            method="standard errors by sentence",
        )
    ]
    reasons = dict.fromkeys(result.left_out.values())
    left = [
        f"{data.lang}: edits left out: {', '.join(edit for edit, own in result.left_out.items() if own == why)}: {why}"
        for why in reasons
    ]
    findings.add(
        "factors", name, interventional=moved, tests=tests, notes=[*result.notes, *map(worded, result.warnings), *left]
    )


def _factors(inputs: CardInputs, data: DataSet, content: JudgedRows) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the factors that can be computed, and why others are missing."""
    findings: dict[str, Array] = {}
    missing: dict[str, str] = {}
    if content.human is not None:
        findings["sem"] = content.human
    else:
        missing["sem"] = "meaning is taken from human scores, and there are none"
    candidates, references = content.texts.candidates or [], content.texts.references or []
    first = [several[0] for several in references]
    parser, folder = inputs.settings.parser, inputs.settings.parser_dir
    for name in ("lex", *_NEED_PARSES):
        if name in _NEED_PARSES and parser is None:
            missing[name] = "needs parses: parser names one"
            continue
        more: dict[str, object] = {}
        if parser is not None:
            more = {"parser": parser, "parser_dir": None if folder is None else Path(folder), "train_vectors": True}
        try:
            scores = compute_factors(name, first, candidates, lang=data.lang, **more)[name]  # type: ignore[arg-type]
        except BsxError as error:
            missing[name] = str(error)
            continue
        if scores.excluded is not None:
            missing[name] = scores.excluded
        else:
            findings[name] = scores.values
    return findings, missing


def _fit(
    findings: CardFindings,
    inputs: CardInputs,
    data: DataSet,
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
    varied = [factor for factor, values in factors.items() if len(np.unique(values[~np.isnan(values)])) > 1]
    if not varied:
        findings.miss("factors", name, Problem(False, f"{data.name}: no factor differs between rows"))
        return
    try:
        result = disentangle(
            table,
            ["score"],
            varied,
            nan="omit",
            confidence=inputs.settings.confidence,
            alpha=inputs.settings.alpha,
            seed=inputs.settings.seed,
        )
    except BsxError as error:
        findings.miss("factors", name, Problem(True, f"{data.name}: {error}"))
        return
    fit = result.results[0]
    row = ProfileRow(
        data=data.name,
        group=data.lang,
        n=result.n,
        factors=tuple(varied),
        coef={**fit.coef},
        ci={**fit.ci},
        p={**fit.p},
        r2=fit.r2,
        r2_ci=fit.r2_ci,
        r2_share={**fit.r2_share},
        se=f"{result.se}: {result.se_reason}" if result.se_reason else result.se,
        warnings=result.warnings,
    )
    tests = [
        row
        for factor in varied
        for row in test_row(
            data=data.name,
            group=data.lang,
            figure="standardised coefficient",
            a=factor,
            b="0",
            difference=fit.coef[factor],
            ci=fit.ci[factor],
            p=fit.p[factor],
            method=f"t test, {result.se} standard errors",
        )
    ]
    findings.add("factors", name, observational=[as_json(row)], tests=tests, left_out=missing)
