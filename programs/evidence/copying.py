"""Surface evidence on what a question takes over from the sentence it asks about, and what it leaves to be answered.

A good question is mostly its sentence in its own order, with one gap where the answer stands. One that joins words
which stand apart there is often ungrammatical or says something else; one that leaves no gap, or many, rarely has
the answer that was meant.
"""

from difflib import SequenceMatcher
from itertools import groupby

from programs.evidence.text import share
from programs.words import content_words, stem, tokens

_RUN = 2  # words in a row that count as copied


def copying_features(question: str, sentence: str, language: str) -> dict[str, float]:
    """Return the features of a question as a copy of a sentence, by the stems of their words."""
    asked, told = _stems(question, language), _stems(sentence, language)
    matches = SequenceMatcher(None, asked, told, autojunk=False).get_matching_blocks()
    runs = [match.size for match in matches if match.size >= _RUN]
    known = set(content_words(question, language))
    is_left = [word not in known for word in content_words(sentence, language)]
    gaps = [len(list(group)) for left, group in groupby(is_left) if left]
    return {
        "copied_runs": float(len(runs)),
        "copied_share": share(sum(runs), len(asked)),
        "new_words": float(len(asked) - sum(runs)),
        "longest_copy": float(max(runs, default=0)),
        "gaps": float(len(gaps)),
        "longest_gap": float(max(gaps, default=0)),
        "left_words": float(sum(gaps)),
        "left_share": share(sum(gaps), len(is_left)),
        "gap_first": float(is_left[:1] == [True]),
        "gap_last": float(is_left[-1:] == [True]),
    }


def _stems(text: str, language: str) -> list[str]:
    return [stem(token, language) for token in tokens(text)]
