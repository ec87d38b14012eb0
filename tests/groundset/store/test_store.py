"""Reading and writing of run stores."""

import os
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from groundset.store.folder import holds_run
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.errors import GroundsetError, InputError, RunError
from programs.types import Attempt, Chunk, Context, Document, Focus, Outcome, Reject, Retrieval, Sample, StepRecord

DOCUMENT = Document(doc_id="d", path="d.md", title="D", text="First. Second.")
CHUNKS = [
    Chunk(chunk_id="d-0", doc_id="d", path="d.md", title="D", start=0, end=6, text="First."),
    Chunk(chunk_id="d-1", doc_id="d", path="d.md", title="D", start=7, end=14, text="Second.", metadata={"a": [1]}),
]
VECTORS = np.eye(2, 4, dtype=np.float32)
RESPONSE = {"text": "é", "finish_reason": "stop", "logprobs": None}
RECORD = {"response": RESPONSE, "prompt_tokens": 5, "evaluated_tokens": 2, "completion_tokens": 3, "seconds": 0.5}


CONTEXTS = [Context(chunk=chunk, passage=chunk.text, topic="D", language="en", parsed=True) for chunk in CHUNKS]


def create(folder: Path) -> RunStore:
    return RunStore.create(folder, meta={"a": {"b": 1}}, documents=[DOCUMENT], chunks=CHUNKS)


def attempt(number: int, wanted: str = "simple") -> Attempt:
    return Attempt(number=number, contexts=(CONTEXTS[number],), wanted=wanted, seed=7)


def sample(name: str) -> Sample:
    return Sample(
        id=name,
        question="What?",
        answer="That.",
        evolution="simple",
        language="en",
        contexts=(CHUNKS[0],),
        retrieval_gt=(("d-0",),),
        retrieval=Retrieval(rank=1, retrieved_id="d-0", retrieved_content="First.", score=1),
        probability=0.75,
        trail=(StepRecord(step="judge", probability=0.5, verdict="good"),),
    )


def test_initial_contents_are_read_back(tmp_path):
    create(tmp_path / "run").close()
    with RunStore.open(tmp_path / "run") as store:
        assert store.meta("a") == {"b": 1}
        assert store.meta("none") is None
        assert store.documents() == [DOCUMENT]
        assert store.chunks() == CHUNKS
        assert store.corpus_size() == (1, 2)
        assert store.spent() == (None, 0.0)


def test_chunk_columns_are_read_back(tmp_path):
    create(tmp_path / "run").close()
    context = CONTEXTS[0].model_copy(
        update={"foci": (Focus(sentence="First.", answer="First"),), "evolvable": {"x": (0,)}}
    )
    score = StepRecord(step="chunk", probability=0.25, verdict="bad", reason="not content")
    reject = Reject(step="chunk", reason="not content", chunk_id="d-0", probability=0.25)
    with RunStore.open(tmp_path / "run") as store:
        assert (
            store.chunks_missing("vector") == store.chunks_missing("reading") == store.chunks_missing("score") == CHUNKS
        )
        store.store_column(
            "vector", ((chunk.chunk_id, row.tobytes()) for chunk, row in zip(CHUNKS, VECTORS, strict=True))
        )
        stored = [reading.model_dump_json(exclude={"chunk", "score", "split"}) for reading in (context, CONTEXTS[1])]
        store.store_column("reading", zip(("d-0", "d-1"), stored, strict=True))
        store.store_column("score", [("d-0", score.model_dump_json())], [reject])
    with RunStore.open(tmp_path / "run") as store:
        assert np.array_equal(store.vectors(), VECTORS)
        assert store.contexts() == {"d-0": context.model_copy(update={"score": score}), "d-1": CONTEXTS[1]}
        assert store.chunks_missing("score") == CHUNKS[1:]
        assert list(store.results.rejects()) == [reject]


def test_call_journal_keeps_the_first_answer(tmp_path):
    with create(tmp_path / "run") as store:
        assert store.calls.get("x") is None
        store.calls.put("x", RECORD)
        store.calls.put("x", {**RECORD, "prompt_tokens": 99})
        store.calls.put("y", RECORD)
        assert store.calls.get("x") == RECORD
        assert tuple(store.calls.totals()) == (2, 10, 4, 6, 1.0)


def test_restarted_attempt_drops_earlier_steps(tmp_path):
    plan = attempt(0)
    record = StepRecord(step="judge", candidate=2, output={"x": 1}, probability=0.5, verdict="bad", reason="why")
    with create(tmp_path / "run") as store:
        store.attempts.begin(plan)
        store.attempts.add_steps(0, [StepRecord(step="chunk")])
        store.attempts.begin(plan)
        store.attempts.add_steps(0, [record])
        assert store.attempts.steps(0) == [record]
        assert store.attempts.outcome(plan) is None
        outcome = Outcome(rejects=(Reject(step="judge", reason="why", chunk_id="d-0"),), exhausted=True)
        store.attempts.finish(0, outcome)
        assert store.attempts.outcome(plan) == outcome
        assert store.attempts.outcome(attempt(0, "reasoning")) is None
        assert store.attempts.step_counts() == {}, "only decided attempts count"


def test_repeated_attempt_has_the_outcome_without_its_rejects(tmp_path):
    plan, reject = attempt(1), Reject(step="judge", reason="why", chunk_id="d-0")
    again = plan.model_copy(update={"number": 2, "round": 3, "repeats": 1})
    with create(tmp_path / "run") as store:
        store.attempts.begin(plan)
        store.attempts.finish(1, Outcome(rejects=(reject,), used_foci=(Focus(sentence="s", answer="ü"),)))
        for _ in range(2):  # also if an earlier process stored it
            store.attempts.repeat(again, 1)
        assert store.attempts.outcome(again) == Outcome(used_foci=(Focus(sentence="s", answer="ü"),))
        assert store.attempts.contexts(2) == store.attempts.contexts(1)


def test_decisions_are_read_back_in_order(tmp_path):
    with create(tmp_path / "run") as store:
        for number in range(2):
            store.attempts.begin(attempt(number))
            store.attempts.add_steps(number, [StepRecord(step="judge")])
        reject = Reject(step="judge", reason="not clear: 'x'", chunk_id="d-1", probability=0.25, question="q")
        store.results.decide(0, Verdict("simple", False), sample("one"), VECTORS[1], [])
        store.results.decide(1, Verdict(None, True, (), True), None, None, [reject, reject])
        assert list(store.attempts.verdicts()) == [(0, Verdict("simple", False)), (1, Verdict(None, True, (), True))]
        assert list(store.results.samples()) == [sample("one")]
        assert [vector.tolist() for vector in store.results.vectors()] == [VECTORS[1].tolist()]
        assert list(store.results.rejects()) == [reject, reject]
        assert store.results.reject_counts() == {"judge": 2}
        assert store.results.reasons() == {"judge": {"not clear": 2}}
        assert store.results.evolution_counts() == {"simple": 1}
        assert store.attempts.step_counts() == {"judge": 2}


def ranked(name: str, *others: str, rank: int | None, source_rank: int | None) -> Sample:
    """Return a sample that other chunks answer too, with the ranks of the retrieved and of the source chunk."""
    found = sample(name).retrieval.model_copy(update={"rank": rank})
    fields = {"retrieval_gt": (("d-0", *others),), "retrieval": found, "metadata": {"source_rank": source_rank}}
    return sample(name).model_copy(update=fields)


@pytest.mark.parametrize(
    ("samples", "counts"),
    [
        ([], (0, 0)),
        ([ranked("a", rank=1, source_rank=1)], (0, 0)),
        ([ranked("a", "d-1", rank=2, source_rank=2), ranked("b", rank=1, source_rank=1)], (1, 0)),
        ([ranked("a", "d-1", rank=2, source_rank=3), ranked("b", "d-1", rank=1, source_rank=None)], (2, 2)),
    ],
)
def test_alternative_counts(tmp_path, samples, counts):
    with create(tmp_path / "run") as store:
        for number, accepted in enumerate(samples):
            store.attempts.begin(attempt(number))
            store.results.decide(number, Verdict("simple", False), accepted, VECTORS[number], [])
        assert store.results.alternative_counts() == dict(zip(("samples", "rank_changed"), counts, strict=True))


def test_kind_counts(tmp_path):
    with create(tmp_path / "run") as store:
        for number, kind in enumerate(("time", None)):
            store.attempts.begin(attempt(number))
            metadata = {"kind": kind} if kind else {}
            accepted = sample(f"s{number}").model_copy(update={"metadata": metadata})
            store.results.decide(number, Verdict("simple", False), accepted, VECTORS[number], [])
        assert store.results.kind_counts() == {"time": 1}


def test_decision_is_atomic(tmp_path):
    with create(tmp_path / "run") as store:
        for number in range(2):
            store.attempts.begin(attempt(number))
        store.results.decide(0, Verdict("simple", False), sample("same"), VECTORS[0], [])
        with pytest.raises(RunError, match="UNIQUE"):
            store.results.decide(1, Verdict("simple", False), sample("same"), VECTORS[0], [])
        assert store.attempts.decided() == 1
        store.results.decide(1, Verdict("simple", False), sample("other"), VECTORS[0], [])
        assert store.attempts.decided() == 2


def test_threads_can_share_a_store(tmp_path):
    with create(tmp_path / "run") as store:

        def work(thread: int) -> None:
            for number in range(50):
                store.calls.put(f"{thread} {number}", RECORD)
                assert store.calls.get(f"{thread} {number}") == RECORD

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.calls.totals().calls == 400


def test_folder_allows_one_writer_and_several_readers(tmp_path):
    with create(tmp_path / "run") as store:
        with pytest.raises(RunError, match="another process is working on"):
            RunStore.open(tmp_path / "run")
        with RunStore.read(tmp_path / "run") as reader:
            store.calls.put("x", RECORD)
            assert reader.calls.totals().calls == 1
            with pytest.raises(RunError, match="read-only"):
                reader.set_meta("b", 1)
    RunStore.open(tmp_path / "run").close()


def test_closed_run_is_one_file_after_reading(tmp_path):
    create(tmp_path / "run").close()
    RunStore.read(tmp_path / "run").close()
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {"run.sqlite", ".lock"}


def test_create_rejects_an_existing_run(tmp_path):
    create(tmp_path / "run").close()
    with pytest.raises(RunError, match="another process"):
        create(tmp_path / "run")
    RunStore.open(tmp_path / "run").close()


def test_failed_create_leaves_no_run(tmp_path):
    with pytest.raises(RunError, match="UNIQUE"):
        RunStore.create(tmp_path / "run", meta={}, documents=[DOCUMENT, DOCUMENT], chunks=CHUNKS)
    assert not holds_run(tmp_path / "run")
    assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]
    create(tmp_path / "run").close()
    assert holds_run(tmp_path / "run")


def test_leftovers_of_a_killed_create_are_removed(tmp_path):
    (tmp_path / "run").mkdir()
    for end in ("", "-wal", "-shm", "-journal"):
        (tmp_path / "run" / f".run.sqlite.x.groundset-part{end}").write_bytes(b"half")
    assert not holds_run(tmp_path / "run")
    create(tmp_path / "run").close()
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {"run.sqlite", ".lock"}


@pytest.mark.parametrize("damage", [b"this is no database at all" * 50, b"SQLite format 3\0" + bytes(4000)])
def test_damaged_file_is_reported_and_kept(tmp_path, damage):
    create(tmp_path / "run").close()
    file = tmp_path / "run" / "run.sqlite"
    file.write_bytes(damage)
    for open_store in (RunStore.open, RunStore.read):
        with pytest.raises(GroundsetError) as caught:
            open_store(tmp_path / "run")
        assert str(file) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert file.read_bytes() == damage
    file.write_bytes(b"")
    with pytest.raises(InputError, match="was not made by groundset"):
        RunStore.open(tmp_path / "run")


def test_database_of_another_program_is_rejected(tmp_path):
    (tmp_path / "run").mkdir()
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.commit()
    with pytest.raises(InputError, match="was not made by groundset"):
        RunStore.open(tmp_path / "run")


def test_folder_without_run_is_rejected(tmp_path):
    with pytest.raises(InputError, match="is not the folder of a run"):
        RunStore.read(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        holds_run(tmp_path / "file")
    with pytest.raises(InputError, match="cannot be created"):
        create(tmp_path / "file" / "run")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a read-only disk needs root")
def test_read_only_disk_can_be_read_but_not_written(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("mounting a disk is not permitted")
    try:
        create(disk / "run").close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with RunStore.read(disk / "run") as store:
            assert store.chunks() == CHUNKS
        with pytest.raises(GroundsetError, match=r"(?i)read-only|cannot be written"):
            RunStore.open(disk / "run")
        with pytest.raises(InputError, match="cannot be created"):
            create(disk / "new")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_folder_without_permission_is_rejected(tmp_path):
    (tmp_path / "run").mkdir(mode=0o500)
    with pytest.raises(InputError, match="cannot be written"):
        create(tmp_path / "run")
