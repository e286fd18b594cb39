"""The scorer's promises: order, batches, empties, references, long texts, memory, containers, errors."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bsx
from bsx import Scorer, get_metric
from bsx.catalog.catalog import shipped_folder
from bsx.data.corpus import MemoryCorpus
from bsx.encode.session import Encoders
from bsx.errors import InputError
from bsx.metrics.run import block_tokens, blocks_of
from tests.conftest import Model
from tests.helpers import tiny
from tests.helpers.oracle import bertscore
from tests.helpers.sample import sampled

TEXTS = [
    "the cat sat on the mat",
    "a young woman walked to the station",
    "rain",
    "The old man had money, and the city had water!",
    "我们在这里看见一只猫",
    "it was one year",
    "",
    "government",
    "said slowly",
    "quickly quickly quickly " * 8,
]


@pytest.fixture(scope="module", params=["torch", "onnx"])
def tiny_bert(tiny_model: Model, request: pytest.FixtureRequest) -> Scorer:
    """A scorer on PyTorch, then one on ONNX Runtime, which users have unless they ask for another."""
    if request.param == "onnx":
        pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    return Scorer(model=tiny_model("bert"), layer=2, backend=request.param)


def columns(scores: bsx.Scores) -> np.ndarray:
    return np.stack([scores.precision, scores.recall, scores.f1])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)), min_size=1, max_size=12),
    st.integers(1, 300),
    st.randoms(use_true_random=False),
)
def test_scores_depend_on_the_pair_alone(
    tiny_bert: Scorer, pairs: list[tuple[str, str]], batch_tokens: int, random: Any
) -> None:
    batcher: Any = tiny_bert.metric.encoding.shared.batcher
    batcher.batch_tokens = batch_tokens
    candidates, references = zip(*pairs, strict=True)
    expected = columns(tiny_bert.score(candidates, references))
    order = list(range(len(pairs)))
    random.shuffle(order)
    shuffled = tiny_bert.score([candidates[i] for i in order], [references[i] for i in order])
    np.testing.assert_allclose(columns(shuffled), expected[:, order], atol=1e-5)
    for i, (candidate, reference) in enumerate(pairs):
        alone = tiny_bert.score([candidate], [reference])
        np.testing.assert_allclose(columns(alone)[:, 0], expected[:, i], atol=1e-5)


def test_identity_scores_one_and_swapping_swaps(tiny_bert: Scorer) -> None:
    texts = [*filter(None, TEXTS), "ж"]  # an unknown word is a word
    same = tiny_bert.score(texts, texts)
    np.testing.assert_allclose(columns(same), 1, atol=1e-5)
    assert len(same.empty) == 0
    forth, back = tiny_bert.score(texts, texts[::-1]), tiny_bert.score(texts[::-1], texts)
    np.testing.assert_allclose(forth.precision, back.recall, atol=1e-5)
    np.testing.assert_allclose(forth.f1, back.f1, atol=1e-5)


def test_equals_the_literal_formula_on_the_encoders_vectors(tiny_model: Model) -> None:
    from transformers import AutoModel, AutoTokenizer

    folder = tiny_model("distilbert")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    references = ["the dog walked", "a cat sat on the mat", "the house had rain"]
    candidates = ["a dog", "the cat sat", "it was rain"]

    def vectors(text: str) -> np.ndarray:
        with torch.no_grad():
            output = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        return output.hidden_states[2][0].numpy()

    df = Counter(token for text in references for token in set(tokenizer(text)["input_ids"]))

    def weights(text: str, idf: bool) -> list[float]:
        ids = tokenizer(text)["input_ids"]
        inner = [math.log(4 / (df[i] + 1)) if idf else 1.0 for i in ids[1:-1]]
        return [0.0, *inner, 0.0]

    for idf in (False, True):
        got = Scorer(model=folder, layer=2, idf=idf).score(candidates, references)
        for i, (c, r) in enumerate(zip(candidates, references, strict=True)):
            expected = bertscore(vectors(c), vectors(r), weights(c, idf), weights(r, idf))
            assert (got.precision[i], got.recall[i], got.f1[i]) == pytest.approx(expected, abs=1e-5)


def test_several_references_take_the_best(tiny_bert: Scorer, tiny_model: Model) -> None:
    groups = [["a dog", "the cat sat on a mat", ""], ["rain"], ["money", "the city had water"]]
    candidates = ["the cat sat", "the rain", "the city"]
    singles = [columns(tiny_bert.score([c] * len(g), g)) for c, g in zip(candidates, groups, strict=True)]
    columnwise = columns(tiny_bert.score(candidates, groups))
    best = columns(Scorer(model=tiny_model("bert"), layer=2, multi_ref="best").score(candidates, groups))
    for i, single in enumerate(singles):
        np.testing.assert_allclose(columnwise[:, i], single.max(axis=1), atol=1e-5)
        np.testing.assert_allclose(best[:, i], single[:, single[2].argmax()], atol=1e-5)
        p, r, f = best[:, i]
        assert f == pytest.approx(2 * p * r / (p + r), abs=1e-6)


@pytest.mark.usefixtures("any_backend")
def test_an_empty_reference_beside_another_is_no_reference(tiny_model: Model) -> None:
    scorer = Scorer(model=tiny_model("xlnet"), layer=3)  # a model with negative cosines: a 0 would win
    alone = scorer.score(["rain"], ["government"])
    assert alone.f1[0] != 0
    with_empty = scorer.score(["rain"], [["government", "  "]])
    assert columns(with_empty).tolist() == columns(alone).tolist()
    assert len(with_empty.empty) == 0


def test_empty_texts_score_zero_and_are_not_rescaled(tiny_model: Model, tmp_path: Path) -> None:
    table = tmp_path / "b.csv"
    table.write_text("LAYER,P,R,F\n" + "".join(f"{layer},0.5,0.5,0.5\n" for layer in range(4)))
    scorer = Scorer(model=tiny_model("bert"), layer=2, rescale=True, baseline=table)
    rescaled = scorer.score(["", " ", "rain", "rain"], ["rain", "", "\n", "the train"])
    assert rescaled.empty.tolist() == [0, 1, 2]
    assert columns(rescaled)[:, :3].tolist() == [[0.0] * 3] * 3
    assert rescaled.mean()["f1"] == pytest.approx(rescaled.f1.mean())


def test_a_baseline_belongs_to_its_model_and_language(tmp_path: Path) -> None:
    def scorer(content: str, name: str = "b.yaml", **settings: Any) -> Scorer:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
        return Scorer(model="minilm", rescale=True, baseline=tmp_path / name, **{"lang": "en", **settings})

    shipped = (shipped_folder() / "baselines" / "en" / "minilm.yaml").read_text()
    weights, table = "minilm@sha256-53aa51172d14", "LAYER,P,R,F\n" + "".join(f"{n},0.5,0.5,0.5\n" for n in range(7))
    assert scorer(shipped, lang=None).notes == ()  # minilm's only language
    for right in (shipped, shipped.replace(weights, "minilm@hub-0123456789ab")):
        assert scorer(right).notes == ()
    for name in ("b.csv", "minilm.csv", "en/minilm.csv"):
        assert scorer(table, name).notes == ()
    for german in ((shipped.replace("language: en", "language: de"), "b.yaml"), (table, "de/minilm.csv")):
        (note,) = scorer(*german).notes
        assert "'de'" in note
    for content, name, other in (
        (shipped.replace("model: minilm", "model: roberta-large"), "b.yaml", "roberta-large"),
        (shipped.replace(weights, "minilm@sha256-000000000000"), "b.yaml", "000000000000"),
        (table, "en/xlm-roberta-base.csv", "xlm-roberta-base"),
    ):
        with pytest.raises(InputError, match=other):
            scorer(content, name)


def test_special_tokens_may_be_excluded_from_matching(tiny_model: Model) -> None:
    aligned = Scorer(model=tiny_model("bert"), layer=2, specials="exclude").align("the cat sat", "rain")
    inner = aligned.cosines[1:-1, 1:-1]
    assert aligned.precision == pytest.approx(inner.max(axis=1).mean(), abs=1e-5)
    assert aligned.recall == pytest.approx(inner.max(axis=0).mean(), abs=1e-5)
    for axis, side in ((1, aligned.candidate), (0, aligned.reference)):
        np.testing.assert_array_equal(side.similarity[1:-1], inner.max(axis=axis))
        assert side.weights.tolist() == [0, *[1] * inner.shape[1 - axis], 0]


def test_truncation_is_counted_refused_or_avoided(tiny_model: Model) -> None:
    folder = tiny_model("bert")
    long = "cat " * 100  # 100 pieces; the model reads 64 positions, 62 besides CLS and SEP
    cut = Scorer(model=folder, layer=2).score([long, "cat", "cat"], ["cat", "cat " * 63, "cat"])
    assert cut.truncated.tolist() == [0, 1]
    assert cut.tokens_lost.tolist() == [38, 1]
    with pytest.raises(InputError, match=r"segment 1 \(candidate, 38 tokens too many\).*set long to window"):
        Scorer(model=folder, layer=2, strict=True).score([long], ["cat"])
    windowed = Scorer(model=folder, layer=2, long="window")
    whole = windowed.score([long], ["cat"])
    assert len(whole.truncated) == 0
    assert len(windowed.align(long, "cat").candidate.tokens) == 102
    short = windowed.score(["the cat"], ["a cat"])
    assert columns(short).tolist() == columns(Scorer(model=folder, layer=2).score(["the cat"], ["a cat"])).tolist()


@pytest.mark.parametrize("count", [63, 64, 93, 94, 125, 300])
def test_windows_keep_every_token_once_from_its_most_central_window(count: int, tiny_model: Model) -> None:
    tokenizer = Scorer(model=tiny_model("bert"), layer=1, long="window").tokenizer
    content = list(range(10, 10 + count))
    text = tokenizer._frame(content)
    assert text.ids.tolist() == [*tokenizer.prefix, *content, *tokenizer.suffix]
    assert text.lost == 0
    starts = [span.ids[1] - 10 for span in text.spans]
    lengths = [len(span.ids) - 2 for span in text.spans]
    for number, span in enumerate(text.spans):
        for token in np.asarray(span.ids)[span.positions].tolist():
            position = token - 10
            if not 0 <= position < count:
                continue  # a special token

            def margin(i: int, position: int = position) -> int:
                return min(position - starts[i], starts[i] + lengths[i] - 1 - position)

            best = max(margin(i) for i in range(len(starts)) if 0 <= position - starts[i] < lengths[i])
            edge = number in (0, len(starts) - 1)  # at the ends of the text there is no other window
            assert margin(number) >= best - 1 or edge


def test_blocks_for_a_card_hold_many_batches_and_memory_bounds_them_all(tiny_model: Model) -> None:
    metric = Scorer(model=tiny_model("bert"), layer=2).metric
    metric.encoders.budget = 10**12
    own = block_tokens([metric])
    metric.encoders.device = "cuda:1"  # which nobody asks anything: the budget is known
    assert block_tokens([metric]) == 4 * own
    assert block_tokens([get_metric("chrf")]) == own
    metric.encoders.budget = 60_000
    assert 1 <= block_tokens([metric]) * metric.bytes_per_token <= 30_000


def test_each_distinct_text_is_encoded_once_within_a_small_budget(tiny_model: Model) -> None:
    folder = tiny_model("bert")
    rng = np.random.default_rng(3)
    words = ["cat", "dog", "rain", "house", "old", "man", "the", "walked"]
    pool = [" ".join(rng.choice(words, rng.integers(3, 12))) for _ in range(300)]
    candidates = [pool[i] for i in rng.integers(0, len(pool), 2000)]
    references = [pool[i] for i in rng.integers(0, len(pool), 2000)]
    roomy = Scorer(model=folder, layer=2)
    expected = columns(roomy.score(candidates, references))
    narrow = [Encoders(model=folder, remember=False) for _ in range(2)]
    for encoders in narrow:
        encoders.budget = 60_000  # bytes: many blocks, and most kept vectors go to a temporary file
    tight = Scorer(model=folder, layer=2, encoders=narrow[0])
    corpus = MemoryCorpus({"a": candidates}, references)
    assert len(list(blocks_of(corpus, block_tokens([tight.metric])))) > 10
    files: list[int] = []  # that are open
    got = columns(
        tight.score(candidates, references, progress=lambda *_: files.append(len(list(Path("/dev/fd").iterdir()))))
    )
    assert max(files) < min(files) + 5
    np.testing.assert_allclose(got, expected, atol=1e-5)
    distinct = len(set(candidates) | set(references))
    assert roomy.encoders.sequences_encoded == tight.encoders.sequences_encoded == distinct
    named = get_metric("bertscore", encoders=narrow[1], layer=2)
    np.testing.assert_array_equal(named.score(candidates, references).values, got[2].astype(np.float64))
    assert named.encoders.sequences_encoded == distinct
    for metric in (roomy.metric, tight.metric, named):
        encoder: Any = metric.encoding.shared  # type: ignore[attr-defined]
        assert not encoder._where  # nothing comes again


@pytest.mark.parametrize("settings", [{}, {"idf": True}, {"multi_ref": "best", "specials": "exclude"}])
def test_both_doors_lead_to_the_same_bits(settings: dict[str, Any], tiny_model: Model) -> None:
    candidates = ["the cat sat on the mat", "a dog walked slowly", "rain", ""]
    references = [["a cat sat on a mat"], ["the old dog walked", "a dog"], ["it rained at the station"], ["rain"]]
    encoders = Encoders(model=tiny_model("bert"))
    scores = Scorer(encoders=encoders, layer=2, **settings).score(candidates, references)
    alone = Scorer(model=tiny_model("bert"), layer=2, **settings).score(candidates, references)
    for measure in ("precision", "recall", "f1"):
        metric = get_metric("bertscore", encoders=encoders, layer=2, measure=measure, **settings)
        found = metric.score(candidates, references)
        assert found.values.tolist() == getattr(scores, measure).astype(np.float64).tolist()
        assert getattr(alone, measure).tolist() == getattr(scores, measure).tolist()
        assert str(found.signature) == f"{scores.signature}|measure:{measure}"
        assert found.empty.tolist() == scores.empty.tolist() == [3]


@pytest.mark.parametrize("kind", sampled(tiny.RECIPES, ["bert", "xlnet", "t5", "albert"]))
def test_encoders_hold_no_layer_above_the_wanted_one(kind: str, tiny_model: Model) -> None:
    embedders: list[Any] = [
        Scorer(model=tiny_model(kind), layer=layer, backend="torch").metric.encoding.shared.batcher.embedder
        for layer in (1, 2, 3)
    ]
    sizes = [sum(p.numel() for p in embedder.module.parameters()) for embedder in embedders]
    if kind == "albert":  # its layers share one set of weights
        assert sizes[0] == sizes[2]
    else:
        assert sizes[0] < sizes[1] < sizes[2]


def test_lists_of_many_kinds(tiny_bert: Scorer) -> None:
    import pandas as pd
    import pyarrow as pa

    candidates, references = ["the cat", "a dog"], ["a cat", "the dog"]
    expected = columns(tiny_bert.score(candidates, references)).tolist()
    kinds: list[Callable[[list[str]], Any]] = [
        tuple,
        np.array,
        lambda x: np.array(x, dtype=object),
        pd.Series,
        pa.array,
        lambda x: pa.chunked_array([x]),
        iter,
        lambda x: pd.Series(x, index=[7, 7]),
    ]
    for make in kinds:
        assert columns(tiny_bert.score(make(candidates), make(references))).tolist() == expected
    nested = tiny_bert.score(candidates, np.array([["a cat", "x"], ["the dog", "y"]]))
    assert len(nested) == 2


@pytest.mark.parametrize(
    ("candidates", "references", "message"),
    [
        ("a cat", ["a cat"], "candidates is a single str: give a list"),
        (["a"], "a", "references is a single str"),
        (["a", "b"], ["a"], "candidates: 2 texts, references: 1"),
        ([], [], "empty lists"),
        ([1], ["a"], r"candidates\[0\] is 1 \(int\), not a text"),
        (["a", None], ["a", "b"], r"candidates\[1\] is None"),
        (["a"], [float("nan")], r"references\[0\] is nan \(float\)"),
        (["a"], [[]], r"references\[0\] is an empty list"),
        (["a"], [["b", 3]], r"references\[0\]\[1\] is 3"),
        ({"a": 1}, ["a"], "candidates is a dict"),
        ({"a", "b"}, ["a", "b"], "candidates is a set"),
        (["a", "b"], frozenset("ab"), "references is a frozenset"),
        (7, ["a"], "candidates is a int"),
    ],
)
def test_wrong_input_is_named(tiny_bert: Scorer, candidates: Any, references: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tiny_bert.score(candidates, references)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layer": 9}, "layer: 9 is too deep, .* has layers 0 to 3"),
        ({"layer": 1, "all_layers": True}, "layer and all_layers exclude each other"),
        ({"layer": 1, "baseline": "x.csv"}, "baseline needs rescale"),
        ({"layer": 1, "rescale": True, "baseline": "missing.csv"}, "there is no such baseline file"),
        ({"layer": 1, "rescale": True}, "needs the language of the texts: add lang"),
        ({"layer": 1, "rescale": True, "lang": "en"}, "no rescaling baseline for .* in 'en'"),
        ({"layer": 1, "device": "cuda:99"}, "not available on this machine"),
        ({"layer": 1, "device": "gpu"}, "unknown device 'gpu'"),
        ({"layer": 1, "memory": "lots"}, "cannot read the size 'lots'"),
        ({"layer": 1, "memory": "3"}, "too small"),
        ({"layer": 1, "multiref": "best"}, "there is no setting 'multiref'. Near: multi_ref"),
        ({"layer": 1, "multi_ref": "mean"}, "multi_ref: must be 'columnwise' or 'best'"),
        ({"layer": 1, "strict": True, "encoders": bsx.Encoders()}, "give strict to bsx.Encoders"),
    ],
)
def test_wrong_settings_are_named(tiny_model: Model, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Scorer(model=tiny_model("bert"), **settings)


def test_low_precision_only_where_the_hardware_has_it(
    tiny_model: Model, processor: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bsx.encode.run_config import choose_device, choose_dtype

    cpu = choose_device("cpu")
    processor()
    assert choose_dtype("auto", cpu) == choose_dtype("fp32", cpu) == "fp32"
    with pytest.raises(InputError, match="has no tf32 arithmetic"):  # which is of cards
        choose_dtype("tf32", cpu)
    with pytest.raises(InputError, match="this cpu has no bf16 arithmetic"):
        Scorer(model=tiny_model("bert"), layer=1, dtype="bf16", device="cpu")
    for flag in ("avx512_bf16", "amx_bf16", "arm_bf16"):
        processor(flag)
        assert choose_dtype("bf16", cpu) == "bf16"
        with pytest.raises(InputError, match="this cpu has no fp16 arithmetic"):
            choose_dtype("fp16", cpu)
    processor("amx_fp16")
    assert choose_dtype("fp16", cpu) == "fp16"
    assert choose_dtype("auto", cpu) == "fp32"
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # a PyTorch that cannot say
    with pytest.raises(InputError, match="this cpu has no bf16 arithmetic"):
        choose_dtype("bf16", cpu)


def test_idf_is_counted_given_or_loaded(tiny_model: Model, tmp_path: Path) -> None:
    from bsx import Idf

    folder = tiny_model("bert")
    references = ["the cat sat", "the dog", "the rain"]
    candidates = ["a cat", "the dog", "rain"]
    counted = Scorer(model=folder, layer=2, idf=True).score(candidates, references)
    given = Scorer(model=folder, layer=2, idf=references)
    assert columns(given.score(candidates, references)).tolist() == columns(counted).tolist()
    assert str(given.score(candidates, references).signature) == str(counted.signature)
    assert given.metric.given_idf is not None
    given.metric.given_idf.save(tmp_path / "idf.json")
    loaded = Scorer(model=folder, layer=2, idf=Idf.load(tmp_path / "idf.json"))
    # Another batch: equal within the tolerance that holds across batches, not to the last bit.
    alone = columns(loaded.score(candidates[:1], references[:1]))
    assert alone == pytest.approx(columns(counted)[:, :1], abs=1e-5)
    with pytest.raises(InputError, match="another tokenizer"):
        Scorer(model=tiny_model("roberta"), layer=2, idf=Idf.load(tmp_path / "idf.json"))
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(InputError, match="not an idf file"):
        Idf.load(tmp_path / "broken.json")


def test_saved_scores_come_back(tiny_bert: Scorer, tmp_path: Path) -> None:
    import csv

    import pyarrow.parquet as pq

    scores = tiny_bert.score(["the cat", "a\tdog"], ["a cat", "rain"])
    for suffix in ("tsv", "csv", "jsonl", "parquet"):
        scores.save(tmp_path / f"s.{suffix}")
        assert (tmp_path / f"s.{suffix}.signature.txt").read_text().strip() == str(scores.signature)
    with (tmp_path / "s.tsv").open(newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert np.array([row["f1"] for row in rows], dtype=np.float32).tolist() == scores.f1.tolist()
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert np.array([row["recall"] for row in lines], dtype=np.float32).tolist() == scores.recall.tolist()
    table = pq.read_table(tmp_path / "s.parquet")
    assert table.column("precision").to_pylist() == scores.precision.tolist()
    metadata = pq.read_metadata(tmp_path / "s.parquet").metadata
    assert metadata[b"bsx.signature"].decode() == str(scores.signature)
    assert json.loads(scores.to_json())["scores"]["f1"] == scores.f1.tolist()
    with pytest.raises(InputError, match="cannot tell the format"):
        scores.save(tmp_path / "s.xls")
    with pytest.raises(InputError, match="does not exist"):
        scores.save(tmp_path / "missing" / "s.tsv")
    assert not list(tmp_path.glob(".*"))


def test_blocks_end_where_the_same_texts_come_again_and_again(tiny_bert: Scorer) -> None:
    corpus = MemoryCorpus({"a": ["rain"] * 20_000, "b": ["the cat"] * 20_000}, ["rain"] * 20_000)
    cut = list(blocks_of(corpus, 100_000))
    assert [len(segments) for segments in cut] == [4096] * 4 + [20_000 - 4 * 4096]
    whole = tiny_bert.score(["rain", "the cat"] * 10_000, ["the cat", "rain"] * 10_000)
    alone = tiny_bert.score(["rain", "the cat"], ["the cat", "rain"])
    np.testing.assert_allclose(whole.f1.reshape(-1, 2), np.tile(alone.f1, (10_000, 1)), atol=1e-5)


def test_a_baseline_that_leaves_no_scale_is_refused(tiny_model: Model, tmp_path: Path) -> None:
    table = tmp_path / "b.csv"
    table.write_text("LAYER,P,R,F\n0,.9999999,.5,.5\n1,.2,.2,.2\n2,.5,.5,.9991\n3,.2,.9989,.2\n")
    wrong: list[tuple[dict[str, Any], int]] = [({"layer": 0}, 0), ({"layer": 2}, 2), ({"all_layers": True}, 0)]
    for layers, named in wrong:
        with pytest.raises(InputError, match=rf"baseline of layer {named}"):
            Scorer(model=tiny_model("bert"), rescale=True, baseline=table, **layers)
    for layer in (1, 3):
        assert Scorer(model=tiny_model("bert"), layer=layer, rescale=True, baseline=table)
