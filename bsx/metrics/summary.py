"""What a run came to: the summary of all systems, as JSON and as text, and what to know about the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bsx.catalog.languages import find_languages
from bsx.data.corpus import Segment
from bsx.data.outputs import OutputCheck, OutputCounts
from bsx.data.pairing import Pairing, printed
from bsx.metrics.core import BlockScores, Figures, MetricCore
from bsx.metrics.run import Prepared, ScoredBlock
from bsx.support.terminal import WIDTH, short_table, table_width
from bsx.support.untyped import JsonObject

_METRICS_NAMED = 4  # that a sentence has room for
_NAMES = 22  # columns of a terminal that are kept for the names of systems
_WORST = 5  # documents that the short form shows
_UNTESTED = "No difference is tested here: bsx compare does."
_REMARKS = {
    "empty": "without content on one side",
    "undefined": "for which it is not defined (no token has weight); they score as empty ones",
    "truncated": "cut off at the model's limit",
}
_NAMED = 5  # segments that a note names
_NO_SCORE = "without an answer that can be read; they have no score, and no mean counts them"


class Totals:
    """One metric's results, gathered block by block for each of some systems.

    Attributes:
        segments: how many were counted in.
        figures: the sum of every figure of every system (layers, systems, figures), of a metric with several.
        statistics: what a system's score is computed from, if not as the mean (systems, k).
        counts: how many rows are of each kind, and the tokens they lost (systems,).
        first: the names of the first segments of each kind.
    """

    def __init__(self, metric: MetricCore, systems: int) -> None:
        self._metric = metric
        self._sums = np.zeros(systems)
        self._defined = np.zeros(systems, dtype=np.int64)
        self.figures = np.zeros(())
        self.segments = 0
        self.statistics: NDArray[np.float64] | None = None
        self.counts = {name: np.zeros(systems, dtype=np.int64) for name in ("empty", "undefined", "truncated", "lost")}
        self.first: dict[str, list[str]] = {name: [] for name in ("empty", "undefined", "truncated")}

    def add(self, scores: BlockScores, segments: Sequence[Segment]) -> None:
        """Count one block's results in."""
        systems = len(self._sums)
        values = scores.values.reshape(-1, systems)
        self._sums += np.nansum(values, axis=0)  # NaN: a metric that keeps what is missing has no score there
        self._defined += np.sum(~np.isnan(values), axis=0)
        self.segments += len(scores.values) // systems
        for name in self.counts:
            flags = scores.lost > 0 if name == "truncated" else getattr(scores, name)
            by_system = flags.reshape(-1, systems)
            self.counts[name] += by_system.sum(axis=0)
            if name in self.first and (room := _NAMED - len(self.first[name])):
                self.first[name] += [segments[i].id for i in np.flatnonzero(by_system.any(axis=1))[:room]]
        if scores.statistics is not None:
            part = scores.statistics.reshape(-1, systems, scores.statistics.shape[-1]).sum(axis=0)
            self.statistics = part if self.statistics is None else self.statistics + part
        if scores.figures is not None:
            layers, _, figures = scores.figures.shape
            part = scores.figures.reshape(layers, -1, systems, figures).sum(axis=1, dtype=np.float64)
            self.figures = self.figures + part

    def flagged(self, system: int | None = None, *, undefined: str = "undefined") -> dict[str, int]:
        """Return how many rows of a system, or of all, are of each kind, and how many tokens were lost."""
        names = {"empty": "empty", "undefined": undefined, "truncated": "truncated", "lost": "tokens_lost"}
        some = slice(None) if system is None else [system]
        return {name: int(self.counts[kind][some].sum()) for kind, name in names.items()}

    def mean(self, system: int) -> float:
        """Return the mean of a system's scores; NaN if there is none."""
        return float(self._sums[system] / self._defined[system]) if self._defined[system] else float("nan")

    def system(self, system: int) -> float:
        """Return the metric's score of a whole system."""
        return self.mean(system) if self.statistics is None else self._metric.system_score(self.statistics[system])


class Tally:
    """What a run of metrics on a corpus comes to, block by block.

    Attributes:
        totals: each metric's.
        by_system: the same for each system whose rows stand below those of others.
        by_document: the same for each document, by system and name; "" where no row names a system.
        pairing: what is odd about the rows of those systems.
        outputs: which candidates are no translation.
        unnamed: how many rows name no system.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared, self._systems = prepared, prepared.corpus.systems
        self.totals = self._nothing()
        self.by_system: dict[str, list[Totals]] = {}
        self.by_document: dict[tuple[str, str], list[Totals]] = {}
        self.pairing = Pairing()
        self.unnamed = 0
        encoders = prepared.metrics[0].encoders
        lang = encoders.config.lang
        asked = None if lang is None else find_languages(lang, encoders.catalog)
        code, script = (None, None) if asked is None else (asked.target.code, asked.script or asked.target.script)
        check = OutputCheck(prepared.corpus, code, script)
        self.outputs = OutputCounts(check, None if asked is None else f"{asked.target.name} ({script})")

    def _nothing(self) -> list[Totals]:
        return [Totals(metric, len(self._systems)) for metric in self._prepared.metrics]

    def add(self, block: ScoredBlock, systems: Sequence[str | None] | None = None) -> None:
        """Count a block in.

        Args:
            block: its scores.
            systems: the system of each segment, None of one that names none; as the corpus says unless given.
        """
        _count(self.totals, block)
        rows: dict[str, list[int]] = {}
        documents: dict[tuple[str, str], list[int]] = {}
        for row, segment in enumerate(block.segments):
            system = segment.system if systems is None else systems[row]
            self.outputs.add(segment, self._systems if system is None else [system])
            if system is None:
                self.unnamed += 1
            else:
                rows.setdefault(system, []).append(row)
                self.pairing.add(system, printed(segment.id), (segment.references, segment.source), segment.id)
            if segment.document is not None:
                documents.setdefault((segment.system or "", segment.document), []).append(row)
        for system, some in rows.items():
            _count(self.by_system.setdefault(system, self._nothing()), block.select(np.array(some)))
        for document, some in documents.items():
            _count(self.by_document.setdefault(document, self._nothing()), block.select(np.array(some)))

    def notes(self) -> list[str]:
        """Return what is odd about the rows of systems, and what their candidates are, a sentence each."""
        notes = [*self.pairing.notes(), *self.outputs.notes()]
        if not self.by_system or not self.unnamed:
            return notes
        rows = self.totals[0].segments
        return [f"{self.unnamed:,} of {rows:,} rows name no system: they count in the score of all rows alone", *notes]

    def flags(self) -> list[str]:
        """Return one sentence for each kind of row that the user should know about."""
        rows = self.totals[0].segments * len(self._systems)
        results = []
        for metric, total in zip(self._prepared.metrics, self.totals, strict=True):
            figures = metric.figures
            for kind, text in (_REMARKS if figures is None else figures.remarks).items():
                count = int(total.counts[kind].sum())
                if not count:
                    continue
                if figures is None:
                    why = _NO_SCORE if kind == "undefined" and metric.keeps_missing else text
                    results.append(f"{metric.spec}: {count} of {rows} rows {why}")
                    continue
                where = ", ".join(total.first[kind]) + (", …" if count > len(total.first[kind]) else "")
                lost = int(total.counts["lost"].sum())
                results.append(f"{count} of {rows} rows {text.format(lost=lost)} (segments {where})")
        return results

    def summary(self) -> JsonObject:
        """Return signatures, and every system's scores with their counts.

        Of metrics, that is one entry each. A metric that is summed up by several figures stands by itself, its figures
        over all systems' rows at the top level, where ``n`` counts those rows. Systems that stand one below the other
        are summed up each by itself.
        """
        result = self._summary(self.totals)
        if len(self.by_system) > 1:
            parts = {name: self._summary(totals) for name, totals in self.by_system.items()}
            if self._prepared.metrics[0].figures is not None:
                result["systems"] = [{**part["systems"][0], "name": name} for name, part in parts.items()]
            else:
                result["systems"] = list(parts)
                for i, entry in enumerate(result["metrics"]):
                    entry["scores"] = [
                        {**part["metrics"][i]["scores"][0], "system": name, "n": part["segments"]}
                        for name, part in parts.items()
                    ]
        return result

    def _summary(self, totals: Sequence[Totals]) -> JsonObject:
        prepared, systems, n = self._prepared, self._systems, totals[0].segments
        figures = prepared.metrics[0].figures
        if figures is not None:
            (total,), signature, none = totals, prepared.signature(0), figures.undefined
            sums, rows = total.figures, n * len(systems)
            parts = [
                {"name": name, "n": n, **_means(figures, sums[:, k] / n), **total.flagged(k, undefined=none)}
                for k, name in enumerate(systems)
            ]
            return {
                "metric": signature["metric"],
                "model": figures.model,
                "layer": "all" if figures.every else figures.layers[0],
                "n": rows,
                **_means(figures, sums.sum(axis=1) / rows),
                "signature": str(signature),
                **total.flagged(undefined=none),
                "systems": parts,
            }
        metrics = [
            {
                "metric": metric.spec,
                "higher_is_better": metric.higher_is_better,
                "signature": str(prepared.signature(i)),
                "scores": [
                    {"system": system, "score": total.system(k), "mean": total.mean(k), **total.flagged(k)}
                    for k, system in enumerate(systems)
                ],
            }
            for i, (metric, total) in enumerate(zip(prepared.metrics, totals, strict=True))
        ]
        return {"segments": n, "systems": list(systems), "metrics": metrics}

    def documents(self) -> list[JsonObject]:
        """Return the score of each document of each system: a metric's own of its rows together, and their mean.

        The two differ for metrics that add up counts, which can pass over a row with a blank side; its mean has it as
        the score of an empty text.
        """
        metrics, figures = self._prepared.metrics, self._prepared.metrics[0].figures
        rows: list[JsonObject] = []
        for (named, document), totals in self.by_document.items():
            for k, column in enumerate(self._systems):
                n = totals[0].segments
                if figures is not None:
                    scores = means = _means(figures, totals[0].figures[:, k] / n)
                else:
                    scores = {metric.spec: total.system(k) for metric, total in zip(metrics, totals, strict=True)}
                    means = {metric.spec: total.mean(k) for metric, total in zip(metrics, totals, strict=True)}
                empty = int(totals[0].counts["empty"][k])
                about_row = {"document": document, "system": named or column, "segments": n, "empty": empty}
                rows.append({**about_row, "scores": scores, "means": means})
        return rows


def _count(totals: Sequence[Totals], block: ScoredBlock) -> None:
    for total, scores in zip(totals, block.scores, strict=True):
        total.add(scores, block.segments)


def _means(figures: Figures, means: NDArray[np.float64]) -> dict[str, float | list[float]]:
    """Return means (layers, figures) by name."""
    return {name: means[:, j].tolist() if figures.every else float(means[0, j]) for j, name in enumerate(figures.names)}


def to_text(prepared: Prepared, result: JsonObject, *, full: bool = False) -> str:
    """Return the summary of a tally for a terminal: a sentence, a table, of all systems if ``full``, and signatures."""
    figures = prepared.metrics[0].figures
    if figures is None:
        signatures = [entry["signature"] for entry in result["metrics"]]
        answer, rows = _of_metrics(result)
    else:
        signatures = [result["signature"]]
        answer, rows = _of_figures(figures, result)
    place = rows[0].index("system")
    table = short_table(rows, "llr" if place else "lr", what="rows", full=full, cut=place)
    documents = _of_documents(prepared, result, full=full) if result.get("documents") else []
    return "\n".join([answer, "", table, "", *documents, *signatures])


def _of_documents(prepared: Prepared, result: JsonObject, *, full: bool) -> list[str]:
    """Return a table of documents, the worst ones by the first metric (F1) only unless all are wanted."""
    every, figures = result["documents"], prepared.metrics[0].figures
    if figures is not None and figures.every:
        return []
    names = list(every[0]["scores"])
    first = names[0] if figures is None else names[-1]
    sign = 1 if prepared.metrics[0].higher_is_better else -1
    shown = every if full else sorted(every, key=lambda row: sign * row["means"][first])[:_WORST]
    several = len({row["system"] for row in every}) > 1
    blank = any(row["empty"] for row in every)
    counting = [name for name in names if blank and any(row["scores"][name] != row["means"][name] for row in every)]
    heads = [*names, *(f"{name} mean" for name in counting)]
    rows = [["document", *["system"] * several, "n", *["blank"] * blank, *heads]]
    for row in shown:
        values = [*(row["scores"][name] for name in names), *(row["means"][name] for name in counting)]
        counts = [f"{row['segments']:,}", *[f"{row['empty']:,}"] * blank]
        rows.append([row["document"], *[row["system"]] * several, *counts, *(f"{value:.4f}" for value in values)])
    table = short_table(rows, "llr" if several else "lr", what="documents", full=full, cut=0, most=_WORST)
    n = len({row["document"] for row in every})
    which = "All" if len(shown) == len(every) else f"The {len(shown)} worst by {first} of {len(every)}"
    return [f"{which} scores of {n:,} document{'s' * (n != 1)}:", "", table, ""]


def _of_metrics(result: JsonObject) -> tuple[str, list[list[str]]]:
    """Return what metrics say of each system in a sentence, and as a row a system."""
    entries, systems = result["metrics"], result["systems"]
    counts = [row.get("n", result["segments"]) for row in entries[0]["scores"]]
    heads = [entry["metric"] + ("" if entry["higher_is_better"] else " (lower is better)") for entry in entries]
    scores = {head: [row["score"] for row in entry["scores"]] for head, entry in zip(heads, entries, strict=True)}
    if len(systems) == 1:
        values = ", ".join(f"{head} {score:.4f}" for head, (score,) in scores.items())
        answer = f"Corpus scores of {_counted(counts)}: {values}."
    else:
        ends = ", ".join(f"{head} from {min(of):.4f} to {max(of):.4f}" for head, of in scores.items())
        ends = f"; corpus scores: {ends}" if len(entries) <= _METRICS_NAMED else f" under {len(entries)} metrics"
        answer = f"{len(systems):,} systems, {_counted(counts)} each{ends}. {_UNTESTED}"
    cells = [[f"{score:.4f}" for score in of] for of in scores.values()]
    named = [[system, f"{count:,}"] for system, count in zip(systems, counts, strict=True)]
    rows = [["system", "n", *heads], *([*names, *of] for names, *of in zip(named, *cells, strict=True))]
    if table_width([row[1:] for row in rows]) > WIDTH - _NAMES:  # a row a metric, whose name may be long
        rows = [["metric", "system", "n", "corpus score"]]
        for head, of in zip(heads, cells, strict=True):
            rows += [[head, *names, cell] for names, cell in zip(named, of, strict=True)]
    return answer, rows


def _of_figures(figures: Figures, result: JsonObject) -> tuple[str, list[list[str]]]:
    """Return what a metric with several figures says of each system in a sentence, and as a row a system and layer."""
    systems, last, every = result["systems"], figures.names[-1], figures.every
    name, counted = f"{result['metric']} {last}", _counted([entry["n"] for entry in systems])
    means = [mean for entry in systems for mean in np.atleast_1d(entry[last]).tolist()]
    ends = f"from {min(means):.4f} to {max(means):.4f}"
    if every:
        layers = f"{len(figures.layers)} layers, whose scores cannot be compared with each other"
        answer = f"{name} of {counted}: {ends} in {layers}."
    elif len(systems) == 1:
        others = ", ".join(f"{figure} {systems[0][figure]:.4f}" for figure in figures.names[:-1])
        answer = f"{name}: {systems[0][last]:.4f}, the mean over {counted} ({others})."
    else:
        answer = f"{len(systems):,} systems, {counted} each: mean {name} {ends}. {_UNTESTED}"
    rows = [[*(["layer"] if every else []), "system", "n", *figures.names]]
    for place, layer in enumerate(figures.layers):
        for entry in systems:
            values = (f"{np.atleast_1d(entry[figure])[place]:.4f}" for figure in figures.names)
            rows.append([*([str(layer)] if every else []), entry["name"], f"{entry['n']:,}", *values])
    return answer, rows


def _counted(counts: Sequence[int]) -> str:
    """Return how many segments there are of each system."""
    low, high = min(counts), max(counts)
    return f"{high:,} segment{'s' * (high != 1)}" if low == high else f"{low:,} to {high:,} segments"


def about(metrics: Sequence[MetricCore]) -> list[str]:
    """Return what the user should know about metrics and the encoders that they share, each sentence once."""
    of_metrics = [note for metric in metrics for note in metric.notes]
    return list(dict.fromkeys([*of_metrics, *(note for metric in metrics for note in metric.encoders.notes)]))
