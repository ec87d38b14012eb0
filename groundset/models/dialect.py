"""What a server takes, as its answers show: what it refuses is left out from then on, and a model
that thinks gets room for it.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, replace

from dspy.lm15 import Message, Request, Response
from dspy.utils import exceptions

from groundset.models.texts import written

_ROOM = 4096  # tokens that a model which thinks may spend besides those of its answer
_MENDS = {
    "system": "put before the first question",
    "max_tokens": "sent as max_completion_tokens",
}
_NO_SYSTEM = re.compile(
    r"system.{0,3} (?:role|message|prompt|instruction)|"
    r"\broles?\b.{0,160}system|roles? must alternate|only user",
    re.IGNORECASE,
)
_TOO_MANY = re.compile(r"too (?:large|long|many|high)|at most|exceed|maximum", re.IGNORECASE)


class Dialect:
    """What one server takes; every finding is said once."""

    def __init__(self, server: str, model: str, notify: Callable[[str], object]) -> None:
        """Begin with a server that takes everything, and a model that does not think."""
        self._server, self._model, self._notify = server, model, notify
        self._refused: set[str] = set()
        self._room = _ROOM
        self.thinks = False

    def render(self, request: Request) -> Request:
        """Return a request without what was refused, with room for thoughts."""
        config, limit = request.config, request.config.max_tokens
        if self.thinks and limit:
            limit += self._room
            config = replace(config, max_tokens=limit, stop=())
        if "max_tokens" in self._refused and limit:
            named = {**(config.extensions or {}), "max_completion_tokens": limit}
            config = replace(config, extensions=named)
        absent = {name: () if name == "stop" else None for name in self._refused - {"system"}}
        request = replace(request, config=replace(config, **absent))
        if "system" not in self._refused or not isinstance(request.system, str):
            return request
        first, *others = request.messages
        merged = Message.user(f"{request.system}\n\n{first.text or ''}")
        return replace(request, system=None, messages=(merged, *others))

    def learn(self, error: exceptions.LMError, sent: Request) -> bool:
        """Return whether another request may be answered, because what this one had is left out."""
        if isinstance(error, exceptions.LMAuthError | exceptions.LMRateLimitError):
            return False
        is_long = isinstance(error, exceptions.ContextWindowExceededError)
        if is_long or _TOO_MANY.search(error.message):
            self._room //= 2
            return self.thinks and self._room > 0
        refused = [
            option.name
            for option in fields(sent.config)
            if getattr(sent.config, option.name) not in (None, ())
            and re.search(rf"\b{option.name}\b", error.message)
        ]
        if isinstance(sent.system, str) and _NO_SYSTEM.search(error.message):
            refused.append("system")
        self._leave_out(refused)
        return bool(refused)

    def finds_thoughts(self, response: Response) -> bool:
        """Give the model room from now on if it thinks; return whether an answer had none."""
        text, thinks = written(response)
        if self.thinks or not thinks:
            return False
        self.thinks = True
        self._notify(
            f"{self._server}: {self._model} thinks before it answers; "
            f"each call may take {_ROOM} tokens more"
        )
        return not text

    def _leave_out(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._refused:
                self._refused.add(name)
                mend = _MENDS.get(name, "left out")
                self._notify(f"{self._server} refuses {name}; it is {mend} from now on")
