"""The folder layout of mt-metrics-eval: one folder a test set, one file a system, one file a scorer; and as tables."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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
    source_file, outputs = _source_and_outputs(folder, lp)
    source = _texts(source_file, "source")
    size = len(source) if level == "seg" else 1
    scorers, files = _score_files(folder, lp, level)
    if human is None and len(scorers) != 1:
        raise InputError(f"say which human scores (human): there are {', '.join(scorers) or 'none'}", file=folder)
    judged_by = "all" if human == "all" else [next(iter(scorers)) if human is None else human]
    scores = {
        scorer if human == "all" else "human": _read_scores(scorers[scorer], size, outputs, missing=True)
        for scorer in _chosen(judged_by, scorers, f"{folder}: human scores")
    }
    wanted = _chosen(metrics, files, f"{folder}: metric")
    scores |= {metric: _read_scores(files[metric], size, outputs, missing=False) for metric in wanted}
    # A reference's name has no dots: references/en-de.refA.txt.
    translations = _files(folder / "references", f"{lp}.")
    used = _chosen(references, translations, f"{folder}: reference")

    builder = Builder(folder, name or folder.name)
    builder.metrics = wanted
    texts: dict[Path, list[str]] = {source_file: source}
    if level == "seg":
        texts |= {file: _texts(file, "hypothesis") for file in outputs.values()}
        texts |= {translations[key]: _texts(translations[key], "target") for key in used}
        check_line_counts({path: len(lines) for path, lines in texts.items()})
    places: list[tuple[str, str]] = []  # domain and document of each segment, if the test set says
    if level == "seg" and (listed := folder / "documents" / f"{lp}.docs").is_file():
        places = [(domain, document) for _, domain, document in _two_fields(listed, "DOMAIN DOCUMENT")]
        if len(places) != size:
            raise InputError(f"has {len(places)} lines, the sources have {size}", file=listed)
    for row, (system, output) in enumerate(outputs.items()):
        for i in range(size):
            values: dict[str, Given] = {key: float(column[row, i]) for key, column in scores.items()}
            if level == "seg":
                values |= {"segment": str(i + 1), "source": source[i], "candidate": texts[output][i]}
                values |= {"domain": places[i][0], "document": places[i][1]} if places else {}
                values |= {"references": [texts[translations[key]][i] for key in used]} if used else {}
            builder.add(lp=lp, system=system, human_system=int(system in translations), **values)
    both = [system for system in outputs if system in used]
    if both and level == "seg":
        builder.notes.append(f"{', '.join(both)}: system and reference at once; metrics give it the score of a copy")
    return builder.finish()


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
    known = load_scores(folder, lp, human)
    every = known.metrics["seg"]
    wanted = _chosen(metrics, every, f"{folder}: metric")
    used = _chosen(references, known.references, f"{folder}: reference")
    builder = Builder(folder, name or folder.name)
    builder.metrics = wanted
    columns = [f"reference_{reference}" for reference in used]
    file = _tables(folder, lp, "texts")["texts"]
    table = builder.table(file, "system", "seg", "doc", "domain", "source", "candidate", *columns)
    due = {(s, t): (i, j) for i, s in enumerate(known.systems) for j, t in enumerate(known.segments)}
    seen: set[tuple[str, str]] = set()
    for row in table.rows():
        system, segment = row.name("system"), row.name("seg")
        if (system, segment) not in due:
            raise InputError(f"{row.where}: there are no human scores of system {system!r}, segment {segment!r}")
        if (system, segment) in seen:
            raise InputError(f"{row.where}: system {system!r}, segment {segment!r} stands there twice")
        seen.add((system, segment))
        cell = due[system, segment]
        values: dict[str, Given] = {"segment": segment, "document": row.name("doc"), "domain": row.name("domain")}
        values |= {"source": row.text("source"), "candidate": row.text("candidate")}
        values |= {"references": [row.text(column) for column in columns]} if columns else {}
        values |= {metric: float(every[metric][cell]) for metric in wanted}
        score = float(known.human["seg"][human][cell])
        builder.add(lp=lp, system=system, human=score, human_system=int(system in known.references), **values)
    if len(seen) != len(due):
        raise InputError(f"has {len(seen):,} rows, {len(due):,} are due: systems x segments", file=file)
    return builder.finish()


def _source_and_outputs(folder: Path, lp: str) -> tuple[Path, dict[str, Path]]:
    """Return the file of sources of a language pair, and system -> file of outputs."""
    sources = _files(folder / "sources")
    # sources/ holds one file a pair; documents/, which newer test sets add, is optional.
    if not sources:
        raise InputError("has no files sources/*.txt; is this the folder of one test set?", file=folder)
    _known(lp, sources, f"{folder}: language pair")
    outputs = _files(folder / "system-outputs" / lp)
    if not outputs:
        raise InputError(f"{folder / 'system-outputs' / lp}: holds no system outputs")
    return sources[lp], outputs


def _score_files(folder: Path, lp: str, level: str) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return name -> file of human scores, and of scores of metrics."""
    end = f".{level}.score"
    humans = sorted((folder / "human-scores").glob(f"{lp}.*{end}"))
    metrics = sorted((folder / "metric-scores" / lp).glob(f"*{end}"))
    return (
        {file.name.removesuffix(end).removeprefix(f"{lp}."): file for file in humans},
        {file.name.removesuffix(end): file for file in metrics},
    )


def _files(folder: Path, prefix: str = "") -> dict[str, Path]:
    """Return name -> file of a folder of texts: .txt, a line a segment, or .jsonl, an object a segment."""
    files = [file for file in sorted(folder.glob(f"{prefix}*")) if file.suffix in (".txt", ".jsonl")]
    return {file.stem.removeprefix(prefix): file for file in files}


def _texts(file: Path, field: str) -> list[str]:
    """Return a text a segment; of .jsonl the field that mt-metrics-eval reads."""
    lines = line_list(file)
    if file.suffix == ".txt":
        return lines
    texts = []
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)[field]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file}: line {number} is no JSON object with the field {field!r}") from error
        texts.append(cells.text(value, f"{file}: line {number}"))
    return texts


def _known(name: str, names: Collection[str], what: str) -> None:
    if name not in names:
        raise UnknownNameError(
            f"{what} {name!r} is not one of {', '.join(names) or 'none'}.{did_you_mean(name, names)}"
        )


def _chosen(wanted: Sequence[str] | None, names: Collection[str], what: str) -> list[str]:
    """Return the names that are wanted, which must be known; all of them for None and ``all``."""
    chosen = list(names if wanted in (None, "all") else wanted or ())
    for name in chosen:
        _known(name, names, what)
    return chosen


def _two_fields(path: Path, names: str) -> Iterator[tuple[str, str, str]]:
    """Yield where each line of a file is, and its two fields, which are between white space."""
    for where, fields in delimited(NamedFile(path), None, Problems()):
        if len(fields) != 2:
            raise InputError(f"{where} has {len(fields)} fields, 2 are due: {names}")
        yield where, fields[0], fields[1]


def _read_scores(path: Path, size: int, systems: Collection[str], *, missing: bool) -> Array:
    """Return scores (systems, size), NaN for a system that has none.

    The file has ``SYSTEM SCORE`` lines: for each system a block of ``size`` scores in the order of the segments.
    """
    scores: dict[str, list[float]] = {}
    for where, system, value in _two_fields(path, "SYSTEM SCORE"):
        if system not in systems:
            raise InputError(f"{where}: there is no output of the system {system!r}")
        score = cells.number(value, where)
        if math.isnan(score) and not missing:
            raise InputError(f"{where}: metrics must score every segment, this is {value}")
        scores.setdefault(system, []).append(score)
    for system, values in scores.items():
        if len(values) != size:
            raise InputError(f"{system} has {len(values)} scores, {size} are due", file=path)
    return np.array([scores.get(system, [math.nan] * size) for system in systems])


@dataclass(frozen=True, eq=False)
class ScoreSet:
    """Human scores and scores of metrics of one language pair.

    Scores are given by level, ``seg`` or ``sys``, then by scorer or by the name of a metric's file, ``BLEU-refA``, as
    (systems, segments) or (systems, 1); NaN where there is none.
    """

    where: Path  # the folder, for messages
    lp: str
    systems: tuple[str, ...]  # all that have outputs, human translations among them
    segments: tuple[str, ...]  # their names, in order
    references: tuple[str, ...]  # a system of such a name is a human translation
    human: Mapping[str, Mapping[str, Array]]
    metrics: Mapping[str, Mapping[str, Array]]
    files: tuple[Path, ...]  # what was read


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
    """Return the folder of a test set: ``root`` itself, or below it as mt-metrics-eval or as a folder of tables."""
    archive = "mt-metrics-eval-v2"  # which `bsx data get` unpacks into a folder of its name in that of the data set
    above = ("", archive, f"mt-metrics-eval/{archive}", f"mt-metrics-eval/{archive}/{archive}")
    places = [root, *(root / part / test_set for part in above)]
    for place in places:
        if (place / "metric-scores").is_dir() or next(place.glob("*.metrics.tsv*"), None) is not None:
            return place
    raise DataUnavailableError(
        f"has no scores of {test_set}: looked for metric-scores, or tables PAIR.metrics.tsv, in it and in "
        f"{test_set} and mt-metrics-eval-v2/{test_set} below it",
        file=root,
    )


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
    source, outputs = _source_and_outputs(folder, lp)
    sizes = {"seg": len(line_list(source)), "sys": 1}
    people: dict[str, dict[str, Array]] = {"seg": {}, "sys": {}}
    metrics: dict[str, dict[str, Array]] = {"seg": {}, "sys": {}}
    read, scorers = list[Path](), dict[str, Path]()
    for level, size in sizes.items():
        humans, files = _score_files(folder, lp, level)
        scorers |= humans
        for name in {human} & humans.keys():
            people[level][name] = _read_scores(humans[name], size, outputs, missing=True)
            read.append(humans[name])
        for name, file in files.items():
            if wanted is None or references_of(name)[0] in wanted:
                metrics[level][name] = _read_scores(file, size, outputs, missing=False)
                read.append(file)
    _known(human, scorers, f"{folder}: {lp}: human scores")
    references = tuple(_files(folder / "references", f"{lp}."))
    segments = tuple(str(number) for number in range(1, sizes["seg"] + 1))
    return ScoreSet(folder, lp, tuple(outputs), segments, references, people, metrics, tuple(read))


def _tables(folder: Path, lp: str, *needed: str) -> dict[str, Path]:
    """Return kind -> file of the tables that are there."""
    kinds = ("human", "metrics", "sys", "sentinels", "sentinels.sys", "texts")
    names = [(kind, folder / f"{lp}.{kind}.tsv{end}") for kind in kinds for end in ("", ".gz")]
    tables = {kind: file for kind, file in names if file.is_file()}
    for kind in needed:
        if kind not in tables:
            raise InputError(f"has no table {lp}.{kind}.tsv or .tsv.gz", file=folder)
    return tables


def _scores_of_tables(folder: Path, lp: str, human: str, wanted: Collection[str] | None) -> ScoreSet:
    """Read tables: PAIR.texts, PAIR.human, PAIR.metrics, PAIR.sys, and further ones such as PAIR.sentinels."""
    tables = _tables(folder, lp, "human", "metrics", "sys")
    texts, keys_and_scores = tables.pop("texts", None), ("system", "seg", "mqm", "da-sqm", human)
    judged = read_columns(tables["human"], [], ["system"], keys=["seg"])
    systems, segments = (list(dict.fromkeys(map(str, judged[key]))) for key in ("system", "seg"))
    scores: dict[str, dict[str, dict[str, Array]]] = {kind: {"seg": {}, "sys": {}} for kind in ("human", "metrics")}
    for kind, file in tables.items():
        level, keys = ("sys", ["system"]) if kind.endswith("sys") else ("seg", ["system", "seg"])
        due = list(product(*[systems, segments][: len(keys)]))
        names = {}  # column -> name of the metric, which for a learned sentinel says what it sees
        for name in () if kind == "human" else Table(file).columns:
            sees = (STANDARD if "-REF-" in name else "src") if kind.startswith("sentinels") else ""
            full = f"{name}-{sees}" if sees else name
            if name not in keys_and_scores and (wanted is None or references_of(full)[0] in wanted):
                names[name] = full
        judged_by = [human] if kind in ("human", "sys") else []
        columns = read_columns(file, [*judged_by, *names], ["system"], keys=keys[1:])
        rows = list(zip(*(map(str, columns[key]) for key in keys), strict=True))
        if sorted(rows) != sorted(due):
            of = f"each of the systems{' x segments' * (level == 'seg')} of {tables['human'].name} once"
            raise InputError(f"has {len(rows)} rows, {len(due)} are due: {of}", file=file)
        place = {row: number for number, row in enumerate(rows)}
        order = [place[row] for row in due]
        grids = {name: np.asarray(columns[name])[order].reshape(len(systems), -1) for name in [*judged_by, *names]}
        scores["human"][level] |= {name: grids[name] for name in judged_by}
        scores["metrics"][level] |= {full: grids[name] for name, full in names.items()}
    heads = Table(texts).columns if texts is not None else []
    references = tuple(name.removeprefix("reference_") for name in heads if name.startswith("reference_"))
    files = tuple(tables.values())
    return ScoreSet(folder, lp, tuple(systems), tuple(segments), references, scores["human"], scores["metrics"], files)
