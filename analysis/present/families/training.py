"""What a trained metric looks like: what it reached on the validation data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bsx.analysis.present.cells import number, table, text
from bsx.analysis.present.forms import lists, presents
from bsx.analysis.present.parts import Answer, Part, Prose
from bsx.train.result import TrainedMetric


@presents(TrainedMetric, section=("trained", "Trained metrics"))
def parts(result: TrainedMetric) -> Iterator[Part]:
    """Yield what the mean of the networks reaches, a row a network, and how to score with them."""
    who, reached = "the mean of its networks" if len(result.members) > 1 else "it", number(result.ensemble_valid, 4)
    yield Answer(
        f"{result.architecture} on {result.encoder['model']}, trained on {result.train['instances']:,} instances: "
        f"{who} reaches r {reached.text} on the {result.valid['instances']:,} validation instances. These chose the "
        "epochs: measure agreement on other data (bsx meta)."
    )
    found = [
        [text(row["seed"]), *map(number, (row["epochs"], row["best"])), number(row["valid"], 4)] for row in rows(result)
    ]
    found.append([text("mean of networks"), text(""), text(""), reached])
    caption = f"Networks on n = {result.valid['instances']:,} validation instances"
    yield table(caption, ["seed", "epochs", "best", "Pearson's r"], found, foot=1)
    yield Prose(f"To score with it: --metrics trained:{result.output}")


@lists(TrainedMetric)
def rows(result: TrainedMetric) -> Iterator[Mapping[str, object]]:
    """Yield a row a network: epochs, and the first of the highest validation figure."""
    for member in result.members:
        known = [epoch for epoch in member["log"] if epoch["valid"] is not None]
        best = max(known, key=lambda epoch: epoch["valid"], default=member["log"][0])
        yield {"seed": member["seed"], "epochs": len(member["log"]), "best": best["epoch"], "valid": best["valid"]}
