"""What a trained metric looks like: what it reached on the validation data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bsx.analysis.present import charts
from bsx.analysis.present.cells import NONE, estimate, interval, number, plain_table, table_of, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Chart, Notes, Part, Prose
from bsx.analysis.train.curve import LearningCurve
from bsx.analysis.train.result import TrainedMetric


@presents(LearningCurve, section=("learning", "Agreement and training data"))
def learning(result: LearningCurve) -> Iterator[Part]:
    """Yield agreement with the least and the most training data, then all points."""
    first, last = result.points[0], result.points[-1]
    ends = [first] if first is last else [first, last]
    reached = " and ".join(
        f"{number(end.estimate).text} {interval((end.low, end.high)).text}".removesuffix(f" {NONE}")
        + f" after {end.instances:,} instances with {_judgments(end.judgments)}"
        for end in ends
    )
    what = f"of {result.architecture} on {result.model} " if result.architecture else ""
    yield Answer(
        f"Pearson's r {what}with human judgments is {reached} ({len(result.seeds)} seeds, {result.n:,} test instances; "
        "differences were not tested)."
    )
    yield table_of(
        f"{result.method}, {100 * result.confidence:g} % interval; {result.n:,} test instances",
        result.points,
        {
            "instances": lambda point: number(point.instances),
            "judgments of each": lambda point: text(point.judgments or "all"),
            "r": lambda point: estimate(point.estimate, (point.low, point.high)),
        },
        names=0,
    )
    yield Notes(result.notes)
    kinds = list(dict.fromkeys(point.judgments for point in result.points))
    names = tuple(_judgments(kind) for kind in kinds)
    marks = [
        (float(point.instances), kinds.index(point.judgments), point.estimate, names[kinds.index(point.judgments)])
        for point in result.points
    ]
    bands = [(point.low, point.high) for point in result.points]
    heights = [y for point in result.points for y in (point.estimate, point.low, point.high) if y == y]
    alt = "Pearson's r with human judgments over the number of training instances, a line a number of judgments."
    spec = charts.lines(
        marks,
        alt=alt,
        x="training instances",
        y="Pearson's r with human judgments",
        series=len(names),
        span=(min(heights), max(heights)),
        ticks=sorted({float(point.instances) for point in result.points}),
        bands=bands,
        log=True,
        height=240,
    )
    title = f"{result.architecture} on {result.model}" if result.architecture else "Learning curve"
    yield Chart(title, alt, (("", spec),), names)


@lists(LearningCurve)
def learning_rows(result: LearningCurve) -> Iterator[Mapping[str, object]]:
    """Yield one row a point and seed."""
    for point in result.points:
        for seed, value in zip(result.seeds, point.values, strict=True):
            known = {"instances": point.instances, "judgments": point.judgments or "all", "seed": seed}
            yield {**known, "r": value, "mean": point.estimate, "low": point.low, "high": point.high}


def _judgments(count: int) -> str:
    return f"{count} judgment{'s' * (count > 1)} each" if count else "all judgments"


@presents(TrainedMetric, section=("trained", "Trained metrics"))
def parts(result: TrainedMetric) -> Iterator[Part]:
    """Yield what the mean of the networks reaches, a row a network, and how to score with them."""
    who, reached = "the mean of its networks" if len(result.members) > 1 else "it", number(result.ensemble_valid, 4)
    yield Answer(
        f"{result.architecture} on {result.encoder['model']}, trained on {result.train['instances']:,} instances: "
        f"{who} reaches r {reached.text} on the {result.valid['instances']:,} validation instances. These chose the "
        "epochs: measure agreement on other data (bsx meta)."
    )
    mean = {"seed": "mean of networks", "epochs": None, "best": None, "valid": result.ensemble_valid}
    caption = f"Networks on n = {result.valid['instances']:,} validation instances"
    yield plain_table(caption, [*rows(result), mean], note="valid: Pearson's r, of the epoch called best.", foot=1)
    yield Prose(f"To score with it: --metrics trained:{result.output}")


@lists(TrainedMetric)
def rows(result: TrainedMetric) -> Iterator[Mapping[str, object]]:
    """Yield a row a network: epochs, and the first of the highest validation figure."""
    for member in result.members:
        known = [epoch for epoch in member["log"] if epoch["valid"] is not None]
        best = max(known, key=lambda epoch: epoch["valid"], default=member["log"][0])
        yield {"seed": member["seed"], "epochs": len(member["log"]), "best": best["epoch"], "valid": best["valid"]}
