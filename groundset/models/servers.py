"""Checks of models on servers, before anything is written, and explanations of failures.

A server of the user's own is asked which models it lists, and every model for one token: that is the cheapest thing
that tells a wrong key and a wrong name, because some servers list their models to anybody, and some answer to any name.
Neither request holds a text of the user's.
"""

import logging
import os
import re
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from groundset import privacy
from groundset.models.clients import ModelClient
from groundset.models.http_limits import BoundedTransport, LateAnswerError, UnusableAnswerError, within
from groundset.models.specs import HostedSpec, ModelSpec, OpenAISpec, parse_spec
from programs.errors import UnreachableModelError

# A server of the user's own choice never gets the key that is meant for another one.
_KEY_VARIABLE = "GROUNDSET_API_KEY"
_LIST_SECONDS = 5.0
_LIST_BYTES = 2**20
_TOKEN_SECONDS = 30.0  # the server may load the model first
_NAMED = 5
_LONGEST_NAME = 100  # of a model, in a message
_LONGEST_LINE = 500  # of what a server says, which may be megabytes


def connection(spec: OpenAISpec | HostedSpec) -> dict[str, Any]:
    """Return the arguments of ``dspy.LM`` for a model on a server; it finds keys of hosted ones by itself."""
    if isinstance(spec, HostedSpec):
        return {"model": spec.model}
    if spec.is_here:
        privacy.bypass_proxies(urlsplit(spec.base_url).hostname or "")
    return {"model": f"openai/{spec.model}", "api_base": spec.base_url, "api_key": _key(spec) or "none"}


def withheld(spec: ModelSpec) -> str | None:
    """Return a notice that the key in the environment is not sent to a server, None if it does not apply."""
    if not isinstance(spec, OpenAISpec) or spec.takes_key or not os.environ.get(_KEY_VARIABLE):
        return None
    return (
        f"{_KEY_VARIABLE} is not sent to {spec.host}: a file names that address. "
        f"Name the model with {spec.option} to send it."
    )


def check_server(text: str) -> None:
    """Check that the server of a model answers, if ``text`` names one; nothing is pulled or loaded.

    Raises:
        UnknownModelError: the text names nothing.
        UnreachableModelError: it does not answer; the message says why and what to do.
    """
    spec = parse_spec(text)
    if isinstance(spec, OpenAISpec | HostedSpec):
        check_served(spec)


@cache
def check_served(spec: OpenAISpec | HostedSpec) -> None:
    """Check that a model answers; each is asked once per process.

    Raises:
        UnreachableModelError: it does not; the message says why and what to do.
    """
    served = _listed(spec) if isinstance(spec, OpenAISpec) else None
    why = _without_a_token(spec, served)
    if why:
        raise UnreachableModelError(why)


def why_failed(spec: OpenAISpec | HostedSpec, error: BaseException, served: Sequence[str] | None = None) -> str | None:
    """Return in one line why a model on a server gave no answer, None if it refused but this one request.

    ``error`` is what DSPy raised, ``served`` are the models that the server lists.
    """
    from dspy.utils import exceptions

    for cause in _causes(error):
        if isinstance(cause, UnusableAnswerError):
            return f"{_place(spec)} {cause}"
    status = getattr(error, "status", None)
    variables = getattr(error, "env_keys", ()) or ()
    if isinstance(error, exceptions.LMNotConfiguredError):
        return f"{spec.name} wants a key: put it into {' or '.join(variables) or 'the environment'}"
    if isinstance(error, exceptions.LMAuthError):
        return _wrong_key(spec, variables)
    if isinstance(error, exceptions.LMBillingError):
        return f"{_place(spec)} wants to be paid: there is no credit left for this key"
    if isinstance(error, exceptions.LMRateLimitError):
        wait = getattr(error, "retry_after", None)
        pause = f"; it asks to wait {wait:.0f} seconds" if wait else ""
        return f"{_place(spec)} takes no more calls for now (429){pause}: try again later"
    if _timed_out(error):
        return f"{_place(spec)} did not answer in time; if it still loads its model, try again when it has"
    if isinstance(error, exceptions.LMTransportError):
        return _no_way(spec, error)
    if isinstance(error, exceptions.LMInvalidRequestError):
        if isinstance(error, exceptions.LMUnsupportedModelError) or status == 404:
            return _not_served(spec, served, is_named=spec.model in error.message)
        return _unknown_provider(spec)
    if getattr(error, "feature", None) == "n":  # nobody asks for several
        return f"{_place(spec)} sent several choices where one was asked for"
    if isinstance(error, exceptions.LMConfigurationError | exceptions.LMUnsupportedFeatureError):
        return f"{spec.name} cannot be asked: {plain_words(error)}"
    if status == 503:
        return f"{_place(spec)} is busy or still loads its model (503): try again"
    if status is None or status < 400:
        return _no_model_server(spec)
    return f"{_place(spec)} failed with status {status}"


def plain_words(error: BaseException) -> str:
    """Return the first line of an error without the names of classes that LiteLLM puts before it."""
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    plain = re.sub(r"^(?:\[[^]]*\] )?(?:(?:litellm\.)?\w+(?:Error|Exception)(?:: | - ))+", "", first[:_LONGEST_LINE])
    return f"{plain} …" if len(first) > _LONGEST_LINE else plain


def _listed(spec: OpenAISpec) -> list[str] | None:
    """Return the names of the models that a server lists, None if it has no such list."""
    headers = {"Authorization": f"Bearer {_key(spec) or 'none'}"}
    connection(spec)  # a server on this machine is not looked for behind a proxy
    transport = BoundedTransport(_LIST_SECONDS, _LIST_BYTES)
    try:
        answer = within(_LIST_SECONDS, lambda: transport.get(f"{spec.base_url}/models", headers))
        listed = answer.json() if answer.is_success else None
    except httpx.TimeoutException:
        raise UnreachableModelError(_silence(spec, _LIST_SECONDS)) from None
    except LateAnswerError as error:
        raise UnreachableModelError(f"{_place(spec)} {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UnreachableModelError(_no_way(spec, error)) from error
    except (UnusableAnswerError, ValueError, RecursionError):  # too much, or no JSON
        return None
    finally:
        transport.close()
    models = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(models, list):
        return None
    ids = [model.get("id") for model in models if isinstance(model, dict)]
    return [name for name in ids if isinstance(name, str)]


def _without_a_token(spec: OpenAISpec | HostedSpec, served: Sequence[str] | None) -> str | None:
    """Ask a model for one token, and return why none came; None if one came, or could have come another time."""
    import dspy
    from dspy.lm15 import Config, Message, Request
    from dspy.utils import exceptions

    log = logging.getLogger("dspy.clients.lm")
    level = log.level
    log.setLevel(logging.ERROR)  # DSPy would warn that a token is not much
    client = ModelClient(spec, connection(spec), _TOKEN_SECONDS)
    try:
        with dspy.context(disable_history=True):
            answer = client.ask(
                Request(model=client.model, messages=(Message.user("Hi"),), config=Config(max_tokens=1))
            )
    except exceptions.LMRateLimitError:
        return None
    except (exceptions.LMError, UnusableAnswerError) as error:
        if _timed_out(error):
            late = "a model that takes longer to load must be loaded before"
            return f"{_silence(spec, _TOKEN_SECONDS)}; {late}"
        if isinstance(error, exceptions.LMInvalidRequestError) and served and not _lists(served, spec):
            return _not_served(
                spec, served, is_named=True
            )  # else the model is there, and wants another kind of request
        return why_failed(spec, error, served)
    finally:
        log.setLevel(level)
        client.close()
    # DSPy makes an empty answer of whatever is JSON; a thinking model may have said nothing yet.
    has_answer = answer.message.text or answer.usage.output_tokens or any(answer.provider_data.get("choices") or ())
    return None if has_answer else _no_model_server(spec)


def _lists(served: Sequence[str], spec: OpenAISpec | HostedSpec) -> bool:
    return spec.model in served or f"{spec.model}:latest" in served


def _key(spec: OpenAISpec) -> str | None:
    """Return the key for a server, None if it gets none.

    Raises:
        UnreachableModelError: no header can hold it.
    """
    key = os.environ.get(_KEY_VARIABLE, "").strip() if spec.takes_key else ""
    if not key.isascii() or not key.isprintable():
        raise UnreachableModelError(f"the key in {_KEY_VARIABLE} holds characters that none has; set it anew")
    return key or None


def _place(spec: OpenAISpec | HostedSpec) -> str:
    return f"the model server at {spec.base_url}" if isinstance(spec, OpenAISpec) else spec.name


def _no_model_server(spec: OpenAISpec | HostedSpec) -> str:
    return f"{_place(spec)} answers, but not as a model server does: is the address right?"


def _silence(spec: OpenAISpec | HostedSpec, seconds: float) -> str:
    return f"{_place(spec)} did not answer within {seconds:g} seconds"


def _no_way(spec: OpenAISpec | HostedSpec, error: BaseException) -> str:
    """Return the reason for a missing answer."""
    where = f"at {spec.base_url}" if isinstance(spec, OpenAISpec) else f"for {spec.name}"
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"no model server {where}: its host is unknown here"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return (
            f"no secure connection to the model server {where}: its certificate is not trusted, or it speaks http only"
        )
    if any(isinstance(cause, httpx.RemoteProtocolError) for cause in causes):
        return f"what answers {where} is no model server: it does not speak HTTP"
    return f"no model server answers {where}: is it running, and is the address right?"


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
        return withheld(spec) or f"{_place(spec)} wants a key: put it into {_KEY_VARIABLE}"
    names = (_KEY_VARIABLE,) if isinstance(spec, OpenAISpec) else variables
    return f"{_place(spec)} refuses the key in {' or '.join(names) or 'the environment'}"


def _not_served(spec: OpenAISpec | HostedSpec, served: Sequence[str] | None, *, is_named: bool) -> str:
    if isinstance(spec, HostedSpec):
        return f"{spec.name}: the provider has no such model"
    if served and not _lists(served, spec):
        names = [name[:_LONGEST_NAME] for name in served[:_NAMED]]
        more = f" and {len(served) - _NAMED} more" if len(served) > _NAMED else ""
        return f"{_place(spec)} does not serve {spec.model!r}; it serves {', '.join(names)}{more}"
    if is_named or served is not None:
        return f"{_place(spec)} does not serve {spec.model!r}"
    return f"{_place(spec)} offers no chat completions there: a base URL mostly ends in /v1"


def _unknown_provider(spec: OpenAISpec | HostedSpec) -> str | None:
    """Return a message on an unknown provider, None if the error is another one."""
    providers = getattr(sys.modules.get("litellm"), "provider_list", None)
    if isinstance(spec, OpenAISpec) or providers is None:
        return None
    provider = spec.model.split("/")[0]
    known = {str(getattr(name, "value", name)) for name in providers}
    return None if provider in known else f"{spec.name}: no provider is called {provider!r}"
