"""Files in: where they go, what they are taken for, what is said of what is wrong with them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import openpyxl
import pytest
from starlette.testclient import TestClient

from bsx.errors import InputError
from bsx.ui import inputs
from bsx.ui.jobs import Jobs
from bsx.ui.workspace import Run, Size, StoredFile, Workspace
from tests.ui.conftest import OWN

EXAMPLE = Path(str(files("bsx.examples"))) / "de-systems.tsv"


def run_of(workspace: Workspace, *files: Path) -> Run:
    run = workspace.new("x")
    for file in files:
        inputs.copy_in(run, file)
    return run


def handed_in(workspace: Workspace, folder: Path, **contents: str) -> Run:
    for name, content in contents.items():
        (folder / f"{name}.txt").write_text(content, encoding="utf-8")
    return run_of(workspace, *(folder / f"{name}.txt" for name in contents))


XLIFF = (
    '<xliff version="1.2"><file original="a" source-language="en-US" target-language="de-DE"><body>'
    '<trans-unit id="1"><source>a b</source><target>c d</target></trans-unit></body></file></xliff>'
)
LONG = "system\tid\tcandidate\treference\na\t1\tx y\tz\nb\t1\tx\tz\n"
COLUMNS = {"candidate": ("atlas", "brook", "cinder"), "reference": ("reference",), "segment": "id", "source": None}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("de-systems.tsv", EXAMPLE.read_text(encoding="utf-8"), {**COLUMNS, "lang": "de"}),
        ("job.xlf", XLIFF, {"source_lang": "en", "lang": "de"}),
        ("t.tsv", "id\treference\tatlas\tgrade\n1\tthe old man\tx y\t3\n2\ta cat\tz\t1\n", {"candidate": ("atlas",)}),
        (
            "long.tsv",
            LONG,
            {"system": "system", "segment": "id", "candidate": ("candidate",)},
        ),
    ],
    ids=["a column a system", "languages with a region", "a column of no known name", "systems below one another"],
)
def test_what_files_are_taken_for(
    workspace: Workspace, tmp_path: Path, name: str, content: str, expected: dict[str, object]
) -> None:
    pytest.importorskip("py3langid")
    (tmp_path / name).write_text(content, encoding="utf-8")
    understood = inputs.understand(run_of(workspace, tmp_path / name))
    assert (understood.table, understood.problems) == (True, ())
    assert {field: getattr(understood.choices, field) for field in expected} == expected


def test_what_was_chosen_is_kept_and_counted(workspace: Workspace, tmp_path: Path) -> None:
    run = run_of(workspace, EXAMPLE)
    chosen = inputs.settle(run, {"candidate": ["brook"], "reference": ["reference"], "segment": ["id"], "lang": ["de"]})
    assert chosen.candidate == ("brook",)
    assert inputs.understand(run).choices.candidate == ("brook",)
    assert run.record.size == Size(segments=40, systems=1, letters=run.record.size.letters)
    assert 20 < run.record.size.letters < 200
    assert inputs.table_of(run) == "input-1.tsv"
    (tmp_path / "long.tsv").write_text(LONG)
    run = run_of(workspace, tmp_path / "long.tsv")
    inputs.accept(run)
    assert run.record.size == Size(segments=1, systems=2, letters=2.0)


def test_texts_of_a_line_a_segment_become_one_table(workspace: Workspace, tmp_path: Path) -> None:
    run = handed_in(
        workspace, tmp_path, **{"my system": "a b\nc\n", "other": "x\n\n", "refs": "r\ns\n", "src.en": "1\n2\n"}
    )
    found = inputs.understand(run)
    assert not found.table
    assert [file.role for file in run.record.files] == ["candidates", "candidates", "references", "source"]
    chosen = inputs.settle(run, {"lang": ["de"]})
    assert (chosen.candidate, chosen.reference, chosen.source) == (("my system", "other"), ("reference",), "source")
    rows = [json.loads(line) for line in (run.folder / inputs.TEXTS).read_text().splitlines()]
    assert rows == [
        {"id": "1", "my system": "a b", "other": "x", "reference": "r", "source": "1"},
        {"id": "2", "my system": "c", "other": "", "reference": "s", "source": "2"},
    ]
    assert inputs.table_of(run) == inputs.TEXTS
    assert run.record.size.segments == 2
    assert len(inputs.understand(run).seen) == 4  # the table that was made is none of the user's files


@pytest.mark.parametrize(
    ("bad", "message"),
    [(b"a\nb\n", r"refs\.txt has 1, atlas\.txt has 2"), (b"bad \xff here\n", r"atlas\.txt: line 1 is not")],
)
def test_texts_that_do_not_fit_are_told_by_their_names(
    workspace: Workspace, tmp_path: Path, bad: bytes, message: str
) -> None:
    run = handed_in(workspace, tmp_path, refs="a\n")
    (tmp_path / "atlas.txt").write_bytes(bad)
    inputs.copy_in(run, tmp_path / "atlas.txt")
    with pytest.raises(InputError, match=message) as caught:
        inputs.settle(run, {"role-input-1.txt": ["references"], "role-input-2.txt": ["candidates"], "lang": ["en"]})
    assert str(workspace.folder) not in str(caught.value)
    assert not (run.folder / inputs.TEXTS).exists()


POLISH = "Rada miasta zdecydowała, że ciężkie ciężarówki nie mogą jeździć.\r\nŁódź jest wielka.\r\n"


def test_an_encoding_is_guessed_shown_and_taken(client: TestClient, workspace: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("charset_normalizer")
    run = workspace.new("x")
    for name in ("mt", "referenz"):
        (tmp_path / f"{name}.txt").write_bytes(POLISH.encode("cp1250"))
        inputs.copy_in(run, tmp_path / f"{name}.txt")
    page = client.get(f"/runs/{run.name}/files").text
    assert "mt.txt</bdi> is not in UTF-8. It looks like Windows-1250: is this right?" in page
    assert "ciężkie" in page
    assert "What is what" not in page  # until that is answered
    for stored, encoding, said in (
        ("input-1.txt", "utf-7", 400),
        ("input-1.txt", "cp932", 400),
        ("input-1.txt", "cp1250", 303),
        ("input-2.txt", "cp1250", 303),
    ):
        answer = client.post(f"/runs/{run.name}/encoding", data={stored: encoding}, headers=OWN)
        assert answer.status_code == said, encoding
        assert said == 303 or "mt.txt" in answer.text
    assert run.file("input-1.txt").read_bytes() == POLISH.encode()
    found = inputs.understand(run)
    assert (found.problems, found.encodings) == ((), {})
    assert [file.role for file in run.record.files] == ["candidates", "references"]


@pytest.mark.parametrize(
    ("form", "about"),
    [
        ({}, "candidates"),
        ({"candidate": ["atlas"]}, "references"),
        ({"candidate": ["atlas"], "reference": ["atlas"]}, "twice"),
        ({"candidate": ["nothing"], "reference": ["reference"]}, "nothing"),
    ],
)
def test_choices_that_make_no_sense_are_refused(workspace: Workspace, form: dict[str, list[str]], about: str) -> None:
    run = run_of(workspace, EXAMPLE)
    with pytest.raises(InputError, match=about):
        inputs.settle(run, form)
    assert run.record.choices.candidate == ()


def test_tables_and_texts_do_not_mix(workspace: Workspace, tmp_path: Path) -> None:
    run = handed_in(workspace, tmp_path, atlas="a\n")
    inputs.copy_in(run, EXAMPLE)
    assert "not both: remove" in inputs.understand(run).problems[0]
    inputs.remove(run, "input-1.txt")
    assert not (run.folder / "input-1.txt").exists()
    assert not inputs.understand(run).problems


UNITS = {"1": ("One day.", "Ein Tag."), "2": ("Two cats.", "Zwei Katzen."), "3": ("Rain fell.", "Es regnete.")}


def xliff(path: Path, units: dict[str, tuple[str, str]]) -> Path:
    """Write machine translations as a localisation tool exports them."""
    made = "".join(
        f'<trans-unit id="{n}"><source>{source}</source><target>{target}!</target></trans-unit>'
        for n, (source, target) in units.items()
    )
    head = '<xliff version="1.2"><file original="a" source-language="en-US" target-language="de-DE"><body>'
    path.write_text(f"{head}{made}</body></file></xliff>", encoding="utf-8")
    return path


def memory(path: Path, pairs: list[tuple[str, str]]) -> Path:
    """Write a translation memory, with a third language that nobody asked for."""
    made = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv>'
        '<tuv xml:lang="fr"><seg>autre</seg></tuv></tu>'
        for source, target in pairs
    )
    path.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{made}</body></tmx>', encoding="utf-8")
    return path


def test_a_memory_gives_the_references_of_an_xliff_file(workspace: Workspace, tmp_path: Path) -> None:
    """By source text: units of a memory without names are numbered, and their numbers mean nothing."""
    kept = memory(tmp_path / "m.tmx", [("Two  cats.", "Zwei Katzen"), ("One day.", "Eines Tages")])
    run = run_of(workspace, kept, xliff(tmp_path / "mt.xlf", UNITS))
    found = inputs.understand(run)
    assert not found.problems
    assert (
        "2 of 3 segments are in m.tmx, by source text; 1 are not there, and are left out (the first: 3)." in found.notes
    )
    choices = found.choices
    assert (choices.candidate, choices.reference, choices.source) == (("mt",), ("reference",), "source")
    assert (choices.segment, choices.lang, choices.source_lang) == ("id", "de", "en")
    form = {"candidate": ["mt"], "reference": ["reference"], "source": ["source"], "segment": ["id"], "lang": ["de"]}
    inputs.settle(run, form)
    assert inputs.table_of(run) == inputs.TEXTS
    assert [json.loads(line) for line in run.file(inputs.TEXTS).read_text(encoding="utf-8").splitlines()] == [
        {"id": "1", "source": "One day.", "mt": "Ein Tag.!", "reference": "Eines Tages"},
        {"id": "2", "source": "Two cats.", "mt": "Zwei Katzen.!", "reference": "Zwei Katzen"},
    ]
    assert inputs.copy_of(workspace, run).record.joined == run.record.joined
    inputs.remove(run, "input-1.tmx")
    assert inputs.understand(run).choices.candidate == ("candidate",)


def test_tables_are_joined_by_id_where_their_sources_differ(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    rows = [["Nr.", "Ausgangstext", "Referenz"], *([n, f"<b>{s}</b>", t] for n, (s, t) in UNITS.items())]
    (tmp_path / "human.tsv").write_text("".join("\t".join(row) + "\n" for row in [*rows, ["1", "again", "doch"]]))
    run = run_of(workspace, xliff(tmp_path / "mt.xlf", UNITS), tmp_path / "human.tsv")
    found = inputs.understand(run)
    told = "3 of 3 segments are in human.tsv, by id; 1 stand there more often than here: the first count."
    assert told in found.notes
    assert found.choices.reference == ("reference",)
    assert "Ein Tag.!" in client.get(f"/runs/{run.name}/files").text
    other = xliff(tmp_path / "brook.xlf", {n: (s, f"{t}?") for n, (s, t) in UNITS.items()})
    inputs.copy_in(run, other)
    assert inputs.understand(run).choices.candidate == ("mt", "brook")
    assert set(run.record.joined.ways) == {"source", "segment"}  # type: ignore[union-attr]
    page = client.get(f"/runs/{run.name}/files").text
    assert f"/runs/{run.name}/files?key=" in page


def test_what_stands_several_times_meets_what_stands_there_as_often(workspace: Workspace, tmp_path: Path) -> None:
    """By id where the sources agree; without ids, the n-th of a source is joined with the n-th."""
    sources = ["Yes.", "No.", "Yes.", "Yes."]
    for name, texts in (("atlas", "a b c d"), ("brook", "e f g h")):
        rows = [f"{n}\t{source}\t{text}" for n, (source, text) in enumerate(zip(sources, texts.split(), strict=True))]
        (tmp_path / f"{name}.tsv").write_text("\n".join(["id\tsource\tcandidate", *rows, ""]))
        (tmp_path / f"{name}-2.tsv").write_text("\n".join(["source\tcandidate", *(r[2:] for r in rows), ""]))
    for end, by in (("", "id"), ("-2", "source text")):
        run = run_of(workspace, *(tmp_path / f"{name}{end}.tsv" for name in ("atlas", "brook")))
        assert f"4 of 4 segments are in brook{end}.tsv, by {by}." in inputs.understand(run).notes
        joined = [json.loads(line) for line in run.file(inputs.TEXTS).read_text().splitlines()]
        assert [row[f"brook{end}"] for row in joined] == ["e", "f", "g", "h"]


def test_a_table_that_comes_later_is_joined_with_one_that_was_accepted(workspace: Workspace, tmp_path: Path) -> None:
    run = run_of(workspace, xliff(tmp_path / "mt.xlf", UNITS))
    inputs.accept(run)
    assert inputs.table_of(run) == "input-1.xlf"
    inputs.copy_in(run, memory(tmp_path / "m.tmx", list(UNITS.values())))
    inputs.accept(run)
    assert inputs.table_of(run) == inputs.TEXTS
    assert run.record.choices.reference == ("reference",)


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("system\tsource\tcandidate", "a column for each system, not rows"),
        ("key\tsource\treference", "mt.xlf and other.tsv share no source text and no id"),
    ],
)
def test_tables_that_cannot_be_joined_are_refused(
    workspace: Workspace, tmp_path: Path, head: str, problem: str
) -> None:
    rows = [f"{name}\t{source}\t{target}" for name in "XY" for source, target in UNITS.values()]
    rows = rows if head.startswith("system") else ["a\tQuite another.\tGanz anders."]
    (tmp_path / "other.tsv").write_text("\n".join([head, *rows, ""]))
    run = run_of(workspace, xliff(tmp_path / "mt.xlf", UNITS), tmp_path / "other.tsv")
    assert problem in inputs.understand(run).problems[0]
    with pytest.raises(InputError, match=problem):
        inputs.settle(run, {})


def test_a_wrong_encoding_is_mended_and_a_right_one_stays(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    pytest.importorskip("charset_normalizer")
    (tmp_path / "mt.txt").write_bytes(POLISH.encode("cp1250"))
    run = run_of(workspace, tmp_path / "mt.txt")
    inputs.read_as(run, "input-1.txt", "cp1252")  # a wrong answer
    assert "wrong?" in client.get(f"/runs/{run.name}/files").text
    assert "Łódź" in str(inputs.understand(run, again="input-1.txt").encodings)
    for _ in range(2):
        inputs.read_as(run, "input-1.txt", "cp1250")
    assert run.file("input-1.txt").read_bytes() == POLISH.encode()
    assert not inputs.understand(run).encodings


def test_a_record_may_claim_an_encoding_that_a_file_never_had(client: TestClient, workspace: Workspace) -> None:
    run = workspace.new("x")
    run.file("input-1.txt").write_text("市议会\n", encoding="utf-8")
    run.update(files=(StoredFile(name="a.txt", stored="input-1.txt", encoding="cp1252"),))
    assert client.get(f"/runs/{run.name}/files?encoding=input-1.txt").status_code == 200
    form = {"input-1.txt": "cp1250"}
    assert client.post(f"/runs/{run.name}/encoding", data=form, headers=OWN).status_code == 303
    assert run.file("input-1.txt").read_text(encoding="utf-8") == "市议会\n"


def test_a_system_called_like_a_column_is_that_system(workspace: Workspace, tmp_path: Path) -> None:
    """``id.txt`` holds Indonesian; a name with an outer blank would name another column on the command line."""
    run = handed_in(workspace, tmp_path, **{"id": "a b\nc\n", "refs": "r\ns\n"})
    inputs.understand(run)
    assert inputs.settle(run, {"lang": ["id"]}).candidate == ("id (system)",)
    (tmp_path / "t.tsv").write_text("cand \treference\nx y\tz\n")
    with pytest.raises(InputError, match="outer blank"):
        inputs.settle(run_of(workspace, tmp_path / "t.tsv"), {"candidate": ["cand "], "reference": ["reference"]})


def test_folders_of_others_are_no_drafts(workspace: Workspace) -> None:
    """Whatever has a file called run.json, or files of its owner, stays."""
    for name, record, other in (
        ("training", '{"epochs": 3}', "weights.bin"),
        ("2026-01-01-abcdef", '{"epochs": 3}', "weights.bin"),
        ("mine", '{"state": "draft", "created": "2026"}', "input-1.tsv"),
    ):
        (workspace.folder / name).mkdir(parents=True)
        (workspace.folder / name / "run.json").write_text(record)
        (workspace.folder / name / other).write_text("x")
    (workspace.new("own files").folder / "results.csv").write_text("x")
    before = sorted(workspace.folder.iterdir())
    Jobs(workspace).close()
    assert sorted(workspace.folder.iterdir()) == before


def test_uploads_go_through_the_page(client: TestClient, workspace: Workspace) -> None:
    name = client.post("/new", params={"title": "C:\\texts\\mine.tsv"}, headers=OWN).json()["name"]
    content = EXAMPLE.read_bytes()
    assert client.put(f"/upload/{name}?name=mine.tsv", content=content, headers=OWN).status_code == 201
    run = workspace.run(name)
    assert run.record.title == "mine"
    assert run.file("input-1.tsv").read_bytes() == content
    page = client.get(f"/runs/{name}/files").text
    assert "Der Stadtrat" in page
    form = {"candidate": ["atlas", "brook"], "reference": "reference", "lang": "de"}
    answer = client.post(f"/runs/{name}/files", data=form, headers=OWN)
    assert answer.headers["location"] == f"/runs/{name}/metrics"
    assert run.record.choices.candidate == ("atlas", "brook")
    answer = client.post(f"/runs/{name}/files", data={"lang": "de"}, headers=OWN)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


def test_what_a_memory_says_of_its_languages_is_taken(client: TestClient, workspace: Workspace) -> None:
    """The codes of the page, texts in their language, and candidates of one language."""
    name = client.post("/new", headers=OWN).json()["name"]
    texts = {"en-US": "one day", "ja-JP": "ある 日", "de": "ein Tag"}
    unit = "".join(f'<tuv xml:lang="{lang}"><seg>{text}</seg></tuv>' for lang, text in texts.items())
    content = f'<tmx version="1.4"><header srclang="en-US"/><body><tu>{unit}</tu></body></tmx>'
    client.put(f"/upload/{name}?name=m.tmx", content=content.encode(), headers=OWN)
    page = client.get(f"/runs/{name}/files").text
    assert 'lang="ja-JP" class="text">ある 日<' in page
    assert '<option value="ja" selected>' in page
    choices = inputs.understand(workspace.run(name)).choices
    assert (choices.candidate, choices.lang, choices.source_lang) == (("ja-JP",), "ja", "en")


@pytest.mark.parametrize(
    ("name", "content", "said", "alerts"),
    [
        ("texts.csv", b"Source;System A\nA;\x81\x00\n", "in Excel: save as CSV UTF-8", 1),
        ("texts.csv", b"Source;Reference;System A\n", "no rows below them", 1),
        ("texts.csv", b"Source;A;A\nx;y;z\n", "rename one", 1),
        ("texts.docx", b"PK\x03\x04", "put its texts into a spreadsheet", 1),
        ("report.pdf", b"%PDF-1.4\n\xff\xfe", "report.pdf", 1),
        ("texts.csv", b"a;b\n" + b"x;y;z\n" * 30, "There are more problems", 4),
        ("t.tsv", b"The old man saw it.\tDer Mann sah es.\nA cat came.\tEine Katze kam.\n", "put a row with names", 0),
        ("t.txt", b"source\tmt\na b\tc d\n", "let its name end in .tsv", 0),
        ("t.tsv", b"source\tmt\na b\tc d\n", "Nothing here looks like references", 0),
    ],
)
def test_a_file_that_is_not_read_or_wrongly_guessed_says_what_to_do(
    client: TestClient, workspace: Workspace, name: str, content: bytes, said: str, alerts: int
) -> None:
    run = client.post("/new", headers=OWN).json()["name"]
    client.put(f"/upload/{run}?name={name}", content=content, headers=OWN)
    page = client.get(f"/runs/{run}/files")
    assert said in page.text
    assert name in page.text
    assert page.text.count('role="alert" dir="auto"') == alerts


def test_the_sheets_can_be_chosen_where_the_first_is_no_table(
    client: TestClient, workspace: Workspace, tmp_path: Path
) -> None:
    book = openpyxl.Workbook()
    for row in (["Project"], ["Contact", "Anna"]):
        book.worksheets[0].append(row)
    strings = book.create_sheet("Strings")
    for row in (["source", "reference", "mt"], ["a b", "c d", "e f"]):
        strings.append(row)
    book.save(tmp_path / "t.xlsx")
    run = run_of(workspace, tmp_path / "t.xlsx")
    assert 'role="alert"' in client.get(f"/runs/{run.name}/files").text
    assert f'href="/runs/{run.name}/files?sheet=Strings"' in client.get(f"/runs/{run.name}/files").text
    assert 'role="alert" dir' not in client.get(f"/runs/{run.name}/files?sheet=Strings").text
    # What was filled in stays when something in it is wrong.
    form = {"sheet": "Strings", "candidate": ["mt", "source"], "reference": "mt", "source": "reference", "lang": "sw"}
    page = client.post(f"/runs/{run.name}/files", data=form, headers=OWN)
    assert page.status_code == 400
    for field, value in (("candidate", "source"), ("candidate", "mt"), ("reference", "mt")):
        assert f'name="{field}" value="{value}" checked' in page.text
    assert '<option value="sw" selected>' in page.text
    assert 'name="sheet" value="Strings"' in page.text


def test_a_preview_shows_the_first_fifty_columns(client: TestClient, workspace: Workspace, tmp_path: Path) -> None:
    table = tmp_path / "wide.tsv"
    table.write_text("\t".join(f"c{n}" for n in range(80)) + "\n" + "\t".join(f"cell {n}" for n in range(80)) + "\n")
    run = run_of(workspace, table)
    page = client.get(f"/runs/{run.name}/files").text
    assert (">cell 49<" in page, ">cell 50<" in page) == (True, False)
    assert "50 of 80 columns" in page
    assert page.count('value="c79"') == 6  # all can be chosen


def test_the_metrics_are_a_click_away_once_files_are_there(client: TestClient, workspace: Workspace) -> None:
    run = workspace.new("x")
    answer = client.get(f"/runs/{run.name}/metrics")
    assert (answer.status_code, "Hand in files" in answer.text) == (400, True)
    inputs.copy_in(run, EXAMPLE)
    assert client.get(f"/runs/{run.name}/metrics").status_code == 200
    assert run.record.choices.candidate == ("atlas", "brook", "cinder")


def test_what_was_never_started_is_no_run_and_is_not_kept(
    client: TestClient, workspace: Workspace, jobs: Jobs, tmp_path: Path
) -> None:
    run = run_of(workspace, EXAMPLE)
    done = workspace.new("done")
    done.update(state="cancelled")
    assert f"/runs/{run.name}" not in client.get("/runs").text
    assert f"/runs/{done.name}" in client.get("/runs").text
    assert f'href="/runs/{run.name}/files"' in client.get("/").text  # until the end one can go on
    jobs.close()
    assert [one.name for one in workspace.runs()] == [done.name]
