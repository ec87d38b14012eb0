"""Invented labels, and a judge that is better the more its prompt shows."""

from pathlib import Path
from typing import Any

from dspy.lm15 import Request, Response
from json_lines import write as write
from scripted import ScriptedEngine, response, user_turn

from groundset import labelling
from groundset.cli import main

PASSAGE = "The weir at Ebbing was built in 1891 by the miller Jonas Alder. It is 40 metres long."
FACT = "The weir at Ebbing was built in 1891 by the miller Jonas Alder."
ASKED = (
    "Form: simple\nKind: fact\nQuestion: Who built the weir at Ebbing?\nAnswer: Jonas Alder\n"
    "Evidence: built in 1891 by the miller Jonas Alder"
)
KEPT = (
    "Reason: fine\nAnswer: {answer}\nIndependent: yes\nClear: yes\nAnswerable: yes\nConfidence: 90"
)
REFUSED = (
    "Reason: vague\nAnswer: not stated\nIndependent: no\nClear: yes\nAnswerable:"
    " yes\nConfidence: 10"
)


def question(number: int, *, good: bool, split: str) -> dict[str, Any]:
    """Return a question label: good ones name the weir, bad ones are vague."""
    asked = f"Who built the weir at Ebbing ({number})?" if good else f"Who built it ({number})?"
    answer = {"answer": {"text": "Jonas Alder", "label": "correct"}} if good else {}
    return {
        "id": f"q{number}",
        "document": f"{split}-{number % 4}",
        "split": split,
        "passage": PASSAGE,
        "question": asked,
        "label": "good" if good else "bad",
        "reason": "ok" if good else "vague",
        "explanation": "so it is",
        **answer,
    }


def questions(of_split: int = 12) -> list[dict[str, Any]]:
    """Return labels of all splits, half of them good; of a bad one the answer is not known."""
    splits = ("train", "dev", "test")
    return [
        question(place * 100 + number, good=number % 2 == 0, split=split)
        for place, split in enumerate(splits)
        for number in range(of_split)
    ]


def golds(of_split: int) -> list[dict[str, Any]]:
    """Return good chunks of all splits, and gold rows of what can be asked about each."""
    asked = {"question": "Who built the weir at Ebbing?", "answer": "Jonas Alder"}
    written = {"forms": ["simple: ask"], "answers": "in few words", "evidence": ["Jonas Alder"]}
    written |= {"step": "ask", "form": "simple", "kind": "fact"}
    rows = []
    for split in ("train", "dev", "test"):
        for number in range(of_split):
            place = {"document": f"{split}{number % 2}", "split": split, "topic": "Ebbing"}
            passage = f"{PASSAGE} It has {number} gates."
            chunk = {"id": f"{split}{number}", "text": passage, "label": "good", "reason": "ok"}
            about = {**place, **asked, "passage": passage}
            rows += [
                {**place, **chunk},
                {**about, **written, "id": f"{split}-a{number}"},
                {**about, "step": "fact", "fact": FACT, "id": f"{split}-f{number}"},
            ]
    return rows


def command(arguments: list[str], labels: Path) -> None:
    """Run a command in a process of its own, with labels in place of the shipped ones."""
    labelling.shipped_files = lambda: [labels]
    main(arguments)


class Judge(ScriptedEngine):
    """Keeps every question, until its prompt has the ``word``, or as many demos as ``least``."""

    def __init__(self, *, word: str = "STRICT", least: int = 99, **answers: Any) -> None:
        super().__init__(answers)
        self.word, self.least = word, least

    def complete(self, request: Request) -> Response:
        asked = user_turn(request)
        if "Independent:" not in str(request.system):
            return super().complete(request)
        self.requests.append(("judge", request))
        able = self.word in str(request.system) or len(request.messages) > 2 * self.least
        text = (
            REFUSED
            if able and "built it" in asked.rsplit("Question:", 1)[-1]
            else KEPT.format(answer="Jonas Alder")
        )
        return response(text, model=request.model)
