"""Recipe ``single``: one question about each chunk, without evolution.

contexts → seed (question → judge ⇄ rewrite → round trip → answer) → restyle → draft
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

import dspy
from pydantic import BeforeValidator, Field, field_validator

from programs.modes import MODES
from programs.modes.base import AskOptions
from programs.recipes.base import Agenda, Material, Recipe
from programs.recipes.by_chunk import ByChunk, ByChunkOptions
from programs.recipes.by_passage import ByPassage
from programs.recipes.kinds import KindPlan
from programs.recipes.mix import parse_mix, quotas
from programs.recipes.mixed import SIMPLE
from programs.stages.contexts import Contexts
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.stages.restyle import Restyle
from programs.stages.seed import Seed
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Observer, Outcome


class SingleOptions(ByChunkOptions):
    """The options of ``single``."""

    makes: ClassVar[str] = SIMPLE

    splits: Annotated[dict[str, float], BeforeValidator(parse_mix)] = Field(
        default={},
        description="Assign every document to one split, so that nothing leaks between splits.",
        json_schema_extra={"metavar": "SPLIT=SHARE,..."},
    )

    @field_validator("splits")
    @classmethod
    def _check_splits(cls, value: dict[str, float]) -> dict[str, float]:
        if value and (any(not 0 < share <= 1 for share in value.values()) or abs(sum(value.values()) - 1) > 1e-6):
            raise ValueError("shares must be above 0 and add up to 1")
        return value


class Single(dspy.Module):
    """Make one sample from a chunk."""

    def __init__(self, tools: Tools, options: SingleOptions) -> None:
        """Compose the stages."""
        super().__init__()
        mode = MODES[tools.mode]
        self.contexts = Contexts(tools)
        judging = JudgeAndRewrite(tools)
        resolved = options.in_mode(mode)
        max_rank = resolved.max_rank or 0
        finish = Finish(tools, judging, mode.answer(tools), max_rank, options.answer_variants)
        self.seed = Seed(mode.asker(tools, judging, AskOptions(options.candidates, options.answers)), finish)
        self.restyle = Restyle(
            tools, judging, max_rank, resolved.wanted, personas=options.personas, queries=options.like or ()
        )

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run one attempt."""
        trail = Trail(attempt, observer)
        if not self.contexts(trail):
            return trail.outcome(exhausted=True)
        foci, exhausted = attempt.contexts[0].foci, False
        if not foci:
            foci, exhausted = self.seed.ask.look_for_foci(trail, lambda focus: True)
        found = self.seed(trail, foci) if foci else None
        draft = found and found[1].model_copy(update={"split": attempt.contexts[0].split})
        return trail.outcome(*self.restyle(trail, draft), used_foci=trail.new_foci or foci, exhausted=exhausted)


def _shares(size: int, options: SingleOptions) -> Mapping[str, int]:
    return options.quotas(size)


def _agenda(material: Material, options: SingleOptions, size: int) -> Agenda:
    contexts, evolutions = material.contexts, tuple(options.quotas(size))
    if options.splits:
        splits = split_documents([context.chunk.doc_id for context in contexts], options.splits)
        contexts = [context.model_copy(update={"split": splits[context.chunk.doc_id]}) for context in contexts]
    if material.mode.writes_freely:
        material = replace(material, contexts=contexts)
        return ByPassage(material, evolutions, weights=options.kinds, candidates=options.candidates, once=True)
    return ByChunk(
        contexts,
        evolutions,
        size=options.candidates,
        only_easy=options.ask == "easy",
        kind_plan=KindPlan(options.kinds, material.languages),
        once=True,
    )


def split_documents(doc_ids: Sequence[str], shares: Mapping[str, float]) -> dict[str, str]:
    """Return the split of each document, in proportion to the shares; each split has a document if there are enough.

    Documents are assigned in the order in which their chunks are drawn. Splits alternate, so that a run that ends
    early has samples of each split.
    """
    documents = list(dict.fromkeys(doc_ids))
    counts = quotas(len(documents), shares)
    for name in counts:
        if not counts[name] and len(documents) >= len(counts):
            counts[max(counts, key=lambda other: counts[other])] -= 1
            counts[name] = 1
    order = sorted(((n + 0.5) / count, name) for name, count in counts.items() for n in range(count))
    return {document: name for document, (_, name) in zip(documents, order, strict=True)}


RECIPE = Recipe(
    name="single",
    about="One question about each chunk, evenly over all documents, with optional splits.",
    options=SingleOptions,
    program=Single,
    shares=_shares,
    agenda=_agenda,
)
