"""One attempt under way: its texts, and what the steps say of it."""

from typing import Any, Literal

from programs.languages.base import Language
from programs.languages.table import Languages
from programs.text import plain
from programs.types import Attempt, Draft, Observer, Outcome, Reject, StepRecord


class Work:
    """An attempt's texts and the records and rejects of its steps, passed on to the observer as they come.

    Attributes:
        chunk: what the questions are asked about.
        passage: the chunk's text without markup, as prompts and critics see it.
        topic: title and headings in one line.
        language: the language of the passage.
    """

    def __init__(self, attempt: Attempt, languages: Languages, observer: Observer) -> None:
        self.attempt = attempt
        self.chunk = attempt.chunk
        self.passage = plain(attempt.chunk.text)
        self.topic = plain(attempt.chunk.topic)
        self.language: Language = languages.of(self.passage)
        self._observer = observer
        self._records: list[StepRecord] = []
        self._rejects: list[Reject] = []

    def say(
        self,
        step: str,
        candidate: int,
        output: dict[str, Any],
        *,
        probability: float | None = None,
        good: bool | None = None,
        reason: str | None = None,
    ) -> None:
        """Record what a step said about a candidate."""
        verdict: Literal["good", "bad"] | None = None if good is None else ("good" if good else "bad")
        record = StepRecord(
            step=step,
            candidate=candidate,
            output=output,
            probability=None if probability is None else round(probability, 4),
            verdict=verdict,
            reason=reason,
        )
        self._records.append(record)
        self._observer(record)

    def refuse(self, step: str, reason: str, *, probability: float | None = None, question: str | None = None) -> None:
        """Keep a candidate that a step refused."""
        self._rejects.append(
            Reject(
                step=step,
                reason=reason,
                chunk_id=self.chunk.chunk_id,
                probability=None if probability is None else round(probability, 4),
                question=question,
            )
        )

    def of(self, *candidates: int) -> tuple[StepRecord, ...]:
        """Return the records of the chunk and of some candidates, in the order in which they came."""
        shared = {"chunk", "keyphrases"}
        return tuple(r for r in self._records if r.step in shared or r.candidate in candidates)

    def outcome(self, draft: Draft | None = None, *, fallback: Draft | None = None, exhausted: bool = False) -> Outcome:
        """Return the attempt's outcome with all its rejects."""
        return Outcome(draft=draft, fallback=fallback, rejects=tuple(self._rejects), exhausted=exhausted)
