"""How much of R² each factor accounts for: Shapley/LMG shares, dominance and commonality, from correlations alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bsx.errors import InputError
from bsx.support.checks import Array
from bsx.support.result import Shown

MOST_FACTORS = 15  # 2^15 models; the shares of more factors are out of reach this way
MOST_PARTS = 6  # factors up to which R² is divided into what they share: 2^p - 1 parts


@dataclass(frozen=True, repr=False)
class Dominance(Shown):
    """Which factor is worth more than which, in three senses from weak to strong.

    Attributes:
        names: of the factors.
        conditional: (factors, sizes): mean gain in R² by adding the factor to models of 0, 1, … others.
        general: factor -> mean over sizes of ``conditional``; this is the Shapley/LMG share.
        generally: (a, b): the general value of a is above b's.
        conditionally: (a, b): for every size a gains at least as much on average as b.
        completely: (a, b): added to any model without the two, a gains at least as much as b.
    """

    names: tuple[str, ...]
    conditional: Array
    general: dict[str, float]
    generally: tuple[tuple[str, str], ...]
    conditionally: tuple[tuple[str, str], ...]
    completely: tuple[tuple[str, str], ...]


def subset_r2(correlations: Array, response: Array) -> Array:
    """Return R² of the regression on every subset of factors.

    Args:
        correlations: of the factors with one another (…, p, p).
        response: of the factors with the response (…, p).

    Returns:
        (…, 2^p): entry i is the R² of the subset whose members are the bits of i; the empty one has 0.

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
    shares: Array = conditional_gains(r2).mean(axis=-1)
    return shares


def conditional_gains(r2: Array) -> Array:
    """Return (…, p, p): the mean gain in R² by adding factor i to models of k other factors, at [i, k].

    Source: Azen & Budescu 2003, conditional dominance.
    """
    p = int(r2.shape[-1]).bit_length() - 1
    gains = np.zeros((*r2.shape[:-1], p, p))
    masks = np.arange(1 << p)
    sizes = np.array([mask.bit_count() for mask in range(1 << p)])
    for i in range(p):
        without = masks[masks >> i & 1 == 0]
        gain = r2[..., without | 1 << i] - r2[..., without]
        for size in range(p):
            gains[..., i, size] = gain[..., sizes[without] == size].mean(axis=-1)
    return gains


def dominance(names: Sequence[str], r2: Array) -> Dominance:
    """Compare factors by dominance analysis.

    Source: Azen & Budescu 2003. Their general dominance is the LMG share.

    Args:
        names: of the factors (p,).
        r2: from `subset_r2`, (2^p,).
    """
    p, slack = len(names), 1e-12
    masks = np.arange(1 << p)
    gains = conditional_gains(r2)
    general = gains.mean(axis=-1)
    pairs = [(i, j) for i in range(p) for j in range(p) if i != j]

    def complete(i: int, j: int) -> bool:
        both = 1 << i | 1 << j
        without = masks[masks & both == 0]
        margins = r2[without | 1 << i] - r2[without | 1 << j]
        return bool(margins.min() >= -slack and margins.max() > slack)

    def conditional(i: int, j: int) -> bool:
        margins = gains[i] - gains[j]
        return bool(margins.min() >= -slack and margins.max() > slack)

    def named(chosen: list[tuple[int, int]]) -> tuple[tuple[str, str], ...]:
        return tuple((names[i], names[j]) for i, j in chosen)

    return Dominance(
        names=tuple(names),
        conditional=gains,
        general={name: float(value) for name, value in zip(names, general, strict=True)},
        generally=named([(i, j) for i, j in pairs if general[i] > general[j] + slack]),
        conditionally=named([pair for pair in pairs if conditional(*pair)]),
        completely=named([pair for pair in pairs if complete(*pair)]),
    )


def commonality(names: Sequence[str], subsets: Array) -> dict[str, float]:
    """Divide R² into what each factor explains alone and what each set of factors explains in common.

    A common part can be negative, where one factor hides what another explains. The parts sum to R².

    Source: Newton & Spurrell 1967; Nimon & Reio 2011.

    Args:
        names: of the factors (p,).
        subsets: R² of every subset, from `subset_r2` (2^p,).

    Returns:
        Factors joined by ``+`` -> part, single ones first; nothing for more than `MOST_PARTS` factors.
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
