"""Every architecture of families.yaml: the same vectors in every batch and at every layer, those of transformers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bsx
from bsx.catalog.catalog import load_registry
from bsx.encode.architecture import Architecture
from bsx.encode.batching import Batcher
from bsx.encode.torch_encoder import TransformerEmbedder
from bsx.errors import InputError
from bsx.support.tensors import load_tensors
from tests.conftest import Model
from tests.helpers import tiny
from tests.helpers.sample import sampled

LENGTHS = (20, 12, 7, 20, 1)  # longer than the tiny models' windows
TOLERANCE = 1e-5  # fp32, for vectors of length 1, whose products are scores
FAMILIES = load_registry().families
GONE = ("xlm-prophetnet",)  # transformers has no code for it any more
KINDS = [kind for kind in FAMILIES if kind not in GONE]
LEFT_OUT = {
    "reads more than text: images, sound, places on a page, proteins, forms of characters": (
        "aria_text emu3 fuyu gemma3 gemma3n gemma4 gemma4_unified git got_ocr2 layoutlm llama4 mllama modernvbert "
        "moshi moss_transcribe_diarize musicgen musicgen_melody phi4_multimodal qwen3_5 qwen3_5_moe qwen4_exp tapas "
        "trocr whisper audioflamingo3 glmasr granite_speech granite_speech_plus musicflamingo nemo_speechlm "
        "qwen2_audio qwen3_asr seamless_m4t seamless_m4t_v2 t5gemma2 vibevoice_asr voxtral voxtral_realtime "
        "dots3_note esm esmc roc_bert neomme ultravbert cohere_compass_text"
    ),
    "a part of such a model, with no checkpoints of its own": "clip_text_model molmo2_text tipsv2_text_model",
    "drafts for another model": "gemma4_assistant gemma4_unified_assistant",
    "a token has several vectors a layer": "deepseek_v4 gemma3n_text hrm_text hy_v4 qwen4_exp_text",
    "layers read the states of all layers before them": "inkling2_text",
    "layers differ in their heads": "dots3_note_text",
    "vectors of layers are not those of tokens": "blt funnel perceiver pegasus_x",
    "hashing: vectors depend on chance": "reformer",
    "needs a graphics card's code to compute attention": "mra",
    "needs to be told the language of a text": "xmod",
    "a prompt of its own stands among the tokens, and it reads no mask": "cpmant",
    "the configurations of two models": "encoder-decoder t5gemma",
    "another name of an architecture that is there": "gpt-sw3 internlm3 iquestcoder",
}
QUICK = ("gpt2", "llama", "gemma3_text", "qwen3", "mamba", "nomic_bert", "m2m_100", "gemma4_text", "fnet")


def test_every_text_architecture_has_a_family_or_a_reason() -> None:
    from transformers.models.auto import modeling_auto

    kinds = ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "TEXT_ENCODING")
    text = {name for kind in kinds for name in getattr(modeling_auto, f"MODEL_FOR_{kind}_MAPPING_NAMES")}
    left_out = {name for names in LEFT_OUT.values() for name in names.split()}
    assert text - left_out - FAMILIES.keys() == set()
    assert left_out & FAMILIES.keys() == set()


def test_the_page_of_models_lists_every_family() -> None:
    page = (Path(__file__).parents[2] / "docs" / "models" / "choose.md").read_text(encoding="utf-8")
    section = page.partition("## Architectures")[2].partition("All others")[0]
    assert sorted(re.findall(r"`([\w-]+)`", section.partition("Encoders:")[2])) == sorted(KINDS)


def sequences(seed: int = 0) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(20, 200, length).tolist() for length in LENGTHS]


def vectors(embedder: TransformerEmbedder, texts: Sequence[Sequence[int]], budget: int) -> list[np.ndarray]:
    """Return each sequence's vectors (layers, tokens, dim), in batches of some tokens."""
    result: list[Any] = [None] * len(texts)
    for batch, states in Batcher(embedder, budget).run(texts):
        for row, i in enumerate(batch):
            result[i] = np.asarray(states)[:, row, : len(texts[i])]
    return result


def assert_same(got: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> None:
    for one, other in zip(got, expected, strict=True):
        length = np.linalg.norm(other, axis=-1, keepdims=True)
        np.testing.assert_allclose(one / length, other / length, atol=TOLERANCE)


@pytest.mark.parametrize("kind", sampled(KINDS, QUICK))
def test_vectors(kind: str, tiny_model: Model) -> None:
    import transformers

    folder = Path(tiny_model(kind))
    architecture = Architecture.read(folder, FAMILIES)
    family, depth = architecture.family, architecture.depth
    texts = sequences()
    every = TransformerEmbedder(architecture, layers=None, device="cpu")
    alone = vectors(every, texts, 1)
    # In any batch, in any order, with any padding.
    assert_same(vectors(every, texts, 1000), alone)
    assert_same(vectors(every, texts[::-1], 40)[::-1], alone)
    # As transformers has them: the layers below the top before the norm that the top went through.
    model: Any = transformers.AutoModel.from_pretrained(folder, config=architecture.config).eval()
    model = getattr(model, family.encoder) if family.encoder else model
    below = TransformerEmbedder(architecture, layers=None, device="cpu", final_norm=False)
    with torch.inference_mode():
        output = model(input_ids=torch.tensor([texts[0]]), output_hidden_states=True)
        plain = [*output.hidden_states[:-1], output.last_hidden_state]
        if not family.embedding:
            plain = [model.get_input_embeddings()(torch.tensor([texts[0]])), *plain[:-2], plain[-1]]
    assert len(plain) == depth + 1
    assert_same(vectors(below, texts[:1], 1), [torch.cat(plain).numpy()])
    # Cut at a layer, a model computes what the whole has there.
    for layer in range(depth + 1):
        cut = TransformerEmbedder(architecture, layers=[layer], device="cpu")
        assert_same(vectors(cut, texts, 1000), [text[[layer]] for text in alone])
    # A text as long as its table of positions is read.
    if 0 < (architecture.position_limit or 0) <= tiny.POSITIONS:
        assert len(vectors(every, [[20] * (architecture.position_limit or 0)], 1)) == 1
    # Tokens of decoders do not see those after them, and those of encoders do.
    changed = [texts[0][0], texts[0][1] + 1, *texts[0][2:]]
    before, after = (vectors(every, [text], 1)[0][-1, 0] for text in (texts[0], changed))
    assert np.allclose(before, after, rtol=0, atol=TOLERANCE * np.abs(before).max()) == family.causal


def test_a_decoder_scores_texts_without_an_entry(tiny_model: Model) -> None:
    candidates = ["the cat sat on the mat", "", "a dog", "he walked slowly to the old house by the river"]
    references = ["a dog sat on the mat", "the", "a dog", "they walked"]
    # Its tokenizer adds nothing: an empty text has no tokens.
    scorer = bsx.Scorer(model=tiny_model("gpt2"), layer=1, backend="torch")
    together = scorer.score(candidates, references).f1
    alone = [scorer.score([one], [other]).f1[0] for one, other in zip(candidates, references, strict=True)]
    np.testing.assert_allclose(alone, together, atol=TOLERANCE)
    assert together[1] == 0
    assert together[2] == pytest.approx(1)


def test_a_decoder_that_lacks_weights_is_refused(tmp_path: Path) -> None:
    folder = tiny.build("opt", tmp_path / "opt")
    lacking = [name for name in load_tensors(folder / "model.safetensors")[0] if "layers.0" in name][:1]
    tiny.rewrite(folder, lambda weights: {name: weight for name, weight in weights.items() if name not in lacking})
    with pytest.raises(InputError, match="lack 1 tensors"):
        bsx.Scorer(model=str(folder), layer=1, backend="torch").score(["a"], ["a"])


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_an_encoder_whose_decoder_is_absent_scores_the_same(kind: str, tmp_path: Path) -> None:
    folder = tiny.build(kind, tmp_path / kind)

    def figures() -> np.ndarray:
        return bsx.Scorer(model=str(folder), layer=1, backend="torch").score(["a cat"], ["the cat"]).f1

    whole = figures()
    tiny.rewrite(folder, lambda weights: {name: w for name, w in weights.items() if "decoder" not in name})
    np.testing.assert_array_equal(figures(), whole)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model_type": ["bert"]}, r"model_type \['bert'\]"),
        ({"model_type": "clip"}, "'clip'"),
        ({"model_type": "new", "auto_map": {"AutoModel": "somebody/code--modeling.Model"}}, "code of its own"),
        ({"model_type": "gemma3n_text"}, "gemma3n_text"),
    ],
)
def test_an_architecture_without_a_family_is_refused(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = tiny.rewrite(tiny.build("bert", tmp_path / "bert"), **more)
    with pytest.raises(InputError, match=message):
        bsx.Scorer(model=folder, layer=1, backend="torch")


def test_the_code_of_a_known_architecture_stands_for_its_own_with_a_note(tmp_path: Path) -> None:
    folder = tiny.build("llama", tmp_path / "llama")
    plain = bsx.Scorer(model=str(folder), layer=1, backend="torch")
    tiny.rewrite(folder, auto_map={"AutoModel": "modeling.Model"})
    noted = bsx.Scorer(model=str(folder), layer=1, backend="torch")
    np.testing.assert_array_equal(noted.score(["a cat"], ["the cat"]).f1, plain.score(["a cat"], ["the cat"]).f1)
    assert len(noted.notes) == len(plain.notes) + 1
