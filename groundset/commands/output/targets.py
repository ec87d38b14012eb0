"""Checks of ``--out``, and messages that do not mix with rows on standard output."""

import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from groundset.files import check_target, is_standard_output, is_stream
from groundset.printing import say
from programs.errors import InputError

SUFFIX = ".jsonl"


def check_out(out: Path, inputs: Iterable[Path] = (), *beside: Path) -> None:
    """Check a target of rows before any work is done; ask before replacing an input.

    Files must end with ``.jsonl``; streams may have any name. ``beside`` are further files to be written.

    Raises:
        InputError: the target cannot be written, has another suffix, or is an input that must not be replaced.
    """
    check_target(out)
    if is_stream(out):
        return
    if out.suffix.lower() != SUFFIX:
        raise InputError(f"--out {out}: the name of a JSON lines file must end with {SUFFIX}")
    for file in beside:
        check_target(file)
    check_inputs(inputs, out, *beside)


def check_inputs(inputs: Iterable[Path], *targets: Path) -> None:
    """Ask before replacing an input.

    Raises:
        InputError: a target is an input that must not be replaced.
    """
    existing = [file for file in inputs if file.exists()]
    for target in targets:
        if target.exists() and any(map(target.samefile, existing)):
            _ask_to_replace(target)


def note(text: str, out: Path) -> None:
    """Print a line, on standard error if the rows go to standard output."""
    say(text, err=is_standard_output(out))


def name_of(out: Path) -> str:
    """Return the name of a target for messages."""
    return "standard output" if is_standard_output(out) else str(out)


def _ask_to_replace(target: Path) -> None:
    if not sys.stdin.isatty():
        raise InputError(f"--out {target}: is an input; name another file")
    if not typer.confirm(f"{target} is an input. Replace it?", err=True):
        raise InputError(f"--out {target}: not replaced; name another file")


def print_store(uri: str, *, is_default: bool) -> None:
    """Print on standard error which tracking store is used, unless it is the default."""
    from groundset.printing import say
    from groundset.tracking.location import display_uri

    if not is_default:
        say(f"Tracking store: {display_uri(uri)}", err=True)
