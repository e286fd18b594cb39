r"""The one place that prints: what goes to a terminal holds no control characters but those of its own bars.

Names of systems, folders, models and whatever a checkpoint says of itself may hold escape sequences, which would move
the cursor, hide lines or rename the window. They are printed as JSON spells them, ``\u001b``. Tables that are written
to standard output (``-o -``) are bytes and pass as they are.
"""

from __future__ import annotations

import io

_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(9), *range(11, 32), *range(127, 160))}  # not tab, not line break


def printable(text: str) -> str:
    """Return a text with its control characters spelled out, those for tabs and line breaks excepted."""
    return text.translate(_ESCAPES)


class Printed(io.TextIOWrapper):
    """A stream of text, in UTF-8, without control characters.

    Args:
        stream: where it goes.

    Attributes:
        unescaped: that stream.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        super().__init__(stream.buffer, "utf-8", "backslashreplace", line_buffering=stream.line_buffering)
        self.unescaped = stream  # and held: it would close the file that they share

    def write(self, text: str) -> int:
        """Write a text; see `printable`."""
        super().write(printable(text))
        return len(text)


class Messages(Printed):
    """Standard error, on which bars are drawn too: those of bsx on the stream below, those of a hub here."""

    def write(self, text: str) -> int:
        """Write a text; what tqdm writes to go back to a line's start, or some lines up, passes."""
        if not text.strip("\n\x1b[A"):
            return io.TextIOWrapper.write(self, text)
        if text.startswith("\r"):
            return io.TextIOWrapper.write(self, "\r") + super().write(text[1:])
        return super().write(text)
