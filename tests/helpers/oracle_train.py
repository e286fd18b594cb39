"""The trained networks text by text and step by step in NumPy, from the formulas; no batches, no padding, no masks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bsx.support.checks import Array


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return np.asarray(e / e.sum())


def lstm(x: Array, weights: Mapping[str, Array], prefix: str) -> Array:
    """One direction over one text (tokens, dim): gates in the order input, forget, cell, output."""
    hidden = weights[f"{prefix}.weight_hh_l0"].shape[1]
    h, c, states = np.zeros(hidden), np.zeros(hidden), []
    for step in x:
        gates = weights[f"{prefix}.weight_ih_l0"] @ step + weights[f"{prefix}.bias_ih_l0"]
        gates = gates + weights[f"{prefix}.weight_hh_l0"] @ h + weights[f"{prefix}.bias_hh_l0"]
        i, f, g, o = (gates[k * hidden : (k + 1) * hidden] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def bilstm(x: Array, weights: Mapping[str, Array], prefix: str) -> Array:
    back = lstm(x[::-1], weights, f"{prefix}.back")[::-1]
    return np.concatenate([lstm(x, weights, f"{prefix}.ahead"), back], axis=1)


def encoded(layers: Array, weights: Mapping[str, Array]) -> Array:
    """gamma * sum_l softmax(s)_l H_l, then the BiLSTM; layers (layers, tokens, dim)."""
    s = softmax(weights["mix.weights"])
    mixed = sum(s[k] * layers[k] for k in range(len(s)))
    return bilstm(weights["mix.gamma"][0] * np.asarray(mixed), weights, "encoder")


def max_and_mean(h: Array) -> Array:
    return np.concatenate([h.max(axis=0), h.mean(axis=0)])


def attended(h_r: Array, h_t: Array) -> tuple[Array, Array]:
    """A = H_r H_t'; for each reference position the translation, for each translation position the reference."""
    a = h_r @ h_t.T
    over_t = np.array([softmax(a[i]) @ h_t for i in range(len(h_r))])
    over_r = np.array([softmax(a[:, j]) @ h_r for j in range(len(h_t))])
    return over_t, over_r


def between(a: Array, b: Array, difference: str) -> Array:
    return {"signed": a - b, "absolute": np.maximum(a, b) - np.minimum(a, b)}[difference]


def contrast(v_t: Array, v_r: Array, difference: str) -> Array:
    return np.concatenate([v_t, v_r, v_t * v_r, between(v_t, v_r, difference)])


def features(architecture: str, h_r: Array, h_t: Array, weights: Mapping[str, Array], difference: str) -> Array:
    if architecture == "bilstm":
        return contrast(max_and_mean(h_t), max_and_mean(h_r), difference)
    over_t, over_r = attended(h_r, h_t)
    if architecture == "bilstm-attention":
        return contrast(max_and_mean(over_r), max_and_mean(over_t), difference)
    parts = []
    for h, att in ((h_r, over_t), (h_t, over_r)):
        m = np.concatenate([h, att, between(h, att, difference), h * att], axis=1)
        m = np.maximum(0, m @ weights["projection.weight"].T + weights["projection.bias"])
        parts.append(max_and_mean(bilstm(m, weights, "composition")))
    return np.concatenate(parts)


def score(
    architecture: str, candidate: Array, reference: Array, weights: Mapping[str, Array], difference: str = "signed"
) -> float:
    """The output for one candidate beside its reference, each (layers, tokens, dim)."""
    m = features(architecture, encoded(reference, weights), encoded(candidate, weights), weights, difference)
    hidden = np.maximum(0, weights["regressor.weight"] @ m + weights["regressor.bias"])
    return float((weights["output.weight"] @ hidden + weights["output.bias"])[0])
