"""Every layout of error spans, each by hand and on real data, and what is refused of them."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bsx.analysis.spans.marked import ErrorSpan, MarkedOutput
from bsx.analysis.spans.table import COLUMNS, SpanTable, read_spans, span_scores
from bsx.data.tables import Table
from bsx.errors import InputError, UnknownNameError
from bsx.jobs.spans.judging import spans_found


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join("\t".join(row.split("|")) for row in rows) + "\n", encoding="utf-8")
    return path


def spans(output: MarkedOutput) -> list[tuple[int | None, int | None, str]]:
    return [(one.start, one.end, one.severity) for one in output.spans]


MQM = "system|doc|seg|rater|source|target|category|severity"
SPANS = "system|segment|start|end|severity|candidate"
ESA = "protocol|system|seg|annotator|start|end|text|severity|error_type"
TEXTS = "system|seg|doc|candidate"
WMT = "doc_id|segment_id|system_id|hypothesis_segment|start_indices|end_indices|error_types|set_id"


def test_mqm_markup(tmp_path: Path) -> None:
    file = write(
        tmp_path / "m.tsv",
        MQM,
        "A|d|1|r|a source|an <v>old</v> cat|Accuracy/Mistranslation|Major",
        "A|d|1|r|a <v>source</v>|an old cat|Accuracy/Omission|minor",
        "A|d|1|r|a source|an old cat|Non-translation!|Major",
        "A|d|2|r|b|😀 <v>x|Style|Minor",
        "A|d|3|r|c|fine|No-error|No-error",
    )
    table = read_spans(file)
    assert (table.layout, table.annotators) == ("mqm", ("r",))
    one, two, three = table.outputs
    assert (one.candidate, one.source, one.document) == ("an old cat", "a source", "d")
    assert one.spans == (
        ErrorSpan("candidate", 3, 6, "major", "Accuracy/Mistranslation"),
        ErrorSpan("source", 2, 8, "minor", "Accuracy/Omission"),
        ErrorSpan("candidate", None, None, "major", "Non-translation"),
    )
    assert spans(two) == [(2, 3, "minor")]  # in code points, up to the end: the mark is not closed
    assert three.spans == ()
    assert len(table.notes) == 1


def test_esa_ends_inclusively_and_pre_filled_spans_do_not(tmp_path: Path) -> None:
    texts = write(tmp_path / "t.tsv", TEXTS, "A|1|d|the old cat", "A|2|d|two")
    rows = [f"{p}|A|{s}|x" for p in ("ESA-1", "ESAAI-1", "ESAAI-2") for s in (1, 2)]
    judged = write(tmp_path / "j.tsv", "protocol|system|seg|annotator", *rows)
    file = write(
        tmp_path / "e.tsv",
        ESA,
        "ESA-1|A|1|x|4|6|old|major|",
        "ESA-1|A|1|x|missing|missing||minor|",
        "ESAAI-1|A|1|y|4|7|old |major|",  # behind a word: kept as it was pre-filled
        "ESAAI-1|A|1|y|0|2|the|minor|",  # a mark of one's own
        "ESAAI-1|A|1|y|1|9|he old ca|minor|",  # alike in two protocols: pre-filled
        "ESAAI-2|A|1|z|1|9|he old ca|minor|",
        "ESAAI-1|A|1|y|8|11|cat|minor|",
        "ESAAI-1|A|1|y|11|18||major|",  # MISSING, which the interface shows behind the text
    )
    table = read_spans(file, texts=texts, judged=judged)
    found = {(one.annotator, one.segment): spans(one) for one in table.outputs}
    assert len(found) == 6
    assert found["ESA-1", "1"] == [(4, 7, "major"), (None, None, "minor")]
    assert found["ESAAI-1", "1"] == [
        *[(4, 7, "major"), (0, 3, "minor"), (1, 9, "minor"), (8, 11, "minor"), (None, None, "major")]
    ]
    assert found["ESAAI-2", "1"] == [(1, 9, "minor")]
    assert found["ESA-1", "2"] == []
    assert table.outputs[0].document == "d"


def test_a_text_that_is_not_at_its_place_counts_more_than_the_place(tmp_path: Path) -> None:
    texts = write(tmp_path / "t.tsv", "system|doc|seg|annotator|candidate", "A|d|1|r|l'or du lac", "A|d|2|r|fin")
    file = write(
        tmp_path / "b.tsv",
        "system|doc|seg|annotator|start|end|text|category|severity",
        r"A|d|1|r|0|4|l\'or|Spelling|Neutral",
        "A|d|1|r|0|2|lac|Wrong term|Critical",
        "A|d|1|r|5|4||Punctuation|Minor",
    )
    table = read_spans(file, texts=texts)
    one, two = table.outputs
    assert spans(one) == [(0, 4, "neutral"), (8, 11, "critical"), (None, None, "minor")]
    assert two.spans == ()
    assert len(table.notes) == 3


def test_spans_of_indicmt_are_found_by_their_text(tmp_path: Path) -> None:
    texts = write(tmp_path / "t.tsv", "id|system|candidate", "1||a cat and a dog", "2|B|x")
    file = write(
        tmp_path / "i.tsv",
        "id|span|category|severity|text|start|end",
        "1|0|Fluency_Grammar|Very High|a|3|3",
        "1|1|Accuracy_Omission|Low|un chat|0|1",
        "1|2|Style|Default|dog|9|9",
    )
    one, two = read_spans(file, texts=texts).outputs
    assert spans(one) == [(10, 11, "major"), (None, None, "minor"), (12, 15, "undecided")]
    assert (two.system, two.spans) == ("B", ())
    (other, _) = read_spans(file, texts=texts, severities=["Very High=minor"]).outputs
    assert other.spans[0].severity == "minor"


def test_the_layouts_of_wmt(tmp_path: Path) -> None:
    file = write(
        tmp_path / "w.tsv",
        WMT,
        "d|1|A|an old cat|3 missing|6 missing|major minor|official",
        '"d"|2|A|"a ""b"""|-1|-1|no-error|official',
        "d|3|A|other|0|1|minor|challenge",
    )
    table = read_spans(file)
    assert [spans(one) for one in table.outputs] == [[(3, 6, "major"), (None, None, "minor")], []]
    assert table.outputs[1].candidate == 'a "b"'
    assert len(table.notes) == 1
    errors = [{"start": 1, "end": 3, "severity": "major", "category": "x"}]
    systems = {"A": {"errors": errors, "omission": None}, "B": {"errors": [], "omission": "minor"}}
    line = {"item_id": "official_###_eng_###_deu_###_news_###_doc_###_4", "task1_pred": systems}
    (tmp_path / "w.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    one, two = read_spans(tmp_path / "w.jsonl").outputs
    assert (one.system, one.segment, spans(one)) == ("A", "4", [(1, 3, "major")])
    assert (two.system, spans(two)) == ("B", [(None, None, "minor")])


def test_what_xcomet_writes(tmp_path: Path) -> None:
    errors = [{"text": "old", "confidence": 0.4, "severity": "critical", "start": 3, "end": 6}]
    rows = [{"src": "s", "mt": "an old cat", "COMET": 0.5, "errors": errors}, {"src": "s", "mt": "b", "COMET": 1.0}]
    (tmp_path / "x.json").write_text(json.dumps({"outputs/A.de.txt": rows}), encoding="utf-8")
    one, two = read_spans(tmp_path / "x.json").outputs
    assert (one.system, one.segment, spans(one)) == ("A.de", "1", [(3, 6, "critical")])
    assert (two.segment, two.spans) == ("2", ())


def test_the_own_table_holds_every_other(tmp_path: Path) -> None:
    file = write(tmp_path / "m.tsv", MQM, "A|d|1|r|a|an <v>old</v> cat|Style|Major", "A|d|2|r|b|x|No-error|No-error")
    read = read_spans(file)
    with (tmp_path / "own.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(read.rows())
    own = read_spans(tmp_path / "own.csv")
    assert own.layout == "spans"
    assert [vars(one) | {"where": ""} for one in own.outputs] == [vars(one) | {"where": ""} for one in read.outputs]


def test_overlapping_spans_of_one_annotator_both_count_and_are_told(tmp_path: Path) -> None:
    file = write(tmp_path / "s.tsv", SPANS, "A|1|0|4|minor|a text", "A|1|2|6|major|a text")
    table = read_spans(file)
    assert spans(table.outputs[0]) == [(0, 4, "minor"), (2, 6, "major")]
    assert ["overlap" in note for note in table.notes] == [True]


def test_offsets_as_pandas_writes_them(tmp_path: Path) -> None:
    # A column of whole numbers with a missing one is a column of floats there.
    file = tmp_path / "s.jsonl"
    rows = [{"segment": "1", "start": 4.0, "end": 7.0, "severity": "minor"}]
    rows += [{"segment": "2", "start": float("nan"), "end": None, "severity": "no-error"}]
    rows += [{"segment": "3", "start": float("nan"), "end": float("nan"), "severity": "major"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert [spans(one) for one in read_spans(file).outputs] == [[(4, 7, "minor")], [], [(None, None, "major")]]


@pytest.mark.parametrize(
    "document",
    [
        {"A.txt": [{"mt": "a text", "errors": 5}]},
        {"A.txt": {"mt": "a text"}},
        {"A.txt": [1]},
    ],
)
def test_documents_of_other_shapes_are_refused(document: object, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError):
        read_spans(file)


WRONG = {
    "outside": ([SPANS, "A|1|2|9|minor|a text"], "line 2", "2 to 9"),
    "reversed": ([SPANS, "A|1|4|2|minor|a text"], "line 2", "4 to 2"),
    "before": ([SPANS, "A|1|-2|2|minor|a text"], "line 2", "-2 to 2"),
    "severity": ([SPANS, "A|1|0|2|bad|a text"], "line 2", "'bad'"),
    "number": ([SPANS, "A|1|0|two|minor|a text"], "line 2", "'two'"),
    "text": ([SPANS, "A|1|0|2|minor|a text", "A|1|0|2|minor|another"], "line 3", "'another'"),
    "side": ([f"{SPANS}|side", "A|1|0|2|minor|a text|left"], "line 2", "'left'"),
    "nested marks": ([MQM, "A|d|1|r|s|a <v>b <v>c</v>|Style|Minor"], "line 2", "<v>"),
    "lists": ([WMT, "d|1|A|text|0 1|2|minor|official"], "line 2", "2, 1, 1"),
    "layout": (["system|segment|score", "A|1|3"], "s.tsv", "score"),
    "without texts": ([ESA, "ESA-1|A|1|x|4|6|old|major|"], "s.tsv", "texts"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_used_is_one_line_with_its_place_and_value(name: str, tmp_path: Path) -> None:
    rows, place, value = WRONG[name]
    file = write(tmp_path / "s.tsv", *rows)
    with pytest.raises(InputError) as raised:
        read_spans(file)
    said = str(raised.value)
    assert (place in said, value in said, "\n" in said) == (True, True, False), said
    if place.startswith("line") and len(rows) < 3:
        kept = write(tmp_path / "k.tsv", *rows, rows[1].replace("|1|", "|2|", 1).replace("9", "4"))
        assert isinstance(_skipped(kept), SpanTable | InputError)


def _skipped(file: Path) -> SpanTable | InputError:
    try:
        table = read_spans(file, skip_malformed=True)
    except InputError as error:
        return error
    assert table.problems
    return table


def test_what_stands_beside_must_fit(tmp_path: Path) -> None:
    texts = write(tmp_path / "t.tsv", TEXTS, "A|1|d|the old cat")
    file = write(tmp_path / "e.tsv", ESA, "ESA-1|A|1|x|4|6|old|major|")
    with pytest.raises(InputError) as raised:
        read_spans(file, texts=texts)
    assert raised.value.setting == "judged"
    other = write(tmp_path / "j.tsv", "protocol|system|seg", "ESA-1|B|1")
    with pytest.raises(InputError, match=r"j\.tsv: line 2.*'B'"):
        read_spans(file, texts=texts, judged=other)
    judged = write(tmp_path / "k.tsv", "protocol|system|seg", "ESA-2|A|1")
    with pytest.raises(InputError, match=r"e\.tsv: line 2.*'ESA-1'"):
        read_spans(file, texts=texts, judged=judged)
    with pytest.raises(UnknownNameError):
        read_spans(write(tmp_path / "b.tsv", "system|start|end|severity", "A|1|2|minor"))


def rows_of(file: Path) -> Iterator[dict[str, str]]:
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)


@pytest.mark.slow
def test_mqm_of_ted_talks_gives_the_published_scores(shared: Path) -> None:
    """Scores from the spans alone are those that Google published."""
    table = read_spans(shared / "data" / "mqm" / "ted-en-de.spans.tsv")
    published = {(r["system"], r["seg"]): float(r["mqm"]) for r in rows_of(shared / "data/mqm/ted-en-de.avg.tsv")}
    assert len(table.outputs) == len(published) == 7406
    for row in span_scores([table]):
        system = "ref-A" if row["system"] == "ref" else str(row["system"])
        (score,) = (value for value in (row[who or table.name] for who in table.annotators) if value is not None)
        assert isinstance(score, float)
        assert abs(published[system, str(row["segment"])] - score) < 0.006, row  # printed with few digits


def test_spans_as_scores(tmp_path: Path) -> None:
    marked = write(
        tmp_path / "people.tsv",
        f"{SPANS}|annotator|category",
        "A|1|0|3|minor|one two|ann|",
        "A|1|4|7|major|one two|ann|",
        "A|1|3|4|minor|one two|bob|Fluency/Punctuation",
        "A|2|||no-error|three|ann|",
    )
    table = read_spans(marked)
    own = {"system": "A", "document": ""}
    assert span_scores([table]) == [
        own | {"segment": "1", "ann": -6.0, "ann majors": 1, "bob": -0.1, "bob majors": 0},
        own | {"segment": "2", "ann": 0.0, "ann majors": 0, "bob": None, "bob majors": None},
    ]
    with pytest.raises(InputError, match="two annotators are called 'ann'"):
        span_scores([table, table])
    for out in (tmp_path / "s.tsv", tmp_path / "s.parquet"):
        spans_found(table=str(marked), gold=["ann"], as_predicted=["bob"], scores_out=out, resamples=20)
        assert Table(out).columns[3:] == ["ann", "ann majors", "bob", "bob majors"]


def test_esa_gives_the_texts_that_the_data_names(shared: Path) -> None:
    """Spans of people cut the text that the file gives beside them; MQM-1's scores follow from the spans."""
    data = shared / "data"
    file = data / "esa" / "en-de.spans.tsv"
    table = read_spans(file, texts=data / "wmt23/en-de.texts.tsv.gz", judged=data / "esa/en-de.annotations.tsv")
    assert len(table.outputs) == 16_418
    assert sum(len(one.spans) for one in table.outputs) == 17_002
    cut = Counter(
        (one.annotator, one.system, one.segment, (one.candidate or "")[span.start : span.end])
        for one in table.outputs
        for span in one.spans
        if span.start is not None and not one.annotator.startswith("ESAAI")
    )
    told = Counter(
        (row["protocol"], row["system"], row["seg"], row["text"])
        for row in rows_of(file)
        if row["start"] != "missing" and not row["protocol"].startswith("ESAAI")
    )
    assert cut == told
    prefilled = [one for one in table.outputs if one.annotator.startswith("ESAAI")]
    assert sum(span.start is None for one in prefilled for span in one.spans) == 343 + 356 + 129 + 599


@pytest.mark.parametrize("pair", ["de-en", "en-ru", "en-zh"])
def test_biomedical_spans_cut_the_texts_beside_them(pair: str, shared: Path) -> None:
    folder = shared / "data" / "biomqm"
    table = read_spans(folder / f"{pair}.spans.tsv", texts=folder / f"{pair}.tsv")
    told = Counter(row["text"].replace("\\'", "'") for row in rows_of(folder / f"{pair}.spans.tsv") if row["text"])
    cut = Counter(
        (one.candidate or "")[span.start : span.end]
        for one in table.outputs
        for span in one.spans
        if span.start is not None
    )
    assert cut == told
    assert len(table.outputs) == sum(1 for _ in rows_of(folder / f"{pair}.tsv"))


def test_two_texts_under_one_name_are_refused_or_listed(shared: Path) -> None:
    """16 outputs of the French set share system, document, segment and annotator with another text."""
    folder = shared / "data" / "biomqm"
    with pytest.raises(InputError, match=r"en-fr\.tsv: line 124"):
        read_spans(folder / "en-fr.spans.tsv", texts=folder / "en-fr.tsv")
    table = read_spans(folder / "en-fr.spans.tsv", texts=folder / "en-fr.tsv", skip_malformed=True)
    assert len(table.outputs) == 1520
    assert 16 <= len(table.problems) < 40


@pytest.mark.parametrize("lang", ["hi", "mr", "ta"])
def test_indic_spans_stand_in_their_candidates(lang: str, shared: Path) -> None:
    folder = shared / "data" / "indicmt"
    table = read_spans(folder / f"{lang}.spans.tsv", texts=folder / f"{lang}.tsv")
    told = list(rows_of(folder / f"{lang}.spans.tsv"))
    assert sum(len(one.spans) for one in table.outputs) == len(told)
    texts = {row["text"].strip() for row in told}
    cut = [
        (one.candidate or "")[span.start : span.end]
        for one in table.outputs
        for span in one.spans
        if span.start is not None
    ]
    assert set(cut) <= texts
    assert len(cut) > 0.85 * len(told)  # the rest are omissions, whose text is the source's
