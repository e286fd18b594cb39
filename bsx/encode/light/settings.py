"""What ``config.json`` says of an architecture whose graph can be built, with what it leaves unsaid filled in."""

from __future__ import annotations

from bsx.support.untyped import JsonObject

_BERT: JsonObject = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
_ROBERTA = {**_BERT, "pad_token_id": 1}
# model_type -> what transformers takes for what is not said
DEFAULTS: dict[str, JsonObject] = {
    "bert": _BERT,
    "roberta": {**_ROBERTA, "vocab_size": 50265},
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "mpnet": {**_ROBERTA, "vocab_size": 30527, "relative_attention_num_buckets": 32},
    "electra": {
        **_BERT,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
        "embedding_size": 128,
    },
    "albert": {
        **_BERT,
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_hidden_groups": 1,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "inner_group_num": 1,
        "hidden_act": "gelu_new",
    },
    "distilbert": {**_BERT, "num_hidden_layers": 6, "type_vocab_size": 0},
}
TYPED = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "albert")
"""Architectures that add a vector for the type of a token, whatever is said."""
_DISTILBERT = {
    "dim": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "hidden_dim": "intermediate_size",
    "activation": "hidden_act",
}
ACTIVATIONS = {
    "gelu": "Gelu",
    "relu": "Relu",
    **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh", "gelu_fast"), "FastGelu"),
}
"""The runtime's operator of each activation."""


def known(said: JsonObject) -> bool:
    """Tell whether `filled` can fill in what ``config.json`` leaves unsaid."""
    return said.get("model_type") in DEFAULTS


def filled(said: JsonObject) -> JsonObject:
    """Return the settings of a known architecture under BERT's names, unsaid ones included.

    Raises:
        ValueError: if a number is none, or none that can be.
    """
    kind = said["model_type"]
    names = _DISTILBERT if kind == "distilbert" else {}
    settings = {**DEFAULTS[kind], **{names.get(name, name): value for name, value in said.items()}}
    for name, usual in DEFAULTS[kind].items():
        value = settings[name]
        if name == "pad_token_id" and value is None:
            settings[name] = usual
        elif isinstance(usual, int | float) and type(value) is not type(usual):  # as transformers has them
            raise ValueError(f"it says {name} {value!r}")
    sizes = ["vocab_size", "hidden_size", "num_attention_heads", "intermediate_size", "max_position_embeddings"]
    sizes += ["type_vocab_size"] * (kind in TYPED) + ["embedding_size"] * ("embedding_size" in DEFAULTS[kind])
    for name in sizes:
        if not settings[name] >= 1:
            raise ValueError(f"it says {name} {settings[name]}")
    if not 0 <= settings["layer_norm_eps"] < 1:
        raise ValueError(f"it says layer_norm_eps {settings['layer_norm_eps']}")
    for name in ("is_decoder", "add_cross_attention"):
        if settings.get(name):
            raise ValueError(
                f"it says {name} {settings[name]!r}: it is no encoder, its tokens do not see those after them"
            )
    if not -settings["vocab_size"] <= settings["pad_token_id"] < settings["vocab_size"]:
        raise ValueError(f"it says pad_token_id {settings['pad_token_id']}, of {settings['vocab_size']} tokens")
    return settings
