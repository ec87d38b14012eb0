"""The ``verdict`` critic: a language model says why, and then decides, in one call for all that a step asks."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dspy.lm15 import Config, Message, Request

from programs.critics.base import Inputs
from programs.critics.logprobs import label_of, labels_of
from programs.deciding import OVERALL, UNREADABLE
from programs.steps import STEPS

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_EDGES = " \t\"'“”*_`|.,;:-–—()[]<>="
_LONGEST = 300  # characters of a reason: it is shown to who reads rejects, and to the model that rewrites a question
_UNSAID = 80  # how sure a model counts as that says no number


class ReadLine(NamedTuple):
    """One line that was read: reason and verdict.

    Attributes:
        label: one of the labels that were offered.
        sure: from 0 to 100.
        reason: why, in a sentence; it may be empty.
    """

    label: str
    sure: int
    reason: str


def read_lines(text: str, offered: Mapping[str, Sequence[str]]) -> dict[str, ReadLine]:
    """Return what a completion says under each title; titles whose line cannot be read are left out.

    Args:
        text: the completion.
        offered: the labels to choose from, by title. Where there is one title, its line may come without.
    """
    text = _THOUGHT.sub("", text).strip()
    titles = {_plain(title): title for title in offered}
    either = "|".join(title.replace(" ", "[ _-]") for title in titles)
    number = r"(?:\d{1,2}[.)][^\w\n]*)?"
    begins = re.compile(
        rf"^(?:[^\w\n]|_)*{number}({either})[*_`\"]*[ \t]*[:=–—-][*_`\"]*[ \t]*", re.IGNORECASE | re.MULTILINE
    )
    found = list(begins.finditer(text))
    if not found and len(offered) == 1:
        pieces = [(next(iter(offered)), text)]
    else:
        ends = [*(match.start() for match in found), len(text)][1:]
        pieces = [(titles[_plain(match[1])], text[match.end() : end]) for match, end in zip(found, ends, strict=True)]
    verdicts = {}
    for title, piece in pieces:  # a title that comes again is a model that thought again
        if (verdict := _read(piece, offered[title])) is not None:
            verdicts[title] = verdict
    return verdicts


def _read(piece: str, labels: Sequence[str]) -> ReadLine | None:
    """Return the verdict at the end of a line, or else at the beginning of the first line."""
    either = "|".join(map(re.escape, labels))
    sure = r"[\s,;:.(*_-]+(?:[a-z]+[\s:=]+){0,3}(\d{1,3}(?:\.\d+)?)\s*(?:%|/\s*100|percent)?"
    last = re.compile(rf"(?<![\w|/])(?<!or )({either})(?:{sure})?(?:\s*\([^()]*\))?[\W_]*$", re.IGNORECASE)
    # Some models put the verdict, or the number, on a line of its own.
    piece = re.sub(rf"\s*\n[\W_]*({either}|\d{{1,3}})[\W_]*$", r" - \1", piece, flags=re.IGNORECASE | re.MULTILINE)
    before: list[str] = []
    for line in piece.splitlines():
        if match := last.search(line):
            said = " ".join([*before, line[: match.start()]])
            return ReadLine(_offered(match[1], labels), _sure(match[2]), _tidy(said))
        before.append(line)
    first = re.match(rf"[\W_]*({either})\b(?!\s*(?:or\b|[|/]))(?:[\s,;:(*_-]+(\d{{1,3}})\b)?", piece, re.IGNORECASE)
    if first is None:
        return None
    return ReadLine(_offered(first[1], labels), _sure(first[2]), _tidy(piece[first.end() :]))


def _plain(title: str) -> str:
    return re.sub(r"[ _-]", " ", title).casefold()


def _offered(said: str, labels: Sequence[str]) -> str:
    return next(label for label in labels if label.casefold() == said.casefold())


def _sure(number: str | None) -> int:
    if number is None:
        return _UNSAID
    value = float(number)
    return min(round(100 * value if "." in number and value <= 1 else value), 100)


def _tidy(reason: str) -> str:
    return _SPACE.sub(" ", reason).strip(_EDGES)[:_LONGEST].rstrip(_EDGES)


_TOKENS = 100  # of a line, and as many once more
_NO_OPINION = 0.5
_REFUSES = {"same": 1.0}  # the probability that refuses, for outputs whose yes is the fault
_STRICT = "Be strict. Faults are easily missed: check word by word before you decide, and count one fault as enough."
_AGAIN: Mapping[str, Any] = {"temperature": 0.7, "seed": 1}

Evidence = dict[str, dict[str, Any]]


class VerdictCritic:
    """Answer the decision requests of one step by what a model writes: a line with reason and verdict for each output.

    It needs no log-probabilities, so it works with any model that writes. The reason comes first, because a model that
    decides first only defends what it decided. How sure it says it is makes a probability of its yes or no. A line that
    cannot be read is no opinion. Where that leaves nothing to decide by, the model is asked once more, and then
    everything is refused.
    """

    supports_decision_requests = True
    reads = True  # it weighs a whole answer, which it must not find incomplete

    def __init__(self, lm: Any, step: str) -> None:
        """Build the critic of a step from the client of a language model."""
        self._lm = lm
        self._step = step

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Do nothing: there is nothing to embed."""

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> Evidence:
        """Return ``{"noul": p}`` for yes/no questions, ``probabilities`` and ``confidence`` for others, each with a
        ``reason``.
        """
        for settings in ({}, _AGAIN):
            response = self._lm(self._request(state, questions, settings))
            if evidence := _evidence(response.message.text or "", questions):
                return evidence
        return _refusal(questions)

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> Evidence:
        """Return the same, asynchronously."""
        for settings in ({}, _AGAIN):
            response = await self._lm.acall(self._request(state, questions, settings))
            if evidence := _evidence(response.message.text or "", questions):
                return evidence
        return _refusal(questions)

    def _request(self, state: Mapping[str, Any], questions: Mapping[str, Any], settings: Mapping[str, Any]) -> Request:
        system, *turns = verdict_chat(self._step, state, questions)
        said = {"user": Message.user, "assistant": Message.assistant}
        messages = tuple(said[turn["role"]](turn["content"]) for turn in turns)
        config = Config(**{"max_tokens": _TOKENS * (len(questions) + 1), "temperature": 0.0, **settings})
        return Request(model=self._lm.model, system=system["content"], messages=messages, config=config)


def verdict_chat(step: str, state: Mapping[str, Any], questions: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the chat: in the system text all that is the same for every decision, two turns for each demo, the inputs.

    What decides in the end is asked last, when all that speaks for and against it was said.
    """
    names = _ordered(questions)
    criteria = "\n".join(_criterion(name, questions[name], STEPS[step].strict.get(name)) for name in names)
    form = "\n".join(_form(name, questions[name]) for name in names)
    lines = "one line for each criterion, in this order and in this form" if len(names) > 1 else "one line in this form"
    system = (
        f"{state['instructions']} {_STRICT}\n\n{criteria}\n\nWrite {lines}, and nothing else. "
        f"The reason comes first, then what you decide, then how sure you are, from 0 to 100:\n{form}"
    )
    turns = [{"role": "system", "content": system}]
    for demo in state.get("demos", ()):
        if known := [name for name in names if name in demo]:
            shown = {field: demo[field] for field in state["inputs"] if field in demo}
            turns.append({"role": "user", "content": _inputs(shown)})
            said = "\n".join(_shown(name, questions[name], demo[name]) for name in known)
            turns.append({"role": "assistant", "content": said})
    turns.append({"role": "user", "content": _inputs(state["inputs"])})
    return turns


def _ordered(questions: Mapping[str, Any]) -> list[str]:
    return sorted(questions, key=lambda name: name == OVERALL)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _inputs(inputs: Mapping[str, Any]) -> str:
    return "\n".join(f"{_title(name)}: {value}" for name, value in inputs.items() if value) or "-"


def _criterion(name: str, question: Mapping[str, Any], strict: str | None) -> str:
    """Return what one output asks, what each label means, and what is easily missed."""
    asked, criteria = question["instructions"], question.get("criteria")
    lines = [f"{_title(name)}: {asked if isinstance(asked, str) else json.dumps(asked, ensure_ascii=False)}"]
    labels, keys = labels_of(question)
    for label, key in zip(labels, keys, strict=True):
        said = criteria.get(key) if isinstance(criteria, Mapping) else criteria[int(key)] if criteria else None
        option = f"{key} " if question["type"] == "choice" else ""
        if line := f"{option}{said or ''}".strip():
            lines.append(f"  {label}: {line}")
    return "\n".join([*lines, *([f"  easily missed: {strict}"] if strict else [])])


def _form(name: str, question: Mapping[str, Any]) -> str:
    labels, _ = labels_of(question)
    return f"{_title(name)}: <reason, at most 25 words> - <{' or '.join(labels)}>, <0-100>"


def _shown(name: str, question: Mapping[str, Any], value: Any) -> str:
    """Return the line that a demo shows: with its own reason, else with what its label means."""
    labels, keys = labels_of(question)
    label, why = value if isinstance(value, tuple | list) else (value, "")
    said = label_of(label, labels)
    if not why and isinstance(criteria := question.get("criteria"), Mapping) and said in labels:
        why = criteria.get(keys[labels.index(said)]) or ""
    return f"{_title(name)}: {why or 'As it stands.'} - {said}, 95"


def _evidence(text: str, questions: Mapping[str, Any]) -> Evidence | None:
    """Return the evidence in a completion, None if it holds no verdict.

    What decides in the end can be no better than its parts, and follows from them where its own line is missing.
    """
    offered = {_title(name): labels_of(question)[0] for name, question in questions.items()}
    said = read_lines(text, offered)
    evidence = {name: _one(question, said.get(_title(name))) for name, question in questions.items()}
    yes_no = [name for name, question in questions.items() if question["type"] == "noul"]
    parts = [name for name in yes_no if name != OVERALL]
    read = {name for name in questions if _title(name) in said}
    if OVERALL in yes_no and parts and (OVERALL in read or read.issuperset(parts)):
        known = [name for name in yes_no if name in read]
        evidence[OVERALL] = {**evidence[OVERALL], "noul": min(evidence[name]["noul"] for name in known)}
        return evidence
    return evidence if read.issuperset(yes_no) and read else None


def _one(question: Mapping[str, Any], verdict: ReadLine | None) -> dict[str, Any]:
    labels, keys = labels_of(question)
    if question["type"] == "noul":
        if verdict is None:
            return {"noul": _NO_OPINION}
        share = verdict.sure / 200
        probability = _NO_OPINION + (share if verdict.label == "yes" else -share)
        return {"noul": probability, "reason": verdict.reason}
    if verdict is None:
        return {"probabilities": dict.fromkeys(keys, 1 / len(keys)), "confidence": 0.0}
    chosen = keys[list(labels).index(verdict.label)]
    probabilities = {key: float(key == chosen) for key in keys}
    return {"probabilities": probabilities, "confidence": verdict.sure / 100, "reason": verdict.reason}


def _refusal(questions: Mapping[str, Any]) -> Evidence:
    """Return evidence that refuses, for a completion that cannot be read."""
    evidence = {name: _one(question, None) for name, question in questions.items()}
    for name, question in questions.items():
        if question["type"] == "noul":
            evidence[name] = {"noul": _REFUSES.get(name, 0.0), "reason": UNREADABLE}
    return evidence
