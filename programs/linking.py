"""Finding what an evolution can be built from: a second sentence about a name, a condition in a sentence."""

import re
from typing import NamedTuple

from programs.evidence import sentences
from programs.types import Focus, Parse
from programs.words import CONTEXT_REFERENCE, loose_pronouns, stop_words, tokens

_NAME = re.compile(r"(?:[^\W\d_a-zß-ÿ][\w’'-]*)(?:(?: (?:of|the|and|von|der|de|du|del|la))* [^\W\d_a-zß-ÿ][\w’'-]*)*")
_CONDITION: dict[str, str] = {
    "en": r"(?:if|when|while|after|before|because|since|although|though|unless|until|once|during|following|despite|"
    r"as soon as|where|provided that|in case)\b",
    "de": r"(?:wenn|falls|als|während|nachdem|bevor|weil|da|obwohl|sobald|solange|trotz|bei|nach)\b",
    "fr": r"(?:si|quand|lorsque|après|avant|parce que|pendant|bien que|dès que)\b",
    "es": r"(?:si|cuando|mientras|después de|antes de|porque|aunque|durante|tras)\b",
}
_OPENING_PHRASE: dict[str, str] = {
    "en": r"(?:in|on|at|under|with|without|by|for|as|from|between|within|through|throughout|upon|unlike|among|"
    r"according to)\b",
    "de": r"(?:in|im|am|an|auf|unter|mit|ohne|durch|für|zwischen|seit|ab|laut|nach)\b",
    "fr": r"(?:en|dans|à|sous|avec|sans|par|pour|entre|depuis|selon)\b",
    "es": r"(?:en|bajo|con|sin|por|para|entre|desde|según)\b",
}
_CLAUSE_WORDS = range(3, 16)
_OPENING_WORDS = 7  # a longer stretch before the first comma is the main clause itself
_PREDICATE_WORDS = range(3, 15)
_FEWEST_IF_COPULA = 5
_VERB = (
    r"is|was|are|were|has|had|have|can|could|may|must|will|would|did|does|(?!\w*(?:ings|ness)\b)[a-z]+(?:ed|s)|"
    r"became|began|built|came|fell|found|gave|grew|held|kept|led|left|lost|made|met|ran|rose|sold|spent|stood|took|"
    r"taught|went|won|wrote"
)


class Link(NamedTuple):
    """A name of the question, a sentence of the passage that opens with it, and what that sentence says of it."""

    name: str
    sentence: str
    predicate: str


def link(passage: str, language: str, focus: Focus, question: str, parse: Parse | None = None) -> Link | None:
    """Return what ties a name in the question to a second sentence of the passage, the longest name first.

    What is said of a name follows it where a sentence opens with it, or in a clause with "who" or "which"
    anywhere. A sentence that opens with "it", "he" or "she" goes with the one before it. What is said must not
    hold the answer, and a sentence that opens with the name must not be the focus. Only English: elsewhere a
    description that takes a name's place would have to agree with it in gender and case. With a parser, "he" and
    "she" go with persons and "it" with the rest, and what is said must be a whole predicate.
    """
    if language != "en":
        return None
    stop = stop_words(language)
    names = {name for name in _NAME.findall(question) if name not in focus.answer and not set(tokens(name)) <= stop}
    for name in sorted(names, key=lambda each: (-len(each), each)):
        if re.search(rf"{re.escape(name)}['’]", question):
            continue
        opens = rf"(?:The )?{re.escape(name)}"
        about_it = False
        for sentence in sentences(passage, language):
            subject = opens + (_pronouns(name, question, parse) if about_it else "")
            said = re.match(rf"(?:{subject}) ((?:{_VERB})\b[^,;:()–—]+?)[.,;:]?(?:[,;:–—]|$)", sentence)
            about_it = bool(re.match(subject, sentence))
            if sentence == focus.sentence or focus.answer in sentence:
                said = None
            said = said or re.search(rf"{re.escape(name)}, (?:who|which) ((?:{_VERB})\b[^,;:()–—]+?)[.,;]", sentence)
            if said and focus.answer not in said[1] and _is_whole(said[1], parse):
                return Link(name, sentence, said[1].strip(" ."))
    return None


def _pronouns(name: str, question: str, parse: Parse | None) -> str:
    """Return what may stand for a name, as alternatives of a pattern."""
    parsed = parse(question, "en") if parse else None
    if parsed is None:
        return "|It|He|She"
    labels = {entity.label_ for entity in parsed.ents if name in entity.text or entity.text in name}
    return "|He|She" if labels == {"PERSON"} else "" if "PERSON" in labels else "|It"


def _is_whole(predicate: str, parse: Parse | None) -> bool:
    """Say whether what follows a name says something of it: "is a free" breaks off, "is a browser" tells little."""
    words = tokens(predicate)
    if len(words) not in _PREDICATE_WORDS or loose_pronouns(predicate, "en"):
        return False
    if words[1] in ("a", "an", "the") and len(words) < _FEWEST_IF_COPULA:
        return False
    parsed = parse(f"It {predicate}.", "en") if parse else None
    return parsed is None or parsed[len(parsed) - 2].pos_ not in ("ADJ", "ADP", "AUX", "CCONJ", "DET", "SCONJ")


def describe(question: str, link: Link, kind: str) -> str | None:
    """Return the question with the name replaced by its kind and what is said of it; None for a useless kind."""
    noun = re.sub(r"^(?:an?|the) ", "", " ".join(kind.split()).strip(" .,;\"'").lower())
    if not re.fullmatch(r"[a-z-]{3,}(?: [a-z-]{3,}){0,2}", noun):
        return None
    if re.search(rf"\b(?:an?|their|its|his|her|our|each|every) {re.escape(link.name)}\b", question):
        return None  # the name only tells which meeting, model or office is meant: "at a Netscape meeting"
    described = rf"(?:\b[Tt]he )?{re.escape(link.name)}(?: {re.escape(noun)})?"
    return re.sub(described, lambda _: f"the {noun} that {link.predicate}", question, count=1)


def condition_in(focus: Focus, question: str, language: str) -> str | None:
    """Return a clause of the focus that states a condition which the question does not name yet, or None.

    A phrase of place, time or manner counts where the sentence opens with it and a comma ends it.
    """
    marker = _CONDITION.get(language, _CONDITION["en"])
    opening_phrase = _OPENING_PHRASE.get(language, _OPENING_PHRASE["en"])
    asked = set(tokens(question))
    pieces = re.split(r"([,;:.](?:\s+|$)|[()–—]|\s(?=" + marker + "))", focus.sentence)
    for place in range(0, len(pieces), 2):
        clause = pieces[place].strip()
        opens = place == 0 and pieces[1:2] == [", "] and len(tokens(clause)) <= _OPENING_WORDS
        opens = opens and re.match(opening_phrase, clause, re.IGNORECASE) is not None
        if not (opens or re.match(marker, clause, re.IGNORECASE)):
            continue
        if set(tokens(focus.answer)) & set(tokens(clause)) or CONTEXT_REFERENCE.search(clause):
            continue
        words = tokens(clause)
        new = [word for word in words if word not in asked and word not in stop_words(language)]
        if len(words) in _CLAUSE_WORDS and len(new) >= 2:
            return clause[0].lower() + clause[1:]
    return None
