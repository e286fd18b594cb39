"""What was scored: tables of scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bsx.analysis.present import charts
from bsx.analysis.present.cells import FEWEST, decimals, listed, number, table, text
from bsx.analysis.present.notices import no_translations
from bsx.analysis.present.parts import Cell, Chart, Heading, Part, Section, Segments, TablePart
from bsx.analysis.report.documents import Document, ScoreRows
from bsx.data.long import HUMAN
from bsx.data.pairing import Pairing, is_text_of_segment, printed
from bsx.data.sidecar import SystemScoreRow
from bsx.support.checks import Array
from bsx.support.provenance import Signature

_TEXTS = ("candidate", "reference", "source")
_PERCENTILES = (5, 25, 50, 75, 95)
_MOST = 8  # systems that a sentence can name


def scored(documents: Sequence[Document]) -> Section | None:
    """Return the section on what was scored, with which signatures."""
    section = Section("scored", "What was scored")
    tables = [(document.name, document.content) for document in documents if isinstance(document.content, ScoreRows)]
    leads = []
    scored_tables = [(name, content) for name, content in tables if content.metrics]
    titles = [f"Scores{_under(content)}" for _, content in scored_tables]
    for title, (name, content) in zip(titles, scored_tables, strict=True):
        if len(tables) > 1:
            section.blocks.append(Heading(title if titles.count(title) == 1 else f"{title} ({name})"))
        section.blocks += _scores(content)
        section.blocks += no_translations(content.sidecar.outputs if content.sidecar is not None else ())
    for name, content in tables:
        leads.append(f"{name} holds {len(content.rows):,} scored rows{_under(content)}.")
        leads += [f"Beware: {note}." for note in _odd(content)]
    section.blocks += _signatures(documents)
    rankings = [ranking for _, content in scored_tables if (ranking := _against_people(content))]
    section.lead = " ".join([*rankings, *leads])
    section.answers = bool(rankings)
    if not tables:
        section.title = "Signatures"
    return section if section.blocks else None


def _under(content: ScoreRows) -> str:
    """Return the end of the sentence on a table: its metrics, and its controls as what they are."""
    if not content.metrics:
        return ", none of whose columns is known as a metric"
    controls = content.controls
    metrics = [name for name in content.metrics if name not in controls]
    shown = f"the control{'s' * (len(controls) > 1)} {listed(controls)}" if controls else ""
    return " under " + ", and under ".join(filter(None, [listed(metrics) if metrics else "", shown]))


def _odd(content: ScoreRows) -> list[str]:
    """Return what is odd about the rows of systems, in each language pair; see `Pairing`."""
    if not {"system", "id"} <= set(content.columns):
        return []
    places = {name: place for place, name in enumerate(content.columns)}
    texts = [place for name, place in places.items() if is_text_of_segment(name)]
    result = Pairing()
    for row in content.rows:
        name = str(row[places["id"]])
        unit = (row[places["lp"]] if "lp" in places else None, printed(name))
        result.add(str(row[places["system"]]), unit, tuple(row[place] for place in texts), name)
    return result.notes(missing="lp" not in places)  # a system translates in some language pairs only


def _against_people(content: ScoreRows) -> str:
    """Return how human scores rank the systems of a table, and which metrics rank them otherwise."""
    if not {"system", "human"} <= set(content.columns) or "human" not in content.numeric:
        return ""
    of, judged = content.columns.index("system"), content.columns.index("human")
    rows = [row for row in content.rows if row[judged] is not None]
    counts = Counter(str(row[of]) for row in rows)
    enough = [system for system in counts if counts[system] >= FEWEST]
    systems = enough if len(enough) > 1 else list(counts)
    if len(systems) < 2:
        return ""
    better = {name: entry.higher_is_better for name, entry in content.entries.items()}
    ranked: dict[str, list[tuple[str, float]]] = {}
    for name in ("human", *content.metrics):
        if name not in content.controls:
            sign = 1 if better.get(name, True) else -1
            scores = _by_system(content, name, rows)
            means = [
                (system, float(scores[system].mean()) if system in scores else -sign * np.inf) for system in systems
            ]
            ranked[name] = sorted(means, key=lambda mean: -sign * mean[1])
    people = ranked.pop("human")
    # A column of another name may hold anything, such as grades that were constructed.
    who = "Human scores" if content.human in HUMAN else f"The scores in the column {content.human}"
    named = [f"{system} ({mean:.3g})" for system, mean in people]
    if len(named) > _MOST:
        answer = (
            f"{who} rank {listed(named[:3])} highest of {len(named)} systems, {named[-1]} lowest; this is not tested."
        )
    else:
        answer = f"{who} rank {listed(named)}, in this order; this is not tested."
    if left := len(counts) - len(systems):
        answer += f" Systems with fewer than {FEWEST} rows, {left}, are left out of that."
    order = [system for system, _ in people]
    same = [name for name, means in ranked.items() if [system for system, _ in means] == order]
    for first in dict.fromkeys(means[0][0] for name, means in ranked.items() if name not in same):
        against = [name for name, means in ranked.items() if name not in same and means[0][0] == first]
        verb = "puts" if len(against) == 1 else "put"
        what = f"{first} first instead" if first != order[0] else "others in another order"
        answer += f" {listed(against)} {verb} {what}."
    if same:
        answer += f" {listed(same)} rank{'s' if len(same) == 1 else ''} them in the same order."
    return answer


def _by_system(content: ScoreRows, name: str, rows: Sequence[Sequence[object]]) -> dict[str, Array]:
    """Return the scores of each system in a column (n,), of those that have some."""
    place = content.columns.index(name)
    of = content.columns.index("system") if "system" in content.columns else None
    results: dict[str, list[object]] = {system: [] for system in _systems(content)}
    for row in rows:
        if row[place] is not None:
            results["all" if of is None else str(row[of])].append(row[place])
    return {system: np.array(scores, dtype=np.float64) for system, scores in results.items() if scores}


def _signatures(documents: Sequence[Document]) -> list[TablePart]:
    results: dict[tuple[str, str], list[str]] = {}
    for document in documents:
        content = document.content
        if isinstance(content, ScoreRows):
            known = {name: entry.signature for name, entry in content.entries.items() if entry.signature}
            if content.signature is not None:
                known["precision, recall, f1"] = content.signature
        else:
            known = {} if content.provenance is None else content.provenance.signatures
        for metric, signature in known.items():
            results.setdefault((metric, signature), []).append(document.name)
    if not results:
        return []
    rows = [
        [text(metric), text(signature, code=True), text(", ".join(dict.fromkeys(names)))]
        for (metric, signature), names in results.items()
    ]
    differing: dict[str, list[str]] = {}
    for metric in dict.fromkeys(metric for metric, _ in results):
        first, *others = (Signature.read(signature) for name, signature in results if name == metric)
        if fields := list(dict.fromkeys(field for other in others for field in first.differs(other))):
            differing[metric] = fields
    note = "A signature names every setting that changes a score. "
    if differing:
        which = "; ".join(f"{metric} (they differ in {listed(fields)})" for metric, fields in differing.items())
        note += f"Not comparable with each other are the scores of {which}."
    elif len(results) > len({metric for metric, _ in results}):
        note += "Those of one metric differ only in what runs the encoder, which changes a score by less than 1e-5; "
        note += "the scores of each metric here are comparable."
    else:
        note += "The scores of each metric here are comparable."
    return [table("Signatures", ["metric", "signature", "in"], rows, note=note, sortable=False, folded=True)]


def _scores(content: ScoreRows) -> list[Part]:
    """Return the means of every metric and system, and how the scores spread."""
    rows: list[list[Cell]] = []
    panels = []
    for metric in content.metrics:
        entry, column = content.entries.get(metric), _by_system(content, metric, content.rows)
        digits = decimals(value for values in column.values() for value in values)
        shown = f"{metric} (control)" if metric in content.controls else metric
        figures = [] if entry is None else entry.scores
        better = "" if entry is None else "higher" if entry.higher_is_better else "lower"
        for system, values in column.items():
            mean = float(values.mean())
            named = figures if len(figures) == 1 else [row for row in figures if row.system == system]
            row = named[0] if named else SystemScoreRow()
            counts = {"empty": row.empty, "undefined": row.undefined, "truncated": row.truncated}
            remarks = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
            score = number(row.score if isinstance(row.score, float) else mean, digits)
            cells = [text(shown), text(system), number(len(values)), score, number(mean, digits)]
            rows.append([*cells, text(better), text(remarks)])
        spread = [(system, np.percentile(values, _PERCENTILES).tolist()) for system, values in column.items()]
        arrow = "" if entry is None or entry.higher_is_better else " (lower is better)"
        alt = f"Spread of {metric}: " + "; ".join(f"{s} median {number(ends[2], digits).text}" for s, ends in spread)
        panels.append((metric + arrow, charts.spreads(spread, alt=alt, axis="score of a segment")))
    heads = ["metric", "system", "n", "corpus score", "mean of segments", "better", "remarks"]
    if all(row[6].text == "" for row in rows):
        heads, rows = heads[:6], [row[:6] for row in rows]
    result = table("Mean scores", heads, rows)
    alt = "How the scores of segments spread in each system: 5th to 95th percentile, middle half, median."
    return [result, Chart("How scores spread", alt, tuple(panels))]


def _systems(content: ScoreRows) -> list[str]:
    if "system" not in content.columns:
        return ["all"]
    place = content.columns.index("system")
    return list(dict.fromkeys(str(row[place]) for row in content.rows))


def segments(documents: Sequence[Document]) -> Section | None:
    """Return the section with every row of every table of scores."""
    tables = [(document.name, document.content) for document in documents if isinstance(document.content, ScoreRows)]
    rows = sum(len(content.rows) for _, content in tables)
    lead = f"All {rows:,} rows with their scores, to sort and search."
    return Section("segments", "Segments", lead, [_segments(*named) for named in tables]) if tables else None


def _segments(table: str, content: ScoreRows) -> Segments:
    """Return the rows; the texts of other systems in a row of one system are left out."""
    columns, rows, systems = list(content.columns), content.rows, _systems(content)
    left_out: set[str] = set()
    if "system" in columns and set(systems) <= set(columns) and "candidate" not in systems:
        left_out = set(systems)
        if "candidate" not in columns:
            system = columns.index("system")
            rows = tuple((*row, row[columns.index(str(row[system]))]) for row in rows)
            columns.append("candidate")
    metrics, first = content.metrics, ("id", "system", *_TEXTS)

    def rank(name: str) -> int:
        return first.index(name) if name in first else len(first) + (name not in metrics)

    names = sorted((name for name in columns if name not in left_out), key=rank)
    hidden = [name for name in names if metrics and name not in (*first, *metrics)]
    if len(hidden) == len(names) - len(metrics):
        hidden = []
    places = [columns.index(name) for name in names]
    return Segments(
        f"Rows of {table}",
        tuple(names),
        tuple(tuple(row[place] for place in places) for row in rows),
        frozenset(place for place, name in enumerate(names) if name in content.numeric),
        tuple(map(names.index, metrics)),
        names.index("system") if len(systems) > 1 else None,
        frozenset(map(names.index, hidden)),
    )
