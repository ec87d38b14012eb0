"""Checks of ``--out``, and messages beside rows on standard output."""

import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from groundset.files import check_target, is_standard_output, is_stream
from groundset.printing import say
from programs.errors import InputError

SUFFIX = ".jsonl"


def check_out(out: Path, inputs: Iterable[Path] = (), *beside: Path) -> None:
    """Refuse a target of rows before any work is done for it; ask before an input is replaced.

    A stream may have any name, a file has to end with ``.jsonl``. ``beside`` are further files that will be written.

    Raises:
        InputError: it cannot be written, has another ending, or is one of the inputs and nobody agreed to that.
    """
    check_target(out)
    if is_stream(out):
        return
    if out.suffix.lower() != SUFFIX:
        raise InputError(f"--out {out}: the rows are JSON lines; give it a name that ends with {SUFFIX}")
    for each in beside:
        check_target(each)
    check_inputs(inputs, out, *beside)


def check_inputs(inputs: Iterable[Path], *targets: Path) -> None:
    """Ask before an input is replaced.

    Raises:
        InputError: a target is one of the inputs and nobody agreed to that.
    """
    given = list(inputs)
    for target in targets:
        if target.exists() and any(each.exists() and target.samefile(each) for each in given):
            _ask_to_replace(target)


def note(text: str, out: Path) -> None:
    """Print a line where it does not mix with rows on standard output."""
    say(text, err=is_standard_output(out))


def name_of(out: Path) -> str:
    """Return the name of a target for messages."""
    return "standard output" if is_standard_output(out) else str(out)


def _ask_to_replace(target: Path) -> None:
    if not sys.stdin.isatty():
        raise InputError(f"--out would replace the input {target}; name another file")
    if not typer.confirm(f"{target} is an input. Replace it?", err=True):
        raise InputError(f"{target} was left as it is; name another file with --out")


def print_store(uri: str, *, is_default: bool) -> None:
    """Print on standard error which tracking store is used, unless it is the default."""
    from groundset.printing import say
    from groundset.tracking.location import display_uri

    if not is_default:
        say(f"Tracking store: {display_uri(uri)}", err=True)
