"""Blind reading: what is hidden, and what it comes to."""

import pytest
from small_run import ASKED

from groundset.review.duels import APART, PAIRED, duels, entrants
from groundset.store.run_store import RunStore

OTHERS = [(f"{question} Say it.", answer) for question, answer in ASKED]


def test_nothing_tells_the_run_before_the_result(make_run, read):
    folders = make_run("plain"), make_run("fancy", asked=OTHERS)
    judge(read(folders[0], reader="ann").desk, ["++++"])  # who read one run only would tell it
    page = read(*folders, seed=1, blind=True)
    seen = [page.get(), page.get("list"), page.get("result"), page.get("list?run=plain&asks=time")]
    assert "8 of 8" in seen[-1], "facts that tell runs are no filters"
    for place in range(8):
        seen.append(page.get(f"item/{page.desk.items[place].key}"))
        seen.append(page.say(place, "sign" if place % 2 else "vague"))
    for text in seen:
        for told in ("plain", "fancy", "guide.md", "guide-0", "0.43", "at rank", "simple", "How it was made", "ann:"):
            assert told not in text
    assert "See the result" in seen[-1]
    text = page.post("result")
    assert "plain" in text
    assert "With ann:" in text
    assert "fancy" in text
    with RunStore.read(folders[0]) as store:
        assert {review.blind for review in store.reviews.all() if review.reader == "reader"} == {True}
    assert "Not read blind" not in text
    page.say(0, "sign")
    assert not page.desk.own(page.desk.items[0]).blind, "now the reader knows"
    assert "Not read blind: 1." in page.get("result")


def judge(desk, verdicts):
    """Let runs be read: for each a string of + and -, in the order of its samples."""
    for item in desk.items:
        mark = verdicts[item.run][item.entry.position - 1]
        if mark != " ":
            desk.say(item, "good" if mark == "+" else "bad", reason=None if mark == "+" else "vague")


def test_runs_that_asked_the_same_passages_are_paired(make_run, read):
    many = [(f"Question {number}?", "answer") for number in range(4)]
    desk = read(make_run("one"), make_run("two", asked=many), blind=True).desk
    judge(desk, ["++++", "---+"])
    [duel] = duels(desk)
    assert (duel.test, duel.passages, duel.better, duel.worse) == (PAIRED, 4, 3, 0)
    assert duel.p == pytest.approx(0.25)
    assert [(each.name[-3:], each.read, each.signed) for each in entrants(desk)] == [("one", 4, 4), ("two", 4, 1)]
    share = entrants(desk)[1].share
    assert (share.value, share.low, share.high) == pytest.approx((0.25, 0.0456, 0.6994), abs=1e-3)


def test_runs_that_asked_other_passages_are_not(make_run, read):
    desk = read(make_run("one"), make_run("two"), blind=True).desk
    judge(desk, ["++  ", "  --"])
    [duel] = duels(desk)
    assert (duel.test, duel.p) == (APART, pytest.approx(1 / 3))
    assert not duel.differs


def test_several_pairs_are_corrected_and_an_unread_run_is_in_none(make_run, read):
    desk = read(*(make_run(name) for name in ("one", "two", "three", "four"))).desk
    judge(desk, ["++++", "----", "++++", "    "])
    found = duels(desk)
    assert [(duel.first[-3:], duel.second[-3:]) for duel in found] == [("one", "two"), ("one", "ree"), ("two", "ree")]
    assert [duel.p for duel in found] == pytest.approx([0.375, 1.0, 0.375])
    assert entrants(desk)[3].share is None
