"""How kinds of people ask: in which manners, at what length, and how many words they share with
what answers them.

Whoever has read a passage words the question in its words, and a set of such questions prefers
systems that match words. The medians of the lengths are those of public sets of real questions:
employees and citizens who search (9 words), consumers who write to a health library (21), and posts
in support forums (46). These share 0.70, 0.40 and 0.40 of their words with what answers them; but a
question that was made from one passage shares rarer words than one that many passages bear on, and
of the shares tried, 0.4 ranks searches as the real questions do for all of them. The manners are
what people are known to do who ask, and their shares a guess: none was counted.
"""

import math
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

_SENTENCE = re.compile(r"[.!?。？！](?:\s|$)")
_MARK = re.compile(r"[?？؟]")
_PUNCTUATION = re.compile(r"[.,;:!?。，？！؟]")
_SHARED_SPREAD = 0.2  # standard deviation of the share of words, about that of the public sets
_SPREAD, _WIDEST = 0.3, 0.5  # of the logarithm of the number of words, within a manner
_LEAST, _MOST = 0.2, 0.9  # share of words; beyond, questions become riddles or quotations
_FEW, _LEAST_OF_FEW = 8, 0.5  # a message of fewer words becomes a riddle sooner
_SHORTEST, _LONGEST = 4, 100  # words of a question
_SHORTENED = 3  # a message has a third of the reader's words or more: their conditions take room
_SHOWN = 5  # queries of the user's own in a prompt

# Of an instruction for a writer: its words, and how many of ten are shared.
WANTED = re.compile(r"(\d+) (?:words|in 10)")


class Wording(NamedTuple):
    """What one question should be like."""

    words: int
    manner: str
    shared: float  # of its content words, the share that the passage has
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the instruction for a writer."""
        tenths = round(10 * self.shared)
        return (
            f"about {self.words} words, {self.manner}, {tenths} in 10 of its nouns, verbs and"
            " adjectives are those of the documents"
        )


class Manner(NamedTuple):
    """A manner in which some people of a kind ask."""

    share: float  # of their messages
    words: int  # the median of a message
    text: str  # what a writer is told


class Users(NamedTuple):
    """How a kind of people asks."""

    manners: Sequence[Manner]
    shared: float = 0.4  # the median share of content words that the writer is told to share
    queries: tuple[str, ...] = ()  # of the user's own

    def drawn(self, question: str) -> Wording:
        """Return how a reader's question is put, always the same for a question.

        Length and manner are drawn together, so that neither contradicts the other.
        """
        draw = Random(question)
        [manner] = draw.choices(self.manners, [each.share for each in self.manners])
        spread = min(_WIDEST, max(-_WIDEST, draw.gauss(0, _SPREAD)))
        fewest = max(_SHORTEST, len(question.split()) // _SHORTENED)
        words = min(_LONGEST, max(fewest, round(manner.words * math.exp(spread))))
        least = _LEAST if words >= _FEW else _LEAST_OF_FEW
        shared = min(_MOST, max(least, draw.gauss(self.shared, _SHARED_SPREAD)))
        examples = draw.sample(self.queries, min(_SHOWN, len(self.queries)))
        return Wording(words, manner.text, shared, tuple(examples))


READER, STAFF = "reader", "staff"
USERS: Mapping[str, Users] = {
    STAFF: Users(
        (
            Manner(0.35, 9, "a plain question, nothing of the situation told"),
            Manner(0.15, 5, "words for a search box, no sentence, no punctuation"),
            Manner(0.12, 8, "a question in small letters without a question mark"),
            Manner(0.12, 7, "a question in note form, small words left out"),
            Manner(0.12, 14, "the case in half a sentence, then the question"),
            Manner(0.08, 10, "a question typed in haste, a name shortened, a slip of the keyboard"),
            Manner(0.06, 20, "a greeting, two sentences to a colleague, the second one asks"),
        )
    ),
    "consumers": Users(
        (
            Manner(0.25, 13, "a plain question, nothing of the situation told"),
            Manner(0.2, 26, "first the own case, then the question"),
            Manner(0.15, 20, "one sentence with the case and the question in it"),
            Manner(0.12, 18, "small letters, hardly a comma, words running on"),
            Manner(0.1, 30, "worried, with a detail that does not matter, then the question"),
            Manner(0.1, 24, "a greeting, the question, thanks"),
            Manner(0.08, 22, "asks the same twice, the second time in other words"),
        )
    ),
    "forum": Users(
        (
            Manner(0.2, 50, "what was done, what happened, then the question"),
            Manner(0.18, 50, "what was tried to no avail, then what is wanted, no question mark"),
            Manner(0.15, 45, "a subject line in note form, then two or three sentences"),
            Manner(0.15, 55, "what a screen, log or letter says copied in, then the question"),
            Manner(0.12, 65, "a greeting, something beside the point, the question in the middle"),
            Manner(0.1, 22, "impatient, one or two sentences"),
            Manner(0.1, 35, "small letters, slips of the keyboard, no punctuation"),
        )
    ),
}


def measured(queries: Sequence[str]) -> Users:
    """Return how the people ask who wrote some queries: each is as likely as another to be
    followed.

    How many words these share with what answers them is unknown; the share of the other rows is
    taken.
    """
    return Users(
        [Manner(1, len(each.split()), _told(each)) for each in queries], queries=tuple(queries)
    )


def _told(query: str) -> str:
    """Return the manner of a query in words."""
    told = {
        "in several sentences": len(_SENTENCE.findall(query)) > 1,
        "no question mark": not _MARK.search(query),
        "no punctuation": not _PUNCTUATION.search(query),
        "in small letters": query == query.lower() != query.upper(),
    }
    return ", ".join([text for text, holds in told.items() if holds]) or "a sentence that asks"
