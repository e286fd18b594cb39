"""Metrics of a table together, beside the best of them; and kept as a metric of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.ensembles.result import EnsembleResult
from bsx.analysis.ensembles.run import TEXTS, Combined, combine
from bsx.analysis.ensembles.settings import EnsembleColumns, EnsembleSettings
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.metrics import LEARNED, EnsembleEntry, EnsembleOrigin, Member
from bsx.catalog.overlay import ensemble_file, write_ensemble
from bsx.catalog.specs import read_spec
from bsx.data.columns import Labels, read_columns
from bsx.data.documents import DOCUMENTS, seem_together
from bsx.data.formats.memory import AnyTable
from bsx.data.long import HUMAN, SEGMENTS, SYSTEM, Document, HumanColumn, ScoreColumns, Segment, together
from bsx.data.output import ScoreTable, check_table, make_folder, refuse_taken
from bsx.data.pairing import Pairing, texts_of_rows
from bsx.data.run import as_one_run, check_output
from bsx.data.seen import RowTexts, SeenRows, beside_entry
from bsx.data.sidecar import carried, known_signatures, lower_by_sidecar
from bsx.data.tables import Table
from bsx.errors import BsxError, InputError
from bsx.jobs.tables import (
    FORMATS,
    ComputedScores,
    TableSettings,
    Watched,
    known_columns,
    on_table,
    row_texts,
    score_table,
)
from bsx.metrics.learned.seen import seen_notices
from bsx.metrics.zoo import check_from_file, config_of, find_metric
from bsx.support.checks import Array
from bsx.support.provenance import provenance
from bsx.support.settings import Option, part

ENSEMBLE = "ensemble"
"""The column of the ensemble's scores."""


class EnsembleRun(EnsembleSettings, EnsembleColumns, Watched, ScoreColumns, HumanColumn, ComputedScores, TableSettings):
    """Which columns of a table are combined, how, and what becomes of the ensemble."""

    table: Annotated[AnyTable | None, Field(description=f"Table of scores: {FORMATS}."), Option(argument=True)] = None
    segment: Segment = None
    document: Document = None
    fit: Annotated[
        AnyTable | None,
        Field(description="Table to fit on, with the same columns, instead of cross-validation."),
    ] = None
    save: Annotated[
        str | None, Field(description="Keep the ensemble as the metric ensemble:NAME, or in a file NAME.yaml.")
    ] = None
    members: Annotated[
        Sequence[str], Field(description="For save: COLUMN=METRIC, where the column is not its name.")
    ] = ()
    registry: Annotated[
        Path | None,
        Field(description="Registry folder over the shipped one; save keeps the ensemble there, else in your own."),
    ] = None
    scores_out: Annotated[
        Path | str | None,
        Field(
            description="Write the table with the column ensemble: .tsv, .csv, .jsonl, .parquet, .xlsx. Where weights "
            "are learnt, its scores are those of rows held out."
        ),
        Option(writable=True),
    ] = None


@on_table(EnsembleRun)
@as_one_run
def ensemble(settings: EnsembleRun) -> EnsembleResult:
    """Combine metrics of a table, compare the result with the best of them, and perhaps keep it as a metric.

    It reads files; `bsx.analysis.ensemble` works on columns.

    Args:
        settings: see `EnsembleRun`.

    Raises:
        InputError: for a table or settings that cannot be used, or members that are no metrics.
    """
    save, registry = settings.save, settings.registry
    scores_out = None if settings.scores_out is None else Path(settings.scores_out)
    if scores_out is not None:
        check_table(scores_out)
    if save is not None:
        place = new_place(save, registry)
        if save.endswith((".yaml", ".yml")):
            check_output(place)
    if save is None and (settings.members or (registry is not None and not settings.metrics)):
        raise InputError("members and registry need save", setting="members")
    if settings.table is None:
        raise InputError("table: name a table of scores", setting="table")
    opened = fitted_on = Table(settings.table)
    if scores_out is not None:
        refuse_taken(opened.columns, [ENSEMBLE])
    columns = list(settings.columns) or ([] if settings.metrics else known_columns(opened, ()))
    there = ", ".join(opened.columns)
    if not columns and not settings.metrics:
        raise InputError(f"columns names those of scores; it has {there}", file=opened.name, setting="columns")
    human = settings.human if settings.human is not None else opened.first(*HUMAN)
    if human is None:
        raise InputError(f"human names the column of human scores; it has {there}", file=opened.name, setting="human")
    group = settings.group
    system = settings.system if settings.system is not None else opened.first(SYSTEM)
    usual = opened.first(*SEGMENTS) if settings.segment is None else None
    segment = settings.segment if settings.segment is not None else usual
    pair = "lp" if usual is not None and "lp" in opened.columns else None
    document = settings.document if settings.document is not None else opened.first(*DOCUMENTS)
    document = None if settings.document is None and document == group else document
    if document in (*columns, human):
        raise InputError(f"document: the column {document!r} is named twice", file=opened.name, setting="document")
    labels = [name for name in dict.fromkeys((group, segment, document, pair)) if name is not None]
    computing = settings.model_copy(update={"registry": registry if registry and registry.is_dir() else None})
    table = read_table(opened, columns, human, [*labels, system], settings.texts)
    scores = score_table(opened, computing, columns, "registry", progress=settings.progress)
    table |= scores.values
    other = None
    if settings.fit is not None:
        fitted_on = Table(settings.fit)
        other = read_table(fitted_on, columns, human, labels, settings.texts)
        other |= score_table(fitted_on, computing, columns, "registry", progress=settings.progress).values
    for read in (table, other):
        # Segments are numbered within language pairs.
        if read is not None and usual is not None and pair is not None and len(set(table[pair])) > 1:
            for column in {usual, document}:
                if column is not None:
                    read[column] = [f"{lp} {name}" for lp, name in zip(read[pair], read[column], strict=True)]
    source = fitted_on.name
    metrics = [*columns, *scores.values]
    known = [name for name in lower_by_sidecar(source) if name in columns and name not in settings.lower]
    signatures = known_signatures(source, columns) | scores.signatures
    how = part(settings, EnsembleSettings) | part(settings, EnsembleColumns)
    known += [name for name in scores.values if name in scores.lower and name not in settings.lower]
    how |= {"segment": segment, "document": document, "lower": [*settings.lower, *known], "fit": other}
    result = combine(table, metrics, human, **how)
    if save is not None:
        fitted = row_texts(fitted_on, settings, [human]) if settings.how in LEARNED else None
        save_ensemble(result, save, settings.members, human, [Path(source)], signatures, registry, fitted)
    if scores_out is not None:
        _save_scores(opened, result.scores.tolist(), scores_out)
    notes = [] if system is None or system == group else together([str(name) for name in table[system]], system)
    if system is not None and segment is not None and (texts := texts_of_rows(opened)) is not None:
        pairing = Pairing()
        for name, unit, content in zip(table[system], table[segment], texts, strict=True):
            pairing.add(str(name), unit, content)
        notes += pairing.notes(missing=False)
    if segment is not None and document is None:
        judged = np.asarray(table[human], dtype=np.float64)
        for label in dict.fromkeys(table[group]) if group is not None else ("",):
            here = (
                [i for i, name in enumerate(table[group]) if name == label] if group is not None else range(len(judged))
            )
            said = seem_together([str(table[segment][i]).rpartition(" ")[2] for i in here], judged[list(here)])
            notes += [said if group is None else f"{label}: {said}"] if said else []
    signatures = known_signatures(opened.name, columns) | scores.signatures
    catalog = load_registry(computing.registry)
    seen = seen_notices(metrics, catalog, lambda: row_texts(opened, settings, [human]), signatures=signatures)
    if settings.fit is not None:
        also = seen_notices(
            metrics,
            catalog,
            lambda: row_texts(fitted_on, settings, [human]),
            signatures=signatures,
            table=Path(fitted_on.name).name,
        )
        seen += tuple(notice for notice in also if notice.name == "seen-rows")
    warnings = (*result.result.warnings, *seen)
    return replace(result.result, signatures=signatures, notes=(*notes, *scores.notes), warnings=warnings)


def _save_scores(table: Table, scores: Sequence[float], path: Path) -> None:
    """Write a table with one more column, ``ensemble``."""
    with ScoreTable(path, table.types() if path.suffix == ".parquet" else None) as written:
        for row, score in zip(table.rows(), scores, strict=True):
            written.write({**row, ENSEMBLE: score})
        own = {"metric": ENSEMBLE, "higher_is_better": True}
        written.sidecar = {"metrics": [*carried(table.name), own]}


def read_table(
    file: Table | Path, metrics: Sequence[str], human: str, labels: Sequence[str | None], texts: Sequence[str] | None
) -> dict[str, Array | Labels]:
    """Read scores, labels and texts; the usual columns of texts that there are, unless ``texts`` names some."""
    table = file if isinstance(file, Table) else Table(file)
    if texts is None:
        texts = [name for name in TEXTS if name in table.columns]
    return read_columns(table, [*metrics, human], [name for name in dict.fromkeys(labels) if name is not None], texts)


_NAME = re.compile(r"^[A-Za-z0-9][\w+-]*$")


def place_of(name: str, registry: Path | None) -> Path:
    """Return the file of an ensemble of this name, or of this file."""
    return Path(name) if name.endswith((".yaml", ".yml")) else ensemble_file(name, registry)


def new_place(name: str, registry: Path | None) -> Path:
    """Return the file that an ensemble is to be saved in.

    Raises:
        InputError: if it is no name, or is there already: an ensemble that is in use is never replaced.
    """
    file = Path(name) if name.endswith((".yaml", ".yml")) else None
    if not _NAME.match(name if file is None else file.stem):
        raise InputError(f"save: {name}: a name has letters, digits, -, _ and +; a file ends in .yaml", setting="save")
    place = place_of(name, registry)
    if place.exists():
        raise InputError(
            f"save: {name}: {place} is there already: choose another name, or remove it first", setting="save"
        )
    return place


def save_ensemble(
    combined: Combined,
    name: str,
    members: Sequence[str],
    human: str,
    files: Sequence[Path],
    signatures: Mapping[str, str],
    registry: Path | None,
    texts: RowTexts | None = None,
) -> Path:
    """Write an ensemble as YAML; members of weight 0 are left out.

    Args:
        combined: the ensemble.
        name: what to call it, or the path of a ``.yaml`` file.
        members: ``column=metric`` where a column is not called as its metric.
        human: column it was fitted to.
        files: tables it was fitted on.
        signatures: column -> signature, where known.
        registry: folder to save in; the user's own if None.
        texts: of the rows that weights were fitted to, of which digests are kept beside it; None if there are none.

    Raises:
        InputError: naming the column that is not a metric bsx can build, or whose direction is not the metric's; or if
            there is an ensemble of that name or file already.
    """
    file = Path(name) if name.endswith((".yaml", ".yml")) else None
    stem = name if file is None else file.stem
    new_place(name, registry)
    specs = dict(_named(part, combined.combination.weights) for part in members)
    used = [member for member in combined.combination.members if member.weight]
    catalog = load_registry(registry if registry is not None and registry.is_dir() else None)
    renamed = [
        member.model_copy(
            update={"metric": _spec(member, specs.get(member.metric), signatures.get(member.metric, ""), catalog)}
        )
        for member in used
    ]
    twice = [item.metric for item in renamed if [other.metric for other in renamed].count(item.metric) > 1]
    if twice:
        raise InputError(f"save: two members are the metric {twice[0]}; one column of it is enough", setting="save")
    source = provenance("ensemble", files)
    fitted = EnsembleOrigin(
        rows=combined.result.fitted,
        human=human,
        files=source["files"],
        command=source["command"],
        versions=source["versions"],
        signatures={
            after.metric: signatures[before.metric]
            for before, after in zip(used, renamed, strict=True)
            if before.metric in signatures
        },
    )
    combination = combined.combination.model_copy(update={"members": renamed})
    if texts is not None and (rows := SeenRows.of(texts.pairs())).parts["train"].size:
        beside = beside_entry(place_of(name, registry))
        if file is None:
            make_folder(beside.parent)
        check_output(beside)
        fitted = fitted.model_copy(update={"seen": rows.save(beside)})
    return write_ensemble(EnsembleEntry(name=stem, combination=combination, fitted=fitted), registry, file)


def _named(part: str, columns: Iterable[str]) -> tuple[str, str]:
    """Cut ``column=metric`` after a column; both sides may have a = of their own."""
    for column in columns:
        if part.startswith(f"{column}="):
            return column, part.removeprefix(f"{column}=")
    raise InputError(
        f"members: {part}: write COLUMN=METRIC with one of the columns {', '.join(columns)}", setting="members"
    )


def _spec(member: Member, given: str | None, signature: str, catalog: Catalog) -> str:
    """Return how `bsx.get_metric` calls a member, after checking that it can, without loading any model.

    What the run decided that scored it, its model and its tokenizer, is added from the column's signature.
    """
    spec = given if given is not None else member.metric
    try:
        name, settings = read_spec(spec)
        kind, entry = find_metric(name, catalog)
        config = config_of(kind, entry, settings, {})
        check_from_file(spec, "the file", catalog)
    except BsxError as error:
        hint = "" if given is not None else f"; say which metric the column holds with members {spec}=METRIC"
        raise InputError(f"save: {str(error).removesuffix('.')}{hint}", setting="save") from error
    if name == "ensemble":
        raise InputError(f"save: {spec} is an ensemble itself; name its members instead", setting="save")
    if entry.higher_is_better == member.lower:
        better = "higher" if entry.higher_is_better else "lower"
        wanted = "must not" if entry.higher_is_better else "must"
        raise InputError(f"save: of {name}, {better} is better: lower {wanted} name {member.metric}", setting="save")
    scored = dict(part.partition(":")[::2] for part in signature.split("|"))
    then = {"model": scored.get("model", "").rpartition("@")[0], "tokenize": scored.get("tokenize", "")}
    known = {
        "model": catalog.find(then["model"]) is not None,
        "tokenize": then["tokenize"] not in ("13a", "white-space"),
    }
    more = [
        f"{field}={value}"
        for field, value in then.items()
        if value and known[field] and getattr(config, field, "") is None
    ]
    return ",".join([spec + ":" + more[0] if ":" not in spec else f"{spec},{more[0]}", *more[1:]]) if more else spec
