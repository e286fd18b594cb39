"""Previews: what columns seem to be for, and what is wrong, for any file that is dropped."""

from __future__ import annotations

import datetime
from pathlib import Path

import openpyxl
import pytest

from bsx.data.formats.preview import preview
from bsx.data.long import called_references
from bsx.data.naming import role_of
from bsx.errors import InputError
from tests.helpers.tables import write_columns

pytest.importorskip("py3langid")
GERMAN = ["Das Wetter ist heute sehr schön.", "Wir gehen morgen zusammen in die Stadt."]
ENGLISH = ["The weather is very nice today.", "We are going to town together tomorrow."]


def test_columns_are_guessed_by_name_content_and_language(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Segment ID", "Source", "DeepL", "Google", "Ref.", "Rating", "speed", "when", "ok", "none"])
    for place, (english, german) in enumerate(zip(ENGLISH, GERMAN, strict=True)):
        day = datetime.date(2024, 1, 1)
        sheet.append([place, english, german, german, german, 3 + place, 0.5, day, True, None])
    sheet["A5"] = "note"
    sheet["L5"] = "stray"
    book.create_sheet("Other")
    book.save(tmp_path / "t.xlsx")
    found = preview(tmp_path / "t.xlsx", rows=1)
    columns = {column.name: column for column in found.columns}
    assert {name: column.role for name, column in columns.items()} == {
        **{"Segment ID": "segment", "Source": "source", "DeepL": "candidate", "Google": "candidate"},
        "Ref.": "reference",
        **{"Rating": "human", "speed": "score", "when": None, "ok": None, "none": None},
    }
    assert [column.kind for column in found.columns[5:]] == ["number", "number", "date", "boolean", "empty"]
    assert (columns["DeepL"].language, columns["Source"].language, columns["DeepL"].detected) == ("de", "en", True)
    assert found.rows == (("0", ENGLISH[0], GERMAN[0], GERMAN[0], GERMAN[0], "3", "0.5", "2024-01-01", "true", ""),)
    assert (found.format, found.sheets, found.sheet) == (".xlsx", ("Sheet", "Other"), "Sheet")
    assert len(found.problems) == 1
    assert "row 5, column L" in found.problems[0]
    assert found.total is None
    assert found.first("reference") == "Ref."


def test_languages_that_a_file_names_are_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "t.tmx").write_text(
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="nb-NO">'
        "<seg>b</seg></tuv></tu></body></tmx>",
        encoding="utf-8",
    )
    found = preview(tmp_path / "t.tmx")
    assert [(one.name, one.role, one.language, one.detected) for one in found.columns] == [
        *(("id", "segment", None, False), ("source", "source", "en", False), ("nb-NO", None, "nb-NO", False))
    ]
    assert (found.total, found.format) == (1, ".tmx")


@pytest.mark.parametrize(
    ("name", "role"), [("Referenz.txt", "reference"), ("newstest.de", None), ("a.mt.txt", "candidate")]
)
def test_lines_are_one_column(name: str, role: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_text("\n".join(GERMAN) + "\n", encoding="utf-8")
    found = preview(tmp_path / name, rows=1)
    (column,) = found.columns
    assert (column.role, column.language, found.format, found.total) == (role, "de", "lines", 2)
    assert found.rows == ((GERMAN[0],),)


@pytest.mark.parametrize(
    ("role", "names"),
    [
        ("reference", "reference_A refA ref-b REF Referenzübersetzung Referenzuebersetzung 参考译文 参考A संदर्भ"),
        ("reference", "Referencia المرجع Référence রেফারেন্স Referência Эталон Эталонный_перевод حوالہ Acuan"),
        ("reference", "Tłumaczenie_referencyjne wzorzec Referans 참조 Traducción_de_referencia"),
        ("candidate", "机器翻译A 번역 अनुवाद ترجمة অনুবাদ tradução_2 Машинный_перевод terjemahan Übersetzung"),
        (
            "source",
            "Texte_source Texto_de_origen 原文 स्रोत المصدر উৎস Исходный_текст sumber Ausgangstext Źródło Kaynak 원문",
        ),
        ("note", "notes Комментарий 备注 Anmerkungen Uwagi"),
        (None, "preference refund ref_len reference_score human_b human_2"),
    ],
)
def test_names_mean_the_same_in_the_languages_that_most_people_write(role: str | None, names: str) -> None:
    assert {name: role_of(name) for name in names.split()} == dict.fromkeys(names.split(), role)


def test_commands_take_only_names_that_mean_references_and_nothing_else() -> None:
    table = ["Referenz", "reference_B", "pe", "gold", "approved", "human_1", "human 2", "chrF (reference)", "参考"]
    assert called_references(table) == ["Referenz", "reference_B", "参考"]


def test_what_is_wrong_is_said_and_no_exception(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1;2\n1;2;3\n4;5\n", encoding="utf-8")
    found = preview(tmp_path / "t.csv")
    assert found.rows == (("1", "2"), ("4", "5"))
    assert [problem.rpartition("t.csv: ")[2] for problem in found.problems] == ["line 3 has 3 fields, 2 are due"]
    for name, content in {"t.xlsx": b"no", "u.tsv": "a\tb".encode("utf-16-le"), "v.pdf": b"%PDF", "w.tsv": b""}.items():
        (tmp_path / name).write_bytes(content)
        broken = preview(tmp_path / name)
        assert (broken.columns, broken.rows, len(broken.problems)) == ((), (), 1)
        assert str(tmp_path / name) in broken.problems[0]
    assert len(preview(tmp_path / "missing.tsv").problems) == 1
    with pytest.raises(InputError):
        preview(tmp_path / "t.csv", rows=0)


@pytest.mark.parametrize(
    ("source", "reference"),
    [
        ("Quelltext (EN)", "Referenz 1"),
        ("English (source)", "German (approved)"),
        ("Englisch", "Referenz"),  # found by its language
    ],
)
def test_columns_are_called_otherwise_in_other_languages(source: str, reference: str, tmp_path: Path) -> None:
    columns = {"Nr.": "12", source: ENGLISH, "MT-System A": GERMAN, "MT-System B": GERMAN, reference: GERMAN}
    roles = [column.role for column in preview(write_columns(tmp_path / "t.tsv", columns)).columns]
    assert roles == ["segment", "source", "candidate", "candidate", "reference"]
