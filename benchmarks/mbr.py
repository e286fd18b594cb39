"""Minimum Bayes risk: a plain loop, all pairs, references taken together, and pruning, on lists of 200 candidates.

Run: ``.venv/bin/python benchmarks/mbr.py --data FOLDER -o FILE.md [--lists 60] [--size 200]``. The
folder of data holds newstest2017-{cs,fi,tr}-en.systems.tsv with the columns system, sid, candidate.

A list holds the outputs of all systems for a segment of newstest2017, and different recombinations of them up to its
size: one output, in which random stretches of words are taken from another, where difflib aligns the two. So the
candidates of a list differ in the places and ways in which systems differ. Segments whose outputs do not give enough
are passed over.
"""

from __future__ import annotations

import argparse
import csv
import platform
import time
from collections import defaultdict
from collections.abc import Callable
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np

import bsx
from bsx.analysis.stats.preference import wilson_interval
from bsx.data.nbest import NBest
from bsx.data.output import atomic_text
from bsx.metrics.mbr import Decision, Decoder
from bsx.support.provenance import versions

PAIRS = ("cs-en", "fi-en", "tr-en")
LOOPED = {"chrf": 1000, "sentbleu": 1000, "bertscore": 100}  # pairs scored by one call each


def outputs(folder: Path) -> list[list[str]]:
    """Return the different outputs for each segment, of at least four words."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for pair in PAIRS:
        with (folder / f"newstest2017-{pair}.systems.tsv").open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
                if len(row["candidate"].split()) > 3:
                    found[pair, row["sid"]][row["candidate"]] = None
    return [list(texts) for texts in found.values() if len(texts) > 2]


def recombined(texts: list[str], size: int, rng: np.random.Generator) -> list[str]:
    """Return so many different candidates: the outputs, then recombinations; fewer if there are not so many."""
    made = dict.fromkeys(texts[:size])
    tries = 0
    while len(made) < size and tries < 10 * size:
        tries += 1
        left, right = (texts[i].split() for i in rng.choice(len(texts), 2, replace=False))
        changes = [
            code for code in SequenceMatcher(None, left, right, autojunk=False).get_opcodes() if code[0] != "equal"
        ]
        some = rng.random(len(changes)) < rng.uniform(0.2, 0.8)
        result, at = [], 0
        for (_, first, last, other, end), taken in zip(changes, some, strict=True):
            result += left[at:first] + (right[other:end] if taken else left[first:last])
            at = last
        made[" ".join(result + left[at:])] = None
    return list(made)


def plain(metric: bsx.Metric, texts: list[str], count: int) -> float:
    """Return the seconds of one call for each pair of different texts, from those of some pairs."""
    distinct = list(dict.fromkeys(texts))
    drawn = np.random.default_rng(1).integers(len(distinct), size=(count, 2))
    began = time.process_time()
    for left, right in drawn:
        metric.score([distinct[left]], [distinct[right]])
    return (time.process_time() - began) * len(distinct) ** 2 / count


def timed(decoder: Decoder, lists: list[list[str]], forget: Callable[[], None]) -> tuple[list[Decision], list[float]]:
    """Return the decisions and the seconds that each took; nothing is known of a text when its list begins."""
    found, seconds = [], []
    for place, texts in enumerate(lists):
        forget()
        began = time.process_time()
        found.append(decoder.decide(NBest(str(place), texts))[0])
        seconds.append(time.process_time() - began)
    return found, seconds


def compared(spec: str, lists: list[list[str]], contenders: list[tuple[str, int]]) -> list[list[str]]:
    """Return the rows of one metric."""
    encoders = bsx.Encoders(model="minilm")
    metric, chrf = (bsx.get_metric(name, encoders=encoders) for name in (spec, "chrf"))
    Decoder(metric).decide(NBest("warm", lists[0][:3]))
    exact, whole = timed(Decoder(metric), lists, encoders.forget)
    loop = plain(metric, lists[0], LOOPED[spec])

    def speeds(seconds: float) -> list[str]:
        return [f"{seconds:.3f}", f"{loop / seconds:.3g}", f"{median(whole) / seconds:.3g}"]

    rows = [
        [f"`{spec}`", "one call a pair", *speeds(loop), "", "", ""],
        [f"`{spec}`", "exact", *speeds(median(whole)), "", "", ""],
    ]
    for method, keep in contenders:
        proposer = chrf if method == "prune" else None
        decoder = Decoder(metric, method, proposer=proposer, keep=keep)  # type: ignore[arg-type]
        found, seconds = timed(decoder, lists, encoders.forget)
        losses = [loss_of(metric, texts, one, best) for texts, one, best in zip(lists, found, exact, strict=True)]
        same = sum(loss == 0 for loss in losses)
        low, high = wilson_interval(same, len(lists))
        rows.append(
            [
                f"`{spec}`",
                method if method == "aggregate" else f"{method}, {keep} proposed by chrF",
                *speeds(median(seconds)),
                f"{same} of {len(lists)} ({same / len(lists):.3f} [{low:.3f}, {high:.3f}])",
                f"{np.mean(losses):.4f}",
                f"{max(losses):.4f}",
            ]
        )
        print(*rows[-1], flush=True)
    return rows


def loss_of(metric: bsx.Metric, texts: list[str], chosen: Decision, best: Decision) -> float:
    """Return how much expected score was lost."""
    if chosen.candidate == best.candidate:
        return 0.0
    share = 1 / len(texts)
    own = float(metric.score_matrix([chosen.candidate], texts).sum() * share)
    lost = best.expected - own if metric.higher_is_better else own - best.expected
    return lost if lost > 1e-6 * abs(best.expected) else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--lists", type=int, default=40)
    parser.add_argument("--slow", type=int, default=10, help="lists that sentence BLEU and BERTScore decide")
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    every = outputs(arguments.data)
    made = (recombined(every[i], arguments.size, rng) for i in rng.permutation(len(every)))
    lists = list(islice((texts for texts in made if len(texts) == arguments.size), arguments.lists))
    rows = []
    for spec, count, contenders in (
        ("chrf", arguments.lists, [("aggregate", 0), ("prune", 10)]),
        ("sentbleu", arguments.slow, [("prune", 20), ("prune", 50), ("prune", 100)]),
        ("bertscore", arguments.slow, [("prune", 20), ("prune", 50)]),
    ):
        rows += compared(spec, lists[:count], contenders)
    header = [
        "metric",
        "method",
        "CPU seconds a list",
        "times the loop",
        "times exact",
        "same decision, or one as good",
        "mean loss",
        "largest loss",
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows)]
    text = (Path(__file__).parent / "mbr-notes.md").read_text(encoding="utf-8")
    known = {name: found for name, found in versions().items() if name in ("bsx", "torch", "sacrebleu", "onnxruntime")}
    machine = f"{platform.machine()}, {platform.system()}, " + ", ".join(f"{n} {v}" for n, v in known.items())
    filled = text.format(
        table="\n".join(lines),
        lists=len(lists),
        slow=arguments.slow,
        size=arguments.size,
        machine=machine,
    )
    if arguments.output is not None:
        with atomic_text(arguments.output) as stream:
            stream.write(filled)


if __name__ == "__main__":
    main()
