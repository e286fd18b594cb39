"""The Eval4NLP shared task as it was published: a folder of parallel files, or the archive of it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from bsx.analysis import load_data, load_eval4nlp
from bsx.errors import InputError

FILES = {
    "src": "pisica a stat .\nplouă\n",
    "mt": "the cat sat .\nrains it\n",
    "pe": "the cat sat .\nit rains\n",
    "da": "71.5\n20\n",
    "hter": "0\n0.5\n",
    "src-tags": "0 0 0 0\n1\n",
    "tgt-tags": "0 0 0 0\n1 0\n",
    "src-mt.alignments": "0-1 2-2\n0-0\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "ro-en-dev"
    place.mkdir()
    for kind, content in FILES.items():
        (place / f"dev.{kind}").write_text(content, encoding="utf-8")
    return place


def packed(folder: Path) -> Path:
    file = folder.with_name("ro-en-dev.tar.gz")
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder, "ro-en-dev")
    return file


def test_folder_and_archive_give_the_same(folder: Path) -> None:
    table = load_eval4nlp(folder)
    assert (table.name, len(table)) == ("ro-en-dev", 2)
    row = next(iter(table.rows()))
    assert " ".join(row) == (
        "dataset lp testset segment source candidate human source_tags target_tags hter post_edit alignment"
    )
    texts = ("ro-en-dev", "ro-en", "dev", "1", "pisica a stat .", "the cat sat .")
    assert tuple(row.values()) == (*texts, 71.5, "0 0 0 0", "0 0 0 0", 0.0, "the cat sat .", "0-1 2-2")
    again = load_data(str(packed(folder)), loader="eval4nlp", lp="xx-yy")
    assert [row | {"lp": "ro-en"} for row in again.rows()] == list(table.rows())
    assert again.texts("lp") == ["xx-yy", "xx-yy"]
    for kind in ("hter", "pe", "src-mt.alignments"):  # as in the test sets
        (folder / f"dev.{kind}").unlink()
    assert list(load_eval4nlp(folder).columns)[-1] == "target_tags"


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("tgt-tags", "0 0 0 0\n1\n", "dev.tgt-tags: line 2: 1 tags of 0 and 1 are due for 2 words"),
        ("tgt-tags", "0 0 0 0\n1 OK\n", "dev.tgt-tags: line 2: 2 tags of 0 and 1 are due for 2 words"),
        ("da", "71.5\ngood\n", "dev.da: line 2"),
        ("src", "one line\n", "line counts differ"),
        ("da", None, "has no dev.da"),
        ("mt", None, "needs exactly one file PART.mt, has 0; is this a folder like ro-en-dev"),
    ],
)
def test_broken_files_are_named(folder: Path, kind: str, content: str | None, message: str) -> None:
    file = folder / f"dev.{kind}"
    if content is None:
        file.unlink()
    else:
        file.write_text(content, encoding="utf-8")
    for place in (folder, packed(folder)):
        with pytest.raises(InputError) as error:
            load_eval4nlp(place)
        assert message in str(error.value)


def test_what_is_no_archive(folder: Path) -> None:
    file = packed(folder)
    for content in (file.read_bytes()[:200], b"no archive"):
        file.write_bytes(content)
        with pytest.raises(InputError, match=r"^\S*ro-en-dev.tar.gz: is not a whole .tar.gz [^\n]*$"):  # one line
            load_eval4nlp(file)
    with pytest.raises(InputError, match="there is no such file"):
        load_eval4nlp(folder.with_name("et-en-dev.tar.gz"))
