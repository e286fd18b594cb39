"""MLQE-PE: direct assessment of translations without a reference."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable, pair_in_name
from bsx.data.lines import Problems
from bsx.data.tables import Table
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
    problems = Problems(skip=skip_malformed)
    table = Table(file, problems)
    table.require("index", "original", "translation", "mean", "z_mean")
    builder = Builder(name or file.name.removesuffix(".df.short.tsv"), problems)
    joined = re.search(r"\.([a-z]{2})([a-z]{2})\.", file.name)
    pair = lp or (f"{joined[1]}-{joined[2]}" if joined else pair_in_name(file) or pair_in_name(file.parent))
    for row in table.rows():
        with problems:
            values: dict[str, Given] = {
                "segment": row.name("index"),
                "source": row.text("original"),
                "candidate": row.text("translation"),
                "human": row.number("z_mean"),
                "human_raw": row.number("mean"),
            }
            if "scores" in table.columns:
                values["judgments"] = _length(row["scores"], f"{row.where}, column 'scores'")
            if "model_scores" in table.columns:
                values["model_scores"] = row.number("model_scores")
            builder.add(lp=pair, **values)
    return builder.finish(table.name)


def _length(value: object, where: str) -> int:
    try:
        scores = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError:
        scores = None
    if not isinstance(scores, list):
        raise InputError(f"{where} is {str(value)[:40]!r}, not a list of numbers")
    return len(scores)
