"""Measure the phases before the first call of the language model.

    python benchmarks/preparation.py [DOCS] [--chunks N] [--mode guided] [--first]

Without ``DOCS``, the documents are copies of the sample documents with changed names and numbers. Embedder, parser and
critics are real; the language model is scripted and stops the run when it is called. Processor seconds are those of
this process and the processes that it has ended. With ``--first``, all chunks are prepared before the first attempt.
"""

import time

STARTED = time.perf_counter()

import argparse  # noqa: E402 - the time of imports is included
import os  # noqa: E402
import re  # noqa: E402
import tempfile  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from itertools import pairwise  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from groundset import privacy  # noqa: E402

privacy.set_defaults()

from groundset.corpus.corpus import build_corpus  # noqa: E402
from groundset.data_files import data_path  # noqa: E402
from groundset.engine import assembly  # noqa: E402
from groundset.engine.config import make_config  # noqa: E402
from groundset.engine.generation import run_generation  # noqa: E402
from groundset.engine.models import Openers  # noqa: E402
from groundset.progress import Progress  # noqa: E402
from groundset.runtime.lms import LanguageModel  # noqa: E402

_VOWELS, _CONSONANTS = "aeiou", "bdfgklmnprst"
_WORD = re.compile(r"[^\W\d_]+|\d+")


class FirstCall(BaseException):
    """The language model was called."""


class StoppingEngine:
    """An engine that stops the run."""

    def __init__(self, on_call: Callable[[], None]) -> None:
        self._on_call = on_call

    def complete(self, request: Any) -> Any:  # noqa: ARG002
        """Raise ``FirstCall``."""
        self._on_call()
        raise FirstCall


class Phases(Progress):
    """Record the start of each phase."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.marks: list[tuple[str, float]] = []
        self.chunks = ""

    def mark(self, phase: str) -> None:
        """Record the start of a phase, unless it has started."""
        if phase not in dict(self.marks):
            self.marks.append((phase, time.perf_counter()))

    def note(self, message: str) -> None:
        """Recognise the start of parsing, and the number of chunks."""
        if message.startswith("Reading ") and message.endswith(".md"):
            self.mark("parsing and splitting documents")
        elif " chunks from " in message:
            self.chunks = message.split(" (")[0]

    def start(self, **figures: Any) -> None:
        """Record the first attempt."""
        self.mark("first attempt")
        super().start(**figures)

    @contextmanager
    def phase(self, doing: str, total: int) -> Iterator[Callable[[int], None]]:
        """Record a phase."""
        self.mark(f"{doing.lower()} ({total:,})")
        with super().phase(doing, total) as advance:
            yield advance

    @contextmanager
    def background(self, doing: str, total: int) -> Iterator[Callable[[int], None]]:
        """Record a phase that may go on while attempts run."""
        self.mark(f"{doing.lower()} ({total:,})")
        with super().background(doing, total) as advance:
            yield advance


def altered(text: str, copy: int, names: set[str]) -> str:
    """Return a text with names and numbers that depend on the number of the copy."""
    table: dict[str, str | int | None] = {
        letter: letters[(index + (copy if letters is _VOWELS else copy // len(_VOWELS))) % len(letters)]
        for letters in (_VOWELS, _CONSONANTS)
        for index, letter in enumerate(letters)
    }

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        if word.isdigit():
            return str(int(word) + copy).zfill(len(word))
        return word[0] + word[1:].translate(str.maketrans(table)) if word in names else word

    return _WORD.sub(replace, text)


def write_documents(folder: Path, chunks: int) -> None:
    """Write documents with about so many chunks."""
    samples = build_corpus([data_path("samples")])
    words = [word for document in samples.documents for word in _WORD.findall(document.text)]
    lower = {word for word in words if word.islower()}
    names = {word for word in words if word[0].isupper() and len(word) > 3 and word.lower() not in lower}
    for copy in range(max(1, round(chunks / len(samples.chunks)))):
        for document in samples.documents:
            text = altered(document.text, copy, names)
            (folder / f"{document.doc_id}-{copy}.md").write_text(text, encoding="utf-8")


def main() -> None:
    """Print the seconds of each phase."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docs", type=Path, nargs="?")
    parser.add_argument("--chunks", type=int, default=500)
    parser.add_argument("--mode", choices=("free", "guided"), default="free")
    parser.add_argument("--first", action="store_true")
    arguments = parser.parse_args()
    progress = Phases()
    if arguments.first:
        assembly.MIN_IN_BACKGROUND = 10**9

    def open_stopping(spec: str, *, journal: Any, **_: object) -> LanguageModel:
        engine = StoppingEngine(lambda: progress.mark("first call"))
        return LanguageModel(engine, model="scripted/lm", name=spec, sha256="1" * 64, journal=journal)

    with tempfile.TemporaryDirectory() as name:
        docs = arguments.docs or Path(name, "docs")
        imported, used = time.perf_counter(), sum(os.times()[:4])
        if arguments.docs is None:
            docs.mkdir()
            write_documents(docs, arguments.chunks)
        made, unused = time.perf_counter(), sum(os.times()[:4]) - used
        config = make_config({"documents": (docs,), "lm": "scripted", "mode": arguments.mode})
        progress.marks.append(("loading", STARTED + made - imported))
        try:
            run_generation(config, Path(name, "run"), progress=progress, verbose=True, openers=Openers(open_stopping))
        except FirstCall:
            progress.mark("the end")
    print(progress.chunks)
    marks = progress.marks[: [phase for phase, _ in progress.marks].index("first call") + 1]
    for (phase, start), (_, end) in pairwise(marks):
        print(f"{end - start:8.1f} s  {phase}")
    print(f"{marks[-1][1] - marks[0][1]:8.1f} s  before the first call")
    print(f"{sum(os.times()[:4]) - unused:8.1f} s  of processors, until the run had ended")


if __name__ == "__main__":
    main()
