"""Metrics and factors as text, `name:field=value`, and the classes that they name, which may be code of others."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import traceback
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeVar

from bsx.catalog.catalog import Catalog
from bsx.catalog.entries.metrics import FactorEntry, MetricEntry
from bsx.errors import BsxError, InputError, RegistryError
from bsx.support.folders import user_folder
from bsx.support.optional import EXTRAS, need, source_of
from bsx.support.settings import UserOnly, marked

UNNAMED = ""  # the key of a setting written without its field


_SETTING = re.compile(r"^\s*([A-Za-z_]\w*)\s*=(.*)$", re.DOTALL)


def split_specs(text: str) -> list[str]:
    """Cut a comma-separated list of metrics; a part ``field=value`` belongs to the metric before it.

    >>> split_specs("bertscore,moverscore:ngram=2,idf=false,chrf")
    ['bertscore', 'moverscore:ngram=2,idf=false', 'chrf']
    """
    specs: list[str] = []
    for part in text.split(","):
        if specs and _SETTING.match(part):
            specs[-1] += ("," if ":" in specs[-1] else ":") + part.strip()
        elif part.strip():
            specs.append(part.strip())
    return specs


def read_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Return the name and the settings in ``name:field=value,field=value``.

    The first setting may lack its field, as in ``name:value,field=value``; it is then under the key `UNNAMED`, and
    `config_of` gives it to the field that the metric's ``Config.positional`` names.

    Raises:
        InputError: for what is no text, another setting without ``=``, or one given twice.
    """
    if not isinstance(spec, str):
        raise InputError(f"metrics are named by texts, such as 'chrf' (got {spec!r})")
    name, colon, rest = spec.partition(":")
    settings: dict[str, str] = {}
    for number, part in enumerate(rest.split(",") if colon else []):
        match = _SETTING.match(part)
        if match is None and (number or not part.strip()):
            raise InputError(f"metric {spec!r}: {part!r} is not field=value")
        field, value = (match[1], match[2].strip()) if match is not None else (UNNAMED, part.strip())
        if field in settings:
            raise InputError(f"metric {spec!r}: {field} is given twice")
        settings[field] = value
    return name.strip(), settings


def titles(specs: Collection[str], catalog: Catalog) -> dict[str, str]:
    """Return what people call metrics, by their specifications.

    What stands behind a comma in the title of a metric is said only where it tells two of them apart; what is no known
    metric, or would still be called as another is, keeps its specification.

    >>> from bsx.catalog.catalog import load_registry
    >>> list(titles(["bertscore:model=minilm", "bleu:tokenize=char", "ter"], load_registry()).values())
    ['BERTScore with minilm', 'BLEU, of characters', 'TER']
    """

    def called(spec: str, *, whole: bool) -> str:
        try:
            name, settings = read_spec(spec)
            title = catalog.metrics[name].title
        except (InputError, KeyError):
            return spec
        title = title if whole else title.partition(",")[0]
        title += f" with {model}" if (model := settings.pop("model", None)) else ""
        more = ", ".join(f"{field}={value}" if field else value for field, value in settings.items())
        return title + (", of characters" if more == "tokenize=char" else f" ({more})" if more else "")

    made = {spec: spec for spec in specs}
    for whole in (True, False):  # the shortest title that no other has
        candidates = {spec: called(spec, whole=whole) for spec in made}
        made |= {spec: title for spec, title in candidates.items() if [*candidates.values()].count(title) == 1}
    return made


@contextlib.contextmanager
def naming(spec: str, *, among: int) -> Iterator[None]:
    """Let an error that does not name the metric that it is about begin with it, if it is one among several."""
    try:
        yield
    except BsxError as error:
        text, name = str(error), spec.partition(":")[0]
        if among > 1 and not text.startswith((f"{name}:", f"{name} ", f"metric {name}")) and repr(name) not in text:
            error.args = (f"metric {spec}: {text}",)
        raise


VARIABLE = "BSX_REGISTRY_CODE"
"""Environment variable with the overlays whose entries may run code that is not bsx's, separated like ``PATH``."""

_Class = TypeVar("_Class", bound=type)


def class_of(catalog: Catalog, entry: MetricEntry | FactorEntry, base: _Class) -> _Class:
    """Return the class that an entry names.

    What is not bsx's own code runs only for entries of the shipped registry, of the user's own registry folder, and of
    the folders that `VARIABLE` names. Such code is a class of another package, and a program, or a file that may run
    code, among the settings (see `UserOnly`). The class must be derived from ``base``.

    Raises:
        MissingExtraError: if the class needs an optional package that is not installed.
        RegistryError: if the entry may not run what it names, or that cannot be imported or is no such class.
    """
    kind = "metric" if isinstance(entry, MetricEntry) else "factor"
    file = catalog.origins[kind, entry.name]
    named = entry.implementation
    if not named.startswith("bsx."):
        _check_trusted(catalog, file, f"implementation: {named}")
    module, _, attribute = named.partition(":")
    try:
        result = getattr(importlib.import_module(module), attribute)
    except BsxError:
        raise
    except Exception as error:  # whatever the code of a stranger raises
        lacking = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError) and lacking in EXTRAS:
            need(lacking, attribute)
        if isinstance(error, ModuleNotFoundError | AttributeError | SyntaxError):
            why = f"{error}; install its package, or put its folder on PYTHONPATH"
        else:
            last = traceback.extract_tb(error.__traceback__)[-1]
            why = f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"
        raise RegistryError(f"implementation: {named} cannot be imported: {why}", file=file) from error
    if not (isinstance(result, type) and issubclass(result, base)):
        raise RegistryError(f"implementation: {named} is not a {base.__name__.lower()}: {result!r}", file=file)
    lacks = [*sorted(getattr(result, "__abstractmethods__", ())), *([] if hasattr(result, "Config") else ["Config"])]
    if lacks:
        raise RegistryError(f"{source_of(result)}: {result.__name__} does not define {', '.join(lacks)}")
    given = [entry.defaults] if isinstance(entry, MetricEntry) else entry.presets.values()
    for name in (name for settings in given for name in settings if marked(result.Config, name, UserOnly)):  # type: ignore[attr-defined]
        _check_trusted(catalog, file, f"{name}, among its settings,")
    return result  # type: ignore[return-value]


def _check_trusted(catalog: Catalog, file: Path, what: str) -> None:
    folder = file.parent.parent
    named = [Path(part).expanduser() for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part]
    if folder.resolve() in [item.resolve() for item in (catalog.folders[0], user_folder(), *named)]:
        return
    raise RegistryError(
        f"{what} decides what code runs here, which this overlay may not: if you trust all that it holds, name "
        f"it in the environment, {VARIABLE}={folder}",
        file=file,
    )
