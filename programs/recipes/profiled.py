"""Recipe ``profiled``: questions for profiles, about chunks that were searched for with clues.

contexts → clues → search → relevance of each chunk, distil → profiles → ask_profiled → judge → need → fits
         → round trip → answer → draft
"""

from collections.abc import Mapping
from typing import Annotated, Any, Self

import dspy
from pydantic import BeforeValidator, Field

from programs.modes import MODES, Mode
from programs.profiles import ProfileTable, as_profiles
from programs.recipes.base import Agenda, AnsweredOptions, Material, Recipe
from programs.recipes.by_clue import ByClue
from programs.stages.ask_profiled import PROFILED, AskProfiled
from programs.stages.contexts import Contexts
from programs.stages.distil import Distil
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.steps.clues import tidy_clues
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Observer, Outcome
from signatures.clues import Clue


class ProfiledOptions(AnsweredOptions):
    """The options of ``profiled``."""

    max_documents: int | None = Field(
        default=None,
        ge=1,
        description="Most documents to start clues from, chosen at random. All chunks are searched.",
        json_schema_extra={"metavar": "<int>", "show_default": "all"},
    )
    chunks_per_document: int | None = Field(
        default=None,
        ge=1,
        description="Most chunks of a document to start clues from, chosen at random.",
        json_schema_extra={"metavar": "<int>", "show_default": "all"},
    )
    clues: int = Field(
        default=3,
        ge=1,
        le=5,
        description="Possible questions to write for each chunk; each attempt searches for one.",
    )
    top_k: int = Field(default=3, ge=1, le=20, description="Chunks that the search for a clue returns.")
    neighbours: int = Field(
        default=0, ge=0, le=5, description="Chunks before and after each of them that are considered too."
    )
    profile_file: Annotated[ProfileTable | None, BeforeValidator(as_profiles)] = Field(
        default=None,
        description="A JSON file with the dimensions of profiles and their values.",
        json_schema_extra={"metavar": "FILE", "show_default": "type, persona, scope and difficulty"},
    )
    profiles: int = Field(
        default=3, ge=1, le=10, description="Profiles to suggest for each clue; the first good question is kept."
    )

    def in_mode(self, mode: Mode) -> Self:
        """Return the options; see :meth:`Options.in_mode`."""
        if not mode.writes_freely:
            raise ValueError(f"--recipe profiled: mode {mode.name} does not support it; use --mode free")
        return self

    def compared(self) -> dict[str, Any]:
        """Return the options that must stay the same; of a profile file, its dimensions and a hash."""
        table = self.profile_file
        named = table and {"name": ", ".join(table.parameters), "sha256": table.sha256}
        return {**super().compared(), "profile_file": named}


class Profiled(dspy.Module):
    """Make one sample from a clue of a chunk; each round uses another clue."""

    def __init__(self, tools: Tools, options: ProfiledOptions) -> None:
        """Compose the stages."""
        super().__init__()
        mode = MODES[tools.mode]
        options.in_mode(mode)
        table = options.profile_file or tools.profiles
        if table is None:
            raise ValueError("no dimensions of profiles: tools have no default")
        self.tools = tools
        self.count = options.clues
        self.contexts = Contexts(tools)
        self.clues = tools.predictor("clues")
        self.distil = Distil(tools, top_k=options.top_k, neighbours=options.neighbours)
        judging = JudgeAndRewrite(tools)
        finish = Finish(tools, judging, mode.answer(tools), mode.max_rank, options.answer_variants)
        self.ask = AskProfiled(tools, judging, finish, table=table, profiles=options.profiles)

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run one attempt."""
        trail = Trail(attempt, observer)
        if not self.contexts(trail):
            return trail.outcome(exhausted=True)
        clues = self._write_clues(trail)
        if not clues:
            trail.refuse("clues", "no clue can be read from what was written")
        if len(clues) <= attempt.round:
            return trail.outcome(exhausted=True)
        clue = clues[attempt.round]
        found = self.distil(trail, clue)
        return trail.outcome(self.ask(trail, clue, found) if found else None)

    def _write_clues(self, trail: Trail) -> list[Clue]:
        """Return the clues of the chunk; later rounds repeat the call, which the journal of a run answers."""
        context = trail.contexts[0]
        inputs = {"topic": context.topic, "passage": context.passage, "count": str(self.count)}
        clues = tidy_clues(self.tools.write("clues", self.clues, trail.language, **inputs).clues, self.count)
        trail.record("clues", 0, {"clues": [clue.model_dump() for clue in clues]})
        return clues


def _shares(size: int, options: ProfiledOptions) -> Mapping[str, int]:
    return {PROFILED: size}


def _agenda(material: Material, options: ProfiledOptions, size: int) -> Agenda:
    return ByClue(
        material,
        PROFILED,
        clues=options.clues,
        max_documents=options.max_documents,
        chunks_per_document=options.chunks_per_document,
    )


RECIPE = Recipe(
    name="profiled",
    about="Questions for profiles of type, persona, scope and difficulty, about passages found by search.",
    options=ProfiledOptions,
    program=Profiled,
    shares=_shares,
    agenda=_agenda,
    merge=3,
)
