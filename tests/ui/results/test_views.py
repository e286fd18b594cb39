"""What the server answers about results, and that the commands it shows give the same files."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from bsx.analysis.report.run import report
from bsx.ui.app import make_app
from bsx.ui.workspace import Choices, Workspace
from tests.helpers.sample import sampled
from tests.ui.conftest import HOST, OWN, PORT, TOKEN
from tests.ui.results import made

NAME = "a run & <b>more عنوان"


@pytest.fixture
def folder(workspace: Workspace) -> Path:
    made.write(workspace.folder / NAME, made.rows(12, ["ours", "<i>theirs</i>"], made.HOSTILE), made.HOSTILE[0])
    return workspace.folder / NAME


def let_in(workspace: Workspace) -> TestClient:
    client = TestClient(make_app(workspace, TOKEN, PORT), base_url=HOST, follow_redirects=False)
    client.get("/", params={"token": TOKEN})
    return client


@pytest.fixture
def reader(workspace: Workspace) -> Iterator[TestClient]:
    """Somebody who only looks."""
    with let_in(Workspace(workspace.folder, read_only=True)) as client:
        yield client


def test_the_page_has_answer_and_ranking_and_texts_stay_texts(client: TestClient, folder: Path) -> None:
    page = client.get(f"/results/{NAME}")
    assert page.status_code == 200
    assert "document.title" in page.text
    for hostile in made.HOSTILE[:2]:
        assert hostile not in page.text
    assert "<i>theirs" not in page.text
    assert "style=" not in page.text
    assert page.text.count('class="lead"') >= 1
    assert page.text.index('id="answer"') < page.text.index('id="systems"') < page.text.index('id="segments"')


def test_the_specification_of_a_metric_is_said_once_on_demand(client: TestClient, workspace: Workspace) -> None:
    spec, title = "bertscore:model=me5-small-q4", "BERTScore with me5-small-q4"
    rows = [{"id": str(k), "system": name, spec: k / 9} for k in range(9) for name in ("ours", "theirs")]
    made.write(workspace.folder / "one", rows, metrics={spec: True})
    before, named, after = client.get("/results/one").text.partition("What metrics are called in commands")
    assert title in before
    assert spec not in before
    assert f"{title}: <code>{spec}</code>" in named + after
    assert [(one["name"], one["title"]) for one in client.get("/results/one/columns").json()["metrics"]] == [
        (spec, title)
    ]
    workspace.run("one").update(choices=Choices(metrics=(spec, "chrf")))
    assert f'<span title="{spec}">{title}</span>; <span title="chrf">chrF</span>' in client.get("/runs/one").text


def test_numbers_come_as_they_are_in_the_table(client: TestClient, folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "scores.jsonl").read_text(encoding="utf-8").split("\n") if line]
    columns = client.get(f"/results/{NAME}/columns").json()
    values = np.frombuffer(client.get(f"/results/{NAME}/scores").content, "<f8").reshape(3, 2, 12)
    for row in rows:
        at = columns["systems"].index(row["system"]), columns["segments"].index(row["id"])
        assert [values[(m, *at)] for m in range(3)] == [row[one["name"]] for one in columns["metrics"]]
    for number, column in enumerate(columns["texts"]):
        texts = client.get(f"/results/{NAME}/texts/{number}").json()
        for row in rows:
            if column["role"] != "candidate" or column["name"] == row["system"]:
                assert texts[columns["segments"].index(row["id"])] == row[column["role"]]


def test_large_answers_are_compressed_for_those_who_can_read_them(client: TestClient, workspace: Workspace) -> None:
    made.write(workspace.folder / "large", made.rows(1500, ["a", "b"]), compared=False)
    plain = client.get("/results/large/scores", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = client.get("/results/large/scores", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content


@pytest.mark.slow
def test_fifteen_systems_of_500_segments_are_there_in_3_seconds(client: TestClient, workspace: Workspace) -> None:
    """Of work, that is: how long it takes by the clock depends on what else the machine does."""
    text = " ".join(["the council of the harbour has met again"] * 5)
    table = made.write(workspace.folder / "run", made.rows(500, [f"system-{k}" for k in range(15)], [text]))
    client.get("/library/charts.js")  # which is put together once
    begin = time.process_time()
    texts = [f"texts/{k}" for k in range(17)]
    answers = [
        client.get(f"/results/run{part}") for part in ("", *(f"/{name}" for name in ("columns", "scores", *texts)))
    ]
    shown = time.process_time() - begin
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    report(files=[table, table.with_name("compare.json")], output=workspace.folder / "report.html")
    assert shown < 3
    assert time.process_time() - begin - shown < 3


@pytest.mark.parametrize(
    "path",
    [
        "/results/nothing",
        "/results/%2e%2e",
        "/results/..%2f..%2fetc",
        "/results/.hidden",
        "/results/nothing/columns",
        f"/results/{NAME}/texts/99",
        f"/results/{NAME}/export/..%2fscores.jsonl",
        f"/results/{NAME}/export/run.json",
        f"/results/{NAME}/export/scores.jsonl",
        f"/results/{NAME}/export/selection.tsv",
        f"/results/{NAME}/align/7/0",
    ],
)
def test_there_is_nothing_else_to_ask_for(client: TestClient, folder: Path, path: str) -> None:
    (folder.parent / ".hidden").mkdir()
    assert client.get(path).status_code == 404


def test_a_run_that_is_read_again_when_its_scores_change(client: TestClient, folder: Path) -> None:
    assert client.get(f"/results/{NAME}/columns").json()["rows"] == 24
    made.write(folder, made.rows(5, ["ours"]), compared=False)
    assert client.get(f"/results/{NAME}/columns").json()["rows"] == 5


def test_one_system_without_texts_has_a_page(client: TestClient, workspace: Workspace) -> None:
    rows = [{"id": str(k), "chrf": k / 2} for k in range(3)]
    made.write(workspace.folder / "one", rows, compared=False, metrics={"chrf": True})
    page = client.get("/results/one")
    assert page.status_code == 200
    assert "There is one system: nothing is compared." in page.text
    assert client.get("/results/one/columns").json()["texts"] == []
    assert client.get("/results/one/align/0/0").status_code == 400
    names = [one["name"] for one in client.get("/results/one/exports").json()]
    assert "report.html" in names
    assert "ranking.tex" not in names


def test_a_run_whose_scores_are_damaged_is_an_error_and_the_server_lives(client: TestClient, folder: Path) -> None:
    (folder / "scores.jsonl").write_text("no JSON\n")
    assert client.get(f"/results/{NAME}").status_code == 400
    assert "scores.jsonl" in client.get(f"/results/{NAME}/columns").json()["error"]
    assert client.get("/runs").status_code == 200


def keep(client: TestClient, segment: str, note: str | None, was: str | None = None) -> int:
    body = {"segment": segment, "was": was, "note": note}
    status: int = client.post(f"/results/{NAME}/selection", json=body, headers=OWN).status_code
    return status


def test_notes_are_saved_at_once_and_conflicts_are_told(client: TestClient, folder: Path) -> None:
    assert keep(client, "seg-3", made.HOSTILE[1]) == 200
    saved = json.loads((folder / "selection.json").read_text(encoding="utf-8"))
    assert saved["segments"] == {"seg-3": {"note": made.HOSTILE[1]}}
    answer = client.get(f"/results/{NAME}/selection")
    assert answer.json() == saved
    assert answer.headers["etag"] == '"1"'
    assert keep(client, "seg-3", "another") == 409
    assert keep(client, "seg-4", "") == 200
    assert keep(client, "no such", "") == 400
    for body in (b"", b"[]", b'{"segment": 1}', b'{"segment": "seg-1", "note": 2}'):
        assert client.post(f"/results/{NAME}/selection", content=body, headers=OWN).status_code == 400
    assert [*client.get(f"/results/{NAME}/selection").json()["segments"]] == ["seg-3", "seg-4"]


def test_who_only_looks_changes_and_runs_nothing(reader: TestClient, folder: Path) -> None:
    assert reader.get(f"/results/{NAME}").status_code == 200
    assert reader.get(f"/results/{NAME}/columns").json()["readOnly"] is True
    assert keep(reader, "seg-3", "") == 400
    assert not (folder / "selection.json").exists()
    assert "read_only" in reader.get(f"/results/{NAME}/align/0/0").json()["error"]


@pytest.mark.parametrize(
    "name", sampled(["report.html", "ranking.tex", "table.tsv", "table.xlsx", "selection.xlsx"], ["selection.xlsx"])
)
def test_the_commands_that_are_shown_give_the_same_bytes(
    client: TestClient, folder: Path, tmp_path: Path, name: str
) -> None:
    """They run as a person would run them, by a shell in a copy of the folder."""
    rows = [
        {**row, "candidate": row["candidate"] or "-"} for row in made.rows(12, ["ours", "--theirs"], made.HOSTILE[2:4])
    ]
    made.write(folder, rows, "A 'title' -o x")
    keep(client, "seg-3", "a 'note'")
    keep(client, "seg-1", "")
    before = sorted(path.name for path in folder.iterdir())
    answer = client.get(f"/results/{NAME}/export/{name}")
    assert answer.status_code == 200, answer.text
    assert name in answer.headers["content-disposition"]
    assert sorted(path.name for path in folder.iterdir()) == before
    exports = {one["name"]: one for one in client.get(f"/results/{NAME}/exports").json()}
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "bsx").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m bsx "$@"\n')
    (bin_folder / "bsx").chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    line = exports[name]["command"]
    subprocess.run(["sh", "-c", line], cwd=copy, env=environment, check=True, capture_output=True, timeout=120)
    assert (copy / name).read_bytes() == answer.content
    assert len(answer.content) > 200


def test_an_export_that_fails_says_why(client: TestClient, folder: Path) -> None:
    made.write(folder, made.rows(4, ["ours", "theirs"]), compared=False)
    keep(client, "seg-3", "")
    made.write(folder, made.rows(2, ["ours", "theirs"]), compared=False)
    answer = client.get(f"/results/{NAME}/export/selection.tsv")
    assert answer.status_code == 400
    assert "seg-3" in answer.json()["error"]


def test_tokens_are_aligned_by_an_encoder_that_is_here(client: TestClient, workspace: Workspace) -> None:
    made.write(workspace.folder / "run", made.rows(2, ["ours"]), compared=False)
    table = workspace.folder / "run" / "scores.jsonl.signatures.json"
    known = {"metric": "chrf", "higher_is_better": True, "signature": "metric:bertscore|model:minilm@x|layer:3/6"}
    table.write_text(json.dumps({"metrics": [known]}))
    found = client.get("/results/run/align/0/1").json()
    assert len(found["cosines"]) == len(found["candidate"]["tokens"])
    assert "layer:3/6" in found["signature"]
