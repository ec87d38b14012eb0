"""Count the files and functions of the project that an option and a question pass through.

    python benchmarks/ways.py

Counted with ``sys.setprofile`` over the project's own files: the functions that are on the stack when the chunker is
entered with `--chunk-size` (in the process of the command, and in that which reads a file), and all functions that run
between the completion of a question and its attempt in run.sqlite, without those that show progress. The language
model is scripted.
"""

import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from groundset.files import data_path

_ROOT = str(Path(__file__).parents[1])
Function = tuple[str, str]


def function_of(frame: FrameType) -> Function | None:
    """Return the file and name of a frame of the project; None for others and for comprehensions."""
    file, name = frame.f_code.co_filename, frame.f_code.co_qualname
    is_own = file.startswith(_ROOT) and "/.venv/" not in file and "/benchmarks/" not in file
    return (file.removeprefix(_ROOT + "/"), name) if is_own and not name.endswith(">") else None


def on_stack(entered: Function, call: Callable[[], object]) -> set[Function]:
    """Return the project's functions that are on the stack, in any thread, when a function is first entered."""
    found: set[Function] = set()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if event == "call" and not found and function_of(frame) == entered:
            here: FrameType | None = frame
            while here is not None:
                if (function := function_of(here)) is not None:
                    found.add(function)
                here = here.f_back

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        with suppress(SystemExit):
            call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def show(what: str, functions: set[Function]) -> None:
    """Print how many files and functions there are, and which."""
    files = sorted({file for file, _ in functions})
    print(f"{what}: {len(files)} files, {len(functions)} functions")
    for file in files:
        print(f"  {file}: {', '.join(sorted(name for each, name in functions if each == file))}")


def main() -> None:
    """Print the way of `--chunk-size`."""
    from groundset.cli import main as command
    from groundset.corpus.read import read_document

    file = data_path("samples", "tidepool-job-queue.md")
    with tempfile.TemporaryDirectory() as place:
        arguments = ["chunk", str(file), "--chunk-size", "500", "--out", str(Path(place, "chunks.jsonl"))]
        here = on_stack(("groundset/corpus/read.py", "read_files"), lambda: command(arguments))
    request = {"path": str(file), "name": file.name, "cut": ("recursive", 500, 0, 1, 200)}
    there = on_stack(("groundset/corpus/cutting/chunkers.py", "split"), lambda: read_document(request))
    show("--chunk-size from the command line to the chunker", here | there)


if __name__ == "__main__":
    main()
