"""Access control of the review server: token, Host and Origin checks, and request limits."""

import hmac
import io
import time
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from flask import Flask, Response, abort, make_response, request
from werkzeug.exceptions import BadRequest, LengthRequired, RequestEntityTooLarge, RequestTimeout
from werkzeug.wsgi import get_content_length

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

MAX_BODY_BYTES = 1_000_000
BODY_SECONDS = 10.0  # limit for receiving a body, and for idle connections
_BLOCK = 65_536
_HOSTS = ("127.0.0.1", "localhost")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Hides addresses from other sites; `no-referrer` would also suppress the Origin header of forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def guard(app: Flask, token: str) -> None:
    """Accept only requests below ``/token/``.

    Prevents DNS rebinding (Host check) and CSRF (Origin check).
    """

    @app.before_request
    def check() -> None:
        if urlsplit(f"//{request.host}").hostname not in _HOSTS:
            _forbid("This page is only available at 127.0.0.1 or localhost.")
        if request.headers.get("Origin", request.host_url.rstrip("/")) != request.host_url.rstrip("/"):
            _forbid("Cross-site request rejected.")
        if not hmac.compare_digest(request.path.split("/")[1].encode(), token.encode()):
            _forbid("Open the address printed by `groundset review`: it contains a token that changes at every start.")

    @app.after_request
    def protect(response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response


def receive(environ: "WSGIEnvironment") -> None:
    """Read the whole body of a request in advance, so that slow clients do not block others.

    Raises:
        HTTPException: the body is too long, of unknown length, or was not received in time.
    """
    if "HTTP_TRANSFER_ENCODING" in environ:  # browsers do not send forms with chunked encoding
        raise LengthRequired
    remaining = get_content_length(environ) or 0
    if remaining > MAX_BODY_BYTES:
        raise RequestEntityTooLarge
    body, deadline = bytearray(), time.monotonic() + BODY_SECONDS
    while remaining:
        try:
            block = environ["wsgi.input"].read1(min(remaining, _BLOCK))
        except TimeoutError:
            raise RequestTimeout from None
        if time.monotonic() > deadline:
            raise RequestTimeout
        if not block:
            raise BadRequest
        body += block
        remaining -= len(block)
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))


def _forbid(reason: str) -> NoReturn:
    response = make_response(f"{reason}\n", 403)
    response.mimetype = "text/plain"
    abort(response)
