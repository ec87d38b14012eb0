"""The agenda of recipes that ask about several chunks: groups of near chunks."""

from collections.abc import Callable, Mapping, Sequence

from programs.facts import rare_names
from programs.recipes.base import Material, Past
from programs.types import Context


class ByGroup:
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
