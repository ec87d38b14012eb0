"""Why a reviewer refuses an item: the reasons of labels, each with its key and its words."""

from typing import NamedTuple

from groundset.store.items import Entry

SIGN_KEY = "1"


class Reason(NamedTuple):
    """Why something is bad.

    Attributes:
        key: the key that refuses for this reason.
        name: what labels call it; see :mod:`programs.reasons`.
        words: what the button says.
        meaning: when to use it, in one sentence.
    """

    key: str
    name: str
    words: str
    meaning: str


_QUESTION = (
    ("context_reference", "points at the passage", "The question speaks of “the text”, or of what only it shows."),
    ("vague", "vague", "Without the passage, it is not clear who or what is meant."),
    ("unanswerable", "not answered here", "The passage does not answer the question."),
    ("wrong_premise", "wrong premise", "The question takes for granted what the passage does not say."),
    ("malformed", "badly formed", "It is no well-formed question in its language."),
    ("conjoined", "two in one", "It asks several things at once."),
    ("incomplete", "answer incomplete", "The question is good; the answer leaves out what it asks for."),
    ("unsupported", "answer wrong", "The question is good; the passage does not support the answer."),
)
_PASSAGE = (
    ("citation", "references", "References or citations rather than text."),
    ("metadata", "metadata", "Names, dates and numbers of the document itself."),
    ("boilerplate", "boilerplate", "Navigation, legal notices and the like."),
    ("not_self_contained", "not self-contained", "A stranger cannot tell what it speaks of."),
    ("too_thin", "too thin", "It holds no fact to ask about."),
)


def _keyed(rows: tuple[tuple[str, str, str], ...]) -> tuple[Reason, ...]:
    return tuple(Reason(str(key), *row) for key, row in enumerate(rows, int(SIGN_KEY) + 1))


OF_QUESTIONS, OF_PASSAGES = _keyed(_QUESTION), _keyed(_PASSAGE)
# Rejects have no answer that anybody is asked to sign.
_OF_REJECTED_QUESTIONS = OF_QUESTIONS[:6]
WORDS = {reason.name: reason.words for reason in (*OF_QUESTIONS, *OF_PASSAGES)}


def reasons_for(entry: Entry) -> tuple[Reason, ...]:
    """Return the reasons to refuse an item: a sample, a refused question or a passage that was passed over."""
    if not entry.question:
        return OF_PASSAGES
    return OF_QUESTIONS if entry.kind == "sample" else _OF_REJECTED_QUESTIONS
