"""Count the files and functions of the project that an option and a question pass through.

    python benchmarks/ways.py

Counted with ``sys.setprofile`` over the project's own files: the functions that are on the stack when the chunker is
entered with `--chunk-size` (in the process of the command, and in that which reads a file); and those that run between
the completion of a question and its row in samples.jsonl, in a run of one sample. Functions that show progress, and the
preparing of chunks beside it, are left out. The language model is a scripted server.
"""

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from groundset.files import data_path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from model_server import serving

_ROOT = str(Path(__file__).parents[1])
_BESIDE = ("groundset/printing.py", "groundset/run/preparing.py", "groundset/retrieval/embed.py")
_PASSAGE = (
    "The Orrin 5 pump lifts 40 litres a minute from a well of nine metres. Its seal is a part that wears: it lasts "
    "about two years, and a new one costs 34 crowns and is fitted by the dealer within a week. Before winter the pump "
    "has to be emptied through the screw at its foot, because water that freezes in it breaks the housing."
)
_QUESTION, _ANSWER = "How much does a new seal for the Orrin 5 pump cost?", "34 crowns"
_COMPLETIONS = {
    "Write one question that a user": f"Form: simple\nKind: fact\nQuestion: {_QUESTION}\nAnswer: {_ANSWER}\n"
    f"Evidence: - a new one costs {_ANSWER}",
    "Decide whether a careful editor": f"Reason: It names the pump.\nAnswer: {_ANSWER}\nIndependent: yes\nClear: yes\n"
    "Answerable: yes\nConfidence: 95",
}
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

    with profiling(profile):
        call()
    return found


@contextmanager
def profiling(profile: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    """Call a function at each call and return of a block, in all threads."""
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        with suppress(SystemExit):
            yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def entered_after(
    begun: threading.Event, ended: Callable[[], bool], call: Callable[[], object]
) -> tuple[set[Function], set[Function]]:
    """Return the project's functions that run, in any thread, between two events, and those that hold the question.

    A function holds it if one of its variables is a text with the question in it, a list of such texts, the sample, or
    what has the sample.
    """
    found: set[Function] = set()
    holding: set[Function] = set()
    is_over = threading.Event()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if event != "return" or not begun.is_set() or is_over.is_set():
            return
        if (function := function_of(frame)) is not None and not function[0].startswith(_BESIDE):
            found.add(function)
            if any(map(_holds, frame.f_locals.values())):
                holding.add(function)
            if ended():
                is_over.set()

    with profiling(profile):
        call()
    return found, holding


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return _QUESTION in value
    if isinstance(value, list | tuple) and any(isinstance(each, str) and _QUESTION in each for each in value):
        return True
    sample = getattr(getattr(value, "result", value), "sample", value)
    return bool(getattr(sample, "question", None) == _QUESTION)


def answer(begun: threading.Event, body: dict[str, Any]) -> str:
    """Return the completion of a request, and set an event when it is the question."""
    text = json.dumps(body)
    opening = next((opening for opening in _COMPLETIONS if opening in text), "")
    if opening == next(iter(_COMPLETIONS)):
        begun.set()
    return _COMPLETIONS.get(opening, "none")


def show(what: str, functions: set[Function]) -> None:
    """Print how many files and functions there are, and which."""
    files = sorted({file for file, _ in functions})
    print(f"{what}: {len(files)} files, {len(functions)} functions")
    for file in files:
        print(f"  {file}: {', '.join(sorted(name for each, name in functions if each == file))}")


def main() -> None:
    """Print the way of `--chunk-size`, and that of a question."""
    from groundset.cli import main as command
    from groundset.corpus.read import read_document

    file = data_path("samples", "tidepool-job-queue.md")
    with tempfile.TemporaryDirectory() as place:
        arguments = ["chunk", str(file), "--chunk-size", "500", "--out", str(Path(place, "chunks.jsonl"))]
        here = on_stack(("groundset/corpus/read.py", "read_files"), lambda: command(arguments))
    request = {"path": str(file), "name": file.name, "cut": {"chunk_size": 500}}
    there = on_stack(("groundset/corpus/chunkers.py", "split"), lambda: read_document(request))
    show("--chunk-size from the command line to the chunker", here | there)

    os.environ.setdefault("GROUNDSET_API_KEY", "none")
    asked = threading.Event()
    with tempfile.TemporaryDirectory() as place, serving(partial(answer, asked)) as server:
        document, out = Path(place, "orrin.md"), Path(place, "run")
        document.write_text(f"# Orrin pumps\n\n{_PASSAGE}\n", encoding="utf-8")
        arguments = ["generate", str(document), "--out", str(out), "--lm", server.spec, "--size", "1"]
        arguments += ["--mix", "simple=1", "--quiet", "--no-track"]
        entered, holding = entered_after(asked, (out / "samples.jsonl").exists, lambda: command(arguments))
        if not (out / "samples.jsonl").read_text(encoding="utf-8"):
            sys.exit("no question was accepted")
    show("all that runs from the completion of a question to samples.jsonl", entered)
    show("of it what holds the question", holding)


if __name__ == "__main__":
    main()
