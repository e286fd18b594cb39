"""`bsx card` and `bsx.analysis.metric_card`: tables recognised, parts made, left out or failed, cards compared."""

from __future__ import annotations

import dataclasses
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.analysis import compare_cards, metric_card, read_cards
from bsx.analysis.cards.result import Card, CardParts, CardRun
from bsx.catalog.catalog import shipped
from bsx.catalog.entries.metrics import Check, MetricEntry
from bsx.errors import InputError, UnknownNameError
from bsx.jobs.cards import cost, scoring
from bsx.jobs.cards.data import SegmentTexts
from bsx.metrics import zoo
from bsx.metrics.base import Metric
from bsx.metrics.blocks import Block, BlockScores
from bsx.metrics.core import MetricConfig
from tests.conftest import Outcome

Cli = Callable[..., Outcome]
WORDS = ["the", "old", "harbour", "bridge", "closed", "to", "lorries", "on", "rainy", "day", "by", "its", "council"]
PARTS = [one.name for one in dataclasses.fields(CardParts)]
KINDS = ("judged", "pairs", "triples", "challenge")


def write(path: Path, header: str, rows: Sequence[Sequence[object]]) -> Path:
    path.write_text("\n".join([header.replace(" ", "\t"), *("\t".join(map(str, row)) for row in rows)]) + "\n")
    return path


def sentence(draw: np.random.Generator, length: int = 12) -> list[str]:
    return draw.choice(WORDS, length).tolist()


def damaged(draw: np.random.Generator, words: list[str], count: int) -> str:
    words = list(words)
    for place in draw.choice(len(words), count, replace=False):
        words[place] = "zzz"
    return " ".join(words)


def judged_rows(draw: np.random.Generator, segments: int) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for lp in ("de-en", "fr-en"):
        for segment in range(segments):
            words = sentence(draw)
            for system in range(4):
                wrong = int(draw.integers(0, 4)) + 2 * system
                human = -wrong + draw.normal(0, 1)
                rows.append((lp, f"s{system}", segment, " ".join(words), damaged(draw, words, wrong), f"{human:.3f}"))
    return rows


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One table of each kind; in the judged one, people count the words that are right."""
    folder = tmp_path_factory.mktemp("tables")
    draw = np.random.default_rng(5)
    rows = judged_rows(draw, 15)
    judged = write(folder / "judged.tsv", "lp system segment reference candidate human", rows)
    pairs = []
    for number in range(30):
        words = sentence(draw)
        pairs.append((" ".join(words), damaged(draw, words, 2 if number % 2 else 7), number % 2))
    return {
        "judged": judged,
        "plain": write(folder / "plain.tsv", "reference candidate human", [row[3:] for row in rows[:64]]),
        "pairs": write(folder / "pairs.tsv", "sentence1 sentence2 label", pairs),
        "triples": write(
            folder / "triples.tsv",
            "anchor paraphrase nonparaphrase",
            [(a, damaged(draw, a.split(), 1), damaged(draw, a.split(), 6)) for a, _, _ in pairs],
        ),
        "challenge": write(
            folder / "challenge.tsv",
            "reference good bad phenomenon",
            [(a, damaged(draw, a.split(), 1), damaged(draw, a.split(), 6), "cut") for a, _, _ in pairs],
        ),
    }


class Failing(Metric):
    """Counts equal words, and breaks on texts that the tests choose."""

    Config = MetricConfig
    entry = MetricEntry(
        name="failing",
        title="a metric that fails half way",
        implementation="tests.jobs.test_cards:Failing",
        needs=["candidate", "reference"],
        citation="none",
        check=Check(candidates=["a"], references=["a"], values=None),
    )
    broken: Callable[[Block], bool] = staticmethod(lambda block: False)

    def score_block(self, block: Block, fitted: object) -> BlockScores:
        if type(self).broken(block):
            raise ZeroDivisionError("half way")
        values = [
            float(len(set(c.split()) & set(r[0].split()))) / 20
            for c, r in zip(block.candidates, block.references, strict=True)
        ]
        return BlockScores(np.array(values), np.zeros(len(block), bool), np.zeros(len(block), np.int64))


class _Point:
    name = "failing"

    def load(self) -> type:
        return Failing


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Failing]]:
    monkeypatch.setattr(zoo, "plugins", lambda: {"failing": _Point()})
    yield Failing
    Failing.broken = staticmethod(lambda block: False)


def card(metrics: Sequence[str], tables: Sequence[Path], tmp_path: Path, **how: Any) -> dict[str, Any]:
    """Return the card of one metric, or of several under ``cards``, as plain values."""
    how.setdefault("resamples", 50)
    run = metric_card(metrics=metrics, tables=tables, store=tmp_path / "store", **how)
    found: dict[str, Any] = json.loads(json.dumps(run.to_dict()))
    assert CardRun.from_dict(found).to_dict() == found
    return found if len(run.cards) > 1 else found["cards"][0]


def test_every_kind_of_table_makes_its_part(tables: dict[str, Path], tmp_path: Path) -> None:
    left_out = ("cost", "perturbations", "length")  # every text has twelve words
    parts = [part for part in PARTS if part not in left_out]
    found = card(["chrf"], [tables[kind] for kind in KINDS], tmp_path, parts=parts)
    assert list(found["parts"]) == parts
    assert [one["kind"] for one in found["data"]] == list(KINDS)
    assert {name: one["status"] for name, one in found["status"].items()} == {
        **dict.fromkeys(parts, "made"),
        **dict.fromkeys(left_out, "left out"),
    }
    agreement = found["parts"]["agreement"]
    levels = {(row["level"], row["group"]) for row in agreement["rows"]}
    assert levels == {("segment", lp) for lp in ("de-en", "fr-en", "average")}
    assert any("system level: left out: de-en: 4 systems" in note for note in agreement["notes"])
    assert all(row["value"] > 0.7 for row in agreement["rows"])
    assert found["parts"]["paraphrase"]["pairs"][0]["auc"] > 0.95
    assert found["parts"]["paraphrase"]["triples"][0]["rate"] > 0.9
    assert found["parts"]["challenge"]["sets"][0]["phenomena"]["cut"]["n"] == 30
    assert {row["sentinel"] for row in found["parts"]["sentinels"]["rows"]} >= {"shuffled candidates", "constant"}
    checks = {row["name"]: row for row in found["parts"]["invariance"]["checks"]}
    assert checks["repeat"]["holds"]
    assert checks["order"]["holds"]
    assert found["signature"].startswith("metric:chrf|")


def test_agreement_is_that_of_meta(tables: dict[str, Path], tmp_path: Path, cli: Cli) -> None:
    found = card(["chrf"], [tables["judged"]], tmp_path, parts=["agreement"])
    out = cli(
        "meta", tables["judged"], "--metrics", "chrf", "--human", "human", "--group", "lp",
        "--system", "system", "--segment", "segment", "--format", "json",
    )  # fmt: skip
    groups = {group["group"]: group["metrics"][0] for group in json.loads(out.out)["groups"]}
    for row in found["parts"]["agreement"]["rows"]:
        if row["level"] == "segment" and row["group"] != "average":
            assert row["value"] == groups[row["group"]]["value"]


def test_all_tests_of_a_run_are_one_family_in_which_cards_agree(tables: dict[str, Path], tmp_path: Path) -> None:
    found = card(["chrf", "bleu"], [tables["judged"]], tmp_path, parts=["agreement", "factors", "sentinels"])
    pairs: dict[tuple[str, ...], list[float]] = {}
    once: list[dict[str, Any]] = []
    for place, one in enumerate(found["cards"]):
        tests = [test for part in one["parts"].values() for test in part.get("tests", [])]
        assert one["multiplicity"]["tests"] == len(tests) > 5
        assert one["multiplicity"]["significant"] == sum(test["p_adjusted"] < 0.05 for test in tests)
        shared = [test for test in tests if test["b"] in one["against"]]
        once += [test for test in tests if place == 0 or test not in shared]
        for test in shared:
            pairs.setdefault(tuple(test.get(at, "") for at in ("level", "group", "figure")), []).append(
                test["p_adjusted"]
            )
    assert pairs
    assert all(len(both) == 2 and both[0] == both[1] for both in pairs.values())
    assert {one["multiplicity"]["family"] for one in found["cards"]} == {len(once)}
    running = 0.0
    for place, test in enumerate(sorted(once, key=lambda test: test["p"])):  # Holm 1979, by hand
        running = max(running, min(1.0, (len(once) - place) * test["p"]))
        assert test["p_adjusted"] == pytest.approx(running)


def test_a_metric_that_fails_on_one_row_is_scored_on_the_others(
    tables: dict[str, Path], tmp_path: Path, failing: type[Failing]
) -> None:
    lost = tables["judged"].read_text().splitlines()[7].split("\t")[4]
    failing.broken = staticmethod(lambda block: lost in block.candidates)
    found = card(["failing"], [tables["judged"]], tmp_path, parts=["agreement"])
    assert found["status"]["agreement"]["status"] == "made"
    assert any(
        "failed on 1 of 120 rows" in note and "half way" in note for note in found["parts"]["agreement"]["notes"]
    )


def test_a_metric_that_fails_half_way_gives_a_partial_card(
    tables: dict[str, Path], tmp_path: Path, failing: type[Failing]
) -> None:
    data = [tables["plain"], tables["triples"]]
    good = {line.split("\t")[1] for line in tables["triples"].read_text().splitlines()}
    failing.broken = staticmethod(lambda block: len(block) == 60 and block.candidates[0] in good)
    found = card(["failing", "chrf"], data, tmp_path, parts=["agreement", "paraphrase"])["cards"]
    broken, whole = found
    assert broken["partial"]
    assert broken["status"]["agreement"]["status"] == "made"
    assert broken["status"]["paraphrase"]["status"] == "failed"
    assert "half way" in broken["status"]["paraphrase"]["reason"]
    assert "paraphrase" not in broken["parts"]
    assert whole["status"]["paraphrase"]["status"] == "made"


def test_finished_steps_are_not_computed_again(
    tables: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = card(["chrf"], [tables["plain"]], tmp_path, parts=["agreement"])

    def never(*_: object) -> None:
        raise InputError("scored again")

    with monkeypatch.context() as patch:
        patch.setattr(scoring, "score_rows", never)
        again = card(["chrf"], [tables["plain"]], tmp_path, parts=["agreement"])
        assert again["parts"] == first["parts"]
        other = card(
            ["chrf"], [tables["plain"]], tmp_path, parts=["agreement"], seed=2
        )  # scores are kept by themselves
        assert other["parts"]["agreement"]["rows"][0]["value"] == first["parts"]["agreement"]["rows"][0]["value"]
        fresh = card(["chrf"], [tables["plain"]], tmp_path, parts=["agreement"], fresh=True)
        assert fresh["status"]["agreement"] == {"status": "failed", "reason": "scored again"}


def test_texts_are_encoded_once_unless_that_is_what_is_tried(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    spec = f"bertscore:model={tiny_model('bert')},layer=1"
    lab = scoring.CardMetrics([spec], {}, shipped(), scoring.CardStore(tmp_path), None)
    texts = SegmentTexts(["a cat sat", "two dogs"], [("a cat sits",), ("dogs",)])
    metric = lab.build("en")[spec]
    assert isinstance(metric, Metric)
    found = [lab.score(lang, texts, [spec])[spec] for lang in ("en", "de")]
    assert metric.encoders.sequences_encoded == 4
    moved = SegmentTexts(["two dogs", "a cat sat"], texts.references)
    lab.score("en", moved, [spec])
    assert metric.encoders.sequences_encoded == 4
    again = lab.function("en", spec)(texts)
    assert metric.encoders.sequences_encoded == 8
    assert all(isinstance(one, scoring.Scored) and one.values.tolist() == again.tolist() for one in found)


def test_a_short_run_is_timed_three_times(
    failing: type[Failing], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def slow(block: Block) -> bool:
        time.sleep(0.03)  # 6 seconds for 1,000 texts
        return False

    failing.broken = staticmethod(slow)
    asked: dict[str, Any] = {
        "spec": "failing",
        "candidates": ["a b"] * 5,
        "references": ["a c"] * 5,
        "sources": None,
        "run": {},
    }
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(asked)))
    cost.main()
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 3
    assert 6 <= found["seconds_range"][0] <= found["seconds"] <= found["seconds_range"][1]
    assert found["processor"] is None or found["processor"] < found["seconds"]  # it slept


def test_changed_meanings_are_compared_pair_by_pair(tmp_path: Path) -> None:
    places = ["harbour", "old bridge", "village", "garden", "big museum", "station"]
    places += ["theatre", "old school", "library", "new market", "small church", "cinema"]
    rows = [
        (f"The {place} was not open in {1990 + n}, they said.", "It was closed.", n) for n, place in enumerate(places)
    ]
    file = write(tmp_path / "texts.tsv", "reference candidate human", rows)
    found = card(["chrf", "bleu", "overlap"], [file], tmp_path, parts=["perturbations"])["cards"]
    for one in found:
        part = one["parts"]["perturbations"]
        (whole,) = part["overall"]
        assert (whole["control"], whole["group"], whole["texts"]) == ("no-punctuation", "en", 12)
        changed = {row["perturbation"]: row["n"] for row in part["rows"] if not row["preserves"]}
        assert {name: n for name, n in changed.items() if name in ("negation", "numbers", "opposites")} == {
            "negation": 12,
            "numbers": 12,
        }
        assert whole["n"] == 27  # three texts have an opposite, too few for a row of their own
        paired = [test for test in part["tests"] if test["method"].startswith("McNemar")]
        assert {test["b"] for test in paired} == {other["metric"] for other in found} - {one["metric"]}
    board = compare_cards([Card.from_dict(one) for one in found])
    assert [(figure.part, figure.tests["paired"]) for figure in board.figures] == [("perturbations", 3)]


def test_a_column_of_published_scores_has_a_card(tables: dict[str, Path], tmp_path: Path) -> None:
    lines = tables["judged"].read_text().splitlines()
    errors = ["ter", *(str(line.split("\t")[4].count("zzz")) for line in lines[1:])]
    file = tmp_path / "published.tsv"
    file.write_text("\n".join(f"{line}\t{count}" for line, count in zip(lines, errors, strict=True)) + "\n")
    found = card([], [file], tmp_path, columns=["ter"], lower=["ter"], parts=["agreement", "invariance"])
    assert found["of"] == "column"
    assert all(row["value"] > 0.7 for row in found["parts"]["agreement"]["rows"])
    assert found["status"]["invariance"] == {
        "status": "left out",
        "reason": "ter is a column of scores, which nothing can be tried on",
    }


def test_data_without_people_makes_the_rest(tables: dict[str, Path], tmp_path: Path) -> None:
    rows = [line.split("\t")[3:5] for line in tables["judged"].read_text().splitlines()[1:]]
    file = write(tmp_path / "texts.tsv", "reference candidate", rows)
    found = card(["chrf"], [file], tmp_path, parts=["agreement", "languages"])
    assert found["status"]["agreement"]["reason"] == "texts.tsv has no human scores (a column human)"
    assert found["status"]["languages"]["status"] == "made"
    assert found["partial"]


def test_score_against_length_holds_human_scores_equal(tmp_path: Path) -> None:
    draw = np.random.default_rng(8)
    rows: list[tuple[object, ...]] = []
    for segment in range(40):
        words = sentence(draw, int(draw.integers(5, 40)))
        for system in range(3):
            wrong = int(draw.integers(0, 5))
            score = 0.2 * len(words) - wrong + draw.normal()
            text = damaged(draw, words, wrong)
            rows.append((f"s{system}", segment, f"d{segment // 4}", " ".join(words), text, -wrong, f"{score:.3f}"))
    file = write(tmp_path / "long.tsv", "system segment doc reference candidate human m", rows)
    found = card([], [file], tmp_path, columns=["m"], parts=["length"])
    by_side = {row["side"]: row for row in found["parts"]["length"]["rows"]}
    assert set(by_side) == {"candidate", "reference"}
    row = by_side["reference"]
    assert (row["n"], row["clusters"], row["sampled"], row["unit"]) == (120, 10, "document", "words")
    assert row["ci"][0] > 0
    assert row["human_ci"][0] < 0 < row["human_ci"][1]
    tests = found["parts"]["length"]["tests"]
    assert [(test["a"], test["b"], test["n"]) for test in tests] == [("m", "0", 120)] * 2


def test_wrong_input_is_one_line(tables: dict[str, Path], tmp_path: Path, cli: Cli) -> None:
    nothing = write(tmp_path / "nothing.tsv", "one two", [(1, 2)])
    for arguments, message in (
        ([nothing, "--metrics", "chrf"], "nothing.tsv: has the columns one, two, by which a card knows no table"),
        ([tables["judged"], "--metrics", "chrff"], "unknown metric 'chrff'"),
        ([tmp_path / "none.tsv", "--metrics", "chrf"], "none.tsv"),
        ([tables["judged"], "--metrics", "chrf", "--parts", "cots"], "parts: must be 'agreement'"),
        (["--metrics", "chrf", "--lang", "sw"], "the shipped examples hold no texts in sw"),
        ([], "name at least one metric"),
        (["--columns", "humann", tables["judged"]], "no table has a column 'humann'. Near: human."),
        (["--side-by-side", nothing], "nothing.tsv"),
    ):
        out = cli("card", *arguments)
        assert (out.status, out.out) == (2, ""), arguments
        assert message in out.err
        assert out.err.count("\n") == 1


def test_a_limit_draws_whole_segments_of_systems(tables: dict[str, Path], tmp_path: Path) -> None:
    found = card(["chrf"], [tables["judged"]], tmp_path, parts=["agreement"], limit=40)
    assert found["data"][0]["n"] == 40
    rows = [row for row in found["parts"]["agreement"]["rows"] if row["group"] != "average"]
    assert sum(row["n"] for row in rows) == 40
    assert all(row["n"] % 4 == 0 for row in rows)  # every segment that was drawn has all four
    assert any("40 of 120 rows, whole segments" in note for note in found["parts"]["agreement"]["notes"])
    assert not any("share no segment" in note for note in found["parts"]["agreement"]["notes"])


def test_a_folder_is_read_table_by_table(tables: dict[str, Path], tmp_path: Path) -> None:
    folder = tables["judged"].parent
    write(folder / "zz-unknown.tsv", "one two", [(1, 2)])
    found = card(["chrf"], [folder], tmp_path, parts=["challenge"])
    (folder / "zz-unknown.tsv").unlink()
    assert {one["kind"] for one in found["data"]} == set(KINDS)
    assert any(note.startswith("left out: ") and "zz-unknown.tsv" in note for note in found["notes"])


def test_examples_are_marked(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BSX_CACHE", str(tmp_path))
    out = cli("card", "--metrics", "chrf", "--parts", "languages", "--format", "json")
    found = json.loads(out.out)
    assert found["metric"] == "chrf"
    assert all(one["examples"] for one in found["data"])
    assert [row["lang"] for row in found["parts"]["languages"]["measured"]] == ["en", "de"]
    assert "are no evidence" in out.err


def test_pages_are_escaped_and_whole(tables: dict[str, Path], tmp_path: Path, cli: Cli) -> None:
    evil = tmp_path / "<script>.tsv"
    evil.write_text(tables["judged"].read_text())
    for ending in ("html", "md", "txt"):
        out = cli("card", evil, "--metrics", "chrf", "--parts", "languages", "-o", tmp_path / f"card.{ending}")
        assert out.status == 0, out.err
        page = (tmp_path / f"card.{ending}").read_text()
        assert "Languages" in page
        assert ending == "txt" or "<script>.tsv" not in page


def test_cards_side_by_side(tables: dict[str, Path], tmp_path: Path, cli: Cli) -> None:
    how = [tables["plain"], "--parts", "agreement", "-o"]
    for name in ("chrf", "bleu"):
        cli("card", "--metrics", name, *how, tmp_path / f"{name}.json")
    out = cli("card", "--side-by-side", tmp_path / "chrf.json", tmp_path / "bleu.json", "--format", "json")
    board = json.loads(out.out)
    assert board["metrics"] == ["chrf", "bleu"]
    assert {figure["tests"]["intervals"] for figure in board["figures"]} == {1}  # from two runs: nothing paired
    for figure in board["figures"]:
        values = [row["value"] for row in figure["standings"]]
        assert values == sorted(values, reverse=True)
        assert figure["standings"][0]["rank"] == 1
    both = tmp_path / "both.json"
    cli("card", "--metrics", "chrf,bleu", *how, both)
    assert len(read_cards([both])) == 2
    assert {figure.tests["paired"] for figure in compare_cards(read_cards([both])).figures} == {1}
    assert "Figures of all cards" in cli("card", "--side-by-side", both).out


def test_a_card_of_another_version_is_refused(tables: dict[str, Path], tmp_path: Path, cli: Cli) -> None:
    found = card(["chrf"], [tables["plain"]], tmp_path, parts=["agreement"])
    old = tmp_path / "old.json"
    old.write_text(json.dumps({**found, "schema_version": 0}))
    out = cli("card", "--side-by-side", old, old)
    assert out.status == 2
    assert "old.json: is a card of version 0, and this bsx reads version 4" in out.err
    (tmp_path / "new.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match="two cards of chrf"):
        compare_cards(read_cards([tmp_path / "new.json"] * 2))


def test_the_run_knows_its_cards(tables: dict[str, Path], tmp_path: Path) -> None:
    run = metric_card(metrics=["chrf"], tables=[tables["judged"]], store=tmp_path, parts=["languages"])
    assert run["chrf"].metric == "chrf"
    with pytest.raises(UnknownNameError, match="there is no card of 'bleu'"):
        run["bleu"]


def test_cost_is_measured_beside_chrf(tables: dict[str, Path], tmp_path: Path) -> None:
    cost = card(["chrf"], [tables["judged"]], tmp_path, parts=["cost"], timed=10)["parts"]["cost"]
    assert cost["metric"]["seconds"] > 0
    assert cost["metric"]["memory"] > cost["metric"]["memory_before"] > 10
    assert cost["times_chrf"] == 1


def rated_rows(n: int, lps: Sequence[str] = ("de-en",), seed: int = 3) -> list[tuple[object, ...]]:
    draw = np.random.default_rng(seed)
    rows: list[tuple[object, ...]] = []
    for lp in lps:
        for place in range(n):
            words, wrong = sentence(draw), place % 5
            human = f"{-wrong + draw.normal(0, 1):.3f}"
            rows.append((lp, f"d{place // 4}", " ".join(words), damaged(draw, words, wrong), human))
    return rows


HEAD = "lp doc reference candidate human"


def test_no_figure_of_fewer_than_ten_rows_and_a_mark_below_thirty(tmp_path: Path, cli: Cli) -> None:
    rows = [*rated_rows(6, ["de-en"]), *rated_rows(20, ["fr-en"]), *rated_rows(40, ["cs-en"])]
    file = write(tmp_path / "judged.tsv", HEAD, rows)
    out = tmp_path / "card.json"
    assert (
        cli("card", file, "--metrics", "chrf", "--parts", "agreement,sentinels", "--resamples", 50, "-o", out).status
        == 0
    )
    found = json.loads(out.read_text())
    agreement = found["parts"]["agreement"]
    assert {row["group"]: row["n"] for row in agreement["rows"]} == {"fr-en": 20, "cs-en": 40, "average": 60}
    assert any("left out: de-en: 6 rows" in note for note in agreement["notes"])
    assert {test["n"] for test in found["parts"]["sentinels"]["tests"]} == {20, 40, 60}
    text = read_cards([out])[0].to_text(full=True)
    rows_of = text[text.index("Correlation with human judgments") :].partition("\n\n")[0].splitlines()[2:5]
    assert ["‡" in line for line in rows_of] == [True, False, False]  # fr-en, cs-en and their average
    assert "not counted here" in text


def test_nothing_is_left_of_six_rows(tmp_path: Path, cli: Cli) -> None:
    file = write(tmp_path / "judged.tsv", HEAD, rated_rows(6))
    out = tmp_path / "card.json"
    assert cli("card", file, "--metrics", "chrf", "--parts", "agreement,sentinels", "-o", out).status == 0
    found = json.loads(out.read_text())
    assert found["parts"] == {}
    assert "6 rows; a card has no figure of fewer than 10" in found["status"]["agreement"]["reason"]
    end = cli("registry", "evidence", "chrf", "--cards", out, "--registry", tmp_path / "own")
    assert (end.status, end.out, end.err.count("\n")) == (2, "", 1)
    assert "of fewer than 10 items there are none" in end.err
    assert not list((tmp_path / "own").rglob("*.yaml"))


def test_cards_are_compared_on_the_same_rows_only(tables: dict[str, Path], tmp_path: Path) -> None:
    def of(metric: str, **how: Any) -> Card:
        return Card.from_dict(card([metric], [tables["plain"]], tmp_path, parts=["agreement"], **how))

    board = compare_cards([of("chrf", limit=40), of("bleu", limit=40)])
    assert [figure.n for figure in board.figures] == [40]
    for other in (of("bleu", limit=41), of("bleu", limit=40, seed=2)):  # of the same file
        with pytest.raises(InputError, match="share no figure"):
            compare_cards([of("chrf", limit=40), other])


def test_systems_are_the_items_at_their_level(tmp_path: Path) -> None:
    draw = np.random.default_rng(8)
    rows = []
    for segment in range(6):
        words = sentence(draw)
        for system in range(12):
            text, human = damaged(draw, words, system // 2 + segment % 2), -system + draw.normal(0, 1)
            rows.append((f"s{system}", segment, " ".join(words), text, f"{human:.3f}"))
    file = write(tmp_path / "systems.tsv", "system segment reference candidate human", rows)
    run = metric_card(metrics=["chrf"], tables=[file], parts=["agreement"], resamples=50, store=tmp_path / "store")
    assert run.cards[0].parts.agreement is not None
    found = {row.level: (row.n, row.items) for row in run.cards[0].parts.agreement.rows}
    assert found == {"segment": (72, "rows"), "system": (12, "systems")}
    lines = [line for line in run.to_text().splitlines() if line.startswith("agreement")]
    assert ["‡" in line for line in lines] == [False, True]


def test_the_rows_of_a_single_system_are_rows(tmp_path: Path) -> None:
    rows = [(lp, "s1", *rest) for lp, _, *rest in rated_rows(30)]
    file = write(tmp_path / "one.tsv", "lp system reference candidate human", rows)
    found = card(["chrf"], [file], tmp_path, parts=["agreement"])
    assert [(row["level"], row["n"]) for row in found["parts"]["agreement"]["rows"]] == [("segment", 30)]


def test_documents_are_read_and_named_within_language_pairs(tmp_path: Path, cli: Cli) -> None:
    file = write(tmp_path / "judged.tsv", HEAD, rated_rows(24, ["de-en", "fr-en"]))
    found = card(["chrf"], [file], tmp_path, parts=["agreement"])
    assert found["data"][0]["documents"]
    one = write(tmp_path / "one.tsv", HEAD, [(lp, "d", *rest) for lp, _, *rest in rated_rows(24)])
    assert not card(["chrf"], [one], tmp_path, parts=["agreement"])["data"][0].get("documents")
    out = cli("card", one, "--metrics", "chrf", "--document", "doc")
    assert (out.status, out.out, out.err.count("\n")) == (2, "", 1)
    assert "at least 2 documents" in out.err


def test_intervals_say_what_they_speak_about_and_mqm_is_named(tmp_path: Path) -> None:
    rows = [(lp, reference, candidate, human) for lp, _, reference, candidate, human in rated_rows(40)]
    file = write(tmp_path / "judged.tsv", "lp reference candidate mqm", rows)
    run = metric_card(metrics=["chrf"], tables=[file], human="mqm", resamples=50, store=tmp_path / "store")
    text = run.to_text(full=True)
    assert "judged by MQM, which counts errors against the source" in text
    for head in ("Figures of the card", "Correlation with human judgments", "Scores regressed", "What changes"):
        table = "\n\n".join(text[text.index(head) :].split("\n\n")[:3])  # a wide one goes on below
        assert "Intervals speak about" in table, head
