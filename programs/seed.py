"""What a run makes of a seed question that was written about a focus, and of the answer that was found to it."""

from programs.answers import without_answer
from programs.evidence import answers_agree, answers_instead
from programs.focus import is_whole
from programs.steps import is_stated, tidy_question
from programs.types import Focus
from programs.words import has_words, stop_words, tokens

_MOST_ADDED = 2


def seed_question(written: str, focus: Focus) -> str:
    """Return the question of a completion; the focus's own where syntax left nothing to write but the answer."""
    question = without_answer(tidy_question(written), focus.answer)
    if is_whole(focus) and has_words(question, focus.answer):
        return f"{focus.opening}?"  # the model put back what the words of the sentence leave open
    return question


def ground_truth(question: str, found: str, focus: Focus, passage: str, language: str) -> str | None:
    """Return the answer to keep for what was found in the passage; None if it is another than the one meant."""
    meant = focus.answer
    if not is_stated(found):
        return None
    # What a thing is the sentence says outright; small models often answer with its name, which says nothing.
    if answers_agree(found, meant) or (focus.defines and has_words(question, found)):
        return _fuller(found, meant, passage, language)
    return found if answers_instead(question, found, meant, focus.sentence) else None


def _fuller(found: str, meant: str, passage: str, language: str) -> str:
    """Return the answer that was found where it only completes a name, date or amount that was meant."""
    added = tokens(found.replace(meant, " ", 1)) if meant in found and found in passage else []
    complete = 0 < len(added) <= _MOST_ADDED and not set(added) & stop_words(language)
    return found if complete else meant
