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
from bsx.data.sidecar import ScoredMetricRow, SystemScoreRow
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
    heads = _titles(scored_tables)
    for head, (_, content) in zip(heads, scored_tables, strict=True):
        if len(tables) > 1:
            section.blocks.append(Heading(head))
        section.blocks += _scores(content)
        section.blocks += no_translations(content.sidecar.outputs if content.sidecar is not None else ())
    for name, content in tables:
        leads.append(f"{name} holds {len(content.rows):,} scored rows{_under(content)}.")
        leads += [f"Beware: {note}." for note in _odd(content)]
    signatures = _signatures(documents)
    if signatures is not None:
        section.blocks.append(signatures)
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


def _titles(tables: Sequence[tuple[str, ScoreRows]]) -> list[str]:
    """Return headings that say what each table holds, with the file's name only where two would be the same."""
    titles = [f"Scores{_under(content)}" for _, content in tables]
    return [
        what if titles.count(what) == 1 else f"{what} ({name})" for what, (name, _) in zip(titles, tables, strict=True)
    ]


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
    ranked = {
        name: _ranked(rows, of, content.columns.index(name), systems, better.get(name, True))
        for name in ("human", *content.metrics)
        if name not in content.controls
    }
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


def _ranked(
    rows: Sequence[Sequence[object]], of: int, column: int, systems: Sequence[str], higher: bool
) -> list[tuple[str, float]]:
    """Return the systems with their mean in a column, the best first; `of` is the column of systems."""
    means = []
    for system in systems:
        cells = [row[column] for row in rows if str(row[of]) == system and row[column] is not None]
        worst = -np.inf if higher else np.inf
        means.append((system, float(np.mean(np.array(cells, dtype=np.float64))) if cells else worst))
    return sorted(means, key=lambda mean: -mean[1] if higher else mean[1])


def _signatures(documents: Sequence[Document]) -> TablePart | None:
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
        return None
    rows = [
        [text(metric), text(signature, code=True), text(", ".join(dict.fromkeys(names)))]
        for (metric, signature), names in results.items()
    ]
    note = f"A signature names every setting that changes a score. {_comparable(list(results))}"
    return table("Signatures", ["metric", "signature", "in"], rows, note=note, sortable=False, folded=True)


def _comparable(signed: Sequence[tuple[str, str]]) -> str:
    """Return whether scores of one metric may be compared, for (metric, signature) pairs."""
    differing: dict[str, list[str]] = {}
    for metric in dict.fromkeys(metric for metric, _ in signed):
        first, *others = (Signature.read(signature) for name, signature in signed if name == metric)
        if fields := list(dict.fromkeys(field for other in others for field in first.differs(other))):
            differing[metric] = fields
    if differing:
        which = "; ".join(f"{metric} (they differ in {listed(fields)})" for metric, fields in differing.items())
        return f"Not comparable with each other are the scores of {which}."
    several = len(signed) > len({metric for metric, _ in signed})
    alike = "Those of one metric differ only in what runs the encoder, which changes a score by less than 1e-5; "
    return f"{alike if several else ''}{'t' if several else 'T'}he scores of each metric here are comparable."


def _scores(content: ScoreRows) -> list[Part]:
    """Return the means of every metric and system, and how the scores spread."""
    systems = _systems(content)
    of = content.columns.index("system") if "system" in content.columns else None
    rows: list[list[Cell]] = []
    panels = []
    for metric in content.metrics:
        entry, place = content.entries.get(metric), content.columns.index(metric)
        column: dict[str, Array] = {}
        for system in systems:
            cells = [row[place] for row in content.rows if of is None or str(row[of]) == system]
            if present := [cell for cell in cells if cell is not None]:
                column[system] = np.array(present, dtype=np.float64)
        digits = decimals(value for values in column.values() for value in values)
        shown = f"{metric} (control)" if metric in content.controls else metric
        for system, values in column.items():
            rows.append([text(shown), text(system), *_score_cells(entry, system, values, digits)])
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


def _score_cells(entry: ScoredMetricRow | None, system: str, values: Array, digits: int) -> list[Cell]:
    mean = float(values.mean())
    scores = [] if entry is None else entry.scores
    row = scores[0] if len(scores) == 1 else next((row for row in scores if row.system == system), SystemScoreRow())
    counts = {"empty": row.empty, "undefined": row.undefined, "truncated": row.truncated}
    remarks = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    better = "" if entry is None else "higher" if entry.higher_is_better else "lower"
    shown = number(row.score if isinstance(row.score, float) else mean, digits)
    return [number(len(values)), shown, number(mean, digits), text(better), text(remarks)]


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
    return Section("segments", "Segments", lead, [_segments(*table) for table in tables]) if tables else None


def _segments(name: str, content: ScoreRows) -> Segments:
    """Return the rows; the texts of other systems in a row of one system are left out."""
    columns, rows = list(content.columns), [list(row) for row in content.rows]
    systems = _systems(content)
    if "system" in columns and set(systems) <= set(columns) and "candidate" not in systems:
        if "candidate" not in columns:
            system = columns.index("system")
            rows = [[*row, row[columns.index(str(row[system]))]] for row in rows]
            columns.append("candidate")
        kept = [place for place, column in enumerate(columns) if column not in systems]
        columns, rows = [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]
    numeric = frozenset(place for place, column in enumerate(columns) if column in content.numeric)
    metrics = tuple(columns.index(metric) for metric in content.metrics)
    shown = {"id", "system", *_TEXTS, *content.metrics} if metrics else set(columns)
    hidden = frozenset(place for place, column in enumerate(columns) if column not in shown)
    if len(hidden) == len(columns) - len(metrics):
        hidden = frozenset()
    category = columns.index("system") if len(systems) > 1 else None
    order = sorted(range(len(columns)), key=lambda place: _rank(columns[place], place in metrics))
    moved = {old: new for new, old in enumerate(order)}
    return Segments(
        f"Rows of {name}",
        tuple(columns[p] for p in order),
        tuple(tuple(row[p] for p in order) for row in rows),
        frozenset(moved[p] for p in numeric),
        tuple(moved[p] for p in metrics),
        None if category is None else moved[category],
        frozenset(moved[p] for p in hidden),
    )


def _rank(column: str, metric: bool) -> int:
    names = ("id", "system", "candidate", "reference", "source")
    return names.index(column) if column in names else 5 + (not metric)
