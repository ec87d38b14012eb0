"""Features of chunks and sentences."""

import re

from programs.languages.base import Language
from programs.text import CAPITALISED, CODE, NUMBER, SENTENCE_END, share, tokens

_WORD = re.compile(r"[^\W\d_][\w’'-]+")
_CAPITAL_START = re.compile(r"[\"“(]?[^\W_a-zß-ÿ]")
_MAX_DISTANCE = 60  # words before the first name; more count as this many


def subject_features(text: str, language: Language) -> dict[str, float]:
    """Return features of how soon and how often a passage names things."""
    found = [s for s in language.sentences(text) if len(tokens(s)) >= 5]
    names = _names(found, language)
    words = text.split()
    first = next((n for n, word in enumerate(words) if _is_name(word, names)), len(words))
    head = next((s for s in found if _CAPITAL_START.match(s)), found[0] if found else "")
    rate = 100 / max(1, len(tokens(text)))
    return {
        "first_name": share(first, len(words)),
        "first_name_words": float(min(_MAX_DISTANCE, first)),
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
    """Return the words that are capitalised inside a sentence, casefolded, without function words."""
    inside = {match.group().casefold() for s in found for match in CAPITALISED.finditer(s) if match.start() > 0}
    return inside - language.stop_words


def _is_name(word: str, names: set[str]) -> bool:
    bare = _WORD.search(word)
    return bare is not None and bare.group()[:1].isupper() and bare.group().casefold() in names


_LIST_LINE = re.compile(r"^\s*(?:[-*•|>#+]|\d{1,3}[.)]\s|\[\d+\]|\^)")
# At most ten initials, or long sequences of them take quadratic time.
_INITIALS = re.compile(r"\b[A-Z]\.(?:\s?[A-Z]\.){0,9}\s?[A-Z][a-z]+|\b[A-Z][a-z]+,? [A-Z]{1,2}\b(?=[,.;])")
_PAGES = re.compile(r"\b\d{1,4}\s?[–-]\s?\d{1,4}\b")
_KEY_LINE = re.compile(r"^\s*[^\s:][^:\n]{0,30}:\s")


def chunk_features(passage: str, topic: str, language: Language) -> dict[str, float]:
    """Return the features of a passage; shares are 0 to 1, rates are per 100 words."""
    text = passage.strip()
    words = tokens(text)
    found = language.sentences(text)
    lines = [line for line in text.splitlines() if line.strip()]
    whole = [s for s in found if SENTENCE_END.search(s) and len(tokens(s)) >= 6]
    rate = 100 / max(1, len(words))
    topic_words = set(language.content_words(topic))
    body = language.content_words(text)
    return {
        "words": float(len(words)),
        "whole_sentences": float(len(whole)),
        "whole_share": share(sum(map(len, whole)), sum(map(len, found))),
        "stop_share": share(sum(word in language.stop_words for word in words), len(words)),
        "citations": len(language.citation.findall(text)) * rate,
        "years": len(re.findall(r"\b(?:19|20)\d\d\b", text)) * rate,
        "list_share": share(sum(bool(_LIST_LINE.match(line)) for line in lines), len(lines)),
        "short_line_share": share(sum(len(line) < 40 for line in lines), len(lines)),
        "code": share(len(CODE.findall(text)), max(1, len(text))) * 100,
        "digit_share": share(sum(c.isdigit() for c in text), len(text)),
        "capital_share": share(sum(word[:1].isupper() for word in re.findall(r"\w+", text)), len(words)),
        "boilerplate": len(language.boilerplate.findall(text)) * rate,
        "boilerplate_heading": float(bool(language.boilerplate.search(topic.rpartition(">")[2]))),
        "starts_dependent": float(language.starts_dependent(text)),
        "starts_mid": float(bool(re.match(r"\W*[a-zß-ÿ]", text)) or text[:1] in ",;:)].…"),
        "ends_open": float(not SENTENCE_END.search(text)),
        "pronouns": language.loose_pronouns(text) * rate,
        "topic_overlap": share(sum(word in topic_words for word in body), max(1, len(body))) * 10,
        "names_topic": float(bool(topic_words & set(body))),
        "facts": (len(NUMBER.findall(text)) + len(CAPITALISED.findall(text))) * rate,
        "distinct": share(len(set(words)), len(words)),
        **_form_features(text, found, rate, language),
        **subject_features(text, language),
    }


def _form_features(text: str, found: list[str], rate: float, language: Language) -> dict[str, float]:
    lines = [line for line in text.splitlines() if line.strip()]
    return {
        "key_lines": share(sum(_KEY_LINE.match(line) is not None for line in lines), len(lines)),
        "links": len(re.findall(r"https?://|www\.", text)) * rate,
        "initials": len(_INITIALS.findall(text)) * rate,
        "page_ranges": len(_PAGES.findall(text)) * rate,
        "sentence_words": share(sum(len(tokens(s)) for s in found), len(found)),
        "line_length": share(len(text), len(lines)),
        "lines": float(min(30, len(lines))),
        "distinct_lines": share(len(set(lines)), len(lines)),
        "brackets": text.count("(") * rate,
        "commas": text.count(",") * rate,
        "colons": (text.count(":") + text.count(";")) * rate,
        "quotes": len(re.findall(r"[\"“”«»„]", text)) * rate,
        "question_marks": text.count("?") * rate,
        "numbers": len(NUMBER.findall(text)) * rate,
        "past": len(language.past.findall(text)) * rate,
        "modal": len(language.modal.findall(text)) * rate,
        "disclaiming": len(language.disclaiming.findall(text)) * rate,
    }


def sentence_features(sentence: str, topic: str, language: Language) -> dict[str, float]:
    """Return the features of a sentence as the fact of a question."""
    words = tokens(sentence)
    body = language.content_words(sentence)
    topic_words = set(language.content_words(topic))
    names = [m.group() for m in CAPITALISED.finditer(sentence) if m.start() > 0]
    return {
        "words": float(len(words)),
        "whole": float(bool(SENTENCE_END.search(sentence)) and bool(re.match(r"[\"“(*_]*[^\W_a-zß-ÿ]", sentence))),
        "starts_dependent": float(language.starts_dependent(sentence)),
        "pronouns": float(language.loose_pronouns(sentence)),
        "names": float(len(names)),
        "numbers": float(len(NUMBER.findall(sentence))),
        "names_topic": float(bool(topic_words & set(body))),
        "citations": float(len(language.citation.findall(sentence))),
        "code": float(len(CODE.findall(sentence))),
        "context_reference": float(bool(language.context_reference.search(sentence))),
    }
