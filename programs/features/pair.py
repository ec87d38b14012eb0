"""Surface evidence on two texts that may say the same: questions, or answers to one question."""

from programs.features.answer import agreement
from programs.languages.base import Language
from programs.text import numbers, share, tokens

_MOST_WORDS = 10.0


def pair_features(first: str, second: str, nearness: float, language: Language) -> dict[str, float]:
    """Return how two texts stand to each other; ``nearness`` is the cosine of their vectors."""
    first, second = language.in_digits(first), language.in_digits(second)
    left, right = set(language.content_words(first)), set(language.content_words(second))
    shared = len(left & right)
    longer = len(tokens(second)) - len(tokens(first))
    return {
        "nearness": nearness,
        "agreement": agreement(first, second),
        "added": min(_MOST_WORDS, len(right - left)),
        "lost": min(_MOST_WORDS, len(left - right)),
        "added_share": share(len(right - left), len(right)),
        "lost_share": share(len(left - right), len(left)),
        "held": share(shared, min(len(left), len(right))),
        "added_numbers": float(bool(numbers(second) - numbers(first))),
        "lost_numbers": float(bool(numbers(first) - numbers(second))),
        "longer": max(-_MOST_WORDS, min(_MOST_WORDS, longer)),
    }
