"""A client for models on servers, with limits on the time and size of answers."""

import math
from typing import TYPE_CHECKING, Any

from groundset.models.http_limits import ANSWER_SECONDS, BoundedTransport, UnusableAnswerError, within
from groundset.models.specs import HostedSpec, OpenAISpec

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

_MAX_TOKENS = 10**9  # per call; sums of larger counts could not be stored
_ROUNDING = 1e-3  # servers may round log-probabilities to slightly above 0


class ModelClient:
    """Send requests to one model, without retries.

    Attributes:
        model: the model name for requests.
    """

    def __init__(
        self, spec: OpenAISpec | HostedSpec, settings: dict[str, Any], seconds: float = ANSWER_SECONDS
    ) -> None:
        """Create a client; no connection is opened yet.

        Args:
            spec: the model.
            settings: arguments of ``dspy.LM``, such as the address and the key.
            seconds: time limit of an answer.
        """
        self._seconds = seconds
        self._transport = BoundedTransport(seconds)
        self._lm = _client(spec, settings, self._transport, seconds)
        self.model: str = self._lm.model

    def ask(self, request: "Request") -> "Response":
        """Send one request, with the time limit also for servers that send single bytes; otherwise as ``send``."""
        return within(self._seconds, lambda: self.send(request))

    def send(self, request: "Request") -> "Response":
        """Send one request.

        Raises:
            LMError: the server gave no answer.
            UnusableAnswerError: the answer is late, too long or invalid; also as the cause of an ``LMError``.
        """
        response: Response = self._lm(request)
        _check(response)
        return response

    def close(self) -> None:
        """Close the connections."""
        self._lm.close()
        self._transport.close()


def _client(
    spec: OpenAISpec | HostedSpec, settings: dict[str, Any], transport: BoundedTransport, seconds: float
) -> Any:
    """Return DSPy's client, which uses our transport except with LiteLLM."""
    import dspy
    from dspy.clients.backend_selection import select_backend
    from dspy.clients.engines import LM15Engine
    from dspy.lm15 import RouterConfig

    # "lm15" ignores environment variables with other servers.
    engine = "lm15" if isinstance(spec, OpenAISpec) else "auto"
    once: dict[str, Any] = {"cache": False, "num_retries": 0}
    lm = dspy.LM(engine=engine, timeout=seconds, **once, **settings)
    chosen = select_backend(lm)
    if not chosen.native:
        return lm
    provider, clients = chosen.resolution.provider, chosen.clients
    config = RouterConfig(
        api_keys={provider: clients["api_key"]} if "api_key" in clients else None,
        base_urls={provider: clients["api_base"]} if "api_base" in clients else None,
        transport=transport,
    )
    return dspy.LM(lm.model, engine=LM15Engine(config), **once)


def _check(response: "Response") -> None:
    """Raise an ``UnusableAnswerError`` for no completion, or an impossible token count or log-probability."""
    usage = response.usage
    # DSPy accepts any JSON as an empty answer; a reasoning model may not have written text yet.
    if not (response.message.text or usage.output_tokens or any(response.provider_data.get("choices") or ())):
        raise UnusableAnswerError("does not answer like a model server; check the address")
    for count in (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens):
        if count is not None and not 0 <= count <= _MAX_TOKENS:
            raise UnusableAnswerError("reports an impossible token count")
    for token in response.logprobs or ():
        for candidate in (token, *token.top):
            if math.isnan(candidate.logprob) or candidate.logprob > _ROUNDING:
                raise UnusableAnswerError(f"reports an impossible log-probability ({candidate.logprob:g})")
