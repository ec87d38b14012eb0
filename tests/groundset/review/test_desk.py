"""What is stored of what readers say, with other processes at work on the same run."""

import sqlite3
import threading

import pytest
from pydantic import ValidationError
from small_run import ASKED, corpus, put, sample

from groundset.review.desk import Desk
from groundset.review.filters import Filter
from groundset.store.reviews import Review, read_samples
from groundset.store.run_store import RunStore
from programs.errors import InputError
from programs.types import Reject

PASSED = Reject(step="chunk", reason="no further sentence can carry a question", chunk_id="guide-0000")
THIN = Reject(step="chunk", reason="not content", chunk_id="guide-0000", probability=0.1)
UNCLEAR = Reject(step="judge", reason="not clear", chunk_id="guide-0001", probability=0.2, question="Why?")


def rows(folder):
    with RunStore.read(folder) as store:
        return store.reviews.all()


def states(desk):
    return [desk.state(item) for item in desk.items]


def test_a_verdict_is_in_the_run_when_the_call_returns(make_run, read):
    folder = make_run()
    desk = read(folder).desk
    desk.say(desk.items[0], "good")
    desk.say(desk.items[1], "bad", reason="vague")
    desk.say(desk.items[2], "good", question="How tall is the tower?")
    desk.skip(desk.items[3])
    assert states(desk) == ["signed", "refused", "mended", "skipped"]
    assert [(row.item, row.verdict, row.reason) for row in rows(folder)] == [
        ("run-0", "good", None), ("run-1", "bad", "vague"), ("run-2", "good", None), ("run-3", None, None)
    ]  # fmt: skip
    with RunStore.read(folder) as store:
        kept = read_samples(store, signed=True)
        assert [one.question for one in kept] == ["When does the ferry leave Tollvik?", "How tall is the tower?"]
        assert len(read_samples(store)) == 3, "what was skipped stays"


def test_the_same_verdict_is_stored_once_and_a_skip_takes_nothing_back(make_run, read):
    folder = make_run()
    desk = read(folder).desk
    assert desk.say(desk.items[0], "good").stored
    assert not desk.say(desk.items[0], "good").stored
    desk.skip(desk.items[0])
    assert len(rows(folder)) == 1


def test_undo_goes_back_click_by_click_also_after_a_restart(make_run):
    folder = make_run()
    with Desk([folder], "ann") as desk:
        first, second, *_ = desk.items
        desk.say(first, "bad", reason="vague")
        desk.say(first, "good", answer="at 9")
        desk.skip(second)
    with Desk([folder], "bob") as desk:
        assert desk.undo() == [], "another reader's clicks stay"
    with Desk([folder], "ann") as desk:
        first, second, *_ = desk.items
        assert desk.undo() == [second]
        assert states(desk)[:2] == ["mended", "unread"]
        assert desk.undo() == [first]
        assert (desk.own(first).verdict, desk.own(first).reason) == ("bad", "vague")
        desk.say(second, "good")
        assert desk.undo() == [second], "a click after an undo is undone first"
        assert desk.undo() == [first]
        assert states(desk) == ["unread"] * 4
        assert desk.undo() == []
    with RunStore.read(folder) as store:
        assert store.reviews.standing() == []


def test_one_verdict_for_many_is_one_click(make_run, read):
    desk = read(make_run("one"), make_run("two")).desk
    desk.say(desk.items[0], "bad", reason="vague")
    desk.say_of_all(desk.items[2:6], "good", None)
    assert states(desk) == ["refused", "unread", *["signed"] * 4, "unread", "unread"]
    assert desk.undo() == desk.items[2:6]
    assert states(desk) == ["refused", *["unread"] * 7]


def test_undo_leaves_clicks_alone_whose_items_do_not_lie_there(make_run):
    folder = make_run(samples=1, rejects=[THIN, UNCLEAR])
    with Desk([folder], "ann", kind="reject") as desk:
        _, unclear = desk.items
        desk.say(unclear, "good")
        desk.say(desk.items[0], "bad", reason="too_thin")
    with Desk([folder], "ann", kind="reject", steps=["judge"]) as desk:
        assert desk.undo() == desk.items
        assert desk.undo() == []
    with RunStore.read(folder) as store:
        assert [review.reason for review in store.reviews.standing()] == ["too_thin"]


def test_a_click_on_two_runs_is_undone_in_each_only_once(make_run):
    one, two = make_run("one"), make_run("two")
    with Desk([one, two], "ann") as desk:
        desk.say_of_all(desk.items, "good", None)
    with Desk([one], "ann") as desk:
        assert desk.undo() == desk.items
        desk.say(desk.items[0], "bad", reason="vague")
        assert desk.undo() == desk.items[:1]
        desk.say(desk.items[1], "bad", reason="vague")
    with Desk([two, one], "ann") as desk:
        desk.undo()
        assert desk.undo() == desk.items[:4]
        assert states(desk) == ["unread"] * 8
    with Desk([one], "ann") as desk:
        desk.say(desk.items[0], "good")
    assert len(rows(one)) == 13, "4 signed, 4 taken back, 2 refused and taken back, 1 signed"


def test_the_last_word_of_two_tabs_stands_and_both_are_told(make_run, read):
    folder = make_run()
    desk, other = read(folder).desk, read(folder).desk
    item = desk.items[0]
    assert other.say(other.items[0], "good", seen=0).before is None
    answered = desk.say(item, "bad", reason="vague", seen=0)
    assert (answered.stored, answered.before.verdict) == (True, "good")
    other.refresh()
    assert other.state(other.items[0]) == "refused"
    assert not other.say(other.items[0], "bad", reason="vague", seen=0).stored
    assert len(rows(folder)) == 2


def test_readers_see_each_other_only_after_their_own_verdict(make_run, read):
    folder = make_run()
    ann, bob = read(folder, reader="ann").desk, read(folder, reader="bob").desk
    ann.say(ann.items[0], "bad", reason="vague")
    bob.refresh()
    assert states(bob)[0] == "unread"
    assert bob.others(bob.items[0]) == []
    bob.say(bob.items[0], "good")
    assert [review.reader for review in bob.others(bob.items[0])] == ["ann"]
    bob.undo()
    assert bob.others(bob.items[0]) == []


def test_unread_items_come_first_then_skipped_ones_and_a_state_is_gone_through_once(make_run, read):
    desk = read(make_run()).desk
    one, two, three, four = desk.items
    everything = Filter()
    assert desk.next(everything, None) == one
    desk.skip(one)
    desk.say(three, "good")
    assert desk.next(everything, two) == four
    assert desk.next(everything, four) == two, "from the end round to the start"
    desk.say(two, "good")
    desk.say(four, "good")
    assert desk.next(everything, four) == one, "what was skipped comes last"
    assert desk.next(everything, one) is None
    signed = Filter(state="signed")
    assert [desk.next(signed, item) for item in (None, two, three, four)] == [two, three, four, None]
    assert desk.previous(signed, four) == three
    assert desk.previous(everything, one) is None


def test_filters_ask_for_facts_words_and_states(make_run, read):
    desk = read(make_run("one"), make_run("two", samples=1)).desk
    desk.say(desk.items[1], "bad", reason="vague")

    def found(**wanted):
        return [item.entry.item for item in desk.matching(Filter.of(wanted, blind=False))]

    assert found(asks="time", run=desk.names[0]) == ["one-0", "one-3"]
    assert found(words="ADA lund") == ["one-1"]
    assert found(document="GUIDE", state="refused") == ["one-1"]
    assert found(document="other") == []
    assert found(state="read") == ["one-1"]
    assert len(found(state="nonsense", colour="red")) == 5
    assert Filter.of({"asks": "time", "words": "x"}, blind=True) == Filter(words="x")


def test_what_a_run_makes_meanwhile_lies_there_too(make_run, read):
    folder = make_run(samples=2)
    _, chunks = corpus()
    with RunStore.open(folder) as working:
        desk = read(folder).desk
        desk.say(desk.items[0], "good")
        put(working, 2, sample("run-2", *ASKED[2], chunks[2]))
        desk.refresh()
        assert [item.entry.item for item in desk.items] == ["run-0", "run-1", "run-2"]
        desk.say(desk.items[2], "good")
    desk.say(desk.items[1], "good")  # the run has ended
    with RunStore.open(folder) as working:  # and goes on
        desk.__exit__()  # the reader ends first
        put(working, 3, sample("run-3", *ASKED[3], chunks[3]))
    with RunStore.read(folder) as store:
        assert (store.results.count(), len(store.reviews.standing())) == (4, 3)
    assert not list(folder.glob("*-wal"))


def test_two_processes_writing_at_once_lose_nothing(make_run, read):
    folder = make_run(asked=ASKED * 10, samples=40)
    _, chunks = corpus()
    desk = read(folder).desk

    def work():
        with RunStore.open(folder) as working:
            for number in range(40, 80):
                put(working, number, sample(f"run-{number}", f"Number {number}?", "yes", chunks[0]))

    worker = threading.Thread(target=work)
    worker.start()
    for item in desk.items[:40]:
        desk.say(item, "good")
    worker.join()
    desk.refresh()
    assert len(desk.items) == 80
    assert desk.counts()["signed"] == 40


def test_a_locked_run_is_one_line_and_stores_nothing(make_run, read):
    page = read(make_run())
    holder = sqlite3.connect(page.desk.stores[0].folder / "run.sqlite", isolation_level=None)
    page.desk.stores[0]._database.execute("PRAGMA busy_timeout = 10")
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert "another program has locked it" in page.post(f"item/{page.desk.items[0].key}", do="sign", status=500)
    finally:
        holder.close()
    assert page.desk.state(page.desk.items[0]) == "unread"
    page.say(0, "sign")
    assert page.desk.state(page.desk.items[0]) == "signed"


def test_a_seed_shuffles_always_alike_and_addresses_tell_nothing(make_run, read):
    folders = make_run("one"), make_run("two")
    first, again = (read(*folders, seed=3).desk for _ in range(2))
    order = [(item.run, item.entry.item) for item in first.items]
    assert order == [(item.run, item.entry.item) for item in again.items]
    assert order != sorted(order)
    assert order != [(item.run, item.entry.item) for item in read(*folders, seed=4).desk.items]
    assert {item.key for item in first.items}.isdisjoint(item.key for item in again.items)


def test_rejects_are_read_without_what_had_nothing_left_to_ask(make_run, read):
    folder = make_run(samples=1, rejects=[PASSED, THIN, UNCLEAR])
    desk = read(folder, kind="reject").desk
    assert [(item.entry.step, item.entry.question) for item in desk.items] == [("chunk", ""), ("judge", "Why?")]
    assert [item.entry.step for item in read(folder, kind="reject", steps=["judge"]).desk.items] == ["judge"]
    desk.say(desk.items[1], "good")
    assert [(row.kind, row.item) for row in rows(folder)] == [("reject", "3")]
    assert states(read(folder).desk) == ["unread"], "a verdict on a reject is none on a sample"
    with pytest.raises(InputError, match="--step nosuch: there are no rejects of that step; choose of chunk, judge"):
        Desk([folder], "r", kind="reject", steps=["nosuch"])


def test_a_folder_without_a_run_and_one_that_cannot_be_written_are_left_alone(make_run, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="is not the folder of a run"):
        Desk([tmp_path], "r")
    assert list(tmp_path.iterdir()) == []
    folder = make_run()
    with pytest.raises(InputError, match="a run is named twice"):
        Desk([folder, folder / ".." / "run"], "r")
    before = (folder / "run.sqlite").read_bytes()
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(InputError, match="cannot be written, and reviews are kept in it; copy it"):
        Desk([folder], "r")
    assert (folder / "run.sqlite").read_bytes() == before


def test_rows_of_an_older_reader_are_read(make_run):
    folder = make_run()
    with RunStore.review(folder) as store:
        store.reviews.add(Review(item="run-0", verdict="good"))
    with Desk([folder], "reader") as desk:
        assert states(desk)[0] == "signed"
        assert desk.undo() == [], "a row that no click made is not undone by one"
    with pytest.raises(ValidationError):
        Review(item="run-0", verdict="skipped")
