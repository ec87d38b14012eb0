"""`groundset ui`: the MLflow user interface."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

from groundset.commands.declare import Command, Tracking
from groundset.commands.output.targets import print_store
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import GroundsetError, InputError

_HOST = "127.0.0.1"
_POLL_SECONDS = 0.5


class UiOptions(CommandOptions):
    """Show tracked compiles and runs in a browser.

    Serves the MLflow user interface on localhost until Ctrl-C.
    """

    port: int = option(5000, "Port of the server.", metavar="PORT", ge=1, le=65535)
    tracking: Tracking


def ui(options: UiOptions) -> None:
    """Serve the MLflow user interface until Ctrl-C."""
    from groundset.tracking.location import display_uri, tracking_location

    store = tracking_location(options.tracking, create=False)
    if store.uri.startswith(("http:", "https:")):
        raise InputError(f"the tracking store {display_uri(store.uri)} is a server; open it in a browser")
    if _is_in_use(options.port):
        raise InputError(f"--port {options.port}: already in use; choose another")
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", _HOST, "--port", str(options.port), "--workers", "1",
        "--uvicorn-opts", "--log-level warning",
        *(("--artifacts-destination", str(store.artifacts)) if store.artifacts else ()),
    ]  # fmt: skip
    environment = {
        **os.environ,
        # Not an argument: it may contain a password, and all users of the machine can read command lines.
        "MLFLOW_BACKEND_STORE_URI": store.uri,
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # saves processes that groundset does not need
        "PYTHONWARNINGS": "ignore",
    }
    print_store(store.uri, is_default=store.is_default)
    say("Starting the MLflow server.", err=True)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True) as server:
        try:
            while not _is_in_use(options.port):
                if server.poll() is not None:
                    raise GroundsetError("the MLflow server did not start; see its output above")
                time.sleep(_POLL_SECONDS)
            say(f"Open http://{_HOST}:{options.port} in a browser. Ctrl-C stops the server.")
            server.wait()
        except KeyboardInterrupt:
            pass  # the normal way to stop it
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)  # also its worker processes


def _is_in_use(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex((_HOST, port)) == 0


COMMAND = Command("ui", UiOptions, ui, rank=20)
