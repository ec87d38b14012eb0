"""The plan of a run: which attempt comes next, from what was accepted and what is in flight, and on
which chunks.

Finished attempts are never made again: a plan takes them in with :meth:`Plan.record`, whether they
were made just now or by an earlier process. With one attempt at a time the plan is a function of
the finished ones alone.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from groundset.programs.forms import (
    CONVERSATION,
    EVOLUTIONS,
    KINDS,
    MULTI,
    PERSONA,
    SIMPLE,
    UNANSWERABLE,
)
from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.text import NAME
from groundset.programs.types import Chunk, Hit
from groundset.run.store import Attempt, State

# Forms that no other can take the place of.
_ALONE = frozenset({PERSONA, MULTI, UNANSWERABLE, CONVERSATION})
_FROM_SIMPLE = frozenset({SIMPLE, CONVERSATION, PERSONA})

_ALIKE, _COPY = 0.5, 0.9  # cosine similarities of chunks that are asked about together
_TRIES = 4  # attempts for each sample of a form; then simple questions take its place
_NEAR = 20  # nearest chunks that are considered
_SHORTEST = 200  # characters of a text that tells something; title pages have less
_COMMONEST = 6  # chunks that a rare name occurs in, at most
_NAMES = re.compile(
    rf"(?<![.!?:\n] )(?<!^)(?<!\n)\b{NAME}(?: {NAME})*"
)  # not the first word of a sentence
_SHORTEST_NAME = 4


class Task(NamedTuple):
    """An attempt to be made."""

    number: int  # from 1
    chunks: tuple[str, ...]  # their ids; the plan counts visits of the first
    wanted: tuple[str, ...] = ()  # forms of question, the most wanted first
    kinds: tuple[str, ...] = ()  # what a question can ask for, the most wanted first
    asked: tuple[str, ...] = ()  # questions that were asked about these chunks already
    turn: int = 0  # how often the first chunk was visited before
    seed: int = 0  # of this attempt alone
    beyond: bool = False  # the question may exceed the quota of its form
    question: str = ""  # the user's own, which the chunks are nearest to
    weight: int = 1  # how often it was asked


class Plan:
    """Chooses the next attempt, and decides whether a good question is accepted or surplus."""

    def __init__(
        self,
        passages: Mapping[str, str],  # by id, in the order in which chunks are asked about
        *,
        size: int,
        mix: Mapping[str, float],  # forms of question by weight
        kinds: Mapping[str, float] = KINDS,
        seed: int = 0,
        rounds: int = 1,  # how often a chunk is visited at most
        once: bool = False,  # a chunk with a good question is not visited again
        # of a chunk, for a question about both, the best first
        partners: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        """Begin with nothing made."""
        self.size = size
        self._passages, self._seed, self._once, self._partners = passages, seed, once, partners
        self.quotas = quotas(size, {name: weight for name, weight in mix.items() if weight})
        self._kinds = {name: weight for name, weight in kinds.items() if weight}
        self._rounds = rounds
        self._queue = dict.fromkeys(passages)  # those that were visited stand at the end again
        self._visits: Counter[str] = Counter()
        self._asked: dict[str, list[str]] = defaultdict(list)
        self._done: dict[str, set[str]] = defaultdict(
            set
        )  # forms that nothing more can be asked in
        self._groups: set[frozenset[str]] = set()
        self._refused: set[str] = set()  # chunks that nothing can be asked about
        self._flying: dict[int, Task] = {}
        self._tried: Counter[str] = Counter()
        self._asked_kinds: Counter[str] = Counter()
        self._surplus: dict[int, str] = {}
        self._promoted: list[int] = []
        self._number = 0
        self.accepted: Counter[str] = Counter()

    @property
    def missing(self) -> int:
        """Return how many samples are missing."""
        return self.size - self.accepted.total()

    @property
    def in_flight(self) -> int:
        """Return how many attempts were begun and have not been recorded."""
        return len(self._flying)

    def next(self) -> Task | None:
        """Return the next attempt; None if enough are in flight, or nothing is left to ask."""
        for beyond in (False, True) if SIMPLE in self.quotas else (False,):
            self._promote(beyond)
            if self.missing <= self.in_flight * self._share_good:
                return None
            for chunk_id in self._queue:
                # Quotas hold at the first visit. What the documents do not yield then is made
                # simple.
                is_late = SIMPLE in self.quotas and not beyond and self._visits[chunk_id]
                if not is_late and (task := self._task(chunk_id, beyond)):
                    del self._queue[chunk_id]
                    self._flying[task.number] = task
                    self._count(task.number, task.chunks, task.wanted)
                    return task
        return None

    def record(self, attempt: Attempt) -> None:
        """Take in a finished attempt."""
        first = attempt.chunks[0]
        if self._flying.pop(attempt.number, None) is None:
            self._queue.pop(first, None)
            self._count(attempt.number, attempt.chunks, attempt.wanted)
        self._visits[first] += 1
        sample, rejects = attempt.result.sample, attempt.result.rejects
        questions = [reject.question for reject in rejects] + ([sample.question] if sample else [])
        for chunk_id in attempt.chunks:
            self._asked[chunk_id] += filter(None, questions)
        if sample is not None:
            self._asked_kinds[str(sample.kind)] += 1
            if attempt.state == "accepted":
                self.accepted[sample.evolution] += 1
            else:
                self._surplus[attempt.number] = sample.evolution
        if attempt.result.exhausted:
            self._exhaust(attempt)
        is_done = (self._once and sample) or self._done[first] >= self.quotas.keys()
        if first in self._passages and self._visits[first] < self._rounds and not is_done:
            self._queue[first] = None

    def drop(self, task: Task) -> None:
        """Forget an attempt that was begun and will not be finished by this process."""
        self._flying.pop(task.number, None)

    def state_of(self, evolution: str, *, beyond: bool) -> State:
        """Return what becomes of a good question of a form."""
        has_room = beyond or self.accepted[evolution] < self.quotas.get(evolution, 0)
        return "accepted" if self.missing > 0 and has_room else "surplus"

    def take_promoted(self) -> list[int]:
        """Return, once, the numbers of attempts whose surplus questions were accepted since."""
        promoted, self._promoted = self._promoted, []
        return promoted

    def _promote(self, beyond: bool) -> None:
        """Accept surplus questions that there is room for; ``beyond`` their quotas if nothing else
        can be asked.
        """
        for number, evolution in list(self._surplus.items()):
            if self.state_of(evolution, beyond=beyond) == "accepted":
                self.accepted[evolution] += 1
                del self._surplus[number]
                self._promoted.append(number)

    @property
    def _share_good(self) -> float:
        return (self._asked_kinds.total() + 1) / (self._visits.total() + 2)

    def _task(self, chunk_id: str, beyond: bool) -> Task | None:
        """Return the attempt on a chunk; None if no form that is wanted can be asked about it."""
        wanted = self._wanted(chunk_id, beyond)
        chunks: Sequence[str] = (chunk_id,)
        if wanted[:1] == [MULTI]:
            others = (each for each in self._partners(chunk_id) if each not in self._refused)
            pairs = ((chunk_id, other) for other in others)
            chunks = next((pair for pair in pairs if frozenset(pair) not in self._groups), ())
            if not chunks:
                self._done[chunk_id].add(MULTI)
                wanted, chunks = wanted[1:], (chunk_id,)
        if not wanted:
            return None
        is_alone, turn = wanted[0] in _ALONE, self._visits[chunk_id]
        together = wanted[:1] if is_alone else [name for name in wanted if name not in _ALONE]
        digest = hashlib.sha256(f"{self._seed} {chunk_id} {turn}".encode()).hexdigest()
        return Task(
            number=self._number + 1,
            chunks=tuple(chunks),
            wanted=tuple(together),
            kinds=self._wanted_kinds(),
            asked=tuple(dict.fromkeys(chain.from_iterable(map(self._asked.__getitem__, chunks)))),
            turn=turn,
            seed=int(digest[:8], 16),
            beyond=beyond,
        )

    def _wanted(self, chunk_id: str, beyond: bool) -> list[str]:
        """Return the forms that can be asked about a chunk, the one with the most missing per
        attempt first.
        """
        flying = Counter(task.wanted[0] for task in self._flying.values())

        def missing(name: str) -> float:
            return self.quotas[name] - self.accepted[name] - flying[name] * self._share_good

        names = [
            name
            for name in self.quotas
            if (missing(name) > 0 or (beyond and name == SIMPLE))
            and name not in self._done[chunk_id]
            and (
                name == SIMPLE
                or SIMPLE not in self.quotas
                or self._tried[name] < _TRIES * self.quotas[name]
            )
            and (name not in EVOLUTIONS or EVOLUTIONS[name].applies(self._passages[chunk_id]))
        ]
        return sorted(names, key=lambda name: missing(name) / (1 + self._tried[name]), reverse=True)

    def _wanted_kinds(self) -> tuple[str, ...]:
        """Return the kinds, the one that is missing most first."""
        asked = self._asked_kinds + Counter(task.kinds[0] for task in self._flying.values())
        each = (asked.total() + 1) / sum(self._kinds.values())  # samples for a weight of 1
        missing = {kind: weight * each - asked[kind] for kind, weight in self._kinds.items()}
        return tuple(sorted(missing, key=missing.__getitem__, reverse=True))

    def _count(self, number: int, chunks: Sequence[str], wanted: Sequence[str]) -> None:
        self._number = max(self._number, number)
        self._groups.add(frozenset(chunks))
        self._tried.update(wanted[:1])

    def _exhaust(self, attempt: Attempt) -> None:
        """Note that nothing more can be asked of the chunks of an attempt, in the forms that it
        could have taken.
        """
        first, wanted = attempt.chunks[0], set(attempt.wanted)
        rejects = attempt.result.rejects
        # The step `chunk` is one that no model can read.
        refused = [each.chunk_id for each in rejects if each.step in ("chunk", "score")]
        self._refused.update(refused)
        for chunk_id in refused:
            self._done[chunk_id] |= set(self.quotas)
        if not refused and MULTI not in wanted:
            self._done[first] |= set(self.quotas) - {MULTI} if wanted & _FROM_SIMPLE else wanted


def quotas(size: int, mix: Mapping[str, float]) -> dict[str, int]:
    """Distribute ``size`` samples by the weights of ``mix``, with the largest remainder method."""
    total = sum(mix.values())
    exact = {name: size * weight / total for name, weight in mix.items()}
    shares = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(mix, key=lambda name: shares[name] - exact[name])
    for name in by_remainder[: size - sum(shares.values())]:
        shares[name] += 1
    return shares


@dataclass(frozen=True)
class Pairs:
    """Finds the pairs of chunks that a question can be asked about.

    They are alike (by their embeddings) but tell different things: neither neighbours in a document
    nor near-copies, and no title pages. Those that share a rare name come first, since one
    describes what the other tells of (a bridge).
    """

    chunks: Mapping[str, Chunk]  # all of a run, in the order of the documents
    nearest: Callable[[str, int], Sequence[Hit]]

    def partners(self, chunk_id: str) -> list[str]:
        """Return the partners of a chunk, the best first."""
        chunk, ranked = self.chunks[chunk_id], []
        if len(chunk.text) < _SHORTEST:
            return []
        for hit in self.nearest(chunk_id, _NEAR):
            other = self.chunks[hit.chunk_id]
            is_apart = _ALIKE <= hit.similarity < _COPY and self._fit(chunk_id, hit.chunk_id)
            is_alike = len(other.text) >= _SHORTEST and language_of(other.text) == language_of(
                chunk.text
            )
            if is_apart and is_alike:
                bridged = bool(self._names[chunk_id] & self._names[hit.chunk_id])
                ranked.append((bridged, hit.similarity, hit.chunk_id))
        return [row[-1] for row in sorted(ranked, reverse=True)]

    def _fit(self, first: str, second: str) -> bool:
        """Return whether two chunks can be a pair: neither the same nor neighbours."""
        one, two = self.chunks[first], self.chunks[second]
        if one.doc_id != two.doc_id:
            return one.text != two.text
        return abs(self._places[first] - self._places[second]) > 1

    @cached_property
    def _places(self) -> dict[str, int]:
        return {chunk_id: place for place, chunk_id in enumerate(self.chunks)}

    @cached_property
    def _names(self) -> Mapping[str, set[str]]:
        """Return the names in each chunk that a few others have too."""
        places = defaultdict(set)
        for chunk_id, chunk in self.chunks.items():
            common = LANGUAGES[language_of(chunk.text)].stop_words
            for name in _NAMES.findall(chunk.text):
                if len(name) >= _SHORTEST_NAME and name.casefold() not in common:
                    places[name].add(chunk_id)
        rare: dict[str, set[str]] = defaultdict(set)
        for name, ids in places.items():
            for chunk_id in ids if 1 < len(ids) <= _COMMONEST else ():
                rare[chunk_id].add(name)
        return rare
