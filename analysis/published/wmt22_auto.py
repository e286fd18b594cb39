"""BLEU and chrF of WMT22's systems (Kocmi et al. 2022), from the systems' outputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bsx.analysis.published.table import FactsPart, Figure, PublishedFacts, Work, read_facts, same_count
from bsx.data.columns import read_columns
from bsx.data.tables import Table
from bsx.errors import InputError


class PairFacts(FactsPart):
    """sacreBLEU's tokenizer for a pair's target language, and the segments of its test set."""

    tokenize: str
    segments: int


class Wmt22Facts(PublishedFacts):
    """``wmt22-auto.yaml``."""

    pairs: dict[str, PairFacts]


FACTS = read_facts("wmt22-auto", Wmt22Facts)


def recompute(work: Work) -> list[Figure]:
    """Return BLEU and chrF of every system."""
    path = work.find("wmt22-auto/scores.tsv")
    scores = read_columns(path, ["score"], ["pair", "system", "metric"])
    rows = list(zip(scores["pair"], scores["system"], scores["metric"], scores["score"], strict=True))
    unknown = sorted({pair for pair, *_ in rows} - set(FACTS.pairs))
    if unknown:
        raise InputError(f"{path}: has rows of the pair {unknown[0]}; known are {', '.join(FACTS.pairs)}")
    figures = []
    for pair, facts in FACTS.pairs.items():
        wanted = [
            (str(system), str(metric), float(score))
            for of, system, metric, score in rows
            if of == pair and not str(metric).startswith("COMET")
        ]
        with work.part(pair):
            outputs, references = _texts(work, pair, facts.segments)
            for place, (system, metric, published) in enumerate(wanted):
                work.step(f"wmt22-auto {pair}", place, len(wanted))
                if system not in outputs:
                    raise InputError(f"{path}: names the system {system}, of which {pair} has no outputs")
                kind, _, which = metric.partition("-")
                chosen = sorted(references) if which == "all" else [which]
                if not set(chosen) <= set(references):
                    raise InputError(f"{path}: names {metric}, but {pair} has only references {', '.join(references)}")
                if kind == "chrf":
                    chosen = chosen[::-1]
                spec = "chrf" if kind == "chrf" else f"bleu:tokenize={facts.tokenize}"
                several = [list(texts) for texts in zip(*(references[name] for name in chosen), strict=True)]
                ours = work.scores(spec, outputs[system], several).system
                figures.append(Figure({"pair": pair, "system": system, "metric": metric}, published, ours))
    return figures


def _texts(work: Work, pair: str, segments: int) -> tuple[dict[str, list[str]], dict[str, Sequence[str]]]:
    """Return system -> outputs and reference's letter -> texts, all in the order of the segments."""
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
            raise InputError(f"{path}: the system {system} has no row for segment {lost}")
    return {system: [texts[sid] for sid in segments] for system, texts in found.items()}
