"""Challenge sets: layouts of their publishers, accuracies by hand, intervals under clustering, the command."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("sacrebleu")
import bsx
import bsx.analysis as analysis
from bsx.analysis.adversarial.challenge import ChallengeResult
from bsx.analysis.datasets.challenge import MinimalPair, load_challenge
from bsx.analysis.stats.preference import wilson_interval
from bsx.errors import InputError, UnknownNameError
from tests.helpers.tables import write_lines, write_plain

Run = Callable[..., Any]
HEADER = "phenomenon\tseverity\tid\treference\tgood\tbad"


def pair(phenomenon: str, severity: str = "", item: str = "1", good: str = "g", bad: str = "b") -> MinimalPair:
    return MinimalPair(good, bad, "r", None, phenomenon, severity, "", item, "row 1")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = (
        "negation\tcritical\t1\tthe cat sat\tthe cat sat\tthe cat did not sit",
        "typo\tminor\t1\tthe cat sat\tthe cat sat\tthe cta sat",
        "typo\tminor\t2\ta dog ran off\ta dog ran away\ta dog ran off",
        "empty\tbase\t1\tthe cat sat\tthe cat sat\t.",
    )
    return write_plain(tmp_path / "set.tsv", HEADER, *rows)


def test_counts_by_hand() -> None:
    kinds = (("a", "critical"), ("b", "minor"), ("empty", "base"))
    pairs = [pair(*kind, str(i)) for kind in kinds for i in range(4)]
    good = np.full(12, 2.0)
    bad = np.array([1, 1, 2, 3, 1, 1, 1, 2, 0, 0, 0, 0.0])
    found = analysis.challenge(pairs, {"m": (good, bad), "never": (bad, bad)}, correction="holm")
    one, never = found.metrics.values()
    a, b = one.phenomena["a"], one.phenomena["b"]
    assert (a.n, a.right, a.tied, a.rate, a.drop) == (4, 2, 1, 0.5, 0.25)
    assert a.ci == wilson_interval(2, 4)
    assert (b.right, b.tied) == (3, 1)
    assert one.overall is not None
    assert (one.overall.n, one.overall.right, one.overall.items) == (8, 5, 4)  # without the anchors
    assert one.macro == pytest.approx((0.5 + 0.75) / 2)
    assert set(one.severities) == {"critical", "minor", "base"}
    assert never.overall is not None
    assert (never.overall.right, never.overall.tied) == (0, 8)
    (test,) = found.tests
    assert (test.only_a, test.only_b) == (5, 0)
    # Sentences are clusters (Durkalski et al. 2003): z = (2 + 2 + 1 + 0) / sqrt(4 + 4 + 1 + 0).
    assert test.p_two_sided == pytest.approx(math.erfc(5 / 3 / math.sqrt(2)))
    single = analysis.challenge(pairs[4:8], {"m": (good[4:8], bad[4:8]), "never": (bad[4:8], bad[4:8])})
    assert single.tests[0].p_two_sided == pytest.approx(2 / 8)  # exact: one row a sentence
    assert test.p_adjusted == pytest.approx(test.p_two_sided)


def test_rows_about_one_sentence_are_worth_less() -> None:
    rng = np.random.default_rng(1)
    hits = np.repeat(rng.random(40) < 0.7, 10).astype(float)  # each sentence is right or wrong in all its ten rows
    shared = analysis.challenge([pair("p", item=str(i // 10)) for i in range(400)], {"m": (hits, np.full(400, 0.5))})
    apart = analysis.challenge([pair("p", item=str(i)) for i in range(400)], {"m": (hits, np.full(400, 0.5))})
    wide, narrow = shared.metrics["m"].phenomena["p"], apart.metrics["m"].phenomena["p"]
    assert narrow.ci == wilson_interval(int(hits.sum()), 400)
    low, high = wilson_interval(int(hits.sum()) // 10, 40)  # forty independent ones
    assert wide.ci == pytest.approx((low, high), abs=0.008)  # 40 / (40 - 1) more variance, t of 39


def test_one_sentence_says_nothing_about_others() -> None:
    pairs = [*(pair("p", item="1") for _ in range(5)), *(pair("q", item=str(i)) for i in range(5))]
    scores = np.array([1, 0, 1, 1, 0, 1, 1, 0, 1, 1.0]), np.full(10, 0.5)
    found = analysis.challenge(pairs, {"m": scores}).metrics["m"]
    assert found.phenomena["p"].rate == 0.6
    assert all(map(math.isnan, found.phenomena["p"].ci))
    assert not any(map(math.isnan, found.phenomena["q"].ci))
    with pytest.raises(InputError, match="of one sentence"):
        analysis.challenge(pairs[:5], {"m": (scores[0][:5], scores[1][:5])})


@pytest.mark.slow
def test_intervals_cover() -> None:
    # 30 sentences x 8 rows, right with a probability of each sentence's own: mean .8.
    rng = np.random.default_rng(7)
    pairs = [pair("p", item=str(i // 8)) for i in range(240)]
    covered, naive, runs = 0, 0, 400
    for _ in range(runs):
        chance = np.repeat(rng.beta(1.6, 0.4, size=30), 8)
        hits = (rng.random(240) < chance).astype(float)
        found = analysis.challenge(pairs, {"m": (hits, np.full(240, 0.5))}).metrics["m"].phenomena["p"]
        covered += found.ci[0] <= 0.8 <= found.ci[1]
        low, high = wilson_interval(int(hits.sum()), 240)
        naive += low <= 0.8 <= high
    assert covered / runs == pytest.approx(0.95, abs=0.03)  # 0.011 is the standard error of a share of 400
    assert naive / runs < 0.8


def test_layouts(table: Path, tmp_path: Path) -> None:
    plain = load_challenge(table)
    assert [p.phenomenon for p in plain.pairs] == ["negation", "typo", "typo", "empty"]
    assert plain.has == {"reference"}
    assert plain.has is plain.has  # looked up for each pair
    packed = tmp_path / "set.tsv.gz"
    packed.write_bytes(gzip.compress(table.read_bytes()))
    assert [p[:8] for p in load_challenge(packed).pairs] == [p[:8] for p in plain.pairs]
    head = "source\tgood-translation\tincorrect-translation\treference\tphenomena"
    aces = write_plain(tmp_path / "aces.tsv", f"{head}\tlangpair", "Ja.\tYes.\tNo.\tYes.\tantonym\tde-en")
    (one,) = load_challenge(aces).pairs
    assert (one.source, one.good, one.bad, one.phenomenon, one.lang) == ("Ja.", "Yes.", "No.", "antonym", "de-en")
    # its header has "source" twice
    hwtsc = write_plain(tmp_path / "hwtsc.TSV", f"{head}\tsource", "是\tYes\tNo\tYes\tNum\tFlores")
    (one,) = load_challenge(hwtsc).pairs
    assert (one.source, one.phenomenon, one.severity) == ("是", "Num", "")
    item = {"id": 3, "src_sent": "Ja.", "eng_sent": "Yes.", "mt_sent": "Yes!", "pert_sent": "No!"}
    item |= {"lang_tag": "german", "severity": "critical", "pert_id": 7, "pert_name": "critical_id7_antonym"}
    item["pert_check"] = True
    (tmp_path / "d").mkdir()
    write_plain(tmp_path / "d" / "a.json", json.dumps([item, {**item, "pert_check": False}]))
    write_plain(tmp_path / "d" / "b.json", json.dumps([{**item, "pert_name": "base_id33_x_y"}]))
    found = load_challenge(tmp_path / "d")
    assert [(p.phenomenon, p.severity, p.item) for p in found.pairs] == [
        ("antonym", "critical", "german 3"),
        ("base_id33_x_y", "critical", "german 3"),
    ]
    assert found.notes == ("1 items whose perturbation was marked as failed are left out",)
    assert load_challenge(tmp_path / "d" / "a.json").pairs[0].good == "Yes!"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "reference\tgood\nr\tg\n", r"x\.tsv: has no column 'bad'"),
        ("x.tsv", "good\tbad\ng\tb\n", "neither a column reference nor a column source"),
        ("x.tsv", "reference\tgood\tbad\tphenomenon\nr\tg\tb\tp\nr\tg\tb\t \n", "line 3: names no phenomenon"),
        ("x.tsv", f"{HEADER}\n", "header but no rows"),
        ("x.json", '[{"id": 1}]', "item 1: has no 'mt_sent'"),
        ("x.json", '{"id": 1}', "is no list of items"),
        ("none/x.tsv", "", r"holds no \.json file"),
    ],
)
def test_wrong_files_are_named(name: str, text: str, message: str, table: Path, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    with pytest.raises((InputError, UnknownNameError), match=message):
        load_challenge(file if text else file.parent)
    with pytest.raises(UnknownNameError, match="has no column 'chrf-good'"):
        load_challenge(table, ["chrf"])


def test_the_command(cli: Run, table: Path, tmp_path: Path) -> None:
    done = cli("adversarial", "challenge", table, "--metrics", "chrf,bleu", "--format", "json")
    assert done.status == 0, done.err
    content = json.loads(done.out)
    assert set(content) == {"metrics", "tests", "examples", "settings", "signatures", "notes", "provenance"}
    assert ChallengeResult.from_dict(content).to_dict() == content
    for row in content["examples"]:  # of each phenomenon one row that fools a metric, with what all make of it
        assert set(row["scores"]) == {"chrf", "bleu"}
        assert any(good <= bad for good, bad in row["scores"].values())
    named = [row["phenomenon"] for row in content["examples"]]
    fooled = [
        name
        for name in content["metrics"]["chrf"]["phenomena"]
        if any(one["phenomena"][name]["right"] < one["phenomena"][name]["n"] for one in content["metrics"].values())
    ]
    assert sorted(named) == sorted(fooled) != []
    typo = content["metrics"]["chrf"]["phenomena"]["typo"]
    assert (typo["right"], typo["tied"], typo["n"], typo["severity"]) == (1, 0, 2, "minor")
    assert content["metrics"]["bleu"]["overall"]["n"] == 3
    assert content["provenance"]["kind"] == "adversarial-challenge"
    assert set(content["provenance"]["signatures"]) == {"chrf", "bleu"}
    command = ("adversarial", "challenge", table, "--metrics", "chrf")
    text = cli(*command, "--full", "--plot", tmp_path / "p.png")
    assert text.status == 0, text.err
    assert len(cli(*command).out) < 0.55 * len(text.out)
    assert (tmp_path / "p.png").stat().st_size > 1000
    made = cli("report", write_plain(tmp_path / "c.json", done.out), "-o", tmp_path / "r.html")
    assert made.status == 0, made.err
    assert "Accuracy by phenomenon" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_columns_are_called_as_elsewhere_or_named(cli: Run, tmp_path: Path) -> None:
    head = ("gold", "src", "right", "wrong", "kind", "weight", "target", "sid")
    file = write_lines(tmp_path / "own.tsv", [head, ("r", "s", "g", "b", "typo", "minor", "de", "7")])
    options = ("--reference", "--source", "--good", "--bad", "--phenomenon", "--severity", "--lang-column")
    named = [word for both in zip(options, head[:-1], strict=True) for word in both]
    done = cli("adversarial", "challenge", file, "--metrics", "chrf", "--format", "json", *named)
    assert done.status == 0, done.err
    found = json.loads(done.out)
    assert found["metrics"]["chrf"]["phenomena"]["typo"]["severity"] == "minor"
    assert (found["settings"]["good"], found["settings"]["segment"]) == ("right", None)
    kinds = ("reference", "source", "good", "bad", "phenomenon", "severity", "lang")
    (pair,) = load_challenge(file, (), dict(zip(kinds, head[:-1], strict=True))).pairs
    assert (pair.good, pair.source, pair.severity, pair.item) == ("g", "s", "minor", "de 7")  # sid is a usual name
    for wrong, said in {
        (): "has no column 'good'; say which it is (--good); it has gold, src",
        ("--good", "right", "--bad", "wrong"): "neither a column reference nor a column source",
        ("--good", "rigth"): "has no column 'rigth'",
        ("--segment", "no"): "has no column 'no'",
    }.items():
        done = cli("adversarial", "challenge", file, "--metrics", "chrf", *wrong)
        assert (done.status, said in done.err) == (2, True), done.err
    with pytest.raises(InputError, match="name columns of tables only"):
        load_challenge(write_plain(tmp_path / "d.json", "[{}]"), (), {"good": "mt_sent"})
    with pytest.raises(UnknownNameError, match="a challenge set has no 'candidate'; it has good, bad, reference"):
        load_challenge(file, (), {"candidate": "right"})


def test_scores_of_the_file(cli: Run, tmp_path: Path) -> None:
    head = "phenomenon\treference\tgood\tbad\ta-good\ta-bad\tt-good\tt-bad"
    rows = ("p\tr\tg\tb\t0.9\t0.1\t10\t30", "q\tr\tg\tb\t0.5\t0.5\t10\tNA")
    file = write_plain(tmp_path / "s.tsv", head, *rows)
    options = ("--columns", "a,t", "--lower", "t", "--nan", "omit", "--format", "json")
    done = cli("adversarial", "challenge", file, *options)
    assert done.status == 0, done.err
    content = json.loads(done.out)
    assert content["metrics"]["a"]["overall"]["n"] == 1
    assert content["metrics"]["t"]["phenomena"]["p"]["right"] == 1
    assert any("1 of 2 pairs miss a score" in note for note in content["notes"])
    for wrong, said in {
        ("--columns", "a,t"): "missing",
        ("--columns", "b"): "has no column 'b-good'",
        ("--columns", "a", "--lower", "z"): "none of the columns of scores",
        (): "name columns of scores",
    }.items():
        done = cli("adversarial", "challenge", file, *wrong)
        assert (done.status, said in done.err) == (2, True), (wrong, done.err)


def test_an_example_is_a_row_that_metrics_disagree_on() -> None:
    table = {"good": ["g"] * 3, "bad": ["b"] * 3, "reference": ["r", "s", "t"], "phenomenon": ["p"] * 3}
    scores = {"a-good": [0, 0, 1], "a-bad": [1, 1, 0], "b-good": [0, 1, 1], "b-bad": [1, 0, 0]}
    (example,) = bsx.challenge_metrics({**table, **scores}, columns=["a", "b"]).examples
    assert (example.row, example.scores) == (2, {"a": (0, 1), "b": (1, 0)})


def test_a_metric_gets_what_it_needs(cli: Run, tmp_path: Path) -> None:
    file = write_plain(tmp_path / "s.tsv", "phenomenon\tsource\tgood\tbad", "p\tr\tg\tb")
    done = cli("adversarial", "challenge", file, "--metrics", "chrf")
    assert (done.status, "chrf needs a reference, and" in done.err, "line 2 has none" in done.err) == (2, True, True)


def test_demetr(shared: Path) -> None:
    """Counts of DEMETR's own table, and chrF against sacreBLEU's own scores, on every fortieth row."""
    from sacrebleu.metrics.chrf import CHRF

    found = load_challenge(shared / "data" / "demetr" / "demetr.tsv.gz")
    assert len(found.pairs) == 19_930
    assert len({p.phenomenon for p in found.pairs}) == 23
    assert len({p.item for p in found.pairs}) == 1000
    pairs = found.pairs[::40]
    metric = CHRF()
    scores = [
        [metric.sentence_score(getattr(p, side), [str(p.reference)]).score for p in pairs] for side in ("good", "bad")
    ]
    one = analysis.challenge(pairs, {"chrf": (scores[0], scores[1])}).metrics["chrf"]
    for severity in ("critical", "major", "minor"):
        rows = [i for i, p in enumerate(pairs) if p.severity == severity]
        assert one.severities[severity].right == sum(scores[0][i] > scores[1][i] for i in rows)
    # On all rows .892, .891 and .772: within four standard errors of a sample.
    for severity, rate in {"critical": 0.8916, "major": 0.8906, "minor": 0.7721}.items():
        assert one.severities[severity].rate == pytest.approx(rate, abs=4 * np.sqrt(0.18 / one.severities[severity].n))
