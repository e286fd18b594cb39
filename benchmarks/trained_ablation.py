"""Why the plain BiLSTM is so far below BERTR: one choice of its training changed at a time.

Run from the repository: ``.venv/bin/python benchmarks/trained_ablation.py --data FOLDER --work FOLDER -o
benchmarks/agreement/trained-ablation.md``. The folder of data holds daseg-wmt15.tsv, -wmt16.tsv and -wmt17.tsv with the
columns lp, source, reference, candidate, human. Every training leaves a line in the work folder's ``results.jsonl``; a
later run goes on there. ``--only NAME,…`` runs some of the variants, and ``--table`` none: it writes the page from what
is there.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from trained import YEARS, agreement, instances, read, table

from bsx.data.output import atomic_text
from bsx.encode.session import Encoders
from bsx.train.batches import buckets, gather, lengths_of, predict
from bsx.train.config import TrainConfig
from bsx.train.data import Instances, Target
from bsx.train.data import agreement as valid_agreement
from bsx.train.encoder import FrozenEncoder
from bsx.train.modules import linear, pooled
from bsx.train.networks import AttentionNetwork, BiLstmNetwork, Encoded, EsimNetwork, Network
from bsx.train.vectors import VectorStore

Scores = NDArray[np.float64]
Rng = torch.Generator | None


class MeanOnly(BiLstmNetwork):
    """The mean of the states, without their maximum."""

    features = 8

    def compare(self, other: Encoded, candidate: Encoded, rng: Rng) -> torch.Tensor:
        """See `Network.compare`."""
        left, right = (pooled(side.states, side.lengths)[:, 2 * self.hidden :] for side in (candidate, other))
        return torch.cat([left, right, left * right, left - right], dim=-1)


class MaxOnly(BiLstmNetwork):
    """The maximum of the states, without their mean."""

    features = 8

    def compare(self, other: Encoded, candidate: Encoded, rng: Rng) -> torch.Tensor:
        """See `Network.compare`."""
        left, right = (pooled(side.states, side.lengths)[:, : 2 * self.hidden] for side in (candidate, other))
        return torch.cat([left, right, left * right, left - right], dim=-1)


class Contrasts(BiLstmNetwork):
    """Product and absolute difference alone: what the two sentences are by themselves is not seen."""

    features = 8

    def compare(self, other: Encoded, candidate: Encoded, rng: Rng) -> torch.Tensor:
        """See `Network.compare`."""
        left, right = (pooled(side.states, side.lengths) for side in (candidate, other))
        return torch.cat([left * right, (left - right).abs()], dim=-1)


class Absolute(BiLstmNetwork):
    """The paper's features with the absolute difference, as RUSE has them."""

    def compare(self, other: Encoded, candidate: Encoded, rng: Rng) -> torch.Tensor:
        """See `Network.compare`."""
        left, right = (pooled(side.states, side.lengths) for side in (candidate, other))
        return torch.cat([left, right, left * right, (left - right).abs()], dim=-1)


class _Projection(nn.Module):
    """In a BiLSTM's place: each vector by itself through one layer."""

    def __init__(self, dimensions: int, hidden: int, rng: torch.Generator) -> None:
        super().__init__()
        self.layer = linear(dimensions, 2 * hidden, rng)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return states (batch, tokens, 2 * hidden), 0 at padding."""
        mask = torch.arange(x.shape[1])[None, :] < lengths[:, None]
        return torch.tanh(self.layer(x)) * mask[:, :, None]


class NoLstm(BiLstmNetwork):
    """No BiLSTM: a layer with tanh at each word piece."""

    def __init__(self, layers: int, dimensions: int, sides: int, config: TrainConfig, rng: torch.Generator) -> None:
        super().__init__(layers, dimensions, sides, config, rng)
        self.encoder = _Projection(dimensions, config.hidden, rng)  # type: ignore[assignment]


SMALL = TrainConfig(hidden=100, precision="fp16")


@dataclass(frozen=True)
class Variant:
    """What one training is made of.

    Attributes:
        change: what is changed, for the page.
        network: its class.
        config: settings.
        model: the frozen encoder.
        layers: which of its layers are mixed, from 1; all unless given.
        width: its vectors are projected at random to so many dimensions.
        halve: the learning rate is halved after an epoch without a better validation.
        train: ``2016``; ``2015 and 2016``, a tenth of it for validation; ``2017``: other language pairs of it.
        best: the epoch is chosen on the test set, which no one may do, to see what choosing it costs.
    """

    change: str
    network: type[Network] = BiLstmNetwork
    config: TrainConfig = SMALL
    model: str = "minilm"
    layers: tuple[int, ...] = ()
    width: int = 0
    halve: bool = True
    train: str = "2016"
    best: bool = False


def _with(change: str, **settings: Any) -> Variant:
    return Variant(change, config=Variant("").config.model_copy(update=settings))


VARIANTS: dict[str, Variant] = {
    "base": Variant("the paper's, with 100 hidden units instead of 300"),
    "attention": Variant("attention", AttentionNetwork),
    "esim": Variant("ESIM", EsimNetwork),
    "contrasts": Variant("features: product and absolute difference only", Contrasts),
    "absolute": Variant("features: absolute difference instead of difference", Absolute),
    "mean": Variant("pooling: mean only", MeanOnly),
    "max": Variant("pooling: maximum only", MaxOnly),
    "no-lstm": Variant("no BiLSTM: each piece's vector through one layer with tanh", NoLstm),
    "rate-high": _with("learning rate 0.0016 instead of 0.0004", learning_rate=1.6e-3),
    "rate-low": _with("learning rate 0.0001", learning_rate=1e-4),
    "dropout-0": _with("no dropout", dropout=0.0),
    "dropout-0.2": _with("dropout 0.2 instead of 0.5", dropout=0.2),
    "hidden-30": _with("30 hidden units", hidden=30),
    "steady": replace(
        Variant("learning rate never halved, patience 10"),
        config=TrainConfig(hidden=100, precision="fp16", patience=10),
        halve=False,
    ),
    "oracle-epoch": Variant("epoch chosen on the test set (which no one may do)", best=True),
    "top-layer": Variant("top layer only", layers=(6,)),
    "layer-4": Variant("layer 4 only", layers=(4,)),
    "layers-1-3": Variant("layers 1 to 3", layers=(1, 2, 3)),
    "width-96": Variant("vectors projected at random to 96 of 384 dimensions", width=96),
    "width-192": Variant("vectors projected at random to 192 of 384 dimensions", width=192),
    "me5": Variant("another encoder: me5-small-q4, 12 layers of 384", model="me5-small-q4"),
    "me5-attention": Variant("another encoder, attention", AttentionNetwork, model="me5-small-q4"),
    "both-years": Variant("trained on WMT15 and WMT16, a tenth of it for validation", train="2015 and 2016"),
    "same-year": Variant("trained on the other half of WMT17's language pairs", train="2017"),
    "same-year-attention": Variant("the same, attention", AttentionNetwork, train="2017"),
}


class View:
    """A store of vectors, some of its layers, projected; what training asks of a store."""

    def __init__(self, store: VectorStore, layers: tuple[int, ...], width: int) -> None:
        record = store.encoder.record
        self.store = store
        self.layers = [layer - 1 for layer in layers] or list(range(record.layers))
        self.projection = None
        if width:
            drawn = np.random.default_rng(0).standard_normal((record.dimensions, record.dimensions))
            self.projection = np.linalg.qr(drawn)[0][:, :width].astype(np.float32)
        self.record = SimpleNamespace(layers=len(self.layers), dimensions=width or record.dimensions)

    def pieces(self, text: str) -> int:
        """See `VectorStore.pieces`."""
        return self.store.pieces(text)

    def vectors(self, text: str) -> NDArray[np.floating]:
        """See `VectorStore.vectors`."""
        found = self.store.vectors(text)[:, self.layers]
        return found if self.projection is None else found.astype(np.float32) @ self.projection


def train(
    variant: Variant, parts: dict[str, Instances], view: Any, seed: int, say: Callable[[str], None]
) -> tuple[Scores, dict[str, Any]]:
    """Train one network as `bsx.train.trainer.fit` does; return its scores of the test part and what happened."""
    config = variant.config
    rng = torch.Generator().manual_seed(seed)
    network = variant.network(view.record.layers, view.record.dimensions, 1, config, rng)
    optimiser = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    target = Target.of(parts["train"].scores)
    wanted = torch.from_numpy((parts["train"].scores - target.mean) / target.sd).float()  # type: ignore[operator]
    lengths, device = lengths_of(parts["train"], view), torch.device("cpu")
    judge = parts["test" if variant.best else "valid"]
    rate, best, found, log = config.learning_rate, -np.inf, {}, []
    while len(log) < config.epochs and len(log) - found.get("epoch", 0) < config.patience:
        for group in optimiser.param_groups:
            group["lr"] = rate
        draws = np.random.default_rng([seed, len(log) + 1])
        mask = torch.Generator().manual_seed(int(draws.integers(2**62)))
        losses = []
        for rows in buckets(lengths, config.batch_size, draws):
            scores = gather(parts["train"], rows, view, device).score(network, mask)[:, 0]
            loss = torch.nn.functional.mse_loss(scores, wanted[rows.copy()])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), config.clip)
            optimiser.step()
            losses.append(float(loss.detach()))
        valid = valid_agreement(predict(network, judge, view, size=64, device=device), judge)
        log.append({"loss": float(np.mean(losses)), "valid": valid})
        say(f"epoch {len(log)}: loss {log[-1]['loss']:.3f}, validation {valid:.4f}")
        if valid > best:
            best, found["epoch"] = valid, len(log)
            found["weights"] = {name: value.clone() for name, value in network.state_dict().items()}
        elif variant.halve:
            rate /= 2
    network.load_state_dict(found["weights"])
    scores = predict(network, parts["test"], view, size=64, device=device)
    return scores, {"epoch": found["epoch"], "epochs": len(log), "loss": log[found["epoch"] - 1]["loss"], "valid": best}


def folds(variant: Variant, rows: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Return the rows of each training: one, or two where both halves of the test pairs are to be scored."""
    if variant.train == "2016":
        return [rows]
    if variant.train == "2015 and 2016":
        both = [*rows["valid"], *rows["train"]]
        drawn = np.random.default_rng(seed).permutation(len(both))
        cut = len(both) // 10
        split = {"valid": [both[i] for i in drawn[:cut]], "train": [both[i] for i in drawn[cut:]]}
        return [{**rows, **split}]
    pairs = list(dict.fromkeys(row["lp"] for row in rows["test"]))
    halves = [set(pairs[::2]), set(pairs[1::2])]
    return [
        {
            "train": [row for row in rows["test"] if row["lp"] not in half],
            "valid": rows["valid"],
            "test": [row for row in rows["test"] if row["lp"] in half],
        }
        for half in halves
    ]


def run(name: str, seed: int, rows: dict[str, Any], work: Path) -> dict[str, Any]:
    """Train one variant with one seed and measure it."""
    variant, began = VARIANTS[name], time.perf_counter()
    encoder = FrozenEncoder(Encoders(model=variant.model, device="cpu", backend="torch"))
    store = VectorStore(work / "vectors", encoder, "fp16")
    view = View(store, variant.layers, variant.width)
    r: dict[str, float] = {}
    facts = []
    for fold in folds(variant, rows, seed):
        parts = {part: instances(found) for part, found in fold.items()}
        store.add([text for part in parts.values() for text in part.used_texts()])
        scores, fact = train(variant, parts, view, seed, lambda line: print(line, file=sys.stderr, flush=True))
        r |= agreement(scores, fold["test"])
        facts.append(fact)
    mean = {key: float(np.mean([fact[key] for fact in facts])) for key in facts[0]}
    return {"variant": name, "seed": seed, "r": r, **mean, "seconds": round(time.perf_counter() - began)}


def page(found: list[dict[str, Any]], pairs: list[str]) -> str:
    """Return the table of all variants, the mean over their seeds."""
    lines = []
    base = np.mean([np.mean(list(one["r"].values())) for one in found if one["variant"] == "base"])
    for name, variant in VARIANTS.items():
        runs = [one for one in found if one["variant"] == name]
        if not runs:
            continue
        each = [float(np.mean(list(one["r"].values()))) for one in runs]
        by_pair = [f"{np.mean([one['r'][pair] for one in runs]):.3f}" for pair in pairs]
        valid = "" if variant.best else f"{np.mean([one['valid'] for one in runs]):.3f}"
        facts = [f"{np.mean([one[key] for one in runs]):.{digits}f}" for key, digits in (("epoch", 0), ("loss", 3))]
        spread = ", ".join(f"{value:.3f}" for value in each)
        lines.append(
            [variant.change, *by_pair, f"{np.mean(each):.3f}", f"{np.mean(each) - base:+.3f}", spread, *facts, valid]
        )
    return table(["changed", *pairs, "mean", "to the first", "each seed", "epoch", "loss there", "validation"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--only", default=",".join(VARIANTS))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = {name: read(arguments.data / f"daseg-wmt{year}.tsv") for name, year in YEARS.items()}
    arguments.work.mkdir(parents=True, exist_ok=True)
    file = arguments.work / "results.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = [json.loads(line) for line in lines]
    for seed in [] if arguments.table else [int(seed) for seed in arguments.seeds.split(",")]:
        for name in arguments.only.split(","):
            if any(one["variant"] == name and one["seed"] == seed for one in found):
                continue
            print(f"{name}, seed {seed}", file=sys.stderr, flush=True)
            found.append(run(name, seed, rows, arguments.work))
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(found[-1]) + "\n")
    if arguments.output is not None:
        pairs = list(dict.fromkeys(row["lp"] for row in rows["test"]))
        text = (Path(__file__).parent / "trained-ablation-notes.md").read_text(encoding="utf-8")
        packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
        machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, {packages}"
        with atomic_text(arguments.output) as stream:
            stream.write(text.format(table=page(found, pairs), machine=machine))


if __name__ == "__main__":
    main()
