"""Judging chunks and question-passage pairs in bulk."""

from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from programs.critics import Critic
from programs.deciding import Decision, decide
from programs.demos import Demos
from programs.stages.panel import majority, vote
from programs.steps import STEPS
from programs.text import truncate

State = dict[str, Any]


def judge_chunks(texts: Sequence[str], critic: Critic, state: State | None = None) -> list[Decision]:
    """Return a critic's decision on each chunk, with an optional compiled state of the step."""
    return judge_rows("chunk", [{"topic": "", "passage": text} for text in texts], critic, state)


def judge_questions(pairs: Sequence[tuple[str, str]], critic: Critic, state: State | None = None) -> list[Decision]:
    """Return a critic's decision on each (question, passage) pair, with an optional compiled state."""
    rows = [{"passage": passage, "question": question} for question, passage in pairs]
    return judge_rows("judge", rows, critic, state)


def review_drafts(
    drafts: Sequence[Mapping[str, str]], critic: Critic, demos: Demos, state: State | None = None
) -> list[Decision]:
    """Return the decision of a panel on each passage, question and answer; long texts are truncated."""
    predict = _predictor("panel", state, demos.get("panel", ()))
    return [majority(vote(predict, critic, truncate(draft))[-1]) for draft in drafts]


def judge_rows(step: str, rows: Sequence[dict[str, str]], critic: Critic, state: State | None = None) -> list[Decision]:
    """Return a critic's decision on each row of inputs of a step; long texts are truncated."""
    rows = [truncate(row) for row in rows]
    predict = _predictor(step, state)
    critic.embed_ahead(rows)
    return [decide(predict, critic, **row) for row in rows]


def _predictor(step: str, state: State | None, demos: Sequence[Any] = ()) -> dspy.Predict:
    predict = STEPS[step].predictor(demos)
    if state is not None:
        predict.load_state(state)
    return predict
