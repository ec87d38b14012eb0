"""The steps that every recipe is composed of: one bare predictor each, with its limits and starting demos."""

import re
from typing import Any

import dspy

from programs import demonstrations
from programs.words import NOT_STATED
from signatures import (
    AnswerQuestion,
    AskQuestion,
    CompareQuestions,
    CompressQuestion,
    ConditionQuestion,
    DiagnoseQuestion,
    ExtractKeyphrases,
    GroundAnswer,
    JudgeQuestion,
    NameKind,
    RewriteQuestion,
    ScoreChunk,
)

_QUESTION_LIMITS = {"max_tokens": 56, "stop": ["\n"], "temperature": 0.0}


def _generator(signature: type[dspy.Signature], demos: list[dspy.Example], **limits: Any) -> dspy.Predict:
    predict = dspy.Predict(signature, **limits)
    predict.demos = list(demos)
    return predict


def generators() -> dict[str, dspy.Predict]:
    """Return a fresh predictor for each step that writes text, by the step's name.

    ``feedback`` belongs to the step ``rewrite``.
    """
    return {
        "keyphrases": _generator(
            ExtractKeyphrases, demonstrations.KEYPHRASES, max_tokens=56, stop=["\n\n"], temperature=0.0
        ),
        "question": _generator(AskQuestion, demonstrations.QUESTION, **_QUESTION_LIMITS),
        "reasoning": _generator(NameKind, demonstrations.REASONING, max_tokens=8, stop=["\n"], temperature=0.0),
        "conditional": _generator(ConditionQuestion, demonstrations.CONDITIONAL, **_QUESTION_LIMITS),
        "compress": _generator(CompressQuestion, demonstrations.COMPRESS, **_QUESTION_LIMITS),
        "feedback": _generator(DiagnoseQuestion, demonstrations.FEEDBACK, max_tokens=40, stop=["\n"], temperature=0.0),
        "rewrite": _generator(RewriteQuestion, demonstrations.REWRITE, **_QUESTION_LIMITS),
        "answer": _generator(AnswerQuestion, demonstrations.ANSWER, max_tokens=40, stop=["\n"], temperature=0.0),
    }


def critics() -> dict[str, dspy.Predict]:
    """Return a fresh predictor for each step that decides, by the step's name."""
    return {
        "chunk": dspy.Predict(ScoreChunk),
        "judge": dspy.Predict(JudgeQuestion),
        "same": dspy.Predict(CompareQuestions),
        "grounding": dspy.Predict(GroundAnswer),
    }


def tidy_question(text: str) -> str:
    """Return the first question of a completion without labels, markup or doubled spaces."""
    text = re.sub(r"[*_`]+|\[\d+\]", "", " ".join(text.split()))
    text = re.sub(r"^(?:question|frage|q)\s*\d*\s*[:.]\s*", "", text, flags=re.IGNORECASE)
    head, mark, _ = text.partition("?")
    return (head.rstrip() + mark).strip()


def tidy_answer(text: str, question: str) -> str:
    """Return an answer without labels, markup, notes, a full stop after a phrase or words of "What is X?" before it."""
    text = re.sub(r"[*_`]+|\[\d+\]", "", " ".join(text.split()))
    text = re.sub(r"^(?:answer|antwort|a)\s*[:.]\s*", "", text, flags=re.IGNORECASE).strip()
    if defined := re.fullmatch(r"(?:What|Who) (is|are|was|were) (.+?)\??", question):
        text = re.sub(rf"^{re.escape(defined[2])} {defined[1]} ", "", text, flags=re.IGNORECASE)
    return text[:-1].rstrip() if re.search(r"\w{2}\.$", text) and text.count(".") == 1 else text


def is_stated(answer: str) -> bool:
    """Say whether a completion of the step ``answer`` claims that the passage holds the answer."""
    return bool(answer) and not NOT_STATED.match(answer)
