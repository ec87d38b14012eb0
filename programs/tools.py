"""What a recipe works with: critics by step, a retriever, models by role, languages, demos and compiled states."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import dspy

from programs.deciding import Decision, decide
from programs.demos import Demos, in_language
from programs.languages.table import Languages
from programs.nearest import Select
from programs.steps import STEPS
from programs.types import Retriever

GENERATOR, CRITIC = "generator", "critic"


@dataclass(frozen=True)
class Tools:
    """What the programs of a run share.

    Attributes:
        critics: what decides, by step.
        retriever: searches all chunks of the run.
        models: language models by role; a role without one takes the model of ``dspy.context``.
        languages: what is known of the languages of chunks, with their syntax.
        demos: what each step that writes is shown, by step.
        states: compiled states of predictors, by step.
        adapters: the name of the trained weights that a step is written with, by step.
        selects: what chooses among the demos of a step for each of its inputs, by step.
        mode: how the model is asked for questions, a name of :data:`programs.modes.MODES`.
        least_score: of a chunk whose clarity, depth, structure and relevance the critic scores, the least mean.
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
    least_score: float = 0.0

    def with_models(self, models: Mapping[str, Any]) -> "Tools":
        """Return the same tools with these models by role."""
        return replace(self, models=models)

    def predictor(self, step: str) -> dspy.Predict:
        """Return a fresh predictor of a step, with its demos or as it was compiled."""
        predict = STEPS[step].predictor(self.demos.get(step, ()))
        if step in self.states:
            predict.load_state(self.states[step])
        return predict

    def write(
        self,
        step: str,
        predict: dspy.Predict,
        language: str,
        sampling: Mapping[str, Any] | None = None,
        /,
        **inputs: Any,
    ) -> dspy.Prediction:
        """Call a step that writes, with the demos in the language of its inputs.

        ``sampling`` holds settings of the call that differ from the step's own: temperature and seed.
        """
        demos = self.shown(step, predict, language)
        if step in self.selects:
            demos = self.selects[step](demos, inputs)
        settings: dict[str, Any] = {"lm": self.models[GENERATOR]} if GENERATOR in self.models else {}
        config = dict(sampling or {}) | ({"adapter": self.adapters[step]} if step in self.adapters else {})
        if config:
            settings["config"] = config
        return predict(demos=demos, **settings, **inputs)

    def shown(self, step: str, predict: dspy.Predict, language: str) -> list[dspy.Example]:
        """Return the demos that a step may be shown in a language: here those of its predictor."""
        del step
        return in_language(predict.demos, language)

    def decide(self, step: str, predict: dspy.Predict, **inputs: Any) -> Decision:
        """Call the critic of a step."""
        return decide(predict, self.critics[step], **inputs)
