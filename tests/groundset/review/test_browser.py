"""The review page in a headless browser."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_run import ASKED

from groundset.review.server import serving
from groundset.review.session import ReviewSession
from groundset.store.run_store import RunStore

HOSTILE = "</textarea><img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>Who?"


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open an address in a browser of its own; what the page complains of fails the test."""
    contexts, complaints = [], []

    def open_page(address: str, **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def press(page: Any, key: str) -> None:
    """Press a key that leads to another page."""
    with page.expect_navigation():
        page.keyboard.press(key)


def reviews(folder: Path) -> list[tuple[str, str | None, str | None]]:
    with RunStore.read(folder) as store:
        return [(review.item, review.verdict, review.reason) for review in store.reviews.all()]


def test_review_by_keyboard(make_run, open_page):
    folder = make_run(asked=[ASKED[0], (HOSTILE, HOSTILE), *ASKED[2:]])
    with ReviewSession([folder], "reader") as session, serving(session) as address:
        page = open_page(address)
        press(page, "1")
        assert page.locator("h1").inner_text() == HOSTILE
        press(page, "3")
        assert page.title() == "3 of 4: unread", "no script of a text has run"
        assert reviews(folder) == [("run-0", "good", None), ("run-1", "bad", "vague")]
        press(page, "u")
        assert page.locator("h1").inner_text() == HOSTILE
        press(page, "s")
        page.keyboard.press("e")
        page.keyboard.press("Control+a")
        page.keyboard.type("12 s u ?")  # every one of these is a key, but not here
        page.keyboard.press("Escape")
        page.keyboard.press("e")
        press(page, "Control+Enter")
        assert page.locator(".note .verdict").inner_text() == "Signed as corrected"
        press(page, "Backspace")
        assert page.locator("h1").inner_text() == "12 s u ?"
        page.reload()
        assert page.locator("h1").inner_text() == "12 s u ?"
        press(page, "Enter")
        page.dispatch_event("body", "keydown", {"key": "1", "repeat": True, "bubbles": True})
        assert page.title() == "4 of 4: unread", "a key that is held down gives one verdict"
        assert reviews(folder)[2:] == [("run-1", None, None), ("run-1", None, None), ("run-2", "good", None)]
        press(page, "l")
        page.get_by_label("State").select_option("skipped")
        page.get_by_role("button", name="Show").click()
        assert page.locator(".lines li").count() == 1


def test_conflicting_tabs(make_run, open_page):
    folder = make_run()
    with ReviewSession([folder], "reader") as session, serving(session) as address:
        one, other = open_page(address), open_page(address)
        press(one, "1")
        press(other, "2")
        assert "signed in another tab" in other.locator(".note").inner_text()
        press(one, "Backspace")
        assert one.title() == "1 of 4: refused"
        press(one, "2")
        assert len(reviews(folder)) == 2, "the same verdict again adds nothing"


def test_page_without_javascript_on_a_narrow_dark_screen(make_run, open_page):
    folder = make_run(asked=[("x" * 500, "y" * 500), *ASKED[1:]])
    with ReviewSession([folder], "reader") as session, serving(session) as address:
        page = open_page(
            address, java_script_enabled=False, viewport={"width": 360, "height": 700}, color_scheme="dark"
        )
        assert page.locator("html").evaluate("page => page.scrollWidth") == 360
        page.get_by_role("button", name="Sign", exact=False).first.click()
        page.locator("summary", has_text="Correct").click()
        page.get_by_label("Answer").fill("Ada Lund, an engineer")
        page.get_by_role("button", name="Sign as corrected").click()
        page.get_by_role("link", name="List").click()
        assert page.locator("html").evaluate("page => page.scrollWidth") == 360
        assert page.locator(".state").all_inner_texts()[:3] == ["signed", "signed as corrected", "unread"]


def test_contrast_and_accessible_names(make_run, open_page):
    with ReviewSession([make_run()], "reader") as session, serving(session) as address:
        for scheme in ("light", "dark"):
            page = open_page(address, color_scheme=scheme)
            press(page, "1")
            found = page.evaluate(CONTRASTS)
            assert len(found) > 20
            assert [each for each in found if each["ratio"] < 4.5] == []
            fields = page.locator("button, a, summary, textarea, select, input:not([type=hidden])")
            named = "nodes => nodes.map(node => Boolean(node.labels?.length || node.textContent.trim()))"
            assert set(fields.evaluate_all(named)) == {True}


# The contrast of every piece of text with the ground that it stands on, as WCAG 2 defines it.
CONTRASTS = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = parts(colour).slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("body *")]
    .filter((node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
    .map((node) => {
      const [low, high] = [light(getComputedStyle(node).color), light(ground(node))].sort((a, b) => a - b);
      return {text: node.textContent.trim().slice(0, 40), ratio: (high + 0.05) / (low + 0.05)};
    });
}"""


def test_verdicts_survive_a_kill_and_tokens_do_not(make_run, open_page):
    folder = make_run()
    script = "from groundset.commands import main; main()"
    arguments = [sys.executable, "-c", script, "review", str(folder), "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            old = process.stdout.readline().split()[1]
            page = open_page(old)
            press(page, "1")
            press(page, "2")
        finally:
            process.kill()
    assert reviews(folder) == [("run-0", "good", None), ("run-1", "bad", "context_reference")]
    with ReviewSession([folder], "reader") as session, serving(session) as address:
        page = open_page(address)
        assert page.title() == "3 of 4: unread"
        assert page.request.get(address.replace(address.split("/")[3], old.split("/")[3])).status == 403
    assert not list(folder.glob("*-wal"))
