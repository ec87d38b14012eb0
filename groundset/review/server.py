"""The server of a review: this machine only, one process, until it is ended."""

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


class _Quiet(WSGIRequestHandler):
    """Logs no requests: their addresses hold the token."""

    timeout = BODY_SECONDS

    def log(self, type: str, message: str, *args: object) -> None:
        """Pass over a line of the log."""


@contextmanager
def serving(session: ReviewSession, port: int = 0) -> Iterator[str]:
    """Serve a session in the background and yield the address, which holds a token; port 0 takes any that is free.

    Raises:
        InputError: the port is taken, or not to be had.
    """
    token = secrets.token_urlsafe(18)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
            listening.listen()
        except OSError as error:
            raise InputError(f"--port {port}: {error.strerror or error}; name another") from error
        server = make_server(
            _HOST, port, make_app(session, token), threaded=True, request_handler=_Quiet, fd=listening.fileno()
        )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    # The first verdict needs it, and would wait a second for it.
    threading.Thread(target=importlib.import_module, args=("scipy.stats",), daemon=True).start()
    try:
        yield f"http://{_HOST}:{server.port}/{token}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def shown_in_browser(address: str) -> Iterator[bool]:
    """Open an address where a browser has a window of its own, and yield whether one was found.

    The browser is given a file that leads there, which only its owner can read: the address holds the token, and the
    arguments of a process can be read by every user of the machine.
    """
    has_windows = sys.platform in ("darwin", "win32") or any(
        name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    with TemporaryDirectory(prefix="groundset-") as folder:
        page = Path(folder, "review.html")
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">', encoding="utf-8")
        yield has_windows and webbrowser.open(page.as_uri())
