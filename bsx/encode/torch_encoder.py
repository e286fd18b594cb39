"""Encoders run by PyTorch through transformers, cut at the layer that is scored."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Literal

import torch

from bsx.catalog.entries.models import Family
from bsx.encode.architecture import NAMES, Architecture, StoredArrays, has_safetensors
from bsx.encode.run_config import Precision
from bsx.errors import InputError
from bsx.models.files import WEIGHTS, part_of
from bsx.support.arrays import Array, device_type, fetch, finite, finite_later, short_of_memory, tensor
from bsx.support.untyped import Untyped, blaming

TORCH_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
"""The format of weights and vectors."""


@contextlib.contextmanager
def _quiet_loading() -> Iterator[None]:
    """Silence transformers' progress bar, load report and warnings: what matters of it is checked below."""
    from transformers.utils import logging as untyped

    logging: Untyped = untyped

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


class _Padded(torch.Tensor):
    """A mask that holds padding, as its maker knows.

    transformers asks every mask whether it is all ones, to do without it. The answer of a graphics card comes when it
    has done all that it was given before, so that it would idle until the next batch is given to it. This mask knows.
    """

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Untyped], types: Untyped, args: tuple[Untyped, ...] = (), kwargs: Untyped = None
    ) -> Untyped:
        """Answer that question; do anything else with a plain tensor, but for moves and changes of its format."""
        if func is torch.Tensor.all and len(args) == 1 and not kwargs:
            return False
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        if not isinstance(result, torch.Tensor) or func is torch.Tensor.as_subclass:
            return result
        return result.as_subclass(cls if func is torch.Tensor.to and isinstance(args[0], cls) else torch.Tensor)


class TransformerEmbedder:
    """A transformers encoder that holds and runs no layer above the highest wanted one.

    Args:
        architecture: what `Architecture.read` says of the checkpoint.
        layers: the layers to return, or None for all layers, the embedding layer included.
        device: where to run.
        dtype: number format of weights and activations, but int8; vectors are returned in it. tf32 is fp32 whose
            matrix products a card computes from numbers of 10 bits.
        final_norm: for pre-norm encoders (T5, mBART) pass every layer through the encoder's final normalisation, so
            that layer k of ``all layers`` equals the encoder cut at k. False returns the residual stream below the
            top layer, as bert-score's ``all_layers`` does.

    Attributes:
        module: the network; its output holds more than `hidden_states` returns.
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        layers: Sequence[int] | None,
        device: str,
        dtype: Precision = "fp32",
        final_norm: bool = True,
    ) -> None:
        self._architecture = architecture
        if has_safetensors(architecture.folder):  # damaged ones are told better here
            names = NAMES.get(architecture.kind)
            StoredArrays(architecture.folder, "" if names is None else names.prefix)
        config = copy.deepcopy(architecture.config)
        self._family = architecture.family
        depth = architecture.depth
        for layer in layers or ():
            architecture.check_layer(layer)
        self.layers = list(range(depth + 1)) if layers is None else sorted(set(layers))
        self.device = device
        self.pad_id = architecture.pad_id
        self.ignores_padding = self._family.padding
        self.at_once = 1
        self.queues = device_type(device) == "cuda"
        whole = self._family.whole or len(self.layers) == depth + 1
        self._built = depth if whole else max(*self.layers, self._family.fewest_layers)
        self._final_norm = final_norm
        self._multiplies: Literal["highest", "high"] = "high" if dtype == "tf32" else "highest"
        if self._built < depth:
            _cut(config, self._family, self._built)
        self.module = self._load(architecture, config, TORCH_DTYPES[dtype])
        self.dimensions = architecture.dimensions

    def _load(self, architecture: Architecture, config: Untyped, dtype: torch.dtype) -> Untyped:
        import transformers

        folder = architecture.folder
        loader = getattr(transformers, self._family.model_class)
        weights = part_of(folder, "its weights", WEIGHTS)
        with _quiet_loading(), blaming(f"{folder}: {weights} cannot be loaded"):
            try:
                model, report = loader.from_pretrained(
                    folder,
                    config=config,
                    dtype=dtype,
                    local_files_only=True,
                    trust_remote_code=architecture.trust_remote_code,
                    weights_only=True,
                    output_loading_info=True,
                )
            except RuntimeError as error:
                if "ignore_mismatched_sizes" in str(error):  # the library's hint is to a report that nobody sees
                    raise ValueError("their shapes are not those that its config.json says") from error
                raise
        spared = ("pooler", *(() if self._family.causal else ("decoder",)), *self._family.computed)
        absent = [name for name in report["missing_keys"] if not any(part in name for part in spared)]
        if absent:
            raise InputError(
                f"{weights} lack {len(absent)} tensors of the encoder, {absent[0]} among them", file=folder
            )
        encoder = getattr(model, self._family.encoder) if self._family.encoder is not None else model
        for name, weight in encoder.named_parameters():
            if not finite(weight):
                raise InputError(
                    f"{weights} cannot be used: {name} holds what is no finite number, or too large a one", file=folder
                )
        return encoder.to(self.device).eval().requires_grad_(False)

    def begin(self, ids: Array, mask: Array | None) -> Callable[[], Array]:
        """Give a padded batch to a graphics card; see `bsx.encode.batching.Embedder.begin`."""
        done: list[tuple[Array, Callable[[], bool]]] = []

        @torch.inference_mode()
        def work() -> None:
            before = torch.get_float32_matmul_precision()
            torch.set_float32_matmul_precision(self._multiplies)  # as the number format says, whoever said otherwise
            try:
                states = self.hidden_states(tensor(ids), None if mask is None else tensor(mask).as_subclass(_Padded))
            finally:
                torch.set_float32_matmul_precision(before)
            vectors = fetch(states) if device_type(self.device) == "cpu" else states
            done.append((vectors, finite_later(vectors)))

        if (short := short_of_memory(work)) is not None:
            raise MemoryError(short)
        vectors, is_finite = done[0]

        def finished() -> Array:
            if not is_finite():
                self._architecture.check_vectors(vectors, mask)
            return vectors

        return finished

    def hidden_states(self, ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Compute the vectors of a padded batch, as a tensor.

        Without a mask nothing is padded: transformers would have to wait for a graphics card to find that out of one.
        A mask that holds padding says so without waiting, as `_Padded`.
        """
        wants_states = self.layers != [self._built]
        output = self.module(input_ids=ids, attention_mask=mask, output_hidden_states=wants_states)
        if not wants_states:
            return output.last_hidden_state[None]  # type: ignore[no-any-return]
        states = list(output.hidden_states)
        if not self._family.embedding:
            states = [self.module.get_input_embeddings()(ids), *states[:-1]]
        states[-1] = output.last_hidden_state
        if self._final_norm and self._family.final_norm is not None:
            norm = attrgetter(self._family.final_norm)(self.module)
            states[:-1] = [norm(state) for state in states[:-1]]
        return torch.stack([states[layer] for layer in self.layers])


def _cut(config: Untyped, family: Family, layer: int) -> None:
    """Make a configuration describe the encoder up to ``layer``, so that no layer above it is built or loaded."""
    if getattr(config, "num_hidden_groups", 1) != 1:
        raise InputError("an ALBERT with several layer groups cannot be cut at a layer: score with all_layers")
    depth = getattr(config, family.layer_count)
    for name, value in list(vars(config).items()):  # what is said layer by layer: windows, kinds of attention
        if isinstance(value, list | tuple) and len(value) == depth:
            setattr(config, name, list(value)[:layer])
    setattr(config, family.layer_count, layer)
