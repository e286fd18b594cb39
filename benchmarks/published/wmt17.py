"""Lexical metrics in the metrics task of WMT17, as Zhang et al. 2020 and Mathur et al. 2019 print them."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Literal

import numpy as np

from benchmarks.published.table import FactsPart, Figure, PublishedFacts, Work, read_facts
from benchmarks.published.wmt22_auto import outputs_of
from bsx.analysis.datasets.judged import JudgedTable
from bsx.analysis.datasets.wmt import load_wmt_da, load_wmt_da_system
from bsx.analysis.stats.correlation import pearson
from bsx.data.columns import read_columns
from bsx.errors import InputError
from bsx.support.optional import need

MEAN = "mean"


class Wmt17Metric(FactsPart):
    """A metric's spec for segments and for systems, and whether segments are cut into tokens first."""

    segment: str = ""
    system: str = ""
    tokens: bool = False


class Wmt17Table(FactsPart):
    """A printed table: metric -> language pair -> r."""

    table: str
    level: Literal["segment", "system"]
    cells: dict[str, dict[str, float]]


class Wmt17Facts(PublishedFacts):
    """``wmt17.yaml``."""

    segments: int
    metrics: dict[str, Wmt17Metric]
    tables: list[Wmt17Table]


FACTS = read_facts("wmt17", Wmt17Facts)


def recompute(work: Work) -> list[Figure]:
    """Return r of every metric and language pair."""
    figures = []
    by_level: dict[str, Callable[[Work], dict[tuple[str, str], float]]] = {"segment": _segments, "system": _systems}
    for level, compute in by_level.items():
        with work.part(f"{level}s"):
            found = compute(work)
            for table in FACTS.tables:
                for metric, cells in table.cells.items() if table.level == level else ():
                    at = {"table": table.table, "level": level, "metric": metric}
                    figures += [
                        Figure({**at, "pair": pair}, published, found[metric, pair])
                        for pair, published in cells.items()
                        if (metric, pair) in found
                    ]
    return figures


def _pairs(level: str) -> list[str]:
    printed = (cells for table in FACTS.tables if table.level == level for cells in table.cells.values())
    return [pair for pair in dict.fromkeys(pair for cells in printed for pair in cells) if pair != MEAN]


def _segments(work: Work) -> dict[tuple[str, str], float]:
    """Return r by metric and language pair, and its mean over pairs into English."""
    judged = load_wmt_da(work.find("wmt/daseg-wmt17.tsv", "DA-seglevel.csv"))
    specs = {name: (metric.segment, metric.tokens) for name, metric in FACTS.metrics.items() if metric.segment}
    found: dict[tuple[str, str], float] = {}
    pairs = _pairs("segment")
    for place, pair in enumerate(pairs):
        work.step("wmt17 segments", place, len(pairs))
        rows = judged.where(lp=pair)
        if len(rows) != FACTS.segments:
            raise InputError(f"{judged.name}: has {len(rows)} rows of {pair}, {FACTS.segments} were judged")
        known: dict[tuple[str, bool], float] = {}
        for name, (spec, tokens) in specs.items():
            if (spec, tokens) not in known:
                texts = _texts(rows, pair, tokens)
                known[spec, tokens] = work.agreement(spec, *texts, rows.numbers("human"))
            found[name, pair] = known[spec, tokens]
    for name in specs:
        into = [r for (metric, pair), r in found.items() if metric == name and pair.endswith("-en")]
        found[name, MEAN] = float(np.mean(into))
    return found


def _texts(rows: JudgedTable, pair: str, tokens: bool) -> tuple[list[str], list[str]]:
    """Return candidates and references, cut into tokens as the task's baselines read them if asked for."""
    texts = rows.texts("candidate"), rows.texts("reference")
    if not tokens:
        return texts
    tokenizer = need("sacremoses", "The Moses tokeniser").MosesTokenizer("en")
    cut = ([tokenizer.tokenize(text, return_str=True, escape=False) for text in column] for column in texts)
    # With their case, pairs from English have the task's figures; without it, pairs into English.
    candidates, references = cut if pair.startswith("en-") else ([text.lower() for text in column] for column in cut)
    return candidates, references


def _systems(work: Work) -> dict[tuple[str, str], float]:
    """Return the absolute r by metric and language pair."""
    judged = load_wmt_da_system(work.find("wmt/dasys-wmt17.txt", "DA-syslevel.csv"))
    specs = {name: metric.system for name, metric in FACTS.metrics.items() if metric.system}
    found: dict[tuple[str, str], float] = {}
    for pair in _pairs("system"):
        with work.part(f"systems of {pair}"):
            path, outputs = (work.find(f"wmt/newstest2017-{pair}.{kind}.tsv") for kind in ("ref", "systems"))
            texts = read_columns(path, [], ["sid"], ["reference"])
            systems = outputs_of(outputs, [str(sid) for sid in texts["sid"]])
            references = [html.unescape(str(text)) for text in texts["reference"]]
            rows = judged.where(lp=pair)
            human = dict(zip(rows.texts("system"), rows.numbers("human"), strict=True))
            if set(human) != set(systems):
                other = sorted(set(human) ^ set(systems))[0]
                raise InputError(f"{outputs}: the system {other} of {pair} has outputs or judgments, but not both")
            people = np.array([human[system] for system in systems])
            for name, spec in specs.items():
                scores = []
                for place, candidates in enumerate(systems.values()):
                    work.step(f"wmt17 systems {pair} {name}", place, len(systems))
                    scores.append(work.score(spec, [html.unescape(text) for text in candidates], references).system)
                found[name, pair] = abs(pearson(np.array(scores), people).estimate)
    return found
