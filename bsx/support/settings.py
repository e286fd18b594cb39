"""Settings that are written once: classes of settings read, checked, and shown by the calls that take them."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from bsx.errors import InputError
from bsx.support.untyped import Settings


@dataclass(frozen=True)
class UserOnly:
    """Marks a setting that names a program, or files that run code when they are read.

    It counts from the user alone (an option, an argument, an entry of the user's own registry), never from a file that
    may have come from somebody else, such as a saved ensemble or another registry folder; see `bsx.catalog.code`.
    """


@dataclass(frozen=True)
class Unscored:
    """Marks a setting of a metric that no score depends on, such as how fast it comes: no signature has it."""


@dataclass(frozen=True)
class Option:
    """How the command line takes a setting, where its name and type do not say so already.

    Attributes:
        flags: short flags beside ``--name``, such as ``-c``.
        argument: the setting is what stands after the command, without a name.
        metavar: what stands for the value in the help.
        writable: it names a file or folder that is written.
        folder: what is written is a folder.
        folded: one of the rarer settings that share an option, ``--encoder name=value,…``: the option's name.
        python: it exists in Python only, such as a function.
        whole: of several values: each is given by itself, because one may hold a comma, as the name of a file.
    """

    flags: tuple[str, ...] = ()
    argument: bool = False
    metavar: str | None = None
    writable: bool = False
    folder: bool = False
    folded: str | None = None
    python: bool = False
    whole: bool = False


class BaseSettings(BaseModel):
    """A class of settings: fields with type, default, range and help; Python keywords and options are made of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


Chosen = TypeVar("Chosen", bound=BaseModel)
Keys = ParamSpec("Keys")
First = TypeVar("First")
Second = TypeVar("Second")
Third = TypeVar("Third")
Fourth = TypeVar("Fourth")
Outcome = TypeVar("Outcome")


class settled(Generic[Keys, Chosen]):  # noqa: N801 - a decorator
    """Let a function that takes settings as its last argument take their fields as keywords.

    >>> class TestSettings(BaseSettings):
    ...     level: str = "seg"
    >>> @settled(TestSettings)
    ... def test(table: list[float], settings: TestSettings) -> str:
    ...     return settings.level
    >>> test([1.0], level="sys")
    'sys'

    Type checkers and editors read the keywords with types and defaults from the class; ``inspect.signature`` shows the
    same. ``function.__wrapped__`` takes settings that were made already.

    Args:
        kind: the class of settings; a wrong or unknown keyword is an `InputError` that names it.
    """

    def __init__(self, kind: Callable[Keys, Chosen]) -> None:
        self._kind = cast("type[Chosen]", kind)

    @overload
    def __call__(self, function: Callable[[Chosen], Outcome]) -> Callable[Keys, Outcome]: ...
    @overload
    def __call__(self, function: Callable[[First, Chosen], Outcome]) -> Callable[Concatenate[First, Keys], Outcome]: ...
    @overload
    def __call__(
        self, function: Callable[[First, Second, Chosen], Outcome]
    ) -> Callable[Concatenate[First, Second, Keys], Outcome]: ...
    @overload
    def __call__(
        self, function: Callable[[First, Second, Third, Chosen], Outcome]
    ) -> Callable[Concatenate[First, Second, Third, Keys], Outcome]: ...
    @overload
    def __call__(
        self, function: Callable[[First, Second, Third, Fourth, Chosen], Outcome]
    ) -> Callable[Concatenate[First, Second, Third, Fourth, Keys], Outcome]: ...
    def __call__(self, function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        """Return the function with keywords instead of its last argument."""
        kind = self._kind
        own = inspect.signature(function)
        leading = list(own.parameters.values())[:-1]

        @functools.wraps(function)
        def call(*positional: object, **given: object) -> Outcome:
            named = {item.name: given.pop(item.name) for item in leading if item.name in given}
            try:
                bound = own.replace(parameters=leading).bind(*positional, **named)
            except TypeError as error:
                raise TypeError(f"{function.__name__}(): {error}; its settings are given by keyword") from error
            return function(*bound.args, build_config(given, kind))

        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in settings_of(kind).items()
        ]
        call.__signature__ = own.replace(parameters=[*leading, *keywords])  # type: ignore[attr-defined]
        return call


def part(settings: BaseModel, kind: type[Chosen]) -> dict[str, Any]:
    """Return those fields of settings that another class has too and that were given a value, as keywords for it."""
    return {name: value for name, value in set_fields(settings).items() if name in kind.model_fields}


def narrowed(settings: BaseModel, kind: type[Chosen]) -> Chosen:
    """Return settings as a class of fewer fields, for which they were checked already."""
    return kind.model_construct(None, **part(settings, kind))


Made = TypeVar("Made")


def made_of(kind: Callable[..., Made], settings: Settings) -> Made:
    """Make something of its settings again: what a recipe that travels to another process begins with."""
    return kind(**settings)


def unscored(kind: type[BaseModel], name: str) -> bool:
    """Tell whether a field of a class of settings is marked `Unscored`."""
    return any(isinstance(mark, Unscored) for mark in kind.model_fields[name].metadata)


def user_only(kind: type[BaseModel], name: str) -> bool:
    """Tell whether a field of a class of settings is marked `UserOnly`."""
    field = kind.model_fields.get(name)
    return field is not None and any(isinstance(mark, UserOnly) for mark in field.metadata)


Config = TypeVar("Config", bound=BaseModel)
Keywords = TypeVar("Keywords", bound=Mapping[str, object])
Function = TypeVar("Function", bound=Callable[..., object])

_DRAWS, _COUNT, _MANY, _LARGE = 10**6, 10**4, 10**9, 1e12
# The numbers that a setting of a name may be, wherever it is one; a class of settings may ask for more.
RANGES: dict[str, tuple[float, float]] = {
    "seed": (0, 2**32 - 1),
    **dict.fromkeys(("alpha", "confidence", "dropout", "tolerance"), (0, 1)),
    **dict.fromkeys(("resamples", "hybrids", "sample"), (1, _DRAWS)),
    **dict.fromkeys(("threshold", "penalty", "learning_rate"), (0, _LARGE)),
    **dict.fromkeys(("human_ties", "temperature", "meaning", "margin", "gap"), (0, _LARGE)),
    "document_size": (1, _MANY),
    **dict.fromkeys(("lm_weight",), (-_LARGE, _LARGE)),
    **dict.fromkeys(("memory", "cache_size"), (1, 2**62)),
    "judgments": (0, _MANY),
    **dict.fromkeys(("batch_tokens", "limit", "pairs", "max_tokens", "train_sizes", "sizes", "draws"), (1, _MANY)),
    **dict.fromkeys(("keep", "max_words", "epochs", "patience", "batch_size", "hidden"), (1, _DRAWS)),
    "budget": (1, _DRAWS),
    **dict.fromkeys(("examples", "worst", "bins", "layer", "first_layer"), (0, _COUNT)),
    **dict.fromkeys(("context", "iterations"), (0, _COUNT)),
    **dict.fromkeys(("last_layers", "window"), (1, _COUNT)),
    **dict.fromkeys(("jobs", "workers"), (1, 1024)),
    **dict.fromkeys(("folds", "size"), (2, _COUNT)),
    **dict.fromkeys(("repeats", "seeds"), (1, _COUNT)),
    **dict.fromkeys(("ngram", "max_ngram_order", "char_order", "word_order"), (0, 100)),
    **dict.fromkeys(("beta", "smooth_value"), (0, _COUNT)),
}


_SEVERAL = frozenset({"seeds", "sizes", "train_sizes", "judgments"})
"""Settings that may be several numbers, each within the range."""


def _in_range(value: float, range: tuple[float, float]) -> bool:
    return range[0] <= value <= range[1]


def check_ranges(given: Mapping[str, object]) -> None:
    """Refuse numbers that `RANGES` does not allow.

    Args:
        given: name -> value, a number or several; what is no number, or has no range, is left to others.

    Raises:
        InputError: naming the first wrong one, its value and the range.
    """
    for name in given.keys() & RANGES.keys():
        value, (lowest, highest) = given[name], RANGES[name]
        if name in _SEVERAL and isinstance(value, list | tuple):
            allowed = RANGES["seed" if name == "seeds" else name]
            outside = (one for one in value if isinstance(one, int | float) and not _in_range(one, allowed))
            value, (lowest, highest) = next(outside, None), allowed
        if isinstance(value, int | float) and not isinstance(value, bool) and not _in_range(value, (lowest, highest)):
            shown = f"must lie between {lowest:.12g} and {highest:.12g} (got {_short(value)})"
            raise InputError(f"{name}: {shown}", setting=name)


def enough_draws(resamples: int, confidence: float) -> None:
    """Refuse an interval whose tails are less than half a draw each.

    Raises:
        InputError: if there are fewer than 1 / (1 - confidence) resamples: 20 for intervals of 95 %.
    """
    least = round(1 / (1 - confidence)) if confidence < 1 else 0
    if resamples < least:
        raise InputError(f"an interval at confidence={confidence:g} takes at least {least} resamples, not {resamples}")


def _check_draws(given: Mapping[str, object]) -> None:
    """Apply `enough_draws` to settings that have a confidence; 0 is no bootstrap at all."""
    draws, confidence = given.get("resamples"), given.get("confidence")
    if isinstance(draws, int) and draws and isinstance(confidence, float):
        enough_draws(draws, confidence)


def in_range(function: Function) -> Function:
    """Let a function refuse arguments that `RANGES` or `enough_draws` do not allow, before it does anything."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*positional: object, **named: object) -> object:
        with contextlib.suppress(TypeError):  # the call itself says what is wrong with it
            given = signature.bind(*positional, **named)
            check_ranges(given.arguments)
            given.apply_defaults()
            _check_draws(given.arguments)
        return function(*positional, **named)

    return checked  # type: ignore[return-value]


def _short(value: object) -> str:
    if isinstance(value, int) and abs(value) >= 10**40:  # Python does not even print the longest
        return "a number of more than 40 digits"
    shown = repr(value)
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


def settings_of(kind: type) -> dict[str, tuple[object, object]]:
    """Return a class's settings: name -> (type, default); ``inspect.Parameter.empty`` if there is no default."""
    if issubclass(kind, BaseModel):
        return {
            name: (field.annotation, inspect.Parameter.empty if field.is_required() else field.get_default())
            for name, field in kind.model_fields.items()
        }
    return {
        field.name: (field.type, inspect.Parameter.empty if field.default is MISSING else field.default)
        for field in fields(kind)  # type: ignore[arg-type]
    }


def build_config(settings: Mapping[str, object], kind: type[Config]) -> Config:
    """Validate settings.

    Args:
        settings: field -> value.
        kind: the class of settings.

    Raises:
        InputError: one line that names every setting that is wrong.
    """
    check_ranges(settings)
    try:
        made = kind.model_validate(settings)
    except ValidationError as error:
        problems = error.errors()
        about = next((str(problem["loc"][0]) for problem in problems if problem["loc"]), None)
        lines = dict.fromkeys(_explain(item, kind) for item in problems)
        raise InputError("; ".join(lines), setting=about) from error
    _check_draws(dict(made))
    return made


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
        raise InputError(told_problem(error.errors()[0], name), setting=name) from error


def _explain(problem: ErrorDetails, kind: type[BaseModel]) -> str:
    name = str(problem["loc"][0]) if problem["loc"] else ""
    if problem["type"] == "extra_forbidden":
        from bsx.support.near import did_you_mean

        if name == "precision" and "dtype" in kind.model_fields:  # what the command line calls it
            return "there is no setting 'precision': it is called dtype"
        return f"there is no setting {name!r}.{did_you_mean(name, kind.model_fields)}"
    return told_problem(problem, name)


# What pydantic finds wrong with a value, in words; others are told in its own.
_WRONG = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("list_type", "tuple_type", "sequence_str"), "must be a list"),
    **dict.fromkeys(("mapping_type", "dict_type"), "must be a mapping"),
    **dict.fromkeys(("path_type", "path_not_file"), "must be a path"),
    "string_type": "must be text",
    "callable_type": "must be a function",
    "literal_error": "must be {expected}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "greater_than": "must be more than {gt:g}",
    "less_than": "must be less than {lt:g}",
}


def told_problem(problem: ErrorDetails, name: str) -> str:
    """Return in words what is wrong with a setting: its name, what it must be, and the value it was given.

    Args:
        problem: as pydantic reports it.
        name: what the message calls the setting; "" if the problem is about several.
    """
    if problem["type"] == "missing":
        return f"{name}: is missing"
    wrong = _WRONG.get(problem["type"])
    if problem["type"] == "is_instance_of" and problem.get("ctx", {}).get("class") == "Sequence":
        wrong = "must be a list"
    if wrong is None:
        message = str(problem["msg"]).removeprefix("Value error, ")
    else:
        message = wrong.format_map(problem.get("ctx", {}))
    return f"{name}: {message} (got {_short(problem['input'])})" if name else message


def set_fields(settings: BaseModel | None, *but: str) -> Settings:
    """Return the settings that were given a value, except ``but``; those of None are none."""
    if settings is None:
        return {}
    given = settings.model_fields_set.difference(but)
    return {name: getattr(settings, name) for name in type(settings).model_fields if name in given}


def refuse_idle(given: Mapping[str, object], defaults: type | Mapping[str, object], why: str, *names: str) -> None:
    """Refuse settings that have a value other than their default where they have no effect.

    Args:
        given: name -> value; others than ``names`` may be among them.
        defaults: name -> default, or the class of settings that says so.
        why: what makes them idle, such as ``"without judged"``.
        names: those that have no effect here; all of ``given`` unless named.

    Raises:
        InputError: naming the first that was given nevertheless.
    """
    usual = (
        defaults
        if isinstance(defaults, Mapping)
        else {name: value for name, (_, value) in settings_of(defaults).items()}
    )
    for name in names or given:
        if given[name] != usual[name]:
            said = f"{name}=False" if given[name] is False else name
            raise InputError(f"{said} has no effect {why}: leave it out")
