"""The critic ``lm``: decisions by next-token log-probabilities of a language model."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dspy.lm15 import Config, Message, Request, Response

from programs.critics.base import Inputs
from programs.errors import ModelError

_TOP = 20
_TOLERANCE = 1e-3  # servers may round a log-probability to a little above 0


class LogprobCritic:
    """Answers decision requests by the probability of each label as the next token.

    Every question is one call for one token. Probabilities are normalised over the labels among the most likely
    tokens; if there are none, all labels have the same probability.
    """

    supports_decision_requests = True

    def __init__(self, lm: Any, adapter: str | None = None) -> None:
        """Build the critic, for any step, from the client of a language model and the name of a LoRA adapter."""
        self._lm = lm
        self._adapter = adapter

    def embed_ahead(self, rows: Sequence[Inputs]) -> None:
        """Do nothing."""

    def __call__(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return evidence for each question.

        Raises:
            ModelError: the server returns no log-probabilities, or invalid ones.
        """
        answers = {}
        for name, question in questions.items():
            labels, keys = labels_of(question)
            response = self._lm(self._request(state, name, question))
            answers[name] = _evidence(question, keys, self._masses(response, labels))
        return answers

    async def acall(self, state: Mapping[str, Any], questions: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the same, asynchronously."""
        answers = {}
        for name, question in questions.items():
            labels, keys = labels_of(question)
            response = await self._lm.acall(self._request(state, name, question))
            answers[name] = _evidence(question, keys, self._masses(response, labels))
        return answers

    def _request(self, state: Mapping[str, Any], name: str, question: Mapping[str, Any]) -> Request:
        system, *turns = decision_chat(state, name, question)
        roles = {"user": Message.user, "assistant": Message.assistant}
        messages = tuple(roles[turn["role"]](turn["content"]) for turn in turns)
        extensions = {"adapter": self._adapter} if self._adapter else None
        config = Config(max_tokens=1, temperature=0.0, logprobs=_TOP, extensions=extensions)
        return Request(model=self._lm.model, system=system["content"], messages=messages, config=config)

    def _masses(self, response: Response, labels: Sequence[str]) -> list[float]:
        if not response.logprobs:
            if response.logprobs is None:
                raise ModelError(
                    f"{self._lm.model} returns no log-probabilities, so it cannot decide; use --critic head"
                )
            return [1 / len(labels)] * len(labels)
        first = response.logprobs[0]
        ranked = {top.token: top.logprob for top in first.top} or {first.token: first.logprob}
        if any(math.isnan(logprob) or logprob > _TOLERANCE for logprob in ranked.values()):
            raise ModelError(f"{self._lm.model} returns invalid log-probabilities, so it cannot decide")
        masses = [0.0] * len(labels)
        for token, logprob in ranked.items():
            word = token.strip().casefold()
            for n, label in enumerate(labels):
                if word and (label.casefold() == word or (len(word) > 1 and label.casefold().startswith(word))):
                    masses[n] += math.exp(logprob)
        total = sum(masses)
        return [mass / total for mass in masses] if total else [1 / len(labels)] * len(labels)


def decision_chat(state: Mapping[str, Any], name: str, question: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the chat whose next token decides: system message, two turns for each demo, the user's turn."""
    labels, _ = labels_of(question)
    turns = [{"role": "system", "content": state["instructions"]}]
    for demo in state.get("demos", ()):
        if name in demo:
            shown = {field: demo[field] for field in state["inputs"] if field in demo}
            turns.append({"role": "user", "content": _task(shown, question, labels)})
            turns.append({"role": "assistant", "content": label_of(demo[name], labels)})
    turns.append({"role": "user", "content": _task(state["inputs"], question, labels)})
    return turns


def labels_of(question: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the labels that the model chooses from, and DSPy's keys for them."""
    criteria = question.get("criteria")
    if question["type"] == "noul":
        return ["yes", "no"], ["true", "false"]
    if question["type"] == "score":
        count = len(criteria or ())
        return [str(level + 1) for level in range(count)], [str(level) for level in range(count)]
    options = list(criteria or ())
    return [chr(ord("A") + n) for n in range(len(options))], options


def _task(inputs: Mapping[str, Any], question: Mapping[str, Any], labels: Sequence[str]) -> str:
    """Return the user's turn; the inputs come first, so that questions about one text share a cached prefix."""
    lines = [f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in inputs.items() if value]
    instructions = question["instructions"]
    lines.append("")
    lines.append(instructions if isinstance(instructions, str) else json.dumps(instructions, ensure_ascii=False))
    criteria = question.get("criteria")
    if question["type"] == "noul":
        for key, label in (("true", "yes"), ("false", "no")):
            if criteria and criteria.get(key):
                lines.append(f"{label}: {criteria[key]}")
    elif isinstance(criteria, Mapping):
        lines += [
            f"{label}: {option} {text or ''}".rstrip()
            for label, (option, text) in zip(labels, criteria.items(), strict=True)
        ]
    else:
        lines += [f"{label}: {text}" for label, text in zip(labels, criteria or (), strict=True)]
    lines.append(f"Answer with one of: {', '.join(labels)}.")
    return "\n".join(lines)


def label_of(value: Any, labels: Sequence[str]) -> str:
    """Return the answer of a demo: the label, because only the first token counts, then the reason, if it has one."""
    if isinstance(value, tuple | list):
        label, reason = value
        return f"{label_of(label, labels)}. {reason}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return labels[int(value)] if isinstance(value, int | float) and int(value) < len(labels) else str(value)


def _evidence(question: Mapping[str, Any], keys: Sequence[str], masses: Sequence[float]) -> dict[str, Any]:
    if question["type"] == "noul":
        return {"noul": masses[0]}
    ordered = sorted(masses, reverse=True)
    return {"probabilities": dict(zip(keys, masses, strict=True)), "confidence": ordered[0] - ordered[1]}
