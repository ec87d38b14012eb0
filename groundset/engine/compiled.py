"""Compiled states: choose and load those that fit the models of a run."""

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
_LM_CRITICS = ("lm", ENSEMBLE)  # `verdict` uses other prompts, so these states do not apply to it
_DECIDING = {name: step.signature for name, step in STEPS.items() if step.any_critic}
_REASONING = {name: step.signature for name, step in STEPS.items() if step.gives_reasons}


class Compiled(NamedTuple):
    """The states in use.

    Attributes:
        states: the states by step.
        files: the adapter files by hash.
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
        """Return the blends of head and language model by step."""
        return {step: state.blend for step, state in self.states.items() if state.blend is not None}

    @property
    def adapters(self) -> dict[str, str]:
        """Return the hash of the adapter of each step that has one."""
        return {step: state.adapter.sha256 for step, state in self.states.items() if state.adapter is not None}

    def deciding(self) -> "Compiled":
        """Return only the states of steps that decide, with their files."""
        kept = self._replace(states={step: state for step, state in self.states.items() if STEPS[step].decides})
        return kept._replace(files={adapter: self.files[adapter] for adapter in kept.adapters.values()})

    def finetuned(self, lm: Any) -> dict[str, LogprobCritic]:
        """Return the fine-tuned critics by step: adapters of a language model."""
        return {step: LogprobCritic(lm, adapter) for step, adapter in self.adapters.items() if STEPS[step].finetuned}

    @property
    def fitted(self) -> str:
        """Describe which steps have fitted heads and which are blended with the language model."""
        heads = ", ".join(sorted(self.heads)) or "uncompiled"
        return f"{heads}; with the language model: {', '.join(sorted(self.blends))}" if self.blends else heads

    def selects(self, encode: Encode) -> dict[str, Select]:
        """Return the demo selectors by step."""
        return {
            step: Nearest(state.nearest, encode) for step, state in self.states.items() if state.nearest is not None
        }

    @property
    def digest(self) -> str:
        """Return a hash of all states; how they were compiled is not part of it."""
        states = {
            step: state.model_dump(mode="json", exclude={"record"}, exclude_none=True)
            for step, state in self.states.items()
        }
        return hashlib.sha256(json.dumps(states, sort_keys=True).encode()).hexdigest()[:16]

    def record(self) -> dict[str, Any]:
        """Return the entry of ``run.json``: how each step was compiled, and its threshold."""
        return {step: _state_record(state) for step, state in self.states.items()}


class StateConsumers(NamedTuple):
    """The critic and models that use the states; the hash of weights on a server is None.

    Attributes:
        critic: the name of the critic.
        embedder_sha256: the hash of the embedder's weights.
        lm: the name of the language model, or None.
        lm_sha256: the hash of its weights.
        dimension: the embedding dimension, or None without an embedder.
        critic_lm: the name of the language model that judges, None if it is ``lm``.
        critic_lm_sha256: the hash of its weights.
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


def load_compiled(choice: str, consumers: StateConsumers, tracking: str | None = None) -> Compiled:
    """Load the states of ``--compiled``: ``shipped``, ``champion``, ``none`` or a folder.

    A folder holds ``head/<step>.json`` for the critic ``head`` and ``<model>/<step>.json`` for a language model. States
    of other models are ignored. In a user's folder, states of other weights or embedders are an error, and so is a
    folder without any suitable state. Steps without a state get the shipped one.

    Args:
        choice: the value of ``--compiled``.
        consumers: the models that use the states.
        tracking: the store of champions.

    Raises:
        InputError: the folder does not exist, or no state in it fits.
        StateError: a state was made by another version.
        TrackingError: the store of champions cannot be read.
    """
    if choice == NONE:
        return Compiled({}, {})
    if choice == SHIPPED:
        return _over_shipped(Compiled({}, {}), consumers)
    if choice == CHAMPION:
        from groundset.tracking.store import TrackingStore

        with TemporaryDirectory() as aside:
            TrackingStore.open(tracking, create=False).champion_files(Path(aside))
            found = _with_files(_fitting(Path(aside), consumers), Path(aside), keep=cache_home() / "adapters")
        if not found.states:
            raise InputError(f"--compiled {CHAMPION}: no champion fits; promote one: `groundset promote RUN_ID`")
        return _over_shipped(found, consumers)
    folder = Path(choice).expanduser()
    if not folder.is_dir():
        raise InputError(f"--compiled {choice}: no such folder; name one, or shipped, champion or none")
    states = _fitting(folder, consumers, strict=True)
    if not states:
        models = sorted({file.parent.name for file in folder.glob("*/*.json")})
        if not models:
            raise InputError(f"--compiled {choice}: no compiled states (<model>/<step>.json) in this folder")
        named = (HEAD if consumers.critic == HEAD else None, consumers.lm, consumers.critic_lm)
        wanted = " or ".join(name for name in named if name)
        raise InputError(f"--compiled {choice}: no states for {wanted}; the folder has states for {', '.join(models)}")
    return _over_shipped(_with_files(states, folder), consumers)


def shipped_head(step: str, embedder_sha256: str | None) -> CriticHeads | None:
    """Return the shipped head of a step, None if it was fitted with another embedder."""
    state = _heads(data_path("compiled")).get(step)
    return state.heads if state is not None and state.model_sha256 == embedder_sha256 else None


def _over_shipped(found: Compiled, consumers: StateConsumers) -> Compiled:
    """Add the shipped states of all other steps; critics without states decide far worse."""
    fitting = _fitting(data_path("compiled"), consumers)
    states = {step: state for step, state in fitting.items() if step not in found.states}
    shipped = _with_files(states, data_path("compiled"))
    both = {**shipped.states, **found.states}
    if consumers.critic == ENSEMBLE:  # an ensemble is fitted with the shipped heads
        for step, head in _heads(data_path("compiled")).items():
            if head.model_sha256 == consumers.embedder_sha256:
                both[step] = _with_head(both[step], head) if step in both else head
    return Compiled(both, {**shipped.files, **found.files})


def _with_files(states: dict[str, CompiledState], folder: Path, keep: Path | None = None) -> Compiled:
    """Add the adapter files of states, copied to ``keep`` if given.

    Raises:
        StateError: a file is missing or has another hash.
    """
    files = {}
    for state in states.values():
        if state.adapter is None:
            continue
        file = folder / folder_of(state.model) / state.adapter.file
        if not file.is_file():
            raise StateError(f"{file}: missing; the state of {state.step} needs it")
        if file_sha256(file) != state.adapter.sha256:
            raise StateError(f"{file}: does not match the hash in the state of {state.step}; compile it again")
        if keep is not None:
            kept = keep / f"{state.adapter.sha256}.gguf"
            if not kept.exists():
                with whole_file(kept) as aside:
                    shutil.copyfile(file, aside)
            file = kept
        files[state.adapter.sha256] = file
    return Compiled(states, files)


def _fitting(folder: Path, consumers: StateConsumers, *, strict: bool = False) -> dict[str, CompiledState]:
    """Return the states in a folder that were compiled for these models.

    Raises:
        InputError: with ``strict``, a state was compiled for other weights of the same model.
        StateError: a state cannot be used, or expects another embedding dimension.
    """
    writing = {name: step.signature for name, step in STEPS.items() if name not in {**_DECIDING, **_REASONING}}
    candidates: list[tuple[CompiledState, str | None]] = []
    if consumers.lm is not None:
        candidates += [
            (state, consumers.lm_sha256) for state in read_states(folder / folder_of(consumers.lm), writing).values()
        ]
    judging, judging_sha256 = consumers.judging
    if judging is not None:
        states = read_states(folder / folder_of(judging), _REASONING).values()
        candidates += [(state, judging_sha256) for state in states]
    if judging is not None and consumers.critic in _LM_CRITICS:
        states = read_states(folder / folder_of(judging), _DECIDING).values()
        blended = consumers.critic == ENSEMBLE
        candidates += [(state, judging_sha256) for state in states if blended == (state.blend is not None)]
    if consumers.critic == HEAD:
        candidates += [(state, consumers.embedder_sha256) for state in _heads(folder).values()]
    for state, sha256 in candidates:
        if strict and state.model_sha256 != sha256:
            of_critic = consumers.critic_lm is not None and state.step in _DECIDING
            weights = "other weights of --critic-lm" if of_critic else "other weights of --lm"
            what = "another --embedder" if state.model == HEAD else weights
            raise InputError(f"--compiled {folder}: the state of {state.step} was compiled with {what}")
        length = state.heads.dimension if state.heads and sha256 == state.model_sha256 else None
        if length and consumers.dimension and length != consumers.dimension:
            raise StateError(
                f"{folder / folder_of(state.model) / state.step}.json: expects embeddings of dimension {length}, "
                f"--embedder has {consumers.dimension}; compile it again"
            )
    return {state.step: state for state, sha256 in candidates if state.model_sha256 == sha256}


def _heads(folder: Path) -> dict[str, CompiledState]:
    """Return the heads in a folder, for any embedder."""
    return read_states(folder / HEAD, _DECIDING)


def _with_head(ensemble: CompiledState, head: CompiledState) -> CompiledState:
    """Return the state of an ensemble with its head.

    Raises:
        StateError: the ensemble was fitted with another head.
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
