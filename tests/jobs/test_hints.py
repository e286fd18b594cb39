"""Every setting that a message names exists, and takes the value that the message gives it."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from benchmarks.published.kaster2021 import reproduce
from bsx.bertscore.config import ScorerConfig
from bsx.catalog.catalog import shipped
from bsx.errors import InputError
from bsx.jobs.scoring.metrics import SHARED, wanted_sides
from bsx.metrics.zoo import find_metric
from bsx.support.faces import exports
from bsx.support.settings import as_model
from tests.conftest import REPOSITORY

SETTING = re.compile(r"(?<!`)`([a-z]\w*)=([^`\\]*)\\?`(?!`)")  # Markdown's escape is no value
CALL = re.compile(r"`bsx\.(?:jobs\.|analysis\.)?(\w+)\(([^`]*)\)`")
ARGUMENT = re.compile(r"(\w+)=('[^']*'|\[[^]]*\]|[^,]*)")
HOLE = "…"


def messages() -> Iterator[tuple[str, str]]:
    """Yield (file, text) of every text in the library's code; what is filled in later is an ellipsis."""
    for folder in ("bsx", "analysis"):
        for file in sorted((REPOSITORY / folder).rglob("*.py")):
            if "workers" in file.parts:
                continue
            tree = ast.parse(file.read_text(encoding="utf-8"))
            inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    parts = (part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)
                    yield file.name, "".join(map(str, parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
                    yield file.name, node.value


@functools.cache
def known() -> dict[str, list[Any]]:
    """Return the settings of all public calls and of all classes of settings: name -> types."""
    found: dict[str, list[Any]] = {}
    packages = [importlib.import_module(name) for name in ("bsx", "bsx.analysis", "bsx.jobs")]
    calls = [reproduce, *(getattr(package, name) for package in packages for name in exports(package.__name__))]
    for module_info in pkgutil.walk_packages([str(REPOSITORY / "bsx")], "bsx."):
        if "workers" in module_info.name or module_info.name.endswith("__main__"):
            continue
        for kind in vars(importlib.import_module(module_info.name)).values():
            home = str(getattr(kind, "__module__", ""))
            if not home.startswith("bsx.") or ".documents" in home:  # what results say is no setting
                continue
            if is_typeddict(kind):
                for name, hint in get_type_hints(kind).items():
                    found.setdefault(name, []).append(hint)
            elif isinstance(kind, type) and issubclass(kind, BaseModel):
                for name, field in as_model(kind).model_fields.items():
                    found.setdefault(name, []).append(field.annotation)
    for call in calls:
        if not callable(call):
            continue
        methods = vars(call).values() if isinstance(call, type) else ()
        for member in (call, *(method for method in methods if inspect.isfunction(method))):
            try:
                parameters = inspect.signature(member).parameters.values()
                hints = get_type_hints(member if inspect.isfunction(member) else member.__init__)
            except (TypeError, ValueError, NameError):
                continue
            for one in parameters:
                if one.name in hints:
                    found.setdefault(one.name, []).append(hints[one.name])
    return found


def named() -> Iterator[tuple[str, str, str]]:
    for file, text in messages():
        for name, value in SETTING.findall(text):
            yield file, name, value
        for _, arguments in CALL.findall(text):
            for name, value in ARGUMENT.findall(arguments):
                yield file, name, value


def accepted(name: str, value: str) -> bool:
    """Tell whether any call takes this value; words in capitals and ellipses stand for the user's own."""
    literal = value.strip("'")
    if not value or HOLE in value or "{" in value or literal.isupper():
        return True
    try:
        spelled = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        spelled = literal
    unclear = True  # whether no type says what it takes
    for hint in known()[name]:
        with contextlib.suppress(PydanticUserError):  # a type that pydantic has no schema for
            adapter: TypeAdapter[object] = TypeAdapter(hint)
            unclear = False
            with contextlib.suppress(ValidationError):
                adapter.validate_python(spelled)
                return True
    return unclear


def test_settings_in_messages_exist_and_take_what_is_suggested() -> None:
    settings = sorted(set(named()))
    assert len(settings) > 100
    for name, value in (("se", "cluster"), ("long", "window")):
        assert accepted(name, repr(value))
        assert not accepted(name, repr(value[1:]))
    assert [f"{file}: `{name}=`" for file, name, _ in settings if name not in known()] == []
    assert [f"{file}: `{name}={value}`" for file, name, value in settings if not accepted(name, value)] == []


@pytest.mark.parametrize("setting", sorted(set(ScorerConfig.model_fields) - SHARED))
def test_a_setting_of_one_metric_is_suggested_only_where_it_is_one(setting: str) -> None:
    catalog = shipped()
    for name in catalog.metrics:
        with pytest.raises(InputError, match=setting) as raised:
            wanted_sides([name], ScorerConfig.model_construct({setting}, **{setting: True}))
        suggested = re.search(r"write it as (\S+):(\w+)=", str(raised.value))
        assert (suggested is not None) == (setting in find_metric(name, catalog)[0].Config.model_fields)
        if suggested is not None:
            assert suggested.groups() == (name, setting)
