"""Adapters to torchmetrics, evaluate, sacrebleu, transformers and pytest, each with the real package."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import bsx
from bsx.compat.corpus import CorpusMetric
from bsx.compat.pytest_plugin import bsx_at_least as bsx_at_least
from bsx.compat.trainer import compute_metrics

CANDIDATES = ["the cat sat on the mat", "he never calls", "it was raining all day", "a small dog"]
REFERENCES = ["the cat sat on a mat", "he does not ring", "it rained all day long", "a little dog"]
OTHERS = ["a cat was sitting on the mat", "he never rings", "the whole day it rained", "one small dog"]


@pytest.mark.parametrize(("name", "theirs"), [("bleu", "BLEU"), ("chrf", "CHRF"), ("ter", "TER")])
def test_corpus_scores_are_called_as_sacrebleus(name: str, theirs: str) -> None:
    sacrebleu = pytest.importorskip("sacrebleu", reason="needs the extra metrics")
    ours, peer = CorpusMetric(name), getattr(sacrebleu.metrics, theirs)()
    for references in ([REFERENCES], [REFERENCES, OTHERS]):
        got, want = ours.corpus_score(CANDIDATES, references), peer.corpus_score(CANDIDATES, references)
        assert got.score == pytest.approx(want.score, abs=1e-9)
        assert str(got) == f"{name} = {want.score:.2f}"
        assert got.format(3) == f"{name} = {want.score:.3f}"
    single = ours.sentence_score(CANDIDATES[0], [REFERENCES[0], OTHERS[0]])
    if name != "bleu":  # of which a single sentence has another smoothing there
        assert single.score == pytest.approx(peer.sentence_score(CANDIDATES[0], [REFERENCES[0], OTHERS[0]]).score)
    assert ours.get_signature().startswith(f"metric:{name}|")


def test_missing_references_are_none_and_wrong_lists_are_refused() -> None:
    metric = CorpusMetric("chrf")
    some = metric.corpus_score(CANDIDATES[:2], [REFERENCES[:2], [None, OTHERS[1]]])
    assert some.segments.values[0] == metric.sentence_score(CANDIDATES[0], [REFERENCES[0]]).score
    with pytest.raises(bsx.InputError, match=r"write \[references\]"):
        metric.corpus_score(CANDIDATES, REFERENCES)
    with pytest.raises(bsx.InputError, match="differ in length: 4, 2"):
        metric.corpus_score(CANDIDATES, [REFERENCES, OTHERS[:2]])
    with pytest.raises(bsx.InputError, match="learns from the whole corpus"):  # which parts cannot replace
        CorpusMetric("bertscore:idf=true", model="minilm").rows(CANDIDATES, REFERENCES)


@pytest.mark.parametrize("spec", ["bleu", "chrf", "ter", "rouge-l", "bertscore"])
def test_any_set_of_rows_gives_the_score_of_its_segments(spec: str) -> None:
    metric = CorpusMetric(spec, model="minilm" if spec == "bertscore" else None)
    rows = np.concatenate([metric.rows(CANDIDATES[:1], REFERENCES[:1]), metric.rows(CANDIDATES[1:], REFERENCES[1:])])
    for chosen in ([0, 1, 2, 3], [2, 2, 0]):
        whole = metric.metric.score([CANDIDATES[i] for i in chosen], [REFERENCES[i] for i in chosen])
        assert metric.of(rows[chosen]) == pytest.approx(whole.system, abs=1e-6)
    assert copy.deepcopy(metric) is metric
    assert pickle.loads(pickle.dumps(metric)).get_signature() == metric.get_signature()  # noqa: S301


def test_torchmetrics_update_compute_reset_bootstrap() -> None:
    pytest.importorskip("torchmetrics", reason="needs torchmetrics, which the extra dev installs")
    from torchmetrics.wrappers import BootStrapper

    from bsx.compat.torchmetrics import TorchMetric

    metric = TorchMetric("bleu")
    for start in (0, 2):
        metric.update(CANDIDATES[start : start + 2], REFERENCES[start : start + 2])
    whole = bsx.get_metric("bleu").score(CANDIDATES, REFERENCES).system
    assert metric.compute().item() == pytest.approx(whole, abs=1e-9)
    assert pickle.loads(pickle.dumps(metric)).compute() == metric.compute()  # noqa: S301
    assert metric.higher_is_better
    assert not TorchMetric("ter").higher_is_better
    metric.reset()
    assert metric(CANDIDATES[:1], REFERENCES[:1]).item() == pytest.approx(
        bsx.get_metric("bleu").score(CANDIDATES[:1], REFERENCES[:1]).system
    )
    rows = metric.score_rows(CANDIDATES * 25, REFERENCES * 25)
    torch.manual_seed(1)
    several = BootStrapper(TorchMetric("bleu"), num_bootstraps=200, sampling_strategy="multinomial")
    several.update(rows)
    found = several.compute()
    # 100 draws with replacement from these rows, by hand.
    engine, draws = CorpusMetric("bleu"), np.random.default_rng(2)
    by_hand = [engine.of(rows.numpy()[draws.integers(0, 100, 100)]) for _ in range(200)]
    assert found["mean"].item() == pytest.approx(np.mean(by_hand), abs=4 * np.std(by_hand) / np.sqrt(200))
    assert found["std"].item() == pytest.approx(np.std(by_hand), rel=0.3)  # six standard errors of a deviation


def test_without_torchmetrics_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from bsx.compat import torchmetrics

    monkeypatch.delitem(vars(torchmetrics), "TorchMetric", raising=False)
    with pytest.raises(bsx.MissingExtraError, match="pip install torchmetrics"):
        torchmetrics.TorchMetric  # noqa: B018
    with pytest.raises(AttributeError):
        torchmetrics.nosuch  # noqa: B018


def _one_of_two(rank: int, port: int, queue: Any) -> None:
    import torch.distributed as distributed

    from bsx.compat.torchmetrics import TorchMetric

    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    metric = TorchMetric("bleu")
    mine = slice(0, 3) if rank == 0 else slice(3, 4)
    metric.update(CANDIDATES[mine], REFERENCES[mine])
    queue.put(metric.compute().item())
    distributed.destroy_process_group()


@pytest.mark.slow
def test_processes_agree_on_the_score_of_all_their_segments() -> None:
    pytest.importorskip("torchmetrics", reason="needs torchmetrics, which the extra dev installs")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    workers = [context.Process(target=_one_of_two, args=(rank, port, queue)) for rank in range(2)]
    for worker in workers:
        worker.start()
    found = [queue.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    whole = bsx.get_metric("bleu").score(CANDIDATES, REFERENCES).system
    assert found == pytest.approx([whole, whole], abs=1e-9)


@pytest.mark.slow  # the package takes seconds to import
def test_evaluate_loads_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where it copies the script is read when it is imported.
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    evaluate = pytest.importorskip("evaluate", reason="needs evaluate, which the extra dev installs")
    from bsx.compat import bsx_score

    def load(*name: str) -> Any:
        return evaluate.load(bsx_score.FOLDER, *name, cache_dir=str(tmp_path))

    chrf = load("chrf")
    plain = bsx.get_metric("chrf", encoders=bsx.Encoders(normalize="none"))  # as the peers read texts
    for references in (REFERENCES, [list(pair) for pair in zip(REFERENCES, OTHERS, strict=True)]):
        chrf.add_batch(predictions=CANDIDATES[:2], references=references[:2])
        chrf.add_batch(predictions=CANDIDATES[2:], references=references[2:])
        got, want = chrf.compute(), plain.score(CANDIDATES, references)
        assert got["score"] == pytest.approx(want.system)
        assert got["scores"] == pytest.approx(want.values.tolist())
        assert got["signature"] == str(want.signature)
        chrf = load("chrf")
    f1 = load().compute(predictions=CANDIDATES, references=REFERENCES, model="minilm")["scores"]
    assert f1 == pytest.approx(bsx.score(CANDIDATES, REFERENCES, model="minilm").f1.tolist(), abs=1e-5)
    given: dict[str, Any] = {"model_type": "minilm", "idf": True, "batch_size": 2, "nthreads": 1, "verbose": False}
    from bsx.compat import bert_score as compat

    for references in (REFERENCES, [list(pair) for pair in zip(REFERENCES, OTHERS, strict=True)]):
        drop_in = load().compute(predictions=CANDIDATES, references=references, **given)
        known: Any = compat.score(CANDIDATES, references, **given, return_hash=True)
        assert list(drop_in) == ["precision", "recall", "f1", "hashcode"]
        for name, figure in zip(("precision", "recall", "f1"), known[0], strict=True):
            assert drop_in[name] == pytest.approx(figure.tolist(), abs=1e-5)
        assert drop_in["hashcode"] == known[1]
    from_sources = load("xmoverscore:model=minilm")
    assert [set(one) for one in from_sources.features] == [{"predictions", "sources"}]


WORDS = ["<pad>", *sorted({word for text in [*CANDIDATES, *REFERENCES] for word in text.split()})]


def encode(texts: list[str]) -> np.ndarray:
    rows = [[WORDS.index(word) for word in text.split()] for text in texts]
    return np.array([row + [-100] * (8 - len(row)) for row in rows])


def decode(ids: np.ndarray, *, skip_special_tokens: bool) -> list[str]:
    assert skip_special_tokens
    return [" ".join(WORDS[i] for i in row if i) for row in ids]


def test_a_trainer_gets_corpus_scores() -> None:
    from transformers import EvalPrediction

    tokenizer = SimpleNamespace(pad_token_id=0, batch_decode=decode)
    compute = compute_metrics(tokenizer, "chrf,bertscore", model="minilm")
    predictions, labels = encode(CANDIDATES), encode(REFERENCES)
    given: Any = (predictions, "more")  # what a model returns beside the texts
    got = compute(EvalPrediction(predictions=given, label_ids=labels))
    assert got == {
        "chrf": pytest.approx(bsx.get_metric("chrf").score(CANDIDATES, REFERENCES).system),
        "bertscore": pytest.approx(bsx.score(CANDIDATES, REFERENCES, model="minilm").f1.mean(), abs=1e-5),
    }
    scores = np.eye(len(WORDS))[np.where(predictions < 0, 0, predictions)]
    assert compute(SimpleNamespace(predictions=scores, label_ids=labels)) == got


def test_the_fixture_fails_a_test_by_how_much(bsx_at_least: Callable[..., dict[str, float]]) -> None:
    known = bsx.get_metric("chrf").score(CANDIDATES, REFERENCES).system
    assert bsx_at_least({"chrf": known - 1, "ter": 200}, CANDIDATES, REFERENCES)["chrf"] == known
    with pytest.raises(
        pytest.fail.Exception, match=rf"^chrf is {known:.4f}, {99 - known:.4f} below 99\nter is .* above"
    ):
        bsx_at_least({"chrf": 99, "ter": 1}, CANDIDATES, REFERENCES)
