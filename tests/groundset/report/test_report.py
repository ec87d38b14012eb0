"""The report of a run: its figures, and the escaping of hostile texts."""

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
from groundset.report import charts
from groundset.report.analysis import RunAnalysis
from groundset.report.page import PageSection
from groundset.report.report import report_page
from groundset.report.sections import SECTIONS
from groundset.store.record import write_files
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import DamagedRunError, InputError
from programs.types import Reject

MakeRun = Callable[..., Path]
KEYS = ["made", "quality", "yield", "refused", "coverage", "questions", "diversity", "retrieval", "power", "cost"]


class Page(HTMLParser):
    """The text, tags and attributes of a page."""

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
    return Page(report_page(RunAnalysis(run)))


def sections(run: Path) -> dict[str, PageSection]:
    return {section.key: section for section in (row.make(RunAnalysis(run)) for row in SECTIONS.values())}


def metrics(run: Path) -> dict[str, Any]:
    return {metric.name: metric for section in sections(run).values() for metric in section.metrics}


def rows(run: Path, key: str) -> list[tuple[str, ...]]:
    """Return the rows of all tables of a section, those of its charts first."""
    section = sections(run)[key]
    tables = (*(chart.table for chart in section.charts), *section.tables)
    return [tuple(row) for table in tables for row in table.rows]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A read-only run and its report."""
    run = reported_run.make_run(tmp_path_factory.mktemp("written") / "run")
    return run, report_page(RunAnalysis(run))


def test_sections_and_anchors(written: tuple[Path, str]) -> None:
    page = Page(written[1])
    ids = [value for name, value in page.attributes if name == "id"]
    assert [key for key in ids if key in KEYS] == KEYS
    assert {value for name, value in page.attributes if name == "href"} >= {f"#{key}" for key in KEYS}
    assert len(ids) == len(set(ids)), "ids are unique, also in charts"
    counts = {tag: page.tags.count(tag) for tag in ("svg", "details", "desc")}
    assert counts == {"svg": 13, "details": 13, "desc": 13}
    assert report_page(RunAnalysis(written[0])) == written[1], "reports are deterministic"


def test_metrics(written: tuple[Path, str]) -> None:
    found = metrics(written[0])
    reciprocal = (1 + 1 / 2 + 1 / 7 + 0 + 1 + 1 / 2) / 6  # ranks are 1, 2, 7, None, 1, 2
    expected = {
        "Samples": "6 of 10 requested",
        "Corrected": "50 % (1)",
        "Kept of candidates": "50 % (6)",
        "Kept of attempts": "50 % (6)",
        "Documents covered": "50 % (2)",
        "Hit at 1": "33 %",
        "Hit at 5": "67 %",
        "Mean reciprocal rank": f"{reciprocal:.2f}",
        "Prompt tokens": "600, 100.0 per sample",
        "Time": "1 min 00 s, 10.0 s per sample",
        "Minimum detectable difference": "none",
    }
    assert {name: found[name].value for name in expected} == expected
    for name, value, interval, n in (
        ("Expected good", "58 %", "49 to 68 %", "101 labelled questions"),
        ("Signed", "67 % (2)", "21 to 94 %", "3 reviewed samples"),
    ):
        assert (found[name].value, found[name].interval, found[name].n) == (value, interval, n)
    assert found["Chunks covered"].n == "12 chunks"
    assert found["Status"].value.startswith("finished: all")


def test_shares_have_interval_and_n(written: tuple[Path, str]) -> None:
    shares = [metric for metric in metrics(written[0]).values() if re.search(r" %( \(|$)", metric.value)]
    assert len(shares) > 12
    assert {metric.name for metric in shares if not metric.interval} == {"Distinct words", "Distinct word pairs"}
    assert all(metric.n for metric in shares)


def test_refused_reasons_and_difficulties(written: tuple[Path, str]) -> None:
    refused = rows(written[0], "refused")
    assert sections(written[0])["refused"].about.startswith("6 questions refused; 3 chunks skipped")
    assert ("judge: not clear", "6", "100 %", "61 to 100 %") in refused
    assert ("judge: not clear", "What?", "not clear:", "ferry-0") in [tuple(map(str.strip, row)) for row in refused]
    found = {row[0]: row[1] for row in rows(written[0], "retrieval")}
    assert (found["easy"], found["middling"], found["hard"]) == ("2", "2", "2")


@pytest.mark.parametrize("samples", [0, 1])
def test_report_with_few_samples(make_run: MakeRun, samples: int) -> None:
    run = make_run(samples=samples, ending=None)
    page = read(run)
    assert page.tags.count("h2") == len(KEYS)
    assert bool(sections(run)["made"].notes) == (samples == 0)
    assert metrics(run)["Status"].value == "unknown"
    assert f"n = {samples} " in page.text
    assert "nan" not in page.text.lower()


def test_report_on_a_derived_run(make_run: MakeRun) -> None:
    nothing = dict.fromkeys(("models", "compiled", "configuration", "corpus", "agenda", "asked"))
    run = make_run(lineage={"command": "merge", "options": {}, "parents": []}, **nothing)
    found = metrics(run)
    assert found["Made by"].value.startswith("groundset merge")
    assert (found["Expected good"].value, found["Expected good"].n) == ("unknown", "")
    assert found.keys().isdisjoint({"Attempts", "Kept of attempts", "Calls", "Time"})
    for key in ("yield", "cost"):
        assert sections(run)[key].notes


def test_quality_estimate_by_kind(make_run: MakeRun) -> None:
    kinds = {
        "time": {"expected_good": 0.9, "interval": [0.744, 0.965], "measured_on": 30},
        "place": {"expected_good": 1.0, "interval": [0.342, 1.0], "measured_on": 2},
    }
    judge = {"threshold": 0.34, "expected_good": 0.883, "interval": [0.778, 0.942], "measured_on": 60, "kinds": kinds}
    quality = sections(make_run(compiled={"judge": judge}))["quality"]
    expected = quality.metrics[0]
    assert (expected.value, expected.interval, expected.n) == ("88 %", "78 to 94 %", "60 questions of runs")
    assert "3 easy samples" in expected.meaning
    assert [list(row) for row in quality.tables[0].rows] == [["time", "3", "90 %", "74 to 96 %", "30"]]
    assert "reviewed questions" in quality.notes[0]


def test_no_quality_estimate_without_measurement(make_run: MakeRun) -> None:
    judge = {"model": "head", "optimizer": "fit-head", "threshold": 0.42}
    quality = sections(make_run(compiled={"judge": judge}))["quality"]
    assert quality.metrics[0].value == "unknown"
    assert not quality.notes


def test_max_rank_note_on_a_derived_run(make_run: MakeRun) -> None:
    run = make_run(lineage={"command": "sample", "options": {}, "parents": []})
    assert "at rank 5 or better" in sections(run)["retrieval"].notes[-1]


def test_chunk_with_questions_is_not_skipped(make_run: MakeRun) -> None:
    run = make_run(samples=3)
    before = RunAnalysis(run)
    further = [Reject(step="keyphrases", reason="no further sentence", chunk_id=name) for name in ("loom-0", "loom-1")]
    with RunStore.open(run) as store:
        asked = Reject(step="judge", reason="not clear", chunk_id="loom-0", question="What?")
        store.results.add([], [asked, *further])
    assert RunAnalysis(run).skipped_chunks - before.skipped_chunks == {"loom-1"}


def test_report_on_a_running_run(make_run: MakeRun) -> None:
    run = make_run(embedded=False)
    with RunStore.open(run) as store:
        write_files(store, "running")
        assert metrics(run)["Status"].value.startswith("still running")
        [note] = sections(run)["coverage"].notes
        assert "no embedding" in note


@pytest.mark.parametrize("broken", ["{", '["complete"]', "[" * 100_000])
def test_broken_run_json_is_ignored(make_run: MakeRun, broken: str) -> None:
    run = make_run()
    (run / "run.json").write_text(broken, encoding="utf-8")
    assert RunAnalysis(run).status == "complete"


def test_damaged_run(make_run: MakeRun) -> None:
    folder = make_run()
    with closing(sqlite3.connect(folder / "run.sqlite")) as database, database:
        database.execute("UPDATE samples SET record = '{}' WHERE position = 3")
    with pytest.raises(DamagedRunError, match="damaged"):
        RunAnalysis(folder)


def test_hostile_text_is_escaped(make_run: MakeRun) -> None:
    page = report_page(RunAnalysis(make_run(evils=EVILS)))
    parsed = Page(page)
    assert {"script", "img", "b", "iframe", "link", "object"}.isdisjoint(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert len([value for name, value in parsed.attributes if name == "id" and value == "made"]) == 1
    assert not re.search("[\u202a-\u202e\u2028\x1b\x00]", page)
    spelt_out = "\\u202egnp.exe\\u2028\\u001b[31m $\\frac{1$"
    for evil in (EVIL, spelt_out, "]]></svg><b>", "$$$^_{", "{{ 7*7 }}"):
        assert evil in parsed.text
    assert len(page) < 400_000
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/1999/xlink"}
    assert "#0072b2" not in page.split("</style>")[1], "charts use the CSS variables of the page"


def test_many_points_are_rasterised() -> None:
    few, many = (charts.points("map", [("all", np.random.default_rng(0).random((n, 2)))]) for n in (100, 5001))
    assert "data:image/png" not in few
    assert many.count("data:image/png;base64") == 1
    assert len(many) < 200_000


def test_disputed_reviews(make_run: MakeRun) -> None:
    run = make_run()
    with RunStore.review(run) as store:
        store.reviews.add(Review(item="s0", reader="another", verdict="bad"))
        store.reviews.add(Review(kind="reject", item="1", verdict="good"))
    found = metrics(run)
    values = [found[name].value for name in ("Signed", "Disputed", "Reviewed")]
    assert values == ["33 % (1)", "33 % (1)", "50 % (3)"]
    assert "2 in total" in found["Signed"].meaning


def test_report_from_python(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run()
    with RunStore.open(folder) as store:
        write_files(store, "complete")
    opened = groundset.open_run(folder)
    assert opened.report() == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8") == report_page(RunAnalysis(folder))
    with pytest.raises(InputError, match=r"^out .*r\.txt: must end with \.html"):
        opened.report(tmp_path / "r.txt")
