"""Settings that nothing would read: refused, so that nobody takes them for obeyed."""

from __future__ import annotations

from collections.abc import Mapping

from bsx.errors import InputError
from bsx.support.settings import settings_of


def refuse_idle(given: Mapping[str, object], defaults: type | Mapping[str, object], why: str, *names: str) -> None:
    """Refuse settings that have a value other than their default where they have no effect.

    Args:
        given: name -> value; others than ``names`` may be among them.
        defaults: name -> default, or the class of settings that says so.
        why: what makes them idle, such as ``"without `judged=`"``.
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
            said = f"`{name}=False`" if given[name] is False else f"`{name}=`"
            raise InputError(f"{said} has no effect {why}: leave it out")
