"""What share readers signed, by what tells samples apart, and how readers agree."""

from pathlib import Path

import pytest
from read_run import SAMPLES, make_run, sample, say

from groundset.review.shares import Tally, shares_of
from programs.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    both = sample("q-both", "Which is older, the mill or the ferry?", "the mill", "mill", "ferry", evolution="multi")
    return make_run(tmp_path / "run", [*SAMPLES, both])


def test_nothing_read_is_no_share(folder: Path) -> None:
    shares = shares_of([folder])
    assert (shares.samples, shares.samples.share, shares.unread) == (Tally(0, 0), None, 3)
    assert not any(shares.groups.values())


def test_samples_are_counted_by_what_tells_them_apart(folder: Path) -> None:
    say(folder, "q-ferry", "good")
    say(folder, "q-both", "bad", "vague", reader="bob")
    say(folder, "q-mill", "bad", "vague")
    say(folder, "q-mill", None)
    shares = shares_of([folder])
    assert (shares.samples, shares.unread) == (Tally(1, 2), 1)
    assert shares.groups["run"] == {str(folder): Tally(1, 2)}
    assert shares.groups["recipe"] == {"evolved": Tally(1, 2)}
    assert shares.groups["evolution"] == {"simple": Tally(1, 1), "multi": Tally(0, 1)}
    assert shares.groups["kind"] == {"time": Tally(1, 2)}
    assert shares.groups["language"] == {"en": Tally(1, 2)}
    assert list(shares.groups["document"].items()) == [("ferry.md", Tally(1, 2)), ("mill.md", Tally(0, 1))]
    assert shares.groups["reader"] == {"reader": Tally(1, 1), "bob": Tally(0, 1)}


def test_the_interval_is_wilsons() -> None:
    share = Tally(9, 10).share
    assert share is not None
    assert share == pytest.approx((0.9, 0.5958, 0.9821), abs=1e-4)


def test_mended_samples_are_signed_and_disputed_ones_are_not(folder: Path) -> None:
    say(folder, "q-ferry", "good", question="At what hour does the ferry leave Tollvik?")
    say(folder, "q-mill", "good", reader="ann")
    say(folder, "q-mill", "bad", "vague", reader="bob")
    say(folder, "q-both", "bad", "vague", question="Which is older?")
    say(folder, "q-gone", "good")
    shares = shares_of([folder])
    assert (shares.samples, shares.mended, shares.disputed, shares.unread) == (Tally(1, 3), 1, 1, 0)


def test_rejects_that_are_good_are_told_by_the_step_that_refused_them(folder: Path) -> None:
    say(folder, "1", "bad", "citation")
    say(folder, "2", "good", reader="ann")
    say(folder, "2", "bad", "vague", reader="bob")
    say(folder, "3", "good")
    shares = shares_of([folder])
    assert (shares.rejects, shares.samples) == (Tally(1, 3), Tally(0, 0))
    assert shares.steps == {"chunk": Tally(0, 1), "judge": Tally(0, 1), "needed": Tally(1, 1)}


def test_every_two_readers_of_the_same_are_compared(folder: Path, tmp_path: Path) -> None:
    again = make_run(tmp_path / "again")
    for run, item, ann, bob in (
        (folder, "q-ferry", "good", "good"),
        (folder, "q-mill", "bad", "bad"),
        (folder, "q-both", "good", "bad"),
        (again, "q-mill", "good", "good"),
    ):
        say(run, item, ann, "vague" if ann == "bad" else None, reader="ann")
        say(run, item, bob, "vague" if bob == "bad" else None, reader="bob")
    say(folder, "2", "good", reader="ann")
    say(folder, "2", "good", reader="cem")
    samples, rejects = shares_of([folder, again]).agreements
    assert samples[:4] == (("ann", "bob"), "sample", 4, 3)
    assert samples.kappa == pytest.approx(0.5)
    assert rejects == (("ann", "cem"), "reject", 1, 1, None), "no kappa where nobody says anything else"


def test_runs_are_added_up_and_none_is_counted_twice(folder: Path, tmp_path: Path) -> None:
    again = make_run(tmp_path / "again", configuration={"recipe": "single"})
    say(folder, "q-ferry", "good")
    say(again, "q-ferry", "bad", "vague")
    shares = shares_of([folder, again])
    assert (shares.samples, shares.unread) == (Tally(1, 2), 3)
    assert shares.groups["recipe"] == {"evolved": Tally(1, 1), "single": Tally(0, 1)}
    with pytest.raises(InputError, match="a run is named twice"):
        shares_of([folder, tmp_path / "again" / ".." / "run"])
    with pytest.raises(InputError, match="is not the folder of a run"):
        shares_of([tmp_path])
