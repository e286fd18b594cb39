"""A cascade over files: chosen rows have the scores of a run of all rows, the others are mapped, and all is said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx.metrics.run
from bsx.errors import BsxError, InputError
from bsx.jobs import score_files
from bsx.metrics.cascade import MARKS, Band, Line, choose
from bsx.metrics.lexical.rouge import Rouge
from tests.jobs.scoring.test_shards import WORDS, write

SYSTEMS = ("one", "two", "three", "four")


def rows(segments: int, *, seed: int = 1) -> list[dict[str, Any]]:
    """Rows of several systems one below the other."""
    rng = np.random.default_rng(seed)
    references = [" ".join(rng.choice(WORDS, rng.integers(2, 8))) for _ in range(segments)]
    found = []
    for system in SYSTEMS:
        for number, reference in enumerate(references):
            words = [word if rng.random() < 0.6 else str(rng.choice(WORDS)) for word in reference.split()]
            text = "" if rng.random() < 0.02 else " ".join(words)
            found.append({"segment": f"s{number}", "system": system, "candidate": text, "reference": reference})
    return found


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("cascade") / "in.jsonl", rows(40))


CASCADE: dict[str, Any] = {"metrics": ["rouge-l"], "cascade": "chrf", "band": "0-25", "anchors": 10}


@pytest.mark.parametrize("unit", ["rows", "segments", "candidates", None])
def test_rows_have_the_score_that_their_mark_says(table: str, tmp_path: Path, unit: Any) -> None:
    settings: dict[str, Any] = {"table": table, "system": "system", "segment": "segment"}
    score_files(**settings, metrics=["chrf", "rouge-l"], output=tmp_path / "all.jsonl")
    scored = score_files(**settings, **CASCADE, band_of=unit, output=tmp_path / "some.jsonl")
    full, some = read(tmp_path / "all.jsonl"), read(tmp_path / "some.jsonl")
    cheap, costly = (np.array([row[name] for row in full]) for name in ("chrf", "rouge-l"))
    blank = np.array([not row["candidate"] for row in full])
    segments = np.array([int(row["segment"][1:]) for row in full])
    marks = choose(cheap, segments, blank, Band(0, 25), unit or "segments", 10)
    assert [row["cascade"] for row in some] == [MARKS[mark] for mark in marks]
    line = Line.fit(cheap[marks == 2], costly[marks == 2], alike=True)
    assert [row["chrf"] for row in some] == cheap.tolist()
    assert [row["rouge-l"] for row in some] == pytest.approx(
        np.where(marks == 0, line(cheap), costly).tolist(), abs=1e-8
    )
    summary = scored.to_dict()
    plain = score_files(**settings, metrics=["chrf", "rouge-l"]).notes()
    assert len(set(scored.notes()) - set(plain)) == 1  # what such a cascade is not for
    said = summary["cascade"]
    assert {name: said[name] for name in MARKS} == {name: list(marks).count(k) for k, name in enumerate(MARKS)}
    assert said["share"] == pytest.approx(np.mean(marks > 0))
    assert said["r"] == pytest.approx(line.r)
    assert [said[name] for name in ("metric", "costly", "of", "ranks")] == [
        "chrf",
        "rouge-l",
        unit or "segments",
        "0-25",
    ]
    own: dict[str, list[float]] = {row["system"]: [] for row in some}
    for row in some:
        own[row["system"]].append(row["rouge-l"])
    assert {entry["system"]: entry["score"] for entry in summary["metrics"][1]["scores"]} == pytest.approx(
        {name: np.mean(values) for name, values in own.items()}
    )


def test_cheap_metric_has_its_own_corpus_score_and_the_signatures_say_the_cascade(table: str, tmp_path: Path) -> None:
    alone = score_files(table=table, system="system", metrics=["chrf"]).to_dict()["metrics"][0]
    cheap, costly = score_files(table=table, system="system", **CASCADE).to_dict()["metrics"]
    assert cheap == alone
    assert "|band:0-25 of segments|anchors:10" in costly["signature"]
    assert "|cascade:chrf@" in costly["signature"]
    word = score_files(table=table, system="system", **{**CASCADE, "cascade": "chrf:word_order=2"}).to_dict()
    assert word["metrics"][1]["signature"] != costly["signature"]


@pytest.mark.parametrize("unit", ["segments", "candidates"])
def test_systems_in_files_of_their_own_have_the_band_of_one_table(table: str, tmp_path: Path, unit: Any) -> None:
    texts = rows(40)
    for system in SYSTEMS:
        lines = [f"{row['candidate']}\n" for row in texts if row["system"] == system]
        (tmp_path / system).write_text("".join(lines), encoding="utf-8")
    (tmp_path / "ref").write_text("".join(f"{row['reference']}\n" for row in texts[:40]), encoding="utf-8")
    settings: dict[str, Any] = {**CASCADE, "band_of": unit, "output": tmp_path / "o.jsonl"}
    found = []
    score_files(table=table, system="system", segment="segment", **settings)
    found.append({(row["segment"], row["system"]) for row in read(tmp_path / "o.jsonl") if row["cascade"] == "band"})
    score_files(
        candidates=[str(tmp_path / system) for system in SYSTEMS], references=[str(tmp_path / "ref")], **settings
    )
    wide = [row for row in read(tmp_path / "o.jsonl") if row["cascade"] == "band"]
    found.append({(f"s{int(row['id']) - 1}", row["system"]) for row in wide})
    assert found[0] == found[1] != set()


def test_worst_rows_are_those_with_most_errors_where_lower_is_better(table: str, tmp_path: Path) -> None:
    settings = {**CASCADE, "cascade": "ter", "band_of": "rows"}
    said = score_files(table=table, **settings, output=tmp_path / "o.jsonl").to_dict()["cascade"]
    found = [row for row in read(tmp_path / "o.jsonl") if row["cascade"] != "blank"]
    inside = [row["ter"] for row in found if row["cascade"] == "band"]
    assert min(inside) >= max(row["ter"] for row in found if row["cascade"] != "band")
    assert said["slope"] < 0 < said["r"]
    mapped = sorted((row["ter"], row["rouge-l"]) for row in found if row["cascade"] == "mapped")
    assert mapped[0][1] > mapped[-1][1]


def test_blocks_of_any_size_give_the_same_table(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size, name in ((8_192, "large"), (7, "small")):
        monkeypatch.setattr(bsx.metrics.run, "_BLOCK_ROWS", size)
        score_files(table=table, system="system", **CASCADE, output=tmp_path / f"{name}.tsv")
    assert (tmp_path / "large.tsv").read_bytes() == (tmp_path / "small.tsv").read_bytes()


def test_idf_of_an_encoder_is_counted_over_all_rows(table: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"table": table, "model": "minilm", "metrics": ["bertscore:idf=true"]}
    score_files(**settings, output=tmp_path / "all.jsonl")
    score_files(**settings, cascade="chrf", band="0-10", band_of="rows", anchors=10, output=tmp_path / "some.jsonl")
    pairs = list(zip(read(tmp_path / "all.jsonl"), read(tmp_path / "some.jsonl"), strict=True))
    assert Counter(one["cascade"] for _, one in pairs)["mapped"] > 100
    for full, one in pairs:
        if one["cascade"] != "mapped":
            assert one["bertscore:idf=true"] == pytest.approx(full["bertscore:idf=true"], abs=1e-5)


class Stopped(KeyboardInterrupt):
    """What ends a run in the middle."""


def test_run_that_was_stopped_goes_on(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bsx.metrics.run, "_BLOCK_ROWS", 16)
    settings: dict[str, Any] = {"table": table, "system": "system", **CASCADE}
    score_files(**settings, output=tmp_path / "whole.tsv")
    score, calls = Rouge.score_block, iter(range(100))

    def breaks(self: Any, block: Any, fitted: Any) -> Any:
        if next(calls) == 2:
            raise Stopped
        return score(self, block, fitted)

    with monkeypatch.context() as patched:
        patched.setattr(Rouge, "score_block", breaks)
        with pytest.raises(Stopped):
            score_files(**settings, output=tmp_path / "o.tsv", resume=True)
    assert not (tmp_path / "o.tsv").exists()
    with pytest.raises(InputError, match=r"another (layout|signature)"):
        score_files(**{**settings, "band": "0-30"}, output=tmp_path / "o.tsv", resume=True)
    said: list[str] = []
    score_files(**settings, output=tmp_path / "o.tsv", resume=True, say=said.append)
    assert any(note.startswith("32 of ") for note in said)
    assert (tmp_path / "o.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_costly_metric_scores_the_rows_that_it_is_said_to(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    score = Rouge.score_block

    def counting(self: Any, block: Any, fitted: Any) -> Any:
        nonlocal seen
        seen += len(block)
        return score(self, block, fitted)

    monkeypatch.setattr(Rouge, "score_block", counting)
    said = score_files(table=table, system="system", **CASCADE).to_dict()["cascade"]
    assert seen == said["rows"] - said["mapped"] < said["rows"] / 2


def test_whole_band_is_a_run_of_all_rows(table: str) -> None:
    full = score_files(table=table, system="system", metrics=["chrf", "rouge-l"]).to_dict()["metrics"]
    scored = score_files(table=table, system="system", **{**CASCADE, "band": "0-100"})
    result = scored.to_dict()
    assert result["cascade"]["mapped"] == 0
    assert [entry["scores"] for entry in result["metrics"]] == [entry["scores"] for entry in full]
    assert "no row is mapped" in scored.to_text(result)


def wrong() -> Iterator[tuple[dict[str, Any], str]]:
    yield {"band": None}, "band"
    yield {"band": "25"}, "LOW-HIGH"
    yield {"metrics": []}, "one metric"
    yield {"metrics": ["rouge-l", "bleu"]}, "one metric"
    yield {"metrics": ["bleu"]}, "bleu"
    yield {"metrics": ["chrf"], "cascade": "rouge-l"}, "corpus score of chrf"
    yield {"cascade": "rouge-l"}, "both name rouge-l"
    yield {"cascade": "no-such"}, "no-such"
    yield {"cascade": None}, "band has no effect"
    yield {"cascade": None, "band": None}, "anchors has no effect"
    yield {"engine": "ray"}, "engine"
    yield {"shard": "1/2", "output": "parts"}, "shard"
    yield {"fail_under": ["rouge-l=0.1"]}, "fail_under"
    yield {"lang_column": "system"}, "lang_column"
    yield {"system": None, "segment": None, "band_of": "candidates", "table": "alone.jsonl"}, "band_of=candidates"
    yield {"table": "taken.jsonl"}, "cascade"


@pytest.mark.parametrize(("change", "named"), list(wrong()))
def test_what_makes_no_cascade_is_refused(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "alone.jsonl", [{"candidate": "a b", "reference": "a c"}, {"candidate": "a", "reference": "b"}])
    write(tmp_path / "taken.jsonl", [{**row, "cascade": "x"} for row in rows(3)])
    settings: dict[str, Any] = {"table": table, "system": "system", **CASCADE, "output": "o.tsv", **change}
    with pytest.raises(BsxError, match=named):
        score_files(**settings)
    assert not (tmp_path / "o.tsv").exists()
