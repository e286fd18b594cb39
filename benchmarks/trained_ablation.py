"""What keeps the plain BiLSTM below BERTR: what the encoder holds, and one choice of the training changed at a time.

Run from the repository: ``.venv/bin/python benchmarks/trained_ablation.py --data FOLDER --work FOLDER -o
benchmarks/agreement/trained-ablation.md``. The folder of data holds daseg-wmt15.tsv, -wmt16.tsv and -wmt17.tsv with the
columns lp, source, reference, candidate, human; the work folder keeps the encoder's vectors. Every training leaves a
line in its ``networks.jsonl``, and a later run goes on there; ``--only NAME,…`` trains some of the networks.

Ridge regression on the mean vectors of two texts tells what an encoder's vectors hold: like the plain BiLSTM, it reads
each text by itself. Its penalty is chosen on the validation set.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from trained import YEARS, Rows, agreement, instances, read, table

from bsx.data.output import atomic_text
from bsx.encode.session import Encoders
from bsx.networks.architectures import BiLstm, BiLstmNetwork, Encoded, Network, build_network, dropped, linear, pooled
from bsx.networks.config import TrainConfig
from bsx.networks.data import Instances
from bsx.networks.data import agreement as valid_agreement
from bsx.networks.encoder import FrozenEncoder
from bsx.networks.scoring import buckets, lengths_of, score_batch
from bsx.networks.vectors import VectorStore

Array = NDArray[np.float64]
Rng = torch.Generator | None
PENALTIES = 10.0 ** np.arange(0, 6.5, 0.5)
ALL = ("candidate", "reference", "product", "difference")
SIGNED = ("candidate", "reference", "product", "signed")
HIDDEN = 100


@dataclass(frozen=True)
class Change:
    """What a training has other than the paper's.

    Attributes:
        what: for the page.
        lstm: whether there is a BiLSTM; without one, the vectors themselves are pooled.
        absolute: the absolute difference of the two vectors in place of the difference.
        standardised: features are standardised over each batch (in scoring, over what training saw).
        scaled: each dimension of the encoder's vectors has mean 0 and variance 1 over all pieces.
        dropout: share of units that are dropped.
    """

    what: str
    lstm: bool = True
    absolute: bool = False
    standardised: bool = False
    scaled: bool = False
    dropout: float = 0.5

    @property
    def config(self) -> TrainConfig:
        """What `bsx train` calls the settings."""
        difference = "absolute" if self.absolute else "signed"
        return TrainConfig(hidden=HIDDEN, dropout=self.dropout, difference=difference)


CHANGES = {
    "none": Change("no BiLSTM", lstm=False),
    "none-absolute": Change("no BiLSTM, absolute difference", lstm=False, absolute=True),
    "none-scaled": Change("no BiLSTM, features standardised", lstm=False, standardised=True),
    "none-both": Change(
        "no BiLSTM, features standardised, absolute difference", lstm=False, absolute=True, standardised=True
    ),
    "lstm": Change("BiLSTM"),
    "lstm-both": Change("BiLSTM, features standardised, absolute difference", absolute=True, standardised=True),
    "lstm-scaled": Change("BiLSTM, vectors of pieces standardised", scaled=True),
    "lstm-absolute": Change("BiLSTM, absolute difference", absolute=True),
    "lstm-dropout": Change("BiLSTM, dropout .1", dropout=0.1),
    "lstm-dropout-absolute": Change("BiLSTM, dropout .1, absolute difference", absolute=True, dropout=0.1),
}


class Changed(BiLstmNetwork):
    """The plain BiLSTM, its features standardised where a change wants that."""

    def __init__(self, change: Change, dimensions: int, config: TrainConfig, rng: torch.Generator) -> None:
        super().__init__(1, dimensions, config, rng)
        self.change = change
        self.norm = nn.BatchNorm1d(self.features * config.hidden, affine=False)

    def compare(self, candidate: Encoded, reference: Encoded, rng: Rng) -> torch.Tensor:
        """Contrast the two vectors; see `Network.compare`."""
        return changed(self.change, self.norm, super().compare(candidate, reference, rng), rng)


class Pooled(nn.Module):
    """No BiLSTM: maximum and mean of the vectors themselves, then the same regressor."""

    def __init__(self, change: Change, dimensions: int, config: TrainConfig, rng: torch.Generator) -> None:
        super().__init__()
        self.change, self.dropout = change, config.dropout
        self.norm = nn.BatchNorm1d(8 * dimensions, affine=False)
        self.regressor, self.output = linear(8 * dimensions, config.hidden, rng), linear(config.hidden, 1, rng)

    def scores(self, instances: Instances, rows: NDArray[np.int64], texts: Texts, rng: Rng) -> torch.Tensor:
        """Return standardised scores of some instances (batch,)."""
        sides = []
        for column in instances.rows[rows].T:
            places = [texts.place[instances.texts[i]] for i in column]
            vectors = torch.from_numpy(texts.pooled[places])
            highest, mean = vectors.chunk(2, dim=-1)
            kept = dropped(torch.ones_like(mean), self.dropout, rng)  # one mask for all pieces of a text
            sides.append(torch.cat([highest * kept, mean * kept], dim=-1))
        candidate, other = sides
        difference = (candidate - other).abs() if self.change.absolute else candidate - other
        contrast = torch.cat([candidate, other, candidate * other, difference], dim=-1)
        found = dropped(changed(self.change, self.norm, contrast, rng), self.dropout, rng)
        hidden = dropped(torch.relu(self.regressor(found)), self.dropout, rng)
        scores: torch.Tensor = self.output(hidden)
        return scores[:, 0]


def changed(change: Change, norm: nn.BatchNorm1d, contrast: torch.Tensor, rng: Rng) -> torch.Tensor:
    """Return the features [candidate; reference; product; difference] (batch, features) as a change wants them."""
    if not change.standardised:
        return contrast
    scaled: torch.Tensor = norm.train(rng is not None)(contrast)
    return scaled


class Texts:
    """Vectors of texts as training asks a store for them: the mean over the encoder's layers, a layer by itself.

    Attributes:
        layers: mean vector of each text's pieces in every layer (texts, layers, dim).
        pooled: maximum and mean of each text's vectors (texts, 2 * dim).
        scaled: give out vectors with mean 0 and variance 1 in each dimension.
    """

    def __init__(self, texts: list[str], model: str, work: Path) -> None:
        encoder = FrozenEncoder(Encoders(model=model, device="cpu", backend="torch"))
        self.encoder = encoder
        store = VectorStore(work / "vectors", encoder)
        store.add(texts)
        self.place = {text: i for i, text in enumerate(texts)}
        self._vectors, means, last = [], [], []
        for text in texts:
            found = store.vectors(text).astype(np.float16).astype(np.float32)  # half the memory, for all below
            means.append(found.mean(axis=0))
            self._vectors.append(found.mean(axis=1, keepdims=True).astype(np.float16))
            top = found[:, -1]
            last.append((top / np.linalg.norm(top, axis=1, keepdims=True)).astype(np.float16))
        self.layers = np.stack(means)
        self.record = SimpleNamespace(layers=1, dimensions=encoder.record.dimensions)
        self._last = last
        each = [found[:, 0].astype(np.float32) for found in self._vectors]
        pieces = np.concatenate(each)
        self._mean, self._sd = pieces.mean(axis=0), pieces.std(axis=0)
        self.scaled = False
        self.pooled = np.stack([np.concatenate([found.max(axis=0), found.mean(axis=0)]) for found in each])

    def pieces(self, text: str) -> int:
        """Return how many pieces a text has."""
        return len(self._vectors[self.place[text]])

    def vectors(self, text: str) -> NDArray[np.floating]:
        """Return the vectors of a text (pieces, 1, dim)."""
        found = self._vectors[self.place[text]]
        return ((found - self._mean) / self._sd).astype(np.float16) if self.scaled else found

    def read_by_chance(self, seed: int) -> Array:
        """Return maximum and mean of the states of a BiLSTM with its first weights (texts, 4 * HIDDEN)."""
        lstm = BiLstm(self.record.dimensions, HIDDEN, torch.Generator().manual_seed(seed))
        lengths = np.array([len(found) for found in self._vectors])
        states = np.zeros((len(lengths), 4 * HIDDEN))
        with torch.inference_mode():
            for rows in buckets(lengths[:, None], 64):
                each = [torch.from_numpy(self._vectors[i][:, 0].astype(np.float32)) for i in rows]
                sizes = torch.from_numpy(lengths[rows])
                states[rows] = pooled(lstm(pad_sequence(each, batch_first=True), sizes), sizes)
        return states

    def bertr(self, rows: Rows) -> Array:
        """Return BERTR of some rows: the mean over the reference's pieces of the best cosine, in the last layer."""
        pairs = (
            [self._last[self.place[row[kind]]].astype(np.float32) for kind in ("candidate", "reference")]
            for row in rows
        )
        return np.array([(candidate @ reference.T).max(axis=0).mean() for candidate, reference in pairs])


def train(change: Change, parts: dict[str, Instances], texts: Texts, seed: int) -> tuple[Array, dict[str, float]]:
    """Train one network as `bsx.networks.run` does; return its scores of the test part and what happened."""
    config = change.config
    rng = torch.Generator().manual_seed(seed)
    dimensions = texts.record.dimensions
    network: Pooled | Network
    if not change.lstm:
        network = Pooled(change, dimensions, config, rng)
    elif change.standardised:
        network = Changed(change, dimensions, config, rng)
    else:
        network = build_network("bilstm", config, layers=1, dimensions=dimensions, seed=seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    human = parts["train"].scores
    wanted = torch.from_numpy((human - human.mean()) / human.std()).float()
    texts.scaled = change.scaled
    view: Any = texts
    lengths = {name: lengths_of(part, view) for name, part in parts.items()}

    def score(name: str, rows: NDArray[np.int64], rng: Rng) -> torch.Tensor:
        if isinstance(network, Pooled):
            return network.scores(parts[name], rows, texts, rng)
        return score_batch(network, parts[name], rows, view, rng)

    def predicted(name: str) -> Array:
        found = np.zeros(len(parts[name]))
        with torch.inference_mode():
            for rows in buckets(lengths[name], 64):
                found[rows] = score(name, rows, None).double().numpy()
        return found

    rate, best, epoch, log, weights = config.learning_rate, -np.inf, 0, list[tuple[float, float]](), {}
    while len(log) < config.epochs and len(log) - epoch < config.patience:
        for group in optimiser.param_groups:
            group["lr"] = rate
        draws = np.random.default_rng([seed, len(log) + 1])
        mask = torch.Generator().manual_seed(int(draws.integers(2**62)))
        losses = []
        for rows in buckets(lengths["train"], config.batch_size, draws):
            loss = nn.functional.mse_loss(score("train", rows, mask), wanted[rows.copy()])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 10.0)
            optimiser.step()
            losses.append(float(loss.detach()))
        valid = valid_agreement(predicted("valid"), parts["valid"])
        log.append((float(np.mean(losses)), valid))
        print(f"epoch {len(log)}: loss {log[-1][0]:.3f}, validation {valid:.4f}", file=sys.stderr, flush=True)
        if valid > best:
            best, epoch = valid, len(log)
            weights = {name: value.clone() for name, value in network.state_dict().items()}
        else:
            rate /= 2
    network.load_state_dict(weights)
    return predicted("test"), {"epoch": epoch, "epochs": len(log), "loss": log[epoch - 1][0], "valid": best}


def networks(rows: dict[str, Rows], texts: Texts, model: str, only: list[str], seeds: list[int], work: Path) -> str:
    """Train what is not in the work folder yet, and return the table of all."""
    file = work / "networks.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    found = [one for one in map(json.loads, lines) if one["model"] == model]
    parts = {name: instances(part) for name, part in rows.items()}
    for seed in seeds:
        for name in only:
            if any((one["change"], one["seed"]) == (name, seed) for one in found):
                continue
            print(f"{name}, seed {seed}", file=sys.stderr, flush=True)
            began = time.perf_counter()
            scores, facts = train(CHANGES[name], parts, texts, seed)
            r = float(np.mean(list(agreement(scores, rows["test"]).values())))
            seconds = round(time.perf_counter() - began)
            found.append({"model": model, "change": name, "seed": seed, "r": r, **facts, "seconds": seconds})
            print(found[-1], file=sys.stderr, flush=True)
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(found[-1]) + "\n")
    cells = []
    for name, change in CHANGES.items():
        runs = [one for one in found if one["change"] == name]
        if runs:
            means = {key: np.mean([one[key] for one in runs]) for key in ("r", "epoch", "loss", "valid")}
            each = ", ".join(f"{one['r']:.3f}" for one in runs)
            shown = (f"{means['valid']:.3f}", f"{means['epoch']:.0f}", f"{means['loss']:.3f}", f"{means['r']:.3f}")
            cells.append([change.what, *shown, each])
    return table(["network", "r on validation", "best epoch", "loss there", "mean r on WMT17", "each seed"], cells)


def features(left: Array, right: Array, kinds: tuple[str, ...]) -> Array:
    """Return features of pairs of vectors (n, dim)."""
    signed = left - right
    parts = {
        "candidate": left,
        "reference": right,
        "product": left * right,
        "difference": np.abs(signed),
        "signed": signed,
    }
    return np.concatenate([parts[kind] for kind in kinds], axis=1)


def ridge(train: tuple[Array, Array], valid: tuple[Array, Array], test: Array) -> tuple[float, Array]:
    """Return r on the validation data at the best penalty, and the predictions for the test data."""
    mean, sd = train[0].mean(axis=0), train[0].std(axis=0) + 1e-9
    left, values, right = np.linalg.svd((train[0] - mean) / sd, full_matrices=False)
    target = left.T @ (train[1] - train[1].mean())
    weights = [right.T @ (values / (values**2 + penalty) * target) for penalty in PENALTIES]
    found = [float(np.corrcoef((valid[0] - mean) / sd @ w, valid[1])[0, 1]) for w in weights]
    best = int(np.argmax(found))
    return found[best], (test - mean) / sd @ weights[best]


def probes(rows: dict[str, Rows], texts: Texts) -> list[list[str]]:
    """Return what is found without training a network."""
    layers = texts.layers
    depth, width = layers.shape[1:]
    mean = layers.mean(axis=1)
    drawn = np.linalg.qr(np.random.default_rng(0).standard_normal((width, width)))[0].astype(np.float32)
    test, chance = rows["test"], texts.read_by_chance(1)

    def mean_r(scores: Array) -> float:
        return float(np.mean(list(agreement(scores, test).values())))

    def fit(vectors: Array, kinds: tuple[str, ...] = ALL) -> tuple[float, float]:
        sets = {}
        for name, part in rows.items():
            left, right = ([texts.place[row[kind]] for row in part] for kind in ("candidate", "reference"))
            x = features(vectors[left], vectors[right], kinds).astype(np.float64)
            sets[name] = x, np.array([float(row["human"]) for row in part])
        valid, scores = ridge(sets["train"], sets["valid"], sets["test"][0])
        return valid, mean_r(scores)

    left, right = (layers[[texts.place[row[kind]] for row in test], -1] for kind in ("candidate", "reference"))
    cosine = (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
    lines: list[tuple[str, tuple[float | None, float]]] = [
        ("BERTR, nothing trained", (None, mean_r(texts.bertr(test)))),
        (f"cosine of mean vectors, layer {depth}, nothing trained", (None, mean_r(cosine))),
        ("ridge, mean of all layers: candidate, reference, product, absolute difference", fit(mean)),
        ("the same: product, absolute difference", fit(mean, ("product", "difference"))),
        ("the same: product", fit(mean, ("product",))),
        ("the same: absolute difference", fit(mean, ("difference",))),
        ("the mean vectors: candidate, reference, product, signed difference", fit(mean, SIGNED)),
        ("ridge, states of a BiLSTM that was not trained: all four", fit(chance)),
        ("the same: candidate, reference, product, signed difference", fit(chance, SIGNED)),
        *((f"ridge, layer {i + 1}: all four", fit(layers[:, i])) for i in range(depth)),
        *((f"ridge, mean of all layers, {n} random directions: all four", fit(mean @ drawn[:, :n])) for n in (96, 192)),
    ]
    return [[what, "" if valid is None else f"{valid:.3f}", f"{r:.3f}"] for what, (valid, r) in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--only", default=",".join(CHANGES))
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = {name: read(arguments.data / f"daseg-wmt{year}.tsv") for name, year in YEARS.items()}
    every = [row[kind] for part in rows.values() for row in part for kind in ("candidate", "reference")]
    texts = Texts(list(dict.fromkeys(every)), arguments.model, arguments.work)
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    trained = networks(rows, texts, arguments.model, arguments.only.split(","), seeds, arguments.work)
    if arguments.output is None:
        return
    found = table(["what is compared", "r on validation", "mean r on WMT17"], probes(rows, texts))
    text = (Path(__file__).parent / "trained-ablation-notes.md").read_text(encoding="utf-8")
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy"))
    machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}, {packages}"
    with atomic_text(arguments.output) as stream:
        stream.write(
            text.format(probes=found, networks=trained, machine=machine, model=arguments.model, only=arguments.only)
        )


if __name__ == "__main__":
    main()
