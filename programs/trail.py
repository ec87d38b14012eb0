"""The trail of one attempt: what its steps returned, and what they refused."""

from typing import Any, Literal

from programs.types import Attempt, Context, Draft, Focus, Observer, Outcome, Reject, StepRecord

NOTHING_TO_ASK = "no further sentence can carry a question"  # why a chunk is done with, rather than at fault
_OF_ALL = frozenset({"chunk", "keyphrases"})  # steps that speak of the contexts, not of one candidate


class Trail:
    """The records and rejects of an attempt's steps, passed on to the observer as they come.

    Attributes:
        attempt: what is wanted.
        contexts: what the questions are asked about.
        language: ISO 639-1 code of the first context.
        written: what questions were asked about, where that was not chosen before the attempt.
    """

    def __init__(self, attempt: Attempt, observer: Observer) -> None:
        self.attempt = attempt
        self.contexts: tuple[Context, ...] = attempt.contexts
        self.language = attempt.contexts[0].language
        self._observer = observer
        self._records: list[StepRecord] = []
        self.written: tuple[Focus, ...] = ()
        self._rejects: list[Reject] = []

    def record(
        self,
        step: str,
        candidate: int,
        output: dict[str, Any],
        *,
        probability: float | None = None,
        good: bool | None = None,
        reason: str | None = None,
    ) -> None:
        """Record what a step returned for a candidate."""
        verdict: Literal["good", "bad"] | None = None if good is None else ("good" if good else "bad")
        self.add(
            StepRecord(
                step=step,
                candidate=candidate,
                output=output,
                probability=None if probability is None else round(probability, 4),
                verdict=verdict,
                reason=reason,
            )
        )

    def add(self, record: StepRecord) -> None:
        """Record what a step returned before the attempt began."""
        self._records.append(record)
        self._observer(record)

    def refuse(
        self,
        step: str,
        reason: str,
        *,
        probability: float | None = None,
        question: str | None = None,
        context: Context | None = None,
    ) -> None:
        """Record a candidate or context that a step refused; its chunk is the first one if none is named."""
        self._rejects.append(
            Reject(
                step=step,
                reason=reason,
                chunk_id=(context or self.contexts[0]).chunk.chunk_id,
                probability=None if probability is None else round(probability, 4),
                question=question,
            )
        )

    def add_focus(self, focus: Focus) -> None:
        """Add a focus that a question was asked about and that was not chosen before the attempt."""
        self.written = (*self.written, focus)

    def records_of(self, *candidates: int) -> tuple[StepRecord, ...]:
        """Return the records of the contexts and of some candidates, in the order in which they came."""
        return tuple(r for r in self._records if r.step in _OF_ALL or r.candidate in candidates)

    def outcome(self, *drafts: Draft | None, asked: tuple[Focus, ...] = (), exhausted: bool = False) -> Outcome:
        """Return the attempt's outcome with all its rejects."""
        kept = tuple(draft for draft in drafts if draft is not None)
        return Outcome(drafts=kept, rejects=tuple(self._rejects), asked=asked or self.written, exhausted=exhausted)
