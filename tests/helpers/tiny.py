"""Tiny, seeded, random models of every architecture the registry names.

Each call writes a complete checkpoint folder (config, safetensors weights, tokenizer) that loads through the same
``from_pretrained`` code as a hub model. Random weights make a stricter test than trained ones: cosines take both
signs, so a padding cell that wins a maximum shows at once.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

LAYERS = 3
DIM = 32
POSITIONS = 64

WORDS = (  # noqa: SIM905 - prose reads better
    "the a an of to and in is was on that it for with as at by from he she they his her this have not are be but "
    "had which or were one all there cat dog sat mat house river bank old man young woman walked slowly quickly "
    "bridge rain train station report said year people government city water money ing ed s er est ly un re"
).split()
CHINESE = "我们在这里看见一只猫坐垫子上今天天气很好河边的人走得慢"
Maker = Callable[[Path], Any]
CHARACTERS = string.ascii_letters + string.digits + string.punctuation + "éüßñçøåœ" + CHINESE


def _wordpiece(special: list[str]) -> dict[str, Any]:
    pieces = list(special) + list(CHARACTERS) + ["##" + c for c in CHARACTERS]
    pieces += [w for w in WORDS if len(w) > 1] + ["##" + w for w in WORDS if len(w) > 1]
    return {"vocab": {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}}


def _byte_level(special: list[str]) -> dict[str, Any]:
    from tokenizers.pre_tokenizers import ByteLevel

    vocabulary = list(special) + sorted(ByteLevel.alphabet())
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        for spelled in (word, "Ġ" + word):
            left = spelled[0]
            for character in spelled[1:]:
                if (left, character) not in merges:
                    merges.append((left, character))
                left += character
                vocabulary.append(left)
    vocabulary += ["<mask>"] * ("<s>" in special)
    return {"vocab": {piece: index for index, piece in enumerate(dict.fromkeys(vocabulary))}, "merges": merges}


def _unigram(special: list[str]) -> dict[str, Any]:
    pieces = [(piece, 0.0) for piece in special] + [("▁", -3.0)]
    pieces += [(c, -8.0) for c in CHARACTERS]
    pieces += [(w, -7.0) for w in WORDS if len(w) > 1] + [("▁" + w, -5.0) for w in WORDS]
    return {"vocab": list(dict(pieces).items())}


def _made(vocabulary: Callable[[list[str]], dict[str, Any]], name: str, special: str, **settings: Any) -> Maker:
    """Return what makes a tokenizer of transformers with a vocabulary of this kind."""

    def make(folder: Path) -> Any:
        import transformers

        return getattr(transformers, name)(**vocabulary(special.split()), **settings)

    return make


def _words_tokenizer(folder: Path, *, name: str) -> Any:
    """Plain-Python BPE over words: XLM marks the ends of words by ``</w>``, BlenderbotSmall pieces inside by ``@@``."""
    import transformers

    xlm = name == "XLMTokenizer"
    special = ["<s>", "</s>", "<pad>", "<unk>"] + [f"<special{i}>" for i in range(10)]
    vocabulary = special if xlm else ["__null__", "__start__", "__end__", "__unk__"]
    vocabulary += list(CHARACTERS) + [c + ("</w>" if xlm else "@@") for c in CHARACTERS]
    merges = []
    for word in WORDS:
        left = word[0]
        for i, character in enumerate(word[1:], start=2):
            right = character + ("</w>" if i == len(word) else "")
            if (left, right) not in merges:
                merges.append((left, right))
            left += right
            inside = "" if i == len(word) else "@@"
            vocabulary.append(left if xlm else left.removesuffix("</w>") + inside)
    folder.mkdir(parents=True, exist_ok=True)
    unique = {piece: index for index, piece in enumerate(dict.fromkeys(vocabulary))}
    (folder / "vocab.json").write_text(json.dumps(unique), encoding="utf-8")
    lines = [f"{a} {b} 1" for a, b in merges] if xlm else ["#version: 0.2", *(f"{a} {b}" for a, b in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return getattr(transformers, name)(str(folder / "vocab.json"), str(folder / "merges.txt"))


def _prophetnet_tokenizer(folder: Path) -> Any:
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "prophetnet.tokenizer"
    pieces = _wordpiece(["[PAD]", "[X_SEP]", "[SEP]", "[UNK]", "[CLS]", "[MASK]"])["vocab"]
    file.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    return transformers.ProphetNetTokenizer(str(file))


def _plain_bpe_tokenizer(folder: Path) -> Any:
    """ModernBERT's and EuroBERT's tokenizers have no class of their own: all is said in tokenizer.json."""
    import tokenizers
    import transformers
    from tokenizers import decoders, models, pre_tokenizers, processors

    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    vocabulary, merges = _byte_level(special).values()
    inner = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    names = dict(zip(("unk_token", "cls_token", "sep_token", "pad_token", "mask_token"), special, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **names)


_BERT = "[PAD] [UNK] [CLS] [SEP] [MASK]"
_ROBERTA = "<s> <pad> </s> <unk>"
# How to make the tokenizer, in a folder.
RECIPES: dict[str, Maker] = {
    "bert": _made(_wordpiece, "BertTokenizer", _BERT),
    "bert-cased": _made(_wordpiece, "BertTokenizer", _BERT, do_lower_case=False, strip_accents=False),
    "bert-chinese": _made(_wordpiece, "BertTokenizer", _BERT, do_lower_case=False),
    "roberta": _made(_byte_level, "RobertaTokenizer", _ROBERTA),
    "xlm": partial(_words_tokenizer, name="XLMTokenizer"),
    "xlnet": _made(_unigram, "XLNetTokenizer", "<unk> <s> </s> <cls> <sep> <pad> <mask>"),
    "xlm-roberta": _made(_unigram, "XLMRobertaTokenizer", _ROBERTA),
    "distilbert": _made(_wordpiece, "DistilBertTokenizer", _BERT),
    "electra": _made(_wordpiece, "ElectraTokenizer", _BERT),
    "albert": _made(_unigram, "AlbertTokenizer", "<pad> <unk> [CLS] [SEP] [MASK]"),
    "deberta": _made(_byte_level, "DebertaTokenizer", "[CLS] [PAD] [SEP] [UNK] [MASK]"),
    "deberta-v2": _made(_unigram, "DebertaV2Tokenizer", "[PAD] [CLS] [SEP] [UNK]", unk_id=3),
    "mpnet": _made(_wordpiece, "MPNetTokenizer", "<s> <pad> </s> [UNK] <mask>"),
    "t5": _made(_unigram, "T5Tokenizer", "<pad> </s> <unk>", extra_ids=4),
    "byt5": _made(lambda special: {}, "ByT5Tokenizer", ""),
    "bart": _made(_byte_level, "BartTokenizer", _ROBERTA),
    "mbart": _made(_unigram, "MBartTokenizer", _ROBERTA, src_lang="en_XX"),
    "mt5": _made(_unigram, "T5Tokenizer", "<pad> </s> <unk>", extra_ids=4),
    "pegasus": _made(_unigram, "PegasusTokenizer", "<pad> </s> <mask_1> <mask_2> <unk>", offset=6),
    "led": _made(_byte_level, "RobertaTokenizer", _ROBERTA),
    "blenderbot": _made(_byte_level, "BlenderbotTokenizer", _ROBERTA),
    "blenderbot-small": partial(_words_tokenizer, name="BlenderbotSmallTokenizer"),
    "prophetnet": _prophetnet_tokenizer,
    "convbert": _made(_wordpiece, "BertTokenizer", _BERT),
    "squeezebert": _made(_wordpiece, "BertTokenizer", _BERT),
    "big_bird": _made(_unigram, "BigBirdTokenizer", "<pad> </s> <s> <unk> [CLS] [SEP] [MASK]"),
    "longformer": _made(_byte_level, "RobertaTokenizer", _ROBERTA),
    "modernbert": _plain_bpe_tokenizer,
    "eurobert": _plain_bpe_tokenizer,
    "xlm-roberta-xl": _made(_unigram, "XLMRobertaTokenizer", _ROBERTA),
}
TYPES = {"bert-cased": "bert", "bert-chinese": "bert", "byt5": "t5"}


def build(kind: str, folder: Path, *, seed: int = 7) -> Path:
    """Write a random checkpoint of one architecture, or one of ``OTHERS``, into ``folder``.

    Weights are drawn wider than the usual initialisation, so that the layers differ visibly from one another.
    """
    import torch
    import transformers

    from tests.helpers.architectures import configuration

    if kind in OTHERS:
        return OTHERS[kind](folder, seed)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = RECIPES.get(kind, _plain_bpe_tokenizer)(folder)
    config = configuration(TYPES.get(kind, kind), len(tokenizer))
    model_class: Any = transformers.AutoModel._model_mapping[type(config)]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(config)
        for name, parameter in sorted(model.named_parameters()):
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.35)
            elif name.endswith("bias"):
                torch.nn.init.normal_(parameter, std=0.1)
            elif "norm" in name.lower():
                torch.nn.init.normal_(parameter, mean=1.0, std=0.3)
    tokenizer.model_max_length = POSITIONS
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _bleurt_weights(config: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Return name -> shape of every weight of a BLEURT checkpoint in PyTorch."""
    dim, small, inner = config["hidden_size"], config["embedding_size"], config["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "bleurt.embeddings.word_embeddings.weight": (config["vocab_size"], small),
        "bleurt.embeddings.position_embeddings.weight": (config["max_position_embeddings"], small),
        "bleurt.embeddings.token_type_embeddings.weight": (config["type_vocab_size"], small),
        "bleurt.embeddings.LayerNorm.weight": (small,),
        "bleurt.embeddings.LayerNorm.bias": (small,),
    }
    linear = {"bleurt.pooler.dense": (dim, dim), "classifier": (1, dim)}
    if small != dim:
        linear["bleurt.encoder.embedding_projection"] = (dim, small)
    for layer in range(config["num_hidden_layers"]):
        at = f"bleurt.encoder.layer.{layer}"
        linear |= {f"{at}.attention.self.{part}": (dim, dim) for part in ("query", "key", "value")}
        linear[f"{at}.attention.output.dense"] = (dim, dim)
        linear[f"{at}.intermediate.dense"] = (inner, dim)
        linear[f"{at}.output.dense"] = (dim, inner)
        for norm in (f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"):
            shapes |= {f"{norm}.weight": (dim,), f"{norm}.bias": (dim,)}
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def rewrite(folder: Path | str, change: Callable[[dict[str, Any]], dict[str, Any]] | None = None, **config: Any) -> str:
    """Change the weights of a checkpoint where it lies, and settings in its ``config.json``; return its folder."""
    from safetensors.torch import load_file, save_file

    file, settings = Path(folder) / "model.safetensors", Path(folder) / "config.json"
    if change is not None:
        save_file(change(load_file(file)), file, metadata={"format": "pt"})
    if config:
        settings.write_text(json.dumps({**json.loads(settings.read_text(encoding="utf-8")), **config}))
    return str(folder)


def build_bleurt(folder: Path, seed: int = 7, *, embedding_size: int = 16) -> Path:
    """Write a random BLEURT checkpoint, as its conversions to PyTorch lay it out, into ``folder``."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = RECIPES["bert"](folder)
    shape = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "hidden_size": DIM}
    shape |= {"num_hidden_layers": LAYERS, "num_attention_heads": 4, "intermediate_size": 48}
    shape |= {"max_position_embeddings": POSITIONS, "embedding_size": embedding_size, "type_vocab_size": 2}
    config = {"model_type": "bleurt", "hidden_act": "gelu", "layer_norm_eps": 1e-12, **shape}
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, size in _bleurt_weights(shape).items():
        mean = 1.0 if name.endswith("LayerNorm.weight") else 0.0
        # A small head keeps scores about 0, where BLEURT's are.
        spread = 0.1 if len(size) == 1 or name.startswith("classifier") else 0.35
        weights[name] = mean + spread * torch.randn(size, generator=generator)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer.model_max_length = POSITIONS
    tokenizer.save_pretrained(folder)
    return folder


def build_metricx(folder: Path, seed: int = 7, *, tied: bool = False) -> Path:
    """Write a random MetricX checkpoint with a tokenizer into ``folder``: mT5 with all its pieces, and a last layer."""
    import torch
    from safetensors.torch import save_file

    dim, pieces = 8, 250112
    shape = {"d_model": dim, "d_kv": 4, "d_ff": 12, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2}
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(seed)
    sizes: dict[str, tuple[int, ...]] = {"shared.weight": (pieces, dim)}
    if not tied:
        sizes["lm_head.weight"] = (pieces, dim)
    for side in ("encoder", "decoder"):
        kinds = ["SelfAttention", *(["EncDecAttention"] if side == "decoder" else [])]
        for block in range(2):
            at = f"{side}.block.{block}.layer"
            for place, kind in enumerate(kinds):
                sizes |= {f"{at}.{place}.{kind}.{part}.weight": (8, 8) for part in "qkvo"}
                sizes[f"{at}.{place}.layer_norm.weight"] = (dim,)
            if block == 0:
                sizes[f"{at}.0.SelfAttention.relative_attention_bias.weight"] = (32, 2)
            last = len(kinds)
            sizes |= {f"{at}.{last}.DenseReluDense.{part}.weight": (12, dim) for part in ("wi_0", "wi_1")}
            sizes |= {f"{at}.{last}.DenseReluDense.wo.weight": (dim, 12), f"{at}.{last}.layer_norm.weight": (dim,)}
        sizes[f"{side}.final_layer_norm.weight"] = (dim,)
    weights = {}
    for name, size in sizes.items():
        mean = 1.0 if name.endswith("norm.weight") else 0.0
        weights[name] = mean + 0.5 * torch.randn(size, generator=generator)
    # The score's row is such that scores lie between the ends, where they differ.
    row = torch.tensor([-4.0, -4, -4, -4, 4, -4, -4, 4])
    weights["shared.weight" if tied else "lm_head.weight"][250089] = row
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config: dict[str, Any] = {"model_type": "mt5", "architectures": ["MT5ForRegression"], "vocab_size": pieces, **shape}
    config |= {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "tie_word_embeddings": tied}
    config |= {"feed_forward_proj": "gated-gelu", "layer_norm_epsilon": 1e-6}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    RECIPES["t5"](folder).save_pretrained(folder)
    return folder


def build_gpt2(folder: Path, seed: int = 7) -> Path:
    """Write a random causal language model with a byte-level tokenizer into ``folder``."""
    import torch
    import transformers

    tokenizer = transformers.GPT2Tokenizer(**_byte_level(["<|endoftext|>"]))
    sizes: dict[str, Any] = {"n_positions": POSITIONS, "n_embd": DIM, "n_layer": 2, "n_head": 4}
    config = transformers.GPT2Config(vocab_size=len(tokenizer), bos_token_id=0, eos_token_id=0, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.GPT2LMHeadModel(config)
        for _, parameter in sorted(model.named_parameters()):
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.35)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build_trained(folder: Path, seed: int = 7) -> Path:
    """Write a trained metric of two networks, with the first weights of their seeds, and its encoder."""
    from bsx.encode.session import Encoders
    from bsx.networks.architectures import build_network
    from bsx.networks.config import TrainConfig
    from bsx.networks.encoder import FrozenEncoder
    from bsx.networks.record import MODEL, Epoch, MemberRecord, ModelRecord
    from bsx.support.provenance import file_digest
    from bsx.support.tensors import save_tensors

    build("bert", folder / "encoder")
    encoder = FrozenEncoder(Encoders(model=str(folder / "encoder"), device="cpu")).record
    config = TrainConfig(hidden=8)
    members = []
    for number in (seed, seed + 1):
        network = build_network("esim", config, layers=encoder.layers, dimensions=encoder.dimensions, seed=number)
        file = folder / f"seed-{number}.safetensors"
        save_tensors(network.state_dict(), file, {})
        log = [Epoch(epoch=1, loss=0.0, valid=0.0, learning_rate=config.learning_rate)]
        members.append(MemberRecord(seed=number, file=file.name, sha256=file_digest(file), log=log))
    record: dict[str, Any] = {"architecture": "esim", "settings": config, "encoder": encoder, "members": members}
    record |= {part: {"instances": 0, "digest": ""} for part in ("train", "valid")}
    record |= {"scale": 1.0, "shift": 0.0, "low": -2.0, "ensemble_valid": 0.0, "versions": {}}
    ModelRecord.model_validate(record).write(folder / MODEL)
    return folder


# What the zoo's metrics read that is no encoder of the registry.
OTHERS: dict[str, Callable[[Path, int], Path]] = {
    "bleurt": build_bleurt,
    "gpt2": build_gpt2,
    "metricx": build_metricx,
    "trained": build_trained,
}


SYNONYMS = [("cat", "kitten"), ("rain", "shower"), ("house", "home")]


def build_wordnet(folder: Path) -> Path:
    """Write a WordNet 3.0 database of a few nouns, with the synonyms above, into ``folder``."""
    folder.mkdir(parents=True)
    head = "  1 This file is a stand-in for that of WordNet 3.0 Copyright 2006 \n"
    data, index = head, head
    for words in SYNONYMS:
        offset = f"{len(data):08d}"
        data += f"{offset} 03 n {len(words):02x} {' '.join(f'{word} 0' for word in words)} 000 | a gloss  \n"
        index += "".join(f"{word} n 1 0 1 0 {offset}  \n" for word in words)
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text(data if part == "noun" else head, encoding="utf-8")
        (folder / f"index.{part}").write_text(index if part == "noun" else head, encoding="utf-8")
        (folder / f"{part}.exc").write_text("", encoding="utf-8")
    lexnames = ["adj.all", "adj.pert", "adv.all", "noun.Tops"]
    (folder / "lexnames").write_text("".join(f"{i:02d}\t{n}\t3\n" for i, n in enumerate(lexnames)), encoding="utf-8")
    for name in ("cntlist.rev", "index.sense"):
        (folder / name).write_text("", encoding="utf-8")
    return folder
