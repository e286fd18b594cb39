"""Files as a bad disk returns them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np


def damaged(file: Path, times: int) -> Iterator[int]:
    """Turn a bit of a file, or cut it (every fifth time), so many times, and mend it again; yield where."""
    content, chance = file.read_bytes(), np.random.default_rng(0)
    try:
        for number in range(times):
            at = int(chance.integers(len(content)))
            turned = bytes([content[at] ^ 1 << int(chance.integers(8))]) + content[at + 1 :]
            file.write_bytes(content[:at] + (b"" if number % 5 == 0 else turned))
            yield at
    finally:
        file.write_bytes(content)
