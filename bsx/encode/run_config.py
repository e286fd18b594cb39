"""Where encoders run, in which number format, and how much memory they use: what a user says, and what is here.

What is here is found out without PyTorch where that can be.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from bsx.catalog.catalog import Catalog
from bsx.data.writing import Form
from bsx.errors import InputError
from bsx.support.arrays import device_type
from bsx.support.folders import path_as_name
from bsx.support.memory import parse_bytes
from bsx.support.optional import installed, need
from bsx.support.settings import BaseSettings, Option, UserOnly
from bsx.support.untyped import Untyped

Dtype = Literal["auto", "fp32", "tf32", "bf16", "fp16", "int8"]
Precision = Literal["fp32", "tf32", "bf16", "fp16", "int8"]
BackendName = Literal["auto", "torch", "onnx"]
# What Linux has where there is a graphics card: NVIDIA's, the same under Windows' Linux, AMD's.
_CARDS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
RARE = Option(folded="encoder")
"""Marks a setting of encoders that few users need."""


class RunConfig(BaseSettings):
    """Where and within what limits encoders run: settings that every metric of a run shares."""

    panel = "More options"

    registry: Annotated[
        Path | str | Catalog | None, Field(description="Registry folder whose entries win over the shipped ones.")
    ] = None
    device: Annotated[str, Field(description="auto, cpu, cuda, cuda:N or mps."), RARE] = "auto"
    dtype: Annotated[
        Dtype,
        Field(
            description="Number format of the encoder; auto is fp32. tf32: fp32 with products from 10 bits, on NVIDIA "
            "cards. Matching is always fp32."
        ),
        RARE,
    ] = "auto"
    backend: Annotated[
        BackendName,
        Field(description="What runs the encoder; auto: ONNX Runtime if installed and able to, else PyTorch."),
        RARE,
    ] = "auto"
    memory: Annotated[
        str | int | None,
        Field(description="Memory for vectors, like 2GB; a quarter of what is free unless given."),
        RARE,
    ] = None
    batch_tokens: Annotated[
        int | None,
        Field(ge=1, le=10**9, description="Tokens of an encoder batch; the device's default unless given."),
        RARE,
    ] = None
    cache: Annotated[
        Path | str | None,
        Field(description="Folder that keeps vectors for later runs, so that no text is encoded twice."),
        RARE,
    ] = None
    cache_size: Annotated[
        str | int, Field(description="Disk space for the cache; vectors unused for longest go first."), RARE
    ] = "10GB"
    trust_remote_code: Annotated[
        bool, Field(description="Let a checkpoint run its own Python code."), UserOnly(), RARE
    ] = False
    strict: Annotated[
        bool,
        Field(description="Stop with an error where a text is truncated or the model was not trained on its language."),
        RARE,
    ] = False

    @field_validator("cache", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        if value in ("", ".", Path()):
            raise ValueError("give the cache a folder of its own, like ./vectors")
        return value

    @field_validator("memory", "cache_size", mode="before")
    @classmethod
    def _memory_as_text(cls, value: object) -> object:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if isinstance(text, str):
            try:
                parse_bytes(text)
            except InputError as error:
                raise ValueError(str(error)) from error
        return text

    @model_validator(mode="after")
    def _size_of_something(self) -> Self:
        if self.cache is None and self.cache_size != RunConfig.model_fields["cache_size"].default:
            raise ValueError("cache_size needs cache")
        return self


class EncoderSettings(RunConfig):
    """The model of metrics that are not given one of their own, the language of the texts, and where encoders run."""

    panel = "Metrics"

    model: Annotated[
        str | Path | None, Field(description="Model: a registry name, a folder, or a hub id."), Option(("-m",))
    ] = None
    lang: Annotated[
        str | None,
        Field(description="Language of the texts (tag or English name), or auto; chooses the model."),
        Option(("-l",)),
    ] = None
    normalize: Annotated[
        Form,
        Field(
            description="Form of the texts that metrics compare: nfc; nfkc, full-width letters as plain ones too; "
            "tashkeel, nfc without Arabic vowel marks; sr-latn, nfc with Serbian in Latin letters; none, as they are, "
            "which other packages read."
        ),
        RARE,
    ] = "nfc"

    _path_as_name = field_validator("model", mode="before")(path_as_name)


def has_torch() -> bool:
    """Tell whether PyTorch and transformers are installed, without importing them."""
    return installed("torch", "transformers")


def choose_device(name: str) -> str:
    """Return the device for ``auto`` (CUDA, else MPS, else CPU) or a name such as ``cpu``, ``cuda:1``.

    Raises:
        InputError: if there is no such device here.
        MissingExtraError: for a graphics card without PyTorch.
    """
    if name == "auto":
        asks = sys.modules.get("torch") is not None or not sys.platform.startswith("linux")
        if not (has_torch() and (asks or any(Path(name).exists() for name in _CARDS))):  # PyTorch takes long to import
            return "cpu"
        torch: Untyped = importlib.import_module("torch")
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    if name in ("cpu", "cpu:0"):
        return "cpu"
    torch = need("torch", f"The device {name}")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"unknown device {name!r}: use auto, cpu, cuda, cuda:N or mps") from error
    present = {
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not present.get(device.type, False):
        raise InputError(
            f"device {name!r} is not available on this machine (auto would use {choose_device('auto')})",
            setting="device",
        )
    return str(device)


def choose_devices(names: str) -> list[str]:
    """Return the devices for names such as ``cuda:0,cuda:1``, or ``cuda:all`` for all cards; see `choose_device`.

    Raises:
        InputError: if one of them is not here, or they are of several kinds, which round in several ways.
    """
    if names == "cuda:all":
        torch: Untyped = need("torch", "The device cuda:all")
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return [choose_device(f"cuda:{number}") for number in range(max(1, count))]
    chosen = [choose_device(name.strip()) for name in names.split(",")]
    if len({device_type(device) for device in chosen}) > 1:
        raise InputError(f"the devices {names} are of several kinds, whose scores differ by rounding: name one kind")
    return chosen


def choose_dtype(name: Dtype, device: str) -> Precision:
    """Return the number format to compute in.

    ``auto`` is fp32 on every device, so that a published score does not depend on the card it was computed on; low
    precision is for those who ask for it, and only where the hardware computes in it.

    Raises:
        InputError: if the device has no arithmetic for the format.
    """
    if name == "auto" or name == "fp32":
        return "fp32"
    kind = device_type(device)
    if name == "int8":
        if kind != "cpu":
            raise InputError(f"int8 runs on the CPU only, the device is {device}: use device=cpu, or bf16 or fp16")
        return name
    torch: Untyped = need("torch", f"The number format {name}")
    if kind == "cuda" and name == "tf32":
        supported = torch.version.hip is None and torch.cuda.get_device_capability(device) >= (8, 0)
    elif kind == "cuda":
        supported = name == "fp16" or torch.cuda.is_bf16_supported(including_emulation=False)
    elif kind == "mps" or name == "tf32":
        supported = name == "fp16"
    else:
        capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
        flags = ("avx512_bf16", "amx_bf16", "arm_bf16") if name == "bf16" else ("avx512_fp16", "amx_fp16", "arm_fp16")
        supported = any(capabilities.get(flag, False) for flag in flags)
    if not supported:
        raise InputError(f"this {kind} has no {name} arithmetic (it would be slower, not faster): use fp32")
    return name


def signed(dtype: Precision) -> str:
    """Return a number format's name in signatures and caches, which tells kernels of other numbers apart.

    >>> signed("fp32"), signed("int8")
    ('fp32', 'int8-rows')
    """
    return "int8-rows" if dtype == "int8" else dtype  # a step for each row; mere "int8" was another kernel's


def threads() -> int:
    """Return how many threads may compute: what PyTorch was told, ``OMP_NUM_THREADS``, or the cores of this process."""
    if (torch := sys.modules.get("torch")) is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
