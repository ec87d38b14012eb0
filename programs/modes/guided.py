"""Mode ``guided``: the parser chooses a fact, its answer and the beginning of the question; the model completes it."""

from collections.abc import Callable, Iterable

import dspy

from programs.evolutions.base import BySyntax, Evolution
from programs.features import KINDS
from programs.focus import foci_of, open_foci
from programs.modes.base import AskOptions, Mode
from programs.stages.answer import Answer
from programs.stages.judge_and_rewrite import JudgeAndRewrite, Judged
from programs.stages.pair import Pair
from programs.stages.sound import Sound
from programs.steps.question import seed_question
from programs.tools import Tools
from programs.trail import NOTHING_TO_ASK, Trail
from programs.types import Focus


class Ask(dspy.Module):
    """Ask a question about each focus; look for foci where an attempt has none."""

    def __init__(
        self, tools: Tools, judging: JudgeAndRewrite, asking: AskOptions, *, pairs: bool | None = None
    ) -> None:
        """Compose the stages; with ``pairs``, foci are sentences for the step ``pair`` (default: if it is compiled)."""
        super().__init__()
        self.tools = tools
        self.candidates = asking.candidates
        self.pairs = "pair" in tools.states if pairs is None else pairs
        self.keyphrases = tools.predictor("keyphrases")
        self.question = tools.predictor("question")
        self.pair = Pair(tools)
        self.sound = Sound(tools)
        self.judging = judging

    def forward(self, trail: Trail, foci: tuple[Focus, ...]) -> list[Judged]:
        """Return the judged questions about foci, the best first; if none is good, the best one is rewritten."""
        judged: list[Judged] = []
        for number, focus in enumerate(foci):
            if focus.answer:
                judged.append(self._ask(trail, number, focus))
            elif paired := self.pair(trail, number, focus):
                judged.append(self.judging(trail, number, *paired))
        rewritable = [one for one in judged if foci[one.number].answer]
        if rewritable and not any(one.decision.good for one in judged):
            best = max(rewritable, key=lambda one: one.decision.probability)
            judged[judged.index(best)] = self.judging.rewrite_refused(trail, best)

        def order(one: Judged) -> tuple[bool, float, int, int]:
            return not one.decision.good, -one.decision.probability, one.retrieval.rank or 10**6, one.number

        return sorted(judged, key=order)

    def good(self, trail: Trail, foci: tuple[Focus, ...]) -> Iterable[Judged]:
        """Yield the good questions about foci, the best first; refuse the others."""
        questions = self(trail, foci)
        for judged in questions:
            self.judging.refuse(trail, judged)
        for judged in questions:
            if not judged.decision.good:
                continue
            # Questions about open foci were checked by the stage `pair`.
            is_open = not foci[judged.number].answer
            if is_open or self.sound(trail, judged.number, judged.focus, judged.question, judged.decision):
                yield judged

    def _ask(self, trail: Trail, number: int, focus: Focus) -> Judged:
        """Write and judge the question for the answer of a focus."""
        inputs = {"topic": trail.contexts[0].topic, "fact": focus.fact, "answer": focus.answer}
        written = self.tools.write("question", self.question, trail.language, **inputs, opening=focus.opening)
        question = seed_question(written.question, focus, self.tools.languages[trail.language])
        trail.record("question", number, {"question": question, **focus.model_dump()})
        judged: Judged = self.judging(trail, number, focus, question)
        return judged

    def look_for_foci(self, trail: Trail, wanted: Callable[[Focus], bool]) -> tuple[tuple[Focus, ...], bool]:
        """Return unused foci that are wanted, and whether no other foci are left.

        With ``pairs`` these are sentences; else they are based on key phrases from the model.
        """
        found = self._open_foci(trail) if self.pairs else self._keyphrase_foci(trail)
        left = [focus for focus in found if wanted(focus)]
        if not left:
            trail.refuse("pair" if self.pairs else "keyphrases", NOTHING_TO_ASK)
        taken = tuple(left[: self.candidates])
        return taken, len(taken) == len(found)

    def _open_foci(self, trail: Trail) -> list[Focus]:
        context, used = trail.contexts[0], {focus.sentence for focus in trail.attempt.used_foci}
        found = open_foci(context.passage, context.topic, context.language, self.tools.languages)
        return [focus for focus in found if focus.sentence not in used]

    def _keyphrase_foci(self, trail: Trail) -> list[Focus]:
        context = trail.contexts[0]
        inputs = {"topic": context.topic, "passage": context.passage}
        phrases = self.tools.write("keyphrases", self.keyphrases, trail.language, **inputs).keyphrases
        kept = [phrase for phrase in phrases if phrase in context.passage]
        found = foci_of(context.passage, context.topic, context.language, self.tools.languages, kept)
        trail.record("keyphrases", 0, {"keyphrases": kept, "dropped": len(phrases) - len(kept), "foci": len(found)})
        used = {(focus.sentence, focus.answer) for focus in trail.attempt.used_foci}
        return [focus for focus in found if (focus.sentence, focus.answer) not in used]


def by_syntax(tools: Tools, evolution: Evolution, asking: AskOptions) -> BySyntax:
    """Return the evolver of an evolution by syntax."""
    del asking
    if evolution.by_syntax is None:
        raise ValueError(f"{evolution.name} has no evolver by syntax")
    return evolution.by_syntax(tools)


MODE = Mode(
    name="guided",
    about="The parser chooses a fact and begins the question; the model completes it.",
    steps=("question", "keyphrases", "pair"),
    asker=Ask,
    answer=Answer,
    evolver=by_syntax,
    kinds=dict.fromkeys(KINDS, 1.0),
    supports=lambda evolution: evolution.by_syntax is not None or evolution.rewords,
    mix={"simple": 1},
    critic="head",
    needs_syntax=True,
)
