"""Reasons for refusing an item, with their keys and labels."""

from typing import NamedTuple

from groundset.store.items import Entry

SIGN_KEY = "1"


class Reason(NamedTuple):
    """A reason for refusing an item.

    Attributes:
        key: keyboard shortcut.
        name: name in labels; see :mod:`programs.reasons`.
        words: label of the button.
        meaning: tooltip, one sentence.
    """

    key: str
    name: str
    words: str
    meaning: str


_QUESTION = (
    (
        "context_reference",
        "points at the passage",
        "The question refers to “the text”, or to something only the text shows.",
    ),
    ("vague", "vague", "Without the passage, it is unclear who or what is meant."),
    ("unanswerable", "not answered here", "The passage does not answer the question."),
    ("wrong_premise", "wrong premise", "The question assumes something the passage does not say."),
    ("malformed", "badly formed", "The question is not well formed in its language."),
    ("conjoined", "two in one", "The question asks several things at once."),
    ("incomplete", "answer incomplete", "The question is good, but the answer is incomplete."),
    ("unsupported", "answer wrong", "The question is good, but the passage does not support the answer."),
)
_PASSAGE = (
    ("citation", "references", "References or citations rather than text."),
    ("metadata", "metadata", "Names, dates and numbers of the document itself."),
    ("boilerplate", "boilerplate", "Navigation, legal notices and the like."),
    ("not_self_contained", "not self-contained", "Its subject is unclear without the rest of the document."),
    ("too_thin", "too thin", "It contains no fact to ask about."),
)


def _keyed(rows: tuple[tuple[str, str, str], ...]) -> tuple[Reason, ...]:
    return tuple(Reason(str(key), *row) for key, row in enumerate(rows, int(SIGN_KEY) + 1))


QUESTION_REASONS, PASSAGE_REASONS = _keyed(_QUESTION), _keyed(_PASSAGE)
_REJECT_REASONS = QUESTION_REASONS[:6]  # without those about the answer: answers of rejects are not reviewed
WORDS = {reason.name: reason.words for reason in (*QUESTION_REASONS, *PASSAGE_REASONS)}


def reasons_for(entry: Entry) -> tuple[Reason, ...]:
    """Return the reasons that apply to an item: a sample, a refused question or a refused passage."""
    if not entry.question:
        return PASSAGE_REASONS
    return QUESTION_REASONS if entry.kind == "sample" else _REJECT_REASONS
