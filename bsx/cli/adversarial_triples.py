"""``bsx adversarial triples``: does a metric prefer a paraphrase to a sentence that only shares words?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli import adversarial_input as given
from bsx.cli.options import with_settings
from bsx.errors import InputError, MissingExtraError


@with_settings(*given.LEFT_OUT, config=ScorerConfig)
def triples(
    file: Annotated[
        Path,
        typer.Argument(
            help="Table with label sentence1 sentence2 and scores, or with anchor paraphrase nonparaphrase."
        ),
    ],
    metrics: given.Names = None,
    score: given.Score = None,
    lower: given.Lower = None,
    bins: Annotated[
        int, typer.Option(min=0, help="Ranges of the gap in lexical overlap to split triples by; 0 for none.")
    ] = 4,
    worst: Annotated[int, typer.Option(min=0, help="How many of the smallest margins to show for each metric.")] = 5,
    correction: given.Correction = "none",
    confidence: given.Confidence = 0.95,
    resamples: given.Resamples = 1000,
    seed: given.Seed = 1,
    nan: given.Nan = "error",
    skip_errors: given.Skip = False,
    format: given.Format = "text",
    output: given.Output = None,
    **settings: Any,
) -> None:
    """Count how often metrics prefer the paraphrase: rates, margins, McNemar tests, worst triples."""
    from bsx.analysis.adversarial.tables import triples_document, triples_text
    from bsx.analysis.adversarial.triples import prefer_paraphrase
    from bsx.analysis.datasets.triples import load_triples
    from bsx.cli.messages import say
    from bsx.cli.output import write_result
    from bsx.support.provenance import provenance

    columns = given.names(metrics) if metrics is not None or score else None
    table = load_triples(file, columns)
    if not table.scores and not score:
        raise InputError(f"{file}: has no column of scores: compute some with --score METRICS")
    lang = settings.get("lang", "en")
    built = given.open_all(score, list(table.scores), settings)
    negative, notes = given.turned(file, list(table.scores), lower)
    notes = [*table.notes, *notes]
    scores = {name: (-good, -bad) if name in negative else (good, bad) for name, (good, bad) in table.scores.items()}
    n = len(table.triples)
    signatures: dict[str, str] = {}

    def where(place: int) -> str:
        side = "paraphrase" if place < n else "non-paraphrase"
        return f"the {side} of the triple in row {table.triples[place % n].row}"

    candidates = [t.paraphrase for t in table.triples] + [t.nonparaphrase for t in table.triples]
    anchors = [t.anchor for t in table.triples] * 2
    for one in given.run_all(built, candidates, anchors, skip_errors=skip_errors, where=where):
        scores[one.metric] = (one.values[:n], one.values[n:])
        signatures[one.metric] = one.signature
        notes += one.notes
        nan = "omit" if one.failed else nan
    gap = None
    if bins:
        gap, said = _gap(table.triples, lang)
        notes += said
    chosen: dict[str, Any] = {
        "bins": bins,
        "worst": worst,
        "correction": correction,
        "confidence": confidence,
        "resamples": resamples,
        "seed": seed,
        "nan": nan,
    }
    result = prefer_paraphrase(scores, gap=gap, **{**chosen, "bins": bins or 1})
    if len(result.kept) < n:
        notes.append(f"{n - len(result.kept)} of {n} triples miss a score and are left out for all metrics")
    document = triples_document(result, table.triples, scores)
    content = {
        **document.to_dict(),
        "settings": {**chosen, **{name: str(value) for name, value in settings.items()}},
        "notes": notes,
        "provenance": provenance("adversarial-triples", [file], signatures),
    }
    write_result(json.dumps(content, ensure_ascii=False) if format == "json" else triples_text(document), output)
    say(notes)


def _gap(triples: Any, lang: str) -> tuple[Any, list[str]]:
    """Return overlap(A, C) - overlap(A, B) of each triple; without its packages none, and a note."""
    from bsx.analysis.adversarial.build_triples import lexical_overlap, overlaps

    try:
        low, high = overlaps(triples, lexical_overlap(lang))
    except MissingExtraError as error:
        return None, [f"not split by lexical overlap: {error}"]
    return high - low, []
