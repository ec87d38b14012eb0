"""Imported by Python when it starts: access to another machine is noted in a file, and fails."""

import os
import sys
from pathlib import Path


def watch(event, arguments):
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name not in ("None", "", "localhost", "127.0.0.1", "::1", "0.0.0.0"):
        with Path(os.environ["GROUNDSET_TEST_HOSTS"]).open("a") as notes:
            notes.write(f"{name}\n")
        raise ConnectionRefusedError(f"a loader asked for {name}")


sys.addaudithook(watch)
