"""The compiled states that a run or a judgement uses."""

import hashlib
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from groundset.data_files import data_path
from groundset.files import whole_file
from groundset.models.cache import cache_home, file_sha256
from programs.critics.curve import CurvePoint, point_at
from programs.critics.ensemble import Blend
from programs.critics.heads import CriticHeads
from programs.critics.logprobs import LogprobCritic
from programs.critics.states import HEAD, CompiledState, folder_of, head_hash, read_states
from programs.errors import InputError, StateError
from programs.nearest import Encode, Nearest, Select
from programs.steps import STEPS

SHIPPED, NONE, CHAMPION = "shipped", "none", "champion"
ENSEMBLE = "ensemble"
_READING = ("lm", ENSEMBLE)  # critics whose language model is compiled; what it was is none of what `verdict` asks
_DECIDING = {name: step.signature for name, step in STEPS.items() if step.decides and not step.finetuned}


class Compiled(NamedTuple):
    """The states in use, by step.

    Attributes:
        states: by step.
        files: the files of their adapters, by hash.
    """

    states: dict[str, CompiledState]
    files: dict[str, Path]

    @property
    def predictors(self) -> dict[str, dict[str, Any]]:
        """Return the predictors' states by step."""
        return {step: state.predictor for step, state in self.states.items()}

    @property
    def heads(self) -> dict[str, CriticHeads]:
        """Return the fitted heads by step."""
        return {step: state.heads for step, state in self.states.items() if state.heads is not None}

    @property
    def blends(self) -> dict[str, Blend]:
        """Return by step the blend of a head and the language model."""
        return {step: state.blend for step, state in self.states.items() if state.blend is not None}

    @property
    def adapters(self) -> dict[str, str]:
        """Return the hash of the trained weights that a step is written with, by step."""
        return {step: state.adapter.sha256 for step, state in self.states.items() if state.adapter is not None}

    def deciding(self) -> "Compiled":
        """Return the states of the steps that decide, with the files of these alone."""
        kept = self._replace(states={step: state for step, state in self.states.items() if STEPS[step].decides})
        return kept._replace(files={adapter: self.files[adapter] for adapter in kept.adapters.values()})

    def taught(self, lm: Any) -> dict[str, LogprobCritic]:
        """Return by step the critics that consist of trained weights of a language model."""
        return {step: LogprobCritic(lm, adapter) for step, adapter in self.adapters.items() if STEPS[step].finetuned}

    @property
    def fitted(self) -> str:
        """Return the steps whose heads were fitted and those in which a language model has a say, in words."""
        heads = ", ".join(sorted(self.heads)) or "uncompiled"
        return f"{heads}; with the language model: {', '.join(sorted(self.blends))}" if self.blends else heads

    def selects(self, encode: Encode) -> dict[str, Select]:
        """Return by step the function that chooses among a pool of demos."""
        return {
            step: Nearest(state.nearest, encode) for step, state in self.states.items() if state.nearest is not None
        }

    @property
    def digest(self) -> str:
        """Return a hash of all states, the same for the same numbers."""
        states = {
            step: state.model_dump(mode="json", exclude={"record"}, exclude_none=True)
            for step, state in self.states.items()
        }
        return hashlib.sha256(json.dumps(states, sort_keys=True).encode()).hexdigest()[:16]

    def record(self) -> dict[str, Any]:
        """Return the entry of ``run.json``: how each step was compiled, with its threshold."""
        return {step: _state_record(state) for step, state in self.states.items()}


class Users(NamedTuple):
    """The models that will use the states; a hash is None where there are no weights to hash.

    Attributes:
        critic: the name of the critic.
        embedder_sha256: of the critic ``head``.
        lm: the name of the language model, None if there is none.
        lm_sha256: its weights' hash.
        dimension: the length of the embedder's vectors, None if nobody embeds.
        critic_lm: the name of the language model that judges, None if it is the same.
        critic_lm_sha256: its weights' hash.
    """

    critic: str
    embedder_sha256: str | None = None
    lm: str | None = None
    lm_sha256: str | None = None
    dimension: int | None = None
    critic_lm: str | None = None
    critic_lm_sha256: str | None = None

    @property
    def judging(self) -> tuple[str | None, str | None]:
        """Return the name and the hash of the language model that judges."""
        return (self.critic_lm, self.critic_lm_sha256) if self.critic_lm else (self.lm, self.lm_sha256)


def load_compiled(choice: str, users: Users, tracking: str | None = None) -> Compiled:
    """Return the states that ``--compiled`` asks for: ``shipped``, ``champion``, ``none`` or a folder.

    A folder holds ``head/<step>.json`` for the critic ``head`` and ``<model>/<step>.json`` for a language model. What
    was compiled for other models or embedders is passed over; in a folder of the user's own it is an error. What
    folder or champions lack is taken from what ships.
    ``tracking`` is the store of champions that `--tracking` names.

    Raises:
        InputError: there is no such folder, or nothing in it fits.
        StateError: a state was made for another version.
        TrackingError: the store of champions cannot be read.
    """
    if choice == NONE:
        return Compiled({}, {})
    if choice == SHIPPED:
        return _over_shipped(Compiled({}, {}), users)
    if choice == CHAMPION:
        from groundset.tracking.store import TrackingStore

        with TemporaryDirectory() as aside:
            TrackingStore.open(tracking, create=False).champion_files(Path(aside))
            found = _with_files(_fitting(Path(aside), users), Path(aside), keep=cache_home() / "adapters")
        if not found.states:
            raise InputError(f"--compiled {CHAMPION}: no champion fits; promote one: `groundset promote RUN_ID`")
        return _over_shipped(found, users)
    folder = Path(choice).expanduser()
    if not folder.is_dir():
        raise InputError(f"--compiled {choice}: no such folder; name one, or shipped, champion or none")
    states = _fitting(folder, users, strict=True)
    if not states:
        held = sorted(file.parent.name for file in folder.glob("*/*.json"))
        held_states = f"it holds states for {', '.join(dict.fromkeys(held))}" if held else "it holds no compiled states"
        named = (HEAD if users.critic == HEAD else None, users.lm, users.critic_lm)
        wanted = " and ".join(name for name in named if name)
        raise InputError(f"--compiled {choice}: {held_states} (<model>/<step>.json), none of which fits {wanted}")
    return _over_shipped(_with_files(states, folder), users)


def shipped_head(step: str, embedder_sha256: str | None) -> CriticHeads | None:
    """Return the head of a step that ships, None if it was fitted with another embedder."""
    state = _heads(data_path("compiled")).get(step)
    return state.heads if state is not None and state.model_sha256 == embedder_sha256 else None


def _over_shipped(found: Compiled, users: Users) -> Compiled:
    """Return states, with shipped ones for the other steps; critics with hand-set weights decide far worse."""
    fitting = _fitting(data_path("compiled"), users)
    states = {step: state for step, state in fitting.items() if step not in found.states}
    shipped = _with_files(states, data_path("compiled"))
    both = {**shipped.states, **found.states}
    if users.critic == ENSEMBLE:  # it is fitted with the shipped heads, so it is used with those
        for step, head in _heads(data_path("compiled")).items():
            if head.model_sha256 == users.embedder_sha256:
                both[step] = _with_head(both[step], head) if step in both else head
    return Compiled(both, {**shipped.files, **found.files})


def _with_files(states: dict[str, CompiledState], folder: Path, keep: Path | None = None) -> Compiled:
    """Return states with the files of their adapters, each the one that was trained; copied to ``keep`` if given.

    Raises:
        StateError: a file is missing, or another one.
    """
    files = {}
    for state in states.values():
        if state.adapter is None:
            continue
        file = folder / folder_of(state.model) / state.adapter.file
        if not file.is_file():
            raise StateError(f"{file}: missing; the state of {state.step} needs it")
        if file_sha256(file) != state.adapter.sha256:
            raise StateError(f"{file}: not the file that was trained for {state.step}; compile it again")
        if keep is not None:
            kept = keep / f"{state.adapter.sha256}.gguf"
            if not kept.exists():
                with whole_file(kept) as aside:
                    shutil.copyfile(file, aside)
            file = kept
        files[state.adapter.sha256] = file
    return Compiled(states, files)


def _fitting(folder: Path, users: Users, *, strict: bool = False) -> dict[str, CompiledState]:
    """Return the states in a folder that were compiled for these weights.

    Raises:
        InputError: with ``strict``, if there are some for the same model with other weights.
        StateError: one cannot be used, or weighs vectors of another length.
    """
    writing = {name: step.signature for name, step in STEPS.items() if name not in _DECIDING}
    candidates: list[tuple[CompiledState, str | None]] = []
    if users.lm is not None:
        candidates += [
            (state, users.lm_sha256) for state in read_states(folder / folder_of(users.lm), writing).values()
        ]
    judging, judging_sha256 = users.judging
    if judging is not None and users.critic in _READING:
        states = read_states(folder / folder_of(judging), _DECIDING).values()
        blended = users.critic == ENSEMBLE
        candidates += [(state, judging_sha256) for state in states if blended == (state.blend is not None)]
    if users.critic == HEAD:
        candidates += [(state, users.embedder_sha256) for state in _heads(folder).values()]
    for state, sha256 in candidates:
        if strict and state.model_sha256 != sha256:
            of_critic = users.critic_lm is not None and state.step in _DECIDING
            weights = "other weights of --critic-lm" if of_critic else "other weights of --lm"
            what = "another --embedder" if state.model == HEAD else weights
            raise InputError(f"--compiled {folder}: the state of {state.step} was compiled with {what}")
        length = state.heads.dimension if state.heads and sha256 == state.model_sha256 else None
        if length and users.dimension and length != users.dimension:
            raise StateError(
                f"{folder / folder_of(state.model) / state.step}.json: weighs vectors of {length} numbers, those of "
                f"--embedder have {users.dimension}; compile it again"
            )
    return {state.step: state for state, sha256 in candidates if state.model_sha256 == sha256}


def _heads(folder: Path) -> dict[str, CompiledState]:
    """Return the heads in a folder, whatever embedder they were fitted with."""
    return read_states(folder / HEAD, _DECIDING)


def _with_head(ensemble: CompiledState, head: CompiledState) -> CompiledState:
    """Return the state of an ensemble with the head that it was fitted with.

    Raises:
        StateError: the head has been fitted again since.
    """
    if head.heads is None or ensemble.head != head_hash(head.heads):
        raise StateError(
            f"the ensemble of {ensemble.step} for {ensemble.model} was fitted with another head; compile it again: "
            f"`groundset compile {ensemble.step} --optimizer {ensemble.optimizer} --lm {ensemble.model}`"
        )
    return ensemble.model_copy(update={"heads": head.heads})


def _state_record(state: CompiledState) -> dict[str, Any]:
    record: dict[str, Any] = {"model": state.model, "optimizer": state.optimizer}
    if licences := state.record.get("licences"):
        record["licences"] = licences
    if state.threshold is not None:
        record["threshold"] = state.threshold
    point = None if state.threshold is None else point_at(state.curve, state.threshold)
    if point is not None:
        record |= _expected(point)
    if state.kinds:
        record["kinds"] = {kind: _expected(of_kind) for kind, of_kind in state.kinds.items() if of_kind.accepted}
    return record


def _expected(point: CurvePoint) -> dict[str, Any]:
    interval = [round(point.low, 3), round(point.high, 3)]
    return {"expected_good": round(point.precision, 3), "interval": interval, "measured_on": point.accepted}
