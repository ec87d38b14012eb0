"""The agenda of recipes that start from clues: every chunk, or some chunks of some documents."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from programs.recipes.base import Material, Past
from programs.types import Context


class ByClue:
    """Offers each usable chunk once for each clue, until it has no further clue."""

    def __init__(
        self,
        material: Material,
        evolution: str,
        *,
        clues: int,
        max_documents: int | None = None,
        chunks_per_document: int | None = None,
    ) -> None:
        """Choose documents and chunks in the order in which chunks are drawn.

        Args:
            material: the chunks of the run.
            evolution: the evolution of the attempts.
            clues: how many clues a chunk has at most.
            max_documents: most documents.
            chunks_per_document: most chunks of a document.
        """
        usable = [one for one in material.contexts if one.score is None or one.score.verdict == "good"]
        by_document: dict[str, list[Context]] = defaultdict(list)
        for context in usable:
            by_document[context.chunk.doc_id].append(context)
        documents = list(by_document)[:max_documents]
        chosen = {one.chunk.chunk_id for name in documents for one in by_document[name][:chunks_per_document]}
        self._evolution = evolution
        self._contexts = {one.chunk.chunk_id: one.with_foci() for one in usable if one.chunk.chunk_id in chosen}
        self.keys = tuple(self._contexts)
        self.rounds = clues
        self.counts: Mapping[str, int] = {
            "chunks": len(material.contexts),
            "usable": len(usable),
            "documents": len(documents),
            "chunks with clues": len(self.keys),
        }

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the chunk, unless it has no further clue."""
        del round_
        return {} if any(one.exhausted for one in past) else {self._evolution: (self._contexts[key],)}
