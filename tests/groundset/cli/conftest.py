import io
from collections.abc import Callable
from typing import NamedTuple

import pytest

from groundset import cli


class Ran(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run the command line in this process, as `main` would."""
    monkeypatch.setattr(cli.privacy, "set_defaults", lambda **kwargs: None)

    def run(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as exit_:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(exit_.value.code, captured.out, captured.err)

    return run


class Terminal(io.StringIO):
    """A terminal where somebody has typed something."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let somebody type at a terminal."""
    return lambda text: monkeypatch.setattr("sys.stdin", Terminal(text))
