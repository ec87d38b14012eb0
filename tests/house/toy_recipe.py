"""Recipe ``pair``: a question about a chunk and its nearest neighbour.

contexts → question → judge → search → draft
"""

from collections.abc import Mapping, Sequence

import dspy
from pydantic import Field

from programs.recipes.base import Material, Options, Past, Recipe
from programs.stages.contexts import Contexts
from programs.stages.judge_and_rewrite import JudgeAndRewrite
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Context, Draft, Focus, Observer, Outcome

KIND = "pair"


class PairOptions(Options):
    """The options of ``pair``."""

    least_similarity: float = Field(default=0.0, ge=0, le=1, description="How near the other chunk must be.")


class Pair(dspy.Module):
    """Ask one question about two chunks."""

    def __init__(self, tools: Tools, options: PairOptions) -> None:

        super().__init__()
        self.tools = tools
        self.contexts = Contexts(tools)
        self.judging = JudgeAndRewrite(tools)
        self.multi_context = tools.predictor("multi_context")

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run one attempt."""
        trail = Trail(attempt, observer)
        if not self.contexts(trail):
            return trail.outcome(exhausted=True)
        topics, facts = zip(*((one.topic, one.passage) for one in attempt.contexts), strict=True)
        inputs = {"topic": "; ".join(topics), "facts": list(facts), "answer": topics[-1]}
        question = self.tools.write("multi_context", self.multi_context, trail.language, **inputs).question
        trail.record("multi_context", 0, {"question": question})
        judged = self.judging(trail, 0, Focus(sentence=facts[-1], answer=topics[-1]), question)
        draft = Draft(
            question=judged.question,
            answer=judged.focus.answer,
            evolution=attempt.wanted,
            contexts=tuple(context.chunk for context in judged.contexts),
            relevant=judged.relevant,
            retrieval=judged.retrieval,
            probability=judged.decision.probability,
            trail=trail.records_of(0),
        )
        return trail.outcome(draft, exhausted=True)


class Pairs:
    """Offers each chunk once, with its nearest neighbour."""

    rounds = 1

    def __init__(self, material: Material, options: PairOptions) -> None:
        """Find the nearest neighbours."""
        by_id = {context.chunk.chunk_id: context for context in material.contexts}
        self._pairs = {
            name: (context, by_id[hit.chunk_id])
            for name, context in by_id.items()
            for hit in material.near(name, 1)
            if hit.similarity >= options.least_similarity
        }
        self.keys = tuple(self._pairs)
        self.counts: Mapping[str, int] = {"pairs": len(self._pairs)}

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return a pair."""
        return {KIND: self._pairs[key]}


RECIPE = Recipe(
    name="pair",
    about="Questions about two similar chunks.",
    options=PairOptions,
    program=Pair,
    shares=lambda size, options: {KIND: size},
    agenda=lambda material, options, size: Pairs(material, options),
)
