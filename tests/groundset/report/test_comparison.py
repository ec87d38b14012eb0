"""Runs side by side."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reported_run import EVILS, META, make_run

import groundset
from groundset.report.comparison import compare_runs
from groundset.report.comparison_measures import MEASURES
from groundset.store.record import write_files
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import InputError


@pytest.fixture
def two(tmp_path: Path) -> Callable[..., list[Path]]:
    """Make two runs over the same documents; the second one is what the keywords say."""

    def two(**second: Any) -> list[Path]:
        return [make_run(tmp_path / "first", samples=12), make_run(tmp_path / "second", **{"samples": 8, **second})]

    return two


def row(comparison: Any, name: str) -> tuple[str, ...]:
    return next(cells[1:] for cells in comparison.figures() if cells[0] == name)


def names(comparison: Any) -> set[str]:
    """Return the measures that were tested."""
    return {each.measure.name for each in comparison.differences}


def test_figures_stand_side_by_side(two: Callable[..., list[Path]]) -> None:
    comparison = compare_runs(two())
    assert comparison.names == ["first", "second"]
    assert row(comparison, "samples") == ("12 of 10", "8 of 10")
    assert row(comparison, "expected good") == ("58 % (49 to 68 %)", "58 % (49 to 68 %)")
    assert row(comparison, "attempts that gave a sample")[0] == "50 % (31 to 69 %, n=24)"
    assert row(comparison, "hit at 1") == ("25 % (9 to 53 %, n=12)", "25 % (7 to 59 %, n=8)")
    assert row(comparison, "rank")[0].startswith("4 (")
    assert row(comparison, "calls for each sample") == ("1.0", "1.0")
    assert len(comparison.figures()) == len(MEASURES) + 6


def test_what_differs_is_found_and_what_does_not_is_not(two: Callable[..., list[Path]]) -> None:
    runs = two()
    with RunStore.open(runs[1]) as store:
        store._database.execute("UPDATE samples SET record = json_set(record, '$.answer', 'a b c d e f g h i')")
    comparison = compare_runs(runs)
    found = {each.measure.name: each for each in comparison.differences}
    longer = found["words of an answer"]
    assert longer.found.gain == 0.5, "every answer of the second is longer than every one of the first"
    assert longer.gain_text.startswith("higher in 100 of 100 pairs")
    assert [name for name, each in found.items() if each.is_real] == ["words of an answer"]
    first, rest = comparison.conclusions()
    assert first.startswith("second differs from first in words of an answer: higher in 100 of 100 pairs")
    assert rest.startswith(f"Of the others ({len(found) - 1}), none can be told from chance")


def test_p_values_are_corrected_for_all_tests(two: Callable[..., list[Path]]) -> None:
    comparison = compare_runs(two())
    assert len(comparison.differences) > 5
    for each in comparison.differences:
        assert each.p >= each.found.p
        assert each.detectable >= each.found.detectable(1)
    assert any(f"all {len(comparison.differences)} tests" in note for note in comparison.notes)


def test_notes_say_whether_the_documents_are_the_same(two: Callable[..., list[Path]], tmp_path: Path) -> None:
    runs = two()
    other = make_run(tmp_path / "other", samples=3, evils=("", "Else."))
    third = make_run(tmp_path / "third", samples=3, evils=("New.",))
    notes = compare_runs([*runs, other, third]).notes
    assert notes[0] == "second is over the same 4 documents as first, cut the same way."
    assert notes[1].startswith("8 questions of second are in first too;")
    assert "other shares 2 documents with first, of 4 and 4." in notes
    assert "third shares no document with first: what differs may lie in the documents." in notes


def test_what_cannot_be_compared_is_not_tested(two: Callable[..., list[Path]]) -> None:
    other = {"lm": {"name": "x"}, "embedder": {"name": "y", "sha256": "e" * 64}}
    comparison = compare_runs(two(models=other, compiled={}))
    tested = names(comparison)
    assert tested.isdisjoint({"hit at 1", "hit at 5", "rank"}), "ranks are of a search with the embedder"
    assert tested.isdisjoint({"likeness to the passage", "likeness to the nearest other", "score of the critic"})
    note = "likeness to the passage of second is not tested: their embedders differ, or are not known."
    assert note in comparison.notes
    assert row(comparison, "likeness to the passage")[1] != "not known", "it is shown all the same"


def test_ranks_among_chunks_of_other_texts_are_not_compared_though_their_ids_are_the_same(
    two: Callable[..., list[Path]],
) -> None:
    runs = two()
    with RunStore.open(runs[1]) as store:
        store._database.execute("UPDATE chunks SET record = json_set(record, '$.text', 'cut elsewhere')")
    comparison = compare_runs(runs)
    assert comparison.notes[0] == "second is over the same 4 documents as first, cut in another way."
    assert names(comparison).isdisjoint({"hit at 1", "hit at 5", "rank"})


@pytest.mark.parametrize(("threshold", "is_tested"), [(0.42, True), (0.9, False)])
def test_a_critic_is_the_same_one_whatever_its_quality_estimate(
    two: Callable[..., list[Path]], threshold: float, is_tested: bool
) -> None:
    judge = {"model": "head", "optimizer": "fit-head", "threshold": threshold}
    comparison = compare_runs(two(compiled={"judge": judge}))
    assert ("score of the critic" in names(comparison)) == is_tested


@pytest.mark.parametrize("samples", [0, 1])
def test_a_run_of_hardly_any_samples_is_compared_as_far_as_it_goes(
    two: Callable[..., list[Path]], samples: int
) -> None:
    comparison = compare_runs(two(samples=samples, compiled={}))
    assert row(comparison, "expected good")[1] == "not known"
    assert all(each.measure.kind == "share" for each in comparison.differences)
    assert len(comparison.to_dict()["measures"]) == len(MEASURES)


def test_runs_of_no_samples_have_nothing_to_test(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("models", "compiled", "configuration", "agenda", "asked"))
    lineage = {"command": "merge", "options": {}, "parents": []}
    runs = [make_run(tmp_path / name, samples=0, lineage=lineage, **nothing) for name in ("a", "b")]
    comparison = compare_runs(runs)
    assert names(comparison) == {"documents asked about"}
    assert row(comparison, "samples") == ("0", "0")


def test_signed_shares_are_compared(two: Callable[..., list[Path]]) -> None:
    runs = two()
    with RunStore.review(runs[1]) as store:
        for number in range(8):
            store.reviews.add(Review(item=f"s{number}", verdict="bad"))
    assert row(compare_runs(runs), "signed of those read") == ("67 % (21 to 94 %, n=3)", "0 % (0 to 32 %, n=8)")


def test_two_runs_are_the_fewest_and_none_comes_twice(two: Callable[..., list[Path]], tmp_path: Path) -> None:
    runs = two()
    with pytest.raises(InputError, match="takes two runs or more"):
        compare_runs(runs[:1])
    (tmp_path / "link").symlink_to(runs[0])
    with pytest.raises(InputError, match="is named twice"):
        compare_runs([*runs, tmp_path / "link"])
    with pytest.raises(InputError, match="is not the folder of a run"):
        compare_runs([*runs, tmp_path])
    runs = [make_run(tmp_path / name / "run", samples=2) for name in ("a", "b")]
    assert compare_runs(runs).names == ["run", "run (2)"], "folders of one name are told apart"


def test_python_compares_folders_and_runs(two: Callable[..., list[Path]], tmp_path: Path) -> None:
    runs = two(evils=EVILS)
    with RunStore.open(runs[1]) as store:
        store.set_meta("identity", META["identity"])
        write_files(store, "complete")
    compared = groundset.compare([str(runs[0]), groundset.open_run(runs[1])])
    assert [run["name"] for run in compared.record["runs"]] == ["first", "second"]
    table = compared.to_pandas()
    assert list(table.columns) == [
        "measure", "kind", "run", "from", "gain", "interval", "p", "is_real", "detectable",
    ]  # fmt: skip
    assert pd.api.types.is_bool_dtype(table["is_real"])
    assert np.all(table["p"] <= 1)
    assert repr(compared).startswith("<Compared first, second: ")
    page = compared.report(tmp_path / "c.html").read_text(encoding="utf-8")
    assert "Comparison of first and second" in page
    assert page.count("<svg") == 2
    with pytest.raises(InputError, match=r"^out .*c\.txt"):
        compared.report(tmp_path / "c.txt")
    with pytest.raises(InputError, match="takes two runs or more"):
        groundset.compare(str(runs[0]))
