"""What the registry's YAML files may say: strictly validated, frozen entries, and the one way from YAML to them.

An unknown, missing or contradictory field is an error that names the file and the field: a typo in a registry must
never change a score in silence.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from bsx.data.lines import NamedFile
from bsx.errors import InputError, RegistryError
from bsx.support.checks import FEWEST_ITEMS
from bsx.support.untyped import Untyped


class Entry(BaseModel):
    """An entry: no unknown field, nothing converted, not to be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


UNSCORED = {"title", "citation", "evidence", "notes", "check", "licence", "parameters", "languages_source", "aliases"}
"""Fields of entries that no score depends on."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Code = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z]+)*$")]
"""How the registry spells a language: a BCP-47 language in small letters, or a variety of its own such as en-sci."""
EntryT = TypeVar("EntryT", bound=Entry)


def validate(kind: type[EntryT], value: object, file: Path | str, where: str = "") -> EntryT:
    """Build an entry from what a YAML file holds, at the place ``where`` in it.

    RegistryError names file and field of what is unknown, missing, of the wrong type or contradictory.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problems = []
        for problem in error.errors():
            field = ".".join(map(str, [*([where] if where else []), *problem["loc"]]))
            problems.append(f"{field or 'entry'}: {problem['msg'].removeprefix('Value error, ')}")
        raise RegistryError(f"{'; '.join(problems)}", file=file) from error


def read_yaml(file: Path) -> object:
    """Parse one YAML file safely; RegistryError names the file, and the line of what cannot be read."""
    try:
        return plain_yaml(NamedFile(file))
    except InputError as error:
        raise RegistryError(str(error)) from error


def read_entry(kind: type[EntryT], file: Path) -> EntryT:
    """Read a file of one entry; RegistryError names file and field of what is wrong."""
    return validate(kind, read_yaml(file), file)


class Listed(Entry):
    """An entry of a list, which is one file of a registry folder; ``key`` is the field that names it."""

    file: ClassVar[str]
    what: ClassVar[str]
    key: ClassVar[str] = "name"


ListedT = TypeVar("ListedT", bound=Listed)


def read_list(kind: type[ListedT], file: Path) -> dict[str, ListedT]:
    """Read a list of entries, by their names; RegistryError names file and field of what is wrong, or there twice."""
    listed = read_yaml(file)
    if not isinstance(listed, list):
        raise RegistryError(f"must be a list of {kind.what}", file=file)
    entries: dict[str, ListedT] = {}
    for index, value in enumerate(listed):
        entry = validate(kind, value, file, f"[{index}]")
        name = getattr(entry, kind.key)
        if name in entries:
            raise RegistryError(f"[{index}].{kind.key}: {name!r} is listed twice", file=file)
        entries[name] = entry
    return entries


def read_lists(kind: type[ListedT], folders: Sequence[Path]) -> dict[str, ListedT]:
    """Read the lists of registry folders, in rising precedence: a later folder's entry replaces one of its name.

    Only the first folder needs the file. Errors are those of `read_list`.
    """
    entries: dict[str, ListedT] = {}
    for folder in folders:
        if os.path.lexists(folder / kind.file) or folder == folders[0]:
            entries |= read_list(kind, folder / kind.file)
    return entries


def read_named(kind: type[EntryT], file: Path) -> EntryT:
    """Read a file of one entry, which is to be called like the file."""
    entry = read_entry(kind, file)
    if (name := dict(entry)["name"]) != file.stem:
        raise RegistryError(f"name: is {name!r}, but the file is called {file.stem!r}", file=file)
    return entry


Judged = Literal["human-translation", "human-summary", "similarity"]
"""What people judged: translations, summaries, or how alike two sentences are."""
_YEAR = re.compile(r"(?i)wmt[ -]?(\d\d)(?!\d)|newstest(20\d\d)")


class Evidence(Entry):
    """One measured agreement with human judgments, of a metric or of a model's best layer, with its source.

    ``language`` is the language of the candidates it was measured on, ``direction`` that of the translations (en-tr),
    and ``level`` what was judged: segments or whole systems. ``layer`` is the layer, if not the entry's; ``called`` is
    the name that the source has for the model or metric. ``kind`` is what people judged, ``year`` that of their
    judgments, ``chrf`` the same statistic of chrF on the same rows, and ``n`` the number of items.
    """

    dataset: str
    language: Code = "en"
    direction: Annotated[str, Field(pattern=r"^[a-z]{2,3}-[a-z]{2,3}$")] | None = Field(
        default=None, validation_alias=AliasChoices("direction", "pair")
    )
    level: Literal["segment", "system"] = "segment"
    layer: int | None = None
    statistic: str
    value: Annotated[float, Field(ge=-1, le=1)]
    called: str | None = None
    source: str
    kind: Judged | None = None
    year: Annotated[int, Field(ge=1990, le=2100)] | None = None
    chrf: Annotated[float, Field(ge=-1, le=1)] | None = None
    n: int | None = Field(default=None, ge=1)
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None

    @model_validator(mode="after")
    def _into_its_language(self) -> Evidence:
        if self.direction is not None and self.direction.rpartition("-")[2] != self.language:
            raise ValueError(f"direction {self.direction} does not go into the language {self.language}")
        return self

    @property
    def enough(self) -> bool:
        """Whether it rests on enough items to speak for anything."""
        return self.n is None or self.n >= FEWEST_ITEMS

    @property
    def when(self) -> int | None:
        """The year of the data, as given or as its name says."""
        match = _YEAR.search(self.dataset)
        if self.year is not None or match is None:
            return self.year
        return int(match[2]) if match[2] else 2000 + int(match[1])

    @property
    def judged(self) -> Judged | None:
        """What people judged, as given or as a pair or the name of the data says."""
        translated = self.direction is not None or _YEAR.search(self.dataset) is not None
        return "human-translation" if self.kind is None and translated else self.kind


def plain_yaml(file: NamedFile) -> Untyped:
    """Return what a file holds as YAML, read safely.

    InputError is raised if it is not YAML or UTF-8, names a key twice, or is not what its seal says.
    """
    import yaml

    loader = _yaml_loader()
    content = file.text()
    first, _, rest = (plain := content.replace("\r\n", "\n")).partition("\n")
    if _SAYS in first and sealed(rest) != plain:
        raise InputError(
            "is damaged or was changed: its sha256 is not the one in line 1; restore it, or remove that line if "
            "the change is meant",
            file=file.name,
        )
    try:
        return yaml.load(content, loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"not readable as YAML: {' '.join(str(error).split())}", file=file.name) from error


@functools.cache
def _yaml_loader() -> Untyped:
    """Return a loader of plain values that refuses a key that stands twice, which YAML forbids and PyYAML lets through.

    The C loader builds the same safe types as ``safe_load``, several times faster.
    """
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def construct_mapping(self, node: Untyped, deep: bool = False) -> Untyped:
            seen: set[str] = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and (key.value in seen or seen.add(key.value)):  # type: ignore[func-returns-value]
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} stands twice", key.start_mark
                    )
            return super().construct_mapping(node, deep)

    return Loader


_SAYS = "# sha256 of the lines below: "


def sealed(text: str) -> str:
    """Return a text with its seal, a comment, before it."""
    return f"{_SAYS}{hashlib.sha256(text.encode()).hexdigest()}\n{text}"
