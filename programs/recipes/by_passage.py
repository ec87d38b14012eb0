"""The agenda of modes that write freely: passages with kinds of question to ask, alone or with near passages."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, pairwise

from programs.analysis import passage_of
from programs.evolutions import EVOLUTIONS
from programs.facts import rare_names
from programs.recipes.base import LazyKeys, Material, Past
from programs.types import Chunk, Context, Focus

ROUNDS = 5
_BEFORE = 300  # characters of the text before a passage
_NEIGHBOURS = 10  # nearest chunks considered as partners
_MIN_SIMILARITY = 0.3  # cosine similarity of partners
# In a corpus of many chunks, the first passages are not offered with others in the first round, because partners are
# known only when all chunks are ready.
_FIRST, _MANY = 32, 256
_NAME_BONUS = 0.1  # added to the similarity for each shared rare name; set by hand


class ByPassage:
    """Offers each usable passage for each evolution that applies to it.

    Kinds of question are distributed by weight over all passages. For questions about several chunks, a passage is
    offered with its best partners, others in each round.
    """

    def __init__(
        self,
        material: Material,
        evolutions: Sequence[str],
        *,
        weights: Mapping[str, float],
        candidates: int,
        once: bool = False,
        rounds: int = ROUNDS,
        chunks: int = 2,
    ) -> None:
        """Plan the kinds of question of each passage.

        Args:
            material: the chunks of the run.
            evolutions: the wanted evolutions, the simplest first.
            weights: weights of kinds, if other than those of the mode.
            candidates: kinds per attempt.
            once: whether a passage with a sample is not drawn again.
            rounds: how often a passage is drawn at most.
            chunks: chunks of a question about several.
        """
        self._drawn, self._seen = material.contexts, 0
        self._before = _ends_before(material.chunks or [context.chunk for context in material.contexts])
        self._contexts: dict[str, Context] = {}
        self._indices: dict[str, int] = {}
        self._evolutions, self._candidates, self._once = tuple(evolutions), candidates, once
        self._near, self._chunks = material.near, chunks
        self._languages = material.languages
        self._partners: dict[str, list[Context]] = {}
        self.keys = LazyKeys(self._next)
        self.rounds = rounds
        kinds = {**material.mode.kinds, **weights}
        planned = len(material.contexts) * rounds + len(kinds) * candidates
        self._kinds = list(islice(_by_weight(kinds), planned))

    def _next(self) -> str | None:
        """Add the next usable passage, and return its key."""
        while self._seen < len(self._drawn):
            context = self._drawn[self._seen]
            self._seen += 1
            if context.score is None or context.score.verdict == "good":
                key = context.chunk.chunk_id
                self._indices[key] = len(self._contexts)
                self._contexts[key] = context.model_copy(update={"before": self._before.get(key, "")})
                return key
        return None

    @cached_property
    def _usable(self) -> list[Context]:
        """Return all usable passages."""
        return [self._contexts[key] for key in self.keys]

    @cached_property
    def _names(self) -> Mapping[str, tuple[str, ...]]:
        return rare_names(self._usable, self._languages)

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many chunks there are, how many are usable, and how many each evolution can ask about."""
        return {
            "chunks": len(self._drawn),
            "usable": len(self._usable),
            **{
                f"can be asked {name}": sum(EVOLUTIONS[name].applies_to(context) for context in self._usable)
                for name in self._evolutions
                if EVOLUTIONS[name].chunks == 1
            },
        }

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return a passage with the kinds to ask for, by evolution."""
        if any(one.exhausted for one in past) or (self._once and any(one.accepted for one in past)):
            return {}
        if key not in self._contexts:
            len(self.keys)  # determines all
        context = self._contexts[key]
        offers: dict[str, tuple[Context, ...]] = {}
        for name in self._evolutions:
            if EVOLUTIONS[name].chunks > 1:
                is_first = round_ == 0 and self._indices[key] < _FIRST and len(self._drawn) >= _MANY
                if not is_first and (others := self._partners_in(context, round_)):
                    offers[name] = tuple(one.with_foci() for one in (context, *others))
            elif EVOLUTIONS[name].applies_to(context):
                offers[name] = (context.with_foci(*self._next_kinds(key, round_)),)
        return offers

    def _next_kinds(self, key: str, round_: int) -> list[Focus]:
        """Return different kinds for an attempt, as foci: the planned one and the next ones of the plan."""
        start = self._indices[key] + (round_ * len(self.keys) if round_ else 0)
        kinds = list(dict.fromkeys(self._kinds[start:]))[: self._candidates]
        return [Focus(sentence="", answer="", kind=kind) for kind in kinds]

    def _partners_in(self, context: Context, round_: int) -> list[Context]:
        """Return the partners of a passage in a round; none if there are too few."""
        key = context.chunk.chunk_id
        if key not in self._partners:
            self._partners[key] = self._find_partners(context)
        count = self._chunks - 1
        partners = self._partners[key][round_ * count :][:count]
        return partners if len(partners) == count else []

    def _find_partners(self, context: Context) -> list[Context]:
        names = set(self._names.get(context.chunk.chunk_id, ()))
        found = []
        for hit in self._near(context.chunk.chunk_id, _NEIGHBOURS):
            other = self._contexts.get(hit.chunk_id)
            if other is None or hit.similarity < _MIN_SIMILARITY or other.language != context.language:
                continue
            shared = names.intersection(self._names.get(hit.chunk_id, ()))
            found.append((hit.similarity + _NAME_BONUS * len(shared), other))
        return [other for _, other in sorted(found, key=lambda pair: -pair[0])]


def _by_weight(weights: Mapping[str, float]) -> Iterator[str]:
    """Yield names endlessly, in proportion to their weights and evenly spread."""
    total, credit = sum(weights.values()), dict.fromkeys(weights, 0.0)
    while True:
        for name, weight in weights.items():
            credit[name] += weight / total
        highest = max(credit, key=lambda name: credit[name])
        credit[highest] -= 1
        yield highest


def _ends_before(chunks: Sequence[Chunk]) -> dict[str, str]:
    """Return the end of the text before each chunk in its document, by id."""
    by_document: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in sorted(chunks, key=lambda chunk: chunk.start):
        by_document[chunk.doc_id].append(chunk)
    return {
        second.chunk_id: _end_of(passage_of(first))
        for ordered in by_document.values()
        for first, second in pairwise(ordered)
    }


def _end_of(text: str) -> str:
    if len(text) <= _BEFORE:
        return text
    _, _, rest = text[-_BEFORE:].partition(" ")
    return f"… {rest}"
