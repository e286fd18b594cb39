"""The registry's YAML files as frozen, strictly validated entries.

An unknown, missing or contradictory field is an error that names the file and the field: a typo in a registry must
never change a score in silence.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bsx.errors import RegistryError, UnknownNameError
from bsx.near import did_you_mean

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Family(_Entry):
    """How encoders of one architecture (`model_type` of transformers) are loaded and cut at a layer."""

    layer_count: str
    model_class: str = "AutoModel"
    encoder: str | None = None
    final_norm: str | None = None
    position_offset: int = 0
    fewest_layers: int = 0


class Source(_Entry):
    """Where a model's files come from: exactly one of a hub, an installed Python package, or a local folder."""

    hub: str | None = None
    revision: str | None = None
    package: str | None = None
    folder: str | None = None
    extra: str | None = None
    path: str | None = None
    sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Source:
        origins = [name for name in ("hub", "package", "path") if getattr(self, name) is not None]
        if len(origins) != 1:
            raise ValueError(f"needs exactly one of hub, package, path; has {', '.join(origins) or 'none'}")
        if self.hub is not None and self.revision is None:
            raise ValueError("a hub source needs a revision")
        if self.hub is None and self.revision is not None:
            raise ValueError("revision goes with hub only")
        if self.package is None and (self.folder is not None or self.extra is not None):
            raise ValueError("folder and extra go with package only")
        return self

    def __str__(self) -> str:
        if self.hub is not None:
            return f"hub {self.hub}@{self.revision}"
        return f"package {self.package}" if self.package is not None else f"folder {self.path}"


class Evidence(_Entry):
    """One measured figure that speaks for a model's best layer, with its source."""

    dataset: str
    statistic: str
    value: float
    source: str


class ModelEntry(_Entry):
    """One encoder: where its weights are, how deep it is, and which layer to score with."""

    name: str
    aliases: list[str] = []
    source: Source
    family: str
    layers: int = Field(ge=1)
    layer: int | Literal["unvalidated"]
    dimensions: int = Field(ge=1)
    max_tokens: int | None = Field(ge=8)
    parameters: int | None = Field(default=None, ge=1)
    licence: str
    languages: list[str] | Literal["multilingual"]
    leading_space: bool = False
    evidence: list[Evidence]
    notes: str | None = None

    @model_validator(mode="after")
    def _layer_exists(self) -> ModelEntry:
        if isinstance(self.layer, int) and not 0 <= self.layer <= self.layers:
            raise ValueError(f"layer {self.layer} is outside 0 to {self.layers}")
        return self


class LanguageEntry(_Entry):
    """One language: BCP-47 code, English name, and the model that scores it unless the user names another."""

    code: str
    name: str
    model: str


class Baseline(_Entry):
    """Mean scores of unrelated sentence pairs, one figure a layer (index 0 is the embedding layer)."""

    language: str
    model: str
    precision: list[float]
    recall: list[float]
    f1: list[float]
    source: str
    corpus: str

    @field_validator("precision", "recall", "f1", mode="before")
    @classmethod
    def _floats(cls, values: Any) -> Any:
        return [float(v) if isinstance(v, int) else v for v in values] if isinstance(values, list) else values

    @model_validator(mode="after")
    def _same_length(self) -> Baseline:
        if not len(self.precision) == len(self.recall) == len(self.f1):
            raise ValueError("precision, recall and f1 need one figure for each layer")
        if not all(-1 <= value < 1 for value in (*self.precision, *self.recall, *self.f1)):
            raise ValueError("every figure must lie in [-1, 1): it is a mean cosine that scores are rescaled by")
        return self


EntryT = TypeVar("EntryT", bound=_Entry)


def validate(kind: type[EntryT], value: object, file: Path | str, where: str = "") -> EntryT:
    """Build an entry from parsed YAML.

    Args:
        kind: the entry class.
        value: what the YAML file holds at that place.
        file: the file's path, for the message.
        where: the place inside the file, for the message.

    Raises:
        RegistryError: with file and field, if anything is unknown, missing, of the wrong type or contradictory.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            field = ".".join(str(part) for part in ([where] if where else []) + list(problem["loc"]))
            problems.append(f"{field or 'entry'}: {problem['msg']}")
        raise RegistryError(f"{file}: {'; '.join(problems)}") from error


def read_yaml(file: Path) -> object:
    """Parse one YAML file safely; a syntax error or undecodable byte names the file and line."""
    import yaml

    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RegistryError(f"{file}: not readable as YAML: {' '.join(str(error).split())}") from error


class Catalog:
    """Everything one registry folder says, validated as a whole.

    Args:
        folder: a folder laid out like the shipped ``registry/``.

    Raises:
        RegistryError: if any file is malformed or two files contradict each other.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.families = self._load_families()
        self.models = self._load_models()
        self.languages = self._load_languages()
        self._names = self._index_names()
        self.baselines = self._load_baselines()

    def _load_families(self) -> dict[str, Family]:
        file = self.folder / "families.yaml"
        return {name: validate(Family, value, file, name) for name, value in self._mapping(file).items()}

    def _load_models(self) -> dict[str, ModelEntry]:
        models = {}
        for file in sorted((self.folder / "models").glob("*.yaml")):
            entry = validate(ModelEntry, read_yaml(file), file)
            if entry.name != file.stem:
                raise RegistryError(f"{file}: name: is {entry.name!r}, but the file is called {file.stem!r}")
            if entry.family not in self.families:
                raise RegistryError(f"{file}: family: {entry.family!r} is not one of {', '.join(self.families)}")
            models[entry.name] = entry
        if not models:
            raise RegistryError(f"{self.folder / 'models'}: holds no model files")
        return models

    def _load_languages(self) -> dict[str, LanguageEntry]:
        file = self.folder / "languages.yaml"
        listed = read_yaml(file)
        if not isinstance(listed, list):
            raise RegistryError(f"{file}: must be a list of languages")
        languages: dict[str, LanguageEntry] = {}
        for index, value in enumerate(listed):
            entry = validate(LanguageEntry, value, file, f"[{index}]")
            if entry.code in languages:
                raise RegistryError(f"{file}: [{index}].code: {entry.code!r} is listed twice")
            if entry.model not in self.models:
                raise RegistryError(f"{file}: [{index}].model: there is no model {entry.model!r}")
            languages[entry.code] = entry
        return languages

    def _index_names(self) -> dict[str, str]:
        names = {name: name for name in self.models}
        for entry in self.models.values():
            for alias in entry.aliases:
                if alias in names:
                    file = self.folder / "models" / f"{entry.name}.yaml"
                    raise RegistryError(f"{file}: aliases: {alias!r} already means {names[alias]!r}")
                names[alias] = entry.name
        return names

    def _load_baselines(self) -> dict[tuple[str, str], Baseline]:
        baselines = {}
        for file in sorted((self.folder / "baselines").glob("*/*.yaml")):
            entry = validate(Baseline, read_yaml(file), file)
            if (entry.language, entry.model) != (file.parent.name, file.stem):
                raise RegistryError(f"{file}: language and model do not match the file's place")
            if entry.model not in self.models:
                raise RegistryError(f"{file}: model: there is no model {entry.model!r}")
            if len(entry.f1) != self.models[entry.model].layers + 1:
                expected = self.models[entry.model].layers + 1
                raise RegistryError(f"{file}: f1: has {len(entry.f1)} layers, {entry.model} has {expected}")
            baselines[entry.language, entry.model] = entry
        return baselines

    def _mapping(self, file: Path) -> Mapping[str, object]:
        value = read_yaml(file)
        if not isinstance(value, dict):
            raise RegistryError(f"{file}: must be a mapping of names to entries")
        return value

    def names(self) -> Iterator[str]:
        """Yield every model name and alias."""
        return iter(self._names)

    def find(self, name: str) -> ModelEntry | None:
        """Return the model called ``name`` (or having it as an alias), or None."""
        canonical = self._names.get(name)
        return None if canonical is None else self.models[canonical]

    def model(self, name: str) -> ModelEntry:
        """Return the model called ``name``.

        Raises:
            UnknownNameError: listing near names.
        """
        entry = self.find(name)
        if entry is None:
            raise UnknownNameError(
                f"unknown model {name!r}.{did_you_mean(name, self.names())} `bsx models` lists all of them."
            )
        return entry


@functools.cache
def shipped() -> Catalog:
    """Return the registry that comes with the package, read once."""
    return Catalog(Path(str(resources.files("bsx.registry"))))
