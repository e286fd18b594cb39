"""The shape of a tiny model of each architecture of transformers that has a family."""

from __future__ import annotations

from typing import Any

from tests.helpers.tiny import DIM, LAYERS, POSITIONS

# Fields of configurations by what they count: each architecture has some of them.
_SIZES: dict[int, str] = {
    DIM: "hidden_size d_model n_embd emb_dim dim conv_dim lru_width",
    16: "embedding_size moe_intermediate_size expert_ffn_hidden_size shared_expert_intermediate_size "
    "moe_shared_expert_intermediate_size shared_intermediate_size index_head_dim qk_head_dim",
    LAYERS: "num_hidden_layers num_layers n_layers n_layer encoder_layers num_encoder_layers num_blocks",
    1: "decoder_layers num_decoder_layers first_k_dense_replace n_group topk_group mamba_n_groups n_groups",
    4: "num_attention_heads num_heads n_heads n_head encoder_attention_heads decoder_attention_heads num_experts "
    "num_local_experts n_routed_experts moe_num_experts time_step_rank linear_num_value_heads mamba_dt_rank",
    2: "num_key_value_heads num_kv_heads num_experts_per_tok moe_topk moe_k top_k_experts n_mamba_heads mamba_expand "
    "linear_num_key_heads index_n_heads",
    8: "head_dim d_kv kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim sliding_window "
    "attention_chunk_size chunk_size mamba_chunk_size mamba_n_heads mamba_num_heads mamba_d_head mamba_head_dim "
    "mamba_d_state ssm_state_size state_size linear_key_head_dim linear_value_head_dim linear_head_dim "
    "hidden_size_per_layer_input global_head_dim query_pre_attn_scalar rotary_dim d_rel",
    48: "intermediate_size d_ff encoder_ffn_dim decoder_ffn_dim ffn_dim hidden_dim n_inner ffn_hidden_size dim_ff dff "
    "d_inner dense_ffn_hidden_size mlp_intermediate_size intermediate_size_mlp dense_intermediate_size",
    64: "mamba_d_ssm index_topk",
    POSITIONS: "max_position_embeddings n_positions seq_length max_seq_len n_ctx",
}
SIZES = {name: size for size, names in _SIZES.items() for name in names.split()}

_EVERY_HEAD = {"num_key_value_heads": 4}
_WHOLE_HEAD = {"head_dim": 8}
_LINEAR = {"layer_types": ["linear_attention", "full_attention", "linear_attention"]}
_TWO_MORE = {"max_position_embeddings": POSITIONS + 2, "type_vocab_size": 1}  # rows that no token uses
_DISENTANGLED = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
_WINDOWS = {"attention_window": [8] * LAYERS}
# What an architecture wants beside that; numbers of special tokens are those of its tokenizer in `tiny`.
MORE: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("axk1", "axk2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa"), _EVERY_HEAD),
    **dict.fromkeys(("longcat_flash", "minicpm3", "mistral_large4_text", "youtu"), _EVERY_HEAD),
    **dict.fromkeys(("hunyuan_v1_dense", "hunyuan_v1_moe", "ministral"), _WHOLE_HEAD),
    **dict.fromkeys(("qwen3_5_moe_text", "qwen3_5_text", "qwen3_next"), _LINEAR),
    **dict.fromkeys(("roberta", "xlm-roberta", "mpnet", "xlm-roberta-xl"), _TWO_MORE),
    "bailing_hybrid": _EVERY_HEAD
    | dict.fromkeys(("n_group", "topk_group", "layer_group_size", "num_experts_per_token"), 2),
    "big_bird": {"block_size": 16, "num_random_blocks": 1, "eos_token_id": 1, "bos_token_id": 2, "sep_token_id": 5},
    "blenderbot": {"pad_token_id": 1},
    "convbert": {"conv_kernel_size": 3, "pad_token_id": 0},
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8},
        "ffn_config": {"hidden_size": DIM, "ffn_hidden_size": 16, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "deberta": {**_DISENTANGLED, "pad_token_id": 1},
    "deberta-v2": _DISENTANGLED
    | {
        "position_buckets": 16,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "max_relative_positions": POSITIONS,
    },
    "deepseek_v2": {**_EVERY_HEAD, "num_experts_per_tok": 2},
    "dots1": {"n_shared_experts": 1, "n_routed_experts": 4, "num_experts_per_tok": 2},
    "eurobert": {"bos_token_id": 1, "eos_token_id": 2, "mask_token_id": 4},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_d_head": 8, "mamba_n_heads": 8},
    "fsmt": {"src_vocab_size": 0, "tgt_vocab_size": 0, "langs": ["en", "de"]},
    "gemma4_text": {"num_kv_shared_layers": 1, "layer_types": ["full_attention"] * LAYERS},
    "gpt_neo": {"attention_types": [[["global", "local", "global"], 1]], "window_size": 8},
    "kimi_linear": {**_EVERY_HEAD, "linear_num_heads": 4, "num_experts_per_tok": 2, "num_local_experts": 4},
    "led": {**_WINDOWS, "max_encoder_position_embeddings": POSITIONS, "max_decoder_position_embeddings": POSITIONS},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "conv"]},
    "longformer": {**_TWO_MORE, **_WINDOWS},
    "luke": {"entity_vocab_size": 8, "entity_emb_size": 8},
    "mamba2": {"num_heads": 8},
    "mobilebert": {"intra_bottleneck_size": 16, "true_hidden_size": 16},
    "modernbert": dict.fromkeys(("bos_token_id", "cls_token_id"), 1)
    | {"eos_token_id": 2, "sep_token_id": 2, "local_attention": 8},
    "prophetnet": {"max_position_embeddings": POSITIONS + 1}
    | dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    "squeezebert": {"embedding_size": DIM},
    "xlnet": {"pad_token_id": 5},
    "xlstm": {"num_heads": 4, "qk_dim_factor": 1.0},
    "zamba": {"layers_block_type": ["mamba", "hybrid", "hybrid"]},
    "zamba2": {"layers_block_type": ["mamba", "hybrid", "hybrid"], "n_mamba_heads": 8},
    "zaya": {"num_experts_per_tok": 1},
}


def configuration(kind: str, vocabulary: int) -> Any:
    """Return an architecture's configuration with small numbers."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config_class = CONFIG_MAPPING[kind]
    usual = config_class().to_dict()
    renamed = getattr(config_class, "attribute_map", {})
    sizes = {name: size for name, size in SIZES.items() if usual.get(name) is not None and name not in renamed}
    sizes |= {name: size for name, size in SIZES.items() if name == "num_key_value_heads" and name in usual}
    sizes |= {name: vocabulary for name in usual if name in ("vocab_size", "vocab_size_per_layer_input")}
    for name, value in usual.items():  # special tokens of the small vocabulary
        if name.endswith("_token_id") and isinstance(value, int):
            sizes[name] = min(value, 3)
    more = {
        name: vocabulary if name.endswith("vocab_size") and not value else value
        for name, value in MORE.get(kind, {}).items()
    }
    return config_class(**sizes | more)
