"""The report of a run: sections, figures, and texts that would do harm."""

import json
import re
from html.parser import HTMLParser

import pytest
from pages_run import ASKED, EVIL, EVILS, review

from groundset.pages.report import ReportOptions, report, report_page, report_record
from groundset.programs.users import USERS

SECTIONS = ["questions", "made", "retrieval", "variety", "cost"]


class Page(HTMLParser):
    """The text, tags and attributes of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.attributes = []
        self.text = ""
        self.feed(page)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        if self.tags[-1:] != ["style"]:
            self.text += f" {data}"


def test_sections_of_which_the_first_shows_the_questions(make_run):
    run = make_run(reviews=[review("s0"), review("s1", "refused", "wrong_premise", reviewer="ben")])
    text = report_page(run)
    page = Page(text)
    assert [value for name, value in page.attributes if name == "id"] == SECTIONS
    first = Page(text.split('<section id="made">')[0]).text
    for question, answer in ASKED:
        assert question in first
        assert answer in first
    assert 'The bridge was built by <mark class="answer">Ada Lund</mark>' in text
    for words in (
        "fact",
        "rank 7",
        "not found",
        "0.43",
        "signed by ann",
        "refused by ben: wrong premise",
    ):
        assert words in first
    assert "judge: not clear" in page.text
    assert "score: not content" in page.text
    assert report_page(run) == text, "reports are the same each time"


def test_figures(make_run):
    costs = {
        "calls": 20,
        "prompt_tokens": 8000,
        "generated_tokens": 400,
        "seconds": 60.0,
    }
    reviews = [
        review("s0"),
        review("s1"),
        review("s1", "refused", "vague", reviewer="ben"),
        review("s2"),
    ]
    found = report_record(make_run(reviews=reviews, attempts=8, **costs))
    made, retrieval, variety = found["made"], found["retrieval"], found["variety"]
    assert made["samples"] == 4
    assert made["attempts"] == 8
    assert made["signed"]["part"] == 2
    assert made["signed"]["of"] == 3, "all who reviewed it must sign"
    assert made["kept"]["part"] == 4
    assert made["kept"]["of"] == 5
    assert made["kept"]["low"] < 0.8 < made["kept"]["high"]
    [refused] = made["questions_refused"]
    assert refused["step"] == "judge"
    assert refused["reason"] == "not clear"
    assert refused["count"] == 1
    assert refused["example"]["reason"] == "not clear: why"
    assert made["chunks"] == {"used": 4, "refused": 0, "of": 4}
    assert [(row["path"], row["samples"], row["refused"]) for row in made["by_document"]] == [
        ("guide.md", 2, 1),
        ("north.md", 2, 0),
    ]
    assert retrieval["ranks"] == {
        "1": 1,
        "2 to 3": 1,
        "4 to 5": 0,
        "6 to 10": 1,
        "11 or more": 0,
        "not found": 1,
    }
    assert retrieval["first"]["value"] == 0.25
    assert retrieval["early"]["value"] == 0.5
    assert retrieval["reciprocal_rank"]["value"] == pytest.approx((1 + 1 / 2 + 1 / 7) / 4)
    assert (retrieval["found_first_by_both"], retrieval["found_by_neither"]) == (1, 0)
    assert retrieval["sight"]["questions"] == 4
    assert variety["first_words"] == {"when": 2, "who": 1, "how": 1}
    assert found["cost"]["per_sample"] == {
        "calls": 5,
        "prompt_tokens": 2000,
        "generated_tokens": 100,
        "seconds": 15,
    }


def test_documents_that_contradict_each_other_are_named(make_run):
    variants = [{"answer": "at ten", "chunk_id": name} for name in ("c1", "c2", "gone")]
    run = make_run(
        changes={0: {"metadata": {"variants": variants}}, 1: {"metadata": {"variants": 1}}}
    )
    (pair,) = report_record(run)["made"]["contradictions"]
    assert pair == {"first": "guide.md", "second": "north.md", "questions": 1}
    assert "guide.md north.md" in Page(report_page(run)).text


def test_unanswerable_questions_are_left_out_of_retrieval(make_run):
    run = make_run(changes={1: {"retrieval_gt": ()}})
    assert report_record(run)["retrieval"]["questions"] == 3
    assert "1 unanswerable question left out" in Page(report_page(run)).text


@pytest.mark.parametrize("count", [0, 1])
def test_report_on_few_samples(make_run, count):
    page = Page(report_page(make_run(asked=ASKED[:count])))
    assert page.tags.count("section") == 5
    assert "nan" not in page.text.lower()


@pytest.mark.parametrize("evil", EVILS)
def test_texts_never_become_markup(make_run, evil):
    reviews = [review("s0", "refused", f"vague{evil}"[:60], reviewer="<b>")]
    asked = [(f"{question}{evil}", f"{answer}{evil}") for question, answer in ASKED]
    changes = {0: {"evolution": evil, "metadata": {"kind": evil, "evidence": evil}}}
    run = make_run(
        asked=asked, evil=evil, reviews=reviews, changes=changes, models={"lm": {"name": evil}}
    )
    text = report_page(run)
    page = Page(text)
    assert {"script", "img", "b", "textarea"}.isdisjoint(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]
    assert [value for name, value in page.attributes if name == "id"] == SECTIONS
    assert not re.search("[\u202a-\u202e\u2028\x1b\x00]", text)
    assert "49 ${1}" not in page.text
    assert len(text) < 200_000


def test_the_page_may_load_and_run_nothing(make_run):
    text = report_page(make_run())
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe" not in policy
    assert not re.findall(r"(?:src|href)=\"(?!#|data:,)", text)


def test_wording_beside_what_was_wanted_and_that_of_users(make_run, tmp_path, capsys):
    put = {"situation": "at the quay", "seed_question": "When does it leave?"}
    changes = {0: {"question": "Ferry? When!", "metadata": put}, 1: {"question": "bridge who"}}
    made = {"recipe": "evolved", "users": "staff"}
    run = make_run(changes=changes, configuration=made).folder
    text = Page(report(ReportOptions(run=run)).read_text("utf-8")).text
    assert "This set 4 (2 to 5) 1.00 (1.00 to 1.00) 25 % 25 % 25 %" in text
    assert "As the writer was told" in text
    file = tmp_path / "log.csv"
    file.write_text("query,chunk_id\nferry departure,c0\nwhen sundays open. help!,\n", "utf-8")
    page = report(ReportOptions(run=run, queries=file))
    text = Page(page.read_text("utf-8")).text
    assert "Your users’ queries 3 (2 to 4) 0.50 (0.50 to 0.50) 100 % 50 % 50 %" in text
    capsys.readouterr()
    report(ReportOptions(run=run, queries=file, as_json=True))
    found = json.loads(capsys.readouterr().out)["wording"]
    drawn = USERS["staff"].drawn("When does it leave?")
    assert found["wanted"]["words"]["value"] == drawn.words
    assert found["wanted"]["no_question_mark"]["value"] == (not drawn.mark)
    assert found["queries"]["shared_words"] == {"value": 0.5, "low": 0.5, "high": 0.5, "of": 1}
    assert "wanted" not in report_record(make_run("reader"))["wording"]


def test_where_the_page_is_written(make_run, tmp_path, capsys):
    run = make_run()
    (run.folder / "report.html").symlink_to(tmp_path / "elsewhere")
    assert report(ReportOptions(run=run.folder)) == run.folder / "report.html"
    assert not (tmp_path / "elsewhere").exists()
    out = tmp_path / "own.html"
    assert report(ReportOptions(run=run.folder, out=out)) == out
    assert out.read_text("utf-8") == report_page(run)
    assert capsys.readouterr().out.endswith(f"report: {out}\n")
    assert report(ReportOptions(run=run.folder, as_json=True)) is None
    assert json.loads(capsys.readouterr().out) == report_record(run)


WIDER = """() => [...document.querySelectorAll("body *")]
  .filter(each => !each.closest(".wide > *, svg > *")
  && each.getBoundingClientRect().right > innerWidth + 0.5).map(each => each.tagName)"""
FAINTEST = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(part => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; });
  const light = colour => {
    const [r, g, b] = parts(colour); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = each => { const own = getComputedStyle(each).backgroundColor;
    return own === "rgba(0, 0, 0, 0)" ? ground(each.parentElement) : own; };
  const texts = document.querySelectorAll("h1, p, dt, dd, th, td, a, .soft, .chip, mark, cite");
  return Math.min(...[...texts].map(each => {
    const both = [light(getComputedStyle(each).color), light(ground(each))];
    const [low, high] = both.sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05); }));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_in_a_browser(make_run, tab, tmp_path, scheme):
    reviews = [review("s0"), review("s1", "refused", "vague")]
    run = make_run(
        asked=[(question + EVIL, answer) for question, answer in ASKED], evil=EVIL, reviews=reviews
    )
    file = tmp_path / "report.html"
    file.write_text(report_page(run), "utf-8")
    address = file.as_uri()
    tab.emulate_media(color_scheme=scheme)
    for width in (360, 1280):
        tab.set_viewport_size({"width": width, "height": 800})
        tab.goto(address)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(WIDER) == []
    assert tab.evaluate(FAINTEST) >= 4.5
    assert tab.title() == "Report on run"
    assert [line for line in tab.heard if line not in (address, "data:,")] == [], (
        "nothing is requested or said"
    )
    injected = tmp_path / "injected.html"
    injected.write_text(file.read_text("utf-8").replace("<main>", f"<main>{EVIL}"), "utf-8")
    tab.goto(injected.as_uri())
    assert tab.title() == "Report on run"
    assert any("Content Security Policy" in line for line in tab.heard)
