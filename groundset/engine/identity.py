"""What makes two runs the same: everything that affects their results, and nothing else."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from groundset import __version__
from groundset.corpus import find_documents
from groundset.corpus.parsing.formats import SUFFIXES
from groundset.data_files import data_path
from groundset.engine.config import RunConfig
from groundset.options import option_name
from groundset.store.run_store import RunStore
from programs.errors import DocumentError, InputError, RunMismatchError
from programs.recipes.base import Recipe

Identity = dict[str, Any]

# Raise it with every change after which a run that was begun before would continue differently: of prompts, of the
# order of work, of what is refused. `tests/groundset/engine/test_behaviour.py` fails until that is done.
BEHAVIOUR = 1
_BEHAVING_DATA = ("compiled", "demos")  # folders of data/ that do the same: compared by their bytes

# Options that count in another way, or not at all; every other one counts by its value.
_NOT_PLAIN = {
    "documents", "chunks",  # by their bytes
    "lm", "critic_lm", "embedder", "parser", "compiled",  # by what they turn out to be
    "chunk_size", "min_length", "options",  # by what they come to
    "workers", "vector_store",  # whatever they are, the results are the same
    "size",  # a run may be asked for more on its way, see groundset.engine.identity
}  # fmt: skip


class ModelName(NamedTuple):
    """The name of a model and the hash of its weights; where the hash is known, only it is compared."""

    name: str
    sha256: str | None


def identity_of(config: RunConfig) -> Identity:
    """Return the part of the identity that follows from the configuration and the bytes of its documents.

    Raises:
        InputError: a document or folder does not exist.
    """
    return {
        **config.model_dump(mode="json", exclude=_NOT_PLAIN),
        **config.options.compared(),
        "chunk_size": config.corpus_options().size,
        "min_length": config.corpus_options().min_length,
        "documents": hash_sources(config.sources),
        "program": ModelName(__version__, program_hash())._asdict(),
    }


def with_models(identity: Identity, **models: ModelName | None) -> Identity:
    """Return the identity with models added by option name; None for a model that the run does not have."""
    return {**identity, **{option: model and model._asdict() for option, model in models.items()}}


def identity_digest(identity: Mapping[str, Any]) -> str:
    """Return one SHA-256 for an identity."""
    compared = {name: _compared(value) for name, value in identity.items()}
    return hashlib.sha256(json.dumps(compared, sort_keys=True).encode()).hexdigest()


def check_same(stored: Mapping[str, Any], asked: Mapping[str, Any], folder: Path) -> None:
    """Refuse to continue a run that was created with something else; what ``asked`` lacks is not compared.

    Raises:
        RunMismatchError: the message names each option that differs, and both values.
    """
    differing = [name for name in asked if _compared(stored.get(name)) != _compared(asked[name])]
    if differing:
        differences = ", ".join(_difference(name, stored.get(name), asked[name]) for name in differing)
        raise RunMismatchError(
            f"--out {folder}: the run there was created with {differences}; repeat its options or choose another --out"
        )


def _compared(value: Any) -> Any:
    """Return the value to compare: the hash of weights, else the name."""
    if isinstance(value, dict) and "sha256" in value:
        return value["sha256"] or value["name"]
    return value


def hash_sources(paths: Sequence[Path]) -> str:
    """Return one SHA-256 for the names and bytes of all files that can become documents."""
    total = hashlib.sha256()
    for file, name in find_documents(paths).files:
        if file.suffix.lower() in SUFFIXES or file in paths:
            total.update(f"{name}\0{_file_digest(file)}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def program_hash() -> str:
    """Return one SHA-256 for ``BEHAVIOUR`` and the data that ships: compiled states and demonstrations."""
    total = hashlib.sha256(f"{BEHAVIOUR}".encode())
    data = data_path()
    for file in sorted(file for folder in _BEHAVING_DATA for file in (data / folder).rglob("*") if file.is_file()):
        total.update(file.relative_to(data).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def _file_digest(file: Path) -> str:
    try:
        if not file.is_file():
            return "not a regular file"
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except PermissionError:
        return "unreadable"
    except OSError as error:
        raise DocumentError(f"{file}: {error.strerror or error}") from error


def _difference(name: str, stored: Any, asked: Any) -> str:
    if name == "documents":
        return "other documents"
    if name == "program":
        return f"another version of groundset ({_shown(stored)}, now {_shown(asked)})"
    return f"{option_name(name)} {_shown(stored)} (now {_shown(asked)})"


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, dict) and "sha256" in value:
        weights = f" ({value['sha256'][:12]})" if value["sha256"] else ""
        return f"{value['name']}{weights}"
    return ",".join(f"{key}={count}" for key, count in value.items()) if isinstance(value, dict) else str(value)


class Asked(NamedTuple):
    """What is requested of a run from an attempt on.

    Attributes:
        first: the number of the first attempt that is planned so.
        size: how many samples; None for one of each key of the agenda.
        options: those options of the recipe that may grow.
    """

    first: int
    size: int | None
    options: dict[str, Any]

    @property
    def demand(self) -> tuple[int | None, dict[str, Any]]:
        """Return the request without the attempt that it starts from."""
        return self.size, self.options


def asked_now(config: RunConfig, recipe: Recipe, first: int = 0) -> Asked:
    """Return what a configuration requests."""
    return Asked(first, config.size or recipe.size, {name: getattr(config.options, name) for name in recipe.growing})


def asked_so_far(store: RunStore, recipe: Recipe) -> list[Asked]:
    """Return all that was requested of the run in a store, the earliest first."""
    growth = store.meta("growth")
    if not growth:  # a run of a version whose runs could not grow
        configuration = store.required("configuration")
        growth = [{"first": 0, **{name: configuration.get(name) for name in ("size", *recipe.growing)}}]
    return [
        Asked(each["first"], each["size"] or recipe.size, {name: each[name] for name in recipe.growing})
        for each in growth
    ]


def growth_record(growth: Sequence[Asked]) -> list[dict[str, Any]]:
    """Return the entry of the store and of ``run.json`` on what was requested of a run."""
    return [{"first": each.first, "size": each.size, **each.options} for each in growth]


def grown(store: RunStore, config: RunConfig, recipe: Recipe, folder: Path) -> list[Asked] | None:
    """Return the requests of a stored run with a new one added, None if nothing new is requested.

    Raises:
        InputError: less is asked for than there is.
        RunMismatchError: an option is narrower than it was.
    """
    before, now = asked_so_far(store, recipe), asked_now(config, recipe, store.attempts.decided())
    if now.demand == before[-1].demand:
        return None
    accepted = store.results.count()
    if now.size is not None and now.size < accepted:
        raise InputError(
            f"--size {now.size}: the set in {folder} has {accepted} samples already, and none is removed; "
            "choose a larger --size or another --out"
        )
    for name, order in recipe.growing.items():
        was, wanted = before[-1].options[name], now.options[name]
        if order.index(wanted) < order.index(was):
            raise RunMismatchError(
                f"{option_name(name)} {wanted}: the run in {folder} has {option_name(name)} {was}, and nothing is "
                f"removed; choose {option_name(name)} {was} or another --out"
            )
    return [*(each for each in before if each.first < now.first), now]


def grow(store: RunStore, config: RunConfig, growth: Sequence[Asked]) -> None:
    """Store what is requested of a run from now on, and drop planned attempts that are undecided."""
    now = growth[-1]
    configuration = {**store.required("configuration"), "size": config.size, **now.options}
    store.replan({"growth": growth_record(growth), "configuration": configuration, "asked": now.size, "ending": None})
