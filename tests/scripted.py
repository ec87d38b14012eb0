"""A language model that answers from a script, behind DSPy's engine interface."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dspy
from dspy.lm15 import Message, Request, Response, Usage

from groundset.programs.step import STEPS

_OPENINGS = {name: str(spec.signature.instructions).split()[:6] for name, spec in STEPS.items()}
FIT = "Reason: fine\nContent: yes\nSelf contained: yes\nConfidence: 90"
Answer = str | Sequence[str] | Callable[[str], str]


def step_of(system: str | None) -> str:
    """Return the step that a request is from, by the first words of its system text."""
    words = str(system).split()[:6]
    return next((name for name, opening in _OPENINGS.items() if opening == words), "")


def user_turn(request: Request) -> str:
    """Return the text of the last message."""
    return "".join(part.text for part in request.messages[-1].parts)


def response(text: str, *, model: str = "m", logprobs: Any = None) -> Response:
    """Return what an engine answers with a text."""
    usage = Usage(input_tokens=1, output_tokens=len(text.split()), total_tokens=0)
    message = Message.assistant(text)
    return Response(
        id=None, model=model, message=message, finish_reason="stop", usage=usage, logprobs=logprobs
    )


class ScriptedEngine:
    """Answers each step with a text, with texts in turn (the last one stays), or by a function of
    the prompt.
    """

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = {"score": FIT, **answers}
        self.requests: list[tuple[str, Request]] = []

    def complete(self, request: Request) -> Response:
        name = step_of(request.system)
        before = sum(name == other for other, _ in self.requests)
        self.requests.append((name, request))
        answer = self.answers.get(name, "")
        if callable(answer):
            text = answer(user_turn(request))
        else:
            text = answer if isinstance(answer, str) else answer[min(before, len(answer) - 1)]
        return response(text, model=request.model)

    def steps(self) -> list[str]:
        """Return the steps that were called, in order; that every passage is scored is left out."""
        return [name for name, _ in self.requests if name != "score"]


def scripted_lm(answers: Mapping[str, Answer]) -> tuple[dspy.LM, ScriptedEngine]:
    """Return a language model that answers from a script, and its engine."""
    engine = ScriptedEngine(answers)
    return dspy.LM("local/scripted", engine=engine, cache=False), engine
