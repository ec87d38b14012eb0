"""The agenda of recipes that ask about several chunks: a seed, and its nearest good chunks."""

from collections.abc import Callable, Mapping, Sequence

from programs.facts import rare_names
from programs.recipes.base import Material, Past
from programs.types import Context

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
