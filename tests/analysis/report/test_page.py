"""The report in a real browser: Debian's Chromium without a window, driven by Playwright."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from bsx.analysis.present.scores import draw_alignment
from bsx.analysis.report.build import build_report
from bsx.analysis.report.documents import read_document
from bsx.analysis.report.result import Report
from bsx.bertscore.alignment import Alignment, Side
from bsx.support.provenance import Signature
from tests.helpers import report_samples as samples
from tests.helpers.browser import barriers

BASELINE = Path(__file__).with_name("report_layout.json")
CROWD = ("bertscore", "chrf", "sentbleu", "moverscore", "rouge-l", "bleurt", "comet", "xmoverscore")
DRAWN = "html[data-charts=drawn]"


def align(candidate: str, reference: str) -> dict[str, Any]:
    """Align words by equality, in the shape of `bsx.Alignment.to_dict`: a real model would only slow the tests."""
    left, right = candidate.split() or ["-"], reference.split() or ["-"]
    cosines = [[1.0 if a == b else 0.2 for b in right] for a in left]

    def side(tokens: list[str], rows: list[list[float]]) -> dict[str, Any]:
        best = [int(np.argmax(row)) for row in rows]
        return {"tokens": [{"token": t, "weight": 1.0, "match": m} for t, m in zip(tokens, best, strict=True)]}

    sides = {"candidate": side(left, cosines), "reference": side(right, [*map(list, zip(*cosines, strict=True))])}
    figures = dict.fromkeys(("precision", "recall", "f1"), 0.5)
    return {**sides, **figures, "cosines": cosines, "signature": "metric:words"}


def sample(folder: Path, *, examples: int = 10, **settings: Any) -> Report:
    documents = [read_document(file) for file in samples.write(folder, **settings)]
    return build_report(documents, align=align, examples=examples)


@pytest.fixture(scope="module")
def report_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    sample(folder).save(folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def crowded_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of eight metrics, eight groups."""
    folder = tmp_path_factory.mktemp("crowded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "METRICS", CROWD)
        patch.setitem(samples.MAKERS, "meta", lambda: samples.meta(len(samples.GROUPS)))
        patch.setitem(samples.MAKERS, "disentangle", lambda: samples.disentangle(len(samples.GROUPS)))
        sample(folder).save(folder / "report.html")
    return folder / "report.html"


class Opened(NamedTuple):
    page: Page
    messages: list[str]
    requests: list[str]


@contextmanager
def opened(browser: Browser, file: Path, **settings: Any) -> Iterator[Opened]:
    """Open a file; what the console said and what was asked for is kept."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
    context.set_default_timeout(120_000)  # milliseconds; machines that run other tests meanwhile are slow
    found = _loaded(context, file)
    found.page.locator(DRAWN).wait_for(state="attached")
    yield found
    context.close()


def _watched(page: Page) -> Opened:
    """Keep what a page says on the console, and what it asks for."""
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    return Opened(page, messages, requests)


def _loaded(context: BrowserContext, file: Path) -> Opened:
    """Load a file into a new page; a renderer that Chromium did not start in time, as it happens under load, again."""
    late: PlaywrightTimeout | None = None
    for patience in (45_000, 45_000, 120_000):
        found = _watched(context.new_page())
        try:
            found.page.goto(file.as_uri(), timeout=patience)
        except PlaywrightTimeout as error:
            late = error
            found.page.close()
        else:
            return found
    raise AssertionError(f"{file.name} was not loaded") from late


@pytest.fixture(scope="module")
def page(browser: Browser, report_file: Path) -> Iterator[Page]:
    """One page for all tests that leave it as they found it, or do not mind; drawing charts takes its time."""
    with opened(browser, report_file) as found:
        yield found.page
        assert found.messages == []
        assert found.requests == [report_file.as_uri()]


def column(page: Page, table: str, place: int) -> list[str]:
    return page.locator(f"{table} tbody tr > :nth-child({place})").all_inner_texts()


def test_charts_are_drawn_and_described(page: Page) -> None:
    for plot in page.locator(".plot").all():
        assert plot.locator("svg").count() == 1
        assert len(plot.get_attribute("aria-label") or "") > 20
    marks = page.locator("#agreement .plot svg path[aria-roledescription], #agreement .plot svg .mark-symbol path")
    assert marks.count() >= 12  # three metrics in three groups, and their averages


def test_a_table_is_sorted_by_mouse_and_by_keyboard(page: Page) -> None:
    table = "#factors table:has(caption:text-is('Coefficients with 95 % intervals'))"
    head = page.locator(f"{table} thead th", has_text="coefficient")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    values = [float(value.rstrip("†")) for value in column(page, table, 3)]
    assert values == sorted(values, reverse=True)
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert [float(value.rstrip("†")) for value in column(page, table, 3)] == sorted(values)
    first = page.locator(f"{table} thead th", has_text="metric")
    first.locator("button").press("Space")
    assert head.get_attribute("aria-sort") is None
    names = column(page, table, 1)
    assert names == sorted(names)
    assert "sorted by metric, ascending" in page.locator("#announce").inner_text()


def test_numbers_sort_by_their_full_value_and_undefined_ones_last(page: Page) -> None:
    page.locator("#segments thead th", has_text="chrf").locator("button").click()
    assert column(page, "#segments", 6)[0] != "–"
    page.locator("#segments thead th", has_text="chrf").locator("button").click()
    cells = page.locator("#segments tbody tr").evaluate_all("rows => rows.map(row => row.cells[5].title)")
    numbers = [float(cell) for cell in cells if cell]
    assert numbers == sorted(numbers)
    page.locator("#segments .size").select_option("500")
    assert column(page, "#segments", 6)[-2:] == ["–", "–"]
    page.locator("#segments .size").select_option("50")


def test_segments_are_searched_and_chosen_by_system(page: Page) -> None:
    status = page.locator("#segments .status")
    assert status.inner_text() == "120 rows"
    assert page.locator("#segments tbody tr").count() == 50
    page.locator("#segments .category").select_option("brook")
    assert status.inner_text() == "60 of 120 rows match"
    assert set(column(page, "#segments", 2)) == {"brook"}
    page.locator("#segments input[type=search]").fill("EN-00017")
    assert status.inner_text() == "1 of 120 rows match"
    page.locator("#segments input[type=search]").fill("")
    page.locator("#segments .category").select_option("")
    page.locator("#segments .next").click()
    assert page.locator("#segments .where").inner_text() == "Page 2 of 3"
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("domain").check()
    assert "domain" in page.locator("#segments thead").inner_text()
    page.get_by_label("domain").uncheck()
    page.get_by_text("Columns", exact=True).click()
    page.locator("#segments .previous").click()


@pytest.mark.slow
def test_the_legend_hides_a_series(page: Page) -> None:
    marks = page.locator("#factors figure >> nth=0").locator("svg .mark-symbol path")
    before = marks.count()
    button = page.locator("#factors figure >> nth=0").get_by_role("button", name="chrf")
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    expect(marks).to_have_count(before - 3)
    button.click()
    expect(marks).to_have_count(before)


@pytest.mark.slow
def test_the_theme_follows_the_system_and_the_button(browser: Browser, report_file: Path) -> None:
    def ground(page: Page) -> int:
        colour: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))

    with opened(browser, report_file, color_scheme="dark") as found:
        dark = ground(found.page)
        found.page.locator("#theme").click()
        light = ground(found.page)
        ink: str = found.page.evaluate("getComputedStyle(document.querySelector('.plot svg text')).fill")
        assert dark < 150 < 600 < light
        assert ink != "rgb(0, 0, 0)"
        found.page.reload()
        assert ground(found.page) == light  # the choice is remembered


def test_the_keyboard_reaches_everything(page: Page) -> None:
    page.locator("h1").click()
    page.keyboard.press("Shift+Tab")  # to what comes first on the page
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    hidden = page.evaluate(
        "[...document.querySelectorAll('button, a[href], input, select, summary')].filter(e => e.tabIndex < 0).length"
    )
    assert hidden == 0
    page.locator("#theme").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_a_screen_reader(browser: Browser, tmp_path: Path, scheme: str) -> None:
    sample(tmp_path, examples=1, rows=3).save(tmp_path / "short.html")
    with opened(browser, tmp_path / "short.html", color_scheme=scheme, bypass_csp=True) as found:
        found.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        # What a theme changes is contrast; all other rules are tried once.
        rules = None if scheme == "light" else {"runOnly": ["color-contrast"]}
        assert barriers(found.page, rules) == []


@pytest.mark.slow
def test_paper_shows_the_tables_that_the_screen_folds_away(browser: Browser, report_file: Path) -> None:
    with opened(browser, report_file, color_scheme="dark") as found:
        found.page.emulate_media(media="print")
        found.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert found.page.locator("main details.long").count() > 3
        assert found.page.locator("main details.long:not([open])").count() == 0
        assert found.page.locator("main details.alignment[open]").count() == 0
        assert not found.page.locator("nav").is_visible()
        assert not found.page.locator("#theme").is_visible()
        assert found.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 254, 251)"
        pages = found.page.pdf(format="A4").count(b"/Type /Page\n")
        inside = "all => all.map(e => getComputedStyle(e).breakInside)"
        styles = found.page.locator("main .scroll.short").evaluate_all(inside)
        heads = found.page.locator("main thead").evaluate_all("all => all.map(e => getComputedStyle(e).display)")
    assert len(styles) > 20
    assert set(styles) == {"avoid"}  # small tables are kept together
    assert set(heads) == {"table-header-group"}  # repeated on each page
    assert 5 < pages <= 18  # three of them are rows of segments


def test_without_javascript_the_tables_are_there(browser: Browser, report_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(report_file.as_uri())
    assert page.locator("table:visible").count() > 10
    notes = page.locator("noscript p").all_inner_texts()
    assert sum("The chart needs JavaScript" in note for note in notes) == page.locator("figure").count()
    assert sum("showing them needs JavaScript" in note for note in notes) == 1
    context.close()


OUTSIDE = """() => [...document.querySelectorAll(
    'h1, h2, h3, h4, p, li, button, figcaption, summary, svg text')]
  .filter(e => !e.closest('.scroll, .skip, .sr') && e.getBoundingClientRect().width)
  .filter(e => e.getBoundingClientRect().left < -1 || e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.textContent.trim().slice(0, 40))"""
SCROLLED = """() => {
  const table = [...document.querySelectorAll('#agreement .scroll')].find(e => e.scrollWidth > e.clientWidth);
  table.scrollLeft = 60;
  return table.querySelector('tbody th').getBoundingClientRect().left - table.getBoundingClientRect().left;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768])
def test_a_narrow_screen_scrolls_tables_not_the_page(browser: Browser, crowded_file: Path, width: int) -> None:
    """Tables may be wider than the screen, beside a first column that stays; nothing else is."""
    with opened(browser, crowded_file, viewport={"width": width, "height": 800}) as found:
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width
        faults = [one for one in found.page.evaluate(FAULTS) if not one.startswith(("cut off: ", "off the page: "))]
        assert faults == []
        assert found.page.evaluate(OUTSIDE) == []
        if width == 360:
            assert abs(found.page.evaluate(SCROLLED)) < 2


@pytest.mark.slow
def test_ten_thousand_segments_open(browser: Browser, tmp_path: Path) -> None:
    sample(tmp_path, rows=5000).save(tmp_path / "long.html")
    with opened(browser, tmp_path / "long.html") as found:
        assert found.page.locator("#segments .status").inner_text() == "10,000 rows"
        found.page.locator("#segments input[type=search]").fill("storm after")
        found.page.locator("#segments thead th", has_text="bertscore").locator("button").click()
        assert "of 10,000 rows match" in found.page.locator("#segments .status").inner_text()


HOSTILE = (
    " <script>window.hacked=1</script></script><script>window.hacked=2</script>"
    "\"><img src=x onerror=window.hacked=3>'><svg onload=window.hacked=4><iframe src=javascript:parent.hacked=5>"
    "</iframe></title></style></textarea><!--{{7*7}}{% raw %}${window.hacked=6}\u2028window.hacked=7\u2029"
    "javascript:window.hacked=8 &lt;b&gt;\u202e]]>"
)
# Of every element of a page; an empty form stands beside each of Vega's charts.
TAGS = (  # noqa: SIM905 - prose reads better
    "html head meta title style body a header p h1 h2 h3 h4 button div nav ol ul li main section table caption "
    "thead tbody tr th td strong code span figure figcaption svg path g text tspan line rect defs clippath "
    "noscript details summary article dl dt dd mark em label input select option pre footer script form"
).split()


@pytest.mark.slow
@pytest.mark.parametrize("policy", [True, False], ids=["with its policy", "without its policy"])
def test_hostile_text_stays_text(browser: Browser, tmp_path: Path, policy: bool) -> None:
    """Escaping alone must hold, and the page's content security policy is a second wall."""
    spoil = samples.spoiler(HOSTILE)
    documents = [read_document(file) for file in samples.write(tmp_path, rows=5, spoil=spoil)]
    build_report(documents, title=HOSTILE, align=align).save(tmp_path / "hostile.html")
    with opened(browser, tmp_path / "hostile.html", bypass_csp=not policy) as found:
        page = found.page
        page.evaluate("for (const part of document.querySelectorAll('details:not(.columns)')) part.open = true")
        for chart in ("agreement", "robustness"):
            page.locator(f"#{chart} svg .mark-symbol path").first.hover(force=True)
            assert "<script>" in page.locator("#tip").inner_text()
        page.locator("#segments input[type=search]").fill("<img src=x")
        for button in page.locator("#segments thead button, #factors thead button").all()[:12]:
            button.click()
        page.wait_for_timeout(200)
        assert page.evaluate("window.hacked") is None
        tags = page.evaluate("[...new Set([...document.querySelectorAll('*')].map(e => e.localName.toLowerCase()))]")
        assert set(tags) <= {*TAGS}
        assert page.locator("script").count() == 4
        assert page.locator("svg:not(.plot svg, .legend svg)").count() == 0
        names = page.evaluate("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())")
        assert not [name for name in names if name.startswith("on") or name == "src"]
        links = page.evaluate("[...document.querySelectorAll('[href]')].map(e => e.getAttribute('href'))")
        assert all(link.startswith("#") for link in links)
        body = page.locator("body").inner_text()
        assert "{{7*7}}" in body
        assert "49}}" not in body
        assert page.title().split() == HOSTILE.split()
        assert found.messages == []
        assert found.requests == [(tmp_path / "hostile.html").as_uri()]


def test_every_text_of_every_document_is_shown_escaped(tmp_path: Path) -> None:
    """In the file itself: between the tags that the template writes, no tag comes from data."""
    spoil = samples.spoiler("<x-y>")
    html = build_report([read_document(f) for f in samples.write(tmp_path, spoil=spoil)], title="<x-y>").to_html()
    assert "<x-y" not in html
    assert html.count("&lt;x-y&gt;") > 200


LAYOUT = """() => [...document.querySelectorAll(
    'header, nav, main, main > section, #agreement figure, #agreement table, .example')]
  .filter(e => e.getClientRects().length)
  .map(e => [e.localName + (e.id ? '#' + e.id : ''), e.getBoundingClientRect()])
  .map(([name, b]) => [name, ...[b.x, b.y + scrollY, b.width, b.height].map(Math.round)])"""


def test_the_layout_is_the_one_that_was_looked_at(browser: Browser, report_file: Path) -> None:
    """The boxes of the page's parts, against a baseline that a person has seen.

    Other fonts break lines elsewhere: positions across may differ by 12 pixels, heights by a quarter.
    """
    with opened(browser, report_file) as found:
        boxes = found.page.evaluate(LAYOUT)
    if os.environ.get("BSX_NEW_BASELINE") == "1":
        BASELINE.write_text(json.dumps({"boxes": boxes}) + "\n")
    expected = json.loads(BASELINE.read_text())
    assert [box[0] for box in boxes] == [box[0] for box in expected["boxes"]]
    for (name, x, _, width, height), (_, x0, _, width0, height0) in zip(boxes, expected["boxes"], strict=True):
        assert abs(x - x0) <= 12, name
        assert abs(width - width0) <= (12 if name != "table" else 0.25 * width0), name
        assert abs(height - height0) <= max(16, 0.25 * height0), name
    tops = [box[2] for box in boxes if box[0].startswith("section")]
    assert tops == sorted(tops)


FAULTS = """() => {
  const found = [];
  const box = e => e.getBoundingClientRect();
  const shown = e => box(e).width > 0 && box(e).height > 0;
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const pairs = (all, name, say) => all.forEach((a, i) => all.slice(i + 1).forEach(b => {
    if (over(box(a), box(b))) found.push(`${name}: ${say(a)} lies over ${say(b)}`);
  }));
  const words = e => e.textContent.trim().slice(0, 40);
  for (const e of document.querySelectorAll('.scroll')) {
    if (shown(e) && !e.closest('.segments') && e.scrollWidth > e.clientWidth + 1) {
      found.push(`cut off: ${e.ariaLabel}, ${e.scrollWidth} in ${e.clientWidth}`);
    }
  }
  for (const e of document.querySelectorAll('th, td, button, figcaption, h2, h3, h4, p, li, summary')) {
    if (shown(e) && e.scrollWidth > e.clientWidth + 2 && getComputedStyle(e).display !== 'inline') {
      found.push(`wider than its box: ${words(e)}`);
    }
    if (shown(e) && (box(e).left < -1 || box(e).right > innerWidth + 1) && !e.closest('.skip, .sr, .segments')) {
      found.push(`off the page: ${words(e)}`);
    }
  }
  for (const e of document.querySelectorAll('.plot')) {
    const texts = [...e.querySelectorAll('svg text')].filter(t => words(t) && shown(t) && t.style.opacity !== '0'
      && t.getAttribute('opacity') !== '0');
    const plot = box(e);
    pairs(texts, 'text in a chart', words);
    for (const t of texts) {
      if (box(t).left < plot.left - 3 || box(t).right > plot.right + 3) found.push(`cut in a chart: ${words(t)}`);
    }
    if (!e.querySelector('svg .mark-symbol path, svg .mark-rect path, svg .mark-rule line')) {
      found.push(`empty chart: ${e.ariaLabel}`);
    }
  }
  for (const e of document.querySelectorAll('main > section')) {
    pairs([...e.children].filter(shown), 'blocks', words);
    if ([...e.children].filter(c => shown(c) && words(c)).length < 2) found.push(`empty section: ${words(e)}`);
  }
  for (const e of document.querySelectorAll('.glance ul')) if (!e.children.length) found.push('nothing at a glance');
  pairs([...document.querySelectorAll('main > section')], 'sections', words);
  return found;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 1600])
def test_nothing_is_cut_off_empty_or_printed_over(browser: Browser, crowded_file: Path, width: int) -> None:
    """What a person would see at a glance: measured boxes, in a report of eight metrics and eight groups.

    Only the segments, whose texts and columns a reader chooses, may scroll sideways.
    """
    with opened(browser, crowded_file, viewport={"width": width, "height": 900}) as found:
        assert found.page.evaluate(FAULTS) == []


def test_series_differ_without_colour(page: Page) -> None:
    """Each series has a shape of its own, and lines a dash of their own."""
    kinds = "(paths, name) => new Set(paths.map(path => path.getAttribute(name))).size"
    assert page.locator("#factors figure >> nth=0").locator("svg .mark-symbol path").evaluate_all(kinds, "d") == 3
    assert page.locator("#robustness .several svg .mark-line path").evaluate_all(kinds, "stroke-dasharray") == 3


@pytest.mark.slow
def test_tables_that_are_too_wide_fade_out_until_their_end(browser: Browser, crowded_file: Path) -> None:
    """`over` and `more` are what the style sheet fades by; every place that scrolls is reached by the keyboard."""
    state = """() => [...document.querySelectorAll('.scroll')].filter(e => e.checkVisibility()).map(e =>
      [e.scrollWidth > e.clientWidth + 1, e.classList.contains('over'), e.classList.contains('more'), e.tabIndex])"""
    with opened(browser, crowded_file, viewport={"width": 400, "height": 800}) as found:
        found.page.wait_for_function("document.querySelector('#agreement .scroll.over.more')")
        boxes = found.page.evaluate(state)
        assert any(wide for wide, *_ in boxes)
        assert [box for box in boxes if box != [box[0], box[0], box[0], 0]] == []
        wide = found.page.locator("#agreement .scroll.over").first
        assert "linear-gradient" in wide.evaluate("e => getComputedStyle(e).maskImage")
        wide.evaluate("e => { e.scrollLeft = e.scrollWidth }")
        found.page.wait_for_function("e => !e.classList.contains('more')", arg=wide.element_handle())
        assert wide.evaluate("e => getComputedStyle(e).maskImage") == "none"


@pytest.mark.slow
def test_paper_has_all_rows_or_says_which(browser: Browser, tmp_path: Path) -> None:
    sample(tmp_path, rows=60).save(tmp_path / "some.html")
    with opened(browser, tmp_path / "some.html") as found:
        shown, printed = found.page.locator("#segments tbody tr"), found.page.locator("#segments .printed")
        assert not printed.is_visible()
        found.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert shown.count() == 120
        assert printed.text_content() == "Printed: all 120 rows."
        found.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert shown.count() == 50
        found.page.locator("#segments .category").select_option("brook")
        found.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert printed.text_content() == "Printed: all 60 rows that match."
    sample(tmp_path, rows=600).save(tmp_path / "many.html")
    with opened(browser, tmp_path / "many.html") as found:
        found.page.locator("#segments .next").click()
        found.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert found.page.locator("#segments .printed").text_content() == "Printed: rows 51 to 100 of 1,200."


def left_empty(page: Page, folder: Path) -> list[float]:
    """Return the share of each printed page that is empty below its last mark."""
    if shutil.which("pdftoppm") is None:
        pytest.skip("there is no pdftoppm here (Debian: apt-get install poppler-utils)")
    page.pdf(path=folder / "paper.pdf", print_background=True, format="A4")
    subprocess.run(["pdftoppm", "-r", "20", "-gray", folder / "paper.pdf", folder / "paper"], check=True)
    shares = []
    for file in sorted(folder.glob("paper-*.pgm")):
        _, size, _, pixels = file.read_bytes().split(b"\n", 3)
        width, height = map(int, size.split())
        rows = np.frombuffer(pixels, np.uint8).reshape(height, width)
        marked = np.flatnonzero(np.ptp(rows, axis=1) > 12)
        shares.append(1 - (marked.max() + 1) / height if len(marked) else 1.0)
    return shares


@pytest.mark.slow
def test_no_page_of_paper_is_half_empty(browser: Browser, report_file: Path, tmp_path: Path) -> None:
    with opened(browser, report_file) as found:
        *pages, _ = left_empty(found.page, tmp_path)
    assert len(pages) > 4
    assert max(pages) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1280])
def test_pages_of_alignments_fit_the_screen(browser: Browser, tmp_path: Path, width: int) -> None:
    words = [f"word{place}" for place in range(19)]
    tokens, n = [*words, *words], 2 * len(words)
    side = Side(" ".join(tokens), tokens, np.ones(n, np.float32), np.arange(n), np.ones(n, np.float32))
    signature = Signature.read("metric:bertscore|bsx:0.1.0")
    draw_alignment(Alignment(side, side, np.eye(n, dtype=np.float32), 1, 1, 1, signature), tmp_path / "alignment.html")
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((tmp_path / "alignment.html").as_uri(), timeout=120_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(e => e.tabIndex === 0)")
    page.close()
