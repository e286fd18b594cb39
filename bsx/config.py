"""Every setting of the scorer, written once: the Python arguments and the command-line options come from here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from bsx.errors import InputError


class RunConfig(BaseModel):
    """Where and within what limits encoders run: settings that every metric of a run shares."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    registry: Annotated[Path | None, Field(description="Registry folder whose entries win over the shipped ones.")] = (
        None
    )
    device: Annotated[str, Field(description="auto, cpu, cuda, cuda:N or mps.")] = "auto"
    dtype: Annotated[
        Literal["auto", "fp32", "bf16", "fp16", "int8"],
        Field(description="Number format of the encoder; auto is fp32. Matching is always fp32."),
    ] = "auto"
    backend: Annotated[
        Literal["auto", "torch", "onnx"],
        Field(description="What runs the encoder; auto: ONNX Runtime if installed and able to, else PyTorch."),
    ] = "auto"
    memory: Annotated[
        str | None,
        Field(description="Memory for vectors, like 2GB; a quarter of what is free unless given."),
    ] = None
    batch_tokens: Annotated[
        int | None, Field(ge=1, description="Tokens of an encoder batch; the device's default unless given.")
    ] = None
    cache: Annotated[
        Path | None, Field(description="Folder that keeps vectors for later runs, so that no text is encoded twice.")
    ] = None
    cache_size: Annotated[str, Field(description="Disk space for --cache; vectors unused for longest go first.")] = (
        "10GB"
    )
    trust_remote_code: Annotated[bool, Field(description="Let a checkpoint run its own Python code.")] = False

    @field_validator("cache", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if value in ("", ".", Path()):
            raise ValueError("give the cache a folder of its own, like ./vectors")
        return value

    @field_validator("memory", "cache_size", mode="before")
    @classmethod
    def _memory_as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _size_of_something(self) -> Self:
        if self.cache is None and self.cache_size != RunConfig.model_fields["cache_size"].default:
            raise ValueError("cache_size goes with cache")
        return self


class ScorerConfig(RunConfig):
    """Settings of `bsx.Scorer`; each field's description is also the help text of its command-line option."""

    model: Annotated[str | None, Field(description="Model: a registry name, a folder, or a hub id.")] = None
    lang: Annotated[str | None, Field(description="Language of the texts (BCP-47), or auto; chooses the model.")] = None
    layer: Annotated[int | None, Field(ge=0, description="Layer to score with; the model's best unless given.")] = None
    all_layers: Annotated[bool, Field(description="Score with every layer, 0 (embeddings) to the last.")] = False
    idf: Annotated[bool, Field(description="Weight tokens by their idf in the references.")] = False
    rescale: Annotated[bool, Field(description="Rescale by the model's baseline for the language.")] = False
    baseline: Annotated[
        Path | None, Field(description="Baseline file to rescale by (YAML, or CSV with LAYER,P,R,F).")
    ] = None
    multi_ref: Annotated[
        Literal["columnwise", "best"],
        Field(
            description="Several references: the highest P, R and F1 each by itself, as published, or all three "
            "from the reference with the best F1."
        ),
    ] = "columnwise"
    specials: Annotated[
        Literal["match", "exclude", "bert-score"],
        Field(
            description="Special tokens weigh 0; match: they may be matched, as in the reference implementation; "
            "exclude: they may not; bert-score: only CLS and SEP weigh 0."
        ),
    ] = "match"
    leading_space: Annotated[
        bool | None,
        Field(description="Put a space before each text (byte-level BPE); as the registry says unless given."),
    ] = None
    long: Annotated[
        Literal["truncate", "window"],
        Field(description="Texts beyond the model's limit: cut them off, or read them in overlapping windows."),
    ] = "truncate"
    strict: Annotated[bool, Field(description="Make a truncated text an error.")] = False
    final_norm: Annotated[
        bool,
        Field(
            description="Pass every layer of a pre-norm encoder (T5, mBART) through its final norm; without it, "
            "--all-layers returns the residual stream, as bert-score does."
        ),
    ] = True

    @model_validator(mode="after")
    def _consistent(self) -> ScorerConfig:
        if self.all_layers and self.layer is not None:
            raise ValueError("layer and all_layers exclude each other")
        if self.baseline is not None and not self.rescale:
            raise ValueError("baseline goes with rescale")
        if self.strict and self.long == "window":
            raise ValueError("strict goes with long=truncate: windows lose nothing")
        return self


Config = TypeVar("Config", bound=BaseModel)


def build_config(settings: Mapping[str, Any], kind: type[Config]) -> Config:
    """Validate settings.

    Args:
        settings: field -> value.
        kind: the class of settings.

    Raises:
        InputError: one line that names every setting that is wrong.
    """
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        raise InputError("; ".join(_explain(problem, kind) for problem in error.errors())) from error


def read_spelled(kind: type[BaseModel], name: str, text: str) -> Any:
    """Return the value that a text spells for a field; a field that does not exist is left to the check of all.

    Raises:
        InputError: if the text does not spell a value of the field's type.
    """
    field = kind.model_fields.get(name)
    if field is None or field.annotation is None:
        return text
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(field.annotation)
        return adapter.validate_strings(text)
    except ValidationError as error:
        message = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise InputError(f"{name}: {message} (got {text!r})") from error


def _explain(problem: Any, kind: type[BaseModel]) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        from bsx.near import did_you_mean

        if name == "precision" and "dtype" in kind.model_fields:  # what the command line calls it
            return "there is no setting 'precision': it is called dtype"
        return f"there is no setting {name!r}.{did_you_mean(name, kind.model_fields)}"
    shown = f" (got {problem['input']!r})" if name else ""
    return f"{name}: {message}{shown}" if name else message
