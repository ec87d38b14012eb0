"""Two runs compared: what is tested, in pairs or not, and what the samples could have shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages_run import ASKED, review

from groundset.pages.comparison import compare
from groundset.pages.report import report_page, report_record
from groundset.run.run import Run
from programs.errors import InputError
from programs.types import Retrieval

MakeRun = Callable[..., Run]
PATHS = ("guide.md", "guide.md", "north.md", "north.md")


def rows(found: dict[str, Any]) -> dict[str, Any]:
    return {row["measure"]: row for row in found["measures"]}


def many(rank: int | None, count: int = 40) -> dict[str, Any]:
    """Questions of which the first half is found at a rank."""
    found = Retrieval(rank=rank, retrieved_id="c0", retrieved_content="x", score=0)
    changes = {number: {"retrieval": found} for number in range(count // 2)}
    return {"asked": [(f"Which number has {number}?", "one") for number in range(count)], "changes": changes}


def test_questions_about_the_same_passages_are_paired(make_run: MakeRun) -> None:
    signed = [review(f"s{number}") for number in range(4)]
    refused = [review(f"s{number}", "refused", "vague") for number in range(4)]
    found = compare(make_run("new", reviews=signed, attempts=10), make_run("old", reviews=refused))
    tested = rows(found)
    test = tested["signed of reviewed"]["test"]
    assert (test["gain"], test["pairs"]) == (1, 4)
    assert test["p"] == 1, "0.125, corrected for eight tests"
    assert test["detectable_text"] == "–", "four pairs cannot show anything"
    assert tested["source found first"]["test"]["text"] == "+0 points (-49 to +49)"
    assert tested["documents covered"]["test"]["pairs"] == 2
    assert tested["attempts with a sample"]["test"]["pairs"] == 0
    assert tested["attempts with a sample"]["run"]["value"] == 0.4
    assert found["notes"] == ["Both runs have the same documents, with the same chunks."]
    assert (found["run"], found["against"]) == ("new", "old")
    assert found["conclusion"] == "No significant difference in 8 measures."


def test_a_clear_difference_is_significant(make_run: MakeRun) -> None:
    short = make_run("short", asked=[(f"Who is {number}?", "one") for number in range(30)])
    long = make_run("long", asked=[(f"Who in the whole wide world is {number}?", "one") for number in range(30)])
    row = rows(compare(long, short))["words per question"]
    assert (row["run"]["value"], row["against"]["value"]) == (8, 3)
    assert row["test"]["significant"]
    assert row["test"]["text"].startswith("higher in 100 of 100 pairs (")
    assert 0 < row["test"]["detectable"] < 0.5
    assert compare(long, short)["conclusion"].startswith("Significant in ")


def test_questions_about_other_passages_are_not_paired(make_run: MakeRun) -> None:
    run, other = make_run("new", **many(1)), make_run("old", **many(9), evil=" changed")
    found = compare(run, other)
    assert rows(found)["words per question"]["test"]["pairs"] == 0
    assert rows(found)["documents covered"]["test"]["pairs"] == 0
    assert rows(found)["source found first"]["test"] is None, "ranks depend on all chunks"
    assert found["notes"][0].startswith("The runs share 0 documents, of 2 and 2")
    assert found["notes"][1].startswith("Ranks are not tested")


def test_a_run_without_samples(make_run: MakeRun) -> None:
    found = compare(make_run("new", asked=()), make_run("old"))
    assert rows(found)["source found first"] == {
        "measure": "source found first", "is_share": True, "run": None,
        "against": rows(found)["source found first"]["against"], "test": None,
    }  # fmt: skip
    assert "Comparison" in report_page(make_run("none", asked=()), make_run("some"))


def test_the_comparison_is_in_the_report(make_run: MakeRun) -> None:
    run, other = make_run("new"), make_run("old", asked=ASKED[:2])
    page = report_page(run, other)
    assert '<section id="comparison">' in page
    assert "Against old</a>: No significant difference" in page
    assert report_record(run, other)["comparison"] == compare(run, other)
    assert "comparison" not in report_record(run)


def test_the_same_run_twice(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    with pytest.raises(InputError, match=r"^--against .*run: is the same run"):
        compare(run, Run(tmp_path / "." / "run"))
    elsewhere = make_run("elsewhere/run")
    assert compare(run, elsewhere)["against"] == str(elsewhere.folder), "two runs of one name"
