"""Step ``reword``: writes a question in another style; rules refuse wordings that ask for something else."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from programs.features import lost_words
from programs.languages.base import Language
from programs.steps.base import Step
from programs.text import CAPITALISED, numbers, tokens
from signatures.reword import RewordQuestion

STEP = Step("reword", RewordQuestion, limits={"max_tokens": 120, "stop": ["\n"], "temperature": 0.0})

PERSONA = "{persona}"
_GIVEN = 0.5  # share of the answer's content words that a wording may not add
_COMMON = 0.1  # share of the queries of a user whose words belong to their style
_SENTENCE_START = ".!?:"


@dataclass(frozen=True)
class Style:
    """How a question is reworded.

    Attributes:
        text: the instruction for the model; ``{persona}`` stands for a person.
        words: the fewest and the most words of the wording.
        is_question: whether it must be a full question, which the critic judges again.
        shows_examples: whether the model is shown queries of the user as examples.
    """

    text: str
    words: tuple[int, int]
    is_question: bool = True
    shows_examples: bool = False

    @property
    def has_persona(self) -> bool:
        """Return whether the question is worded as a person would ask it."""
        return PERSONA in self.text


def wording_fault(
    style: Style,
    language: Language,
    question: str,
    wording: str,
    answer: str,
    *,
    topic: str,
    passage: str,
    persona: str = "",
) -> str | None:
    """Return why simple checks refuse the wording of a question; None if they accept it.

    Args:
        style: the style that was asked for.
        language: the language of the question.
        question: the question as it was.
        wording: the question as it was reworded.
        answer: its answer.
        topic: title and headings of its passage.
        passage: the passage; the wording may use its names, but not its numbers.
        persona: the person who asks.
    """
    words, (fewest, most) = len(wording.split()), style.words
    if question.rstrip(" ?") == wording.rstrip(" ?") or (style.is_question and tokens(question) == tokens(wording)):
        return "it is no other wording"
    if not fewest <= words <= most:
        return f"{words} words, {fewest} to {most} are wanted"
    if style.is_question and not wording.endswith("?"):
        return "it is no question"
    before, after, own = (numbers(language.in_digits(text)) for text in (question, wording, persona))
    if changed := sorted((before - after) | (after - before - own)):
        return f"it changes numbers: {', '.join(changed)}"
    stems = set(language.content_words(wording))
    names = _names(question, language) - set(language.content_words(language.asking_words(question)))
    if language.capitalises_nouns:
        names &= set(language.content_words(topic))
    if lost := sorted(names - stems - _parts(wording, language)):
        return f"it lost names: {', '.join(lost)}"
    allowed = set(language.content_words(f"{question} {topic} {passage} {persona}"))
    new = [] if language.capitalises_nouns else sorted(_names(wording, language) - allowed)
    if new := [name for name in new if not _parts(name, language) <= allowed]:
        return f"it has names from elsewhere: {', '.join(new)}"
    if style.is_question and (stated := _statements(question, wording, language)):
        return f"it states what the question does not say: {stated[0]!r:.80}"
    if lost := lost_words(question, wording, language):
        return f"it lost what the question asks: {', '.join(lost)}"
    wanted = set(language.content_words(answer))
    if len(stems.intersection(wanted).difference(language.content_words(question))) > _GIVEN * len(wanted):
        return f"it gives its answer away: {answer!r}"
    return None


def copied_words(
    language: Language, wording: str, examples: Sequence[str], queries: Sequence[str], known: str
) -> list[str]:
    """Return the words that a wording took from its examples and that are not in the known texts.

    Words of at least two queries and a tenth of all of them belong to the style of the user ("pls"), except numbers; so
    do question words and function words in any spelling ("whats").
    """
    shown = set(language.content_words(" ".join(examples)))
    copied = shown.intersection(language.content_words(wording)).difference(language.content_words(known))
    copied -= language.question_words | language.stop_words
    if not copied:
        return []
    count = Counter(word for query in queries for word in copied.intersection(language.content_words(query)))
    most = max(2.0, _COMMON * len(queries))
    return sorted(word for word in copied if word.isdigit() or count[word] < most)


def _statements(question: str, wording: str, language: Language) -> list[str]:
    """Return the sentences before the question that begin with its subject: they are about that, not about who asks."""
    subject, found = set(language.content_words(question)), []
    for sentence in language.sentences(wording)[:-1]:
        words = language.content_words(sentence)
        if words and words[0] in subject and language.address.search(sentence) is None:
            found.append(sentence)
    return found


def _parts(text: str, language: Language) -> set[str]:
    """Return the stems of the parts of hyphenated words: "non-Microsoft" contains "Microsoft"."""
    return set(language.content_words(text.replace("-", " ")))


def _names(text: str, language: Language) -> set[str]:
    """Return the stems of the capitalised words that do not begin a sentence."""
    found: set[str] = set()
    for match in CAPITALISED.finditer(text):
        before = text[: match.start()].rstrip(" \"'“„«¿¡(")
        if before and before[-1] not in _SENTENCE_START:
            found.update(language.content_words(re.split("['’]", match.group())[0]))
    return found
