"""Settings that are written once: classes of settings read, checked, and shown by the calls that take them."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from bsx.errors import InputError, did_you_mean
from bsx.support.untyped import Settings


@dataclass(frozen=True)
class UserOnly:
    """Marks a setting that names a program, or files that run code when they are read.

    It counts from the user alone (an option, an argument, an entry of the user's own registry), never from a file that
    may have come from somebody else, such as a saved ensemble or another registry folder; see `bsx.catalog.specs`.
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
        column: it names columns of the table, which a shell can offer.
        whole: of several values: each is given by itself, because one may hold a comma, as the name of a file.
    """

    flags: tuple[str, ...] = ()
    argument: bool = False
    metavar: str | None = None
    writable: bool = False
    folder: bool = False
    folded: str | None = None
    python: bool = False
    column: bool = False
    whole: bool = False


class BaseSettings(BaseModel):
    """A class of settings: fields with type, default, range and help; Python keywords and options are made of them.

    Attributes:
        panel: the heading, in the help of commands, of what the class itself declares.
        python_only: fields that exist in Python only, beside those that are marked so.
    """

    panel: ClassVar[str | None] = None
    python_only: ClassVar[tuple[str, ...]] = ()

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


# Seeds, draws and levels of intervals and tests: declared once, for all settings that have them.
MOST_DRAWS = 10**6
LAST_SEED = 2**32 - 1
Seed = Annotated[int, Field(ge=0, le=LAST_SEED, description="Random seed.")]
Resamples = Annotated[int, Field(ge=1, le=MOST_DRAWS, description="Bootstrap resamples or permutations.")]
Resamples95 = Annotated[int, Field(ge=20, le=MOST_DRAWS, description="Bootstrap resamples.")]
"""Where the level of the interval is no setting: so many as 95 % take at least."""
Alpha = Annotated[float, Field(gt=0, lt=1, description="Level of significance.")]


Names = Annotated[Sequence[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]
"""Several names, or one by itself."""


class Seeded(BaseSettings):
    """From where is drawn."""

    seed: Seed = 1


class Resampled(Seeded):
    """How often is drawn, and from where."""

    resamples: Resamples = 1000


class Interval(BaseSettings):
    """The level of intervals; with ``resamples``, so many that each tail has half a draw at least."""

    confidence: Annotated[float, Field(gt=0, lt=1, description="Level of the intervals.")] = 0.95

    @model_validator(mode="after")
    def _enough_draws(self) -> Self:
        resamples = getattr(self, "resamples", 0)  # 0 is no bootstrap at all; None is 1000 or more
        draws, least = 1000 if resamples is None else resamples, round(1 / (1 - self.confidence))
        if 0 < draws < least:
            message = f"an interval at confidence={self.confidence:g} takes at least {least} resamples, not {draws}"
            raise InputError(message, setting="resamples")
        return self


class DrawSettings(Resampled, Interval):
    """How often and from where is drawn for intervals, and their level."""


class Significance(BaseSettings):
    """The level of tests."""

    alpha: Alpha = 0.05


Chosen = TypeVar("Chosen", bound=BaseModel)
Made = TypeVar("Made")
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
    same. ``function.__wrapped__`` takes settings that were made already, ``function.settings`` is their class.

    Args:
        kind: the class of settings; a wrong or unknown keyword is an `InputError` that names it.
        first: the setting that may stand after the other arguments without its name.
    """

    def __init__(self, kind: Callable[Keys, Chosen], first: str = "") -> None:
        self._kind, self._first = cast("type[Chosen]", kind), first

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
        kind, first = self._kind, self._first
        signature = inspect.signature(function)
        leading = list(signature.parameters.values())[:-1]

        @functools.wraps(function)
        def call(*positional: object, **given: object) -> Outcome:
            if first and len(positional) == len(leading) + 1:
                if first in given:
                    raise InputError(f"{first} is given twice")
                *positional, given[first] = positional  # type: ignore[assignment]
            for name in given:
                if name not in kind.model_fields and (ours := our_name(name, signature.parameters)) not in (None, name):
                    raise InputError(f"there is no argument {name!r}: it is called {ours}")
            named = {item.name: given.pop(item.name) for item in leading if item.name in given}
            try:
                bound = signature.replace(parameters=leading).bind(*positional, **named)
            except TypeError as error:
                raise TypeError(f"{function.__name__}(): {error}; its settings are given by keyword") from error
            return function(*bound.args, build_config(given, kind))

        here, named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        keywords = [
            inspect.Parameter(name, here if name == first else named, default=default, annotation=annotation)
            for name, (annotation, default) in sorted(settings_of(kind).items(), key=lambda item: item[0] != first)
        ]
        call.__signature__ = signature.replace(parameters=[*leading, *keywords])  # type: ignore[attr-defined]
        call.settings = kind  # type: ignore[attr-defined]
        return call


_ELSEWHERE = {
    **dict.fromkeys(("cand", "cands", "hyp", "hyps", "hypotheses", "pred", "preds", "predictions"), "candidates"),
    **{"ref": "references", "refs": "references", "src": "sources", "srcs": "sources", "metric": "metrics"},
    **{"scores": "columns", "factors": "factor_columns", "data": "data_dir", "precision": "dtype"},
    **{"batch_size": "batch_tokens", "model_type": "model", "num_layers": "layer", "rescale_with_baseline": "rescale"},
}
"""What other packages call arguments and settings."""
_SINGULAR = {"candidates": "candidate", "references": "reference", "sources": "source"}
_PLURAL = {singular: plural for plural, singular in _SINGULAR.items()}


def our_name(name: str, known: Collection[str]) -> str | None:
    """Return what is called here what another package or command calls ``name``; None if none of those known is."""
    return next((same for same in our_spellings(name) if same in known), None)


def our_spellings(name: str) -> list[str]:
    """Return what an argument, a setting or an option that others call ``name`` may be called here, likeliest first."""
    usual = _ELSEWHERE.get(name, name)
    return [*filter(None, dict.fromkeys((name, usual, _SINGULAR.get(usual), _PLURAL.get(usual))))]


def our_names(function: Callable[Keys, Outcome]) -> Callable[Keys, Outcome]:
    """Let a method answer an unknown keyword with an `InputError` that says what it is called here."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: Keys.args, **given: Keys.kwargs) -> Outcome:
        for name in [name for name in given if name not in known]:
            raise InputError(f"there is no argument {name!r}{_hint(name, known)}")
        return function(*args, **given)

    return call


def made_of(kind: Callable[..., Made], settings: dict[str, Any]) -> Made:
    """Make something of its settings again, in another process or as a copy, deep or not."""
    return kind(**settings)


def part(settings: BaseModel, kind: type[Chosen]) -> dict[str, Any]:
    """Return those fields of settings that another class has too and that were given a value, as keywords for it."""
    return {name: value for name, value in set_fields(settings).items() if name in kind.model_fields}


def narrowed(settings: BaseModel, kind: type[Chosen]) -> Chosen:
    """Return settings as a class of fewer fields, for which they were checked already."""
    return kind.model_construct(None, **part(settings, kind))


def marked(kind: type[BaseModel], name: str, mark: type[UserOnly | Unscored]) -> bool:
    """Tell whether a class of settings has a field of a name, and marks it."""
    field = kind.model_fields.get(name)
    return field is not None and any(isinstance(item, mark) for item in field.metadata)


def option_of(field: FieldInfo) -> Option:
    """Return what a field says of its option."""
    return next((mark for mark in reversed(field.metadata) if isinstance(mark, Option)), Option())


def settings_of(kind: type[BaseModel]) -> dict[str, tuple[object, object]]:
    """Return a class's settings: name -> (type, default); ``inspect.Parameter.empty`` if there is no default."""
    return {
        name: (field.annotation, inspect.Parameter.empty if field.is_required() else field.get_default())
        for name, field in kind.model_fields.items()
    }


def build_config(settings: Mapping[str, object], kind: type[Chosen]) -> Chosen:
    """Return settings, field -> value, as their class; an `InputError` of one line names every one that is wrong."""
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        problems = error.errors()
        about = next((str(problem["loc"][0]) for problem in problems if problem["loc"]), None)
        lines = "; ".join(dict.fromkeys(_explain(item, kind) for item in problems))
        # What a check of several settings finds begins with the wrong one.
        first = re.split(r"\W", lines, maxsplit=1)[0]
        raise InputError(lines, setting=first if about is None and first in kind.model_fields else about) from error


def read_spelled(kind: type[BaseModel], name: str, text: str) -> object:
    """Return the value that a text spells for a field, or raise InputError.

    A field that does not exist is left to the check of all.
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
        return f"there is no setting {name!r}{_hint(name, kind.model_fields)}"
    return told_problem(problem, name)


def _hint(name: str, known: Collection[str]) -> str:
    """Return how a message goes on about a name that is none of those known."""
    ours = our_name(name, known)
    return f".{did_you_mean(name, known)}" if ours is None else f": it is called {ours}"


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
    "greater_than_equal": "must be at least {ge:.12g}",
    "less_than_equal": "must be at most {le:.12g}",
    "greater_than": "must be more than {gt:.12g}",
    "less_than": "must be less than {lt:.12g}",
}


def told_problem(problem: ErrorDetails, name: str) -> str:
    """Return in words what pydantic finds wrong: what the setting must be, and the value it was given.

    ``name`` is what the message calls the setting; empty if the problem is about several.
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
    return f"{name}: {message} (got {problem['input']!r})" if name else message


def set_fields(settings: BaseModel | None, *but: str) -> Settings:
    """Return the settings that were given a value, except ``but``; those of None are none."""
    if settings is None:
        return {}
    given = settings.model_fields_set.difference(but)
    return {name: getattr(settings, name) for name in type(settings).model_fields if name in given}


def refuse_idle(settings: BaseModel, why: str, *names: str) -> None:
    """Raise InputError for the first of ``names`` with another value than its default, which has no effect here.

    ``why`` says what makes it idle, such as ``"without judged"``.
    """
    for name in names:
        value = getattr(settings, name)
        if value != type(settings).model_fields[name].get_default():
            spelled = f"{name}=False" if value is False else name
            raise InputError(f"{spelled} has no effect {why}: leave it out", setting=name)
