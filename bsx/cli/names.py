"""Lists of names on the command line."""

from __future__ import annotations

import re


def split_names(names: str) -> list[str]:
    """Cut at commas; a part ``field=value`` belongs to the name before it, as in columns called ``lex:a=1,b=2``.

    >>> split_names("bert, lex:a=1,b=2,chrf")
    ['bert', 'lex:a=1,b=2', 'chrf']
    """
    found: list[str] = []
    for part in (part.strip() for part in names.split(",")):
        if found and ":" in found[-1] and re.match(r"[a-z_]\w*=", part):
            found[-1] += f",{part}"
        elif part:
            found.append(part)
    return found
