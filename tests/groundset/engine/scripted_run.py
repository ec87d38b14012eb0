"""A run with scripted language model, embedder, critic and program. As a script, a process for tests to kill."""

import functools
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import dspy
import numpy as np
from dspy.lm15 import Message, Request, Response, Usage

from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.engine.models import Openers
from groundset.engine.stop import quit_hard
from groundset.runtime.journal import digest_of
from groundset.runtime.lms import LanguageModel
from programs.errors import EngineError
from programs.recipes import RECIPES
from programs.recipes.base import LazyKeys, Material, Past
from programs.tools import Tools
from programs.types import Attempt, Context, Draft, Observer, Outcome, Reject, Retriever, StepRecord

CALLS_PER_ATTEMPT = 3


class ScriptedEngine:
    """Returns the digest of the request, after appending it to a log file."""

    def __init__(self, log: Path | None = None, seconds: float = 0.0) -> None:
        self._log = log
        self._seconds = seconds
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        digest = digest_of(request)
        if self._log is not None:
            with self._lock, self._log.open("a") as stream:
                stream.write(digest + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        if self._seconds:
            time.sleep(self._seconds)
        usage = Usage(input_tokens=10, output_tokens=3, total_tokens=13, cache_read_tokens=6)
        return Response(
            id=None, model=request.model, message=Message.assistant(digest), finish_reason="stop", usage=usage
        )


class StoppingEngine(ScriptedEngine):
    """Raises an error on every call after the first ``calls``."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.left = calls

    def complete(self, request: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise EngineError("stopped")
        return super().complete(request)


def lm_opener(engine: Any, sha256: str = "e" * 64) -> Any:
    def open_lm(spec: str, *, journal: Any, workers: int, verbose: bool, **_: Any) -> LanguageModel:
        return LanguageModel(engine, model="scripted/lm", name=spec, sha256=sha256, journal=journal)

    return open_lm


class Encoder:
    """Embeds a text as the hashes of its words."""

    sha256 = "f" * 64
    dimension = 64

    def __init__(self, name: str) -> None:
        self.name = name
        self.encoded = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            self.encoded += 1
            for word in text.casefold().split():
                row[int(hashlib.md5(word.encode()).hexdigest(), 16) % 64] += 1
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(norms, norms, 1), dtype=np.float32)

    def encode_corpus(self, texts: Sequence[str], *, on_done: Callable[[int], None] | None = None) -> np.ndarray:
        rows = self.encode(texts)
        if on_done:
            on_done(len(texts))
        return rows


class Critic:
    """Rates every chunk as good."""

    supports_decision_requests = True

    def embed_ahead(self, rows: Any) -> None: ...

    def __call__(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        levels = {"probabilities": {"0": 0.0, "1": 0.5, "2": 0.5}, "confidence": 0.0}
        return {name: {"noul": 0.9} if question["type"] == "noul" else levels for name, question in questions.items()}


CRITICS = dict.fromkeys(("chunk", "judge", "same", "grounding"), Critic())


class Say(dspy.Signature):
    """Say something about a chunk."""

    chunk: str = dspy.InputField()
    round: int = dspy.InputField()
    number: int = dspy.InputField()
    words: str = dspy.OutputField()


class ScriptedProgram(dspy.Module):
    """Makes a few calls, and derives a draft, a fallback or a reject from the answers."""

    def __init__(self, retriever: Retriever, calls: int = CALLS_PER_ATTEMPT, seconds: float = 0.0) -> None:
        super().__init__()
        self.say = dspy.Predict(Say)
        self.retriever = retriever
        self.calls = calls
        self.seconds = seconds

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        texts = []
        chunk = attempt.contexts[0].chunk
        for number in range(self.calls):
            words = self.say(chunk=chunk.chunk_id, round=attempt.round, number=number).words
            texts.append(words)
            observer(StepRecord(step="question", candidate=number, output={"question": words}))
            if self.seconds:
                time.sleep(self.seconds)
        drawn = int(hashlib.sha256("".join((*texts, attempt.wanted)).encode()).hexdigest(), 16)
        question = f"What is {drawn % 10**6} of {chunk.title}?" if drawn % 9 else "What is always asked?"

        def draft(evolution: Any) -> Draft:
            return Draft(
                question=question,
                answer="answer",
                evolution=evolution,
                contexts=(chunk,),
                relevant=((chunk.chunk_id,),),
                retrieval=self.retriever.rank(question, ((chunk.chunk_id,),)),
                probability=0.5 + (drawn % 100) / 200,
                trail=(StepRecord(step="question", output={"question": question}),),
            )

        reject = Reject(step="judge", reason="not independent", chunk_id=chunk.chunk_id, question=question)
        kind, exhausted = drawn % 4, drawn % 5 == 0
        if kind == 0:
            return Outcome(rejects=(reject,), exhausted=exhausted)
        if kind == 1:
            return Outcome(drafts=(draft(attempt.wanted),), exhausted=exhausted)
        return Outcome(drafts=(draft("simple"),), rejects=(reject,), exhausted=exhausted)


class EveryChunk:
    """Offers every chunk in every round: for all evolutions in the first, for simple questions later."""

    rounds = 5
    counts: ClassVar[dict[str, int]] = {}

    def __init__(self, contexts: Sequence[Context], kinds: Sequence[str]) -> None:
        self._left = (context for context in contexts)
        self._contexts: dict[str, tuple[Context]] = {}
        self._kinds = kinds
        self.keys = LazyKeys(self._next)

    def _next(self) -> str | None:
        context = next(self._left, None)
        if context is None:
            return None
        self._contexts[context.chunk.chunk_id] = (context,)
        return context.chunk.chunk_id

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> dict[str, tuple[Context, ...]]:
        if any(entry.exhausted for entry in past):
            return {}
        return dict.fromkeys(self._kinds[: 1 if round_ else None], self._contexts[key])


def _agenda(material: Material, options: Any, size: int) -> EveryChunk:
    return EveryChunk(material.contexts, [kind for kind in options.mix if options.mix[kind]])


def scripted_recipe(make: Any = None, **options: Any) -> Any:
    """Return ``evolved`` with a scripted program and agenda."""

    def program(tools: Tools, given: Any) -> Any:
        return (make or ScriptedProgram)(tools.retriever, **options)

    return replace(RECIPES["evolved"], program=program, agenda=_agenda)


def write_documents(folder: Path, documents: int = 5, paragraphs: int = 4) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(documents):
        words = [f"word{number}{paragraph}{place}" for paragraph in range(paragraphs) for place in range(30)]
        lines = [" ".join(words[start : start + 30]) + "." for start in range(0, len(words), 30)]
        (folder / f"doc{number}.md").write_text(f"# Title {number}\n\n" + "\n\n".join(lines) + "\n")
    return folder


def generate(
    docs: Path,
    out: Path,
    engine: Any = None,
    *,
    recipe: Any = None,
    progress: Any = None,
    again: Any = None,
    **options: Any,
) -> RunResult:
    given = {"documents": (docs,), "size": 8, "chunk_size": 300, "min_length": 50, **options}
    return run_generation(
        make_config(given),
        out,
        progress=progress,
        again=again,
        openers=Openers(lm_opener(engine or ScriptedEngine()), Encoder, lambda spec, **parts: CRITICS),
        recipe=recipe or scripted_recipe(),
    )


def scripted_generation(engine: Any = None) -> Any:
    """Return a replacement for ``groundset.engine.making.run_generation``."""
    openers = Openers(lm_opener(engine or ScriptedEngine()), Encoder, lambda spec, **parts: CRITICS)
    return functools.partial(run_generation, openers=openers, recipe=scripted_recipe())


def main() -> None:
    docs, out, log, seconds, workers, size = sys.argv[1:]
    engine = ScriptedEngine(Path(log), float(seconds))
    result = generate(Path(docs), Path(out), engine, again=quit_hard, workers=int(workers), size=int(size))
    print(result.ending, flush=True)
    for line in result.summary:
        print(line)
    sys.exit(128 + result.signal if result.signal else 0)


if __name__ == "__main__":
    main()
