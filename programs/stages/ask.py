"""Stage ``ask``: questions about different facts of a chunk, judged, the best first."""

from collections.abc import Callable

import dspy

from programs.focus import foci_of
from programs.stages.judge_and_mend import JudgeAndMend, Judged
from programs.steps.question import STEP, seed_question, taught_inputs
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Focus


class Ask(dspy.Module):
    """Ask a question about each focus; look for foci where none was chosen ahead."""

    def __init__(self, tools: Tools, judging: JudgeAndMend, candidates: int) -> None:
        """Take at most ``candidates`` of the foci that key phrases lead to."""
        super().__init__()
        self.tools = tools
        self.candidates = candidates
        self.keyphrases = tools.predictor("keyphrases")
        self.question = tools.predictor("question")
        self.judging = judging

    def forward(self, trail: Trail, foci: tuple[Focus, ...]) -> list[Judged]:
        """Return the judged questions about foci, the best first; where none is good, the best was mended."""
        judged: list[Judged] = []
        for number, focus in enumerate(foci):
            asked = self._inputs(trail, focus)
            written = self.tools.write("question", self.question, trail.language, **asked, opening=focus.opening)
            question = seed_question(written.question, focus, self.tools.languages[trail.language])
            trail.say("question", number, {"question": question, **focus.model_dump()})
            judged.append(self.judging(trail, number, focus, question))
        if judged and not any(each.decision.good for each in judged):
            best = max(judged, key=lambda each: each.decision.probability)
            judged[judged.index(best)] = self.judging.mend(trail, best)
        return sorted(
            judged,
            key=lambda each: (
                not each.decision.good,
                -each.decision.probability,
                each.retrieval.rank or 10**6,
                each.number,
            ),
        )

    def _inputs(self, trail: Trail, focus: Focus) -> dict[str, str]:
        context = trail.contexts[0]
        if STEP.name not in self.tools.adapters:
            return {"topic": context.topic, "fact": focus.fact, "answer": focus.answer}
        sentences = self.tools.languages[trail.language].sentences(context.passage)
        return taught_inputs(context.topic, sentences[: sentences.index(focus.sentence)], focus)

    def look_for_foci(self, trail: Trail, wanted: Callable[[Focus], bool]) -> tuple[tuple[Focus, ...], bool]:
        """Return foci that were not asked about yet, with the help of key phrases, and whether none is left then."""
        context = trail.contexts[0]
        asked = {"topic": context.topic, "passage": context.passage}
        phrases = self.tools.write("keyphrases", self.keyphrases, trail.language, **asked).keyphrases
        kept = [phrase for phrase in phrases if phrase in context.passage]
        found = foci_of(context.passage, context.topic, context.language, self.tools.languages, kept)
        trail.say("keyphrases", 0, {"keyphrases": kept, "dropped": len(phrases) - len(kept), "foci": len(found)})
        before = {(focus.sentence, focus.answer) for focus in trail.attempt.asked}
        left = [focus for focus in found if (focus.sentence, focus.answer) not in before and wanted(focus)]
        if not left:
            trail.refuse("keyphrases", "no further sentence can carry a question")
        return tuple(left[: self.candidates]), len(left) <= self.candidates
