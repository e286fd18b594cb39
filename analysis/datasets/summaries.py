"""Judgments of summaries: SummEval and REALSumm."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bsx.analysis.datasets.judged import Builder, Given, JudgedTable
from bsx.data import cells
from bsx.data.lines import NamedFile
from bsx.errors import InputError, UnknownNameError, did_you_mean
from bsx.support.untyped import Untyped

ASPECTS = ("coherence", "consistency", "fluency", "relevance")
"""What SummEval's annotators judged, each from 1 to 5."""
_PYRAMID = "litepyramid_recall"


def load_summeval(
    path: Path | str,
    *,
    annotators: str = "expert",
    human: str = "mean",
    per_judge: bool = False,
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load SummEval's annotations, ``model_annotations.aligned.jsonl``.

    A line is a summary: id, model_id, decoded, references, and expert_annotations and turker_annotations, which are
    lists of coherence, consistency, fluency and relevance; and text, the article, once that was paired with it, which
    becomes ``source``. The four aspects are columns, means over the annotators. ``segment`` is the article's id.

    Source: Fabbri et al. 2021.

    Args:
        path: the file.
        annotators: ``expert`` (three a summary) or ``turker`` (five).
        human: what the column ``human`` is: one of the four aspects, or ``mean``, that of all four.
        per_judge: one row for each annotator of a summary: ``judge`` says which.
        name: name of the data set; the file's unless given.
        skip_malformed: list malformed rows in ``problems`` instead of failing on the first.

    Errors: as for `bsx.analysis.load_table`; annotators or aspects that are not there are one.
    """
    for setting, value, known in (
        ("annotators", annotators, ("expert", "turker")),
        ("human", human, ("mean", *ASPECTS)),
    ):
        if value not in known:
            raise UnknownNameError(f"{setting}={value}: there are {', '.join(known)}.{did_you_mean(value, known)}")
    builder, judged = Builder(path, name, skip_malformed), f"{annotators}_annotations"
    for row in builder.table(path, "id", "model_id", "decoded", "references", judged).rows():
        with builder.problems:
            given, where = row[judged], f"{row.where}, column {judged!r}"
            if not isinstance(given, list) or not given or not all(isinstance(mark, Mapping) for mark in given):
                raise InputError(f"{where} is not a list of annotations")
            marks = []
            for mark in given:
                if lacking := [aspect for aspect in ASPECTS if aspect not in mark]:
                    raise InputError(f"{where}: an annotation has no {lacking[0]}")
                marks.append([cells.finite(mark[aspect], f"{where}, {aspect}") for aspect in ASPECTS])
            texts: dict[str, Given] = {
                "system": row.name("model_id"),
                "segment": row.name("id"),
                "candidate": row.text("decoded"),
                "references": row.texts("references"),
            }
            texts |= {"source": row.text("text")} if "text" in row else {}
            for judge, group in enumerate([[mark] for mark in marks] if per_judge else [marks], start=1):
                means = [sum(mark[i] for mark in group) / len(group) for i in range(len(ASPECTS))]
                total = sum(means) / len(means) if human == "mean" else means[ASPECTS.index(human)]
                counted = {"judge": judge} if per_judge else {"judgments": len(group)}
                builder.add(**texts, human=total, **counted, **dict(zip(ASPECTS, means, strict=True)))
    if human == "mean":
        builder.notes.append(
            f"human is the mean of {', '.join(ASPECTS)}, which measure different things: human takes one"
        )
    return builder.finish()


def load_realsumm(
    path: Path | str,
    *,
    human: str = _PYRAMID,
    metrics: Sequence[str] = (),
    name: str | None = None,
    skip_malformed: bool = False,
) -> JudgedTable:
    """Load REALSumm's ``abs.pkl`` or ``ext.pkl``, or the same content as JSON.

    The content is document -> ``ref_summ`` and ``system_summaries``: system -> ``system_summary`` and ``scores``. Its
    summaries are tokenised and lower-cased, with ``<t>`` and ``</t>`` around sentences, which are taken out. A pickle
    file is read without running anything that it names: it may hold plain values and NumPy's numbers only.

    Source: Bhandari et al. 2020.

    Args:
        path: the file, .pkl or .json.
        human: the human score; LitePyramid's recall unless given.
        metrics: the metrics whose scores become columns; all that every summary has unless given.
        name: name of the data set; the file's unless given.
        skip_malformed: list malformed summaries in ``problems`` instead of failing on the first.

    Raises:
        InputError: naming file, document, system and reason.
    """
    file, builder = NamedFile(path), Builder(path, name, skip_malformed)
    content = _unpickled(file) if file.suffix == ".pkl" else file.json()
    if not isinstance(content, dict):
        raise InputError("is not a mapping of documents", file=file.name)
    results: list[tuple[dict[str, Given], dict[str, object], str]] = []
    for document, entry in content.items():
        where = f"{file.name}: document {document}"
        with builder.problems:
            summaries = _of(entry, "system_summaries", dict, where)
            reference = _plain(_of(entry, "ref_summ", str, where))
            for system, summary in summaries.items():
                place = f"{where}, system {system}"
                with builder.problems:
                    scores = _of(summary, "scores", dict, place)
                    if human not in scores:
                        raise InputError(f"{place}: has no score {human!r}; it has {', '.join(map(str, scores))}")
                    candidate = _plain(_of(summary, "system_summary", str, place))
                    texts: dict[str, Given] = {"system": str(system), "segment": str(document)}
                    results.append((texts | {"candidate": candidate, "reference": reference}, scores, place))
    shared = [name for name in (results[0][1] if results else ()) if all(name in scores for _, scores, _ in results)]
    wanted = list(metrics) or [name for name in shared if name != human]
    if missing := [name for name in wanted if name not in shared]:
        all_have = f"all have {', '.join(shared)}"
        raise UnknownNameError(f"not every summary has a score {missing[0]!r}; {all_have}", file=file.name)
    builder.metrics = wanted
    for texts, scores, place in results:
        with builder.problems:
            values = {name: cells.number(scores[name], f"{place}, {name}") for name in wanted}
            builder.add(**texts, human=cells.number(scores[human], f"{place}, {human}"), **values)
    return builder.finish()


def _of(entry: Untyped, key: str, kind: type, where: str) -> Untyped:
    if not isinstance(entry, dict) or not isinstance(entry.get(key), kind):
        raise InputError(f"{where}: has no {key}")
    return entry[key]


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values and NumPy's numbers; whatever else a file names is refused, not imported."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == ("_codecs", "encode"):  # how protocol 2 spells bytes
            return lambda text, _: text.encode("latin-1")
        if module.startswith("numpy") and name == "dtype":
            return np.dtype
        if module.startswith("numpy") and name == "scalar":
            return lambda dtype, raw: float(np.frombuffer(raw, dtype)[0])
        raise InputError(f"it names {module}.{name}; only plain values and numbers are read")


def _unpickled(file: NamedFile) -> Untyped:
    try:
        return _PlainUnpickler(io.BytesIO(file.all_bytes())).load()
    except InputError as error:
        raise InputError(f"{error}", file=file.name) from error
    except Exception as error:  # damaged files make it raise errors of many classes
        raise InputError(f"is not a whole pickle file ({type(error).__name__}: {error})", file=file.name) from error


def _plain(text: str) -> str:
    return " ".join(text.replace("<t>", " ").replace("</t>", " ").split())
