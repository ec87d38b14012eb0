"""Keep a process to this machine: whatever is asked of another one fails as if there were no network, and is noted.

``sitecustomize.py`` beside it does the same for every Python process that is started with this folder on its path and
with GROUNDSET_TEST_EGRESS naming the file of notes.
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
    """Watch this process, now and whenever the environment names a file of notes; a hook cannot be taken out again."""
    global _installed
    if not _installed:
        sys.addaudithook(_watch)
        _installed = True


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    notes = os.environ.get(VARIABLE)
    if notes is None or event not in (*_LOOKED_UP, *_SENT_TO):
        return
    address = arguments[0] if event in _LOOKED_UP else arguments[1]
    host = address[0] if isinstance(address, tuple) else None if event in _SENT_TO else address
    if host is None or _is_here(host):  # a socket that is a file has a path for an address
        return
    with Path(notes).open("a", encoding="utf-8") as stream:
        stream.write(f"{host.decode() if isinstance(host, bytes) else host}\n")
    if event in _LOOKED_UP:
        raise socket.gaierror(socket.EAI_NONAME, "a test looked up another machine")
    raise ConnectionRefusedError(f"a test asked something of {host}")


def _is_here(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in ("", "localhost", "0.0.0.0", "::"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
