"""What is stored of reviews, with other processes at work on the same run."""

import sqlite3
import threading

import pytest
from pydantic import ValidationError
from small_run import ASKED, corpus, put, sample

from groundset.review.filters import Filter
from groundset.review.session import ReviewSession
from groundset.run import Run
from groundset.store.reviews import Review, latest_reviews
from groundset.store.run_store import RunStore
from programs.errors import InputError
from programs.types import Reject

PASSED = Reject(step="chunk", reason="no further sentence can carry a question", chunk_id="guide-0000")
THIN = Reject(step="chunk", reason="not content", chunk_id="guide-0000", probability=0.1)
UNCLEAR = Reject(step="judge", reason="not clear", chunk_id="guide-0001", probability=0.2, question="Why?")


def rows(folder):
    with RunStore.read(folder) as store:
        return store.reviews.all()


def states(session):
    return [session.state(item) for item in session.items]


def test_a_verdict_is_in_the_run_when_the_call_returns(make_run, review):
    folder = make_run()
    session = review(folder).session
    session.submit(session.items[0], "good")
    session.submit(session.items[1], "bad", reason="vague")
    session.submit(session.items[2], "good", question="How tall is the tower?")
    session.skip(session.items[3])
    assert states(session) == ["signed", "refused", "corrected", "skipped"]
    assert [(row.item, row.verdict, row.reason) for row in rows(folder)] == [
        ("run-0", "good", None), ("run-1", "bad", "vague"), ("run-2", "good", None), ("run-3", None, None)
    ]  # fmt: skip
    signed = Run(folder).reviewed(signed=True)
    assert [one.question for one in signed] == ["When does the ferry leave Tollvik?", "How tall is the tower?"]
    assert len(Run(folder).reviewed()) == 3, "what was skipped stays"
    session.submit(session.items[0], "good")
    session.skip(session.items[0])
    assert len(rows(folder)) == 4, "the same verdict is stored once, and a skip takes nothing back"


def test_undo_goes_back_click_by_click_also_after_a_restart(make_run):
    folder = make_run()
    with ReviewSession([folder], "ann") as session:
        first, second, *_ = session.items
        session.submit(first, "bad", reason="vague")
        session.submit(first, "good", answer="at 9")
        session.skip(second)
    with ReviewSession([folder], "bob") as session:
        assert session.undo() == [], "another reviewer's clicks stay"
    with ReviewSession([folder], "ann") as session:
        first, second, *_ = session.items
        assert session.undo() == [second]
        assert states(session)[:2] == ["corrected", "unread"]
        assert session.undo() == [first]
        assert (session.own(first).verdict, session.own(first).reason) == ("bad", "vague")
        session.submit(second, "good")
        assert session.undo() == [second], "a click after an undo is undone first"
        assert session.undo() == [first]
        assert states(session) == ["unread"] * 4
        assert session.undo() == []
    with RunStore.read(folder) as store:
        assert latest_reviews(store.reviews.all()) == []


def test_one_verdict_for_many_is_one_click(make_run, review):
    session = review(make_run("one"), make_run("two")).session
    session.submit(session.items[0], "bad", reason="vague")
    session.submit_all(session.items[2:6], "good", None)
    assert states(session) == ["refused", "unread", *["signed"] * 4, "unread", "unread"]
    assert session.undo() == session.items[2:6]
    assert states(session) == ["refused", *["unread"] * 7]


def test_undo_leaves_clicks_alone_whose_items_are_not_reviewed_here(make_run):
    folder = make_run(samples=1, rejects=[THIN, UNCLEAR])
    with ReviewSession([folder], "ann", kind="reject") as session:
        session.submit(session.items[1], "good")
        session.submit(session.items[0], "bad", reason="too_thin")
    with ReviewSession([folder], "ann", kind="reject", steps=["judge"]) as session:
        assert session.undo() == session.items
        assert session.undo() == []
    with RunStore.read(folder) as store:
        assert [review.reason for review in latest_reviews(store.reviews.all())] == ["too_thin"]


def test_a_click_on_two_runs_is_undone_in_each_only_once(make_run):
    one, two = make_run("one"), make_run("two")
    with ReviewSession([one, two], "ann") as session:
        session.submit_all(session.items, "good", None)
    with ReviewSession([one], "ann") as session:
        assert session.undo() == session.items
        session.submit(session.items[0], "bad", reason="vague")
        assert session.undo() == session.items[:1]
        session.submit(session.items[1], "bad", reason="vague")
    with ReviewSession([two, one], "ann") as session:
        session.undo()
        assert session.undo() == session.items[:4]
        assert states(session) == ["unread"] * 8
    with ReviewSession([one], "ann") as session:
        session.submit(session.items[0], "good")
    assert len(rows(one)) == 13, "4 signed, 4 taken back, 2 refused and taken back, 1 signed"


def test_the_last_verdict_of_two_tabs_counts_and_both_learn_of_it(make_run, review):
    folder = make_run()
    session, other = review(folder).session, review(folder).session
    assert other.submit(other.items[0], "good", seen=0) is None
    assert session.submit(session.items[0], "bad", reason="vague", seen=0).verdict == "good"
    other.refresh()
    assert other.state(other.items[0]) == "refused"
    other.submit(other.items[0], "bad", reason="vague", seen=0)
    assert len(rows(folder)) == 2


def test_reviewers_see_each_other_only_after_their_own_verdict(make_run, review):
    folder = make_run()
    ann, bob = review(folder, reviewer="ann").session, review(folder, reviewer="bob").session
    ann.submit(ann.items[0], "bad", reason="vague")
    bob.refresh()
    assert states(bob)[0] == "unread"
    assert bob.others(bob.items[0]) == []
    bob.submit(bob.items[0], "good")
    assert [review.reader for review in bob.others(bob.items[0])] == ["ann"]
    bob.undo()
    assert bob.others(bob.items[0]) == []


def test_unread_items_come_first_then_skipped_ones_and_a_state_is_gone_through_once(make_run, review):
    session = review(make_run()).session
    one, two, three, four = session.items
    everything = Filter()
    assert session.next(everything, None) == one
    session.skip(one)
    session.submit(three, "good")
    assert session.next(everything, two) == four
    assert session.next(everything, four) == two, "from the end round to the start"
    session.submit(two, "good")
    session.submit(four, "good")
    assert session.next(everything, four) == one, "what was skipped comes last"
    assert session.next(everything, one) is None
    signed = Filter(state="signed")
    assert [session.next(signed, item) for item in (None, two, three, four)] == [two, three, four, None]
    assert session.previous(signed, four) == three
    assert session.previous(everything, one) is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"asks": "time", "run": "one"}, ["one-0", "one-3"]),
        ({"words": "ADA lund"}, ["one-1"]),
        ({"document": "GUIDE", "state": "refused"}, ["one-1"]),
        ({"document": "other"}, []),
        ({"state": "reviewed"}, ["one-1"]),
        ({"state": "nonsense", "colour": "red"}, ["one-0", "one-1", "one-2", "one-3", "two-0"]),
    ],
)
def test_filters_ask_for_facts_words_and_states(make_run, review, wanted, found):
    session = review(make_run("one"), make_run("two", samples=1)).session
    session.submit(session.items[1], "bad", reason="vague")
    if "run" in wanted:
        wanted = {**wanted, "run": session.names[0]}
    assert [item.entry.item for item in session.matching(Filter.of(wanted, blind=False))] == found
    assert Filter.of({"asks": "time", "words": "x"}, blind=True) == Filter(words="x")


def test_what_a_run_makes_meanwhile_is_reviewed_too(make_run, review):
    folder = make_run(samples=2)
    _, chunks = corpus()
    with RunStore.open(folder) as working:
        session = review(folder).session
        session.submit(session.items[0], "good")
        put(working, 2, sample("run-2", *ASKED[2], chunks[2]))
        session.refresh()
        assert [item.entry.item for item in session.items] == ["run-0", "run-1", "run-2"]
        session.submit(session.items[2], "good")
    session.submit(session.items[1], "good")  # the run has ended
    with RunStore.open(folder) as working:  # and continues
        session.__exit__()  # the reviewer ends first
        put(working, 3, sample("run-3", *ASKED[3], chunks[3]))
    with RunStore.read(folder) as store:
        assert (store.results.count(), len(latest_reviews(store.reviews.all()))) == (4, 3)
    assert not list(folder.glob("*-wal"))


def test_two_processes_writing_at_once_lose_nothing(make_run, review):
    folder = make_run(asked=ASKED * 10, samples=40)
    _, chunks = corpus()
    session = review(folder).session

    def work():
        with RunStore.open(folder) as working:
            for number in range(40, 80):
                put(working, number, sample(f"run-{number}", f"Number {number}?", "yes", chunks[0]))

    worker = threading.Thread(target=work)
    worker.start()
    for item in session.items[:40]:
        session.submit(item, "good")
    worker.join()
    session.refresh()
    assert len(session.items) == 80
    assert session.counts()["signed"] == 40


def test_a_locked_run_is_one_line_and_stores_nothing(make_run, review):
    page = review(make_run())
    store = page.session.stores[0]
    holder = sqlite3.connect(store.folder / "run.sqlite", isolation_level=None)
    store._database.execute("PRAGMA busy_timeout = 10")
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert "another program has locked it" in page.submit(0, "sign", status=500)
    finally:
        holder.close()
    assert page.states()[0] == "unread"
    page.submit(0, "sign")
    assert page.states()[0] == "signed"


def test_a_seed_shuffles_always_alike_and_addresses_reveal_nothing(make_run, review):
    folders = make_run("one"), make_run("two")
    first, again, other = (review(*folders, seed=seed).session for seed in (3, 3, 4))
    order, same, another = ([(item.run, item.entry.item) for item in each.items] for each in (first, again, other))
    assert order == same != sorted(order)
    assert order != another
    assert {item.key for item in first.items}.isdisjoint(item.key for item in again.items)


def test_rejects_are_reviewed_without_what_had_nothing_left_to_ask(make_run, review):
    folder = make_run(samples=1, rejects=[PASSED, THIN, UNCLEAR])
    session = review(folder, kind="reject").session
    assert [(item.entry.step, item.entry.question) for item in session.items] == [("chunk", ""), ("judge", "Why?")]
    assert [item.entry.step for item in review(folder, kind="reject", steps=["judge"]).session.items] == ["judge"]
    session.submit(session.items[1], "good")
    assert [(row.kind, row.item) for row in rows(folder)] == [("reject", "3")]
    assert states(review(folder).session) == ["unread"], "a verdict on a reject is none on a sample"
    with pytest.raises(InputError, match="--step nosuch: there are no rejects of that step; choose of chunk, judge"):
        ReviewSession([folder], "r", kind="reject", steps=["nosuch"])


def test_a_folder_without_a_run_and_one_that_cannot_be_written_are_left_alone(make_run, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="is not the folder of a run"):
        ReviewSession([tmp_path], "r")
    assert list(tmp_path.iterdir()) == []
    folder = make_run()
    with pytest.raises(InputError, match="a run is named twice"):
        ReviewSession([folder, folder / ".." / "run"], "r")
    before = (folder / "run.sqlite").read_bytes()
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(InputError, match="cannot be written, and reviews are kept in it; copy it"):
        ReviewSession([folder], "r")
    assert (folder / "run.sqlite").read_bytes() == before


def test_rows_of_an_older_version_are_read(make_run):
    folder = make_run()
    with RunStore.review(folder) as store:
        store.reviews.add(Review(item="run-0", verdict="good"))
    with ReviewSession([folder], "reader") as session:
        assert states(session)[0] == "signed"
        assert session.undo() == [], "a row that no click made is not undone by one"
    with pytest.raises(ValidationError):
        Review(item="run-0", verdict="skipped")
