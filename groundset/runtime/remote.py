"""The engine of a model on a server: it waits, and asks again, within limits, and says so."""

import dataclasses
import time
from collections.abc import Callable

import dspy
from dspy.lm15 import Request, Response
from dspy.utils.exceptions import LMError, is_retryable_lm_error

from groundset.models.answers import ANSWER_SECONDS, UnusableAnswerError
from groundset.models.clients import ModelClient
from groundset.models.servers import connection, why_failed
from groundset.models.specs import HostedSpec, OpenAISpec
from groundset.runtime.control_tokens import ControlTokens
from programs.errors import ModelError

_TRIES = 3
_LONGEST_WAIT = 120.0  # seconds: limits per minute end within it; for those per day a run is better taken up again
_SAID_FROM = 5.0  # seconds: a shorter pause needs no word


class RemoteEngine:
    """Pass requests on to a server, so that a journal can stand before any model."""

    def __init__(self, spec: OpenAISpec | HostedSpec, tell: Callable[[str], object]) -> None:
        """Open no connection yet; ``tell`` is told of pauses that a server asks for."""
        self._spec = spec
        self._tell = tell
        self._client = ModelClient(spec, connection(spec))
        self._control_tokens = ControlTokens()

    def complete(self, request: Request) -> Response:
        """Answer one request; no text in it is read as one of the common control tokens.

        Raises:
            ModelError: the server gave no answer that can be used, after some tries or some minutes.
        """
        try:
            return self._control_tokens.guard(dataclasses.replace(request, model=self._client.model), self._ask)
        except (LMError, UnusableAnswerError) as error:
            why = why_failed(self._spec, error)
            if why is None:
                raise
            raise ModelError(why) from error

    def _ask(self, request: Request) -> Response:
        """Ask until there is an answer, at most three times, and no longer than one answer may take."""
        given_up = time.monotonic() + ANSWER_SECONDS
        tried = 0
        while True:
            tried += 1
            try:
                with dspy.context(disable_history=True):  # the journal keeps what is needed
                    return self._client.ask(request, given_up - time.monotonic())
            except LMError as error:
                requested = getattr(error, "retry_after", None)
                pause = 2.0 ** (tried - 1) if requested is None else requested
                is_over = tried == _TRIES or pause > min(_LONGEST_WAIT, given_up - time.monotonic())
                if is_over or not is_retryable_lm_error(error):
                    raise
            if pause >= _SAID_FROM:
                self._tell(f"Waiting {pause:.0f} seconds, as {self._client.model} asks for.")
            time.sleep(pause)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
