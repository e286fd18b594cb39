"""How far int8 moves the scores of metrics on the embedded encoders, in several languages.

Run: python benchmarks/int8.py [--data FOLDER] [--models minilm] [--languages en,de] [--segments 150]
     [--output benchmarks/results/int8.json]

FOLDER (default ../shared/data) holds wmt/daseg-wmt17.tsv (into English; en-zh), mqm/newstest2021-en-de.tsv and
indicmt/hi.tsv. Each metric scores segments of each language in fp32 and in int8, both by ONNX Runtime; XMoverScore and
the cosine of `sentence-qe` compare with the source, without a mapping. Given are the largest absolute difference, the
99th percentile of them, and the mean of the differences, with the sign of int8 minus fp32.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

import bsx

HERE = Path(__file__).resolve().parent
DATA = HERE.parent.parent / "shared" / "data"
SIDES = ("candidate", "reference", "source")
# Languages of the candidates: files, and language pairs in them.
WMT17 = "wmt/daseg-wmt17.tsv"
LANGUAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "en": (WMT17, ("cs-en", "de-en", "fi-en", "ru-en", "zh-en")),
    "de": ("mqm/newstest2021-en-de.tsv", ()),
    "zh": (WMT17, ("en-zh",)),
    "hi": ("indicmt/hi.tsv", ()),
}
# Layers of BERTScore, and languages.
MODELS: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "minilm": ((4, 6), ("en",)),
    "me5-small-q4": ((7,), tuple(LANGUAGES)),
}
METRICS = ("sentence", "moverscore")
SOURCE_METRICS = ("sentence-qe", "xmoverscore")
Texts = dict[str, list[str]]


def read(folder: Path, language: str, segments: int) -> Texts:
    """Return rows from all over a file, as many of each language pair."""
    file, pairs = LANGUAGES[language]
    with (folder / file).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    parts = [[row for row in rows if row["lp"] == pair] for pair in pairs] or [rows]
    each = segments // len(parts)
    chosen = [row for part in parts for row in part[:: len(part) // each][:each]]
    return {side: [row[side] for row in chosen] for side in SIDES}


def scores(model: str, layers: tuple[int, ...], dtype: Any, texts: Texts) -> dict[str, Any]:
    candidates, references, sources = (texts[side] for side in SIDES)
    found: dict[str, Any] = {}
    for layer in layers:
        three = bsx.Scorer(model=model, layer=layer, backend="onnx", dtype=dtype).score(candidates, references)
        for name, values in (("P", three.precision), ("R", three.recall), ("F1", three.f1)):
            found[f"bertscore {name}, layer {layer}"] = values
    encoders = bsx.Encoders(model=model, backend="onnx", dtype=dtype)
    columns = [metric.score(candidates, references) for metric in bsx.get_metrics(list(METRICS), encoders=encoders)]
    if model != "minilm":  # English alone
        free = bsx.get_metrics(list(SOURCE_METRICS), encoders=encoders)
        columns += [metric.score(candidates, sources=sources) for metric in free]
    return found | {column.metric: np.asarray(column.values) for column in columns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--segments", type=int, default=150, help="of each language")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--output", type=Path)
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="to measure; others keep their results")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if arguments.output and arguments.output.is_file():
        rows = json.loads(arguments.output.read_text())["rows"]
    for model in arguments.models.split(","):
        layers, languages = MODELS[model]
        for language in (one for one in languages if one in arguments.languages.split(",")):
            rows = [row for row in rows if (row["model"], row["language"]) != (model, language)]
            texts = read(arguments.data, language, arguments.segments)
            exact, small = (scores(model, layers, dtype, texts) for dtype in ("fp32", "int8"))
            for metric, values in exact.items():
                change = small[metric] - values
                figures = {
                    "largest": np.abs(change).max(),
                    "percentile_99": np.percentile(np.abs(change), 99),
                    "mean": change.mean(),
                    "sd_of_scores": values.std(),
                }
                row = {"model": model, "metric": metric, "language": language, "segments": len(values)}
                rows.append(row | {name: round(float(value), 5) for name, value in figures.items()})
                print(json.dumps(rows[-1]), flush=True)
            if arguments.output:
                arguments.output.write_text(json.dumps({"onnxruntime": _version(), "rows": rows}, indent=2) + "\n")


def _version() -> str:
    from importlib.metadata import version

    return version("onnxruntime")


if __name__ == "__main__":
    main()
