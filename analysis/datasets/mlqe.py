"""MLQE-PE: direct assessment of translations without a reference."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, JudgedTable, pair_in_name
from bsx.errors import InputError


def load_mlqe(
    path: Path | str, *, lp: str | None = None, name: str | None = None, skip_malformed: bool = False
) -> JudgedTable:
    """Load MLQE or MLQE-PE: ``test20.ende.df.short.tsv`` and its like, or the folder that holds just one.

    The columns are index, original, translation, scores, mean, z_scores, z_mean, model_scores. ``human`` is z_mean,
    ``human_raw`` the mean on the scale 0 to 100, ``judgments`` the length of ``scores``; there is no reference.

    The path may be that of a folder with one file ``*.df.short.tsv`` at any depth; the language pair ``lp`` is taken
    from the name of the file or its folder unless given. Other arguments and errors: as for `bsx.analysis.load_table`.
    """
    file = Path(path)
    if file.is_dir():
        result = sorted(file.rglob("*.df.short.tsv"))
        if len(result) != 1:
            raise InputError(f"needs exactly one file *.df.short.tsv, has {len(result)}; name one", file=path)
        file = result[0]
    builder = Builder(path, name or file.name.removesuffix(".df.short.tsv"), skip_malformed)
    table = builder.table(file, "index", "original", "translation", "mean", "z_mean")
    joined = re.search(r"\.([a-z]{2})([a-z]{2})\.", file.name)
    pair = lp or (f"{joined[1]}-{joined[2]}" if joined else pair_in_name(file) or pair_in_name(file.parent))
    for row in table.rows():
        with builder.problems:
            builder.add(
                lp=pair,
                segment=row.name("index"),
                source=row.text("original"),
                candidate=row.text("translation"),
                human=row.number("z_mean"),
                human_raw=row.number("mean"),
                judgments=_length(row["scores"], f"{row.where}, column 'scores'") if "scores" in row else None,
                model_scores=row.number("model_scores") if "model_scores" in row else None,
            )
    return builder.finish()


def _length(value: object, where: str) -> int:
    try:
        scores = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError:
        scores = None
    if not isinstance(scores, list):
        raise InputError(f"{where} is {str(value)[:40]!r}, not a list of numbers")
    return len(scores)
