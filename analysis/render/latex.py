"""Text in LaTeX."""

from __future__ import annotations

_COMMANDS = {"\\": "textbackslash", "~": "textasciitilde", "^": "textasciicircum", "<": "textless", ">": "textgreater"}
_ESCAPED = str.maketrans(
    {character: rf"\{name}{{}}" for character, name in _COMMANDS.items()}
    | {character: f"\\{character}" for character in "&%$#_{}"}
)


def escape(text: str) -> str:
    r"""Return text with what LaTeX would take for commands escaped.

    >>> print(escape("bleu_s & 5%"))
    bleu\_s \& 5\%
    """
    return text.translate(_ESCAPED)
