"""What the page of a run says before it shows segments: the presenters' sentences, tables and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from bsx.analysis.compare.result import CompareResult
from bsx.analysis.present.cells import listed
from bsx.analysis.present.parts import Chart, Section
from bsx.analysis.report.build import findings
from bsx.analysis.report.documents import Document, ScoreRows, parse_document
from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import titles
from bsx.data.lines import NamedFile
from bsx.data.sidecar import ScoredMetricRow, Sidecar, read_sidecar
from bsx.errors import BsxError
from bsx.support.result import Result
from bsx.ui.results.store import ALONE, ScoredTable
from bsx.ui.workspace import RECORD, Run

_OTHERS = (RECORD, "summary.json")
_LARGEST = 64 << 20  # bytes of a document
_MOST_FILES = 40
_MOST_ROWS = 300_000  # whose spread is drawn
_EXAMPLES = 3


@dataclass
class RunNeighbours:
    """What lies in the folder of a table of scores and speaks of it.

    Attributes:
        documents: name -> result, of what commands printed as JSON.
        notes: what could not be read, and why.
    """

    documents: dict[str, Result] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_beside(run: Run, *, has_folder: bool) -> RunNeighbours:
    """Read the documents in the folder of a run; what cannot be read is said, not fatal.

    Args:
        run: the run.
        has_folder: whether the folder is the run's own; else what names another table is left out.
    """
    neighbours = RunNeighbours()
    files = sorted(path for path in run.folder.iterdir() if path.is_file() and not path.name.startswith("."))
    documents = [
        path
        for path in files
        if path.suffix == ".json"
        and path.name not in _OTHERS
        and not path.name.endswith((".signatures.json", "selection.json"))
    ]
    for path in documents[:_MOST_FILES]:
        try:
            if run.file(path.name).stat().st_size > _LARGEST:
                neighbours.notes.append(f"{path.name} is larger than {_LARGEST >> 20} MB and is not read.")
                continue
            result = parse_document(NamedFile(path).json(), path.name)
        except BsxError as error:
            neighbours.notes.append(f"Not shown: {error}")
            continue
        named = [] if result.provenance is None else [file.name for file in result.provenance.files]
        if has_folder or run.scores.name in named:
            neighbours.documents[path.name] = result
    return neighbours


@dataclass(frozen=True)
class RunFindings:
    """What a page says before the segments.

    Attributes:
        plain: the answer in words that need no statistics; empty where nothing was compared.
        lead: the answer as terminal and report give it, in one to three sentences.
        sections: the ranking, what else was found, and what was scored.
        charts: of all sections, in order.
        titles: what the page calls metrics, by their specifications.
    """

    plain: str
    lead: str
    sections: tuple[Section, ...]
    charts: tuple[Chart, ...]
    titles: dict[str, str]

    @property
    def specs(self) -> list[list[dict[str, Any]]]:
        """The specifications of the charts' panels."""
        return [[spec for _, spec in chart.panels] for chart in self.charts]


def shown(run: Run, table: ScoredTable, beside: RunNeighbours) -> RunFindings:
    """Return the answer of a run, and what it rests on: as terminal and report say it, with titles of metrics."""
    specs = [metric.name for metric in table.metrics if not metric.human]
    specs += [spec for result in beside.documents.values() for spec in result.signatures]
    named = titles([spec for spec in dict.fromkeys(specs) if spec not in table.systems], load_registry())
    documents = [Document(name, None, _named(result, named)) for name, result in beside.documents.items()]
    if table.rows <= _MOST_ROWS:
        documents.insert(0, Document(run.scores.name, None, _rows(run, table, named)))
    sections = findings(documents, _EXAMPLES)
    first = next((section for section in sections if section.answers), sections[0] if sections else None)
    lead = first.lead if first is not None else ""
    if first is not None:
        first.lead = ""
        sections = [first, *(section for section in sections if section is not first)]
    charts = tuple(block for section in sections for block in section.blocks if isinstance(block, Chart))
    compared = next((result for result in beside.documents.values() if isinstance(result, CompareResult)), None)
    plain = in_words(compared) if compared is not None else _alone(table.systems)
    return RunFindings(plain, lead, tuple(sections), charts, named)


def _named(value: Any, named: Mapping[str, str]) -> Any:
    """Return a result, or a part of one, in which metrics are called by their titles."""
    if isinstance(value, str):
        return named.get(value, value)
    if is_dataclass(value):  # a name is that of a notice or factor
        parts = {item.name: getattr(value, item.name) for item in fields(value) if item.name != "name"}
        return replace(value, **{name: _named(part, named) for name, part in parts.items()})  # type: ignore[type-var]
    if isinstance(value, dict):
        return {named.get(key, key): _named(part, named) for key, part in value.items()}
    return type(value)(_named(part, named) for part in value) if isinstance(value, list | tuple) else value


def _alone(systems: Sequence[str]) -> str:
    """Say what scores of one system are good for; empty if there are several."""
    if len(systems) != 1:
        return ""
    name = "" if systems[0] == ALONE else f", {systems[0]}"
    return (
        f"There is one system{name}: nothing is compared. Its scores are under What was scored. A score says little by "
        "itself; to learn which system is better, run another one's translations of the same segments along with it."
    )


def in_words(result: CompareResult) -> str:
    """Return who is best under which metric, in words that need no statistics; empty where that takes more words."""
    few = next((warning for warning in result.warnings if warning.name in ("few-segments", "too-few-to-swap")), None)
    if few is not None:
        n, what = next((few.values[what], what) for what in ("segments", "documents") if what in few.values)
        return f"{n} {what} are too few to show that a system is better than another, however large the differences."
    several_pairs = any(len(metric.tests) > 1 for metric in result.metrics)
    corrected = not several_pairs or result.settings.get("correction", "none") != "none"
    resampled = all(warning.name != "few-resamples" for warning in result.warnings)
    if (result.baseline is not None and several_pairs) or not corrected or not resampled or not result.metrics:
        return ""
    best: dict[str | None, list[str]] = {}
    called = titles([metric.metric for metric in result.metrics], load_registry())
    for metric in result.metrics:
        won = [(test.better, test.worse) for test in metric.tests if test.better is not None]
        ahead = [name for name, _ in won if sum(other == name for other, _ in won) == len(result.systems) - 1]
        if not ahead and won:
            return ""
        best.setdefault(next(iter(ahead), None), []).append(called[metric.metric])
    several = sum(map(len, best.values())) > 1
    if [*best] == [None]:
        under = f"{'either' if len(result.metrics) == 2 else 'any'} metric" if several else best[None][0]
        return (
            f"No system is shown to be better than another: under {under}, the differences are so small that they may "
            "be chance. That does not show that the systems are equally good."
        )
    if len(best) == 1:
        (name, metrics), *_ = best.items()
        count = "both" if len(metrics) == 2 else f"all {len(metrics)}"
        under = f"{count} metrics ({listed(metrics)})" if several else metrics[0]
        return f"{name} scores best under {under}, by more than chance would explain."
    parts = [f"{name} scores best under {listed(metrics)}" for name, metrics in best.items() if name is not None]
    if None in best:
        parts.append(f"under {listed(best[None])}, the differences may be chance")
    return f"The metrics do not all say the same: {'; '.join(parts)}."


def _rows(run: Run, table: ScoredTable, named: Mapping[str, str]) -> ScoreRows:
    """Return the scores without texts, as a report reads them."""
    known = read_sidecar(run.scores)
    if known is None or not known.metrics:
        made = [
            ScoredMetricRow(metric=metric.name, higher_is_better=metric.higher, signature=metric.signature)
            for metric in table.metrics
            if not metric.human
        ]
        known = Sidecar(metrics=made, outputs=[] if known is None else known.outputs)
    known = Sidecar.model_validate(_named(known.model_dump(), named))
    names = ["human" if metric.human else named.get(metric.name, metric.name) for metric in table.metrics]
    rows: list[tuple[object, ...]] = []
    for number, system in enumerate(table.systems):
        values = table.values[:, number, :].T
        values = values[~np.isnan(values).all(axis=1)]
        cells = values.astype(object)
        cells[np.isnan(values)] = None
        rows += [(system, *row) for row in cells.tolist()]
    return ScoreRows(("system", *names), tuple(rows), frozenset(names), known, None)
