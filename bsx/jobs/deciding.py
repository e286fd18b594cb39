"""Minimum Bayes risk decoding of files: from each list the candidate that a metric expects to be best."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO, TypedDict

import numpy as np
from pydantic import Field

from bsx.data.nbest import NBest, NBestColumns, NBestFile, beside
from bsx.data.run import as_one_run, check_output, is_stream
from bsx.encode.run_config import EncoderSettings
from bsx.errors import InputError
from bsx.jobs.tables import MetricSettings, Reported
from bsx.metrics.mbr import Decision, Decoder, MbrSettings, Utilities, drawn
from bsx.metrics.zoo import get_metrics
from bsx.support.progress import told
from bsx.support.settings import Option, part, refuse_idle, settled

if TYPE_CHECKING:
    from bsx.data.journal import Arrays

_CHOICES = (
    *(
        "segment",
        "candidate",
        "source",
        "model_score",
        "weight",
        "temperature",
        "method",
        "proposer",
        "prune_to",
        "centroids",
        "centroid_weights",
        "reduction",
        "matrix_rank",
        "regularisation",
        "rounds",
        "check",
    ),
    "seed",
)
_METHODS: dict[str, tuple[str, ...]] = {
    "proposer": ("prune",),
    "prune_to": ("prune",),
    "centroids": ("centroid",),
    "centroid_weights": ("centroid",),
    "reduction": ("probabilistic",),
    "matrix_rank": ("probabilistic",),
    "regularisation": ("probabilistic",),
    "rounds": ("centroid", "probabilistic"),
}
_BLOCK = 8  # lists that a run which is stopped may lose


class Checked(TypedDict):
    """What the method loses, measured on lists that were decided exactly too."""

    lists: int
    same: int
    share: float
    ci: tuple[float, float]
    loss_mean: float
    loss_max: float


class MbrSummary(TypedDict):
    """What was decided."""

    lists: int
    candidates: int
    distinct: int
    expected: float
    rank: float
    first: int
    checked: Checked | None
    settings: dict[str, object]
    signatures: dict[str, str]


@dataclass(frozen=True, eq=False)
class Decided:
    """What came out.

    Attributes:
        summary: counts, means, and what the method loses.
        notes: what the reader should know.
    """

    summary: MbrSummary
    notes: list[str]

    def to_dict(self) -> dict[str, object]:
        """Return the summary, for other programs."""
        return {**self.summary, "notes": self.notes}

    def to_text(self) -> str:
        """Return what was decided in a few sentences."""
        result = self.summary
        said = [
            f"By {result['settings']['metric']}, one candidate was chosen from each of {result['lists']:,} lists "
            f"({result['candidates']:,} candidates, {result['distinct']:,} of them different within their lists).",
            f"Their expected score is {result['expected']:.4f} on average; the first of a list was chosen in "
            f"{result['first']:,} lists, the mean rank is {result['rank']:.2f}.",
        ]
        if (checked := result["checked"]) is not None:
            low, high = checked["ci"]
            said.append(
                f"{checked['lists']:,} lists were decided exactly too: {checked['same']:,} decisions are the same or "
                f"as good ({checked['share']:.3f} [{low:.3f}, {high:.3f}], 95 % interval over lists like these), and "
                f"{checked['loss_mean']:.4f} of the expected score is lost on average, {checked['loss_max']:.4f} at "
                "most."
            )
        return "\n".join(said)


@dataclass(frozen=True)
class _Lists:
    """The lists of a run, each with the one that it is held against; read as often as they are iterated over."""

    mine: NBestFile
    others: NBestFile | None

    def __iter__(self) -> Iterator[tuple[NBest, NBest]]:
        return beside(self.mine, self.others)


_Rows = list[tuple[NBest, Decision, Utilities | None]]


class MbrRun(Reported, MetricSettings, MbrSettings):
    """Which lists of candidates are decided, how, and what is written."""

    table: Annotated[
        str,
        Field(
            description="Lists of candidates, a row each: .tsv (unquoted), .csv, .jsonl, .parquet, .xlsx, or Moses' "
            "n-best format (id ||| text ||| features ||| score)."
        ),
        Option(argument=True),
    ]
    metrics: Annotated[
        Sequence[str], Field(description="The metric that decides: NAME[:field=value,…]; see bsx metrics. [bertscore]")
    ] = ()
    references: Annotated[
        str | None,
        Field(description="The same lists with texts that candidates are held against; they themselves unless given."),
        Option(("-r",)),
    ] = None
    segment: Annotated[
        str | None, Field(description="Column that names the list; its rows stand together. [segment, sid or id]")
    ] = None
    candidate: Annotated[str, Field(description="Column of candidates.")] = "candidate"
    source: Annotated[str | None, Field(description="Column of sources, for metrics that read them.")] = None
    model_score: Annotated[
        str | None, Field(description="Column of the model's scores, higher is better: ranks and ties.")
    ] = None
    weight: Annotated[
        str | None,
        Field(description="Column of weights: how much a row counts where others are held against it."),
    ] = None
    check: Annotated[int, Field(ge=0, description="Decide so many lists exactly too, to state what is lost.")] = 10
    output: Annotated[
        Path | str | None,
        Field(description="Decisions, one row a list: .tsv, .csv, .jsonl, .parquet, .xlsx."),
        Option(("-o",), writable=True),
    ] = None
    matrix_out: Annotated[
        Path | str | None,
        Field(description="Write the scores behind them: .jsonl, one line a list."),
        Option(writable=True),
    ] = None
    resume: Annotated[bool, Field(description="Go on where a run that was stopped with the same output left off.")] = (
        False
    )


@settled(MbrRun)
@as_one_run
def mbr(settings: MbrRun) -> Decided:
    """Choose from each list of a file the candidate with the least Bayes risk, and write the decisions.

    Args:
        settings: see `MbrRun`.

    Raises:
        InputError: for a file, column or metric that cannot be used.
    """
    from bsx.data.journal import continued
    from bsx.data.output import ScoreTable, atomic_text, check_table
    from bsx.jobs.scoring.resume import keeping, taken_up
    from bsx.metrics.summary import about

    progress, say, resume, method = told(settings.progress), settings.say, settings.resume, settings.method
    references = settings.references
    output = None if settings.output is None else Path(settings.output)
    matrix_out = None if settings.matrix_out is None else Path(settings.matrix_out)
    if output is not None:
        check_table(output)
    _check_outputs(output, matrix_out, resume, method)
    asked = {name: getattr(settings, name) for name in _CHOICES}
    for name in _CHOICES:
        if method not in _METHODS.get(name, (method,)):
            refuse_idle(asked, MbrRun, f"with the method {method}", name)
    if method == "exact":
        refuse_idle(asked, MbrRun, "with the method exact, which decides every list so", "check", "seed")
    names = NBestColumns(settings.segment, settings.candidate, settings.model_score, settings.weight, settings.source)
    lists = _Lists(
        NBestFile.of(settings.table, names if references is None else replace(names, weight=None)),
        None
        if references is None
        else NBestFile.of(
            references, replace(names, source=None, score=names.score if settings.temperature is not None else None)
        ),
    )
    total = sum(1 for _ in lists)  # malformed input is found before a model is loaded
    pruning = method == "prune"
    run = part(settings, EncoderSettings)
    metric, *others = settings.metrics or ["bertscore"]
    if others:
        raise InputError(f"metrics: one metric decides, not {len(settings.metrics)}")
    made = get_metrics([metric, *([settings.proposer] if pruning else [])], **run)
    decoder = Decoder(made[0], settings, proposer=made[1] if pruning else None)
    checked = set[int]() if method == "exact" else drawn(total, settings.check, settings.seed)
    signatures = {one.spec: str(one.signature()) for one in made}
    named = {**asked, "metric": metric, **{name: str(value) for name, value in run.items()}}
    opened = [one for one in (lists.mine, lists.others) if one is not None]

    def blocks(start: int) -> Iterator[_Rows]:
        rest = islice(enumerate(lists), start, None)
        while batch := list(islice(rest, _BLOCK)):
            rows = []
            for place, (one, other) in batch:
                rows.append((one, *decoder.decide(one, other, check=place in checked)))
                if progress is not None:
                    progress("deciding", place + 1, total)
            yield rows

    totals = _Totals()
    with contextlib.ExitStack() as stack:
        journal = stack.enter_context(keeping(output, resume, say))
        table = None if output is None else stack.enter_context(ScoreTable(output))
        scores = None if matrix_out is None else stack.enter_context(atomic_text(matrix_out))
        identity = {
            "input": [f"{one.file.path.name} ({one.file.digest()[:16]})" for one in opened],
            "settings": {name: str(value) for name, value in named.items()},
            "signature": list(signatures.values()),
        }
        if journal is not None:
            taken_up(journal, resume, lambda: identity, say)
        for rows in continued(
            journal,
            lists,
            total,
            blocks,
            begin=lambda: journal.start(identity, {}) if journal is not None else None,
            resumed=lambda done: say(f"{done:,} of {total:,} lists were decided before"),
            pack=_pack,
            unpack=_unpack,
        ):
            for _, decision, utilities in rows:
                totals.add(decision, drawn=totals.lists in checked)
                if table is not None:
                    table.write(_row(decision))
                if scores is not None and utilities is not None:
                    _write(scores, decision.id, utilities)
        summary = totals.summary(named, signatures)
        if table is not None:
            table.sidecar = summary
    notes = about(made)
    if not made[0].higher_is_better:
        notes.append(f"lower is better for {made[0].spec}: the lowest expected score is chosen")
    return Decided(summary, notes)


def _check_outputs(output: Path | None, matrix: Path | None, resume: bool, method: str) -> None:
    if matrix is not None:
        if matrix.suffix != ".jsonl" and not is_stream(matrix):
            raise InputError(f"{matrix}: the scores are written as JSON lines; the name must end in .jsonl")
        check_output(matrix)
        if method not in ("exact", "prune"):
            raise InputError(f"matrix_out writes the scores of all pairs, and the method {method} has none")
    if resume and (output is None or is_stream(output)):
        raise InputError("resume goes on with the file of output: name it")
    if resume and matrix is not None:
        raise InputError("matrix_out needs a run from the start: leave out resume")


def _pack(rows: _Rows) -> Arrays:
    decisions = [decision for _, decision, _ in rows]
    return {
        "segments": np.array(len(rows)),
        "chosen": np.array([candidates.texts.index(decision.candidate) for candidates, decision, _ in rows]),
        "numbers": np.array([[d.rank, d.n, d.distinct] for d in decisions]),
        "expected": np.array([d.expected for d in decisions]),
        "loss": np.array([np.nan if d.loss is None else d.loss for d in decisions]),
    }


def _unpack(arrays: Arrays, lists: Sequence[tuple[NBest, NBest]]) -> _Rows:
    rows: _Rows = []
    for place, (candidates, _) in enumerate(lists):
        rank, n, distinct = (int(number) for number in arrays["numbers"][place])
        lost = float(arrays["loss"][place])
        text = candidates.texts[int(arrays["chosen"][place])]
        expected = float(arrays["expected"][place])
        rows.append(
            (
                candidates,
                Decision(candidates.id, text, expected, rank, n, distinct, None if np.isnan(lost) else lost),
                None,
            )
        )
    return rows


def _row(decision: Decision) -> dict[str, object]:
    return {**vars(decision), "loss": float("nan") if decision.loss is None else decision.loss}


def _write(stream: TextIO, name: str, utilities: Utilities) -> None:
    content = {
        "id": name,
        "candidates": utilities.candidates,
        "references": utilities.references,
        "weights": utilities.weights.tolist(),
        "scores": utilities.scores.tolist(),
    }
    stream.write(json.dumps(content, ensure_ascii=False) + "\n")


class _Totals:
    """What is counted of decisions, so that none need be kept."""

    def __init__(self) -> None:
        self.lists = self._candidates = self._distinct = self._rank = self._first = 0
        self._expected = 0.0
        self._losses: list[float] = []

    def add(self, decision: Decision, *, drawn: bool) -> None:
        self.lists += 1
        self._candidates += decision.n
        self._distinct += decision.distinct
        self._expected += decision.expected
        self._rank += decision.rank
        self._first += decision.rank == 1
        if drawn and decision.loss is not None:  # of lists that were not drawn, only short ones have a known loss
            self._losses.append(decision.loss)

    def summary(self, named: dict[str, object], signatures: dict[str, str]) -> MbrSummary:
        checked: Checked | None = None
        if self._losses:
            from bsx.analysis.stats.preference import wilson_interval

            same, n = sum(loss == 0 for loss in self._losses), len(self._losses)
            checked = {
                "lists": n,
                "same": same,
                "share": same / n,
                "ci": wilson_interval(same, n),
                "loss_mean": float(np.mean(self._losses)),
                "loss_max": max(self._losses),
            }
        return {
            "lists": self.lists,
            "candidates": self._candidates,
            "distinct": self._distinct,
            "expected": self._expected / self.lists,
            "rank": self._rank / self.lists,
            "first": self._first,
            "checked": checked,
            "settings": named,
            "signatures": signatures,
        }
