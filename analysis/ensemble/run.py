"""Metrics of a table together, beside the best of them; and kept as a metric of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from bsx.analysis.ensemble.combine import TEXTS, Combined, combine
from bsx.analysis.ensemble.result import EnsembleResult
from bsx.analysis.ensemble.settings import EnsembleColumns, EnsembleSettings
from bsx.catalog.catalog import Catalog, load_registry
from bsx.catalog.entries.metrics import LEARNED, EnsembleEntry, EnsembleOrigin, Member
from bsx.catalog.overlay import write_entry
from bsx.catalog.specs import read_spec
from bsx.data.columns import Labels
from bsx.data.documents import one_document, seem_together
from bsx.data.frame import PAIR, Frame
from bsx.data.long import Document, HumanColumn, ScoreColumns, Segment, together
from bsx.data.output import check_table, make_folder, refuse_taken
from bsx.data.pairing import Pairing
from bsx.data.run import as_one_run, check_output
from bsx.data.seen import SeenRows, beside_entry
from bsx.data.sources import AnyTable
from bsx.errors import BsxError, InputError
from bsx.frames.open import open_frame
from bsx.frames.settings import FORMATS, MetricSettings, Reported, TableSettings, TextColumns, on_table
from bsx.metrics.base import check_from_file, config_of, find_metric
from bsx.metrics.learned.seen import seen_notices
from bsx.support.checks import Array
from bsx.support.folders import user_folder
from bsx.support.provenance import provenance
from bsx.support.settings import Option, part

ENSEMBLE = "ensemble"
"""The column of the ensemble's scores."""


class EnsembleRun(
    EnsembleSettings, EnsembleColumns, Reported, ScoreColumns, HumanColumn, MetricSettings, TextColumns, TableSettings
):
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
    overlay = registry if registry is not None and registry.is_dir() else None  # one to be made has no entries yet
    frame, settings = open_frame(settings.model_copy(update={"registry": overlay}), "registry")
    catalog = load_registry(overlay)
    if scores_out is not None:
        refuse_taken(frame.table.columns, [ENSEMBLE])
    human = frame.needed("human", "human scores")
    table, columns, single = _read(frame, settings, human)
    fitted_on, other = frame, None
    if settings.fit is not None:
        given = {"table": settings.fit, "columns": list(frame.columns), "human": human}
        fitted_on, _ = open_frame(settings.model_copy(update=given), "registry")
        other = _read(fitted_on, settings, human)[0]
    how = part(settings, EnsembleSettings) | part(settings, EnsembleColumns) | columns
    how |= {"lower": list(fitted_on.lower), "fit": other}
    result = combine(table, frame.metrics, human, **how)
    if save is not None:
        new_place(save, registry)  # another run may have saved one meanwhile
        entry = ensemble_entry(result, place, settings, fitted_on, human, catalog)
        saved = write_entry(entry, registry, place if save.endswith((".yaml", ".yml")) else None)
        settings.say(f"saved {saved}; use it as --metrics ensemble:{save}")
    if scores_out is not None:
        frame.save(scores_out, {ENSEMBLE: result.scores.tolist()}, [{"metric": ENSEMBLE, "higher_is_better": True}])
    group, segment, system, notes = settings.group, columns["segment"], frame.column("system"), [*single]
    if system is not None and system != group:
        notes += together(list(map(str, table[system])), system)
    if system is not None and segment is not None and (texts := frame.shared_texts()) is not None:
        pairing = Pairing()
        for row, (name, unit, content) in enumerate(zip(table[system], table[segment], texts, strict=True)):
            pairing.add(str(name) or f"\0{row}", unit, content)  # of a system that is not known
        notes += pairing.notes(missing=False)
    if segment is not None and columns["document"] is None and not single:
        judged = np.asarray(table[human], dtype=np.float64)
        labels = list(map(str, table[group])) if group is not None else [""] * len(judged)
        for label in dict.fromkeys(labels):
            here = [i for i, name in enumerate(labels) if name == label]
            doubt = seem_together([str(table[segment][i]).rpartition(" ")[2] for i in here], judged[here])
            notes += [f"{label}: {doubt}" if group is not None else doubt] if doubt else []
    signatures = dict(frame.signatures)
    seen_by = partial(seen_notices, frame.metrics, catalog, signatures=signatures)
    warnings = result.result.warnings + seen_by(lambda: frame.texts([human]))
    if fitted_on is not frame:
        also = seen_by(lambda: fitted_on.texts([human]), table=Path(fitted_on.name).name)
        warnings += tuple(notice for notice in also if notice.name == "seen-rows")
    return replace(result.result, signatures=signatures, notes=(*notes, *frame.notes), warnings=warnings)


def _read(
    frame: Frame, settings: EnsembleRun, human: str
) -> tuple[dict[str, Array | Labels], dict[str, str | None], list[str]]:
    """Read scores, labels and texts; return them, the columns of segments and documents, and what is said of these."""
    group, segment, document = settings.group, frame.column("segment"), frame.column("document")
    document = None if "document" not in frame.named and document == group else document
    if document in (*frame.columns, human):
        twice = f"document: the column {document!r} is named twice"
        raise InputError(twice, file=frame.name, setting="document")
    texts = [name for name in TEXTS if name in frame.table.columns] if settings.texts is None else settings.texts
    guessed = segment is not None and "segment" not in frame.named
    system, labels, notes = frame.column("system"), [group, segment, document], list[str]()
    counted = [system] if system is not None and system not in labels and "system" not in frame.named else []
    labels += [system] if not counted else []
    pairs = [PAIR] if guessed and PAIR in frame.table.columns else []
    table = frame.read([*frame.metrics, human], [*labels, *pairs], texts, keys=counted)
    frame.refuse_apart(table)
    if document is not None and "document" not in frame.named and (notes := one_document(list(table[document]))):
        document = None
    if segment is not None and document is not None:
        table[segment] = frame.numbered(table[segment], table[document], table[system] if system is not None else None)
    if pairs and len(set(table[PAIR])) > 1:  # segments are numbered within language pairs
        for name in {segment, document} - {None}:
            table[str(name)] = [f"{pair} {label}" for pair, label in zip(table[PAIR], table[str(name)], strict=True)]
    return table, {"segment": segment, "document": document}, notes


_NAME = re.compile(r"^[A-Za-z0-9][\w+-]*$")


def new_place(name: str, registry: Path | None) -> Path:
    """Return the file that an ensemble is to be saved in; refuse one that is there, as one in use is never replaced."""
    is_file = name.endswith((".yaml", ".yml"))
    place = Path(name) if is_file else (registry or user_folder()) / "ensembles" / f"{name}.yaml"
    if not _NAME.match(place.stem if is_file else name):
        raise InputError(f"save: {name}: a name has letters, digits, -, _ and +; a file ends in .yaml", setting="save")
    if place.exists():
        raise InputError(
            f"save: {name}: {place} is there already: choose another name, or remove it first", setting="save"
        )
    return place


def ensemble_entry(
    combined: Combined, place: Path, settings: EnsembleRun, frame: Frame, human: str, catalog: Catalog
) -> EnsembleEntry:
    """Return what is kept of an ensemble, without members of weight 0; digests of texts are written beside it.

    The frame is what it was fitted on, to the column `human`; the catalog has entries of members.

    Raises:
        InputError: naming the column that is not a metric bsx can build, or whose direction is not the metric's.
    """
    specs = dict(_named(part, combined.combination.weights) for part in settings.members)
    signatures = frame.signatures
    used = [member for member in combined.combination.members if member.weight]
    called = [_spec(member, specs.get(member.metric), signatures.get(member.metric, ""), catalog) for member in used]
    if twice := [spec for spec in called if called.count(spec) > 1]:
        raise InputError(f"save: two members are the metric {twice[0]}; one column of it is enough", setting="save")
    source, signed = provenance("ensemble", [Path(frame.name)]), zip(used, called, strict=True)
    fitted = EnsembleOrigin(
        rows=combined.result.fitted,
        human=human,
        **{name: source[name] for name in ("files", "command", "versions")},
        signatures={spec: signatures[member.metric] for member, spec in signed if member.metric in signatures},
    )
    renamed = [member.model_copy(update={"metric": spec}) for member, spec in zip(used, called, strict=True)]
    combination = combined.combination.model_copy(update={"members": renamed})
    texts = frame.texts([human]) if settings.how in LEARNED else None
    if texts is not None and (rows := SeenRows.of(texts.pairs())).parts["train"].size:
        beside = beside_entry(place)
        make_folder(beside.parent)
        check_output(beside)
        fitted = fitted.model_copy(update={"seen": rows.save(beside)})
    return EnsembleEntry(name=place.stem, combination=combination, fitted=fitted)


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
    model, tokenize = scored.get("model", "").rpartition("@")[0], scored.get("tokenize", "")
    if catalog.find(model) is not None and getattr(config, "model", "") is None:
        spec += f"{',' if ':' in spec else ':'}model={model}"
    if tokenize not in ("", "13a", "white-space") and getattr(config, "tokenize", "") is None:
        spec += f"{',' if ':' in spec else ':'}tokenize={tokenize}"
    return spec
