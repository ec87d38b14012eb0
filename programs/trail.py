"""The trail of one attempt: the records and rejects of its steps."""

from typing import Any, Literal

from programs.types import Attempt, Context, Draft, Focus, Observer, Outcome, Reject, StepRecord

NOTHING_TO_ASK = "no further sentence can carry a question"  # the chunk is used up; it is not a bad chunk
# Their records concern the contexts, not one candidate.
_CONTEXT_STEPS = frozenset({"chunk", "keyphrases", "clues", "relevance", "distil", "profiles"})


class Trail:
    """The records and rejects of an attempt; each record is passed on to the observer.

    Attributes:
        attempt: the attempt.
        contexts: its contexts.
        language: ISO 639-1 code of the first context.
        new_foci: foci that were found during the attempt and asked about.
    """

    def __init__(self, attempt: Attempt, observer: Observer) -> None:
        self.attempt = attempt
        self.contexts: tuple[Context, ...] = attempt.contexts
        self.language = attempt.contexts[0].language
        self.new_foci: tuple[Focus, ...] = ()
        self._observer = observer
        self._records: list[StepRecord] = []
        self._rejects: list[Reject] = []

    @property
    def earlier_questions(self) -> list[str]:
        """Return the questions that earlier attempts asked about these contexts, where a model chose them."""
        return [focus.wording for focus in self.attempt.used_foci if focus.wording]

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
        """Record the output of a step for a candidate."""
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
        """Add a record that may come from before the attempt."""
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
        """Record a reject: a candidate or context that a step refused. The context defaults to the first one."""
        self._rejects.append(
            Reject(
                step=step,
                reason=reason,
                chunk_id=(context or self.contexts[0]).chunk.chunk_id,
                probability=None if probability is None else round(probability, 4),
                question=question,
            )
        )

    def check(
        self,
        step: str,
        candidate: int,
        output: dict[str, Any],
        reason: str | None,
        *,
        probability: float | None = None,
        question: str | None = None,
    ) -> bool:
        """Record a check of a candidate, with a reject if there is a reason to refuse it; return whether it passes."""
        self.record(step, candidate, output, probability=probability, good=reason is None, reason=reason)
        if reason is not None:
            self.refuse(step, reason, probability=probability, question=question)
        return reason is None

    def add_focus(self, focus: Focus) -> None:
        """Add a focus that was found during the attempt and asked about."""
        self.new_foci = (*self.new_foci, focus)

    def records_of(self, *candidates: int) -> tuple[StepRecord, ...]:
        """Return the records of the contexts and of some candidates, in order."""
        return tuple(r for r in self._records if r.step in _CONTEXT_STEPS or r.candidate in candidates)

    def outcome(self, *drafts: Draft | None, used_foci: tuple[Focus, ...] = (), exhausted: bool = False) -> Outcome:
        """Return the attempt's outcome with all its rejects."""
        kept = tuple(draft for draft in drafts if draft is not None)
        used_foci = used_foci or self.new_foci
        return Outcome(drafts=kept, rejects=tuple(self._rejects), used_foci=used_foci, exhausted=exhausted)
