"""Error spans of the same outputs by three protocols.

Run: python -m benchmarks.spans --data FOLDER [-o benchmarks/agreement]

FOLDER holds ``esa/`` (WMT23 en-de outputs annotated by ESA, ESA-AI and MQM) and ``wmt23/`` (their texts). Written are
``spans.md`` and ``spans.json``.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bsx.analysis import MarkedOutput, SpanResult, SpanTable, judge_spans, read_spans
from bsx.data.output import atomic_text

WHOLE = ("ESA-1", "ESA-2", "ESAAI-1", "ESAAI-2", "MQM-1")
AGAIN = ("ESA-IAA", "ESAAI-IAA", "MQM-IAA")
Figures = dict[str, object]


def figures(result: SpanResult) -> list[Figures]:
    """Return what is committed of a result."""
    found: list[Figures] = []
    for one in result.predictions:
        entry: Figures = {"prediction": one.name, "gold": list(result.gold), "outputs": result.outputs}
        entry |= {"units": result.units, "drawn": result.drawn, "spans": one.spans, "gold_spans": result.gold_spans}
        for measure in ("wmt", "mpp"):
            held = getattr(one, measure)
            entry[measure] = {"f1": held.f1, "ci": held.f1_ci, "precision": held.precision, "recall": held.recall}
        found.append(entry)
    return found


def tests(result: SpanResult) -> list[Figures]:
    """Return what was tested; without a second name, the annotators themselves."""
    return [
        {"a": one.a, "b": one.b, "measure": one.measure, "difference": one.difference}
        | {"ci": one.difference_ci, "p": one.p_adjusted}
        for one in result.tests
    ]


def protocols(esa: SpanTable) -> list[Figures]:
    """Return how well each two protocols agree on the same outputs."""
    pairs = [*itertools.combinations(WHOLE, 2), *itertools.combinations(AGAIN, 2)]
    return [figures(judge_spans(esa, {}, gold=[a], as_predicted=[b]))[0] for a, b in pairs]


def without_shared(esa: SpanTable) -> list[Figures]:
    """Return how well both ESA-AI campaigns agree on what they did not both take over as it was pre-filled."""
    kept: dict[tuple[str, str], dict[str, MarkedOutput]] = {}
    for one in esa.outputs:
        if one.annotator in ("ESAAI-1", "ESAAI-2"):
            kept.setdefault((one.system, one.segment), {})[one.annotator] = one
    outputs = []
    for both in kept.values():
        places = [{(span.start, span.end) for span in one.spans} for one in both.values()]
        shared = set.intersection(*places)
        outputs += [
            replace(one, spans=tuple(span for span in one.spans if (span.start, span.end) not in shared))
            for one in both.values()
        ]
    table = replace(esa, outputs=tuple(outputs))
    return figures(judge_spans(table, {}, gold=["ESAAI-1"], as_predicted=["ESAAI-2"]))


def judged_together(esa: SpanTable) -> SpanResult:
    """Return ESA-AI and MQM held against both campaigns of ESA, with their own agreement."""
    return judge_spans(esa, {}, gold=["ESA-1", "ESA-2"], as_predicted=["ESAAI-1", "ESAAI-2", "MQM-1"])


def _row(one: Figures) -> str:
    gold, cells = ", ".join(one["gold"]) or "MQM", []  # type: ignore[arg-type]
    for measure in ("wmt", "mpp"):
        held: Figures = one[measure]  # type: ignore[assignment]
        low, high = held["ci"]  # type: ignore[misc]
        cells.append(f"{held['f1']:.3f} [{low:.3f}, {high:.3f}]")
    first: Figures = one["wmt"]  # type: ignore[assignment]
    cells = [f"{first['precision']:.3f}", f"{first['recall']:.3f}", *cells]
    counted = [f"{one[name]:,}" for name in ("outputs", "gold_spans", "spans")]
    return f"| {' | '.join([gold, str(one['prediction']), *counted, *cells])} |"


HEAD = [
    "| gold | judged | outputs | gold spans | judged spans | precision | recall | F1 by character | F1 matched (mpp) |",
    "|---|---|---|---|---|---|---|---|---|",
]


ESA = """\
Outputs of 13 systems on 207 segments of WMT23 en-de (71 documents), annotated by ESA (twice), by ESA with spans of
GEMBA pre-filled (ESA-AI, twice) and by MQM, and a part of them once more each (IAA; 984 to 995 outputs). Intervals are
95 %, from a bootstrap over documents with all systems. Omissions have no place and are left out; precision and recall
are by character."""


def page(content: dict[str, list[Figures]], together: SpanResult) -> Sequence[str]:
    """Return the lines of the Markdown page."""
    lines = ["# Error spans by three protocols", "", "```text"]
    lines += ["python -m benchmarks.spans --data FOLDER -o benchmarks/agreement", "```", "", ESA, ""]
    for heading, name in (
        ("Each two protocols", "protocols"),
        ("ESA-AI without what both campaigns left as it was pre-filled", "without shared"),
        ("ESA-AI and MQM against both campaigns of ESA", "together"),
    ):
        lines += [f"## {heading}", "", *([together.answer, ""] if name == "together" else [])]
        lines += [*HEAD, *map(_row, content[name]), ""]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    data = arguments.data
    texts, judged = data / "wmt23/en-de.texts.tsv.gz", data / "esa/en-de.annotations.tsv"
    esa = read_spans(data / "esa/en-de.spans.tsv", texts=texts, judged=judged)
    together = judged_together(esa)
    content: dict[str, list[Figures]] = {
        "protocols": protocols(esa),
        "without shared": without_shared(esa),
        "together": figures(together),
    }
    content["together tests"] = tests(together)
    lines = "\n".join(page(content, together))
    print(lines)
    if arguments.output is not None:
        with atomic_text(arguments.output / "spans.md") as stream:
            stream.write(lines)
        with atomic_text(arguments.output / "spans.json") as stream:
            json.dump(content, stream, indent=1)
            stream.write("\n")


if __name__ == "__main__":
    main()
