"""Agreement of sentence BLEU, chrF and BERTScore with people on every data set at hand, as committed in agreement/.

Run from the repository: ``.venv/bin/python benchmarks/agreement.py --data DIR -o benchmarks/agreement``.
DIR holds the tables that docs/evaluate/datasets.md names (wmt/, captions/, multiref/, stsb/). Scores are kept in
--work, so that an interrupted run goes on where it was. One encoder, the embedded MiniLM, at its registered layer.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bsx.analysis.datasets.flickr8k import load_flickr8k
from bsx.analysis.datasets.judged import JudgedTable
from bsx.analysis.datasets.pairs import load_stsb
from bsx.analysis.datasets.systems import load_system_outputs
from bsx.analysis.datasets.tabular import load_multi_reference
from bsx.analysis.datasets.wmt import load_darr, load_wmt_da, load_wmt_da_system
from bsx.analysis.stats.correlation import kendall, pairwise_accuracy, pearson, spearman
from bsx.analysis.stats.selection import expected_model_selection
from bsx.analysis.stats.systems.darr import darr_from_pairs
from bsx.analysis.stats.systems.grouped import grid
from bsx.analysis.stats.systems.hybrid import hybrid_correlation, hybrid_correlation_limit, hybrid_systems
from bsx.data.corpus import MemoryCorpus
from bsx.data.output import atomic_text
from bsx.metrics.run import score_corpus
from bsx.metrics.zoo import get_metrics
from bsx.support.checks import Array

METRICS = {
    "sentBLEU": "sentbleu",
    "sentBLEU, Moses": "sentbleu:variant=moses",
    "chrF": "chrf",
    "BERTScore P": "bertscore:measure=precision",
    "BERTScore R": "bertscore:measure=recall",
    "BERTScore F1": "bertscore",
    "BERTScore F1, idf": "bertscore:idf=true",
}


class Work:
    """Scores of texts, kept in files.

    Args:
        folder: where.
        model: the encoder.
    """

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model
        folder.mkdir(parents=True, exist_ok=True)

    def score(self, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Array]:
        """Return the scores of every metric: name -> (n,)."""
        content = json.dumps([list(METRICS.values()), self._model, list(candidates), [list(r) for r in references]])
        file = self._folder / f"{hashlib.sha256(content.encode()).hexdigest()[:24]}.npz"
        if not file.is_file():
            start = time.monotonic()
            metrics = get_metrics(list(METRICS.values()), model=self._model)
            corpus = MemoryCorpus({"candidate": list(candidates)}, [list(r) for r in references])
            scored = score_corpus(metrics, corpus)
            values = {name: scored[spec]["candidate"].values for name, spec in METRICS.items()}
            part = file.with_suffix(".part.npz")
            np.savez(part, **values)
            part.replace(file)
            print(f"scored {len(candidates)} segments in {time.monotonic() - start:.0f} s", flush=True)
        with np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in METRICS}


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def by_group(
    work: Work, judged: JudgedTable, groups: Sequence[str], statistic: Callable[[Array, Array], float]
) -> dict[str, list[float]]:
    """Return each metric's agreement in each language pair."""
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for lp in groups:
        part = judged.where(lp=lp)
        scores = work.score(part.texts("candidate"), part.references)
        human = part.numbers("human")
        for name in METRICS:
            found[name].append(statistic(scores[name], human))
    return found


def r_of(x: Array, y: Array) -> float:
    return pearson(x, y, interval="none").estimate


def segments(data: Path, work: Work) -> str:
    """WMT15 to WMT17 segment-level DA into English."""
    parts = []
    for year in (15, 16, 17):
        judged = load_wmt_da(data / f"wmt/daseg-wmt{year}.tsv")
        groups = [lp for lp in dict.fromkeys(judged.texts("lp")) if lp.endswith("-en")]
        found = by_group(work, judged, groups, r_of)
        rows = [[name, *(f"{v:.3f}" for v in vs), f"{np.mean(vs):.3f}"] for name, vs in found.items()]
        parts += [f"## WMT{year}, Pearson's r by segment", table(["metric", *groups, "mean"], rows)]
    return "\n\n".join(parts)


def systems(data: Path, work: Work) -> str:
    """WMT17 system level and hybrid systems."""
    official = load_wmt_da_system(data / "wmt/dasys-wmt17.txt")
    parts = []
    for lp in ("cs-en", "fi-en", "tr-en"):
        files = [data / f"wmt/newstest2017-{lp}.{kind}.tsv" for kind in ("systems", "references", "human")]
        files[1] = data / f"wmt/newstest2017-{lp}.ref.tsv"
        judged = load_system_outputs(files[0], files[1], files[2], lp=lp)
        scores = work.score(judged.texts("candidate"), judged.references)
        columns = {"human": judged.numbers("human"), **scores}
        cells = grid(judged.texts("system"), judged.texts("segment"), columns)
        people = dict(zip(official.where(lp=lp).texts("system"), official.where(lp=lp).numbers("human"), strict=True))
        known = [i for i, name in enumerate(cells.systems) if name in people]
        human = np.array([people[cells.systems[i]] for i in known])
        rows = []
        for name in METRICS:
            means = np.nanmean(cells.columns[name][known], axis=1)
            limit = hybrid_correlation_limit(cells.columns[name], cells.columns["human"], nan="omit", resamples=500)
            drawn = hybrid_correlation(cells.columns[name], cells.columns["human"], nan="omit")
            hybrids = hybrid_systems(cells.columns[name], cells.columns["human"], nan="omit")
            chosen = expected_model_selection(hybrids.metric, hybrids.human, 100)
            rows.append(
                [
                    name,
                    f"{r_of(means, human):.3f}",
                    f"{pairwise_accuracy(means, human).estimate:.3f}",
                    f"{limit.estimate:.3f} ({limit.low:.3f} to {limit.high:.3f})",
                    f"{drawn.estimate:.3f}",
                    f"{chosen.hits_at_1:.3f}",
                    f"{chosen.mrr:.3f}",
                    f"{100 * chosen.difference:.2f}",
                ]
            )
        hybrid = ["hybrid r, limit (95%)", "hybrid r, 10K drawn", "Hits@1", "MRR", "Diff x100"]
        header = ["metric", f"r, {len(known)} systems", "pairwise accuracy", *hybrid]
        parts += [f"## WMT17 {lp}: systems and hybrid systems", table(header, rows)]
    return "\n\n".join(parts)


def preferences(data: Path, work: Work) -> str:
    """WMT19 DARR."""
    darr = load_darr(data / "wmt/darr-wmt19-kk-lt-gu.tsv")
    rows: dict[str, list[str]] = {name: [name] for name in METRICS}
    pairs = ("kk-en", "lt-en", "gu-en")
    for lp in pairs:
        stem = data / f"wmt/newstest2019-{lp}"
        outputs = load_system_outputs(Path(f"{stem}.systems.tsv"), Path(f"{stem}.ref.tsv"), lp=lp)
        scores = work.score(outputs.texts("candidate"), outputs.references)
        at = {key: i for i, key in enumerate(zip(outputs.texts("system"), outputs.texts("segment"), strict=True))}
        part = darr.where(lp=lp)
        keys = list(zip(part.texts("better"), part.texts("worse"), part.texts("segment"), strict=True))
        better = np.array([at[b, s] for b, _, s in keys])
        worse = np.array([at[w, s] for _, w, s in keys])
        where = [s for _, _, s in keys]
        for name, values in scores.items():
            tau = darr_from_pairs(values[better], values[worse], where)
            rows[name].append(f"{tau.tau:.3f} ({tau.low:.3f} to {tau.high:.3f})")
    header = ["metric", *(f"{lp} (95%)" for lp in pairs)]
    title = "## WMT19 relative ranking (DARR), Kendall's tau by segment"
    return "\n\n".join([title, table(header, list(rows.values()))])


def captions(data: Path, work: Work) -> str:
    """Flickr8k, five references, every judgment a row."""
    judged = load_flickr8k(data / "captions/flickr8k-expert.tsv", drop_own=True, per_judge=True)
    texts, refs = judged.texts("candidate"), judged.references
    scores, human = work.score(texts, refs), judged.numbers("human")
    rows = []
    for name, values in scores.items():
        taus = [kendall(values, human, variant=variant, interval="none").estimate for variant in ("c", "b")]
        rows.append([name, *(f"{100 * tau:.1f}" for tau in taus)])
    title = f"## Flickr8k expert judgments: {len(human)} judgments, five references, Kendall's tau x100"
    return "\n\n".join([title, table(["metric", "tau-c", "tau-b"], rows)])


def two_references(data: Path, work: Work) -> str:
    """MLQE-PE Estonian-English with two references."""
    judged = load_multi_reference(data / "multiref/mlqe-et-en.tsv", human="human_z", lp="et-en")
    human, texts, refs = judged.numbers("human"), judged.texts("candidate"), judged.references
    choices = {"both": refs, "first": [r[:1] for r in refs], "second": [r[1:2] for r in refs]}
    scores = {label: work.score(texts, chosen) for label, chosen in choices.items()}
    rows = [[name, *(f"{r_of(scores[label][name], human):.3f}" for label in choices)] for name in METRICS]
    title = f"## MLQE-PE Estonian-English, {len(texts)} segments, Pearson's r with one and with two references"
    return "\n\n".join([title, table(["metric", *choices], rows)])


def similarity(data: Path, work: Work) -> str:
    """STS-B, English development set."""
    judged = load_stsb(data / "stsb/stsb-en-dev.tsv")
    scores, human = work.score(judged.texts("candidate"), judged.references), judged.numbers("human")
    rows = [
        [name, f"{r_of(values, human):.3f}", f"{spearman(values, human, interval='none').estimate:.3f}"]
        for name, values in scores.items()
    ]
    return "\n\n".join([f"## STS-B, English dev, {len(human)} pairs", table(["metric", "Pearson", "Spearman"], rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--work", type=Path, default=Path("agreement-work"))
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for meta-evaluation.md")
    arguments = parser.parse_args()
    work = Work(arguments.work, arguments.model)
    start = time.monotonic()
    chapters = (segments, preferences, captions, two_references, similarity, systems)
    parts = [chapter(arguments.data, work) for chapter in chapters]
    minutes = (time.monotonic() - start) / 60
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "sacrebleu", "scipy"))
    notes = (Path(__file__).parent / "agreement-notes.md").read_text(encoding="utf-8")
    with atomic_text(arguments.output / "meta-evaluation.md") as stream:
        stream.write("# Metrics and people\n\n" + notes + "\n" + "\n\n".join(parts) + "\n\n")
        command = "benchmarks/agreement.py --data DIR -o benchmarks/agreement"
        stream.write(f"Made by `{command}` with {arguments.model} in {minutes:.0f} minutes; ")
        stream.write(f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, {packages}.\n")


if __name__ == "__main__":
    main()
