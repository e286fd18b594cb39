"""Runs as the command line leaves them, made quickly: scores of chance, and a comparison of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bsx import compare
from bsx.support.provenance import FileRead, Provenance
from bsx.support.untyped import to_json

HOSTILE = [
    "<script>document.title = 'broken'</script>",
    "</textarea><img src=x onerror=\"document.title = 'broken'\">",
    "مرحبا بالعالم & 'quotes' \"more\"",
    "今天天气很好。",
    "\u202eright to left\u202c 𝕏😀 e\u0301 \u2028 line",
    "",
]
METRICS = {"chrf": True, "bleu": True, "ter": False}


def rows(
    segments: int,
    systems: Sequence[str],
    texts: Sequence[str] = ("the cat sat on the mat", "a dog barked"),
    seed: int = 1,
) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "id": f"seg-{k}",
            "document": f"doc-{k // 5}",
            "system": system,
            "source": f"source {k} {texts[k % len(texts)]}",
            "reference": texts[k % len(texts)],
            "candidate": f"{texts[(k + place) % len(texts)]} by {system}",
            **{name: round(float(rng.normal(50 + 5 * place, 20)), 5) for name in METRICS},
        }
        for k in range(segments)
        for place, system in enumerate(systems)
    ]


def write(
    folder: Path,
    content: Sequence[Mapping[str, object]],
    title: str = "A run",
    *,
    compared: bool = True,
    metrics: Mapping[str, bool] = METRICS,
) -> Path:
    """Write a run's folder and return its table of scores."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {"title": title, "created": "2026-01-01T00:00:00", "state": "done"}
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    table = folder / "scores.jsonl"
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in content)
    table.write_text("".join(lines), encoding="utf-8")
    known = [{"metric": name, "higher_is_better": up, "signature": f"metric:{name}"} for name, up in metrics.items()]
    table.with_name("scores.jsonl.signatures.json").write_text(json.dumps({"metrics": known}), encoding="utf-8")
    if compared:
        result = compare(table=str(table), resamples=50, all_pairs=True)
        origin = Provenance("compare", "bsx compare scores.jsonl --all-pairs", {}, [FileRead(table.name, "0")], {})
        (folder / "compare.json").write_text(to_json(replace(result, provenance=origin).to_dict()), encoding="utf-8")
    return table
