"""A client for a model on a server: one request, one answer, within limits on time and size."""

import math
from typing import TYPE_CHECKING, Any

from groundset.models.http_limits import ANSWER_SECONDS, BoundedTransport, UnusableAnswerError, within
from groundset.models.specs import HostedSpec, OpenAISpec

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

_MOST_TOKENS = 10**9  # no model reads or writes as many in one call, and sums of more could not be stored
_ROUNDING = 1e-3  # how far above that of 1 servers round a logarithm


class ModelClient:
    """Asks one model; nothing is asked twice.

    Attributes:
        model: what requests must name it.
    """

    def __init__(
        self, spec: OpenAISpec | HostedSpec, settings: dict[str, Any], seconds: float = ANSWER_SECONDS
    ) -> None:
        """Open no connection yet.

        Args:
            spec: names the model.
            settings: of ``dspy.LM``: where it is, and with which key.
            seconds: what an answer may take.
        """
        self._seconds = seconds
        self._transport = BoundedTransport(seconds)
        self._lm = _client(spec, settings, self._transport, seconds)
        self.model: str = self._lm.model

    def ask(self, request: "Request", seconds: float | None = None) -> "Response":
        """Answer one request, in fewer ``seconds`` if that is given.

        Raises:
            LMError: the server gave no answer.
            UnusableAnswerError: it took too long, or was longer or other than any answer can be; also as the cause of
                an ``LMError``.
        """
        response: Response = within(self._seconds if seconds is None else seconds, lambda: self._lm(request))
        _check(response)
        return response

    def close(self) -> None:
        """Close the connections."""
        self._lm.close()
        self._transport.close()


def _client(
    spec: OpenAISpec | HostedSpec, settings: dict[str, Any], transport: BoundedTransport, seconds: float
) -> Any:
    """Return DSPy's client; all that DSPy asks without LiteLLM goes by our transport."""
    import dspy
    from dspy.clients.backend_selection import select_backend
    from dspy.clients.engines import LM15Engine
    from dspy.lm15 import RouterConfig

    # What the environment says of other servers does not concern one that is named.
    engine = "lm15" if isinstance(spec, OpenAISpec) else "auto"
    once: dict[str, Any] = {"cache": False, "num_retries": 0}
    lm = dspy.LM(engine=engine, timeout=seconds, **once, **settings)
    chosen = select_backend(lm)
    if not chosen.native:
        return lm
    provider, given = chosen.resolution.provider, chosen.clients
    config = RouterConfig(
        api_keys={provider: given["api_key"]} if "api_key" in given else None,
        base_urls={provider: given["api_base"]} if "api_base" in given else None,
        transport=transport,
    )
    return dspy.LM(lm.model, engine=LM15Engine(config), **once)


def _check(response: "Response") -> None:
    """Refuse impossible numbers in an answer.

    Raises:
        UnusableAnswerError: a count of tokens or a log-probability is none.
    """
    usage = response.usage
    for count in (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens):
        if count is not None and not 0 <= count <= _MOST_TOKENS:
            raise UnusableAnswerError("reports a count of tokens that cannot be")
    for token in response.logprobs or ():
        for candidate in (token, *token.top):
            if math.isnan(candidate.logprob) or candidate.logprob > _ROUNDING:
                raise UnusableAnswerError(f"reports a log-probability that cannot be ({candidate.logprob:g})")
