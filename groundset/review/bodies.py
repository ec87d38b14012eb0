"""The body of a request, read before it is its turn: nobody waits for a page that sends slowly."""

import io
import time
from typing import TYPE_CHECKING

from werkzeug.exceptions import BadRequest, LengthRequired, RequestEntityTooLarge, RequestTimeout
from werkzeug.wsgi import get_content_length

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

LONGEST_BODY = 1_000_000  # bytes: a question and an answer that somebody types
BODY_SECONDS = 10.0  # on one machine it takes milliseconds; also how long a connection may be silent
_PART = 65_536


def receive(environ: "WSGIEnvironment") -> None:
    """Read the whole body of a request, so that nothing that handles it waits for it.

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
