"""A headless Chromium, for tests of pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Debian's runs as root in containers; whatever a page asks of another machine is not found.
_ARGUMENTS = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"]


@contextmanager
def running() -> Iterator[Any]:
    """Yield Playwright's browser; without a Chromium the test is skipped, or fails in continuous integration."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        reason = "no Chromium on this machine: `apt-get install chromium`"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
