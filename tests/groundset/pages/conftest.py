"""Runs of invented questions, and a headless browser."""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Debian's runs as root in containers; whatever a page asks of another machine is not found.
_ARGUMENTS = [
    "--no-sandbox",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]


@pytest.fixture
def make_run(tmp_path: Path, parquet_in_this_process: None) -> Callable[..., Any]:
    """Make a run; see ``pages_run.py``."""
    import pages_run

    return partial(pages_run.make_run, tmp_path)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless browser; without one the test is skipped, or fails in continuous integration."""
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        reason = "no Chromium on this machine: `apt-get install chromium`"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """A tab; ``tab.heard`` are its messages, dialogs and requests."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.heard = []
    for event in ("console", "dialog", "pageerror"):
        page.on(event, lambda message: page.heard.append(str(message)))
    page.on("request", lambda request: page.heard.append(request.url))
    yield page
    context.close()
