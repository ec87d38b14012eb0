"""Which compiled states a run or a judgement uses."""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from groundset.data_files import data_path
from groundset.errors import InputError
from optimizers.heads import CriticHeads
from optimizers.states import HEAD, CompiledState, read_states
from optimizers.thresholds import point_at
from programs.steps import critics

SHIPPED, NONE = "shipped", "none"


class Compiled(NamedTuple):
    """The states in use, by step."""

    states: dict[str, CompiledState]

    @property
    def predictors(self) -> dict[str, dict[str, Any]]:
        """Return the predictors' states by step."""
        return {step: state.predictor for step, state in self.states.items()}

    @property
    def heads(self) -> dict[str, CriticHeads]:
        """Return the fitted heads by step."""
        return {step: state.heads for step, state in self.states.items() if state.heads is not None}

    @property
    def digest(self) -> str:
        """Return a hash of all states, the same for the same numbers."""
        told = {step: state.model_dump(mode="json", exclude={"record"}) for step, state in self.states.items()}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    def record(self) -> dict[str, Any]:
        """Return what ``run.json`` says: for each step how it was compiled and what its threshold promises."""
        return {step: _promise(state) for step, state in self.states.items()}


def load_compiled(choice: str, *, critic: str, embedder_sha256: str | None) -> Compiled:
    """Return the states that ``--compiled`` asks for: ``shipped``, ``none`` or a folder.

    Shipped heads were fitted with the embedder of the catalogue; with another one they do not fit and are left out.

    Raises:
        InputError: there is no such folder, or its heads were fitted with another embedder.
        StateError: a state was made for another version.
    """
    if choice == NONE or critic != HEAD:
        return Compiled({})
    signatures = {step: predict.signature for step, predict in critics().items()}
    if choice == SHIPPED:
        states = read_states(data_path("compiled", HEAD), signatures)
        return Compiled({step: s for step, s in states.items() if s.model_sha256 == embedder_sha256})
    folder = Path(choice).expanduser()
    if not folder.is_dir():
        raise InputError(f"--compiled {choice}: no such folder; name one, or shipped, or none.")
    states = read_states(folder / HEAD if (folder / HEAD).is_dir() else folder, signatures)
    if not states:
        raise InputError(f"--compiled {choice}: it holds no compiled states (<step>.json).")
    for step, state in states.items():
        if state.model_sha256 != embedder_sha256:
            raise InputError(f"--compiled {choice}: the head of {step} was fitted with another --embedder.")
    return Compiled(states)


def _promise(state: CompiledState) -> dict[str, Any]:
    told: dict[str, Any] = {"optimizer": state.optimizer, "threshold": state.threshold}
    point = None if state.threshold is None else point_at(state.curve, state.threshold)
    if point is not None:
        told |= {"expected_good": round(point.precision, 3), "interval": [round(point.low, 3), round(point.high, 3)]}
    return told
