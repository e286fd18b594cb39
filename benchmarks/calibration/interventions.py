"""Edits: does the edited coefficient of LEX cover what was planted, does the test "observed = edited" keep its size?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis import intervene_texts
from bsx.analysis.factors.lexical import bleu1
from bsx.analysis.intervene.edits import EditedText
from bsx.analysis.intervene.sides import FactorSample, compare_sides
from bsx.support.checks import Array

SEM, LEX = 0.7, 0.3
EDITS = ("synonyms", "opposites", "typos", "lower", "no-punctuation")
EXCHANGED = ("doctor", "lawyer", "author", "student", "company", "error", "nation", "photo", "illness", "film")
REVERSED = ("north", "large", "high", "early", "good", "strong", "new")
FILLED = tuple(f"{a}{b}{c}" for a in ("ba", "ko", "mi", "tu") for b in ("ran", "lek", "sot") for c in ("a", "en", "ik"))


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts, and a metric that is .7 SEM + .3 LEX and a little noise.

    Attributes:
        references: n texts.
        candidates: n texts.
        human: meaning of the candidates (n,), standardised.
        metric: candidates and references -> scores (n,).
        lex: the same texts -> LEX with capitals, whatever the metric does (n,).
    """

    references: list[str]
    candidates: list[str]
    human: Array
    metric: Callable[[Sequence[str], Sequence[str]], Array]
    lex: Callable[[Sequence[str], Sequence[str]], Array]


def planted(rng: np.random.Generator, n: int, *, blind: bool) -> Texts:
    """Draw references with capitals and punctuation, candidates that lose words and capitals, and such a metric.

    An edit that changes the meaning costs as much as a standard deviation of human scores on average, another amount
    for each sentence; an edit of writing costs what it does to words in the metric's own casing, and as much again.

    Args:
        rng: of the draws.
        n: texts.
        blind: whether the metric ignores case.
    """
    references, candidates = [], []
    for place in range(n):
        filled = rng.choice(FILLED, size=rng.integers(5, 10)).tolist()
        words = [f"The {rng.choice(EXCHANGED)}", *filled[:2], f"in {rng.choice(REVERSED)}", *filled[2:]]
        words = [word.capitalize() if rng.random() < 0.2 else word for word in " ".join(words).split()]
        keep = rng.uniform(0.3, 0.9)
        kept = [word if rng.random() < keep else str(rng.choice(FILLED)) for word in words]
        kept = [word.lower() if rng.random() < 0.3 else word for word in kept]
        references.append(f"{' '.join(words)}, {FILLED[place % 36]}{place}.")
        candidates.append(f"{' '.join(kept)}, {FILLED[place % 36]}{place}.")

    def of_words(texts: Sequence[str], others: Sequence[str], *, small: bool) -> Array:
        cut = [[(text.lower() if small else text).split() for text in pair] for pair in zip(others, texts, strict=True)]
        return np.array([bleu1(wanted, own) for wanted, own in cut])

    values = of_words(candidates, references, small=blind)
    spread = float(values.std())
    meaning = 0.5 * (values - values.mean()) / spread + rng.normal(size=n) * np.sqrt(0.75)
    meaning = (meaning - meaning.mean()) / meaning.std()
    own = {text.lower(): value for text, value in zip(candidates, meaning.tolist(), strict=True)}
    fall = rng.normal(1, 0.3, size=n)  # what a changed meaning costs in each sentence
    reversed_words = {"south", "small", "low", "late", "bad", "weak", "old"}
    noise: dict[str, float] = {}

    def metric(texts: Sequence[str], others: Sequence[str]) -> Array:
        scores = LEX / spread * of_words(texts, others, small=blind)
        for place, text in enumerate(texts):
            key = text.lower() if blind else text
            if key not in noise:
                noise[key] = float(rng.normal(0, 0.05))
            changed = bool(reversed_words & set(text.lower().replace(",", " ").split()))
            scores[place] += SEM * (own.get(text.lower(), 0.0) - changed * fall[place]) + noise[key]
        return scores

    return Texts(references, candidates, meaning, metric, partial(of_words, small=False))


def edited_coefficient(world: Texts) -> dict[str, bool]:
    """Ask the default, and a regression that counts edits of writing and capitals as words, for the truth of LEX."""
    pairs: list[EditedText] = []
    found = intervene_texts(
        world.references,
        {"m": world.metric},
        edits=EDITS,
        factors=["lex:tokenize=whitespace"],
        candidates=world.candidates,
        human=world.human.tolist(),
        lang="en",
        keep=pairs.extend,
    )
    effect, sd = found.effect("m", "lex:tokenize=whitespace"), found.fits[0].sd
    low, high = effect.edited_ci or (np.nan, np.nan)
    difference, seen, moved = naive(world, pairs, sd)
    # In the default's own unit: one standard deviation of LEX as the metric sees it.
    truth = LEX / sd
    return {
        "covers": low <= truth <= high,
        "counted as words: covers": moved[0] <= seen <= moved[1],
        "observed = edited": (1.0 if effect.p is None else effect.p) < 0.05,
        "counted as words: observed = edited": difference < 0.05,
    }


def naive(world: Texts, pairs: Sequence[EditedText], sd: float) -> tuple[float, float, tuple[float, float]]:
    """Return p of "observed = edited", the truth and the interval of LEX where every edit counts, with capitals."""
    lex = world.lex(world.candidates, world.references)
    scores = world.metric(world.candidates, world.references)
    rows = np.arange(float(len(lex)))
    z = np.column_stack([world.human, lex / lex.std()])
    observed = FactorSample((scores - scores.mean()) / sd, z - z.mean(axis=0), ["sem", "lex"], rows)
    fallen = world.lex([pair.original for pair in pairs], [pair.reference for pair in pairs]) - world.lex(
        [pair.edited for pair in pairs], [pair.reference for pair in pairs]
    )
    kinds = np.array([[pair.aim == "sem", pair.aim == "surface"] for pair in pairs], dtype=np.float64)
    x = np.column_stack([kinds[:, 0], fallen / lex.std(), kinds[:, 1]])
    y = np.array([pair.falls["m"] for pair in pairs]) / sd
    edited = FactorSample(y, x, ["", "lex", "surface"], np.array([pair.row - 1.0 for pair in pairs]))
    fit = edited.fit(0.95)
    p = compare_sides(observed, edited, 0.95)[0]["lex"].get("p")
    # The metric's own LEX and that with capitals differ in their spread.
    return 1.0 if p is None else p, LEX / sd, (float(fit.low[1]), float(fit.high[1]))


def _worlds() -> list[World]:
    return [
        World(
            f"{'case-blind' if blind else 'cased'} metric, {n} sentences",
            partial(planted, n=n, blind=blind),
            edited_coefficient,
        )
        for blind, n in ((True, 12), (True, 30), (True, 60), (False, 30))
    ]


SECTION = Section(
    "interventions",
    "Interventions",
    [
        Table(
            "A planted metric under edits",
            "The metric is .7 SEM + .3 LEX and a little noise; LEX is BLEU-1 of words between spaces, with capitals "
            "or, in the case-blind metric, without. Texts are edited by synonyms, opposites, typing errors, small "
            "letters and lost punctuation. What is asked for is the edited coefficient of LEX (a 95 % interval should "
            "cover the planted one in 95 %) and the test that it is the observed one, which it is (a test at .05 "
            "should say no in 5 %). The default takes LEX in the metric's own casing, and keeps edits of writing alone "
            "and those that the metric does not see apart. *Counted as words* is LEX with capitals, for every edit, "
            "as the default was before.",
            ("covers", "counted as words: covers", "observed = edited", "counted as words: observed = edited"),
            _worlds(),
        )
    ],
)
