"""Metrics as detectors of paraphrases, with scores from columns or computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from bsx.analysis.adversarial.pairs import (
    HarderDrop,
    HarderSet,
    PairsResult,
    detect_pairs,
    easy_to_hard,
    precision_by_threshold,
)
from bsx.analysis.datasets.pairs import load_pairs
from bsx.analysis.stats.folds import Rows
from bsx.bertscore.config import ScorerConfig
from bsx.data.long import systems_together
from bsx.data.output import ScoreTable, check_table
from bsx.data.sidecar import scored_columns
from bsx.data.tables import Table
from bsx.errors import InputError
from bsx.jobs.adversarial.scores import OwnScores, tied_rows, turned_columns
from bsx.jobs.settings.adversarial import PairSettings
from bsx.support.checks import Array
from bsx.support.progress import Watch, told
from bsx.support.settings import complete, set_fields, takes


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
    curves: Path | None = None,
    settings: ScorerConfig | None = None,
    progress: Watch = None,
    **how: Unpack[PairSettings],
) -> PairsResult:
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
        curves: table to write: precision and recall by threshold on the first table.
        settings: model, language, and where and within what limits ``metrics`` run.
        progress: called with phase, done and total; True draws bars.
        **how: intervals, tests, and what becomes of missing scores.

    Raises:
        InputError: for a table or metric that cannot be used.
    """
    progress = told(progress)
    if curves is not None:
        check_table(curves)
    if not columns and not metrics:
        columns = scored_columns(file, Table(file).columns)
    if not columns and not metrics:
        raise InputError("give `columns=COL,…` for columns of scores, or `metrics=METRICS` to compute them")
    test = complete(how, PairSettings)
    own = OwnScores.open(metrics, columns, settings, test["skip_errors"], progress)
    files = [file] if against is None else [file, against]
    notes: list[str] = []
    sets: list[tuple[Array, dict[str, Array]]] = []
    clusters: list[Rows | None] = []
    results: list[PairsResult] = []
    for one in files:
        labels, scores, sides, said = _read_pairs(one, (label, sentence1, sentence2), columns, lower, own, one is file)
        asked = own.asked(test)
        clusters.append(tied_rows(sides, test["cluster"], said))
        result = detect_pairs(labels, scores, **{**asked, "cluster": clusters[-1]})
        said += systems_together(Table(one))
        left_out = len(labels) - result.results[0].n
        said += [f"{left_out} of {len(labels)} pairs miss a score and are left out for all metrics"] * bool(left_out)
        notes += [f"{one.name}: {note}" for note in said]
        sets.append((labels, scores))
        results.append(result)
    found = results[0]
    if against is not None:
        of = (clusters[0], clusters[1])
        drops = easy_to_hard(*sets, clusters=of, confidence=asked["confidence"], nan=asked["nan"])
        lost = tuple(HarderDrop(name, d.a, d.b, d.difference, (d.low, d.high), d.p) for name, d in drops.items())
        harder = HarderSet(against.name, results[1].results, results[1].tests)
        found = replace(found, against=harder, drops=lost)
    if curves is not None:
        _write_curves(curves, precision_by_threshold(*sets[0], nan=asked["nan"]))
    asked |= {"label": label, "reference": sentence1, "candidate": sentence2}
    asked |= {name: str(value) for name, value in set_fields(settings).items()}
    return replace(found, settings=asked, signatures=own.signatures, notes=(*own.about(), *notes))


def _write_curves(path: Path, curves: Mapping[str, Array]) -> None:
    with ScoreTable(path) as table:
        for name, points in curves.items():
            for threshold, precision, recall in points.tolist():
                table.write({"metric": name, "threshold": threshold, "precision": precision, "recall": recall})


def _read_pairs(
    file: Path,
    texts: tuple[str | None, str | None, str | None],
    columns: Sequence[str],
    lower: Sequence[str],
    own: OwnScores,
    strict: bool,
) -> tuple[Array, dict[str, Array], list[list[str]], list[str]]:
    """Return labels, scores, the texts of either side if there are any, and notes."""
    # A second file may have other names for the same columns: there a name that is missing falls back to the usual one.
    present = texts if strict else Table(file).columns
    label, first, second = (name if name in present else None for name in texts)
    table = load_pairs(file, label=label, sentence1=first, sentence2=second, metrics=columns)
    negative, notes = turned_columns(file, columns, lower)
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
