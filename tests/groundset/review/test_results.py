"""Review statistics: shares, agreement and pairwise tests."""

from pathlib import Path

import pytest
from read_run import SAMPLES, make_run, sample, say
from small_run import ASKED

from groundset.review.results import Tally, pairwise_tests, run_shares, summarise_reviews
from groundset.store.run_store import RunStore
from programs.errors import InputError

OTHERS = [(f"{question} Say it.", answer) for question, answer in ASKED]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    both = sample("q-both", "Which is older, the mill or the ferry?", "the mill", "mill", "ferry", evolution="multi")
    return make_run(tmp_path / "run", [*SAMPLES, both])


def test_review_summary_by_group(folder: Path) -> None:
    nothing = summarise_reviews([folder])
    assert (nothing.samples, nothing.samples.share, nothing.unread) == (Tally(0, 0), None, 3)
    assert not any(nothing.groups.values())
    say(folder, "q-ferry", "good")
    say(folder, "q-both", "bad", "vague", reader="bob")
    say(folder, "q-mill", "bad", "vague")
    say(folder, "q-mill", None)
    summary = summarise_reviews([folder])
    assert (summary.samples, summary.unread) == (Tally(1, 2), 1)
    assert summary.groups == {
        "run": {str(folder): Tally(1, 2)},
        "recipe": {"evolved": Tally(1, 2)},
        "evolution": {"simple": Tally(1, 1), "multi": Tally(0, 1)},
        "kind": {"time": Tally(1, 2)},
        "language": {"en": Tally(1, 2)},
        "document": {"ferry.md": Tally(1, 2), "mill.md": Tally(0, 1)},
        "reader": {"reader": Tally(1, 1), "bob": Tally(0, 1)},
    }
    assert list(summary.groups["document"]) == ["ferry.md", "mill.md"], "those with most reviews come first"


def test_corrected_and_disputed_samples(folder: Path) -> None:
    say(folder, "q-ferry", "good", question="At what hour does the ferry leave Tollvik?")
    say(folder, "q-mill", "good", reader="ann")
    say(folder, "q-mill", "bad", "vague", reader="bob")
    say(folder, "q-both", "bad", "vague", question="Which is older?")
    say(folder, "q-gone", "good")
    summary = summarise_reviews([folder])
    assert (summary.samples, summary.corrected, summary.disputed, summary.unread) == (Tally(1, 3), 1, 1, 0)


def test_good_rejects_by_step(folder: Path) -> None:
    say(folder, "1", "bad", "citation")
    say(folder, "2", "good", reader="ann")
    say(folder, "2", "bad", "vague", reader="bob")
    say(folder, "3", "good")
    summary = summarise_reviews([folder])
    assert (summary.rejects, summary.samples) == (Tally(1, 3), Tally(0, 0))
    assert summary.steps == {"chunk": Tally(0, 1), "judge": Tally(0, 1), "needed": Tally(1, 1)}


def test_agreement_of_reviewers(folder: Path, tmp_path: Path) -> None:
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
    samples, rejects = summarise_reviews([folder, again]).agreements
    assert samples[:4] == (("ann", "bob"), "sample", 4, 3)
    assert samples.kappa == pytest.approx(0.5)
    assert rejects == (("ann", "cem"), "reject", 1, 1, None), "no kappa where nobody says anything else"


def test_review_summary_of_several_runs(folder: Path, tmp_path: Path) -> None:
    again = make_run(tmp_path / "again", configuration={"recipe": "single"})
    say(folder, "q-ferry", "good")
    say(again, "q-ferry", "bad", "vague")
    summary = summarise_reviews([folder, again])
    assert (summary.samples, summary.unread) == (Tally(1, 2), 3)
    assert summary.groups["recipe"] == {"evolved": Tally(1, 1), "single": Tally(0, 1)}
    with pytest.raises(InputError, match=r"RUN: .*run is named twice"):
        summarise_reviews([folder, tmp_path / "again" / ".." / "run"])
    with pytest.raises(InputError, match="is not the folder of a run"):
        summarise_reviews([tmp_path])


def judge(session, verdicts):
    """Review runs: for each a string of + and -, in the order of its samples."""
    for item in session.items:
        mark = verdicts[item.run][item.entry.position - 1]
        if mark != " ":
            session.submit(item, "good" if mark == "+" else "bad", reason=None if mark == "+" else "vague")


def test_blind_review_does_not_reveal_the_run(make_run, review):
    folders = make_run("plain"), make_run("fancy", asked=OTHERS)
    judge(review(folders[0], reviewer="ann").session, ["++++"])  # who reviewed one run only would reveal it
    page = review(*folders, seed=1, blind=True)
    seen = [page.get(), page.get("list"), page.get("result"), page.get("list?run=plain&asks=time")]
    assert "8 of 8" in seen[-1], "facts that reveal runs are no filters"
    for place in range(8):
        seen += [page.item(place), page.submit(place, "sign" if place % 2 else "vague")]
    for text in seen:
        for word in ("plain", "fancy", "guide.md", "guide-0", "0.43", "at rank", "simple", "How it was made", "ann:"):
            assert word not in text
    assert "See the result" in seen[-1]
    text = page.post("result")
    for word in ("plain", "fancy", "with ann:"):
        assert word in text
    with RunStore.read(folders[0]) as store:
        assert {review.blind for review in store.reviews.all() if review.reader == "reader"} == {True}
    assert "Not reviewed blind" not in text
    page.submit(0, "sign")
    assert not page.own(0).blind, "now the reviewer knows"
    assert "Not reviewed blind: 1." in page.get("result")


def test_common_passages_use_the_sign_test(make_run, review):
    many = [(f"Question {number}?", "answer") for number in range(4)]
    session = review(make_run("one"), make_run("two", asked=many), blind=True).session
    judge(session, ["++++", "---+"])
    [test] = pairwise_tests(session)
    assert (test.passages, test.better, test.worse, test.p) == (4, 3, 0, pytest.approx(0.25))
    shares = run_shares(session)
    assert [(each.name[-3:], each.reviewed, each.signed) for each in shares] == [("one", 4, 4), ("two", 4, 1)]
    assert shares[1].share == pytest.approx((0.25, 0.0456, 0.6994), abs=1e-3)


def test_different_passages_use_fishers_test(make_run, review):
    session = review(make_run("one"), make_run("two"), blind=True).session
    judge(session, ["++  ", "  --"])
    [test] = pairwise_tests(session)
    assert (test.passages, test.p, test.differs) == (0, pytest.approx(1 / 3), False)


def test_several_pairs_are_holm_corrected(make_run, review):
    session = review(*(make_run(name) for name in ("one", "two", "three", "four"))).session
    judge(session, ["++++", "----", "++++", "    "])
    found = pairwise_tests(session)
    assert [(test.first[-3:], test.second[-3:]) for test in found] == [("one", "two"), ("one", "ree"), ("two", "ree")]
    assert [test.p for test in found] == pytest.approx([0.375, 1.0, 0.375])
    assert run_shares(session)[3].share is None
