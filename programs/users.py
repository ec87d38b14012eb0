"""How kinds of people word their questions: how long these are, and how many words they share with
what answers them; a row each.

Whoever has read a passage words the question in its words, and a set of such questions prefers
systems that match words. The shares and lengths below are medians of public sets of real questions:
employees and citizens who search (9 words, of which 0.70 stand near the gold passage), consumers
who write to a health library (21 and 0.40), and posts in support forums (46 and 0.40).
"""

import math
import re
from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean, median, pstdev
from typing import NamedTuple

from groundset.programs.text import tokens
from groundset.programs.words import Language

_SENTENCE = re.compile(r"[.!?。？！](?:\s|$)")
_MARK = re.compile(r"[?？؟]")
_PUNCTUATION = re.compile(r"[.,;:!?。，？！؟]")
_SHARED_SPREAD = 0.2  # standard deviation of the share of words, about that of the public sets
_FAR = 0.25  # a share further from the wanted one than this is mended
_SHORTEST, _LONGEST = 3, 120  # words of a question
_FEWEST_WORDS = 4  # content words, of which a share can be told
_SHOWN = 5  # queries of the user's own in a prompt
_SUGGESTED = 6  # words of the passage that a rewording may use


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
            parts.append("typed in haste with no punctuation")
        tenths = round(10 * self.shared)
        parts.append(f"{tenths} in 10 of its nouns, verbs and adjectives are words of the passage")
        return ", ".join(parts)

    def fault(self, question: str, passage: str, topic: str, language: Language) -> str:
        """Return how a question differs from this wording, as a change of it; empty if hardly."""
        count = len(question.split())
        content = set(language.content_words(question))
        if len(content) < _FEWEST_WORDS:
            return ""
        shared = content & set(language.content_words(passage))
        share = len(shared) / len(content)
        if share > self.shared + _FAR:
            names = set(language.content_words(topic))
            known = sorted(shared, key=lambda word: word in names)
            excess = known[: math.ceil((share - self.shared) * len(content))]
            forms = [
                word for word in tokens(question) if set(language.content_words(word)) & set(excess)
            ]
            return (
                "Put what is not a name in other words, since who asks does not know these:"
                f" {', '.join(dict.fromkeys(forms))}. Write {self}."
            )
        if not count / 2 <= self.words <= count * 2:
            return f"It has {count} words. Write {self}."
        return ""


class Users(NamedTuple):
    """How a kind of people asks."""

    about: str  # one sentence for the help
    words: float  # the median of a question
    spread: float  # the standard deviation of the logarithm of the number of words
    shared: float  # the median share of content words that what answers it has
    several: float  # share of questions with several sentences
    mark: float  # share with a question mark
    bare: float  # share without punctuation
    queries: tuple[str, ...] = ()  # of the user's own

    def drawn(self, seed: object) -> Wording:
        """Return how one question is worded, always the same for a seed."""
        draw = Random(str(seed))
        words = round(self.words * math.exp(draw.gauss(0, self.spread)))
        shared = min(1.0, max(0.0, draw.gauss(self.shared, _SHARED_SPREAD)))
        several, mark, bare = (
            draw.random() < share for share in (self.several, self.mark, self.bare)
        )
        return Wording(
            min(_LONGEST, max(_SHORTEST, words)),
            shared,
            several,
            mark and not bare,
            bare,
            tuple(draw.sample(self.queries, min(_SHOWN, len(self.queries)))),
        )


READER = "reader"
USERS: Mapping[str, Users] = {
    "staff": Users("Employees and citizens who search.", 9, 0.35, 0.7, 0.05, 0.75, 0.15),
    "consumers": Users("People who describe what they need.", 21, 0.5, 0.4, 0.45, 0.75, 0.1),
    "forum": Users("Posts in support forums.", 46, 0.5, 0.4, 0.85, 0.5, 0.15),
}
AS_READERS = (
    "as a careful reader of the documents puts it: one full question that can be understood alone,"
    " in the terms of the documents"
)


def measured(queries: Sequence[str], shared: float) -> Users:
    """Return how the people ask who wrote some queries; ``shared`` cannot be told from these."""
    lengths = [math.log(max(1, len(query.split()))) for query in queries]
    return Users(
        "Your own users.",
        math.exp(median(lengths)),
        pstdev(lengths),
        shared,
        fmean(len(_SENTENCE.findall(query)) > 1 for query in queries),
        fmean(bool(_MARK.search(query)) for query in queries),
        fmean(not _PUNCTUATION.search(query) for query in queries),
        tuple(queries),
    )
