"""Recipe ``roundtrip``: a benchmark of retrievers with one question about each chunk.

    question → judge, the best of several → panel → search → draft

No question is refused for its rank, because the ranks are the result.
"""

from collections.abc import Mapping, Sequence

import dspy
from pydantic import Field

from programs.modes import MODES
from programs.modes.base import AskOptions
from programs.recipes.base import Agenda, Material, Options, Past, Recipe
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.panel import Panel
from programs.stages.round_trip import RoundTrip
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Context, Draft, Observer, Outcome

SIMPLE = "simple"
_ROUNDS = 3
_MIN_WORDS = 3


class RoundTripOptions(Options):
    """The options of ``roundtrip``."""

    candidates: int = Field(default=2, ge=1, le=100, description="Questions per attempt; the best is kept.")
    longer_than: int = Field(default=100, ge=0, description="Ask about chunks longer than this, in characters.")


class RoundTripQuestions(dspy.Module):
    """Ask one question about a chunk, without judging the chunk, and record its rank."""

    def __init__(self, tools: Tools, options: RoundTripOptions) -> None:
        """Compose the stages."""
        super().__init__()
        judging = JudgeAndRewrite(tools)
        self.ask = MODES[tools.mode].asker(tools, judging, AskOptions(options.candidates))
        self.candidates = options.candidates
        self.panel = Panel(tools)
        self.round_trip = RoundTrip(tools, judging, max_rank=0)

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Run one attempt."""
        trail = Trail(attempt, observer)
        context, exhausted = attempt.contexts[0], False
        foci = context.foci
        if not foci:
            foci, exhausted = self.ask.look_for_foci(trail, lambda focus: True)
        # Every chunk should get a question: the last attempt accepts a refused one, and foci are used again if no
        # others are left.
        foci = foci or attempt.used_foci[: self.candidates]
        last = exhausted or attempt.round == _ROUNDS - 1
        best = next((one for one in self.ask(trail, foci) if _is_question(one) and (last or one.decision.good)), None)
        used_foci = trail.new_foci or foci
        if best is None:
            if foci:
                trail.refuse("judge", "none of the questions is good")
            return trail.outcome(used_foci=used_foci, exhausted=exhausted)
        approval = self.panel(trail, best, best.focus.answer)
        if approval is None:
            return trail.outcome(used_foci=used_foci, exhausted=exhausted)
        result = self.round_trip(trail, best)
        draft = Draft(
            question=best.question,
            answer=best.focus.answer,
            evolution=SIMPLE,
            contexts=(context.chunk,),
            relevant=result.relevant,
            retrieval=result.retrieval,
            probability=round(min(best.decision.probability, approval), 4),
            trail=trail.records_of(best.number),
            metadata={"focus": best.focus.sentence, "source_rank": best.retrieval.rank},
        )
        return trail.outcome(draft, used_foci=used_foci, exhausted=exhausted)


def _is_question(judged: Judged) -> bool:
    return judged.question.endswith("?") and len(judged.question.split()) >= _MIN_WORDS


class OncePerChunk:
    """Offers every long chunk until it has a question."""

    def __init__(self, contexts: Sequence[Context], size: int, longer_than: int) -> None:
        """Build the agenda.

        Args:
            contexts: the chunks.
            size: foci per attempt.
            longer_than: only chunks with more characters are used.
        """
        long = [context for context in contexts if len(context.passage) > longer_than]
        self._contexts = {context.chunk.chunk_id: context for context in long}
        self._size = size
        self.keys = tuple(self._contexts)
        self.rounds = _ROUNDS
        self.counts: Mapping[str, int] = {"chunks": len(contexts), "long enough": len(long)}

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the next foci of a chunk; none if the program has to look for some."""
        if any(attempt.accepted or attempt.exhausted for attempt in past):
            return {}
        context = self._contexts[key]
        used = [focus for attempt in past for focus in attempt.foci]
        unused = [focus for focus in context.foci if focus not in used]
        return {SIMPLE: (context.with_foci(*unused[: self._size]),)}


def _shares(size: int, options: RoundTripOptions) -> Mapping[str, int]:
    return {SIMPLE: size}


def _agenda(material: Material, options: RoundTripOptions, size: int) -> Agenda:
    contexts = material.contexts
    if material.mode.writes_freely:  # the program chooses the kinds of question
        contexts = [context.model_copy(update={"foci": ()}) for context in contexts]
    return OncePerChunk(contexts, options.candidates, options.longer_than)


RECIPE = Recipe(
    name="roundtrip",
    about="One question about every chunk, to benchmark retrievers.",
    options=RoundTripOptions,
    program=RoundTripQuestions,
    shares=_shares,
    agenda=_agenda,
    size=None,
    min_length=100,
)
