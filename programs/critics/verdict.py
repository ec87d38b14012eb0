"""The ``verdict`` critic: a model reads, gives its reason and then decides, in plain lines.

It needs no log-probabilities, so any server can serve it. One call decides all outputs of a step.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dspy.lm15 import Config, Message, Request

from programs.critics.base import Inputs
from programs.deciding import OVERALL

UNREADABLE = "the critic's answer cannot be read"
_TOKENS = 60  # for each output: a reason of some twenty words and the verdict
_AGAIN = {"temperature": 0.7, "seed": 1}  # of the second try, where nothing could be read
_SURE = 90  # per cent, where a model says yes or no without a number

# What careless readers miss. It belongs to the critic that reads, not to the signatures: heads and log-probabilities
# were fitted with these as they are.
_STRICT = {
    "judge": "Be strict; these faults are easily missed: a name, rule or thing that only the passage explains, or of "
    "which there could be several; a detail in the question that the passage does not bear out; a passage that "
    "speaks of the matter but does not say just what is asked; two things asked at once; a question that states its "
    "own answer. What the title names counts as known only if the question names it too. Do not ask for more than a "
    "user would need: a question may be short or long, plain or hard.",
    "grounding": "Be strict; these faults are easily missed: a neighbouring figure, date or name; a condition or a "
    "part that the question asks for and the answer leaves out; an answer to a neighbouring question, such as when "
    "for why; a detail that is plausible but not stated. A short answer, a changed word order or a sum that follows "
    "from stated figures is no fault.",
    "agree": "Other words for the same thing are the same. Another number, name, cause or condition is not.",
}


class VerdictCritic:
    """Ask for the outputs of a step in text and parse reasons and verdicts; nothing that is written is an error."""

    supports_decision_requests = True
    reads = True

    def __init__(self, step: str, lm: Any) -> None:
        """Make the critic of a step from the client of a language model."""
        self._step = step
        self._lm = lm

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Do nothing: there is nothing to embed."""

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return for each question its probability, or those of its levels, with the reason.

        Where nothing can be read, twice, every question is answered with no.
        """
        for sampling in ({"temperature": 0.0}, _AGAIN):
            response = self._lm(self._request(state, questions, sampling))
            if found := parse_verdicts(response.message.text or "", questions):
                return _complete(found, questions)
        return _complete({}, questions)

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the same, asynchronously."""
        for sampling in ({"temperature": 0.0}, _AGAIN):
            response = await self._lm.acall(self._request(state, questions, sampling))
            if found := parse_verdicts(response.message.text or "", questions):
                return _complete(found, questions)
        return _complete({}, questions)

    def _request(self, state: Mapping[str, Any], questions: Mapping[str, Any], sampling: Mapping[str, Any]) -> Request:
        turns = []
        for demo in state.get("demos", ()):
            shown = {field: demo[field] for field in state["inputs"] if field in demo}
            if shown and any(name in demo for name in questions):
                turns += [Message.user(_inputs(shown)), Message.assistant(_verdicts(demo, questions))]
        told = [str(state["instructions"]), *filter(None, [_STRICT.get(self._step)]), *criteria(questions)]
        config = Config(max_tokens=_TOKENS * len(questions), **sampling)
        turns.append(Message.user(_inputs(state["inputs"])))
        return Request(model=self._lm.model, system="\n".join(told), messages=tuple(turns), config=config)


def criteria(questions: Mapping[str, Any]) -> list[str]:
    """Return what is asked, a line for each question and the form of the answer: static text, so it stands first."""
    lines = [
        "Write one line for each of these, in this order: its name, a reason in a few words, then the verdict and how "
        'sure you are of it in per cent, as in "Clear: it asks for one date; yes, 95".'
    ]
    for name in sorted(questions, key=lambda name: name == OVERALL):  # what is said of the parts leads to the whole
        question = questions[name]
        told = question["instructions"]
        if question["type"] == "noul":
            known = question.get("criteria") or {}
            sides = [f"{word}: {known[key]}" for key, word in (("true", "yes"), ("false", "no")) if known.get(key)]
        else:
            sides = [f"{level + 1}: {text}" for level, text in enumerate(question.get("criteria") or ())]
        lines.append(f"{label_of(name)}: {told} ({' '.join(sides)})" if sides else f"{label_of(name)}: {told}")
    return lines


def label_of(name: str) -> str:
    """Return what a line about an output begins with."""
    return name.replace("_", " ").capitalize()


def parse_verdicts(text: str, questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what a text says of each question, those left out that it says nothing readable about."""
    found = {}
    for name, question in questions.items():
        line = re.search(rf"^\W*{re.escape(label_of(name))}\W*:\s*(.+)$", text, re.IGNORECASE | re.MULTILINE)
        said = line[1] if line else text if len(questions) == 1 else ""
        read = _noul(said) if question["type"] == "noul" else _level(said, len(question.get("criteria") or ()))
        if read is not None:
            found[name] = read
    return found


def _noul(said: str) -> dict[str, Any] | None:
    verdicts = list(re.finditer(r"\b(yes|no)\b\W*(?:(\d{1,3})\s*%?)?", said, re.IGNORECASE))
    if not verdicts:
        return None
    last = verdicts[-1]
    sure = min(100, int(last[2] or _SURE)) / 100
    probability = sure if last[1].casefold() == "yes" else 1 - sure
    return {"noul": probability, "reason": said[: last.start()].strip(" ;:,.-–")}


def _level(said: str, count: int) -> dict[str, Any] | None:
    levels = [int(digit) - 1 for digit in re.findall(r"\b(\d)\b(?!\s*\d*%)", said) if 0 < int(digit) <= count]
    if not levels:
        return None
    probabilities = {str(level): float(level == levels[-1]) for level in range(count)}
    return {"probabilities": probabilities, "confidence": 1.0}


def _complete(found: dict[str, dict[str, Any]], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return an answer to every question: where others were read, one that was not is undecided, else refused."""
    undecided = 0.5 if found else 0.0
    for name, question in questions.items():
        if name in found:
            continue
        if question["type"] == "noul":
            found[name] = {"noul": undecided, "reason": UNREADABLE}
        else:
            count = len(question.get("criteria") or ())
            found[name] = {"probabilities": {str(level): 1 / count for level in range(count)}, "confidence": 0.0}
    return found


def _inputs(values: Mapping[str, Any]) -> str:
    return "\n".join(f"{label_of(name)}: {value}" for name, value in values.items() if value)


def _verdicts(demo: Mapping[str, Any], questions: Mapping[str, Any]) -> str:
    lines = []
    for name in questions:
        if name in demo:
            value, why = demo[name] if isinstance(demo[name], tuple | list) else (demo[name], "")
            told = ("yes, 95" if value else "no, 95") if isinstance(value, bool) else str(value)
            lines.append(f"{label_of(name)}: {why.rstrip('.')}; {told}" if why else f"{label_of(name)}: {told}")
    return "\n".join(lines)
