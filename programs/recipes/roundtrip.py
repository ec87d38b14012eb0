"""Recipe ``roundtrip``, the retriever's benchmark: one question about each chunk, searched for again.

    question → judge, the best of several → search → draft

Nothing is refused for its rank: where a question finds its chunk is what is measured.
"""

from collections.abc import Mapping, Sequence

import dspy
from pydantic import Field

from programs.modes import MODES
from programs.modes.base import AskOptions
from programs.recipes.base import Agenda, Material, Options, Past, Recipe
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.round_trip import RoundTrip
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Attempt, Context, Draft, Observer, Outcome

SIMPLE = "simple"
_ROUNDS = 3
_FEWEST_WORDS = 3


class RoundTripOptions(Options):
    """The options of ``roundtrip``."""

    candidates: int = Field(default=2, ge=1, le=100, description="Questions drawn for each attempt; the best is kept.")
    longer_than: int = Field(default=100, ge=0, description="Ask about chunks longer than this, in characters.")


class RoundTripQuestions(dspy.Module):
    """Ask one question about a chunk, whatever the critic thinks of the chunk, and search for it."""

    def __init__(self, tools: Tools, options: RoundTripOptions) -> None:
        """Compose the stages."""
        super().__init__()
        judging = JudgeAndRewrite(tools)
        self.ask = MODES[tools.mode].asker(tools, judging, AskOptions(options.candidates))
        self.candidates = options.candidates
        self.round_trip = RoundTrip(tools, judging, max_rank=0)

    def forward(self, *, attempt: Attempt, observer: Observer) -> Outcome:
        """Ask and search."""
        trail = Trail(attempt, observer)
        context, exhausted = attempt.contexts[0], False
        foci = context.foci
        if not foci:
            foci, exhausted = self.ask.look_for_foci(trail, lambda focus: True)
        # Every chunk is to have a question: what the critic refuses twice is better than none, so what was asked
        # before is asked again where nothing else is found.
        foci = foci or attempt.asked[: self.candidates]
        last = exhausted or attempt.round == _ROUNDS - 1
        best = next(
            (each for each in self.ask(trail, foci) if _is_question(each) and (last or each.decision.good)), None
        )
        if best is None:
            if foci:
                trail.refuse("judge", "none of the questions is good")
            return trail.outcome(asked=trail.written or foci, exhausted=exhausted)
        found = self.round_trip(trail, best)
        draft = Draft(
            question=best.question,
            answer=best.focus.answer,
            evolution=SIMPLE,
            contexts=(context.chunk,),
            relevant=found.relevant,
            retrieval=found.retrieval,
            probability=round(best.decision.probability, 4),
            trail=trail.records_of(best.number),
            metadata={"focus": best.focus.sentence, "source_rank": best.retrieval.rank},
        )
        return trail.outcome(draft, asked=trail.written or foci, exhausted=exhausted)


def _is_question(judged: Judged) -> bool:
    return judged.question.endswith("?") and len(judged.question.split()) >= _FEWEST_WORDS


class EachOnce:
    """Asks about every chunk until it has given a question, what is easy first."""

    def __init__(self, contexts: Sequence[Context], size: int, longer_than: int) -> None:
        """Ask about chunks of more than so many characters, ``size`` foci at a time."""
        long = [context for context in contexts if len(context.passage) > longer_than]
        self._contexts = {context.chunk.chunk_id: context for context in long}
        self._size = size
        self.keys = tuple(self._contexts)
        self.rounds = _ROUNDS
        self.counts: Mapping[str, int] = {"chunks": len(contexts), "long enough": len(long)}

    def offers(self, key: str, round_: int, past: Sequence[Past]) -> Mapping[str, tuple[Context, ...]]:
        """Return the next foci of a chunk; none where the program has to look for some."""
        if any(each.accepted or each.exhausted for each in past):
            return {}
        context = self._contexts[key]
        asked = [focus for each in past for focus in each.foci]
        left = tuple(focus for focus in context.foci if focus not in asked)
        return {SIMPLE: (context.model_copy(update={"foci": left[: self._size], "grows": {}}),)}


def _shares(size: int, options: RoundTripOptions) -> Mapping[str, int]:
    return {SIMPLE: size}


def _agenda(material: Material, options: RoundTripOptions, size: int) -> Agenda:
    contexts = material.contexts
    if material.mode.writes_freely:  # the program says what to ask for
        contexts = [context.model_copy(update={"foci": ()}) for context in contexts]
    return EachOnce(contexts, options.candidates, options.longer_than)


RECIPE = Recipe(
    name="roundtrip",
    about="One question about every chunk, searched for again: a benchmark of retrievers.",
    options=RoundTripOptions,
    program=RoundTripQuestions,
    shares=_shares,
    agenda=_agenda,
    size=None,
    min_length=100,
)
