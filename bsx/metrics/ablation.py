"""The grid of BERTScore's appendix C (its Table 9): MoverScore's components, one by one, with every matching."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MATCHINGS = {"WMD1": "matching=transport,ngram=1", "WMD2": "matching=transport,ngram=2", "F": "matching=greedy,ngram=1"}

Tags = tuple[str, ...]
_PLAIN: list[Tags] = [(), ("SEP",), ("SEP", "RM"), ("SEP", "PMEANS"), ("SEP", "PMEANS", "RM")]
_TUNED: list[Tags] = [("SEP", "MNLI"), ("SEP", "PMEANS", "MNLI"), ("SEP", "PMEANS", "MNLI", "RM")]


@dataclass(frozen=True)
class Row:
    """One row of the grid: a set of components.

    Attributes:
        tags: the components, in the paper's names; empty for the plain metric.
        settings: what they are in the settings of the metric ``moverscore``.
    """

    tags: Tags
    settings: str

    @property
    def name(self) -> str:
        """The paper's way of writing the row."""
        return " + ".join(self.tags) or "vanilla"

    def spec(self, matching: str) -> str:
        """Return the metric of this row with one of `MATCHINGS`."""
        return f"moverscore:{MATCHINGS[matching]},{self.settings}"


def grid(model: str, layer: int | None, *, long_idf: Path | None = None, mnli: str | None = None) -> Iterator[Row]:
    """Yield the rows.

    Args:
        model: the encoder.
        layer: its layer, where power means over layers do not take its place; the top one if None.
        long_idf: file with all references of the test set, a text a line; without it there are no rows with IDF-L.
        mnli: the encoder fine-tuned on MNLI; without it there are no rows with MNLI.

    Source: Zhang et al. 2020, appendix C: IDF-S, IDF-L (idf on the judged or on all references), SEP (candidates
    weighed by their own idf), RM (without punctuation and pieces inside words), PMEANS (power means over the last five
    layers).
    """
    idfs: list[tuple[str | None, str]] = [("IDF-S", "idf=true")]
    if long_idf is not None:
        idfs.append(("IDF-L", f"idf=true,idf_texts={long_idf}"))
    yield _row(model, layer, None, "idf=false", ())
    for tag, setting in idfs:
        for more in _PLAIN:
            yield _row(model, layer, tag, setting, more)
        if mnli is not None:
            for more in _TUNED:
                yield _row(mnli, layer, tag, setting, more)


def _row(model: str, layer: int | None, tag: str | None, idf: str, more: Tags) -> Row:
    def switch(name: str) -> str:
        return "true" if name in more else "false"

    parts = [
        idf,
        f"separate_idf={switch('SEP')}",
        f"drop_punctuation={switch('RM')}",
        f"drop_subwords={switch('RM')}",
        f"pmeans={switch('PMEANS')}",
        f"model={model}",
    ]
    if layer is not None and "PMEANS" not in more:
        parts.append(f"layer={layer}")
    return Row((*([tag] if tag is not None else []), *more), ",".join(parts))
