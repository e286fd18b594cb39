"""Published tables, recomputed with the metrics of the zoo where texts have to be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bsx.analysis.published.harness import Reproduced
from bsx.analysis.published.harness import reproduce as recompute
from bsx.bertscore.config import ScorerConfig
from bsx.catalog.specs import split_specs
from bsx.jobs.metrics import open_metrics
from bsx.metrics.base import Metric
from bsx.metrics.results import MetricScores
from bsx.support.progress import Progress


@dataclass(frozen=True)
class ReproduceRun:
    """What came out.

    Attributes:
        result: published figures beside ours.
        signatures: metric -> signature, of those that scored here.
    """

    result: Reproduced
    signatures: dict[str, str]


def reproduce(
    names: Sequence[str] | None,
    data: Path | str,
    *,
    beside: Sequence[str] = (),
    lex: bool = True,
    wmt17: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Progress | None = None,
) -> ReproduceRun:
    """Recompute published tables, see `bsx.analysis.reproduce`; metrics that a table needs are built once.

    Args:
        names: tables; None for all that the data allow.
        data: folder of the data.
        beside: specs of metrics to put beside the published ones, each perhaps several with commas between.
        lex: for kaster2021, recompute lexical overlaps from the texts.
        wmt17: for kaster2021, table of WMT17's segment judgments.
        settings: where and within what limits to run. A ``cache`` lets a run that was stopped go on.
        progress: called with a phase's name, what is done, and what there is in all.

    Raises:
        BsxError: as `bsx.analysis.reproduce`.
    """
    scorer = settings or ScorerConfig()
    built: dict[str, Metric] = {}
    signatures: dict[str, str] = {}

    def score(
        spec: str, candidates: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]
    ) -> MetricScores:
        if spec not in built:
            built[spec] = open_metrics([spec], scorer)[0]
        scored = built[spec].score(candidates, references, progress=progress)
        signatures[spec] = str(scored.signature)
        return scored

    asked = [spec for part in beside for spec in split_specs(part)]
    for spec in asked:
        built[spec] = open_metrics([spec], scorer)[0]
    result = recompute(names, data, score=score, beside=asked, lex=lex, wmt17=wmt17, progress=progress)
    return ReproduceRun(result, signatures)
