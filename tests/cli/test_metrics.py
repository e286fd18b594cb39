"""`bsx score --metrics` and `bsx metrics`, as a user meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import bsx
from tests.conftest import Cli, Model
from tests.helpers.tables import read_rows, write_columns

CANDIDATES = ["the cat sat on the mat", "a dog", "the old train station", "rain"]
REFERENCES = ["the cat is on the mat", "the dog walked", "a new train station", "the rain"]
SOURCES = ["le chat", "un chien", "la gare", "la pluie"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    columns = {"candidate": CANDIDATES, "reference": REFERENCES, "source": SOURCES, "name": "abcd"}
    return write_columns(tmp_path / "data.tsv", columns)


def test_a_wide_table_keeps_the_input_and_adds_a_column_a_metric(
    cli: Cli, table: Path, tiny_model: Model, tmp_path: Path
) -> None:
    output = tmp_path / "scores.tsv"
    specs = "bertscore:layer=2,moverscore:ngram=2,idf=false,sbert,chrf,xmoverscore"
    done = cli("score", "--metrics", specs, "--model", tiny_model("bert"), table, "-o", output, "--format", "json")
    assert done.status == 0, done.err
    rows = read_rows(output)
    named = ["bertscore:layer=2", "moverscore:ngram=2,idf=false", "sbert", "chrf", "xmoverscore"]
    assert list(rows[0]) == ["candidate", "reference", "source", "name", *named]
    assert [row["name"] for row in rows] == list("abcd")
    summary = json.loads(done.out)
    assert [entry["metric"] for entry in summary["metrics"]] == named
    assert json.loads((tmp_path / "scores.tsv.signatures.json").read_text()) == summary
    scorer = bsx.Scorer(model=tiny_model("bert"), layer=2)
    # fp32, other batches: 1e-5
    assert [float(row["bertscore:layer=2"]) for row in rows] == pytest.approx(
        scorer.score(CANDIDATES, REFERENCES).f1.tolist(), abs=1e-5
    )
    assert summary["metrics"][3]["scores"][0]["score"] != pytest.approx(summary["metrics"][3]["scores"][0]["mean"])


def test_parquet_keeps_types_and_several_systems_make_several_rows(cli: Cli, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"a": CANDIDATES, "b": REFERENCES, "reference": [[text, "x"] for text in REFERENCES], "n": [1, 2, 3, None]}
    )
    frame.to_parquet(tmp_path / "in.parquet")
    output = tmp_path / "out.parquet"
    named = ("--candidate", "a", "--candidate", "b")
    done = cli("score", "--metrics", "chrf,ter", tmp_path / "in.parquet", *named, "-o", output)
    assert done.status == 0, done.err
    written = pandas.read_parquet(output)
    assert list(written.columns) == ["a", "b", "reference", "n", "id", "candidate", "system", "chrf", "ter"]
    assert written["candidate"].tolist() == [text for pair in zip(CANDIDATES, REFERENCES, strict=True) for text in pair]
    assert written["system"].tolist() == ["a", "b"] * 4
    assert written["n"].isna().sum() == 2
    assert list(written["reference"][0]) == [REFERENCES[0], "x"]
    expected = bsx.get_metric("chrf").score(CANDIDATES, [[text, "x"] for text in REFERENCES])
    assert written["chrf"][::2].tolist() == pytest.approx(expected.values.tolist())
    assert (written["chrf"][1::2] == 100).all()


def long_table(folder: Path) -> Path:
    """Two systems one below the other, the second of them with one row less."""
    columns = {"system": "aaaabbb", "candidate": CANDIDATES + REFERENCES[:-1]}
    columns |= {"reference": REFERENCES + REFERENCES[:-1], "note": ["kept"] * 7}
    return write_columns(folder / "long.tsv", columns)


def test_systems_below_one_another_are_several_systems(cli: Cli, tmp_path: Path) -> None:
    data = long_table(tmp_path)
    command = ("score", data, "--metrics", "bleu,ter", "-o", tmp_path / "out.tsv")
    done = cli(*command, "--format", "json")
    assert "the column 'system' names 2 systems: each is summed up by itself" in done.err
    result = json.loads(done.out)
    assert result["systems"] == ["a", "b"]
    expected = {"a": (CANDIDATES, REFERENCES), "b": (REFERENCES[:-1], REFERENCES[:-1])}
    for entry in result["metrics"]:
        metric = bsx.get_metric(entry["metric"])
        assert [(one["system"], one["n"]) for one in entry["scores"]] == [("a", 4), ("b", 3)]
        for one in entry["scores"]:
            assert one["score"] == pytest.approx(metric.score(*expected[one["system"]]).system)
    assert json.loads((tmp_path / "out.tsv.signatures.json").read_text())["metrics"] == result["metrics"]
    assert list(read_rows(tmp_path / "out.tsv")[0]) == ["system", "candidate", "reference", "note", "bleu", "ter"]
    answer, _, head, *table = cli(*command).out.splitlines()[:5]
    assert answer.startswith("2 systems, 3 to 4 segments each; corpus scores: bleu from ")
    assert head.split()[:3] == ["system", "n", "bleu"]
    for place, (line, head) in enumerate(zip(table, ("a 4", "b 3"), strict=True)):
        corpus = [f"{entry['scores'][place]['score']:.4f}" for entry in result["metrics"]]
        assert line.split() == [*head.split(), *corpus]


def test_systems_below_one_another_under_bertscore(cli: Cli, tiny_model: Model, tmp_path: Path) -> None:
    data, model = long_table(tmp_path), ("--model", tiny_model("bert"), "--layer", 2, "--format", "json")
    result = json.loads(cli("score", data, *model, "-o", tmp_path / "out.tsv").out)
    rows = read_rows(tmp_path / "out.tsv")
    assert [row["system"] for row in rows] == [*"aaaabbb"]
    for system in result["systems"]:
        of = [float(row["f1"]) for row in rows if row["system"] == system["name"]]
        assert (system["n"], system["f1"]) == (len(of), pytest.approx(np.mean(of), abs=1e-6))
    assert result["n"] == 7


def test_a_model_that_no_metric_uses_is_said(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "graded.tsv").write_text("candidate\treference\th\na b\ta b\t1\nc\td c\t2\ne\tf\t3\ng\tg h\t4\n")
    for words in ("score", "meta --human h --resamples 20", "compare --candidate h,candidate --resamples 20"):
        for model in ((), ("-m", "minilm")):
            done = cli(*words.split(), tmp_path / "graded.tsv", "--metrics", "chrf", *model)
            assert done.status == 0, done.err
            said = "model: minilm is not used: every metric has a model of its own or none" in done.out + done.err
            assert said == bool(model)


def test_a_tokenizer_that_cannot_be_downloaded_is_one_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sacrebleu.tokenizers import tokenizer_spm

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path / "nothing"))
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    done = cli("score", long_table(tmp_path), "--metrics", "bleu:tokenize=flores200")
    assert (done.status, "Traceback" in done.err) == (2, False)
    assert "sacreBLEU's tokenizer flores200 is not on this machine" in done.err
    assert "tokenize=char needs nothing more" in done.err


def test_reference_free_metrics_need_no_references(cli: Cli, tiny_model: Model, tmp_path: Path) -> None:
    for name, texts in (("c", CANDIDATES), ("s", SOURCES)):
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n")
    files = ("-c", tmp_path / "c.txt", "-s", tmp_path / "s.txt", "--model", tiny_model("bert"))
    done = cli("score", "--metrics", "xmoverscore,labse-qe", *files, "--format", "json")
    assert done.status == 0, done.err
    assert json.loads(done.out)["segments"] == 4
    assert "no mapping is given" in done.err


def test_the_list_and_one_metric(cli: Cli) -> None:
    rows = json.loads(cli("metrics", "--format", "json").out)["metrics"]
    assert {"bertscore", "moverscore", "chrf", "bleurt", "labse"} <= {row["name"] for row in rows}
    free = json.loads(cli("metrics", "--needs", "source", "--format", "json").out)["metrics"]
    assert {"xmoverscore", "labse-qe"} <= {row["name"] for row in free} < {row["name"] for row in rows}
    text, _, published = cli("metrics", "--full").out.partition("\n\nPublished scores\n")
    assert "matese" in published
    assert "lower is better" in text
    short = cli("metrics").out.splitlines()
    assert short[0].startswith(f"{len(rows)} metrics, {sum(row['runs'].startswith(('yes', 'with')) for row in rows)} ")
    assert len(short) <= 25
    assert max(map(len, short[2:])) <= 100
    shown = json.loads(cli("metrics", "show", "moverscore", "--format", "json").out)
    assert {setting["name"] for setting in shown["settings"]} >= {"ngram", "idf", "pmeans"}
    assert "citation: Zhao" in cli("metrics", "show", "moverscore").out
    chrf = cli("metrics", "show", "chrf").out
    more = cli("metrics", "show", "chrf", "--full").out.count("\nevidence: ") - 5
    assert chrf.count("\nevidence: ") == 5
    assert f"\n{more} more figures of evidence: --full." in chrf
    assert cli("metrics", "show", "moverscor").status == 2


JACCARD = """
name: jaccard
title: Jaccard overlap
implementation: {code}
needs: [candidate, reference]
citation: Jaccard 1901
check: {{candidates: ["a b"], references: ["b c"], values: [0.3333]}}
"""


def test_a_metric_whose_code_is_missing_spoils_nothing_else(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    monkeypatch.setenv("BSX_REGISTRY_CODE", str(folder))
    (folder / "metrics").mkdir(parents=True)
    (folder / "metrics" / "jaccard.yaml").write_text(JACCARD.format(code="nowhere_at_all:Jaccard"))
    (folder / "metrics" / "worse.yaml").write_text("name: worse\n")
    done = cli("metrics", "--registry", folder, "--format", "json")
    assert done.status == 0, done.err
    rows = {row["name"]: row for row in json.loads(done.out)["metrics"]}
    assert "cannot be imported" in rows["jaccard"]["runs"]
    assert rows["chrf"]["runs"] == "yes"
    assert "left out of the registry" in done.err
    done = cli("score", "--registry", folder, "--metrics", "jaccard", "-c", "x", "-r", "y")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "PYTHONPATH" in done.err


def test_a_registry_folder_adds_a_metric(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "[set(pairs.texts[i].split()) for i in {}]"
    both = f"zip({words.format('pairs.left')}, {words.format('pairs.right')})"
    given = own_metric(
        f"return PairScores(np.array([len(a & b) / len(a | b) for a, b in {both}]))", tmp_path, monkeypatch
    )
    done = cli("score", *given, "--metrics", "chrf", "--format", "json")
    assert done.status == 0, done.err
    shared = bsx.get_metric("jaccard", encoders=bsx.Encoders(registry=str(tmp_path / "mine")))
    for metric in (shared, *bsx.get_metrics("jaccard", registry=tmp_path / "mine")):
        assert metric.score(["a b"], ["b c"])[0] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('seven')", "line 8: ValueError: seven"),
        ("return None", "score_pairs returned None"),
        ("return PairScores(np.zeros(1))", "score_pairs returned values of shape (1,) for 2 pairs"),
        ("return PairScores(np.array(['a', 'b']))", "score_pairs returned values of type <U1 for 2 pairs"),
        ("return PairScores(np.array([1.0, np.inf]))", "score_pairs returned an infinite score"),
    ],
)
def test_a_wrong_metric_of_ones_own_is_one_line(
    body: str, message: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cli("score", *own_metric(body, tmp_path, monkeypatch), "-o", tmp_path / "out.tsv")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert "Traceback" not in done.err
    assert message in done.err
    assert "a_jaccard_metric.py" in done.err
    assert not list(tmp_path.glob("out*"))


def test_what_a_metric_of_ones_own_leaves_undefined_is_counted(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "return PairScores(np.array([1.0, np.nan]))"
    done = cli("score", *own_metric(body, tmp_path, monkeypatch), "--format", "json")
    assert done.status == 0, done.err
    assert "jaccard: 1 of 2 rows for which it is not defined" in done.err
    (score,) = json.loads(done.out)["metrics"][0]["scores"]
    assert (score["undefined"], score["mean"]) == (1, 0.5)


def own_metric(body: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[object, ...]:
    """Write a metric of one's own and two rows; return what to score them with."""
    (folder / "mine" / "metrics").mkdir(parents=True)
    (folder / "mine" / "metrics" / "jaccard.yaml").write_text(JACCARD.format(code="a_jaccard_metric:Jaccard"))
    (folder / "a_jaccard_metric.py").write_text(
        "import numpy as np\n"
        "from bsx.metrics.base import PairMetric\n"
        "from bsx.metrics.core import PairScores\n"
        "from bsx.metrics.core import MetricConfig\n"
        "class Jaccard(PairMetric):\n"
        "    Config = MetricConfig\n"
        "    def score_pairs(self, pairs, fitted):\n"
        f"        {body}\n"
    )
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("BSX_REGISTRY_CODE", str(folder / "mine"))
    monkeypatch.delitem(sys.modules, "a_jaccard_metric", raising=False)
    (folder / "two.tsv").write_text("candidate\treference\na b\tb c\na\ta\n")
    return "--registry", folder / "mine", "--metrics", "jaccard", folder / "two.tsv"
