"""Check models on servers before anything is written, and explain failures.

A server given by its URL is asked for its list of models, and every model for one token. The token is needed to detect
a wrong key or name: some servers list models without a key, and some accept any name. Neither request contains user
texts.
"""

import logging
import os
import re
import socket
import ssl
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

import httpx

from groundset import privacy
from groundset.models.clients import ModelClient
from groundset.models.http_limits import BoundedTransport, LateAnswerError, UnusableAnswerError, within
from groundset.models.specs import HostedSpec, ModelSpec, OpenAISpec, ServersSpec, parse_spec
from programs.errors import UnreachableModelError, UnsuitableServerError

_KEY_VARIABLE = "GROUNDSET_API_KEY"  # the only key sent to servers given by their URL
_LIST_SECONDS = 5.0
_LIST_BYTES = 2**20
_TOKEN_SECONDS = 30.0  # the server may load the model first
_NAMED = 5
_MAX_NAME = 100  # characters of a model name in a message
_MAX_LINE = 500  # characters of a server's error in a message
_CHECKS = 16  # servers checked at once


def connection(spec: OpenAISpec | HostedSpec) -> dict[str, Any]:
    """Return the arguments of ``dspy.LM`` for a model on a server; DSPy finds the keys of hosted models itself."""
    if isinstance(spec, HostedSpec):
        return {"model": spec.model}
    if spec.is_local:
        privacy.bypass_proxies(urlsplit(spec.base_url).hostname or "")
    return {"model": f"openai/{spec.model}", "api_base": spec.base_url, "api_key": _key(spec) or "none"}


def withheld_key_message(spec: ModelSpec) -> str | None:
    """Return a notice if the key in the environment is not sent to a server, else None."""
    if not isinstance(spec, OpenAISpec) or spec.takes_key or not os.environ.get(_KEY_VARIABLE):
        return None
    return (
        f"{_KEY_VARIABLE} is not sent to {spec.host}, because a file names this address; "
        f"name it with {spec.option} to send it"
    )


def check_server(text: str) -> None:
    """Check that a model on a server answers; other models are not pulled or loaded.

    Raises:
        UnknownModelError: the text is not a model specification.
        UnreachableModelError: the model does not answer; the message gives the reason and the fix.
    """
    spec = parse_spec(text)
    if isinstance(spec, OpenAISpec | HostedSpec | ServersSpec):
        check_any(spec)


def check_any(spec: OpenAISpec | HostedSpec | ServersSpec) -> None:
    """Check that a model answers on at least one of its servers.

    Raises:
        UnknownModelError: a file of servers cannot be read.
        UnreachableModelError: no server can be used; the message gives the reasons and the fix.
    """
    if not isinstance(spec, ServersSpec):
        check_served(spec)
        return
    checked = check_all(spec.listed())
    faults = [result for result in checked.values() if isinstance(result, UnreachableModelError)]
    if len(faults) == len(checked):
        raise UnreachableModelError(joined_reasons(map(str, faults)))


Checked = Sequence[str] | None | UnreachableModelError
"""The names of the models that a server lists, None without a list, or why it cannot be used."""


def check_all(specs: Sequence[OpenAISpec | HostedSpec]) -> Mapping[OpenAISpec | HostedSpec, Checked]:
    """Check servers of one model, several at once."""

    def check(spec: OpenAISpec | HostedSpec) -> Checked:
        try:
            return check_served(spec)
        except UnreachableModelError as error:
            return error

    with ThreadPoolExecutor(_CHECKS, "check") as threads:
        return dict(zip(specs, threads.map(check, specs), strict=True))


def joined_reasons(reasons: Iterable[str]) -> str:
    """Return the reasons why no server can be used, as one line."""
    found = list(reasons)
    more = f"; and {len(found) - _NAMED} more servers" if len(found) > _NAMED else ""
    return "; ".join(found[:_NAMED]) + more


@cache
def check_served(spec: OpenAISpec | HostedSpec) -> Sequence[str] | None:
    """Check that a model answers, once per process; see :func:`check_again`."""
    return check_again(spec)


def check_again(spec: OpenAISpec | HostedSpec) -> Sequence[str] | None:
    """Check that a model answers, and return the names of the models that its server lists, None without a list.

    Raises:
        UnsuitableServerError: the server rejects the key, or does not serve the model.
        UnreachableModelError: it does not answer; the message gives the reason and the fix.
    """
    served = _list_models(spec) if isinstance(spec, OpenAISpec) else None
    _probe(spec, served)
    return served


def lists(spec: OpenAISpec | HostedSpec, checked: Checked) -> bool:
    """Return whether a server lists the model."""
    return isinstance(checked, list) and _is_served(spec, checked)


def serves_another(spec: OpenAISpec, served: Sequence[str] | None, others: Sequence[Sequence[str]]) -> str | None:
    """Return why a server that accepts a model name serves another model, None if it need not.

    Some servers accept every name, so the list of models decides: it must have the name if the list of another server
    has it, and else be the list of the others.

    Args:
        spec: the server.
        served: the models that it lists.
        others: the models that other servers of this model list.
    """
    if not served or _is_served(spec, served) or not others or list(served) in map(list, others):
        return None
    return _not_served(spec, served, is_named=True)


def is_unsuitable(error: BaseException) -> bool:
    """Return whether a server cannot serve any request, for an error of DSPy with a :func:`failure_reason`."""
    from dspy.utils import exceptions

    return isinstance(
        error,
        exceptions.LMAuthError
        | exceptions.LMBillingError
        | exceptions.LMConfigurationError
        | exceptions.LMInvalidRequestError
        | exceptions.LMUnsupportedFeatureError,
    )


def is_error(record: logging.LogRecord) -> bool:
    """Filter warnings: DSPy warns about small limits, and about every completion that reaches its limit."""
    return record.levelno >= logging.ERROR


def failure_reason(
    spec: OpenAISpec | HostedSpec, error: BaseException, served: Sequence[str] | None = None
) -> str | None:
    """Return one line with the reason for an error of DSPy, None if only this request was rejected.

    ``served`` are the models that the server lists.
    """
    from dspy.utils import exceptions

    for cause in _causes(error):
        if isinstance(cause, UnusableAnswerError):
            return f"{_server_name(spec)} {cause}"
    status = getattr(error, "status", None)
    variables = getattr(error, "env_keys", ()) or ()
    if isinstance(error, exceptions.LMNotConfiguredError):
        return f"{spec.name} needs an API key; set {' or '.join(variables) or 'it in the environment'}"
    if isinstance(error, exceptions.LMAuthError):
        return _wrong_key(spec, variables)
    if isinstance(error, exceptions.LMBillingError):
        return f"{_server_name(spec)} has no credit left for this API key"
    if isinstance(error, exceptions.LMRateLimitError):
        wait = getattr(error, "retry_after", None)
        retry = f"in {wait:.0f} seconds" if wait else "later"
        return f"{_server_name(spec)} limits the rate of requests (429); try again {retry}"
    if _timed_out(error):
        return f"{_server_name(spec)} did not answer in time; if it is still loading the model, try again later"
    if isinstance(error, exceptions.LMTransportError):
        return _connection_failure(spec, error)
    if isinstance(error, exceptions.LMInvalidRequestError):
        if isinstance(error, exceptions.LMUnsupportedModelError) or status == 404:
            return _not_served(spec, served, is_named=spec.model in error.message)
        return _unknown_provider(spec)
    if getattr(error, "feature", None) == "n":
        return f"{_server_name(spec)} sent several choices instead of one"
    if isinstance(error, exceptions.LMConfigurationError | exceptions.LMUnsupportedFeatureError):
        return f"{spec.name} cannot be used: {first_line(error)}"
    if status == 503:
        return f"{_server_name(spec)} is busy or still loading the model (503); try again later"
    if status is None or status < 400:
        return _unexpected_answer(spec)
    return f"{_server_name(spec)} failed with status {status}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error without LiteLLM's prefixes of class names."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    plain = re.sub(r"^(?:\[[^]]*\] )?(?:(?:litellm\.)?\w+(?:Error|Exception)(?:: | - ))+", "", first[:_MAX_LINE])
    return f"{plain} …" if len(first) > _MAX_LINE else plain


def _list_models(spec: OpenAISpec) -> list[str] | None:
    """Return the names of the models that a server lists, None without a list."""
    headers = {"Authorization": f"Bearer {_key(spec) or 'none'}"}
    connection(spec)  # makes local servers bypass proxies
    transport = BoundedTransport(_LIST_SECONDS, _LIST_BYTES)
    try:
        answer = within(_LIST_SECONDS, lambda: transport.get(f"{spec.base_url}/models", headers))
        body = answer.json() if answer.is_success else None
    except httpx.TimeoutException:
        raise UnreachableModelError(f"{_server_name(spec)} {LateAnswerError(_LIST_SECONDS)}") from None
    except LateAnswerError as error:
        raise UnreachableModelError(f"{_server_name(spec)} {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UnreachableModelError(_connection_failure(spec, error)) from error
    except (UnusableAnswerError, ValueError, RecursionError):  # too long, or invalid JSON
        return None
    finally:
        transport.close()
    models = body.get("data") if isinstance(body, dict) else None
    if not isinstance(models, list):
        return None
    ids = [model.get("id") for model in models if isinstance(model, dict)]
    return [name for name in ids if isinstance(name, str)]


def _probe(spec: OpenAISpec | HostedSpec, served: Sequence[str] | None) -> None:
    """Request one token; a rate limit is not a failure.

    Raises:
        UnreachableModelError: the model does not answer.
    """
    import dspy
    from dspy.lm15 import Config, Message, Request
    from dspy.utils import exceptions

    log, quiet = logging.getLogger("dspy.clients.lm"), partial(is_error)  # a separate object, for removeFilter
    log.addFilter(quiet)
    client = ModelClient(spec, connection(spec), _TOKEN_SECONDS)
    try:
        with dspy.context(disable_history=True):
            client.ask(Request(model=client.model, messages=(Message.user("Hi"),), config=Config(max_tokens=1)))
    except exceptions.LMRateLimitError:
        return
    except (exceptions.LMError, UnusableAnswerError) as error:
        if _timed_out(error):
            late = LateAnswerError(_TOKEN_SECONDS)
            reason: str | None = f"{_server_name(spec)} {late}; if the model takes longer to load, load it first"
        elif isinstance(error, exceptions.LMInvalidRequestError) and served and not _is_served(spec, served):
            reason = _not_served(spec, served, is_named=True)
        else:
            reason = failure_reason(spec, error, served)
        if reason is None:  # only this request was rejected
            return
        raise (UnsuitableServerError if is_unsuitable(error) else UnreachableModelError)(reason) from error
    finally:
        log.removeFilter(quiet)
        client.close()


def _is_served(spec: OpenAISpec | HostedSpec, served: Sequence[str]) -> bool:
    return spec.model in served or f"{spec.model}:latest" in served


def _key(spec: OpenAISpec) -> str | None:
    """Return the key to send to a server, None without one.

    Raises:
        UnreachableModelError: the key is invalid in a header.
    """
    key = os.environ.get(_KEY_VARIABLE, "").strip() if spec.takes_key else ""
    if not key.isascii() or not key.isprintable():
        raise UnreachableModelError(f"{_KEY_VARIABLE} contains non-ASCII or control characters; set it again")
    return key or None


def _server_name(spec: OpenAISpec | HostedSpec) -> str:
    return f"the model server at {spec.base_url}" if isinstance(spec, OpenAISpec) else spec.name


def _unexpected_answer(spec: OpenAISpec | HostedSpec) -> str:
    return f"{_server_name(spec)} does not answer like a model server; check the address"


def _connection_failure(spec: OpenAISpec | HostedSpec, error: BaseException) -> str:
    where = f"at {spec.base_url}" if isinstance(spec, OpenAISpec) else f"for {spec.name}"
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"no model server {where}: unknown host; check the address"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return f"no secure connection to the model server {where}; check its certificate, or use http"
    if any(isinstance(cause, httpx.ReadError) for cause in causes):
        return f"the model server {where} closed the connection before it had answered"
    if any(isinstance(cause, httpx.RemoteProtocolError) for cause in causes):
        return f"the model server {where} closed the connection before it had answered, or it is not HTTP"
    return f"no model server answers {where}; check that it is running, and the address"


def _timed_out(error: BaseException) -> bool:
    from dspy.utils.exceptions import LMTimeoutError

    late = (TimeoutError, LateAnswerError)
    return isinstance(error, LMTimeoutError) or any(isinstance(cause, late) for cause in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _wrong_key(spec: OpenAISpec | HostedSpec, variables: Sequence[str]) -> str:
    if isinstance(spec, OpenAISpec) and not _key(spec):
        return withheld_key_message(spec) or f"{_server_name(spec)} needs an API key; set {_KEY_VARIABLE}"
    names = (_KEY_VARIABLE,) if isinstance(spec, OpenAISpec) else variables
    return f"{_server_name(spec)} rejects the API key in {' or '.join(names) or 'the environment'}"


def _not_served(spec: OpenAISpec | HostedSpec, served: Sequence[str] | None, *, is_named: bool) -> str:
    if isinstance(spec, HostedSpec):
        return f"{spec.name}: the provider has no such model"
    if served and not _is_served(spec, served):
        names = [name[:_MAX_NAME] for name in served[:_NAMED]]
        more = f" and {len(served) - _NAMED} more" if len(served) > _NAMED else ""
        return f"{_server_name(spec)} does not serve {spec.model!r}; it serves {', '.join(names)}{more}"
    if is_named or served is not None:
        return f"{_server_name(spec)} does not serve {spec.model!r}"
    return f"{_server_name(spec)} has no chat completions at this address; most base URLs end in /v1"


def _unknown_provider(spec: OpenAISpec | HostedSpec) -> str | None:
    """Return a message if the provider is unknown, else None."""
    providers = getattr(sys.modules.get("litellm"), "provider_list", None)
    if isinstance(spec, OpenAISpec) or providers is None:
        return None
    provider = spec.model.split("/")[0]
    known = {str(getattr(name, "value", name)) for name in providers}
    return None if provider in known else f"{spec.name}: unknown provider {provider!r}"
