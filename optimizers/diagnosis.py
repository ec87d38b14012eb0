"""Why a question was refused: the rule that it broke and the words that broke it."""

import re

from programs.deciding import Decision
from programs.evidence import question_features
from programs.languages.table import Languages
from programs.text import NUMBER, numbers

_GENERAL = {
    "independent": "A reader without the passage cannot tell what it is about: name the subject.",
    "clear": "It is not one clear, well-formed question.",
    "answerable": "The passage does not answer it.",
}


def diagnose(question: str, passage: str, decision: Decision, languages: Languages) -> list[str]:
    """Return sentences that say what is wrong with a question, the critic's own objection last; none if it is good."""
    if decision.good:
        return []
    language, asked_in = languages.of(passage), languages.of(question)
    features = question_features(question, passage, language, asked_in)
    faults = []
    if reference := language.context_reference.search(question) or asked_in.context_reference.search(question):
        faults.append(f"It points at the text: {reference.group()!r}.")
    if language.loose_pronouns(question):
        faults.append("It has a pronoun without a name.")
    if features["generic"]:
        faults.append("It names nothing that tells it from other questions.")
    if features["ungrammatical"]:
        faults.append("Its verb is not well formed.")
    if features["several"]:
        faults.append("It asks more than one thing.")
    if features["question_word_late"] and not features["opens_with_question_word"]:
        faults.append(f"It does not open with a question word: {' '.join(question.split()[:4])!r}.")
    if features["other_language"]:
        faults.append("It is not in the language of the passage.")
    if absent := numbers(question) - numbers(passage):
        faults.append(f"The passage does not have the numbers {', '.join(sorted(absent))}.")
    stated = set(language.content_words(passage))
    foreign = [
        word
        for word in dict.fromkeys(re.findall(r"[^\W\d_][\w’'-]+", question))
        if not NUMBER.match(word) and not set(language.content_words(word)) <= stated
    ]
    if len(foreign) > 2:
        faults.append(f"The passage does not speak of {', '.join(foreign)}.")
    return [*faults, _GENERAL[decision.weakest]] if decision.weakest in _GENERAL else faults
