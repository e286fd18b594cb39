"""Documents of every kind that a report reads, small and in the shapes that the commands print."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

METRICS = ("bertscore", "chrf", "sentbleu")
SYSTEMS = ("atlas", "brook")
GROUPS = ("cs-en", "de-en", "zh-en", "fi-en", "lv-en", "ru-en", "tr-en", "all of them together")
# Under these keys lie dictionaries whose keys are names from the data, not of the format.
OPEN = {
    "coef",
    "members",
    "weights",
    "versions",
    "signatures",
    "settings",
    "significant",
    "r2_share",
    "ranks",
    "by",
    "by_factor",
    "p",
    "p_adjusted",
    "se",
    "vif",
    "statistic",
    "importance",
    "commonality",
    "partial_r2",
    "partial_r2_ci",
    "semipartial_r2",
    "semipartial_r2_ci",
    "conditional_dominance",
}


def provenance(kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "command": f"bsx {kind.replace('-', ' ')} table.tsv --format json",
        "versions": {"bsx": "0.1.0", "python": "3.11.7", "numpy": "2.4.6"},
        "files": [{"name": "table.tsv", "sha256": "1b" * 32}],
        "signatures": {name: f"metric:{name}|refs:1|bsx:0.1.0" for name in METRICS},
    }


def meta(groups: int = 3) -> dict[str, Any]:
    draw = random.Random(1)  # noqa: S311 - a sample
    parts = []
    for place in range(groups):
        values = {name: round(0.6 - 0.12 * k + draw.uniform(-0.08, 0.08), 6) for k, name in enumerate(METRICS)}
        tests = [
            {
                "a": a,
                "b": b,
                "difference": values[a] - values[b],
                "ci": [-0.1, 0.2],
                "statistic": 1.0,
                "p": 0.01 if values[a] > values[b] + 0.1 else 0.4,
                "p_two_sided": 0.02,
                "p_adjusted": None,
                "method": "Williams",
            }
            for a in METRICS
            for b in METRICS
            if a != b
        ]
        figures = [
            {
                "metric": name,
                "value": value,
                "ci": [value - 0.09, value + 0.08],
                "figures": {"pearson": value, "spearman": value - 0.02, "kendall": value - 0.15},
                "method": "Fisher's z",
            }
            for name, value in values.items()
        ]
        clusters = {"winners": ["bertscore"], "ranks": {"bertscore": 1, "chrf": 2, "sentbleu": 3}, "alpha": 0.05}
        parts.append(
            {
                "group": GROUPS[place],
                "n": 560,
                "left_out": 0,
                "metrics": figures,
                "tests": tests,
                "test": "williams",
                "clusters": clusters,
            }
        )
    means = [
        {
            "metric": name,
            "value": 0.6 - 0.12 * k,
            "ci": [0.5 - 0.12 * k, 0.7 - 0.12 * k],
            "figures": {"pearson": 0.6 - 0.12 * k, "spearman": 0.5, "kendall": 0.4},
            "wins": 3 - k,
        }
        for k, name in enumerate(METRICS)
    ]
    tests = [
        {
            **{"a": a, "b": b, "difference": 0.12, "ci": [0.02, 0.22], "p": 0.01, "p_two_sided": 0.02},
            **{"p_adjusted": 0.02, "method": "mean difference, normal, independent groups"},
        }
        for a, b in itertools.combinations(METRICS, 2)
    ]
    return {
        "groups": parts,
        "average": {"groups": groups, "metrics": means, "tests": tests if groups > 1 else []},
        "headline": "pearson",
        "human": "human",
        "target": "other systems like these, on these segments",
        "metrics": list(METRICS),
        "settings": {
            **{"level": "seg", "statistic": "pearson", "alternative": "greater", "alpha": 0.05},
            **{"correction": "none", "correction_over": "group", "confidence": 0.95, "seed": 1},
        },
        "notes": ["ter: lower is better, so its sign is turned"],
        "provenance": provenance("meta"),
    }


def judgments() -> dict[str, Any]:
    """`bsx meta` with two columns of human scores."""
    alone = [{key: value for key, value in meta(1).items() if key != "provenance"} for _ in range(2)]
    return {"judgments": alone, "provenance": provenance("meta-judgments")}


def compare() -> dict[str, Any]:
    tests = [
        {
            "a": "brook",
            "b": "atlas",
            "difference": 13.3,
            "ci": [6.0, 21.0],
            "p": 0.002,
            "p_two_sided": 0.004,
            "p_adjusted": 0.004,
            "better": "brook",
            "method": "paired bootstrap",
        }
    ]
    systems = [
        {"system": "atlas", "score": 56.27, "ci": [50.6, 60.9]},
        {"system": "brook", "score": 69.61, "ci": [64.5, 74.5]},
    ]
    return {
        "segments": 110,
        "systems": list(SYSTEMS),
        "baseline": "atlas",
        "metrics": [
            {"metric": "chrf", "higher_is_better": True, "signature": "metric:chrf", "systems": systems, "tests": tests}
        ],
        "settings": {"test": "bootstrap", "resamples": 1000, "seed": 1},
        "provenance": provenance("compare"),
    }


def disentangle(groups: int = 3) -> dict[str, Any]:
    """A real regression of made-up scores, so that what a report reads is what the product writes."""
    from bsx.analysis import disentangle as regress

    factors = ["sem", "syn", "lex"]
    rng = np.random.default_rng(3)
    table: dict[str, Any] = {name: rng.normal(size=300) for name in factors}
    for k, name in enumerate(METRICS):
        table[name] = sum(weight * table[f] for weight, f in zip((0.9, 0.5, 0.3 + k / 9), factors, strict=True))
        table[name] = table[name] + rng.normal(size=300)
    table["lp"] = [GROUPS[place % groups] if groups else "one" for place in range(300)]
    found = regress(table, METRICS, factors, se="classic", group="lp" if groups > 1 else None)
    return {**found.to_dict(), "seed": 1, "provenance": provenance("disentangle")}


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
    rates = {"bertscore": 0.4, "chrf": 0.05, "sentbleu": 0.0}
    worst = [
        {
            "metric": name,
            "row": row,
            "anchor": a,
            "paraphrase": b,
            "nonparaphrase": c,
            "score_paraphrase": 0.41 - 0.1 * k,
            "score_nonparaphrase": 0.93,
            "margin": -0.52 - 0.1 * k,
        }
        for row, (a, b, c) in enumerate(TRIPLES, start=1)
        for k, name in enumerate(METRICS[: 4 - row])
    ]
    return {
        "results": [
            {
                "metric": name,
                "n": 60,
                "prefers_paraphrase": round(60 * rate),
                "ties": 0,
                "rate": rate,
                "ci": [max(0.0, rate - 0.1), rate + 0.12],
                "mean_paraphrase": 0.4 + rate,
                "mean_nonparaphrase": 0.9,
                "mean_margin": rate - 0.5,
                "margin_ci": [rate - 0.6, rate - 0.4],
                "p": 1 - rate / 2,
                "p_two_sided": rate / 5,
            }
            for name, rate in rates.items()
        ],
        "tests": [
            {"a": "bertscore", "b": "chrf", "n": 60, "only_a": 22, "only_b": 1, "both": 2, "p": 0.00002}
            | {"p_better": 0.00001}
        ],
        "splits": [
            {"metric": name, "low": low, "high": low + 0.3, "n": 20, "rate": rate - low / 2, "ci": [0.0, 0.5]}
            for name, rate in rates.items()
            for low in (0.0, 0.3)
        ],
        "worst": worst,
        "settings": {"confidence": 0.95, "seed": 1},
        "provenance": provenance("adversarial-triples"),
    }


def pairs() -> dict[str, Any]:
    return {
        "results": [
            {
                "metric": name,
                "n": 677,
                "positives": 0.3,
                "auc": 0.7 - 0.06 * k,
                "ci": [0.66 - 0.06 * k, 0.74 - 0.06 * k],
                "p": 0.001,
                "average_precision": {"estimate": 0.5, "ci": [0.4, 0.6]},
                "accuracy": {"threshold": 0.9, "in_sample": 0.8, "cross_validated": 0.7, "ci": [0.6, 0.8]}
                | {"majority": 0.7, "folds": 10},
            }
            for k, name in enumerate(METRICS)
        ],
        "tests": [
            {"a": "bertscore", "b": "chrf", "auc_a": 0.7, "auc_b": 0.64, "difference": 0.06, "ci": [0.02, 0.1]}
            | {"z": 2.75, "p": 0.003, "p_two_sided": 0.006}
        ],
        "settings": {"label": "label"},
        "provenance": provenance("adversarial-pairs"),
    }


def perturb() -> dict[str, Any]:
    results = []
    for k, name in enumerate(METRICS):
        for perturbation, preserves, strengths, size in (
            ("lower case", True, (None,), 0.05),
            ("typos", False, (0.1, 0.3, 0.5), 0.4),
            ("negation", False, (None,), 0.1),
            ("word drop", False, (0.1, 0.3, 0.5), 0.5),
        ):
            for strength in strengths:
                drop = size * (strength or 0.3) * (1 + k)
                results.append(
                    {
                        "metric": name,
                        "perturbation": perturbation,
                        "strength": strength,
                        "preserves": preserves,
                        "n": 480,
                        "unchanged": 20,
                        "not_applicable": 0,
                        "failed": 0,
                        "nearer": 0,
                        "mean_clean": 0.9,
                        "mean_score": 0.9 - drop,
                        "drop": drop,
                        "ci": [drop - 0.01, drop + 0.01],
                        "relative_drop": min(1.0, 1.4 * drop),
                        "unnoticed": 0.1,
                        "excess": None if preserves else drop - 0.02,
                        "excess_n": 0 if preserves else 450,
                        "excess_ci": [None, None] if preserves else [drop - 0.03, drop],
                        "p": None if preserves else 0.0005,
                        "p_adjusted": None if preserves else 0.0005,
                    }
                )
    worst = [
        {
            "metric": name,
            "perturbation": "negation",
            "strength": None,
            "row": 7,
            "reference": "He does not ring.",
            "original": "He never calls.",
            "perturbed": "He calls.",
            "score": 0.84,
            "perturbed_score": 0.83,
            "drop": 0.01,
        }
        for name in METRICS
    ]
    worst.append(
        {
            "metric": "chrf",
            "perturbation": "truncation",
            "strength": 1.0,
            "row": 9,
            "reference": "There was rain.",
            "original": "It rained.",
            "perturbed": "",
            "score": 0.4,
            "perturbed_score": 0.0,
            "drop": 0.4,
        }
    )
    return {
        "results": results,
        "worst": worst,
        "ranges": [
            {"metric": name, "clean": 0.9, "unrelated": 0.9 - 1 / 1.4, "range": 1 / 1.4, "n": 500} for name in METRICS
        ],
        "left_out": [{"perturbation": "noun swap", "why": "needs a parse"}],
        "skipped": [],
        "settings": {"control": "lower case", "seed": 1},
        "provenance": provenance("adversarial-perturb"),
    }


def challenge() -> dict[str, Any]:
    row = {"n": 40, "right": 30, "tied": 2, "items": 40, "rate": 0.75, "ci": [0.6, 0.86], "kendall": 0.5, "drop": 0.1}
    phenomena = {
        "negation": {"severity": "critical", **row, "sensitivity": 0.2},
        "empty": {"severity": "base", **row, "right": 40, "rate": 1.0, "sensitivity": 1.0},
    }
    row |= {"sensitivity": None}
    one = {"overall": row, "macro": 0.75, "weighted": 0.75, "severities": {"critical": row}, "phenomena": phenomena}
    test = {"a": "bertscore", "b": "chrf", "n": 40, "only_a": 5, "only_b": 2, "both": 25, "p": 0.45, "p_better": 0.23}
    return {
        "metrics": {"bertscore": one, "chrf": one},
        "tests": [test],
        "anchor": "empty",
        "weights": {"critical": 25.0},
        "examples": [
            {
                "row": 7,
                "phenomenon": "negation",
                "reference": "The lift is working again.",
                "source": "Der Aufzug geht wieder.",
                "good": "The elevator is working again.",
                "bad": "The lift is not working again.",
                "scores": {"bertscore": [0.95, 0.9], "chrf": [70.0, 88.0]},
            }
        ],
        "settings": {"confidence": 0.95},
        "notes": ["40 rows of severity base are anchors"],
        "provenance": provenance("adversarial-challenge"),
    }


def explain() -> dict[str, Any]:
    return {
        "by": "bertscore",
        "method": {"candidate": "match"},
        "calibrated": {"candidate": True},
        "rows": [{"candidate": "He rang.", "risk": [0.1, 0.4], "reference": ["He called."]}],
        "provenance": provenance("explain"),
    }


def card() -> dict[str, Any]:
    names = ("agreement", "factors", "paraphrase", "perturbations", "challenge", "sentinels", "invariance", "cost")
    test = {"data": "table.tsv", "figure": "pearson", "a": "chrf", "b": "length", "difference": 0.4, "ci": [0.3, 0.5]}
    rows = {"data": "table.tsv", "level": "segment", "group": "cs-en", "statistic": "pearson", "value": 0.5, "ci": None}
    rows |= {"n": 40, "rank": None, "of": None, "others": {}, "method": "Fisher"}
    check = {"name": "order", "what": "rows in reverse order", "n": 9, "changed": 0, "largest": 0.0, "holds": True}
    check |= {"kind": "invariance"}
    return {
        "schema_version": 2,
        "metric": "chrf",
        "of": "metric",
        "signature": "metric:chrf|refs:1|bsx:0.1.0",
        "higher_is_better": True,
        "partial": True,
        "data": [
            {"name": "table.tsv", "kind": "judged", "n": 40, "sha256": "1b" * 32, "languages": ["en"]}
            | {"groups": ["cs-en"], "examples": False}
        ],
        "against": [],
        "status": {name: {"status": "left out", "reason": "no data"} for name in names}
        | {"agreement": {"status": "made"}, "invariance": {"status": "made"}},
        "parts": {
            "agreement": {"rows": [rows], "tests": [{**test, "p": 0.01, "p_adjusted": 0.02}]},
            "invariance": {"checks": [check], "tolerance": 1e-5},
        },
        "multiplicity": {"tests": 1, "correction": "holm", "alpha": 0.05, "significant": 1},
        "provenance": provenance("card"),
    }


def reproduction() -> dict[str, Any]:
    cells = [
        {"at": {"pair": "cs-en", "metric": metric}, "published": 0.514, "ours": ours, "difference": ours - 0.514}
        | {"tolerance": 0.001, "verdict": verdict, "reason": reason}
        for metric, ours, verdict, reason in [("chrf", 0.5144, "met", ""), ("ter", 0.6, "exception", "other texts")]
    ]
    table = {"title": "Metrics", "source": "A paper", "data": ["a.tsv"], "settings": ["as printed"], "cells": cells}
    return {
        "ok": True,
        "tables": {"wmt17": {**table, "left_out": [{"what": "Table 2", "reason": "no texts"}]}},
        "left_out": [{"what": "paws", "reason": "no data"}],
        "provenance": provenance("reproduce"),
    }


def ensemble() -> dict[str, Any]:
    groups = []
    for k, name in enumerate(("cs-en", "de-en", "zh-en")):
        members = {metric: 0.6 - 0.1 * j + 0.02 * k for j, metric in enumerate(METRICS)}
        test = {"a": "ensemble", "b": "bertscore", "difference": 0.03, "p": 0.01}
        groups.append(
            {
                "group": name,
                "n": 560,
                "members": members,
                "ensemble": 0.63 + 0.02 * k,
                "best": "bertscore",
                "best_r": members["bertscore"],
                "gain": 0.05,
                "ci": [0.01, 0.09],
                "undefined_resamples": 0,
                "tests": [{**test, "test": "williams", "ci": [0.01, 0.05]}, {**test, "test": "bootstrap"}],
            }
        )
    return {
        "groups": groups,
        "average_gain": 0.05,
        "average_ci": [0.02, 0.08],
        "average_p": 0.01,
        "how": "z",
        "normalise": "z",
        "members": list(METRICS),
        "lower": [],
        "weights": dict.fromkeys(METRICS, 1 / 3),
        "folds": [],
        "kept_together": ["reference"],
        "units": 1680,
        "fitted": 1680,
        "omitted": 0,
        "warnings": [{"name": "best-of-the-same-rows"}],
        "settings": {"seed": 1, "confidence": 0.95},
        "provenance": provenance("ensemble"),
    }


def intervene() -> dict[str, Any]:
    effect = {"observed": 0.4, "observed_se": 0.05, "observed_ci": [0.3, 0.5], "observed_p": 0.001}
    edited = {"edited": 0.1, "edited_se": 0.03, "edited_ci": [0.04, 0.16], "edited_p": 0.02, "edited_p_adjusted": 0.02}
    test = {"difference": -0.3, "difference_ci": [-0.4, -0.2], "p": 0.001, "p_adjusted": 0.001}
    return {
        "base": "reference",
        "factors": ["sem", "lex"],
        "effects": [
            {"metric": "chrf", "factor": "sem", **edited},
            {"metric": "chrf", "factor": "lex", **effect, **edited, **test},
        ],
        "fits": [
            {
                "metric": "chrf",
                "n_observed": 60,
                "r2_observed": 0.7,
                "n_edited": 40,
                "r2_edited": 0.8,
                "sd": 12.5,
                "statistic": 9.0,
                "df1": 1,
                "df2": 59.0,
                "p": 0.004,
            }
        ],
        "edits": [
            {
                "edit": "negation",
                "aim": "sem",
                "preserves": False,
                "strength": None,
                "n": 40,
                "unchanged": 0,
                "not_applicable": 20,
                "changes": {"sem": 1.0, "lex": 0.05},
            }
        ],
        "drops": [{"metric": "chrf", "edit": "negation", "n": 40, "drop": 0.3, "ci": [0.2, 0.4], "expected": 0.28}],
        "scales": [{"factor": "lex", "unit": 0.15, "source": "sd among the candidates", "inflation": 1.2}],
        "left_out": {"voice": "needs parses of the texts"},
        "confidence": 0.95,
        "correction": "none",
        "skipped": [],
        "warnings": [{"name": "meaning-declared", "values": {"meaning": None}}],
        "settings": {"seed": 1},
        "provenance": provenance("intervene"),
    }


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
            figures: dict[str, float | None] = {
                name: draw.uniform(0, 1 if name == "bertscore" else 100) for name in METRICS
            }
            figures["chrf"] = None if i == 3 else figures["chrf"]
            table.append(
                {"id": f"en-{i:05d}", **texts, "system": system, **figures, "domain": draw.choice(["news", "sport"])}
            )
    entries = [
        {
            "metric": name,
            "higher_is_better": True,
            "signature": f"metric:{name}|refs:1|bsx:0.1.0",
            "scores": [
                {"system": s, "score": 0.5, "mean": 0.5, "empty": 1, "undefined": 0, "truncated": 0} for s in SYSTEMS
            ],
        }
        for name in METRICS
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
        return {
            (name + payload if of_data or name == "pearson" else name): spoil(
                item, "" if of_data else name, inside=of_data
            )
            for name, item in value.items()
        }

    def row(value: Any) -> Any:
        return {name if name in columns else name + payload: spoil(item) for name, item in value.items()}

    # A row of a table has names of columns for keys; a document has the format's.
    return lambda content: spoil(content) if "provenance" in content else row(content)
