"""Review sessions with concurrent writers."""

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


def test_verdicts_are_stored_immediately(make_run, review):
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


def test_undo_reverts_clicks_across_sessions(make_run):
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


def test_bulk_verdict_is_undone_as_a_whole(make_run, review):
    session = review(make_run("one"), make_run("two")).session
    session.submit(session.items[0], "bad", reason="vague")
    session.submit_all(session.items[2:6], "good", None)
    assert states(session) == ["refused", "unread", *["signed"] * 4, "unread", "unread"]
    assert session.undo() == session.items[2:6]
    assert states(session) == ["refused", *["unread"] * 7]


def test_undo_ignores_clicks_on_other_items(make_run):
    folder = make_run(samples=1, rejects=[THIN, UNCLEAR])
    with ReviewSession([folder], "ann", kind="reject") as session:
        session.submit(session.items[1], "good")
        session.submit(session.items[0], "bad", reason="too_thin")
    with ReviewSession([folder], "ann", kind="reject", steps=["judge"]) as session:
        assert session.undo() == session.items
        assert session.undo() == []
    with RunStore.read(folder) as store:
        assert [review.reason for review in latest_reviews(store.reviews.all())] == ["too_thin"]


def test_click_on_two_runs_is_undone_once_per_run(make_run):
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


def test_last_verdict_of_two_tabs_counts(make_run, review):
    folder = make_run()
    session, other = review(folder).session, review(folder).session
    assert other.submit(other.items[0], "good", seen=0) is None
    assert session.submit(session.items[0], "bad", reason="vague", seen=0).verdict == "good"
    other.refresh()
    assert other.state(other.items[0]) == "refused"
    other.submit(other.items[0], "bad", reason="vague", seen=0)
    assert len(rows(folder)) == 2


def test_other_verdicts_are_hidden_before_the_own_one(make_run, review):
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


def test_order_of_items(make_run, review):
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
def test_filters(make_run, review, wanted, found):
    session = review(make_run("one"), make_run("two", samples=1)).session
    session.submit(session.items[1], "bad", reason="vague")
    if "run" in wanted:
        wanted = {**wanted, "run": session.names[0]}
    assert [item.entry.item for item in session.matching(Filter.of(wanted, blind=False))] == found
    assert Filter.of({"asks": "time", "words": "x"}, blind=True) == Filter(words="x")


def test_new_samples_of_a_running_generation_appear(make_run, review):
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


def test_concurrent_writers_lose_nothing(make_run, review):
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


def test_locked_run_is_reported(make_run, review):
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


def test_seed_shuffles_and_keys_are_random(make_run, review):
    folders = make_run("one"), make_run("two")
    first, again, other = (review(*folders, seed=seed).session for seed in (3, 3, 4))
    order, same, another = ([(item.run, item.entry.item) for item in each.items] for each in (first, again, other))
    assert order == same != sorted(order)
    assert order != another
    assert {item.key for item in first.items}.isdisjoint(item.key for item in again.items)


def test_reject_review_omits_exhausted_chunks(make_run, review):
    folder = make_run(samples=1, rejects=[PASSED, THIN, UNCLEAR])
    session = review(folder, kind="reject").session
    assert [(item.entry.step, item.entry.question) for item in session.items] == [("chunk", ""), ("judge", "Why?")]
    assert [item.entry.step for item in review(folder, kind="reject", steps=["judge"]).session.items] == ["judge"]
    session.submit(session.items[1], "good")
    assert [(row.kind, row.item) for row in rows(folder)] == [("reject", "3")]
    assert states(review(folder).session) == ["unread"], "a verdict on a reject is none on a sample"
    with pytest.raises(InputError, match=r"--step nosuch: .*chunk, judge"):
        ReviewSession([folder], "r", kind="reject", steps=["nosuch"])


def test_invalid_folders_are_rejected(make_run, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="is not the folder of a run"):
        ReviewSession([tmp_path], "r")
    assert list(tmp_path.iterdir()) == []
    folder = make_run()
    with pytest.raises(InputError, match="is named twice"):
        ReviewSession([folder, folder / ".." / "run"], "r")
    before = (folder / "run.sqlite").read_bytes()
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(InputError, match="cannot be written, but reviews are stored in it"):
        ReviewSession([folder], "r")
    assert (folder / "run.sqlite").read_bytes() == before


def test_reviews_of_older_versions(make_run):
    folder = make_run()
    with RunStore.review(folder) as store:
        store.reviews.add(Review(item="run-0", verdict="good"))
    with ReviewSession([folder], "reader") as session:
        assert states(session)[0] == "signed"
        assert session.undo() == [], "a row that no click made is not undone by one"
    with pytest.raises(ValidationError):
        Review(item="run-0", verdict="skipped")
