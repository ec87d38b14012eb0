"""Whether a model on a server can be used, found out before anything is written.

A server of the user's own is asked which models it lists. One that does not list the model that is named, or lists
none, is asked for one token: some answer to any name. A hosted model is asked for one token at once, which is the
cheapest thing that tells a wrong key and a wrong name.
"""

import logging
import os
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import httpx

from groundset.models.specs import HostedSpec, LocalSpec, OpenAISpec, parse_spec
from programs.errors import UnreachableModelError

# A server of the user's own choice never gets the key that is meant for another one.
_KEY_VARIABLE = "GROUNDSET_API_KEY"
_LIST_SECONDS = 10.0
_TOKEN_SECONDS = 60.0  # the server may load the model first
_NAMED = 5


def connection(spec: OpenAISpec | HostedSpec) -> dict[str, Any]:
    """Return what ``dspy.LM`` is made with for a model on a server; keys of hosted ones it finds by itself."""
    if isinstance(spec, HostedSpec):
        return {"model": spec.model}
    return {"model": f"openai/{spec.model}", "api_base": spec.base_url, "api_key": _key() or "none"}


def check_server(text: str) -> None:
    """Ask the server of a model whether it answers, where ``text`` names one on a server; pull and load nothing.

    Raises:
        UnknownModelError: the text names nothing.
        UnreachableModelError: it does not answer; the message says why and what to do.
    """
    spec = parse_spec(text)
    if not isinstance(spec, LocalSpec):
        check_served(spec)


@cache
def check_served(spec: OpenAISpec | HostedSpec) -> None:
    """Ask whether a model answers; what was found to answer is not asked again by this process.

    Raises:
        UnreachableModelError: it does not; the message says why and what to do.
    """
    served = _listed(spec) if isinstance(spec, OpenAISpec) else None
    if isinstance(spec, OpenAISpec) and {spec.model, f"{spec.model}:latest"} & set(served or ()):
        return
    why = _without_a_token(spec, served)
    if why:
        raise UnreachableModelError(why)


def _listed(spec: OpenAISpec) -> list[str] | None:
    """Return the names of the models that a server lists, None if it lists none in the way of OpenAI."""
    headers = {"Authorization": f"Bearer {_key() or 'none'}"}
    try:
        with httpx.Client(timeout=_LIST_SECONDS, follow_redirects=True) as client:
            answer = client.get(f"{spec.base_url}/models", headers=headers)
        listed = answer.json() if answer.is_success else None
    except httpx.TimeoutException:
        raise UnreachableModelError(_silence(spec, _LIST_SECONDS)) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UnreachableModelError(_no_way(spec, error)) from error
    except ValueError:  # what was sent is no JSON
        return None
    models = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(models, list):
        return None
    return [str(model["id"]) for model in models if isinstance(model, dict) and "id" in model]


def _without_a_token(spec: OpenAISpec | HostedSpec, served: Sequence[str] | None) -> str | None:
    """Ask a model for one token, and return why none came; None if one came, or could have come another time."""
    import dspy
    from dspy.lm15 import Config, Message, Request
    from dspy.utils import exceptions

    # DSPy would warn that a token is not much.
    logging.getLogger("dspy.clients.lm").setLevel(logging.ERROR)
    lm = dspy.LM(cache=False, num_retries=0, timeout=_TOKEN_SECONDS, **connection(spec))
    try:
        with dspy.context(disable_history=True):
            lm(Request(model=lm.model, messages=(Message.user("Hi"),), config=Config(max_tokens=1)))
    except exceptions.LMNotConfiguredError as error:
        return (
            f"{spec.name} wants a key: put it into {' or '.join(getattr(error, 'env_keys', ())) or 'the environment'}."
        )
    except exceptions.LMAuthError as error:
        return _wrong_key(spec, getattr(error, "env_keys", ()))
    except exceptions.LMBillingError:
        return f"{_place(spec)} wants to be paid: there is no credit left for this key."
    except exceptions.LMRateLimitError:
        return None
    except exceptions.LMTimeoutError:
        return _silence(spec, _TOKEN_SECONDS)
    except exceptions.LMTransportError as error:
        return _no_way(spec, error)
    except exceptions.LMInvalidRequestError as error:
        if isinstance(error, exceptions.LMUnsupportedModelError) or error.status == 404 or served:
            return _not_served(spec, served, told=spec.model in error.message)
        return _unknown_provider(spec)  # else the model is there, and wants another kind of request
    except exceptions.LMError as error:
        status = getattr(error, "status", None)
        if status == 503:
            return f"{_place(spec)} is busy or still loads its model (503): try again."
        return f"{_place(spec)} failed{f' with status {status}' if status else ''} when it was asked for one token."
    finally:
        lm.close()
    return None


def _key() -> str | None:
    return os.environ.get(_KEY_VARIABLE)


def _place(spec: OpenAISpec | HostedSpec) -> str:
    return f"The model server at {spec.base_url}" if isinstance(spec, OpenAISpec) else spec.name


def _silence(spec: OpenAISpec | HostedSpec, seconds: float) -> str:
    return f"{_place(spec)} did not answer within {seconds:g} seconds."


def _no_way(spec: OpenAISpec | HostedSpec, error: BaseException) -> str:
    """Return why no answer came at all."""
    where = f"at {spec.base_url}" if isinstance(spec, OpenAISpec) else f"for {spec.name}"
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"No model server {where}: its host is unknown here."
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return (
            f"No secure connection to the model server {where}: its certificate is not trusted, or it speaks http only."
        )
    if any(isinstance(cause, httpx.RemoteProtocolError) for cause in causes):
        return f"What answers {where} is no model server: it does not speak HTTP."
    return f"No model server answers {where}: is it running, and is the address right?"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _wrong_key(spec: OpenAISpec | HostedSpec, variables: Sequence[str]) -> str:
    if isinstance(spec, OpenAISpec) and not _key():
        return f"{_place(spec)} wants a key: put it into {_KEY_VARIABLE}."
    names = (_KEY_VARIABLE,) if isinstance(spec, OpenAISpec) else variables
    return f"{_place(spec)} refuses the key in {' or '.join(names) or 'the environment'}."


def _not_served(spec: OpenAISpec | HostedSpec, served: Sequence[str] | None, *, told: bool) -> str:
    if isinstance(spec, HostedSpec):
        return f"{spec.name}: the provider has no such model."
    if served:
        more = f" and {len(served) - _NAMED} more" if len(served) > _NAMED else ""
        return f"{_place(spec)} does not serve {spec.model!r}; it serves {', '.join(served[:_NAMED])}{more}."
    if told or served is not None:
        return f"{_place(spec)} does not serve {spec.model!r}."
    return f"{_place(spec)} offers no chat completions there: a base URL mostly ends in /v1."


def _unknown_provider(spec: OpenAISpec | HostedSpec) -> str | None:
    """Return that nobody is called so, if DSPy asked LiteLLM in vain."""
    providers = getattr(sys.modules.get("litellm"), "provider_list", None)
    if isinstance(spec, OpenAISpec) or providers is None:
        return None
    provider = spec.model.split("/")[0]
    known = {str(getattr(name, "value", name)) for name in providers}
    return None if provider in known else f"{spec.name}: no provider is called {provider!r}."
