"""Metrics and factors as text: `name:field=value`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from bsx.errors import BsxError, InputError

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


@contextlib.contextmanager
def naming(spec: str, *, among: int) -> Iterator[None]:
    """Let an error that does not say which metric it is about begin with that metric, if there are several.

    Args:
        spec: the metric.
        among: how many metrics there are.
    """
    try:
        yield
    except BsxError as error:
        said, name = str(error), spec.partition(":")[0]
        if among > 1 and not said.startswith((f"{name}:", f"{name} ", f"metric {name}")) and repr(name) not in said:
            error.args = (f"metric {spec}: {said}",)
        raise
