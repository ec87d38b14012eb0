"""Recipe ``multi``: questions that need several chunks.

seed chunk → its nearest good chunks → facts that share a name or can be compared
contexts → compose, several times → split what asks two things → judge ⇄ rewrite → need → round trip of each chunk
         → answer → draft
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Literal, Self

import dspy
from pydantic import Field, model_validator

from programs.facts import LinkedFacts, facts_together, rare_names
from programs.modes import MODES, Mode
from programs.recipes.base import Agenda, Material, Options, Past, Recipe
from programs.stages.combine import Combine
from programs.stages.compose import Compose
from programs.stages.contexts import Contexts
from programs.stages.finish import Finish
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.need import Need
from programs.stages.split import Split, about
from programs.steps.question import tidy_question
from programs.steps.split import asks_twice
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Context, Draft, Observer, Outcome

GoTogether = Callable[[tuple[Context, ...]], bool]


class NearChunks:
    """Finds the contexts of a number of seeds ahead, and offers each once.

    A seed is a chunk that the critic lets pass, taken in the order in which chunks are drawn. Its nearest chunks join
    it if they are similar enough, pass the critic, and go together with those that are there.
    """

    rounds = 1

    def __init__(
        self,
        material: Material,
        kind: str,
        go_together: GoTogether,
        *,
        seeds: int,
        chunks: tuple[int, int],
        near: int,
        similarity: float,
        across_documents: bool,
    ) -> None:
        """Find contexts.

        Args:
            material: the chunks of the run.
            kind: the evolution that is offered.
            go_together: says whether chunks make one question.
            seeds: how many chunks are tried as seeds at most.
            chunks: fewest and most chunks of an attempt.
            near: how many of the nearest chunks are looked at.
            similarity: least cosine of a chunk and its seed.
            across_documents: whether every chunk comes from another document.
        """
        self._kind, self._go_together = kind, go_together
        self._fewest, self._most = chunks
        names = rare_names(material.contexts, material.languages)
        usable = {
            context.chunk.chunk_id: context.model_copy(update={"names": names[context.chunk.chunk_id]})
            for context in material.contexts
            if context.score is None or context.score.verdict == "good"
        }
        self._found: dict[str, tuple[Context, ...]] = {}
        tried = list(usable.values())[:seeds]
        for seed in tried:
            ids = [
                hit.chunk_id
                for hit in material.near(seed.chunk.chunk_id, near)
                if hit.similarity >= similarity and hit.chunk_id in usable
            ]
            contexts = self._gather(seed, [usable[chunk_id] for chunk_id in ids], across_documents)
            if len(contexts) >= self._fewest and not self._known(contexts):
                self._found["+".join(context.chunk.chunk_id for context in contexts)] = contexts
        self.keys: tuple[str, ...] = tuple(self._found)
        self.counts: Mapping[str, int] = {
            "chunks": len(material.contexts),
            "usable": len(usable),
            "seeds": len(tried),
            "contexts found": len(self.keys),
        }

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the contexts once."""
        del round_
        return {} if past else {self._kind: self._found[key]}

    def _gather(self, seed: Context, others: Sequence[Context], across: bool) -> tuple[Context, ...]:
        kept: tuple[Context, ...] = (seed,)
        for other in others:
            foreign = all(other.chunk.doc_id != context.chunk.doc_id for context in kept)
            if len(kept) < self._most and (foreign or not across) and self._go_together((*kept, other)):
                kept = (*kept, other)
        return kept

    def _known(self, contexts: tuple[Context, ...]) -> bool:
        ids = {context.chunk.chunk_id for context in contexts}
        return any({context.chunk.chunk_id for context in known} == ids for known in self._found.values())


MULTI, SIMPLE = "multi_context", "simple"
_SINGLES = 4  # one sample in so many may be about one chunk
_TEMPERATURE = 0.7  # of every draw but the first about the same facts


class MultiOptions(Options):
    """The options of ``multi``."""

    min_chunks: int = Field(default=2, ge=2, le=5, description="Fewest chunks that a question needs.")
    max_chunks: int = Field(default=3, ge=2, le=5, description="Most chunks that a question needs.")
    near: int = Field(default=10, ge=1, description="Look at this many nearest chunks of a chunk.")
    similarity: float = Field(
        default=0.5, ge=-1, le=1, description="Least cosine similarity of chunks that go together."
    )
    across_documents: bool = Field(default=False, description="Take every chunk from another document.")
    draws: int = Field(default=4, ge=1, le=100, description="Questions drawn for each attempt; the best is kept.")
    singles: bool = Field(
        default=False,
        description="Also keep questions about one chunk, split off questions about several; at most one in four.",
    )
    max_rank: int | None = Field(
        default=None,
        ge=0,
        description="A question must find all its chunks at this rank or better; 0 only records the ranks.",
        json_schema_extra={"show_default": "5; 0 in mode free"},
    )

    answers: Literal["short", "open"] = Field(
        default="short",
        description="short: a few words; open: one to three whole sentences, each of them checked, where the mode "
        "writes freely.",
    )

    @model_validator(mode="after")
    def _in_order(self) -> "MultiOptions":
        if self.max_chunks < self.min_chunks:
            raise ValueError(f"max-chunks ({self.max_chunks}) is less than min-chunks ({self.min_chunks})")
        return self

    def in_mode(self, mode: Mode) -> Self:
        """Return the options with those defaults that depend on the mode: ``answers`` and ``max_rank``."""
        if self.answers == "open" and not mode.writes_freely:
            raise ValueError(f"--answers open: mode {mode.name} answers with words of a sentence; take --mode free")
        return self.model_copy(update={"max_rank": mode.max_rank if self.max_rank is None else self.max_rank})


class Multi(dspy.Module):
    """Make one question of several chunks, each of which it needs."""

    def __init__(self, tools: Tools, options: MultiOptions) -> None:
        """Compose the stages."""
        super().__init__()
        self.tools = tools
        self.options = options
        self.contexts = Contexts(tools)
        mode = MODES[tools.mode]
        self.judging = JudgeAndRewrite(tools)
        self.finish = Finish(tools, self.judging, mode.answering(tools), options.in_mode(mode).max_rank or 0)
        self.combine: Combine | None = None
        if mode.writes_freely:
            self.combine = Combine(
                tools,
                self.judging,
                self.finish,
                candidates=options.draws,
                answers=options.answers,
                fewest=options.min_chunks,
            )
            return
        self.compose = Compose(tools)
        self.split = Split(tools, self.judging)
        self.need = Need(tools, self.judging)

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run every stage on one attempt."""
        trail = Trail(attempt, observer)
        if not self.contexts(trail):
            return trail.outcome(exhausted=True)
        if self.combine is not None:
            return trail.outcome(self.combine(trail), exhausted=True)
        found = facts_together(attempt.contexts, self.tools.languages)
        drawn: dict[tuple[int, str], list[Judged]] = {}
        spare = count(self.options.draws)
        for number in range(self.options.draws if found else 0):
            again, place = divmod(number, len(found))
            sampling = {"temperature": _TEMPERATURE, "seed": trail.attempt.seed + number} if again else None
            question = self.compose(trail, number, found[place], sampling)
            if question is not None and (place, question) not in drawn:
                drawn[place, question] = self._judge(trail, number, found[place], question, spare)
        judged = [(each, found[place]) for (place, _), parts in drawn.items() for each in parts]
        judged.sort(key=lambda pair: (-len(pair[0].contexts), -pair[0].decision.probability, pair[0].number))
        draft: Draft | None = None
        for each, facts in judged:
            self.judging.refuse(trail, each)
            if each.decision.good and draft is None:
                draft = self._finish(trail, each, facts)
        return trail.outcome(draft, exhausted=True)

    def _judge(
        self, trail: Trail, number: int, facts: LinkedFacts, question: str, spare: Iterator[int]
    ) -> list[Judged]:
        """Judge a question about some facts, or what it is split into."""
        if asks_twice(question, self.tools.languages[trail.language]):
            return list(self.split(trail, number, facts, question, spare))
        judged = self.judging(trail, number, about(facts), tidy_question(question), facts.contexts)
        return [judged if judged.decision.good else self.judging.rewrite_refused(trail, judged)]

    def _finish(self, trail: Trail, judged: Judged, facts: LinkedFacts) -> Draft | None:
        """Return the draft of a good question that needs all its chunks, or of one about a single chunk if wanted."""
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
    return {**({SIMPLE: singles} if singles else {}), MULTI: size - singles}


def _agenda(material: Material, options: MultiOptions, size: int) -> Agenda:
    def go_together(contexts: tuple[Context, ...]) -> bool:
        if material.mode.writes_freely:
            return len({context.language for context in contexts}) == 1
        return bool(facts_together(contexts, material.languages))

    return NearChunks(
        material,
        MULTI,
        go_together,
        seeds=5 * size,
        chunks=(options.min_chunks, options.max_chunks),
        near=options.near,
        similarity=options.similarity,
        across_documents=options.across_documents,
    )


RECIPE = Recipe(
    name="multi",
    about="Questions that need several chunks: one thing described by another, or two things compared.",
    options=MultiOptions,
    program=Multi,
    shares=_shares,
    agenda=_agenda,
)
