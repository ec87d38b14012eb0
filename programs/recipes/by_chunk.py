"""The agenda of recipes that ask about one chunk at a time."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import ClassVar, Literal, Self

from pydantic import Field

from programs.evolutions import EVOLUTIONS
from programs.modes import Mode
from programs.recipes.base import LazyKeys, Past
from programs.recipes.kinds import KEPT_ROUNDS, KindPlan, Kinds, limits
from programs.recipes.mixed import MixedOptions
from programs.types import Context, Focus

ROUNDS = 6
_EASY_ROUNDS = 4  # rounds with easy foci; the second one asks as `simple` about foci whose evolution failed


class ByChunkOptions(MixedOptions):
    """The options shared by the recipes with this agenda."""

    growing: ClassVar[Mapping[str, Sequence[str]]] = {"ask": ("easy", "all")}

    ask: Literal["easy", "all"] = Field(
        default="easy",
        description="easy: in English, only facts for which the parser can begin the question; all: every fact, but "
        "only about half of the harder questions are good.",
    )
    kinds: Kinds = Field(
        default={},
        description="Kinds of question, by weight. Other kinds have weight 1; weight 0 excludes a kind. Each kind is "
        "limited to a third of the set, or its share by weight if larger, for the first three rounds.",
        json_schema_extra={"metavar": "KIND=WEIGHT,..."},
    )
    answers: Literal["short", "open"] = Field(
        default="short",
        description="short: a few words; open: one to three whole sentences, each checked against the passage (mode "
        "free only).",
    )
    candidates: int = Field(default=2, ge=1, le=100, description="Questions per attempt; the best is kept.")
    max_rank: int | None = Field(
        default=None,
        ge=0,
        description="A search for the question must rank its chunk at least this high; 0 only records the rank.",
        json_schema_extra={"show_default": "5; 0 in mode free"},
    )

    def in_mode(self, mode: Mode) -> Self:
        """Return the options with the default mix and ``max_rank`` of a mode; see :meth:`Options.in_mode`."""
        resolved = super().in_mode(mode)
        if unknown := [kind for kind in self.kinds if kind not in mode.kinds]:
            raise ValueError(f"--kinds: mode {mode.name} has no kind {unknown[0]}; it has {', '.join(mode.kinds)}")
        if self.answers == "open" and not mode.writes_freely:
            raise ValueError(f"--answers open: mode {mode.name} does not support it; use --mode free")
        if self.ask == "all" and mode.writes_freely:
            raise ValueError(f"--ask all: mode {mode.name} asks about everything anyway; omit --ask")
        weights = {**mode.kinds, **self.kinds}
        if not sum(weights.values()):
            raise ValueError("--kinds: at least one weight must be above 0")
        return resolved.model_copy(update={"max_rank": mode.max_rank if self.max_rank is None else self.max_rank})

    def limits(self, size: int) -> Mapping[str, int]:
        """Return the most questions of each kind in a set of this size."""
        return limits(size, self.kinds)


class ByChunk:
    """Offers a few easy foci of each chunk at a time, in the first rounds; then chunks without foci.

    Chunks that the critic refused are never drawn. Hard facts need key phrases from the model, so these attempts have
    no foci; the program looks for them. With ``only_easy``, parsed chunks have no such attempts.
    """

    def __init__(
        self,
        contexts: Sequence[Context],
        evolutions: Sequence[str],
        *,
        size: int,
        only_easy: bool,
        kind_plan: KindPlan,
        once: bool = False,
        rounds: int = ROUNDS,
    ) -> None:
        """Build the agenda.

        Args:
            contexts: the chunks, in the order in which they are drawn.
            evolutions: the wanted evolutions, the simplest first.
            size: foci per attempt.
            only_easy: whether to ask only about easy foci of parsed chunks.
            kind_plan: plans the kind of question of each chunk.
            once: whether a chunk with a sample is not drawn again.
            rounds: how often a chunk is drawn at most.
        """
        self._drawn = contexts
        self._seen = 0  # contexts that were checked or planned
        self._contexts: dict[str, Context] = {}
        self._evolutions, self._size, self._only_easy, self._once = tuple(evolutions), size, only_easy, once
        self._kind_plan = kind_plan
        self.keys = LazyKeys(self._plan_next)
        self.rounds = rounds

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many chunks there are, how many are usable, and how many each evolution can ask about."""
        usable = [self._contexts[key] for key in self.keys]
        return {
            "chunks": len(self._drawn),
            "usable": len(usable),
            **{
                f"can be asked {evolution}": sum(bool(self._unused(context, evolution, ())) for context in usable)
                for evolution in self._evolutions
            },
        }

    def _plan_next(self) -> str | None:
        """Plan the kinds of the next usable chunk, and return its key."""
        while self._seen < len(self._drawn):
            context = self._drawn[self._seen]
            self._seen += 1
            if context.score is None or context.score.verdict == "good":
                key = context.chunk.chunk_id
                indices = {index for evolution in self._evolutions for index in _evolvable(context, evolution)}
                easy = [focus for n, focus in enumerate(context.foci) if n in indices and focus.easy]
                self._kind_plan.add(context, easy)
                self._contexts[key] = context
                return key
        return None

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the next foci of a chunk, by evolution."""
        if key not in self._contexts:
            len(self.keys)  # determines all
        context, accepted = self._contexts[key], any(attempt.accepted for attempt in past)
        if (self._once and accepted) or any(attempt.exhausted for attempt in past):
            return {}
        simplest = self._evolutions[0]
        asked_simply = any(attempt.wanted == simplest and not attempt.postponed for attempt in past)
        deferred = round_ < KEPT_ROUNDS and self._kind_plan.is_deferred(context)
        if deferred or (round_ == 1 and (accepted or asked_simply)):
            return {}
        evolutions = self._evolutions if not past or simplest != "simple" else (simplest,)
        if round_ >= _EASY_ROUNDS and not (self._only_easy and context.parsed):
            return {evolution: (context.with_foci(),) for evolution in evolutions}
        offers: dict[str, tuple[Context, ...]] = {}
        for evolution in evolutions:
            if by_kind := self._unused(context, evolution, past):
                foci = by_kind[0] if evolution == "simple" and not past else list(chain(*by_kind))
                offers[evolution] = (context.with_foci(*foci[: self._size]),)
        return offers

    def _unused(self, context: Context, evolution: str, past: Sequence[Past]) -> list[list[Focus]]:
        """Return, by kind, the easy foci for an evolution that were neither tried with it nor gave a sample."""
        done = [one for one in past if one.accepted or (one.wanted == evolution and not one.postponed)]
        used = [focus for attempt in done for focus in attempt.foci]
        foci = [context.foci[index] for index in _evolvable(context, evolution)]
        return self._kind_plan.by_kind(context, [focus for focus in foci if focus.easy and focus not in used])


def _evolvable(context: Context, evolution: str) -> tuple[int, ...]:
    """Return the indexes of the foci that an evolution can use; any simple question can be reworded."""
    return context.evolvable.get("simple" if EVOLUTIONS[evolution].rewords else evolution, ())
