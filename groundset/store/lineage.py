"""The lineage of a derived run: a command, its options and its inputs."""

import shlex
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from groundset.options import option_name

UNKNOWN_MODEL = "unknown"
"""The name of the language model of imported questions."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Parent(_Frozen):
    """A run or file that another run was made from.

    Attributes:
        name: the name of its folder or file, without the path.
        identity: the digest of a run's identity, or the SHA-256 of a file.
        samples: the number of its samples.
        lineage: its own lineage; None for a generated run or a file.
    """

    name: str
    identity: str
    samples: int
    lineage: "Lineage | None" = None


class Lineage(_Frozen):
    """The command that made a run, and the runs that it was made from.

    Attributes:
        command: the name of the command.
        options: its options by parameter name; None or False means not given.
        parents: its inputs.
    """

    command: str
    options: dict[str, Any] = Field(default_factory=dict)
    parents: tuple[Parent, ...]

    def command_line(self) -> str:
        """Return the command line in backquotes, without its ``--out``."""
        words = [self.command, *(parent.name for parent in self.parents)]
        for name, value in self.options.items():
            if value is not None and value is not False:
                words += [option_name(name), *([] if value is True else [str(value)])]
        return f"`groundset {shlex.join(words)}`"
