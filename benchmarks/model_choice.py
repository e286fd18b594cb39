"""How often the rule by which bsx chooses a model takes the better of two on a set that it has not seen.

Run: python benchmarks/model_choice.py

Each set with human judgments of segments is left out, together with all others of its year and language pair, and each
rule says which of two metrics is better there by what is left:

- pooled: `bsx.models.evidence.Pooled`, which bsx uses;
- newest set: the difference of the two on the newest set that has both, in the language, else in its family, else in
  any;
- best mean: the mean of their differences on all sets that have both, in the language, else in any.

A rule that has nothing to go by, or finds the two equal, is right half of the time. Only pairs count whose metrics were
both measured elsewhere. Writes benchmarks/agreement/model-choice.md; takes a minute on one core.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path

import numpy as np

from bsx.catalog.catalog import Catalog, shipped
from bsx.catalog.entries import Evidence
from bsx.data.output import atomic_text
from bsx.models.evidence import CHRF, Pooled, Spreads, pooled, rows_of, spelled_advantage
from bsx.support.checks import Array

PAGE = Path(__file__).with_name("agreement") / "model-choice.md"
OURS = "benchmarks/agreement/languages.md"
CLEAR = 0.03
TWO_MODELS = "two models of BERTScore"
TWICE = "WMT17 DA"
SEED, DRAWS = 1, 10_000
GRID: Mapping[str, Sequence[float]] = {
    "mean": (0.03, 0.06, 0.1, 0.2),
    "quality": (0.04, 0.05, 0.06, 0.07, 0.08),
    "kin": (0.0, 0.005, 0.01, 0.015, 0.02, 0.03),
    "sets": (0.025, 0.03, 0.035, 0.04, 0.05),
    "shared": (0.3, 0.5, 0.6, 0.7, 0.8, 0.9),
}
Figures = Sequence[tuple[str, Evidence]]


@dataclass(frozen=True)
class Taken:
    """One pair of metrics on a set that was left out.

    Attributes:
        group: what was left out: year and languages.
        ours: whether the set is one of `languages.json`.
        kind: what the two are.
        gap: how far they lie apart there.
        right: rule -> 1 if it takes the better one, 0 if not, .5 if it does not say.
    """

    group: str
    ours: bool
    kind: str
    gap: float
    right: Mapping[str, float]


def group_of(one: Evidence) -> str:
    return f"{one.when} {one.direction or one.language}"


def arms_of(figures: Figures) -> dict[str, list[Evidence]]:
    found: dict[str, list[Evidence]] = defaultdict(list)
    for arm, one in figures:
        found[arm].append(one)
    return found


def sign(value: float) -> float:
    return float(np.sign(round(value, 9)))


def differences(a: str, b: str, figures: Figures) -> list[tuple[float, Evidence]]:
    """Return by how much one metric was better than another, on each set that has both."""
    by_set: dict[object, dict[str, Evidence]] = defaultdict(dict)
    for arm, one in figures:
        by_set[rows_of(one)][arm] = one
    return [(one[a].value - one[b].value, one[a]) for one in by_set.values() if a in one and b in one]


def newest(a: str, b: str, left: Figures, language: str, catalog: Catalog) -> float:
    """Return the sign by the newest set."""
    family = catalog.languages[language].family

    def key(found: tuple[float, Evidence]) -> tuple[int, int, int]:
        other = catalog.languages[found[1].language]
        near = 2 if other.code == language else 1 if family is not None and other.family == family else 0
        return near, found[1].when or 0, found[1].n or 0

    known = differences(a, b, left)
    return sign(max(known, key=key)[0]) if known else 0.0


def mean(a: str, b: str, left: Figures, language: str, catalog: Catalog) -> float:
    """Return the sign by the mean difference."""
    known = differences(a, b, left)
    near = [gap for gap, one in known if catalog.languages[one.language].code == language]
    gaps = near or [gap for gap, _ in known]
    return sign(float(np.mean(gaps))) if gaps else 0.0


def kind_of(a: str, b: str, catalog: Catalog, wide: set[str]) -> str | None:
    models = sum(one in catalog.models for one in (a, b))
    if models == 2:
        return TWO_MODELS
    if models and CHRF in (a, b):
        return "BERTScore or chrF"
    if {a, b} <= wide:
        return "two metrics that read the source"
    return None if {a, b} & wide else "other metrics that read a reference"


def left_out(catalog: Catalog) -> list[Taken]:
    """Return what each rule takes, for each pair on each set."""
    figures = pooled(catalog).figures
    wide = {name for name, one in catalog.metrics.items() if "reference" not in one.needs}
    sets: dict[object, Figures] = defaultdict(list)
    for figure in figures:
        sets[rows_of(figure[1])] = [*sets[rows_of(figure[1])], figure]
    found = []
    for group in sorted({group_of(one) for _, one in figures}):
        left = [figure for figure in figures if group_of(figure[1]) != group]
        there = {arm for arm, _ in left}
        model = Pooled(arms_of(left), catalog.languages, models=catalog.models, wide=wide)
        for rows in sets.values():
            one = rows[0][1]
            if group_of(one) != group:
                continue
            language = next(x for x in catalog.languages.values() if one.language in (x.code, *x.codes))
            lies = {arm: model.advantage(arm, language).difference for arm, _ in rows if arm in there}
            for (a, first), (b, second) in combinations([row for row in rows if row[0] in there], 2):
                kind = kind_of(a, b, catalog, wide)
                gap = first.value - second.value
                if kind is None or gap == 0:
                    continue
                signs = {
                    "pooled": sign(lies[a] - lies[b]),
                    "newest set": newest(a, b, left, language.code, catalog),
                    "best mean": mean(a, b, left, language.code, catalog),
                }
                right = {rule: (1 + value * sign(gap)) / 2 for rule, value in signs.items()}
                ours = any(figure.source.endswith(OURS) for _, figure in rows)
                found.append(Taken(group, ours, kind, abs(gap), right))
    return found


def rates(taken: Sequence[Taken], value: Callable[[Taken], Sequence[float]]) -> tuple[Array, Array]:
    """Return the mean over pairs of what each rule has, and resamples of it over what was left out together."""
    groups: dict[str, list[Sequence[float]]] = defaultdict(list)
    for one in taken:
        groups[one.group].append(value(one))
    sums = np.array([np.sum(rows, axis=0) for rows in groups.values()])
    sizes = np.array([len(rows) for rows in groups.values()])
    counts = np.random.default_rng(SEED).multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=DRAWS)
    return sums.sum(axis=0) / sizes.sum(), counts @ sums / (counts @ sizes)[:, None]


def row(label: str, taken: Sequence[Taken]) -> str:
    """Return a line of the table."""
    if not taken:
        return ""
    rules = list(taken[0].right)
    share, draws = rates(taken, lambda one: [one.right[rule] for rule in rules])
    loss, _ = rates(taken, lambda one: [(1 - one.right[rule]) * one.gap for rule in rules])
    cells = []
    for place in range(len(rules)):
        low, high = np.percentile(draws[:, place], [2.5, 97.5])
        cells.append(f"{100 * share[place]:.0f} [{100 * low:.0f}, {100 * high:.0f}]")
    for place in (1, 2):
        gaps = draws[:, 0] - draws[:, place]
        low, high = np.percentile(gaps, [2.5, 97.5])
        cells.append(f"{100 * (share[0] - share[place]):+.0f} [{100 * low:+.0f}, {100 * high:+.0f}]")
    cells += [f"{value:.4f}" for value in loss]
    return f"| {label} | {len({one.group for one in taken})} | {len(taken):,} | {' | '.join(cells)} |\n"


def table(taken: Sequence[Taken]) -> str:
    head = ["what is chosen between", "left out", "pairs", "pooled", "newest set", "best mean"]
    head += ["pooled - newest", "pooled - mean", "r lost: pooled", "newest", "mean"]
    text = f"| {' | '.join(head)} |\n| --- |{' ---: |' * (len(head) - 1)}\n"
    for kind in sorted({one.kind for one in taken}):
        text += row(kind, [one for one in taken if one.kind == kind])
    text += row("all", taken)
    text += row(f"all but {TWO_MODELS}", [one for one in taken if one.kind != TWO_MODELS])
    return text + row(f"all that lie {CLEAR} or more apart", [one for one in taken if one.gap >= CLEAR])


def likelihood(catalog: Catalog) -> str:
    """Return what the likelihood says of the spreads."""
    arms = {name: one.evidence for name, one in catalog.metrics.items()}
    arms |= {name: one.evidence for name, one in catalog.models.items()}
    wide = [name for name, one in catalog.metrics.items() if "reference" not in one.needs]

    def of(**changed: float) -> float:
        spread = Spreads(**changed)
        return Pooled(arms, catalog.languages, models=catalog.models, wide=wide, spread=spread).likelihood

    best, lines = of(), ""
    for field in fields(Spreads):
        cells = ", ".join(f"{value:g}: {of(**{field.name: value}) - best:+.1f}" for value in GRID[field.name])
        lines += f"| {field.name} | {field.default} | {cells} |\n"
    return f"| part | used | logarithm of the likelihood, against what is used |\n| --- | ---: | --- |\n{lines}"


def counted_twice(catalog: Catalog) -> str:
    """Return what models lie above chrF with and without our rows of a set that has figures on all of its rows."""
    arms = {name: one.evidence for name, one in (catalog.metrics | catalog.models).items()}
    once = {
        name: [one for one in figures if one.dataset != TWICE or one.language == "en"] for name, figures in arms.items()
    }
    wide = [name for name, one in catalog.metrics.items() if "reference" not in one.needs]
    alone = Pooled(once, catalog.languages, models=catalog.models, wide=wide)
    said = []
    for model in ("bert-base-multilingual-cased", "me5-small-q4"):
        for code in ("ru", "zh"):
            one = catalog.languages[code]
            both = (each.advantage(model, one) for each in (pooled(catalog), alone))
            said.append(f"`{model}` in {one.name} {' and '.join(map(spelled_advantage, both))}")
    return ";\n".join(said)


def main() -> None:
    """Write the page."""
    catalog = shipped()
    taken = left_out(catalog)
    text = f"""# Which rule chooses the better model

`benchmarks/model_choice.py` writes this page, and says what the rules are. All figures of segments in the registry;
sets of one year and language pair are left out together. Percentages are how often the rule takes the better of two,
with 95 % intervals from resamples of what was left out together ({DRAWS:,}, seed {SEED}); "r lost" is by how much the
one taken is worse, on average over all pairs.

## All sets of the registry

{table(taken)}
## Sets of `languages.json` alone

{table([one for one in taken if one.ours])}
## Judgments that are counted twice

The rows of {TWICE} into Russian and Chinese are a part of those of WMT17, on which the registry has figures of Zhang et
al. and ours. Above, both are left out together; `Pooled` has them as two sets. With and without these rows:
{counted_twice(catalog)}.

## Spreads

What `bsx.models.evidence.Spreads` has, one changed at a time.

{likelihood(catalog)}"""
    with atomic_text(PAGE) as stream:
        stream.write(text)
    print(text)


if __name__ == "__main__":
    main()
