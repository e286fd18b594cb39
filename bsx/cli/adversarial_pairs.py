"""``bsx adversarial pairs``: metrics as detectors of paraphrases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bsx.bertscore.config import ScorerConfig
from bsx.cli import adversarial_input as given
from bsx.cli.options import with_settings
from bsx.errors import InputError

if TYPE_CHECKING:
    from bsx.metrics.base import Metric


@with_settings(*given.LEFT_OUT, config=ScorerConfig)
def pairs(
    file: Annotated[Path, typer.Argument(help="Table of labelled pairs: .tsv (unquoted), .csv, .jsonl, .parquet.")],
    label: Annotated[
        str | None, typer.Option(help="Column of labels, 1 for a paraphrase. [label, noisy_label or is_duplicate]")
    ] = None,
    metrics: given.Names = None,
    score: given.Score = None,
    against: Annotated[
        Path | None, typer.Option(help="Second, harder table: report what each metric loses from FILE to it.")
    ] = None,
    sentence1: Annotated[str | None, typer.Option(help="Column of references. [sentence1 or question1]")] = None,
    sentence2: Annotated[str | None, typer.Option(help="Column of candidates. [sentence2 or question2]")] = None,
    lower: given.Lower = None,
    interval: Annotated[Literal["delong", "bootstrap"], typer.Option(help="Interval of the ROC AUC.")] = "delong",
    folds: Annotated[int, typer.Option(help="Folds of the cross-validated threshold.")] = 10,
    correction: given.Correction = "none",
    confidence: given.Confidence = 0.95,
    resamples: given.Resamples = 1000,
    seed: given.Seed = 1,
    nan: given.Nan = "error",
    skip_errors: given.Skip = False,
    curves: Annotated[
        Path | None, typer.Option(help="Write precision and recall by threshold: .tsv, .csv, .jsonl, .parquet.")
    ] = None,
    format: given.Format = "text",
    output: given.Output = None,
    **settings: Any,
) -> None:
    """Take metrics for paraphrase detectors: ROC AUC, average precision, best threshold, paired tests."""
    from bsx.analysis.adversarial.pairs import detect_pairs, easy_to_hard
    from bsx.analysis.adversarial.tables import detection_set, pairs_document, pairs_text
    from bsx.cli.messages import say
    from bsx.cli.output import write_result
    from bsx.support.provenance import provenance

    columns = given.names(metrics)
    if not columns and not score:
        raise InputError("give --metrics COL[,COL…] for columns of scores, or --score METRICS to compute them")
    built = given.open_all(score, columns, settings)
    files = [file] if against is None else [file, against]
    chosen: dict[str, Any] = {
        "interval": interval,
        "folds": folds,
        "correction": correction,
        "confidence": confidence,
        "resamples": resamples,
        "seed": seed,
        "nan": nan,
    }
    sets, contents, notes = [], [], []
    signatures: dict[str, str] = {}
    for one in files:
        texts = (label, sentence1, sentence2)
        labels, scores, said, signed, failed = _read(one, texts, columns, lower, built, skip_errors, one is file)
        chosen["nan"] = "omit" if failed else chosen["nan"]
        result = detect_pairs(labels, scores, **chosen)
        left_out = len(labels) - len(result.kept)
        said += [f"{left_out} of {len(labels)} pairs miss a score and are left out for all metrics"] * bool(left_out)
        notes += [f"{one.name}: {note}" for note in said]
        signatures |= signed
        sets.append((labels, scores))
        contents.append(detection_set(result, one.name if one is against else None))
        if curves is not None and one is file:
            _write_curves(result, curves)
    document = pairs_document(contents[0])
    if against is not None:
        drops = easy_to_hard(*sets, confidence=confidence, nan=chosen["nan"])
        document = pairs_document(contents[0], contents[1], drops)
    roles = {"label": label, "reference": sentence1, "candidate": sentence2}
    content = document.to_dict() | {
        "settings": {**chosen, **roles, **{name: str(value) for name, value in settings.items()}},
        "notes": notes,
        "provenance": provenance("adversarial-pairs", files, signatures),
    }
    write_result(json.dumps(content, ensure_ascii=False) if format == "json" else pairs_text(document), output)
    say(notes)


def _read(
    file: Path,
    texts: tuple[str | None, str | None, str | None],
    columns: list[str],
    lower: str | None,
    metrics: Sequence[Metric],
    skip_errors: bool,
    strict: bool,
) -> tuple[Any, dict[str, Any], list[str], dict[str, str], bool]:
    """Return labels, scores, notes, signatures, and whether a metric failed on some pair."""
    from bsx.analysis.datasets.pairs import load_pairs
    from bsx.data.tables import Table

    # A second file may have other names for the same columns: there a name that is missing falls back to the usual one.
    present = texts if strict else Table(file).columns
    label, first, second = (name if name in present else None for name in texts)
    table = load_pairs(file, label=label, sentence1=first, sentence2=second, metrics=columns)
    negative, notes = given.turned(file, columns, lower)
    scores = {name: table.numbers(name) * (-1 if name in negative else 1) for name in columns}
    notes += [note for note in table.notes if not note.startswith(tuple("0123456789")) or "placeholder" in note]
    if not metrics:
        return table.numbers("label"), scores, notes, {}, False
    if "candidate" not in table or "reference" not in table:
        raise InputError(f"{file}: has no columns sentence1 and sentence2: name them with --sentence1 and --sentence2")
    # The loader calls the first sentence the candidate; here it is what the second is compared with.
    found = given.run_all(
        metrics,
        table.texts("reference"),
        table.texts("candidate"),
        skip_errors=skip_errors,
        where=lambda place: f"row {place + 1}",
    )
    scores |= {one.metric: one.values for one in found}
    notes += [note for one in found for note in one.notes]
    return (
        table.numbers("label"),
        scores,
        notes,
        {one.metric: one.signature for one in found},
        any(one.failed for one in found),
    )


def _write_curves(result: Any, path: Path) -> None:
    from bsx.data.output import ScoreTable

    with ScoreTable(path) as table:
        for one in result.results:
            curve = one.curve
            for row in zip(curve.thresholds.tolist(), curve.precision.tolist(), curve.recall.tolist(), strict=True):
                table.write({"metric": one.metric, **dict(zip(("threshold", "precision", "recall"), row, strict=True))})
