"""The Hugging Face Hub's own client, kept within limits: it waits for nothing long, reads nothing endless, is silent.

Whatever is changed of it is as before when a block ends, because the same process may use it for something else.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from groundset import privacy
from groundset.models.answers import bounding
from groundset.privacy import without_secrets
from programs.errors import HubError

_CONNECT = 10.0  # seconds


class HubAddress(NamedTuple):
    """Where the Hub is: as the environment says it, and its host, with its port if one is named."""

    endpoint: str
    host: str


def hub_address() -> HubAddress:
    """Return where the Hub is.

    Raises:
        HubError: ``HF_ENDPOINT`` holds no address.
    """
    from huggingface_hub import constants

    endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    shown = without_secrets(endpoint)
    try:
        parts = urlsplit(shown)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return HubAddress(endpoint, parts.netloc)
    except ValueError:  # a bracket that is not closed, a port that is no number
        pass
    raise HubError(f"HF_ENDPOINT {shown} is no address of a Hub: https://huggingface.co is one")


def hub_token() -> str | None:
    """Return the user's token for the Hub, None if there is none.

    Raises:
        HubError: it holds characters that no token has.
    """
    from huggingface_hub import get_token

    token: str | None = get_token()
    if token and not (token.isascii() and token.isprintable()):
        raise HubError("the token for the Hub holds characters that none has; set HF_TOKEN anew")
    return token or None


@contextmanager
def online() -> Iterator[None]:
    """Let the Hub's client ask the Hub, if nobody but groundset itself has switched that off."""
    from huggingface_hub import constants

    offline = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = offline and not privacy.took_the_hub_offline()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = offline


@contextmanager
def quiet_client(seconds: float, most: int) -> Iterator[None]:
    """Keep the Hub's client from logging, drawing bars, and waiting or reading for ever; then restore its settings.

    Args:
        seconds: that an answer may take.
        most: bytes that it may have.
    """
    import httpx
    from huggingface_hub import get_session, utils

    hub: Any = utils
    verbosity, drawn = hub.logging.get_verbosity(), not hub.are_progress_bars_disabled()
    session = get_session()
    timeout, hooks = session.timeout, session.event_hooks
    session.timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT))
    session.event_hooks = {**hooks, "response": [*hooks["response"], bounding(most, seconds), _without_pauses]}
    hub.logging.set_verbosity_error()  # its warnings name addresses that let others write
    hub.disable_progress_bars()
    try:
        yield
    finally:
        session.timeout, session.event_hooks = timeout, hooks
        hub.logging.set_verbosity(verbosity)
        if drawn:
            hub.enable_progress_bars()


def _without_pauses(response: Any) -> None:
    """Take out the pause that an answer asks for: the client would make it, however long, and say nothing."""
    for name in ("Retry-After", "RateLimit"):
        response.headers.pop(name, None)
