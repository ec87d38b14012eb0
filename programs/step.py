"""Steps: named predictors of a signature, with their limits, demos and trained weights."""

import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import MethodType
from typing import Any, NamedTuple

import dspy
from dspy.clients.base_lm import LM_CLASS_STATE_KEY
from dspy.streaming.messages import StreamResponse, sync_send_to_stream
from dspy.utils.usage_tracker import UsageTracker

from groundset.programs.adapter import PLAIN_TEXT
from groundset.programs.errors import StateError
from groundset.programs.untrusted import json_of, numbered_lines
from groundset.signatures import (
    AnswerQuestion,
    AskFact,
    AskPassage,
    CombinePassages,
    CompareTexts,
    EvolveQuestion,
    ExtractKeyphrases,
    GroundAnswer,
    JudgeQuestion,
    ReviseQuestion,
    RewordQuestion,
    ScoreChunk,
    WeighPair,
)

_PARAGRAPH = re.compile(r"\n(?!\n|[-*•]|\d+\. |[A-Z][a-z ]{2,20}: )(?<!\n\n)")


class StepSpec(NamedTuple):
    """One row of the table of steps: what is asked, and the options of each call."""

    signature: type[dspy.Signature]
    limits: Mapping[str, Any]  # ``max_tokens``, ``stop``, ``temperature``
    judges: bool = False  # whether it decides, so that ``--critic-lm`` serves it


def _writes(
    signature: type[dspy.Signature], max_tokens: int, *, judges: bool = False, **limits: Any
) -> StepSpec:
    return StepSpec(signature, {"max_tokens": max_tokens, "temperature": 0.0, **limits}, judges)


_judges = partial(_writes, judges=True)


STEPS: Mapping[str, StepSpec] = {
    "score": _judges(ScoreChunk, 120),
    "keyphrases": _writes(ExtractKeyphrases, 100),
    "ask": _writes(AskPassage, 300),
    "evolve": _writes(EvolveQuestion, 240),
    "combine": _writes(CombinePassages, 360),
    "judge": _judges(JudgeQuestion, 240),
    "compare": _judges(CompareTexts, 100),
    "revise": _writes(ReviseQuestion, 200),
    "reword": _writes(RewordQuestion, 300),
    "answer": _writes(AnswerQuestion, 40, stop=["\n"]),
    "fact": _writes(AskFact, 56, stop=["\n"]),
    "grounding": _judges(GroundAnswer, 4),
    "sound": _writes(WeighPair, 4),  # with weights of the model that writes
}


# The name of 0.2, in states and heads, and that of the predictor: DSPy's optimizers write a number
# into ``program.score``.
RENAMED: Mapping[str, str] = {"chunk": "score", "score_chunk": "score"}


# What DSPy saves of a model that `groundset.lm` opened; see :mod:`groundset.models.open`.
_DSPY_LM = "dspy.clients.lm.LM"
_OUR_ENGINES = [f"groundset.models.open:{name}" for name in ("NamedEngine", "AsyncEngine")]


class Program(dspy.Module):
    """A module that can also be awaited: its ``forward`` then runs in a thread."""

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Return what ``forward`` does, without blocking the loop."""
        forward = MethodType(type(self).forward, self)  # DSPy warns who takes it from the instance
        return await dspy.asyncify(forward)(**inputs)


class Step(dspy.Predict):
    """A predictor of one step, which is always rendered by the plain-text adapter.

    Its state holds the options of its calls, too, so that what is saved is what is served. A
    listener of ``dspy.streamify`` gets each output in one piece, when the step has ended.
    """

    def __init__(self, name: str, signature: type[dspy.Signature], **limits: Any) -> None:
        """Build a predictor; ``limits`` are the options of each call."""
        super().__init__(signature, **limits)
        self.name = name

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """Call the model with the inputs of the signature."""
        with dspy.context(adapter=PLAIN_TEXT), dspy.track_usage() as usage:
            made = super().forward(**self._sampled(inputs))
        for output in self._told(made, usage):
            sync_send_to_stream(dspy.settings.send_stream, output)
        return made

    async def aforward(self, **inputs: Any) -> dspy.Prediction:
        """Call the model asynchronously."""
        with dspy.context(adapter=PLAIN_TEXT), dspy.track_usage() as usage:
            made = await super().aforward(**self._sampled(inputs))
        for output in self._told(made, usage):
            await dspy.settings.send_stream.send(output)
        return made

    def _told(self, made: dspy.Prediction, usage: UsageTracker) -> list[StreamResponse]:
        """Note the tokens, which DSPy by itself tells of whole programs only, and return the
        outputs that somebody listens to: DSPy's listeners read its own adapters only.
        """
        if dspy.settings.track_usage:
            made.set_lm_usage(usage.get_total_tokens())
        return [
            StreamResponse(each.predict_name, field, str(made[field]), is_last_chunk=True)
            for each in dspy.settings.stream_listeners or ()
            if each.predict is self and (field := each.signature_field_name)
        ]

    def _sampled(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Let the temperature of the model count, which DSPy raises to draw several samples, where
        the step's is 0.
        """
        wanted = getattr(inputs.get("lm") or self.lm or dspy.settings.lm, "kwargs", {}).get(
            "temperature"
        )
        if not wanted or self.config.get("temperature"):
            return inputs
        return inputs | {"config": {"temperature": wanted} | inputs.get("config", {})}

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """Return DSPy's state of the predictor with the options of its calls."""
        return {**super().dump_state(json_mode=json_mode), "config": dict(self.config)}

    def load_state(
        self, state: dict[str, Any], *, allow_unsafe_lm_state: bool = False
    ) -> "dspy.Predict":
        """Load DSPy's state of the predictor; a model that `groundset.lm` opened is opened again
        by its name when it is asked.
        """
        lm = state["lm"] or {}
        records = [lm.get(name) for name in ("engine", "async_engine")]
        engines = [record.get("class") for record in records if isinstance(record, dict)]
        is_ours = lm.get(LM_CLASS_STATE_KEY) == _DSPY_LM and engines == _OUR_ENGINES
        super().load_state(state, allow_unsafe_lm_state=allow_unsafe_lm_state or is_ours)
        if is_ours:
            self.lm.callbacks = list(self.lm.engine.callbacks)
        return self


# A class for each step: the name of a class is what traces show.
_CLASSES: dict[str, type[Step]] = {
    name: type(name, (Step,), {"__module__": __name__}) for name in STEPS
}
globals().update(_CLASSES)  # where pickles look for them


def step(name: str, **limits: Any) -> Step:
    """Return a new predictor of a step with its demos; ``limits`` replace options of its calls.

    Raises:
        StateError: the demos of the step cannot be used.
    """
    spec = STEPS[name]
    instructions = _PARAGRAPH.sub(" ", spec.signature.instructions)
    built = _CLASSES[name](
        name, spec.signature.with_instructions(instructions), **{**spec.limits, **limits}
    )
    built.demos = [dspy.Example(**row) for row in _demos(name)]
    return built


@cache
def _demos(name: str) -> tuple[Mapping[str, Any], ...]:
    """Return the demos of a step in `data/` of the package."""
    file = Path(__file__).parents[1] / "data" / "demos" / f"{name}.jsonl"
    return read_demos(file, STEPS[name].signature) if file.is_file() else ()


def read_demos(file: Path, signature: type[dspy.Signature]) -> tuple[Mapping[str, Any], ...]:
    """Return the demos in a file of JSON lines.

    Raises:
        StateError: a row is not an object of the signature's fields; the message names its line.
    """
    rows = []
    for number, line in numbered_lines(file, StateError):
        where = f"{file}, line {number}"
        row = json_of(where, line, StateError)
        if not isinstance(row, dict):
            raise StateError(f"{where}: not a JSON object")
        if unknown := sorted(row.keys() - signature.fields.keys()):
            raise StateError(f"{where}: its step has no field {unknown[0]}")
        rows.append(row)
    return tuple(rows)
