"""Access control of the review server: requests need the token, this machine's name and this server's origin."""

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

LONGEST_BODY = 1_000_000  # bytes: a question and an answer that somebody types
BODY_SECONDS = 10.0  # on one machine it takes milliseconds; also how long a connection may be silent
_PART = 65_536
_NAMES = ("127.0.0.1", "localhost")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Other sites learn nothing; under `no-referrer` browsers would not say where a form comes from.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def guard(app: Flask, token: str) -> None:
    """Let an application answer only what asks for a path below ``/token/``, by a name of this machine.

    A page elsewhere can neither read nor send anything: a name that it lets point here is no name of this machine,
    and the browser says where its forms come from.
    """

    @app.before_request
    def check() -> None:
        if urlsplit(f"//{request.host}").hostname not in _NAMES:
            _refuse("This page answers at 127.0.0.1 or localhost only.")
        if request.headers.get("Origin", request.host_url.rstrip("/")) != request.host_url.rstrip("/"):
            _refuse("Another page asked for this.")
        given = request.path.split("/")[1]
        if not hmac.compare_digest(given.encode(), token.encode()):
            _refuse("Open the address that `groundset review` printed: it holds a token, new at every start.")

    @app.after_request
    def protect(response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response


def receive(environ: "WSGIEnvironment") -> None:
    """Read the whole body of a request before it is its turn: nobody waits for a page that sends slowly.

    Raises:
        HTTPException: it is too long, of unknown length, or was not all there in time.
    """
    if "HTTP_TRANSFER_ENCODING" in environ:  # no browser sends a form in chunks
        raise LengthRequired
    left = get_content_length(environ) or 0
    if left > LONGEST_BODY:
        raise RequestEntityTooLarge
    body, until = bytearray(), time.monotonic() + BODY_SECONDS
    while left:
        try:
            part = environ["wsgi.input"].read1(min(left, _PART))
        except TimeoutError:
            raise RequestTimeout from None
        if time.monotonic() > until:
            raise RequestTimeout
        if not part:
            raise BadRequest
        body += part
        left -= len(part)
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))


def _refuse(why: str) -> NoReturn:
    response = make_response(f"{why}\n", 403)
    response.mimetype = "text/plain"
    abort(response)
