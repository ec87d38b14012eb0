"""Facts of several chunks that make one question together: by a name that they share, or by what can be compared.

Nothing here is about one language: names are words with a capital, and what is compared are numbers of one kind.
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
# Set by hand while questions about data/samples were read; fitted to nothing.
_FEW_CHUNKS = 6  # a name that more chunks hold ties nothing in particular together
_YEAR = re.compile(r"1\d{3}|20\d\d")
_AMOUNT = re.compile(r"(\d+(?:[.,]\d+)*)\s*(%|[^\W\d_]{2,})?")
_SHORTEST_NAME = 3
_AT_START = 12  # characters before a name that a sentence still begins with: an article, a title
_FEWEST_OWN_WORDS = 3  # content words that a fact must add to the name


class LinkedFacts(NamedTuple):
    """Linked facts, one of each chunk, and what to ask of them.

    Attributes:
        facts: in the order of the contexts that they come from; the last one holds the answer.
        contexts: those contexts.
        names: for each fact but the last the name in the last one that it tells of; none where things are compared.
        compare: how things are compared, in words of the language.
        answer: what the question must lead to.
    """

    facts: tuple[Focus, ...]
    contexts: tuple[Context, ...]
    names: tuple[str, ...]
    compare: str
    answer: str


def names_in(text: str, language: Language) -> set[str]:
    """Return the names in a text; a single word that only ever opens a sentence is none."""
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
    return {name for name in found if (" " in name or name in inside) and not _counts(name, language)}


def _counts(name: str, language: Language) -> bool:
    """Return whether a name is a month or a unit, which every text may share."""
    return len(name) < _SHORTEST_NAME or language.is_time(name) or language.is_amount(name)


def rare_names(contexts: Iterable[Context], languages: Languages) -> dict[str, tuple[str, ...]]:
    """Return for each chunk, by id, the names in it that some other chunks hold, but few."""
    by_chunk = {context.chunk.chunk_id: names_in(context.passage, languages[context.language]) for context in contexts}
    frequency = Counter(name for names in by_chunk.values() for name in names)
    return {
        chunk_id: tuple(sorted(name for name in names if 1 < frequency[name] <= _FEW_CHUNKS))
        for chunk_id, names in by_chunk.items()
    }


def facts_together(contexts: Sequence[Context], languages: Languages) -> list[LinkedFacts]:
    """Return the facts of chunks that make one question, the most promising first; contexts name their rare names."""
    language = languages[contexts[0].language]
    if any(context.language != language.code for context in contexts):
        return []
    bridges = [found for place in range(len(contexts)) for found in _bridges(contexts, place, language)]
    return [*_alternating(bridges), *_comparisons(contexts, language)]


def _bridges(contexts: Sequence[Context], place: int, language: Language) -> list[LinkedFacts]:
    """Return facts of the chunk at a place with a name for each of the other chunks, which tells of it."""
    last = contexts[place]
    others = [context for context in contexts if context is not last]
    found = []
    for focus in last.foci:
        names: list[str] = []
        facts: list[Focus] = []
        for other in others:
            tied = _tied(focus, last, other, language, names)
            if tied is not None:
                names.append(tied[0])
                facts.append(tied[1])
        if len(facts) == len(others):
            found.append(LinkedFacts((*facts, focus), (*others, last), tuple(names), "", focus.answer))
    return found


def _tied(
    focus: Focus, of: Context, other: Context, language: Language, taken: Sequence[str]
) -> tuple[str, Focus] | None:
    """Return a name in a fact that a sentence of another chunk begins with, and that sentence."""
    for name in sorted({*of.names} & {*other.names} - {*taken}, key=lambda name: (-len(name), name)):
        if _place(focus.fact, name) is None or has_words(name, focus.answer) or has_words(focus.answer, name):
            continue
        for fact in other.foci:
            place = _place(fact.fact, name)
            begins = place is not None and place <= _AT_START  # small models describe nothing else
            said = set(language.content_words(fact.fact)) - set(language.content_words(name))
            has_own_words = len(said) >= _FEWEST_OWN_WORDS and not said <= set(language.content_words(of.passage))
            if begins and has_own_words and not has_words(fact.fact, focus.answer):
                return name, fact
    return None


def _place(text: str, name: str) -> int | None:
    """Return where a text holds a name that is not part of a longer one, None if it does not."""
    found = re.search(rf"(?<![^\W\d_][’'-])(?<!\w){re.escape(name)}(?![\w’'-])(?! {NAME})", text)
    return None if found is None else found.start()


def _comparisons(contexts: Sequence[Context], language: Language) -> list[LinkedFacts]:
    """Return facts of different documents that say the same of two things, with years or amounts to compare."""
    titles = [title_of(context.topic) for context in contexts]
    if not (language.compares_times and language.compares_amounts) or len(set(titles)) < len(titles):
        return []
    found = []
    for first in contexts[0].foci:
        facts = [first]
        for context in contexts[1:]:
            like = next((focus for focus in context.foci if _comparable(first, focus, language)), None)
            if like is not None:
                facts.append(like)
        values = [_value(focus.answer) for focus in facts]
        if len(facts) < len(contexts) or any(a == b for a, b in pairwise(sorted(value for value, _ in values))):
            continue
        times = values[0][1] == "year"
        best = (min if times else max)(range(len(facts)), key=lambda place: values[place][0])
        compare = language.compares_times if times else language.compares_amounts
        found.append(LinkedFacts(tuple(facts), tuple(contexts), (), compare, titles[best]))
    return found


def _comparable(first: Focus, second: Focus, language: Language) -> bool:
    (_, kind), (_, other) = _value(first.answer), _value(second.answer)
    shared = set(language.content_words(first.fact)) & set(language.content_words(second.fact))
    said = {word for word in shared if not word.isdigit()} - set(language.content_words(kind))
    return bool(kind) and kind == other and len(said) > 1


def _value(answer: str) -> tuple[float, str]:
    """Return the number in a short answer and what it counts; no kind where it is none."""
    if _YEAR.fullmatch(answer):
        return float(answer), "year"
    found = _AMOUNT.fullmatch(answer)
    if found is None or not found[2]:
        return 0.0, ""
    digits = re.sub(r"[.,](?=\d{3}\b)", "", found[1]).replace(",", ".")
    return (float(digits), found[2].casefold()) if digits.count(".") < 2 else (0.0, "")


def _alternating(found: Sequence[LinkedFacts]) -> list[LinkedFacts]:
    """Return facts so that those whose question is likely to be good come first, and no name twice before each once."""
    seen: Counter[tuple[str, ...]] = Counter()
    ranked = []
    for place, each in enumerate(sorted(found, key=lambda each: not each.facts[-1].easy)):
        ranked.append((not each.facts[-1].easy, seen[each.names], place, each))
        seen[each.names] += 1
    return [each for *_, each in sorted(ranked, key=lambda row: row[:3])]
