"""Surface evidence on whether a passage names what it speaks of."""

import re

from programs.languages.base import Language
from programs.text import CAPITALISED, share, tokens

_WORD = re.compile(r"[^\W\d_][\w’'-]+")
_CAPITAL_START = re.compile(r"[\"“(]?[^\W_a-zß-ÿ]")
_FARTHEST = 60  # words; a name beyond them is as good as none


def subject_features(text: str, language: Language) -> dict[str, float]:
    """Return how soon and how often a passage names things, and what it says before it does."""
    found = [s for s in language.sentences(text) if len(tokens(s)) >= 5]
    names = _names(found, language)
    words = text.split()
    first = next((place for place, word in enumerate(words) if _is_name(word, names)), len(words))
    head = next((s for s in found if _CAPITAL_START.match(s)), found[0] if found else "")
    rate = 100 / max(1, len(tokens(text)))
    return {
        "first_name": share(first, len(words)),
        "first_name_words": float(min(_FARTHEST, first)),
        "pronouns_before_name": float(min(8, language.loose_pronouns(" ".join(words[:first])))),
        "dependent_share": share(sum(language.starts_dependent(s) for s in found), len(found)),
        "definite_share": share(sum(language.definite_start.match(s) is not None for s in found), len(found)),
        "head_definite": float(language.definite_start.match(head) is not None),
        "head_dependent": float(language.starts_dependent(head)),
        "head_named": float(any(_is_name(word, names) for word in head.split())),
        "head_pronouns": float(min(4, language.loose_pronouns(head))),
        "named_share": share(sum(any(_is_name(w, names) for w in s.split()) for s in found), len(found)),
        "names": float(min(20, len(names))),
        "names_rate": len(names) * rate,
        "address": len(language.address.findall(text)) * rate,
    }


def _names(found: list[str], language: Language) -> set[str]:
    """Return the words that are capitalised inside a sentence, folded; function words are none."""
    inside = {match.group().casefold() for s in found for match in CAPITALISED.finditer(s) if match.start() > 0}
    return inside - language.stop_words


def _is_name(word: str, names: set[str]) -> bool:
    bare = _WORD.search(word)
    return bare is not None and bare.group()[:1].isupper() and bare.group().casefold() in names
