"""How much of R² each factor accounts for: Shapley/LMG shares and commonality, from correlations alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from bsx.errors import InputError
from bsx.support.checks import Array

MOST_FACTORS = 15  # 2^15 models; the shares of more factors are out of reach this way
MOST_PARTS = 6  # factors up to which R² is divided into what they share: 2^p - 1 parts


def subset_r2(correlations: Array, response: Array) -> Array:
    """Return R² of the regression on every subset of factors, (…, 2^p).

    Entry i is that of the subset whose members are the bits of i; the empty one has 0. Correlations are those of the
    factors with one another (…, p, p), and with the response (…, p).

    Raises:
        InputError: for more than `MOST_FACTORS` factors.
    """
    p = response.shape[-1]
    if p > MOST_FACTORS:
        raise InputError(f"{p} factors are too many to share R² among: it takes 2^{p} models; at most {MOST_FACTORS}")
    r2 = np.zeros((*response.shape[:-1], 1 << p))
    for mask in range(1, 1 << p):
        members = [i for i in range(p) if mask >> i & 1]
        inner = correlations[..., members, :][..., members]
        outer = response[..., members]
        r2[..., mask] = (np.linalg.solve(inner, outer[..., None])[..., 0] * outer).sum(axis=-1)
    return r2


def shapley_shares(r2: Array) -> Array:
    """Return each factor's share of the full model's R², (…, p), from R² of all subsets, (…, 2^p).

    A factor's share is its gain in R² averaged over all orders in which factors can enter the model; the shares sum to
    the R² of the full model.

    Source: Lindeman, Merenda & Gold 1980 (LMG); Shapley 1953.
    """
    p = int(r2.shape[-1]).bit_length() - 1
    shares, masks = np.zeros((*r2.shape[:-1], p)), np.arange(1 << p)
    sizes = np.array([mask.bit_count() for mask in range(1 << p)])
    for i in range(p):
        without = masks[masks >> i & 1 == 0]
        gain = r2[..., without | 1 << i] - r2[..., without]
        means = [gain[..., sizes[without] == size].mean(axis=-1) for size in range(p)]
        shares[..., i] = np.mean(means, axis=0)
    return shares


def commonality(names: Sequence[str], subsets: Array) -> dict[str, float]:
    """Divide R² into what each factor explains alone and what each set of factors explains in common.

    A common part can be negative, where one factor hides what another explains. The parts sum to R². They are named
    after their factors (p,), joined by ``+``, single ones first, and made from `subset_r2` (2^p,); none for more than
    `MOST_PARTS` factors.

    Source: Newton & Spurrell 1967; Nimon & Reio 2011.
    """
    p = len(names)
    if p > MOST_PARTS:
        return {}
    full, parts = (1 << p) - 1, {}
    for size in range(1, p + 1):
        for members in combinations(range(p), size):
            mask = sum(1 << j for j in members)
            # What every model without the set lacks, by inclusion and exclusion over the set's subsets.
            value = 0.0
            for part in range(1 << size):
                chosen = sum(1 << members[k] for k in range(size) if part >> k & 1)
                value -= (-1) ** part.bit_count() * float(subsets[(full ^ mask) | chosen])
            parts["+".join(names[j] for j in members)] = value
    return parts
