"""The options of a run, their defaults by recipe and model, and `groundset generate`, also from
Python.
"""

import math
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, field_serializer, field_validator, model_validator

from groundset.corpus.options import CorpusOptions
from groundset.options import (
    DEFAULT_LM,
    DEFAULT_PARSER,
    LM,
    Module,
    is_own,
    near_matches,
    option,
    option_name,
)
from groundset.privacy import without_secrets
from groundset.programs.errors import InputError
from groundset.programs.forms import FORMS, KINDS, PERSONA, SIMPLE
from groundset.programs.languages import name_of
from groundset.programs.users import READER, STAFF, USERS, Users, asking
from groundset.run.own import OWN_RECIPE
from groundset.run.recipes import GIVEN, GUIDED, RECIPES, RecipeSpec, recipes_with
from groundset.run.values import names_traces, parse_mix, read_texts

_SHARE = 0.2  # of the mix, for the form that --personas adds
JUDGE_LM = "qwen2.5-coder-1.5b"  # the smallest model whose shipped judge writes answers
_UNGUIDED = "take a larger --lm, or --no-guided"
_Weights = Annotated[dict[str, float], BeforeValidator(parse_mix)]
_Texts = Annotated[tuple[str, ...], BeforeValidator(read_texts)]


class GenerateOptions(CorpusOptions):
    """The options of a run."""

    out: Path = option(..., "The folder of the run.", metavar="RUN", free=True)
    size: int | None = option(
        None,
        "How many samples to make.",
        shown=f"20; all for {', '.join(name for name, row in RECIPES.items() if not row.size)}",
        ge=1,
        free=True,
    )
    questions: Path | str | None = option(
        None,
        "Your own questions, to be answered: a .txt file of one a line, .csv or .jsonl with"
        " `question`, or the traces of an experiment of MLflow, URI#EXPERIMENT.",
        metavar="FILE|TRACES",
        free=True,
        private=True,
    )
    read: int = option(
        10, "With --questions: the most passages that are read for each.", metavar="N", ge=1, le=50
    )
    recipe: Module = option(
        "evolved",
        f"The program that makes the samples: {', '.join(RECIPES)}, or your own,"
        " package.module:Name.",
        metavar="NAME",
    )
    lm: LM = option(
        DEFAULT_LM,
        "The language model: a name from `groundset models list`, a .gguf file,"
        " hf/<owner>/<repo>/<file>.gguf, openai/<model>@<base url> or provider/model.",
        metavar="MODEL",
        shown=f"{DEFAULT_LM}; given: {JUDGE_LM}",
        free=True,
    )
    critic_lm: LM | None = option(
        None,
        "Another language model for judge and compare.",
        metavar="MODEL",
        shown="--lm",
        free=True,
        guided=False,
    )
    guided: bool | None = option(
        None,
        "A parser begins each question: for models that cannot write one alone.",
        shown="as measured for the model",
    )
    critic: Module | None = option(
        None,
        "What judges questions: head, a fitted classifier, lm, the language model, or your own,"
        " package.module:Name.",
        metavar="NAME",
        shown="lm; head for guided models",
    )
    chunk_critic: Literal["head", "lm"] = option("head", "What judges chunks.")
    mix: _Weights = option(
        {},
        f"Forms of question by weight: {', '.join(FORMS)}.",
        metavar="FORM=WEIGHT,...",
        shown=",".join(f"{name}={weight}" for name, weight in RECIPES["evolved"].mix.items())
        + "; models under 2B: simple",
    )
    kinds: _Weights = option(
        {},
        f"What questions ask for, by weight; 0 leaves a kind out: {', '.join(KINDS)}.",
        metavar="KIND=WEIGHT,...",
        shown=",".join(f"{name}={weight:g}" for name, weight in KINDS.items()),
        guided=False,
    )
    about: str = option(
        "",
        "One sentence on what the documents are and who asks, for writer and judge.",
        metavar="TEXT",
        max_length=500,
        guided=False,
        private=True,
    )
    answers: Literal["short", "open"] = option(
        "short", "A few words, or one to three whole sentences.", guided=False
    )
    personas: _Texts = option(
        (),
        "Who asks, for the form persona: a text, or a .txt file of one a line. Repeatable.",
        metavar="TEXT|FILE",
        guided=False,
        private=True,
    )
    users: str = option(
        STAFF,
        f"Whose questions are imagined, and how these are put: {', '.join(USERS)}, {READER}, or"
        " your own queries, the same as --like.",
        metavar="WHO|FILE",
        guided=False,
    )
    like: _Texts = option(
        (),
        "Your users' own queries, whose length, sentences and punctuation are followed, and some of"
        " which are shown to the writer: a .txt file of one a line, or the traces of an experiment"
        " of MLflow, URI#EXPERIMENT.",
        metavar="FILE|TRACES",
        guided=False,
        private=True,
    )
    language: str | None = option(
        None,
        "The language of questions: an ISO 639-1 code.",
        metavar="CODE",
        shown="that of each chunk",
        guided=False,
    )
    compiled: Module = option(
        "shipped",
        "States: shipped, none, a folder, a file, prompts:/NAME@ALIAS.",
        metavar="WHICH",
        free=True,
    )
    reranker: str | None = option(
        None,
        "With --questions: a cross-encoder of sentence-transformers, a folder or hf/<owner>/<repo>,"
        " that orders the passages to be read.",
        metavar="MODEL",
        min_length=1,
        private=True,
    )
    prefer: str = option(
        "",
        "Which documents count where they contradict each other: newest, by the dates of the"
        " files, or a GLOB of paths. A question from another one is refused.",
        metavar="newest|GLOB",
        guided=False,
        private=True,
    )
    parser: str = option(
        DEFAULT_PARSER,
        "The spaCy model of guided writing.",
        metavar="MODEL",
        min_length=1,
        free=True,
    )
    max_rank: int | None = option(
        None,
        "A search for the question must rank its chunks at least this high; 0 only records the"
        " rank.",
        shown="0; for guided models 5",
        ge=0,
    )
    hard: bool = option(
        False,
        "Keep only questions whose chunks searches by meaning and by words find at different ranks."
        " Levels of measures are then no levels.",
    )
    seed: int = option(0, "Seed of the order of chunks.", ge=0)
    workers: int = option(
        1,
        "Parallel attempts. With 1, a local model makes the same run again, to the byte.",
        ge=1,
        le=256,
        free=True,
    )
    timeout: float = option(
        600.0, "Seconds to wait for an answer of a server.", gt=0, le=86_400, free=True
    )
    retries: int = option(
        2, "How often a failed request to a server is sent again.", ge=0, le=1000, free=True
    )
    budget_calls: int | None = option(
        None, "End the run after this many calls; a larger budget goes on.", ge=1, free=True
    )
    track: bool = option(True, "Log the run in MLflow, which is the default.", free=True)
    track_texts: bool = option(
        False, "Also send samples with their passages to a tracking server.", free=True
    )
    tracking: str | None = option(
        None,
        "The MLflow store.",
        metavar="URI",
        shown="MLFLOW_TRACKING_URI, else your own",
        free=True,
    )
    quiet: bool = option(False, "Print errors only.", short="-q", free=True)

    @field_validator("mix", "kinds")
    @classmethod
    def _known_names(cls, value: dict[str, float], info: Any) -> dict[str, float]:
        is_mix = info.field_name == "mix"
        known = FORMS if is_mix else KINDS
        if unknown := [name for name in value if name not in known]:
            near = near_matches(unknown[0], known)
            raise ValueError(f"there is no {unknown[0]}{near}; there are {', '.join(known)}")
        weights = (value if is_mix else {**KINDS, **value}).values()
        are_weights = all(0 <= weight < math.inf for weight in weights) and any(weights)
        if value and not are_weights:
            raise ValueError("weights must be 0 or more, and one of them above 0")
        return value

    @field_validator("recipe", "critic", "language")
    @classmethod
    def _known(cls, value: str | None, info: Any) -> str | None:
        if value is None:
            return None
        known = {"recipe": tuple(RECIPES), "critic": ("head", "lm")}.get(info.field_name, ())
        if known and value not in known and not is_own(value):
            near = near_matches(value, known)
            raise ValueError(f"choose one of {', '.join(known)}{near}, or name package.module:Name")
        if info.field_name == "language" and name_of(value) == value:
            raise ValueError("no known ISO 639-1 code, in small letters, such as de, fr or es")
        return value

    @field_serializer("questions")
    def _public(self, value: Path | str | None) -> str | None:
        return without_secrets(str(value)) if value else None

    @model_validator(mode="before")
    @classmethod
    def _of_questions(cls, values: dict[str, Any]) -> dict[str, Any]:
        if not values.get("questions"):
            return values
        # Nothing is written: one model is enough.
        judge = values.get("critic_lm") or values.get("lm") or JUDGE_LM
        return {"recipe": GIVEN, **values, "lm": judge, "critic_lm": None}

    @model_validator(mode="before")
    @classmethod
    def _of_users(cls, values: dict[str, Any]) -> dict[str, Any]:
        users = str(values.get("users", READER))
        if users in (*USERS, READER):
            return values
        if not users.endswith(".txt") and not names_traces(users):
            known = ", ".join((*USERS, READER))
            raise ValueError(f"--users {users}: choose one of {known}, or name a .txt file")
        return {name: value for name, value in values.items() if name != "users"} | {"like": users}

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        recipe = self.recipe
        if (recipe == GIVEN) != (self.questions is not None):
            raise ValueError(
                f"--recipe {recipe}: the recipe {GIVEN}, and no other, answers --questions FILE"
            )
        for name in self.model_fields_set:
            recipes = recipes_with(name)
            if recipes and name not in self.row.takes:
                spelled = option_name(type(self), name)
                raise ValueError(
                    f"{spelled} is not for the recipe {recipe}, but for {', '.join(recipes)}"
                )
        if not (self.documents or self.chunks):
            raise ValueError("no documents: name files or folders, or --chunks FILE")
        return self

    @property
    def asking(self) -> Users | None:
        """Return how those ask whose questions are imagined; None for readers of the documents."""
        return asking(self.users, self.like)

    @property
    def row(self) -> RecipeSpec:
        """Return the recipe."""
        return RECIPES.get(self.recipe, OWN_RECIPE)

    def resolved(self, *, guided: bool, small: bool) -> Self:
        """Return the options with the defaults of the recipe and of a model, which may be small, or
        was measured to need to be ``guided``.

        Raises:
            InputError: a guided model cannot do what an option wants, or options do not go
                together.
        """
        guided = guided if self.guided is None else self.guided
        guided = guided and GUIDED in self.row.takes
        if guided:
            self._check_guided()
        is_alone = small and self.row.suits_small
        defaults: dict[str, Any] = {
            "critic": "head" if guided or is_alone else "lm",
            "max_rank": 5 if guided and self.row.size else 0,
        }
        known = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        # Small models copy a demo where they should put themselves in a user's place.
        if is_alone and not self.model_fields_set & {"users", "like"}:
            known["users"] = READER
        known |= {"guided": guided, "kinds": {**KINDS, **self.kinds}}
        return self.model_copy(update=known | {"mix": self._resolved_mix(guided, small)})

    def _check_guided(self) -> None:
        wanted = self.with_fact("guided", False) & self.model_fields_set
        refused = [option_name(type(self), name) for name in sorted(wanted)]
        if SIMPLE not in self.row.forms:
            refused.append(f"--recipe {self.recipe}")
        if self.critic == "lm":
            refused.append("--critic lm")
        if refused:
            raise InputError(f"{refused[0]}: a guided model cannot; {_UNGUIDED}")

    def _resolved_mix(self, guided: bool, small: bool) -> dict[str, float]:
        forms = (SIMPLE,) if guided else self.row.forms
        if others := [name for name, weight in self.mix.items() if weight and name not in forms]:
            reason = f"a guided model; {_UNGUIDED}" if guided else f"--recipe {self.recipe}"
            raise InputError(f"--mix {others[0]}: there is only {', '.join(forms)} for {reason}")
        is_direct = guided or (small and SIMPLE in self.row.mix and not self.row.suits_small)
        mix = {PERSONA: _SHARE} if self.personas else {}
        mix |= self.mix or ({SIMPLE: 1} if is_direct else self.row.mix)
        return {name: float(mix[name]) for name in FORMS if mix.get(name)}

    def compared(self) -> dict[str, Any]:
        """Return the options that must be the same for a run to go on."""
        return self.model_dump(mode="json", exclude=self.with_fact("free"))
