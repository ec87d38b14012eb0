"""Make one sample with a scripted model; run by an interpreter with groundset installed from the wheel.

Arguments: the document, the run folder.
"""

import sys
from pathlib import Path

import numpy as np
from dspy.lm15 import Message, Response, Usage

from groundset.engine.config import make_config
from groundset.engine.generation import run_generation
from groundset.engine.models import Openers
from groundset.runtime.lms import LanguageModel
from programs.steps import STEPS
from signatures.answer import AnswerQuestion

QUESTION = "In which year did the ferry Henn first cross Tollvik Sound?"
ANSWER = "1931"


class ScriptedEngine:
    """Return one question and its answer."""

    def complete(self, request):
        is_answer = " ".join(AnswerQuestion.instructions.split()) == request.system
        short = is_answer or "phrase" in request.system.lower()
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant(ANSWER if short else QUESTION),
            finish_reason="stop",
            usage=Usage(input_tokens=10, output_tokens=5, total_tokens=15),
        )


class Embedder:
    """Count letters."""

    name, sha256, dimension, tokenizer = "letters", "0" * 64, 26, None

    def encode(self, texts):
        rows = [[1 + text.lower().count(chr(97 + letter)) for letter in range(26)] for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(-1, 26)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    encode_corpus = encode


class Critic:
    """Accept everything."""

    supports_decision_requests = True

    def embed_ahead(self, rows):
        """Do nothing."""

    def __call__(self, state, questions):
        return {name: self.decide(question) for name, question in questions.items()}

    def decide(self, question):
        if question["type"] == "noul":
            return {"noul": 0.9}
        levels = len(question["criteria"])
        return {"probabilities": {str(level): 1 / levels for level in range(levels)}, "confidence": 0.5}


def open_lm(spec, *, journal, **options):
    """Return a real language model object over the scripted engine."""
    return LanguageModel(ScriptedEngine(), model="local/scripted", name=spec, sha256="1" * 64, journal=journal)


def main() -> None:
    """Generate a run and print its status."""
    document, out = map(Path, sys.argv[1:])
    config = make_config(
        {"mode": "guided", "documents": (document,), "size": 1, "mix": "simple=1", "candidates": 1, "lm": "scripted"}
    )
    embedder, critic = Embedder(), Critic()
    result = run_generation(
        config,
        out,
        openers=Openers(open_lm, lambda spec: embedder, lambda spec, **parts: dict.fromkeys(STEPS, critic)),
    )
    sys.stdout.write(f"{result.ending}\n")


if __name__ == "__main__":
    main()
