"""Mode ``guided``: syntax chooses a fact, its answer and how the question begins; the model writes the rest."""

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
    """Ask a question about each focus; look for foci where none was chosen ahead."""

    def __init__(
        self, tools: Tools, judging: JudgeAndRewrite, asking: AskOptions, *, pairs: bool | None = None
    ) -> None:
        """Take at most as many of the foci that are looked for as there are to be candidates.

        ``pairs`` says whether these are sentences that ``pair`` asks about; by default where that was compiled.
        """
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
        """Return the judged questions about foci, the best first; where none is good, the best was rewritten."""
        judged: list[Judged] = []
        for number, focus in enumerate(foci):
            if focus.answer:
                judged.append(self._about(trail, number, focus))
            elif paired := self._paired(trail, number, focus):
                judged.append(paired)
        rewritable = [each for each in judged if foci[each.number].answer]
        if rewritable and not any(each.decision.good for each in judged):
            best = max(rewritable, key=lambda each: each.decision.probability)
            judged[judged.index(best)] = self.judging.rewrite_refused(trail, best)
        return sorted(
            judged,
            key=lambda each: (
                not each.decision.good,
                -each.decision.probability,
                each.retrieval.rank or 10**6,
                each.number,
            ),
        )

    def good(self, trail: Trail, foci: tuple[Focus, ...]) -> Iterable[Judged]:
        """Yield the good questions about foci, the best first, and refuse the others."""
        judged = self(trail, foci)
        for each in judged:
            self.judging.refuse(trail, each)
        for each in judged:
            if each.decision.good and self._sound(trail, each, foci[each.number]):
                yield each

    def _sound(self, trail: Trail, judged: Judged, asked: Focus) -> bool:
        """Return whether a question is sound; one about an open focus was checked when it was drawn."""
        return not asked.answer or self.sound(trail, judged.number, judged.focus, judged.question, judged.decision)

    def _about(self, trail: Trail, number: int, focus: Focus) -> Judged:
        """Write the question whose answer is that of a focus."""
        asked = {"topic": trail.contexts[0].topic, "fact": focus.fact, "answer": focus.answer}
        written = self.tools.write("question", self.question, trail.language, **asked, opening=focus.opening)
        question = seed_question(written.question, focus, self.tools.languages[trail.language])
        trail.record("question", number, {"question": question, **focus.model_dump()})
        judged: Judged = self.judging(trail, number, focus, question)
        return judged

    def _paired(self, trail: Trail, number: int, focus: Focus) -> Judged | None:
        """Write question and answer about an open focus, None if none passes."""
        paired = self.pair(trail, number, focus)
        if paired is None:
            return None
        judged: Judged = self.judging(trail, number, *paired)
        return judged

    def look_for_foci(self, trail: Trail, wanted: Callable[[Focus], bool]) -> tuple[tuple[Focus, ...], bool]:
        """Return wanted foci that were not asked about yet, and whether none at all is left then.

        Where the step ``pair`` was compiled these are sentences; else key phrases of the model say what to ask for.
        """
        found = self._open(trail) if self.pairs else self._named(trail)
        left = [focus for focus in found if wanted(focus)]
        if not left:
            trail.refuse("pair" if self.pairs else "keyphrases", NOTHING_TO_ASK)
        taken = tuple(left[: self.candidates])
        return taken, len(taken) == len(found)

    def _open(self, trail: Trail) -> list[Focus]:
        context, before = trail.contexts[0], {focus.sentence for focus in trail.attempt.asked}
        found = open_foci(context.passage, context.topic, context.language, self.tools.languages)
        return [focus for focus in found if focus.sentence not in before]

    def _named(self, trail: Trail) -> list[Focus]:
        context = trail.contexts[0]
        asked = {"topic": context.topic, "passage": context.passage}
        phrases = self.tools.write("keyphrases", self.keyphrases, trail.language, **asked).keyphrases
        kept = [phrase for phrase in phrases if phrase in context.passage]
        found = foci_of(context.passage, context.topic, context.language, self.tools.languages, kept)
        trail.record("keyphrases", 0, {"keyphrases": kept, "dropped": len(phrases) - len(kept), "foci": len(found)})
        before = {(focus.sentence, focus.answer) for focus in trail.attempt.asked}
        return [focus for focus in found if (focus.sentence, focus.answer) not in before]


def by_syntax(tools: Tools, evolution: Evolution, asking: AskOptions) -> BySyntax:
    """Return what evolves a question by the syntax of its sentence."""
    del asking
    if evolution.by_syntax is None:
        raise ValueError(f"syntax gives no words for {evolution.name}")
    return evolution.by_syntax(tools)


MODE = Mode(
    name="guided",
    about="Syntax chooses a fact and how the question begins; the model writes the rest.",
    steps=("question", "keyphrases", "pair"),
    asker=Ask,
    answering=Answer,
    evolving=by_syntax,
    kinds=dict.fromkeys(KINDS, 1.0),
    carries=lambda evolution: evolution.by_syntax is not None or evolution.restyle is not None,
    mix={"simple": 1},
    critic="head",
    needs_syntax=True,
)
