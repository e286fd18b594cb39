"""The form of a regression: bends, judges who err alike, and intercepts of segments and systems."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.calibration.disentangling import Drawn
from benchmarks.calibration.rates import covers
from benchmarks.calibration.worlds import Section, Table, World
from bsx.analysis.disentangle.fit import disentangle
from bsx.support.checks import Array

WORDS = ["meaning", "lex"]


def saturating(rng: np.random.Generator, bend: float, n: int = 500, each: int = 1) -> Drawn:
    """The metric saturates in meaning, LEX grows with its cube and explains nothing; rows of a segment share an error.

    With a bend of 0 the metric is a straight line in meaning.
    """
    of = np.repeat(np.arange(n // each), each)
    meaning = rng.uniform(size=n)
    lex = meaning**3 + 0.15 * rng.normal(size=n)
    signal = meaning if not bend else (1 - np.exp(-bend * meaning)) / (1 - np.exp(-bend))
    noise = rng.normal(size=n) if each == 1 else np.sqrt(0.5) * (rng.normal(size=n // each)[of] + rng.normal(size=n))
    columns: dict[str, Array | list[str]] = {"m": signal + 0.2 * noise, "meaning": meaning, "lex": lex}
    return Drawn(columns | {"segment": [f"s{i}" for i in of]})


def bent(drawn: Drawn) -> dict[str, bool]:
    """Tell whether LEX is significant next to a line and a curve, and whether the line is warned of."""
    result = disentangle(drawn.columns, ["m"], WORDS, spline=["meaning"])
    return {
        "LEX, a line in meaning": result["m"].p["lex"] < 0.05,
        "LEX, a curve (`spline`)": result.bends[0].coef_p["lex"] < 0.05,
        "warned (`bent`)": "bent" in {notice.name for notice in result.warnings},
    }


def judged(rng: np.random.Generator, share: float, n: int = 500) -> Drawn:
    """Two judges of meaning whose errors correlate; the metric is meaning and noise, words go with meaning (r .6)."""
    meaning = rng.normal(size=n)
    errors = np.sqrt(share) * rng.normal(size=n) + np.sqrt(1 - share) * rng.normal(size=(2, n))
    first, second = np.sqrt(0.6) * meaning + np.sqrt(0.4) * errors
    columns: dict[str, Array | list[str]] = {"m": 0.8 * meaning + 0.6 * rng.normal(size=n)}
    columns |= {"first": first, "second": second, "lex": 0.6 * meaning + 0.8 * rng.normal(size=n)}
    return Drawn(columns, {"meaning": 0.8})


def corrected(drawn: Drawn) -> dict[str, bool]:
    """Tell what becomes of LEX and of meaning with the reliability by alpha."""
    result = disentangle(drawn.columns, ["m"], WORDS, repeat={"meaning": ["first", "second"]})
    fit = result.variant("errors-in-variables")["m"]
    return {"LEX, alpha": fit.p["lex"] < 0.05, "meaning holds, alpha": covers(fit.ci["meaning"], 0.8)}


def segments_apart(rng: np.random.Generator, apart: float, between: float = 0.0) -> Drawn:
    """A hundred segments of six systems; where they are apart, easy segments have high LEX and high scores.

    Within a segment LEX has the slope .3; systems differ likewise by ``between``.
    """
    segment, system = np.repeat(np.arange(100), 6), np.tile(np.arange(6), 100)
    easy, good = rng.normal(size=100)[segment], rng.normal(size=6)[system]
    lex = apart * easy + between * good + rng.normal(size=600)
    own = rng.normal(size=100)[segment] + rng.normal(size=6)[system] * 0.3
    metric = 0.3 * lex + apart * easy + between * good + own * 0.5 + rng.normal(size=600)
    columns: dict[str, Array | list[str]] = {"m": metric, "lex": lex, "syn": rng.normal(size=600)}
    columns |= {"segment": [f"s{i}" for i in segment], "system": [f"y{i}" for i in system]}
    return Drawn(columns, {"lex": 0.3 * float(lex.std() / metric.std())})


def held(drawn: Drawn) -> dict[str, bool]:
    """Tell which intervals hold the slope within segments, and whether pooling is warned of."""
    result = disentangle(drawn.columns, ["m"], ["lex", "syn"], within=["segment"])
    both = disentangle(drawn.columns, ["m"], ["lex", "syn"], within=["segment", "system"])
    truth = drawn.truth["lex"]
    return {
        "all rows": covers(result["m"].ci["lex"], truth),
        "`within=segment`": covers(result.variant("within")["m"].ci["lex"], truth),
        "`within=segment,system`": covers(both.variant("within")["m"].ci["lex"], truth),
        "warned (`simpson`)": "simpson" in {notice.name for notice in result.warnings},
    }


def multiplied(rng: np.random.Generator, strength: float, n: int = 400) -> dict[str, Array]:
    """What SEM does depends on SYN; LEX goes with the product and explains nothing."""
    sem, syn, other = rng.normal(size=(3, n))
    metric = 0.5 * sem + 0.3 * syn + strength * sem * syn + rng.normal(size=n)
    return {"m": metric, "sem": sem, "syn": syn, "lex": 0.4 * sem * syn + other}


def depends(columns: dict[str, Array]) -> dict[str, bool]:
    """Tell whether LEX is significant, and whether the product is warned of."""
    found = disentangle(columns, ["m"], ["sem", "syn", "lex"])
    warned = "product" in {notice.name for notice in found.warnings}
    return {"LEX, no products": found["m"].p["lex"] < 0.05, "warned (`product`)": warned}


SECTION = Section(
    "form",
    "Form of a regression",
    [
        Table(
            "A metric that saturates",
            "500 rows; LEX is a null factor that grows with the cube of meaning. Where the metric saturates in "
            "meaning, a straight line leaves a curve that LEX takes up. The warning should be rare where the metric "
            "is a line, and where a slight bend in 5,000 rows decides nothing.",
            ["LEX, a line in meaning", "LEX, a curve (`spline`)", "warned (`bent`)"],
            [
                World("saturates", partial(saturating, bend=3.0), bent),
                World("saturates, five rows a segment", partial(saturating, bend=3.0, each=5), bent),
                World("a line", partial(saturating, bend=0.0), bent),
                World("a line, five rows a segment", partial(saturating, bend=0.0, each=5), bent),
                World("a slight bend, 5,000 rows", partial(saturating, bend=0.15, n=5000), bent),
            ],
        ),
        Table(
            "Factors that multiply",
            "400 rows; LEX goes with SEM x SYN and is a null factor. Where the metric depends on it, LEX takes it "
            "up; where it does not, the warning should be rare.",
            ["LEX, no products", "warned (`product`)"],
            [
                World(f"SEM x SYN {strength:g}", partial(multiplied, strength=strength), depends)
                for strength in (0.0, 0.4)
            ],
        ),
        Table(
            "Two judges whose errors correlate",
            "500 rows; the metric depends on meaning (.8), not on LEX, which correlates .6 with meaning; a judge's "
            "reliability is .6. Alpha counts what the errors share as meaning, and so corrects too little.",
            ["LEX, alpha", "meaning holds, alpha"],
            [World(f"errors correlate {s:g}", partial(judged, share=s), corrected) for s in (0.0, 0.1, 0.3, 0.5)],
        ),
        Table(
            "Coefficients within segments",
            "100 segments of six systems, coverage of LEX's coefficient within segments. Where easy segments have high "
            "LEX and high scores, or good systems have, the coefficient over all rows is another one.",
            ["all rows", "`within=segment`", "`within=segment,system`", "warned (`simpson`)"],
            [
                World("segments and systems differ by chance", partial(segments_apart, apart=0.0), held),
                World("segments differ in both", partial(segments_apart, apart=1.0), held),
                World("segments and systems differ in both", partial(segments_apart, apart=1.0, between=1.0), held),
            ],
        ),
    ],
)
