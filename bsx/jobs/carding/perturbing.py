"""The step of a card on perturbed texts: does a change of meaning cost more than one that keeps it?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from bsx.analysis.adversarial.robustness import ToldApart, falls, perturbed_scores, told_apart
from bsx.analysis.cards.leaderboard import TOLD_APART
from bsx.analysis.cards.result import ToldApartRow
from bsx.analysis.stats.preference import McNemar, mcnemar
from bsx.errors import BsxError
from bsx.jobs.carding.data import DataSet, JudgedRows
from bsx.jobs.carding.desk import CardFindings, Desk
from bsx.jobs.carding.rows import add_mcnemar, test_row
from bsx.jobs.carding.scoring import Problem
from bsx.support.checks import Array
from bsx.support.result import as_json


def perturbed(desk: Desk) -> CardFindings:
    """Change references on purpose and measure how far each metric's scores of them fall."""
    found = CardFindings()
    done: set[str] = set()
    for one, content in desk.of(JudgedRows):
        if content.texts.references is None or one.lang in done:
            continue
        done.add(one.lang)
        texts = list(dict.fromkeys(refs[0] for refs in content.texts.references if refs and refs[0].strip()))
        most = desk.how["perturbed"]
        if len(texts) > most:
            chosen = np.random.default_rng(desk.how["seed"]).choice(len(texts), most, replace=False)
            texts = [texts[i] for i in sorted(chosen.tolist())]
        told: dict[str, ToldApart] = {}
        for name in desk.scorable(found, "perturbations", ", which knows no changed texts"):
            metric = desk.lab.build(one.lang)[name]
            if isinstance(metric, Problem):
                found.miss("perturbations", name, metric)
            elif "source" in metric.needs:
                reason = f"{name} reads sources: a reference that is changed has none of its own"
                found.miss("perturbations", name, Problem(False, reason))
            elif (whole := _perturb(found, desk, one, name, texts)) is not None:
                told[name] = whole
        tests = {(a, b): test.p for a, b in combinations(told, 2) if (test := _paired(told[a].right, told[b].right))}
        reached = {name: (whole.rate, (whole.low, whole.high)) for name, whole in told.items()}
        for name in told:
            add_mcnemar(found, desk, one, "perturbations", name, TOLD_APART, tests, reached)
    return found


def _paired(a: Array, b: Array) -> McNemar | None:
    """Return the test of two metrics on the changes that are counted for both, those of one text as a cluster."""
    both = ~np.isnan(a) & ~np.isnan(b)
    return mcnemar(a[both], b[both], cluster=np.nonzero(both)[1]) if both.any() else None


def _perturb(found: CardFindings, desk: Desk, one: DataSet, name: str, texts: Sequence[str]) -> ToldApart | None:
    try:
        scored = perturbed_scores(
            texts,
            {name: desk.lab.pairwise(one.lang, name)},
            lang=one.lang,
            seed=desk.how["seed"],
            nan="omit",
        )
    except BsxError as error:
        found.miss("perturbations", name, Problem(True, f"{one.name}: {error}"))
        return None
    how = desk.how
    result = falls(scored, resamples=how["resamples"], confidence=how["confidence"], worst=0)
    rows = [{**as_json(case), "data": one.name, "group": one.lang} for case in result.results]
    tests = [
        row
        for case in result.results
        if not case.preserves
        for row in test_row(
            data=one.name,
            group=one.lang,
            figure="drop beyond the control's",
            a=case.perturbation + (f" {case.strength:g}" if case.strength is not None else ""),
            b=str(result.settings["control"]),
            difference=case.excess,
            ci=case.excess_ci,
            p=case.p,
            method="random swaps within rows, one-sided",
        )
    ]
    whole = told_apart(scored, name, confidence=how["confidence"])
    overall = (
        []
        if not whole.n
        else [
            as_json(
                ToldApartRow(
                    data=one.name,
                    group=one.lang,
                    control=whole.control,
                    n=whole.n,
                    texts=whole.texts,
                    rate=whole.rate,
                    ci=(whole.low, whole.high),
                )
            )
        ]
    )
    missing = [{"perturbation": what, "why": f"{one.lang}: {why}"} for what, why in scored.left_out.items()]
    note = f"{one.name}: {len(texts)} different references, changed and scored against themselves"
    found.add(
        "perturbations", name, rows=rows, overall=overall, tests=tests, left_out=missing, notes=[note, *result.notes]
    )
    return whole if whole.n else None
