"""Recipe ``multi``: questions that need several chunks.

seed chunk → its nearest good chunks → facts that share a name or can be compared
contexts → combine (mode free) or combine_facts (other modes) → restyle → draft
"""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

import dspy
from pydantic import Field, model_validator

from programs.facts import link_facts
from programs.modes import MODES, Mode
from programs.recipes.base import Agenda, Material, Recipe
from programs.recipes.by_group import ByGroup
from programs.recipes.mixed import SIMPLE, MixedOptions
from programs.stages.combine import MULTI, Combine
from programs.stages.combine_facts import CombineFacts
from programs.stages.contexts import Contexts
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.stages.restyle import Restyle
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Context, Observer, Outcome

_SINGLES = 4  # at most one sample in this many is about one chunk


class MultiOptions(MixedOptions):
    """The options of ``multi``."""

    makes: ClassVar[str] = MULTI

    min_chunks: int = Field(default=2, ge=2, le=5, description="Fewest chunks that a question needs.")
    max_chunks: int = Field(default=3, ge=2, le=5, description="Most chunks that a question needs.")
    near: int = Field(default=10, ge=1, description="Nearest neighbours of a chunk to consider.")
    similarity: float = Field(
        default=0.5, ge=-1, le=1, description="Least cosine similarity of a chunk and its neighbours."
    )
    across_documents: bool = Field(default=False, description="Take every chunk from another document.")
    draws: int = Field(default=4, ge=1, le=100, description="Questions per attempt; the best is kept.")
    singles: bool = Field(
        default=False,
        description="Also keep questions about one chunk that were split off from others, at most one sample in four.",
    )
    max_rank: int | None = Field(
        default=None,
        ge=0,
        description="A search for the question must rank all its chunks at least this high; 0 only records the rank.",
        json_schema_extra={"show_default": "5; 0 in mode free"},
    )
    answers: Literal["short", "open"] = Field(
        default="short",
        description="short: a few words; open: one to three whole sentences, each checked against the passage (mode "
        "free only).",
    )

    @model_validator(mode="after")
    def _in_order(self) -> "MultiOptions":
        if self.max_chunks < self.min_chunks:
            raise ValueError(f"max-chunks ({self.max_chunks}) is less than min-chunks ({self.min_chunks})")
        return self

    def in_mode(self, mode: Mode) -> Self:
        """Return the options with the default mix and ``max_rank`` of a mode; see :meth:`Options.in_mode`."""
        resolved = super().in_mode(mode)
        if self.answers == "open" and not mode.writes_freely:
            raise ValueError(f"--answers open: mode {mode.name} does not support it; use --mode free")
        return resolved.model_copy(update={"max_rank": mode.max_rank if self.max_rank is None else self.max_rank})


class Multi(dspy.Module):
    """Make one question that needs several chunks."""

    def __init__(self, tools: Tools, options: MultiOptions) -> None:
        """Compose the stages."""
        super().__init__()
        mode = MODES[tools.mode]
        options = options.in_mode(mode)
        max_rank, least = options.max_rank or 0, options.min_chunks
        self.contexts = Contexts(tools)
        self.judging = JudgeAndRewrite(tools)
        self.finish = Finish(tools, self.judging, mode.answer(tools), max_rank, options.answer_variants)
        self.restyle = Restyle(
            tools, self.judging, max_rank, options.wanted, personas=options.personas, queries=options.like or ()
        )
        self.combine: Combine | CombineFacts
        if mode.writes_freely:
            self.combine = Combine(
                tools, self.judging, self.finish, candidates=options.draws, answers=options.answers, min_chunks=least
            )
        else:
            self.combine = CombineFacts(
                tools, self.judging, self.finish, draws=options.draws, min_chunks=least, singles=options.singles
            )

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run one attempt."""
        trail = Trail(attempt, observer)
        if not self.contexts(trail):
            return trail.outcome(exhausted=True)
        draft = self.combine(trail)
        if draft is not None and draft.evolution == SIMPLE:
            return trail.outcome(draft, exhausted=True)
        return trail.outcome(*self.restyle(trail, draft), exhausted=True)


def _shares(size: int, options: MultiOptions) -> Mapping[str, int]:
    singles = size // _SINGLES if options.singles else 0
    return {**({SIMPLE: singles} if singles else {}), **options.quotas(size - singles)}


def _agenda(material: Material, options: MultiOptions, size: int) -> Agenda:
    def are_compatible(contexts: tuple[Context, ...]) -> bool:
        if material.mode.writes_freely:
            return len({context.language for context in contexts}) == 1
        return bool(link_facts(contexts, material.languages))

    return ByGroup(
        material,
        tuple(options.quotas(size)),
        are_compatible,
        seeds=5 * size,
        chunks=(options.min_chunks, options.max_chunks),
        near=options.near,
        similarity=options.similarity,
        across_documents=options.across_documents,
    )


RECIPE = Recipe(
    name="multi",
    about="Questions that need several chunks, by describing or comparing things.",
    options=MultiOptions,
    program=Multi,
    shares=_shares,
    agenda=_agenda,
)
