"""Recipe ``multi``: questions that need several chunks.

seed chunk → its nearest good chunks → facts that share a name or can be compared
contexts → compose, several times → split → judge ⇄ rewrite → need → round trip of each chunk → answer → restyle
         → draft
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import ClassVar, Literal, Self

import dspy
from pydantic import Field, model_validator

from programs.facts import LinkedFacts, link_facts, rare_names
from programs.modes import MODES, Mode
from programs.recipes.base import Agenda, Material, Past, Recipe
from programs.recipes.mixed import MixedOptions
from programs.stages.combine import Combine
from programs.stages.compose import Compose
from programs.stages.contexts import Contexts
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.need import Need
from programs.stages.restyle import Restyle
from programs.stages.split import Split, focus_of
from programs.steps.question import tidy_question
from programs.steps.split import asks_twice
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Context, Draft, Observer, Outcome


class NearChunks:
    """Offers groups of near chunks, each once.

    A group starts with a seed chunk that the critic accepts. The seed's nearest neighbours join it if they are similar
    enough, accepted by the critic, and compatible with the chunks already in the group.
    """

    rounds = 1

    def __init__(
        self,
        material: Material,
        evolutions: Sequence[str],
        are_compatible: Callable[[tuple[Context, ...]], bool],
        *,
        seeds: int,
        chunks: tuple[int, int],
        near: int,
        similarity: float,
        across_documents: bool,
    ) -> None:
        """Build the groups.

        Args:
            material: the chunks of the run.
            evolutions: the evolutions of the attempts.
            are_compatible: whether one question can be asked about these chunks.
            seeds: how many seeds to try at most.
            chunks: fewest and most chunks of a group.
            near: how many neighbours to consider.
            similarity: least cosine similarity of a chunk and the seed.
            across_documents: whether every chunk must be from another document.
        """
        self._evolutions, self._are_compatible = evolutions, are_compatible
        self._min_chunks, self._max_chunks = chunks
        names = rare_names(material.contexts, material.languages)
        usable = {
            context.chunk.chunk_id: context.model_copy(update={"names": names[context.chunk.chunk_id]})
            for context in material.contexts
            if context.score is None or context.score.verdict == "good"
        }
        self._groups: dict[str, tuple[Context, ...]] = {}
        tried = list(usable.values())[:seeds]
        for seed in tried:
            ids = [
                hit.chunk_id
                for hit in material.near(seed.chunk.chunk_id, near)
                if hit.similarity >= similarity and hit.chunk_id in usable
            ]
            contexts = self._gather(seed, [usable[chunk_id] for chunk_id in ids], across_documents)
            if len(contexts) >= self._min_chunks and not self._is_known(contexts):
                self._groups["+".join(context.chunk.chunk_id for context in contexts)] = contexts
        self.keys: tuple[str, ...] = tuple(self._groups)
        self.counts: Mapping[str, int] = {
            "chunks": len(material.contexts),
            "usable": len(usable),
            "seeds": len(tried),
            "contexts found": len(self.keys),
        }

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the contexts of a group, unless it was drawn before."""
        del round_
        return {} if past else dict.fromkeys(self._evolutions, self._groups[key])

    def _gather(self, seed: Context, others: Sequence[Context], across: bool) -> tuple[Context, ...]:
        group: tuple[Context, ...] = (seed,)
        for other in others:
            new_document = all(other.chunk.doc_id != context.chunk.doc_id for context in group)
            if len(group) < self._max_chunks and (new_document or not across) and self._are_compatible((*group, other)):
                group = (*group, other)
        return group

    def _is_known(self, contexts: tuple[Context, ...]) -> bool:
        ids = {context.chunk.chunk_id for context in contexts}
        return any({context.chunk.chunk_id for context in group} == ids for group in self._groups.values())


MULTI, SIMPLE = "multi_context", "simple"
_SINGLES = 4  # at most one sample in this many is about one chunk
_TEMPERATURE = 0.7  # of repeated draws about the same facts


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
        self.tools = tools
        self.options = options
        self.contexts = Contexts(tools)
        mode = MODES[tools.mode]
        self.judging = JudgeAndRewrite(tools)
        resolved = options.in_mode(mode)
        max_rank = resolved.max_rank or 0
        self.finish = Finish(tools, self.judging, mode.answer(tools), max_rank, options.answer_variants)
        self.restyle = Restyle(
            tools, self.judging, max_rank, resolved.wanted, personas=options.personas, queries=options.like or ()
        )
        self.combine: Combine | None = None
        if mode.writes_freely:
            self.combine = Combine(
                tools,
                self.judging,
                self.finish,
                candidates=options.draws,
                answers=options.answers,
                min_chunks=options.min_chunks,
            )
            return
        self.compose = Compose(tools)
        self.split = Split(tools, self.judging)
        self.need = Need(tools, self.judging)

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run one attempt."""
        trail = Trail(attempt, observer)
        if not self.contexts(trail):
            return trail.outcome(exhausted=True)
        if self.combine is not None:
            return trail.outcome(*self.restyle(trail, self.combine(trail)), exhausted=True)
        linked = link_facts(attempt.contexts, self.tools.languages)
        drawn: dict[tuple[int, str], list[Judged]] = {}
        free_numbers = count(self.options.draws)
        for number in range(self.options.draws if linked else 0):
            repeated, index = divmod(number, len(linked))
            sampling = {"temperature": _TEMPERATURE, "seed": trail.attempt.seed + number} if repeated else None
            question = self.compose(trail, number, linked[index], sampling)
            if question is not None and (index, question) not in drawn:
                drawn[index, question] = self._judge(trail, number, linked[index], question, free_numbers)
        candidates = [(judged, linked[index]) for (index, _), parts in drawn.items() for judged in parts]
        candidates.sort(key=lambda pair: (-len(pair[0].contexts), -pair[0].decision.probability, pair[0].number))
        draft: Draft | None = None
        for judged, facts in candidates:
            self.judging.refuse(trail, judged)
            if judged.decision.good and draft is None:
                draft = self._finish(trail, judged, facts)
        if draft is not None and draft.evolution == SIMPLE:
            return trail.outcome(draft, exhausted=True)
        return trail.outcome(*self.restyle(trail, draft), exhausted=True)

    def _judge(
        self, trail: Trail, number: int, facts: LinkedFacts, question: str, free_numbers: Iterator[int]
    ) -> list[Judged]:
        """Judge a question about some facts, or the parts that it is split into."""
        if asks_twice(question, self.tools.languages[trail.language]):
            return list(self.split(trail, number, facts, question, free_numbers))
        judged = self.judging(trail, number, focus_of(facts), tidy_question(question), facts.contexts)
        return [judged if judged.decision.good else self.judging.rewrite_refused(trail, judged)]

    def _finish(self, trail: Trail, judged: Judged, facts: LinkedFacts) -> Draft | None:
        """Return the draft of a question that needs all its chunks; with ``--singles``, also of one about one chunk."""
        if len(judged.contexts) < self.options.min_chunks:
            if not self.options.singles:
                trail.refuse("split", "it needs one chunk only", question=judged.question)
                return None
            draft: Draft | None = self.finish(trail, judged, SIMPLE)
            return draft
        draft = self.finish(trail, judged, MULTI) if self.need(trail, judged, facts.names) else None
        return draft


def _shares(size: int, options: MultiOptions) -> Mapping[str, int]:
    singles = size // _SINGLES if options.singles else 0
    return {**({SIMPLE: singles} if singles else {}), **options.quotas(size - singles)}


def _agenda(material: Material, options: MultiOptions, size: int) -> Agenda:
    def are_compatible(contexts: tuple[Context, ...]) -> bool:
        if material.mode.writes_freely:
            return len({context.language for context in contexts}) == 1
        return bool(link_facts(contexts, material.languages))

    return NearChunks(
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
