import io
from collections.abc import Callable
from typing import NamedTuple

import pytest

from groundset import commands


class Ran(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run the command line in this process, as `main` would."""
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as exit_:
            commands.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(exit_.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def run_narrow(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Run the command line with 60 columns, check that nothing is wider, and return the lines."""

    def run_narrow(*arguments: object) -> list[str]:
        monkeypatch.setenv("COLUMNS", "60")
        ran = run(*arguments)
        assert ran.status == 0
        lines = [line.rstrip() for line in ran.out.splitlines()]
        assert lines
        assert max(map(len, lines)) <= 60
        assert "…" not in ran.out, "nothing is truncated"
        return lines

    return run_narrow


class Terminal(io.StringIO):
    """Input of a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Set the terminal input."""
    return lambda text: monkeypatch.setattr("sys.stdin", Terminal(text))
