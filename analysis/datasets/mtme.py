"""The folder layout of mt-metrics-eval: one folder a test set, one file a system, one file a scorer; and as tables."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable
from bsx.data import cells
from bsx.data.columns import read_columns
from bsx.data.lines import NamedFile, Problems, check_line_counts, line_list
from bsx.data.tables import Table, delimited
from bsx.errors import DataUnavailableError, InputError, UnknownNameError, did_you_mean
from bsx.support.checks import Array

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
        human: the human scores, e.g. ``mqm`` or ``wmt-z``; may be left out if there is only one kind. ``all``: each
            kind is a column of its own name.
        metrics: metrics by the names of their files, e.g. ``BLEU-refA``, or ``"all"``.
        references: names of the references to load, in this order; all of them, sorted by name, unless given.
        name: name of the data set; the test set's unless given.

    Raises:
        InputError: naming file, line and reason of a malformed line, or scores that do not fit the texts.
        UnknownNameError: for a language pair, scorer or reference that does not exist; lists those that do.
    """
    folder = Path(path) / testset if testset is not None else Path(path)
    sources = _files(folder / "sources")
    # sources/ holds one file a pair; documents/, which newer test sets add, is optional.
    if not sources:
        raise InputError("has no files sources/*.txt; is this the folder of one test set?", file=folder)
    _known(lp, sources, f"{folder}: language pair")
    source = _texts(sources[lp], "source")
    outputs = _files(folder / "system-outputs" / lp)
    if not outputs:
        raise InputError(f"{folder / 'system-outputs' / lp}: holds no system outputs")
    size = len(source) if level == "seg" else 1

    scorers = {
        file.name.removesuffix(f".{level}.score").removeprefix(f"{lp}."): file
        for file in sorted((folder / "human-scores").glob(f"{lp}.*.{level}.score"))
    }
    if human is None and len(scorers) != 1:
        raise InputError(f"say which human scores (human): there are {', '.join(scorers) or 'none'}", file=folder)
    if human == "all":
        scores = {name: _read_scores(file, size, outputs, missing=True) for name, file in scorers.items()}
    else:
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
    translations = _files(folder / "references", f"{lp}.")
    used = list(translations) if references is None else list(references)
    for reference in used:
        _known(reference, translations, f"{folder}: reference")

    builder = Builder(name or folder.name, Problems(), wanted)
    texts: dict[Path, list[str]] = {sources[lp]: source}
    if level == "seg":
        texts |= {file: _texts(file, "hypothesis") for file in outputs.values()}
        texts |= {translations[key]: _texts(translations[key], "target") for key in used}
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


def load_mt_metrics_eval_tables(
    path: Path | str,
    lp: str,
    *,
    human: str,
    metrics: Sequence[str] | Literal["all"] = "all",
    references: Sequence[str] | None = None,
    name: str | None = None,
) -> JudgedTable:
    """Load one language pair of a test set that lies as tables: texts, human scores and scores of metrics of segments.

    Args:
        path: the folder with ``PAIR.texts.tsv``, ``PAIR.human.tsv``, ``PAIR.metrics.tsv`` and ``PAIR.sys.tsv``, each
            perhaps gzipped, and ``PAIR.sentinels.tsv`` if it is there; or one of these files.
        lp: the language pair.
        human: the human scores, such as ``mqm``.
        metrics: metrics by the names of their columns, e.g. ``BLEU-refA``, or ``"all"``.
        references: names of the references to load, in this order; all of them unless given.
        name: name of the data set; the folder's unless given.

    Raises:
        InputError: naming file, line and reason of a malformed line, or tables that do not fit each other.
        UnknownNameError: for a language pair, metric or reference that does not exist; lists those that do.
    """
    folder = Path(path).parent if Path(path).is_file() else Path(path)
    held = load_scores(folder, lp, human)
    every = held.metrics["seg"]
    wanted = list(every) if metrics == "all" else list(metrics)
    for metric in wanted:
        _known(metric, every, f"{folder}: metric")
    used = list(held.references) if references is None else list(references)
    for reference in used:
        _known(reference, held.references, f"{folder}: reference")
    file = next((f for f in (folder / f"{lp}.texts.tsv.gz", folder / f"{lp}.texts.tsv") if f.is_file()), None)
    if file is None:
        raise InputError(f"has no table {lp}.texts.tsv or .tsv.gz", file=folder)
    table, builder = Table(file), Builder(name or folder.name, Problems(), wanted)
    columns = [f"reference_{reference}" for reference in used]
    table.require("system", "seg", "doc", "domain", "source", "candidate", *columns)
    place = {segment: i for i, segment in enumerate(held.segments)}
    at = {system: i for i, system in enumerate(held.systems)}
    seen: set[tuple[int, int]] = set()
    for row in table.rows():
        system, segment = row.name("system"), row.name("seg")
        if system not in at or segment not in place:
            raise InputError(f"{row.where}: there are no human scores of system {system!r}, segment {segment!r}")
        cell = at[system], place[segment]
        if cell in seen:
            raise InputError(f"{row.where}: system {system!r}, segment {segment!r} stands there twice")
        seen.add(cell)
        values: dict[str, Given] = {"segment": segment, "document": row.name("doc"), "domain": row.name("domain")}
        values |= {"source": row.text("source"), "candidate": row.text("candidate")}
        values |= {"references": [row.text(column) for column in columns]} if columns else {}
        values["human"] = float(held.human["seg"][human][cell])
        values |= {metric: float(every[metric][cell]) for metric in wanted}
        builder.add(lp=lp, system=system, human_system=int(system in held.references), **values)
    if len(seen) != (due := len(at) * len(place)):
        raise InputError(f"has {len(seen):,} rows, {due:,} are due: systems x segments", file=file)
    return builder.finish(str(folder))


def _files(folder: Path, prefix: str = "") -> dict[str, Path]:
    """Return name -> file of a folder of texts: .txt, a line a segment, or .jsonl, an object a segment."""
    found = [file for file in sorted(folder.glob(f"{prefix}*")) if file.suffix in (".txt", ".jsonl")]
    return {file.stem.removeprefix(prefix): file for file in found}


def _texts(file: Path, field: str) -> list[str]:
    """Return a text a segment; of .jsonl the field that mt-metrics-eval reads."""
    lines = line_list(file)
    if file.suffix == ".txt":
        return lines
    texts = []
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)[field]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{file}: line {number} is no JSON object with the field {field!r}") from error
        texts.append(cells.text(value, f"{file}: line {number}"))
    return texts


def _known(name: str, names: Sequence[str] | Mapping[str, object], what: str) -> None:
    if name not in names:
        raise UnknownNameError(
            f"{what} {name!r} is not one of {', '.join(names) or 'none'}.{did_you_mean(name, names)}"
        )


def _read_scores(path: Path, size: int, outputs: dict[str, Path], *, missing: bool) -> dict[str, list[float]]:
    """Read ``SYSTEM SCORE`` lines: for each system a block of ``size`` scores in the order of the segments."""
    scores: dict[str, list[float]] = {}
    for where, fields in delimited(NamedFile(path), None, Problems()):
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
    for where, fields in delimited(NamedFile(path), None, Problems()):
        if len(fields) != 2:
            raise InputError(f"{where} has {len(fields)} fields, 2 are due: DOMAIN DOCUMENT")
        places.append((fields[0], fields[1]))
    if len(places) != size:
        raise InputError(f"has {len(places)} lines, the sources have {size}", file=path)
    return places


@dataclass(frozen=True, eq=False)
class ScoreSet:
    """Human scores and scores of metrics of one language pair.

    Attributes:
        where: the folder, for messages.
        lp: the language pair.
        systems: all that have outputs, human translations among them.
        segments: their names, in order.
        references: names of the references; a system of such a name is a human translation.
        human: level, ``seg`` or ``sys`` -> scorer -> (systems, segments) or (systems, 1); NaN where there is none.
        metrics: the same of metrics, by the names of their files, such as ``BLEU-refA``.
        files: what was read.
    """

    where: Path
    lp: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    references: tuple[str, ...]
    human: Mapping[str, Mapping[str, Array]]
    metrics: Mapping[str, Mapping[str, Array]]
    files: tuple[Path, ...]


STANDARD = "std"
"""What stands for the reference of a metric in tables that do not name it: the one that the protocol prescribes."""


def references_of(metric: str) -> tuple[str, frozenset[str] | None]:
    """Return a metric's own name and the references that it used; None for all, none for ``src``.

    >>> references_of("BLEU-refA")
    ('BLEU', frozenset({'refA'}))
    """
    base, _, used = metric.rpartition("-")
    return base, None if used == "all" else frozenset() if used == "src" else frozenset(used.split("."))


def find_scores(root: Path, test_set: str) -> Path:
    """Return the folder of a test set: ``root`` itself, or below it as mt-metrics-eval or as a folder of tables.

    Raises:
        DataUnavailableError: if there is none; says where it was looked for.
    """
    above = ("", "mt-metrics-eval-v2", "mt-metrics-eval/mt-metrics-eval-v2", *_DOWNLOADED)
    places = [root, *(root / part / test_set for part in above)]
    for place in places:
        if (place / "metric-scores").is_dir() or next(place.glob("*.metrics.tsv*"), None) is not None:
            return place
    raise DataUnavailableError(
        f"has no scores of {test_set}: looked for metric-scores, or tables PAIR.metrics.tsv, in it and in "
        f"{test_set} and mt-metrics-eval-v2/{test_set} below it",
        file=root,
    )


_DOWNLOADED = ("mt-metrics-eval/mt-metrics-eval-v2/mt-metrics-eval-v2",)
"""Where `bsx data get` unpacks the archive."""


def pairs_of_scores(folder: Path) -> list[str]:
    """Return the language pairs of a test set's folder."""
    if (folder / "metric-scores").is_dir():
        return sorted(place.name for place in (folder / "metric-scores").iterdir() if place.is_dir())
    return sorted(file.name.partition(".metrics.tsv")[0] for file in folder.glob("*.metrics.tsv*"))


def load_scores(folder: Path, lp: str, human: str, wanted: Collection[str] | None = None) -> ScoreSet:
    """Load the scores of one language pair, without texts.

    Args:
        folder: of the test set; see `find_scores`.
        lp: the language pair.
        human: the human scores, such as ``mqm``.
        wanted: metrics by their own names, without the reference; None: all.

    Raises:
        InputError: naming file, line and reason of a malformed line, or scores that do not fit the systems.
        UnknownNameError: for a language pair or human scores that are not there.
    """
    _known(lp, pairs_of_scores(folder), f"{folder}: language pair")
    if (folder / "metric-scores").is_dir():
        return _scores_of_files(folder, lp, human, wanted)
    return _scores_of_tables(folder, lp, human, wanted)


def _scores_of_files(folder: Path, lp: str, human: str, wanted: Collection[str] | None) -> ScoreSet:
    outputs = _files(folder / "system-outputs" / lp)
    if not outputs:
        raise InputError(f"{folder / 'system-outputs' / lp}: holds no system outputs")
    sources = _files(folder / "sources")
    _known(lp, sources, f"{folder / 'sources'}: language pair")
    segments = len(line_list(sources[lp]))
    sizes = {"seg": segments, "sys": 1}
    read: list[Path] = []

    def take(file: Path, level: str, *, missing: bool) -> Array:
        scores = _read_scores(file, sizes[level], outputs, missing=missing)
        read.append(file)
        blank = [math.nan] * sizes[level]
        return np.array([scores.get(system, blank) for system in outputs])

    people: dict[str, dict[str, Array]] = {"seg": {}, "sys": {}}
    metrics: dict[str, dict[str, Array]] = {"seg": {}, "sys": {}}
    there = []
    for level in sizes:
        for file in sorted((folder / "human-scores").glob(f"{lp}.*.{level}.score")):
            name = file.name.removesuffix(f".{level}.score").removeprefix(f"{lp}.")
            there.append(name)
            if name == human:
                people[level][name] = take(file, level, missing=True)
        for file in sorted((folder / "metric-scores" / lp).glob(f"*.{level}.score")):
            name = file.name.removesuffix(f".{level}.score")
            if wanted is None or references_of(name)[0] in wanted:
                metrics[level][name] = take(file, level, missing=False)
    _known(human, list(dict.fromkeys(there)), f"{folder}: {lp}: human scores")
    references = tuple(_files(folder / "references", f"{lp}."))
    names = tuple(str(number) for number in range(1, segments + 1))
    return ScoreSet(folder, lp, tuple(outputs), names, references, people, metrics, tuple(read))


def _scores_of_tables(folder: Path, lp: str, human: str, wanted: Collection[str] | None) -> ScoreSet:
    """Read tables: PAIR.texts, PAIR.human, PAIR.metrics, PAIR.sys, and further ones such as PAIR.sentinels."""

    def found(kind: str) -> Path | None:
        return next((f for f in (folder / f"{lp}.{kind}.tsv.gz", folder / f"{lp}.{kind}.tsv") if f.is_file()), None)

    def due(kind: str) -> Path:
        file = found(kind)
        if file is None:
            raise InputError(f"has no table {lp}.{kind}.tsv or .tsv.gz", file=folder)
        return file

    files = [due("human"), due("metrics"), due("sys")]
    where = read_columns(files[0], [human], ["system"], keys=["seg"])
    own = [str(name) for name in where["system"]]
    systems, segments = list(dict.fromkeys(own)), list(dict.fromkeys(where["seg"]))
    at = {name: i for i, name in enumerate(systems)}
    place = {name: i for i, name in enumerate(segments)}

    def grid(file: Path, columns: Mapping[str, Array | list[str]], name: str) -> Array:
        values = np.full((len(systems), len(segments)), np.nan)
        seen: set[tuple[str, str]] = set()
        for system, segment, value in zip(columns["system"], columns["seg"], columns[name], strict=True):
            if system not in at or segment not in place:
                raise InputError(
                    f"has system {system!r}, segment {segment!r}, which {files[0].name} has not", file=file
                )
            values[at[system], place[segment]] = value
            seen.add((system, segment))
        if len(seen) != values.size or len(columns[name]) != values.size:
            raise InputError(f"has {len(columns[name])} rows, {values.size} are due: systems x segments", file=file)
        return values

    metrics: dict[str, dict[str, Array]] = {"seg": {}, "sys": {}}
    people = {"seg": {human: grid(files[0], where, human)}, "sys": {}}
    for kind in ("metrics", "sentinels"):
        file = found(kind)
        if file is None:
            continue
        files += [] if file in files else [file]
        names = _scored(file, kind, ("system", "seg"), wanted)
        columns = read_columns(file, list(names), ["system"], keys=["seg"])
        metrics["seg"] |= {names[name]: grid(file, columns, name) for name in names}
    for kind in ("sys", "sentinels.sys"):
        file = found(kind)
        if file is None:
            continue
        files += [] if file in files else [file]
        names = _scored(file, kind, ("system", "mqm", "da-sqm", human), wanted)
        numbers = [human, *names] if kind == "sys" else list(names)
        columns = read_columns(file, numbers, ["system"])
        if sorted(map(str, columns["system"])) != sorted(systems):
            raise InputError(f"has other systems than {files[0].name}, or one of them twice", file=file)
        order = [list(columns["system"]).index(system) for system in systems]
        metrics["sys"] |= {names[name]: np.asarray(columns[name])[order][:, None] for name in names}
        if kind == "sys":
            people["sys"][human] = np.asarray(columns[human])[order][:, None]
    texts = found("texts")
    heads = Table(texts).columns if texts is not None else []
    references = tuple(name.removeprefix("reference_") for name in heads if name.startswith("reference_"))
    return ScoreSet(folder, lp, tuple(systems), tuple(map(str, segments)), references, people, metrics, tuple(files))


def _scored(file: Path, kind: str, others: Collection[str], wanted: Collection[str] | None) -> dict[str, str]:
    """Return column -> name of the metric, which for a learned sentinel says what it sees."""
    names = {}
    for name in Table(file).columns:
        if name in others:
            continue
        full = f"{name}-{STANDARD if '-REF-' in name else 'src'}" if kind.startswith("sentinels") else name
        if wanted is None or references_of(full)[0] in wanted:
            names[name] = full
    return names
