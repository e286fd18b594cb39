"""One table through all commands: no option for columns, nothing lost on the way, nothing pooled unsaid."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import bsx
from bsx.analysis import Judgments, MetaResult, load_test_set
from bsx.analysis import test_sets as every_test_set
from bsx.analysis.meta.run import meta_evaluate
from bsx.analysis.train.run import TrainingColumns
from bsx.analysis.tune.run import TuneSettings
from bsx.data.frame import Frame
from bsx.data.sidecar import factor_columns, scored_columns
from bsx.data.sources import IN_MEMORY
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError
from bsx.frames.judged import read_judged
from tests.conftest import Cli
from tests.helpers.tables import read_rows, write_columns, write_lines, write_rows

LAYOUT = ("system", "segment", "source", "candidate", "reference", "human", "human_b", "mark")
WORDS = "the a old young cat dog river bank house rain train walked slowly to of in".split()  # noqa: SIM905 - prose


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three systems on twelve segments: the more words are wrong, the lower both judgments."""
    draw = random.Random(3)  # noqa: S311
    rows: list[dict[str, object]] = []
    for segment in range(12):
        reference = [draw.choice(WORDS) for _ in range(8)]
        for place, system in enumerate(("atlas", "brook", "cinder")):
            wrong = draw.randrange(place, place + 4)
            candidate = [word if i >= wrong else draw.choice(WORDS) for i, word in enumerate(reference)]
            judged = (-wrong + draw.random(), -wrong + 3 * draw.random())
            texts = (f"Satz {segment}", " ".join(candidate), " ".join(reference))
            rows.append(dict(zip(LAYOUT, (system, f"s{segment}", *texts, *judged, f"m{len(rows)}"), strict=True)))
    return write_rows(tmp_path_factory.mktemp("layout") / "t.tsv", rows)


@pytest.fixture(scope="module")
def chain(table: Path) -> Path:
    """The folder of that table, scored and then measured by a factor, without a word on columns."""
    folder = table.parent
    bsx.score_files(table=str(table), metrics=["chrf", "ter"], output=folder / "s.tsv")
    bsx.factors(table=folder / "s.tsv", output=folder / "f.tsv", factors=["lex"])
    return folder


def test_the_chain_needs_no_option_for_columns(chain: Path, cli: Cli, tmp_path: Path) -> None:
    quick = ("--resamples", "20", "--format", "json")
    compared = json.loads(cli("compare", chain / "f.tsv", *quick).out)
    assert (compared["systems"], compared["segments"]) == (["atlas", "brook", "cinder"], 12)
    assert [one["higher_is_better"] for one in compared["metrics"]] == [True, False]  # factors keep what score knew
    agreed = json.loads(cli("meta", chain / "f.tsv", "--test", "none", *quick).out)
    assert [one["metric"] for one in agreed["groups"][0]["metrics"]] == ["chrf", "ter"]
    assert set(agreed["provenance"]["signatures"]) == {"chrf", "ter"}
    regressed = json.loads(cli("disentangle", chain / "f.tsv", "--format", "json").out)
    assert [one["metric"] for one in regressed["results"]] == ["chrf", "ter"]
    assert [list(one["coef"]) for one in regressed["results"]] == [["lex"], ["lex"]]
    together = json.loads(cli("ensemble", chain / "f.tsv", *quick).out)
    assert (together["members"], together["lower"]) == (["chrf", "ter"], ["ter"])
    assert cli("report", chain / "f.tsv", "-o", tmp_path / "r.md").status == 0
    assert "chrf" in (tmp_path / "r.md").read_text()


def test_every_column_stays_from_the_first_table_to_the_last(table: Path, chain: Path, tmp_path: Path) -> None:
    last = tmp_path / "e.tsv"
    combined = bsx.ensemble(table=str(chain / "f.tsv"), scores_out=last, how="ridge", folds=3)
    for file, more in ((chain / "s.tsv", 2), (chain / "f.tsv", 3), (last, 4)):
        rows = read_rows(file)
        assert [{name: row[name] for name in LAYOUT} for row in rows] == read_rows(table)
        assert len(rows[0]) == len(LAYOUT) + more
    assert scored_columns(last, list(rows[0])) == ["chrf", "ter", "ensemble"]
    assert factor_columns(chain / "f.tsv", ["lex", "other"]) == ["lex"]
    # The scores of an ensemble are those that it is measured by.
    scores, people = (np.array([float(row[name]) for row in rows]) for name in ("ensemble", "human"))
    assert np.corrcoef(scores, people)[0, 1] == pytest.approx(combined.groups[0].ensemble, abs=1e-8)  # nine digits
    with pytest.raises(bsx.InputError, match="has a column 'ensemble' already"):
        bsx.ensemble(table=str(last), columns=["chrf", "ter"], scores_out=tmp_path / "again.tsv")
    assert not (tmp_path / "again.tsv").exists()


def test_bertscore_by_itself_keeps_every_column_too(table: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "b.tsv"
    assert cli("score", "-m", "minilm", table, "-o", out).status == 0
    rows = read_rows(out)
    assert list(rows[0]) == ["id", "system", *LAYOUT[1:], "precision", "recall", "f1"]
    assert [{name: row[name] for name in LAYOUT} for row in rows] == read_rows(table)
    assert [row["id"] for row in rows] == [row["segment"] for row in rows]
    found = bsx.meta(table=str(out), test="none", resamples=20)
    assert set(found.signatures) == {"precision", "recall", "f1"}
    again = cli("score", "-m", "minilm", out, "-o", tmp_path / "c.tsv")
    assert (again.status, again.err.count("\n")) == (2, 1)
    assert "has a column 'precision' already" in again.err
    # What the table knew of its scores, the next one knows too.
    bsx.score_files(table=str(out), metrics=["chrf"], output=tmp_path / "d.tsv")
    names = ["precision", "recall", "f1", "chrf"]
    assert scored_columns(tmp_path / "d.tsv", list(read_rows(tmp_path / "d.tsv")[0])) == names


def test_several_judgments_make_a_table_each(chain: Path, cli: Cli, tmp_path: Path) -> None:
    how: Any = {"table": str(chain / "s.tsv"), "test": "none", "resamples": 20}
    result = bsx.meta(human=["human", "human_b"], **how)
    assert isinstance(result, Judgments)
    for found, name in zip(result.judgments, ("human", "human_b"), strict=True):
        alone = bsx.meta(human=name, **how)
        assert isinstance(alone, MetaResult)
        assert (found.human, found.groups, found.average) == (name, alone.groups, alone.average)
        assert result[name] is found
    with pytest.raises(bsx.UnknownNameError, match="Near: human"):
        result["humn"]
    assert [row.split(",")[0] for row in result.to_csv().splitlines()] == ["human"] * 5 + ["human_b"] * 4
    words = ("meta", chain / "s.tsv", "--human", "human,human_b", "--resamples", "20", "--format", "json")
    drawn = cli(*words, "--test", "none", "--plot", tmp_path / "p.svg", "-o", tmp_path / "j.json")
    assert (drawn.status, (tmp_path / "p.svg").is_file()) == (0, True)
    document = json.loads((tmp_path / "j.json").read_text(encoding="utf-8"))
    assert document["judgments"] == json.loads(json.dumps(result.to_dict()))["judgments"]
    assert cli("report", tmp_path / "j.json", "-o", tmp_path / "r.md").status == 0
    assert "with human_b" in (tmp_path / "r.md").read_text(encoding="utf-8")
    drawn = cli(*words, "--plot-tests", tmp_path / "p.png")
    assert (drawn.status, drawn.err.count("\n")) == (2, 1)
    assert "tests of one judgment" in drawn.err


def test_metrics_computed_now_agree_with_those_on_disk(table: Path, chain: Path) -> None:
    def run(file: Path, **how: Any) -> MetaResult:
        result = bsx.meta(table=str(file), test="none", resamples=20, **how)
        assert isinstance(result, MetaResult)
        return result

    now, then = run(table, metrics=["chrf"]), run(chain / "s.tsv", columns=["chrf", "ter"])
    assert now.systems
    assert now.groups[0]["chrf"].value == pytest.approx(then.groups[0]["chrf"].value, rel=1e-8)
    # Lower is better beside metrics that are computed, too.
    beside = run(chain / "s.tsv", metrics=["bleu"], columns=["ter"])
    assert beside.groups[0]["ter"].value == pytest.approx(then.groups[0]["ter"].value, rel=1e-9)
    assert then.groups[0]["ter"].value > 0
    # Segments may be told by the texts that metrics read.
    assert run(table, metrics=["chrf"], segment="reference").groups == now.groups
    assert isinstance(bsx.meta(table=str(table), human=["human", "human_b"], metrics=["chrf"], resamples=20), Judgments)


def test_the_usual_columns_stand_back_where_they_do_not_tell_rows_apart(table: Path, tmp_path: Path) -> None:
    def run(changed: list[dict[str, Any]], **how: Any) -> Any:
        file = write_rows(tmp_path / "t.tsv", changed)
        return bsx.meta(table=str(file), columns=["chrf"], test="none", resamples=20, **how)

    rows: list[dict[str, Any]] = [{**row, "chrf": place * place % 7} for place, row in enumerate(read_rows(table))]
    nameless = [{name: cell for name, cell in row.items() if name != "segment"} for row in rows]
    numbered = [{**row, "segment": str(place)} for place, row in enumerate(rows)]
    atlas = [row for row in rows if row["system"] == "atlas"]
    for changed, told in (
        ([*rows, *rows], "several rows have the same 'system' and 'segment'"),
        ([{**row, "layer": layer} for row in atlas for layer in (1, 2)], "several rows have the same"),
        (nameless, "no column names segments: rows with the same source"),
        (numbered, "no two systems meet under 'segment'"),
        ([{name: row[name] for name in ("system", "chrf", "human")} for row in rows], "none names segments"),
        ([{**row, "lp": f"{row['system']}-en"} for row in rows], "the column 'lp' names 3 language pairs"),
    ):
        assert any(told in note for note in run(changed).notes), told
    assert not any("system" in note for note in run(atlas).notes)
    groups = [{**row, "lp": "a" if row["system"] == "atlas" else "b"} for row in rows]
    assert any("a group has a single system" in note for note in run(groups, group="lp").notes)
    kept = ("system", "chrf", "human")
    other = [{**{name: row[name] for name in kept}, "id": k, "seg": row["segment"]} for k, row in enumerate(rows)]
    assert len({str(run(same).to_dict()["groups"]) for same in (rows, nameless, numbered, other)}) == 1
    with pytest.raises(InputError, match="no two systems have a row of the same segment under 'mark'") as caught:
        run(rows, segment="mark")
    assert caught.value.setting == "segment"


def test_nothing_is_pooled_unsaid(chain: Path, cli: Cli, tmp_path: Path) -> None:
    said = "the column 'system' names 3 systems"
    texts = chain / "t.tsv"
    pairs = write_rows(
        tmp_path / "l.tsv", [{**row, "label": i % 2} for i, row in enumerate(read_rows(chain / "s.tsv"))]
    )
    (tmp_path / "l.tsv.signatures.json").write_bytes((chain / "s.tsv.signatures.json").read_bytes())
    for words in (
        ("score", texts, "--metrics", "chrf"),
        ("disentangle", chain / "f.tsv"),
        ("ensemble", chain / "f.tsv", "--resamples", "20"),
        ("adversarial", "pairs", pairs, "--resamples", "20"),
        ("adversarial", "perturb", texts, "--metrics", "chrf", "--perturbations", "shuffle", "--resamples", "20"),
        ("intervene", texts, "--metrics", "chrf", "-l", "en"),
    ):
        done = cli(*words)
        assert done.status == 0, done.err
        assert said in done.err + done.out, words


@pytest.mark.parametrize(
    "words",
    ["adversarial perturb {} --perturbations shuffle --resamples 20 --strengths 0.5", "intervene {} -l en"],
)
def test_rows_that_were_changed_keep_their_columns(words: str, table: Path, cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "o.tsv"
    command = [*words.split(), "--metrics", "chrf", "--edits-out", out]
    taken = write_rows(tmp_path / "taken.tsv", [{**row, "original": 1} for row in read_rows(table)])
    done = cli(*(taken if word == "{}" else word for word in command))
    assert (done.status, done.err.count("\n"), out.exists()) == (2, 1, False)
    assert "has a column 'original' already" in done.err
    assert cli(*(table if word == "{}" else word for word in command)).status == 0
    marks = [row["mark"] for row in read_rows(table)]
    assert set(LAYOUT) <= set(read_rows(out)[0])
    assert all(row["mark"] == marks[int(row["row"]) - 1] for row in read_rows(out))


def test_test_sets_have_names_and_say_how_to_be_had(cli: Cli, tmp_path: Path) -> None:
    names = every_test_set()
    assert {"wmt17/zh-en", "newstest2017/cs-en", "wmt20/cs-en", "stsb-en-dev"} <= names.keys()
    assert names["wmt17/zh-en"].dataset == "wmt17-da"
    listed = json.loads(cli("data", "test-sets", "--format", "json").out)
    assert [row["name"] for row in listed["test_sets"]] == list(names)
    assert not any(row["here"] for row in listed["test_sets"])
    for words, complaint in (
        (("score", "--test-set", "wmt17/zh-en", "--metrics", "chrf"), "`bsx data get wmt17-da` fetches it"),
        (("compare", "--test-set", "newstest2017/cs-en", "--metrics", "chrf"), "newstest2017-cs-en is not in"),
        (("score", "--test-set", "wmt17/zhen", "--metrics", "chrf"), "Near: wmt17/zh-en"),
        (("meta", "x.tsv", "--test-set", "wmt17/zh-en"), "--test-set has the texts: leave out table"),
        (("score", "--test-set", "wmt17/zh-en", "-r", "r.txt"), "leave out table, references and sources"),
    ):
        done = cli(*words, "--data-dir", tmp_path)
        assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done.err
        assert complaint in done.err


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    """A data folder with a few rows of WMT17's layout: two systems on four segments, of one pair of two."""
    texts = ["a cat", "the dog ran", "it rains", "no one came"]
    wrong = ["a cat", "dogs ran", "rains", "one"]
    rows = [
        (lp, system, segment, "s", text, candidate, len(candidate))
        for lp in ("cs-en", "zh-en")
        for system, outputs in (("good", texts), ("bad", wrong))
        for segment, (text, candidate) in enumerate(zip(texts, outputs, strict=True), start=1)
    ]
    (tmp_path / "data/wmt").mkdir(parents=True)
    names = ("lp", "system", "sid", "source", "reference", "candidate", "human")
    write_lines(tmp_path / "data/wmt/daseg-wmt17.tsv", [names, *rows])
    return tmp_path / "data"


def test_a_test_set_is_a_table(small_set: Path, cli: Cli, tmp_path: Path) -> None:
    named = ("--test-set", "wmt17/zh-en", "--data-dir", small_set)
    assert cli("score", *named, "--metrics", "chrf", "-o", tmp_path / "s.tsv").status == 0
    assert {row["lp"] for row in read_rows(tmp_path / "s.tsv")} == {"zh-en"}
    compared = json.loads(cli("compare", *named, "--metrics", "chrf", "--test", "randomise", "--format", "json").out)
    assert (compared["systems"], compared["segments"]) == (["good", "bad"], 4)
    assert compared["provenance"]["files"][0]["name"].endswith("daseg-wmt17.tsv")
    found = json.loads(cli("meta", *named, "--metrics", "chrf", "--test", "none", "--format", "json").out)
    table = load_test_set("wmt17/zh-en", small_set)
    scores = bsx.get_metric("chrf").score(table.texts("candidate"), table.texts("reference"))
    direct = meta_evaluate({"chrf": np.asarray(scores), "human": table.numbers("human")}, ["chrf"], "human")
    assert found["groups"][0]["metrics"][0]["value"] == pytest.approx(direct.groups[0]["chrf"].value, rel=1e-6)


def test_own_candidates_are_held_against_a_test_set(small_set: Path, cli: Cli, tmp_path: Path) -> None:
    named = ("--test-set", "wmt17/zh-en", "--data-dir", small_set, "--metrics", "chrf", "--format", "json")
    for name, lines in {"mine": "a cat\nthe dog ran\nit rains\nno one came\n", "yours": "a\nb\nc\nd\n"}.items():
        (tmp_path / f"{name}.txt").write_text(lines)
    done = json.loads(cli("score", "-c", tmp_path / "mine.txt", *named).out)
    assert done["metrics"][0]["scores"][0]["score"] == 100
    both = cli("compare", "-c", tmp_path / "mine.txt", "-c", tmp_path / "yours.txt", *named, "--resamples", "20")
    assert json.loads(both.out)["systems"] == ["mine", "yours"]
    short = tmp_path / "short.txt"
    short.write_text("one line\n")
    assert "line counts differ" in cli("score", "-c", short, *named).err


def test_other_names_are_named_alike_everywhere(chain: Path, cli: Cli, tmp_path: Path) -> None:
    own = {"system": "mt", "segment": "unit", "human": "grade", "reference": "Referenz", "candidate": "output"}
    rows = [{own.get(name, name): cell for name, cell in row.items()} for row in read_rows(chain / "f.tsv")]
    file = write_rows(tmp_path / "f.tsv", rows)
    (tmp_path / "f.tsv.signatures.json").write_bytes((chain / "f.tsv.signatures.json").read_bytes())
    where, quick, human = ("--system", "mt", "--segment", "unit"), ("--resamples", "20"), ("--human", "grade")
    chrf, texts = ("--metrics", "chrf"), ("--candidate", "output")
    for words in (  # references need not be named: their name says so in some language
        ("score", file, *texts, *where, "--metrics", "length", "-o", tmp_path / "l.tsv"),
        ("compare", file, *texts, *where, *quick, "--metrics", "chrf:word_order=2"),
        ("meta", file, *texts, *where, *quick, *human, "--metrics", "chrf:word_order=2", "--test", "none"),
        ("factors", file, *texts, "--factors", "lex:variant=jaccard", "-o", tmp_path / "g.tsv"),
        ("evaluate", file, *texts, *where, *chrf, *human, "--lang", "en", "-o", tmp_path / "out"),
        ("compare", file, *where, *quick),
        ("meta", file, *where, *human, "--test", "none", *quick),
        ("disentangle", file, *where),
        ("ensemble", file, *where, *human, *quick),
        ("report", file, *where, *human, "-o", tmp_path / "r.md"),
    ):
        done = cli(*words)
        assert done.status == 0, done.err
        if "--candidate" in words:
            assert "references are taken from Referenz" in done.err, words
    assert " rank atlas " in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert factor_columns(tmp_path / "g.tsv", ["lex", "lex:variant=jaccard"]) == ["lex", "lex:variant=jaccard"]
    assert scored_columns(tmp_path / "l.tsv", ["chrf", "ter", "length"]) == ["chrf", "ter", "length"]
    named = cli("report", file, "--columns", "ter", "--lower", "ter", "--system", "mt", "-o", tmp_path / "n.md")
    assert named.status == 0
    assert "| ter | atlas | 12 |" in (tmp_path / "n.md").read_text(encoding="utf-8")
    for wrong, complaint in (
        (("--columns", "tre"), "no table has a column 'tre'. Near: ter"),
        (("--lower", "ter"), "is none of the columns of scores"),
        (("--system", "reading"), "no table has a column 'reading'"),
        (("--system", "mt", "--segment", "mt2"), "no table has a column 'mt2'"),
    ):
        done = cli("report", file, *wrong, "-o", tmp_path / "bad.md")
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert complaint in done.err
        assert not (tmp_path / "bad.md").exists()


def test_a_wide_table_comes_out_long(cli: Cli, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"reference": "the cat sat", "a": "a cat sat", "b": "cats sit", "note": "x"},
        {"reference": "it rains", "a": "it rained", "b": "it rains", "note": "y"},
    ]
    wide = (write_rows(tmp_path / "wide.tsv", rows), "--candidate", "a", "--candidate", "b")
    assert cli("score", *wide, "--metrics", "chrf", "-o", tmp_path / "s.tsv").status == 0
    found = read_rows(tmp_path / "s.tsv")
    assert [(row["id"], row["system"], row["candidate"], row["note"]) for row in found] == [
        (str(number), name, row[name], row["note"]) for number, row in enumerate(rows, start=1) for name in "ab"
    ]
    assert cli("compare", tmp_path / "s.tsv", "--test", "randomise").status == 0
    assert cli("factors", tmp_path / "s.tsv", "--factors", "lex", "-o", tmp_path / "f.tsv").status == 0
    assert [row["lex"] for row in read_rows(tmp_path / "f.tsv")][-1] == "1"
    assert cli("score", *wide, "-m", "minilm", "-o", tmp_path / "b.tsv").status == 0
    assert [row["candidate"] for row in read_rows(tmp_path / "b.tsv")] == [row["candidate"] for row in found]


both = {"columns": ["chrf"], "metrics": ["bleu"]}
quick = {"resamples": 20}
PAIRS: dict[str, list[Any]] = {
    "reference": ["the cat sat here", "a cat was there"],
    "candidate": ["a cat was there", "there was a cat"],
    "label": [1, 0],
}
OTHER_PAIRS = {"reference": WORDS[:6], "candidate": WORDS[6:12], "label": [0, 1] * 3, "chrf": [9.5, 3, 4, 8, 6, 1]}


@pytest.mark.parametrize("kind", ["mapping", "pandas", "arrow"])
@pytest.mark.parametrize(
    ("job", "how", "of"),
    [
        (bsx.meta, {"columns": ["chrf", "ter"], "lower": ["ter"], "human": ["human"], **quick}, ""),
        (bsx.meta, {"metrics": ["bleu"], "columns": ["chrf"], "human": ["human"], **quick}, ""),
        (bsx.compare, {"columns": ["chrf"], **quick}, ""),
        (bsx.compare, {"metrics": ["bleu"], **quick}, ""),
        (bsx.disentangle, {"columns": ["chrf"], "factor_columns": ["lex"], "metrics": ["bleu"]}, ""),
        (bsx.ensemble, {"columns": ["chrf", "ter"], "lower": ["ter"], "human": "human", **quick}, ""),
        (bsx.plan_compare, {"columns": ["chrf"], "systems": ["atlas", "brook"], "effect": 5, **quick}, ""),
        (bsx.plan_meta, {"columns": ["chrf", "ter"], "lower": ["ter"], "human": "human", "effect": 0.3, **quick}, ""),
        (bsx.detect_paraphrases, {**both, "against": OTHER_PAIRS, **quick}, "pairs"),
        (bsx.prefer_paraphrases, both, "triples"),
        (bsx.challenge_metrics, {"columns": ["m"], "metrics": ["bleu"]}, "challenge"),
        (bsx.perturb, {"metrics": ["chrf"], "perturbations": ["shuffle"], "strengths": [0.5], **quick}, ""),
        (bsx.intervene, {"metrics": ["chrf"], "lang": "en", "human": "human", "candidate": "candidate"}, ""),
    ],
)
def test_a_table_in_memory_gives_the_figures_of_its_file(
    job: Callable[..., Any], how: dict[str, Any], of: str, kind: str, chain: Path, tmp_path: Path
) -> None:
    file, typed = in_both(of, chain, tmp_path)
    found, same = (json.dumps(job(table, **how).to_dict()) for table in (in_memory(kind, typed), file))
    assert found.replace(IN_MEMORY, "f.tsv") == same.replace(IN_MEMORY, "f.tsv")


def in_both(of: str, chain: Path, tmp_path: Path) -> tuple[Any, dict[str, list[Any]]]:
    """Return a table as a file, without what lies beside it as a table in memory has no sidecar, and its columns."""
    rows = read_rows(chain / "f.tsv")
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    columns |= {name: [float(cell) for cell in columns[name]] for name in ("human", "human_b", "chrf", "ter", "lex")}
    labels, references, candidates = [1, 0] * (len(rows) // 2), columns["reference"], columns["candidate"]
    triples = {"label": labels, "sentence1": [references[i // 2] for i in range(len(rows))], "sentence2": candidates}
    challenge = {"good": references, "bad": candidates, "reference": candidates[::-1], "phenomenon": labels}
    tables: dict[str, dict[str, list[Any]]] = {"": columns, "pairs": {**columns, "label": labels}, "paws": PAIRS}
    tables["triples"] = {**triples, "chrf": columns["chrf"]}
    tables["challenge"] = {**challenge, "m-good": columns["chrf"], "m-bad": columns["ter"]}
    return write_columns(tmp_path / "f.tsv", tables[of]), tables[of]


def in_memory(kind: str, columns: dict[str, list[Any]]) -> Any:
    return {"mapping": dict, "pandas": pytest.importorskip("pandas").DataFrame, "arrow": pyarrow.table}[kind](columns)


@pytest.mark.parametrize("kind", ["mapping", "pandas", "arrow"])
def test_a_table_in_memory_is_written_as_its_file_is(kind: str, chain: Path, tmp_path: Path) -> None:
    def written(table: Any, name: str) -> list[Any]:
        out = tmp_path / f"{name}.tsv"
        made = bsx.factors(
            table, output=out, factors=["lex:variant=jaccard"], candidate="candidate", reference="reference"
        )
        kept = [{name: row[name] for name in ("system", "mark", "lex:variant=jaccard")} for row in read_rows(out)]
        assert bsx.convert(table, output=tmp_path / f"{name}.csv") == len(kept)
        bsx.report(files=[table], output=tmp_path / f"{name}.md", columns=["chrf"])
        return [made.to_dict(), kept, "| chrf | atlas | 12 |" in (tmp_path / f"{name}.md").read_text(encoding="utf-8")]

    file, typed = in_both("", chain, tmp_path)
    assert written(in_memory(kind, typed), "memory") == written(file, "file")
    built = [
        bsx.build_triples(table, output=tmp_path / f"{place}-triples.tsv").to_dict()
        for place, table in enumerate(in_both("paws", chain, tmp_path))
    ]
    assert built[0] == built[1]


@pytest.mark.parametrize("kind", ["mapping", "pandas", "arrow"])
def test_judged_rows_are_those_of_their_files(kind: str, chain: Path, tmp_path: Path) -> None:
    file, typed = in_both("", chain, tmp_path)
    columns = TrainingColumns(human=["human", "human_b"])
    alike = [read_judged([table, table], columns, None, separate=False) for table in (in_memory(kind, typed), file)]
    for found in alike:
        assert found.human.shape == (72, 2)
        assert set(found.groups) == {"all"}
    assert np.array_equal(alike[0].human, alike[1].human)
    assert list(alike[0].texts.pairs()) == list(alike[1].texts.pairs())
    assert len(set(read_judged([in_memory(kind, typed)] * 2, columns, None).groups)) == 2  # no two have one name
    table = in_memory(kind, typed)
    assert TuneSettings(model="minilm", lang="en", tables=[table, str(file)]).tables[0] is table


def test_a_table_in_memory_is_refused_by_row_and_column() -> None:
    table: dict[str, Any] = {"system": list("aabb"), "segment": list("xyxy"), "human": [1, 2, 3, 4], "chrf": [1] * 4}
    for wrong, told in (
        (table | {"chrf": [1, "two", 3, 4]}, r"row 2, column 'chrf'"),
        (table | {"human": [1]}, "columns differ in length"),
        (table | {"human": "x"}, "column 'human' is 'x'"),
    ):
        with pytest.raises(InputError, match=told):
            bsx.meta(table=wrong, columns=["chrf"])
    with pytest.raises(InputError) as caught:
        bsx.meta(table=3, columns=["chrf"])  # type: ignore[call-overload]
    assert caught.value.setting == "table"
    with pytest.raises(UnknownNameError, match="mine"):  # before it says that no two systems would meet
        bsx.compare({**table, "mark": list("1234")}, columns=["mine"], segment="mark")
    with pytest.raises(InputError, match="either candidates"):
        bsx.compare(table, candidates=["a.txt"], metrics=["chrf"])
    for job in (bsx.disentangle, bsx.ensemble):
        with pytest.raises(InputError, match="name a table"):
            job()
    with pytest.raises(TypeError, match="takes one table"):
        bsx.meta(table, table=table)


def test_rows_that_name_no_system_count_in_none(table: Path, tmp_path: Path) -> None:
    rows = [{**row, "system": ""} if place in (0, 20) else row for place, row in enumerate(read_rows(table))]
    gaps = write_rows(tmp_path / "gaps.tsv", rows)
    result = bsx.score_files(table=gaps, metrics=["chrf"])
    (found,) = result.to_dict()["metrics"]
    assert {score["system"]: score["n"] for score in found["scores"]} == {"brook": 12, "cinder": 11, "atlas": 11}
    assert any(note.startswith("2 of 36 rows name no system") for note in result.notes())
    with pytest.raises(InputError, match="line 2, column 'system' is empty"):
        bsx.compare(table=gaps, metrics=["chrf"])
    with pytest.raises(InputError, match="column 'system' is empty"):
        bsx.score_files(table=gaps, metrics=["chrf"], system="system")


def test_segments_that_documents_number_are_told_apart_by_all_commands(table: Path, tmp_path: Path) -> None:
    rows = read_rows(table)
    for row in rows:
        number = int(row.pop("segment")[1:])
        row |= {"doc": f"d{number // 4}", "seg": str(number % 4), "words": str(len(row["candidate"].split()) + number)}
        row["wrong"] = str(-float(row["human"]) // 1)
    path = str(write_rows(tmp_path / "t.tsv", rows))
    quick: Any = {"table": path, "columns": ["wrong"], "resamples": 20}
    compared = bsx.compare(**quick)
    assert (compared.segments, compared.documents) == (12, 3)
    assert isinstance(judged := bsx.meta(**quick, level="sys", sentinels=[]), MetaResult)
    assert judged.groups[0].systems == 3
    assert bsx.ensemble(**{**quick, "columns": ["wrong", "words"]}).groups
    with pytest.raises(InputError, match="3 documents is too small"):  # which it says once it could count them
        bsx.plan_meta(**{**quick, "columns": ["wrong", "words"]}, effect=0.1)
    looked = bsx.evaluate(table=path, metrics=["chrf"], lang="en", output=tmp_path / "out")
    assert looked.compare is not None
    assert (looked.compare.segments, looked.compare.documents) == (12, 3)
    assert all(one.segment.startswith("d") for one in looked.segments)


def test_what_numbers_segments_within_documents_and_what_does_not() -> None:
    frame = Frame(Table({"a": [1]}), {})
    assert frame.numbered("1212", "aabb", None) == ["a 1", "a 2", "b 1", "b 2"]
    assert frame.numbered("1122", "aabb", "xyxy") == list("1122")  # of two documents, each system has a row a segment
    assert frame.numbered("11", "ab", "xy") == list("11")  # one segment in two documents is a slip, not a number
    assert frame.numbered("1111", "abcd", "xxyy") == list("1111")  # no two systems would meet
    assert frame.numbered("1212", ["a", "a", "", ""], None) == list("1212")
    assert replace(frame, named=frozenset({"segment"})).numbered("1212", "aabb", None) == list("1212")
