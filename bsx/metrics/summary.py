"""What a run of metrics came to: the summary of all systems, and what the reader should know about the rows."""

from __future__ import annotations

from collections.abc import Sequence

from bsx.metrics.run import Prepared, Totals
from bsx.support.untyped import JsonObject

_COUNTS = ("empty", "undefined", "truncated")


def summarise(prepared: Prepared, totals: Sequence[Totals]) -> JsonObject:
    """Return every metric's signature and every system's score with its counts."""
    metrics = []
    for i, (metric, total) in enumerate(zip(prepared.metrics, totals, strict=True)):
        scores = [
            {
                "system": system,
                "score": total.system(k),
                "mean": total.mean(k),
                **{name: int(total.counts[name][k]) for name in _COUNTS},
                "tokens_lost": int(total.counts["lost"][k]),
            }
            for k, system in enumerate(prepared.corpus.systems)
        ]
        metrics.append(
            {
                "metric": metric.spec,
                "higher_is_better": metric.higher_is_better,
                "signature": str(prepared.signature(i)),
                "scores": scores,
            }
        )
    return {"segments": prepared.segments, "systems": list(prepared.corpus.systems), "metrics": metrics}


def to_text(result: JsonObject) -> str:
    """Return a summary as aligned lines for a terminal."""
    width = max(len("system"), *(len(name) for name in result["systems"]))
    label = max(len("metric"), *(len(entry["metric"]) for entry in result["metrics"]))
    lines = [f"{'metric':<{label}}  {'system':<{width}}  {'n':>7}  {'score':>9}"]
    for entry in result["metrics"]:
        for score in entry["scores"]:
            figure = f"{score['score']:9.4f}"
            lines.append(f"{entry['metric']:<{label}}  {score['system']:<{width}}  {result['segments']:>7}  {figure}")
    return "\n".join([*lines, *(entry["signature"] for entry in result["metrics"])])


def flags(result: JsonObject) -> list[str]:
    """Return one sentence for each kind of row that the user should know about."""
    texts = {
        "empty": "without content on one side",
        "undefined": "for which it is not defined (no token has weight); they score as empty ones",
        "truncated": "cut off at the model's limit",
    }
    rows = result["segments"] * len(result["systems"])
    found = []
    for entry in result["metrics"]:
        for name, text in texts.items():
            count = sum(score[name] for score in entry["scores"])
            if count:
                found.append(f"{entry['metric']}: {count} of {rows} rows {text}")
    return found
