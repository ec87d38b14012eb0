"""Questions for profiles, about passages that were searched for: recipe ``profiled``.

score → clues → search → relevance of each passage → distil → profiles → ask_profiled → judge, with
which passages? → does it fit its profile? → panel → question

A profile is one value of each of some dimensions, which users can define in a JSON file.
"""

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import dspy
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from groundset.programs.checks import is_none, tidy_question
from groundset.programs.chunks import SeveralChunks
from groundset.programs.errors import InputError
from groundset.programs.languages import language_of, name_of
from groundset.programs.outcome import FITS, RELEVANT, RefusedError, call, outcome
from groundset.programs.recipe import Passage, Search, joined, numbered, scored
from groundset.programs.step import step
from groundset.programs.text import one_line
from groundset.programs.types import Hit, Reject
from groundset.programs.untrusted import first_fault, json_of, small_text
from groundset.signatures.profile import Clue

_MAX_FILE = 1 << 20  # bytes of a file
_MAX_NAME, _MAX_DESCRIPTION = 60, 1_000  # characters
_RESERVED = set(":|=;\n")  # they separate dimensions and values in what models write
_Value = TypeVar("_Value")
Profile = Mapping[str, str]
"""The value of each dimension."""
_EDGES = " \t*_`\"'“”.,-–•"
_FEWEST, _MOST = 3, 8  # options of a multiple-choice question
_LETTER = re.compile(r"^\(?[A-Ha-h1-8][.):]\s+")
_NOTHING = re.compile(r"\W*(?:nothing|none)\b.{0,20}", re.IGNORECASE | re.DOTALL)
PROFILED = "profiled"


def _check_name(name: str) -> str:
    if not name or name != name.strip() or _RESERVED & set(name):
        raise ValueError(
            "a name must not be empty, begin or end with a space,"
            " nor contain a line break or one of : | = ;"
        )
    return name


def _check_description(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return one_line(text)


_Name = Annotated[str, Field(max_length=_MAX_NAME), AfterValidator(_check_name)]
_Named = Annotated[dict[_Name, _Value], Field(min_length=1)]
_Description = Annotated[
    str, Field(max_length=_MAX_DESCRIPTION), AfterValidator(_check_description)
]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ProfileValue(_Strict):
    """A value of a dimension.

    ``passages`` declares how many passages the answer needs, where the value says so.
    """

    description: _Description
    passages: Literal["one", "several"] | None = None


class ProfileDimension(_Strict):
    """A dimension of profiles, with its values by name."""

    description: _Description
    values: _Named[ProfileValue]


class ProfileTable(_Strict):
    """The dimensions that profiles consist of, by name."""

    parameters: _Named[ProfileDimension]

    def as_text(self) -> str:
        """Return all dimensions and values with their descriptions, as prompts show them."""
        lines = []
        for name, dimension in self.parameters.items():
            lines.append(f"{name}: {dimension.description}")
            lines += [f"- {value}: {each.description}" for value, each in dimension.values.items()]
        return "\n".join(lines)

    def form(self) -> str:
        """Return the form in which models write a profile."""
        return " | ".join(f"{name}: …" for name in self.parameters)

    def describe(self, profile: Profile) -> str:
        """Return a profile with the descriptions of its values, as prompts show it."""
        return "\n".join(
            f"{name}: {value} ({self.parameters[name].values[value].description})"
            for name, value in profile.items()
        )

    def for_passages(self, profile: Profile, count: int) -> Profile:
        """Return a profile that is true of a question whose answer needs ``count`` passages.

        A value that declares another number is replaced by the nearest value of its dimension that
        declares this one.
        """
        number = "one" if count == 1 else "several"
        return {
            name: _nearest(self.parameters[name].values, value, number)
            for name, value in profile.items()
        }


def _nearest(values: Mapping[str, ProfileValue], value: str, number: str) -> str:
    names = list(values)
    matching = [name for name in names if values[name].passages == number]
    if values[value].passages in (None, number) or not matching:
        return value
    return min(matching, key=lambda name: abs(names.index(name) - names.index(value)))


def read_profiles(file: Path) -> ProfileTable:
    """Read the dimensions of profiles from a JSON file.

    Raises:
        InputError: the file cannot be read or is invalid; the message names the file and the key.
    """
    try:
        return ProfileTable.model_validate(json_of(file, small_text(file, _MAX_FILE)))
    except ValidationError as error:
        raise InputError(f"{file}: {first_fault(error)}") from error


class Profiled(SeveralChunks):
    """Ask a question that fits a profile, about the passages that a clue needs."""

    def __init__(
        self,
        search: Search,  # finds passages for a clue
        table: ProfileTable,  # the dimensions of profiles with their values
        *,
        clues: int = 3,  # how many to write for a passage
        top_k: int = 3,  # how many passages a search returns
        profiles: int = 3,  # how many to try for a clue
        panel: bool = False,
        about: str = "",
    ) -> None:
        """Build the steps; see :class:`groundset.programs.recipe.Recipe`."""
        super().__init__(search, panel=panel, about=about)
        self.table = table
        self.count, self.top_k, self.tries = clues, top_k, profiles
        self.clues = step("clues")
        self.distil = step("distil")
        self.profiles = step("profiles")
        self.ask_profiled = step("ask_profiled")
        self.review = step("review")

    def forward(  # type: ignore[override]
        self,
        passage: str,
        topic: str = "",
        *,
        turn: int = 0,  # which of its clues to take; the passage is exhausted after the last one
        asked: Sequence[str] = (),
        language: str = "",
        seed: int = 0,  # decides the order of profiles and options
    ) -> dspy.Prediction:
        """Return a question for a profile about a passage and found ones; see
        :meth:`groundset.programs.onechunk.OneChunk`.
        """
        rejects: list[Reject] = []
        try:
            scored(self.score_chunk, [Passage(passage, topic)])
            clue = self._clue(passage, topic, turn)
            hits = self._distilled(clue, passage, topic)
            read = [Passage(hit.passage, hit.topic) for hit in hits]
            chance = random.Random(seed)
            for profile in self._suggested(clue, read, chance):
                try:
                    return self._for_profile(
                        clue, profile, read, hits, asked, language, chance, rejects
                    )
                except RefusedError as refused:
                    rejects.append(refused.reject)
        except RefusedError as refused:
            return refused.outcome(rejects)
        return outcome(rejects=rejects, exhausted=turn + 1 >= self.count)

    def _clue(self, passage: str, topic: str, turn: int) -> Clue:
        written = call(self.clues, topic=topic, passage=passage, count=self.count).clues
        clues: list[Clue] = [clue for clue in written if clue.clue.strip()]
        clues = list({clue.clue.casefold(): clue for clue in clues}.values())
        if turn >= len(clues):
            reason = "no further clue" if clues else "no clue can be read from what was written"
            raise RefusedError("clues", reason, exhausted=True)
        return clues[turn]

    def _distilled(self, clue: Clue, passage: str, topic: str) -> list[Hit]:
        """Return the passages that a clue needs, of those that a search finds; its own passage is
        always looked at.
        """
        asked = _asked_for(clue)
        query = " ".join(filter(None, (clue.clue, clue.example, clue.description)))
        given = self.search(query, self.top_k) if self.search else ()
        if passage not in {hit.passage for hit in given}:
            given = [*given, Hit("", passage, topic, 1.0)]
        code = language_of(passage)
        found = [hit for hit in given if language_of(hit.passage) == code]
        relevant = [
            call(
                self.review,
                criterion=RELEVANT,
                passage=f"[{hit.topic}]\n{hit.passage}",
                question=asked,
            ).approved
            for hit in found
        ]
        read = [Passage(hit.passage, hit.topic) for hit in found]
        written = call(self.distil, question=asked, passages=numbered(read))
        missing = one_line(written.missing).strip(" .")
        if missing and not _NOTHING.fullmatch(missing):
            raise RefusedError("distil", f"the passages do not say: {missing}", question=clue.clue)
        kept = [
            hit for place, hit in enumerate(found) if relevant[place] or place + 1 in written.needed
        ]
        if not kept:
            raise RefusedError("distil", "no passage is needed", question=clue.clue)
        return kept

    def _suggested(
        self, clue: Clue, read: Sequence[Passage], chance: random.Random
    ) -> list[Profile]:
        """Return suggested profiles in random order, so that none prevails by its place."""
        written = call(
            self.profiles,
            dimensions=self.table.as_text(),
            question=_asked_for(clue),
            passages=numbered(read),
            count=self.tries,
            form=self.table.form(),
        ).profiles
        found: list[Profile] = []
        for profile in filter(
            None, (_profile_in(line, self.table) for line in written.splitlines())
        ):
            suited = self.table.for_passages(profile, 1) if len(read) == 1 else profile
            if suited not in found:
                found.append(suited)
        if not found:
            raise RefusedError(
                "profiles", "no profile can be read from what was written", question=clue.clue
            )
        del found[self.tries :]
        return chance.sample(found, len(found))

    def _for_profile(
        self,
        clue: Clue,
        profile: Profile,
        read: Sequence[Passage],
        hits: Sequence[Hit],
        asked: Sequence[str],
        language: str,
        chance: random.Random,
        rejects: Sequence[Reject],
    ) -> dspy.Prediction:
        """Return a question for one profile.

        How many passages the answer needs is known only when they were left out one by one; the
        profile is corrected then, in dimensions that declare it.
        """
        code = language or language_of(read[0].text)
        written = call(
            self.ask_profiled,
            clue=_asked_for(clue),
            passages=numbered(read),
            asked_already=list(asked),
            profile=self.table.describe(profile),
            language=name_of(language),
        )
        if is_none(tidy_question(written.question)):
            raise RefusedError("ask_profiled", "the passages have nothing that fits the profile")
        texts = [passage.text for passage in read]
        draft, quotes = self.drafted("ask_profiled", written, texts, code)
        options = [_LETTER.sub("", one_line(option)).rstrip(" .") for option in written.options]
        if fault := _options_fault(options, draft.answer):
            raise RefusedError("ask_profiled", fault, question=draft.question)
        self.in_language(draft, language, texts)
        draft, needed = self.needing(draft, read, code)
        profile = self.table.for_passages(profile, len(needed))
        shown = joined([read[place] for place in needed])
        asked_for, right = _with_options(draft.question, draft.answer, options, chance)
        fits = call(
            self.review,
            criterion=FITS + self.table.describe(profile),
            passage=shown.text,
            question=asked_for,
            answer=right,
        )
        if not fits.approved:
            raise RefusedError(
                "review", f"it does not fit its profile: {fits.reason}", question=draft.question
            )
        self.approved(draft, shown.text)
        others = self.alternatives(draft, read, needed, code)
        return outcome(
            question=asked_for,
            answer=right,
            evidence=[quote for place, quote in quotes if place in needed]
            or [quote for _, quote in quotes],
            evolution=PROFILED,
            probability=draft.probability,
            needed=needed,
            context_ids=[hits[place].chunk_id for place in needed],
            alternatives=others.groups,
            rejects=rejects,
            metadata={"profile": dict(profile), "clue": clue.clue}
            | others.facts
            | ({"options": options} if options else {}),
        )


def _asked_for(clue: Clue) -> str:
    """Return a clue as judges see it: the question and what is to be found out, without the
    invented example.
    """
    return f"{clue.clue} ({clue.description})" if clue.description else clue.clue


def _profile_in(line: str, table: ProfileTable) -> Profile | None:
    """Return the profile in a line; None if it lacks a dimension or names another value."""
    written: dict[str, str] = {}
    for part in re.split("[|;]", line):
        name, _, value = part.partition(":")
        written[_bare(re.sub(r"^\W*\d*\W*", "", name))] = _bare(value.split("(")[0])
    profile = {
        name: value
        for name, dimension in table.parameters.items()
        for value in dimension.values
        if _bare(value) == written.get(name.casefold())
    }
    return profile if len(profile) == len(table.parameters) else None


def _bare(name: str) -> str:
    return name.strip(_EDGES).casefold()


def _options_fault(options: Sequence[str], answer: str) -> str | None:
    """Return why options are refused, None if they are accepted: exactly one must be the answer."""
    if not options:
        return None
    plain = [option.casefold() for option in options]
    if not _FEWEST <= len(options) <= _MOST or len(set(plain)) < len(plain):
        return f"it has {len(set(plain))} different options; {_FEWEST} to {_MOST} are wanted"
    return (
        None if answer.rstrip(" .").casefold() in plain else "the answer is not among the options"
    )


def _with_options(
    question: str, answer: str, options: Sequence[str], chance: random.Random
) -> tuple[str, str]:
    """Return a question and its answer with lettered options in a random order."""
    if not options:
        return question, answer
    shuffled = chance.sample(list(options), len(options))
    lettered = [f"{chr(ord('A') + place)}) {option}" for place, option in enumerate(shuffled)]
    right = next(line for line in lettered if line[3:].casefold() == answer.rstrip(" .").casefold())
    return " ".join([question, *lettered]), right
