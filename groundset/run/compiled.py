"""Compiled states: what DSPy saves of predictors, loaded as data and checked; nothing is unpickled
or imported.

A folder holds a file for each step, ``<step>.json``, as a plain ``dspy.Predict(signature).save`` or
a ``program.save`` wrote it, trained weights beside it (``<step>.gguf``), and fitted heads in
``head/``. Shipped states lie in a folder for each model. States that are registered as prompts in
MLflow are checked alike.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import dspy
from pydantic import BaseModel, Field, ValidationError

from groundset.files import data_path
from groundset.models.catalogue import file_sha256
from groundset.options import Name
from groundset.programs.adapter import with_outputs
from groundset.programs.errors import StateError
from groundset.programs.heads import HEAD_STEPS, StepHeads, load_heads
from groundset.programs.step import RENAMED, STEPS, step
from groundset.programs.text import digest
from groundset.programs.untrusted import first_fault, json_of, small_text
from groundset.tracking import REGISTRY, Tracking

SHIPPED, NONE = "shipped", "none"
_MOST = 8 << 20  # bytes of a file
# Options of calls that a state may set. Others could send texts to another server.
_LIMITS = frozenset(
    {"max_tokens", "temperature", "stop", "adapter", "logprobs", "top_p", "n", "rollout_id"}
)


class _Field(BaseModel, extra="forbid"):
    prefix: str
    description: str


class _Signature(BaseModel, extra="forbid"):
    instructions: str
    fields: list[_Field]


_IDLE = Field(exclude=True)  # has no effect


class State(BaseModel, extra="forbid"):
    """The state of a predictor, as DSPy saves it; its language model is ignored."""

    signature: _Signature
    demos: list[dict[str, Any]] = []
    config: dict[str, Any] = {}
    lm: Annotated[dict[str, Any] | None, _IDLE] = None
    traces: Annotated[list[Any], _IDLE] = []
    train: Annotated[list[Any], _IDLE] = []

    def apply(self, predictor: dspy.Predict) -> None:
        """Load the state into a predictor, which keeps its own limits where the state has none.

        A state may have fewer outputs than the step, in another order: those that its weights were
        trained to write.
        """
        fields = {
            _prefix(field): (name, field) for name, field in predictor.signature.fields.items()
        }
        chosen = [fields[field.prefix] for field in self.signature.fields]
        if chosen != list(fields.values()):
            typed = {name: (field.annotation, field) for name, field in chosen}
            predictor.signature = dspy.Signature(typed, predictor.signature.instructions)
        config = {**predictor.config, **self.config}
        predictor.load_state({**self.model_dump(), "config": config, "lm": None})


class Compiled(NamedTuple):
    """What was compiled, by step: states, files of trained weights, heads, and the versions of the
    prompts that states are registered with.
    """

    states: Mapping[str, State] = {}
    adapters: Mapping[str, Path] = {}
    heads: Mapping[str, StepHeads] = {}
    blank: Mapping[str, int] = {}  # how many demos of a step show no output, and are left out
    prompts: Mapping[str, str] = {}

    @property
    def digest(self) -> str:
        """Return a hash of all that affects a run."""
        heads = {name: fitted.model_dump(mode="json") for name, fitted in self.heads.items()}
        weights = {name: file_sha256(file) for name, file in self.adapters.items()}
        return digest([self.hashes, heads, weights])

    @property
    def hashes(self) -> dict[str, str]:
        """Return the hash of each state."""
        return {name: digest(state.model_dump()) for name, state in sorted(self.states.items())}

    def apply(self, programs: Iterable[dspy.Module]) -> None:
        """Load the states into the predictors of programs that have the name of their step."""
        for program in programs:
            for _, predictor in program.named_predictors():
                if state := self.states.get(getattr(predictor, "name", "")):
                    state.apply(predictor)


def load_compiled(
    # ``shipped``, ``none`` (only the shipped heads), or what replaces shipped states; see
    # :func:`read_own`
    which: str,
    model: str,  # the name of the language model, for shipped states
    critic: str = "",  # that of the model that judges, if that is another one
    own: Compiled | None = None,  # what :func:`read_own` returned, if it was called before
) -> Compiled:
    """Return the states that a run uses.

    Raises:
        StateError: a file cannot be used, or does not exist; the message names it and why.
    """
    own = own or read_own(which)
    root = data_path("compiled")
    heads = {**_read_heads(root), **own.heads}
    if which == NONE:
        return own._replace(heads=heads)
    states: dict[str, State] = {}
    adapters: dict[str, Path] = {}
    for name, spec in STEPS.items():
        folder = root / (critic if critic and spec.judges else model).replace("/", "-")
        states |= read_states(folder / f"{name}.json")
        adapters |= {file.stem: file for file in folder.glob(f"{name}.gguf")}
    return own._replace(
        states={**states, **own.states}, adapters={**adapters, **own.adapters}, heads=heads
    )


def read_own(which: str, tracking: str | None = None) -> Compiled:
    """Return what a user's folder, file or registered prompts (with commas) hold, nothing for
    ``shipped`` and ``none``.

    Raises:
        StateError: it cannot be used, or does not exist.
        TrackingError: the store of the prompts failed.
    """
    if which in (SHIPPED, NONE):
        return Compiled()
    states: dict[str, State] = {}
    if which.startswith(REGISTRY):
        store = Tracking(tracking)
        prompts: dict[str, str] = {}
        for prompt in which.split(","):
            version, saved = store.registered(prompt)
            _add_states(states, f"--compiled {prompt}", saved)
            prompts |= dict.fromkeys(states.keys() - prompts.keys(), version)
        return _changed(states)._replace(prompts=prompts)
    if isinstance(which, Name):
        predictors = which.given.named_predictors()
        given = {getattr(each, "name", name): each.dump_state() for name, each in predictors}
        _add_states(states, f"--compiled {which}", given)
        return _changed(states)
    where = Path(which).expanduser()
    if not where.exists():
        raise StateError(
            f"--compiled {which}: there is no such folder or file,"
            " and it is neither shipped nor none"
        )
    weights = {file.stem: file for file in sorted(where.glob("*.gguf"))}
    return _changed(read_states(where))._replace(adapters=weights, heads=_read_heads(where))


def _changed(states: Mapping[str, State]) -> Compiled:
    """Return what a user's states change, without the demos that show no output.

    A program that was saved whole has the states of all its steps; those as they come change
    nothing.
    """
    kept, blank = {}, {}
    for name, state in states.items():
        demos = with_outputs(STEPS[name].signature, state.demos)
        if left_out := len(state.demos) - len(demos):
            blank[name] = left_out
        useful = state.model_copy(update={"demos": demos})
        if useful != _state("", name, step(name).dump_state()):
            kept[name] = useful
    return Compiled(kept, blank=blank)


def _read_heads(folder: Path) -> dict[str, StepHeads]:
    files = [folder / "head" / f"{name}.json" for name in (*RENAMED, *HEAD_STEPS)]
    return {heads.step: heads for heads in map(load_heads, filter(Path.exists, files))}


def read_states(where: Path) -> dict[str, State]:
    """Return the states in a file, or in the files of a folder, by step.

    Raises:
        StateError: one cannot be read, is no state of its step, or two are of one step.
    """
    states: dict[str, State] = {}
    if not where.exists():
        return states
    for file in sorted(where.glob("*.json")) if where.is_dir() else [where]:
        _add_states(states, str(file), _saved(file), file.stem)
    return states


def _add_states(
    states: dict[str, State], where: str, saved: Mapping[str, Any], default: str = ""
) -> None:
    """Check states and add them by step; ``default`` is the step of those whose predictor is not
    called like one.
    """
    for name, value in saved.items():
        last = name.rpartition(".")[2]
        last = RENAMED.get(last, last)
        step_name = last if last in STEPS else default
        if step_name not in STEPS:
            raise StateError(f"{where}: there is no step {name}; there are {', '.join(STEPS)}")
        state = _state(where, step_name, value)
        if states.setdefault(step_name, state) != state:
            raise StateError(
                f"{where}: holds another state of the step {step_name} than one before it"
            )


def _saved(file: Path) -> Mapping[str, Any]:
    """Return the unchecked states in a file by the names of their predictors; the stem of the file
    for one alone.
    """
    value = json_of(file, small_text(file, _MOST, StateError), StateError)
    if not isinstance(value, dict):
        raise StateError(f"{file}: not a state that DSPy saves")
    states = {name: state for name, state in value.items() if name != "metadata"}
    return {file.stem: states} if "signature" in states else states


def _state(file: str, name: str, value: Any) -> State:
    """Return the state of a step.

    Raises:
        StateError: it is none, sets what it may not, or is of other fields than the step has today.
    """
    try:
        state = State.model_validate(value)
    except ValidationError as error:
        raise StateError(f"{file}: not a state that DSPy saves ({first_fault(error)})") from error
    if others := sorted(state.config.keys() - _LIMITS):
        raise StateError(f"{file}: a state cannot set {others[0]} of a call")
    signature = STEPS[name].signature
    count = len(signature.input_fields)
    known = [_prefix(field) for field in signature.fields.values()]
    saved = [field.prefix for field in state.signature.fields]
    outputs = Counter(saved[count:])
    if saved[:count] != known[:count] or not outputs or not outputs <= Counter(known[count:]):
        raise StateError(
            f"{file}: its fields are not those of the step {name} ({', '.join(signature.fields)})"
        )
    # Stock optimizers put whole examples into the demos, with what labels hold beside the fields of
    # the step.
    fields = signature.fields
    demos = [{key: demo[key] for key in demo if key in fields} for demo in state.demos]
    return state.model_copy(update={"demos": demos})


def _prefix(field: Any) -> str:
    return str(field.json_schema_extra["prefix"])
