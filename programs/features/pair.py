"""Features of two texts that may say the same: questions, or answers to one question."""

from programs.features.answer import agreement
from programs.languages.base import Language
from programs.text import numbers, share, tokens

_MAX_WORDS = 10.0


def pair_features(first: str, second: str, nearness: float, language: Language) -> dict[str, float]:
    """Return the features of two texts; ``nearness`` is the cosine of their vectors."""
    first, second = language.in_digits(first), language.in_digits(second)
    left, right = set(language.content_words(first)), set(language.content_words(second))
    shared = len(left & right)
    longer = len(tokens(second)) - len(tokens(first))
    return {
        "nearness": nearness,
        "agreement": agreement(first, second),
        "added": min(_MAX_WORDS, len(right - left)),
        "lost": min(_MAX_WORDS, len(left - right)),
        "added_share": share(len(right - left), len(right)),
        "lost_share": share(len(left - right), len(left)),
        "held": share(shared, min(len(left), len(right))),
        "added_numbers": float(bool(numbers(second) - numbers(first))),
        "lost_numbers": float(bool(numbers(first) - numbers(second))),
        "longer": max(-_MAX_WORDS, min(_MAX_WORDS, longer)),
    }
