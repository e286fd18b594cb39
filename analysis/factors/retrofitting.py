"""Retrofitting: moving word vectors towards those of the words that a lexicon joins them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.errors import InputError
from bsx.support.optional import need

Matrix = NDArray[np.float64]


def retrofit(
    vectors: Mapping[str, NDArray[np.floating]], lexicon: Mapping[str, Sequence[str]], iterations: int = 10
) -> dict[str, Matrix]:
    """Retrofit word vectors to a lexicon by sweeps in place.

    A sweep goes through the lexicon's words in its order and sets q <- (n q0 + sum of the neighbours' q) / 2n, with n
    neighbours that have vectors and q0 the vector of the start; a word without such neighbours stays. A word's new
    vector counts for those after it in the same sweep. Vectors are not normalised again.

    Source: Faruqui et al. 2015 (NAACL), equation 1 with alpha = n and beta = 1, as their tool runs it. A sweep in place
    is one triangular system of equations, solved for all dimensions together.

    Args:
        vectors: word -> vector (d,), already normalised.
        lexicon: word -> neighbours; edges are directed, a neighbour named twice counts once.
        iterations: number of sweeps.

    Returns:
        Word -> vector (d,), float64, for every word of ``vectors``.

    Raises:
        InputError: if vectors differ in length or are not finite.
    """
    if iterations < 0:
        raise InputError(f"iterations={iterations}: a number of sweeps cannot be negative")
    system = _System(vectors, lexicon)
    current = system.start
    if system.moving and iterations:
        sparse, linalg = (need(name, "Retrofitting") for name in ("scipy.sparse", "scipy.sparse.linalg"))
        lower = sparse.tril(system.inner, k=-1)
        rest = (system.inner - lower).tocsr()
        whole = (sparse.identity(len(system.moving), format="csc") - lower / 2).tocsc()
        how = {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": False}}
        solver = linalg.splu(whole, **how)
        for _ in range(iterations):
            current = solver.solve(rest @ current / 2 + system.constant)
    return system.merged(current)


def retrofit_fixed_point(
    vectors: Mapping[str, NDArray[np.floating]], lexicon: Mapping[str, Sequence[str]]
) -> dict[str, Matrix]:
    """Return what `retrofit` converges to, whatever the order of words: q - mean of the neighbours' q / 2 = q0 / 2.

    Args:
        vectors: word -> vector (d,), already normalised.
        lexicon: word -> neighbours.

    Returns:
        Word -> vector (d,), float64, for every word of ``vectors``.
    """
    system = _System(vectors, lexicon)
    if not system.moving:
        return system.merged(system.start)
    sparse, linalg = (need(name, "Retrofitting") for name in ("scipy.sparse", "scipy.sparse.linalg"))
    whole = (sparse.identity(len(system.moving), format="csc") - system.inner / 2).tocsc()
    return system.merged(linalg.splu(whole).solve(system.constant))


class _System:
    """The equations q = inner q / 2 + constant of the words that move, one row each.

    Attributes:
        moving: words that have neighbours, in the lexicon's order.
        start: their vectors at the start (words, d).
        inner: sparse (words, words): 1/n where a neighbour moves too.
        constant: q0 / 2 + the part of the neighbours that do not move (words, d).
    """

    def __init__(self, vectors: Mapping[str, NDArray[np.floating]], lexicon: Mapping[str, Sequence[str]]) -> None:
        sparse = need("scipy.sparse", "Retrofitting")
        self._vectors = {word: np.array(vector, dtype=np.float64) for word, vector in vectors.items()}
        shapes = {vector.shape for vector in self._vectors.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise InputError(f"vectors: must all have one dimension and the same length, found shapes {sorted(shapes)}")
        neighbours = {
            word: [other for other in dict.fromkeys(lexicon[word]) if other in self._vectors]
            for word in lexicon
            if word in self._vectors
        }
        self.moving = [word for word, others in neighbours.items() if others]
        width = shapes.pop()[0] if shapes else 0
        self.start: Matrix = np.array([self._vectors[word] for word in self.moving]).reshape(len(self.moving), width)
        if not np.isfinite(self.start).all():
            raise InputError("vectors: hold values that are not finite")
        place = {word: row for row, word in enumerate(self.moving)}
        rows, columns, weights = [], [], []
        self.constant = self.start / 2
        for row, word in enumerate(self.moving):
            others = neighbours[word]
            for other in others:
                if other in place:
                    rows.append(row)
                    columns.append(place[other])
                    weights.append(1 / len(others))
                else:
                    self.constant[row] += self._vectors[other] / (2 * len(others))
        shape = (len(self.moving), len(self.moving))
        self.inner = sparse.csr_matrix((weights, (rows, columns)), shape=shape, dtype=np.float64)

    def merged(self, values: Matrix) -> dict[str, Matrix]:
        """Return all words' vectors, with those of the moving words replaced."""
        return {**self._vectors, **dict(zip(self.moving, values, strict=True))}
