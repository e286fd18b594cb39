"""BLEU and chrF of WMT22's systems (Kocmi et al. 2022), from the systems' outputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.published.table import FactsPart, Figure, PublishedFacts, Work, read_facts, same_count
from bsx.data.columns import read_columns
from bsx.data.lines import line_list
from bsx.data.tables import Table
from bsx.errors import DataUnavailableError, InputError


class PairFacts(FactsPart):
    """sacreBLEU's tokenizer for a pair's target language, and the segments of its test set."""

    tokenize: str
    segments: int


class Wmt22Facts(PublishedFacts):
    """``wmt22-auto.yaml``."""

    pairs: dict[str, PairFacts]


FACTS = read_facts("wmt22-auto", Wmt22Facts)
PUBLISHER = "wmt22-auto/scores/automatic-scores.tsv"


def recompute(work: Work) -> list[Figure]:
    """Return BLEU and chrF of every system."""
    path = work.find("wmt22-auto/scores.tsv", PUBLISHER)
    scores = read_columns(path, ["score"], ["pair", "system", "metric"])
    rows = list(zip(scores["pair"], scores["system"], scores["metric"], scores["score"], strict=True))
    unknown = sorted({pair for pair, *_ in rows} - set(FACTS.pairs))
    if unknown:
        raise InputError(f"has rows of the pair {unknown[0]}; known are {', '.join(FACTS.pairs)}", file=path)
    figures = []
    for pair, facts in FACTS.pairs.items():
        wanted = [
            (str(system), str(metric), float(score))
            for of, system, metric, score in rows
            if of == pair and not str(metric).startswith("COMET")
        ]
        if not wanted:
            continue
        with work.part(pair):
            read = _lines if path.name == Path(PUBLISHER).name else _tables
            outputs, references = read(work, pair, facts.segments)
            for place, (system, metric, published) in enumerate(wanted):
                work.step(f"wmt22-auto {pair}", place, len(wanted))
                if system not in outputs:
                    raise InputError(f"names the system {system}, of which {pair} has no outputs", file=path)
                kind, _, which = metric.partition("-")
                chosen = sorted(references) if which == "all" else [which]
                if not set(chosen) <= set(references):
                    raise InputError(
                        f"names {metric}, but {pair} has only references {', '.join(references)}", file=path
                    )
                if kind == "chrf":
                    chosen = chosen[::-1]
                spec = "chrf" if kind == "chrf" else f"bleu:tokenize={facts.tokenize}"
                several = [list(texts) for texts in zip(*(references[name] for name in chosen), strict=True)]
                ours = work.score(spec, outputs[system], several).system
                figures.append(Figure({"pair": pair, "system": system, "metric": metric}, published, ours))
    return figures


Texts: TypeAlias = "tuple[dict[str, list[str]], dict[str, Sequence[str]]]"


def _lines(work: Work, pair: str, segments: int) -> Texts:
    """Return system -> outputs and reference's letter -> texts from the publisher's files of lines."""
    kinds: list[dict[str, list[str]]] = []
    for folder, kind in (("system-outputs", "hyp"), ("references", "ref")):
        start = f"generaltest2022.{pair}.{kind}."
        files = sorted(work.find(f"wmt22-auto/txt/{folder}").glob(f"{start}*.{pair.partition('-')[2]}"))
        if not files:
            raise DataUnavailableError(f"{work.folder}: has no {folder}/{start}*")
        kinds.append({file.stem.removeprefix(start): line_list(file) for file in files})
        for file, lines in zip(files, kinds[-1].values(), strict=True):
            same_count(file, len(lines), segments, "segments")
    outputs, references = kinds
    return outputs, {**references}


def _tables(work: Work, pair: str, segments: int) -> Texts:
    """Return the same from tables."""
    systems, path = (work.find(f"wmt22-auto/{pair}.{kind}.tsv") for kind in ("systems", "ref"))
    names = [name for name in Table(path).columns if name.startswith("reference_")]
    found = read_columns(path, [], ["sid"], names)
    same_count(path, len(found["sid"]), segments, "segments")
    return outputs_of(systems, [str(sid) for sid in found["sid"]]), {
        name.removeprefix("reference_"): [str(text) for text in found[name]] for name in names
    }


def outputs_of(path: Path, segments: Sequence[str]) -> dict[str, list[str]]:
    """Read the outputs of systems: columns system, sid, candidate.

    Args:
        path: the table.
        segments: identifiers in the order wanted.

    Raises:
        InputError: if a system lacks a segment.
    """
    columns = read_columns(path, [], ["system", "sid"], ["candidate"])
    found: dict[str, dict[str, str]] = {}
    for system, sid, text in zip(columns["system"], columns["sid"], columns["candidate"], strict=True):
        found.setdefault(str(system), {})[str(sid)] = str(text)
    for system, texts in found.items():
        lost = next((sid for sid in segments if sid not in texts), None)
        if lost is not None:
            raise InputError(f"the system {system} has no row for segment {lost}", file=path)
    return {system: [texts[sid] for sid in segments] for system, texts in found.items()}
