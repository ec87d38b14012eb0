"""Simple checks of a question that a model wrote with its answer and evidence."""

from programs.languages.base import Language
from programs.quotes import find_quotes
from programs.steps.question import tidy_question
from programs.text import has_words, tokens
from programs.types import Focus

_SHORT_ANSWER = 2  # words; so short an answer may occur in its question by chance


def check_written(
    language: Language, passage: str, question: str, answer: str, evidence: str, kind: str
) -> tuple[Focus, str | None]:
    """Return the focus of a written question, and why simple checks refuse it (None if they accept it).

    The question may contain its answer if it offers several ("Which is older, the weir or the mill?").
    """
    question, answer = tidy_question(question), " ".join(answer.split())
    quotes = find_quotes(passage, evidence)
    focus = Focus(sentence=" ".join(quotes or ()), answer=answer, kind=kind, wording=question)
    if not question or not answer:
        return focus, "no question with an answer was written"
    if quotes is None:
        return focus, f"its evidence is not in the passage: {evidence!r:.80}"
    offered = language.offers_alternatives(question)
    if len(tokens(answer)) > _SHORT_ANSWER and has_words(question, answer) and not offered:
        return focus, f"it gives its answer away: {answer!r}"
    return focus, None
