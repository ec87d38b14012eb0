"""The tools that the programs of a run share: critics, retriever, models, languages, demos and compiled states."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import dspy

from programs.deciding import Decision, decide
from programs.demos import Demos, in_language, in_style
from programs.languages.base import Language
from programs.languages.table import Languages
from programs.nearest import Select
from programs.profiles import ProfileTable
from programs.prompts import Prompt
from programs.steps import STEPS
from programs.types import Context, Retriever

GENERATOR, CRITIC = "generator", "critic"


@dataclass(frozen=True)
class Tools:
    """The tools that the programs of a run share.

    Attributes:
        critics: the critic of each step that decides.
        retriever: searches all chunks of the run.
        models: language models by role; the default is the model of ``dspy.context``.
        languages: the known languages, with their syntax.
        demos: the demos of each step that writes.
        states: compiled states of predictors, by step.
        adapters: names of LoRA adapters, by step.
        selects: functions that choose the demos for a call, by step.
        mode: a name in :data:`programs.modes.MODES`.
        language: the language of questions and answers; empty for that of each chunk.
        prompts: adapted prompts, by step.
        least_score: least mean of the scores of a chunk, if the critic gives scores.
        corpus: all chunks of the run with their analysis, by id.
        profiles: the default dimensions of profiles.
    """

    critics: Mapping[str, Any]
    retriever: Retriever
    languages: Languages
    models: Mapping[str, Any] = field(default_factory=dict)
    demos: Demos = field(default_factory=dict)
    states: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    adapters: Mapping[str, str] = field(default_factory=dict)
    selects: Mapping[str, Select] = field(default_factory=dict)
    mode: str = "guided"
    language: str = ""
    prompts: Mapping[str, Prompt] = field(default_factory=dict)
    least_score: float = 0.0
    corpus: Mapping[str, Context] = field(default_factory=dict)
    profiles: ProfileTable | None = None

    def with_models(self, models: Mapping[str, Any]) -> "Tools":
        """Return the tools with these models by role."""
        return replace(self, models=models)

    def with_prompts(self, prompts: Mapping[str, Prompt]) -> "Tools":
        """Return the tools with adapted prompts."""
        return replace(self, prompts=prompts)

    def predictor(self, step: str) -> dspy.Predict:
        """Return a new predictor of a step, with its compiled state or its demos, and its adapted prompt."""
        predict = STEPS[step].predictor(self.demos.get(step, ()))
        if step in self.states:
            predict.load_state(self.states[step])
        if step in self.prompts:
            instructions, demos = self.prompts[step]
            predict.signature = predict.signature.with_instructions(instructions)
            predict.demos = list(demos)
        return predict

    def question_language(self, passage_language: str) -> Language:
        """Return the language of the questions and answers about a passage in a language."""
        return self.languages[self.language or passage_language]

    def write(
        self,
        step: str,
        predict: dspy.Predict,
        language: str,
        sampling: Mapping[str, Any] | None = None,
        /,
        **inputs: Any,
    ) -> dspy.Prediction:
        """Call a step that writes, with demos in a language and style; ``sampling`` overrides temperature and seed."""
        demos = in_style(self.shown(step, predict, language), inputs)
        if step in self.selects:
            demos = self.selects[step](demos, inputs)
        settings: dict[str, Any] = {"lm": self.models[GENERATOR]} if GENERATOR in self.models else {}
        config = dict(sampling or {}) | ({"adapter": self.adapters[step]} if step in self.adapters else {})
        if config:
            settings["config"] = config
        return predict(demos=demos, **settings, **inputs)

    def shown(self, step: str, predict: dspy.Predict, language: str) -> list[dspy.Example]:
        """Return the demos of a step in a language."""
        del step
        return in_language(predict.demos, language)

    def decide(self, step: str, predict: dspy.Predict, **inputs: Any) -> Decision:
        """Let the critic of a step decide."""
        return decide(predict, self.critics[step], **inputs)
