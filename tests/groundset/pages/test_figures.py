"""Two runs compared: what is tested, in pairs or not, and what the samples could have shown."""

import pytest
from pages_run import ASKED, review
from refusal import refuses

from groundset.pages.report import compare, report_page, report_record
from groundset.run.run import Run


def rows(found):
    return {row["measure"]: row for row in found["measures"]}


def test_shares_are_tested(make_run):
    signed = [review(f"s{number}") for number in range(4)]
    refused = [review(f"s{number}", "refused", "vague") for number in range(4)]
    found = compare(make_run("new", reviews=signed, attempts=10), make_run("old", reviews=refused))
    tested = rows(found)
    test = tested["signed of reviewed"]["test"]
    assert test["value"] == 1
    assert test["p"] == pytest.approx(5 / 35), "corrected for five tests"
    assert test["detectable"] > 0.5
    assert tested["source found first"]["test"]["text"].startswith("+0 points (-")
    assert tested["attempts with a sample"]["run"]["value"] == 0.4
    assert found["notes"] == ["Both runs have the same documents, with the same chunks."]
    assert found["run"] == "new"
    assert found["against"] == "old"
    assert found["conclusion"] == "No significant difference in 5 measures."


def test_a_clear_difference_is_significant(make_run):
    reviews = [review(f"s{number}") for number in range(30)]
    bad = [review(f"s{number}", "refused", "vague") for number in range(30)]
    asked = [(f"Who is {number}?", "one") for number in range(30)]
    found = compare(
        make_run("new", asked=asked, reviews=reviews), make_run("old", asked=asked, reviews=bad)
    )
    assert rows(found)["signed of reviewed"]["test"]["significant"]
    assert found["conclusion"].startswith(
        "Significant in 1 of 5 measures: signed of reviewed +100 points ("
    )


def test_ranks_among_other_chunks_are_not_tested(make_run):
    found = compare(make_run("new"), make_run("old", evil=" changed"))
    assert rows(found)["source found first"]["test"] is None
    assert found["notes"][0].startswith("The runs share 0 documents, of 2 and 2")
    assert found["notes"][1].startswith("Ranks are not tested")


def test_a_run_without_samples(make_run):
    found = compare(make_run("new", asked=()), make_run("old"))
    assert rows(found)["source found first"]["run"] is None
    assert rows(found)["source found first"]["test"] is None
    assert "Comparison" in report_page(make_run("none", asked=()), make_run("some"))


def test_the_comparison_is_in_the_report(make_run):
    run, other = make_run("new"), make_run("old", asked=ASKED[:2])
    page = report_page(run, other)
    assert '<section id="comparison">' in page
    assert "Against old</a>: No significant difference" in page
    assert report_record(run, other)["comparison"] == compare(run, other)
    assert "comparison" not in report_record(run)


def test_the_same_run_twice(make_run, tmp_path):
    run = make_run()
    with refuses(r"^--against .*run: is the same run"):
        compare(run, Run(tmp_path / "." / "run"))
    elsewhere = make_run("elsewhere/run")
    assert compare(run, elsewhere)["against"] == str(elsewhere.folder), "two runs of one name"
