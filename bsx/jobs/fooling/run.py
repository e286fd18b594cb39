"""Can metrics be fooled? Paraphrase pairs and triples, with scores from columns or computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from bsx.analysis.adversarial.pairs import PairDetection, PairsResult, detect_pairs, easy_to_hard
from bsx.analysis.adversarial.tables import (
    draw_pairs,
    draw_triples,
    pairs_document,
    pairs_records,
    pairs_sheets,
    pairs_text,
    triples_records,
    triples_sheets,
    triples_text,
)
from bsx.analysis.adversarial.triples import TriplesResult, prefer_paraphrase
from bsx.analysis.datasets.pairs import load_pairs
from bsx.analysis.datasets.triples import Triple, load_triples
from bsx.analysis.documents.adversarial import PairsDocument, TriplesDocument
from bsx.analysis.render.notebook import InNotebooks
from bsx.analysis.render.sheets import Sheet
from bsx.analysis.stats.folds import Rows, units
from bsx.bertscore.config import ScorerConfig
from bsx.data.long import systems_together
from bsx.data.output import ScoreTable
from bsx.data.sidecar import lower_by_sidecar, scored_columns
from bsx.data.tables import Table
from bsx.errors import InputError, MissingExtraError
from bsx.jobs.metrics import open_metrics
from bsx.jobs.settings import FoolSettings, PairSettings, TripleSettings
from bsx.metrics.failures import RowScores, score_all
from bsx.metrics.summary import about
from bsx.support.checks import Array
from bsx.support.progress import Progress, Watch, told
from bsx.support.settings import complete, set_fields, takes
from bsx.support.untyped import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bsx.metrics.base import Metric


@dataclass(eq=False, repr=False)
class Fooled(InNotebooks):
    """What came out.

    Attributes:
        document: rates, areas, tests, splits, worst examples.
        files: what was read.
        settings: what was asked for, by name.
        signatures: metric -> signature, of those that scored here.
        notes: what the reader should know.
        about: what the metrics say of themselves.
        results: what was found on each file of pairs, or on the one of triples.
    """

    document: PairsDocument | TriplesDocument
    files: list[Path]
    settings: dict[str, object]
    signatures: dict[str, str]
    notes: list[str]
    about: list[str]
    results: list[PairsResult] | list[TriplesResult]

    def to_dict(self) -> dict[str, object]:
        """Return everything but the provenance, for other programs."""
        return {**self.document.to_dict(), "settings": self.settings, "notes": self.notes}

    def to_text(self) -> str:
        """Return tables, for people."""
        found = self.document
        return pairs_text(found) if isinstance(found, PairsDocument) else triples_text(found)

    @property
    def short(self) -> str:
        """Metrics and files."""
        return f"{', '.join(one.metric for one in self.document.results)}; {', '.join(f.name for f in self.files)}"

    def sheets(self) -> Sequence[Sheet]:
        """Return figures of all metrics, and their tests."""
        found = self.document
        return pairs_sheets(found) if isinstance(found, PairsDocument) else triples_sheets(found)

    def records(self) -> Sequence[Mapping[str, object]]:
        """Return one row a metric."""
        found = self.document
        return pairs_records(found) if isinstance(found, PairsDocument) else triples_records(found)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the figures of all metrics with their intervals."""
        found = self.document
        return draw_pairs(found, path) if isinstance(found, PairsDocument) else draw_triples(found, path)

    def _label(self) -> str:
        return "tab:pairs" if isinstance(self.document, PairsDocument) else "tab:triples"

    def save_curves(self, path: Path) -> None:
        """Write precision and recall by threshold on the first file of pairs."""
        with ScoreTable(path) as table:
            for one in self.results[0].results:
                if isinstance(one, PairDetection):
                    curve = one.curve
                    for row in zip(curve.thresholds, curve.precision, curve.recall, strict=True):
                        cells = dict(zip(("threshold", "precision", "recall"), map(float, row), strict=True))
                        table.write({"metric": one.metric, **cells})


@dataclass(eq=False)
class _Scores:
    """Scores of one file.

    Attributes:
        metrics: those that score here.
        skip: whether to go on without rows on which one fails.
        progress: called with phase, done and total.
        signatures: metric -> signature.
        failed: whether a metric failed on some row.
    """

    metrics: list[Metric]
    skip: bool
    progress: Progress | None
    signatures: dict[str, str] = field(default_factory=dict)
    failed: bool = False

    @classmethod
    def open(
        cls,
        named: Sequence[str],
        columns: Sequence[str],
        settings: ScorerConfig | None,
        skip: bool,
        progress: Progress | None,
    ) -> _Scores:
        """Build the metrics that are to score.

        Raises:
            InputError: if there are none but settings for them, or one is called like a column, or reads sources.
        """
        if not named:
            for name in set_fields(settings):
                raise InputError(f"`{name}=` goes with `metrics=`")
            return cls([], skip, progress)
        metrics = open_metrics(named, settings if settings is not None else ScorerConfig())
        wanted = [*columns, *(metric.spec for metric in metrics)]
        for metric in metrics:
            if wanted.count(metric.spec) > 1:
                raise InputError(f"the metric {metric.spec} is asked for twice")
            if "reference" not in metric.needs or "source" in metric.needs:
                raise InputError(f"{metric.spec} reads sources, and there are none here: leave it out")
        return cls(metrics, skip, progress)

    def of(
        self, candidates: Sequence[str], references: Sequence[str], where: Callable[[int], str], notes: list[str]
    ) -> list[RowScores]:
        """Score texts with every metric; notes go to ``notes``."""
        if not self.metrics:
            return []
        found = score_all(
            self.metrics, candidates, references, skip_errors=self.skip, where=where, progress=self.progress
        )
        for one in found:
            self.signatures[one.metric] = one.signature
            self.failed = self.failed or bool(one.failed)
            notes += one.notes
        return found


@takes(PairSettings)
def fool_pairs(
    file: Path,
    *,
    columns: Sequence[str] = (),
    metrics: Sequence[str] = (),
    against: Path | None = None,
    label: str | None = None,
    sentence1: str | None = None,
    sentence2: str | None = None,
    lower: Sequence[str] = (),
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[PairSettings],
) -> Fooled:
    """Take metrics for paraphrase detectors: ROC AUC, average precision, best threshold, paired tests.

    Args:
        file: table of labelled pairs.
        columns: columns with scores; without ``metrics``, those that are known to be metrics unless given.
        metrics: specs of metrics to score the texts with.
        against: second, harder table: adds what each metric loses from the first to it.
        label: column of labels, 1 for a paraphrase; label, noisy_label or is_duplicate unless given.
        sentence1: column of references; sentence1, question1 or reference unless given.
        sentence2: column of candidates; sentence2, question2 or candidate unless given.
        lower: those of ``columns`` of which lower is better, beside those that the tables' sidecars know.
        settings: model, language, and where and within what limits ``metrics`` run.
        progress: called with phase, done and total; True draws bars.
        **how: intervals, tests, and what becomes of missing scores.

    Raises:
        InputError: for a table or metric that cannot be used.
    """
    progress = told(progress)
    if not columns and not metrics:
        columns = scored_columns(file, Table(file).columns)
    if not columns and not metrics:
        raise InputError("give `columns=COL,…` for columns of scores, or `metrics=METRICS` to compute them")
    test = complete(how, PairSettings)
    own = _Scores.open(metrics, columns, settings, test["skip_errors"], progress)
    files = [file] if against is None else [file, against]
    notes: list[str] = []
    sets: list[tuple[Array, dict[str, Array]]] = []
    clusters: list[Rows | None] = []
    results: list[PairsResult] = []
    for one in files:
        labels, scores, sides, said = _read_pairs(one, (label, sentence1, sentence2), columns, lower, own, one is file)
        asked = _asked(test, own)
        clusters.append(_clusters(sides, test["cluster"], said))
        result = detect_pairs(labels, scores, **{**asked, "cluster": clusters[-1]})
        said += systems_together(Table(one))
        left_out = len(labels) - len(result.kept)
        said += [f"{left_out} of {len(labels)} pairs miss a score and are left out for all metrics"] * bool(left_out)
        notes += [f"{one.name}: {note}" for note in said]
        sets.append((labels, scores))
        results.append(result)
    if against is None:
        document = results[0].to_document()
    else:
        first, second = (
            found.to_set(one.name if one is against else None) for one, found in zip(files, results, strict=True)
        )
        of = (clusters[0], clusters[1])
        drops = easy_to_hard(*sets, clusters=of, confidence=asked["confidence"], nan=asked["nan"])
        document = pairs_document(first, second, drops)
    asked |= {"label": label, "reference": sentence1, "candidate": sentence2}
    return _fooled(document, files, asked, settings, own, notes, results)


@takes(TripleSettings)
def fool_triples(
    file: Path,
    *,
    columns: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    lower: Sequence[str] = (),
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[TripleSettings],
) -> Fooled:
    """Count how often metrics prefer a paraphrase to a sentence that only shares words: rates, margins, tests.

    Args:
        file: table with label sentence1 sentence2 and scores, or with anchor paraphrase nonparaphrase.
        columns: columns with scores; every column of numbers unless given, or none if there are ``metrics``.
        metrics: specs of metrics to score the texts with.
        lower: those of ``columns`` of which lower is better, beside those that the table's sidecar knows.
        settings: model, language, and where and within what limits ``metrics`` run.
        progress: called with phase, done and total; True draws bars.
        **how: intervals, tests, and what becomes of missing scores.

    Raises:
        InputError: for a table or metric that cannot be used.
    """
    progress = told(progress)
    table = load_triples(file, [] if columns is None and metrics else columns)
    if not table.scores and not metrics:
        raise InputError(f"{file}: has no column of scores: compute some with `metrics=METRICS`")
    test = complete(how, TripleSettings)
    triples, n = table.triples, len(table.triples)
    own = _Scores.open(metrics, list(table.scores), settings, test["skip_errors"], progress)
    negative, said = _turned(file, list(table.scores), lower)
    notes = [*table.notes, *said, *systems_together(Table(file))]
    scores = {name: (-good, -bad) if name in negative else (good, bad) for name, (good, bad) in table.scores.items()}

    def where(place: int) -> str:
        side = "paraphrase" if place < n else "non-paraphrase"
        return f"the {side} of the triple in row {triples[place % n].row}"

    candidates = [t.paraphrase for t in triples] + [t.nonparaphrase for t in triples]
    for one in own.of(candidates, [t.anchor for t in triples] * 2, where, notes):
        scores[one.metric] = (one.values[:n], one.values[n:])
    asked = _asked(test, own)
    gap = _gap(triples, (settings and settings.lang) or "en", notes) if test["bins"] else None
    sides = [[t.anchor for t in triples], [t.paraphrase for t in triples], [t.nonparaphrase for t in triples]]
    of = _clusters(sides, test["cluster"], notes)
    result = prefer_paraphrase(scores, gap=gap, **{**asked, "bins": test["bins"] or 1, "cluster": of})
    if len(result.kept) < n:
        notes.append(f"{n - len(result.kept)} of {n} triples miss a score and are left out for all metrics")
    return _fooled(result.to_document(triples, scores), [file], asked, settings, own, notes, [result])


def _asked(test: FoolSettings, own: _Scores) -> Settings:
    """Return what the analysis is called with; rows on which a metric failed are left out."""
    asked: Settings = {**test}
    del asked["skip_errors"]
    return {**asked, "nan": "omit"} if own.failed else asked


def _fooled(
    document: PairsDocument | TriplesDocument,
    files: list[Path],
    asked: Settings,
    settings: ScorerConfig | None,
    own: _Scores,
    notes: list[str],
    results: list[PairsResult] | list[TriplesResult],
) -> Fooled:
    asked |= {name: str(value) for name, value in set_fields(settings).items()}
    return Fooled(document, files, asked, own.signatures, notes, about(own.metrics), results)


def _read_pairs(
    file: Path,
    texts: tuple[str | None, str | None, str | None],
    columns: Sequence[str],
    lower: Sequence[str],
    own: _Scores,
    strict: bool,
) -> tuple[Array, dict[str, Array], list[list[str]], list[str]]:
    """Return labels, scores, the texts of either side if there are any, and notes."""
    # A second file may have other names for the same columns: there a name that is missing falls back to the usual one.
    present = texts if strict else Table(file).columns
    label, first, second = (name if name in present else None for name in texts)
    table = load_pairs(file, label=label, sentence1=first, sentence2=second, metrics=columns)
    negative, notes = _turned(file, columns, lower)
    scores = {name: table.numbers(name) * (-1 if name in negative else 1) for name in columns}
    notes += [note for note in table.notes if not note.startswith(tuple("0123456789")) or "placeholder" in note]
    if own.metrics and ("candidate" not in table or "reference" not in table):
        raise InputError(
            f"{file}: has no columns sentence1 and sentence2: name them with `sentence1=` and `sentence2=`"
        )
    if own.metrics:
        # The loader calls the first sentence the candidate; here it is what the second is compared with.
        found = own.of(table.texts("reference"), table.texts("candidate"), lambda place: f"row {place + 1}", notes)
        scores |= {one.metric: one.values for one in found}
    sides = [list(table.texts(side)) for side in ("candidate", "reference") if side in table]
    return table.numbers("label"), scores, sides, notes


def _clusters(sides: Sequence[Sequence[str]], how: str, notes: list[str]) -> Rows | None:
    """Return the set of each row (n,): rows that share a text, whichever side it is on, directly or over other rows."""
    if how == "none" or not sides:
        return None
    n = len(sides[0])
    rows = [str(row) for row in range(n)] * len(sides)
    of = units([[text for side in sides for text in side], rows], n * len(sides))[:n]
    sizes = np.bincount(of)
    sizes = sizes[sizes > 0]
    if sizes.max() == 1 or len(sizes) == 1:
        if n > 1 and len(sizes) == 1:
            notes.append("all rows hang together by shared texts: they are taken as independent, which they are not")
        return None
    notes.append(
        f"{int(sizes[sizes > 1].sum())} of {n} rows share a text with another: intervals and tests take their "
        f"{len(sizes)} sets as independent, not the rows (`cluster=none` takes the rows); the largest has {sizes.max()}"
    )
    return of


def _turned(file: Path, columns: Sequence[str], lower: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the columns of which lower is better, as the caller or the table's sidecar says, and notes."""
    for name in lower:
        if name not in columns:
            raise InputError(f"`lower={name}`: is none of the columns of scores ({', '.join(columns)})")
    known = [name for name in lower_by_sidecar(file) if name in columns and name not in lower]
    notes = [f"lower is better for {name}, as {file}.signatures.json says: its sign is turned" for name in known]
    return {*lower, *known}, [*(f"the sign of {name} is turned: lower is better" for name in lower), *notes]


def _gap(triples: Sequence[Triple], lang: str, notes: list[str]) -> Array | None:
    """Return overlap(A, C) - overlap(A, B) of each triple; without its packages none, and a note."""
    from bsx.analysis.adversarial.build_triples import lexical_overlap, overlaps

    try:
        low, high = overlaps(triples, lexical_overlap(lang))
    except MissingExtraError as error:
        notes.append(f"not split by lexical overlap: {error}")
        return None
    return high - low
