"""The summary that ``bsx score`` prints, gathered window by window."""

from __future__ import annotations

from typing import Any

import numpy as np

from bsx.bertscore.scored import ScoredWindow
from bsx.support.signature import Signature

FIGURES = ("precision", "recall", "f1")


class Summary:
    """Means and counts of each system, over any number of windows.

    Args:
        systems: names of the systems.
        layers: the layers that are scored.
        all_layers: whether figures are lists with one number a layer.
    """

    def __init__(self, systems: tuple[str, ...], layers: tuple[int, ...], all_layers: bool) -> None:
        self._systems = systems
        self._layers = layers
        self._all_layers = all_layers
        self._n = 0
        self._sums = np.zeros((len(layers), len(systems), 3), dtype=np.float64)
        self._counts = {name: np.zeros(len(systems), dtype=np.int64) for name in ("empty", "unweighted", "truncated")}
        self._lost = np.zeros(len(systems), dtype=np.int64)
        self._first: dict[str, list[str]] = {name: [] for name in self._counts}

    def add(self, window: ScoredWindow) -> None:
        """Count one window's results in."""
        self._n += len(window.ids)
        self._sums += window.scores.sum(axis=1, dtype=np.float64)
        self._lost += window.tokens_lost.sum(axis=0)
        flags = {"empty": window.empty, "unweighted": window.unweighted, "truncated": window.tokens_lost > 0}
        for name, flag in flags.items():
            self._counts[name] += flag.sum(axis=0)
            room = 5 - len(self._first[name])
            self._first[name] += [window.ids[i] for i in np.flatnonzero(flag.any(axis=1))[:room]]

    def _figures(self, sums: np.ndarray[Any, Any], n: int) -> dict[str, Any]:
        means = sums / n
        return {
            name: [float(v) for v in means[:, j]] if self._all_layers else float(means[0, j])
            for j, name in enumerate(FIGURES)
        }

    def to_dict(self, model: str, signature: Signature) -> dict[str, Any]:
        """Return the summary; top-level figures are over all systems' rows, ``n`` counts those rows."""
        systems = [
            {
                "name": name,
                "n": self._n,
                **self._figures(self._sums[:, k], self._n),
                **{flag: int(count[k]) for flag, count in self._counts.items()},
                "tokens_lost": int(self._lost[k]),
            }
            for k, name in enumerate(self._systems)
        ]
        rows = self._n * len(self._systems)
        return {
            "metric": signature["metric"],
            "model": model,
            "layer": "all" if self._all_layers else self._layers[0],
            "n": rows,
            **self._figures(self._sums.sum(axis=1), rows),
            "signature": str(signature),
            **{flag: int(count.sum()) for flag, count in self._counts.items()},
            "tokens_lost": int(self._lost.sum()),
            "systems": systems,
        }

    def to_text(self, result: dict[str, Any]) -> str:
        """Return the summary as aligned lines for a terminal."""
        width = max(len("system"), *(len(name) for name in self._systems))
        lines = []
        for position, layer in enumerate(self._layers):
            if self._all_layers:
                lines.append(f"layer {layer}")
            lines.append(f"{'system':<{width}}  {'n':>7}  precision  recall  f1")
            for entry in result["systems"]:
                p, r, f = (entry[name][position] if self._all_layers else entry[name] for name in FIGURES)
                lines.append(f"{entry['name']:<{width}}  {entry['n']:>7}  {p:9.4f}  {r:6.4f}  {f:.4f}")
        return "\n".join([*lines, result["signature"]])

    def notes(self, max_tokens: int | None) -> list[str]:
        """Return what the reader should know about the input, one sentence a finding."""
        texts = {
            "empty": "without content on one side: P = R = F1 = 0, not rescaled",
            "unweighted": "with only idf-0 tokens on one side: their undefined figures are set to 0",
            "truncated": f"cut off at {max_tokens} tokens ({int(self._lost.sum())} lost); --long window reads all",
        }
        found = []
        for name, text in texts.items():
            count = int(self._counts[name].sum())
            if count:
                where = ", ".join(self._first[name]) + (", …" if count > len(self._first[name]) else "")
                found.append(f"{count} of {self._n * len(self._systems)} rows {text} (segments {where})")
        return found
