"""The grid of BERTScore's appendix C (its Table 9): MoverScore's components, one by one, with every matching."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bsx.encode.session import Encoders
from bsx.metrics.base import Metric
from bsx.metrics.zoo import get_metric
from bsx.support.untyped import Settings

MATCHINGS: dict[str, Settings] = {
    "WMD1": {"matching": "transport", "ngram": 1},
    "WMD2": {"matching": "transport", "ngram": 2},
    "F": {"matching": "greedy", "ngram": 1},
}

Tags = tuple[str, ...]
_PLAIN: list[Tags] = [(), ("SEP",), ("SEP", "RM"), ("SEP", "PMEANS"), ("SEP", "PMEANS", "RM")]
_TUNED: list[Tags] = [("SEP", "MNLI"), ("SEP", "PMEANS", "MNLI"), ("SEP", "PMEANS", "MNLI", "RM")]


@dataclass(frozen=True)
class AblationRow:
    """One row of the grid: a set of components.

    Attributes:
        tags: the components, in the paper's names; empty for the plain metric.
        settings: what they are in the settings of the metric ``moverscore``.
    """

    tags: Tags
    settings: Settings

    @property
    def name(self) -> str:
        """The paper's way of writing the row."""
        return " + ".join(self.tags) or "vanilla"

    def metric(self, matching: str, encoders: Encoders) -> Metric:
        """Return the metric of this row with one of `MATCHINGS`."""
        return get_metric("moverscore", encoders=encoders, **MATCHINGS[matching], **self.settings)


def grid(
    model: str, layer: int | None, *, long_idf: Path | None = None, mnli: str | None = None
) -> Iterator[AblationRow]:
    """Yield the rows.

    Args:
        model: the encoder.
        layer: its layer, where power means over layers do not take its place; the top one if None.
        long_idf: file with all references of the test set, one text per line; without it there are no rows with IDF-L.
        mnli: the encoder fine-tuned on MNLI; without it there are no rows with MNLI.

    Source: Zhang et al. 2020, appendix C: IDF-S, IDF-L (idf on the judged or on all references), SEP (candidates
    weighed by their own idf), RM (without punctuation and pieces inside words), PMEANS (power means over the last five
    layers).
    """
    idfs: list[tuple[str, Settings]] = [("IDF-S", {"idf": True})]
    if long_idf is not None:
        idfs.append(("IDF-L", {"idf": True, "idf_texts": long_idf}))
    yield _row(model, layer, None, {"idf": False}, ())
    for tag, setting in idfs:
        for more in _PLAIN:
            yield _row(model, layer, tag, setting, more)
        if mnli is not None:
            for more in _TUNED:
                yield _row(mnli, layer, tag, setting, more)


def _row(model: str, layer: int | None, tag: str | None, idf: Settings, more: Tags) -> AblationRow:
    settings = {
        **idf,
        "separate_idf": "SEP" in more,
        "drop_punctuation": "RM" in more,
        "drop_subwords": "RM" in more,
        "pmeans": "PMEANS" in more,
        "model": model,
    }
    if layer is not None and "PMEANS" not in more:
        settings["layer"] = layer
    return AblationRow((*([tag] if tag is not None else []), *more), settings)
