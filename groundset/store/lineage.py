"""The origin of a run that was not generated: a command, its options and its inputs."""

import shlex
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from groundset.options import option_name

UNKNOWN_MODEL = "unknown"
"""The name of the language model of a run whose questions came from elsewhere."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Parent(_Frozen):
    """A run, or a file, that another run was made from.

    Attributes:
        name: of its folder or file, without the path.
        identity: the digest of a run's identity, the SHA-256 of a file's bytes.
        samples: how many it holds.
        lineage: where it comes from itself; None if it was generated, or is a file.
    """

    name: str
    identity: str
    samples: int
    lineage: "Lineage | None" = None


class Lineage(_Frozen):
    """The command that made a run, and the runs that it was made from.

    Attributes:
        command: the name of the command.
        options: what it was asked for, by parameter name; those that are None or False were not given.
        parents: what it was given.
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
