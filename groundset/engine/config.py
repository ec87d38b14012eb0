"""The configuration of a run: defaults, overridden by a file, overridden by command-line options."""

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    field_validator,
    model_validator,
)

from groundset.corpus.corpus import CorpusOptions
from groundset.corpus.user_chunks import CHUNK_SUFFIXES
from groundset.cost import Price
from groundset.data_files import data_path
from groundset.engine.compiled import CHAMPION, NONE, SHIPPED
from groundset.engine.options import RunOptions
from groundset.engine.strata import check_stratify
from groundset.models.catalogue import CATALOGUE
from groundset.models.hub import PREFIX
from groundset.models.specs import SERVERS_FILE, parse_spec
from groundset.options import ChunkingOptions, option_name, recipe_options, wrong_options
from groundset.retrieval.stores import store_folder
from groundset.sources import Url, is_url
from programs.critics.states import folder_of
from programs.errors import GroundsetError, InputError, StateError
from programs.languages.names import NAMES
from programs.modes import MODES, Mode
from programs.recipes import RECIPES
from programs.recipes.base import Options, Recipe
from programs.recipes.mixed import is_text_file
from programs.untrusted import MAX_ROW, small_text

_MODELS = ("lm", "critic_lm")
_NAMES_OR_PATHS = ("lm", "critic_lm", "compiled", "embedder", "vector_store")
FREE = "free"  # default for unmeasured models; served models are usually larger than 1B
MODE_FILE = "mode.json"  # beside the compiled states of a model


class RunConfig(RunOptions):
    """The configuration of a run; see :class:`RunOptions`.

    Attributes:
        lm_file, critic_lm_file: the file that names the model, None if the caller does.
        options: the options of the recipe.
    """

    lm_file: Path | None = Field(default=None, exclude=True)
    critic_lm_file: Path | None = Field(default=None, exclude=True)
    options: SerializeAsAny[Options] = Field(default_factory=lambda: RECIPES["evolved"].options())

    @field_validator("chunks")
    @classmethod
    def _check_chunks(cls, value: Path | Url | None) -> Path | Url | None:
        if value is not None and value.suffix.lower() not in CHUNK_SUFFIXES:
            raise ValueError(f"the name of a file of chunks ends with {' or '.join(sorted(CHUNK_SUFFIXES))}")
        return value

    @field_validator("language")
    @classmethod
    def _check_language(cls, value: str | None) -> str | None:
        if value is not None and value not in NAMES:
            close = [code for code, name in NAMES.items() if value.casefold() in (code, name.casefold())]
            hint = f"; did you mean {close[0]}?" if close else ", in small letters, such as de, fr or es"
            raise ValueError(f"no known ISO 639-1 code{hint}")
        return value

    @field_validator("stratify")
    @classmethod
    def _check_stratify(cls, value: str) -> str:
        return check_stratify(value)

    @field_validator("price")
    @classmethod
    def _check_price(cls, value: str | None) -> str | None:
        if value is not None:
            Price.parse(value)
        return value

    @model_validator(mode="after")
    def _check_corpus_options(self) -> Self:
        self.corpus_options()
        return self

    @property
    def row(self) -> Recipe:
        """Return the recipe."""
        return RECIPES[self.recipe]

    @property
    def deciding(self) -> str:
        """Return the name of the critic."""
        return self.critic or "head"

    def to_dict(self) -> dict[str, Any]:
        """Return all options, including the recipe's, as JSON values that ``--config`` can read."""
        options = self.model_dump(mode="json")
        recipe_options: dict[str, Any] = options.pop("options")
        for name in _MODELS:  # a list only of several servers
            specs = options[name]
            options[name] = specs if len(specs) > 1 else specs[0] if specs else None
        return options | recipe_options

    def corpus_options(self) -> CorpusOptions:
        """Return the chunking options, with the recipe's defaults for ``merge`` and ``min_length``."""
        values = {name: getattr(self, name) for name in ChunkingOptions.model_fields}
        for name in ("merge", "min_length"):
            if values[name] is None:
                values[name] = getattr(self.row, name)
        return CorpusOptions(**values)

    def anchored(self) -> "RunConfig":
        """Return the configuration with absolute paths."""
        documents = tuple(path.absolute() for path in self.documents)
        paths = _paths_from(Path(), {name: getattr(self, name) for name in _NAMES_OR_PATHS})
        return self.model_copy(
            update={"documents": documents, "chunks": self.chunks and self.chunks.absolute(), **paths}
        )

    @property
    def sources(self) -> tuple[Path | Url, ...]:
        """Return the paths and URLs of documents and of the file of chunks."""
        return (*self.documents, *((self.chunks,) if self.chunks else ()))


def make_config(given: Mapping[str, Any], file: Path | None = None) -> RunConfig:
    """Build a configuration from options, a file and the defaults.

    Args:
        given: options by field name; None means not given.
        file: a TOML file of options, or the ``run.json`` of an earlier run, where null means the default.

    Raises:
        InputError: an option is wrong; the message names it, and its file if it comes from one.
    """
    options = {name: value for name, value in given.items() if value is not None and value != ()}
    in_file = {} if file is None else read_config_file(file)
    combined = {**{name: value for name, value in in_file.items() if value is not None}, **options}
    recipe = combined.get("recipe", RunConfig.model_fields["recipe"].default)
    if recipe not in RECIPES:
        raise InputError(f"--recipe {recipe}: no such recipe; choose one of {', '.join(RECIPES)}")
    common = {name: value for name, value in combined.items() if name in RunConfig.model_fields}
    for model in _MODELS:
        if model in combined and model not in options:
            common[f"{model}_file"] = file
    others = {name: value for name, value in combined.items() if name not in common}
    known = recipe_options()
    for name in others:
        if name not in known:
            hint = _did_you_mean(option_name(name), map(option_name, _known()))
            raise InputError(f"there is no option {option_name(name)}{hint}")
        if recipe not in known[name].owners:
            owners = ", ".join(known[name].owners)
            raise InputError(f"{option_name(name)}: not an option of the recipe {recipe}, but of {owners}")
    try:
        config = RunConfig(**common, options=RECIPES[recipe].options(**others))
    except ValidationError as error:
        raise wrong_options(error, options, f"--recipe {recipe}", file) from error
    if not config.sources:
        raise InputError("no documents; name files or folders, or --chunks FILE")
    return config


def read_config_file(file: Path) -> dict[str, Any]:
    """Read the options in a TOML file, or in the ``run.json`` of an earlier run.

    Relative paths in a TOML file are relative to its folder.

    Raises:
        InputError: the file cannot be read, or has an unknown option.
    """
    try:
        text = small_text(file, MAX_ROW)
        values = json.loads(text) if file.suffix.lower() == ".json" else tomllib.loads(text)
    except InputError as error:
        raise InputError(f"--config {error}") from error
    except OSError as error:
        raise InputError(f"--config {file}: {error.strerror or error}") from error
    except RecursionError as error:
        raise InputError(f"--config {file}: nested too deep") from error
    except ValueError as error:  # JSON and TOML errors
        kind = "JSON" if file.suffix.lower() == ".json" else "TOML"
        raise InputError(f"--config {file}: not {kind} ({error})") from error
    is_record = file.suffix.lower() == ".json" and isinstance(values, dict) and "configuration" in values
    if is_record:
        values = values["configuration"]
    if not isinstance(values, dict):
        raise InputError(f"--config {file}: holds no options")
    options = {name.replace("-", "_"): value for name, value in values.items()}
    known = [name.replace("_", "-") for name in _known()]
    for name in (name.replace("_", "-") for name in options):
        if name not in known:
            raise InputError(f"--config {file}: there is no option {name}{_did_you_mean(name, known)}")
    # Records have absolute paths; older ones may hold paths relative to the working directory.
    return options if is_record else _anchored(options, file)


def _known() -> list[str]:
    """Return the names of all options."""
    return sorted({*RunConfig.model_fields, *recipe_options()} - {"options", "lm_file", "critic_lm_file"})


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _anchored(options: dict[str, Any], file: Path) -> dict[str, Any]:
    folder = file.parent
    documents = options.get("documents")
    if "" in (options.get("chunks"), *(documents if isinstance(documents, list) else [documents])):
        raise InputError(f"--config {file}: the path of documents or chunks is empty; name a file or a folder")
    if isinstance(documents, str):
        documents = [documents]
    if isinstance(documents, list) and all(isinstance(name, str) for name in documents):
        options["documents"] = [name if is_url(name) else folder / name for name in documents]
    # A record holds the content of the last two.
    for name in ("chunks", "like", "profile_file"):
        if isinstance(options.get(name), str) and not is_url(options[name]):
            options[name] = folder / options[name]
    if isinstance(personas := options.get("personas"), (str, list)):
        given = [personas] if isinstance(personas, str) else personas
        options["personas"] = [folder / each if is_text_file(str(each)) else each for each in given]
    return {**options, **_paths_from(folder, options)}


def _paths_from(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that may hold a path or a name, with paths made absolute."""

    def anchored(name: str, value: Any) -> Any:
        if isinstance(value, list | tuple) and name in _MODELS:
            return tuple(anchored(name, each) for each in value)
        if isinstance(value, str) and (path := _path_in(name, value, folder)).strip():
            return f"{value.removesuffix(path)}{(folder / Path(path).expanduser()).absolute()}"
        return value

    return {name: anchored(name, options[name]) for name in _NAMES_OR_PATHS if name in options}


def _path_in(option: str, value: str, folder: Path) -> str:
    """Return the path in the value of an option, empty if it holds a name."""
    if option == "vector_store":
        return store_folder(value)
    if option in _MODELS:
        if listed := SERVERS_FILE.fullmatch(value):
            return listed["file"]
        is_path = value.lower().endswith(".gguf") and not value.startswith(PREFIX)
    elif option == "compiled":
        is_path = value not in (SHIPPED, CHAMPION, NONE)
    else:
        is_path = value.startswith((".", "/", "~")) or (value not in CATALOGUE and (folder / value).is_dir())
    return value if is_path else ""


class ModeState(BaseModel):
    """The best mode measured for a model: ``<model>/mode.json`` beside its compiled states.

    Attributes:
        mode: the default of ``--mode`` for the model.
        critic: the default of ``--critic`` for the model.
        measured: a description of the measurement.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: str
    critic: str
    measured: str = ""


class ChosenMode(NamedTuple):
    """The mode of a run and why it was chosen.

    Attributes:
        mode: the mode.
        why: the reason, as text.
        given: the configuration as given.
        config: the configuration with the defaults of the mode.
    """

    mode: Mode
    why: str
    given: RunConfig
    config: RunConfig


def choose_mode(config: RunConfig) -> ChosenMode:
    """Choose the mode of a run.

    Raises:
        InputError: the mode is unknown, or does not go with other options.
        StateError: the mode file of the model cannot be read.
    """
    state = _state_of(config)
    name = config.mode or (state.mode if state else FREE)
    if name not in MODES:
        raise InputError(f"--mode {name}: no such mode; choose one of {', '.join(MODES)}")
    mode = MODES[name]
    if config.mode:
        why = "named"
    elif state:
        why = f"the mode of {', '.join(config.lm)}"
    else:
        why = "the mode of models that are not in the catalogue"
    critic = config.critic or (state.critic if state else mode.critic)
    try:
        options = config.options.in_mode(mode)
    except ValueError as error:
        raise InputError(str(error)) from error
    resolved = config.model_copy(update={"mode": name, "critic": critic, "options": options})
    return ChosenMode(mode, why, config, resolved)


def _state_of(config: RunConfig) -> ModeState | None:
    try:
        folder = folder_of(parse_spec(config.lm).name)
    except GroundsetError:  # reported when the model is opened
        return None
    named = () if config.compiled in (SHIPPED, CHAMPION, NONE) else (Path(config.compiled).expanduser(),)
    for states in (*named, data_path("compiled")):
        file = states / folder / MODE_FILE
        if file.is_file():
            try:
                return ModeState.model_validate_json(small_text(file, MAX_ROW))
            except ValidationError as error:
                raise StateError(f"{file}: not a mode file: {error.errors(include_url=False)[0]['msg']}") from error
    return None
