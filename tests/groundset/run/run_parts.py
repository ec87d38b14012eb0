"""Samples, tasks and runs that tests are made of."""

import json
from collections.abc import Sequence

import numpy as np
from evaluation_sets import chunk
from evaluation_sets import sample as sample_of

from groundset.programs.types import Chunk, Document, Reject, Sample, StepRecord
from groundset.run.engine import Made, RunJournal
from groundset.run.plan import Task
from groundset.run.store import Result

TEXT = "The weir of Ebbing was built in 1820. The mill beside it grinds oats."
DOCUMENT = Document(doc_id="d1", path="weir.md", title="The weir", text=TEXT)
CHUNKS = tuple(
    chunk(f"c{n}", TEXT[start:end], doc_id="d1", path="weir.md", start=start, end=end)
    for n, (start, end) in enumerate([(0, 37), (38, 69)])
)


def sample(number: int, evolution: str = "simple", chunks: Sequence[Chunk] = CHUNKS[:1]) -> Sample:
    """An accepted question."""
    steps = StepRecord(step="ask", output={"question": "?"}), StepRecord(step="judge")
    return sample_of(
        f"s{number:03}",
        *chunks,
        question=f"When was weir {number} built?",
        answer=f"in {1800 + number}",
        evolution=evolution,
        trail=steps,
        metadata={"kind": "fact"},
    )


def response(text: str) -> str:
    """A finished call as the models write it."""
    counts = {"prompt_tokens": 10, "cached_tokens": 4, "generated_tokens": 2, "seconds": 0.5}
    return json.dumps({"text": text, "finish_reason": "stop", **counts})


class Scripted:
    """Makes attempts with two calls each, of which every third is refused; ``paid`` are the calls
    that were made.
    """

    def __init__(self, journal: RunJournal) -> None:
        self.journal = journal
        self.paid: list[str] = []

    def call(self, key: str) -> str:
        """Answer a call from the journal, or make and keep it."""
        if (found := self.journal.get(key)) is None:
            self.paid.append(key)
            self.journal.put(key, found := response(key))
        return str(json.loads(found)["text"])

    def __call__(self, task: Task) -> Made:
        """Make an attempt."""
        for step in ("ask", "judge"):
            self.call(f"{step} {task.chunks} {task.turn}")
        if task.seed % 3 == 0:
            return Made(
                Result(
                    rejects=(
                        Reject(step="judge", reason="not clear: why", chunk_id=task.chunks[0]),
                    )
                )
            )
        chunk = CHUNKS[0].model_copy(update={"chunk_id": task.chunks[0]})
        vector = np.zeros(512, np.float32)
        vector[task.number] = 1
        return Made(Result(sample=sample(task.number, task.wanted[0], [chunk])), vector)
