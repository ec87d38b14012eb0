"""The command line, made from the options of its commands, and its exit statuses.

| status | meaning |
|---|---|
| 0 | success |
| 1 | error in groundset or a model |
| 2 | wrong input or option |
| 3 | `generate` made fewer samples than requested, or a budget ended it |
| 4 | a gate was not passed: `align --max-lost`, `roundtrip --baseline` |
| 130 | interrupted |
| 141 | the reader of the output left |
"""

import inspect
import itertools
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from groundset import __version__, privacy
from groundset.printing import say, say_lines
from groundset.programs.errors import GroundsetError, InputError, wrapped

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from groundset.options import Options

# A row a command: the function that runs it, and what the list of commands says. The function takes
# the command's options, whose docstring is the help; its module is imported when the command is
# used.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "generate": ("groundset.run.command:generate", "Make an evaluation set from documents."),
    "show": ("groundset.run.show:show", "Show the samples or the rejects of a run."),
    "review": ("groundset.pages.review:review", "Review and label samples in a browser."),
    "report": ("groundset.pages.report:report", "Write an HTML report on a run."),
    "export": ("groundset.exports.export:export", "Write runs in the formats of other tools."),
    "push": ("groundset.exports.hub:push", "Publish a run on the Hugging Face Hub."),
    "import": (
        "groundset.exports.imports:import_set",
        "Make a run from an evaluation set of another tool.",
    ),
    "align": (
        "groundset.aligning:align",
        "Carry a run over to changed documents or to other chunks.",
    ),
    "roundtrip": (
        "groundset.evaluation:roundtrip",
        "Compare retrievers on the questions of a run.",
    ),
    "chunk": (
        "groundset.corpus.corpus:chunk",
        "Cut documents into chunks, without a language model.",
    ),
    "judge": ("groundset.run.judging:judge", "Judge chunks or questions, each by itself."),
    "compile": ("groundset.compiling:compile", "Compile steps or recipes against labels."),
    "labels check": ("groundset.labelling:check_labels", "Check and count labels and gold rows."),
    "labels from": (
        "groundset.pages.verdicts:labels_from",
        "Make labels from the reviews of a run.",
    ),
    "models list": ("groundset.models.fetch:list_models", "List known models."),
    "models pull": ("groundset.models.fetch:pull_models", "Download models."),
}
_GROUPS = {
    "labels": "Check labels, and make them from reviews.",
    "models": "List known models and download them.",
}
_PROGRAM = "groundset"
_NOTHING: Any = (None, "", (), {})  # defaults that are not worth a word
_BROKEN_PIPE = 141
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
_SETTINGS: dict[str, Any] = {"rich_markup_mode": None, "context_settings": _CONTEXT}


class _InterruptedError(GroundsetError):
    exit_code = 130


class _Group(TyperGroup):
    """Commands that are described by their rows, and loaded when they are used."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        row = COMMANDS.get(f"{self.name} {name}") or COMMANDS.get(str(name))
        return name, _load(str(name), row[0]) if row else command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:  # Typer would end the process
            raise _InterruptedError("interrupted") from error


def build_app() -> TyperGroup:
    """Build the command tree without importing any command."""
    root = typer.Typer(cls=_Group, no_args_is_help=True, **_SETTINGS)
    root.callback(
        help="Turn documents into a RAG evaluation set, on a language model on your own machine.",
        epilog=(
            "`groundset COMMAND --help` explains a command. Set GROUNDSET_DEBUG=1 to see"
            " tracebacks."
        ),
    )(_root)
    app = typer.main.get_command(root)
    assert isinstance(app, TyperGroup)
    app.name = _PROGRAM
    for name, (_, text) in COMMANDS.items():
        group, _, own = name.rpartition(" ")
        if group and group not in app.commands:
            app.add_command(
                _Group(
                    name=group, commands={}, help=_GROUPS[group], no_args_is_help=True, **_SETTINGS
                )
            )
        parent = app.commands[group] if group else app
        assert isinstance(parent, TyperGroup)
        parent.add_command(TyperCommand(own, help=text, rich_markup_mode=None))
    return app


def _load(name: str, target: str) -> Any:
    """Import a command and build it from its options."""
    from groundset.options import option_name

    function = resolve_name(target)
    options = options_of(function)

    def called(**values: Any) -> Any:
        return function(options.parse(values))

    fields = sorted(options.model_fields.items(), key=lambda item: not item[1].is_required())
    parameters = [_parameter(field, info, option_name(options, field)) for field, info in fields]
    called.__doc__ = options.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, **_SETTINGS)
    app.command(name)(called)
    return typer.main.get_command(app)


def options_of(function: Callable[..., Any]) -> "type[Options]":
    """Return the options that a function takes as its last parameter."""
    parameters = list(inspect.signature(function).parameters.values())
    options: type[Options] = parameters[-1].annotation
    return options


def _parameter(name: str, field: "FieldInfo", flag: str) -> inspect.Parameter:
    """Return an option for Typer; None means not given, the model parses numbers and choices."""
    from groundset.options import facts_of, value_types

    facts, types = facts_of(field), list(value_types(field.annotation))
    # A path would lose a slash of an address.
    kind: Any = next((each for each in (bool, Path) if each in types and str not in types), str)
    values = [each for each in types if isinstance(each, str)]
    values = values or [each.__name__ for each in (int, float) if each in types][:1]
    has_default = not (kind is bool or facts["argument"] or field.is_required())
    shown = facts["shown"] or (field.default if has_default else None)
    shared: dict[str, Any] = {
        "help": f"{field.description}{f'  [default: {shown}]' if shown not in _NOTHING else ''}",
        "metavar": facts["metavar"] or (f"<{'|'.join(values)}>" if values else None),
        "show_default": False,
    }
    info: Any = typer.Argument(**shared)
    if not facts["argument"]:
        names = f"{flag}/--no-{flag[2:]}" if kind is bool and field.default is not False else flag
        info = typer.Option(names, *filter(None, [facts["short"]]), **shared)
    kind = list[kind] if tuple in types else kind
    kind = kind if field.is_required() else kind | None
    missing = inspect.Parameter.empty if field.is_required() else None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=missing, annotation=Annotated[kind, info]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    privacy.own_process()
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):  # closed streams get a place to write to
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - open until the end
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    """Run a command; convert exceptions to one line and an exit status."""
    try:
        _refuse_empty(arguments)
        status = build_app()(arguments, prog_name=_PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:  # before a command runs
        return _fail("interrupted", _InterruptedError.exit_code)
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # Python flushes again at exit
        return _BROKEN_PIPE
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            return _BROKEN_PIPE
        raise
    except typer.Abort:
        return _fail("aborted", 1)
    except typer.TyperException as error:
        message = error.format_message()
        if not message.startswith("Usage: "):
            message = message[:1].lower() + message[1:].rstrip(".")
        return _fail(message, error.exit_code)
    except Exception as error:  # noqa: BLE001 - tracebacks are shown only with GROUNDSET_DEBUG
        if cause := wrapped(error):
            return _fail(str(cause), cause.exit_code)
        detail = str(error) or "no message"
        return _fail(
            f"unexpected {type(error).__name__}: {detail} (set GROUNDSET_DEBUG=1 for a traceback)",
            1,
        )
    return status if isinstance(status, int) else 0


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Refuse empty arguments, for example of an unset shell variable: as a path they mean the
    working directory.
    """
    for before, argument in itertools.pairwise([_PROGRAM, *arguments]):
        name, equals, value = argument.partition("=")
        if argument == "" or (name.startswith("--") and equals and not value):
            raise InputError(f"{name or before}: the value is empty; give one or omit it")


def _fail(message: str, status: int) -> int:
    if os.environ.get("GROUNDSET_DEBUG", "") not in ("", "0"):
        say_lines(traceback.format_exc(), err=True)
    if message.startswith("Usage: "):  # help of a group without a command
        say_lines(message, err=True)
    else:
        say(f"{_PROGRAM}: error: {' '.join(message.split())}", err=True)
    return status


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
