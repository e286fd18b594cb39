"""Published tables beside ours as people see them: what is off comes first, and every form says the same."""

from __future__ import annotations

import json

from bsx.analysis import Reproduced
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Answer, TablePart
from bsx.analysis.published import LeftOut, ReproducedCell, ReproducedTable, Verdict, together


def reproduced(name: str = "kaster2021", verdict: Verdict = "met", ours: float = 0.51) -> Reproduced:
    difference = round(ours - 0.5, 6)
    cell = ReproducedCell(
        at={"pair": "cs_en"},
        published=0.5,
        ours=ours,
        difference=difference,
        tolerance=0.02,
        verdict=verdict,
        reason="",
    )
    own = ReproducedCell(
        at={"pair": "all & more"},
        published=None,
        ours=0.4,
        difference=None,
        tolerance=None,
        verdict="ours",
        reason="own",
    )
    table = ReproducedTable(
        title="r & tau", source="Somebody 2020, table 1", data=("a.tsv",), settings=(), cells=(cell, own), left_out=()
    )
    left_out = (LeftOut(what="paws", reason="no data"),)
    return Reproduced(ok=verdict != "off", tables={name: table}, left_out=left_out)


def test_every_form() -> None:
    result = reproduced()
    assert Reproduced.from_dict(json.loads(json.dumps(result.to_dict()))).to_dict() == result.to_dict()
    assert list(result.to_pandas()["verdict"]) == ["met", "ours"]
    assert result.to_html().count("<table>") >= 1
    latex = result.to_latex(data="x_1")
    assert r"x\_1: " in latex
    assert r"all \& more" in latex
    assert "published" in result.plot().svg()
    assert "Left out: paws: no data." in result.to_text()
    assert "cs_en" not in result.to_text()
    assert "cs_en" in result.to_text(full=True)


def test_what_is_off_stands_in_the_short_form() -> None:
    shown = [part for part in parts_of(reproduced(verdict="off", ours=0.6)) if not part.full]
    assert isinstance(shown[0], Answer)
    assert "0 of 1 published figures" in shown[0].text
    assert "Off without a reason: 1." in shown[0].text
    off = shown[2]
    assert isinstance(off, TablePart)
    assert [cell.value for cell in off.rows[0]] == ["kaster2021", "cs_en", 0.5, 0.6, 0.1]


def test_several_are_one() -> None:
    one = together([reproduced("kaster2021"), reproduced("paws", "off", 0.6)])
    assert list(one.tables) == ["kaster2021", "paws"]
    assert one.left_out == ()  # of what one left out, the other has the figures
    assert not one.ok
