"""The page in a real browser: from a dropped file to results, by keyboard alone, on small and large screens."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from bsx.ui.workspace import COMPARISON, SCORES, Workspace
from tests.helpers.browser import barriers
from tests.ui.test_inputs import memory, xliff
from tests.ui.test_jobs import served

ROWS = 40_000  # enough for seconds of TER, in which a run can be cancelled
EXAMPLE = Path(str(files("bsx.examples"))) / "de-systems.tsv"
WIDTHS = (400, 768, 1280, 2560)
HOSTILE = "<img src=x onerror=alert(1)>"
PATIENCE = 120_000  # milliseconds; machines that run other tests meanwhile are slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page") / "results"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    """The address of a server, with its token."""
    with served("--folder", str(folder)) as (_, address, _ask):
        yield address


@pytest.fixture(scope="module")
def context(browser: Browser, server: str) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    made.set_default_timeout(PATIENCE)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, server: str) -> Iterator[Page]:
    """A page that was let in; what it complains of on the console is an error."""
    opened = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(server)
    yield opened
    opened.close()
    root = "/".join(server.split("/")[:3])
    assert [url for url in asked if not url.startswith(root)] == []  # nothing from elsewhere
    assert said == []


def dropped(page: Page, *files: tuple[str, str]) -> None:
    """Drop files on the page, as a mouse does."""
    page.evaluate(
        """(files) => {
            const data = new DataTransfer();
            for (const [name, text] of files) data.items.add(new File([text], name));
            document.getElementById("drop").dispatchEvent(
                new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
        }""",
        [list(file) for file in files],
    )
    page.wait_for_url("**/files")


def ticked(page: Page, *specs: str) -> None:
    """Choose these metrics alone."""
    page.locator("#best").wait_for()
    for box in page.locator("input[name=metric]").all():
        box.set_checked(box.get_attribute("value") in specs)


def spreadsheet(path: Path) -> Path:
    """Write a spreadsheet as translators have them: a title, merged German headers, headings, a sheet too many."""
    rows = [line.split("\t") for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    at = [rows[0].index(name) for name in ("atlas", "brook", "reference")]
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for head in (["Vergleich, Stand März"], [], ["Nr.", "Übersetzung", None, "Referenz (geprüft)", "Anmerkungen"]):
        sheet.append(head)
    sheet.append([None, "MT-System A", "MT-System B", None, None])
    for number, row in enumerate(rows[1:], 1):
        if number % 20 == 1:
            sheet.append([f"Kapitel {number // 20 + 1}"])
            sheet.merge_cells(start_row=sheet.max_row, end_row=sheet.max_row, start_column=1, end_column=5)
        sheet.append([number, *(row[place] for place in at), None])
    for cells in ("A1:E1", "A3:A4", "B3:C3", "D3:D4", "E3:E4"):
        sheet.merge_cells(cells)
    book.create_sheet("Notizen")
    book.save(path)
    return path


@pytest.mark.slow
def test_from_a_dropped_spreadsheet_to_exported_ones(page: Page, folder: Path, tmp_path: Path) -> None:
    """The whole way of somebody who never types a command."""
    assert "token" not in page.url
    content = b64encode(spreadsheet(tmp_path / "Projekt Müller.xlsx").read_bytes()).decode()
    page.evaluate(
        """(content) => {
            const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
            const data = new DataTransfer();
            data.items.add(new File([bytes], "Projekt Müller.xlsx"));
            document.getElementById("drop").dispatchEvent(
                new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
        }""",
        content,
    )
    page.wait_for_url("**/files")
    for side, columns in (("candidate", ["MT-System A", "MT-System B"]), ("reference", ["Referenz (geprüft)"])):
        ticks = page.locator(f"input[name={side}]:checked")
        assert ticks.evaluate_all("all => all.map(one => one.value)") == columns
    page.select_option("select[name=lang]", label="German")
    page.get_by_role("button", name="Choose metrics").click()
    ticked(page, "chrf")
    page.get_by_role("button", name="Choose these alone").click()
    assert page.locator("input[name=metric]:checked").count() == page.locator("[data-recommended]").count() > 0
    ticked(page, "chrf", "bleu")
    page.get_by_role("button", name="Start").first.click()
    page.get_by_role("link", name="Read the results").wait_for()
    page.get_by_text("The commands that do the same").wait_for()
    assert "input-1.xlsx" in page.locator("pre").first.inner_text()
    run = Workspace(folder).run(page.url.rpartition("/")[2])
    assert (run.folder / SCORES).read_text().count("\n") == 80
    assert (run.folder / COMPARISON).is_file()
    page.get_by_role("link", name="Read the results").click()
    page.locator("html[data-segments=shown]").wait_for(state="attached")
    expect(page.locator("#answer .lead")).to_contain_text("MT-System")
    expect(page.locator(".gridbody dt").first).to_have_text("Referenz (geprüft)")
    assert page.locator(".gridbody mark").count() > 0
    name = page.locator(".gridbody .name").first.inner_text()
    page.get_by_role("checkbox", name=f"Keep {name}", exact=True).check()
    page.get_by_label(f"Note on {name}", exact=True).fill("falscher Fachbegriff")
    expect(page.locator("#kept-status")).to_have_attribute("data-saved", "2")
    tables = {}
    for link, file in (("All scores (XLSX)", "table.xlsx"), ("Selection (XLSX)", "selection.xlsx")):
        with page.expect_download() as told:
            page.get_by_role("link", name=link).click()
        told.value.save_as(tmp_path / file)
        head, *rows = openpyxl.load_workbook(tmp_path / file).worksheets[0].iter_rows(values_only=True)
        tables[file] = [dict(zip(head, row, strict=True)) for row in rows]
    assert len(tables["table.xlsx"]) == 80
    assert {row["system"] for row in tables["table.xlsx"]} == {"MT-System A", "MT-System B"}
    assert all(isinstance(row[metric], float | int) for row in tables["table.xlsx"] for metric in ("chrf", "bleu"))
    assert [(str(row["id"]), row["note"]) for row in tables["selection.xlsx"]] == [(name, "falscher Fachbegriff")] * 2


def finished(page: Page, lang: str) -> None:
    """Take what the page has found in the files, run chrF, read the results, and take the scores away."""
    expect(page.locator("select[name=lang]")).to_have_value(lang)
    page.get_by_role("link", name="Metrics").click()
    ticked(page, "chrf")
    page.get_by_role("button", name="Start").first.click()
    page.get_by_role("link", name="Read the results").click()
    page.locator("html[data-segments=shown]").wait_for(state="attached")
    with page.expect_download() as told:
        page.get_by_role("link", name="All scores (XLSX)").click()
    assert Path(told.value.path()).stat().st_size > 3000


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_translations_as_xliff_and_references_as_a_memory(page: Page, tmp_path: Path, width: int, scheme: Any) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    texts = [line.split("\t") for line in EXAMPLE.read_text(encoding="utf-8").splitlines()][1:]
    units = {str(n): (f"Source number {n} of them.", row[3]) for n, row in enumerate(texts)}
    xliff(tmp_path / "auftrag.xlf", units)
    memory(tmp_path / "memory.tmx", [(f"Source number {n} of them.", row[2]) for n, row in enumerate(texts)][3:])
    dropped(page, *((name, (tmp_path / name).read_text(encoding="utf-8")) for name in ("memory.tmx", "auftrag.xlf")))
    for side, other in (("reference", "candidate"), ("candidate", "reference")):  # a column is one thing
        page.locator(f"input[name={side}][value=auftrag]").check()
        expect(page.locator(f"input[name={other}][value=auftrag]")).not_to_be_checked()
    expect(page.locator(".note", has_text="37 of 40 segments are in memory.tmx")).to_contain_text("3 are not there")
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    finished(page, "de")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_texts_in_another_encoding_and_a_file_called_referenz(
    page: Page, tmp_path: Path, width: int, scheme: Any
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    columns = list(zip(*(line.split("\t") for line in EXAMPLE.read_text(encoding="utf-8").splitlines()), strict=True))
    texts = {"atlas.txt": columns[3], "brook.txt": columns[4], "referenz.txt": columns[2]}
    for name, (_, *lines) in texts.items():
        (tmp_path / name).write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    page.set_input_files("#choose", [tmp_path / name for name in texts])
    page.wait_for_url("**/files")
    expect(page.locator("legend", has_text="referenz.txt is not in UTF-8. It looks like Windows-1252")).to_be_visible()
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Read them like this").click()
    page.locator("select[name=lang]").wait_for()
    roles = page.locator("select[name^=role]").evaluate_all("all => all.map(one => one.value)")
    assert roles == ["candidates", "candidates", "references"]
    finished(page, "de")


@pytest.mark.slow
def test_a_whole_run_by_keyboard_alone(page: Page) -> None:
    """Tab, Enter and Space reach everything; the file is chosen in the dialogue that Enter opens."""
    # Chromium hands dialogues over only some time after it was asked to, so it is asked before anything else.
    page.on("filechooser", lambda _: None)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#choose").focus()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(EXAMPLE)
    page.wait_for_url("**/files")
    page.locator("select[name=lang]").focus()
    page.keyboard.type("German")
    assert page.locator("select[name=lang]").input_value() == "de"
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Choose metrics":
            break
    page.keyboard.press("Enter")
    page.locator("#best").wait_for()
    for spec in page.locator("input[name=metric]:checked").evaluate_all("all => all.map(one => one.value)"):
        page.locator(f"input[value='{spec}']").focus()
        page.keyboard.press("Space")
    assert page.locator("input[name=metric]:checked").count() == 0
    page.locator("input[value='bleu']").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")  # a form is sent by Enter
    page.wait_for_url("**/runs/*")
    page.get_by_role("link", name="Read the results").wait_for()


@pytest.mark.slow
def test_a_run_is_cancelled_and_resumed_in_two_tabs(page: Page, context: BrowserContext, folder: Path) -> None:
    words = "the old man walked slowly over the bridge to the station".split()  # noqa: SIM905
    rows = [f"{n}\t{' '.join(words[n % 4 :])} {n}\t{' '.join(words[: 4 + n % 5])} {n}" for n in range(ROWS)]
    dropped(page, ("long.tsv", "\n".join(["id\treference\tatlas", *rows, ""])))
    page.select_option("select[name=lang]", label="English")
    page.get_by_role("button", name="Choose metrics").click()
    ticked(page, "ter")
    page.get_by_role("button", name="Start").first.click()
    other = context.new_page()
    other.goto(page.url)
    other.locator("#phase", has_text=f"of {ROWS:,}").or_(
        other.locator("#phase", has_text=f"of {2 * ROWS:,}")
    ).wait_for()
    assert other.locator("#bar").get_attribute("value")
    other.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Resume").wait_for()  # the first tab sees what the second has done
    expect(page.locator("#said")).to_have_text("cancelled")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("link", name="Read the results").wait_for()
    other.close()
    run = Workspace(folder).run(page.url.rpartition("/")[2])
    assert (run.folder / SCORES).read_text().count("\n") == ROWS


def test_hostile_texts_and_names_stay_texts(page: Page) -> None:
    table = f"id\t{HOSTILE}\treference\n1\t{HOSTILE} one two\t<script>alert(2)</script>\n2\t‮ltr ab\tשלום עולם\n"
    page.on("dialog", lambda dialog: pytest.fail(f"a text ran: {dialog.message}"))
    dropped(page, (f"{HOSTILE}&\"'.tsv", table))
    expect(page.locator("td", has_text="<script>alert(2)</script>")).to_have_count(1)
    assert page.locator("main img, main script").count() == 0
    assert page.locator("td", has_text="שלום").evaluate("cell => getComputedStyle(cell).direction") == "rtl"


def test_a_bad_file_is_told_where_it_was_dropped(page: Page) -> None:
    dropped(page, ("texts.tsv", "a\tb\n1\t2\t3\n"))
    alert = page.get_by_role("alert").filter(has_text="texts.tsv")
    expect(alert).to_contain_text("line 2")
    page.get_by_role("button", name="Remove texts.tsv").click()
    expect(page.locator(".files")).to_contain_text("None yet")


def test_a_dropped_folder_is_told_apart_from_a_file(page: Page, tmp_path: Path) -> None:
    (tmp_path / "phoenix").mkdir()
    devices = page.context.new_cdp_session(page)
    box = page.locator("#drop").bounding_box()
    assert box is not None
    data = {"items": [], "files": [str(tmp_path / "phoenix")], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        at = {"x": box["x"] + 50, "y": box["y"] + 50}
        devices.send("Input.dispatchDragEvent", {"type": kind, "data": data, **at})
    expect(page.locator("#problem")).to_have_text("phoenix is a folder: open it, and drop the files that are in it.")


def paths(folder: Path) -> list[str]:
    """Every page of the server, those of one run of each state that there is among them."""
    by_state = {run.record.state: run.name for run in Workspace(folder).runs()}
    shown = [
        path for name in by_state.values() for path in (f"/runs/{name}", f"/runs/{name}/files", f"/runs/{name}/metrics")
    ]
    return ["/", "/runs", "/metrics", *shown]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(browser: Browser, page: Page, folder: Path, scheme: Any) -> None:
    if len(Workspace(folder).runs()) == 0:  # this test alone
        dropped(page, ("de-systems.tsv", EXAMPLE.read_text(encoding="utf-8")))
        page.get_by_role("button", name="Choose metrics").click()
        page.locator("#best").wait_for()
    root = "/".join(page.url.split("/")[:3])
    page.emulate_media(color_scheme=scheme)
    for path in paths(folder):
        page.goto(root + path)
        page.locator("h1").wait_for()
        for summary in page.locator("summary").all():
            summary.click()
        assert barriers(page) == [], path


@pytest.mark.slow
def test_no_page_is_wider_than_its_screen(page: Page, folder: Path) -> None:
    root = "/".join(page.url.split("/")[:3])
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for path in paths(folder):
            page.goto(root + path)
            page.locator("h1").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, path)
