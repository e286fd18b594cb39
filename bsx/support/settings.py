"""Settings that are written once: classes of settings read, checked, and shown by the calls that take them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TypeVar, cast, get_type_hints, is_typeddict

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from bsx.errors import InputError
from bsx.support.untyped import Settings


@dataclass(frozen=True)
class UserOnly:
    """Marks a setting that names a program, or files that run code when they are read.

    It counts from the user alone (an option, an argument, an entry of the user's own registry), never from a file that
    may have come from somebody else, such as a saved ensemble.
    """


def user_only(kind: type[BaseModel], name: str) -> bool:
    """Tell whether a field of a class of settings is marked `UserOnly`."""
    field = kind.model_fields.get(name)
    return field is not None and any(isinstance(mark, UserOnly) for mark in field.metadata)


Config = TypeVar("Config", bound=BaseModel)
Keywords = TypeVar("Keywords", bound=Mapping[str, object])
Function = TypeVar("Function", bound=Callable[..., object])


def takes(kind: type) -> Callable[[Function], Function]:
    """Let ``inspect.signature`` and ``help`` show each of a function's keyword settings with its type and default.

    Type checkers read the same from ``**settings: Unpack[…]``; tests/test_signatures.py holds the two together.

    Args:
        kind: the class of settings that the function makes of its keywords: a pydantic model, a dataclass, a TypedDict.
    """

    def show(function: Function) -> Function:
        own = inspect.signature(function)
        named = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        settings = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in settings_of(kind).items()
            if name not in own.parameters
        ]
        function.__signature__ = own.replace(parameters=[*named, *settings])  # type: ignore[attr-defined]
        return function

    return show


def settings_of(kind: type) -> dict[str, tuple[object, object]]:
    """Return a class's settings: name -> (type, default); ``inspect.Parameter.empty`` if there is no default."""
    if is_typeddict(kind) or issubclass(kind, BaseModel):
        return {
            name: (field.annotation, inspect.Parameter.empty if field.is_required() else field.get_default())
            for name, field in as_model(kind).model_fields.items()
        }
    return {
        field.name: (field.type, inspect.Parameter.empty if field.default is MISSING else field.default)
        for field in fields(kind)  # type: ignore[arg-type]
    }


@functools.cache
def as_model(kind: type) -> type[BaseModel]:
    """Return the pydantic model of a class of settings: itself, or one made of a TypedDict.

    Args:
        kind: a model, or a ``TypedDict`` each of whose types is ``Annotated[…, Field(default=…, description=…)]``.
    """
    if not is_typeddict(kind):
        return cast("type[BaseModel]", kind)
    fields: Settings = {
        name: (hint, next(mark.default for mark in hint.__metadata__ if isinstance(mark, FieldInfo)))
        for name, hint in get_type_hints(kind, include_extras=True).items()
    }
    return create_model(kind.__name__, __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def complete(given: Keywords, kind: type[Keywords]) -> Keywords:
    """Check keyword settings, and add those that are not given.

    Args:
        given: what a call was given.
        kind: the TypedDict that says what there is.

    Raises:
        InputError: one line that names every setting that is wrong.
    """
    made = build_config(given, as_model(kind))
    return cast(Keywords, {name: getattr(made, name) for name in type(made).model_fields})


def build_config(settings: Mapping[str, object], kind: type[Config]) -> Config:
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


def read_spelled(kind: type[BaseModel], name: str, text: str) -> object:
    """Return the value that a text spells for a field; a field that does not exist is left to the check of all.

    Raises:
        InputError: if the text does not spell a value of the field's type.
    """
    field = kind.model_fields.get(name)
    if field is None or field.annotation is None:
        return text
    try:
        adapter: TypeAdapter[object] = TypeAdapter(field.annotation)
        return adapter.validate_strings(text)
    except ValidationError as error:
        message = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise InputError(f"{name}: {message} (got {text!r})") from error


def _explain(problem: ErrorDetails, kind: type[BaseModel]) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        from bsx.support.near import did_you_mean

        if name == "precision" and "dtype" in kind.model_fields:  # what the command line calls it
            return "there is no setting 'precision': it is called dtype"
        return f"there is no setting {name!r}.{did_you_mean(name, kind.model_fields)}"
    shown = f" (got {problem['input']!r})" if name else ""
    return f"{name}: {message}{shown}" if name else message


def set_fields(settings: BaseModel | None, *but: str) -> Settings:
    """Return the settings that were given a value, except ``but``; those of None are none."""
    if settings is None:
        return {}
    given = settings.model_fields_set.difference(but)
    return {name: getattr(settings, name) for name in type(settings).model_fields if name in given}
