"""Surface evidence on whether a passage names what it speaks of."""

import re

from programs.evidence.text import CAPITALISED, sentences, share
from programs.words import loose_pronouns, starts_dependent, stop_words, tokens

_WORD = re.compile(r"[^\W\d_][\w’'-]+")
_DEFINITE = re.compile(r"(?:The|Der|Die|Das|Le|La|Les|El|Los|Las) [a-zß-ÿ]")
_CAPITAL_START = re.compile(r"[\"“(]?[^\W_a-zß-ÿ]")
_ADDRESS = re.compile(r"\b(?:I|we|my|our|me|us|you|your|ich|wir|je|nous|yo|nosotros)\b")
_FARTHEST = 60  # words; a name beyond them is as good as none


def subject_features(text: str, language: str) -> dict[str, float]:
    """Return how soon and how often a passage names things, and what it says before it does."""
    found = [s for s in sentences(text, language) if len(tokens(s)) >= 5]
    names = _names(found, language)
    words = text.split()
    first = next((place for place, word in enumerate(words) if _is_name(word, names)), len(words))
    head = next((s for s in found if _CAPITAL_START.match(s)), found[0] if found else "")
    rate = 100 / max(1, len(tokens(text)))
    return {
        "first_name": share(first, len(words)),
        "first_name_words": float(min(_FARTHEST, first)),
        "pronouns_before_name": float(min(8, loose_pronouns(" ".join(words[:first]), language))),
        "dependent_share": share(sum(starts_dependent(s, language) for s in found), len(found)),
        "definite_share": share(sum(_DEFINITE.match(s) is not None for s in found), len(found)),
        "head_definite": float(_DEFINITE.match(head) is not None),
        "head_dependent": float(starts_dependent(head, language)),
        "head_named": float(any(_is_name(word, names) for word in head.split())),
        "head_pronouns": float(min(4, loose_pronouns(head, language))),
        "named_share": share(sum(any(_is_name(w, names) for w in s.split()) for s in found), len(found)),
        "names": float(min(20, len(names))),
        "names_rate": len(names) * rate,
        "address": len(_ADDRESS.findall(text)) * rate,
    }


def _names(found: list[str], language: str) -> set[str]:
    """Return the words that are capitalised inside a sentence, folded; function words are none."""
    inside = {match.group().casefold() for s in found for match in CAPITALISED.finditer(s) if match.start() > 0}
    return inside - stop_words(language)


def _is_name(word: str, names: set[str]) -> bool:
    bare = _WORD.search(word)
    return bare is not None and bare.group()[:1].isupper() and bare.group().casefold() in names
