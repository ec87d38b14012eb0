"""A whole recipe as one program for DSPy's optimizers."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from typing import Any, Self

import dspy

from programs.demos import Demos, in_language
from programs.language_detection import language_of
from programs.recipes import RECIPES
from programs.steps import STEPS
from programs.tools import Tools
from programs.types import Attempt, Outcome


@dataclass(frozen=True)
class StudentTools(Tools):
    """Tools of a recipe that is compiled.

    Attributes:
        kept: the original demos of each step, which precede those of its predictor. They are stored apart because
            optimizers replace or drop the demos of a predictor.
    """

    kept: Demos = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Tools) -> Self:
        """Build tools that store the demos of predictors apart.

        Models by role are dropped, because they would override the models that optimizers set.
        """
        kept = {name: tools.predictor(name).demos for name, step in STEPS.items() if not step.decides}
        values = {entry.name: getattr(tools, entry.name) for entry in fields_of(Tools)}
        return cls(**(values | {"models": {}}), kept=kept)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return self: optimizers copy the program, but must not copy critics and the index."""
        return self

    def write(
        self,
        step: str,
        predict: dspy.Predict,
        language: str,
        sampling: Mapping[str, Any] | None = None,
        /,
        **inputs: Any,
    ) -> dspy.Prediction:
        """Call a step; a model with a ``rollout_id`` is called with its temperature and the id as seed.

        Steps run at temperature 0, so all rollouts would otherwise be equal.
        """
        options = getattr(predict.lm or dspy.settings.lm, "kwargs", {})
        if options.get("rollout_id") is not None:
            rollout = {"temperature": options.get("temperature"), "seed": options["rollout_id"]}
            sampling = {**rollout, **(sampling or {})}
        return super().write(step, predict, language, sampling, **inputs)

    def shown(self, step: str, predict: dspy.Predict, language: str) -> list[dspy.Example]:
        """Return the demos of a step for a language."""
        return in_language(self.all_demos(step, predict), language)

    def all_demos(self, step: str, predict: dspy.Predict) -> list[Any]:
        """Return the original demos and those of the predictor, all with a language.

        Demos that are whole attempts, which some optimizers add to every predictor, are dropped.
        """
        inputs, outputs = predict.signature.input_fields, predict.signature.output_fields
        turns = [demo for demo in predict.demos if all(name in demo for name in outputs)]
        for demo in turns:  # bootstrapped demos lack a language
            if "language" not in demo:
                demo["language"] = language_of(" ".join(str(demo[name]) for name in inputs if name in demo))
        return [*self.kept.get(step, ()), *turns]


class WholeRecipe(dspy.Module):
    """A recipe as one module that takes an attempt and returns a prediction.

    ``named_predictors`` excludes steps that decide: the metric depends on them, and an optimizer would make them
    lenient. The language model is that of ``dspy.context``.
    """

    def __init__(self, recipe: str, tools: Tools, adapter: Any, **options: Any) -> None:
        """Build a recipe by name, with the demos and compiled states of the tools.

        The adapter renders the prompts of the steps, not those of the optimizer.
        """
        super().__init__()
        row = RECIPES[recipe]
        self._adapter = adapter
        self._tools = StudentTools.of(tools)
        self._start = {name: tools.predictor(name).dump_state() for name in STEPS}
        self.program = row.program(self._tools, row.options(**options))
        for predict in self.predictors():
            predict.demos = []

    def named_parameters(self) -> list[tuple[str, Any]]:
        """Return the predictors that write, with their paths in the recipe."""
        return [(name, predict) for name, predict in super().named_parameters() if not STEPS[_step_of(name)].decides]

    def forward(self, attempt: Attempt) -> dspy.Prediction:
        """Run the recipe once.

        The prediction has ``question``, ``answer``, ``evolution`` and ``probability`` of the first draft (empty and 0.0
        without a draft), the same four fields of all ``drafts``, and the ``rejects`` as in ``rejects.jsonl``.
        """
        with dspy.context(adapter=self._adapter):
            outcome: Outcome = self.program(attempt=attempt, observer=lambda _: None)
        fields = {"question", "answer", "evolution", "probability"}
        drafts = [draft.model_dump(mode="json", include=fields) for draft in outcome.drafts]
        rejects = [reject.model_dump(mode="json", exclude_none=True) for reject in outcome.rejects]
        first = drafts[0] if drafts else {"question": "", "answer": "", "evolution": "", "probability": 0.0}
        return dspy.Prediction(**first, drafts=drafts, rejects=rejects)

    def states(self) -> dict[str, dict[str, Any]]:
        """Return the states of changed predictors by step, with all their demos, for ``Tools.states``."""
        changed = {}
        for name, predict in self.named_predictors():
            step = _step_of(name)
            whole = copy.copy(predict)
            whole.lm, whole.demos = None, self._tools.all_demos(step, predict)
            state = whole.dump_state()
            if state != self._start[step]:
                changed[step] = state
        return changed


def _step_of(path: str) -> str:
    """Return the step of a predictor, which is the last part of its path."""
    return path.rpartition(".")[2]
