"""XLIFF and TMX in: segments, inline tags, languages, and XML that means harm."""

from __future__ import annotations

import gzip
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bsx.data.formats import markup
from bsx.data.tables import Table
from bsx.errors import InputError
from tests.conftest import Cli

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
ONE = "urn:oasis:names:tc:xliff:document:1.2"
TWO = "urn:oasis:names:tc:xliff:document:2.0"


def one(*units: str, original: str = "a.html") -> str:
    """Return XLIFF 1.2."""
    return (
        f'{HEAD}<xliff version="1.2" xmlns="{ONE}"><file original="{original}" source-language="en" '
        f'target-language="de-DE"><header><note>of the file</note></header><body>{"".join(units)}</body></file></xliff>'
    )


def unit(number: int, source: str, target: str, more: str = "") -> str:
    """Return a unit of XLIFF 1.2."""
    written = target and f"<target>{target}</target>"
    return f'<trans-unit id="{number}"><source>{source}</source>{written}{more}</trans-unit>'


def two(*segments: str, more: str = "") -> str:
    """Return XLIFF 2.0 with one unit."""
    return (
        f'{HEAD}<xliff version="2.0" xmlns="{TWO}" xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0" srcLang="en" '
        f'trgLang="fr"><file id="f1"><unit id="u1">{more}{"".join(segments)}</unit></file></xliff>'
    )


def memory(*units: str, source: str = "en-US", kind: str = "") -> str:
    """Return TMX 1.4."""
    header = f'<header srclang="{source}" creationtool="x" segtype="sentence" adminlang="en" datatype="plaintext"/>'
    return f'{HEAD}{kind}<tmx version="1.4">{header}<body>{"".join(units)}</body></tmx>'


def tu(name: str = "", **texts: str) -> str:
    """Return a unit of TMX; names of languages have ``_`` for ``-``."""
    inner = "".join(f'<tuv xml:lang="{lang.replace("_", "-")}"><seg>{text}</seg></tuv>' for lang, text in texts.items())
    return f"<tu{name and f' tuid={name!r}'}>{inner}</tu>"


def table(path: Path, content: str, encoding: str = "utf-8") -> Table:
    path.write_bytes(content.encode(encoding))
    return Table(path)


TAGS = {
    'A <g id="1">b <g id="2">c</g></g> d': "A b c d",
    'A<x id="1"/>b<bx id="2"/>c<ex id="2"/>': "Abc",
    'one<x id="1" ctype="lb"/>two': "one two",
    'Hi <x id="INTERPOLATION" equiv-text="{{name}}"/>!': "Hi {{name}}!",
    'Hi <x id="START_TAG" equiv-text="&lt;b&gt;"/>you': "Hi you",
    'A <ph id="1">{0}</ph>b <bpt id="2">&lt;b&gt;</bpt>c<ept id="2">&lt;/b&gt;</ept> <it id="3">x</it>': "A b c",
    'one<ph id="1">&lt;br /&gt;</ph>two': "one two",
    'A <ph id="1">code <sub>of the code</sub></ph>b': "A b",
    'A <mrk mtype="term">b</mrk>': "A b",
    'A <n:g xmlns:n="urn:n">of a program</n:g>b': "A b",
    'A <mrk mtype="x-sdl-deleted">b <g id="1">c</g></mrk><mrk mtype="x-sdl-added">d</mrk>': "A d",
    'A <x id="1" equiv-text="START" disp="&lt;b&gt;"/>b': "A b",
    "  A\n   b\t": "A b",
    "A&#160;b &amp; c": "A\u00a0b & c",
    "<![CDATA[A <b>]]>": "A <b>",
    "A <!-- not --> b<?not?>": "A b",
}


@pytest.mark.parametrize("written", TAGS)
def test_inline_tags_become_text(written: str, tmp_path: Path) -> None:
    (row,) = table(tmp_path / "t.xlf", one(unit(1, written, written))).rows()
    assert (row["source"], row["candidate"]) == (TAGS[written], TAGS[written])


def test_only_translations_of_this_file_count(tmp_path: Path) -> None:
    more = '<note>say it</note><alt-trans><source>s</source><target>no</target></alt-trans><note from="x">twice</note>'
    units = [
        "\n\n" + unit(1, "a", "b", more),
        unit(2, "c", ""),
        "<bin-unit id='3'><bin-source/></bin-unit>",
        unit(4, "e", " "),
    ]
    read = table(tmp_path / "t.xlf", one(*units, '<trans-unit id="5"><target>alone</target></trans-unit>'))
    assert read.columns == ["id", "source", "candidate", "note"]
    (row,) = read.rows()
    assert list(row.values()) == ["1", "a", "b", "say it twice"]
    assert (row.where, read.row_number(row)) == (f"{tmp_path / 't.xlf'}: unit 1 (line 4)", "1")
    (note,) = read.notes
    assert "2 of 3 segments have no target" in note
    assert "unit 2" in note
    assert read.count() == 1


def test_what_nobody_has_translated_does_not_count(tmp_path: Path) -> None:
    """Copies of the source that wait to be translated, and what is not to be translated; drafts count, and are told."""
    states = ["new", "needs-translation", "needs-review-translation", "final"]
    units = [unit(k, "a", "a").replace("<target", f'<target state="{state}"') for k, state in enumerate(states)]
    units += [unit(7, "a", "b").replace("<target", '<target state="new"'), unit(8, "a", "")]
    units += [unit(9, "a", "b").replace("<trans-unit", '<trans-unit translate="no"')]
    read = table(tmp_path / "t.xlf", one(*units))
    assert [row["id"] for row in read.rows()] == ["2", "3", "7"]
    assert read.count() == 3
    left, drafts = read.notes
    for said in ("1 of 7 segments has no target", "2 are copies", "needs-translation or new", "1 is not to", "unit 0"):
        assert said in left
    assert "targets in the state new count, and may be drafts: 1" in drafts
    segment = "<segment{}><source>A</source><target>{}</target></segment>"
    parts = [segment.format(' state="initial"', "A"), segment.format(' state="initial"', "B"), segment.format("", "A")]
    assert [row["id"] for row in table(tmp_path / "t.xliff", two(*parts)).rows()] == ["u1/2", "u1/3"]
    with pytest.raises(InputError, match="1 of 1 segments is a copy of the source in the state new: there is nothing"):
        table(tmp_path / "t.xlf", one(units[0]))


@pytest.mark.parametrize("name", ["job.xlf", "job.XLIFF.gz", "m.tmx", "b.xlsx"])
def test_tables_are_not_scored_by_their_lines(name: str, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / name
    path.write_text(one(unit(1, "a", "b")))
    for more in (["-r", path], [], ["--sources", path]):
        done = cli("score", "-c", path, *more, "--metrics", "chrf")
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert f"bsx score {path} --" in done.err


def test_several_files_are_documents(tmp_path: Path) -> None:
    content = one(unit(1, "a", "b"))
    file = content[content.index("<file") : content.index("</xliff>")]
    read = table(tmp_path / "t.sdlxliff", content.replace("</xliff>", file + file.replace("a.html", "b") + "</xliff>"))
    assert read.columns == ["document", "id", "source", "candidate"]
    assert [(row["document"], row["id"]) for row in read.rows()] == [
        *(("a.html", "a.html/1"), ("a.html (2)", "a.html (2)/1"), ("b", "b/1"))
    ]
    assert read.languages == {"source": "en", "candidate": "de-DE"}


def test_marked_segments_of_a_unit_are_rows(tmp_path: Path) -> None:
    marks = '<mrk mtype="seg" mid="{0}">{1}</mrk> <mrk mtype="seg" mid="{2}">{3}</mrk>'
    divided = f"<seg-source>{marks.format(1, 'A.', 2, 'B.')}</seg-source>"
    target = f"<target>{marks.format(1, 'C.', 2, '')}</target>"
    content = one(f'<trans-unit id="x"><source>A. B.</source>{divided}{target}</trans-unit>')
    read = table(tmp_path / "t.mqxliff", content)
    assert [list(row.values()) for row in read.rows()] == [["x/1", "A.", "C."]]
    assert "1 of 2 segments" in read.notes[0]
    whole = table(tmp_path / "w.xlf", content.replace(target, "<target>C. D.</target>"))
    assert [list(row.values()) for row in whole.rows()] == [["x", "A. B.", "C. D."]]


def test_the_second_version(tmp_path: Path) -> None:
    match = '<mtc:matches><mtc:match ref="#1"><source>no</source><target>no</target></mtc:match></mtc:matches>'
    notes = "<notes><note>n</note></notes><originalData><data id='d1'>&lt;b&gt;</data></originalData>"
    pc = '<pc id="1" equivStart="START_B" dispStart="&lt;b&gt;" equivEnd="END_B" dispEnd="&lt;/b&gt;">b</pc>'
    source, target = f'A {pc}<cp hex="0001"/>', 'C<ph id="2" equiv="!"/>'
    first = f'<segment id="s1"><source>{source}</source><target>{target}</target></segment>'
    second = (
        '<ignorable><source> </source></ignorable><segment><source>D<sc id="3"/></source><target>E</target></segment>'
    )
    read = table(tmp_path / "t.xliff", two(first, second, more=match + notes))
    assert [list(row.values()) for row in read.rows()] == [["u1/s1", "A b\x01", "C!", "n"], ["u1/2", "D", "E", "n"]]
    assert read.languages == {"source": "en", "candidate": "fr"}
    for version in ("2.0", "2.1"):
        content = two(first).replace('version="2.0"', f'version="{version}"')
        assert table(tmp_path / "t.xliff", content).count() == 1


def test_a_memory_has_a_column_a_language(tmp_path: Path) -> None:
    units = [tu("a", en_US="Hello <hi>you</hi>", de="Hallo", id="<bpt i='1'>x</bpt>Halo"), tu(en_us="B", de="C")]
    read = table(tmp_path / "t.tmx", memory(*units, kind='<!DOCTYPE tmx SYSTEM "tmx14.dtd">'), "utf-8-sig")
    assert read.columns == ["tuid", "source", "de", "id"]  # Indonesian takes the name that units' names have else
    assert [list(row.values()) for row in read.rows()] == [["a", "Hello you", "Hallo", "Halo"], ["2", "B", "C", ""]]
    assert [row["tuid"] for row in read.rows("source", "id")] == ["a"]
    assert read.languages == {"source": "en-US", "de": "de", "id": "id"}
    assert len(read.notes) == 1


def test_the_source_of_a_memory_is_named_or_not(tmp_path: Path) -> None:
    for said, columns in {
        "en": ["id", "source", "de"],  # the one English there is
        "EN_us": ["id", "source", "de"],
        "*all*": ["id", "en-US", "de"],
        "fr": ["id", "en-US", "de"],
    }.items():
        assert table(tmp_path / "t.tmx", memory(tu(en_US="a", de="b"), source=said)).columns == columns
    again = memory(tu(en_US="a", de="b", DE="c"))
    assert [list(row.values()) for row in table(tmp_path / "t.tmx", again).rows()] == [["1", "a", "b"]]


def test_utf_16_and_packed_files_are_read(tmp_path: Path) -> None:
    content = memory(tu(en_US="a", de="ä")).replace("UTF-8", "UTF-16")
    assert next(table(tmp_path / "t.tmx", content, "utf-16").rows())["de"] == "ä"
    (tmp_path / "t.xlf.gz").write_bytes(gzip.compress(one(unit(1, "a", "b")).encode()))
    assert Table(tmp_path / "t.xlf.gz").count() == 1
    latin = one(unit(1, "a", "ä")).replace("UTF-8", "ISO-8859-1")
    assert next(table(tmp_path / "l.xlf", latin, "latin-1").rows())["candidate"] == "ä"


def with_type(declared: str, content: str) -> str:
    """Return a file with a document type."""
    return f"{HEAD}<!DOCTYPE x {declared}>{content[len(HEAD) :]}"


LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10 if i else "ha"}">' for i in range(10))
LATIN = one("\n" + unit(1, "a", "ä"))
HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "laughs": (with_type(f"[{LAUGHS}]", one(unit(1, "a", "&a9;"))), "line 2"),
    "a file": (with_type('[<!ENTITY e SYSTEM "file:///etc/hostname">]', one(unit(1, "a", "&e;"))), "line 2"),
    "parameters": (with_type('[<!ENTITY % e SYSTEM "http://x.example/">%e;]', one()), "line 2"),
    "undeclared": (one(unit(1, "a", "&nbsp;")), "undefined entity"),
    "undeclared behind a type": (with_type('SYSTEM "x.dtd"', one(unit(1, "a", "&e;"))), "refers to the entity 'e'"),
    "a name of HTML behind a type": (
        with_type('SYSTEM "x.dtd"', one(unit(1, "a&nbsp;b", "c"))),
        "write the character itself",
    ),
    "a huge attribute": (one(f'<group id="{"x" * (9 << 20)}"/>'), "longer than 4.0 MiB"),
    "latin-1 called UTF-8": (LATIN.encode("latin-1"), "line 3"),
    "an encoding that nobody has": (LATIN.replace("UTF-8", "x-none"), "UTF-8"),
    "utf-8 called UTF-16": (LATIN.replace("UTF-8", "UTF-16"), "line 1 names another encoding"),
    "a bare sign": (one(unit(1, "a", "b & c")), "&amp;"),
    "lines before it": ("\n" + one(unit(1, "a", "b")), "before <?xml"),
    "cut": (one(unit(1, "a", "b"))[:-20], "the file is cut off"),
    "tags": (one(unit(1, "a", "<g>b")), "mismatched tag"),
    "deep": (one(unit(1, "<g>" * 300 + "a" + "</g>" * 300, "b")), "nested more than 200 deep"),
    "empty root": (HEAD, "not well-formed XML"),
    "another root": (HEAD + "<html/>", "is no XLIFF: its first element is 'html'"),
    "another space": (one().replace(ONE, "urn:x"), "is no XLIFF"),
    "another version": (one().replace(ONE, ONE[:-3] + "3.7"), "'3.7'"),
    "no targets": (one(unit(1, "a", "")), "none of its 1 segments has a target"),
    "nothing": (one(), "holds no segments"),
    "a memory without a language": (memory("<tu><tuv><seg>a</seg></tuv></tu>"), "xml:lang is missing"),
    "an empty memory": (memory(), "holds no texts"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.timeout(20)
def test_hostile_and_broken_files_are_one_line(name: str, tmp_path: Path) -> None:
    content, said = HOSTILE[name]
    file = tmp_path / ("t.tmx" if "memory" in name else "t.xlf")
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        Table(file)
    assert str(caught.value).startswith(str(file))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_groups_and_what_a_memory_says_beside_its_texts_have_no_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markup, "LONGEST_LINE", 2**12)
    grouped = one("<group>" * 300 + unit(1, "a", "b") + "</group>" * 300)
    assert [row["candidate"] for row in table(tmp_path / "t.xlf", grouped).rows()] == ["b"]
    properties = memory(tu(en_US="a", de="b").replace("<tuv", f"<prop>{'x' * 2**13}</prop>{'<prop/>' * 1000}<tuv", 1))
    assert [row["de"] for row in table(tmp_path / "t.tmx", properties).rows()] == ["b"]


def test_a_tag_or_text_without_an_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With bounds far below the real ones."""
    monkeypatch.setattr(markup, "LONGEST_LINE", 2**17)
    monkeypatch.setattr(markup, "_LONGEST_TAG", 2**17)
    monkeypatch.setattr(markup, "_CHUNK", 2**12)
    long = "x" * 2**19
    for content in (
        one(unit(1, "a", long)),
        one(f'<group id="{long}"/>'),
        one(f"<!-- {long}"),
        one(unit(1, long, "a")),
        one(unit(1, "<x/>" * 1000, "a")),
    ):
        with pytest.raises(InputError, match="longer than 128"):
            table(tmp_path / "t.xlf", content)
    with pytest.raises(InputError, match="longer than 128"):
        table(tmp_path / "t.tmx", memory(tu(en_US=long)))


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
@example([(" a  b ", "\n a ")])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts_are_read_as_they_were_written(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    units = [unit(place, escape(a), escape(b)) for place, (a, b) in enumerate(pairs)]
    written = one('<group xml:space="preserve">' + "".join(units) + "</group>")
    found = table(tmp_path / "t.xlf", written)
    assert [(row["source"], row["candidate"]) for row in found.rows()] == pairs
    plain = memory(*(tu(en_US=escape(a), de=escape(b)) for a, b in pairs)).replace(
        "<tmx ", '<tmx xml:space="preserve" '
    )
    assert [(row["source"], row["de"]) for row in table(tmp_path / "t.tmx", plain).rows()] == pairs


def test_files_are_scored_in_their_language(tmp_path: Path, cli: Cli) -> None:
    table(tmp_path / "job.xlf", one(unit(1, "one two", "eins zwei"), unit(2, "x", "")))
    done = cli("score", tmp_path / "job.xlf", "--metrics", "length-qe", "-o", tmp_path / "o.tsv")
    assert done.status == 0
    assert "1 of 2 segments has no target" in done.err
    assert done.err.count("the language is de-DE") == 1
    assert (tmp_path / "o.tsv").read_text(encoding="utf-8").splitlines()[0] == "id\tsource\tcandidate\tlength-qe"
    table(tmp_path / "m.tmx", memory(tu(en_US="a", de="b c", fr="d"), tu(en_US="a", de="b")))
    call = ["score", tmp_path / "m.tmx", "--candidate", "de", "--reference", "fr", "--metrics", "chrf"]
    done = cli(*call, "--format", "json")
    assert (done.status, '"segments": 1' in done.out) == (0, True)
    assert "the language is de," in done.err
    assert "the language" not in cli(*call, "--lang", "fr").err
    assert cli("evaluate", *call[1:], "-o", tmp_path / "e").status == 0  # one letter tells no language
