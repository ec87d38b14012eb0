"""The tables of a run: attempts with their steps, and results."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from groundset.store.database import Database
from programs.numbers import check_numbers
from programs.types import Attempt, Focus, Outcome, Reject, Sample, StepRecord

Vectors = NDArray[np.float32]
# A reject of these steps without a question means that its chunk was skipped.
SKIPPING_STEPS = ("chunk", "keyphrases", "pair")
_NO_ATTEMPT = -1
_FOCI = TypeAdapter(tuple[Focus, ...])
_IDS = TypeAdapter(tuple[str, ...])


def as_vector(stored: bytes) -> Vectors:
    """Parse a stored embedding.

    Raises:
        ValueError: it is not a vector, or holds NaN or infinity.
    """
    vector = np.frombuffer(stored, dtype=np.float32)
    if not np.isfinite(vector).all():
        raise ValueError("a vector holds NaN or infinity")
    return vector


class Verdict(NamedTuple):
    """The verdict on an attempt.

    Attributes:
        accepted: the evolution of the accepted sample, if any.
        exhausted: whether there is nothing left to ask about its chunks.
        used_foci: the foci that it asked about.
        postponed: whether a good question was over quota.
    """

    accepted: str | None
    exhausted: bool
    used_foci: tuple[Focus, ...] = ()
    postponed: bool = False


class AttemptTable:
    """Attempts: their plans, step records, outcomes and verdicts."""

    def __init__(self, database: Database) -> None:
        """Use the tables in ``database``."""
        self._database = database

    def begin(self, attempt: Attempt) -> None:
        """Store the start of an attempt; step records of an interrupted start are dropped."""
        with self._database.transaction():
            self._database.execute("DELETE FROM steps WHERE attempt = ?", (attempt.number,))
            self._database.execute(
                "INSERT OR REPLACE INTO attempts (number, contexts, wanted, round, seed) VALUES (?, ?, ?, ?, ?)",
                (*_plan(attempt), attempt.seed),
            )

    def add_steps(self, number: int, records: Iterable[StepRecord]) -> None:
        """Store the step records of an attempt, in one transaction."""
        rows = [
            (number, seq, each.step, each.candidate, json.dumps(each.output, ensure_ascii=False), each.probability,
             each.verdict, each.reason)
            for seq, each in enumerate(records)
        ]  # fmt: skip
        with self._database.transaction():
            self._database.insert("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)", iter(rows))

    def finish(self, number: int, outcome: Outcome) -> None:
        """Store the outcome of an attempt."""
        self._database.execute("UPDATE attempts SET outcome = ? WHERE number = ?", (outcome.model_dump_json(), number))

    def repeat(self, attempt: Attempt, earlier: int) -> None:
        """Store an attempt with the outcome of an earlier one, whose rejects are stored already."""
        self._database.execute(
            "INSERT OR REPLACE INTO attempts (number, contexts, wanted, round, seed, outcome) "
            "SELECT ?, ?, ?, ?, seed, json_set(outcome, '$.rejects', json('[]')) FROM attempts WHERE number = ?",
            (*_plan(attempt), earlier),
        )

    def outcome(self, attempt: Attempt) -> Outcome | None:
        """Return the stored outcome of an attempt, if an earlier process finished it."""
        found = self._database.read(
            Outcome.model_validate_json,
            "SELECT outcome FROM attempts WHERE (number, contexts, wanted, round) = (?, ?, ?, ?) "
            "AND outcome IS NOT NULL",
            _plan(attempt),
        )
        return next(found, None)

    def forget_undecided(self) -> None:
        """Drop undecided attempts and their step records; their calls stay in the journal."""
        self._database.execute("DELETE FROM steps WHERE attempt IN (SELECT number FROM attempts WHERE NOT decided)")
        self._database.execute("DELETE FROM attempts WHERE NOT decided")

    def verdicts(self) -> Iterator[tuple[int, Verdict]]:
        """Yield the decided attempts in order."""
        yield from self._database.read(
            lambda number, accepted, exhausted, asked, put_off: (
                number,
                Verdict(accepted, bool(exhausted), _FOCI.validate_json(asked), bool(put_off)),
            ),
            "SELECT number, accepted, exhausted, asked, put_off FROM attempts WHERE decided ORDER BY number",
        )

    def decided(self) -> int:
        """Return the number of decided attempts."""
        [(count,)] = self._database.execute("SELECT count(*) FROM attempts WHERE decided")
        return int(count)

    def steps(self, number: int) -> list[StepRecord]:
        """Return the step records of an attempt, in order."""
        names = ("step", "candidate", "output", "probability", "verdict", "reason")

        def parse(*row: Any) -> StepRecord:
            return StepRecord(**{**dict(zip(names, row, strict=True)), "output": check_numbers(json.loads(row[2]))})

        return list(
            self._database.read(
                parse, f"SELECT {', '.join(names)} FROM steps WHERE attempt = ? ORDER BY seq", (number,)
            )
        )

    def contexts(self, number: int) -> tuple[str, ...]:
        """Return the ids of the chunks of an attempt."""
        found = self._database.read(_IDS.validate_json, "SELECT contexts FROM attempts WHERE number = ?", (number,))
        ids = next(found, None)
        if ids is None:
            raise self._database.damaged(f"attempt {number} is missing")
        return ids

    def step_counts(self) -> dict[str, int]:
        """Return how many records each step has in decided attempts, in order of first appearance."""
        rows = self._database.execute(
            "SELECT step, count(*) FROM steps JOIN attempts ON number = attempt WHERE decided "
            "GROUP BY step ORDER BY min(seq), step"
        )
        return dict(rows)


def _plan(attempt: Attempt) -> tuple[int, str, str, int]:
    """Return the columns that identify an attempt."""
    ids = json.dumps([context.chunk.chunk_id for context in attempt.contexts])
    return attempt.number, ids, attempt.wanted, attempt.round


class ResultTable:
    """Samples and rejects, in the order in which they were decided."""

    def __init__(self, database: Database) -> None:
        """Use the tables in ``database``."""
        self._database = database

    def decide(
        self, number: int, verdict: Verdict, sample: Sample | None, vector: Vectors | None, rejects: Sequence[Reject]
    ) -> None:
        """Store the decision on an attempt in one transaction."""
        with self._database.transaction():
            asked = _FOCI.dump_json(verdict.used_foci).decode()
            self._database.execute(
                "UPDATE attempts SET decided = 1, accepted = ?, exhausted = ?, asked = ?, put_off = ? WHERE number = ?",
                (verdict.accepted, verdict.exhausted, asked, verdict.postponed, number),
            )
            if sample is not None and vector is not None:
                self._database.execute(
                    "INSERT INTO samples (id, attempt, record, vector) VALUES (?, ?, ?, ?)",
                    (sample.id, number, sample.model_dump_json(), vector.tobytes()),
                )
            self.add_rejects(number, rejects)

    def add(self, samples: Iterable[tuple[Sample, Vectors]], rejects: Sequence[Reject]) -> None:
        """Store samples with their question vectors, and rejects, without attempts."""
        with self._database.transaction():
            self._database.insert(
                "INSERT INTO samples (id, attempt, record, vector) VALUES (?, ?, ?, ?)",
                ((sample.id, _NO_ATTEMPT, sample.model_dump_json(), vector.tobytes()) for sample, vector in samples),
            )
            self.add_rejects(None, rejects)

    def add_rejects(self, number: int | None, rejects: Sequence[Reject]) -> None:
        """Store rejects of an attempt, or of the preparation (None)."""
        self._database.insert(
            "INSERT INTO rejects (attempt, step, record) VALUES (?, ?, ?)",
            ((number, reject.step, reject.model_dump_json()) for reject in rejects),
        )

    def count(self) -> int:
        """Return the number of accepted samples."""
        [(count,)] = self._database.execute("SELECT count(*) FROM samples")
        return int(count)

    def samples(self) -> Iterator[Sample]:
        """Yield the accepted samples."""
        yield from self._database.read(_sample, "SELECT id, record FROM samples ORDER BY position")

    def alternative_counts(self) -> dict[str, int]:
        """Return how many samples have alternative chunks, and for how many of them this changed the rank."""
        samples = [sample for sample in self.samples() if any(len(group) > 1 for group in sample.retrieval_gt)]
        changed = sum(sample.retrieval.rank != sample.metadata.get("source_rank") for sample in samples)
        return {"samples": len(samples), "rank_changed": changed}

    def vectors(self) -> Iterator[Vectors]:
        """Yield the embedding vectors of the accepted questions."""
        yield from self._database.read(as_vector, "SELECT vector FROM samples ORDER BY position")

    def rejects(self) -> Iterator[Reject]:
        """Yield the rejects."""
        yield from self._database.read(Reject.model_validate_json, "SELECT record FROM rejects ORDER BY position")

    def refused_questions(self) -> Iterator[tuple[int, int | None, Reject]]:
        """Yield the position, attempt (if any) and reject of every refused question."""
        yield from self._database.read(
            lambda position, attempt, record: (position, attempt, Reject.model_validate_json(record)),
            "SELECT position, attempt, record FROM rejects "
            "WHERE json_extract(record, '$.question') IS NOT NULL ORDER BY position",
        )

    def evolution_counts(self) -> dict[str, int]:
        """Return the number of samples of each evolution, the most frequent first."""
        counts = Counter(sample.evolution for sample in self.samples())
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def kind_counts(self) -> dict[str, int]:
        """Return the number of samples of each question kind, the most frequent first."""
        kinds = (sample.metadata.get("kind") for sample in self.samples())
        return dict(Counter(str(kind) for kind in kinds if kind).most_common())

    def reject_counts(self) -> dict[str, int]:
        """Return the number of rejects of each step."""
        return dict(self._database.execute("SELECT step, count(*) FROM rejects GROUP BY step ORDER BY min(position)"))

    def reasons(self, *, skipped_chunks: bool = False) -> dict[str, Counter[str]]:
        """Return by step how often it refused questions for each reason, or skipped chunks with ``skipped_chunks``."""
        found: dict[str, Counter[str]] = {}
        marks = ", ".join("?" * len(SKIPPING_STEPS))
        is_skipped = f"(step IN ({marks}) AND json_extract(record, '$.question') IS NULL)"
        for step, reason in self._database.read(
            lambda step, record: (step, Reject.model_validate_json(record).reason),
            f"SELECT step, record FROM rejects WHERE {is_skipped} = ? ORDER BY position",
            (*SKIPPING_STEPS, skipped_chunks),
        ):
            # Text after a colon is about the single candidate.
            found.setdefault(step, Counter())[reason.split(":")[0]] += 1
        return found


def _sample(name: str, record: str) -> Sample:
    """Parse a stored sample.

    Raises:
        ValueError: it is invalid, or has another id.
    """
    sample = Sample.model_validate_json(record)
    if sample.id != name:
        raise ValueError("a sample stored under the id of another one")
    return sample
