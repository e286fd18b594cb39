"""What is known in which language: metrics on human judgments, by data set and language pair.

Run: python benchmarks/languages.py --data DATA --work WORK [--only id,kk-en] scores, kept in WORK by set
     python benchmarks/languages.py --data DATA --work WORK --write          the results

DATA holds the folders named in SETS; a set whose file is not there is left out. Where they come from:
wmt-qe-2023-data/ has the dev sets of task_1 of the repository of that name (WMT-QE-Task, commit 74efc0840000);
afrimte/ all pairs of wmt2024_challenge_set.tgz (masakhane-io/africomet, commit a57b4df168f1); biomqm/ all pairs of
data/v1, of each the first segments by number with all their systems, up to 2,000 rows (amazon-science/bio-mqm-dataset,
commit b35bd758f378); wmt21low/ the judgments of FLORES (wmt-conference/wmt21-news-systems, commit f41750dadbf2);
multi_summeval/ all languages (fajri91/Multi_SummEval, commit 9ec087c94722). Of each set at most as many rows are drawn
as SETS says, with seed 1; texts are scored in NFC. What is in WORK is not scored again, nor what languages.json has of
as many rows of a set, but for metrics that take no time; ``--only`` names pairs, ``--sets`` data sets, and
``--metrics`` metrics to score first. ``--write`` makes benchmarks/agreement/languages.json of what is in WORK and, for
what is not, of what it says already; tools/language_evidence.py makes the page and the registry's evidence of that.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bsx.analysis.meta.run import meta_evaluate
from bsx.catalog.catalog import shipped
from bsx.data.corpus import MemoryCorpus
from bsx.data.output import atomic_text
from bsx.encode.session import Encoders
from bsx.metrics.base import get_metrics
from bsx.metrics.results import score_corpus
from bsx.support.checks import Array
from bsx.support.untyped import to_json

RESULTS = Path(__file__).with_name("agreement") / "languages.json"
MODEL = "me5-small-q4"
FEWER, LIMIT, MORE, MOST, MANY = 100, 150, 250, 300, 1000
BLOCK = 200
SEED = 1
Row = dict[str, str]

WITH_REFERENCE = {
    "chrf": "chrf",
    "bleu": "bleu",
    "ter": "ter",
    "bertscore": f"bertscore:model={MODEL}",
    "bertscore-minilm": "bertscore:model=minilm",
    "sentence": f"sentence:model={MODEL}",
    "muse-v3": "muse-v3",
    "length": "length",
    "overlap": "overlap",
}
WITH_SOURCE = {
    "sentence-qe": f"sentence-qe:model={MODEL}",
    "xmoverscore": f"xmoverscore:model={MODEL}",
    "muse-v3-qe": "muse-v3-qe",
    "length-qe": "length-qe",
}
"""Name in the results -> what is computed."""
SENTINELS = ("length", "overlap", "length-qe")
QUICK = ("chrf", "bleu", "ter", *SENTINELS)
"""Computed for every set: other metrics are tested against these."""
LOWER = ("ter",)
MUSE = {"ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"}
NO_SPACES = {"zh", "km"}
EFFEVAL = {
    "albert": "albert-base-v2",
    "bert": "bert-base-uncased",
    "bert-tiny": "bert_uncased_L-2_H-128_A-2",
    "distilbert": "distilbert-base-uncased",
    "roberta-large": "roberta-large",
}
"""Column of effeval/wmt15.tsv -> model; on their wmt16.tsv, mean r over pairs is what bert-score says of its layer."""


@dataclass(frozen=True)
class Judged:
    """Rows of one table with human judgments.

    Attributes:
        data: name of the data set.
        year: of its judgments.
        pair: languages, as bsx writes them; one language for texts that are no translations.
        file: in the data folder.
        kind: what was judged.
        human: column of the human score.
        reference: columns of references; none without.
        columns: name -> column, where the table has another name for it.
        keep: which rows count.
        also: further columns of human scores.
        rows: so many are drawn.
        chosen_on: whether an encoder's layer was chosen on these rows, which flatters it.
        scores: columns with published scores, where there are no texts to score.
    """

    data: str
    year: int
    pair: str
    file: str
    kind: str = "translation"
    human: str = "human"
    reference: tuple[str, ...] = ("reference",)
    source: str | None = "source"
    candidate: str = "candidate"
    segment: str | None = None
    document: str | None = None
    system: str | None = "system"
    keep: Callable[[Row], bool] = lambda row: True
    also: tuple[str, ...] = ()
    rows: int = LIMIT
    chosen_on: bool = False
    scores: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Data and pair."""
        return f"{self.data} {self.pair}"

    @property
    def human_columns(self) -> tuple[str, ...]:
        """Columns of human scores; preferences have none."""
        return () if self.data == "WMT19 DARR" else (self.human, *self.also)

    @property
    def target(self) -> str:
        """Language of the judged texts."""
        return self.pair.rpartition("-")[2]

    @property
    def origin(self) -> str:
        """Language of the sources."""
        return self.pair.partition("-")[0]


def lp(pair: str) -> Callable[[Row], bool]:
    return lambda row: row["lp"] == pair


def of_systems(row: Row) -> bool:
    """No human reference among the systems."""
    return not row["system"].lower().startswith(("ref", "synthetic"))


_AFRICAN = {
    "ary": "ary", "arz": "arz", "eng": "en", "fra": "fr", "hau": "ha", "ibo": "ig", "kik": "ki", "luo": "luo",
    "som": "so", "swh": "sw", "twi": "tw", "xho": "xh", "yor": "yo",
}  # fmt: skip
_FROM_ENGLISH = ("fra", "hau", "kik", "som", "swh", "yor", "arz", "ibo", "luo", "twi", "xho")
_NEWS19 = ("kk-en", "lt-en", "gu-en")
SETS = (
    *(
        Judged("IndicMT-Eval MQM", 2023, f"en-{one}", f"indicmt/{one}.tsv", human="mqm", rows=MORE)
        for one in ("hi", "ta", "mr")
    ),
    *(
        Judged(
            "AfriMTE DA", 2024, f"{_AFRICAN[a]}-{_AFRICAN[b]}", f"afrimte/{a}-{b}.tsv", human="da_z", system=None,
            rows=MORE,
        )
        for a, b in (*(("eng", one) for one in _FROM_ENGLISH), ("yor", "eng"), ("ary", "fra"))
    ),
    *(
        Judged(
            f"WMT{year} quality estimation DA",
            2000 + year,
            pair,
            f"qe/{pair}.tsv",
            human="da",
            reference=(),
            source=raw[0],
            candidate=raw[1],
            system=None,
            rows=MOST,
        )
        for pair, year in (("en-mr", 22), ("en-yo", 22), ("km-en", 22), ("ps-en", 22), ("ne-en", 21))
        for raw in [("source_raw", "candidate_raw")]
    ),
    *(
        Judged(
            "WMT23 quality estimation DA",
            2023,
            pair,
            f"wmt-qe-2023-data/dev.{pair.replace('-', '')}.df.short.tsv",
            human="z_mean",
            reference=(),
            source="original",
            candidate="translation",
            system=None,
            rows=MOST,
        )
        for pair in ("en-gu", "en-te")
    ),
    *(
        Judged(
            "Eval4NLP DA", 2021, pair, f"eval4nlp/{pair}-test21.tsv", human="da", reference=(), system=None, rows=MOST
        )
        for pair in ("ro-en", "et-en")
    ),
    Judged(
        "MLQE DA, two references",
        2020,
        "et-en",
        "multiref/mlqe-et-en.tsv",
        human="human_z",
        reference=("ref1", "ref2"),
        system=None,
    ),
    *(
        Judged("WMT21 DA", 2021, pair, f"wmt21low/{pair}.tsv", human="human_z", segment="sid")
        for pair in ("ha-en", "bn-hi", "hi-bn")
    ),
    *(
        Judged("WMT21 DA", 2021, pair, f"wmt21low/{pair}.tsv", human="human_z", segment="sid", rows=MORE)
        for pair in ("xh-zu", "zu-xh")
    ),
    *(
        Judged(
            "Multi-SummEval", 2021, one, f"multi_summeval/{one}.tsv", "summary", "focus", source=None, segment="id",
            also=("coverage",),
        )
        for one in ("id", "tr", "fr", "zh", "en", "de", "es", "ru")
    ),
    Judged(
        "WMT23 MQM", 2023, "he-en", "wmt23/he-en", human="mqm", reference=("reference_refB",), segment="seg",
        document="doc", keep=of_systems,
    ),
    *(Judged("WMT19 DARR", 2019, pair, f"wmt/newstest2019-{pair}", segment="sid", rows=FEWER) for pair in _NEWS19),
    Judged("WMT16 DA", 2016, "ro-en", "wmt/daseg-wmt16.tsv", system=None, keep=lp("ro-en"), chosen_on=True),
    *(
        Judged("WMT15 DA", 2015, pair, "wmt/daseg-wmt15.tsv", system=None, keep=lp(pair), rows=500)
        for pair in ("cs-en", "de-en", "fi-en", "ru-en")
    ),
    *(
        Judged("WMT17 DA", 2017, pair, "wmt/daseg-wmt17.tsv", segment="sid", keep=lp(pair), rows=FEWER)
        for pair in ("cs-en", "fi-en", "lv-en", "tr-en", "en-ru", "en-zh")
    ),
    *(
        Judged("WMT17 DA", 2017, pair, "wmt/daseg-wmt17.tsv", segment="sid", keep=lp(pair))
        for pair in ("de-en", "ru-en", "zh-en")
    ),
    *(
        Judged(
            "WMT20 DA, published scores", 2020, pair, f"wmt/wmt20-{pair}.scores.tsv", human="human_z", segment="sid",
            scores=("chrF", "TER", "YiSi-2"),
        )
        for pair in ("iu-en", "km-en")
    ),
    *(
        Judged(
            "Biomedical MQM", 2021, pair, f"biomqm/{pair}.tsv", human="mqm", segment="seg", document="doc", rows=FEWER
        )
        for pair in ("de-en", "en-fr", "en-ru", "en-zh")
    ),
    *(
        Judged(
            "Biomedical MQM", 2021, pair, f"biomqm/{pair}.tsv", human="mqm", segment="seg", document="doc", rows=MANY
        )
        for pair in ("en-de", "en-es", "es-en", "fr-en", "pt-en", "ru-en", "zh-en")
    ),
    Judged(
        "WMT21 MQM", 2021, "en-de", "mqm/newstest2021-en-de.tsv", human="mqm", reference=("reference_C",),
        segment="sid", keep=of_systems, rows=FEWER,
    ),
    Judged(
        "WMT23 MQM", 2023, "en-de", "wmt23/en-de", human="mqm", reference=("reference_refA",), segment="seg",
        document="doc", keep=of_systems, rows=FEWER,
    ),
    Judged(
        "WMT23 ESA", 2024, "en-de", "esa/en-de", human="esa", reference=("reference_refA",), segment="seg",
        document="doc", keep=of_systems, rows=MOST,
    ),
    Judged(
        "STS-B dev", 2017, "en", "stsb/stsb-en-dev.tsv", "similarity", "score", reference=("sentence2",), source=None,
        candidate="sentence1", system=None, rows=MOST,
    ),
)  # fmt: skip


def read(file: Path) -> Iterator[Row]:
    """Yield the rows of an unquoted table, gzipped or not."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8", newline="") as stream:
        quoting = csv.QUOTE_MINIMAL if file.parent.name == "wmt-qe-2023-data" else csv.QUOTE_NONE
        yield from csv.DictReader(stream, delimiter="\t", quoting=quoting)


def _read_wmt23(data: Path, judged: Judged) -> Iterator[Row]:
    pair = judged.pair
    if judged.data == "WMT23 ESA":
        scores = {
            (row["system"], row["seg"]): {"esa": str((float(row["ESA-1"]) + float(row["ESA-2"])) / 2)}
            for row in read(data / "esa/en-de.scores.tsv")
            if row["ESA-1"] and row["ESA-2"]
        }
    else:
        scores = {(row["system"], row["seg"]): row for row in read(data / f"wmt23/{pair}.human.tsv.gz")}
    for row in read(data / f"wmt23/{pair}.texts.tsv.gz"):
        human = scores.get((row["system"], row["seg"]))
        if human is not None:
            yield {**row, **human}


def rows_of(judged: Judged, data: Path, count: int | None = None) -> list[Row]:
    """Return the rows of a set, as they are drawn: so many, or as many as the set says."""
    if judged.data in ("WMT23 MQM", "WMT23 ESA"):
        found: Iterable[Row] = _read_wmt23(data, judged)
    else:
        found = read(data / judged.file)
    kept = [row for row in found if row.get(judged.human) and judged.keep(row)]
    if judged.scores:
        return [row for row in kept if all(row[name] for name in judged.scores)]
    return _drawn(kept, count or judged.rows)


def _drawn(rows: Sequence[Any], count: int) -> list[Any]:
    if len(rows) <= count:
        return list(rows)
    return [rows[i] for i in sorted(np.random.default_rng(SEED).choice(len(rows), count, replace=False).tolist())]


def specs(judged: Judged) -> dict[str, str]:
    """Return what is computed on a set."""
    languages = {judged.origin, judged.target}
    found = dict(WITH_REFERENCE) if judged.reference else {}
    if judged.source is not None:
        found |= WITH_SOURCE
    if judged.target != "en":
        found.pop("bertscore-minilm", None)
    if not languages <= MUSE:
        found.pop("muse-v3-qe", None)
    if judged.target not in MUSE:
        found.pop("muse-v3", None)
    if "xmoverscore" in found and languages & NO_SPACES:  # pieces inside words are most of a text without spaces
        found["xmoverscore"] += ",drop_subwords=false"
    return found


def computed_by_others(judged: Judged, data: Path, rows: Sequence[Row]) -> dict[str, list[float]]:
    """Return published F1 of BERTScore with other models, at the layer that the registry has, by name in the results.

    Source: Larionov et al. 2023 for WMT15; Koto et al. 2021 for summaries, of which precision and recall are published.
    """
    if judged.data == "WMT15 DA":
        scores = {(row["lp"], row["id"]): row for row in read(data / "effeval/wmt15.tsv")}
        there = [scores[row["lp"], row["id"]] for row in rows]
        return {f"bertscore-{m}": [float(row[f"bertscore-{column}"]) for row in there] for column, m in EFFEVAL.items()}
    file = data / judged.file.replace(".tsv", ".metrics.tsv.gz")
    if judged.data != "Multi-SummEval" or not file.exists():
        return {}
    scores = {(row["id"], row["system"]): row for row in read(file)}
    there = [scores[row["id"], row["system"]] for row in rows]
    found = {}
    for name in dict.fromkeys(re.sub(r"-L\d+-[PR]$", "", column) for column in there[0]):
        entry = shipped().find(name.removeprefix("bertscore-"))
        if entry is not None and isinstance(entry.layer, int):
            p, r = (np.array([float(row[f"{name}-L{entry.layer}-{side}"]) for row in there]) for side in "PR")
            found[name] = (2 * p * r / (p + r)).tolist()
    return found


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


Texts = tuple[list[str], list[list[str]] | None, list[str] | None]
"""Candidates, their references, their sources."""


def score(wanted: dict[str, str], encoders: Encoders, texts: Texts) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Return the scores of metrics, and their signatures."""
    candidates, references, sources = texts
    metrics = dict(zip(wanted, get_metrics(list(wanted.values()), encoders=encoders), strict=True))
    scores: dict[str, list[float]] = {name: [] for name in wanted}
    signatures: dict[str, str] = {}
    for start in range(0, len(candidates), BLOCK):
        part = slice(start, start + BLOCK)
        corpus = MemoryCorpus(
            {"candidate": candidates[part]},
            references[part] if references is not None else None,
            sources[part] if sources is not None else None,
        )
        found = score_corpus(list(metrics.values()), corpus)
        for name, metric in metrics.items():
            one = found[metric.spec]["candidate"]
            scores[name] += [float(value) for value in one.values]
            signatures[name] = str(one.signature)
        encoders.forget()
    return scores, signatures


def before(judged: Judged, human: str, found: dict[str, Any], count: int | None = None) -> dict[str, Any] | None:
    """Return what results say of a set and a column of human scores, if they are of so many rows."""
    data = judged.data if not judged.also else f"{judged.data} {human}"
    for one in found["sets"]:
        if (one["data"], one["pair"]) == (data, judged.pair) and count in (None, one["n"]):
            return dict(one)
    return None


def measure(
    judged: Judged,
    data: Path,
    encoders: Encoders,
    kept: dict[str, Any],
    names: Sequence[str],
    known: dict[str, Any],
) -> bool:
    """Add what is missing of these metrics, in what is kept of a set and in results; return whether anything was."""
    if judged.scores and kept:
        return False
    rows, texts = drawn(judged, data, len(kept["human"][judged.human]) if kept.get("human") else None)
    if judged.scores:
        kept["scores"] = {name: [float(row[name]) for row in rows] for name in judged.scores}
    kept["human"] = {name: [float(row[name]) for row in rows] for name in judged.human_columns}
    for name in ("segment", "document", "system"):
        column = getattr(judged, name)
        if column is not None and rows and column in rows[0]:
            kept[name] = [row[column] or "?" for row in rows]
    if judged.scores:
        return True
    there = kept.setdefault("scores", {})
    stored = before(judged, judged.human, known, len(rows))
    had = set() if stored is None else set(stored["figures"])
    missing = {name: spec for name, spec in specs(judged).items() if name not in there}
    wanted = {name: spec for name, spec in missing.items() if name in names and name not in {*had, *QUICK}}
    published = computed_by_others(judged, data, rows)
    if not wanted and published.keys() <= {*had, *there}:
        return False
    wanted |= {name: spec for name, spec in missing.items() if name in QUICK}
    scores, signatures = score(wanted, encoders, texts) if wanted else ({}, {})
    there.update(scores | published)
    kept.setdefault("signatures", {}).update(signatures)
    return True


def drawn(judged: Judged, data: Path, count: int | None) -> tuple[list[Row], Texts]:
    """Return the rows of a set, and their texts; of preferences, first all that are better, then all that are worse."""
    if judged.data == "WMT19 DARR":
        return _preferences(judged, data)
    rows = rows_of(judged, data, count)
    if judged.scores:
        return rows, ([], None, None)
    references = [[nfc(row[name]) for name in judged.reference if row[name]] for row in rows]
    sources = [nfc(row[judged.source]) for row in rows] if judged.source is not None else None
    return rows, ([nfc(row[judged.candidate]) for row in rows], references if judged.reference else None, sources)


def _preferences(judged: Judged, data: Path) -> tuple[list[Row], Texts]:
    start = data / judged.file
    outputs = {(row["system"], row["sid"]): row["candidate"] for row in read(Path(f"{start}.systems.tsv"))}
    sides = {row["sid"]: row for row in read(Path(f"{start}.ref.tsv"))}
    pairs = [row for row in read(data / "wmt/darr-wmt19-kk-lt-gu.tsv") if row["lp"] == judged.pair]
    there = [row for row in pairs if all((row[side], row["sid"]) in outputs for side in ("better", "worse"))]
    rows = _drawn(there, judged.rows)
    both = [(row[side], row["sid"]) for side in ("better", "worse") for row in rows]
    texts = [nfc(outputs[one]) for one in both]
    return rows, (texts, *([f(nfc(sides[sid][c])) for _, sid in both] for c, f in _SIDES))  # type: ignore[return-value]


_SIDES: tuple[tuple[str, Callable[[str], Any]], ...] = (("reference", lambda text: [text]), ("source", str))


def agreement(judged: Judged, human: str, kept: dict[str, Any], units: dict[str, list[str]]) -> dict[str, Any]:
    """Return how well each metric agrees with one column of human scores, with tests against chrF and the sentinels."""
    preferences = not judged.human_columns
    if preferences:
        half = len(kept["segment"])
        gaps = {name: [a - b for a, b in zip(x[:half], x[half:], strict=True)] for name, x in kept["scores"].items()}
        statistic, (figures, tests) = "Kendall tau (preferences)", _preferred(gaps, kept["segment"])
    else:
        statistic = "Pearson r"
        scores = {name: values for name, values in kept["scores"].items() if np.ptp(values) > 0}
        for name in kept["scores"]:
            if name not in scores:
                print(f"{judged.name}: {name} is the same everywhere", flush=True)
        controls = [name for name in SENTINELS if name in scores]
        metrics = [name for name in scores if name not in controls] or controls
        signs = {name: np.sign(np.corrcoef(scores[name], kept["human"][human])[0, 1]) for name in controls}
        upright = {name: sign * np.array(scores[name]) for name, sign in signs.items()}
        found = meta_evaluate(
            {**scores, **upright, **units, "human": kept["human"][human]},
            metrics=metrics,
            human="human",
            lower=[name for name in LOWER if name in metrics],
            sentinels=[name for name in controls if name not in metrics],
            test="bootstrap",
            resamples=2000,
            **{name: name for name in units},
        ).groups[0]
        figures = {one.metric: (float(one.value), *map(float, one.ci)) for one in found.metrics}
        tests = {}
        for test in (*found.tests, *found.control_tests):
            tests[test.a, test.b] = (float(test.difference), float(test.p_two_sided))
            tests[test.b, test.a] = (-float(test.difference), float(test.p_two_sided))
    result: dict[str, Any] = {
        "data": judged.data if not judged.also else f"{judged.data} {human}",
        "year": judged.year,
        "pair": judged.pair,
        "kind": judged.kind,
        "n": len(kept["segment"] if preferences else kept["human"][human]),
        "units": len(set(units.get("segment", kept.get("segment", ())))),
        "statistic": statistic,
        "chosen_on": judged.chosen_on,
        "published": bool(judged.scores),
        "figures": {},
    }
    controls = [name for name in SENTINELS if name in figures]
    best = max(controls, key=lambda name: abs(figures[name][0])) if controls else None
    for name, (value, low, high) in figures.items():
        if not preferences and signs.get(name, 1) < 0:  # as it is, after tests of it as it would agree
            value, low, high = -value, -high, -low
        one: dict[str, Any] = {"value": _round(value), "interval": [_round(low), _round(high)]}
        for label, other in (("chrf", "chrf"), ("sentinel", best)):
            if other is not None and (name, other) in tests:
                one[f"against_{label}"] = [_round(x) for x in tests[name, other]]
        result["figures"][name] = one
    if best is not None:
        result["sentinel"] = best
    return result


def _preferred(
    gaps: dict[str, list[float]], segments: Sequence[str]
) -> tuple[dict[str, tuple[float, float, float]], dict[tuple[str, str], tuple[float, float]]]:
    """Kendall's tau of preferences as WMT defines it (a tie is wrong), with intervals over segments drawn whole."""
    names = list(gaps)
    signs = np.array([[-x if name in LOWER else x for x in gaps[name]] for name in names]) > 0
    codes = np.unique(np.array(segments), return_inverse=True)[1]
    sums = np.array([np.bincount(codes, weights=2.0 * row - 1) for row in signs])
    sizes = np.bincount(codes)
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=2000)
    draws = sums @ counts.T / (counts @ sizes)
    values = sums.sum(axis=1) / sizes.sum()
    figures = {
        name: (float(value), *(float(end) for end in np.percentile(draws[i], [2.5, 97.5])))
        for i, (name, value) in enumerate(zip(names, values, strict=True))
    }
    tests = {}
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if i != j:
                gap = draws[i] - draws[j]
                p = min(1.0, 2 * min((np.sum(gap <= 0) + 1) / 2001, (np.sum(gap >= 0) + 1) / 2001))
                tests[a, b] = (float(values[i] - values[j]), float(p))
    return figures, tests


def _round(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 4)


def units_of(judged: Judged, data: Path, kept: dict[str, Any]) -> dict[str, list[str]]:
    """Return what is drawn whole: rows of one segment, which is one source (or reference), and of one document."""
    if not judged.human_columns:
        return {}
    if judged.scores:
        return {"segment": kept["segment"]}
    column = judged.source or judged.reference[0]
    rows = rows_of(judged, data, len(kept["human"][judged.human]))
    numbers: dict[str, int] = {}
    texts = [" ".join(nfc(row[column]).split()) for row in rows]
    units = {"segment": [str(numbers.setdefault(text, len(numbers))) for text in texts]}
    return units | ({"document": kept["document"]} if "document" in kept else {})


def layers(data: Path) -> list[dict[str, Any]]:
    """Return which layer of BERTScore agrees best with judgments of summaries, by language and model.

    A layer's figure is the mean of two correlations: of precision with focus, and of recall with coverage. Resamples
    draw documents; ``held_out`` is what the layer that is best on one half of the documents gains on the other half
    over the registry's layer, on average over 500 splits.
    """
    catalog = shipped()
    result = []
    for language in ("en", "fr", "id", "tr", "zh"):
        rows = list(read(data / f"multi_summeval/{language}.tsv"))
        scores = list(read(data / f"multi_summeval/{language}.metrics.tsv.gz"))
        assert [(row["id"], row["system"]) for row in rows] == [(row["id"], row["system"]) for row in scores]
        documents = np.unique([row["id"] for row in rows], return_inverse=True)[1]
        human = np.array([[float(row[name]) for row in rows] for name in ("focus", "coverage")])
        names = list(
            dict.fromkeys(re.sub(r"-L\d+-[PR]$", "", name) for name in scores[0] if name.startswith("bertscore"))
        )
        for name in names:
            entry = catalog.find(name.removeprefix("bertscore-"))
            count = sum(f"{name}-L{k}-P" in scores[0] for k in range(1, 49))
            columns = np.array(
                [[[float(row[f"{name}-L{k}-{side}"]) for row in scores] for k in range(1, count + 1)] for side in "PR"]
            )
            result.append(
                {
                    "language": language,
                    "model": name.removeprefix("bertscore-"),
                    "n": len(rows),
                    **_best_layer(columns, human, documents, entry.layer if entry is not None else None),
                }
            )
    return result


def _best_layer(columns: Array, human: Array, documents: Array, known: object) -> dict[str, Any]:
    def figures(weights: Array) -> Array:
        """Weighted r of each layer, mean of both sides: (layers,)."""
        w = weights / weights.sum()
        x = columns - (columns @ w)[..., None]
        y = human - (human @ w)[:, None]
        covariance = (x * (y * w)[:, None, :]).sum(-1)
        found: Array = covariance / np.sqrt((x**2 @ w) * (y**2 @ w)[:, None])
        return found.mean(axis=0)

    r = figures(np.ones(columns.shape[-1]))
    best = int(np.argmax(r)) + 1
    result: dict[str, Any] = {"layers": len(r), "best": best, "r": _round(float(r[best - 1])), "registry": known}
    if not isinstance(known, int):
        return result
    rng = np.random.default_rng(SEED)
    size = int(documents.max()) + 1
    draws = np.array(
        [figures(rng.multinomial(size, np.full(size, 1 / size))[documents].astype(float)) for _ in range(1000)]
    )
    gap = draws[:, best - 1] - draws[:, known - 1]
    gains = []
    for _ in range(250):
        half = (rng.permutation(size) < size // 2)[documents]
        for train in (half, ~half):
            chosen = int(np.argmax(figures(train.astype(float))))
            test = figures((~train).astype(float))
            gains.append(test[chosen] - test[known - 1])
    return {
        **result,
        "r_registry": _round(float(r[known - 1])),
        "difference": _round(float(r[best - 1] - r[known - 1])),
        "interval": [_round(float(end)) for end in np.percentile(gap, [2.5, 97.5])],
        "held_out": _round(float(np.mean(gains))),
    }


def results(data: Path, work: Path, known: dict[str, Any]) -> dict[str, Any]:
    """Return all results: of the sets that are scored, and of others what is known of them already."""
    signatures: dict[str, int] = {}
    found = []
    for judged in SETS:
        file = work / f"{judged.name.replace(' ', '_')}.json"
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        for human in judged.human_columns or ("",):
            one = None
            if kept is not None:
                one = agreement(judged, human, kept, units_of(judged, data, kept))
                for name, figure in one["figures"].items():
                    if name in kept.get("signatures", {}):
                        figure["signature"] = kept["signatures"][name]
            old = before(judged, human, known, one and one["n"])
            if old is not None:
                old["figures"] = {
                    name: {**figure, "signature": known["signatures"][figure["signature"]]}
                    if "signature" in figure
                    else figure
                    for name, figure in old["figures"].items()
                }
            if one is None and old is None:
                print(f"not scored: {judged.name}", flush=True)
                continue
            found.append(_joined(one, old) if one is not None and old is not None else one or old)
    for one in found:
        for figure in one["figures"].values():
            if "signature" in figure:
                figure["signature"] = signatures.setdefault(figure["signature"], len(signatures))
    return {"sets": found, "layers": known["layers"] or layers(data), "signatures": list(signatures)}


def _joined(one: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Return new figures and those of old ones that are not there anew; both are of the same rows.

    Metrics whose settings never change tell whether they are; TER, for one, now cuts Chinese into characters.
    """
    for name in {"chrf", "length", "length-qe"} & one["figures"].keys() & old["figures"].keys():
        new, then = (each["figures"][name]["value"] for each in (one, old))
        if abs(new - then) > 5e-4:
            raise SystemExit(f"{one['data']} {one['pair']}: {name} was {then} and is {new}: not of the same rows")
    new = one["figures"]
    return {**one, "figures": {**{name: new.get(name, figure) for name, figure in old["figures"].items()}, **new}}


def main() -> None:
    """Score what is missing, or write what there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", help="pairs, in the order in which they are scored")
    parser.add_argument("--sets", help="starts of names of data sets, with commas")
    parser.add_argument("--metrics", help="names of the results")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    known = json.loads(RESULTS.read_text(encoding="utf-8"))
    if asked.write:
        made = results(asked.data, asked.work, known)
        with atomic_text(RESULTS) as stream:
            stream.write(to_json(made) + "\n")
        return
    encoders = Encoders(model=MODEL)
    wanted = [one for pair in asked.only.split(",") for one in SETS if one.pair == pair] if asked.only else list(SETS)
    if asked.sets:
        wanted = [one for start in asked.sets.split(",") for one in wanted if one.data.startswith(start)]
    names = asked.metrics.split(",") if asked.metrics else [*WITH_REFERENCE, *WITH_SOURCE]
    for judged in wanted:
        file = asked.work / f"{judged.name.replace(' ', '_')}.json"
        if judged.file.endswith(".tsv") and not (asked.data / judged.file).exists():
            continue
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        start = time.monotonic()
        in_list = judged.target in encoders.catalog.languages
        session = Encoders(model=MODEL, lang=judged.target) if in_list else encoders
        if measure(judged, asked.data, session, kept, names, known):
            with atomic_text(file) as stream:
                json.dump(kept, stream)
            print(f"{time.strftime('%H:%M:%S')} {judged.name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
