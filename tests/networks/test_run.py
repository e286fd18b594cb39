"""Training: data, stored vectors, learning, resuming bit for bit, and the metric that comes out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
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
from bsx.networks.batches import buckets
from bsx.networks.config import ARCHITECTURES, TrainConfig
from bsx.networks.data import Instances, agreement
from bsx.networks.encoder import FrozenEncoder
from bsx.networks.record import MODEL, SavedModel
from bsx.networks.run import train_metric
from bsx.networks.scoring import score_instances
from bsx.networks.vectors import VectorStore
from bsx.support.tensors import load_tensors
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
def encoder(tiny_model: Callable[[str], str]) -> FrozenEncoder:
    return FrozenEncoder(Encoders(model=tiny_model("bert"), device="cpu"))


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
    digests = {each.digest for each in (made, made.with_scores([1, 2, 4]), made.take([1, 0, 2]), blank)}
    assert len(digests) == 4


def test_wrong_data_is_named() -> None:
    with pytest.raises(InputError, match="numbers must match: 1 candidates, 2 references, 1 scores"):
        Instances.scored(["a"], [1], ["b", "c"])
    with pytest.raises(InputError, match="finite"):
        Instances.scored(["a"], [float("nan")], ["b"])


def test_agreement() -> None:
    scored = judged(6)
    assert agreement(2 * scored.scores + 1, scored) == pytest.approx(1)
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


def test_long_texts_are_cut_at_their_pieces(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
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
def test_it_learns_32_pairs_by_heart(architecture: Any, encoder: FrozenEncoder, tmp_path: Path) -> None:
    data = judged(32)
    settings = config(hidden=24, dropout=0.0, epochs=60, patience=60, learning_rate=0.01)
    record = train_metric(architecture, data, data, encoder=encoder, output=tmp_path / "m", config=settings)
    assert record.members[0].best.valid > 0.97
    assert record.members[0].log[-1].loss < 0.1 < record.members[0].log[0].loss


def test_the_encoder_stays_as_it_is(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    encoder = FrozenEncoder(Encoders(model=tiny_model("bert"), device="cpu", backend="torch"))
    data = judged(16)
    list(encoder.view.run([[1, 2, 3]]))  # loads the encoder
    embedder: Any = encoder.view.shared.batcher.embedder
    module = embedder.module
    before = {name: weight.clone() for name, weight in module.named_parameters()}
    train_metric("esim", data, data, encoder=encoder, output=tmp_path / "m", config=config())
    learnt = load_tensors(tmp_path / "m" / "seed-1.safetensors")[0]
    assert learnt["mix.weights"].abs().sum() > 0  # it starts at 0
    for name, weight in module.named_parameters():
        assert not weight.requires_grad, name
        assert weight.grad is None, name
        assert torch.equal(weight, before[name]), name


def test_a_seed_gives_the_same_weights_interrupted_or_not(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data, valid, settings = judged(32), judged(16, 2), config(epochs=4)
    store = tmp_path / "vectors"

    def run(name: str, **more: Any) -> dict[str, torch.Tensor]:
        train_metric(
            "esim", data, valid, encoder=encoder, output=tmp_path / name, config=settings, vectors=store, **more
        )
        return load_tensors(tmp_path / name / "seed-1.safetensors")[0]

    whole = run("whole")
    for after in ("epoch 1:", "epoch 3:"):

        def stop(line: str, after: str = after) -> None:
            if after in line:
                raise KeyboardInterrupt

        name = after.replace(" ", "").strip(":")
        with pytest.raises(KeyboardInterrupt):
            run(name, notify=stop)
        with pytest.raises(InputError, match="its training was interrupted"):
            SavedModel.open(tmp_path / name)
        with pytest.raises(InputError, match="holds a training already"):
            run(name)
        lines: list[str] = []
        resumed = run(name, resume=True, notify=lines.append)
        assert lines[0].startswith(f"seed 1: going on after epoch {name[-1]}")
        assert whole.keys() == resumed.keys()
        assert all(torch.equal(whole[key], resumed[key]) for key in whole)  # bit for bit
        assert (tmp_path / name / MODEL).read_bytes() == (tmp_path / "whole" / MODEL).read_bytes()
    assert not list(tmp_path.glob("*/checkpoint*"))


def test_an_interrupted_epoch_is_done_again(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data, valid = judged(32), judged(16, 2)
    whole = train_metric("bilstm", data, valid, encoder=encoder, output=tmp_path / "a", config=config())

    def stop(phase: str, done: int, total: int) -> None:
        if phase == "seed 1" and done > 32 + 16:  # in the second epoch
            assert total == 3 * 32
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_metric("bilstm", data, valid, encoder=encoder, output=tmp_path / "b", config=config(), report=stop)
    resumed = train_metric("bilstm", data, valid, encoder=encoder, output=tmp_path / "b", config=config(), resume=True)
    assert resumed == whole


def test_a_training_of_several_seeds_goes_on_with_the_next_one(encoder: FrozenEncoder, tmp_path: Path) -> None:
    given: dict[str, Any] = {"encoder": encoder, "config": config(), "seeds": (1, 2)}

    def stop(line: str) -> None:
        if line.startswith("seed 2, epoch 1"):
            raise KeyboardInterrupt

    whole = train_metric("bilstm", judged(32), judged(16, 2), output=tmp_path / "a", **given)
    given["output"] = tmp_path / "b"
    with pytest.raises(KeyboardInterrupt):
        train_metric("bilstm", judged(32), judged(16, 2), notify=stop, **given)
    checkpoint = tmp_path / "b" / "checkpoint-2.pt"
    kept = checkpoint.read_bytes()
    for content in (kept[:-100], b"", (tmp_path / "b" / "seed-1.safetensors").read_bytes()):
        checkpoint.write_bytes(content)
        with pytest.raises(InputError, match=r"checkpoint-2.pt: is no state of this training; remove it"):
            train_metric("bilstm", judged(32), judged(16, 2), resume=True, **given)
    checkpoint.write_bytes(kept)
    lines: list[str] = []
    assert train_metric("bilstm", judged(32), judged(16, 2), resume=True, notify=lines.append, **given) == whole
    assert [line.partition(":")[0] for line in lines] == ["seed 2", "seed 2, epoch 2", "seed 2, epoch 3"]
    lines.clear()
    assert train_metric("bilstm", judged(32), judged(16, 2), resume=True, notify=lines.append, **given) == whole
    assert not lines


def test_training_stops_and_halves_its_steps(encoder: FrozenEncoder, tmp_path: Path) -> None:
    settings = config(epochs=75, patience=3, learning_rate=0.004)
    record = train_metric("bilstm", judged(32), judged(16, 2), encoder=encoder, output=tmp_path / "m", config=settings)
    (member,) = record.members
    assert len(member.log) == member.best.epoch + 3 < 75
    best, rate = -1.0, settings.learning_rate
    for epoch in member.log:
        assert epoch.learning_rate == rate
        rate, best = (rate, epoch.valid) if epoch.valid > best else (rate / 2, best)
    assert member.best.valid == best
    assert record.ensemble_valid == pytest.approx(best, abs=1e-6)


def test_adding_seeds(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data, valid = judged(32), judged(16, 2)
    one = train_metric("bilstm", data, valid, encoder=encoder, output=tmp_path / "m", config=config())
    lines: list[str] = []
    two = train_metric(
        "bilstm",
        data,
        valid,
        encoder=encoder,
        output=tmp_path / "m",
        config=config(),
        seeds=(2,),
        resume=True,
        notify=lines.append,
    )
    assert [member.seed for member in two.members] == [1, 2]
    assert two.members[0] == one.members[0]
    assert all(line.startswith("seed 2") for line in lines)


def test_what_does_not_belong_together_is_refused(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data, valid = judged(12), judged(8, 2)

    def run(**changes: Any) -> Any:
        given = {"encoder": encoder, "output": tmp_path / "m", "config": config(epochs=1), **changes}
        return train_metric(
            given.pop("architecture", "bilstm"), given.pop("train", data), given.pop("valid", valid), **given
        )

    run()
    for changes, message in (
        ({"architecture": "esim"}, "architecture was bilstm, is esim"),
        ({"config": config(epochs=1, hidden=9)}, "setting hidden was 8, is 9"),
        ({"train": judged(12, 3)}, "training data was"),
        ({"valid": judged(8, 3)}, "validation data was"),
    ):
        with pytest.raises(InputError, match=message):
            run(resume=True, **changes)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"output": tmp_path / "other"}, "holds no training"),
        ({"seeds": (1, 1), "output": tmp_path / "x"}, "each once"),
        ({"train": valid.take([0]), "output": tmp_path / "x"}, "training data: two instances at least"),
        ({"valid": valid.with_scores([1] * 8), "output": tmp_path / "x"}, "validation data: two instances at least"),
    )
    for changes, message in wrong:
        with pytest.raises(InputError, match=message):
            run(**changes)
    assert not (tmp_path / "x").exists()


def test_a_failure_leaves_nothing_that_blocks_the_next_try(encoder: FrozenEncoder, tmp_path: Path) -> None:
    blank = Instances.scored(["\u200b", "\u200b"], [1.0, 2.0], ["x", "y"])
    with pytest.raises(InputError, match="training data: two instances at least"):
        train_metric("bilstm", blank, judged(8), encoder=encoder, output=tmp_path / "m", config=config())
    assert not (tmp_path / "m").exists()


def test_an_interruption_while_vectors_are_made_can_be_resumed(
    encoder: FrozenEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    given: dict[str, Any] = {"encoder": encoder, "output": tmp_path / "m", "config": config(epochs=1)}
    with monkeypatch.context() as patch:
        patch.setattr(VectorStore, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_metric("bilstm", judged(8), judged(8, 2), **given)
    with pytest.raises(InputError, match="holds a training already"):
        train_metric("bilstm", judged(8), judged(8, 2), **given)
    assert len(train_metric("bilstm", judged(8), judged(8, 2), resume=True, **given).members) == 1
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(InputError, match="is there already and holds no training"):
        train_metric("bilstm", judged(8), judged(8, 2), **{**given, "output": tmp_path / "other"})


def test_validation_on_training_data_is_noted(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data, lines = judged(8), list[str]()
    train_metric(
        "bilstm", data, data, encoder=encoder, output=tmp_path / "m", config=config(epochs=1), notify=lines.append
    )
    assert lines[0] == "8 of 8 instances of validation data are in training data too"


def test_texts_without_content_are_left_out_and_counted(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data = judged(12)
    texts = [*sentences(12, 5), "", "\u200b"]
    blank = Instances.scored(texts, [*np.arange(12.0), 99, 98], [*sentences(12, 6), "x", "y"])
    lines: list[str] = []
    record = train_metric(
        "bilstm", blank, data, encoder=encoder, output=tmp_path / "m", config=config(epochs=1), notify=lines.append
    )
    assert (record.train.instances, record.train.left_out) == (12, 2)
    assert lines[0] == "train: left out 2 instances with a text without content"
    assert record.low == 0
    assert record.shift == pytest.approx(5.5)  # the mean of those that are used
    assert record.scale == pytest.approx(np.sqrt(143 / 12))  # ddof 0, as SPEC says


# -- the metric ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tiny_model: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A metric of two networks that sees references, trained for an epoch."""
    home = tmp_path_factory.mktemp("trained")
    shutil.copytree(tiny_model("bert"), home / "encoder")
    frozen = FrozenEncoder(Encoders(model=str(home / "encoder"), device="cpu"))
    train_metric(
        "esim", judged(24), judged(12, 2), encoder=frozen, output=home / "m", config=config(epochs=1), seeds=(1, 2)
    )
    return home / "m"


def test_the_metric_scores_as_in_training(trained: Path, tmp_path: Path) -> None:
    data = judged(20, 7)
    candidates, references = map(list, zip(*data.pairs(), strict=True))
    metric = bsx.get_metric(f"trained:{trained}")
    scores = metric.score([*candidates, ""], [*references, "x"])
    store = VectorStore(tmp_path, FrozenEncoder(Encoders(model=str(trained.parent / "encoder"), device="cpu")))
    store.add(data.used_texts())
    np.testing.assert_allclose(scores.values[:-1], score_instances(trained, data, store), atol=1e-4)  # scores about 50
    low = SavedModel.open(trained).record.low
    assert scores.values[-1] == low
    assert scores.empty.tolist() == [20]
    # A text without word pieces is worth as little as an empty one.
    odd = metric.score(["\u200b"], ["the cat"])
    assert (odd.values.tolist(), odd.undefined.tolist()) == ([low], [0])


def test_a_changed_encoder_is_refused(trained: Path, tmp_path: Path) -> None:
    home = tmp_path / "moved"
    shutil.copytree(trained, home)
    elsewhere, other = tmp_path / "encoder", tmp_path / "other"
    tiny.build("bert", other, seed=4)
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
    tiny.build("bert", elsewhere, seed=9)
    with pytest.raises(InputError, match=r"reads no other encoder: the weights of .* restore that encoder"):
        bsx.get_metric(f"trained:{home}")
    shutil.rmtree(elsewhere)
    shutil.copytree(trained.parent / "encoder", elsewhere)
    file = elsewhere / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="reads no other encoder: the tokenizer"):
        bsx.get_metric(f"trained:{home}")
    shutil.copy(trained.parent / "encoder/tokenizer.json", file)
    file = elsewhere / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"num_attention_heads": 8}), encoding="utf-8")
    with pytest.raises(InputError, match="reads no other encoder: the configuration"):
        bsx.get_metric(f"trained:{home}")


def test_damaged_folders_are_refused(trained: Path, tmp_path: Path) -> None:
    def broken(name: str) -> Path:
        shutil.copytree(trained, tmp_path / name)
        return tmp_path / name

    with pytest.raises(InputError, match=r"is no folder of a trained metric"):
        bsx.get_metric(f"trained:{tmp_path}")
    with pytest.raises(InputError, match=r"say which folder"):
        bsx.get_metric("trained")
    folder = broken("weights")
    content = bytearray((folder / "seed-2.safetensors").read_bytes())
    content[-3] ^= 1
    (folder / "seed-2.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"seed-2.safetensors: is damaged or was changed"):
        bsx.get_metric(f"trained:{folder}")
    (folder / "seed-2.safetensors").unlink()
    with pytest.raises(InputError, match=r"seed-2.safetensors: is missing"):
        bsx.get_metric(f"trained:{folder}")
    for name, change, message in (
        ("typo", ("hidden: 8", "hiden: 8"), "settings.hid.*"),
        ("text", ("architecture: esim", "architecture: lstm"), "architecture"),
        ("yaml", ("architecture: esim", "architecture: ["), "not readable as YAML"),
        ("path", ("file: seed-1", "file: ../seed-1"), "members.0.file"),
        ("size", ("hidden: 8", "hidden: 9"), "describes another network than seed-1.safetensors holds the weights of"),
    ):
        folder = broken(name)
        text = (folder / MODEL).read_text(encoding="utf-8").partition("\n")[2]  # without the seal
        assert change[0] in text
        (folder / MODEL).write_text(text.replace(*change), encoding="utf-8")
        with pytest.raises(InputError, match=message):
            bsx.get_metric(f"trained:{folder}")


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("scale", float("nan")),
        ("shift", float("-inf")),
        ("low", float("nan")),
        ("seed", -1),
        ("layers", 0),
        ("dimensions", -1),
        ("max_pieces", 0),
    ],
)
def test_numbers_of_a_trained_metric_that_cannot_be(where: str, value: float, trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    shutil.copytree(trained, folder)
    said = yaml.safe_load((folder / MODEL).read_text(encoding="utf-8"))
    parts = [said, said["members"][0], said["encoder"], said["settings"]]
    next(part for part in parts if where in part)[where] = value
    (folder / MODEL).write_text(yaml.safe_dump(said), encoding="utf-8")
    with pytest.raises(InputError, match=MODEL):
        bsx.get_metric(f"trained:{folder}")


@pytest.mark.usefixtures("any_backend")
def test_the_number_format_of_the_encoder_is_noted(trained: Path, processor: Callable[..., None]) -> None:
    processor("avx512_bf16")
    assert bsx.get_metric(f"trained:{trained}").notes == ()
    (note,) = bsx.get_metric(f"trained:{trained}", encoders=bsx.Encoders(dtype="bf16")).notes
    assert "was trained on vectors in fp32, the encoder runs in bf16 now" in note
