"""Stage ``distil``: search the corpus for a clue, and keep the chunks that its answer needs."""

from collections import defaultdict
from collections.abc import Sequence

import dspy

from programs.steps.clues import query_of, question_of
from programs.steps.combine import numbered
from programs.steps.distil import missing_of, needed_of
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context
from signatures.clues import Clue

_STEP = "distil"


class Distil(dspy.Module):
    """Search with a clue; a critic judges each chunk that is found, and a model all of them together.

    The chunks that either of them keeps are the contexts, in the order of their documents. A clue that they do not
    answer in full is refused.
    """

    def __init__(self, tools: Tools, *, top_k: int, neighbours: int) -> None:
        """Compose the steps.

        Args:
            tools: the tools of the run.
            top_k: hits of a search.
            neighbours: chunks before and after each hit to add.
        """
        super().__init__()
        self.tools = tools
        self.top_k, self.neighbours = top_k, neighbours
        self.relevance = tools.predictor("relevance")
        self.distil = tools.predictor(_STEP)
        by_document: dict[str, list[str]] = defaultdict(list)
        for context in sorted(tools.corpus.values(), key=lambda context: context.chunk.start):
            by_document[context.chunk.doc_id].append(context.chunk.chunk_id)
        self.order = [by_document[document] for document in sorted(by_document)]

    def forward(self, trail: Trail, clue: Clue) -> tuple[Context, ...]:
        """Return the chunks that a clue needs; none if they do not answer it."""
        found = self._search(trail, clue)
        relevant = [self._is_relevant(trail, clue, context) for context in found]
        written = self.tools.write(
            _STEP, self.distil, trail.language, question=question_of(clue), passages=numbered(found)
        )
        needed, missing = needed_of(written.needed, len(found)), missing_of(written.missing)
        kept = tuple(context for number, context in enumerate(found, 1) if relevant[number - 1] or number in needed)
        reason = None
        if not written.missing.strip():
            reason = "whether the chunks suffice cannot be read from what was written"
        elif missing:
            reason = f"the chunks do not say: {missing}"
        elif not kept:
            reason = "no chunk is needed"
        output = {
            "needed": [found[number - 1].chunk.chunk_id for number in needed],
            "kept": [context.chunk.chunk_id for context in kept],
            "missing": missing,
        }
        return kept if trail.check(_STEP, 0, output, reason, question=clue.clue) else ()

    def _search(self, trail: Trail, clue: Clue) -> Sequence[Context]:
        """Return the hits and the chunk of the clue with their neighbours.

        Chunks that were refused or are in another language are left out.
        """
        hits = {hit.chunk_id for hit in self.tools.retriever.search(query_of(clue), self.top_k)}
        hits.add(trail.contexts[0].chunk.chunk_id)  # a poor embedder may not find the chunk of the clue
        found = []
        for ids in self.order:
            indices = [index for index, chunk_id in enumerate(ids) if chunk_id in hits]
            near = {index + step for index in indices for step in range(-self.neighbours, self.neighbours + 1)}
            found += [self.tools.corpus[ids[index]] for index in sorted(near) if 0 <= index < len(ids)]
        return [
            context
            for context in found
            if context.language == trail.language and (context.score is None or context.score.verdict == "good")
        ]

    def _is_relevant(self, trail: Trail, clue: Clue, context: Context) -> bool:
        decision = self.tools.decide(
            "relevance", self.relevance, question=question_of(clue), topic=context.topic, passage=context.passage
        )
        trail.record(
            "relevance",
            0,
            {"chunk": context.chunk.chunk_id},
            probability=decision.probability,
            good=decision.good,
            reason=decision.reason or None if not decision.good else None,
        )
        return decision.good
