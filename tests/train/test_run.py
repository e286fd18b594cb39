"""Training: data, stored vectors, learning, resuming bit for bit, and the metric that comes out."""

from __future__ import annotations

import contextlib
import hashlib
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
from bsx.train.batches import buckets
from bsx.train.config import ARCHITECTURES, TrainConfig
from bsx.train.data import Instances, Target, agreement
from bsx.train.encoder import FrozenEncoder
from bsx.train.record import MODEL, PLAN, SavedModel
from bsx.train.resume_state import Epoch, Progress, load_progress, read_tensors, save_progress
from bsx.train.run import train_metric
from bsx.train.scoring import score_instances
from bsx.train.vectors import VectorStore, text_key
from tests.helpers import tiny
from tests.helpers.damage import damaged
from tests.helpers.sample import sampled

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = {"hidden": 8, "batch_size": 8, "epochs": 3, "learning_rate": 0.003}


def config(**settings: Any) -> TrainConfig:
    return TrainConfig.model_validate({**SMALL, **settings})


def sentences(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    words = [word for word in tiny.WORDS if len(word) > 1]
    return [" ".join(rng.choice(words, size=rng.integers(1, 9))) for _ in range(n)]


def judged(n: int = 32, seed: int = 1, inputs: Any = "reference") -> Instances:
    rng = np.random.default_rng(seed)
    texts = (sentences(n, seed * 10 + k) for k in range(3))
    return Instances.scored(next(texts), rng.normal(50, 20, size=n), next(texts), next(texts), inputs=inputs)


def preferred(n: int = 24, seed: int = 1) -> Instances:
    return Instances.preferences(*(sentences(n, seed * 10 + k) for k in range(3)))


@pytest.fixture
def encoder(tiny_model: Callable[[str], str]) -> FrozenEncoder:
    return FrozenEncoder(Encoders(model=tiny_model("bert"), device="cpu"))


# -- data ----------------------------------------------------------------------------------------------------------


def test_instances_hold_each_text_once() -> None:
    made = Instances.scored(["a", "b", "a"], [1, 2, 3], ["b", "c", "c"], ["d", "d", "d"], inputs="both")
    assert made.texts == ["a", "b", "c", "d"]
    assert made.candidates.tolist() == [[0], [1], [0]]
    assert made.others.tolist() == [[1, 3], [2, 3], [2, 3]]
    part = made.take([2, 0])
    assert part.scores is not None
    assert (part.scores.tolist(), part.used_texts()) == ([3, 1], ["a", "b", "c", "d"])
    blank = Instances.preferences(["a", " ", "b"], ["b", "c", ""], ["r", "r", "r"])
    assert len(blank.without_blank()) == 1
    assert made.digest == Instances.scored(["a", "b", "a"], [1, 2, 3], ["b", "c", "c"], ["d"] * 3, inputs="both").digest
    assert made.digest != made.with_scores([1, 2, 4]).digest
    assert len({made.digest, made.take([1, 0, 2]).digest, blank.digest}) == 3


def test_wrong_data_is_named() -> None:
    with pytest.raises(InputError, match="inputs=source .*: give sources"):
        Instances.scored(["a"], [1], ["b"], inputs="source")
    with pytest.raises(InputError, match="numbers must match: 1 candidates, 2 references, 1 scores"):
        Instances.scored(["a"], [1], ["b", "c"])
    with pytest.raises(InputError, match="finite"):
        Instances.scored(["a"], [float("nan")], ["b"])
    with pytest.raises(InputError, match="two different human scores"):
        Target.of(np.array([2.0, 2.0]))


def test_scores_are_standardised_by_the_population() -> None:
    target = Target.of(np.array([1.0, 2.0, 6.0]))
    assert (target.mean, target.low) == (3.0, 1.0)
    assert target.sd == pytest.approx(np.sqrt(14 / 3))  # ddof 0, as SPEC says
    assert Target.of(None) == Target(0, 1, 0)


def test_agreement() -> None:
    scored = judged(6)
    assert scored.scores is not None
    assert agreement(2 * scored.scores + 1, scored) == pytest.approx(1)
    assert np.isnan(agreement(np.ones(6), scored))
    # Of four preferences two are kept, one is turned round, one is a tie, which counts as turned round.
    assert agreement(np.array([[2, 1], [3, 1], [1, 2], [1, 1]]), preferred(4)) == 0


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
    assert isinstance(again.vectors(texts[0]).base, np.memmap | np.ndarray)
    half = VectorStore(tmp_path, encoder, "fp16")
    half.add(texts[:3])
    assert half.vectors(texts[0]).dtype == np.float16
    np.testing.assert_allclose(half.vectors(texts[0]), store.vectors(texts[0]), rtol=1e-3, atol=1e-3)


def test_long_texts_are_cut_at_their_pieces(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    short = FrozenEncoder(Encoders(model=tiny_model("bert"), device="cpu"), max_pieces=5)
    store = VectorStore(tmp_path, short)
    store.add(["the cat sat on the mat and walked slowly to the river"])
    assert store.pieces("the cat sat on the mat and walked slowly to the river") == 5


def test_blocks_are_small_and_damage_is_found(
    encoder: FrozenEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bsx.train.vectors._BLOCK_TOKENS", 256)
    encoder.budget = 1
    texts = sentences(200, 4)
    store = VectorStore(tmp_path, encoder)
    store.add(texts)
    files = sorted(store.folder.glob("*.safetensors"))
    assert len(files) > 3
    content = bytearray(files[0].read_bytes())
    content[-50] ^= 1
    files[0].write_bytes(content)
    store = VectorStore(tmp_path, encoder)
    with pytest.raises(InputError, match=r"is damaged; remove it"):
        [store.vectors(text) for text in texts]
    files[0].write_bytes(content[:40])
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
    assert record.members[0].valid > 0.97
    assert record.members[0].log[-1].loss < 0.1 < record.members[0].log[0].loss


def test_the_encoder_stays_as_it_is(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    encoder = FrozenEncoder(Encoders(model=tiny_model("bert"), device="cpu", backend="torch"))
    data = judged(16)
    list(encoder.view.run([[1, 2, 3]]))  # loads the encoder
    embedder: Any = encoder.view.shared.batcher.embedder
    module = embedder.module
    before = {name: weight.clone() for name, weight in module.named_parameters()}
    train_metric("esim", data, data, encoder=encoder, output=tmp_path / "m", config=config())
    learnt = read_tensors(tmp_path / "m" / "seed-1.safetensors")[0]
    assert learnt["mix.weights"].abs().sum() > 0  # it starts at 0
    for name, weight in module.named_parameters():
        assert not weight.requires_grad, name
        assert weight.grad is None, name
        assert torch.equal(weight, before[name]), name


@pytest.mark.slow
def test_preferences_are_learnt(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data = preferred(24)
    settings = config(hidden=24, dropout=0.0, epochs=40, patience=40, learning_rate=0.01, loss="ranking")
    record = train_metric("bilstm", data, data, encoder=encoder, output=tmp_path / "m", config=settings, seeds=(1, 2))
    assert record.statistic == "tau"
    assert min(member.valid for member in record.members) > 0.8
    # Only differences were learnt: the networks' outputs are brought to one scale.
    metric = bsx.get_metric("trained", folder=tmp_path / "m")
    better, worse = ([data.texts[i] for i in data.candidates[:, k]] for k in (0, 1))
    references = [data.texts[i] for i in data.others[:, 0]]
    scores = np.array([metric.score(side, references) for side in (better, worse)])
    assert (scores[0] > scores[1]).mean() > 0.9
    assert scores.mean() == pytest.approx(0, abs=1e-5)
    assert record.low == pytest.approx(scores.min(), abs=1e-5)


def test_a_seed_gives_the_same_weights_interrupted_or_not(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data, valid, settings = judged(32), judged(16, 2), config(epochs=4)
    store = tmp_path / "vectors"

    def run(name: str, **more: Any) -> dict[str, torch.Tensor]:
        train_metric(
            "esim", data, valid, encoder=encoder, output=tmp_path / name, config=settings, vectors=store, **more
        )
        return read_tensors(tmp_path / name / "seed-1.safetensors")[0]

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
    assert not list(tmp_path.glob(f"*/{PLAN}"))


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


def test_training_stops_and_halves_its_steps(encoder: FrozenEncoder, tmp_path: Path) -> None:
    settings = config(epochs=75, patience=3, learning_rate=0.004)
    record = train_metric("bilstm", judged(32), judged(16, 2), encoder=encoder, output=tmp_path / "m", config=settings)
    (member,) = record.members
    assert len(member.log) == member.best_epoch + 3 < 75
    best, rate = -1.0, settings.learning_rate
    for epoch in member.log:
        assert epoch.learning_rate == rate
        rate, best = (rate, epoch.valid) if epoch.valid > best else (rate / 2, best)
    assert member.valid == pytest.approx(best, abs=1e-6)
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
        ({"train": judged(12, 3)}, "the training data are not those that the training began with"),
        ({"valid": judged(8, 3)}, "the validation data are not those that the training began with"),
    ):
        with pytest.raises(InputError, match=message):
            run(resume=True, **changes)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"output": tmp_path / "other"}, "holds no training"),
        ({"train": preferred(8), "output": tmp_path / "x"}, "loss mse cannot be combined with training data"),
        (
            {"config": config(loss="ranking"), "output": tmp_path / "x"},
            "loss ranking cannot be combined with training data",
        ),
        ({"config": config(inputs="both"), "output": tmp_path / "x"}, "training data were built with other inputs"),
        ({"config": config(max_pieces=7), "output": tmp_path / "x"}, "the encoder reads 100 pieces, max_pieces is 7"),
        ({"seeds": (1, 1), "output": tmp_path / "x"}, "each once"),
        ({"train": valid.take([0]), "output": tmp_path / "x"}, "training data: 1 instances; training and validation"),
        (
            {"valid": valid.with_scores([1] * 8), "output": tmp_path / "x"},
            "all human scores are equal",
        ),
    )
    for changes, message in wrong:
        with pytest.raises(InputError, match=message):
            run(**changes)
    assert not (tmp_path / "x").exists()


def test_a_failure_leaves_nothing_that_blocks_the_next_try(encoder: FrozenEncoder, tmp_path: Path) -> None:
    blank = Instances.scored(["\u200b", "\u200b"], [1.0, 2.0], ["x", "y"])
    with pytest.raises(InputError, match="training data: fewer than two instances have texts with content"):
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


def test_validation_on_training_data_is_noted(encoder: FrozenEncoder, tmp_path: Path) -> None:
    data, lines = judged(8), list[str]()
    train_metric(
        "bilstm", data, data, encoder=encoder, output=tmp_path / "m", config=config(epochs=1), notify=lines.append
    )
    assert lines[0] == "note: 8 of 8 instances of validation data are in training data too"


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
    assert record.members[0].shift == pytest.approx(5.5)  # the mean of those that are used


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


def test_signed_differences_leave_digests_as_they_were_before_there_was_a_choice(trained: Path) -> None:
    model = SavedModel.open(trained)
    kept = model.record.model_dump(include={"architecture", "settings", "low"})
    kept["encoder"] = model.record.encoder.model_dump(exclude={"model", "config"})  # nor did it say the configuration
    kept["members"] = [(m.sha256, m.scale, m.shift) for m in model.record.members]
    assert kept["settings"].pop("difference") == "signed"
    assert model.digest == hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:12]
    changed = model.record.settings.model_copy(update={"difference": "absolute"})
    assert SavedModel(trained, model.record.model_copy(update={"settings": changed})).digest != model.digest


def test_the_metric_scores_as_in_training(trained: Path, tmp_path: Path) -> None:
    data = judged(20, 7)
    candidates = [data.texts[i] for i in data.candidates[:, 0]]
    references = [data.texts[i] for i in data.others[:, 0]]
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


def test_the_spread_is_that_of_the_networks(trained: Path) -> None:
    candidates, groups = sentences(6, 1), [sentences(3, 2), *([text] for text in sentences(5, 3))]
    one = [_single(trained, member).score(candidates, groups).values for member in (0, 1)]
    for how in ("best", "mean"):
        encoders = Encoders()
        metrics = [
            bsx.get_metric("trained", folder=trained, multi_ref=how, report=what, encoders=encoders)
            for what in ("score", "spread")
        ]
        score, spread = (metric.score(candidates, groups) for metric in metrics)
        assert (score.higher_is_better, spread.higher_is_better) == (True, False)
        np.testing.assert_allclose(score.values[1:], np.mean(one, axis=0)[1:], atol=1e-4)
        np.testing.assert_allclose(spread.values[1:], np.std(one, axis=0, ddof=1)[1:], atol=1e-4)
        pairs = np.array(
            [[_single(trained, member).score([candidates[0]], [text])[0] for text in groups[0]] for member in (0, 1)]
        )
        if how == "mean":
            expected = pairs.mean(axis=1).std(ddof=1)
        else:
            expected = pairs[:, pairs.mean(axis=0).argmax()].std(ddof=1)
        assert spread[0] == pytest.approx(expected, abs=1e-4)
    assert metrics[1].score([""], ["a"]).values.tolist() == [0]
    with pytest.raises(InputError, match="has one network; a spread needs two"):
        bsx.get_metric("trained", folder=_only(trained, 0), report="spread")


def _only(trained: Path, member: int) -> Path:
    """A copy of the metric with one of its networks."""
    copy = trained.parent / f"only-{member}"
    if not copy.exists():
        shutil.copytree(trained, copy)
        said = yaml.safe_load((copy / MODEL).read_text(encoding="utf-8"))
        said["members"] = said["members"][member : member + 1]
        (copy / MODEL).write_text(yaml.safe_dump(said), encoding="utf-8")
    return copy


def _single(trained: Path, member: int) -> Any:
    return bsx.get_metric("trained", folder=_only(trained, member))


@pytest.mark.parametrize("inputs", ["source", "both"])
def test_sources_instead_of_references_and_both(inputs: Any, encoder: FrozenEncoder, tmp_path: Path) -> None:
    data, valid = judged(24, 1, inputs), judged(12, 2, inputs)
    folder = tmp_path / "m"
    train_metric(
        "bilstm-attention", data, valid, encoder=encoder, output=folder, config=config(epochs=1, inputs=inputs)
    )
    metric = bsx.get_metric("trained", folder=folder)
    assert metric.needs == {"candidate", "source"} | ({"reference"} if inputs == "both" else set())
    candidates, references, sources = (sentences(5, k) for k in (21, 22, 23))
    given = references if inputs == "both" else None
    scores = metric.score(candidates, given, sources).values
    again = Instances.scored(candidates, np.zeros(5), given, sources, inputs=inputs)
    store = VectorStore(tmp_path / "v", encoder)
    store.add(again.used_texts())
    np.testing.assert_allclose(scores, score_instances(folder, again, store), atol=1e-4)
    other = metric.score(candidates, given, sources[::-1]).values
    assert np.abs(other - scores)[[0, 1, 3, 4]].min() > 1e-6  # the source matters
    blank = metric.score(candidates[:2], given[:2] if given else None, [sources[0], ""])
    assert blank.empty.tolist() == [1]
    if inputs == "both":
        several = metric.score([candidates[0]], [references[:3]], [sources[0]])
        alone = metric.score([candidates[0]] * 3, references[:3], [sources[0]] * 3)
        assert several[0] == pytest.approx(max(alone), abs=1e-5)
        matrix = metric.score_matrix(candidates[:2], references[:3], sources=sources[0])
        np.testing.assert_allclose(matrix[0], alone, atol=1e-5)


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
    with pytest.raises(InputError, match=r"trained on another encoder: the weights of .* restore that encoder"):
        bsx.get_metric(f"trained:{home}")
    shutil.rmtree(elsewhere)
    shutil.copytree(trained.parent / "encoder", elsewhere)
    file = elsewhere / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="trained on another encoder: the tokenizer"):
        bsx.get_metric(f"trained:{home}")
    shutil.copy(trained.parent / "encoder/tokenizer.json", file)
    file = elsewhere / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"num_attention_heads": 8}), encoding="utf-8")
    with pytest.raises(InputError, match="trained on another encoder: the configuration"):
        bsx.get_metric(f"trained:{home}")
    del said["encoder"]["config"]  # as records of before had none
    (home / MODEL).write_text(yaml.safe_dump(said), encoding="utf-8")
    assert bsx.get_metric(f"trained:{home}")


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
        ("scale", 1e308),
        ("shift", float("-inf")),
        ("low", float("nan")),
        ("seed", 1e30),
        ("seed", -1),
        ("layers", 10**9),
        ("layers", 10_000),
        ("dimensions", -1),
        ("dimensions", 1_000_000),
        ("max_pieces", 0),
        ("hidden", 10**9),
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


def test_a_flipped_byte_of_a_trained_metric_is_found(trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    shutil.copytree(trained, folder)
    whole = SavedModel.open(folder)
    for file in folder.iterdir():
        for _ in damaged(file, 70):
            with contextlib.suppress(InputError):
                found = SavedModel.open(folder)
                assert found.record.model_dump_json() == whole.record.model_dump_json()
                if file.name != MODEL:
                    found.networks()
                    assert found.seen is not None
                    raise AssertionError(file.name)


def test_a_flipped_byte_of_a_checkpoint_is_found(tmp_path: Path) -> None:
    def fresh() -> tuple[torch.nn.Linear, torch.optim.Adam]:
        torch.manual_seed(0)
        network = torch.nn.Linear(3, 2)
        return network, torch.optim.Adam(network.parameters())

    network, optimiser = fresh()
    network(torch.ones(3)).sum().backward()
    optimiser.step()
    best = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    progress = Progress(0.1, best, [Epoch(epoch=1, loss=0.5, valid=0.25, learning_rate=0.1)], 1)
    file = tmp_path / "checkpoint-1.safetensors"
    save_progress(file, network, optimiser, progress)

    def loaded() -> str:
        again, state = fresh()
        found = load_progress(file, again, state)
        found.best = dict(sorted(found.best.items()))
        return f"{found} {again.state_dict()} {state.state_dict()}"

    whole = loaded()
    for _ in damaged(file, 250):
        with contextlib.suppress(InputError):
            assert loaded() == whole


def test_a_flipped_byte_of_stored_vectors_is_found(encoder: FrozenEncoder, tmp_path: Path) -> None:
    texts = sentences(6, 1)
    store = VectorStore(tmp_path, encoder)
    store.add(texts)
    truth = {text: store.vectors(text).copy() for text in texts}
    (file,) = tmp_path.rglob("*.safetensors")
    for _ in damaged(file, 200):
        with contextlib.suppress(InputError):
            found = VectorStore(tmp_path, encoder)
            for text in texts:
                if text_key(text) in found._places:  # otherwise it is computed again
                    assert np.array_equal(found.vectors(text), truth[text])


@pytest.mark.usefixtures("any_backend")
def test_the_number_format_of_the_encoder_is_noted(trained: Path, processor: Callable[..., None]) -> None:
    processor("avx512_bf16")
    assert bsx.get_metric(f"trained:{trained}").notes == ()
    (note,) = bsx.get_metric(f"trained:{trained}", encoders=bsx.Encoders(dtype="bf16")).notes
    assert "was trained on vectors in fp32, the encoder runs in bf16 now" in note
