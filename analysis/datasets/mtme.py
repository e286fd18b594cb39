"""The folder layout of mt-metrics-eval: one folder a test set, one file a system, one file a scorer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable
from bsx.data import cells
from bsx.data.lines import NamedFile, Problems, check_line_counts, line_list
from bsx.data.tables import delimited
from bsx.errors import InputError, UnknownNameError
from bsx.support.near import did_you_mean

Level = Literal["seg", "sys"]


def load_mt_metrics_eval(
    path: Path | str,
    lp: str,
    *,
    testset: str | None = None,
    level: Level = "seg",
    human: str | None = None,
    metrics: Sequence[str] | Literal["all"] = (),
    references: Sequence[str] | None = None,
    name: str | None = None,
) -> JudgedTable:
    """Load one language pair of a test set: ``sources``, ``references``, ``system-outputs``, ``human-scores``, ….

    The files are parallel, so a malformed line cannot be skipped: it would shift all others.

    Args:
        path: the folder of the test set, e.g. ``mt-metrics-eval-v2/wmt22``, or the folder above it.
        lp: the language pair, e.g. ``en-de``.
        testset: the test set, if ``path`` is the folder above.
        level: a row for each system and segment, or one for each system (without texts).
        human: the human scores, e.g. ``mqm`` or ``wmt-z``; may be left out if there is only one kind.
        metrics: metrics by the names of their files, e.g. ``BLEU-refA``, or ``"all"``.
        references: names of the references to load, in this order; all of them, sorted by name, unless given.
        name: name of the data set; the test set's unless given.

    Raises:
        InputError: naming file, line and reason of a malformed line, or scores that do not fit the texts.
        UnknownNameError: for a language pair, scorer or reference that does not exist; lists those that do.
    """
    folder = Path(path) / testset if testset is not None else Path(path)
    # sources/ holds one file a pair; documents/, which newer test sets add, is optional.
    pairs = sorted(file.stem for file in (folder / "sources").glob("*.txt"))
    if not pairs:
        raise InputError("has no files sources/*.txt; is this the folder of one test set?", file=folder)
    _known(lp, pairs, f"{folder}: language pair")
    source = line_list(folder / "sources" / f"{lp}.txt")
    outputs = {file.stem: file for file in sorted((folder / "system-outputs" / lp).glob("*.txt"))}
    if not outputs:
        raise InputError(f"{folder / 'system-outputs' / lp}: holds no system outputs")
    size = len(source) if level == "seg" else 1

    scorers = {
        file.name.removesuffix(f".{level}.score").removeprefix(f"{lp}."): file
        for file in sorted((folder / "human-scores").glob(f"{lp}.*.{level}.score"))
    }
    if human is None and len(scorers) != 1:
        raise InputError(f"say which human scores (human): there are {', '.join(scorers) or 'none'}", file=folder)
    chosen = human if human is not None else next(iter(scorers))
    _known(chosen, scorers, f"{folder}: human scores")
    scores = {"human": _read_scores(scorers[chosen], size, outputs, missing=True)}

    files = {
        file.name.removesuffix(f".{level}.score"): file
        for file in sorted((folder / "metric-scores" / lp).glob(f"*.{level}.score"))
    }
    wanted = list(files) if metrics == "all" else list(metrics)
    for metric in wanted:
        _known(metric, files, f"{folder}: metric")
        scores[metric] = _read_scores(files[metric], size, outputs, missing=False)

    # A reference's name has no dots: references/en-de.refA.txt.
    translations = {
        file.stem.removeprefix(f"{lp}."): file for file in sorted((folder / "references").glob(f"{lp}.*.txt"))
    }
    used = list(translations) if references is None else list(references)
    for reference in used:
        _known(reference, translations, f"{folder}: reference")

    builder = Builder(name or folder.name, Problems(), wanted)
    texts: dict[Path, list[str]] = {folder / "sources" / f"{lp}.txt": source}
    if level == "seg":
        texts |= {file: line_list(file) for file in (*outputs.values(), *(translations[key] for key in used))}
        check_line_counts({path: len(lines) for path, lines in texts.items()})
    places = _read_documents(folder / "documents" / f"{lp}.docs", len(source)) if level == "seg" else []
    for system, output in outputs.items():
        for i in range(size):
            values: dict[str, Given] = {key: column.get(system, [math.nan] * size)[i] for key, column in scores.items()}
            if level == "seg":
                values |= {"segment": str(i + 1), "source": source[i], "candidate": texts[output][i]}
                values |= {"domain": places[i][0], "document": places[i][1]} if places else {}
                if used:
                    values["references"] = [texts[translations[key]][i] for key in used]
            builder.add(lp=lp, system=system, human_system=int(system in translations), **values)
    own = [system for system in outputs if system in used]
    if own and level == "seg":
        builder.notes.append(f"{', '.join(own)}: system and reference at once; metrics give it the score of a copy")
    return builder.finish(str(folder))


def _known(name: str, names: Sequence[str] | dict[str, Path], what: str) -> None:
    if name not in names:
        raise UnknownNameError(
            f"{what} {name!r} is not one of {', '.join(names) or 'none'}.{did_you_mean(name, names)}"
        )


def _read_scores(path: Path, size: int, outputs: dict[str, Path], *, missing: bool) -> dict[str, list[float]]:
    """Read ``SYSTEM SCORE`` lines: for each system a block of ``size`` scores in the order of the segments."""
    scores: dict[str, list[float]] = {}
    for where, fields in delimited(NamedFile(path, found=True), None, Problems()):
        if len(fields) != 2:
            raise InputError(f"{where} has {len(fields)} fields, 2 are due: SYSTEM SCORE")
        system, value = fields
        if system not in outputs:
            raise InputError(f"{where}: there is no output of the system {system!r}")
        score = cells.number(value, where)
        if math.isnan(score) and not missing:
            raise InputError(f"{where}: metrics must score every segment, this is {value}")
        scores.setdefault(system, []).append(score)
    for system, values in scores.items():
        if len(values) != size:
            raise InputError(f"{system} has {len(values)} scores, {size} are due", file=path)
    return scores


def _read_documents(path: Path, size: int) -> list[tuple[str, str]]:
    """Return (domain, document) of each segment, or an empty list if the test set does not say."""
    if not path.is_file():
        return []
    places: list[tuple[str, str]] = []
    for where, fields in delimited(NamedFile(path, found=True), None, Problems()):
        if len(fields) != 2:
            raise InputError(f"{where} has {len(fields)} fields, 2 are due: DOMAIN DOCUMENT")
        places.append((fields[0], fields[1]))
    if len(places) != size:
        raise InputError(f"has {len(places)} lines, the sources have {size}", file=path)
    return places
