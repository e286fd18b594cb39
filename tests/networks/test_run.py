"""Training: data, stored vectors, learning, resuming bit for bit, and the metric that comes out."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

import bsx
from bsx.encode.session import Encoders
from bsx.encode.states import encode_texts
from bsx.errors import InputError, ModelUnavailableError
from bsx.networks.config import ARCHITECTURES, TrainConfig
from bsx.networks.data import Instances, agreement
from bsx.networks.encoder import FrozenEncoder
from bsx.networks.record import MODEL, ModelRecord, SavedModel
from bsx.networks.run import train_metric
from bsx.networks.scoring import buckets, score_instances
from bsx.networks.vectors import VectorStore
from bsx.support.tensors import load_tensors
from tests.conftest import Model
from tests.helpers import tiny
from tests.helpers.sample import sampled

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = {"hidden": 8, "batch_size": 8, "epochs": 3, "learning_rate": 0.003}


def config(**settings: Any) -> TrainConfig:
    return TrainConfig.model_validate({**SMALL, **settings})


def sentences(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    words = [word for word in tiny.WORDS if len(word) > 1]
    return [" ".join(rng.choice(words, size=rng.integers(1, 9))) for _ in range(n)]


def judged(n: int = 32, seed: int = 1) -> Instances:
    rng = np.random.default_rng(seed)
    return Instances.scored(sentences(n, seed * 10), rng.normal(50, 20, size=n), sentences(n, seed * 10 + 1))


@pytest.fixture
def encoder(tiny_model: Model) -> FrozenEncoder:
    return FrozenEncoder(Encoders(model=tiny_model("bert"), device="cpu"))


Run = Callable[..., ModelRecord]


@pytest.fixture
def run(encoder: FrozenEncoder, tmp_path: Path) -> Run:
    """Return what trains a small network, by default `bilstm` on 32 pairs, in a folder of this name."""

    def train(
        name: str = "m", train: Instances | None = None, valid: Instances | None = None, **changes: Any
    ) -> ModelRecord:
        data = judged(32) if train is None else train, judged(16, 2) if valid is None else valid
        settings = {"encoder": encoder, "output": tmp_path / name, "config": config(), **changes}
        return train_metric(settings.pop("architecture", "bilstm"), *data, **settings)

    return train


def stopping(what: Callable[..., bool]) -> Callable[..., None]:
    """Return what interrupts a training when it is told such a thing."""

    def stop(*message: Any) -> None:
        if what(*message):
            raise KeyboardInterrupt

    return stop


# -- data ----------------------------------------------------------------------------------------------------------


def test_instances_hold_each_text_once() -> None:
    made = Instances.scored(["a", "b", "a"], [1, 2, 3], ["b", "c", "c"])
    assert made.texts == ["a", "b", "c"]
    assert made.rows.tolist() == [[0, 1], [1, 2], [0, 2]]
    part = made.take([2, 0])
    assert (part.scores.tolist(), part.used_texts()) == ([3, 1], ["a", "b", "c"])
    assert list(part.pairs()) == [("a", "c"), ("a", "b")]
    blank = Instances.scored(["a", " ", "b"], [1, 2, 3], ["b", "c", ""])
    assert len(blank.without_blank()) == 1
    assert made.digest == Instances.scored(["a", "b", "a"], [1, 2, 3], ["b", "c", "c"]).digest
    digests = {each.digest for each in (made, replace(made, scores=np.array([1.0, 2, 4])), made.take([1, 0, 2]), blank)}
    assert len(digests) == 4


def test_wrong_data_is_named() -> None:
    with pytest.raises(InputError, match="numbers must match: 1 candidates, 2 references, 1 scores"):
        Instances.scored(["a"], [1], ["b", "c"])
    with pytest.raises(InputError, match="finite"):
        Instances.scored(["a"], [float("nan")], ["b"])


def test_agreement() -> None:
    scored = judged(6)
    assert agreement(2 * scored.scores + 1, scored) == pytest.approx(1)
    assert agreement(-scored.scores, scored) == pytest.approx(-1)
    assert np.isnan(agreement(np.ones(6), scored))


def test_batches_hold_every_instance_once_and_like_with_like() -> None:
    lengths = np.random.default_rng(1).integers(1, 60, size=(101, 2))
    for rng in (None, np.random.default_rng(2)):
        batches = list(buckets(lengths, 16, rng))
        assert sorted(np.concatenate(batches).tolist()) == list(range(101))
        assert sorted(map(len, batches)) == [5, *[16] * 6]
        spans = [int(np.ptp(lengths[rows].max(axis=1))) for rows in batches]
        assert np.mean(spans) < 20  # of 60
    draws = [np.concatenate(list(buckets(lengths, 16, np.random.default_rng(seed)))).tolist() for seed in (2, 2, 3)]
    assert draws[0] == draws[1] != draws[2]


# -- stored vectors ------------------------------------------------------------------------------------------------


def test_stored_vectors_are_the_encoders(encoder: FrozenEncoder, tmp_path: Path) -> None:
    texts = [*sentences(20, 3), "", "我们在这里"]
    store = VectorStore(tmp_path, encoder)
    store.add(texts)
    assert encoder.view.layers == [1, 2, 3]  # the embedding layer is not mixed
    for text in texts:
        states = encode_texts([text], encoder.tokenizer, encoder.view)
        content = np.moveaxis(states.vectors[:, 1:-1], 0, 1)  # without [CLS] and [SEP]
        np.testing.assert_allclose(store.vectors(text), content, atol=1e-5)
        assert store.pieces(text) == len(content)
    assert store.pieces("") == 0
    shared = encoder.view.shared
    before = shared.sequences_encoded
    again = VectorStore(tmp_path, encoder)
    again.add(texts)
    assert shared.sequences_encoded == before  # nothing is computed twice
    assert all(np.array_equal(again.vectors(text), store.vectors(text)) for text in texts)


def test_long_texts_are_cut_at_their_pieces(tiny_model: Model, tmp_path: Path) -> None:
    short = FrozenEncoder(Encoders(model=tiny_model("bert"), device="cpu"), max_pieces=5)
    store = VectorStore(tmp_path, short)
    store.add(["the cat sat on the mat and walked slowly to the river"])
    assert store.pieces("the cat sat on the mat and walked slowly to the river") == 5


def test_blocks_are_small_and_damage_is_found(
    encoder: FrozenEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bsx.networks.vectors._BLOCK_TOKENS", 256)
    encoder.budget = 1
    texts = sentences(200, 4)
    store = VectorStore(tmp_path, encoder)
    store.add(texts)
    files = sorted(store.folder.glob("*.safetensors"))
    assert len(files) > 3
    files[0].write_bytes(files[0].read_bytes()[:-40])
    with pytest.raises(InputError, match=r"is no file of vectors"):
        VectorStore(tmp_path, encoder)
    files[0].unlink()
    store = VectorStore(tmp_path, encoder)
    store.add(texts)
    assert all(len(store.vectors(text)) for text in texts)


# -- learning ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", sampled(ARCHITECTURES, ["esim"]))
def test_it_learns_32_pairs_by_heart(architecture: Any, run: Run) -> None:
    settings = config(hidden=24, dropout=0.0, epochs=60, patience=60, learning_rate=0.01)
    (member,) = run(valid=judged(32), architecture=architecture, config=settings).members
    assert member.best.valid > 0.97
    assert member.log[-1].loss < 0.1 < member.log[0].loss


def test_the_encoder_stays_as_it_is(tiny_model: Model, run: Run, tmp_path: Path) -> None:
    encoder = FrozenEncoder(Encoders(model=tiny_model("bert"), device="cpu", backend="torch"))
    list(encoder.view.run([[1, 2, 3]]))  # loads the encoder
    embedder: Any = encoder.view.shared.batcher.embedder
    before = {name: weight.clone() for name, weight in embedder.module.named_parameters()}
    run(architecture="esim", encoder=encoder)
    learnt = load_tensors(tmp_path / "m" / "seed-1.safetensors")[0]
    assert learnt["mix.weights"].abs().sum() > 0  # it starts at 0
    for name, weight in embedder.module.named_parameters():
        assert (weight.requires_grad, weight.grad) == (False, None), name
        assert torch.equal(weight, before[name]), name


@pytest.mark.parametrize(
    ("stop", "epoch"),
    [
        ({"notify": stopping(lambda line: "epoch 1:" in line)}, 1),
        ({"notify": stopping(lambda line: "epoch 3:" in line)}, 3),
        ({"report": stopping(lambda phase, done, total: (phase, total) == ("seed 1", 128) and done > 32 + 16)}, 1),
    ],
)
def test_a_seed_gives_the_same_weights_interrupted_or_not(
    stop: dict[str, Any], epoch: int, run: Run, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"architecture": "esim", "config": config(epochs=4), "vectors": tmp_path / "vectors"}
    whole = run("whole", **given)
    with pytest.raises(KeyboardInterrupt):
        run(**given, **stop)
    with pytest.raises(InputError, match="its training was interrupted"):
        SavedModel.open(tmp_path / "m")
    with pytest.raises(InputError, match="holds a training already"):
        run(**given)
    lines: list[str] = []
    assert run(**given, resume=True, notify=lines.append) == whole
    assert lines[0].startswith(f"seed 1: going on after epoch {epoch}")
    for file in (MODEL, "seed-1.safetensors"):  # bit for bit
        assert (tmp_path / "m" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert not list(tmp_path.glob("*/checkpoint*"))


def test_a_training_of_several_seeds_goes_on_with_the_next_one(run: Run, tmp_path: Path) -> None:
    whole = run("whole", seeds=(1, 2))
    with pytest.raises(KeyboardInterrupt):
        run(seeds=(1, 2), notify=stopping(lambda line: line.startswith("seed 2, epoch 1")))
    checkpoint = tmp_path / "m" / "checkpoint-2.pt"
    kept = checkpoint.read_bytes()
    for content in (kept[:-100], b"", (tmp_path / "m" / "seed-1.safetensors").read_bytes()):
        checkpoint.write_bytes(content)
        with pytest.raises(InputError, match=r"checkpoint-2.pt: is no state of this training; remove it"):
            run(seeds=(1, 2), resume=True)
    checkpoint.write_bytes(kept)
    lines: list[str] = []
    assert run(seeds=(1, 2), resume=True, notify=lines.append) == whole
    assert [line.partition(":")[0] for line in lines] == ["seed 2", "seed 2, epoch 2", "seed 2, epoch 3"]
    lines.clear()
    assert run(seeds=(1, 2), resume=True, notify=lines.append) == whole
    assert not lines
    more = run(seeds=(3,), resume=True, notify=lines.append)
    assert ([member.seed for member in more.members], more.members[:2]) == ([1, 2, 3], whole.members)
    assert all(line.startswith("seed 3") for line in lines)


def test_training_stops_and_halves_its_steps(run: Run) -> None:
    record = run(config=config(epochs=75, patience=3, learning_rate=0.004))
    (member,) = record.members
    assert len(member.log) == member.best.epoch + 3 < 75
    best, rate = -1.0, 0.004
    for epoch in member.log:
        assert epoch.learning_rate == rate
        rate, best = (rate, epoch.valid) if epoch.valid > best else (rate / 2, best)
    assert member.best.valid == best
    assert record.ensemble_valid == pytest.approx(best, abs=1e-6)


def test_what_does_not_belong_together_is_refused(run: Run, tmp_path: Path) -> None:
    run(config=config(epochs=1))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    few, blank = judged(8), Instances.scored(["\u200b", "\u200b"], [1.0, 2.0], ["x", "y"])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"resume": True, "architecture": "esim"}, "architecture was bilstm, is esim"),
        ({"resume": True, "config": config(epochs=1, hidden=9)}, "setting hidden was 8, is 9"),
        ({"resume": True, "train": judged(12, 3)}, "training data was"),
        ({"resume": True, "valid": judged(8, 3)}, "validation data was"),
        ({"name": "other"}, "is there already and holds no training"),
        ({"name": "x", "seeds": (1, 1)}, "each once"),
        ({"name": "x", "train": few.take([0])}, "training data: two instances at least"),
        ({"name": "x", "valid": replace(few, scores=np.ones(8))}, "validation data: two instances at least"),
        ({"name": "x", "train": blank}, "training data: two instances at least"),
    ]
    for changes, message in wrong:
        with pytest.raises(InputError, match=message):
            run(**{"config": config(epochs=1), **changes})
    assert not (tmp_path / "x").exists()  # nothing blocks the next try


def test_an_interruption_while_vectors_are_made_can_be_resumed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(VectorStore, "add", stopping(lambda *_: True))
        with pytest.raises(KeyboardInterrupt):
            run(config=config(epochs=1))
    with pytest.raises(InputError, match="holds a training already"):
        run(config=config(epochs=1))
    assert len(run(config=config(epochs=1), resume=True).members) == 1


def test_what_the_data_lack_is_noted_and_left_out(run: Run) -> None:
    texts = [*sentences(12, 5), "", "\u200b"]
    blank = Instances.scored(texts, [*np.arange(12.0), 99, 98], [*sentences(12, 6), "x", "y"])
    lines: list[str] = []
    record = run(train=blank, valid=blank.take(range(12)), config=config(epochs=1), notify=lines.append)
    assert (record.train.instances, record.train.left_out) == (12, 2)
    assert lines[:2] == [
        "12 of 12 instances of validation data are in training data too",
        "train: left out 2 instances with a text without content",
    ]
    assert record.low == 0
    assert record.shift == pytest.approx(5.5)  # the mean of those that are used
    assert record.scale == pytest.approx(np.sqrt(143 / 12))  # ddof 0, as SPEC says


# -- the metric ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tiny_model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A metric of two networks that sees references, trained for an epoch."""
    home = tmp_path_factory.mktemp("trained")
    shutil.copytree(tiny_model("bert"), home / "encoder")
    frozen = FrozenEncoder(Encoders(model=str(home / "encoder"), device="cpu"))
    train_metric(
        "esim", judged(24), judged(12, 2), encoder=frozen, output=home / "m", config=config(epochs=1), seeds=(1, 2)
    )
    return home / "m"


def test_the_metric_scores_as_in_training(trained: Path, tmp_path: Path) -> None:
    pairs = [*judged(20, 7).pairs(), ("", "x")]
    candidates, references = map(list, zip(*pairs, strict=True))
    data = Instances.scored(candidates, np.zeros(21), references)
    metric = bsx.get_metric(f"trained:{trained}")
    scores = metric.score(candidates, references)
    store = VectorStore(tmp_path, FrozenEncoder(Encoders(model=str(trained.parent / "encoder"), device="cpu")))
    store.add(data.used_texts())
    np.testing.assert_allclose(scores.values, score_instances(trained, data, store), atol=1e-4)  # scores about 50
    low = SavedModel.open(trained).record.low
    assert scores.values[-1] == low
    assert scores.empty.tolist() == [20]
    # A text without word pieces is worth as little as an empty one.
    odd = metric.score(["\u200b"], ["the cat"])
    assert (odd.values.tolist(), odd.undefined.tolist()) == ([low], [0])


def test_a_changed_encoder_is_refused(trained: Path, tmp_path: Path) -> None:
    home, elsewhere = Path(shutil.copytree(trained, tmp_path / "moved")), tmp_path / "encoder"
    other = tiny.build("bert", tmp_path / "other", seed=4)
    with pytest.raises(InputError, match="leave out model .*other"):
        bsx.get_metric(f"trained:{trained}", encoders=bsx.Encoders(model=str(other)))
    said = yaml.safe_load((home / MODEL).read_text(encoding="utf-8"))
    said["encoder"]["model"] = str(elsewhere)
    (home / MODEL).write_text(yaml.safe_dump(said), encoding="utf-8")
    with pytest.raises(ModelUnavailableError, match=r"is not here .*model says where"):
        bsx.get_metric(f"trained:{home}")
    metric = bsx.get_metric(f"trained:{home}", encoders=bsx.Encoders(model=str(trained.parent / "encoder")))
    usual = bsx.get_metric(f"trained:{trained}")
    assert metric.score(["the cat"], ["a cat"])[0] == usual.score(["the cat"], ["a cat"])[0]
    tokenizer = elsewhere / "tokenizer.json"
    changes: dict[str, Callable[[], object]] = {
        "weights": lambda: shutil.copy(other / "model.safetensors", elsewhere),
        "tokenizer": lambda: tokenizer.write_text(f"{tokenizer.read_text()}\n"),
        "configuration": lambda: tiny.rewrite(elsewhere, num_attention_heads=8),
    }
    for part, change in changes.items():
        shutil.copytree(trained.parent / "encoder", elsewhere, dirs_exist_ok=True)
        change()
        with pytest.raises(InputError, match=f"reads no other encoder: the {part} .*"):
            bsx.get_metric(f"trained:{home}")


def test_damaged_folders_are_refused(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no folder of a trained metric"):
        bsx.get_metric(f"trained:{tmp_path}")
    with pytest.raises(InputError, match=r"say which folder"):
        bsx.get_metric("trained")
    folder = Path(shutil.copytree(trained, tmp_path / "m"))
    content = bytearray((folder / "seed-2.safetensors").read_bytes())
    content[-3] ^= 1
    (folder / "seed-2.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"seed-2.safetensors: is damaged or was changed"):
        bsx.get_metric(f"trained:{folder}")
    (folder / "seed-2.safetensors").unlink()
    with pytest.raises(InputError, match=r"seed-2.safetensors: is missing"):
        bsx.get_metric(f"trained:{folder}")


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("hidden: 8", "hiden: 8", "settings.hid.*"),
        ("architecture: esim", "architecture: lstm", "architecture"),
        ("architecture: esim", "architecture: [", "not readable as YAML"),
        ("file: seed-1", "file: ../seed-1", "members.0.file"),
        ("hidden: 8", "hidden: 9", "describes another network than seed-1.safetensors holds the weights of"),
        (r"scale: .*", "scale: .nan", "scale"),
        (r"shift: .*", "shift: -.inf", "shift"),
        (r"low: .*", "low: .nan", "low"),
        ("seed: 1", "seed: -1", "members.0.seed"),
        (r"layers: .*", "layers: 0", "encoder.layers"),
        (r"dimensions: .*", "dimensions: -1", "encoder.dimensions"),
        (r"max_pieces: .*", "max_pieces: 0", "encoder.max_pieces"),
    ],
)
def test_records_that_cannot_be_are_refused(
    written: str, instead: str, message: str, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "m"
    shutil.copytree(trained, folder)
    text = (folder / MODEL).read_text(encoding="utf-8").partition("\n")[2]  # without the seal
    changed, count = re.subn(rf"\b{written}", instead, text, count=1)
    assert count == 1
    (folder / MODEL).write_text(changed, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        bsx.get_metric(f"trained:{folder}")


@pytest.mark.usefixtures("any_backend")
def test_the_number_format_of_the_encoder_is_noted(trained: Path, processor: Callable[..., None]) -> None:
    processor("avx512_bf16")
    assert bsx.get_metric(f"trained:{trained}").notes == ()
    (note,) = bsx.get_metric(f"trained:{trained}", encoders=bsx.Encoders(dtype="bf16")).notes
    assert "was trained on vectors in fp32, the encoder runs in bf16 now" in note
