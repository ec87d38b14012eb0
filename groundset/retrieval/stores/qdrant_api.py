"""Requests to the REST API of a Qdrant server (1.10 and later). The API key comes from `QDRANT_API_KEY` only."""

import os
import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from groundset import privacy
from groundset.models.http_limits import BoundedTransport, UnusableAnswerError, within
from groundset.models.specs import is_loopback
from programs.errors import InputError

_KEY_VARIABLE = "QDRANT_API_KEY"
_PORT = 6333
_SECONDS = 60.0
_ANSWER_BYTES = 64 << 20
_REASON = 200  # characters of a server's reason in a message
_NOT_FOUND = 404


def parse_url(url: str, option: str, wrong: InputError) -> str:
    """Return the URL of a server with its port, and without a slash at its end.

    Raises:
        InputError: it is malformed (``wrong``), or contains credentials; ``option`` begins the message.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # invalid brackets or port
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or re.search(r"[\s\\]", url):
        raise wrong
    if parts.username or parts.password or parts.query:
        raise InputError(
            f"{option}: the URL of {parts.hostname} must not contain credentials or a query; set "
            f"{_KEY_VARIABLE} instead"
        )
    host = parts.netloc if port else f"{parts.netloc.rstrip(':')}:{_PORT}"
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def without_credentials(url: str) -> str:
    """Return a URL, which may be malformed, without user name and password."""
    return re.sub(r"(?<=://)[^/]*@", "", url)


def remote_host(url: str) -> str:
    """Return the host of a parsed URL, with its port; empty if it is this machine."""
    parts = urlsplit(url)
    return "" if is_loopback(parts.hostname or "") else parts.netloc


class QdrantApi:
    """A server at a parsed URL; close it.

    Attributes:
        name: begins every message.
    """

    def __init__(self, url: str, name: str) -> None:
        """Read the API key; no connection is opened yet.

        Raises:
            InputError: the key contains characters that cannot be sent.
        """
        self.name = name
        self._url = url
        self._transport = BoundedTransport(_SECONDS, _ANSWER_BYTES)
        key = os.environ.get(_KEY_VARIABLE, "").strip()
        if not key.isascii() or not key.isprintable():
            raise InputError(f"{_KEY_VARIABLE} contains non-ASCII or control characters; set it again")
        self._headers = {"api-key": key} if key else {}
        host = urlsplit(url).hostname or ""
        if is_loopback(host):
            privacy.bypass_proxies(host)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return the result in its answer.

        Raises:
            InputError: there is no usable answer; the message says why.
        """
        return self._request(method, path, body)

    def find(self, path: str) -> Any:
        """Return the result of a GET request, None if there is nothing at the path.

        Raises:
            InputError: as ``request``.
        """
        return self._request("GET", path, None, may_miss=True)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def unexpected(self) -> InputError:
        """Return the error for an answer that a Qdrant server would not give."""
        return InputError(f"{self.name}: does not answer like a Qdrant server; check the address")

    def _request(self, method: str, path: str, body: Any, *, may_miss: bool = False) -> Any:
        try:
            answer = within(_SECONDS, lambda: self._transport.send(method, self._url + path, self._headers, body))
            if answer.status_code in (401, 403):
                predicate = "rejects the API key in" if self._headers else "needs an API key; set"
                raise InputError(f"{self.name}: the server {predicate} {_KEY_VARIABLE}")
            content = answer.json()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InputError(
                f"{self.name}: no Qdrant server answers; check that it is running, and the address"
            ) from error
        except UnusableAnswerError as error:
            raise InputError(f"{self.name}: the server {error}") from error
        except (ValueError, RecursionError):
            raise self.unexpected() from None
        status = content.get("status") if isinstance(content, dict) else None
        if may_miss and answer.status_code == _NOT_FOUND and isinstance(status, dict):
            return None
        if not answer.is_success:
            reason = status.get("error") if isinstance(status, dict) else None
            lines = str(reason or "").strip().splitlines() or ["no reason given"]
            raise InputError(f"{self.name}: the server answers {answer.status_code}: {lines[0][:_REASON]}")
        if "result" not in (content if isinstance(content, dict) else ()):
            raise self.unexpected()
        return content["result"]
