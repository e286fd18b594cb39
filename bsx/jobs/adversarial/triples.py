"""Metrics that should prefer a paraphrase to a sentence with the same words: scores of columns, or computed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from bsx.analysis.adversarial.triples import TriplesResult, prefer_paraphrase
from bsx.analysis.datasets.triples import Triple, load_triples
from bsx.bertscore.config import ScorerConfig
from bsx.data.long import systems_together
from bsx.data.tables import Table
from bsx.errors import InputError, MissingExtraError
from bsx.jobs.adversarial.scores import OwnScores, tied_rows, turned_columns
from bsx.jobs.settings.adversarial import TripleSettings
from bsx.support.checks import Array
from bsx.support.progress import Watch, told
from bsx.support.settings import complete, set_fields, takes


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
) -> TriplesResult:
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
    own = OwnScores.open(metrics, list(table.scores), settings, test["skip_errors"], progress)
    negative, said = turned_columns(file, list(table.scores), lower)
    notes = [*table.notes, *said, *systems_together(Table(file))]
    scores = {name: (-good, -bad) if name in negative else (good, bad) for name, (good, bad) in table.scores.items()}

    def where(place: int) -> str:
        side = "paraphrase" if place < n else "non-paraphrase"
        return f"the {side} of the triple in row {triples[place % n].row}"

    candidates = [t.paraphrase for t in triples] + [t.nonparaphrase for t in triples]
    for one in own.of(candidates, [t.anchor for t in triples] * 2, where, notes):
        scores[one.metric] = (one.values[:n], one.values[n:])
    asked = own.asked(test)
    gap = _gap(triples, (settings and settings.lang) or "en", notes) if test["bins"] else None
    sides = [[t.anchor for t in triples], [t.paraphrase for t in triples], [t.nonparaphrase for t in triples]]
    of = tied_rows(sides, test["cluster"], notes)
    how_many = {"bins": test["bins"] or 1, "cluster": of}
    result = prefer_paraphrase(scores, triples=triples, gap=gap, **{**asked, **how_many})
    left = n - result.results[0].n
    if left:
        notes.append(f"{left} of {n} triples miss a score and are left out for all metrics")
    asked |= {name: str(value) for name, value in set_fields(settings).items()}
    return replace(result, settings=asked, signatures=own.signatures, notes=(*own.about(), *notes))


def _gap(triples: Sequence[Triple], lang: str, notes: list[str]) -> Array | None:
    """Return overlap(A, C) - overlap(A, B) of each triple; without its packages none, and a note."""
    from bsx.analysis.adversarial.build_triples import lexical_overlap, overlaps

    try:
        low, high = overlaps(triples, lexical_overlap(lang))
    except MissingExtraError as error:
        notes.append(f"not split by lexical overlap: {error}")
        return None
    return high - low
