"""Rows of refused questions, with answer and passage."""

import pytest

from groundset.store.items import refused_rows
from groundset.store.run_store import RunStore
from groundset.store.tables import Verdict
from programs.types import Attempt, Chunk, Context, Reject, StepRecord

CHUNKS = [
    Chunk(chunk_id=f"d-{number}", doc_id="d", path="d.md", title="D", start=0, end=9, text=f"Passage *{number}*.")
    for number in range(3)
]
CONTEXTS = tuple(Context(chunk=chunk, passage=chunk.text, topic="D", language="en") for chunk in CHUNKS)


def step(name, candidate=0, **output):
    return StepRecord(step=name, candidate=candidate, output=output)


def rows(folder, records, rejects, contexts=CONTEXTS[:1], **options):
    with RunStore.create(folder / "run", meta={}, documents=[], chunks=CHUNKS) as store:
        store.store_column("score", [], [Reject(step="chunk", reason="a list", chunk_id="d-0")])
        store.attempts.begin(Attempt(number=0, contexts=contexts, wanted="simple"))
        store.attempts.add_steps(0, records)
        store.results.decide(0, Verdict(None, False), None, None, rejects)
        return list(refused_rows(store, **options))


def reject(step, question):
    return Reject(step=step, reason="r", chunk_id="d-0", question=question)


QUESTION = step("question", question="Q1?", answer="meant", sentence="S.")


@pytest.mark.parametrize(
    ("records", "question", "answer"),
    [
        ([QUESTION, step("judge", question="Q1?", fit=0.2)], "Q1?", "meant"),
        ([QUESTION, step("answer", answer="found", meant="meant")], "Q1?", "found"),
        ([QUESTION, step("rewrite", feedback="F", question="Q2?"), step("judge", question="Q2?")], "Q2?", "meant"),
        ([QUESTION, step("compress", question="Q2?")], "Q2?", "meant"),
        ([QUESTION, step("conditional", question="Q2?"), step("judge", question="Q2?")], "Q2?", ""),
        ([QUESTION, step("conditional", question="Q2?"), step("answer", answer="other")], "Q1?", "meant"),
        ([QUESTION, step("conditional", question="Q2?"), step("answer", answer="other")], "Q2?", "other"),
        ([QUESTION, step("question", 1, question="Q2?", answer="A2"), step("answer", answer="found")], "Q2?", "A2"),
        ([QUESTION, step("question", 1, question="Q2?", answer="A2"), step("answer", answer="found")], "Q1?", "found"),
        ([step("reasoning", question=None), step("answer", answer="lost")], "Q1?", ""),
    ],
)
def test_refused_question_has_its_own_answer(tmp_path, records, question, answer):
    [row] = rows(tmp_path, records, [reject("judge", question)])
    assert (row["question"], row["answer"]) == (question, answer)


def test_passage_joins_chunks_in_attempt_order(tmp_path):
    [row] = rows(tmp_path, [], [reject("needed", "Q?")], (CONTEXTS[2], CONTEXTS[0]))
    assert row["passage"] == "Passage 2.\n\nPassage 0."
    assert row["chunk_ids"] == ["d-2", "d-0"]


def test_rows_have_unique_ids_and_can_be_filtered_by_step(tmp_path):
    rejects = [reject("judge", "Q?"), reject("answer", "Q?"), reject("judge", "Q?"), reject("judge", None)]
    found = rows(tmp_path, [], rejects)
    assert [row["step"] for row in found] == ["judge", "answer", "judge"]
    assert len({row["id"] for row in found}) == 3
    assert [row["step"] for row in rows(tmp_path / "again", [], rejects, steps={"answer"})] == ["answer"]
