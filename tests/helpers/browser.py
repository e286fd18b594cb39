"""Debian's Chromium without a window, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = ["--no-sandbox", "--no-first-run"]
FLAGS += [f"--disable-{part}" for part in ("gpu", "background-networking", "component-update", "sync")]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser, or skip: a failure where CI promises one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("CI_CHROMIUM") == "1":
            pytest.fail("CI_CHROMIUM=1 promises a Chromium, but there is none")
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


def barriers(page: Page, options: dict[str, Any] | None = None) -> list[str]:
    """Return what stands in the way of a screen reader: axe-core judges contrast, names, landmarks and tables."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=options).response["violations"]
    return [f"{one['id']}: {[node['html'] for node in one['nodes']][:3]}" for one in found]
