"""Stage ``sound``: whether question and answer are right for their sentence, where a model was taught to decide it."""

import dspy

from programs.deciding import Decision
from programs.languages.table import Languages
from programs.steps.pair import shown
from programs.steps.sound import SOUND, SOUND_ALONE, together
from programs.tools import Tools
from programs.trail import Trail
from programs.types import Context, Focus


class Sound(dspy.Module):
    """Let the taught critic decide; without one every question passes."""

    def __init__(self, tools: Tools) -> None:
        """Build the critic."""
        super().__init__()
        self.tools = tools
        self.sound = tools.predictor("sound")

    def forward(self, trail: Trail, number: int, focus: Focus, question: str, judged: Decision | None = None) -> bool:
        """Return whether a question and the answer of its focus are sound; keep the question if they are not.

        What was decided on the question before counts as much as what is decided now.
        """
        if "sound" not in self.tools.critics:
            return True
        asked = shown_about(focus, trail.contexts[0], self.tools.languages)
        found = self.tools.decide("sound", self.sound, **asked, question=question, answer=focus.answer)
        probability = together(found.probability, judged.probability) if judged else found.probability
        good = probability >= (SOUND if judged else SOUND_ALONE)
        trail.record("sound", number, {"question": question}, probability=probability, good=good)
        if not good:
            trail.refuse("sound", "question and answer are not sound", probability=probability, question=question)
        return good


def shown_about(focus: Focus, context: Context, languages: Languages) -> dict[str, str]:
    """Return what taught steps are shown of a focus: its fact, with the topic and what the passage says before."""
    sentences = languages[context.language].sentences(context.passage)
    before = sentences[: sentences.index(focus.sentence)] if focus.sentence in sentences else []
    return shown(context.topic, before, focus.fact)
