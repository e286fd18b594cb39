"""What a report says, against the documents it is made of; what it refuses; Markdown."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bsx.analysis.meta.show import TESTS
from bsx.analysis.present.cells import number
from bsx.analysis.present.parts import Chart, Example, Heading, Part, Prose, Section, Segments, TablePart
from bsx.analysis.present.words import differing
from bsx.analysis.report.build import _grid, build_report
from bsx.analysis.report.documents import Document, TableColumns, parse_document, read_document
from bsx.analysis.report.result import Report, chart_library, kept_library
from bsx.errors import InputError
from tests.conftest import Cli
from tests.helpers import report_samples as samples
from tests.helpers.markup import Tags
from tests.helpers.tables import write_lines

Change = Callable[[dict[str, Any]], Any]
Kind = TypeVar("Kind", bound=Part)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return samples.write(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="module")
def report(files: list[Path]) -> Report:
    return build_report([read_document(file) for file in files])


def section(report: Report, name: str) -> Section:
    return next(section for section in report.sections if section.id == name)


def blocks(report: Report, place: str, kind: type[Kind]) -> list[Kind]:
    """Return what a section has of a kind."""
    return [block for block in section(report, place).blocks if isinstance(block, kind)]


def table(report: Report, place: str, caption: str) -> TablePart:
    return next(part for part in blocks(report, place, TablePart) if part.caption.startswith(caption))


def values(found: TablePart) -> list[list[object]]:
    return [[cell.value for cell in row] for row in found.rows]


def test_sections_come_in_the_order_of_an_argument(report: Report) -> None:
    order = ["scored", "agreement", "systems", "factors", "robustness", "ensembles", "segments", "repeat"]
    assert [section.id for section in report.sections] == order


def test_a_report_has_only_what_it_was_given() -> None:
    only = build_report([read_only("ensemble")])
    assert [found.id for found in only.sections] == ["ensembles", "scored", "repeat"]  # the answer comes first
    assert (section(only, "scored").title, section(only, "scored").lead) == ("Signatures", "")
    with pytest.raises(InputError, match="at least one"):
        build_report([])


def read_only(kind: str, change: Change = lambda _: None) -> Any:
    content = getattr(samples, kind)()
    change(content)
    return Document(f"{kind}.json", None, parse_document(content, f"{kind}.json"))


def test_agreement_is_what_the_document_says(report: Report) -> None:
    content = samples.meta()
    best, *others = content["average"]["metrics"]
    means = [number(one["value"]).text for one in (best, *others)]
    lead = section(report, "agreement").lead
    assert lead.startswith(f"bertscore agrees best with human: Pearson's r {means[0]} [")
    assert f"3 groups (600 rows), significantly better than chrf ({means[1]}) and sentbleu ({means[2]})" in lead
    tables = blocks(report, "agreement", TablePart)
    shown = values(next(one for one in tables if one.caption.startswith("Pearson's r with human by group")))
    for row, average in zip(shown, content["average"]["metrics"], strict=True):
        figures = [
            next(m["value"] for m in group["metrics"] if m["metric"] == average["metric"])
            for group in content["groups"]
        ]
        assert row == [average["metric"], *figures, average["value"], average["ci"][0], average["wins"]]
    matrix: Any = next(b for b in blocks(report, "agreement", Chart) if b.title == TESTS)
    cells = [cell["text"] for cell in matrix.panels[0][1]["data"]["values"]]
    assert cells[:3] == ["", "2", "3"]  # counted by hand; after Holm, p in zh-en is .063


def test_factor_profiles_are_what_the_document_says(report: Report) -> None:
    content = samples.disentangle()
    shown = table(report, "factors", "Coefficients with 95 % intervals")
    expected = [
        [fit["metric"], factor, fit["coef"][factor], fit["ci"][factor][0], fit["p_adjusted"][factor]]
        for fit in content["results"]
        for factor in content["factors"]
    ]
    assert values(shown) == expected
    marks = [row[2].mark for row in shown.rows]
    assert marks == ["†" * fit["significant"][f] for fit in content["results"] for f in content["factors"]]
    fit = content["results"][1]
    shares = values(table(report, "factors", "Shares of R², and R² with its 95 % interval"))[1]
    assert shares == ["chrf", *fit["r2_share"].values(), fit["r2"], fit["adj_r2"], fit["r2_out"]]
    lead = section(report, "factors").lead
    assert lead.startswith(f"On {content['n']:,} rows, bertscore rises with")


def test_robustness_is_what_the_documents_say(report: Report) -> None:
    shown = table(report, "robustness", "Share of triples in which the paraphrase scores higher, n = 60")
    assert [row[1:4] for row in values(shown)] == [[24, 0, 0.4], [3, 0, 0.05], [0, 0, 0.0]]
    drops = table(report, "robustness", "All drops")
    assert len(drops.rows) == len(samples.perturb()["results"])
    changed = table(report, "robustness", "Relative drop where the meaning changes: should be large; n = 480 texts")
    assert [row[0].text for row in changed.rows][:4] == ["typos 0.1", "typos 0.3", "typos 0.5", "negation"]
    # Darker means a larger drop.
    shades = [[cell.heat for cell in row[1:] if cell.heat is not None] for row in changed.rows[:3]]
    assert [len(row) for row in shades] == [len(row) - 1 for row in changed.rows[:3]]
    assert all(a <= b for row, below in pairwise(shades) for a, b in zip(row, below, strict=True))


def test_metrics_fooled_by_the_same_triple_share_an_example(report: Report) -> None:
    examples = blocks(report, "robustness", Example)
    titles = [example.title for example in examples]
    assert titles[:2] == [f"Row {row}: bertscore, chrf and sentbleu prefer the non-paraphrase" for row in (1, 2)]
    marked = ["".join(run.text for run in runs if run.differs) for _, runs in examples[1].texts]
    assert marked == ["", "Departureofourcoachis7am.", "eleven"]


def test_alignments_have_an_end(files: list[Path]) -> None:
    calls = []

    def align(candidate: str, reference: str) -> dict[str, Any]:
        calls.append((candidate, reference))
        raise InputError("the candidate has no content to align")

    made = build_report([read_document(file) for file in files], align=align, examples=1)
    # One triple, its paraphrase and its non-paraphrase each against the anchor, and one perturbed text.
    assert len(calls) == 3
    assert calls[0] == (samples.TRIPLES[0][1], samples.TRIPLES[0][0])
    text = made.to_markdown()
    assert "No alignment of paraphrase: the candidate has no content to align" in text


def test_tokens_that_weigh_nothing_are_shown_only_where_they_are_a_match() -> None:
    weights = {"candidate": [("[CLS]", 0.0, 0), ("cat", 1.0, 2), (".", 0.0, 1)]}
    weights["reference"] = [("[CLS]", 0.0, 0), ("a", 0.0, 1), ("dog", 0.0, 1), ("!", 2.0, 2)]
    alignment: dict[str, Any] = {
        side: {"tokens": [{"token": token, "weight": weight, "match": match} for token, weight, match in tokens]}
        for side, tokens in weights.items()
    }
    alignment |= {"cosines": [[10 * row + column for column in range(4)] for row in range(3)]}
    grid = _grid("it", alignment | dict.fromkeys(("precision", "recall", "f1"), 0.5))
    assert (grid.rows, grid.columns) == (("cat", "."), ("dog", "!"))
    assert grid.cosines == ((12.0, 13.0), (22.0, 23.0))
    assert (grid.row_match, grid.column_match) == ((0, -1), (-1, 1))


def test_alignments_by_the_embedded_model(minilm: Any, files: list[Path]) -> None:
    triples = next(file for file in files if file.stem == "triples")

    align = lambda candidate, reference: minilm.align(candidate, reference).to_dict()  # noqa: E731
    made = build_report([read_document(triples)], align=align, examples=1)
    grid = blocks(made, "robustness", Example)[0].alignments[1]
    assert grid.rows[:4] == ("the", "parents", "praised", "the")
    assert grid.columns[grid.row_match[1]] == "parents"
    assert grid.row_match[1] == grid.columns.index("parents")
    assert f"metric:{'bertscore'}" in made.to_markdown().replace("\\", "")


def test_a_headline_says_how_many_changes_of_meaning_cost_more_than_a_harmless_one(report: Report) -> None:
    found = section(report, "robustness")
    assert "of the changes of meaning, 7 of 7 under bertscore" in found.lead
    assert "on 60 triples" in found.lead
    assert len(re.findall(r"\.(?=\s|$)", found.lead)) == 1  # one sentence, and no figure but counts and p-values
    assert not re.search(r"\d %|\[", found.lead)
    first = found.blocks[0]
    assert isinstance(first, TablePart)
    assert [row[0].text for row in first.rows] == list(samples.METRICS)
    assert len(first.columns) == 4  # triples, pairs, and of perturbations the count
    assert first.rows[0][3].text == "7 of 7"

    def few(content: dict[str, Any]) -> None:
        for row in content["results"]:
            row["n"] = 19

    made = build_report([read_only("perturb", few), read_only("triples", few), read_only("pairs", few)])
    assert section(made, "robustness").lead.count("too few to judge by") == 2
    small = [
        read_only("meta", lambda d: [group.update(n=6) for group in d["groups"]]),
        read_only("disentangle", lambda d: d.update(n=19)),
        read_only("ensemble", lambda d: [group.update(n=6) for group in d["groups"]]),
    ]
    for name, rows in (("agreement", 18), ("factors", 19), ("ensembles", 18)):
        assert section(build_report(small), name).lead.startswith(f"{rows} rows are too few to say ")


def test_drops_have_a_chart_with_intervals_on_the_metrics_own_scale(report: Report) -> None:
    chart = next(b for b in blocks(report, "robustness", Chart) if "meaning" in b.title)
    layers: Any = chart.panels[0][1]["data"]
    shown = {(row["row"], row["name"]): row for row in layers["values"]}
    result = next(r for r in samples.perturb()["results"] if (r["metric"], r["perturbation"]) == ("chrf", "negation"))
    scale = result["drop"] / result["relative_drop"]
    row = shown["negation", "chrf"]
    assert row["value"] == result["relative_drop"]
    assert [row["low"], row["high"]] == pytest.approx([end / scale for end in result["ci"]])
    names = ["lower case (meaning kept)", "typos 0.1", "negation", "word drop 0.1"]
    assert list(dict.fromkeys(name for name, _ in shown)) == names


def test_groups_are_one_chart_and_one_table_with_their_test(report: Report) -> None:
    charts = blocks(report, "factors", Chart)
    forest = next(chart for chart in charts if chart.title.endswith("group by group"))
    assert [title for title, _ in forest.panels] == ["sem", "syn", "lex"]
    shown = table(report, "factors", "Coefficients by group")
    content = samples.disentangle()
    heads = [f"{name} (n = {part['n']})" for name, part in content["groups"].items()]
    assert shown.columns == ("metric", "factor", "all (n = 300)", *heads, "p: the same", "p: the same slope")
    parts = [content, *content["groups"].values()]
    coefficients = [part["results"][0]["coef"]["sem"] for part in parts]
    test = content["pooled"][0]
    assert values(shown)[0] == ["bertscore", "sem", *coefficients, test["by_factor"]["sem"], test["slopes"]["sem"]]
    assert values(shown)[3][:3] == ["bertscore", "R²", content["results"][0]["r2"]]
    pooled = table(report, "factors", "Do the groups share all their coefficients, each on its own scale? (Chow test)")
    assert values(pooled)[0] == ["bertscore", test["statistic"], test["df1"], test["df2"], test["p"], test["p_slopes"]]
    assert "Do the groups share all their coefficients" in report.to_html()


def test_parts_are_headed_by_what_they_show() -> None:
    several = [read_only(kind) for kind in ("meta", "disentangle", "triples", "ensemble", "compare") for _ in range(2)]
    other = read_only("meta", lambda d: d.update(headline="kendall"))
    parts = [block for part in build_report([*several, other]).sections for block in part.blocks]
    heads = [part.text for part in parts if isinstance(part, Heading)]
    assert heads.count("meta.json") == 3
    named = ("disentangle.json", "compare.json", "ensemble.json", "triples.json", "meta.json")
    assert not any(head.endswith(".json") for head in heads if head not in named)


def test_examples_beyond_the_third_are_folded() -> None:
    def more(content: dict[str, Any]) -> None:
        content["worst"] = [{**content["worst"][0], "row": row, "anchor": f"A {row}"} for row in range(1, 6)]

    examples = blocks(build_report([read_only("triples", more)]), "robustness", Example)
    assert [example.folded for example in examples] == [False, False, False, True, True]


def test_ensembles_are_what_the_document_says(report: Report) -> None:
    shown = values(table(report, "ensembles", "Agreement of members and ensemble"))
    first = samples.ensemble()["groups"][0]
    assert shown[0] == ["cs-en", 200, *first["members"].values(), first["ensemble"]]
    gains = blocks(report, "ensembles", TablePart)[0]
    expected = [first[name] for name in ("best_r", "ensemble", "gain")]
    assert values(gains)[0] == ["cs-en", "bertscore", 200, *expected, first["tests"]["williams"]["p"]]
    assert "significantly better than the best of them alone" in section(report, "ensembles").lead


def test_the_segments_are_all_there_with_their_own_systems_text(report: Report) -> None:
    found = blocks(report, "segments", Segments)[0]
    rows, _ = samples.scores()
    assert found.columns[:4] == ("id", "system", "candidate", "reference")
    assert [row[2] for row in found.rows] == [row[row["system"]] for row in rows]
    assert found.category == 1
    assert [found.columns[place] for place in found.hidden] == ["domain"]
    assert found.columns[-1] == "domain"  # behind the metrics


def test_how_to_repeat_it(report: Report, files: list[Path]) -> None:
    import hashlib

    inputs = table(report, "repeat", "Inputs of this report")
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    assert [row[3].text for row in inputs.rows] == digests
    assert [row[2].text for row in inputs.rows] == ["–", "1", "1", "1", "–", "–", "1", "1"]
    assert "all" in [row[2].text for row in table(report, "repeat", "Versions").rows]
    shown = table(report, "repeat", "Settings of the results")
    assert shown.folded
    of = {row[0].text: row[1].text for row in shown.rows}
    assert "statistic pearson" in of["meta.json"]
    assert "correction none" not in of["meta.json"]
    text = report.to_markdown()
    assert "bsx adversarial triples table.tsv --format json" in text
    assert "1b" * 32 in text
    assert "Settings:" not in text
    assert "*Does the metric prefer the paraphrase?* " in text
    assert "?." not in text


def test_every_chart_has_words_and_a_table_after_it(report: Report) -> None:
    for part in report.sections:
        for place, block in enumerate(part.blocks):
            if isinstance(block, Chart):
                assert len(block.alt) > 40
                assert any(isinstance(later, TablePart) for later in part.blocks[place:])


# What bsx cannot use, and how it says so.
WRONG: list[tuple[str, Change, str]] = [
    ("meta", lambda d: d.pop("headline"), "meta.json: headline: is missing"),
    ("meta", lambda d: d["groups"][1]["metrics"][0].pop("ci"), "meta.json: groups.1.metrics.0.ci: is missing"),
    ("triples", lambda d: d["results"][0].update(rate="high"), "triples.json: results.0.rate: .*not 'high'"),
    ("triples", lambda d: d["worst"][0].pop("anchor"), "triples.json: worst.0.anchor: is missing"),
    ("perturb", lambda d: d["results"][3].pop("preserves"), "perturb.json: results.3.preserves: is missing"),
    ("ensemble", lambda d: d.update(groups={}), "ensemble.json: groups: .*tuple"),
    ("pairs", lambda d: d["provenance"].update(kind="poetry"), "kind is 'poetry'; a report knows adversarial-"),
    ("pairs", lambda d: d["provenance"].update(kind="score"), "give the table itself"),
    ("challenge", lambda d: d["metrics"].clear(), "metrics: dictionary should have at least 1 item"),
    ("compare", lambda d: d["provenance"].pop("command"), "compare.json: provenance.command: is missing"),
    ("disentangle", lambda d: d.pop("provenance"), "disentangle.json: has no key 'provenance'"),
]


@pytest.mark.parametrize(("kind", "change", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_a_broken_document_is_named_with_its_key(kind: str, change: Change, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_only(kind, change)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "a.json: is not JSON"),
        ("a.json", "[1]", "a.json: has no key 'provenance'"),
        ("a.json", "", "a.json: is empty"),
        ("a.txt", "x", "a.txt: is neither a table of scores"),
        ("a.tsv", "id\tf1\n1\n", "a.tsv: line 2 has 1 fields, 2 are due"),
        ("a.tsv", "id\tf1\n", "a.tsv: has no rows"),
    ],
)
def test_a_broken_file_ends_with_one_line_and_nothing_written(
    cli: Cli, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    out = cli("report", tmp_path / name, "-o", tmp_path / "out.html")
    assert (out.status, out.out) == (2, "")
    assert message in out.err
    assert len(out.err.splitlines()) == 1
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_broken_sidecar_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\tf1\n1\t0.5\n")
    (tmp_path / "a.tsv.signatures.json").write_text('{"metrics": [{"metric": "f1"}]}')
    with pytest.raises(InputError, match=r"a.tsv.signatures.json: metrics.0.higher_is_better: is missing"):
        read_document(tmp_path / "a.tsv")


def test_unclear_or_unwritable_outputs_are_errors(cli: Cli, files: list[Path], tmp_path: Path) -> None:
    assert "must end in .html or .md" in cli("report", files[1], "-o", tmp_path / "out.pdf").err
    assert "does not exist" in cli("report", files[1], "-o", tmp_path / "no" / "out.md").err
    assert cli("report", files[1], "-o", tmp_path / "out.txt", "--format", "markdown").status == 0
    assert (tmp_path / "out.txt").read_text().startswith("# Evaluation report")


def test_what_the_commands_print_can_be_reported(cli: Cli, tmp_path: Path) -> None:
    from importlib.resources import files

    texts = (str(files("bsx.examples") / "en-systems.tsv"), "--candidate", "atlas", "--candidate", "brook")
    human = ("--human", "atlas_grade", "--human", "brook_grade", "--segment", "id", "--resamples", 20)
    scores, long, document = (tmp_path / name for name in ("scores.tsv", "long.tsv", "meta.json"))
    runs: list[tuple[Any, ...]] = [
        ("score", *texts, "--metrics", "chrf,sentbleu", "--segment", "id", "-o", scores),
        ("meta", *texts, "--metrics", "chrf,sentbleu", *human, "--scores-out", long, "-o", document),
        ("compare", *texts, "--metrics", "chrf", "--resamples", 20, "-o", tmp_path / "compare.json"),
        ("disentangle", long, "--columns", "chrf", "--factor-columns", "sentbleu,human", "-o", tmp_path / "d.json"),
        ("report", scores, document, tmp_path / "compare.json", tmp_path / "d.json", "-o", tmp_path / "out.md"),
    ]
    for arguments in runs:
        out = cli(*arguments, *(("--title", "Demo") if arguments[0] == "report" else ()))
        assert out.status == 0, out.err
    text = (tmp_path / "out.md").read_text()
    assert text.startswith("# Demo\n")
    plain = text.replace("\\", "")
    assert "metric:chrf|char_order:6" in plain
    assert "220 scored rows under chrf and sentbleu" in plain
    meta = json.loads(document.read_text())
    assert number(meta["average"]["metrics"][0]["value"]).text in plain
    assert meta["provenance"]["command"] in text


def test_a_table_without_sidecar_is_shown_and_its_origin_not_claimed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,f1,note\n007,0.5,x\n008,,y\n")
    made = build_report([read_document(tmp_path / "a.csv")])
    assert [part.id for part in made.sections] == ["segments", "repeat"]
    found = blocks(made, "segments", Segments)[0]
    assert found.rows == (("007", 0.5, "x"), ("008", None, "y"))
    assert "How a.csv came about is not known" in section(made, "repeat").lead
    assert "At a glance" not in made.to_html()  # there is nothing


@pytest.mark.parametrize(
    ("last", "note"),
    [
        ("layer:4|dtype:fp32|backend:onnxruntime-1", "differ only in what runs the encoder"),
        ("layer:4|dtype:int8|backend:onnxruntime-1", "recall, f1 (they differ in dtype and backend)"),
        ("layer:5|dtype:fp32|backend:onnxruntime-1", "Not comparable with each other are the scores of precision"),
    ],
)
def test_comparable_is_what_has_the_same_settings_but_for_the_backend(tmp_path: Path, last: str, note: str) -> None:
    for name, setting in (("a", "layer:4|dtype:fp32|backend:torch-2"), ("b", last)):
        (tmp_path / f"{name}.tsv").write_text("id\tprecision\trecall\tf1\n1\t0.5\t0.5\t0.5\n")
        (tmp_path / f"{name}.tsv.signature.txt").write_text(f"metric:bertscore|{setting}\n")
    made = build_report([read_document(tmp_path / f"{name}.tsv") for name in "ab"])
    assert note in table(made, "scored", "Signatures").note
    heads = [f"Scores under precision, recall and f1 ({name}.tsv)" for name in "ab"]
    assert [part.text for part in blocks(made, "scored", Heading)] == heads


@settings(deadline=None)
@given(st.text(), st.text())
def test_marking_words_keeps_the_text(text: str, base: str) -> None:
    runs = differing(text, base)
    assert "".join(run.text for run in runs) == text
    assert all(run.text for run in runs)
    assert not any(run.differs for run in differing(text, text))


@pytest.mark.parametrize(
    ("text", "base", "marked"),
    [
        ("The parents praised the teacher.", "The teacher praised the parents.", ["parents", "teacher"]),
        ("他从不打电话", "他经常打电话", ["从不"]),
        ("He doesn't ring.", "He does not ring.", ["doesn't"]),
        ("", "It rained.", []),
        ("Pаris", "Paris", ["Pаris"]),  # the a is Cyrillic
        ("He never calls.", "He calls.", ["never"]),
        ("He calls.", "He never calls.", []),
    ],
)
def test_the_words_that_differ(text: str, base: str, marked: list[str]) -> None:
    assert [run.text for run in differing(text, base) if run.differs] == marked


def test_what_is_marked_in_a_perturbed_text_is_the_edit_that_the_report_says(report: Report) -> None:
    said = blocks(report, "robustness", Prose)
    assert any("takes out of the one text and puts into the other" in block.text for block in said)
    taken, put = differing("He never calls.", "He calls."), differing("He calls.", "He never calls.")
    shown = [dict(block.texts) for block in blocks(report, "robustness", Example)]
    assert any(texts.get("original") == taken and texts.get("perturbed") == put for texts in shown)


def test_hostile_text_in_markdown_makes_no_markup(tmp_path: Path) -> None:
    import markdown

    payload = "<script>x</script>](javascript:x) ``` | **b** \u2028# h"
    found = [read_document(f) for f in samples.write(tmp_path, rows=3, spoil=samples.spoiler(payload))]
    text = build_report(found, title=payload).to_markdown()
    rendered = Tags()
    rendered.feed(markdown.markdown(text, extensions=["tables", "fenced_code"]))
    assert not rendered.tags & {"script", "a", "img", "iframe"}


def test_numbers_are_short_and_whole_inside() -> None:
    cell = number(0.123456789)
    assert (cell.text, cell.value, cell.full) == ("0.123", 0.123456789, "0.123456789")
    shown = [number(value).text for value in (-0.0001, 12345, None, float("nan"))]
    assert shown == ["0.000", "12,345", "–", "–"]


def test_the_page_says_what_may_run_and_whose_it_is(files: list[Path]) -> None:
    import base64
    import hashlib

    html = build_report([read_document(file) for file in files[:2]]).to_html()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    scripts = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy[1].replace("&#39;", "'")
    assert "default-src &#39;none&#39;" in policy[1]
    assert "University of Washington Interactive Data Lab" in html
    assert "unsafe" not in policy[1]


def test_reports_need_no_model_and_no_drawing_until_written() -> None:
    import subprocess

    code = "import sys, bsx.analysis.report; print({'torch', 'jinja2', 'pandas', 'vl_convert'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_library_of_charts_is_put_together_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def put_together(snippet: str) -> str:
        made.append(snippet)
        return "é\n</script"

    library = SimpleNamespace(__version__="1", javascript_bundle=put_together)
    monkeypatch.setitem(sys.modules, "vl_convert", library)
    (tmp_path / "file").touch()

    def asked(place: str) -> list[object]:
        monkeypatch.setenv("BSX_CACHE", str(tmp_path / place))
        return [chart_library.__wrapped__(), len(made)]  # as a process does that has not asked yet

    assert [asked("file/below"), asked("file/below")] == [["é\n</script", 1], ["é\n</script", 2]]  # none can be kept
    assert [asked("cache"), asked("cache")] == [["é\n</script", 3]] * 2
    kept_library().write_bytes(b"\xff")
    assert asked("cache") == ["é\n</script", 4]
    library.__version__ = "2"
    assert asked("cache") == ["é\n</script", 5]


def test_a_report_begins_with_who_is_best_and_which_metrics_say_otherwise(tmp_path: Path, cli: Cli) -> None:
    texts = (("good", "a wholly other wording", 4), ("close", "the same words here ?", 2), ("bad", "nothing", 0))
    rows = [(name, i, text, "the same words here !", grade) for i in range(3) for name, text, grade in texts]
    file = write_lines(tmp_path / "texts.tsv", [("system", "segment", "candidate", "reference", "human"), *rows])
    scored = tmp_path / "scores.tsv"
    given = (file, "--metrics", "chrf,ter", "--human", "human", "--system", "system")
    assert cli("meta", *given, "--segment", "segment", "--scores-out", scored, "-o", tmp_path / "m.json").status == 0
    made = build_report([read_document(tmp_path / "m.json"), read_document(scored)])
    found = section(made, "scored")
    assert found.lead.startswith(
        "Human scores rank good (4), close (2) and bad (0), in this order; this is not tested. "
        "chrf and ter put close first"
    )
    assert found.answers
    glance = made.to_html().partition('id="glance"')[2]
    assert glance.index("Human scores rank good") < glance.index("agrees best with human")


def test_many_systems_are_not_all_named_and_few_rows_rank_nobody(tmp_path: Path) -> None:
    rows = [(f"s{place:02}", place / 10) for place in range(12) for _ in range(20)] + [("lucky", 9.0)] * 3
    lines = [(name, i, grade, grade) for i, (name, grade) in enumerate(rows)]
    file = write_lines(tmp_path / "scores.tsv", [("system", "segment", "human", "chrf"), *lines])
    found = section(build_report([read_document(file, TableColumns(columns=["chrf"]))]), "scored")
    assert found.lead.startswith(
        "Human scores rank s11 (1.1), s10 (1) and s09 (0.9) highest of 12 systems, s00 (0) lowest; this is not tested. "
        "Systems with fewer than 20 rows, 1, are left out of that. chrf ranks them in the same order."
    )
    # Grades of another column may be anything, such as constructed: they are not called human.
    file.write_text(file.read_text(encoding="utf-8").replace("human", "grade"), encoding="utf-8")
    found = section(build_report([read_document(file, TableColumns(columns=["chrf"], human="grade"))]), "scored")
    assert found.lead.startswith("The scores in the column grade rank s11 (1.1), ")


@pytest.mark.parametrize("name", ["human", "human_z", "z"])
def test_a_usual_column_of_human_scores_holds_scores_or_words(name: str, tmp_path: Path) -> None:
    def read(*cells: str) -> Any:
        rows = ((place, 1, cell) for place, cell in enumerate(cells))
        file = write_lines(tmp_path / "scores.tsv", [("segment", "chrf", name), *rows])
        return read_document(file, TableColumns(columns=["chrf"])).content

    with pytest.raises(InputError, match=rf"line 3, column '{name}' is 'good'"):
        read("1", "good", "2")
    assert "human" in read("1", "NA", "").numeric
    assert "human" not in read("good", "", "bad").numeric


@pytest.mark.parametrize("name", ["segment", "sid", "id"])
def test_segments_have_their_usual_names(name: str, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "scores.tsv", [("system", name, "chrf"), ("a", "one", 1), ("b", "one", 2)])
    made = build_report([read_document(file, TableColumns(columns=["chrf"]))])
    rows = blocks(made, "segments", Segments)[0]
    assert rows.columns[0] == "id"
    assert 0 not in rows.hidden


def test_compared_systems_have_a_chart_the_best_first(report: Report) -> None:
    found = section(report, "systems")
    assert found.lead.startswith("Under chrf, brook is significantly better than atlas.")
    assert found.answers
    chart = next(block for block in found.blocks if isinstance(block, Chart))
    values: Any = chart.panels[0][1]["data"]
    scores = [(one["system"], one["score"]) for one in samples.compare()["metrics"][0]["systems"]]
    assert [(row["row"], row["value"]) for row in values["values"]] == [scores[1], scores[0]]


def test_examples_show_what_every_metric_made_of_them() -> None:
    def beside(content: dict[str, Any]) -> None:
        content["worst"] = content["worst"][:1]
        content["worst"][0]["scores"] = {"bertscore": [0.4, 0.6], "chrf": [0.7, 0.5], "sentbleu": [0.5, 0.5]}

    made = build_report([read_only("triples", beside)])
    example = blocks(made, "robustness", Example)[0]
    verdicts = {row[0].text: row[-1].text for row in example.scores.rows}
    assert verdicts == {"bertscore": "fooled", "chrf": "right", "sentbleu": "tie"}
    assert not [block for block in blocks(made, "robustness", Prose) if "asked" in block.text]


@pytest.mark.parametrize(("kind", "label"), [("triples", "non-paraphrase: "), ("perturb", "perturbed: ")])
def test_examples_without_scores_are_written_all_the_same(kind: str, label: str) -> None:
    result = read_only(kind, lambda content: [one.pop("scores", None) for one in content["worst"]]).content
    assert label in result.to_text(full=True)
    assert "difference" in result.to_markdown()


def test_examples_of_a_challenge_set_show_every_verdict() -> None:
    example = blocks(build_report([read_only("challenge")]), "robustness", Example)[0]
    assert example.title == "Row 7, negation: seen by bertscore"
    assert {row[0].text: row[-1].text for row in example.scores.rows} == {"bertscore": "right", "chrf": "fooled"}
    assert [label for label, _ in example.texts] == ["source", "reference", "good", "bad"]
    assert [run.text for run in example.texts[3][1] if run.differs] == ["not"]


def rate(value: float) -> dict[str, Any]:
    figures = {"rate": value, "ci": [value - 0.1, value + 0.1], "drop": 0.1}
    return {"n": 40, "right": round(40 * value), "tied": 0, "items": 40, **figures}


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ([(0.9, 0.2), (0.1, 0.7)], "“name” in 90.0 % of rows, where chrf sees it in 10.0 %; chrf sees “negation”"),
        ([(0.9, 0.8), (0.1, 0.7)], None),  # nowhere is the second one ahead
        ([(0.9, 0.5), (0.1, 0.6)], None),  # it is, but intervals overlap
    ],
)
def test_a_surprise_is_that_two_metrics_see_opposite_things(rates: list[tuple[float, float]], said: str | None) -> None:
    def change(content: dict[str, Any]) -> None:
        for metric, (name, negation) in zip(("bertscore", "chrf"), rates, strict=True):
            shares = {"name": name, "negation": negation}
            named = {of: {**rate(share), "severity": ""} for of, share in shares.items()}
            content["metrics"][metric] |= {"overall": rate(0.5), "phenomena": named}

    glance = build_report([read_only("challenge", change)]).glance
    surprises = [text for _, name, text in glance if name == "A surprise"]
    assert len(surprises) == (said is not None)
    assert said is None or said in surprises[0]


def test_the_largest_surprise_stands_after_the_rankings() -> None:
    def fooled(content: dict[str, Any]) -> None:
        for row in content["results"]:
            row |= {"n": 60, "rate": 0.1, "ci": [0.05, 0.2]}

    def worse(content: dict[str, Any]) -> None:
        content |= {"average_gain": -0.3, "average_ci": [-0.4, -0.2], "average_p": 0.99}

    documents = [read_only("ensemble", worse), read_only("triples", fooled), read_only("compare")]
    report = build_report(documents)
    assert [name for _, name, _ in report.glance] == ["Systems compared", "A surprise", "Robustness", "Ensembles"]
    assert report.glance[1][2].startswith("No metric prefers the paraphrase as often as chance")
    assert report.to_markdown().index("- A surprise: No metric") < report.to_markdown().index("## Systems compared")


def test_a_change_of_meaning_that_costs_less_than_a_harmless_one_is_a_surprise() -> None:
    def change(content: dict[str, Any]) -> None:
        rows = [row for row in content["results"] if row["metric"] == "bertscore"]
        row = next(row for row in rows if not row["preserves"])
        control = next(row for row in rows if row["perturbation"] == content["settings"]["control_perturbation"])
        row |= {"relative_drop": 0.01, "excess_ci": [-0.2, -0.1], "n": 50}
        control |= {"relative_drop": 0.2, "n": 50}

    found = section(build_report([read_only("perturb", change)]), "robustness").surprises
    assert [round(one.size, 2) for one in found] == [0.19]
    assert found[0].text.startswith("bertscore loses less by a change of meaning than by one that keeps it: ")


def test_a_challenge_set_without_severities_has_no_empty_column() -> None:
    def plain(content: dict[str, Any]) -> None:
        for metric in content["metrics"].values():
            metric["severities"] = {}
            for row in metric["phenomena"].values():
                row["severity"] = ""

    for change, severities in ((plain, False), (lambda _: None, True)):
        tables = blocks(build_report([read_only("challenge", change)]), "robustness", TablePart)
        heads = [part.columns for part in tables if part.caption.startswith("Accuracy")]
        assert [("severity" in columns) for columns in heads] == [severities, severities]


@pytest.mark.parametrize(
    ("column", "title"),
    [
        ("human", "Agreement with human judgments"),
        ("da-sqm", "Agreement with human judgments"),
        ("grade", "Agreement with the column grade"),
    ],
)
def test_a_section_calls_only_those_scores_human_that_are(column: str, title: str) -> None:
    made = build_report([read_only("meta", lambda content: content.update(human=column))])
    assert section(made, "agreement").title == title
    both = build_report([read_only("meta"), read_only("meta", lambda content: content.update(human="grade"))])
    assert len({one.id for one in both.sections}) == len(both.sections)


def test_controls_are_not_listed_as_metrics(tmp_path: Path) -> None:
    (tmp_path / "scores.tsv").write_text("id\tchrf\tlength\n1\t50\t7\n2\t60\t9\n")
    metrics = [{"metric": "chrf", "higher_is_better": True}]
    metrics.append({"metric": "length", "higher_is_better": True, "control": True})
    (tmp_path / "scores.tsv.signatures.json").write_text(json.dumps({"metrics": metrics}))
    made = build_report([read_document(tmp_path / "scores.tsv")])
    assert "2 scored rows under chrf, and under the control length." in section(made, "scored").lead
