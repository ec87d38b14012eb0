"""The command line, and its exit statuses.

| status | meaning |
|---|---|
| 0 | success |
| 1 | error in groundset or a model |
| 2 | wrong input or option |
| 3 | `generate` made fewer samples than requested, or a budget ended it |
| 130 | interrupted |
"""

import itertools
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from groundset import __version__, privacy
from groundset.printing import say, say_lines
from programs.discover import discover
from programs.errors import GroundsetError, InputError

_PROGRAM = "groundset"
# Help and default command of each command group.
_GROUPS: Mapping[str, tuple[str, str | None]] = {
    "models": ("List known models and download them; without a command, list them.", "list"),
    "labels": ("Check and count labels and gold rows; make labels.", None),
}
_BROKEN_PIPE = 141
_USAGE = "Usage: "
_INTERRUPTED = "interrupted"
_NOTICE_SECONDS = 0.8
_SILENT = {"-q", "--quiet", "-h", "--help"}
_started: ContextVar[float] = ContextVar("started")


class _InterruptedError(GroundsetError):
    exit_code = 130


class _Group(TyperGroup):
    """Turns Ctrl-C into an error."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _InterruptedError(_INTERRUPTED) from error


class _Command(TyperCommand):
    """Groups options by ``rich_help_panel`` in plain help, as Typer does in rich help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                panel = getattr(parameter, "rich_help_panel", None)
                sections.setdefault(panel or f"{parameter.param_type_name.title()}s", []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def build_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Build the command tree; the options of recipes are added only if ``arguments`` contain `generate`."""
    from groundset.commands.declare import Command

    app = typer.Typer(
        name=_PROGRAM,
        cls=_Group,
        help="Turn documents into a RAG evaluation set, on a language model on your own machine.",
        epilog="`groundset COMMAND --help` explains a command. Set GROUNDSET_DEBUG=1 to see tracebacks.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    groups: dict[str, typer.Typer] = {}
    for command in sorted(discover(__name__, "COMMAND", Command).values(), key=lambda command: command.rank):
        group, _, name = command.name.rpartition(" ")
        if group and group not in groups:
            groups[group] = _group(group)
        parent = groups[group] if group else app
        parent.command(name, cls=_Command)(command.for_typer(with_recipes="generate" in arguments))
    for name, group_app in groups.items():
        app.add_typer(group_app, name=name)
    return app


def _group(name: str) -> typer.Typer:
    """Build a command group; without a command it runs its default command, or shows its help."""
    text, default = _GROUPS[name]
    has_default = default is not None
    group = typer.Typer(name=name, help=text, no_args_is_help=not has_default, invoke_without_command=has_default)

    def callback(context: typer.Context) -> None:
        if default is not None and context.invoked_subcommand is None:
            context.invoke(context.command.commands[default].callback, as_json=False)  # type: ignore[attr-defined]

    callback.__doc__ = text
    group.callback()(callback)
    return group


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    _started.set(time.monotonic())
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    privacy.set_defaults(hub=needs_hub(arguments))
    sys.exit(_run(arguments))


def start_time() -> float:
    """Return the start time of the command, by ``time.monotonic``."""
    return _started.get(time.monotonic())


def needs_hub(arguments: Sequence[str]) -> bool:
    """Return whether a command line needs the Hugging Face Hub."""
    dry_run = any(argument.partition("=")[0] == "--dry-run" for argument in arguments)
    return "--hub" in arguments or ("push" in arguments[:1] and not dry_run)


@contextmanager
def _loading_notice(arguments: Sequence[str]) -> Iterator[None]:
    """Print a notice if the block, which imports libraries, takes long."""
    timer = threading.Timer(_NOTICE_SECONDS, typer.echo, ["Loading groundset."], {"err": True})
    timer.daemon = True
    if _SILENT.isdisjoint(arguments):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _show_version(requested: bool) -> None:
    if requested:
        say(f"{_PROGRAM} {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    del version


def _run(arguments: list[str]) -> int:
    """Run a command; convert exceptions to one line and an exit status."""
    try:
        _refuse_empty(arguments)
        with _loading_notice(arguments):
            app = build_app(arguments)
        status = app(arguments, prog_name=_PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:  # before a command runs
        return _fail(_INTERRUPTED, _InterruptedError.exit_code)
    except BrokenPipeError:
        # Python flushes standard output again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            return _BROKEN_PIPE
        raise
    except typer.Abort:
        return _fail("aborted", 1)
    except GroundsetError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(_usage_message(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - tracebacks are shown only with GROUNDSET_DEBUG
        cause: BaseException | None = error  # DSPy wraps errors
        while cause is not None:
            if isinstance(cause, GroundsetError):
                return _fail(str(cause), cause.exit_code)
            cause = cause.__cause__
        detail = str(error) or "no message"
        return _fail(f"unexpected {type(error).__name__}: {detail} (set GROUNDSET_DEBUG=1 for a traceback)", 1)
    return status if isinstance(status, int) else 0


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse empty arguments, for example of an unset shell variable: as a path they mean the working directory.

    Raises:
        InputError: an argument is empty.
    """
    for before, argument in itertools.pairwise([_PROGRAM, *arguments]):
        name, equals, value = argument.partition("=")
        if argument == "" or (name.startswith("--") and equals and not value):
            raise InputError(f"{name or before}: the value is empty; give one or omit it")


def _usage_message(error: typer.TyperException) -> str:
    """Return a message of Typer or pydantic in the style of groundset's own."""
    message = error.format_message().replace("Value error, ", "")
    return message if message.startswith(_USAGE) else message[:1].lower() + message[1:].rstrip(".")


def _fail(message: str, status: int) -> int:
    if os.environ.get("GROUNDSET_DEBUG", "") not in ("", "0"):
        say_lines(traceback.format_exc(), err=True)
    if message.startswith(_USAGE):  # help of a command without arguments
        say_lines(message, err=True)
    else:
        say(f"{_PROGRAM}: error: {' '.join(message.split())}", err=True)
    return status
