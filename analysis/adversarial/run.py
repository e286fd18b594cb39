"""Whether metrics can be fooled: paraphrase pairs, triples and challenge sets, scores from columns or computed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from bsx.analysis.adversarial.challenge import ChallengeExample, ChallengeResult, challenge
from bsx.analysis.adversarial.pairs import HarderSet, PairsResult, detect_pairs, easy_to_hard
from bsx.analysis.adversarial.settings import ChallengeSettings, Sampled, TripleTests
from bsx.analysis.adversarial.triples import BuiltTriples, TriplesResult, prefer_paraphrase
from bsx.analysis.datasets.challenge import load_challenge
from bsx.analysis.datasets.pairs import load_pairs
from bsx.analysis.datasets.triples import load_triples
from bsx.analysis.stats.folds import Rows, units
from bsx.analysis.stats.validate import several_units
from bsx.data.columns import Labels, label_column
from bsx.data.documents import DOCUMENTS, refuse_single
from bsx.data.long import ColumnName, ColumnNames, DocumentColumn, ScoreColumns, Segment, systems_together
from bsx.data.open import TableFile, open_table
from bsx.data.output import ScoreTable, check_table
from bsx.data.run import as_one_run
from bsx.data.sidecar import known_scores, turned
from bsx.data.sources import AnyTable
from bsx.data.tables import Table
from bsx.errors import InputError, MissingExtraError
from bsx.frames.metrics import open_distinct
from bsx.frames.open import no_scores
from bsx.frames.settings import FORMATS, NEEDED, MetricSettings, Skipping, Watched, on_table
from bsx.metrics.failures import score_rows
from bsx.metrics.summary import about
from bsx.support.checks import Array
from bsx.support.progress import reporter
from bsx.support.settings import MOST_DRAWS, BaseSettings, Option, Seed, part, refuse_idle

if TYPE_CHECKING:
    from bsx.metrics.base import Metric


class PairColumns(BaseSettings):
    """Tables of labelled pairs."""

    table: Annotated[AnyTable, Field(description=f"Table of labelled pairs: {FORMATS}."), Option(argument=True)] = (
        NEEDED
    )
    label: Annotated[
        ColumnName, Field(description="Column of labels, 1 for a paraphrase. [label, noisy_label or is_duplicate]")
    ] = None
    reference: Annotated[ColumnName, Field(description="Column of references. [sentence1, question1 or reference]")] = (
        None
    )
    candidate: Annotated[ColumnName, Field(description="Column of candidates. [sentence2, question2 or candidate]")] = (
        None
    )
    against: Annotated[
        AnyTable | None, Field(description="Second, harder table: report what each metric loses from the first to it.")
    ] = None


class PairsRun(Watched, MetricSettings, Skipping, DocumentColumn, Sampled, ScoreColumns, PairColumns):
    """Everything that `detect_paraphrases` takes."""


@on_table(PairsRun)
def detect_paraphrases(settings: PairsRun) -> PairsResult:
    """Measure how well metrics detect paraphrases: ROC AUC, average precision, best threshold, paired tests.

    Args:
        settings: see `PairsRun`.

    Raises:
        InputError: for a table or metric that cannot be used.
    """
    tables = [open_table(table) for table in (settings.table, settings.against) if table is not None]
    columns = list(settings.columns) or ([] if settings.metrics else known_scores(tables[0]))
    if not columns and not settings.metrics:
        raise no_scores(tables[0])
    metrics = _comparing_references(open_distinct(settings, columns, "candidate", "reference"))
    sets: list[tuple[tuple[Array, dict[str, Array]], Rows | None, PairsResult]] = []  # labels and scores, units, result
    notes, signatures = about(metrics), dict[str, str]()
    asked = {name: getattr(settings, name) for name in Sampled.model_fields}
    names = [Path(table.name).name for table in tables]
    for table, file in zip(tables, names, strict=True):
        named = {role: getattr(settings, role) for role in ("label", "reference", "candidate", "document")}
        if sets:  # a second table may have other names for the same columns: one that it lacks is the usual one there
            named = {role: name if name in table.columns else None for role, name in named.items()}
        document = named.pop("document")
        pairs = load_pairs(table, **named, metrics=columns)
        lower, remarks = turned(table, columns, settings.lower)
        scores = {name: pairs.numbers(name) * (-1 if name in lower else 1) for name in columns}
        remarks += [note for note in pairs.notes if not note.startswith(tuple("0123456789")) or "placeholder" in note]
        sides = {side: pairs.texts(side) for side in ("reference", "candidate") if side in pairs}
        for side in ("reference", "candidate") if metrics else ():
            if side not in sides:
                raise InputError(f"has no column of {side}s: say which it is ({side})", file=table.name, setting=side)
        computed = score_rows(
            metrics,
            sides.get("candidate", ()),
            sides.get("reference", ()),
            skip_errors=settings.skip_errors,
            progress=reporter(settings.progress),
        )
        scores |= computed.values
        signatures |= computed.signatures
        remarks += computed.notes
        if computed.failed:
            asked["nan"] = "omit"
        if settings.document is not None and settings.document in scores:
            twice = f"document: the column {settings.document!r} is named twice"
            raise InputError(twice, file=table.name, setting="document")
        of = _tied_rows(table.name, [*sides.values()], remarks, _documents(table, document))
        labels = pairs.numbers("label")
        result = detect_pairs(labels, scores, **asked, cluster=of)
        remarks += systems_together(table)
        if left_out := len(labels) - result.results[0].n:
            remarks.append(f"{left_out} of {len(labels)} pairs miss a score and are left out for all metrics")
        notes += [f"{file}: {note}" for note in remarks]
        sets.append(((labels, scores), of, result))
    (easy, of, answer), *harder = sets
    for hard, of_hard, result in harder:
        drops = easy_to_hard(easy, hard, clusters=(of, of_hard), confidence=settings.confidence, nan=asked["nan"])
        lost = {metric: replace(drop, a=names[0], b=names[1]) for metric, drop in drops.items()}
        answer = replace(answer, against=HarderSet(names[1], result.results, result.tests), drops=lost)
    asked |= {name: getattr(settings, name) for name in ("document", "label", "reference", "candidate")}
    return replace(answer, settings=asked | _ran(settings), signatures=signatures, notes=tuple(notes))


def _ran(settings: MetricSettings) -> dict[str, str]:
    """Return where metrics ran, as far as it was said, for the record."""
    return {name: str(value) for name, value in part(settings, MetricSettings).items() if name != "metrics"}


def _comparing_references(metrics: list[Metric]) -> list[Metric]:
    """Return metrics; raise InputError for one that reads sources."""
    for metric in metrics:
        if "reference" not in metric.needs or "source" in metric.needs:
            raise InputError(f"{metric.spec} reads sources, and there are none here: leave it out")
    return metrics


def _documents(table: Table, column: str | None) -> Labels | None:
    """Return the document of each row (rows,) by the usual column unless one is named; None if no column has any."""
    column = column if column is not None else table.first(*DOCUMENTS)
    if column is None:
        return None
    table.require(column)
    names = label_column(column, table[column])
    refuse_single(names, column, table.name)
    return names


def _tied_rows(
    name: str, sides: Sequence[Sequence[str]], notes: list[str], documents: Labels | None = None
) -> Rows | None:
    """Return the set of each row (n,): rows that share a document, or a text on any side, directly or over others."""
    if not (sides or documents):
        return None
    n, copies = len(sides[0] if sides else documents or ()), max(len(sides), 1)
    columns = ([text for side in sides for text in side], [*(documents or ())] * copies)
    of = units([[str(row) for row in range(n)] * copies, *filter(None, columns)], n * copies)[:n]
    sizes = np.unique(of, return_counts=True)[1]
    what = "text" if documents is None else "text or a document" if sides else "document"
    if sizes.max() == 1:
        return None
    several_units(len(sizes), name, unit=f"set that shares a {what}, directly or through others")
    notes.append(
        f"{int(sizes[sizes > 1].sum())} of {n} rows share a {what} with another: intervals and tests take their "
        f"{len(sizes)} sets as independent, not the rows; the largest has {sizes.max()}"
    )
    return of


class TripleColumns(BaseSettings):
    """A table of triples."""

    table: Annotated[
        AnyTable,
        Field(description="Table with label sentence1 sentence2 and scores, or with anchor paraphrase nonparaphrase."),
        Option(argument=True),
    ] = NEEDED
    columns: Annotated[
        ColumnNames, Field(description="Columns of metrics' scores. [all columns of numbers, unless metrics are]")
    ] = ()


class TriplesRun(Watched, MetricSettings, Skipping, DocumentColumn, TripleTests, TripleColumns, ScoreColumns):
    """Everything that `prefer_paraphrases` takes."""


@on_table(TriplesRun)
def prefer_paraphrases(settings: TriplesRun) -> TriplesResult:
    """Count how often metrics prefer a paraphrase to a sentence that only shares words: rates, margins, tests.

    Args:
        settings: see `TriplesRun`; its ``lang`` also chooses how words are cut for their overlap.

    Raises:
        InputError: for a table or metric that cannot be used.
    """
    file, wanted = open_table(settings.table), settings.metrics
    table = load_triples(file, settings.columns or ([] if wanted else None))
    if not settings.columns and settings.document in table.scores:  # names of documents may be numbers
        table = replace(table, scores={name: both for name, both in table.scores.items() if name != settings.document})
    if not table.scores and not wanted:
        raise InputError("has no column of scores: compute some (metrics)", file=file.name)
    triples, n = table.triples, len(table.triples)
    metrics = _comparing_references(open_distinct(settings, table.scores, "lang"))
    lower, signs = turned(file, list(table.scores), settings.lower)
    notes = [*table.notes, *signs, *systems_together(file)]
    scores = {name: (-good, -bad) if name in lower else (good, bad) for name, (good, bad) in table.scores.items()}

    sides = [[t.anchor for t in triples], [t.paraphrase for t in triples], [t.nonparaphrase for t in triples]]
    where = [f"the {side} of the triple in row {t.row}" for side in ("paraphrase", "non-paraphrase") for t in triples]
    computed = score_rows(
        metrics,
        sides[1] + sides[2],
        sides[0] * 2,
        skip_errors=settings.skip_errors,
        where=where.__getitem__,
        progress=reporter(settings.progress),
    )
    scores |= {name: (values[:n], values[n:]) for name, values in computed.values.items()}
    notes += computed.notes
    asked = {name: getattr(settings, name) for name in TripleTests.model_fields}
    if computed.failed:
        asked["nan"] = "omit"
    gap = None
    if settings.bins:
        from bsx.analysis.adversarial.build_triples import lexical_overlap, overlaps

        try:
            low, high = overlaps(triples, lexical_overlap(settings.lang or "en"))
            gap = high - low
        except MissingExtraError as error:
            notes.append(f"not split by lexical overlap: {error}")
    documents = _documents(file, settings.document)
    of = _tied_rows(file.name, sides, notes, None if documents is None else [documents[t.row - 1] for t in triples])
    result = prefer_paraphrase(scores, triples=triples, gap=gap, cluster=of, **asked)
    if left := n - result.results[0].n:
        notes.append(f"{left} of {n} triples miss a score and are left out for all metrics")
    return replace(
        result,
        settings=asked | {"document": settings.document} | _ran(settings),
        signatures=computed.signatures,
        notes=(*about(metrics), *notes),
    )


class ChallengeColumns(BaseSettings):
    """A challenge set, and which columns it has, where they have none of the usual names."""

    table: Annotated[
        AnyTable,
        Field(
            description="Table with good, bad, reference or source, phenomenon, severity (.tsv, .csv, .jsonl, "
            ".parquet; .gz too), ACES, HW-TSC, or DEMETR's .json file or folder. Scores of chrf stand in chrf-good and "
            "chrf-bad."
        ),
        Option(argument=True),
    ] = NEEDED
    good: Annotated[ColumnName, Field(description="Column of good translations. [good or good-translation]")] = None
    bad: Annotated[ColumnName, Field(description="Column of bad translations. [bad or incorrect-translation]")] = None
    reference: Annotated[ColumnName, Field(description="Column of references. [reference, if there]")] = None
    source: Annotated[ColumnName, Field(description="Column of sources. [source, if there]")] = None
    segment: Segment = None
    phenomenon: Annotated[
        ColumnName, Field(description="Column of phenomena. [phenomenon, phenomena or category, if there]")
    ] = None
    severity: Annotated[ColumnName, Field(description="Column of severities. [severity, if there]")] = None
    lang_column: Annotated[
        ColumnName, Field(description="Column of languages or language pairs. [lang, langpair or lp, if there]")
    ] = None


class ChallengeRun(Watched, MetricSettings, Skipping, ChallengeSettings, ScoreColumns, ChallengeColumns):
    """Everything that `challenge_metrics` takes."""


@on_table(ChallengeRun)
def challenge_metrics(settings: ChallengeRun) -> ChallengeResult:
    """Count how often metrics score a good translation above a bad one, by phenomenon and severity.

    Args:
        settings: see `ChallengeRun`; metrics without references compare with the sources.

    Raises:
        InputError: for a file or metric that cannot be used.
    """
    if not settings.columns and not settings.metrics:
        raise InputError("name columns of scores (columns), or metrics to compute them (metrics), such as chrf")
    columns = {name: getattr(settings, name) for name in ChallengeColumns.model_fields if name != "table"}
    named = {"lang" if role == "lang_column" else role: name for role, name in columns.items() if name is not None}
    challenge_set = load_challenge(settings.table, settings.columns, named)
    pairs, n = challenge_set.pairs, len(challenge_set.pairs)
    scores = dict(challenge_set.scores)
    for name in settings.lower:
        if name not in scores:
            raise InputError(f"lower: {name!r} is none of the columns of scores ({', '.join(scores)})", setting="lower")
        scores[name] = (-scores[name][0], -scores[name][1])
    metrics = open_distinct(settings, scores, "reference", "source")
    for metric in metrics:
        if lacks := metric.needs - {"candidate"} - challenge_set.has:
            place = next(p.where for p in pairs if any(getattr(p, kind) is None for kind in lacks))
            raise InputError(
                f"{metric.spec} needs a {' and a '.join(sorted(lacks))}, and {place} has none: leave it out"
            )

    references, sources = (
        [str(getattr(pair, kind)) for pair in pairs] * 2 if kind in challenge_set.has else None
        for kind in ("reference", "source")
    )
    where = [f"the {side} text of {pair.where}" for side in ("good", "bad") for pair in pairs]
    computed = score_rows(
        metrics,
        [pair.good for pair in pairs] + [pair.bad for pair in pairs],
        references,
        sources,
        skip_errors=settings.skip_errors,
        where=where.__getitem__,
        progress=reporter(settings.progress),
    )
    scores |= {name: (values[:n], values[n:]) for name, values in computed.values.items()}
    every = [side for both in scores.values() for side in both]
    asked = {name: getattr(settings, name) for name in ChallengeSettings.model_fields}
    nan = "omit" if settings.skip_errors and np.isnan(every).any() else settings.nan
    result = challenge(pairs, scores, **{**asked, "nan": nan})
    kept = np.flatnonzero(np.isfinite(every).all(axis=0)).tolist()
    # Of each phenomenon a row that metrics disagree on, else one that fools all; most fooled first.
    fooled = np.sum([~(good > bad) for good, bad in scores.values()], axis=0)
    examples: dict[str, ChallengeExample] = {}
    for row in sorted(kept, key=lambda i: (fooled[i] == len(scores), -fooled[i])):
        pair = pairs[row]
        if fooled[row] and pair.phenomenon not in examples:
            of_metrics = {metric: (float(good[row]), float(bad[row])) for metric, (good, bad) in scores.items()}
            shown = {name: getattr(pair, name) for name in ("phenomenon", "reference", "source", "good", "bad")}
            examples[pair.phenomenon] = ChallengeExample(row=row + 1, **shown, scores=of_metrics)
    notes = [*about(metrics), *challenge_set.notes, *computed.notes]
    if len(kept) < n:
        notes.append(f"{n - len(kept)} of {n} pairs miss a score and are left out for all metrics")
    return replace(
        result,
        examples=tuple(examples.values()),
        settings={
            **columns,
            **asked,
            "skip_errors": settings.skip_errors,
            **{name: list(getattr(settings, name)) for name in ("columns", "metrics", "lower")},
            **_ran(settings),
        },
        signatures=computed.signatures,
        notes=(*notes, *result.notes),
    )


_DETAIL = Option(folded="detail")  # of one recipe only


class BuildTriplesRun(BaseSettings):
    """How triples are built."""

    table: Annotated[
        AnyTable, Field(description="paws: labelled pairs; nouns: texts and their paraphrases."), Option(argument=True)
    ] = NEEDED
    output: Annotated[
        Path | str,
        Field(description="Table to write: .tsv, .csv, .jsonl, .parquet or .xlsx."),
        Option(("-o",), writable=True),
    ]
    recipe: Annotated[
        Literal["paws", "nouns"], Field(description="From pairs that share sentences, or by permuting nouns.")
    ] = "paws"
    lang: Annotated[str, Field(description="Language of the texts."), Option(("-l",))] = "en"
    keep: Annotated[int, Field(ge=1, le=MOST_DRAWS, description="paws: how many triples to keep."), _DETAIL] = 300
    rank_by: Annotated[
        Literal["difference", "overlap"],
        Field(description="paws: keep the largest differences of overlap, or the least overlaps of A and B."),
        _DETAIL,
    ] = "difference"
    anchor: Annotated[str, Field(description="nouns: column of anchors."), _DETAIL] = "anchor"
    paraphrase: Annotated[str, Field(description="nouns: column of paraphrases."), _DETAIL] = "paraphrase"
    tagger: Annotated[
        str,
        Field(description="nouns: stanza, nltk (as published), or a CoNLL-U file with parses of the anchors."),
        _DETAIL,
    ] = "stanza"
    parser_dir: Annotated[Path | str | None, Field(description="nouns: stanza's models."), Option(folded="stanza")] = (
        None
    )
    download: Annotated[bool, Field(description="nouns: let stanza fetch its model."), Option(folded="stanza")] = False
    seed: Annotated[Seed, Field(description="nouns: seed of the permutations.")] = 42


@on_table(BuildTriplesRun)
@as_one_run
def build_triples(settings: BuildTriplesRun) -> BuiltTriples:
    """Build triples of an anchor, a paraphrase and a misleading sentence, and write them as a table.

    Args:
        settings: see `BuildTriplesRun`.

    Raises:
        InputError: for tables that cannot be read or written, and settings without effect.
    """
    from bsx.analysis.adversarial import build_triples as recipes

    how, tagger = settings.recipe, settings.tagger
    idle = (
        ("keep", "rank_by") if how == "nouns" else ("anchor", "paraphrase", "tagger", "parser_dir", "download", "seed")
    )
    refuse_idle(settings, f"with how {how}", *idle)
    if tagger != "stanza":
        refuse_idle(settings, f"with tagger {tagger}", "parser_dir", "download")
    check_table(Path(settings.output))
    overlap = recipes.lexical_overlap(settings.lang)
    asked: dict[str, object] = {"recipe": how, "lang": settings.lang}
    few = same = None
    if how == "paws":
        table = load_pairs(settings.table)
        labels = [int(label) for label in table.numbers("label")]
        rows = list(zip(table.texts("reference"), table.texts("candidate"), labels, strict=True))
        triples = recipes.build_paws(rows, overlap=overlap, keep=settings.keep, by=settings.rank_by)
        asked |= {"keep": settings.keep, "rank_by": settings.rank_by}
        read = len(rows)
    else:
        segments = list(
            TableFile(open_table(settings.table, first_line=True), [settings.anchor, settings.paraphrase], [])
        )
        anchors, paraphrases = ([segment.candidates[side] for segment in segments] for side in (0, 1))
        if tagger == "stanza":
            folder = None if settings.parser_dir is None else Path(settings.parser_dir)
            cut = recipes.stanza_tagger(settings.lang, folder=folder, download=settings.download)
        else:
            cut = recipes.nltk_tagger() if tagger == "nltk" else recipes.conllu_tagger(Path(tagger))
        made = recipes.permute_nouns(anchors, paraphrases, cut, seed=settings.seed)
        triples, few, same, read = made.triples, made.dropped, made.same, len(anchors)
        asked |= {"tagger": tagger, "seed": settings.seed}
    low, high = (float(values.mean()) for values in recipes.overlaps(triples, overlap))
    with ScoreTable(Path(settings.output)) as written:
        for triple in triples:
            for label, text in ((0, triple.nonparaphrase), (1, triple.paraphrase)):
                written.write({"label": label, "sentence1": triple.anchor, "sentence2": text})
    return BuiltTriples(len(triples), read, low, high, few, same, settings=asked)
