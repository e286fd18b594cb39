"""Files of pictures: formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from bsx.data.output import check_picture
from bsx.errors import InputError


def test_what_cannot_be_drawn_is_said_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.png, \.svg, \.pdf"):
        check_picture(tmp_path / "a.gif")
    with pytest.raises(InputError, match="does not exist"):
        check_picture(tmp_path / "no" / "a.png")
