"""Which asking mode and which critic a run takes: what was named, what was measured for the model, or the default."""

from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from groundset.data_files import data_path
from groundset.engine.config import RunConfig
from groundset.engine.states import CHAMPION, NONE, SHIPPED
from groundset.models.specs import parse_spec
from programs.critics.states import folder_of
from programs.errors import GroundsetError, InputError, StateError
from programs.foreign import MAX_ROW, small_text
from programs.modes import MODES, Mode

FREE = "free"  # of models about which nothing is known: nobody names one of a billion parameters to a server
MODE_FILE = "mode.json"  # beside the compiled states of a model


class ModeState(BaseModel):
    """The mode that was found best for a model: ``<model>/mode.json`` beside its compiled states.

    ``measured`` says in words on what; ``critic`` decides where nobody names one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: str
    critic: str
    measured: str = ""


class ChosenMode(NamedTuple):
    """The mode of a run and why it was taken.

    ``given`` is the configuration as it was given, ``config`` the same with everything that follows from the mode.
    """

    mode: Mode
    why: str
    given: RunConfig
    config: RunConfig


def choose_mode(config: RunConfig) -> ChosenMode:
    """Return the mode that a configuration comes to.

    Raises:
        InputError: there is no such mode, or it cannot do what other options ask for.
        StateError: the mode of a model cannot be read.
    """
    state = _state_of(config)
    name = config.mode or (state.mode if state else FREE)
    if name not in MODES:
        raise InputError(f"--mode {name}: no such mode; choose one of {', '.join(MODES)}")
    mode = MODES[name]
    if config.mode:
        why = "named"
    elif state:
        why = f"the mode of {config.lm}"
    else:
        why = "the mode of models that are not in the catalogue"
    critic = config.critic or (state.critic if state else mode.critic)
    try:
        options = config.options.in_mode(mode)
    except ValueError as error:
        raise InputError(str(error)) from error
    chosen = {"mode": name, "critic": critic, "options": options}
    return ChosenMode(mode, why, config, config.model_copy(update=chosen))


def _state_of(config: RunConfig) -> ModeState | None:
    try:
        folder = folder_of(parse_spec(config.lm).name)
    except GroundsetError:  # said in full where the model is opened
        return None
    named = () if config.compiled in (SHIPPED, CHAMPION, NONE) else (Path(config.compiled).expanduser(),)
    for place in (*named, data_path("compiled")):
        file = place / folder / MODE_FILE
        if file.is_file():
            try:
                return ModeState.model_validate_json(small_text(file, MAX_ROW))
            except ValidationError as error:
                raise StateError(
                    f"{file}: not a mode of a model: {error.errors(include_url=False)[0]['msg']}"
                ) from error
    return None
