"""Results in a real browser: rows, sliders, differences, keys, notes in two tabs, screen readers, hostile texts."""

from __future__ import annotations

import itertools
import json
import random
import socket
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect

from bsx.ui.app import make_app
from bsx.ui.workspace import Workspace
from tests.helpers.browser import barriers
from tests.ui.conftest import TOKEN
from tests.ui.results import made

PATIENCE = 60_000  # milliseconds; machines that run other tests meanwhile are slow
MANY = 20_000
SHOWN = "html[data-segments=shown]"


@contextmanager
def served(workspace: Workspace) -> Iterator[str]:
    """Serve a folder at a port of this machine, and yield the address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        port = listening.getsockname()[1]
        config = uvicorn.Config(make_app(workspace, TOKEN, port), lifespan="on", log_level="error", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]), daemon=True)
        thread.start()
        deadline = time.monotonic() + 30
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        thread.join(30)


def many(folder: Path) -> list[dict[str, object]]:
    """Write 20,000 rows: of 2,000 segments, ten systems."""
    rng = random.Random(3)  # noqa: S311 - texts
    words = ["river", "bridge", "council", "harbour", "weather", "market", "garden", "letter", "winter", "station"]
    texts = [" ".join(rng.choices(words, k=rng.randint(3, 30))) for _ in range(97)]
    content = made.rows(MANY // 10, [f"system-{k}" for k in range(10)], texts)
    made.write(folder, content, "Many", compared=False)
    return content


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("results")
    made.write(folder / "small", made.rows(40, ["ours", "theirs"]), "A small run")
    made.write(folder / "hostile", made.rows(12, ["<b>ours", "نظام"], made.HOSTILE), made.HOSTILE[0])
    many(folder / "many")
    with served(Workspace(folder)) as found:
        yield found


@contextmanager
def opened(browser: Browser, address: str, run: str, **settings: Any) -> Iterator[Page]:
    """Open a run; nothing may be said on the console."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(f"{address}/results/{quote(run)}?token={TOKEN}")
    page.locator(SHOWN).wait_for(state="attached")
    yield page
    context.close()
    # Chromium itself notes the answer that tells of a conflict between two tabs.
    assert [message for message in messages if "409 (Conflict)" not in message] == []


@pytest.fixture
def small(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address, "small") as page:
        yield page


def names(page: Page) -> list[str]:
    """Return the segments of the rows in the document, in their order."""
    return page.locator(".gridbody .row .name").all_inner_texts()


def slide(page: Page, name: str, value: float | str) -> None:
    page.locator(f"#{name}").evaluate(
        "(e, value) => { e.value = value; e.dispatchEvent(new Event('input', {bubbles: true})); }", value
    )


def scores(content: list[dict[str, object]], metric: str, system: str) -> Any:
    return np.array([row[metric] for row in content if row["system"] == system], dtype=np.float64)


@pytest.mark.slow
def test_rows_are_sorted_and_filtered_as_numpy_does(browser: Browser, address: str, tmp_path: Path) -> None:
    content = many(tmp_path / "same")
    a, b = (scores(content, "ter", name) for name in ("system-3", "system-1"))
    ids = np.array([f"seg-{k}" for k in range(len(a))])
    with opened(browser, address, "many") as page:
        page.locator("#a").select_option(label="system-3")
        page.locator("#b").select_option(label="system-1")
        page.locator("#metric").select_option(label="TER")
        for kind, keys in (
            ("score", a),
            ("difference", b - a),
        ):  # lower is better: of two, the first is better by b - a
            page.locator("#sort").select_option(kind)
            for down in (False, True):
                page.locator("#down").select_option("1" if down else "")
                expected = ids[np.argsort(-keys if down else keys, kind="stable")]
                shown = names(page)
                assert len(shown) < 40
                assert shown == expected[: len(shown)].tolist()
        gap = float(np.quantile(np.abs(b - a), 0.9))
        slide(page, "gap", gap)
        least = float(page.locator("#gap").input_value())
        expect(page.locator("#status")).to_have_text(
            f"{int((np.abs(b - a) >= least).sum()):,} of {len(a):,} segments match"
        )
        slide(page, "gap", 0)
        low, high = np.quantile(a, [0.2, 0.3]).tolist()
        slide(page, "low", low)
        slide(page, "high", high)
        low, high = (float(page.locator(f"#{name}").input_value()) for name in ("low", "high"))
        expect(page.locator("#status")).to_have_text(
            f"{int(((a >= low) & (a <= high)).sum()):,} of {len(a):,} segments match"
        )
        page.get_by_role("button", name="Show all").click()
        expect(page.locator("#status")).to_have_text(f"{len(a):,} segments")


@pytest.mark.slow
def test_metrics_disagree_by_the_difference_of_their_ranks(browser: Browser, address: str, tmp_path: Path) -> None:
    from scipy.stats import rankdata

    content = many(tmp_path / "same")
    x, y = scores(content, "chrf", "system-0"), -scores(content, "ter", "system-0")
    gaps = np.abs(rankdata(x) - rankdata(y))
    expected = [f"seg-{k}" for k in np.argsort(-gaps, kind="stable")]
    with opened(browser, address, "many") as page:
        page.locator("#a").select_option(label="system-0")
        page.locator("#sort").select_option("disagreement")
        page.locator("#other").select_option(label="TER")
        page.locator("#down").select_option("1")
        shown = names(page)
        assert shown == expected[: len(shown)]


@pytest.mark.slow
def test_texts_names_lengths_and_documents_filter(small: Page) -> None:
    status = small.locator("#status")
    small.locator("#query").fill("BARKED BY ours")
    expect(status).to_have_text("20 of 40 segments match")
    small.locator("#query").fill("seg-39")
    expect(status).to_have_text("1 of 40 segments match")
    assert names(small) == ["seg-39"]
    small.locator("#query").fill("")
    small.locator("#document").select_option(label="doc-2")
    expect(status).to_have_text("5 of 40 segments match")
    small.locator("#shortest").fill("13")
    expect(status).to_have_text("3 of 40 segments match")
    small.locator("#query").fill("nothing has this")
    expect(status).to_have_text("0 of 40 segments match")


@pytest.mark.slow
def test_only_rows_in_sight_are_in_the_document_wherever_one_scrolls(browser: Browser, address: str) -> None:
    with opened(browser, address, "many") as page:
        page.locator("#sort").select_option("place")
        page.locator("#down").select_option("")
        grid = page.locator("#grid")
        for share in (0, 0.5, 0.9, 1, 0.3):
            grid.evaluate("(e, share) => { e.scrollTop = share * e.scrollHeight; }", share)
            page.wait_for_timeout(80)
            boxes = page.locator(".gridbody .row").evaluate_all(
                "rows => rows.map(e => [Number(e.getAttribute('aria-rowindex')), e.offsetTop, e.offsetHeight])"
            )
            assert 3 <= len(boxes) < 40
            boxes = [box for box in boxes if box[0] != 2 or share == 0]  # the active row stays
            for (number, top, height), (after, below, _) in itertools.pairwise(boxes):
                assert after == number + 1
                assert abs(below - top - height) <= 1.5
        assert grid.get_attribute("aria-rowcount") == str(MANY // 10 + 1)


@pytest.mark.slow
def test_a_note_is_saved_at_once_and_survives_a_reload(small: Page, address: str) -> None:
    first = names(small)[0]
    small.get_by_role("checkbox", name=f"Keep {first}", exact=True).check()
    small.get_by_label(f"Note on {first}", exact=True).fill("look at <b>this</b>")
    expect(small.locator("#kept-status")).to_have_attribute("data-saved", "2")
    small.reload()
    small.locator(SHOWN).wait_for(state="attached")
    expect(small.get_by_role("checkbox", name=f"Keep {first}", exact=True)).to_be_checked()
    expect(small.get_by_label(f"Note on {first}", exact=True)).to_have_value("look at <b>this</b>")
    expect(small.locator("#kept-status")).to_contain_text("1 segment is kept")
    expect(small.locator(".exports")).to_contain_text("selection.tsv")
    small.locator("#kept-only").check()
    assert names(small) == [first]
    small.get_by_role("button", name=f"Keep {first} no longer").click()
    expect(small.locator("#kept-status")).to_contain_text("No segment")
    small.reload()
    small.locator(SHOWN).wait_for(state="attached")
    expect(small.locator("#kept-status")).to_contain_text("No segment")


@pytest.mark.slow
def test_two_tabs_keep_both_their_notes(browser: Browser, tmp_path: Path) -> None:
    made.write(tmp_path / "run", made.rows(6, ["ours", "theirs"]), compared=False)
    with served(Workspace(tmp_path)) as address:
        with opened(browser, address, "run") as one, opened(browser, address, "run") as two:
            for page, name in ((one, "seg-0"), (two, "seg-1")):
                page.get_by_role("checkbox", name=f"Keep {name}", exact=True).check()
                page.get_by_label(f"Note on {name}", exact=True).fill(f"about {name}")
                page.get_by_label(f"Note on {name}", exact=True).blur()
            expect(two.get_by_label("Note on seg-0", exact=True)).to_have_value("about seg-0")  # learned when it saved
            one.get_by_label("Note on seg-0", exact=True).fill("changed in one")
            one.get_by_label("Note on seg-0", exact=True).blur()
            expect(one.locator("#kept-status")).to_have_attribute("data-saved", "5")
            two.get_by_label("Note on seg-0", exact=True).fill("changed in two")
            two.get_by_label("Note on seg-0", exact=True).blur()
            expect(two.locator("#kept-status")).to_have_attribute("data-saved", "6")
            expect(two.locator("#announce")).to_contain_text("both texts are kept")
        kept = json.loads((tmp_path / "run" / "selection.json").read_text())["segments"]
    assert kept == {"seg-0": {"note": "changed in one\nchanged in two"}, "seg-1": {"note": "about seg-1"}}


@pytest.mark.slow
def test_everything_works_by_keyboard_alone(small: Page) -> None:
    small.locator("#a").focus()
    for _ in range(40):  # through the tools, into the list
        small.keyboard.press("Tab")
        if small.evaluate("document.activeElement.getAttribute('role')") == "gridcell":
            break
    where = """(() => {
      const cell = document.activeElement;
      return [Number(cell.closest('[role=row]').getAttribute('aria-rowindex')), cell.getAttribute('aria-colindex')];
    })()"""
    assert small.evaluate(where) == [2, "1"]
    small.keyboard.press("ArrowDown")
    small.keyboard.press("ArrowRight")
    assert small.evaluate(where) == [3, "2"]
    small.keyboard.press("Control+End")
    assert small.evaluate(where) == [41, "3"]
    small.keyboard.press("Control+Home")
    small.keyboard.press("PageDown")
    assert small.evaluate(where)[0] > 3
    small.keyboard.press("Control+Home")
    first = names(small)[0]
    small.keyboard.press("Space")
    expect(small.get_by_role("checkbox", name=f"Keep {first}", exact=True)).to_be_checked()
    small.keyboard.press("n")
    assert small.evaluate("document.activeElement.tagName") == "TEXTAREA"
    small.keyboard.type("by keys")
    small.keyboard.press("Escape")
    assert small.evaluate(where)[0] == 2
    expect(small.locator("#kept-status")).to_contain_text("1 segment is kept")
    small.keyboard.press("Space")
    expect(small.locator("#kept-status")).to_contain_text("No segment")


def test_hostile_texts_stay_texts(browser: Browser, address: str) -> None:
    with opened(browser, address, "hostile") as page:
        for way in ("reference", "systems", ""):
            page.locator("#marks").select_option(way)
            texts = page.locator(".gridbody dd").all_text_contents()
            assert any(made.HOSTILE[0] in text for text in texts)
            assert any(made.HOSTILE[1] in text for text in texts)
        assert page.locator(".gridbody :is(img, script)").count() == 0
        page.locator("#query").fill("<script>")
        assert page.title() != "broken"
        assert page.locator(".gridbody dd[dir=auto]").count() > 0


@pytest.mark.slow
def test_differences_of_words(small: Page) -> None:
    """The longest common sequence, held against a plain one; and every text comes back whole."""
    rng = random.Random(5)  # noqa: S311 - texts
    words = ["a", "b", "c", "d,", "don't", "今", "天", "مرحبا", "é"]
    pairs = [[" ".join(rng.choices(words, k=rng.randint(0, 9))) for _ in (0, 1)] for _ in range(120)]
    pairs += [["今天天气很好", "今天气温好"], ["naïve cafe\u0301", "naïve café"], ["x\u2028y 😀", "y 😀 z"]]
    found = small.evaluate(
        """async pairs => {
          const m = await import('/static/diff.js');
          const words = text => m.tokens(text).filter(word => word.trim());
          const kept = pieces => pieces.filter(one => !one.differs).flatMap(one => words(one.text)).length;
          return pairs.map(([a, b]) => {
            const sides = m.diff(a, b);
            return {diff: sides, kept: sides.map(kept), words: [words(a), words(b)]};
          });
        }""",
        pairs,
    )
    for (a, b), result in zip(pairs, found, strict=True):
        left, right = result["diff"]
        assert "".join(piece["text"] for piece in left) == a
        assert "".join(piece["text"] for piece in right) == b
        assert result["kept"] == [longest(*result["words"])] * 2
    marked = [piece["text"] for piece in found[-3]["diff"][1] if piece["differs"]]
    assert marked == ["温"]


@pytest.mark.slow
def test_texts_stand_in_their_language(browser: Browser, tmp_path: Path) -> None:
    """Han characters in the fonts of the language, characters compared, full-width digits found, tokens leftwards."""
    texts = ["３週間閉鎖した。", "今日はいい天気。", "漢字"]
    content = [row | {"lp": "en-ja"} for row in made.rows(3, ["sora", "kumo"], texts)]
    made.write(tmp_path / "run", content, compared=False)
    token = {"token": "مرحبا", "weight": 1, "match": 0}
    found = {
        **{"candidate": {"tokens": [token]}, "reference": {"tokens": [token]}, "cosines": [[0.5]]},
        **{"precision": 0.5, "recall": 0.5, "f1": 0.5, "signature": "metric:bertscore|" + "x" * 400},
    }
    with served(Workspace(tmp_path)) as address, opened(browser, address, "run") as page:
        text = page.locator(".gridbody dd[lang=ja]").first
        assert "Hiragino Sans" in text.evaluate("one => getComputedStyle(one).fontFamily")
        assert page.locator(".gridbody dd[lang=en]").count() > 0
        assert "characters" in page.locator("#legend").inner_text()
        page.locator("#query").fill("3週間")
        expect(page.locator("#status")).to_have_text("2 of 3 segments match")
        page.route("**/align/**", lambda route: route.fulfill(json=found))
        page.get_by_role("button", name="Token alignment").first.click()
        head = page.locator("#alignment thead th")
        assert head.get_attribute("lang") == "ja"
        assert head.evaluate("one => getComputedStyle(one.closest('table')).direction") == "rtl"
        assert page.locator("#alignment").evaluate("one => one.scrollWidth <= one.clientWidth")


@pytest.mark.slow
def test_a_large_table_says_how_far_it_is_read(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bsx.ui.results.views._LONG", 1)
    monkeypatch.setattr("bsx.ui.results.views._SOON", 0)
    made.write(tmp_path / "run", made.rows(2000, ["ours", "theirs"]), compared=False)
    with served(Workspace(tmp_path)) as address:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{address}/results/run?token={TOKEN}")
        expect(page.locator("#reading")).to_contain_text("Reading the results")
        page.locator(SHOWN).wait_for(state="attached")  # it goes on by itself
        page.close()


def longest(a: list[str], b: list[str]) -> int:
    a, b = ([unicodedata.normalize("NFC", word) for word in side] for side in (a, b))
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("run", ["small", "hostile"])
def test_nothing_stands_in_the_way_of_a_screen_reader(browser: Browser, address: str, run: str, scheme: str) -> None:
    with opened(browser, address, run, color_scheme=scheme, bypass_csp=True) as page:
        page.locator(".gridbody input[type=checkbox]").first.check()
        page.locator("html[data-charts=drawn]").wait_for(state="attached")
        found = barriers(page)
        page.locator(".gridbody input[type=checkbox]").first.uncheck()
        expect(page.locator("#kept-status")).to_contain_text("No segment")
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 800, 1280, 2560])
def test_nothing_is_wider_than_the_screen(browser: Browser, address: str, width: int) -> None:
    outside = """() => [...document.querySelectorAll(
        'h1, h2, h3, p, li, label, select, input, button, dd, dt, .row > *')]
      .filter(e => !e.closest('.scroll, .skip, .sr, nav') && e.getBoundingClientRect().width && e.checkVisibility())
      .filter(e => e.getBoundingClientRect().left < -1 || e.getBoundingClientRect().right > innerWidth + 1)
      .map(e => e.outerHTML.slice(0, 80))"""
    with opened(browser, address, "hostile", viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(outside) == []


@pytest.mark.slow
def test_paper_has_answer_ranking_and_selection(small: Page) -> None:
    first = names(small)[0]
    small.get_by_role("checkbox", name=f"Keep {first}", exact=True).check()
    small.emulate_media(media="print")
    for shown in ("#answer .lead", "#systems thead button >> nth=0", ".kept > li"):
        assert small.locator(shown).is_visible()
    for hidden in ("#segments", "#away", "#theme"):
        assert not small.locator(hidden).is_visible()
    small.emulate_media(media="screen")
    small.get_by_role("checkbox", name=f"Keep {first}", exact=True).uncheck()
    expect(small.locator("#kept-status")).to_contain_text("No segment")
