"""The agenda of modes that write freely: passages with kinds of question to ask, alone or with near passages."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise

from programs.evolutions import EVOLUTIONS
from programs.facts import rare_names
from programs.recipes.base import Material, Past
from programs.types import Context, Focus

ROUNDS = 5
_BEFORE = 300  # characters of the text before a passage
_NEIGHBOURS = 10  # nearest chunks considered as partners
_MIN_SIMILARITY = 0.3  # cosine similarity of partners
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
        usable = [one for one in material.contexts if one.score is None or one.score.verdict == "good"]
        self._contexts = {one.chunk.chunk_id: one for one in _with_before(material.contexts, usable)}
        self._evolutions, self._candidates, self._once = tuple(evolutions), candidates, once
        self._near, self._chunks = material.near, chunks
        several = any(EVOLUTIONS[name].chunks > 1 for name in evolutions)
        self._names = rare_names(usable, material.languages) if several else {}
        self._partners: dict[str, list[Context]] = {}
        self.keys = tuple(self._contexts)
        self.rounds = rounds
        self._indices = {key: index for index, key in enumerate(self.keys)}
        kinds = {**material.mode.kinds, **weights}
        planned = len(self.keys) * rounds + len(kinds) * candidates
        self._kinds = list(islice(_by_weight(kinds), planned))
        self.counts: Mapping[str, int] = {
            "chunks": len(material.contexts),
            "usable": len(usable),
            **{
                f"can be asked {name}": sum(EVOLUTIONS[name].applies_to(context) for context in usable)
                for name in self._evolutions
                if EVOLUTIONS[name].chunks == 1
            },
        }

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return a passage with the kinds to ask for, by evolution."""
        if any(one.exhausted for one in past) or (self._once and any(one.accepted for one in past)):
            return {}
        context = self._contexts[key]
        offers: dict[str, tuple[Context, ...]] = {}
        for name in self._evolutions:
            if EVOLUTIONS[name].chunks > 1:
                if others := self._partners_in(context, round_):
                    offers[name] = tuple(one.with_foci() for one in (context, *others))
            elif EVOLUTIONS[name].applies_to(context):
                offers[name] = (context.with_foci(*self._next_kinds(key, round_)),)
        return offers

    def _next_kinds(self, key: str, round_: int) -> list[Focus]:
        """Return different kinds for an attempt, as foci: the planned one and the next ones of the plan."""
        start = round_ * len(self.keys) + self._indices[key]
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


def _with_before(contexts: Sequence[Context], usable: Sequence[Context]) -> list[Context]:
    """Return usable contexts with the end of the text before each of them."""
    by_document: dict[str, list[Context]] = defaultdict(list)
    for context in sorted(contexts, key=lambda context: context.chunk.start):
        by_document[context.chunk.doc_id].append(context)
    before = {
        second.chunk.chunk_id: _end_of(first.passage)
        for ordered in by_document.values()
        for first, second in pairwise(ordered)
    }
    return [one.model_copy(update={"before": before.get(one.chunk.chunk_id, "")}) for one in usable]


def _end_of(text: str) -> str:
    if len(text) <= _BEFORE:
        return text
    _, _, rest = text[-_BEFORE:].partition(" ")
    return f"… {rest}"
