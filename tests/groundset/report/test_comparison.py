"""Comparison of runs."""

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
    """Make two runs over the same documents; keywords configure the second."""

    def two(**second: Any) -> list[Path]:
        return [make_run(tmp_path / "first", samples=12), make_run(tmp_path / "second", **{"samples": 8, **second})]

    return two


def row(comparison: Any, name: str) -> tuple[str, ...]:
    return next(cells[1:] for cells in comparison.figures() if cells[0] == name)


def measures_of(comparison: Any) -> set[str]:
    return {difference.measure.name for difference in comparison.differences}


def test_figures_of_each_run(two: Callable[..., list[Path]]) -> None:
    comparison = compare_runs(two())
    assert comparison.names == ["first", "second"]
    assert row(comparison, "samples") == ("12 of 10", "8 of 10")
    assert row(comparison, "expected good") == ("58 % (49 to 68 %)", "58 % (49 to 68 %)")
    assert row(comparison, "attempts with a sample")[0] == "50 % (31 to 69 %, n=24)"
    assert row(comparison, "hit at 1") == ("25 % (9 to 53 %, n=12)", "25 % (7 to 59 %, n=8)")
    assert row(comparison, "rank")[0].startswith("4 (")
    assert row(comparison, "calls per sample") == ("1.0", "1.0")
    assert len(comparison.figures()) == len(MEASURES) + 6


def test_significant_differences(two: Callable[..., list[Path]]) -> None:
    runs = two()
    with RunStore.open(runs[1]) as store:
        store._database.execute("UPDATE samples SET record = json_set(record, '$.answer', 'a b c d e f g h i')")
    comparison = compare_runs(runs)
    found = {difference.measure.name: difference for difference in comparison.differences}
    longer = found["words per answer"]
    assert longer.contrast.gain == 0.5, "every answer of the second run is longer than all of the first"
    assert longer.gain_text.startswith("higher in 100 of 100 pairs")
    assert [name for name, difference in found.items() if difference.is_significant] == ["words per answer"]
    first, rest = comparison.conclusions()
    assert first.startswith("second differs from first in words per answer")
    assert f"{len(found) - 1} other differences" in rest


def test_p_values_are_corrected(two: Callable[..., list[Path]]) -> None:
    comparison = compare_runs(two())
    assert len(comparison.differences) > 5
    for difference in comparison.differences:
        assert difference.p >= difference.contrast.p
        assert difference.detectable >= difference.contrast.detectable(1)
    assert any(f"all {len(comparison.differences)} tests" in note for note in comparison.notes)


def test_notes_on_shared_documents(two: Callable[..., list[Path]], tmp_path: Path) -> None:
    runs = two()
    other = make_run(tmp_path / "other", samples=3, evils=("", "Else."))
    third = make_run(tmp_path / "third", samples=3, evils=("New.",))
    notes = "\n".join(compare_runs([*runs, other, third]).notes)
    for note in (
        "second has the same 4 documents as first, with the same chunks",
        "second shares 8 questions with first",
        "other shares 2 documents with first, of 4 and 4",
        "third shares no documents with first",
    ):
        assert note in notes


def test_other_embedder_or_critic_is_not_tested(two: Callable[..., list[Path]]) -> None:
    other = {"lm": {"name": "x"}, "embedder": {"name": "y", "sha256": "e" * 64}}
    comparison = compare_runs(two(models=other, compiled={}))
    untested = {
        "hit at 1", "hit at 5", "rank",
        "similarity to the passage", "similarity to the nearest question", "critic score",
    }  # fmt: skip
    assert measures_of(comparison).isdisjoint(untested)
    assert {note.split(" of second")[0] for note in comparison.notes if "not tested" in note} == untested
    assert row(comparison, "similarity to the passage")[1] != "unknown", "shown even if not tested"


def test_ranks_are_not_tested_if_chunk_texts_differ(
    two: Callable[..., list[Path]],
) -> None:
    runs = two()
    with RunStore.open(runs[1]) as store:
        store._database.execute("UPDATE chunks SET record = json_set(record, '$.text', 'cut remote')")
    comparison = compare_runs(runs)
    assert "different chunks" in comparison.notes[0]
    assert measures_of(comparison).isdisjoint({"hit at 1", "hit at 5", "rank"})


@pytest.mark.parametrize(("threshold", "is_tested"), [(0.42, True), (0.9, False)])
def test_critics_are_compared_by_threshold_not_by_quality_estimate(
    two: Callable[..., list[Path]], threshold: float, is_tested: bool
) -> None:
    judge = {"model": "head", "optimizer": "fit-head", "threshold": threshold}
    comparison = compare_runs(two(compiled={"judge": judge}))
    assert ("critic score" in measures_of(comparison)) == is_tested


@pytest.mark.parametrize("samples", [0, 1])
def test_compare_with_few_samples(two: Callable[..., list[Path]], samples: int) -> None:
    comparison = compare_runs(two(samples=samples, compiled={}))
    assert row(comparison, "expected good")[1] == "unknown"
    assert all(difference.measure.kind == "share" for difference in comparison.differences)
    assert len(comparison.to_dict()["measures"]) == len(MEASURES)


def test_compare_empty_runs(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("models", "compiled", "configuration", "agenda", "asked"))
    lineage = {"command": "merge", "options": {}, "parents": []}
    runs = [make_run(tmp_path / name, samples=0, lineage=lineage, **nothing) for name in ("a", "b")]
    comparison = compare_runs(runs)
    assert measures_of(comparison) == {"documents covered"}
    assert row(comparison, "samples") == ("0", "0")


def test_signed_shares(two: Callable[..., list[Path]]) -> None:
    runs = two()
    with RunStore.review(runs[1]) as store:
        for number in range(8):
            store.reviews.add(Review(item=f"s{number}", verdict="bad"))
    assert row(compare_runs(runs), "signed of reviewed") == ("67 % (21 to 94 %, n=3)", "0 % (0 to 32 %, n=8)")


def test_invalid_and_equally_named_folders(two: Callable[..., list[Path]], tmp_path: Path) -> None:
    runs = two()
    (tmp_path / "link").symlink_to(runs[0])
    for folders, message in (
        (runs[:1], "two or more runs"),
        ([*runs, tmp_path / "link"], "is named twice"),
        ([*runs, tmp_path], "is not the folder of a run"),
    ):
        with pytest.raises(InputError, match=message):
            compare_runs(folders)
    runs = [make_run(tmp_path / name / "run", samples=2) for name in ("a", "b")]
    assert compare_runs(runs).names == ["run", "run (2)"]


def test_compare_from_python(two: Callable[..., list[Path]], tmp_path: Path) -> None:
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
    with pytest.raises(InputError, match="two or more runs"):
        groundset.compare(str(runs[0]))
