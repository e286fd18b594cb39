"""`bsx compare`: the metric's own corpus score, sacreBLEU's paired tests, simulation under the null."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsx
import bsx.analysis
from bsx.analysis.compare.result import CompareResult
from bsx.analysis.compare.run import compare_systems, together
from bsx.analysis.compare.settings import CompareSettings
from bsx.analysis.present.forms import parts_of
from bsx.analysis.present.parts import Surprise, TablePart
from bsx.analysis.stats.equivalence import equivalence_p
from bsx.analysis.stats.systems.paired import deciding, prepared
from bsx.data.corpus import MemoryCorpus
from bsx.errors import InputError
from bsx.metrics.base import get_metrics
from bsx.metrics.results import paired_scores
from tests.helpers.systems import bootstrap_systems, randomise_systems, studentised_systems
from tests.helpers.tables import read_rows, write_lines

Run = Callable[..., Any]
DATA = Path(str(files("bsx.examples") / "en-systems.tsv"))
SYSTEMS = ("atlas", "brook", "cinder")
TABLE = (DATA, "--candidate", ",".join(SYSTEMS))


@pytest.fixture(scope="module")
def texts() -> dict[str, list[str]]:
    rows = read_rows(DATA)
    return {name: [row[name] for row in rows] for name in (*SYSTEMS, "reference")}


@pytest.fixture
def lines(tmp_path: Path, texts: dict[str, list[str]]) -> list[Any]:
    """The systems and their reference as files of lines, named on a command line."""
    for name, column in texts.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(column) + "\n", encoding="utf-8")
    candidates = [word for name in SYSTEMS for word in ("-c", tmp_path / f"{name}.txt")]
    return [*candidates, "-r", tmp_path / "reference.txt"]


def test_two_segments_tell_nothing_and_a_bootstrap_of_them_is_doubted() -> None:
    cases: list[tuple[dict[str, Any], str]] = [({}, "too-few-to-swap"), ({"test": "bootstrap"}, "few-segments")]
    for how, doubt in cases:
        found = compare_systems({"a": [1.0, 2.0], "b": [2.0, 4.0]}, **how)
        assert (found.settings["test"], found.settings["resamples"]) == (how.get("test", "bootstrap-t"), 1000)
        assert [notice.name for notice in found.warnings] == [doubt]
        (test,) = found.metrics[0].tests
        assert test.better is None
        assert np.isnan(test.ci).all()


@pytest.mark.parametrize("n", [10, 20])
def test_a_bootstrap_of_few_segments_keeps_its_level(n: int) -> None:
    """With the normal's tails it rejected 9 % at 10 normal differences."""
    rng = np.random.default_rng(1)
    zero = np.zeros(n)
    called = [bootstrap_systems(d, zero, resamples=400, seed=2).p_two_sided < 0.05 for d in rng.normal(size=(600, n))]
    assert np.mean(called) == pytest.approx(0.05, abs=0.03)


@pytest.mark.parametrize("function", [bootstrap_systems, randomise_systems, studentised_systems])
@pytest.mark.parametrize("n", [6, 15, 60, 130])
def test_test_and_interval_never_contradict_each_other(function: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    said = set()
    for _ in range(40):
        y = rng.exponential(size=n)
        x = y + rng.exponential(size=n) - 1 + rng.choice([0, 0.5, 1]) * 3 / np.sqrt(n)
        for documents in (None, [str(k // 2) for k in range(n)]):
            result = function(x, y, resamples=199, seed=3, documents=documents)
            assert result.ci[0] <= result.difference <= result.ci[1] or np.isnan(result.ci).all()
            assert np.isnan(result.ci).all() or (result.p_two_sided < 0.05) == (not result.ci[0] <= 0 <= result.ci[1])
            said.add(result.p_two_sided < 0.05)
    assert said == {True, False} or n == 6


def test_the_randomisation_interval_is_the_test_turned_round() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 12))
    found = randomise_systems(x, y, resamples=999, seed=1)
    for end, inside in zip(found.ci, (1, -1), strict=True):
        for step in (-0.01, 0.01):
            moved = randomise_systems(x - end - step, y, resamples=999, seed=1)  # of "the difference is end + step"
            assert (moved.p_two_sided >= 0.05) == (step * inside > 0)


def test_documents_are_drawn_and_swapped_whole() -> None:
    """A segment of every document, repeated, is as much evidence as once."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 12))
    of = [str(k) for k in range(12) for _ in range(8)]
    for function in (bootstrap_systems, randomise_systems, studentised_systems):
        once = function(x, y, resamples=300, seed=2)
        repeated = function(np.repeat(x, 8), np.repeat(y, 8), documents=of, resamples=300, seed=2)
        assert repeated.n == 96
        for name in ("difference", "ci", "p", "p_two_sided"):
            assert getattr(repeated, name) == pytest.approx(getattr(once, name)), name
    found = compare_systems({"a": np.repeat(x, 8), "b": np.repeat(y, 8)}, documents=of)
    assert (found.segments, found.documents, found.settings["test"]) == (96, 12, "bootstrap-t")
    assert "12 documents" in next(part.caption for part in parts_of(found) if isinstance(part, TablePart))
    assert CompareResult.from_dict(found.to_dict()).to_dict() == found.to_dict()
    with pytest.raises(InputError, match="at least 2"):
        compare_systems({"a": x, "b": y}, documents=["one"] * 12)


def write_documents(file: Path, documents: Callable[[int], str], column: str = "doc") -> Path:
    rng = np.random.default_rng(3)
    own = {name: rng.normal(size=15) for name in ("a", "b")}
    rows = [(name, k, documents(k), f"{own[name][k // 8] + rng.normal() / 3:.4f}") for name in own for k in range(120)]
    return write_lines(file, [("system", "segment", column, "m"), *rows])


def test_a_column_of_documents_is_found_named_missed_or_refused(cli: Run, tmp_path: Path) -> None:
    start = ("--columns", "m", "--format", "json")
    table = write_documents(tmp_path / "t.tsv", lambda k: f"d{k // 8}")
    found = json.loads(cli("compare", table, *start).out)
    assert found["documents"] == 15
    other = write_documents(tmp_path / "u.tsv", lambda k: f"d{k // 8}", column="text")
    assert json.loads(cli("compare", other, *start, "--document", "text").out)["documents"] == 15
    done = cli("compare", other, *start)
    assert "documents" not in json.loads(done.out)
    assert any("name a column of them" in note for note in json.loads(done.out)["notes"])
    one, apart = write_documents(tmp_path / "v.tsv", lambda k: "one"), tmp_path / "w.tsv"
    apart.write_text(table.read_text().replace("b\t0\td0", "b\t0\td1"))
    for file, message in ((one, "at least 2 documents"), (apart, "is in two documents")):
        done = cli("compare", file, *start, "--document", "doc", "-o", tmp_path / "out.json")
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert message in done.err
        assert not (tmp_path / "out.json").exists()
    single = json.loads(cli("compare", one, *start).out)  # a column that nobody named
    assert "documents" not in single
    assert any("all rows are of one document" in note for note in single["notes"])


def test_documents_of_texts(texts: dict[str, list[str]]) -> None:
    """Systems as columns, and one below the other."""
    n, (atlas, brook, reference) = len(texts["atlas"]), (texts[name] for name in ("atlas", "brook", "reference"))
    segment, doc = list(map(str, range(n))), [f"d{k // 5}" for k in range(n)]
    wide = {"segment": segment, "doc": doc, "atlas": atlas, "brook": brook, "reference": reference}
    long = {"segment": segment * 2, "doc": doc * 2, "system": ["atlas"] * n + ["brook"] * n}
    long |= {"candidate": atlas + brook, "reference": reference * 2}
    how: dict[str, Any] = {"metrics": ["chrf"], "resamples": 100}
    one, two = bsx.compare(wide, candidate=["atlas", "brook"], **how), bsx.compare(long, **how)
    assert one.documents == two.documents == 22
    assert one.metrics == two.metrics


def test_the_default_is_the_symmetric_bootstrap_t() -> None:
    """As written with loops over resamples, of segments and of documents of several sizes."""
    rng = np.random.default_rng(8)
    x, y = rng.exponential(size=(2, 30))
    of = np.sort(rng.integers(9, size=30))
    codes = np.unique(of, return_inverse=True)[1]
    for documents, clusters in ((None, np.arange(30)), ([str(k) for k in codes], codes)):
        found = studentised_systems(x, y, documents=documents, resamples=199, seed=3, margin=0.9)
        units = clusters.max() + 1
        sums = np.array([[(x - y)[clusters == k].sum(), (clusters == k).sum()] for k in range(units)])
        whole = sums[:, 0].sum() / sums[:, 1].sum()

        added = (sums[:, 0] - whole * sums[:, 1]) * units / 30
        t = []
        for drawn in np.random.default_rng(3).integers(units, size=(199, units)):
            error = added[drawn].std(ddof=1) / np.sqrt(units)
            t.append((sums[drawn, 0].sum() / sums[drawn, 1].sum() - whole) / error)
        error = added.std(ddof=1) / np.sqrt(units)
        p = (np.sum(np.abs(t) >= abs(whole / error)) + 1) / 200
        assert found.p_two_sided == pytest.approx(p)
        assert found.p == pytest.approx(p / 2 if whole > 0 else 1 - p / 2)
        half = np.sort(np.abs(t))[-9] * error  # of 200 orders ten reach it: p is .05
        assert found.ci == pytest.approx((whole - half, whole + half))
        sides = ((np.array(t), (0.9 + whole) / error), (-np.array(t), (0.9 - whole) / error))
        same = max(max(np.sum(t >= x) + 1, (np.sum(np.abs(t) >= x) + 1) / 2) / 200 for t, x in sides)
        assert found.p_equivalence == pytest.approx(same)


def test_what_segments_add_to_a_corpus_score_is_the_jackknifes(texts: dict[str, list[str]]) -> None:
    corpus = MemoryCorpus({name: texts[name] for name in ("atlas", "cinder")}, texts["reference"])
    for paired in paired_scores(get_metrics(["bleu", "chrf", "ter"]), corpus)[2]:
        side = paired.scores["atlas"]
        n, score = len(side), paired.aggregate
        assert score is not None
        pair = prepared(side, paired.scores["cinder"], score, None)
        without = np.array([score(np.delete(side, k, axis=0).sum(axis=0) / n) for k in range(n)])
        jackknife = (n - 1) * (without.mean() - without)
        assert np.corrcoef(pair.added(side), jackknife)[0, 1] > 0.99
        assert pair.added(side).std() == pytest.approx(jackknife.std(), rel=0.1)


def test_the_same_difference_everywhere_and_none_at_all() -> None:
    y = np.random.default_rng(1).normal(size=30)
    found = studentised_systems(y + 0.1, y, resamples=99, margin=0.2)
    assert (found.p_two_sided, found.p_equivalence) == (0.01, 0.01)
    assert found.ci == pytest.approx((0.1, 0.1))
    found = studentised_systems(y, y, resamples=99, margin=0.2)
    assert (found.p_two_sided, found.p, found.ci) == (1.0, 0.5, (0, 0))


def test_a_few_segments_of_many_decide() -> None:
    """Six of sixty on one side, which swaps and percentiles call significant."""
    assert (deciding(np.array([3.0, 1, 0, 0])), deciding(np.ones(10)), deciding(np.zeros(4))) == (1, 9, 0)
    rng = np.random.default_rng(3)
    y, d = rng.normal(size=60), np.zeros(60)
    d[:6] = [-0.3, -0.5, -0.8, -1.2, -0.9, -1.3]
    found = compare_systems({"y": y, "x": y + d}, metric="m")
    (notice,) = found.warnings
    assert (notice.name, notice.about, notice.values["segments"], notice.values["decide"]) == ("few-decide", "m", 60, 5)
    (test,) = found.metrics[0].tests
    assert test.better is None
    assert "5 of them decide" in found.answer
    for other in ("bootstrap", "randomise"):
        (test,) = compare_systems({"y": y, "x": y + d}, test=other).metrics[0].tests
        assert test.better == "y"
    assert compare_systems({"y": y, "x": y + rng.normal(size=60)}).warnings == ()


def test_equivalence_is_that_of_statsmodels() -> None:
    """`ttost_paired`, which the resampling tests come near."""
    from scipy.stats import t
    from statsmodels.stats.weightstats import ttost_paired

    rng = np.random.default_rng(6)
    for shift in (0.0, 0.15, -0.3):
        y = rng.normal(size=80)
        x = y + shift + rng.normal(size=80)
        d = x - y
        error, margin = d.std(ddof=1) / np.sqrt(80), 0.35
        expected = ttost_paired(x, y, -margin, margin)[0]
        ends = tuple(d.mean() + error * t.ppf([0.025, 0.975], 79))
        assert equivalence_p(d.mean(), ends, margin, df=79) == pytest.approx(expected)
        for function in (bootstrap_systems, randomise_systems, studentised_systems):
            found = function(x, y, margin=margin, resamples=9999)
            assert found.p_equivalence == pytest.approx(expected, abs=0.02)
    assert equivalence_p(0.1, (0.1, 0.1), 0.2) == 0
    assert equivalence_p(0.3, (0.3, 0.3), 0.2) == 1
    with pytest.raises(InputError, match="greater than 0"):
        equivalence_p(0.1, (0, 0.2), -1)


def test_a_margin_tells_the_same_from_the_unknown(cli: Run) -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(size=400)
    scores = {
        "base": base,
        "same": base + 0.05 * rng.normal(size=400),
        "apart": base + 0.05 * rng.normal(size=400) + 1,
        "vague": base + 3 * rng.normal(size=400),
        "little": base + 0.05 * rng.normal(size=400) + 0.02,
    }
    found = compare_systems(scores, margin=0.1, metric="m")
    said = {test.a: test.verdict for test in found.metrics[0].tests}
    assert said == {
        "same": "equivalent",
        "apart": "different",
        "vague": "undecided",
        "little": "different, equivalent",
    }
    shown = next(part for part in parts_of(found) if isinstance(part, TablePart) and "Paired" in part.caption)
    assert [row[-1].text for row in shown.rows] == [
        "equivalent within 0.1",
        "different",
        "undecided",
        "different, but within 0.1",
    ]
    assert CompareResult.from_dict(found.to_dict()).to_dict() == found.to_dict()
    done = cli("compare", *TABLE, "--metrics", "chrf", "--margin", -1)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "margin" in done.err


def test_many_systems_get_draws_enough_for_their_correction() -> None:
    assert CompareSettings().draws(3) == 1000
    assert CompareSettings().draws(105) == 8400
    assert CompareSettings(test="randomise").draws(1) == 10_000
    assert CompareSettings(resamples=50).draws(105) == 50
    rng = np.random.default_rng(1)
    scores = {str(k): rng.normal(size=60) for k in range(8)}
    (notice,) = compare_systems(scores, all_pairs=True, resamples=100).warnings
    assert notice.name == "few-resamples"


def test_line_files(cli: Run, lines: list[Any], texts: dict[str, list[str]]) -> None:
    named = ("--metrics", "chrf,ter", "--metrics", "bertscore", "--model", "minilm")
    done = cli("compare", *lines, *named, "--format", "json")
    assert (done.status, done.err) == (0, "")
    result = json.loads(done.out)
    assert (result["segments"], result["baseline"], result["systems"]) == (110, "atlas", list(SYSTEMS))
    assert [found["metric"] for found in result["metrics"]] == ["chrf", "ter", "bertscore"]
    for found in result["metrics"]:
        metric = bsx.get_metric(
            found["metric"], encoders=bsx.Encoders(model="minilm" if "bert" in found["metric"] else None)
        )
        for system in found["systems"]:
            whole = metric.score(texts[system["system"]], texts["reference"]).system
            assert system["score"] == pytest.approx(whole, abs=1e-5)
            assert system["ci"][0] < whole < system["ci"][1]
        assert [(test["a"], test["b"]) for test in found["tests"]] == [("brook", "atlas"), ("cinder", "atlas")]
        assert found["tests"][0]["better"] == "brook"
        assert found["tests"][0]["p"] < 0.025
    ter = result["metrics"][1]
    assert not ter["higher_is_better"]
    assert ter["tests"][0]["difference"] < 0


def test_systems_are_chosen_and_ordered(cli: Run, lines: list[Any]) -> None:
    how = ("--metrics", "chrf", "--resamples", 40, "--format", "json")
    files = json.loads(cli("compare", *lines, "--systems", "cinder,atlas", *how).out)
    table = json.loads(cli("compare", *TABLE, "--systems", "cinder,atlas", *how).out)
    direct = json.loads(cli("compare", DATA, "--candidate", "cinder,atlas", *how).out)
    assert files["systems"] == ["cinder", "atlas"]
    assert files["metrics"] == table["metrics"] == direct["metrics"]


def test_columns_of_a_table_and_all_pairs(cli: Run, lines: list[Any]) -> None:
    shared = ("--metrics", "chrf", "--all-pairs", "--resamples", 200, "--format", "json")
    columns, lined = (json.loads(cli("compare", *given, *shared).out) for given in (TABLE, lines))
    assert columns.pop("provenance")["signatures"] == lined["provenance"]["signatures"]
    assert [file["name"] for file in lined.pop("provenance")["files"]] == [f"{n}.txt" for n in (*SYSTEMS, "reference")]
    assert columns == lined
    assert columns["baseline"] is None
    tests = columns["metrics"][0]["tests"]
    assert [(test["a"], test["b"]) for test in tests] == [("atlas", "brook"), ("atlas", "cinder"), ("brook", "cinder")]
    plain = json.loads(cli("compare", *TABLE, *shared, "--correction", "none").out)
    assert all("p_adjusted" not in test for test in plain["metrics"][0]["tests"])
    corrected = [test["p_adjusted"] for test in tests]
    raw = [test["p_two_sided"] for test in tests]
    order = np.argsort(raw)
    expected = np.maximum.accumulate([min(1, raw[k] * (3 - i)) for i, k in enumerate(order)])
    assert [corrected[k] for k in order] == pytest.approx(expected)


@pytest.mark.parametrize("test", ["bootstrap", "randomise"])
def test_corpus_metrics_agree_with_sacrebleu(texts: dict[str, list[str]], test: Any) -> None:
    """sacreBLEU's paired tests with its own generator: scores exactly, p-values as 2,000 draws allow."""
    sacrebleu = pytest.importorskip("sacrebleu")
    from sacrebleu.significance import PairedTest

    references = texts["reference"]
    # Atlas and cinder are close, so that p-values are not all at their smallest.
    named: list[tuple[str, Sequence[str]]] = [(name, texts[name]) for name in ("atlas", "cinder", "brook")]
    kinds = {"bootstrap": "bs", "randomise": "ar"}
    metrics = {"BLEU": sacrebleu.BLEU(references=[references]), "chrF2": sacrebleu.CHRF(references=[references])}
    signatures, theirs = PairedTest(named, metrics, None, kinds[test], n_samples=2000)()
    assert len(signatures) == 2
    corpus = MemoryCorpus(dict(named), references)
    _, _, ours = paired_scores(get_metrics(["bleu", "chrf"]), corpus)
    config: dict[str, Any] = {"test": test, "resamples": 2000}
    for name, paired in zip(("BLEU", "chrF2"), ours, strict=True):
        (found,) = compare_systems(paired.scores, aggregate=paired.aggregate, **config).metrics
        results: Any = theirs[name]
        assert [s.score for s in found.systems] == pytest.approx([r.score for r in results])
        for tested, expected in zip(found.tests, results[1:], strict=True):
            p = tested.p_two_sided
            if test == "bootstrap":  # theirs is one-sided: it centres absolute differences
                turned = (paired.scores[name] for name in (tested.b, tested.a))
                p = min(tested.p, bootstrap_systems(*turned, aggregate=paired.aggregate, resamples=2000).p)
            if expected.p_value < 0.1:
                assert p == pytest.approx(expected.p_value, abs=0.012)
            assert (p < 0.05) == (expected.p_value < 0.05)
        if test == "bootstrap":
            for score, expected in zip(found.systems, results, strict=True):
                assert (score.ci[1] - score.ci[0]) / 2 == pytest.approx(expected.ci, rel=0.12)


def test_one_pass_gives_what_each_pair_alone_gives() -> None:
    rng = np.random.default_rng(1)
    scores = {"a": rng.normal(size=50), "b": rng.normal(0.3, size=50), "c": rng.normal(size=50)}
    for function in (bootstrap_systems, randomise_systems):
        how: dict[str, Any] = {"test": function.args[0], "resamples": 300, "seed": 4}
        (found,) = compare_systems(scores, **how).metrics
        for result in found.tests:
            assert (result.b, result.p) == ("a", function(scores[result.a], scores["a"], resamples=300, seed=4).p)
    with pytest.raises(InputError, match="only the system a is given"):
        compare_systems({"a": scores["a"]})
    with pytest.raises(InputError, match="missing values"):
        compare_systems({"a": scores["a"], "b": np.full(50, np.nan)})


def test_several_references_keep_ter_s_fractions(texts: dict[str, list[str]]) -> None:
    references = [[one, other] for one, other in zip(texts["reference"], texts["brook"], strict=True)]
    corpus = MemoryCorpus({"atlas": texts["atlas"], "cinder": texts["cinder"]}, references)
    _, totals, (paired,) = paired_scores(get_metrics(["ter"]), corpus)
    (found,) = compare_systems(paired.scores, aggregate=paired.aggregate, higher_is_better=False).metrics
    assert [score.score for score in found.systems] == pytest.approx([totals[0].system(0), totals[0].system(1)])
    winner = min(found.systems, key=lambda score: score.score).system
    assert found.tests[0].better in (winner, None)


def test_forms(cli: Run) -> None:
    start = ("compare", *TABLE, "--metrics", "chrf,ter", "--resamples", 200)
    text = cli(*start).out.splitlines()
    assert "brook is significantly better than atlas" in text[0]
    assert not any("**" in line for line in text)  # a best is named only where it was tested against all
    tests = [test for found in json.loads(cli(*start, "--format", "json").out)["metrics"] for test in found["tests"]]
    marked = ["†" in line for line in text if line.startswith(("chrf  ", "ter "))]
    assert marked == [test["better"] is not None for test in tests]
    assert len(text) < 25
    table = list(csv.DictReader(io.StringIO(cli(*start, "--format", "csv").out)))
    assert [row["metric"] for row in table] == ["chrf"] * 2 + ["ter"] * 2
    assert [(row["a"], row["b"]) for row in table[:2]] == [("brook", "atlas"), ("cinder", "atlas")]
    assert float(table[0]["difference"]) == pytest.approx(float(table[0]["score_a"]) - float(table[0]["score_b"]))
    latex = cli(*start, "--format", "latex").out.splitlines()
    assert r"system & chrf & ter (lower is better) \\" in latex


def test_all_pairs_are_marked_against_every_system(cli: Run) -> None:
    start = ("compare", *TABLE, "--metrics", "chrf,ter", "--resamples", 200, "--all-pairs", "--format")
    found = CompareResult.from_dict(json.loads(cli(*start, "json").out))
    shown = next(part for part in parts_of(found) if isinstance(part, TablePart))
    assert [row[0].text for row in shown.rows] == ["1 atlas", "2 brook", "3 cinder"]
    for place, metric in ((1, found.metrics[0]), (3, found.metrics[1])):
        for entry, row in zip(metric.systems, shown.rows, strict=True):
            decided = [test for test in metric.tests if test.better and entry.system in (test.a, test.b)]
            beats = [SYSTEMS.index(str(test.worse)) + 1 for test in decided if test.better == entry.system]
            assert row[place].value == entry.score
            assert row[place].mark == (f"†{','.join(map(str, sorted(beats)))}" if beats else "")
            assert row[place].strong == (len(decided) == len(beats))
            assert row[place + 1].value == entry.rank
        rank, cluster, down = 0, list(metric.systems), metric.higher_is_better
        for entry in sorted(metric.systems, key=lambda entry: entry.score, reverse=down):
            # A system that any of the current cluster beats opens the next one.
            beaten_by = {test.better for test in metric.tests if test.worse == entry.system}
            if not rank or beaten_by & {member.system for member in cluster}:
                rank, cluster = rank + 1, []
            cluster.append(entry)
            assert entry.rank == rank
    assert "rank" not in cli(*start[:-2], "--format", "json").out
    latex = cli(*start, "latex").out
    assert r"\textbf{" in latex
    assert r"$^{\dagger 1,3}$" in latex


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([DATA, "--candidate", "atlas", "--metrics", "chrf"], "name several columns of candidates"),
        ([*TABLE, "--systems", "atlas", "--metrics", "chrf"], "only the system atlas"),
        ([*TABLE, "--systems", "atlas,nope", "--metrics", "chrf"], "there is no system 'nope'"),
        ([DATA, "--candidate", "atlas,nope", "--metrics", "chrf"], "has no column 'nope'"),
        (["-c", "a.txt", "-c", "r.txt", "--metrics", "chrf"], "no references"),
        ([*TABLE, "--metrics", "crhf"], "unknown metric 'crhf'"),
        ([*TABLE, "--metrics", "chrf", "--confidence", 2], "confidence: "),
        ([*TABLE, "--metrics", "chrf", "--resamples", 1], "resamples: must be at least"),
        ([*TABLE, "--metrics", "chrf", "--columns", "x"], "columns needs one column of candidates"),
        ([], "name a table of scores"),
        (TABLE, "candidate needs metrics"),
        ([DATA], "holds one system"),
        (["-c", "a.txt", "-c", "x/a.txt", "-r", "r.txt", "--metrics", "chrf"], "two candidate files are called 'a'"),
    ],
)
def test_mistakes_are_one_line(
    cli: Run, arguments: Sequence[Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    for name in ("a.txt", "x/a.txt", "r.txt"):
        (tmp_path / name).write_text("a\nb\n")
    done = cli("compare", *arguments)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert message in done.err


def test_a_system_is_called_better_only_if_it_is_significantly() -> None:
    draw = np.random.default_rng(2).normal(size=(3, 60))
    alike = {"a": draw[0], "b": draw[0] + 0.01 * draw[1], "c": draw[0] + 0.01 * draw[2]}
    for every in (False, True):
        settings: dict[str, Any] = {"resamples": 300, "all_pairs": every}
        told = compare_systems({**alike, "d": draw[0] + 3}, metric="m", **settings)
        assert "d is significantly better than" in told.answer
        same = compare_systems(alike, metric="m", **settings)
        assert [test.better for test in same.metrics[0].tests] == [None] * len(same.metrics[0].tests)
        assert "better" not in same.answer
        assert "told apart" in same.answer
        few = compare_systems({name: values[:3] for name, values in alike.items()}, **settings)
        assert [notice.name for notice in few.warnings] == ["too-few-to-swap"]
        assert "too few" in few.answer


def test_metrics_that_say_opposite_things_are_a_surprise() -> None:
    draw = np.random.default_rng(2).normal(size=60)
    settings: dict[str, Any] = {"resamples": 100}
    one = compare_systems({"a": draw, "b": draw + 3}, metric="one", **settings)
    other = compare_systems({"a": draw + 3, "b": draw}, metric="other", **settings)
    for found, surprises in ((together([one, one]), 0), (together([one, other]), 1)):
        assert len(found.metrics) == 2
        assert sum(isinstance(part, Surprise) for part in parts_of(found)) == surprises
