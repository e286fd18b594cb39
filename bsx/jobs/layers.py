"""How well each layer of a metric's model agrees with people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np

from bsx.analysis.stats.layers import LayerAgreement
from bsx.catalog.languages import language_code
from bsx.catalog.specs import read_spec
from bsx.data.corpus import MemoryCorpus
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.jobs.judged import read_judged
from bsx.jobs.settings.layers import SweepSettings
from bsx.metrics.run import score_corpus
from bsx.metrics.summary import about
from bsx.metrics.zoo import find_metric, get_metrics
from bsx.support.aligned import text_table
from bsx.support.progress import Watch, told
from bsx.support.settings import complete, takes


@dataclass(frozen=True, eq=False)
class LayerSweep:
    """Agreement with people by layer, of several metrics on one model.

    Attributes:
        results: metric -> its correlations; of one figure, which stands for precision, recall and F1 alike.
        data: names of the tables.
        notes: what the reader should know.
    """

    results: dict[str, LayerAgreement]
    data: tuple[str, ...]
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[dict[str, str | int | float]]:
        """Return a row a metric and layer: mean over groups with its interval, then each group."""
        return [
            {
                "metric": spec,
                "layer": layer,
                "mean": float(result.mean[layer, 2]),
                "low": float(result.low[layer]),
                "high": float(result.high[layer]),
                "best": layer == result.best_layer,
                **{name: float(result.by_group[i, layer, 2]) for i, name in enumerate(result.groups)},
            }
            for spec, result in self.results.items()
            for layer in range(len(result.mean))
        ]

    def to_dict(self) -> dict[str, object]:
        """Return the rows, for other programs."""
        return {"results": self.rows()}

    def to_text(self) -> str:
        """Return a table, for people."""
        rows = [["metric", "layer", "mean", "95% interval", ""]]
        for row in self.rows():
            interval, mark = f"[{row['low']:.4f}, {row['high']:.4f}]", "<- best" if row["best"] else ""
            rows.append([str(row["metric"]), str(row["layer"]), f"{row['mean']:.4f}", interval, mark])
        return text_table(rows)


@takes(SweepSettings)
def sweep_layers(
    metrics: Sequence[str],
    data: Sequence[str],
    model: str,
    *,
    progress: Watch = None,
    **how: Unpack[SweepSettings],
) -> LayerSweep:
    """Score human-judged data with every layer; each text is encoded once for all metrics.

    Args:
        metrics: specs of metrics that have a setting ``layer``, left open.
        data: tables with candidates, references and human scores.
        model: the encoder.
        progress: called with phase, done and total; True draws bars.
        **how: columns of the tables, what is measured on them, and where to run.

    Raises:
        InputError: for a metric without layers, or a table that cannot be used.
    """
    progress = told(progress)
    asked = complete(how, SweepSettings)
    judged = read_judged(data, asked, language_code(asked["lang"]))
    encoders = Encoders(model=model, lang=asked["lang"], device=asked["device"])
    depth = encoders.locate(None).architecture.depth
    for spec in metrics:
        name, given = read_spec(spec)
        if "layer" not in find_metric(name, encoders.catalog)[0].Config.model_fields or "layer" in given:
            raise InputError(f"{spec}: a sweep needs a metric with a setting layer, left open")
    joined = [[f"{spec}{',' if ':' in spec else ':'}layer={k}" for k in range(depth + 1)] for spec in metrics]
    built = get_metrics([name for names in joined for name in names], encoders=encoders)
    scores = score_corpus(built, MemoryCorpus({"candidate": judged.candidates}, judged.references), progress=progress)

    def swept() -> Iterator[tuple[str, LayerAgreement]]:
        for spec, names in zip(metrics, joined, strict=True):
            values = np.stack([scores[name]["candidate"].values for name in names]).astype(np.float32)
            yield spec, judged.agreement(values, values, values, asked)

    results = dict(swept())
    undefined = [f"{spec}: {note}" for spec, result in results.items() for note in result.notes]
    return LayerSweep(results, tuple(judged.names), [*judged.notes, *about(built), *undefined])
