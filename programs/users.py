"""How kinds of people word their questions: how long these are, and how many words they share with
what answers them; a row each.

Whoever has read a passage words the question in its words, and a set of such questions prefers
systems that match words. The lengths below are medians of public sets of real questions: employees
and citizens who search (9 words), consumers who write to a health library (21), and posts in
support forums (46). These share 0.70, 0.40 and 0.40 of their words with what answers them; but a
question that was made from one passage shares rarer words than one that many passages bear on, and
of the shares tried, 0.40 to 0.45 ranks searches as the real questions do for all of them.
"""

import math
import re
from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean, median, pstdev
from typing import NamedTuple

_SENTENCE = re.compile(r"[.!?。？！](?:\s|$)")
_MARK = re.compile(r"[?？؟]")
_PUNCTUATION = re.compile(r"[.,;:!?。，？！؟]")
_SHARED_SPREAD = 0.2  # standard deviation of the share of words, about that of the public sets
_LEAST, _MOST = 0.2, 0.9  # share of words; beyond, questions become riddles or quotations
_SHORTEST, _LONGEST = 4, 100  # words of a question
_SHORTENED = 3  # it keeps a third of the reader's words or more: conditions take room
_SENTENCE_WORDS = 10, 30  # of a question, from which it can, and from which it must have several
_SHOWN = 5  # queries of the user's own in a prompt

# Of an instruction for a writer: its words, and how many of ten are shared.
WANTED = re.compile(r"(\d+) (?:words|in 10)")


class Wording(NamedTuple):
    """What one question should be like."""

    words: int
    shared: float  # of its content words, the share that the passage has
    several: bool  # sentences
    mark: bool  # whether it ends with a question mark
    bare: bool  # without punctuation
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the instruction for a writer."""
        parts = [f"about {self.words} words"]
        if self.several:
            parts.append("in several sentences")
        if not self.mark:
            parts.append("a search or a problem told, with no question mark")
        if self.bare:
            parts.append("typed in haste, with no punctuation")
        tenths = round(10 * self.shared)
        parts.append(
            f"{tenths} in 10 of its nouns, verbs and adjectives are those of the documents"
        )
        return ", ".join(parts)


class Users(NamedTuple):
    """How a kind of people asks."""

    words: float  # the median of a question
    spread: float  # the standard deviation of the logarithm of the number of words
    shared: float  # the median share of content words that the writer is told to share
    several: float  # share of questions with several sentences
    mark: float  # share with a question mark
    bare: float  # share without punctuation
    queries: tuple[str, ...] = ()  # of the user's own

    def drawn(self, question: str) -> Wording:
        """Return how a reader's question is worded, always the same for a question."""
        draw = Random(question)
        words = round(self.words * math.exp(draw.gauss(0, self.spread)))
        fewest = max(_SHORTEST, len(question.split()) // _SHORTENED)
        words = min(_LONGEST, max(fewest, words))
        shared = min(_MOST, max(_LEAST, draw.gauss(self.shared, _SHARED_SPREAD)))
        several, mark, bare = (
            draw.random() < share for share in (self.several, self.mark, self.bare)
        )
        can, must = _SENTENCE_WORDS
        several = words >= can and (several or words >= must) and not bare
        examples = draw.sample(self.queries, min(_SHOWN, len(self.queries)))
        return Wording(words, shared, several, mark and not bare, bare, tuple(examples))


READER, STAFF = "reader", "staff"
USERS: Mapping[str, Users] = {
    STAFF: Users(9, 0.35, 0.45, 0.05, 0.75, 0.15),
    "consumers": Users(21, 0.5, 0.4, 0.45, 0.75, 0.1),
    "forum": Users(46, 0.5, 0.4, 0.85, 0.5, 0.15),
}


def asking(users: str, queries: Sequence[str] = ()) -> Users | None:
    """Return how a kind of people asks, or those who wrote some queries; None for readers."""
    return measured(queries) if queries else USERS.get(users)


def worded(question: str) -> Wording:
    """Return how a question is worded, but for what it shares with its answer."""
    return Wording(
        words=len(question.split()),
        shared=0.0,
        several=len(_SENTENCE.findall(question)) > 1,
        mark=bool(_MARK.search(question)),
        bare=not _PUNCTUATION.search(question),
    )


def measured(queries: Sequence[str]) -> Users:
    """Return how the people ask who wrote some queries.

    How many words these share with what answers them is unknown; the share of the other rows is
    taken.
    """
    found = list(map(worded, queries))
    lengths = [math.log(max(1, each.words)) for each in found]
    return Users(
        math.exp(median(lengths)),
        pstdev(lengths),
        USERS[STAFF].shared,
        fmean(each.several for each in found),
        fmean(each.mark for each in found),
        fmean(each.bare for each in found),
        tuple(queries),
    )
