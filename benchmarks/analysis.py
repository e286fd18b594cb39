"""Speed of the analysis against its peers: tree distance, factors, transport, bootstraps of a regression.

python benchmarks/analysis.py --data FOLDER --stanza FOLDER --cache FOLDER
[--parts trees,factors,transport,transport-profile,bootstrap] [-o benchmarks/results/analysis.json]. DATA holds
kaster2021/wmt-en.tsv and wmt/daseg-wmt17.tsv; the cache is that of
``bsx factors --cache`` (parses are taken from there, and made where they lack). Each part replaces its own in the
result. Peers run in turn with bsx, in one process; wall-clock and CPU seconds are both kept, because another program on
the machine changes the first only. The figure kept is the least of the repeats.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import random
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bsx.data.output import atomic_text
from bsx.support.provenance import VERSION

PACKAGES = ("numpy", "scipy", "torch", "POT", "zss", "nltk", "fasttext", "statsmodels")
FACTOR_COLUMNS = ("sem", "syn", "bleu", "morph")
METRIC_COLUMNS = ("bert", "mover", "laser", "sbert", "sbert_wk", "labse", "mSBERT", "bleurt", "mUSE")


def timed(functions: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """Return the least wall-clock and CPU seconds of each function, and what each returned.

    They take turns, with a pause before each: threads of linear algebra that wait for work keep cores busy for a while.
    """
    best = {name: {"seconds": float("inf"), "cpu_seconds": float("inf")} for name in functions}
    found = {}
    for _ in range(repeats):
        for name, function in functions.items():
            time.sleep(0.5)
            wall, cpu = time.perf_counter(), time.process_time()
            found[name] = function()
            took = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
            best[name] = {key: round(min(value, took[key]), 4) for key, value in best[name].items()}
    return best, found


def ratios(best: dict[str, dict[str, float]], ours: str, theirs: str) -> dict[str, float]:
    return {f"ratio_{key}": round(best[theirs][key] / best[ours][key], 2) for key in ("seconds", "cpu_seconds")}


def read(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def heads_of(rows: list[dict[str, str]], stanza: Path, cache: Path) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    from bsx.analysis.factors.parsers import make_parser
    from bsx.analysis.factors.parses import ParseCache
    from bsx.analysis.factors.syntax import blank_punctuation

    parser = make_parser("stanza", "en", "parse", pretokenized=True, folder=stanza, download=False)
    kept = ParseCache(cache, parser.identity)
    sides = []
    for side in ("sentence1", "sentence2"):
        texts = [" ".join(blank_punctuation(row[side]).split()) for row in rows]
        parses = kept.parse(texts, parser, lambda done, total: None)
        sides.append([parse.heads if parse is not None else () for parse in parses])
    return list(zip(*sides, strict=True))


def trees(rows: list[dict[str, str]], arguments: argparse.Namespace) -> dict[str, Any]:
    """Tree distances from heads, trees built on both sides: ours against zss on a sample of the real pairs."""
    import zss

    from bsx.analysis.factors.trees import Tree, distance

    def zss_tree(heads: tuple[int, ...]) -> Any:
        nodes = [zss.Node("x") for _ in range(len(heads) + 1)]
        for word, head in enumerate(heads, start=1):
            nodes[head].addkid(nodes[word])
        return nodes[0]

    pairs = heads_of(rows, arguments.stanza, arguments.cache)
    sample = random.Random(1).sample(  # noqa: S311
        [pair for pair in pairs if pair[0] and pair[1]], 200
    )
    best, found = timed(
        {
            "bsx": lambda: [distance(Tree(a), Tree(b)) for a, b in sample],
            "zss": lambda: [zss.simple_distance(zss_tree(a), zss_tree(b)) for a, b in sample],
        },
        arguments.repeats,
    )
    assert found["bsx"] == found["zss"]
    words = round(sum(len(side) for pair in sample for side in pair) / 2 / len(sample), 1)
    return {"pairs": len(sample), "words_a_sentence": words, "equal": True, **best, **ratios(best, "bsx", "zss")}


def factors(rows: list[dict[str, str]], arguments: argparse.Namespace) -> dict[str, Any]:
    """SYN, LEX and MOR of all pairs from parses in the cache; word vectors are taken from the cache too."""
    from bsx.analysis.factors.zoo import compute_factors

    first, second = ([row[side] for row in rows] for side in ("sentence1", "sentence2"))
    how = {"parser_dir": arguments.stanza, "cache": arguments.cache, "preset": "kaster2021", "train_vectors": True}
    made = {name: partial(compute_factors, name, first, second, **how) for name in ("syn", "lex", "mor")}
    best, _ = timed(made, 1)
    total = {key: round(sum(figures[key] for figures in best.values()), 2) for key in ("seconds", "cpu_seconds")}
    return {"pairs": len(rows), **best, "all": total}


def transport(rows: list[dict[str, str]], arguments: argparse.Namespace) -> dict[str, Any]:
    """The transport step of MoverScore, from vectors to costs: ours against a loop of ot.emd2 over ot.dist."""
    import ot

    results = {}
    for spec, calls in transport_calls(arguments.data).items():
        best, found = timed({"bsx": partial(ours, calls), "loop": partial(loop, ot, calls)}, arguments.repeats)
        # Near 0 the root magnifies the rounding of fp32 vectors, so that squares are compared.
        power = 2 if "v2" in spec else 1
        gap = np.abs(np.power(found["bsx"], power) - np.power(found["loop"], power))
        results[spec] = {
            "pairs": sum(len(left) for _, left, _, _ in calls),
            "largest_difference": float(np.nanmax(gap)),
            **best,
            **ratios(best, "bsx", "loop"),
        }
    return results


def transport_calls(data: Path) -> dict[str, list[Any]]:
    """Return what each metric gives to `transport_costs` on 2,000 pairs of WMT17, in blocks."""
    import bsx.metrics.embedding.moverscore as home
    from bsx.data.corpus import MemoryCorpus
    from bsx.match.transport import transport_costs
    from bsx.metrics.run import score_corpus
    from bsx.metrics.zoo import get_metrics

    part = [row for row in read(data / "wmt" / "daseg-wmt17.tsv") if row["lp"].endswith("-en")][:2000]
    corpus = MemoryCorpus({"system": [row["candidate"] for row in part]}, [row["reference"] for row in part])
    found: dict[str, list[Any]] = {}
    for spec in ("moverscore", "moverscore:ngram=2", "moverscore-v2:idf=false"):
        calls = found[spec] = []

        def keep(units: Any, left: Any, right: Any, calls: list[Any] = calls, **how: Any) -> Any:
            calls.append((units, left, right, how))
            return transport_costs(units, left, right, **how)

        home.transport_costs = keep  # type: ignore[assignment]
        score_corpus(get_metrics([spec], model="minilm"), corpus)
    return found


def transport_profile(rows: list[dict[str, str]], arguments: argparse.Namespace) -> dict[str, Any]:
    """Where the time of both goes, on the first 250 pairs of each block."""
    import ot

    found = {}
    for spec, calls in transport_calls(arguments.data).items():
        some = [(units, left[:250], right[:250], how) for units, left, right, how in calls]
        found[spec] = profile(ot, some, arguments.repeats)
    return found


def profile(ot: Any, calls: list[Any], repeats: int) -> dict[str, float]:
    """CPU microseconds a pair of what both do, of what either does around it, and of each in all; one BLAS thread."""
    from ot.lp.emd_wrap import emd_c
    from threadpoolctl import threadpool_limits

    from bsx.match.transport import _length
    from bsx.support.arrays import fetch

    sides, vectors, metrics = [], [], []
    for units, left, right, how in calls:
        found = fetch(units.vectors)
        spans = [slice(first, first + length) for first, length in zip(units.offsets, units.lengths, strict=True)]
        for a, b in zip(left.tolist(), right.tolist(), strict=True):
            masses = [units.masses[spans[text]].astype(np.float64) for text in (a, b)]
            if all(mass.sum() > 0 for mass in masses):
                a, b = sorted((a, b), key=lambda text: units.lengths[text])
                masses = [units.masses[spans[text]].astype(np.float64) for text in (a, b)]
                sides.append([mass / mass.sum() for mass in masses])
                vectors.append((found[spans[a]], found[spans[b]]))
                metrics.append(how["cost"])
    with threadpool_limits(1):
        products = [np.dot(x, y.T) for x, y in vectors]
        flat = np.concatenate([product.ravel() for product in products])
        distances = [_length(product, metric) for product, metric in zip(products, metrics, strict=True)]
        peer = {"squared": "sqeuclidean", "euclidean": "euclidean"}
        steps = {
            "products": lambda: [np.dot(x, y.T) for x, y in vectors],
            "distances": lambda: [_length(flat[i : i + 50_000], metrics[0]) for i in range(0, len(flat), 50_000)],
            "solver": lambda: [emd_c(p, q, d, 100_000, 1) for (p, q), d in zip(sides, distances, strict=True)],
            "bsx": partial(ours, calls),
            "ot.dist": lambda: [ot.dist(x, y, peer[m]) for (x, y), m in zip(vectors, metrics, strict=True)],
            "loop": partial(loop, ot, calls),
        }
        best, _ = timed(steps, repeats)
    took = {name: best[name]["cpu_seconds"] / len(sides) * 1e6 for name in steps}
    took["rest of bsx"] = took["bsx"] - took["products"] - took["distances"] - took["solver"]
    took["rest of loop"] = took["loop"] - took["ot.dist"] - took["solver"]
    return {name: round(value, 1) for name, value in took.items()}


def ours(calls: list[Any]) -> list[float]:
    from bsx.match.transport import transport_costs

    return [cost for units, left, right, how in calls for cost in transport_costs(units, left, right, **how)]


def loop(ot: Any, calls: list[Any]) -> list[float]:
    """What one writes with POT: distances and cost of one pair after another."""
    from bsx.support.arrays import fetch

    costs = []
    for units, left, right, how in calls:
        vectors = fetch(units.vectors)
        metric = "sqeuclidean" if how["cost"] == "squared" else "euclidean"
        spans = [slice(first, first + length) for first, length in zip(units.offsets, units.lengths, strict=True)]
        for a, b in zip(left.tolist(), right.tolist(), strict=True):
            p, q = (units.masses[spans[text]].astype(np.float64) for text in (a, b))
            if not p.sum() or not q.sum():
                costs.append(float("nan"))
                continue
            distances = ot.dist(vectors[spans[a]], vectors[spans[b]], metric)
            costs.append(float(ot.emd2(p / p.sum(), q / q.sum(), distances)))
    return costs


def bootstrap(rows: list[dict[str, str]], arguments: argparse.Namespace) -> dict[str, Any]:
    """10,000 resamples of the standardised regression of nine metrics on four factors; the literal loop on 50."""
    from bsx.analysis.disentangling.bootstrap import bootstrap_regressions
    from bsx.analysis.disentangling.fit import disentangle

    table = {name: np.array([float(row[name]) for row in rows]) for name in (*FACTOR_COLUMNS, *METRIC_COLUMNS)}
    x, y = (np.column_stack([table[name] for name in names]) for names in (FACTOR_COLUMNS, METRIC_COLUMNS))
    clusters = [str(row // 15) for row in range(len(rows))]
    standard = lambda columns: (columns - columns.mean(axis=0)) / columns.std(axis=0)  # noqa: E731

    def literal() -> np.ndarray:
        drawn = np.random.default_rng(1).integers(len(x), size=(50, len(x)))
        return np.array([np.linalg.lstsq(standard(x[d]), standard(y[d]), rcond=None)[0].T for d in drawn])

    few = bootstrap_regressions(x, y, resamples=50, seed=1)
    gap = float(np.abs(few.coef - literal()).max())
    assert gap < 1e-10
    best, _ = timed(
        {
            "rows_1_metric": lambda: bootstrap_regressions(x, y[:, :1], resamples=10_000, seed=1),
            "rows_9_metrics": lambda: bootstrap_regressions(x, y, resamples=10_000, seed=1),
            "clusters_9_metrics": lambda: bootstrap_regressions(x, y, resamples=10_000, seed=1, clusters=clusters),
            "disentangle_1_metric": lambda: disentangle(table, ["bert"], list(FACTOR_COLUMNS), bootstrap=10_000),
            "literal_loop_50_resamples": literal,
        },
        arguments.repeats,
    )
    return {"rows": len(rows), "resamples": 10_000, "largest_difference_from_loop": gap, **best}


PARTS = {
    "trees": trees,
    "factors": factors,
    "transport": transport,
    "transport-profile": transport_profile,
    "bootstrap": bootstrap,
}


def installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def machine() -> dict[str, Any]:
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    return {
        "processor": names[0].partition(":")[2].strip() if names else platform.machine(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "not set"),
        "load_at_start": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": {"bsx": VERSION, **{name: installed(name) for name in PACKAGES}},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--stanza", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "results" / "analysis.json")
    arguments = parser.parse_args()
    rows = read(arguments.data / "kaster2021" / "wmt-en.tsv")
    result = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    for part in arguments.parts.split(","):
        result[part] = {**PARTS[part](rows, arguments), "machine": machine()}
        print(json.dumps({part: result[part]}), flush=True)
        with atomic_text(arguments.output) as stream:
            stream.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
