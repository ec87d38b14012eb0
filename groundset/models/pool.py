"""The servers of one model: which one gets the next request, and which are left out for a while.

A server that fails is left out, the longer the more often it has failed in a row. Then it is checked like at the start
and gets one request; it gets others when it has answered.
"""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from groundset.models.clients import ModelClient
from groundset.models.servers import (
    check_again,
    check_all,
    check_served,
    connection,
    joined_reasons,
    lists,
    serves_another,
    withheld_key_message,
)
from groundset.models.specs import HostedSpec, OpenAISpec, ServersSpec, receiver
from programs.errors import UnknownModelError, UnreachableModelError, UnsuitableServerError

MAX_PAUSE = 120.0  # seconds; enough for limits per minute, but not per day
_MIN_REPORTED_PAUSE = 5.0  # seconds
_LOOK_EVERY = 1.0  # seconds, at the files of servers


class Server:
    """The state of one server; changed by its pool only.

    Attributes:
        spec: the model on this server.
        client: sends requests to it.
        running: the number of requests that it has not answered yet.
        faults: how often it has failed in a row.
    """

    def __init__(self, spec: OpenAISpec | HostedSpec, seconds: float) -> None:
        """Create a client that waits ``seconds`` for an answer; no connection is opened yet."""
        self.spec = spec
        self.client = ModelClient(spec, connection(spec), seconds)
        self.running = 0
        self.faults = 0
        self.served: Sequence[str] | None = None
        self.is_checked = False
        self.is_tried = False  # one request is on its way, to see whether the server is back
        self.back_at = self.failed_at = self.announced_at = 0.0
        self.out_since: float | None = None
        self.reason = ""

    @property
    def name(self) -> str:
        """Return the host with its port, or the name of a hosted model."""
        return self.spec.host if isinstance(self.spec, OpenAISpec) else self.spec.name

    @property
    def is_proven(self) -> bool:
        """Return whether the server may get several requests at once."""
        return self.is_checked and not self.faults


class ServerPool:
    """The servers of one model; safe to share between threads."""

    def __init__(
        self, spec: OpenAISpec | HostedSpec | ServersSpec, notify: Callable[[str], object], seconds: float
    ) -> None:
        """Check several servers, and leave out those that cannot be used.

        Args:
            spec: the model; a single server was checked before.
            notify: called with a line about receivers of texts, servers that are left out, and those that are back.
            seconds: how long the clients wait for an answer.

        Raises:
            UnreachableModelError: no server can be used.
        """
        self._spec, self._notify, self._seconds = spec, notify, seconds
        self._changed = threading.Condition()
        self._looked, self._stamps = time.monotonic(), self._read_stamps()
        specs = spec.listed() if isinstance(spec, ServersSpec) else (spec,)
        self._announce(specs)
        self._servers = [Server(each, seconds) for each in specs]
        if isinstance(spec, ServersSpec):
            self._check_at_start()
        else:
            self._servers[0].is_checked = True

    def take(self, is_used_up: Callable[[Server], bool], patience: float) -> Server | None:
        """Wait for a server and return the least busy one; None if all are left out for longer.

        Args:
            is_used_up: whether the request has been tried on a server often enough.
            patience: how many seconds to wait at most, besides those in which a server is tried by another request.
        """
        deadline = time.monotonic() + patience
        with self._changed:
            while True:
                self._look()
                now = time.monotonic()
                usable = [server for server in self._servers if not is_used_up(server)]
                ready = [each for each in usable if now >= each.back_at and (each.is_proven or not each.is_tried)]
                if ready:
                    server = min(ready, key=lambda each: each.running)
                    server.running += 1
                    server.is_tried = not server.is_proven
                    return server
                if any(server.is_tried for server in usable):
                    self._changed.wait(_LOOK_EVERY)
                    continue
                first = min(usable, key=lambda each: each.back_at, default=None)
                if first is None or first.back_at > deadline:
                    return None
                self._report_pause(first, first.back_at - now)
                self._changed.wait(min(_LOOK_EVERY, first.back_at - now))

    def check(self, server: Server) -> None:
        """Check a server that is new or has failed, before it gets a request.

        Raises:
            UnreachableModelError: it cannot be used.
        """
        if server.is_checked:
            return
        served = check_again(server.spec) if server.faults else check_served(server.spec)
        with self._changed:
            self._accept(server, served)

    def answered(self, server: Server, began: float) -> None:
        """Note that a server has answered a request that was sent at ``began``."""
        with self._changed:
            if began < server.failed_at:
                if server.is_checked:  # it was only busy: after the pause it need not be tried
                    server.faults = 0
                return
            if server.out_since is not None:
                self._notify(f"{server.name} is back after {time.monotonic() - server.out_since:.0f} seconds.")
            server.faults, server.out_since, server.is_tried = 0, None, False
            self._changed.notify_all()

    def failed(self, server: Server, reason: str, began: float, pause: float | None, *, checks: bool) -> None:
        """Leave a server out for a while.

        Args:
            server: the server.
            reason: why it failed.
            began: when the failed request was sent; requests that were running at a failure do not count as another.
            pause: the requested pause in seconds, by default one that doubles with every failure.
            checks: whether to check the server before the next request.
        """
        with self._changed:
            server.is_tried = False
            server.is_checked = server.is_checked and not checks
            if began >= server.failed_at:
                self._leave_out(server, reason, pause)
            self._changed.notify_all()

    def release(self, server: Server) -> None:
        """Note that a request has ended, also one that was abandoned."""
        with self._changed:
            server.running -= 1
            server.is_tried = False
            self._changed.notify_all()

    def reasons(self) -> dict[Server, str]:
        """Return why servers are left out."""
        with self._changed:
            return {server: server.reason for server in self._servers if server.faults}

    def close(self) -> None:
        """Close the clients, except of servers whose answers may still come late."""
        with self._changed:
            for server in self._servers:
                if not server.running:
                    server.client.close()

    def _check_at_start(self) -> None:
        checked = check_all([server.spec for server in self._servers])
        # Servers whose lists have the name come first, because the others are compared with them.
        for server in sorted(self._servers, key=lambda each: not lists(each.spec, checked[each.spec])):
            result = checked[server.spec]
            try:
                if isinstance(result, UnreachableModelError):
                    raise result
                self._accept(server, result)
            except UnreachableModelError as error:
                self._leave_out(server, str(error), pause_after(error))
        if not any(server.is_checked for server in self._servers):
            raise UnreachableModelError(joined_reasons(self.reasons().values()))

    def _accept(self, server: Server, served: Sequence[str] | None) -> None:
        others = [each.served for each in self._servers if each is not server and each.served and each.is_checked]
        if isinstance(server.spec, OpenAISpec) and (reason := serves_another(server.spec, served, others)):
            raise UnsuitableServerError(reason)
        server.served, server.is_checked = served, True

    def _leave_out(self, server: Server, reason: str, pause: float | None) -> None:
        server.faults += 1
        server.reason, server.failed_at = reason, time.monotonic()
        usual = min(2.0 ** min(server.faults - 1, 10), MAX_PAUSE)
        server.back_at = server.failed_at + (usual if pause is None else pause)
        if isinstance(self._spec, ServersSpec) and server.out_since is None:
            server.out_since = server.failed_at
            self._notify(f"{server.name} is left out: {reason}.")

    def _report_pause(self, server: Server, seconds: float) -> None:
        if seconds >= _MIN_REPORTED_PAUSE and server.announced_at != server.back_at:
            server.announced_at = server.back_at
            self._notify(f"Waiting {seconds:.0f} seconds: {server.reason}.")

    def _announce(self, specs: Sequence[OpenAISpec | HostedSpec]) -> None:
        """Report which hosts receive texts, and which do not receive the key."""
        for spec in specs:
            if withheld := withheld_key_message(spec):
                self._notify(f"{withheld}.")
        if hosts := [host for spec in specs if (host := receiver(spec))]:
            self._notify(f"Texts go to {', '.join(hosts)}.")

    def _look(self) -> None:
        """Read the files of servers again if they have changed."""
        now = time.monotonic()
        if not isinstance(self._spec, ServersSpec) or now - self._looked < _LOOK_EVERY:
            return
        self._looked = now
        if (stamps := self._read_stamps()) == self._stamps:
            return
        self._stamps = stamps
        try:
            specs = self._spec.listed()
        except UnknownModelError as error:
            self._notify(f"{error}; the servers stay as they were.")
            return
        known = {server.spec: server for server in self._servers}
        new = [spec for spec in specs if spec not in known]
        self._announce(new)
        for word, names in (
            ("added", [spec.host for spec in new]),
            ("taken away", [server.name for spec, server in known.items() if spec not in specs]),
        ):
            if names:
                self._notify(f"Servers {word}: {', '.join(names)}.")
        self._servers = [known.get(spec) or Server(spec, self._seconds) for spec in specs]

    def _read_stamps(self) -> list[tuple[int, int, int] | None]:
        """Return what changes when a file of servers changes."""
        return [_stamp(file) for file in self._spec.files] if isinstance(self._spec, ServersSpec) else []


def pause_after(error: UnreachableModelError) -> float | None:
    """Return how long to leave out a server that failed a check, None for the usual pause."""
    return MAX_PAUSE if isinstance(error, UnsuitableServerError) else None


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
