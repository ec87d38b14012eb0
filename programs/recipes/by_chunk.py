"""The agenda of recipes that ask about one chunk at a time."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import ClassVar, Literal, Self

from pydantic import Field

from programs.evolutions import EVOLUTIONS
from programs.modes import Mode
from programs.recipes.base import Options, Past
from programs.recipes.kinds import KEPT_ROUNDS, Kinds, Mixing, limits
from programs.types import Context, Focus

ROUNDS = 6
_EASY_ROUNDS = 4  # what is easy comes first; a second round asks simply what the first one wanted evolved


class ByChunkOptions(Options):
    """The options that recipes of this agenda share."""

    growing: ClassVar[Mapping[str, Sequence[str]]] = {"ask": ("easy", "all")}

    ask: Literal["easy", "all"] = Field(
        default="easy",
        description="easy: in English, only facts for which the parser can begin the question; all: every fact, though "
        "about half of the harder questions are good.",
    )
    kinds: Kinds = Field(
        default={},
        description="What questions ask for, by weight. A kind that is not named weighs 1; one that weighs 0 is not "
        "asked. Each kind is limited to a third of the set, or its share by weight if larger, until every chunk was "
        "tried twice.",
        json_schema_extra={"metavar": "KIND=WEIGHT,..."},
    )
    answers: Literal["short", "open"] = Field(
        default="short",
        description="short: a few words; open: one to three whole sentences, each of them checked, where the mode "
        "writes freely.",
    )
    candidates: int = Field(default=2, ge=1, le=100, description="Questions drawn for each attempt; the best is kept.")
    max_rank: int | None = Field(
        default=None,
        ge=0,
        description="A question must find its chunk at this rank or better; 0 only records the rank.",
        json_schema_extra={"show_default": "5; 0 in mode free"},
    )

    def in_mode(self, mode: Mode) -> Self:
        """Return the options with those defaults that depend on the mode: kinds, answers, ``ask`` and ``max_rank``."""
        if unknown := [kind for kind in self.kinds if kind not in mode.kinds]:
            raise ValueError(f"--kinds: mode {mode.name} has no kind {unknown[0]}; it has {', '.join(mode.kinds)}")
        if self.answers == "open" and not mode.writes_freely:
            raise ValueError(f"--answers open: mode {mode.name} answers with words of a sentence; take --mode free")
        if self.ask == "all" and mode.writes_freely:
            raise ValueError(f"--ask all: mode {mode.name} asks about everything anyway; leave --ask out")
        weights = {**mode.kinds, **self.kinds}
        if not sum(weights.values()):
            raise ValueError("--kinds: one weight must be above 0")
        return self.model_copy(update={"max_rank": mode.max_rank if self.max_rank is None else self.max_rank})

    def limits(self, size: int) -> Mapping[str, int]:
        """Return the most questions of each kind in a set of a size."""
        return limits(size, self.kinds)


class ByChunk:
    """Asks each chunk what is easy, a few foci at a time, before any chunk is asked what is hard.

    A chunk that the critic refused is never drawn. What is hard takes the model's key phrases, so that is offered
    without foci; the program looks for them. Where syntax was read and only what is easy is wanted, nothing is hard.
    """

    def __init__(
        self,
        contexts: Sequence[Context],
        kinds: Sequence[str],
        *,
        size: int,
        only_easy: bool,
        mixing: Mixing,
        once: bool = False,
        rounds: int = ROUNDS,
    ) -> None:
        """Ask about chunks in this order.

        Args:
            contexts: what can be drawn.
            kinds: the evolutions that are wanted, the plainest first: that one every chunk can give.
            size: foci of an attempt.
            only_easy: whether to ask only what syntax begins a question for, in languages whose syntax is read.
            mixing: plans what chunks are asked for.
            once: whether a chunk that gave a sample is not drawn again.
            rounds: how often a chunk may be drawn.
        """
        usable = [context for context in contexts if context.score is None or context.score.verdict == "good"]
        self._contexts = {context.chunk.chunk_id: context for context in usable}
        self._kinds, self._size, self._only_easy, self._once = tuple(kinds), size, only_easy, once
        self._mixing = mixing
        for context in usable:
            carried = {place for kind in self._kinds for place in _places(context, kind)}
            mixing.plan(context, [focus for place, focus in enumerate(context.foci) if place in carried and focus.easy])
        self.keys = tuple(self._contexts)
        self.rounds = rounds
        self.counts: Mapping[str, int] = {
            "chunks": len(contexts),
            "usable": len(usable),
            **{
                f"can be asked {kind}": sum(bool(self._left(context, kind, ())) for context in usable) for kind in kinds
            },
        }

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the foci of a chunk that come next, by evolution."""
        context, given = self._contexts[key], any(each.accepted for each in past)
        if (self._once and given) or any(each.exhausted for each in past):
            return {}
        plain = self._kinds[0]
        asked_plainly = any(each.wanted == plain and not each.put_off for each in past)
        waiting = round_ < KEPT_ROUNDS and self._mixing.waits(context)
        if waiting or (round_ == 1 and (given or asked_plainly)):
            return {}
        kinds = self._kinds if not past or plain != "simple" else (plain,)
        hard = not (self._only_easy and context.parsed)
        if hard and round_ >= _EASY_ROUNDS:
            return {kind: (context.model_copy(update={"foci": (), "grows": {}}),) for kind in kinds}
        offers: dict[str, tuple[Context, ...]] = {}
        for kind in kinds:
            if turns := self._left(context, kind, past):
                page = turns[0] if kind == "simple" and not past else list(chain(*turns))
                offers[kind] = (context.model_copy(update={"foci": tuple(page[: self._size]), "grows": {}}),)
        return offers

    def _easy(self, context: Context, kind: str) -> list[Focus]:
        """Return the easy foci that can carry a kind."""
        found = [context.foci[place] for place in _places(context, kind)]
        return [focus for focus in found if focus.easy]

    def _left(self, context: Context, kind: str, past: Sequence[Past]) -> list[list[Focus]]:
        """Return the easy foci that can carry a kind and were not asked about for it, nor gave a sample, in turns."""
        done = [each for each in past if each.accepted or (each.wanted == kind and not each.put_off)]
        asked = [focus for each in done for focus in each.foci]
        return self._mixing.in_turn(context, [focus for focus in self._easy(context, kind) if focus not in asked])


def _places(context: Context, kind: str) -> tuple[int, ...]:
    """Return the places of the foci that can carry a kind; what is only worded anew can be any simple question."""
    return context.grows.get("simple" if EVOLUTIONS[kind].restyle else kind, ())
