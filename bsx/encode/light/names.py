"""What the arrays of an encoder are called in the checkpoints of each architecture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """Names of arrays, without ``.weight`` and ``.bias``; those of a layer stand behind ``layer``.

    Attributes:
        prefix: what stands before every name in a checkpoint that holds more than the encoder.
        layer: a layer, with its number for ``{}``.
        query: what makes queries, as ``key`` and ``value`` make keys and values.
        mixed: what is applied to what attention mixed, and ``mixed_norm`` the normalisation after it.
        inner: the first matrix of the feed-forward part, ``outer`` the second, ``outer_norm`` the normalisation.
        projection: from the size of embeddings to that of states, where they differ.
        norm: the normalisation of embeddings.
    """

    prefix: str
    layer: str = "encoder.layer.{}."
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    mixed: str = "attention.output.dense"
    mixed_norm: str = "attention.output.LayerNorm"
    inner: str = "intermediate.dense"
    outer: str = "output.dense"
    outer_norm: str = "output.LayerNorm"
    words: str = "embeddings.word_embeddings"
    positions: str = "embeddings.position_embeddings"
    types: str = "embeddings.token_type_embeddings"
    norm: str = "embeddings.LayerNorm"
    projection: str = "embeddings_project"


NAMES = {
    "bert": Names("bert."),
    "roberta": Names("roberta."),
    "xlm-roberta": Names("roberta."),
    "camembert": Names("roberta."),
    "electra": Names("electra."),
    "mpnet": Names(
        "mpnet.",
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        mixed="attention.attn.o",
        mixed_norm="attention.LayerNorm",
    ),
    "distilbert": Names(
        "distilbert.",
        layer="transformer.layer.{}.",
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        mixed="attention.out_lin",
        mixed_norm="sa_layer_norm",
        inner="ffn.lin1",
        outer="ffn.lin2",
        outer_norm="output_layer_norm",
    ),
    "albert": Names(
        "albert.",
        layer="encoder.albert_layer_groups.0.albert_layers.0.",
        query="attention.query",
        key="attention.key",
        value="attention.value",
        mixed="attention.dense",
        mixed_norm="attention.LayerNorm",
        inner="ffn",
        outer="ffn_output",
        outer_norm="full_layer_layer_norm",
        projection="encoder.embedding_hidden_mapping_in",
    ),
}
