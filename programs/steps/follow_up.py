"""Step ``follow_up``: asks the second question of a conversation."""

from programs.languages.base import Language
from programs.steps.base import Step
from signatures.follow_up import AskFollowUp

STEP = Step("follow_up", AskFollowUp, limits={"max_tokens": 280, "temperature": 0.0})


def refers_back(follow_up: str, question: str, first_turn: str, language: Language) -> bool:
    """Return whether a stand-alone question has content words of the first turn that the follow-up leaves out."""
    words = language.content_words
    return bool((set(words(question)) - set(words(follow_up))) & set(words(first_turn)))
