"""Outputs that are no translation: what is found, what is left alone, and how it is counted and told."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import bsx
from bsx.data import writing
from bsx.data.corpus import BREAK, MemoryCorpus, Segment
from bsx.data.outputs import GATES, KINDS, OutputCheck, OutputCounts, look, repeated
from tests.conftest import Outcome
from tests.helpers.tables import write_columns

SOURCES = [
    "The committee will meet again next week to discuss the budget for the coming year.",
    "Several hundred people waited in the rain until the doors were opened at noon.",
    "He said that the old bridge across the river is going to be repaired in spring.",
    "Anna Maria Lopez",
    "My sister has been living in a small village near the coast for three years.",
]
REFERENCES = [
    "Der Ausschuss trifft sich nächste Woche wieder, um über den Haushalt für das kommende Jahr zu beraten.",
    "Mehrere Hundert Menschen warteten im Regen, bis mittags die Türen geöffnet wurden.",
    "Er sagte, dass die alte Brücke über den Fluss im Frühling repariert werden soll.",
    "Anna Maria Lopez",
    "Meine Schwester lebt seit drei Jahren in einem kleinen Dorf in der Nähe der Küste.",
]
FRENCH = "Le comité se réunira de nouveau la semaine prochaine pour discuter du budget de l'année à venir."
RUSSIAN = "Комитет снова соберётся на следующей неделе, чтобы обсудить бюджет на предстоящий год."


def check(language: str | None = "de", script: str | None = "Latn", *, referenced: bool = True) -> OutputCheck:
    """Return what tells outputs into German."""
    given = REFERENCES if referenced else None
    return OutputCheck(MemoryCorpus({"candidate": REFERENCES}, given, SOURCES), language, script)


FAULTS: list[tuple[str, int, tuple[str, ...]]] = [
    ("", 0, ("empty",)),
    (" \u2026 ", 0, ("empty",)),
    (SOURCES[0], 0, ("copy", "language")),
    (SOURCES[0].upper(), 0, ("copy", "language")),
    (SOURCES[0].replace("committee", "Ausschuss"), 0, ("copy", "language")),
    (FRENCH, 0, ("language",)),
    (RUSSIAN, 0, ("script",)),
    (REFERENCES[0] + " und so weiter" * 6, 0, ("loop",)),
    (REFERENCES[0] + " nein" * 9, 0, ("loop",)),
    (REFERENCES[0] + " ha" + "ha" * 20, 0, ("loop",)),
    (REFERENCES[0][:20], 0, ("length",)),
    (" ".join([*REFERENCES[:3], REFERENCES[4]]), 0, ("length",)),
    (REFERENCES[0][:51] + " discuss the budget for the coming year.", 0, ("untranslated",)),
]


@pytest.mark.parametrize("referenced", [True, False])
@pytest.mark.parametrize(("candidate", "place", "kinds"), FAULTS)
def test_a_planted_fault_is_found(candidate: str, place: int, kinds: tuple[str, ...], *, referenced: bool) -> None:
    references = [REFERENCES[place]] if referenced else []
    assert check(referenced=referenced).kinds(candidate, references, SOURCES[place]) == kinds


@pytest.mark.parametrize("referenced", [True, False])
def test_translations_names_and_numbers_are_left_alone(*, referenced: bool) -> None:
    tells = check(referenced=referenced)
    rows = [*zip(REFERENCES, REFERENCES, SOURCES, strict=True), ("12 %", "12 %", "12 %"), ("😀", "😀", "😀")]
    rows += [("Bravo, bravo, bravo!", "Bravo, bravo, bravo!", "Bravo, bravo, bravo!")]
    rows += [("print(x[0], end='')", "print(x[0], end='')", "print(x[0], end='')")]
    for candidate, reference, source in rows:
        assert tells.kinds(candidate, [reference] if referenced else [], source) == ()


def test_what_the_reference_does_too_is_no_fault() -> None:
    tells = check()
    quoted = "„discuss the budget for the coming year“ stand auf dem Schild an der Tür."
    for candidate, references, source in (
        (quoted, [quoted.replace("stand", "las man")], SOURCES[0]),
        ("x" + " bum" * 8, ["y" + " bum" * 8], None),
        (RUSSIAN, [RUSSIAN[:40]], None),
        (FRENCH, [FRENCH.replace("prochaine", "suivante")], None),
        (REFERENCES[0][:25], ["Der Ausschuss tagt."], None),
        ("Ja.", ["Ja, das stimmt."], None),  # short texts vary
        (REFERENCES[0][:20], [REFERENCES[0], "Bald wieder."], SOURCES[0]),
    ):
        assert tells.kinds(candidate, references, source) == (), candidate
    assert tells.kinds(SOURCES[0], [REFERENCES[0], REFERENCES[1]], SOURCES[0]) == ("copy", "language")


def test_a_copy_is_none_where_references_are_made_of_the_source() -> None:
    sources = [f"{first} {second}" for first, second in pairwise(SOURCES)]
    corpus = MemoryCorpus({"candidate": SOURCES[:-1]}, SOURCES[:-1], sources)
    tells = OutputCheck(corpus, "en", "Latn")
    assert tells.kinds(sources[0], [SOURCES[0]], sources[0]) == ()
    assert tells.unchecked == dict.fromkeys(("copy", "untranslated"), "most words of the texts stand in their sources")


def test_letters_of_scripts_without_spaces_count_as_half_words() -> None:
    assert look("我们下周再开会。").words == 3.5
    assert look("we meet, 2 of us").words == 5
    chinese = "委员会将于下周再次开会讨论来年的预算问题。"
    corpus = MemoryCorpus({"candidate": [chinese] * 2}, [chinese] * 2, SOURCES[:2])
    tells = OutputCheck(corpus, "zh", "Hans")
    assert tells.kinds(chinese + "预算问题" * 8, [chinese], SOURCES[0]) == ("loop",)
    assert tells.kinds(SOURCES[0], [chinese], SOURCES[0]) == ("copy", "script")
    assert tells.kinds("委员会将于下周再次开会讨论 Apple Music Documents", [chinese], SOURCES[0]) == ()
    assert tells.kinds("委员", [chinese], SOURCES[0]) == ("length",)


def test_texts_of_any_length_are_looked_at_in_a_moment() -> None:
    tells = check()
    long = " ".join(f"{text} {number}" for number in range(5_000) for text in REFERENCES)
    assert tells.kinds(long, [long], " ".join(SOURCES * 5_000)) == ()
    assert tells.kinds("ab" * 500_000, [REFERENCES[0]], None) == ("loop",)
    assert tells.kinds('."' * 500_000 + " " * 500_000, [REFERENCES[0]], None) == ("empty",)
    assert tells.kinds("\x00\ud800 \u202e", [REFERENCES[0]], SOURCES[0]) == ("length",)
    assert (repeated([]), repeated(list("abcabcabc")), repeated(list("axayaza"))) == (0, 6, 0)


@pytest.mark.parametrize(("asked", "other"), [("hr", "sr"), ("id", "ms"), ("nb", "nn")])
def test_languages_that_sentences_do_not_tell_apart_are_one(asked: str, other: str) -> None:
    corpus = MemoryCorpus({"candidate": ["a"]}, ["a"])
    one, two = OutputCheck(corpus, asked, "Latn"), OutputCheck(corpus, other, "Latn")
    assert one._near == two._near


def test_the_language_is_that_of_the_references_unless_named() -> None:
    tells = check(None, None)
    assert tells.kinds(FRENCH, [REFERENCES[0]], None) == ("language",)
    assert tells.kinds(RUSSIAN, [REFERENCES[0]], None) == ("script",)
    assert tells.references == (0, 0), "they are what was asked for"
    mixed = MemoryCorpus({"candidate": ["a"] * 2}, [FRENCH, RUSSIAN])
    assert OutputCheck(mixed).kinds(SOURCES[0], [FRENCH], None) == ()
    assert "name it with lang" in OutputCheck(mixed).unchecked["wrong-language"]


def test_references_in_another_language_are_told() -> None:
    corpus = MemoryCorpus({"candidate": REFERENCES}, [*REFERENCES[:3], RUSSIAN, FRENCH])
    counts = OutputCounts(OutputCheck(corpus, "de", "Latn"), "German (Latn)")
    assert counts.notes() == ["2 of 5 references are in another language or script than German (Latn)"]


def test_context_is_no_part_of_a_candidate() -> None:
    assert check().kinds(f"{FRENCH}{BREAK}{REFERENCES[0]}", [f"{FRENCH}{BREAK}{REFERENCES[0]}"], SOURCES[0]) == ()
    assert check().kinds(f"{REFERENCES[1]}{BREAK}", [REFERENCES[0]], SOURCES[0]) == ("empty",)


def test_what_cannot_be_checked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = MemoryCorpus({"candidate": REFERENCES}, REFERENCES)
    tells = OutputCheck(corpus, "iu", "Cans")
    assert tells.unchecked["wrong-language"] == "py3langid does not know the language iu"
    assert tells.unchecked["copy"] == "there are no sources to compare the candidates with"
    monkeypatch.setitem(sys.modules, "py3langid", None)
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    counts = OutputCounts(OutputCheck(corpus, "de", "Latn"), "German (Latn)")
    assert counts.check.kinds(FRENCH, [REFERENCES[0]], None) == ()
    (note,) = counts.notes()
    assert note.endswith("[detect]'")
    assert counts.check.unchecked["wrong-language"] in note


def test_a_full_disk_costs_the_language_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    writing._opened.cache_clear()
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    counts = OutputCounts(check())
    monkeypatch.undo()
    counts.add(Segment("1", ("", FRENCH), (REFERENCES[0],), SOURCES[0]), ["one", "two"])
    assert [notice.name for notice in counts.notices()] == ["empty"]
    assert "language of candidates was not checked" in counts.notes()[-1]
    assert "[Errno 28] No space left" in counts.notes()[-1]


def test_counts_are_by_system_with_three_examples() -> None:
    counts = OutputCounts(check())
    for number in range(5):
        counts.add(Segment(f"s{number}", ("", REFERENCES[0]), (REFERENCES[0],), SOURCES[0]), ["one", "two"])
    counts.add(Segment("s5", (SOURCES[0], SOURCES[0] * 2), (REFERENCES[0],), SOURCES[0]), ["one", "two"])
    empty, copied, *foreign, long = counts.notices()
    assert (empty.name, empty.about, empty.values["count"], empty.values["of"]) == ("empty", "one", 5, 6)
    assert [one["segment"] for one in empty.values["examples"]] == ["s0", "s1", "s2"]
    assert (copied.name, copied.about, copied.values["examples"][0]["candidate"]) == ("copy", "one", SOURCES[0][:80])
    assert [notice.about for notice in foreign] == ["one", "two"]
    assert (long.name, long.about) == ("untranslated", "two")
    assert counts.notes()[:2] == [
        "empty candidates: 5 of 6 of one (segments s0, s1, s2, …)",
        "copies of the source: 1 of 6 of one (segment s5)",
    ]
    assert counts.shares("wrong-language") == {"one": (1, 6), "two": (1, 6)}
    assert set(KINDS) == {kind for kinds in GATES.values() for kind in kinds}


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables with two systems, side by side and below each other: one has an empty, a copied and a French output."""
    monkeypatch.chdir(tmp_path)
    bad = ["", SOURCES[1], REFERENCES[2], REFERENCES[3], FRENCH]
    texts = {"source": SOURCES, "reference": REFERENCES}
    write_columns(Path("t.tsv"), {**texts, "good": REFERENCES, "bad": bad})
    below = {
        "system": ["good", "bad"] * 5,
        "candidate": [text for pair in zip(REFERENCES, bad, strict=True) for text in pair],
    }
    below |= {name: [text for text in column for _ in "ab"] for name, column in texts.items()}
    for file, name in (("long.tsv", "id"), ("named.tsv", "sid")):
        write_columns(Path(file), {**below, name: [number for number in range(1, 6) for _ in "ab"]})
    return tmp_path


TOLD = (
    "empty candidates: 1 of 5 of bad (segment 1)",
    "copies of the source: 1 of 5 of bad (segment 2)",
    "candidates in another language: 2 of 5 of bad (segments 2, 5)",
)


@pytest.mark.parametrize(
    "words",
    [
        "score t.tsv --candidate good,bad",
        "score t.tsv --candidate good,bad -o scores.tsv --resume",
        "compare t.tsv --candidate good,bad",
        "evaluate t.tsv --candidate good,bad -o found",
        "score long.tsv",
        "compare named.tsv",  # by the names of segments, not by the numbers of rows
    ],
)
def test_commands_tell_them(words: str, tables: Path, cli: Callable[..., Outcome]) -> None:
    for _ in range(1 + ("--resume" in words)):  # a run that goes on counts all
        done = cli(*words.split(), "--metrics", "chrf", "--lang", "de")
        assert done.status == 0, done.err
        shown = done.err if words.startswith("score") else done.out
        assert all(shown.count(told) == 1 for told in TOLD), shown


def test_results_and_reports_hold_them(tables: Path, cli: Callable[..., Outcome]) -> None:
    texts = ("t.tsv", "--candidate", "good,bad", "--metrics", "chrf", "--lang", "de")
    found = [json.loads(cli(name, *texts, "--format", "json").out)["outputs"] for name in ("score", "compare")]
    assert cli("evaluate", *texts, "-o", "found").status == 0
    found.append(json.loads(Path("found/evaluation.json").read_text(encoding="utf-8"))["outputs"])
    for notices in found:
        assert [(notice["name"], notice["about"], notice["values"]["count"]) for notice in notices] == [
            *(("empty", "bad", 1), ("copy", "bad", 1), ("language", "bad", 2))
        ]
    page = Path("found/report.html").read_text(encoding="utf-8")
    assert f"5: {FRENCH[:40]}".replace("'", "&#39;") in page


def test_sources_that_no_metric_reads_need_not_be_texts(tmp_path: Path, cli: Callable[..., Outcome]) -> None:
    def score(*more: str) -> Outcome:
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return cli("score", file, "--metrics", "chrf", "--lang", "de", *more)

    file = tmp_path / "t.jsonl"
    rows = [{"source": None, "reference": REFERENCES[0], "candidate": REFERENCES[0], "other": REFERENCES[0]}]
    rows += [{"source": SOURCES[1], "reference": REFERENCES[1], "candidate": SOURCES[1], "other": REFERENCES[1]}]
    told = score()
    assert (told.status, "copies of the source: 1 of 2 (segment 2)" in told.err) == (0, True)
    assert score("--source", "source").status == 2
    how: dict[str, Any] = {"metrics": ["chrf"], "lang": "de"}
    found = bsx.compare(str(file), candidate=["candidate", "other"], **how)
    assert [(notice.name, notice.values["count"]) for notice in found.outputs] == [("copy", 1), ("language", 1)]
    named = score("--candidate", "candidate", "--reference", "source")
    assert "line 1, column 'source'" in named.err  # a column that is a reference is not read as sources beside
    rows[0]["source"] = SOURCES[0]
    assert "copies of the source" not in score("--candidate", "source,other").err
    compared = bsx.compare(str(file), candidate=["source", "other"], **how)
    assert "copy" not in [notice.name for notice in compared.outputs]
