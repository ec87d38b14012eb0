"""The critic ``verdict``: a language model gives reasons and verdicts, in one call for all outputs of a step."""

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
_EDGES = " \t*_`|.,;:-–—()[]<>="
_QUOTES = '"“”'
_MAX_REASON = 300  # characters; reasons are shown in rejects and in the prompt of the step `rewrite`
_DEFAULT_CONFIDENCE = 80  # if a model gives none


class VerdictLine(NamedTuple):
    """One parsed line.

    Attributes:
        label: one of the offered labels.
        confidence: from 0 to 100.
        reason: a sentence, may be empty.
    """

    label: str
    confidence: int
    reason: str


def parse_verdicts(text: str, offered: Mapping[str, Sequence[str]]) -> dict[str, VerdictLine]:
    """Return the verdicts in a completion by title, without those that cannot be parsed.

    Args:
        text: the completion.
        offered: the labels to choose from, by title. The line of an only title may lack it.
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
    for title, piece in pieces:  # if a title is repeated, the last verdict counts
        if (verdict := _parse(piece, offered[title])) is not None:
            verdicts[title] = verdict
    return verdicts


def _parse(piece: str, labels: Sequence[str]) -> VerdictLine | None:
    """Return the verdict at the end of a line, or else at the beginning of the first line."""
    either = "|".join(map(re.escape, labels))
    confidence = r"[\s,;:.(*_-]+(?:[a-z]+[\s:=]+){0,3}(\d{1,3}(?:\.\d+)?)\s*(?:%|/\s*100|percent)?"
    last = re.compile(rf"(?<![\w|/])(?<!or )({either})(?:{confidence})?(?:\s*\([^()]*\))?[\W_]*$", re.IGNORECASE)
    # Some models write the verdict, or the number, on a separate line.
    piece = re.sub(rf"\s*\n[\W_]*({either}|\d{{1,3}})[\W_]*$", r" - \1", piece, flags=re.IGNORECASE | re.MULTILINE)
    before: list[str] = []
    for line in piece.splitlines():
        if match := last.search(line):
            reason = " ".join([*before, line[: match.start()]])
            return VerdictLine(_label(match[1], labels), _confidence(match[2]), _tidy(reason))
        before.append(line)
    first = re.match(rf"[\W_]*({either})\b(?!\s*(?:or\b|[|/]))(?:[\s,;:(*_-]+(\d{{1,3}})\b)?", piece, re.IGNORECASE)
    if first is None:
        return None
    return VerdictLine(_label(first[1], labels), _confidence(first[2]), _tidy(piece[first.end() :]))


def _plain(title: str) -> str:
    return re.sub(r"[ _-]", " ", title).casefold()


def _label(written: str, labels: Sequence[str]) -> str:
    return next(label for label in labels if label.casefold() == written.casefold())


def _confidence(number: str | None) -> int:
    if number is None:
        return _DEFAULT_CONFIDENCE
    value = float(number)
    return min(round(100 * value if "." in number and value <= 1 else value), 100)


def _tidy(reason: str) -> str:
    tidy = _SPACE.sub(" ", reason).strip(_EDGES)
    unquoted = tidy.strip(_QUOTES).strip(_EDGES)
    if not any(mark in unquoted for mark in _QUOTES):  # else they may begin or end a quotation
        tidy = unquoted
    return tidy[:_MAX_REASON].rstrip(_EDGES)


_TOKENS = 100  # per line; the call gets those of one line more
_UNDECIDED = 0.5
_LEAST_SHARE = 0.005  # of a no
_REFUSING = {"same": 1.0}  # the probability that refuses, for outputs where yes refuses
# Words that mean no wherever a completion has them, by output: models may write the verdict as NOT APPROVED.
_DENIALS = {"approved": re.compile(r"\b(?:not\W+(?:yet\W+)?(?:approved|yes)|disapproved?)\b", re.IGNORECASE)}
_STRICT = "Be strict. Faults are easily missed: check word by word before you decide, and count one fault as enough."
_AGAIN: Mapping[str, Any] = {"temperature": 0.7, "seed": 1}

Evidence = dict[str, dict[str, Any]]


class VerdictCritic:
    """Answers the decision requests of one step by a completion with one line, reason and verdict, for each output.

    It needs no log-probabilities, so it works with any model. The reason comes first, because a model that decides
    first tends to justify its decision. The stated confidence is turned into a probability. A line that cannot be
    parsed counts as undecided. If nothing can be decided, the model is called once more, and then everything refused.
    """

    supports_decision_requests = True
    is_llm_judge = True  # stages show it whole answers, and passages with title and headings

    def __init__(self, lm: Any, step: str) -> None:
        """Build the critic of a step from the client of a language model."""
        self._lm = lm
        self._step = step

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Do nothing."""

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> Evidence:
        """Return evidence for each question, with a ``reason``."""
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
        roles = {"user": Message.user, "assistant": Message.assistant}
        messages = tuple(roles[turn["role"]](turn["content"]) for turn in turns)
        config = Config(**{"max_tokens": _TOKENS * (len(questions) + 1), "temperature": 0.0, **settings})
        return Request(model=self._lm.model, system=system["content"], messages=messages, config=config)


def verdict_chat(step: str, state: Mapping[str, Any], questions: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the chat: a system message that is the same for every decision, two turns for each demo, the inputs.

    The overall output comes last, after the reasons for and against it.
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
            lines = "\n".join(_demo_line(name, questions[name], demo[name]) for name in known)
            turns.append({"role": "assistant", "content": lines})
    turns.append({"role": "user", "content": _inputs(state["inputs"])})
    return turns


def _ordered(questions: Mapping[str, Any]) -> list[str]:
    return sorted(questions, key=lambda name: name == OVERALL)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _inputs(inputs: Mapping[str, Any]) -> str:
    return "\n".join(f"{_title(name)}: {value}" for name, value in inputs.items() if value) or "-"


def _criterion(name: str, question: Mapping[str, Any], strict: str | None) -> str:
    """Return the instructions of one output, the meaning of each label, and faults that are easily missed."""
    text, criteria = question["instructions"], question.get("criteria")
    lines = [f"{_title(name)}: {text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)}"]
    labels, keys = labels_of(question)
    for label, key in zip(labels, keys, strict=True):
        meaning = criteria.get(key) if isinstance(criteria, Mapping) else criteria[int(key)] if criteria else None
        option = f"{key} " if question["type"] == "choice" else ""
        if line := f"{option}{meaning or ''}".strip():
            lines.append(f"  {label}: {line}")
    return "\n".join([*lines, *([f"  easily missed: {strict}"] if strict else [])])


def _form(name: str, question: Mapping[str, Any]) -> str:
    labels, _ = labels_of(question)
    return f"{_title(name)}: <reason, at most 25 words> - <{' or '.join(labels)}>, <0-100>"


def _demo_line(name: str, question: Mapping[str, Any], value: Any) -> str:
    """Return a line of a demo, with its reason, else with the meaning of its label."""
    labels, keys = labels_of(question)
    value, reason = value if isinstance(value, tuple | list) else (value, "")
    label = label_of(value, labels)
    if not reason and isinstance(criteria := question.get("criteria"), Mapping) and label in labels:
        reason = criteria.get(keys[labels.index(label)]) or ""
    return f"{_title(name)}: {reason or 'As it stands.'} - {label}, 95"


def _evidence(text: str, questions: Mapping[str, Any]) -> Evidence | None:
    """Return the evidence in a completion, None if it contains no verdict.

    The overall probability is at most the smallest of its parts, and equal to it if its own line is missing.
    """
    offered = {_title(name): labels_of(question)[0] for name, question in questions.items()}
    verdicts = parse_verdicts(text, offered)
    for name in questions.keys() & _DENIALS.keys():
        verdicts |= _denied(text, _title(name), verdicts.get(_title(name)), _DENIALS[name])
    evidence = {name: _answer(question, verdicts.get(_title(name))) for name, question in questions.items()}
    yes_no = [name for name, question in questions.items() if question["type"] == "noul"]
    parts = [name for name in yes_no if name != OVERALL]
    parsed = {name for name in questions if _title(name) in verdicts}
    if OVERALL in yes_no and parts and (OVERALL in parsed or parsed.issuperset(parts)):
        known = [name for name in yes_no if name in parsed]
        evidence[OVERALL] = {**evidence[OVERALL], "noul": min(evidence[name]["noul"] for name in known)}
        return evidence
    return evidence if parsed.issuperset(yes_no) and parsed else None


def _denied(text: str, title: str, verdict: VerdictLine | None, denial: re.Pattern[str]) -> dict[str, VerdictLine]:
    """Return the verdict no, by title, if a completion denies the output in other words than the verdict."""
    if verdict is not None and verdict.label == "no":
        return {}
    reason, denials = denial.subn("", re.sub(rf"\b{title}\s*:", "", _THOUGHT.sub("", text)))
    return {title: VerdictLine("no", _DEFAULT_CONFIDENCE, _tidy(reason))} if denials else {}


def _answer(question: Mapping[str, Any], verdict: VerdictLine | None) -> dict[str, Any]:
    labels, keys = labels_of(question)
    if question["type"] == "noul":
        if verdict is None:
            return {"noul": _UNDECIDED}
        share = verdict.confidence / 200
        # Even an unsure no must not reach the threshold of 0.5.
        probability = _UNDECIDED + (share if verdict.label == "yes" else -max(share, _LEAST_SHARE))
        return {"noul": probability, "reason": verdict.reason}
    if verdict is None:
        return {"probabilities": dict.fromkeys(keys, 1 / len(keys)), "confidence": 0.0}
    chosen = keys[list(labels).index(verdict.label)]
    probabilities = {key: float(key == chosen) for key in keys}
    return {"probabilities": probabilities, "confidence": verdict.confidence / 100, "reason": verdict.reason}


def _refusal(questions: Mapping[str, Any]) -> Evidence:
    """Return evidence that refuses, for a completion that cannot be parsed."""
    evidence = {name: _answer(question, None) for name, question in questions.items()}
    for name, question in questions.items():
        if question["type"] == "noul":
            evidence[name] = {"noul": _REFUSING.get(name, 0.0), "reason": UNREADABLE}
    return evidence
