"""A recipe as one program, for DSPy's optimizers to work on all of its steps together."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import dspy

from programs.demos import Demos, in_language
from programs.language_detection import language_of
from programs.recipes import RECIPES
from programs.steps import STEPS
from programs.tools import Tools
from programs.types import Attempt, Outcome, StepRecord


@dataclass(frozen=True)
class StudentTools(Tools):
    """Tools of a recipe that is compiled.

    Attributes:
        kept: the demos that each step starts from. They are shown before those of its predictor, and optimizers, which
            take all demos off a predictor or drop some by chance, do not reach them.
    """

    kept: Demos = field(default_factory=dict)

    @classmethod
    def of(cls, tools: Tools) -> Self:
        """Build tools that keep the demos of predictors apart.

        Models by role are left out: they would hide the ones that optimizers set.
        """
        kept = {name: tools.predictor(name).demos for name, step in STEPS.items() if not step.decides}
        values = {entry.name: getattr(tools, entry.name) for entry in fields(Tools)}
        return cls(**(values | {"models": {}}), kept=kept)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: optimizers copy the program, but must not copy critics and the index."""
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
        """Let a step write; a rollout, which a model is marked as, is drawn with its temperature and its own seed.

        Steps are run at temperature 0, so that all rollouts of an optimizer would be the same otherwise.
        """
        options = getattr(predict.lm or dspy.settings.lm, "kwargs", {})
        if options.get("rollout_id") is not None:
            rollout = {"temperature": options.get("temperature"), "seed": options["rollout_id"]}
            sampling = {**rollout, **(sampling or {})}
        return super().write(step, predict, language, sampling, **inputs)

    def shown(self, step: str, predict: dspy.Predict, language: str) -> list[dspy.Example]:
        """Return the demos that a step may be shown in a language."""
        return in_language(self.all_demos(step, predict), language)

    def all_demos(self, step: str, predict: dspy.Predict) -> list[Any]:
        """Return the demos that were kept with those of the predictor, each of which names its language.

        Whole attempts, which some optimizers put among the demos of every predictor, are no turns of a step.
        """
        inputs, outputs = predict.signature.input_fields, predict.signature.output_fields
        turns = [demo for demo in predict.demos if all(name in demo for name in outputs)]
        for demo in turns:  # those that an optimizer collected name no language
            if "language" not in demo:
                demo["language"] = language_of(" ".join(str(demo[name]) for name in inputs if name in demo))
        return [*self.kept.get(step, ()), *turns]


class WholeRecipe(dspy.Module):
    """A recipe as one module: an attempt in, a prediction out.

    ``named_predictors`` are the recipe's own, those that decide left out: their word is what the metric goes by, and
    an optimizer that may change a judge makes it lenient. The language model is that of ``dspy.context``.
    """

    def __init__(self, recipe: str, tools: Tools, adapter: Any, **options: Any) -> None:
        """Compose a recipe by its name; it starts from the demos and compiled states of the tools.

        The adapter renders the prompts of the steps; optimizers ask models of their own in their own way.
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
        """Return the predictors that write, with their places in the recipe."""
        return [(name, predict) for name, predict in super().named_parameters() if not STEPS[_step_of(name)].decides]

    def forward(self, attempt: Attempt) -> dspy.Prediction:
        """Run the recipe once.

        The prediction holds ``question``, ``answer``, ``evolution`` and ``probability`` of the first draft, empty and
        0.0 where there is none; ``drafts`` with these four each; ``rejects`` as a run's ``rejects.jsonl`` has them.
        """
        with dspy.context(adapter=self._adapter):
            outcome: Outcome = self.program(attempt=attempt, observer=_ignore)
        shown = {"question", "answer", "evolution", "probability"}
        drafts = [draft.model_dump(mode="json", include=shown) for draft in outcome.drafts]
        rejects = [reject.model_dump(mode="json", exclude_none=True) for reject in outcome.rejects]
        first = drafts[0] if drafts else {"question": "", "answer": "", "evolution": "", "probability": 0.0}
        return dspy.Prediction(**first, drafts=drafts, rejects=rejects)

    def states(self) -> dict[str, dict[str, Any]]:
        """Return by step the state of each predictor that was changed, with all demos it shows: ``Tools.states``."""
        found = {}
        for name, predict in self.named_predictors():
            step = _step_of(name)
            whole = copy.copy(predict)
            whole.lm, whole.demos = None, self._tools.all_demos(step, predict)
            state = whole.dump_state()
            if state != self._start[step]:
                found[step] = state
        return found


def _step_of(place: str) -> str:
    """Return the step of a predictor: stages name their predictors after it."""
    return place.rpartition(".")[2]


def _ignore(record: StepRecord) -> None:
    """Take a finished step."""
