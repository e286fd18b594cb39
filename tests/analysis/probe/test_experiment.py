"""Probes on arrays: what is planted is found, what is not there is not, and nothing leaks from the test part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Answer
from bsx.analysis.probe import classifiers as probes
from bsx.analysis.probe.experiment import Evaluated, TestData, probe_layers
from bsx.analysis.probe.items import PARTS, carve_validation, control_labels, random_parts
from bsx.analysis.probe.result import ProbedModel, ProbeResult, Transferred
from bsx.analysis.probe.tasks import read_sentences, read_tokens
from bsx.analysis.stats.layers import JudgedLayer, LayerAgreement
from bsx.analysis.stats.resample import cluster_codes
from bsx.analysis.stats.results import Estimate
from bsx.data.lines import NamedFile
from bsx.errors import InputError

Kind = Literal["logistic", "mlp"]


def column(result: ProbeResult | Transferred, name: str) -> np.ndarray:
    """Return a figure of all layers (layers,)."""
    return np.array([getattr(one, name) for one in result.layers])


def planted(n: int = 600, dim: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Noise, but layer 2 holds the label; the types are words, the frequent ones very frequent."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    features = rng.normal(size=(4, n, dim)).astype(np.float32)
    features[2, :, 3] += 4 * labels
    return features, labels, [f"word{number}" for number in rng.zipf(1.5, n) % 200]


@pytest.mark.parametrize("probe", ["logistic", "mlp"])
def test_planted_information_is_found_where_it_is(probe: Kind) -> None:
    features, labels, types = planted(1500)
    result = probe_layers(
        features, labels.tolist(), types=types, probe=probe, seeds=[1, 2], resamples=300, task="planted"
    )
    assert result.control is not None
    assert (result.task, result.n, result.labels) == ("planted", 1500, ("0", "1"))
    assert column(result, "layer").tolist() == [0, 1, 2, 3]
    assert result.best_layer == 2
    assert result.win_share == 1
    assert result.layers[2].accuracy > 0.93
    assert result.layers[2].macro_f1 > 0.93
    assert column(result, "selectivity")[2] > 0.25
    assert column(result, "selectivity_low")[2] > 0.2
    empty = [0, 1, 3]
    assert np.abs(column(result, "accuracy")[empty] - 0.5).max() < 0.09
    assert all(one.low <= one.accuracy <= one.high for one in result.layers)
    assert column(result, "by_seed").shape == (4, 2)
    assert result.train + result.validation + result.test == 1500
    # Noise holds no word: the control task cannot be done any better than by its most frequent label.
    assert (column(result, "control") < result.control.baseline + 0.08).all()


def test_a_vector_that_is_the_word_does_the_control_task() -> None:
    labels = np.arange(600) % 2
    rng = np.random.default_rng(1)
    words = rng.integers(0, 20, 600)
    names = [f"word{number}" for number in words]
    features = np.eye(20, dtype=np.float32)[words][None]
    result = probe_layers(features, labels.tolist(), types=names, seeds=[3], resamples=50)
    assert result.control is not None
    assert result.layers[0].control == 1
    again = np.random.default_rng(3)
    parts = random_parts(np.arange(600), again)
    again.permutation((parts == 0).sum())
    again.integers(2**31)
    drawn = control_labels(cluster_codes(names), labels, again)
    assert result.control.baseline == (drawn[parts == 2] == np.bincount(drawn[parts == 0]).argmax()).mean()
    assert result.control.seen == 1
    assert result.control.types == 20
    assert column(result, "selectivity")[0] < -0.3
    assert column(result, "selectivity_high")[0] < 0


def test_control_labels_are_random_but_consistent() -> None:
    rng = np.random.default_rng(0)
    types = cluster_codes([f"t{i}" for i in rng.integers(0, 3000, 20_000)])
    labels = (rng.random(20_000) < 0.3).astype(np.int64) + 2 * (rng.random(20_000) < 0.1).astype(np.int64)
    drawn = control_labels(types, labels, np.random.default_rng(5))
    assert all(len(set(drawn[types == kind].tolist())) == 1 for kind in range(100))
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, np.bincount(labels, minlength=4) / len(labels), atol=0.03)
    assert (drawn == control_labels(types, labels, np.random.default_rng(5))).all()
    assert (drawn != control_labels(types, labels, np.random.default_rng(6))).any()
    assert abs(np.corrcoef(drawn, labels)[0, 1]) < 0.03


def test_balanced_control_labels_have_the_shares_of_the_task() -> None:
    """Even where types are as uneven as first words are; and each type is as likely to get any label."""
    rng = np.random.default_rng(1)
    words = rng.zipf(1.6, 3000) % 500
    types, labels = cluster_codes(words.tolist()), rng.integers(0, 5, 3000)
    exact = np.bincount(labels) / 3000
    runs = [control_labels(types, labels, np.random.default_rng(seed)) for seed in range(50)]
    largest = np.bincount(types).max() / 3000
    assert np.mean([np.bincount(run).max() for run in runs]) / 3000 <= max(exact.max(), largest) + 0.005
    assert {run[0] for run in runs} == set(range(5))


def test_copies_of_an_item_stay_on_one_side() -> None:
    """Labels are random, so only a leak can beat chance; the same check sees the leak when copies may be split."""
    rng = np.random.default_rng(3)
    labels = np.repeat(rng.integers(0, 2, 150), 4).tolist()
    features = np.repeat(rng.normal(size=(1, 150, 200)), 4, axis=1).astype(np.float32)
    copies = np.repeat(np.arange(150), 4).tolist()
    apart = probe_layers(features, labels, groups=copies, resamples=200)
    mixed = probe_layers(features, labels, resamples=200)
    assert abs(apart.layers[0].accuracy - 0.5) < 0.12
    assert apart.layers[0].low < apart.baseline + 0.05
    assert mixed.layers[0].accuracy > 0.8  # each item was seen in training
    # Copies are no independent evidence: the interval is as wide as that of 150 items.
    assert apart.layers[0].high - apart.layers[0].low > 1.5 * (mixed.layers[0].high - mixed.layers[0].low)


def test_the_test_part_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    features, labels, _ = planted(200)
    parts = ["train"] * 100 + ["validation"] * 40 + ["test"] * 60
    seen: list[Any] = []

    def spy(x: Any, y: Any, x_held: Any, y_held: Any) -> probes.Fitted:
        seen.append((x, x_held))
        return logistic(x, y, x_held, y_held)

    logistic = probes._logistic
    monkeypatch.setattr(probes, "_logistic", spy)
    plain = probe_layers(features, labels.tolist(), parts=parts, seeds=[1], resamples=20)
    np.testing.assert_allclose(seen[0][0].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(seen[0][0].std(axis=0), 1, atol=1e-12)
    assert np.abs(seen[0][1].mean(axis=0)).max() > 0.01  # the validation part has its own mean
    changed = features.copy()
    changed[:, 140:] = changed[:, 140:] * 50 + 7
    other = probe_layers(changed, labels.tolist(), parts=parts, seeds=[1], resamples=20)
    np.testing.assert_array_equal(seen[0][0], seen[4][0])
    np.testing.assert_array_equal(seen[0][1], seen[4][1])
    np.testing.assert_array_equal(column(plain, "chosen"), column(other, "chosen"))
    for one in (plain, other):
        assert (one.train, one.validation, one.test, one.split) == (100, 40, 60, "given")


def test_the_logistic_probe_equals_scikit_learn_by_hand() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(8)
    labels = rng.choice(3, 400, p=[0.7, 0.2, 0.1])
    x = (7 + 20 * (rng.normal(size=(400, 30)) + 0.4 * rng.normal(size=(3, 30))[labels])).astype(np.float32)
    parts = np.array(["train"] * 200 + ["validation"] * 100 + ["test"] * 100)
    result = probe_layers(x[None], labels.tolist(), parts=parts.tolist(), seeds=[1], resamples=20)
    train, held, test = (parts == name for name in PARTS)
    best = (-1.0, 0.0, 0.0, 0.0)
    for strength in probes.STRENGTHS:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=1000))
        model.fit(x[train].astype(float), labels[train])
        valid, right = (model.score(x[rows].astype(float), labels[rows]) for rows in (held, test))
        f1 = f1_score(labels[test], model.predict(x[test].astype(float)), average="macro")
        best = max(best, (valid, strength, right, f1), key=lambda found: found[0])
    assert result.layers[0].chosen[0] == best[1]
    assert result.layers[0].accuracy == pytest.approx(best[2], abs=0.0101)  # one item: fits end within a tolerance
    assert result.layers[0].macro_f1 == pytest.approx(best[3], abs=0.02)
    assert result.baseline == pytest.approx((labels[test] == np.bincount(labels[train]).argmax()).mean())


def test_the_bootstrap_equals_a_literal_loop() -> None:
    """Of a probe that always says 1: items of two runs, and whether that is right under two conditions."""
    rng = np.random.default_rng(0)
    groups = np.array([0, 0, 1, 2, 3, 3, 3, 4, 5])
    runs = [(np.array([0, 1, 3, 4]), rng.random((2, 4)) < 0.5), (np.array([2, 3, 4, 5, 6]), rng.random((2, 5)) < 0.5)]
    always = probes.FittedProbe(lambda x: np.ones(len(x), dtype=np.int64), float("nan"), "")
    items = Evaluated(np.zeros((1, 9, 1), dtype=np.float32), groups, 2)
    for rows, right in runs:
        items.start(rows, list(right.astype(np.int64)), 1)
        items.layer(0, [always, always])
    accuracies, draws = items.accuracies(70, 7)
    np.testing.assert_allclose(accuracies[:, 0], np.concatenate([r for _, r in runs], axis=1).mean(axis=1))
    again = np.random.default_rng(7)
    drawn = np.concatenate([again.integers(4, size=(64, 4)), again.integers(4, size=(6, 4))])
    for b, picks in enumerate(drawn):
        correct, tested = np.zeros(2), 0
        for pick in picks:  # tested groups are 0, 1, 2, 3
            for rows, hits in runs:
                inside = groups[rows] == pick
                correct += hits[:, inside].sum(axis=1)
                tested += inside.sum()
        np.testing.assert_allclose(draws[b, :, 0], correct / tested)


def test_parts_keep_groups_whole_and_their_shares() -> None:
    rng = np.random.default_rng(0)
    groups = cluster_codes(rng.integers(0, 400, 1000).tolist())
    parts = random_parts(groups, rng)
    assert all(len(set(parts[groups == group].tolist())) == 1 for group in range(50))
    np.testing.assert_allclose(np.bincount(parts) / 1000, [0.6, 0.2, 0.2], atol=0.02)
    parts[parts == 1] = 0
    carved = carve_validation(parts, groups, rng)
    assert (carved[parts == 2] == 2).all()
    np.testing.assert_allclose(np.bincount(carved) / 1000, [0.6, 0.2, 0.2], atol=0.02)
    assert not set(groups[carved == 1].tolist()) & set(groups[carved == 0].tolist())
    assert (carve_validation(carved, groups, rng) == carved).all()


def test_a_control_task_of_one_type_and_copies_across_a_given_split_are_noted() -> None:
    parts = ["train"] * 30 + ["validation"] * 10 + ["test"] * 20
    groups = [*range(40), *range(5), *range(100, 115)]
    how: dict[str, Any] = {"parts": parts, "groups": groups, "types": ["the"] * 60, "seeds": [1], "resamples": 20}
    result = probe_layers(FEATURES, LABELS.tolist(), **how)
    assert result.notes == (
        "5 of 20 test items of the given split also stand outside the test part",
        "control task: every item has the same type, so there is only one label to remember",
    )
    assert column(result, "control").tolist() == [1, 1, 1, 1]


def test_curves_rise_with_what_there_is_to_learn_from() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 900)
    features = rng.normal(size=(1, 900, 40)).astype(np.float32)
    features[0, :, :8] += 0.5 * labels[:, None]
    result = probe_layers(features, labels.tolist(), train_sizes=[200, 15, 5000], resamples=100, layers=[6])
    assert [point.size for point in result.curve] == [15, 200]
    (few,), (many,) = (point.accuracy for point in result.curve)
    assert few < many < result.layers[0].accuracy + 0.05
    assert all(point.low <= point.accuracy <= point.high for point in result.curve)
    assert result.notes == (f"no curve at 5000: {result.train} items to train on",)
    assert result.best_layer == 6
    assert result.control is None
    how: dict[str, Any] = {"train_sizes": [200, 15], "resamples": 100, "layers": [6]}
    assert probe_layers(features, labels.tolist(), types=labels.tolist(), **how).curve == result.curve
    one = probe_layers(features, labels.tolist(), seeds=[1], resamples=20)
    assert one.layers[0].spread is None
    assert result.layers[0].spread == pytest.approx(np.std(result.layers[0].by_seed, ddof=1))


def test_a_training_set_of_one_label_says_that_label() -> None:
    labels = [0] * 97 + [1] * 3
    features = np.random.default_rng(0).normal(size=(1, 100, 3)).astype(np.float32)
    parts = (["train"] * 50 + ["validation"] * 20 + ["test"] * 27) + ["train", "validation", "test"]
    result = probe_layers(features, labels, parts=parts, train_sizes=[1], seeds=[2], resamples=20)
    assert result.curve[0].accuracy[0] in (27 / 28, 1 / 28)


@pytest.mark.parametrize("probe", ["logistic", "mlp"])
def test_fits_that_do_not_end_are_noted(probe: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "ITERATIONS", 1)
    monkeypatch.setattr(probes, "EPOCHS", 2)
    features, labels, types = planted(150)
    notes = probe_layers(features, labels.tolist(), types=types, probe=probe, seeds=[1], resamples=20).notes
    expected = "did not converge within 1 iterations in" if probe == "logistic" else "after 2 epochs in"
    assert any(note.startswith("task: ") and expected in note for note in notes)
    assert any(note.startswith("control task: ") and note.endswith(" of 4 fits") for note in notes)


FEATURES, LABELS, TYPES = planted(60)
BROKEN = FEATURES.copy()
BROKEN[1, 5, 0] = np.nan


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"features": FEATURES[0]}, r"\(layers, items, dim\), not of shape \(60, 12\)"),
        ({"labels": LABELS[:-1]}, "60 vectors, 59 labels: numbers must match"),
        ({"groups": [1, 2, 3]}, "60 vectors, 3 groups"),
        ({"types": TYPES[1:]}, "60 vectors, 59 types"),
        ({"parts": ["test"]}, "60 vectors, 1 parts"),
        ({"layers": [0, 1]}, "vectors of 4 layers, 2 layer numbers"),
        ({"labels": [1] * 60}, "at least two different labels"),
        ({"probe": "svm"}, "no probe 'svm'; there are logistic, mlp"),
        ({"seeds": []}, "at least one seed"),
        ({"seeds": [1, 1]}, "no seed twice"),
        ({"train_sizes": [0]}, "less than one item"),
        ({"parts": ["dev"] * 60}, "part 'dev' of an item is not one of train, validation, test"),
        ({"parts": ["train"] * 60}, "test part is empty"),
        ({"parts": ["test"] * 60}, "train part is empty"),
        ({"groups": [1] * 60}, "part is empty: there must be items, in several groups"),
        ({"parts": ["train" if label else "test" for label in LABELS]}, "training part have the same label"),
        ({"features": BROKEN, "layers": [6, 7, 8, 9]}, "layer 7: vectors must be finite"),
    ],
)
def test_wrong_arrays_are_named(how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        probe_layers(**{"features": FEATURES, "labels": LABELS.tolist(), **how})


def moved(n: int, seed: int, sign: float = 1.0) -> tuple[np.ndarray, list[str], list[str]]:
    """Return vectors of two layers, of which the second has the label, the labels, and words."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    vectors = rng.normal(size=(2, n, 8)).astype(np.float32)
    vectors[1, :, 0] += sign * 4 * (labels - 0.5)
    return vectors, [f"label {label}" for label in labels], rng.choice(list("abcdefgh"), n).tolist()


def test_the_items_themselves_give_the_figures_of_the_test_part() -> None:
    vectors, labels, words = moved(400, 0)
    groups = [row // 2 for row in range(400)]
    same = TestData("same", vectors, labels, groups, words)
    how: dict[str, Any] = {"groups": groups, "types": words, "seeds": [1, 2], "resamples": 50}
    result, alone = (probe_layers(vectors, labels, **how, test_data=data) for data in ([same], []))
    (found,) = result.tested_on
    assert replace(result, tested_on=()) == alone  # further items change no other figure
    assert result.control is not None
    assert found.n == result.test
    for name in ("accuracy", "low", "high", "control", "selectivity_high"):
        np.testing.assert_array_equal(column(found, name), column(result, name))
    assert (found.baseline, found.seen) == (result.baseline, result.control.seen)


def test_planted_information_moves_where_it_is_the_same() -> None:
    vectors, labels, words = moved(500, 3)
    data = [
        TestData(name, *moved(300, seed, sign)[:2], types=[f"word {row}" for row in range(300)])
        for name, seed, sign in (("same", 4, 1.0), ("opposite", 5, -1.0), ("none", 6, 0.0))
    ]
    result = probe_layers(vectors, labels, types=words, seeds=[1, 2], resamples=50, test_data=data)
    same, opposite, none = result.tested_on
    # Two normals 4 apart: the best line is right for 97.7 %.
    assert same.layers[1].accuracy == pytest.approx(0.977, abs=0.025)
    assert opposite.layers[1].accuracy < 0.06
    assert none.layers[1].accuracy == pytest.approx(0.5, abs=0.1)
    assert same.layers[0].low < 0.5 < same.layers[0].high
    assert same.seen == 0
    assert same.layers[1].control == pytest.approx(0.5, abs=0.12)  # nothing to remember of types that are new


def test_an_unknown_label_is_always_wrong_and_said() -> None:
    vectors, labels, _ = moved(200, 7)
    other, truth, _ = moved(100, 8)
    data = TestData("new", other, ["label 2"] * 50 + truth[50:])
    result = probe_layers(vectors, labels, seeds=[1], resamples=20, test_data=[data])
    assert result.tested_on[0].layers[1].accuracy <= 0.5
    assert result.tested_on[0].layers[0].control is None
    assert "new: 50 items have a label that is not trained on: always wrong" in result.notes


def test_wrong_further_items_are_named() -> None:
    vectors, labels, words = moved(60, 9)
    parts = ["train"] * 40 + ["test"] * 20
    for data, message in [
        (TestData("x", vectors[:1], labels, types=words), r"x: vectors of shape \(1, 60, 8\)"),
        (TestData("x", vectors, labels[:5], types=words), "x: 60 vectors, 5 labels"),
        (TestData("x", vectors, labels), "x: there is a control task, so its items need types too"),
        (TestData("x", vectors, labels, [0] * 60, words), "x: the probe was trained on the groups of all its items"),
    ]:
        with pytest.raises(InputError, match=message):
            probe_layers(vectors, labels, groups=range(60), parts=parts, types=words, seeds=[1], test_data=[data])


def agreement(mean: list[float]) -> LayerAgreement:
    layers = (JudgedLayer(layer, f1 - 0.1, f1 - 0.2, f1, f1 - 0.05, f1 + 0.05) for layer, f1 in enumerate(mean))
    chosen = Estimate(estimate=0.7, ci=(0.6, 0.9), n=50, method="left out")
    return LayerAgreement(50, "pearson", {"a": tuple(mean)}, tuple(layers), mean.index(max(mean)), 0.9, 0, chosen)


def test_probes_beside_agreement() -> None:
    features, labels, types = planted(200)
    layers = [0, 2, 3, 4]
    results = [
        probe_layers(features, labels.tolist(), types=types, seeds=[1], resamples=20, layers=layers, task="one"),
        probe_layers(features[::-1], labels.tolist(), seeds=[1], resamples=20, layers=layers, task="two"),
    ]
    beside = agreement([0.5, 0.9, 0.6, 0.8, 0.4])
    whole = ProbedModel("m", "logistic", tuple(results), beside)
    people = [0.5, 0.6, 0.8, 0.4]
    assert whole.to_frame()["agreement"].tolist() == [*people, *people]
    assert "highest in layer 3 (0.800" in whole.answer
    assert "0.700 [0.600, 0.900]" in whole.answer  # of the choice


@pytest.mark.parametrize(("share", "told"), [(0.97, True), (0.8, False)])
def test_a_best_layer_is_named_only_where_resamples_tell_it_apart(share: float, told: bool) -> None:
    features, labels, _ = planted(300)
    found = replace(probe_layers(features, labels.tolist(), seeds=[1], resamples=20, task="t"), win_share=share)
    answer = next(part for part in parts_of(found) if isinstance(part, Answer)).text
    assert ("best in layer 2" in answer, "told apart" in answer) == (told, not told)
    few = next(part for part in parts_of(replace(found, test=5)) if isinstance(part, Answer)).text
    assert "too few" in few


def write(folder: Path, text: str) -> NamedFile:
    (folder / "t.txt").write_text(text, encoding="utf-8")
    return NamedFile(folder / "t.txt")


def test_two_columns_and_the_layout_of_senteval(tmp_path: Path) -> None:
    task = read_sentences(write(tmp_path, "A cat sat .\tS\nA cat sat .\tP\nDogs bark .\tP\nA dog .\tS\n"))
    assert task.name == "t"
    assert task.labels == ("S", "P", "P", "S")
    assert task.types == ("A", "A", "Dogs", "A")
    assert task.groups[0] == task.groups[1] == "A cat sat ."
    assert task.parts is None
    assert task.ceiling == 0.75
    lines = [f"{part}\t{'AB'[i % 2]}\tsentence {part} {i}" for part in ("tr", "va", "te") for i in range(20)]
    task = read_sentences(write(tmp_path, "\n".join(lines)))
    assert task.parts == ("train",) * 20 + ("validation",) * 20 + ("test",) * 20
    assert task.ceiling == 1
    features = np.random.default_rng(0).normal(size=(1, 60, 2)).astype(np.float32)
    result = probe_layers(features, task.labels, groups=task.groups, parts=task.parts, resamples=20)
    assert (result.split, result.train, result.validation, result.test) == ("given", 20, 20, 20)
    assert all(len(set(one.by_seed)) == 1 for one in result.layers)  # the logistic probe has no chance of its own
    small = task.sample(30, 1)
    assert len(small.labels) == len(small.sentences) == 30
    assert [t for (t,) in small.sentences] == list(small.groups)
    assert small == task.sample(30, 1) != task.sample(30, 2)
    assert task.sample(60, 1) is task


def test_words_with_labels(tmp_path: Path) -> None:
    task = read_tokens(write(tmp_path, "The\tD\ncat\tN\n\n\nIt\tP\nsat\tV\nthe\tD\ncat\tN\n"))
    assert task.sentences == (("The", "cat"), ("It", "sat", "the", "cat"))
    assert task.labels == ("D", "N", "P", "V", "D", "N")
    assert task.types == ("The", "cat", "It", "sat", "the", "cat")
    assert task.groups == ("The cat",) * 2 + ("It sat the cat",) * 4
    assert task.tokens
    assert task.ceiling == 1
    assert task.select([True, False] * 3).labels == ("D", "P", "D")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\tX\n\nc\tY\n", "t.txt: line 2 is empty; write sentence TAB label"),
        ("a b\tX\nc d\n", "t.txt: line 2 has 1 columns; write"),
        ("a b\tX\ntr\tY\tc d\n", "t.txt: line 2 has 3 columns, the lines before it 2"),
        ("tr\tX\ta b\ndev\tY\tc d\n", "t.txt: line 2: 'dev' is not a part; with three columns the first is tr, va"),
        ("a b\tX\n \tY\n", "t.txt: line 2 has no sentence"),
        ("a b\tX\nc\t\n", "t.txt: line 2 has no label"),
        ("a b\tX\nc\tX\n", "t.txt: every item has the label 'X': there is nothing to predict"),
        ("".join(f"X\ta b {i}\n" for i in range(11)), "t.txt: 11 different labels for 11 items: are the columns"),
    ],
)
def test_malformed_lines_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_sentences(write(tmp_path, text))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(message)


@pytest.mark.parametrize("line", ["cat N", "cat\tN\tx", "\tN", "cat\t", ""])
def test_malformed_words_are_named(line: str, tmp_path: Path) -> None:
    text, message = (
        (f"the\tD\n\n{line}\n", r"t\.txt: line 3 is not word TAB label") if line else ("\n\n", "has no word")
    )
    with pytest.raises(InputError, match=message):
        read_tokens(write(tmp_path, text))
