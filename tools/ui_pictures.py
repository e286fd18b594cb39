"""Make the pictures of docs/start/ui.md from a run on the shipped example; needs Chromium and the extra ``dev``."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib.resources import files
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parents[1] / "docs" / "assets"
EXAMPLE = Path(str(files("bsx.examples"))) / "de-systems.tsv"
SIZE = {"width": 1100, "height": 760}
PATIENCE = 300_000  # milliseconds


def save(page: Page, name: str) -> None:
    """Write what is on the screen as a small WebP."""
    with Image.open(BytesIO(page.screenshot())) as picture:
        picture.save(PICTURES / f"{name}.webp", quality=80, method=6)


def main() -> None:
    """Walk through the page with the example, and take a picture of files, metrics and results."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("there is no Chromium here (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [sys.executable, "-m", "bsx", "ui", "--no-browser", "--folder", "bsx-results"]
        server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = chromium.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type] # width and height
            page.set_default_timeout(PATIENCE)
            page.goto(next(iter(server.stderr or ())).strip())
            page.set_input_files("#choose", EXAMPLE)
            page.wait_for_url("**/files")
            page.select_option("select[name=lang]", label="German")
            save(page, "ui-files")
            page.get_by_role("button", name="Choose metrics").click()
            page.locator("#best").wait_for()
            save(page, "ui-metrics")
            page.get_by_role("button", name="Start").first.click()
            page.get_by_role("link", name="Read the results").click()
            page.locator("html[data-segments=shown]").wait_for(state="attached")
            page.locator("#segments").evaluate("section => section.scrollIntoView()")
            page.wait_for_timeout(1000)  # until the charts above are drawn and nothing moves
            page.locator("#segments").evaluate("section => section.scrollIntoView()")
            save(page, "ui-results")
        finally:
            chromium.close()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
