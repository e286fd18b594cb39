"""What all entries have in common, and the one way from YAML to an entry."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bsx.errors import RegistryError


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
        raise RegistryError(f"{'; '.join(problems)}", file=file) from error
