"""Measure the overhead of the framework: steps per second and memory, with a scripted generator.

    python benchmarks/overhead.py [--steps N]

The language model, the embedder and the critic are scripted; the recipe, the adapter, the call journal and the SQLite
store are real. One worker, one core.
"""

import argparse
import hashlib
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from dspy.lm15 import Message, Request, Response, Usage

from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.progress import Progress
from groundset.runtime.journal import CallJournal
from groundset.runtime.lms import LanguageModel
from programs.steps import STEPS

_DIMENSION = 64


class InstantEngine:
    """Answer every request immediately with texts that are never accepted."""

    def complete(self, request: Request) -> Response:
        """Return a text that passes all steps before ``answer``."""
        system = str(request.system)
        last = request.messages[-1].text or ""
        text = "not stated"
        if system.startswith("List three"):
            text = "; ".join(last.split()[-4:])
        elif system.startswith("Write one"):
            text = f"What is {hashlib.md5(last.encode()).hexdigest()} called?"
        usage = Usage(input_tokens=300, output_tokens=9, total_tokens=309, cache_read_tokens=200)
        return Response(
            id=None, model=request.model, message=Message.assistant(text), finish_reason="stop", usage=usage
        )


class InstantEncoder:
    """Embed texts as pseudo-random vectors."""

    sha256 = "0" * 64
    dimension = _DIMENSION

    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector for each text."""
        rows = [np.frombuffer(hashlib.sha512(text.encode()).digest(), dtype=np.uint8) for text in texts]
        vectors = np.asarray(rows, dtype=np.float32).reshape(len(texts), _DIMENSION) - 127.5
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def encode_corpus(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the same."""
        return self.encode(texts)


class AgreeableCritic:
    """Accept everything."""

    supports_decision_requests = True

    def embed_ahead(self, rows: Sequence[Mapping[str, str]]) -> None:
        """Do nothing."""

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, Any]:
        """Return a probability of 0.9 for every question."""
        del state
        return {
            name: {"noul": 0.9}
            if question["type"] == "noul"
            else {"probabilities": {"0": 0.0, "1": 0.1, "2": 0.9}, "confidence": 0.8}
            for name, question in questions.items()
        }


def open_instant(spec: str, *, journal: CallJournal, **_: object) -> LanguageModel:
    """Return the scripted language model with the journal of the run."""
    return LanguageModel(InstantEngine(), model="scripted/lm", name=spec, sha256="1" * 64, journal=journal)


def open_agreeable(*_: object, **__: object) -> dict[str, AgreeableCritic]:
    """Return the scripted critic for every step that decides."""
    return dict.fromkeys(STEPS, AgreeableCritic())


def documents(folder: Path, attempts: int) -> None:
    """Write one document with one chunk for each attempt."""
    for number in range(attempts):
        digest = hashlib.sha1(str(number).encode()).hexdigest()
        sentences = [
            f"The Harbour Office of {digest[at : at + 9].title()} counted {number + at} Ships in {1500 + at}."
            for at in range(0, 24, 4)
        ]
        (folder / f"{number:06}.txt").write_text(" ".join(sentences), encoding="utf-8")


def resident_mib() -> float:
    """Return the current memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def main() -> None:
    """Print steps per second, and memory during the run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50_000)
    arguments = parser.parse_args()
    marks: list[tuple[int, float, float]] = []

    class Gauge(Progress):
        """Counts the steps of the run."""

        steps = 0

        def step(self, record: Any) -> None:
            """Record time and memory at every thousandth step."""
            super().step(record)
            self.steps += 1
            if self.steps % 1000 == 0:
                marks.append((self.steps, time.perf_counter(), resident_mib()))

    with tempfile.TemporaryDirectory() as name:
        docs, out = Path(name, "docs"), Path(name, "run")
        docs.mkdir()
        documents(docs, max(20, arguments.steps // 30))
        config = make_config({"documents": (docs,), "size": 10**6, "mix": "simple=1", "min_length": 0, "max_rank": 0})
        run_generation(
            config,
            out,
            progress=Gauge(quiet=True),
            openers=Openers(open_instant, InstantEncoder, open_agreeable),
        )
        with sqlite3.connect(out / "run.sqlite") as connection:
            [(stored,)] = connection.execute("select count(*) from steps").fetchall()
        calls = json.loads((out / "run.json").read_text(encoding="utf-8"))
    print(f"steps stored: {stored}; accepted: {calls.get('accepted', 0)}")
    (first, start, _), (last, end, _) = marks[0], marks[-1]
    print(f"{(last - first) / (end - start):.0f} steps a second")
    for steps, _, memory in marks[:: max(1, len(marks) // 6)]:
        print(f"{steps:>8} steps  {memory:>7.0f} MiB")


if __name__ == "__main__":
    main()
