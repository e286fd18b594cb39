"""Risks of words: they align with words, depend on nothing but the row, and add up to the score they explain."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
from bsx.analysis.explanations.marks import MarkAgreement
from bsx.analysis.explanations.result import ExplainedRow, Explanations
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Answer, Passages, TablePart
from bsx.analysis.report.build import build_report
from bsx.analysis.report.documents import Document, parse_document
from bsx.analysis.stats.results import Estimate
from bsx.errors import InputError
from bsx.jobs.explaining import explain_table
from bsx.support.provenance import provenance

Tiny = Callable[[str], str]
Cli = Callable[..., Any]
CANDIDATES = ["the cat sat on a mat", "", "two\u00a0words and\ttabs  here", "dogs !", "\u200b odd\u200bones", "one"]
REFERENCES = ["a cat sat on the mat", "nothing", "two words and tabs here", "dogs bark !", "odd ones", "another"]


@pytest.fixture(scope="module")
def tiny(tiny_model: Tiny) -> str:
    return tiny_model("bert")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "texts.tsv"
    rows = ["source\tcandidate\treference\tmarks\tother"]
    marks = ["0 0 0 0 1 0", "", "0 0 0 1 1", "0 0"]
    texts = zip(CANDIDATES, REFERENCES, marks, strict=False)
    rows += [f"{r} source\t{c}\t{r}\t{m}\tx" for c, r, m in texts if "\t" not in c]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("way", ["reference", "source"])
def test_there_is_a_number_for_each_word(tiny: str, way: str) -> None:
    other = {"references": REFERENCES} if way == "reference" else {"sources": REFERENCES}
    found = bsx.explain(CANDIDATES, **other, model=tiny)  # type: ignore[arg-type]
    assert [len(row.risk) for row in found.rows] == [len(text.split()) for text in CANDIDATES]
    assert found[1].risk == ()
    for row in found.rows:
        assert np.isfinite(row.risk).all()
        assert all(0 <= risk <= 1 for risk in row.risk)
        if way == "source":
            assert row.source_risk is not None
            assert len(row.source_risk) == len((row.source or "").split())
    assert found.calibrated["candidate"] is False
    assert set(found.method.values()) == {"match" if way == "reference" else "ranks"}
    assert bool(found.notes) == (way == "source")  # no networks for this model
    texts = [*CANDIDATES, *(REFERENCES if way == "source" else [])]
    assert len(found.to_pandas()) == sum(len(text.split()) for text in texts)


def test_a_row_does_not_depend_on_its_neighbours(tiny: str) -> None:
    whole = bsx.explain(CANDIDATES, sources=REFERENCES, model=tiny)
    turned = bsx.explain(CANDIDATES[::-1], sources=REFERENCES[::-1], model=tiny)
    again = bsx.explain(CANDIDATES, sources=REFERENCES, model=tiny)
    for row, other, same in zip(whole.rows, turned.rows[::-1], again.rows, strict=True):
        np.testing.assert_allclose(row.risk, other.risk, atol=1e-5)  # batches of other lengths round otherwise
        np.testing.assert_array_equal(row.risk, same.risk)


def test_an_equal_text_has_no_risk_and_the_best_of_several_references_counts(tiny: str) -> None:
    alone = bsx.explain(["the cat sat"], references=["dogs bark !"], model=tiny)[0].risk
    both = bsx.explain(["the cat sat"], references=[["dogs bark !", "the cat sat"]], model=tiny)[0].risk
    np.testing.assert_allclose(both, 0, atol=1e-6)
    assert min(alone) > 1e-3


def test_rare_words_weigh_more_on_request(tiny: str) -> None:
    candidates, references = ["the cat", "the dog", "the mat"], ["dogs !", "one", "two"]
    plain = bsx.explain(candidates, references=references, model=tiny)
    weighed = bsx.explain(candidates, references=references, model=tiny, idf=True)
    for one, other in zip(plain.rows, weighed.rows, strict=True):
        assert other.risk[0] == 0  # every text has it
        assert other.risk[1] == pytest.approx(one.risk[1] * 0.5)  # log(4 / 2) / log(4)


@pytest.mark.parametrize(("method", "budget"), [("shapley", 64), ("shapley", 20), ("erasure", 256)])
def test_values_of_words_explain_the_score_of_any_metric(method: Any, budget: int) -> None:
    candidate, reference = "the cat sat on mats", "the cat sat on the mat"
    risk = bsx.explain([candidate], references=[reference], metrics=["chrf"], method=method, budget=budget)[0].risk
    score = bsx.get_metric("chrf").score([candidate, "", "cat sat on mats"], [reference] * 3).values
    if method == "shapley":
        assert -sum(risk) == pytest.approx(score[0] - score[1])
    else:
        assert -risk[0] == pytest.approx(score[0] - score[2])
    assert len(risk) == 5


def test_of_a_metric_that_is_better_when_lower_the_sign_is_turned() -> None:
    risk = bsx.explain(["the cat sat wrongly"], references=["the cat sat"], metrics=["ter"])[0].risk
    assert max(risk) == risk[3]
    assert risk[3] > 0


def test_a_table_gives_what_its_texts_give(tiny: str, table: Path) -> None:
    found = explain_table(table=table, reference_free=True, marks="marks", model=tiny, resamples=50)
    texts = [(row.candidate, row.source) for row in found.rows]
    direct = bsx.explain([c for c, _ in texts], sources=[s for _, s in texts], model=tiny)
    for row, other in zip(found.rows, direct.rows, strict=True):
        np.testing.assert_array_equal(row.risk, other.risk)
    assert found.marks["candidate"].auc.n == 1
    assert found.marks["candidate"].left_out == len(found) - 1


def test_the_command_prints_an_object_a_row(cli: Cli, tiny: str, table: Path, tmp_path: Path) -> None:
    done = cli("explain", table, "-m", tiny, "--reference-free", "--format", "jsonl")
    assert done.status == 0
    rows = [json.loads(line) for line in done.out.splitlines()]
    for row in rows:
        assert len(row["risk"]) == len(row["candidate"].split())
        assert len(row["source_risk"]) == len(row["source"].split())
    for name in ("e.json", "e.html", "e.md", "e.txt", "e.csv", "e.tex"):
        assert cli("explain", table, "-m", tiny, "-o", tmp_path / name).status == 0
    page = (tmp_path / "e.html").read_text(encoding="utf-8")
    assert 'class="word heat' not in page  # no marks show these risks to be calibrated
    document = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
    assert document["rows"][0]["risk"] != rows[0]["risk"]  # with references there, they are what counts
    assert document["rows"][0]["source_risk"] == pytest.approx(rows[0]["source_risk"], abs=1e-5)


def test_what_cannot_be_explained_is_one_line(cli: Cli, tiny: str, table: Path, tmp_path: Path) -> None:
    (tmp_path / "no.tsv").write_text("source\tcandidate\na b\tc d\n", encoding="utf-8")
    (tmp_path / "empty.tsv").write_text("source\tcandidate\n", encoding="utf-8")
    wrong: list[tuple[list[Any], str]] = [
        ([tmp_path / "no.tsv"], "has no column 'reference'"),
        ([tmp_path / "no.tsv", "--reference-free", "--candidate", "c"], "has no column 'c'"),
        ([tmp_path / "empty.tsv", "--reference-free"], "no rows"),
        ([tmp_path / "gone.tsv", "--reference-free"], "gone.tsv"),
        ([table, "--reference-free", "--marks", "other"], "0 or 1 for each of 6 words"),
        ([table, "--reference-free", "--method", "trained"], "no trained networks"),
        ([table, "--method", "shapley"], "name it with metrics"),
        ([table, "--method", "match", "--metrics", "chrf"], "leave metrics out"),
        ([table, "--metrics", "chrf", "--idf"], "idf and layer belong"),
        ([table, "--metrics", "chrf", "--budget", "16"], "budget"),
        ([table, "--reference-free", "--metrics", "chrf"], "needs a reference"),
    ]
    for arguments, said in wrong:
        done = cli("explain", *arguments, "-m", tiny)
        assert (done.status, done.out) == (2, ""), arguments
        assert said in done.err, done.err
        assert done.err.count("\n") == 1
    with pytest.raises(InputError, match="2 candidates and 1 references"):
        bsx.explain(["a", "b"], references=["a"], model=tiny)
    with pytest.raises(InputError, match="neither reference nor source"):
        bsx.explain(["a"], model=tiny)


def test_a_report_shows_words(tiny: str, table: Path) -> None:
    found = explain_table(table=table, model=tiny)
    content = parse_document({**found.to_dict(), "provenance": provenance("explain", [table])}, "e")
    assert isinstance(content, Explanations)
    assert content.rows == found.rows
    report = build_report([Document("e.json", None, content)], examples=2)
    section = next(section for section in report.sections if section.id == "words")
    assert not any(isinstance(block, Passages) for block in section.blocks)  # no risks without marks that hold them up
    riskiest = found[0].candidate.split()[int(np.argmax(found[0].risk))]
    assert any(
        riskiest in cell.text for block in section.blocks if isinstance(block, TablePart) for cell in block.rows[0]
    )
    assert section.lead


def test_marks_are_found_beside_what_needs_no_training(tiny: str, table: Path) -> None:
    found = explain_table(table=table, reference_free=True, marks="marks", model=tiny, resamples=20)
    assert set(found.baselines["candidate"]) == {"match", "length", "frequency"}
    assert {one.n for one in found.baselines["candidate"].values()} == {found.marks["candidate"].auc.n}
    same = explain_table(table=table, reference_free=True, marks="marks", model=tiny, resamples=20, method="match")
    assert set(same.baselines["candidate"]) == {"length", "frequency"}
    assert same.marks["candidate"].auc.estimate == found.baselines["candidate"]["match"].b
    beside = explain_table(table=table, marks="marks", model=tiny, resamples=20)
    assert set(beside.baselines["candidate"]) == {"length", "frequency"}
    by_scores = explain_table(table=table, marks="marks", metrics=["chrf"], resamples=20)
    assert by_scores.baselines == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("candidate", "source", "method"),
    [
        ("Ta den boken .", "Take that book , it is on the table .", None),
        ("他拿走了这本书 。", "Возьми эту книгу .", "ranks"),  # no pair like it was left out of training
    ],
)
def test_the_default_of_a_pair_is_what_pairs_like_it_say(candidate: str, source: str, method: str | None) -> None:
    entry = bsx.load_registry().explainer("me5-small-q4")
    assert entry is not None
    assert entry.trained is not None
    kinds = {(kind.source, kind.candidate): kind for kind in entry.trained.kinds}
    found = bsx.explain([candidate], sources=[source], model="me5-small-q4")
    assert found.method["candidate"] == (method or kinds["en", "Latn"].methods["candidate"])
    assert not any(found.calibrated.values())
    assert found.notes


@pytest.mark.parametrize("low", [0.4, 0.6])
def test_risks_are_said_to_find_marks_only_where_they_do(low: float) -> None:
    auc = Estimate(0.7, low, 0.9, float("nan"), 60, "AUC")
    agreement = MarkAgreement(auc, auc, auc, left_out=0)
    rows = (ExplainedRow("a b", (0.1, 0.9)),)
    found = Explanations("m", {"candidate": "match"}, {"candidate": False}, rows, marks={"candidate": agreement})
    answer = next(part for part in parts_of(found) if isinstance(part, Answer)).text
    assert ("not significantly" in answer) == (low < 0.5)
    few = replace(agreement, auc=replace(auc, n=3))
    assert "better than chance" not in next(part for part in parts_of(few) if isinstance(part, Answer)).text


def test_explanations_are_read_back_as_they_were_written(tiny: str, table: Path) -> None:
    found = explain_table(table=table, reference_free=True, marks="marks", model=tiny, resamples=20)
    content = found.to_dict()
    assert Explanations.from_dict(json.loads(json.dumps(content))).to_dict() == content
    assert found[0].columns["other"] == "x"
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert list(rows[0]) == ["row", "side", "place", "word", "risk"]


def test_a_word_that_looks_like_nothing_stays_a_word() -> None:
    words = "nan null NA None"
    row = ExplainedRow(words, (0.1, float("nan"), 0.2, 0.3))
    frame = Explanations("m", {"candidate": "match"}, {"candidate": False}, (row,)).to_pandas()
    assert frame["word"].tolist() == words.split()
    assert frame["risk"].isna().tolist() == [False, True, False, False]
