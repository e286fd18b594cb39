"""Systems and references in, the answer out: metrics chosen by evidence, scores, tests, segments, a report."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from bsx.analysis.compare.result import CompareResult
from bsx.analysis.compare.run import CompareRun, compared, paired
from bsx.analysis.evaluate.result import Chosen, EvaluationResult, LookAt, SystemFigure, Why
from bsx.analysis.meta.result import MetaResult
from bsx.analysis.meta.run import MetaRun, judged
from bsx.analysis.present.forms import in_form
from bsx.catalog.catalog import load_registry
from bsx.catalog.languages import find_language
from bsx.catalog.specs import split_specs
from bsx.data.corpus import Corpus
from bsx.data.frame import Frame
from bsx.data.long import DocumentColumn
from bsx.data.open import open_table
from bsx.data.output import ScoreTable, atomic_text, make_folder
from bsx.data.run import as_one_run
from bsx.errors import InputError
from bsx.frames.guesses import with_guesses
from bsx.frames.metrics import detected, encoding, wanted_sides
from bsx.frames.open import OF_TEXTS, corpus_of, open_frame
from bsx.frames.settings import HumanColumns, MetricSettings, Reported, TableSettings, TextColumns, TextFiles, on_table
from bsx.metrics.run import Prepared, ScoredBlock, block_tokens
from bsx.models.ranking import select_model
from bsx.scoring.rows import keeping, kept_blocks
from bsx.scoring.run import computed
from bsx.support.progress import Progress, Say
from bsx.support.provenance import Provenance, Signature, provenance
from bsx.support.settings import Option, build_config
from bsx.support.untyped import JsonObject, to_json

Given = TypeVar("Given", bound=MetricSettings)
_LEFT = re.compile(r"\..+\.bsx-[0-9a-f]{16}\.tmp")  # what a killed run leaves
_LOOK = 2  # segments to look at of each kind
_SCORES, _RESULT, _REPORT, _TABLE = "scores.tsv", "evaluation.json", "report.html", "table.tex"
_COLUMNS = ("system", "id", "document", "source", "candidate", "reference")  # of the table of scores
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
    folder, given, notes, languages = Path(settings.output), settings, list[str](), list[str]()
    specs: list[str] = [spec for text in settings.metrics for spec in split_specs(text)]
    evidence: str | None = None
    people: list[str] = []  # columns of human scores by which metrics can be judged
    _refuse_foreign(folder)
    table = None if settings.table is None else open_table(settings.table)  # held: standard input is read but once
    if table is not None:
        settings = with_guesses(settings, table)
    elif settings.human:
        raise InputError("human names columns of a table, which is missing", setting="human")

    def chosen(frame: Frame, settings: EvaluateRun) -> tuple[Frame, EvaluateRun]:
        """Check all that can be checked, and choose the metrics, before anything is scored or written."""
        nonlocal specs, evidence, people
        sides = frozenset(side for side in ("reference", "source") if frame.roles[side])
        people = list(frame.roles["human"])
        if len(people) > 1:
            raise InputError(f"human names {len(people)} columns, and there are 1 of candidates", setting="human")
        # Whoever names columns here says where things stand, and not how rows go together.
        frame = replace(frame, named=frozenset())
        column = frame.column("system")
        systems = frame.read([], [column])[column] if column is not None else []
        if len({*systems}) > 1:
            paired(frame, build_config({}, CompareRun))
            if len(systems) < 2 * len({*systems}):
                raise InputError("1 segment is too few to compare systems: at least 2 are needed", file=frame.name)
        if people:
            values = np.asarray(frame.read(people)[people[0]], dtype=np.float64)
            scores = {float(value) for value in values if not np.isnan(value)}
            if len(scores) < 2:
                holds = f"the value {scores.pop():g} in every row" if scores else "no value"
                named = ", ".join(settings.human or people)
                notes.append(f"human scores ({named}) have {holds}: nothing can be correlated with them")
                if given.human:
                    raise InputError(notes[-1])
                people = []
        settings, specs, evidence = chosen_metrics(settings, specs, corpus_of(frame, sides), languages.append)
        for side in sorted(wanted_sides(specs, settings) - sides):
            raise InputError(f"metrics: {', '.join(specs)} need a {side}, and there is none", setting="metrics")
        controls = (["length", "overlap"] if "reference" in sides else ["length-qe"]) if people else []
        metrics = [*specs, *(name for name in controls if name not in specs)]
        return frame, settings.model_copy(update={"metrics": metrics})

    with keeping(folder / _SCORES, resume=True, say=settings.say) as journal:

        def scoring(prepared: Prepared, *, progress: Progress | None) -> Iterator[ScoredBlock]:
            make_folder(folder)
            tokens, say = block_tokens(prepared.metrics), settings.say
            return kept_blocks(journal, True, prepared, tokens, partial(computed, prepared, progress=progress), say)

        frame, settings = open_frame(settings, *OF_TEXTS, chosen=chosen, scoring=scoring)
        notes += frame.notes
        frame = replace(frame, notes=())
        columns = list(settings.human) or list(frame.roles["human"])
        beside = zip(settings.candidate or frame.roles["candidate"], columns, strict=False)
        ends = {column.removeprefix(system).lstrip("_-. ") for system, column in beside} - {"", *_COLUMNS}
        human = ends.pop() if len(ends) == 1 else "human"  # as a table of scores calls those of all systems
        systems, segments, rows = _texts(frame, settings, human)
        with ScoreTable(folder / _SCORES) as table_out:
            for row, *scores in zip(rows, *frame.scores.values(), strict=True):
                table_out.write({**row, **dict(zip(frame.scores, map(float, scores), strict=True))})
            table_out.sidecar = frame.summary
    for name in (_RESULT, *_OTHERS):  # those of an earlier run never stand beside other scores
        (folder / name).unlink(missing_ok=True)
    names = list(dict.fromkeys(systems))
    controls = [name for name in frame.scores if name not in specs]
    compare = meta = None
    if len(names) > 1:
        scored = {name: frame.scores[name] for name in specs}  # controls are no metrics to compare by
        only = replace(frame, scores=scored, outputs=(), signatures={name: frame.signatures[name] for name in specs})
        compare = compared(only, build_config({"all_pairs": True, "registry": settings.registry}, CompareRun))
    if people:
        how = {"metrics": list(frame.scores), "sentinels": controls, "human": people, "registry": settings.registry}
        agreement = judged(frame, build_config(how, MetaRun))
        assert isinstance(agreement, MetaResult)  # noqa: S101 - for the type checker; there is one column
        meta = replace(agreement, human=human)
    summary: JsonObject = frame.summary or {}
    figures = [
        SystemFigure(entry["metric"], name, of.get("n", summary["segments"]), of["score"])
        for entry in summary["metrics"][: len(specs)]
        for name, of in zip(names, entry["scores"], strict=True)
    ]

    def known(kind: str) -> dict[str, Any]:
        origin = Provenance.read(provenance(kind, list(frame.files), frame.signatures))
        return {"signatures": frame.signatures, "provenance": origin}

    written = [_SCORES, _RESULT, _REPORT, _TABLE]
    written += [f"{name}.json" for name, of in (("compare", compare), ("meta", meta)) if of is not None]
    result = EvaluationResult(
        language=str(settings.lang),
        detected=languages[0] if languages else None,
        metrics=tuple(specs),
        model=str(settings.model) if any(Signature.read(of).get("model") for of in frame.signatures.values()) else None,
        evidence=evidence,
        scores=tuple(figures),
        compare=compare if compare is None else replace(compare, **known("compare")),
        meta=meta if meta is None else replace(meta, **known("meta")),
        segments=tuple(_look(frame, specs, compare, systems, segments, rows)),
        choices=tuple(_choices(given, settings, columns if people else (), specs, names, controls)),
        files=tuple(sorted(written)),
        given=bool(given.metrics) or given.model is not None,
        outputs=tuple(frame.outputs),
        notes=tuple(dict.fromkeys(notes)),
        **known("evaluate"),
    )
    _write(result, folder)
    return result


def chosen_metrics(settings: Given, specs: list[str], corpus: Corpus, say: Say) -> tuple[Given, list[str], str | None]:
    """Return settings with language and model, the metrics, and what speaks for the model, chosen where none is named.

    How the language was found is said. There have to be references, or a model of several languages.
    """
    catalog, evidence = load_registry(settings.registry), None
    asked = detected(settings, corpus, say)
    asked = detected(asked.model_copy(update={"lang": asked.lang or "auto"}), corpus, say)
    language = find_language(str(asked.lang), catalog).code
    model, lead = None if settings.model is None else str(settings.model), False
    if model is None and encoding(specs, settings):
        with contextlib.suppress(InputError):  # no model that knows the language is here
            choice = select_model(str(asked.lang), available=True, registry=settings.registry)
            model, lead = choice.name, choice.recommended == "chrf"
            evidence = select_model(str(asked.lang), registry=settings.registry).advice
    if not specs and "reference" in corpus.has:
        specs = ["chrf"] if model is None else ["chrf", "bertscore"] if lead else ["bertscore", "chrf"]
    elif not specs:
        if model is None or (catalog.find(model) is not None and len(catalog.model(model).languages) < 2):
            raise InputError("no references, and no model of several languages is here: name metrics, or references")
        specs, evidence = ["sentence-qe"], None  # figures speak for BERTScore
    return settings.model_copy(update={"lang": language, "model": model}), specs, evidence


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds something, unless an evaluation wrote into it or was stopped there."""
    if folder.is_dir() and any(not _LEFT.fullmatch(path.name) for path in folder.iterdir()):
        ours = (_RESULT, f"{_SCORES}.partial", f"{_SCORES}.signatures.json")
        if not any((folder / name).exists() for name in ours):
            raise InputError("holds files of something else: name a new folder (output)", file=folder)
    elif folder.exists() and not folder.is_dir():
        raise InputError("is no folder: name a new one (output)", file=folder)


def _texts(frame: Frame, settings: EvaluateRun, human: str) -> tuple[list[str], list[str], list[dict[str, object]]]:
    """Return each row's system, its segment as it is told apart, and its texts as they stand in the table of scores."""
    roles = ("system", "segment", "document", "source", "human")
    system, segment, document, source, judged_by = (frame.column(role) for role in roles)
    references = list(frame.roles["reference"])
    named = [name for name in (system, segment, document) if name is not None]
    columns = [frame.needed("candidate"), *references, *filter(None, [source, judged_by])]
    read = list(frame.table.rows(*dict.fromkeys([*named, *columns]), only=True))
    systems = [str(row[system]) if system is not None else columns[0] for row in read]
    if len({*systems}) > 1:
        unit = frame.unit(frame.read([], named), paired=True)
        segments = list(map(str, unit.values[str(unit.segment)]))
        segment = unit.segment if unit.segment == segment else None
    elif segment is None:
        segments = [str(number) for number, _ in enumerate(read, start=1)]
    else:
        segments = [row.name(segment) for row in read]
        if document is not None:
            segments = frame.numbered(segments, [row.name(document) for row in read], systems)
    texts = [[text for name in references for text in row.texts(name)] for row in read]
    most = max(map(len, texts))
    rows = list[dict[str, object]]()
    for row, by, name, of_row in zip(read, systems, segments, texts, strict=True):
        cells: dict[str, object] = {"system": by, "id": name if segment is None else row[segment]}
        cells |= {"document": row[document]} if document is not None else {}
        cells |= {"candidate": row.text(columns[0]), **({"source": row.text(source)} if source is not None else {})}
        for number, text in enumerate([*of_row, *[""] * (most - len(of_row))], start=1):
            cells[f"reference{number}" if number > 1 else "reference"] = text
        rows.append(cells | ({human: row[judged_by]} if judged_by is not None else {}))
    return systems, segments, rows


def _look(
    frame: Frame,
    specs: Sequence[str],
    compare: CompareResult | None,
    systems: Sequence[str],
    segments: Sequence[str],
    rows: Sequence[Mapping[str, object]],
) -> list[LookAt]:
    """Return a few segments to look at, with their texts."""
    sign, values = {spec: -1 if spec in frame.lower else 1 for spec in specs}, frame.scores
    turned = {spec: values[spec] * sign[spec] for spec in specs[:2]}
    scores, first, best = values[specs[0]], turned[specs[0]], list(dict.fromkeys(systems))
    against = "reference" if frame.roles["reference"] else "source"

    def look(why: Why, place: int, other: str | None = None, score: float | None = None) -> LookAt:
        texts = str(rows[place]["candidate"]), str(rows[place][against])
        return LookAt(why, segments[place], systems[place], float(scores[place]), *texts, other, score)

    if compare is not None:
        best = [s.system for s in sorted(compare.metrics[0].systems, key=lambda s: -s.score * sign[specs[0]])]
    mine = np.array([place for place, system in enumerate(systems) if system == best[0]])
    lowest = mine[np.argsort(first[mine], kind="stable")[:_LOOK]].tolist()
    result = [look("lowest", place) for place in lowest]
    if len(best) > 1:
        theirs = {segments[place]: place for place, system in enumerate(systems) if system == best[1]}
        partner = {place: theirs[segments[place]] for place in mine.tolist() if segments[place] in theirs}
        differing = sorted(partner, key=lambda place: -abs(first[place] - first[partner[place]]))[:_LOOK]
        result += [look("difference", place, best[1], float(scores[partner[place]])) for place in differing]
    if len(specs) > 1:
        a, b = ((x - np.mean(x)) / spread if (spread := float(np.std(x))) > 0 else x * 0.0 for x in turned.values())
        order = np.argsort(np.nan_to_num(-np.abs(a - b)), kind="stable")[:_LOOK].tolist()
        result += [look("disagreement", place, specs[1], float(values[specs[1]][place])) for place in order]
    return result


def _choices(
    given: EvaluateRun,
    settings: EvaluateRun,
    human: Sequence[str],
    specs: Sequence[str],
    names: Sequence[str],
    controls: Sequence[str],
) -> list[Chosen]:
    """Return each choice with the option that changes it, and the commands that give the same figures."""
    wants, wide = wanted_sides(specs, settings), len(settings.candidate) > 1
    shown: list[str] = [] if settings.table_name is None else [settings.table_name]
    asked: dict[str, str | Sequence[str] | None] = {
        **{name: getattr(settings, name) for name in ("candidates", "references", "candidate", "reference")},
        **{name: getattr(given, name) for name in ("sources", "source", "system", "segment", "document")},
    }
    for name, value in asked.items():
        texts, side = [value] if isinstance(value, str) else list(value or ()), name.removesuffix("s")
        usual = texts == [name] and name in ("candidate", "reference", "source")
        if texts and not usual and side not in {"reference", "source"} - wants and not (wide and name == "segment"):
            each = texts if name in ("candidates", "references") else [",".join(texts)]
            shown += [word for text in each for word in (f"--{name}", text)]
    model = [] if settings.model is None else ["--model", str(settings.model)]
    run = [*shown, "--metrics", ",".join(specs), "--lang", str(settings.lang), *model]
    result = [
        Chosen("language", str(settings.lang), "--lang CODE", given.lang not in (None, "auto")),
        Chosen("metrics", ", ".join(specs), "--metrics NAME,…", bool(given.metrics)),
    ]
    if model:
        how = f"--model NAME; bsx models --lang {settings.lang} lists them"
        result.append(Chosen("model", model[1], how, given.model is not None))
    named, how = bool(given.candidate or given.candidates or given.system), "--candidate NAME,…"
    result.append(Chosen("systems", ", ".join(names), how if wide else "--system COLUMN", named))
    if "reference" in wants and settings.reference and [*settings.reference] != ["reference"]:
        result.append(Chosen("references", ", ".join(settings.reference), "--reference NAME,…", bool(given.reference)))
    if human:
        result.append(Chosen("judged by", ", ".join(human), "--human NAME,…", bool(given.human)))
    if any("," in name for name in (*settings.candidate, *settings.reference, *human)):
        return result  # a command line cannot name such a column
    if len(names) > 1:
        result.append(Chosen("tests", "all pairs, Holm", shlex.join(["bsx", "compare", *run, "--all-pairs"])))
    if human:
        judged_by = ["--human", ",".join(human), *(["--sentinels", ",".join(controls)] if controls else [])]
        result.append(Chosen("correlation", "Pearson's r", shlex.join(["bsx", "meta", *run, *judged_by])))
    return result


def _write(result: EvaluationResult, folder: Path) -> None:
    """Write results, report and the table for a paper, each when it is complete."""
    from bsx.analysis.report.run import report

    def write(name: str, content: str) -> Path:
        with atomic_text(folder / name, internal=True) as stream:
            stream.write(content + "\n")
        return folder / name

    documents, tables = list[Path | str]([folder / _SCORES]), []
    for part in (result.compare, result.meta):
        if part is not None:
            documents.append(write(f"{part.kind}.json", to_json(part.to_dict())))
            tables.append(in_form(part, "latex", full=False))
    write(_TABLE, "\n".join(tables or [in_form(result, "latex", full=False)]).rstrip("\n"))
    report(files=documents, output=folder / _REPORT, human=None if result.meta is None else result.meta.human)
    write(_RESULT, to_json(result.to_dict()))
