"""Judges against a real server with a real tiny model: scores, kept answers, limits, and all that goes wrong."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import bsx
from bsx.catalog.catalog import shipped
from bsx.data.corpus import MemoryCorpus
from bsx.errors import InputError, ModelUnavailableError, RegistryError, UnknownNameError
from bsx.metrics.base import Metric, get_metric
from bsx.metrics.judging import endpoint
from bsx.metrics.judging.answers import read_answer
from bsx.metrics.run import prepare
from bsx.scoring.run import score_files
from tests.helpers.judge_server import NAME, UNREADABLE, JudgeServer
from tests.helpers.tables import read_rows, write_rows

SECRET = "-".join(["sk", "never", "to", "be", "seen", "0123456789"])
WORDS = ["die Katze", "der Hund", "ein Haus", "ein Berg", "der Regen"]
SOURCES = ["the cat", "the dog", "a house", "a mountain", "the rain"]


def judge(server: JudgeServer, manner: str = "plain", *, name: str = "judge-qe", **settings: Any) -> Metric:
    given = {"model": NAME, "base_url": server.url(manner), "retries": 0, **settings}
    return get_metric(name, encoders=bsx.Encoders(lang="en-de"), **given)


def kept(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def said_by_model(server: JudgeServer, prompt: str, **texts: str) -> float:
    """What the model itself answers to a prompt, read as a score: past client, server and cache."""
    entry = shipped().judge(prompt)
    texts |= {"source_lang": "English", "target_lang": "German"}
    messages = entry.filled(texts)
    text, finish, _ = server.model.answer("\n".join(one["content"] for one in messages), 500, 1)
    return read_answer(entry.answer, text, finish).score


def test_scores_are_what_the_model_says(server: JudgeServer) -> None:
    metric = judge(server)
    got = metric.score(WORDS, sources=SOURCES)
    wanted = [said_by_model(server, "gemba-da", candidate=a, source=b) for a, b in zip(WORDS, SOURCES, strict=True)]
    assert got.values.tolist() == wanted
    assert len(set(wanted)) > 1
    assert server.asked == {"plain": 5}
    body = server.bodies[0]
    assert {name: value for name, value in body.items() if name != "messages"} == {
        "model": NAME, "temperature": 0.0, "max_tokens": 500,
    }  # fmt: skip
    signature, today = got.signature, time.strftime("%Y-%m-%d", time.gmtime())
    wanted_fields = {"model": NAME, "lang": "en-de", "endpoint": urlsplit(server.url()).netloc, "answered": today}
    assert {name: signature[name] for name in wanted_fields} == wanted_fields
    assert signature["prompt"].startswith("gemba-da@")
    for hidden in ("base_url", "cache", "key", "concurrency", "budget_requests"):
        assert f"{hidden}:" not in str(signature)


def test_replaying_what_was_never_asked(server: JudgeServer, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    judge(server, cache=file).score(WORDS, sources=SOURCES)
    with pytest.raises(ModelUnavailableError, match=rf"{re.escape(str(file))}.*gemba-da@\w+ by {NAME}"):
        judge(server, prompt="gemba-sqm", cache=file, budget_requests=0).score(WORDS, sources=SOURCES)
    assert len(kept(file)) == 5
    with pytest.raises(ModelUnavailableError, match="it has nothing"):
        judge(server, cache=tmp_path / "none.jsonl", budget_requests=0).score(WORDS, sources=SOURCES)


def test_answers_that_cannot_be_read_have_no_score(server: JudgeServer) -> None:
    texts = [*WORDS, f"ein Klot{UNREADABLE}"]
    metric = judge(server)
    got = metric.score(texts, sources=[*SOURCES, "a block"])
    assert math.isnan(got.values[5])
    assert got.undefined.tolist() == [5]
    assert got.system == pytest.approx(got.values[:5].mean())
    assert any("1 of 6" in note and "segment 6" in note and "I cannot say" in note for note in metric.notes)
    with pytest.raises(InputError, match="no score for 1 of 2"):
        metric.score_matrix(texts[-2:], sources=["a block"])


def test_texts_without_content_are_not_asked_about(server: JudgeServer) -> None:
    got = judge(server).score(["", "die Katze", " "], sources=["the cat", " ", ""])
    assert server.asked["plain"] == 0
    assert got.empty.tolist() == [0, 1, 2]
    assert np.array_equal(got.values, [0.0, np.nan, 0.0], equal_nan=True)
    worst = judge(server, prompt="gemba-mqm").score([""], sources=["the cat"])
    assert worst.values.tolist() == [-25.0]


_MQM = 'Critical:\nno-error\nMajor:\naccuracy/mistranslation - "Katze"\nMinor:\nno-error'


# Keys, scores and signatures of answers that were kept before: they never change.
@pytest.mark.parametrize(
    ("name", "settings", "prompt", "answers", "score", "signature"),
    [
        (
            "judge-qe",
            {"prompt": "gemba-da", "seed": 3, "answers": 2},
            "gemba-da@94e675bd8a2b",
            {
                "f226b9fea585d04d454e872545b7fc0af0eac2554d460b3c33dba193c1648ce2": "85",
                "7b4c4ba51965ef0bb0239597abe9ea964150c1a2c40f75040a3b2c01e783d872": "90",
            },
            87.5,
            "temperature:0|seed:3|max_tokens:500|answers:2|multi_ref:best|lang:en-de|endpoint:judge.example|"
            "answered:2026-02-01..2026-02-02|normalize:nfc|bsx:",
        ),
        (
            "judge",
            {"prompt": "gemba-sqm-ref", "temperature": 0.5, "multi_ref": "mean"},
            "gemba-sqm-ref@9602786a7684",
            {
                "c02fc022b98d7624c8bdce28f736dac7ff4ae4a404d3d58a6c9255a605fd16e3": "70",
                "51f54d2ea9d4facaa7f879125d4a3b64c71862d622b77dba5d4160163398e09f": "61",
            },
            65.5,
            "temperature:0.5|seed:default|max_tokens:500|answers:1|multi_ref:mean|lang:en-de|endpoint:judge.example|"
            "answered:2026-02-01..2026-02-02|normalize:nfc|refs:2|bsx:",
        ),
        (
            "judge-qe",
            {"prompt": "gemba-mqm"},
            "gemba-mqm@cd6af3497b8e",
            {"aac4bd04f8ecb1f1a58ff2ebf74e9f9fdd941470d1b583aa2dfa21639f3c50be": _MQM},
            -5.0,
            "temperature:0|seed:default|max_tokens:500|answers:1|multi_ref:best|lang:en-de|endpoint:judge.example|"
            "answered:2026-02-01|normalize:nfc|bsx:",
        ),
        (
            "judge-qe",
            {"prompt": "geval-coherence"},
            "geval-coherence@4fb071a9f23f",
            {"fb5bfa557977e3a615bb8be8fa2a484566c2b7663ebaa3eb384f118531c73cd2": "4"},
            3.817574476193643,
            "temperature:0|seed:default|max_tokens:5|answers:1|multi_ref:best|endpoint:judge.example|"
            "answered:2026-02-01|weighted:yes|normalize:nfc|bsx:",
        ),
    ],
)
def test_answers_kept_before_give_the_same_scores_and_signatures(
    name: str, settings: Any, prompt: str, answers: dict[str, str], score: float, signature: str, tmp_path: Path
) -> None:
    file = tmp_path / "answers.jsonl"
    scores = [["4", -0.25], [" 3", -1.75]] if "geval" in prompt else []
    about = {"prompt": prompt.split("@")[1], "name": prompt.split("@")[0], "asked": "a", "model": "a-2026-01-02"}
    more = {"finish": "stop", "scores": scores, "tokens_in": 10, "tokens_out": 2, "endpoint": "judge.example"}
    lines = [
        json.dumps({"key": key, **about, "content": content, **more, "at": f"2026-02-0{day}T00:00:00+00:00"})
        for day, (key, content) in enumerate(answers.items(), start=1)
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    metric = get_metric(
        name, encoders=bsx.Encoders(lang="en-de"), model="a-model", cache=file, budget_requests=0, **settings
    )
    got = metric.score(["die Katze"], [["eine Katze", "die Katze", " "]] if name == "judge" else None, ["the cat"])
    assert got.values.tolist() == pytest.approx([score], rel=1e-12)
    assert str(got.signature).startswith(f"metric:{name}|prompt:{prompt}|model:a-2026-01-02|{signature}")


def test_scores_weighted_by_probabilities(server: JudgeServer, tmp_path: Path) -> None:
    texts: dict[str, Any] = {"candidates": ["it rained"], "sources": ["it rained all day"]}
    weighted = judge(server, prompt="geval-coherence").score(**texts)
    got = judge(server, "plain-scores", prompt="geval-coherence", cache=tmp_path / "plain.jsonl").score(**texts)
    assert (weighted.signature["weighted"], got.signature["weighted"]) == ("yes", "no")
    assert got.values[0] in (2.0, 3.0, 4.0)
    assert 1 < weighted.values[0] < 5
    assert weighted.values[0] != got.values[0]
    _, _, tokens = server.model.answer("- Coherence:", 5, 20)
    options = [option for option in tokens[0]["top_logprobs"] if option["token"] in list("12345")]
    mean = np.average([int(option["token"]) for option in options], weights=[math.exp(o["logprob"]) for o in options])
    assert weighted.values[0] == pytest.approx(mean, abs=1e-5)  # the model reads no more than this


def test_several_answers_are_averaged_and_have_seeds_of_their_own(server: JudgeServer) -> None:
    judge(server, answers=3, seed=7).score(WORDS[:2], sources=SOURCES[:2])
    assert sorted(body["seed"] for body in server.bodies) == [7, 7, 8, 8, 9, 9]


def test_a_notebook_that_has_a_loop_may_ask(server: JudgeServer) -> None:
    async def cell() -> list[float]:
        return judge(server).score(WORDS[:1], sources=SOURCES[:1]).values.tolist()

    assert asyncio.run(cell()) == judge(server).score(WORDS[:1], sources=SOURCES[:1]).values.tolist()


def test_an_interrupt_ends_a_run_at_once(server: JudgeServer, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    judge(server, cache=file).score(WORDS[:2], sources=SOURCES[:2])
    server.wait = 5
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        judge(server, cache=file).score(WORDS, sources=SOURCES)
    assert time.monotonic() - began < 4
    assert len(kept(file)) == 2


def test_questions_at_once(server: JudgeServer) -> None:
    server.wait = 0.05
    texts = [f"{word} {i} a" for i in range(4) for word in WORDS]
    judge(server, concurrency=3).score(texts, sources=SOURCES * 4)
    assert 1 < server.most_at_once <= 3


# -- what goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manner", ["busy", "half-once"])
def test_a_busy_endpoint_is_asked_again(server: JudgeServer, manner: str) -> None:
    got = judge(server, manner, retries=1, concurrency=5).score(WORDS, sources=SOURCES)
    assert server.asked[manner] == 10
    assert got.values.tolist() == judge(server, cache=None).score(WORDS, sources=SOURCES).values.tolist()


ENDS = {"401": "401.*key is missing", "404": "404.*no model", "500": "500", "later": "429", "nested-error": "400"}
ENDS |= {"half": "hangs up", "nothing": "no answer", "nested": "no answer"}


@pytest.mark.parametrize(("manner", "told"), ENDS.items())
def test_what_ends_a_run(
    server: JudgeServer, manner: str, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    file = tmp_path / "answers.jsonl"
    judge(server, cache=file).score(WORDS[:2], sources=SOURCES[:2])
    with pytest.raises(ModelUnavailableError, match=f"{told}.*answers are kept") as caught:
        judge(server, manner, cache=file).score(WORDS, sources=SOURCES)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    assert len(kept(file)) >= 2  # nothing is lost
    assert judge(server, cache=file).score(WORDS[:2], sources=SOURCES[:2]).undefined.size == 0


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
def test_no_redirect_is_followed(server: JudgeServer, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with pytest.raises(ModelUnavailableError) as caught:
        judge(server, status, concurrency=1).score(WORDS[:1], sources=SOURCES[:1])
    assert server.asked == {status: 1}
    assert f"answers {status}, a redirect" in str(caught.value)
    assert "password" not in str(caught.value)


def test_a_timeout_is_for_the_whole_answer(server: JudgeServer) -> None:
    began = time.monotonic()
    with pytest.raises(ModelUnavailableError, match="in time"):
        judge(server, "drip", timeout=0.3, retries=1).score(WORDS[:1], sources=SOURCES[:1])
    assert time.monotonic() - began < 5  # of the ten seconds that it would take
    assert server.asked["drip"] == 2


def test_an_answer_that_holds_the_key_is_kept_without_it(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    file = tmp_path / "answers.jsonl"
    metric = judge(server, "echo", cache=file)
    got = metric.score([f"ein Klot{UNREADABLE}"], sources=SOURCES[:1])
    for text in (file.read_text(encoding="utf-8"), str(got.signature), *metric.notes):
        assert SECRET not in text
    monkeypatch.setenv("OPENAI_API_KEY", "1")  # made up for a server that wants none, and no secret
    file.unlink()
    judge(server, "echo", cache=file).score(WORDS[:1], sources=SOURCES[:1])
    assert kept(file)[0]["content"].endswith(" 1")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Judge.example/v1", "judge.example"),
        ("https://judge.example:443/v1", "judge.example"),
        ("http://judge.example:443/v1", "judge.example:443"),
        ("http://[::1]:8080/v1", "[::1]:8080"),
        ("http://[::1]/v1", "[::1]"),
    ],
)
def test_hosts(url: str, host: str) -> None:
    assert endpoint.checked_address(url) == host


def test_one_text_that_is_filtered_costs_only_itself(server: JudgeServer) -> None:
    got = judge(server, "filter", concurrency=1).score(WORDS, sources=SOURCES)
    assert got.undefined.tolist() == [1]
    assert np.isnan(got.values).sum() == 1


@pytest.mark.parametrize(("manner", "n", "said"), [("other", 1, True), ("mixed", 2, True), ("dated", 1, False)])
def test_the_models_that_answer_are_said(server: JudgeServer, manner: str, n: int, said: bool) -> None:
    metric = judge(server, manner, concurrency=1)
    names = metric.score(WORDS, sources=SOURCES).signature["model"].split(", ")
    assert len(names) == n
    assert NAME not in names
    assert any(all(name in note for name in (NAME, *names)) for note in metric.notes) == said


@pytest.mark.parametrize(("budget", "most"), [({"budget_requests": 2}, 2), ({"budget_tokens": 400}, 4)])
def test_a_budget_ends_a_run_and_what_is_done_is_kept(
    server: JudgeServer, tmp_path: Path, budget: dict[str, Any], most: int
) -> None:
    file = tmp_path / "answers.jsonl"
    with pytest.raises(ModelUnavailableError, match=f"stopped at {next(iter(budget))}=") as caught:
        judge(server, cache=file, max_tokens=50, **budget).score(WORDS, sources=SOURCES)
    done = len(kept(file))
    assert 1 <= done <= most
    assert sum(one["tokens_in"] + one["tokens_out"] for one in kept(file)) <= 400
    assert f"{done} of 5" in str(caught.value)
    assert len(judge(server, cache=file, max_tokens=50).score(WORDS, sources=SOURCES)) == 5
    assert server.asked["plain"] == 5


def test_what_it_will_take_is_said_before_it_begins(server: JudgeServer) -> None:
    said: list[str] = []
    corpus = MemoryCorpus({"c": WORDS}, None, SOURCES)
    with pytest.raises(ModelUnavailableError, match="budget_requests=0") as caught:
        prepare([judge(server, budget_requests=0)], corpus, say=said.append)
    assert server.asked["plain"] == 0
    prepare([judge(server)], corpus, say=said.append)
    takes = said[0].split(": ", 1)[1].split(", at ")[0]
    assert takes.startswith("5 questions")
    assert takes in str(caught.value)
    languages = {"source_lang": "English", "target_lang": "German"}
    pairs = [{**languages, "candidate": a, "source": b} for a, b in zip(WORDS, SOURCES, strict=True)]
    letters = sum(len(shipped().judge("gemba-da").filled(texts)[0]["content"]) for texts in pairs)
    told = int(said[0].split("about ")[1].split(" ")[0].replace(",", ""))
    assert letters / 4 < told < letters / 2  # by four letters a token
    assert f"at most {5 * 500:,} out" in said[0]


def test_a_torn_last_line_is_as_if_it_were_not_there(server: JudgeServer, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    first = judge(server, cache=file).score(WORDS, sources=SOURCES)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert judge(server, cache=file).score(WORDS, sources=SOURCES).values.tolist() == first.values.tolist()
    assert server.asked["plain"] == 6
    assert len(kept(file)) == 5
    lines = whole.splitlines(keepends=True)
    file.write_bytes(lines[0] + b"nonsense\n" + b"".join(lines[2:]))
    with pytest.raises(InputError) as caught:
        judge(server, cache=file).score(WORDS, sources=SOURCES)
    assert (caught.value.file, caught.value.line) == (str(file), 2)
    file.write_text("a line of somebody else", encoding="utf-8")
    with pytest.raises(InputError, match="no answers of a judge"):
        judge(server, cache=file).score(WORDS, sources=SOURCES)
    assert file.read_text(encoding="utf-8") == "a line of somebody else"


def test_the_key_is_read_from_the_environment_and_never_written(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "answers.jsonl"
    judge(server, cache=file).score(WORDS, sources=SOURCES)  # an endpoint of one's own wants none
    assert not any(SECRET in one for one in server.secrets)
    monkeypatch.setenv("MY_KEY", SECRET)
    metric = judge(server, cache=file, key="MY_KEY", temperature=0.1)
    got = metric.score(WORDS, sources=SOURCES)
    assert f"Bearer {SECRET}" in server.secrets
    with pytest.raises(ModelUnavailableError) as caught:
        judge(server, "401", cache=file, key="MY_KEY", temperature=0.2).score(WORDS, sources=SOURCES)
    written = [one.read_text("utf-8", "replace") for one in tmp_path.rglob("*") if one.is_file()]
    for text in (str(got.signature), str(got), repr(metric), str(caught.value), *capfd.readouterr(), *written):
        assert SECRET not in text
    urls = (f"http://me:{SECRET}@127.0.0.1/v1", f"http://127.0.0.1/v1?key={SECRET}", "127.0.0.1")
    wrong = [
        *(("key", key, "key names") for key in (SECRET, "my key")),
        *(("base_url", url, "base_url") for url in urls),
    ]
    for setting, value, message in [*wrong, ("base_url", "https://api.openai.com/v1", "wants a key")]:
        with pytest.raises(InputError, match=message) as refused:
            judge(server, **{setting: value})
        assert SECRET not in str(refused.value)


def test_settings_that_are_wrong_or_missing(server: JudgeServer, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], type[bsx.BsxError], str]] = [
        ({"model": None}, InputError, "model names the model"),
        ({"prompt": "gemba-dd"}, UnknownNameError, "Near: gemba-da"),
        ({"prompt": "gemba-da-ref"}, InputError, "use judge with it"),
        ({"prompt": "gemba-mqm", "name": "judge"}, InputError, "use judge-qe"),
        ({"cache": tmp_path}, InputError, "is a folder"),
    ]
    for settings, kind, message in wrong:
        with pytest.raises(kind, match=message):
            judge(server, **settings)
    with pytest.raises(InputError, match="lang, such as en-de"):
        get_metric("judge-qe", model=NAME, base_url=server.url())
    own = tmp_path / "judges" / "own.yaml"
    own.parent.mkdir()
    own.write_text("name: own\n", encoding="utf-8")
    with pytest.raises(RegistryError, match=r"own\.yaml: .*messages"):
        get_metric("judge-qe:own", encoders=bsx.Encoders(registry=tmp_path), model=NAME)


def test_a_forbidden_network_is_not_used(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    judge(server).score(WORDS[:1], sources=SOURCES[:1])  # this machine is none
    with pytest.raises(ModelUnavailableError, match="HF_HUB_OFFLINE is set"):
        judge(server, base_url="http://judge.example/v1")


def test_other_metrics_import_no_openai() -> None:
    code = "import sys, bsx; bsx.get_metric('chrf').score(['a'], ['b']); sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- killed and resumed --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(server: JudgeServer, tmp_path: Path) -> None:
    n = 40
    rows = [{"id": i, "source": f"the house {i}", "candidate": f"das Haus {i} {'abcdefgh'[i % 8]}"} for i in range(n)]
    table = write_rows(tmp_path / "texts.tsv", rows)
    file, output = tmp_path / "answers.jsonl", tmp_path / "scores.tsv"
    spec = f"judge-qe:gemba-da,model={NAME},base_url={server.url()},cache={file},concurrency=2"
    command = [sys.executable, "-m", "bsx", "score", str(table), "--candidate", "candidate", "--source", "source"]
    command += ["--lang", "en-de", "--metrics", spec, "-o", str(output)]
    server.wait = 0.1
    process = subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while not file.exists() or file.read_bytes().count(b"\n") < 5:
        assert process.poll() is None, process.communicate()[0].decode()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = file.read_bytes().count(b"\n")
    assert 5 <= before < n
    assert not output.exists()
    server.wait = 0.0
    asked = server.asked["plain"]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert server.asked["plain"] - asked == n - before
    assert f"{before} answers are kept" in " ".join(done.stderr.split())
    scores = [float([*row.values()][-1]) for row in read_rows(output)]
    whole = score_files(
        table=str(table), candidate=["candidate"], source="source", lang="en-de",
        metrics=[spec.replace(str(file), str(tmp_path / "other.jsonl"))],
    )  # fmt: skip
    assert np.mean(scores) == pytest.approx(whole.tally.totals[0].mean(0), abs=1e-6)
    assert len(scores) == n
