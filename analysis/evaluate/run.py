"""Systems and references in, the answer out: metrics chosen by evidence, scores, tests, segments, a report."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from bsx.analysis.compare.result import CompareResult
from bsx.analysis.compare.run import CompareRun, compared
from bsx.analysis.evaluate.result import Chosen, EvaluationResult, LookAt, SystemFigure, Why
from bsx.analysis.meta.result import MetaResult
from bsx.analysis.meta.run import MetaRun, judged
from bsx.analysis.present.forms import in_form
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.base import Evidence
from bsx.catalog.entries.models import LanguageEntry
from bsx.catalog.languages import find_language
from bsx.catalog.specs import read_spec, split_specs
from bsx.data.cells import is_missing, spelled
from bsx.data.corpus import Corpus
from bsx.data.frame import Frame
from bsx.data.long import USUAL, DocumentColumn, find_columns, rows_by_system
from bsx.data.output import atomic_text, make_folder
from bsx.data.run import as_one_run
from bsx.data.tables import Row, Table
from bsx.errors import InputError
from bsx.frames.metrics import detected, wanted_sides
from bsx.frames.open import Collected
from bsx.frames.settings import (
    HumanColumns,
    MetricSettings,
    Reported,
    TableSettings,
    TextColumns,
    TextFiles,
    on_table,
)
from bsx.frames.texts import Input
from bsx.metrics.base import find_metric
from bsx.models.evidence import spelled_figure
from bsx.models.ranking import select_model
from bsx.scoring.run import ScoredFiles, score_files
from bsx.support.checks import Array
from bsx.support.provenance import Provenance, provenance
from bsx.support.settings import Option, build_config, part
from bsx.support.untyped import to_json

_LEFT = re.compile(r"\..+\.bsx-[0-9a-f]{16}\.tmp")  # what a killed run leaves
_TEXT = 200  # rows by which a column of texts is known
_LOOK = 2  # segments to look at of each kind
_SCORES, _RESULT, _REPORT, _TABLE = "scores.tsv", "evaluation.json", "report.html", "table.tex"
_OTHERS = (_REPORT, _TABLE, "compare.json", "meta.json")


class EvaluateRun(Reported, DocumentColumn, HumanColumns, TextColumns, TextFiles, MetricSettings, TableSettings):
    """Systems to evaluate; all that is not given is found or chosen."""

    output: Annotated[
        Path | str,
        Field(description="Folder of report, table for a paper, scores and results."),
        Option(("-o",), folder=True, writable=True),
    ] = "evaluation"


@on_table(EvaluateRun)
@as_one_run
def evaluate(settings: EvaluateRun) -> EvaluationResult:
    """Evaluate systems: scores by metrics chosen for the language, tests, correlation with human scores, a report.

    What a run that was stopped had scored is taken up by the next one with the same output.

    Args:
        settings: see `EvaluateRun`.

    Raises:
        InputError: if texts, language or metrics cannot be used, or the folder holds other files.
    """
    folder, notes = Path(settings.output), list[str]()
    _refuse_foreign(folder)
    catalog = load_registry(settings.registry)
    texts = _texts(settings)
    human = _human(settings, texts)
    sides = frozenset(
        name for name, there in (("reference", texts.reference or texts.references), ("source", _has_source(texts)))
        if there
    )  # fmt: skip
    with texts.open(sides, keep_rows=True) as corpus:
        told: list[str] = []
        asked = detected(settings, corpus, told.append)
        asked = asked.model_copy(update={"lang": asked.lang or "auto"})
        code = detected(asked, corpus, told.append).lang
        language = find_language(str(code), catalog)
        specs, model, evidence = _chosen(settings, language, catalog, sides)
        frame = _long(corpus, human, texts.files())
        frame, more = _ranked(frame, human, required=bool(settings.human))
        notes += more
    document = frame.column("document")
    labels = frame.read([], ["system", "id", document])
    systems, segments = (list(map(str, labels[name])) for name in ("system", "id"))
    if document is not None:
        segments = frame.numbered(segments, labels[document], systems)
    names = list(dict.fromkeys(systems))
    rows_by_system(settings.table_name or "texts", systems, segments, (), frame.shared_texts())
    if len(names) > 1 and len(systems) < 2 * len(names):
        raise InputError("1 segment is too few to compare systems: at least 2 are needed", file=settings.table_name)
    people = list(frame.roles["human"])
    controls = (["length", "overlap"] if "reference" in sides else ["length-qe"]) if people else []
    controls = [name for name in controls if name not in specs]
    own = {**part(settings, MetricSettings), "lang": language.code, "model": model, "metrics": [*specs, *controls]}
    scored, frame = _score(frame, own, make_folder(folder) / _SCORES, settings)
    for name in (_RESULT, *_OTHERS):  # those of an earlier run never stand beside other scores
        (folder / name).unlink(missing_ok=True)
    notes += scored.notes()[1 if len(names) > 1 else 0 :]
    compare = meta = None
    if len(names) > 1:
        asked_for = {key: value for key, value in frame.scores.items() if key in specs}
        of_specs = {key: value for key, value in frame.signatures.items() if key in specs}
        compare = compared(
            replace(frame, scores=asked_for, signatures=of_specs),
            build_config({"all_pairs": True, "registry": settings.registry}, CompareRun),
        )
    if people:
        missing = bool(np.isnan(np.asarray(frame.read(people)[people[0]], dtype=np.float64)).any())
        given = {"metrics": own["metrics"], "sentinels": controls, "human": people, "registry": settings.registry}
        one = judged(frame, build_config({**given, **({"nan": "omit"} if missing else {})}, MetaRun))
        assert isinstance(one, MetaResult)  # noqa: S101 - for the type checker; there is one column
        meta = one
    looked = tuple(_look(frame, specs, compare, names, segments))
    summary = scored.to_dict()
    of = {entry["metric"]: entry for entry in summary["metrics"]}
    figures = tuple(
        SystemFigure(
            spec, one["system"] if len(names) > 1 else names[0], one.get("n", summary["segments"]), one["score"]
        )
        for spec in specs
        for one in of[spec]["scores"]
    )

    def known(kind: str) -> dict[str, Any]:
        origin = Provenance.read(provenance(kind, texts.files(), frame.signatures))
        return {"signatures": frame.signatures, "provenance": origin}

    written = [_SCORES, _RESULT, _REPORT, _TABLE]
    written += [f"{name}.json" for name, one in (("compare", compare), ("meta", meta)) if one is not None]
    result = EvaluationResult(
        language=language.code,
        detected=told[0] if told else None,
        metrics=tuple(specs),
        model=model if any(entry.get("signature", "").find("model:") >= 0 for entry in of.values()) else None,
        evidence=None if evidence is None else spelled_figure(evidence),
        scores=figures,
        compare=compare if compare is None else replace(compare, **known("compare")),
        meta=meta if meta is None else replace(meta, **known("meta")),
        segments=looked,
        choices=tuple(
            _choices(settings, texts, human if people else (), language, specs, model, names, controls, frame)
        ),
        files=tuple(sorted(written)),
        given=bool(settings.metrics) or settings.model is not None,
        notes=tuple(dict.fromkeys(notes)),
        **known("evaluate"),
    )
    _write(result, folder)
    return result


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds something, unless an evaluation wrote into it or was stopped there."""
    if folder.is_dir() and any(not _LEFT.fullmatch(path.name) for path in folder.iterdir()):
        ours = (_RESULT, f"{_SCORES}.partial", f"{_SCORES}.signatures.json")
        if not any((folder / name).exists() for name in ours):
            raise InputError("holds files of something else: name a new folder (output)", file=folder)
    elif folder.exists() and not folder.is_dir():
        raise InputError("is no folder: name a new one (output)", file=folder)


def _ranked(frame: Frame, human: Sequence[str], *, required: bool) -> tuple[Frame, list[str]]:
    """Return the rows without human scores that rank nothing, and what is said of it.

    Raises:
        InputError: if they are required.
    """
    column = frame.column("human")
    if column is None:
        return frame, []
    values = np.asarray(frame.read([column])[column], dtype=np.float64)
    found = {float(value) for value in values if not np.isnan(value)}
    if len(found) > 1:
        return frame, []
    holds = f"the value {found.pop():g} in every row" if found else "no value"
    said = f"human scores ({', '.join(human)}) have {holds}: nothing can be correlated with them"
    if required:
        raise InputError(said)
    return replace(frame, roles={**frame.roles, "human": []}), [said]


def _has_source(texts: Input) -> bool:
    return texts.sources is not None or texts.source is not None


def _texts(settings: EvaluateRun) -> Input:
    """Return what is read, with columns found by their usual names, and those of several systems by their texts."""
    given = {name: value for name, value in part(settings, Input).items() if name != "progress"}
    if settings.table is None or settings.candidates or settings.references or settings.sources is not None:
        return build_config(given, Input)
    if settings.table_name == "-":
        raise InputError("a table is read more than once: name a file")
    table = Table(settings.table, first_line=True)
    roles = ("system", "segment", "document", "candidate", "reference", "source")
    found = find_columns(table.columns, {name: getattr(settings, name) for name in roles}, *roles)
    if not found["reference"]:
        found["reference"] = [name for name in table.columns if re.fullmatch(r"ref(erence)?(\w|[-_ ]\w+)?", name)]
        found["reference"] = _text_columns(table, found["reference"], repeated=True)
    if not (found["reference"] or found["source"]):
        there = ", ".join(table.columns)
        raise InputError(
            f"no references and no sources: reference or source names the column; it has {there}", file=table.name
        )
    if not found["candidate"]:
        taken = {*(name for names in found.values() for name in names), *settings.human}
        taken |= {name for names in USUAL.values() for name in names}
        found["candidate"] = _text_columns(
            table, [name for name in table.columns if name not in taken and not re.match(r"(ref|src|source)", name)]
        )
        if not found["candidate"]:
            raise InputError(
                f"no column of candidates is found: candidate names them; it has {', '.join(table.columns)}",
                file=table.name,
            )
    several = len(found["candidate"]) > 1
    if several and settings.system is None:
        found["system"] = []
    if found["system"] and not found["segment"]:
        raise InputError(
            f"segment names the column of segments; it has {', '.join(table.columns)}",
            file=table.name,
            setting="segment",
        )
    one = {name: next(iter(found[name]), None) for name in ("system", "segment", "document", "source")}
    made = {**given, **one, "candidate": found["candidate"], "reference": found["reference"]}
    return build_config(
        {name: value for name, value in made.items() if name == "table" or value not in (None, [])}, Input
    )


def _text_columns(table: Table, columns: Sequence[str], *, repeated: bool = False) -> list[str]:
    """Return the columns that hold texts: not numbers, most of them different unless they may be repeated."""
    cells: dict[str, list[str]] = {name: [] for name in columns}
    for place, row in enumerate(table.rows(*columns, only=True) if columns else ()):
        if place == _TEXT:
            break
        for name in columns:
            cells[name].append("" if is_missing(row[name]) else spelled(row[name]))
    return [
        name
        for name, values in cells.items()
        if (repeated or len({*values}) > len(values) / 2)
        and sum(_is_number(value) for value in values) < len(values) / 2
    ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _human(settings: EvaluateRun, texts: Input) -> list[str]:
    """Return the columns of human scores, one for each column of candidates.

    Raises:
        InputError: for another number of columns.
    """
    if texts.table is None:
        if settings.human:
            raise InputError("human names columns of a table, which is missing", setting="human")
        return []
    columns = Table(texts.table, first_line=True).columns
    several = len(texts.candidate) > 1
    if settings.human:
        found = list(settings.human)
    elif several:
        found = [name for name in (f"{system}_human" for system in texts.candidate) if name in columns]
    else:
        found = find_columns(columns, {}, "human")["human"]
    if found and len(found) != len(texts.candidate):
        raise InputError(
            f"human names {len(found)} columns, and there are {len(texts.candidate)} of candidates", setting="human"
        )
    return found


def _chosen(
    settings: EvaluateRun, language: LanguageEntry, catalog: Catalog, sides: frozenset[str]
) -> tuple[list[str], str | None, Evidence | None]:
    """Return metrics, model, and the figure in this language that speaks for the model."""
    specs = [spec for text in settings.metrics for spec in split_specs(text)]
    model, evidence = None if settings.model is None else str(settings.model), None
    lexical = [
        find_metric(read_spec(spec)[0], catalog)[0].__module__.startswith("bsx.metrics.lexical") for spec in specs
    ]
    if model is None and not (specs and all(lexical)):
        try:
            ranked = select_model(language.code, prefer="quality", available=True, registry=settings.registry).ranking[
                0
            ]
        except InputError:
            pass  # no model that knows the language is here
        else:
            model, codes = ranked.entry.name, (language.code, language.code.partition("-")[0])
            evidence = ranked.evidence if ranked.evidence and ranked.evidence.language in codes else None
    if not specs and "reference" in sides:
        specs = ["chrf"] if model is None else ["bertscore", "chrf"]
    elif not specs:
        if model is None or (catalog.find(model) is not None and len(catalog.model(model).languages) < 2):
            raise InputError("no references, and no model of several languages is here: name metrics, or references")
        specs, evidence = ["sentence-qe"], None  # figures speak for BERTScore
    wanted = wanted_sides(specs, build_config(part(settings, MetricSettings), MetricSettings))
    for side in sorted(wanted - sides):
        raise InputError(f"metrics: {', '.join(specs)} need a {side}, and there is none", setting="metrics")
    return specs, model, evidence


def _long(corpus: Corpus, human: Sequence[str], files: Sequence[str]) -> Frame:
    """Return a row for each system and segment, in memory."""
    wide, source, name = len(corpus.systems) > 1, "source" in corpus.has, "human"
    if human:
        ends = {
            column.removeprefix(system).lstrip("_-. ") for system, column in zip(corpus.systems, human, strict=True)
        }
        name = next(iter(ends)) if len(ends) == 1 and ends != {""} else "human"
        name = "human" if name in ("system", "id", "document", "source", "candidate", "reference") else name
    most = max((len(segment.references) for segment in corpus), default=0)
    references = ["reference" if one == 0 else f"reference{one + 1}" for one in range(most)]
    columns: dict[str, list[object]] = {}
    for segment in corpus:
        for place, system in enumerate(corpus.systems):
            cells: dict[str, object] = {"system": system if wide or not segment.system else segment.system}
            cells |= {"id": segment.id, **({} if segment.document is None else {"document": segment.document})}
            cells |= {"candidate": segment.candidates[place], **({"source": segment.source} if source else {})}
            cells |= dict(zip(references, [*segment.references, *[""] * most], strict=False))
            if human and isinstance(segment.row, Row):
                segment.row.number(human[place])  # a bad cell is named where it stands
                cells[name] = segment.row[human[place]]
            for column, cell in cells.items():
                columns.setdefault(column, []).append(cell)
    roles = {"system": ["system"], "segment": ["id"], "candidate": ["candidate"], "reference": references}
    roles |= {"source": ["source"] * source, "human": [name] if human else []}
    return Frame(Table(columns), {**roles, "document": ["document"] * ("document" in columns)}, files=files)


def _score(frame: Frame, own: Mapping[str, object], out: Path, settings: EvaluateRun) -> tuple[ScoredFiles, Frame]:
    """Score the rows once, write them, and return them with their scores."""
    collected = Collected()
    named: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    wanted = wanted_sides(list(named["metrics"]), build_config(named, MetricSettings))
    scored = score_files(
        table=frame.table,
        **named,
        candidate=["candidate"],
        reference=frame.roles["reference"] if "reference" in wanted else [],
        source="source" if "source" in wanted else None,
        system="system",
        segment="id",
        output=out,
        resume=True,
        blocks=collected.add,
        origin=frame.files,
        progress=settings.progress,
        say=settings.say,
    )
    return scored, collected.put(frame, scored.prepared, scored.tally)


def _look(
    frame: Frame, specs: Sequence[str], compare: CompareResult | None, names: Sequence[str], segments: Sequence[str]
) -> list[LookAt]:
    """Return a few segments to look at, with their texts."""
    against = next(iter([*frame.roles["reference"], *frame.roles["source"]]))
    read = frame.read(specs, ["system"], ["candidate", against])
    systems = np.array(read["system"], dtype=object)
    sign = {spec: -1 if spec in frame.lower else 1 for spec in specs}
    values = {spec: np.asarray(read[spec], dtype=np.float64) for spec in specs}
    first = values[specs[0]] * sign[specs[0]]
    best = list(names)
    if compare is not None:
        best = [s.system for s in sorted(compare.metrics[0].systems, key=lambda s: -s.score * sign[specs[0]])]
    found: list[tuple[Why, int, str | None, float | None]] = []
    mine = np.flatnonzero(systems == best[0])
    found += [("lowest", int(row), None, None) for row in mine[np.argsort(first[mine], kind="stable")[:_LOOK]]]
    if len(best) > 1:
        theirs = {segments[int(row)]: int(row) for row in np.flatnonzero(systems == best[1])}
        apart = sorted((-abs(first[row] - first[theirs[segments[int(row)]]]), int(row)) for row in mine)
        rows = [row for _, row in apart[:_LOOK]]
        found += [("difference", row, best[1], float(values[specs[0]][theirs[segments[row]]])) for row in rows]
    if len(specs) > 1:
        second = values[specs[1]] * sign[specs[1]]
        gap = np.nan_to_num(-np.abs(_standard(first) - _standard(second)))
        order = np.argsort(gap, kind="stable")[:_LOOK]
        found += [("disagreement", int(row), specs[1], float(values[specs[1]][row])) for row in order]
    own, texts = values[specs[0]], list(zip(read["candidate"], read[against], strict=True))
    return [
        LookAt(why, segments[row], str(systems[row]), float(own[row]), *texts[row], other, score)
        for why, row, other, score in found
    ]


def _standard(values: Array) -> Array:
    spread = float(np.std(values))
    return (values - np.mean(values)) / spread if spread > 0 else values * 0.0


def _choices(
    settings: EvaluateRun,
    texts: Input,
    human: Sequence[str],
    language: LanguageEntry,
    specs: Sequence[str],
    model: str | None,
    names: Sequence[str],
    controls: Sequence[str],
    frame: Frame,
) -> list[Chosen]:
    """Return each choice with the option that changes it, and the commands that give the same figures."""
    wants = wanted_sides(specs, build_config(part(settings, MetricSettings), MetricSettings))
    shown: list[str] = [] if texts.table_name is None else [texts.table_name]
    for name in ("candidates", "references", "candidate", "reference"):
        if name.startswith("reference") and "reference" not in wants:
            continue
        own = list(getattr(texts, name))
        if name.endswith("s"):
            shown += [word for file in own for word in (f"--{name}", file)]
        elif own not in ([], [name]):
            shown += [f"--{name}", ",".join(own)]
    if "source" in wants and texts.sources is not None:
        shown += ["--sources", texts.sources]
    elif "source" in wants and texts.source not in (None, "source"):
        shown += ["--source", str(texts.source)]
    wide = len(texts.candidate) > 1
    for name in ("system", "segment", "document"):
        value = getattr(texts, name)
        usual = getattr(settings, name) is None and value in USUAL[name]
        if value is not None and not usual and not (wide and name == "segment"):
            shown += [f"--{name}", value]
    run = ["--metrics", ",".join(specs), "--lang", language.code, *([] if model is None else ["--model", model])]
    result = [
        Chosen("language", language.code, "--lang CODE"),
        Chosen("metrics", ", ".join(specs), "--metrics NAME,…"),
    ]
    if model is not None:
        result.append(Chosen("model", model, f"--model NAME; bsx models --lang {language.code} lists them"))
    result.append(Chosen("systems", ", ".join(names), "--candidate NAME,…" if wide else "--system COLUMN"))
    if "reference" in wants and len(texts.reference) > 1:
        result.append(Chosen("references", ", ".join(texts.reference), "--reference NAME,…"))
    if human:
        result.append(Chosen("judged by", ", ".join(human), "--human NAME,…"))
    if any("," in name for name in (*texts.candidate, *texts.reference, *human)):
        return result  # a command line cannot name such a column
    if len(names) > 1:
        result.append(Chosen("tests", "all pairs, Holm", shlex.join(["bsx", "compare", *shown, *run, "--all-pairs"])))
    if human:
        asked = ["--human", ",".join(human), *(["--sentinels", ",".join(controls)] if controls else [])]
        missing = np.isnan(
            np.asarray(frame.read(frame.roles["human"])[frame.roles["human"][0]], dtype=np.float64)
        ).any()
        asked += ["--nan", "omit"] if missing else []
        result.append(Chosen("correlation", "Pearson's r", shlex.join(["bsx", "meta", *shown, *run, *asked])))
    return result


def _write(result: EvaluationResult, folder: Path) -> None:
    """Write results, report and the table for a paper, each when it is complete."""
    from bsx.analysis.report.run import report

    documents: list[Path | str] = [folder / _SCORES]
    tables = []
    for name, one in (("compare", result.compare), ("meta", result.meta)):
        if one is None:
            continue
        with atomic_text(folder / f"{name}.json", own=True) as stream:
            stream.write(to_json(one.to_dict()) + "\n")
        documents.append(folder / f"{name}.json")
        tables.append(in_form(one, "latex", full=False))
    with atomic_text(folder / _TABLE, own=True) as stream:
        stream.write("\n".join(tables or [in_form(result, "latex", full=False)]).rstrip("\n") + "\n")
    human = None if result.meta is None else result.meta.human
    report(files=documents, output=folder / _REPORT, human=human)
    with atomic_text(folder / _RESULT, own=True) as stream:
        stream.write(to_json(result.to_dict()) + "\n")
