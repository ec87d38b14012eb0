"""Block and log access to other machines: it fails as if there were no network.

``sitecustomize.py`` does the same in every Python process started with this folder on its path and with
GROUNDSET_TEST_EGRESS naming the log file.
"""

import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Any

VARIABLE = "GROUNDSET_TEST_EGRESS"
_LOOKED_UP = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
_SENT_TO = ("socket.connect", "socket.sendto", "socket.sendmsg")
_installed = False


def install() -> None:
    """Watch this process while the environment names a log file; audit hooks cannot be removed."""
    global _installed
    if not _installed:
        sys.addaudithook(_watch)
        _installed = True


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    log = os.environ.get(VARIABLE)
    if log is None or event not in (*_LOOKED_UP, *_SENT_TO):
        return
    address = arguments[0] if event in _LOOKED_UP else arguments[1]
    host = address[0] if isinstance(address, tuple) else None if event in _SENT_TO else address
    if host is None or _is_local(host):  # the address of a Unix socket is a path
        return
    with Path(log).open("a", encoding="utf-8") as stream:
        stream.write(f"{host.decode() if isinstance(host, bytes) else host}\n")
    if event in _LOOKED_UP:
        raise socket.gaierror(socket.EAI_NONAME, "a test looked up another machine")
    raise ConnectionRefusedError(f"a test contacted {host}")


def _is_local(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in ("", "localhost", "0.0.0.0", "::"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
