"""Stage ``sound``: a fine-tuned critic decides whether question and answer are right for their sentence."""

import dspy

from programs.deciding import Decision
from programs.languages.table import Languages
from programs.steps.pair import inputs_of
from programs.steps.sound import NEW_PAIR_THRESHOLD, THRESHOLD, combine
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus


class Sound(dspy.Module):
    """Let the fine-tuned critic decide; without one, every question passes."""

    def __init__(self, tools: Tools) -> None:
        super().__init__()
        self.tools = tools
        self.sound = tools.predictor("sound")

    def forward(self, trail: Trail, number: int, focus: Focus, question: str, judged: Decision | None = None) -> bool:
        """Return whether a question and the answer of its focus are sound; record a reject if they are not.

        ``judged`` is the decision of the step ``judge``; it has the same weight as the one of ``sound``.
        """
        if "sound" not in self.tools.critics:
            return True
        inputs = pair_inputs(focus, trail.contexts[0], self.tools.languages)
        decision = self.tools.decide("sound", self.sound, **inputs, question=question, answer=focus.answer)
        probability = combine(decision.probability, judged.probability) if judged else decision.probability
        good = probability >= (THRESHOLD if judged else NEW_PAIR_THRESHOLD)
        trail.record("sound", number, {"question": question}, probability=probability, good=good)
        if not good:
            trail.refuse("sound", "question and answer are not sound", probability=probability, question=question)
        return good


def pair_inputs(focus: Focus, context: Context, languages: Languages) -> dict[str, str]:
    """Return the inputs of the steps ``pair`` and ``sound`` for a focus."""
    sentences = languages[context.language].sentences(context.passage)
    before = sentences[: sentences.index(focus.sentence)] if focus.sentence in sentences else []
    return inputs_of(context.topic, before, focus.fact)
