"""What a run of BERTScore by itself came to: the means of its three figures, layer by layer if all are scored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bsx.bertscore.metric import FIGURES, BertScore
from bsx.metrics.run import Prepared, Totals
from bsx.support.untyped import JsonObject

_COUNTS = {"empty": "empty", "undefined": "unweighted", "truncated": "truncated"}


def summarise(metric: BertScore, prepared: Prepared, totals: Totals) -> JsonObject:
    """Return the summary; top-level figures are over all systems' rows, ``n`` counts those rows."""
    every = metric.settings.all_layers

    def means(values: NDArray[np.float64]) -> dict[str, float | list[float]]:
        return {
            name: [float(v) for v in values[:, j]] if every else float(values[0, j]) for j, name in enumerate(FIGURES)
        }

    sums, n, systems = totals.figure_sums(), prepared.segments, prepared.corpus.systems
    signature = prepared.signature(0)
    return {
        "metric": signature["metric"],
        "model": metric.choice.name,
        "layer": "all" if every else metric.layers[0],
        "n": n * len(systems),
        **means(sums.sum(axis=1) / (n * len(systems))),
        "signature": str(signature),
        **{name: int(totals.counts[flag].sum()) for flag, name in _COUNTS.items()},
        "tokens_lost": int(totals.counts["lost"].sum()),
        "systems": [
            {
                "name": name,
                "n": n,
                **means(sums[:, k] / n),
                **{name: int(totals.counts[flag][k]) for flag, name in _COUNTS.items()},
                "tokens_lost": int(totals.counts["lost"][k]),
            }
            for k, name in enumerate(systems)
        ],
    }


def to_text(metric: BertScore, result: JsonObject) -> str:
    """Return the summary as aligned lines for a terminal."""
    every = metric.settings.all_layers
    width = max(len("system"), *(len(entry["name"]) for entry in result["systems"]))
    lines = []
    for position, layer in enumerate(metric.layers):
        if every:
            lines.append(f"layer {layer}")
        lines.append(f"{'system':<{width}}  {'n':>7}  precision  recall  f1")
        for entry in result["systems"]:
            p, r, f = (entry[name][position] if every else entry[name] for name in FIGURES)
            lines.append(f"{entry['name']:<{width}}  {entry['n']:>7}  {p:9.4f}  {r:6.4f}  {f:.4f}")
    return "\n".join([*lines, result["signature"]])


def flags(metric: BertScore, prepared: Prepared, totals: Totals) -> list[str]:
    """Return one sentence for each kind of row that the user should know about."""
    lost, limit = int(totals.counts["lost"].sum()), metric.tokenizer.max_tokens
    texts = {
        "empty": "without content on one side: P = R = F1 = 0, not rescaled",
        "undefined": "with only idf-0 tokens on one side: their undefined figures are set to 0",
        "truncated": f"cut off at {limit} tokens ({lost} lost); `long='window'` reads all",
    }
    rows = prepared.segments * len(prepared.corpus.systems)
    found = []
    for name, text in texts.items():
        count = int(totals.counts[name].sum())
        if count:
            where = ", ".join(totals.first[name]) + (", …" if count > len(totals.first[name]) else "")
            found.append(f"{count} of {rows} rows {text} (segments {where})")
    return found
