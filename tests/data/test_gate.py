"""Whatever bytes a user names are rows or one clear error, and columns pass through as they are written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bsx.data.lines import NamedFile
from bsx.data.open import TableFile
from bsx.data.output import FORMATS, ScoreTable
from bsx.data.sources import MEMORIES, XLIFF
from bsx.data.tables import TABLE_FORMATS, Table
from bsx.errors import InputError

few = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
NAMES = st.lists(st.text("abcé _.", min_size=1, max_size=4), min_size=2, max_size=4, unique=True)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.sampled_from([10**30, -0.0, 1e300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def copied(source: Path, target: Path) -> Path:
    """Pass all columns of a table through to another, with a score beside them, as `bsx score` does."""
    table = TableFile(Table(source, first_line=True), ["candidate"], [], keep_rows=True)
    with ScoreTable(target, table.table.types() if target.suffix == ".parquet" else None) as written:
        for segment in table:
            written.write({**(segment.row or {}), "score": 0.123456789123})
    return target


def write(file: Path, content: str | bytes) -> Path:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


ODD = ["007", "1e5", "1700000000.123", "12345678901234567890123", "NA", "", "1.10", "-0", " x "]


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_text_tables_pass_through_as_they_are_spelled(suffix: str, tmp_path: Path) -> None:
    between = {".tsv": "\t", ".csv": ","}[suffix]
    lines = [between.join(["candidate", "x"]), *(between.join(["c", odd]) for odd in ODD)]
    source = write(tmp_path / f"in{suffix}", "\n".join(lines) + "\n")
    out = copied(source, tmp_path / f"out{suffix}").read_text().splitlines()
    assert out == [f"{line}{between}{'score' if i == 0 else '0.123456789'}" for i, line in enumerate(lines)]
    for target in FORMATS:
        rows = Table(copied(source, tmp_path / f"other{target}")).rows()
        assert [row["x"] for row in rows] == ODD


def test_json_lines_keep_the_spelling_of_numbers(tmp_path: Path) -> None:
    line = (
        '{"candidate": "a", "t": 1700000000.123, "big": 12345678901234567890123, "e": 1e5, "z": -0, "n": null, '
        '"nested": [1.10, {"a": 0.30}], "yes": true, "int": 3000000000}'
    )
    source = write(tmp_path / "in.jsonl", line + "\n")
    assert copied(source, tmp_path / "out.jsonl").read_text() == f'{line[:-1]}, "score": 0.123456789}}\n'
    text = copied(source, tmp_path / "out.tsv").read_text().splitlines()[1].split("\t")
    assert text[1:-1] == [
        *("1700000000.123", "12345678901234567890123", "1e5", "-0", "", '[1.10, {"a": 0.30}]', "true", "3000000000")
    ]
    table = pyarrow.parquet.read_table(copied(source, tmp_path / "out.parquet"))
    assert table.to_pylist()[0] | {"score": 0} == {
        **{"candidate": "a", "t": 1700000000.123, "big": "12345678901234567890123", "e": 1e5, "z": 0.0, "n": None},
        **{"nested": '[1.10, {"a": 0.30}]', "yes": True, "int": 3_000_000_000, "score": 0},
    }


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "candidate": ["a", "b"],
            "f32": pyarrow.array([0.1, None], pyarrow.float32()),
            "f64": pyarrow.array([1700000000.123, 1e-300]),
            "i64": pyarrow.array([2**62, None]),
            "u64": pyarrow.array([2**63, 1], pyarrow.uint64()),
            "when": pyarrow.array([1_000, None], pyarrow.timestamp("us")),
            "list": pyarrow.array([[0.1234567890123], []]),
            "object": pyarrow.array([{"x": 1}, None]),
            "word": pyarrow.array(["x", "y"]).dictionary_encode(),
            "bytes": pyarrow.array([b"\xff", None]),
            "nothing": pyarrow.nulls(2),
            "odd": [float("inf"), float("nan")],
        }
    )
    source = tmp_path / "in.parquet"
    pyarrow.parquet.write_table(table, source)
    out = pyarrow.parquet.read_table(copied(source, tmp_path / "out.parquet"))
    assert str(out.drop_columns("score").to_pydict()) == str(table.to_pydict())  # NaN equals NaN in letters only
    assert out.drop_columns("score").schema.equals(table.schema)
    first, second = map(json.loads, copied(source, tmp_path / "out.jsonl").read_text().splitlines())
    assert (first["odd"], second["odd"]) == ("inf", None)
    assert (first["f32"], first["f64"], first["i64"], first["list"]) == (0.1, 1700000000.123, 2**62, [0.1234567890123])


@few
@given(names=NAMES, data=st.data())
def test_what_is_written_is_read_again(names: list[str], data: st.DataObject, tmp_path: Path) -> None:
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(names, TEXT)), min_size=1, max_size=4))
    for suffix in FORMATS[:-1]:  # a spreadsheet knows no empty rows: tests/data/formats/test_workbook.py
        with ScoreTable(tmp_path / f"t{suffix}") as table:
            for row in rows:
                table.write(dict(row))
        blanks = str.maketrans("\t\n\r", "   ") if suffix == ".tsv" else {}
        read = [dict(row) for row in Table(tmp_path / f"t{suffix}").rows()]
        assert read == [{name: text.translate(blanks) for name, text in row.items()} for row in rows]


@few
@given(rows=st.lists(JSON, min_size=1, max_size=3))
def test_json_is_written_as_it_was_read(rows: list[object], tmp_path: Path) -> None:
    lines = [json.dumps({"candidate": "c", "x": row}, ensure_ascii=False) for row in rows]
    source = write(tmp_path / "in.jsonl", "\n".join(lines) + "\n")
    out = copied(source, tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert [line.replace(', "score": 0.123456789}', "}") for line in out.split("\n")[:-1]] == lines
    for target in (".tsv", ".csv", ".parquet"):
        assert len(list(Table(copied(source, tmp_path / f"out{target}")).rows())) == len(rows)


_UNIT = '<trans-unit id="1"><source>a</source><target>b <g id="1">c</g></target></trans-unit>'
_XLIFF = f'<xliff version="1.2"><file original="f" source-language="en"><body>{_UNIT * 3}</body></file></xliff>'
_TEXTS = '<tuv xml:lang="en"><seg>a é</seg></tuv><tuv xml:lang="de"><seg>b <ph>x</ph></seg></tuv>'
_MEMORY = f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body><tu>{_TEXTS}</tu></body></tmx>'
EXCHANGED = {**dict.fromkeys(XLIFF, _XLIFF), **dict.fromkeys(MEMORIES, _MEMORY)}


def sample(suffix: str, folder: Path) -> bytes:
    """Return a small table of a format."""
    if suffix in EXCHANGED:
        return EXCHANGED[suffix].encode()
    file = folder / f"sample{suffix.replace('.xlsm', '.xlsx')}"
    with ScoreTable(file) as table:
        for i in range(3):
            table.write({"candidate": f'a, "b" é {i}', "human": i / 2, "more": i})
    return file.read_bytes()


@few
@given(data=st.data())
@pytest.mark.parametrize("suffix", [*TABLE_FORMATS, ".tsv.gz", ".json"])
def test_any_bytes_are_rows_or_a_clear_error(suffix: str, data: st.DataObject, tmp_path: Path) -> None:
    plain = sample(suffix.removesuffix(".gz").replace(".json", ".jsonl").replace(".jsonll", ".jsonl"), tmp_path)
    content = bytearray(gzip.compress(plain) if suffix.endswith(".gz") else plain)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=4) | st.sampled_from([b"\xff\xfe", b"\0", b"\xef\xbb\xbf", b'"', b"\n", b"[" * 5000])
        )
    file = write(tmp_path / f"t{suffix}", bytes(content))
    try:
        if suffix == ".json":
            NamedFile(file).json()
        else:
            table = Table(file)
            table.types()
            for row in table.rows():
                assert len(row) == len(table.columns)
    except InputError as error:
        assert str(file) in str(error)  # noqa: PT017 - either is right


BROKEN: dict[str, tuple[str, str | bytes, str]] = {
    "utf-16 cut": (".tsv", "a\tb\n1\t2\n".encode("utf-16")[:-3], "in UTF-16: save it again"),
    "utf-16 ragged": (".tsv", "a\tb\n1\t2\n3\n".encode("utf-16"), "line 3 has 1 fields, 2 are due"),
    "a spreadsheet by another name": (".tsv", b"PK\x03\x04\x14\0", "is a spreadsheet"),
    "utf-16 nul": (".tsv", "a\tb\n1\t\0\n".encode("utf-16"), "line 2 holds a NUL character"),
    "utf-16 without mark": (".tsv", "a\tb\n".encode("utf-16-le"), "line 1 holds a NUL character"),
    "nul": (".tsv", "a\tb\n1\t\0\n", "line 2 holds a NUL character"),
    "nul in json": (".jsonl", '{"a": "\\u0000"}\n', "line 1: holds a NUL character"),
    "half a pair": (".jsonl", '{"a": "x"}\n{"a": "\\ud800"}\n', "line 2: holds half a surrogate pair"),
    "half a pair in a name": (".jsonl", '{"\\udfff": 1}\n', "line 1: holds half a surrogate pair"),
    "deep json": (".jsonl", '{"a": 1}\n' + "[" * 100_000 + "\n", "line 2 is not JSON"),
    "json cut": (".jsonl", '{"a": 1}\n{"a": 1\n', "line 2 is not JSON"),
    "ragged": (".tsv", "a\tb\n1\n", "line 2 has 1 fields, 2 are due"),
    "open quotes": (".csv", 'a,b\n"1,2\n3,4\n', "line 3: unexpected end of data"),
    "no header": (".tsv", "\na\n", "line 1 is empty"),
    "tab in a column": (".csv", '"a\tb",c\n1,2\n', "holds a tab or line break"),
    "parquet": (".parquet", "PAR1 and nothing else", "is not a Parquet file"),
    "empty": (".tsv", "", "is empty"),
    **{f"another format {ending}": (ending, "x", "save it as .xlsx") for ending in (".xls", ".ods")},
    "another format .po": (".po", "x", "po2xliff"),
    "packed and empty": (".tsv.gz", gzip.compress(b""), "line 1 is empty"),
    "packed and cut": (".tsv.gz", gzip.compress(b"a\tb\n1\t2\n")[:-9], "is not a whole gzip file"),
}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_what_spreadsheet_programs_call_unicode_text_is_read(encoding: str, tmp_path: Path) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    content = (mark + 'a\tb\r\nä\u2028\u0a0a\t"\U0001f600\r\n').encode(encoding)
    rows = [{"a": "ä\u2028\u0a0a", "b": '"\U0001f600'}]
    assert list(Table(write(tmp_path / "t.tsv", content)).rows()) == rows
    assert list(Table(write(tmp_path / "t.tsv.gz", gzip.compress(content))).rows()) == rows
    assert list(Table(write(tmp_path / "t.csv", 'a;b\n"x\ny";2'.encode("utf-16"))).rows()) == [{"a": "x\ny", "b": "2"}]
    assert list(NamedFile(write(tmp_path / "t.txt", content)).lines()) == ["a\tb", 'ä\u2028\u0a0a\t"\U0001f600']


@pytest.mark.parametrize(
    ("content", "row"),
    [
        ('\ufeffid;text\r\n1;"a; b"\r\n', {"id": "1", "text": "a; b"}),
        ("id\ttext\r\n1\ta;b\r\n", {"id": "1", "text": "a;b"}),
        ("a;b,c\n1,2\n", {"a;b": "1", "c": "2"}),
        (f'a,b\n"{"x" * 300_000}",2\n', {"a": "x" * 300_000, "b": "2"}),
    ],
    ids=["semicolons", "tabs", "commas", "a long field"],
)
def test_csv_of_any_country_and_length(content: str, row: dict[str, str], tmp_path: Path) -> None:
    assert list(Table(write(tmp_path / "t.csv", content)).rows()) == [row]


@pytest.mark.parametrize("case", BROKEN)
def test_errors_say_file_and_line(case: str, tmp_path: Path) -> None:
    suffix, content, said = BROKEN[case]
    file = write(tmp_path / f"t{suffix}", content)
    with pytest.raises(InputError) as caught:
        list(Table(file).rows())
    assert str(file) in str(caught.value)
    assert said in str(caught.value)


def test_names_that_a_table_cannot_hold_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", '{"id": "a\\tb", "candidate": "x"}\n')
    for times, said in ((1, r"'id' is 'a\\tb'; a name holds no"), (2, "'candidate' is named twice")):
        with pytest.raises(InputError, match=said):
            list(TableFile(Table(file), ["candidate"] * times, [], "id"))
