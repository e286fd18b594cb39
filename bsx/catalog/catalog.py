"""The registry: the shipped folder of YAML files and the user's overlays, as one catalogue."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from bsx.catalog.entries import UNSCORED, read_entry, read_list, read_named, read_yaml, validate
from bsx.catalog.entries.metrics import EnsembleEntry, FactorEntry, JudgeEntry, MetricEntry
from bsx.catalog.entries.models import Baseline, Family, LanguageEntry, ModelEntry
from bsx.errors import InputError, RegistryError, UnknownNameError, did_you_mean
from bsx.support.folders import user_folder
from bsx.support.provenance import file_digest
from bsx.support.untyped import Untyped

_LISTS = ("families", "depths", "languages", "datasets", "thresholds", "protocols", "published")
_FOLDERS = ("models/*", "metrics/*", "factors/*", "ensembles/*", "judges/*", "baselines/*/*")
_FILES = tuple(f"{name}.yaml" for name in (*_LISTS, *_FOLDERS))
_LATER = {"baseline": "baselines/*/*.yaml", "ensemble": "ensembles/*.yaml", "judge": "judges/*.yaml"}
"""Kinds whose files are read when they are asked for; until then one counts as its bytes."""


class Catalog:
    """What the registry says: the shipped folder, and the user's folders laid over it.

    A later folder wins, entry by entry: a model, family, ensemble or baseline file replaces the one of the same name, a
    language the one of the same code. The first folder must be right as a whole. In the others a broken file costs only
    its own entries: asking for one of these raises the file's error (of a list of families or languages, asking for
    any), and `problems` lists them all. Baselines, ensembles and judges' prompts are read when they are asked for.

    Args:
        folders: the shipped folder first, then overlays in rising precedence.

    Raises:
        RegistryError: if any file of the first folder is malformed or two of its files contradict each other.
    """

    def __init__(self, *folders: Path) -> None:
        self.folders = folders
        self.families: dict[str, Family] = {}
        self.models: dict[str, ModelEntry] = {}
        self.languages: dict[str, LanguageEntry] = {}
        self.metrics: dict[str, MetricEntry] = {}
        self.factors: dict[str, FactorEntry] = {}
        self.origins: dict[tuple[str, str], Path] = {}
        """(kind, name) -> its file; kind is family, model, language, metric, factor, ensemble, judge or baseline
        (``language/model``)."""
        self.replaced: dict[tuple[str, str], Path] = {}
        """(kind, name) -> the file whose entry another one stands in for, where that says something else."""
        self.problems: list[RegistryError] = []
        self._broken: dict[str, RegistryError] = {}
        self._names: dict[str, str] = {}
        for folder in folders:
            self._add(folder, tolerant=folder != folders[0])
        if not self.models:
            raise RegistryError(f"{folders[0] / 'models'}: holds no model files")

    def _add(self, folder: Path, *, tolerant: bool) -> None:
        readers: list[tuple[str, str, dict[str, Untyped], Callable[[Path], Untyped]]] = [
            ("family", "families.yaml", self.families, self._families),
            ("model", "models/*.yaml", self.models, self._model),
            ("language", "languages.yaml", self.languages, self._languages),
            ("metric", "metrics/*.yaml", self.metrics, partial(read_named, MetricEntry)),
            ("factor", "factors/*.yaml", self.factors, partial(read_named, FactorEntry)),
        ]
        for kind, pattern, known, read in readers:
            for file in sorted(folder.glob(pattern)):
                label = pattern if file.name == pattern else file.stem if kind == "model" else f"{kind} {file.stem}"
                try:
                    entries = read(file)
                except RegistryError as error:
                    if not tolerant:
                        raise
                    self.problems.append(error)
                    self._broken[label] = error
                    continue
                if label != pattern:  # what a broken list of another folder says stays unknown
                    self._broken.pop(label, None)
                    entries = {file.stem: entries}
                for name, entry in entries.items():
                    old = known.get(name)
                    same = old is None or old.model_dump(exclude=UNSCORED) == entry.model_dump(exclude=UNSCORED)
                    self._place(kind, name, file, same=same)
                known.update(entries)
        for kind, pattern in _LATER.items():
            for file in sorted(folder.glob(pattern)):
                name = f"{file.parent.name}/{file.stem}" if kind == "baseline" else file.stem
                before = self.origins.get((kind, name))
                self._place(kind, name, file, same=before is None or file_digest(before) == file_digest(file))

    def under(self, *folders: Path) -> Catalog:
        """Return this registry with further overlays, in rising precedence; what was read is not read again."""
        laid = copy.copy(self)
        for name, value in vars(self).items():  # entries are frozen: the two can share them
            setattr(laid, name, copy.copy(value))
        laid.folders += folders
        for folder in folders:
            laid._add(folder, tolerant=True)
        return laid

    def require(self, name: str) -> None:
        """Raise the error of a broken overlay file, before something is looked up that stands there.

        ``name`` is a model, ``metric NAME`` or ``factor NAME``, or a list: ``families.yaml`` or ``languages.yaml``.
        """
        if name in self._broken:
            raise self._broken[name]

    def _place(self, kind: str, name: str, file: Path, *, same: bool) -> None:
        """Note where an entry stands, and what it replaces."""
        if not same:
            self.replaced[kind, name] = self.origins[kind, name]
        self.origins[kind, name] = file

    def replacement(self, kind: str, name: str) -> str | None:
        """Return the sentence that says that an overlay's entry replaces another; None if it does not.

        An entry with further evidence or other remarks replaces nothing.
        """
        if (kind, name) not in self.replaced:
            return None
        shipped = self.replaced[kind, name].is_relative_to(self.folders[0])
        other = "the one that comes with bsx" if shipped else str(self.replaced[kind, name])
        return f"{kind} {name}: the entry in {self.origins[kind, name]} replaces {other}"

    def _families(self, file: Path) -> dict[str, Family]:
        values = read_yaml(file)
        if not isinstance(values, dict):
            raise RegistryError("must be a mapping of names to entries", file=file)
        return {name: validate(Family, value, file, name) for name, value in values.items()}

    def _model(self, file: Path) -> ModelEntry:
        entry = read_named(ModelEntry, file)
        if entry.family not in self.families:
            raise RegistryError(f"family: {entry.family!r} is not one of {', '.join(sorted(self.families))}", file=file)
        names = {name: target for name, target in self._names.items() if target != entry.name}
        for name in (entry.name, *entry.aliases):
            if name in names:
                field = "name" if name == entry.name else "aliases"
                raise RegistryError(f"{field}: {name!r} already means {names[name]!r}", file=file)
            names[name] = entry.name
        self._names = names
        if entry.source.path is None:
            return entry
        located = os.path.realpath(file.parent.parent / Path(entry.source.path).expanduser())
        return entry.model_copy(update={"source": entry.source.model_copy(update={"path": located})})

    def _languages(self, file: Path) -> dict[str, LanguageEntry]:
        languages = read_list(LanguageEntry, file)
        for index, entry in enumerate(languages.values()):
            named = [("model", entry.model), ("papers", entry.papers)]
            for field, name in [*named, *(("alternatives", name) for name in entry.alternatives)]:
                if name is not None and name not in self.models:
                    raise RegistryError(f"[{index}].{field}: there is no model {name!r}", file=file)
        return languages

    def factor(self, name: str) -> FactorEntry | None:
        """Return the linguistic factor called ``name``, or None; a broken file is an error, see `require`."""
        self.require(f"factor {name}")
        return self.factors.get(name)

    def metric(self, name: str) -> MetricEntry | None:
        """Return the metric called ``name``, or None; a broken file is an error, see `require`."""
        self.require(f"metric {name}")
        return self.metrics.get(name)

    def baseline(self, language: str, model: str) -> Baseline | None:
        """Return a model's baseline for a language code, or None; RegistryError if its file is wrong."""
        file = self.origins.get(("baseline", f"{language}/{model}"))
        if file is None:
            return None
        entry = read_entry(Baseline, file)
        if (entry.language, entry.model) != (language, model):
            raise RegistryError("language and model do not match the file's place", file=file)
        if model not in self.models:
            raise RegistryError(f"model: there is no model {model!r}", file=file)
        expected = self.models[model].layers + 1
        if len(entry.f1) != expected:
            raise RegistryError(f"f1: has {len(entry.f1)} layers, {model} has {expected}", file=file)
        return entry

    def baseline_languages(self, model: str) -> list[str]:
        """Return the codes of the languages that a model has baselines for."""
        names = [name.partition("/") for kind, name in self.origins if kind == "baseline"]
        return sorted(language for language, _, of in names if of == model)

    def ensemble(self, name: str) -> EnsembleEntry:
        """Return the saved ensemble called ``name``; UnknownNameError lists near names, RegistryError what is wrong."""
        return read_named(EnsembleEntry, self._file("ensemble", name, "; `bsx ensemble … --save NAME` adds one"))

    def judge(self, name: str) -> JudgeEntry:
        """Return the judge's prompt called ``name``; see `ensemble`."""
        return read_named(JudgeEntry, self._file("judge", name))

    def _file(self, kind: str, name: str, advice: str = "") -> Path:
        known = sorted(other for of, other in self.origins if of == kind)
        if name not in known:
            near = did_you_mean(name, known)
            raise UnknownNameError(f"unknown {kind} {name!r}.{near} There are {', '.join(known)}{advice}")
        return self.origins[kind, name]

    def check(self) -> list[RegistryError]:
        """Read everything, baselines, ensembles, judges and words included, and return all problems.

        A claim about several languages needs a source, and a figure a language that the registry knows.
        """
        from bsx.catalog.entries.perturbations import PerturbationWords

        problems = list(self.problems)
        codes = {code for language in self.languages.values() for code in (language.code, *language.codes)}
        claims = {("model", entry.name): entry for entry in self.models.values()}
        for key, entry in (claims | {("metric", entry.name): entry for entry in self.metrics.values()}).items():
            file = self.origins[key]
            if isinstance(entry.languages, list) and len(entry.languages) > 1 and entry.languages_source is None:
                problems.append(RegistryError("languages_source: who says that it knows these languages?", file=file))
            for index, evidence in enumerate(entry.evidence):
                if evidence.language not in codes:
                    where = f"evidence.{index}.language"
                    problems.append(RegistryError(f"{where}: there is no language {evidence.language!r}", file=file))
        readers = {
            "baseline": lambda name: self.baseline(*name.split("/")),
            "ensemble": self.ensemble,
            "judge": self.judge,
        }
        reading: list[Callable[[], object]]
        reading = [partial(readers[kind], name) for kind, name in self.origins if kind in readers]
        words = sorted(self.folders[0].glob("perturbations/*.yaml"))  # overlays have none
        reading += [partial(read_entry, PerturbationWords, file) for file in words]
        for read in reading:
            try:
                read()
            except RegistryError as error:
                problems.append(error)
        for folder in self.folders:
            known = {file for pattern in _FILES for file in folder.glob(pattern)}.union(words)
            for file in sorted(set(folder.rglob("*.y*ml")) - known):
                problems.append(RegistryError(f"is no file of a registry, which has {', '.join(_FILES)}", file=file))
        return problems

    def names(self) -> Iterator[str]:
        """Yield every model name and alias."""
        return iter(self._names)

    def find(self, name: str) -> ModelEntry | None:
        """Return the model called ``name`` (or having it as an alias), or None; of a broken file see `require`."""
        canonical = self._names.get(name, name)
        self.require(canonical)
        return self.models.get(canonical)

    def model(self, name: str) -> ModelEntry:
        """Return the model called ``name``; UnknownNameError lists near names."""
        entry = self.find(name)
        if entry is None:
            raise UnknownNameError(
                f"unknown model {name!r}.{did_you_mean(name, self.names())} `bsx models` lists all of them."
            )
        return entry


def shipped_folder() -> Path:
    """Return the registry folder that comes with the package."""
    return Path(str(resources.files("bsx.registry")))


def overlay_folders(named: Path | None = None) -> list[Path]:
    """Return the overlays in rising precedence: the user's folder, those in ``BSX_REGISTRY``, then ``named``.

    InputError is raised if ``named`` or a folder in ``BSX_REGISTRY`` does not exist, or holds other things alone.
    """
    folders = [user_folder()] if user_folder().is_dir() else []
    given = [(part, "BSX_REGISTRY") for part in os.environ.get("BSX_REGISTRY", "").split(os.pathsep) if part]
    if named is not None:
        given.append((str(named), "registry"))
    for part, origin in given:
        folder = Path(part).expanduser()
        if not folder.is_dir():
            raise InputError(f"{origin}: there is no folder {part}")
        known = {pattern.partition("/")[0] for pattern in _FILES}
        stray = min((entry for entry in folder.iterdir() if entry.name not in known), default=None)
        if stray is not None and not any(file for pattern in _FILES for file in folder.glob(pattern)):
            raise InputError(f"{origin}: {stray}: is no file of a registry, which has {', '.join(_FILES)}")
        folders.append(folder)
    return folders


Registry: TypeAlias = Catalog | Path | str | None
"""A registry as users give it: one that is read, a folder to lay over the shipped one, or None for what is set up."""


def load_registry(registry: Registry = None) -> Catalog:
    """Return a registry.

    Args:
        registry: one that is read already; or a folder to lay over the shipped one and the user's overlays, see
            `overlay_folders`.

    Raises:
        InputError: if there is no such folder.
        RegistryError: naming file and field of what is wrong in it.
    """
    if isinstance(registry, Catalog):
        return registry
    if registry is not None and not isinstance(registry, str | os.PathLike):
        raise InputError(f"registry is a {type(registry).__name__}: give a folder, or what bsx.load_registry returned")
    overlays = overlay_folders(None if registry is None else Path(registry))
    files = [file for folder in overlays for file in sorted(folder.rglob("*.yaml"))]
    return _overlaid(tuple(overlays), tuple((file, *_state(file)) for file in files))


def _state(file: Path) -> tuple[int, int]:
    try:
        facts = file.stat()
    except OSError:  # a link that leads nowhere: reading says so
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


@functools.lru_cache(maxsize=8)
def _overlaid(overlays: tuple[Path, ...], states: tuple[tuple[Path, int, int], ...]) -> Catalog:
    """Read overlays; ``states`` tells files that changed in the meantime from those that did not."""
    return shipped().under(*overlays) if overlays else shipped()


@functools.cache
def shipped() -> Catalog:
    """Return the registry that comes with the package, without overlays, read once."""
    return Catalog(shipped_folder())
