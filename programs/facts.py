"""Facts of several chunks for one question: facts that share a name, or facts with comparable numbers.

This works in any language: names are capitalised words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from programs.languages.base import Language
from programs.languages.table import Languages
from programs.text import NAME, has_words, title_of
from programs.types import Context, Focus

_NAMES = re.compile(rf"{NAME}(?: (?:(?:of|the|and|von|der|de|du|del|la) )?{NAME})*")
# Set by hand on questions about data/samples; not fitted.
_MAX_CHUNKS = 6  # a name in more chunks is not specific enough
_YEAR = re.compile(r"1\d{3}|20\d\d")
_AMOUNT = re.compile(r"(\d+(?:[.,]\d+)*)\s*(%|[^\W\d_]{2,})?")
_MIN_NAME_LENGTH = 3
_MAX_OFFSET = 12  # characters before a name at the start of a sentence, such as an article or a title
_MIN_NEW_WORDS = 3  # content words of a fact beside the name


class LinkedFacts(NamedTuple):
    """Linked facts, one from each chunk, and how to ask about them.

    Attributes:
        facts: the facts; the last one contains the answer.
        contexts: the contexts of the facts.
        names: for each fact but the last, the name in the last fact that it describes; empty for comparisons.
        compare: the comparison in words of the language; empty for descriptions.
        answer: the expected answer.
    """

    facts: tuple[Focus, ...]
    contexts: tuple[Context, ...]
    names: tuple[str, ...]
    compare: str
    answer: str


def names_in(text: str, language: Language) -> set[str]:
    """Return the names in a text, without single words that occur only at the start of sentences."""
    found, inside = set(), set()
    for match in _NAMES.finditer(text):
        words = match.group().split()
        while words and words[0].casefold() in language.stop_words:
            words = words[1:]
        name = " ".join(words)
        found.add(name)
        start = match.end() - len(name)
        if start > 1 and text[start - 2] not in ".!?:\n":
            inside.add(name)
    return {name for name in found if (" " in name or name in inside) and not _is_generic(name, language)}


def _is_generic(name: str, language: Language) -> bool:
    """Return whether a name is short, a time or an amount, which occur in any text."""
    return len(name) < _MIN_NAME_LENGTH or language.is_time(name) or language.is_amount(name)


def rare_names(contexts: Iterable[Context], languages: Languages) -> dict[str, tuple[str, ...]]:
    """Return, by chunk id, the names that a chunk shares with a few others."""
    by_chunk = {context.chunk.chunk_id: names_in(context.passage, languages[context.language]) for context in contexts}
    frequency = Counter(name for names in by_chunk.values() for name in names)
    return {
        chunk_id: tuple(sorted(name for name in names if 1 < frequency[name] <= _MAX_CHUNKS))
        for chunk_id, names in by_chunk.items()
    }


def link_facts(contexts: Sequence[Context], languages: Languages) -> list[LinkedFacts]:
    """Return the linked facts of chunks, the most promising first; the contexts must have their rare ``names``."""
    language = languages[contexts[0].language]
    if any(context.language != language.code for context in contexts):
        return []
    bridges = [found for last in contexts for found in _bridges(contexts, last, language)]
    return [*_rank_bridges(bridges), *_comparisons(contexts, language)]


def _bridges(contexts: Sequence[Context], last: Context, language: Language) -> list[LinkedFacts]:
    """Return the facts of one chunk that contain, for each other chunk, a name that a fact there describes."""
    others = [context for context in contexts if context is not last]
    found = []
    for focus in last.foci:
        names: list[str] = []
        facts: list[Focus] = []
        for other in others:
            described = _describe(focus, last, other, language, names)
            if described is not None:
                names.append(described[0])
                facts.append(described[1])
        if len(facts) == len(others):
            found.append(LinkedFacts((*facts, focus), (*others, last), tuple(names), "", focus.answer))
    return found


def _describe(
    focus: Focus, context: Context, other: Context, language: Language, used: Sequence[str]
) -> tuple[str, Focus] | None:
    """Return a name in the fact of a focus, and a fact of another chunk that begins with it."""
    for name in sorted({*context.names} & {*other.names} - {*used}, key=lambda name: (-len(name), name)):
        if _offset(focus.fact, name) is None or has_words(name, focus.answer) or has_words(focus.answer, name):
            continue
        for fact in other.foci:
            offset = _offset(fact.fact, name)
            begins = offset is not None and offset <= _MAX_OFFSET  # small models describe only the subject
            words = set(language.content_words(fact.fact)) - set(language.content_words(name))
            adds = len(words) >= _MIN_NEW_WORDS and not words <= set(language.content_words(context.passage))
            if begins and adds and not has_words(fact.fact, focus.answer):
                return name, fact
    return None


def _offset(text: str, name: str) -> int | None:
    """Return the offset of a name that is not part of a longer one; None if the text does not contain it."""
    found = re.search(rf"(?<![^\W\d_][’'-])(?<!\w){re.escape(name)}(?![\w’'-])(?! {NAME})", text)
    return None if found is None else found.start()


def _comparisons(contexts: Sequence[Context], language: Language) -> list[LinkedFacts]:
    """Return similar facts of different documents, with years or amounts to compare."""
    titles = [title_of(context.topic) for context in contexts]
    if not (language.compares_times and language.compares_amounts) or len(set(titles)) < len(titles):
        return []
    found = []
    for first in contexts[0].foci:
        facts = [first]
        for context in contexts[1:]:
            similar = next((focus for focus in context.foci if _comparable(first, focus, language)), None)
            if similar is not None:
                facts.append(similar)
        values = [_value(focus.answer) for focus in facts]
        if len(facts) < len(contexts) or any(a == b for a, b in pairwise(sorted(value for value, _ in values))):
            continue
        times = values[0][1] == "year"
        best = (min if times else max)(range(len(facts)), key=lambda index: values[index][0])
        compare = language.compares_times if times else language.compares_amounts
        found.append(LinkedFacts(tuple(facts), tuple(contexts), (), compare, titles[best]))
    return found


def _comparable(first: Focus, second: Focus, language: Language) -> bool:
    (_, kind), (_, other) = _value(first.answer), _value(second.answer)
    shared = set(language.content_words(first.fact)) & set(language.content_words(second.fact))
    shared = {word for word in shared if not word.isdigit()} - set(language.content_words(kind))
    return bool(kind) and kind == other and len(shared) > 1


def _value(answer: str) -> tuple[float, str]:
    """Return the number in a short answer and its unit; an empty unit if it is not a number with a unit."""
    if _YEAR.fullmatch(answer):
        return float(answer), "year"
    found = _AMOUNT.fullmatch(answer)
    if found is None or not found[2]:
        return 0.0, ""
    digits = re.sub(r"[.,](?=\d{3}\b)", "", found[1]).replace(",", ".")
    return (float(digits), found[2].casefold()) if digits.count(".") < 2 else (0.0, "")


def _rank_bridges(bridges: Sequence[LinkedFacts]) -> list[LinkedFacts]:
    """Return bridges with easy questions first, and those with different names before those with the same names."""
    used: Counter[tuple[str, ...]] = Counter()
    ranked = []
    for bridge in sorted(bridges, key=lambda bridge: not bridge.facts[-1].easy):
        ranked.append((not bridge.facts[-1].easy, used[bridge.names], bridge))
        used[bridge.names] += 1
    return [bridge for *_, bridge in sorted(ranked, key=lambda row: row[:2])]
