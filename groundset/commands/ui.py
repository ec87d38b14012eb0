"""`groundset ui`: what was tracked, in a browser."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from groundset.commands.declare import Command, Tracking
from groundset.commands.output.targets import say_where
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import GroundsetError, InputError

_HOST = "127.0.0.1"
_POLL_SECONDS = 0.5


class UiOptions(CommandOptions):
    """Show tracked compiles and runs in a browser.

    Serves the pages of MLflow on this machine alone, until Ctrl-C.
    """

    port: int = option(5000, "Where the pages are served.", metavar="PORT", ge=1, le=65535)
    tracking: Tracking


def ui(options: UiOptions) -> None:
    """Serve the pages of MLflow until Ctrl-C."""
    from groundset.tracking.location import shown, tracking_place

    place = tracking_place(options.tracking, create=False)
    if place.uri.startswith(("http:", "https:")):
        raise InputError(f"the tracking store {shown(place.uri)} is a server: open it in a browser")
    if _answers(options.port):
        raise InputError(f"--port: something answers on {options.port} already; name another")
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", _HOST, "--port", str(options.port), "--workers", "1",
        "--uvicorn-opts", "--log-level warning",
        *(("--artifacts-destination", str(place.artifacts)) if place.artifacts else ()),
    ]  # fmt: skip
    environment = {
        **os.environ,
        # It may hold a password, and every user of the machine can read the command.
        "MLFLOW_BACKEND_STORE_URI": place.uri,
        # The server would start further processes for jobs that groundset never hands it.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "PYTHONWARNINGS": "ignore",
    }
    say_where(place.uri, usual=place.usual)
    say("Starting, which takes some seconds.", err=True)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True) as server:
        try:
            while not _answers(options.port):
                if server.poll() is not None:
                    raise GroundsetError("the server of MLflow did not start; what it said stands above")
                time.sleep(_POLL_SECONDS)
            say(f"Open http://{_HOST}:{options.port} in a browser. Ctrl-C ends it.")
            server.wait()
        except KeyboardInterrupt:
            pass  # the usual end
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)  # the server's own processes too


def _answers(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex((_HOST, port)) == 0


COMMAND = Command("ui", UiOptions, ui, rank=20)
