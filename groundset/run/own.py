"""Programs and judges of users in a run: any ``dspy.Module`` that is called with text."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.options import Name, imported
from groundset.programs.errors import InputError, StateError, first_line
from groundset.programs.forms import FORMS, MULTI, SIMPLE
from groundset.programs.text import digest
from groundset.run.recipes import RecipeSpec, inputs_of

if TYPE_CHECKING:
    import dspy


class OwnProgram:
    """A program of the user, served as it is.

    A passage is scored before, unless the program does so. What its prediction lacks of
    :func:`groundset.programs.outcome.outcome` gets the default.
    """

    def __init__(self, name: str, program: "dspy.Module") -> None:
        """Take a program."""
        from groundset.programs.step import step

        self._name, self._scores = name, hasattr(program, "score_chunk")
        if not self._scores:
            program.score_chunk = step("score")
        self.program = program
        self.named_predictors = program.named_predictors

    def __call__(self, **inputs: Any) -> "dspy.Prediction":
        """Return a question about a passage, or why there is none."""
        from groundset.programs.outcome import RefusedError, call, outcome
        from groundset.programs.recipe import Passage, scored

        try:
            if not self._scores:
                scored(self.program.score_chunk, [Passage(inputs["passage"], inputs["topic"])])
            named = inputs_of(self.program)
            made = call(self.program, **{name: inputs[name] for name in inputs.keys() & named})
            if "question" not in made:
                raise InputError(f"--recipe {self._name}: its prediction has no `question`")
            if not (made.question or made.get("rejects")):
                raise RefusedError("ask", "no question was written")
        except RefusedError as refused:
            return refused.outcome()
        values: dict[str, Any] = {"needed": [0], "alternatives": [[]]} if made.question else {}
        known = inspect.signature(outcome).parameters
        values |= {name: made[name] for name in known if name in made}
        if isinstance(values.get("evidence"), str):
            values["evidence"] = [values["evidence"]]
        return outcome(**values)


def own_module(name: str, flag: str) -> "dspy.Module":
    """Return a module of the user, ``module:name`` of one, or of what makes one.

    Raises:
        InputError: there is none.
    """
    import dspy

    found = imported(name, flag)
    made = found if isinstance(found, dspy.Module) or not callable(found) else found()
    if not isinstance(made, dspy.Module):
        raise InputError(f"{flag} {name}: not a dspy.Module, and makes none when called")
    return made


def _loaded(recipe: str, state: str) -> "dspy.Module":
    """Return the program of the user with the state that --compiled names."""
    program = own_module(recipe, "--recipe").deepcopy()
    try:
        if isinstance(state, Name):
            program.load_state(state.given.dump_state())
        elif state not in ("shipped", "none"):
            program.load(Path(state).expanduser())
    except (KeyError, ValueError, OSError) as error:
        told = f"--compiled {state}: no state of {recipe} ({first_line(error)})"
        raise StateError(told) from error
    return program


def own_state(recipe: str, state: str) -> str:
    """Return a hash of the user's program with the state that --compiled names.

    Raises:
        InputError: it cannot be imported, or --compiled is no state of it.
    """
    ignored = {"lm", "traces", "train"}
    prompts = [
        [name, {key: value for key, value in predictor.dump_state().items() if key not in ignored}]
        for name, predictor in _loaded(recipe, state).named_predictors()
    ]
    return digest(prompts)


class _OwnRecipe(RecipeSpec):
    def build(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the program, which gets the search of the run if it has none."""
        program = _loaded(values["recipe"], values["compiled"])
        if getattr(program, "search", program) is None:
            program.search = values["search"]
        return {"": OwnProgram(values["recipe"], program)}


OWN_RECIPE = _OwnRecipe(
    {},
    (
        *("answers", "chunk_critic", "critic", "hard", "kinds", "language", "max_rank"),
        *("mix", "personas"),
    ),
    tuple(form for form in FORMS if form != MULTI),
    {SIMPLE: 1},
)
