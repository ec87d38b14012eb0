"""The adapted prompts of a language: made once per model by the model itself, kept in a file that people can edit.

The file is ``prompts/<model>/language-<code>.json`` in the cache folder. Each entry is written as soon as it is made.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from dspy.utils.exceptions import LMError
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from groundset.engine.engine import fatal_error
from groundset.engine.preparation import Phases
from groundset.files import json_text, write_text
from groundset.models.cache import cache_home
from groundset.models.servers import first_line
from groundset.store.run_store import RunStore
from programs.critics.states import folder_of
from programs.errors import EngineError, InputError, RunMismatchError, StateError
from programs.languages.names import name_of
from programs.nearest import Encode
from programs.prompts import Prompt, adapt, writes_questions
from programs.stages.translate import ENGLISH, Translate
from programs.steps import STEPS
from programs.tools import Tools
from programs.untrusted import MAX_ROW, small_text


class _Entry(BaseModel):
    """Some English lines of a prompt with their translation; without one, ``problem`` says what was wrong with it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    step: str
    english: list[str]
    translation: list[str] | None = None
    problem: str = ""

    @model_validator(mode="after")
    def _same_lines(self) -> Self:
        if self.translation is not None and len(self.translation) != len(self.english):
            raise ValueError(f"{len(self.translation)} lines of translation for {len(self.english)} English ones")
        return self


class _PromptFile(BaseModel):
    """The content of a file of adapted prompts."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    language: str
    prompts: list[_Entry]


def prompts_file(model: str, language: str) -> Path:
    """Return the file of the adapted prompts of a model; it need not exist."""
    return cache_home() / "prompts" / folder_of(model) / f"language-{language}.json"


def read_prompts(file: Path, language: str) -> list[_Entry]:
    """Return the entries of a file of adapted prompts; none if it does not exist.

    Raises:
        StateError: it cannot be read, or is not such a file.
    """
    try:
        found = _PromptFile.model_validate_json(small_text(file, MAX_ROW))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StateError(f"{file}: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StateError(
            f"{file}: not a file of adapted prompts ({where}{': ' if where else ''}{first['msg']}); "
            "correct it, or delete it to adapt the prompts again"
        ) from error
    if found.language != language:
        raise StateError(f"{file}: has prompts in {name_of(found.language)}, not {name_of(language)}")
    return found.prompts


def adapt_prompts(
    tools: Tools,
    program: Any,
    store: RunStore,
    file: Path,
    encode: Encode,
    phases: Phases,
    check: Callable[[], None],
) -> Tools:
    """Return the tools with the prompts of a program adapted to their language; what is missing in the file is added.

    ``check`` is called after every translation and may raise. DSPy's context has the language model.

    Raises:
        StateError: the file cannot be used.
        RunMismatchError: the run was created with other prompts.
        EngineError: the language model failed; finished translations are stored.
    """
    language, used = tools.language, []
    known = {tuple(entry.english): entry for entry in read_prompts(file, language)}

    def similarity(first: str, second: str) -> float:
        vectors = encode([first, second])
        return float(vectors[0] @ vectors[1])

    stage = Translate(tools, similarity)

    def translate(step: str, lines: Sequence[str]) -> list[str] | None:
        entry = known.get(tuple(lines))
        if entry is None:
            found = stage(lines, language)
            entry = _Entry(step=step, english=list(lines), translation=found.lines, problem=found.problem)
            known[tuple(lines)] = entry
            _add(file, language, entry)
        check()
        used.append(entry)
        return entry.translation

    steps = _steps_of(program)
    prompts: dict[str, Prompt] = {}
    with phases.phase(f"Adapting prompts to {name_of(language)}", len(steps)) as advance:
        for step in steps:
            try:
                prompts[step] = adapt(tools.predictor(step), language, partial(translate, step))
            except LMError as error:
                raise fatal_error(error) or EngineError(f"adapting prompts failed: {first_line(error)}") from error
            advance(1)
    _record(store, file, language, used)
    return tools.with_prompts(prompts)


def _steps_of(program: Any) -> list[str]:
    """Return the steps of a program that write questions or answers."""
    fields = [predict.signature.fields.keys() for predict in program.predictors()]
    return [
        name
        for name, step in STEPS.items()
        if writes_questions(step.signature) and step.signature.fields.keys() in fields
    ]


def _add(file: Path, language: str, entry: _Entry) -> None:
    """Add an entry to the file, which another run or a person may have changed since it was read."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror or error}") from error
    found = _PromptFile(language=language, prompts=[*read_prompts(file, language), entry])
    write_text(file, json_text(found.model_dump(mode="json"), indent=2) + "\n")


def _record(store: RunStore, file: Path, language: str, used: Sequence[_Entry]) -> None:
    """Store what was adapted, or check it against what the run was created with.

    Raises:
        RunMismatchError: it was created with other prompts.
    """
    prompts = sorted((entry.english, entry.translation) for entry in used)
    record = {
        "code": language,
        "file": None if language == ENGLISH else str(file),
        "adapted": sum(entry.translation is not None for entry in used),
        "english": sum(entry.translation is None for entry in used),
        "prompts": hashlib.sha256(json.dumps(prompts).encode()).hexdigest(),
    }
    before = store.meta("language")
    if before is not None and before["prompts"] != record["prompts"]:
        raise RunMismatchError(
            f"--out {store.folder}: the run there was created with other prompts than those in {file}; restore that "
            "file or choose another --out"
        )
    store.set_meta("language", record)
