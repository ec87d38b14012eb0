"""Who may ask: whoever knows the token, from a page of this server, on this machine."""

import hmac
from typing import NoReturn
from urllib.parse import urlsplit

from flask import Flask, Response, abort, make_response, request

_NAMES = ("127.0.0.1", "localhost")
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Nothing is told to other sites; under `no-referrer` browsers would not say where a form comes from.
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
            _refuse("This page is read at 127.0.0.1 or localhost.")
        if request.headers.get("Origin", request.host_url.rstrip("/")) != request.host_url.rstrip("/"):
            _refuse("Another page asked for this.")
        given = request.path.split("/")[1]
        if not hmac.compare_digest(given.encode(), token.encode()):
            _refuse("Open the address that `groundset review` printed: it holds a token, new at every start.")

    @app.after_request
    def protect(response: Response) -> Response:
        response.headers.update(_HEADERS)
        return response


def _refuse(why: str) -> NoReturn:
    response = make_response(f"{why}\n", 403)
    response.mimetype = "text/plain"
    abort(response)
