"""Reports in a browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reported_run import EVIL, EVILS, make_run

from groundset.report.comparison import compare_runs
from groundset.report.report import write_report

CONTRAST = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(part => {
    const share = part / 255; return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; });
  const light = colour => { const [r, g, b] = parts(colour); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const against = colour => { const ink = light(colour); const [high, low] = ink > paper ? [ink, paper] : [paper, ink];
    return (high + 0.05) / (low + 0.05); };
  const texts = [...document.querySelectorAll("p, dd, .rest, th, td, a, summary, figcaption")];
  const drawn = [...document.querySelectorAll("figure svg text")];
  const shapes = [...document.querySelectorAll("figure svg path")].filter(each => each.style.fill)
    .map(each => getComputedStyle(each).fill).filter(fill => fill.startsWith("rgb("));
  return [Math.min(...texts.map(each => against(getComputedStyle(each).color))),
    Math.min(...drawn.map(each => against(getComputedStyle(each).fill))), Math.min(...shapes.map(against))];
}"""
WIDER = """() => [...document.querySelectorAll("body *")].filter(each => !each.closest(".wide > *, svg > *")
  && each.getBoundingClientRect().right > innerWidth + 0.5).map(each => each.tagName)"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The addresses of a report and a comparison with hostile texts."""
    folder = tmp_path_factory.mktemp("pages")
    runs = [make_run(folder / name, evils=EVILS) for name in ("one", EVIL.replace("/", "\u2044"))]
    write_report(runs[1], folder / "report.html")
    (folder / "comparison.html").write_text(compare_runs(runs).page(), encoding="utf-8")
    return [(folder / name).as_uri() for name in ("report.html", "comparison.html")]


@pytest.fixture
def shown(browser: Any) -> Iterator[Any]:
    """A tab that records its messages and requests."""
    with browser.new_context() as context:
        page = context.new_page()
        page.heard = []
        for event in ("console", "dialog", "pageerror"):
            page.on(event, lambda message: page.heard.append(str(message)))
        page.on("request", lambda request: page.heard.append(request.url))
        yield page


@pytest.mark.parametrize(("value", "raised"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_missing_browser_fails_only_in_ci(
    monkeypatch: pytest.MonkeyPatch, value: str, raised: type[BaseException]
) -> None:
    import browser

    monkeypatch.setenv("CI", value)
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    with pytest.raises(raised, match="no Chromium on this machine"), browser.running():
        pass


def test_hostile_text_is_escaped_and_nothing_is_requested(shown: Any, pages: list[str]) -> None:
    for address in pages:
        shown.heard.clear()
        shown.goto(address)
        assert [line for line in shown.heard if not line.startswith("data:")] == [address]
        assert shown.title() != "taken"
        assert shown.locator("script, img").count() == 0
        assert shown.get_by_text("<script>document.title='taken'").count() > 0


def test_content_security_policy_blocks_scripts(shown: Any, pages: list[str], tmp_path: Path) -> None:
    report = Path(pages[0].removeprefix("file://")).read_text(encoding="utf-8")
    (tmp_path / "x.html").write_text(report.replace("<main>", f"<main>{EVIL}"), encoding="utf-8")
    shown.goto((tmp_path / "x.html").as_uri())
    assert shown.title() != "taken"
    assert any("Content Security Policy" in line for line in shown.heard)


@pytest.mark.parametrize("width", [360, 1600])
def test_no_horizontal_overflow(shown: Any, pages: list[str], width: int) -> None:
    shown.set_viewport_size({"width": width, "height": 800})
    for address in pages:
        shown.goto(address)
        shown.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert shown.evaluate(WIDER) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(shown: Any, pages: list[str], scheme: str) -> None:
    shown.emulate_media(color_scheme=scheme)
    shown.goto(pages[0])
    text, drawn, shapes = shown.evaluate(CONTRAST)
    assert text >= 4.5
    assert drawn >= 4.5
    assert shapes >= 3


def test_charts_are_accessible(shown: Any, pages: list[str]) -> None:
    shown.goto(pages[0])
    assert shown.get_by_role("img", name="Map of the chunks").count() == 1
    shown.locator("#coverage summary").first.click()
    assert shown.locator("#coverage details[open] table").first.is_visible()


def test_print_layout(shown: Any, pages: list[str]) -> None:
    shown.goto(pages[0])
    printed = shown.pdf(format="A4", print_background=False)
    assert printed.startswith(b"%PDF")
    shown.emulate_media(media="print", color_scheme="dark")
    assert shown.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert not shown.locator("nav").is_visible()
