"""Documents that a report reads: small results of the functions themselves, and a table of scores."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bsx.analysis import challenge as judge_pairs
from bsx.analysis import detect_pairs, prefer_paraphrase
from bsx.analysis.adversarial.challenge import ChallengeExample
from bsx.analysis.adversarial.result import CaseResult, DropExample, MetricRange, NotApplied, Robustness
from bsx.analysis.datasets.challenge import MinimalPair
from bsx.analysis.datasets.triples import Triple
from bsx.analysis.disentangle.fit import disentangle as regress
from bsx.analysis.ensemble.combine import combine
from bsx.analysis.meta.run import meta_evaluate
from bsx.support.result import Result

METRICS = ("bertscore", "chrf", "sentbleu")
SIGNATURES = {name: f"metric:{name}|refs:1|bsx:0.1.0" for name in METRICS}
SYSTEMS = ("atlas", "brook")
GRADES = (0.1, 0.3, 0.5)
GROUPS = ("cs-en", "de-en", "zh-en", "fi-en", "lv-en", "ru-en", "tr-en", "all of them together")
# Under these keys lie dictionaries whose keys are names from the data, not of the format.
OPEN = (  # noqa: SIM905 - prose reads better
    "coef members weights versions signatures settings significant r2_share ranks by by_factor p p_adjusted se vif "
    "statistic importance commonality partial_r2 partial_r2_ci semipartial_r2 semipartial_r2_ci "
    "slopes products"
).split()


def provenance(kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "command": f"bsx {kind.replace('-', ' ')} table.tsv --format json",
        "versions": {"bsx": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"},
        "files": [{"name": "table.tsv", "sha256": "1b" * 32}],
        "signatures": {**SIGNATURES},
    }


def document(result: Result, kind: str) -> dict[str, Any]:
    return {**json.loads(json.dumps(result.to_dict())), "provenance": provenance(kind)}


def judged(groups: int = 3, less: float = 1.0) -> dict[str, Any]:
    """Human scores, and metrics that agree with them, each less than the one before unless ``less`` is 0."""
    draw = np.random.default_rng(1)
    rows = 200 * groups
    human = draw.normal(size=rows)
    table: dict[str, Any] = {"human": human, "lp": [GROUPS[place % groups] for place in range(rows)]}
    return table | {name: human + (1 + less * k) * draw.normal(size=rows) for k, name in enumerate(METRICS)}


def meta(groups: int = 3) -> dict[str, Any]:
    result = meta_evaluate(judged(groups), list(METRICS), "human", group="lp")
    return document(result, "meta")


def ensemble() -> dict[str, Any]:
    result = combine(judged(less=0.1), list(METRICS), "human", group="lp", texts=(), resamples=100).result
    return document(result, "ensemble")


def compare() -> dict[str, Any]:
    test = {"a": "brook", "b": "atlas", "difference": 13.3, "ci": [6.0, 21.0], "better": "brook", "n": 200}
    test |= {"p": 0.002, "p_two_sided": 0.004, "p_adjusted": 0.004, "method": "paired bootstrap"}
    figures = {"atlas": (56.27, [50.6, 60.9]), "brook": (69.61, [64.5, 74.5])}
    metric: dict[str, Any] = {"metric": "chrf", "higher_is_better": True, "signature": "metric:chrf", "tests": [test]}
    metric["systems"] = [{"system": name, "score": score, "ci": ci} for name, (score, ci) in figures.items()]
    found = {"segments": 110, "systems": list(SYSTEMS), "baseline": "atlas", "metrics": [metric]}
    settings = {"test": "bootstrap", "resamples": 1000, "seed": 1}
    return {**found, "settings": settings, "provenance": provenance("compare")}


def disentangle(groups: int = 3) -> dict[str, Any]:
    """A real regression of made-up scores, so that what a report reads is what the product writes."""
    factors = ["sem", "syn", "lex"]
    rng = np.random.default_rng(3)
    table: dict[str, Any] = {name: rng.normal(size=300) for name in factors}
    for k, name in enumerate(METRICS):
        table[name] = sum(weight * table[f] for weight, f in zip((0.9, 0.5, 0.3 + k / 9), factors, strict=True))
        table[name] = table[name] + rng.normal(size=300)
    table["lp"] = [GROUPS[place % groups] if groups else "one" for place in range(300)]
    found = regress(table, METRICS, factors, se="classic", group="lp" if groups > 1 else None)
    return {**document(found, "disentangle"), "seed": 1}


TRIPLES = [
    (
        "The teacher praised the parents for their patience.",
        "A schoolmaster had kind words about how calm mothers were.",
        "The parents praised the teacher for her patience.",
    ),
    (
        "The bus leaves at seven in the morning.",
        "Departure of our coach is 7 a.m.",
        "The bus leaves at eleven in the morning.",
    ),
]


def triples() -> dict[str, Any]:
    """60 triples, of which the metrics get 24, 3 and none right, the first two worst."""
    right = dict(zip(METRICS, (24, 3, *[0] * len(METRICS)), strict=False))
    margins = {name: np.r_[-0.5, -0.4, np.full(58 - count, -0.1), np.full(count, 0.1)] for name, count in right.items()}
    scores = {name: (0.8 + margin, np.full(60, 0.8)) for name, margin in margins.items()}
    texts = [Triple(*TRIPLES[row % 2], row=row + 1) for row in range(60)]
    result = prefer_paraphrase(scores, triples=texts, gap=np.linspace(0, 0.6, 60), bins=2, worst=2, resamples=100)
    return document(result, "adversarial-triples")


def pairs() -> dict[str, Any]:
    draw = np.random.default_rng(2)
    labels = np.arange(200) % 2
    scores = {name: labels + (1 + k) * draw.normal(size=200) for k, name in enumerate(METRICS)}
    return document(detect_pairs(labels, scores, resamples=100), "adversarial-pairs")


def perturb() -> dict[str, Any]:
    """Drops that grow with a perturbation's strength and from metric to metric, of 480 texts, the control the first."""
    cases: list[tuple[str, float | None, float]] = [("lower case", None, 0.05), ("negation", None, 0.1)]
    cases += [(name, strength, size) for name, size in (("typos", 0.4), ("word drop", 0.5)) for strength in GRADES]
    cases.sort(key=lambda case: ("lower case", "typos", "negation", "word drop").index(case[0]))
    undefined, results = float("nan"), []
    counts: dict[str, Any] = {"n": 480, "unchanged": 20, "not_applicable": 0, "failed": 0, "nearer": 0}
    for k, metric in enumerate(METRICS):
        for name, strength, size in cases:
            drop, keeps = size * (strength or 0.3) * (1 + k), name == "lower case"
            case: dict[str, Any] = {"metric": metric, "perturbation": name, "strength": strength, "preserves": keeps}
            case |= {"mean_clean": 0.9, "mean_score": 0.9 - drop, "unnoticed": 0.1, "drop": drop}
            case |= {"ci": (drop - 0.01, drop + 0.01), "relative_drop": min(1.0, 1.4 * drop)}
            case |= {"excess": drop - 0.02, "excess_n": 450, "excess_ci": (drop - 0.03, drop)}
            case |= dict.fromkeys(("p", "p_adjusted"), 0.0005)
            if keeps:
                case |= dict.fromkeys(("excess", "p", "p_adjusted"), undefined)
                case |= {"excess_n": 0, "excess_ci": (undefined, undefined)}
            results.append(CaseResult(**counts, **case))
    texts = ("He does not ring.", "He never calls.", "He calls.")
    worst = [DropExample(name, "negation", None, 7, *texts, 0.01, {name: (0.84, 0.83)}) for name in METRICS]
    empty = ("There was rain.", "It rained.", "")
    worst.append(DropExample("chrf", "truncation", 1.0, 9, *empty, 0.4, {"chrf": (0.4, 0.0)}))
    ranges = [MetricRange(name, 0.9, 0.9 - 1 / 1.4, 1 / 1.4, 500) for name in METRICS]
    left_out = (NotApplied("noun swap", "needs a parse"),)
    settings = {"control_perturbation": "lower case", "seed": 1}
    result = Robustness(tuple(results), tuple(worst), tuple(ranges), left_out, (), settings=settings)
    return document(result, "adversarial-perturb")


def challenge() -> dict[str, Any]:
    """40 rows with a negation, of which the seventh fools chrf, and 40 empty translations."""
    good, bad = "The elevator is working again.", "The lift is not working again."
    sides = {"reference": "The lift is working again.", "source": "Der Aufzug geht wieder."}
    kinds = [(bad, "negation", "critical")] * 40 + [("", "empty", "base")] * 40
    rows = [
        MinimalPair(good, text, **sides, phenomenon=name, severity=how, lang="", item=str(place % 40), where="")
        for place, (text, name, how) in enumerate(kinds)
    ]
    scores = {"bertscore": np.full((2, 80), 0.95), "chrf": np.full((2, 80), 88.0)}
    scores["bertscore"][1], scores["chrf"][1] = np.repeat([0.9, 0.1], 40), np.repeat([70.0, 0.0], 40)
    scores["chrf"][:, 6] = 70, 88
    result = judge_pairs(rows, {name: (both[0], both[1]) for name, both in scores.items()})
    seventh = {name: (float(both[0, 6]), float(both[1, 6])) for name, both in scores.items()}
    example = ChallengeExample(row=7, phenomenon="negation", **sides, good=good, bad=bad, scores=seventh)
    return document(replace(result, examples=(example,)), "adversarial-challenge")


MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "meta": meta,
    "compare": compare,
    "disentangle": disentangle,
    "triples": triples,
    "pairs": pairs,
    "perturb": perturb,
    "ensemble": ensemble,
}


def scores(rows: int = 60) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return rows of a wide table of scores with two systems, and its sidecar."""
    draw = random.Random(2)  # noqa: S311 - a sample
    words = ["the", "old", "bridge", "was", "shut", "after", "a", "storm", "nobody", "rang", "before", "seven"]
    table: list[dict[str, Any]] = []
    for i in range(rows):
        for system in SYSTEMS:
            texts = {name: " ".join(draw.choices(words, k=12)) for name in ("reference", *SYSTEMS)}
            figures: dict[str, Any] = {name: draw.uniform(0, 1 if name == "bertscore" else 100) for name in METRICS}
            figures["chrf"] = None if i == 3 else figures["chrf"]
            figures["domain"] = draw.choice(["news", "sport"])
            table.append({"id": f"en-{i:05d}", **texts, "system": system, **figures})
    figures = {"score": 0.5, "mean": 0.5, "empty": 1, "undefined": 0, "truncated": 0}
    systems = [{"system": system, **figures} for system in SYSTEMS]
    entries = [
        {"metric": name, "higher_is_better": True, "signature": signature, "scores": systems}
        for name, signature in SIGNATURES.items()
    ]
    return table, {"segments": rows, "systems": SYSTEMS, "metrics": entries, "provenance": provenance("score")}


def write(folder: Path, *, rows: int = 60, spoil: Callable[[Any], Any] = lambda content: content) -> list[Path]:
    """Write a table of scores and a document of each kind; return the files.

    Args:
        folder: where.
        rows: segments of the table.
        spoil: changes every document, and the table's rows, before they are written.
    """
    table, sidecar = scores(rows)
    files = [folder / "scores.jsonl"]
    files[0].write_text("".join(json.dumps(spoil(row)) + "\n" for row in table))
    (folder / "scores.jsonl.signatures.json").write_text(json.dumps(spoil(sidecar)))
    for name, make in MAKERS.items():
        files.append(folder / f"{name}.json")
        files[-1].write_text(json.dumps(spoil(make())))
    return files


def spoiler(payload: str) -> Callable[[Any], Any]:
    """Return a function that appends a text to every text of a document, and to those keys that come from data."""
    fixed = {"kind", "se", "correction", "sha256", "level"}
    columns = {"id", "system", "reference"}

    def spoil(value: Any, key: str = "", *, inside: bool = False) -> Any:
        if isinstance(value, str):
            return value if key in fixed else value + payload
        if isinstance(value, list | tuple):
            return [spoil(item, key) for item in value]
        if not isinstance(value, dict):
            return value
        of_data = key in OPEN or (key == "ci" and not inside)
        notice = {*value} == {"name", "about", "values"}
        return {
            (name + payload if of_data or name == "pearson" else name): item
            if notice and name == "name"  # of the format's
            else spoil(item, "" if of_data else name, inside=of_data)
            for name, item in value.items()
        }

    def row(value: Any) -> Any:
        return {name if name in columns else name + payload: spoil(item) for name, item in value.items()}

    # A row of a table has names of columns for keys; a document has the format's.
    return lambda content: spoil(content) if "provenance" in content else row(content)
