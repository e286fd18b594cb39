"""Word risks against people's marks: fit what the registry ships, and measure it on pairs that were left out.

Run: python -m benchmarks.explanations train --data FOLDER --work FOLDER
        (networks, by pairs left out and at last by all: registry/explainers/, agreement/explanations.md)
     python -m benchmarks.explanations beside --data FOLDER --work FOLDER
        (beside a reference, erasure and Shapley values: agreement/explanations-references.md)

FOLDER holds what `benchmarks/word_marks.py` reads; the work folder keeps what the encoder said.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
import yaml

import bsx
from benchmarks.word_marks import PARTS, SIDES, Row, eval4nlp
from bsx.analysis import MarkAgreement, calibration, compare_marks, mark_agreement
from bsx.data.seen import SeenRows, beside_entry
from bsx.risk.explainer import (
    TrainedNetwork,
    best_matches,
    mean_rank,
    rarities,
    rarity_features,
    rarity_of,
    read_texts,
    trained_rank,
    word_features,
    word_inputs,
    worst_piece,
    written_in,
)
from bsx.risk.network import RiskNetwork
from bsx.support.provenance import file_digest
from bsx.support.tensors import save_tensors

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "registry" / "explainers"
PAGES = ROOT / "benchmarks" / "agreement"
MODEL = "me5-small-q4"
VECTORS, LAYERS = 8, [6, 8, 10]
HIDDEN, MEMBERS, EPOCHS, BATCH, DROPPED, RATE = 32, 2, 3, 32, 0.4, 2e-3
TAGS = {"candidate": "target_tags", "source": "source_tags"}
FREE, BESIDE = 10, 10  # layers of the best match, without a reference and beside one
ENGLISH = ("minilm", 4)
MEASURED = "benchmarks/explanations.py train, 2026-11-23"
ATTRIBUTED, BUDGET = 50, 64  # dev rows a pair whose scores are explained, and texts that Shapley values may score
EDITED = 500  # rows of each dev file that curves beside a reference are fitted on, their post-edit as the reference
EDITED_PAIRS = ("ro-en", "et-en")
REFERRED = 200  # rows beside a reference that is no post-edit
PROCESSES = 3
MORE, ERROR = 0.02, 0.08  # targets: gain in AUC, calibration error


@dataclass
class Words:
    """One side of a data set.

    Attributes:
        texts: words of each text.
        marks: of all words (words,).
        starts: where each text starts, and the end.
        vectors: of the words (words, dim).
        features: see `word_features`.
        kind: what sources and candidates are written in.
    """

    texts: list[list[str]]
    marks: np.ndarray
    starts: np.ndarray
    vectors: np.ndarray
    features: np.ndarray
    kind: tuple[str, str]

    def __len__(self) -> int:
        return len(self.texts)

    def inputs(self, groups: Sequence[Sequence[int]]) -> np.ndarray:
        """Return what networks read (words, inputs), rarity being counted in each of some groups of texts."""
        found = np.zeros((len(self.marks), 3))
        for group in groups:
            rarity = rarities(" ".join(self.texts[i]) for i in group)
            for i in group:
                found[self.starts[i] : self.starts[i + 1]] = rarity_features(self.texts[i], rarity)
        return word_inputs(self.vectors, self.features, found)

    @property
    def whole(self) -> list[range]:
        """All texts as one group."""
        return [range(len(self))]

    def drawn(self, seed: int) -> list[np.ndarray]:
        """Return groups of one text up to all, so that networks learn what rarity is worth in small runs too."""
        rng = np.random.default_rng(seed)
        order, groups = rng.permutation(len(self)), []
        while len(order):
            size = int(np.exp(rng.uniform(0, np.log(len(self)))))
            groups.append(order[:size])
            order = order[size:]
        return groups

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Return values of words text by text."""
        return np.split(values, self.starts[1:-1])


def words_of(data: Path, work: Path, name: str) -> dict[str, Words]:
    """Encode one data set, or read what an earlier run kept of it; side -> its words, where people marked that side."""
    rows = PARTS[name].rows(data)
    kept = work / f"{name}.npz"
    if not kept.is_file():
        encoders = bsx.Encoders(model=MODEL)
        located = encoders.locate(None)
        tokenizer = located.tokenizer()
        view = encoders.encoder(located).view({VECTORS, *LAYERS})
        places = [view.layers.index(layer) for layer in LAYERS]
        found: dict[str, list[np.ndarray]] = {f"{side}-{what}": [] for side in SIDES for what in ("v", "f")}
        for start in range(0, len(rows), 64):
            block = rows[start : start + 64]
            read = read_texts([row[side] for row in block for side in SIDES], tokenizer, view)
            for row in block:
                for side, other in (SIDES, SIDES[::-1]):
                    text = read[row[side]]
                    found[f"{side}-v"].append(text.vectors[view.layers.index(VECTORS)].astype(np.float16))
                    found[f"{side}-f"].append(word_features(text, read[row[other]], places).astype(np.float32))
            print(name, start, file=sys.stderr)
        np.savez(kept, **{key: np.concatenate(parts) for key, parts in found.items()})
    stored = np.load(kept)
    kind = written_in(row["source"] for row in rows), written_in(row["candidate"] for row in rows)
    result = {}
    for side, column in TAGS.items():
        if all(column in row for row in rows):
            marks = tags(rows, column)
            starts = np.cumsum([0, *map(len, marks)])
            vectors, features = stored[f"{side}-v"].astype(np.float32), stored[f"{side}-f"]
            texts = [row[side].split() for row in rows]
            result[side] = Words(texts, np.concatenate(marks), starts, vectors, features, kind)
    return result


def tags(rows: Iterable[Row], column: str) -> list[np.ndarray]:
    """Return the marks of each row."""
    return [np.array(row[column].split(), dtype=np.int64) for row in rows]


def fit(trains: Sequence[Words], seed: int) -> RiskNetwork:
    """Train one network: AdamW, one cycle of the learning rate.

    The loss is logistic, of each marked word and each unmarked word of the same text, averaged by text: how many words
    are marked differs between data sets by a factor of twenty, and says nothing about which.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    inputs = [torch.from_numpy(train.inputs(train.drawn(seed))) for train in trains]
    network = RiskNetwork(inputs[0].shape[1], HIDDEN)
    sample = torch.cat([one[::4] for one in inputs])
    network.centre.copy_(sample.mean(dim=0))
    network.spread.copy_(sample.std(dim=0) + 1e-3)
    network.dropout.p = DROPPED
    steps = EPOCHS * sum(-(-len(train) // BATCH) for train in trains)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps, pct_start=0.1)
    network.train()
    for _ in range(EPOCHS):
        queue = []
        for which, train in enumerate(trains):  # texts of like length together
            order = np.argsort(np.diff(train.starts), kind="stable")
            queue += [(which, order[start : start + BATCH]) for start in range(0, len(order), BATCH)]
        for place in rng.permutation(len(queue)):
            which, chosen = queue[place]
            x, there, marks = batch(trains[which], inputs[which], chosen)
            logits = network(x, there)
            apart = logits[:, :, None] - logits[:, None, :]
            pairs = (marks[:, :, None] > marks[:, None, :]) & there[:, :, None] & there[:, None, :]
            counts = pairs.sum((1, 2))
            told = (torch.nn.functional.softplus(-apart) * pairs).sum((1, 2)) / counts.clamp(min=1)
            loss = told.sum() / (counts > 0).sum().clamp(min=1)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    kept = {name: tensor.half().float() for name, tensor in network.state_dict().items()}  # as they are stored
    network.load_state_dict(kept)
    return network.eval().requires_grad_(False)


def batch(words: Words, inputs: torch.Tensor, chosen: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return padded inputs of some texts, which of them are words, and marks."""
    lengths = np.diff(words.starts)[chosen]
    x = torch.zeros((len(chosen), int(lengths.max()), inputs.shape[1]))
    there = torch.zeros(x.shape[:2], dtype=torch.bool)
    marks = torch.zeros(x.shape[:2])
    for row, (i, length) in enumerate(zip(chosen, lengths, strict=True)):
        part = slice(words.starts[i], words.starts[i + 1])
        x[row, :length] = inputs[part]
        there[row, :length] = True
        marks[row, :length] = torch.from_numpy(words.marks[part]).float()
    return x, there, marks


@dataclass(frozen=True)
class Found:
    """What was found on one side of a data set by networks that learned no row of its pair.

    Attributes:
        pair: the languages.
        dataset: what was measured on.
        side: of the words.
        kind: what sources and candidates are written in.
        marked: share of marked words.
        auc: by method, its mean over sentences.
        gain: of trained over the best of match, length and frequency, with the interval's ends.
        error: expected calibration error of the networks' probabilities, by a curve fitted on the other pairs.
        sentences: those with marked and unmarked words.
    """

    pair: str
    dataset: str
    side: str
    kind: tuple[str, str]
    marked: float
    auc: dict[str, float]
    gain: tuple[float, float, float]
    error: float
    sentences: int


def logits(networks: Sequence[TrainedNetwork], words: Words) -> list[np.ndarray]:
    """Return the mean logit of each word, text by text."""
    given = words.split(words.inputs(words.whole))
    return [np.mean([network.logits(one) for network in networks], axis=0, dtype=np.float64) for one in given]


def inferred(network: RiskNetwork) -> TrainedNetwork:
    """Return a network as `bsx explain` runs it."""
    return TrainedNetwork({name: tensor.numpy() for name, tensor in network.state_dict().items()}, "trained here")


def held(name: str, side: str, words: Words, networks: Sequence[TrainedNetwork], line: dict[str, float]) -> Found:
    """Hold every method against the marks of one side."""
    rarity = rarities(" ".join(text) for text in words.texts)
    match = words.split(1 - words.features[:, 6 * LAYERS.index(FREE)].astype(np.float64))
    given = logits(networks, words)
    by_rank = [mean_rank(one, text, rarity) for one, text in zip(match, words.texts, strict=True)]
    risks = {
        "trained": [trained_rank(one, own) for one, own in zip(by_rank, given, strict=True)],
        "ranks": by_rank,
        "match": match,
        "length": [np.array([float(len(word)) for word in text]) for text in words.texts],
        "frequency": [rarity_of(text, rarity) for text in words.texts],
    }
    marks = words.split(words.marks)
    agreed = {how: mark_agreement(values, marks, resamples=20) for how, values in risks.items()}
    auc = {how: one.auc.estimate for how, one in agreed.items()}
    best = max(("match", "length", "frequency"), key=lambda how: auc[how])
    gain = compare_marks(risks["trained"], risks[best], marks)["auc"]
    error = calibration([probable(line, one) for one in given], marks, resamples=20).error.estimate
    part = PARTS[name]
    return Found(
        part.pair,
        part.data,
        side,
        words.kind,
        float(words.marks.mean()),
        auc,
        (gain.difference, gain.low, gain.high),
        error,
        agreed["match"].auc.n,
    )


def learnt(name: str) -> bool:
    """Return whether networks may learn a data set; the tests of the shared task are kept for measuring."""
    return not name.endswith("-test")


def others(words: dict[str, dict[str, Words]], side: str, without: str = "") -> list[Words]:
    """Return one side of all data sets that networks may learn, but for those of one pair."""
    return [of[side] for name, of in words.items() if side in of and learnt(name) and PARTS[name].pair != without]


_WORDS: dict[str, dict[str, Words]] = {}


def measured(task: tuple[str, str]) -> tuple[list[Found], list[dict[str, np.ndarray]]]:
    """Return what networks find that learned one side of all pairs but one, and them; without a pair, of all pairs."""
    side, pair = task
    parts = others(_WORDS, side, pair)
    networks = [fit(parts, seed) for seed in range(1, MEMBERS + 1)]
    found: list[Found] = []
    if pair:
        run = [inferred(network) for network in networks]
        told = np.concatenate([one for part in parts for one in logits(run, part)])
        line = curve(told, np.concatenate([part.marks for part in parts]))
        own = [name for name, of in _WORDS.items() if PARTS[name].pair == pair and side in of]
        found = [held(name, side, _WORDS[name][side], run, line) for name in own]
    print(side, pair, [(one.dataset, one.auc, one.gain, one.error) for one in found], file=sys.stderr, flush=True)
    return found, [{name: tensor.numpy() for name, tensor in one.state_dict().items()} for one in networks]


def train(data: Path, work: Path) -> None:
    """Measure each pair by networks of the others, fit networks to all, and write the entry and the page."""
    work.mkdir(parents=True, exist_ok=True)
    words = {name: words_of(data, work, name) for name in PARTS}
    found: list[Found] = []
    tensors: dict[str, torch.Tensor] = {}
    marked = [(side, name) for side in SIDES for name, of in words.items() if side in of]
    tasks = [(side, pair) for side, pair in dict.fromkeys((side, PARTS[name].pair) for side, name in marked)]
    tasks += [(side, "") for side in SIDES]
    _WORDS.update(words)
    with get_context("fork").Pool(PROCESSES) as pool:
        for (side, pair), (own, networks) in zip(tasks, pool.imap(measured, tasks), strict=True):
            found += own
            for member, network in enumerate([] if pair else networks):
                tensors |= {f"{side}.{member}.{name}": torch.from_numpy(one).half() for name, one in network.items()}
    file = OUT / f"{MODEL}.safetensors"
    save_tensors(tensors, file, {"made": "benchmarks/explanations.py train"})
    sets = [name for name in PARTS if learnt(name)]
    rows = sum(len(words[name]["candidate"]) for name in sets)
    pairs = len({PARTS[name].pair for name in sets})
    entry = {
        "model": MODEL,
        "reference": {"layer": BESIDE},
        "free": {"layer": FREE},
        "trained": {
            "weights": file.name,
            "sha256": file_digest(file),
            "vectors": VECTORS,
            "layers": LAYERS,
            "kinds": kinds(found),
            "data": f"{rows:,} rows of {len(sets)} sets in {pairs} pairs: {', '.join(sets)} (benchmarks/word_marks.py)",
            "measured": MEASURED,
        },
    }
    write(entry, data)
    name, layer = ENGLISH
    write({"model": name, "reference": {"layer": layer}}, data)
    (PAGES / "explanations.md").write_text(page(found, entry["trained"]), encoding="utf-8")


def kinds(found: Sequence[Found]) -> list[dict[str, object]]:
    """Return the defaults by kind of pair, with the figures behind them."""
    result = []
    for kind in sorted({one.kind for one in found}):
        own = [one for one in found if one.kind == kind]
        methods = {side: default([one for one in own if one.side == side]) for side in SIDES}
        pairs = [
            {
                **{"pair": one.pair, "dataset": one.dataset, "side": one.side, "sentences": one.sentences},
                **{how: round(value, 4) for how, value in one.auc.items()},
                "error": round(one.error, 4),
            }
            for one in own
        ]
        result.append({"source": kind[0], "candidate": kind[1], "methods": methods, "pairs": pairs})
    return result


def default(found: Sequence[Found]) -> str:
    """Return trained where it finds more than ranks on average, and nowhere surely less than the best baseline."""
    more = sum(one.auc["trained"] - one.auc["ranks"] for one in found)
    return "trained" if more > 0 and all(one.gain[2] >= 0 for one in found) else "ranks"


def write(entry: dict[str, object], data: Path) -> None:
    """Write an entry of the registry, and beside it the digests of the rows that networks learned."""
    file = OUT / f"{entry['model']}.yaml"
    if "trained" in entry:
        rows = [row for name, part in PARTS.items() if learnt(name) for row in part.rows(data)]
        kept = SeenRows.of([(row["candidate"], row["source"]) for row in rows]).save(beside_entry(file))
        entry = {"model": entry["model"], "seen": kept, **entry}
    file.write_text(yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")


def page(found: Sequence[Found], trained: dict[str, object]) -> str:
    """Return the page of pairs that were left out."""
    lines, defaults = [], []
    for one in found:
        auc = " | ".join(f"{one.auc[how]:.3f}" for how in ("trained", "ranks", "match", "length", "frequency"))
        gain = f"{one.gain[0]:+.3f} [{one.gain[1]:+.3f}, {one.gain[2]:+.3f}]"
        lines.append(
            f"| {one.pair} | {one.dataset} | {one.side} | {one.sentences} | {one.marked:.2f} | {auc} | {gain} | "
            f"{one.error:.2f} |"
        )
    for kind in trained["kinds"]:  # type: ignore[attr-defined]
        pairs = ", ".join(dict.fromkeys(one["pair"] for one in kind["pairs"]))
        methods = kind["methods"]
        defaults.append(
            f"| {kind['source']} | {kind['candidate']} | {pairs} | {methods['candidate']} | {methods['source']} |"
        )
    reached = [one for one in found if one.gain[0] >= MORE]
    below = [f"{one.pair} ({one.dataset}, {one.side}) {one.gain[0]:+.3f}" for one in found if one.gain[0] < MORE]
    return PAGE.format(
        lines="\n".join(lines),
        defaults="\n".join(defaults),
        data=trained["data"],
        reached=len(reached),
        every=len(found),
        below="; ".join(below) or "none",
        right=", ".join(f"{one.pair} {one.side} {one.error:.2f}" for one in found if one.error <= ERROR) or "none",
        members=MEMBERS,
        vectors=VECTORS,
        layers=", ".join(map(str, LAYERS)),
        free=FREE,
        measured=trained["measured"],
    )


def curve(values: np.ndarray, marks: np.ndarray) -> dict[str, float]:
    """Return slope and shift of the logistic curve from values to the share of marked words (Platt 1999)."""
    import statsmodels.api as sm

    result = sm.Logit(marks, np.column_stack([values, np.ones(len(values))])).fit(disp=False)
    return {"slope": round(float(result.params[0]), 6), "shift": round(float(result.params[1]), 6)}


def probable(line: dict[str, float], values: np.ndarray) -> np.ndarray:
    """Return values as probabilities."""
    return 1 / (1 + np.exp(-(line["slope"] * values + line["shift"])))


def figures(found: MarkAgreement) -> str:
    """Return the three figures with intervals as cells of a table."""
    three = (found.auc, found.average_precision, found.recall)
    cells = [f"{one.estimate:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in three]
    return f"{found.auc.n} | {' | '.join(cells)} |"


def matches(model: str, layer: int, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Return 1 less the best match of each word of the first texts among the second, as `bsx explain` tells it."""
    encoders = bsx.Encoders(model=model)
    located = encoders.locate(None)
    view = encoders.encoder(located).view([layer])
    found = []
    for start in range(0, len(pairs), 64):
        block = pairs[start : start + 64]
        read = read_texts([text for pair in block for text in pair], located.tokenizer(), view)
        for text, other in block:
            best, _ = best_matches(read[text], read[other], 0)
            found.append(np.nan_to_num(np.clip(1 - worst_piece(best, read[text]), 0, 1), nan=0.5))
    return np.concatenate(found)


def beside(data: Path) -> None:
    """Write the page of what matches beside a reference, and scores of metrics, find."""
    text = REFERENCES.format(
        edited=beside_post_edits(data),
        free=beside_references(data),
        attributed=attributed(data),
        first=EDITED,
        few=ATTRIBUTED,
        budget=BUDGET,
        most=REFERRED,
    )
    (PAGES / "explanations-references.md").write_text(text, encoding="utf-8")


def edited_curve(model: str, layer: int, data: Path) -> dict[str, float]:
    """Return the curve of matches in post-edits, fitted on the first dev rows of both pairs."""
    rows = [row for pair in EDITED_PAIRS for row in eval4nlp(pair, "dev")(data)[:EDITED]]
    values = matches(model, layer, [(row["candidate"], row["post_edit"]) for row in rows])
    return curve(values, np.concatenate(tags(rows, "target_tags")))


def beside_references(data: Path) -> str:
    """Return how well matches in references that nobody edited find marks, and how far that curve is off."""
    lines = []
    for model, layer in ((MODEL, BESIDE), ENGLISH):
        line = edited_curve(model, layer, data)
        for name in ("de-en-bio", "en-de-ted", "en-ru-bio"):
            if model == MODEL or name.split("-")[1] == "en":
                rows = PARTS[name].rows(data)[:REFERRED]
                marks = tags(rows, "target_tags")
                values = matches(model, layer, [(row["candidate"], row["reference"]) for row in rows])
                cut = np.cumsum([len(one) for one in marks])[:-1]
                error = calibration(np.split(probable(line, values), cut), marks).error
                shown = f"{error.estimate:.3f} [{error.low:.3f}, {error.high:.3f}]"
                found = figures(mark_agreement(np.split(values, cut), marks))
                lines.append(f"| {PARTS[name].pair}, {PARTS[name].data} | match, {model} | {found} {shown} |")
    return "\n".join(lines)


def beside_post_edits(data: Path) -> str:
    """Return how well matches in the post-edit find marks, on the dev rows that no curve was fitted on."""
    lines = []
    for pair in EDITED_PAIRS:
        rows = eval4nlp(pair, "dev")(data)[EDITED:]
        marks = tags(rows, "target_tags")
        cut = np.cumsum([len(one) for one in marks])[:-1]
        for model, layer in ((MODEL, BESIDE), ENGLISH):
            values = matches(model, layer, [(row["candidate"], row["post_edit"]) for row in rows])
            line = edited_curve(model, layer, data)
            risks = np.split(probable(line, values), cut)
            error = calibration(risks, marks).error
            shown = f"{error.estimate:.3f} [{error.low:.3f}, {error.high:.3f}]"
            lines.append(f"| {pair} dev | match, {model} | {figures(mark_agreement(risks, marks))} {shown} |")
    return "\n".join(lines)


def attributed(data: Path) -> str:
    """Return how well erasure and Shapley values of metrics find marks, beside matches on the same sentences."""
    lines = []
    for pair in EDITED_PAIRS:
        rows = eval4nlp(pair, "dev")(data)[EDITED : EDITED + ATTRIBUTED]
        marks = {"candidate": [list(map(int, row["target_tags"].split())) for row in rows]}
        candidates, references = [row["candidate"] for row in rows], [row["post_edit"] for row in rows]
        sources = [row["source"] for row in rows]
        for label, given, metric in (
            ("post-edit", {"references": references}, "chrf"),
            ("post-edit", {"references": references}, "bertscore:model=minilm"),
            ("source", {"sources": sources}, "sentence-qe:model=me5-small-q4"),
        ):
            for method in ("erasure", "shapley"):
                own = bsx.explain(candidates, **given, metrics=[metric], method=method, budget=BUDGET, marks=marks)
                lines.append(f"| {pair} dev | {label} | {metric} | {method} | {figures(own.marks['candidate'])}")
        for label, given, model in (
            ("post-edit", {"references": references}, "minilm"),
            ("source", {"sources": sources}, MODEL),
        ):
            own = bsx.explain(candidates, **given, method="match", marks=marks, model=model)
            lines.append(f"| {pair} dev | {label} | {model} | match | {figures(own.marks['candidate'])}")
    return "\n".join(lines)


PAGE = """# Word risks on pairs that were left out

```text
python -m benchmarks.explanations train --data FOLDER --work FOLDER
```

How well risks without a reference (`bsx explain --reference-free -m me5-small-q4`) find the words that people marked as
errors: the ROC AUC of each sentence, averaged; sentences whose words are all marked or all unmarked are left out.
Each line is of networks that learned **no row of that pair**, from any data set.

- **match**: 1 less the cosine of the word's worst piece's best match in the other text, layer {free}.
- **length**: characters of the word. **frequency**: how rare the word is among the texts of its side in the data set,
  log((N + 1) / (n + 1)) of n in N words.
- **ranks**: the mean of the word's ranks in its text by these three. Nothing is learned.
- **trained**: ranks to a third, and to two thirds the word's rank by {members} networks a side, which read its vector
  of layer {vectors}, its matches on layers {layers}, length and rarity, and its neighbours.
- **gain**: trained less the best of match, length and frequency on that line, chosen afterwards, with a 95 % interval
  of a paired bootstrap over sentences.
- **error**: the expected calibration error that probabilities from a logistic curve, fitted on the other pairs, would
  have.

| pair | data | side | sentences | marked | trained | ranks | match | length | frequency | gain | error |
|---|---|---|---|---|---|---|---|---|---|---|---|
{lines}

The target is a gain of .02 and an error of at most .08. The gain is reached on {reached} of {every} lines; not on:
{below}.

The form of the networks (with or without vectors, three losses) and the weight of ranks were chosen among five tries by
a first run of the same lines, so the gains are a little too good.

The error is at most .08 on: {right}. How many
words people mark depends on who marks and why (see "marked"), which the texts do not tell: **no
probability is printed without a reference, for any pair**. Risks are mean ranks: they order the words of a row.

## What is the default

By what sources and candidates are written in (English, or a script): trained where it finds more than ranks on average
over the pairs of that kind, and is not significantly below the best baseline on any; else ranks, and so for every kind
that is not in this table.

| source | candidate | pairs left out | candidate's words | source's words |
|---|---|---|---|---|
{defaults}

Learned for the registry: {data}. Measured by {measured}. Chinese (biomedical) is left out: `bsx explain` parts words by
white space.

Erasure, Shapley values and matches beside a reference: `explanations-references.md`.
"""

REFERENCES = """# Word risks beside a reference, and from the scores of metrics

```text
python -m benchmarks.explanations beside --data FOLDER --work FOLDER
```

ROC AUC, average precision and recall at K (the number of errors) of each sentence of Eval4NLP 2021, averaged, with 95 %
intervals of a bootstrap over sentences. Sentences whose words are all marked or all unmarked are left out.

## Beside a reference

The post-edit as the reference, on the dev rows after the first {first}, on which logistic curves were fitted. Error:
expected calibration error.

| data | method | sentences | AUC | average precision | recall at K | error |
|---|---|---|---|---|---|---|
{edited}

References that nobody made from the candidate, the same curves, the first {most} rows drawn:

| data | method | sentences | AUC | average precision | recall at K | error |
|---|---|---|---|---|---|---|
{free}

So matches find marked words beside any reference, but the curves hold beside post-edits only. Nobody can tell from a
text whether it is a post-edit, and the registry has no curve.

## Erasure and Shapley values

What any metric's scores say of words, on {few} dev sentences a pair; Shapley values with a budget of {budget} texts a
sentence, which is two or three orders of its words: they are noisy, and erasure, which asks for a text a word, finds
more. Matches on the same sentences stand below: nothing that takes words out of a score comes up to them.

| data | beside | by | method | sentences | AUC | average precision | recall at K |
|---|---|---|---|---|---|---|---|
{attributed}
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "beside"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    if asked.what == "train":
        train(asked.data, asked.work)
    else:
        beside(asked.data)
