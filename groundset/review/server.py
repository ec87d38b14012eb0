"""The local web server of a review."""

import importlib
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from werkzeug.serving import WSGIRequestHandler, make_server

from groundset.review.access import BODY_SECONDS
from groundset.review.pages import make_app
from groundset.review.session import ReviewSession
from programs.errors import InputError

_HOST = "127.0.0.1"


class _SilentHandler(WSGIRequestHandler):
    """Logs no requests, because their paths contain the token."""

    timeout = BODY_SECONDS

    def log(self, type: str, message: str, *args: object) -> None:
        """Discard a log line."""


@contextmanager
def serving(session: ReviewSession, port: int = 0) -> Iterator[str]:
    """Serve a session in the background and yield the address, which contains a token; port 0 is any free port.

    Raises:
        InputError: the port is not available.
    """
    token = secrets.token_urlsafe(18)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_HOST, port))
            listener.listen()
        except OSError as error:
            raise InputError(f"--port {port}: {error.strerror or error}; choose another port") from error
        server = make_server(
            _HOST, port, make_app(session, token), threaded=True, request_handler=_SilentHandler, fd=listener.fileno()
        )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    # Import in the background what would delay the first verdict by a second.
    threading.Thread(target=importlib.import_module, args=("scipy.stats",), daemon=True).start()
    try:
        yield f"http://{_HOST}:{server.port}/{token}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def shown_in_browser(address: str) -> Iterator[bool]:
    """Open an address in a graphical browser, and yield whether one was found.

    The browser opens a private file that redirects to the address: process arguments are visible to other users, and
    the address contains the token.
    """
    has_display = sys.platform in ("darwin", "win32") or any(
        name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    with TemporaryDirectory(prefix="groundset-") as folder:
        page = Path(folder, "review.html")
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">', encoding="utf-8")
        yield has_display and webbrowser.open(page.as_uri())
