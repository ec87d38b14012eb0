"""The agenda of modes that write freely: each passage is asked for kinds of question, alone or with a near one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise

from programs.evolutions import EVOLUTIONS
from programs.facts import rare_names
from programs.recipes.base import Material, Past
from programs.types import Context, Focus

ROUNDS = 5
_BEFORE = 300  # characters of what stands before a passage
_NEAR = 10  # chunks that are looked at for one that goes with a passage
_SIMILAR = 0.3  # least cosine similarity of chunks that go together
_NAME = 0.1  # what a rare name that chunks share counts for, as cosine similarity; set by hand


class ByPassage:
    """Offers each usable passage in turns, for each evolution that it can carry.

    Kinds come by weight over all passages; those of an attempt differ. For questions about several chunks a passage is
    offered with the near ones that share names with it, another one in each round.
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
        """Plan which kinds each passage is asked for.

        Args:
            material: the chunks of the run.
            evolutions: what is wanted, the plainest first.
            weights: of kinds of question, where they differ from those of the mode.
            candidates: kinds of an attempt.
            once: whether a passage that gave a sample is not drawn again.
            rounds: how often a passage may be drawn.
            chunks: of a question about several.
        """
        usable = [each for each in material.contexts if each.score is None or each.score.verdict == "good"]
        self._contexts = {each.chunk.chunk_id: each for each in _with_before(material.contexts, usable)}
        self._evolutions, self._candidates, self._once = tuple(evolutions), candidates, once
        self._near, self._chunks = material.near, chunks
        several = any(EVOLUTIONS[name].chunks > 1 for name in evolutions)
        self._names = rare_names(usable, material.languages) if several else {}
        self._partners: dict[str, list[Context]] = {}
        self.keys = tuple(self._contexts)
        self.rounds = rounds
        self._places = {key: place for place, key in enumerate(self.keys)}
        kinds = {**material.mode.kinds, **weights}
        planned = len(self.keys) * rounds + len(kinds) * candidates
        self._kinds = list(islice(_by_weight(kinds), planned))
        self.counts: Mapping[str, int] = {
            "chunks": len(material.contexts),
            "usable": len(usable),
            **{
                f"can be asked {name}": sum(EVOLUTIONS[name].found_in(each) for each in usable)
                for name in self._evolutions
                if EVOLUTIONS[name].chunks == 1
            },
        }

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return a passage with the kinds that it is asked for, by evolution."""
        if any(each.exhausted for each in past) or (self._once and any(each.accepted for each in past)):
            return {}
        context = self._contexts[key]
        alone = context.model_copy(update={"foci": self._wanted(key, round_), "grows": {}})
        offers: dict[str, tuple[Context, ...]] = {}
        for name in self._evolutions:
            if EVOLUTIONS[name].chunks > 1:
                if others := self._others(context, round_):
                    offers[name] = tuple(
                        each.model_copy(update={"foci": (), "grows": {}}) for each in (context, *others)
                    )
            elif EVOLUTIONS[name].found_in(context):
                offers[name] = (alone,)
        return offers

    def _wanted(self, key: str, round_: int) -> tuple[Focus, ...]:
        """Return the kinds of an attempt: the next of the plan, and others after it."""
        place = round_ * len(self.keys) + self._places[key]
        kinds = list(dict.fromkeys(self._kinds[place:]))[: self._candidates]
        return tuple(Focus(sentence="", answer="", kind=kind) for kind in kinds)

    def _others(self, context: Context, round_: int) -> list[Context]:
        """Return the chunks that go with a passage in a round, none if too few do."""
        key = context.chunk.chunk_id
        if key not in self._partners:
            self._partners[key] = self._going_with(context)
        wanted = self._chunks - 1
        others = self._partners[key][round_ * wanted :][:wanted]
        return others if len(others) == wanted else []

    def _going_with(self, context: Context) -> list[Context]:
        names = set(self._names.get(context.chunk.chunk_id, ()))
        found = []
        for hit in self._near(context.chunk.chunk_id, _NEAR):
            other = self._contexts.get(hit.chunk_id)
            if other is None or hit.similarity < _SIMILAR or other.language != context.language:
                continue
            shared = names.intersection(self._names.get(hit.chunk_id, ()))
            found.append((hit.similarity + _NAME * len(shared), other))
        return [other for _, other in sorted(found, key=lambda pair: -pair[0])]


def _by_weight(weights: Mapping[str, float]) -> Iterator[str]:
    """Yield names for ever, each as often as its weight says, as evenly spread as that allows."""
    total, owed = sum(weights.values()), dict.fromkeys(weights, 0.0)
    while True:
        for name, weight in weights.items():
            owed[name] += weight / total
        most = max(owed, key=lambda name: owed[name])
        owed[most] -= 1
        yield most


def _with_before(contexts: Sequence[Context], usable: Sequence[Context]) -> list[Context]:
    """Return usable contexts with the end of the text before each in its document."""
    by_document: dict[str, list[Context]] = defaultdict(list)
    for context in sorted(contexts, key=lambda each: each.chunk.start):
        by_document[context.chunk.doc_id].append(context)
    before = {
        second.chunk.chunk_id: _end_of(first.passage)
        for ordered in by_document.values()
        for first, second in pairwise(ordered)
    }
    return [each.model_copy(update={"before": before.get(each.chunk.chunk_id, "")}) for each in usable]


def _end_of(text: str) -> str:
    if len(text) <= _BEFORE:
        return text
    _, _, rest = text[-_BEFORE:].partition(" ")
    return f"… {rest}"
