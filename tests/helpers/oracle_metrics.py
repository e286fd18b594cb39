"""Metrics of the zoo written down literally, in NumPy: slow, obvious, and sharing no code with bsx.

Vectors come from transformers itself, one text at a time.
"""

from __future__ import annotations

import functools
import math
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


@functools.cache
def load(folder: str) -> tuple[Any, Any]:
    from transformers import AutoModel, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


@functools.cache
def hidden_states(folder: str, text: str) -> tuple[list[str], np.ndarray]:
    """Return the pieces of a text, special ones included, and all its hidden states (layers + 1, pieces, dim)."""
    import torch

    tokenizer, model = load(folder)
    encoded = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        states = model(**encoded, output_hidden_states=True).hidden_states
    pieces = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0].tolist())
    stacked = np.stack([layer[0].numpy().astype(np.float64) for layer in states])
    stacked.flags.writeable = False  # it is remembered
    return pieces, stacked


def idf_of(documents: Sequence[Sequence[str]]) -> Callable[[str], float]:
    """ln((N + 1) / (df + 1)), special pieces counted like others."""
    df = Counter(piece for document in documents for piece in set(document))
    return lambda piece: math.log((len(documents) + 1) / (df[piece] + 1))


def unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(lengths > 0, vectors / np.where(lengths > 0, lengths, 1), 0)


def power_mean_vectors(layers: np.ndarray) -> np.ndarray:
    """(layers, tokens, dim) -> (tokens, 3 dim): minimum, mean, maximum of unit vectors, element by element."""
    units = unit(layers)
    return np.concatenate([units.min(axis=0), units.mean(axis=0), units.max(axis=0)], axis=-1)


def kept(pieces: Sequence[str], *, punctuation: bool, subwords: bool, stop_words: Sequence[str] = ()) -> list[int]:
    """Positions that stay; of a WordPiece vocabulary."""
    dropped = {*stop_words, *(string.punctuation if punctuation else ())}
    return [i for i, piece in enumerate(pieces) if piece not in dropped and not (subwords and "##" in piece)]


def windows(vectors: np.ndarray, weights: Sequence[float], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors and masses of the windows of n tokens; of one window, if there are no more tokens than n."""
    n = min(n, len(weights))
    starts = range(len(weights) - n + 1)
    grams = [unit(np.sum([weights[i] * vectors[i] for i in range(start, start + n)], axis=0)) for start in starts]
    return np.array(grams), np.array([sum(weights[start : start + n]) for start in starts])


def distances(x: np.ndarray, y: np.ndarray, *, squared: bool) -> np.ndarray:
    cost = np.array([[float(((a - b) ** 2).sum()) for b in y] for a in x])
    return cost if squared else np.sqrt(cost)


def optimal_plan(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """min <F, C>, F >= 0, F 1 = a, F' 1 = b, both made to sum to 1: by linear programming."""
    from scipy.optimize import linprog

    a, b = a / a.sum(), b / b.sum()
    m, n = cost.shape
    rows = [[1.0 if k // n == i else 0.0 for k in range(m * n)] for i in range(m)]
    columns = [[1.0 if k % n == j else 0.0 for k in range(m * n)] for j in range(n)]
    # One of the conditions follows from the others; left in, rounding may make it contradict them.
    found = linprog(cost.ravel(), A_eq=(rows + columns)[:-1], b_eq=np.concatenate([a, b])[:-1], method="highs")
    assert found.success, found.message
    return found.x.reshape(m, n)


def emd(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> float:
    present_a, present_b = a > 0, b > 0
    cost = cost[present_a][:, present_b]
    return float((optimal_plan(a[present_a], b[present_b], cost) * cost).sum())


def trimmed_cost(a: np.ndarray, b: np.ndarray, cost: np.ndarray, share: float) -> float:
    plan = optimal_plan(a, b, cost)
    flows = sorted(f for f in plan.ravel() if f > 1e-12)
    threshold = flows[max(math.floor(share * len(flows)), 1) - 1]
    return float(sum(f * c for f, c in zip(plan.ravel(), cost.ravel(), strict=True) if f >= threshold - 1e-12))


def clp(vectors: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return np.array([[sum(v[i] * matrix[i, j] for i in range(len(v))) for j in range(len(v))] for v in vectors])


def umd(vectors: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return np.array([v - float(v @ direction) * direction for v in vectors])


def _dissect_token(f: np.ndarray, m: int, *, quirk: bool) -> np.ndarray:
    """Weights of the layers (K,) of one token's layer vectors f (K, dim)."""
    size = len(f)
    a, n = np.zeros(size), np.zeros(size)
    for k in range(size):
        if quirk:
            left = list(range(size))[k - m : k] if k - m < 0 < k else list(range(max(k - m, 0), k))
        else:
            left = list(range(max(k - m, 0), k))
        right = list(range(k + 1, min(k + m, size - 1) + 1))
        rows = [*left, *right, k]
        if rows == [k]:  # nothing to be in line with: all of it is new
            a[k], n[k] = 0, 1
            continue
        r = np.linalg.qr(f[rows].T)[1]
        last, block = r[:, -1], r[:-1, :-1]
        mean = np.mean([column / np.linalg.norm(column) for column in block.T], axis=0)
        cosine = float(mean @ (last[:-1] / np.linalg.norm(last[:-1])))
        a[k] = 1 / (2 * len(rows) * cosine)
        n[k] = abs(last[-1]) / np.linalg.norm(last)
    a, n = a / a.sum(), n / n.sum()
    return (a + n) / (a + n).sum()


def sbert_wk_vector(layers: np.ndarray, *, window: int = 2, quirk: bool = False) -> np.ndarray:
    """Sentence vector of hidden states (K, tokens, dim), whose last token takes no part."""
    words, weights = [], []
    for token in range(layers.shape[1] - 1):
        f = layers[:, token]
        words.append(_dissect_token(f, window, quirk=quirk) @ f)
        u = unit(f)
        adjacent = [float(u[k] @ u[k + 1]) for k in range(len(f) - 1)]
        weights.append(float(np.mean([(c - np.mean(adjacent)) ** 2 for c in adjacent])))
    return sum(w * v for w, v in zip(weights, words, strict=True)) / sum(weights)


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


def coco_bleu(candidates: list[str], references: list[list[str]], order: int, added: Any = (1e-15, 1e-9)) -> float:
    """BLEU of the COCO captioning toolkit, of one segment or of a corpus: a product of shares, a root, the penalty.

    Moses' sentence BLEU is that with 1 added to both parts of a share, but for rounding in the penalty.
    """
    matched, counted, length, nearest = [0] * order, [0] * order, 0, 0
    for candidate, group in zip(candidates, references, strict=True):
        words, others = candidate.split(), [reference.split() for reference in group]
        length += len(words)
        nearest += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for n in range(1, order + 1):
            grams, *theirs = ([tuple(w[i : i + n]) for i in range(len(w) - n + 1)] for w in (words, *others))
            counted[n - 1] += len(grams)
            matched[n - 1] += sum(min(grams.count(g), max(t.count(g) for t in theirs)) for g in set(grams))
    product = 1.0
    for right, every in zip(matched, counted, strict=True):
        product *= (right + added[0]) / (every + added[1])
    ratio = (length + 1e-15) / (nearest + 1e-9)
    return 100 * product ** (1 / order) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0)


def coco_rouge(candidate: str, references: list[str]) -> tuple[float, float, float]:
    """ROUGE-L of the COCO captioning toolkit: the best precision, the best recall, and F of the two with beta 1.2."""
    words = candidate.split()
    shares = []
    for other in (reference.split() for reference in references):
        table = [[0] * (len(other) + 1) for _ in range(len(words) + 1)]
        for i, word in enumerate(words):
            for j, wanted in enumerate(other):
                longer = max(table[i][j + 1], table[i + 1][j])
                table[i + 1][j + 1] = table[i][j] + 1 if word == wanted else longer
        shares.append((table[-1][-1] / len(words), table[-1][-1] / len(other)))
    precision, recall = (max(side) for side in zip(*shares, strict=True))
    if precision == 0 or recall == 0:
        return precision, recall, 0.0
    return precision, recall, (1 + 1.2**2) * precision * recall / (recall + 1.2**2 * precision)
