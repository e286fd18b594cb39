"""Encoders run by PyTorch through transformers, cut at the layer that is scored."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Literal

import torch

from bsx.catalog.entries import Family
from bsx.errors import InputError
from bsx.models.files import WEIGHTS, part_of
from bsx.support.untyped import Untyped, blaming

Dtype = Literal["auto", "fp32", "bf16", "fp16", "int8"]
Precision = Literal["fp32", "bf16", "fp16", "int8"]
# The format of vectors; an encoder with int8 weights still returns fp32.
TORCH_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.float32}


def choose_device(name: str) -> torch.device:
    """Return the device for ``auto`` (CUDA, else MPS, else CPU) or a name such as ``cpu``, ``cuda:1``.

    Raises:
        InputError: if there is no such device here.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"unknown device {name!r}: use auto, cpu, cuda, cuda:N or mps") from error
    present = {
        "cpu": (device.index or 0) == 0,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not present.get(device.type, False):
        raise InputError(f"device {name!r} is not available on this machine (auto would use {choose_device('auto')})")
    return device


def choose_dtype(name: Dtype, device: torch.device) -> Precision:
    """Return the number format to compute in.

    ``auto`` is fp32 on every device, so that a published score does not depend on the card it was computed on; low
    precision is for those who ask for it, and only where the hardware computes in it.

    Raises:
        InputError: if the device has no arithmetic for the format.
    """
    if name == "auto" or name == "fp32":
        return "fp32"
    if name == "int8":
        if device.type != "cpu":
            raise InputError(f"int8 runs on the CPU only, the device is {device}: use `device='cpu'`, or bf16 or fp16")
        return name
    if device.type == "cuda":
        supported = torch.cuda.is_bf16_supported(including_emulation=False) if name == "bf16" else True
    elif device.type == "mps":
        supported = name == "fp16"
    else:
        capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
        flags = ("avx512_bf16", "amx_bf16", "arm_bf16") if name == "bf16" else ("avx512_fp16", "amx_fp16", "arm_fp16")
        supported = any(capabilities.get(flag, False) for flag in flags)
    if not supported:
        raise InputError(f"this {device.type} has no {name} arithmetic (it would be slower, not faster): use fp32")
    return name


@contextlib.contextmanager
def _quiet_loading() -> Iterator[None]:
    """Silence transformers' progress bar and load report: what matters of it is checked below."""
    from transformers.utils import logging as untyped

    logging: Untyped = untyped

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@dataclass(frozen=True)
class Architecture:
    """What a checkpoint's configuration says, before any weight is read.

    Attributes:
        folder: the checkpoint's folder.
        config: the configuration, as transformers has it.
        family: how this architecture is loaded and cut.
        depth: how many layers the whole model has.
        dimensions: size of a token vector.
        position_limit: tokens that its table of positions serves; None if it has none.
    """

    folder: Path
    config: Untyped
    family: Family
    depth: int
    dimensions: int
    position_limit: int | None

    @classmethod
    def read(cls, folder: Path, families: dict[str, Family], *, trust_remote_code: bool = False) -> Architecture:
        """Read ``config.json``.

        Raises:
            InputError: if it cannot be read, or describes an encoder that bsx cannot cut at a layer.
        """
        from transformers import AutoConfig

        with blaming(f"{folder}: its config.json cannot be used"):
            config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=trust_remote_code)
            use_own_code(config, folder)
            if config.model_type not in families:
                raise InputError(
                    f"{folder}: the architecture {config.model_type!r} is not one bsx knows how to cut at a layer "
                    f"({', '.join(sorted(families))}); an entry in registry/families.yaml teaches it"
                )
            family = families[config.model_type]
            positions = getattr(config, "position_embedding_type", None) or "absolute"
            if positions != "absolute":
                raise InputError(
                    f"{folder / 'config.json'}: needs {positions} positions, which transformers 5 no longer computes: "
                    "it would run as another model"
                )
            for name, value in family.settings.items():
                setattr(config, name, value)
            depth, dimensions = int(getattr(config, family.layer_count)), int(config.hidden_size)
            if not (1 <= depth <= 10_000 and 1 <= dimensions <= 1_000_000):
                raise ValueError(f"it says {depth} layers of {dimensions} dimensions")
            return cls(folder, config, family, depth, dimensions, position_limit(config, family))

    @property
    def pad_id(self) -> int:
        """The id that fills short sequences."""
        return int(self.config.pad_token_id if self.config.pad_token_id is not None else 0)

    def check_layer(self, layer: int) -> None:
        """Refuse a layer that the model does not have.

        Raises:
            InputError: naming the layers there are.
        """
        if not 0 <= layer <= self.depth:
            raise InputError(f"layer {layer} is out of range: {self.folder.name} has layers 0 to {self.depth}")


def use_own_code(config: Untyped, folder: Path) -> None:
    """Take out of a checkpoint's configuration what would fetch or choose code to compute it with.

    ``attn_implementation`` and ``experts_implementation`` may name kernels on a hub, which transformers then fetches
    and runs; a ``quantization_config`` brings in packages with code of their own.

    Args:
        config: the configuration, as transformers has it; changed in place.
        folder: the checkpoint's folder, for the message.

    Raises:
        InputError: if its weights are quantised.
    """
    parts = [getattr(config, name, None) for name in getattr(config, "sub_configs", {})]
    for part in [config, *(part for part in parts if part is not None)]:
        if getattr(part, "quantization_config", None) is not None:
            raise InputError(
                f"{folder}: its weights are quantised (quantization_config in its config.json), which needs code that "
                "bsx does not load: use the checkpoint that it was made from"
            )
        if part._attn_implementation not in (None, "eager", "sdpa"):
            part._attn_implementation = None
        part._experts_implementation = None


class TransformerEmbedder:
    """A transformers encoder that holds and runs no layer above the highest wanted one.

    Args:
        architecture: what `Architecture.read` says of the checkpoint.
        layers: the layers to return, or None for all layers, the embedding layer included.
        device: where to run.
        dtype: number format of weights and activations; vectors are returned in it.
        final_norm: for pre-norm encoders (T5, mBART) pass every layer through the encoder's final normalisation, so
            that layer k of ``all layers`` equals the encoder cut at k. False returns the residual stream below the
            top layer, as bert-score's ``all_layers`` does.
        trust_remote_code: allow the checkpoint to run its own Python code.
    """

    def __init__(
        self,
        architecture: Architecture,
        *,
        layers: Sequence[int] | None,
        device: torch.device,
        dtype: Literal["fp32", "bf16", "fp16"] = "fp32",
        final_norm: bool = True,
        trust_remote_code: bool = False,
    ) -> None:
        config = copy.deepcopy(architecture.config)
        self._family = architecture.family
        self.depth = architecture.depth
        for layer in layers or ():
            architecture.check_layer(layer)
        self.layers = list(range(self.depth + 1)) if layers is None else sorted(set(layers))
        self.device = device
        self.position_limit = architecture.position_limit
        self.pad_id = architecture.pad_id
        self.ignores_padding = self._family.padding
        self.at_once = 1
        whole = layers is None or len(self.layers) == self.depth + 1
        self._built = self.depth if whole else max(*self.layers, self._family.fewest_layers)
        self._final_norm = final_norm
        if self._built < self.depth:
            _cut(config, self._family, self._built)
        self._encoder = self._load(architecture.folder, config, TORCH_DTYPES[dtype], trust_remote_code)
        self.dimensions = architecture.dimensions

    def _load(self, folder: Path, config: Untyped, dtype: torch.dtype, trust_remote_code: bool) -> Untyped:
        import transformers

        loader = getattr(transformers, self._family.model_class)
        weights = part_of(folder, "its weights", WEIGHTS)
        with _quiet_loading(), blaming(f"{folder}: {weights} cannot be loaded"):
            try:
                model, report = loader.from_pretrained(
                    folder,
                    config=config,
                    dtype=dtype,
                    local_files_only=True,
                    trust_remote_code=trust_remote_code,
                    weights_only=True,
                    output_loading_info=True,
                )
            except RuntimeError as error:
                if "ignore_mismatched_sizes" in str(error):  # the library's hint is to a report that nobody sees
                    raise ValueError("their shapes are not those that its config.json says") from error
                raise
        spared = ("pooler", "decoder", *self._family.computed)
        absent = [name for name in report["missing_keys"] if not any(part in name for part in spared)]
        if absent:
            raise InputError(f"{folder}: {weights} lack {len(absent)} tensors of the encoder, {absent[0]} among them")
        encoder = getattr(model, self._family.encoder) if self._family.encoder is not None else model
        for name, weight in encoder.named_parameters():
            if not weight.sum(dtype=torch.float32).isfinite():
                raise InputError(f"{folder}: {weights} cannot be used: {name} holds what is no finite number")
        return encoder.to(self.device).eval().requires_grad_(False)

    def encode(self, ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Encode a padded batch; see `bsx.encode.protocol.Embedder.encode`."""
        try:
            with torch.inference_mode():
                return self.hidden_states(ids, torch.ones_like(ids) if mask is None else mask)
        except RuntimeError as error:
            if "can't allocate memory" in str(error):  # main memory: PyTorch has a class for graphics cards' only
                raise MemoryError(str(error)) from error
            raise

    def hidden_states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Compute what `encode` returns, in a form that can be exported."""
        wants_states = self.layers != [self._built]
        output = self._encoder(input_ids=ids, attention_mask=mask, output_hidden_states=wants_states)
        if not wants_states:
            return output.last_hidden_state[None]  # type: ignore[no-any-return]
        states = list(output.hidden_states)
        states[-1] = output.last_hidden_state
        if self._final_norm and self._family.final_norm is not None:
            norm = attrgetter(self._family.final_norm)(self._encoder)
            states[:-1] = [norm(state) for state in states[:-1]]
        return torch.stack([states[layer] for layer in self.layers])

    @property
    def module(self) -> torch.nn.Module:
        """What computes; its output also holds more than `encode` returns."""
        return self._encoder  # type: ignore[no-any-return]

    @property
    def vocabulary_size(self) -> int:
        """How many ids the embedding table has."""
        return int(self._encoder.get_input_embeddings().num_embeddings)

    @property
    def weight_bytes(self) -> int:
        """Size of the weights that were loaded."""
        return sum(weight.numel() * weight.element_size() for weight in self._encoder.parameters())


def position_limit(config: Untyped, family: Family) -> int | None:
    """Return how many tokens a model's table of position embeddings serves; None if it has no such table."""
    size = getattr(config, family.position_count, None)
    return None if size is None or size <= 0 else int(size) - family.position_offset


def _cut(config: Untyped, family: Family, layer: int) -> None:
    """Make a configuration describe the encoder up to ``layer``, so that no layer above it is built or loaded."""
    if getattr(config, "num_hidden_groups", 1) != 1:
        raise InputError("an ALBERT with several layer groups cannot be cut at a layer: score with `all_layers=True`")
    setattr(config, family.layer_count, layer)
    for name in ("layer_types", "attention_window"):  # what ModernBERT, Longformer and LED say layer by layer
        if isinstance(getattr(config, name, None), list | tuple):
            setattr(config, name, list(getattr(config, name))[:layer])
