"""What an exception inside an attempt means for the run."""

from dspy.utils.exceptions import (
    ContextWindowExceededError,
    LMError,
    LMInvalidRequestError,
    LMUnsupportedModelError,
)

from groundset.models.servers import plain_words
from programs.errors import EngineError, GroundsetError
from programs.types import Attempt, Outcome, Reject

FAILURES_IN_A_ROW = 5


def outcome_of(error: BaseException, attempt: Attempt) -> Outcome | None:
    """Return the outcome of an attempt that a chunk longer than the model's context ended, else None."""
    if not isinstance(error, ContextWindowExceededError):
        return None
    reason = f"longer than the language model's context: {plain_words(error)}"
    return Outcome(
        rejects=(Reject(step="chunk", reason=reason, chunk_id=attempt.contexts[0].chunk.chunk_id),), exhausted=True
    )


def fatal_error(error: BaseException) -> GroundsetError | None:
    """Return the error that stops the run because no other attempt could fare better, else None.

    That is: our own errors, which DSPy wraps when they come from below it (a full disk, say); and everything
    that DSPy reports of the way to the model, after its own retries. A refused request is no such thing.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, GroundsetError):
            return cause
        cause = cause.__cause__
    one_request = isinstance(error, LMInvalidRequestError) and not isinstance(error, LMUnsupportedModelError)
    if isinstance(error, LMError) and not one_request:
        kind = type(error).__name__.removeprefix("LM").removesuffix("Error")
        return EngineError(f"the language model failed ({kind}): {plain_words(error)}")
    return None


def failure_of(error: BaseException, attempt: Attempt) -> Outcome:
    """Return the outcome of an attempt that failed unexpectedly."""
    reason = f"{type(error).__name__}: {plain_words(error)}"
    reject = Reject(step="failure", reason=reason, chunk_id=_chunk_id(attempt))
    return Outcome(rejects=(reject,))


def endless_failures(error: BaseException) -> GroundsetError:
    """Return the error that stops a run whose attempts keep failing in the same way."""
    return GroundsetError(
        f"{FAILURES_IN_A_ROW} attempts in a row failed with {type(error).__name__}: {plain_words(error)}"
    )


def _chunk_id(attempt: Attempt) -> str:
    return attempt.contexts[0].chunk.chunk_id
