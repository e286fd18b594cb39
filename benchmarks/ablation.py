"""Table 9 of the BERTScore paper (appendix C) on WMT17: MoverScore's components, one by one, with every matching.

    python benchmarks/ablation.py ../shared/data/wmt/daseg-wmt17.tsv --long-idf cs-en=FILE ...

prints the table of `agreement/ablation-wmt17.md`: Pearson's r with direct assessment. The files of ``--long-idf`` hold
all references of a pair's test set, one text per line (IDF-L); ``--mnli`` names an encoder fine-tuned on MNLI.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import bsx
from bsx.support.untyped import Settings

MATCHINGS: dict[str, Settings] = {
    "WMD1": {"matching": "transport", "ngram": 1},
    "WMD2": {"matching": "transport", "ngram": 2},
    "F": {"matching": "greedy", "ngram": 1},
}
PLAIN: list[tuple[str, ...]] = [(), ("SEP",), ("SEP", "RM"), ("SEP", "PMEANS"), ("SEP", "PMEANS", "RM")]
TUNED: list[tuple[str, ...]] = [("SEP", "MNLI"), ("SEP", "PMEANS", "MNLI"), ("SEP", "PMEANS", "MNLI", "RM")]


def components(model: str, layer: int, long_idf: Path | None, mnli: str | None) -> Iterator[tuple[str, Settings]]:
    """Yield the rows: their names in the paper, and their settings of ``moverscore``.

    IDF-S, IDF-L: idf of the judged or of all references; SEP: candidates weigh by their own idf; RM: without
    punctuation and pieces inside words; PMEANS: power means over the last five layers instead of one layer.
    """
    rows: list[tuple[tuple[str, ...], Settings, str]] = [((), {"idf": False}, model)]
    for tag, idf in (("IDF-S", {"idf": True}), ("IDF-L", {"idf": True, "idf_texts": long_idf})):
        if tag == "IDF-S" or long_idf is not None:
            rows += [((tag, *more), idf, model) for more in PLAIN]
            rows += [((tag, *more), idf, mnli) for more in TUNED if mnli is not None]
    for tags, idf, encoder in rows:
        settings = {
            **idf,
            "separate_idf": "SEP" in tags,
            "drop_punctuation": "RM" in tags,
            "drop_subwords": "RM" in tags,
            "pmeans": "PMEANS" in tags,
            "model": encoder,
        }
        yield " + ".join(tags) or "vanilla", settings | ({} if "PMEANS" in tags else {"layer": layer})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--layer", type=int, default=4)
    parser.add_argument("--long-idf", nargs="*", default=[], metavar="PAIR=FILE")
    parser.add_argument("--mnli")
    given = parser.parse_args()
    long_idf = {pair: Path(file) for pair, _, file in (one.partition("=") for one in given.long_idf)}
    table = pd.read_csv(given.table, sep="\t", quoting=3)
    found: dict[str, dict[tuple[str, str], float]] = {}
    for pair, rows in table[table.lp.str.endswith("-en")].groupby("lp"):
        encoders = bsx.Encoders(lang="en")
        correlations = found[str(pair)] = {}
        for name, settings in components(given.model, given.layer, long_idf.get(str(pair)), given.mnli):
            for matching, how in MATCHINGS.items():
                metric = bsx.get_metric("moverscore", encoders=encoders, **how, **settings)
                scores = metric.score(list(rows.candidate), list(rows.reference))
                correlations[name, matching] = float(np.corrcoef(scores, rows.human)[0, 1])
    figures = pd.DataFrame(found)
    figures["mean"] = figures.mean(axis=1, skipna=False)
    print(figures.to_string(float_format="{:.3f}".format, na_rep="-"))


if __name__ == "__main__":
    main()
