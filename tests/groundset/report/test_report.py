"""The report of a run: what it says, of whatever run, and that nothing in it acts."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reported_run
from reported_run import EVIL, EVILS

import groundset
from groundset.report import pictures, sections
from groundset.report.facts import read_facts
from groundset.report.page import render
from groundset.report.report import report_page
from groundset.report.sections import coverage, made, quality, retrieval
from groundset.store.record import write_files
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import DamagedRunError, InputError
from programs.types import Reject

MakeRun = Callable[..., Path]
KEYS = ["made", "quality", "yield", "refused", "coverage", "questions", "diversity", "retrieval", "power", "cost"]


class Page(HTMLParser):
    """The text of a page, its figures by name, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] != "style":
            self.text += f" {data}"


def read(run: Path) -> Page:
    return Page(report_page(read_facts(run)))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run that nobody changes, and its report."""
    run = reported_run.make_run(tmp_path_factory.mktemp("written") / "run")
    return run, report_page(read_facts(run))


def text_of(section: Callable[..., Any], run: Path) -> str:
    """Return one part of the report of a run as text."""
    return Page(render("", "", [section(read_facts(run))])).text


def figures(run: Path) -> dict[str, Any]:
    facts = read_facts(run)
    return {each.name: each for section in sections.SECTIONS for each in section(facts).figures}


def test_every_part_is_there_and_reached_from_the_top(written: tuple[Path, str]) -> None:
    page = Page(written[1])
    ids = [value for name, value in page.attributes if name == "id"]
    assert [key for key in ids if key in KEYS] == KEYS
    assert {value for name, value in page.attributes if name == "href"} >= {f"#{key}" for key in KEYS}
    assert len(ids) == len(set(ids)), "no name occurs twice, those of drawings among them"
    assert page.tags.count("svg") == page.tags.count("details") == 13
    assert page.tags.count("desc") == 13, "whoever cannot see a drawing is told what it shows"


def test_figures_are_what_the_run_holds(written: tuple[Path, str]) -> None:
    told = figures(written[0])
    assert told["Samples"].value == "6 of 10 asked for"
    assert told["State"].value == "finished: as many samples as were asked for"
    expected = told["Expected good"]
    assert (expected.value, expected.interval, expected.n) == ("58 %", "49 to 68 %", "101 labelled questions")
    assert (told["Signed"].value, told["Signed"].n, told["Signed"].interval) == (
        "67 % (2)", "3 read samples", "21 to 94 %",
    )  # fmt: skip
    assert told["Mended"].value == "50 % (1)"
    assert (told["Kept of candidates"].value, told["Kept of attempts"].value) == ("50 % (6)", "50 % (6)")
    assert (told["Documents asked about"].value, told["Chunks asked about"].n) == ("50 % (2)", "12 chunks")
    # Ranks are 1, 2, 7, None, 1, 2.
    assert (told["Hit at 1"].value, told["Hit at 5"].value) == ("33 %", "67 %")
    assert told["Mean reciprocal rank"].value == f"{(1 + 1 / 2 + 1 / 7 + 0 + 1 + 1 / 2) / 6:.2f}"
    assert told["Tokens read"].value == "600, 100.0 for each sample"
    assert told["Time"].value == "1 min 00 s, 10.0 s for each sample"
    assert told["Smallest difference seen"].value == "none can be seen"


def test_every_share_has_its_interval_and_its_n(written: tuple[Path, str]) -> None:
    told = [each for each in figures(written[0]).values() if each.value.endswith(("%", ")")) and " %" in each.value]
    assert len(told) > 12
    without = {each.name for each in told if not each.interval}
    assert without == {"Distinct words", "Distinct pairs of words"}, "of these nobody knows how they would vary"
    assert all(each.n for each in told)


def test_reasons_are_counted_with_examples(written: tuple[Path, str]) -> None:
    text = Page(written[1]).text
    assert "6 questions refused; 3 passages held nothing to ask, which is no fault." in text
    assert "judge: not clear 6 100 % 61 to 100 %" in text
    assert "judge: not clear What? not clear: ferry-0" in text


def test_difficulty_follows_rank_and_shared_words(written: tuple[Path, str]) -> None:
    text = Page(written[1]).text
    assert re.search(r"easy 2 33 % .* middling 2 33 % .* hard 2 33 %", text)


@pytest.mark.parametrize("samples", [0, 1])
def test_a_run_of_hardly_any_samples_says_so(make_run: MakeRun, samples: int) -> None:
    page = read(make_run(samples=samples, ending=None))
    assert page.tags.count("h2") == len(KEYS)
    assert ("There are no samples, so most figures are not known." in page.text) == (samples == 0)
    assert "State not known" in page.text
    assert f"n = {samples} " in page.text
    assert "nan" not in page.text.lower().replace("finance", "")


def test_a_run_that_was_not_generated_invents_nothing(make_run: MakeRun) -> None:
    told = dict.fromkeys(("models", "compiled", "configuration", "corpus", "agenda", "asked"))
    run = make_run(lineage={"command": "merge", "options": {}, "parents": []}, **told)
    text = read(run).text
    assert "Made by groundset merge, of what was there already" in text
    assert "This run holds no steps of its own." in text
    assert "This run notes no calls and no time of its own." in text
    assert "Expected good nothing that was measured on labels says it of all these questions not known" in text
    assert "Attempts" not in text


def test_what_was_measured_on_runs_is_said_of_what_was_as_easy(make_run: MakeRun) -> None:
    of_times = {"expected_good": 0.9, "interval": [0.744, 0.965], "measured_on": 30}
    of_places = {"expected_good": 1.0, "interval": [0.342, 1.0], "measured_on": 2}
    judge = {"threshold": 0.34, "expected_good": 0.883, "interval": [0.778, 0.942], "measured_on": 60}
    run = make_run(compiled={"judge": {**judge, "kinds": {"time": of_times, "place": of_places}}})
    told = quality.section(read_facts(run))
    expected = told.figures[0]
    assert (expected.value, expected.interval, expected.n) == ("88 %", "78 to 94 %", "60 questions of runs")
    assert "said of the 3 samples that were easy to ask" in expected.meaning
    assert [list(row) for row in told.tables[0].rows] == [["time", "3", "90 %", "74 to 96 %", "30"]]
    assert "The expected share was measured on questions of runs that were read one by one" in told.notes[0]


def test_a_critic_that_promises_nothing_is_not_said_to(make_run: MakeRun) -> None:
    judge = {"model": "head", "optimizer": "fit-head", "threshold": 0.42}
    text = text_of(quality.section, make_run(compiled={"judge": judge}))
    assert "says it of all these questions not known" in text
    assert "The expected share was measured" not in text


def test_a_run_made_of_one_that_kept_only_what_was_found_flatters_its_embedder_too(make_run: MakeRun) -> None:
    lineage = {"command": "sample", "options": {}, "parents": []}
    assert "at rank 5 or better with the run's own embedder" in text_of(retrieval.section, make_run(lineage=lineage))


def test_a_chunk_that_holds_nothing_further_to_ask_held_something(make_run: MakeRun) -> None:
    run = make_run(samples=3)
    before = read_facts(run)
    with RunStore.open(run) as store:
        asked = Reject(step="judge", reason="not clear", chunk_id="loom-0", question="What?")
        further = [
            Reject(step="keyphrases", reason="no further sentence", chunk_id=name) for name in ("loom-0", "loom-1")
        ]
        store.results.add([], [asked, *further])
    assert read_facts(run).passed_over - before.passed_over == {"loom-1"}


def test_a_run_that_is_still_going_is_told_as_of_now(make_run: MakeRun) -> None:
    run = make_run(embedded=False)
    with RunStore.open(run) as store:
        write_files(store, "running")
        assert "still going, or killed: all figures are of this moment" in text_of(made.section, run)
        assert "There is no map: not all chunks of this run have embeddings." in text_of(coverage.section, run)


@pytest.mark.parametrize("broken", ["{", '["complete"]', "[" * 100_000])
def test_a_report_does_without_run_json(make_run: MakeRun, broken: str) -> None:
    run = make_run()
    (run / "run.json").write_text(broken, encoding="utf-8")
    assert read_facts(run).status == "complete"


def test_a_damaged_run_is_named(make_run: MakeRun) -> None:
    folder = make_run()
    with closing(sqlite3.connect(folder / "run.sqlite")) as database, database:
        database.execute("UPDATE samples SET record = '{}' WHERE position = 3")
    with pytest.raises(DamagedRunError, match="damaged"):
        read_facts(folder)


def test_whatever_documents_hold_is_text(make_run: MakeRun) -> None:
    page = report_page(read_facts(make_run(evils=EVILS)))
    told = Page(page)
    assert {"script", "img", "b", "iframe", "link", "object"}.isdisjoint(told.tags)
    assert not [name for name, _ in told.attributes if name.startswith("on")]
    assert len([value for name, value in told.attributes if name == "id" and value == "made"]) == 1
    assert not re.search("[\u202a-\u202e\u2028\x1b\x00]", page)
    unseen = "\\u202egnp.exe\\u2028\\u001b[31m $\\frac{1$"
    for evil in (EVIL, unseen, "]]></svg><b>", "$$$^_{", "{{ 7*7 }}"):
        assert evil in told.text
    assert len(page) < 400_000


def test_a_page_asks_for_nothing_and_allows_nothing(written: tuple[Path, str]) -> None:
    page = written[1]
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/1999/xlink"}
    assert "#0072b2" not in page.split("</style>")[1], "colours are the page's, so that dark ones can be others"


def test_two_reports_of_a_run_are_the_same(written: tuple[Path, str]) -> None:
    assert report_page(read_facts(written[0])) == written[1]


def test_many_points_are_one_image_and_few_are_shapes() -> None:
    few, many = (pictures.points("map", [("all", np.random.default_rng(0).random((n, 2)))]) for n in (100, 5001))
    assert "data:image/png" not in few
    assert many.count("data:image/png;base64") == 1
    assert len(many) < 200_000


def test_a_dispute_is_no_signature(make_run: MakeRun) -> None:
    run = make_run()
    with RunStore.review(run) as store:
        store.reviews.add(Review(item="s0", reader="another", verdict="bad"))
        store.reviews.add(Review(kind="reject", item="1", verdict="good"))
    told = {each.name: each for each in quality.section(read_facts(run)).figures}
    assert (told["Signed"].value, told["Disputed"].value, told["Read"].value) == ("33 % (1)", "33 % (1)", "50 % (3)")
    assert "by 2 readers" in told["Signed"].meaning


def test_python_writes_the_same_page(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run()
    with RunStore.open(folder) as store:
        write_files(store, "complete")
    opened = groundset.open_run(folder)
    assert opened.report() == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8") == report_page(read_facts(folder))
    with pytest.raises(InputError, match=r"^out .*r\.txt: the report is a page"):
        opened.report(tmp_path / "r.txt")
