"""Closed word classes and patterns of the languages that the hand-set evidence knows."""

import re
from functools import cache
from typing import Any

from snowballstemmer import stemmer

TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

_QUESTION_WORDS: dict[str, str] = {
    "en": "what which who whom whose when where why how",
    "de": "was welche welcher welches welchen welchem wer wen wem wessen wann wo woher wohin warum weshalb "
    "wieso wie wieviele woraus womit wodurch wofür worauf wovon",
    "fr": "que quel quelle quels quelles qui quand où pourquoi comment combien quoi",
    "es": "qué cuál cuáles quién quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas",
}
_STOP: dict[str, str] = {
    "en": "a an the of in on at to for from by with as is are was were be been being do does did has have had "
    "and or but not no it its this that these those he she they his her their them him i we you our your "
    "which what who whom whose when where why how there than then so if into over under after before during "
    "between about up out more most can could will would should may might must also only such other name "
    "called according used many much",
    "de": "der die das den dem des ein eine einer eines einem einen und oder aber nicht kein keine ist sind war "
    "waren wird werden wurde wurden hat haben hatte hatten es er sie ihr ihre sein seine von vom zu zum zur "
    "in im an am auf aus bei mit nach seit für durch über unter vor als wie was welche welcher welches "
    "welchem welchen wer wann wo warum auch nur so sich dass dieser diese dieses viele viel",
    "fr": "le la les l un une des du de d et ou mais ne pas est sont était étaient a ont avait au aux à dans en "
    "sur par pour avec sans que qui quel quelle quels quelles quand où comment pourquoi combien ce cette ces "
    "il elle ils elles son sa ses leur se s plus",
    "es": "el la los las un una unos unas de del y o pero no es son era eran fue fueron ha han había a al en por "
    "para con sin que qué quién cuál cuáles cuándo dónde cómo se su sus lo este esta estos estas más",
}
_PRONOUN_START: dict[str, str] = {
    "en": r"(?:it|its|he|his|she|her|they|their|them|this|these|those|that|such|there|here|both|another|the "
    r"(?:former|latter|same|following|above)|however|moreover|furthermore|therefore|thus|also|but|and|or|so|"
    r"then|instead|meanwhile|in addition|for example|as a result|at (?:that|this) time|afterwards?|later|"
    r"similarly|likewise|consequently|nevertheless|otherwise|because of this|since then|we|i|you|our|my)\b",
    "de": r"(?:er|sie|es|dies\w*|jene\w*|sein\w*|ihr\w*|dort|damals|danach|daher|deshalb|dadurch|dabei|damit|"
    r"jedoch|außerdem|auch|und|aber|oder|so|dann|beide|wir|ich|zudem|ferner|diese\w*)\b",
    "fr": r"(?:il|elle|ils|elles|ce|cet|cette|ces|cela|son|sa|ses|leur|leurs|on|mais|et|donc|ainsi|cependant|"
    r"toutefois|alors|puis|là)\b|c['’]",
    "es": r"(?:él|ella|ellos|ellas|este|esta|esto|estos|estas|ese|esa|eso|su|sus|pero|y|así|entonces|además|sin "
    r"embargo|allí|aquí)\b",
}
_LOOSE_PRONOUN: dict[str, str] = {
    "en": r"\b(?:he|she|they|it|his|her|hers|their|them|him|this|these|those|we|our|us|i|my|you|your)\b",
    "de": r"\b(?:er|sie|es|ihm|ihn|ihnen|dies\w*|jene\w*|wir|uns|ich)\b",
    "fr": r"\b(?:il|elle|ils|elles|ceci|cela|cette|ce|ces|nous|je)\b",
    "es": r"\b(?:él|ella|ellos|ellas|esto|eso|este|esta|nosotros)\b",
}
CONTEXT_REFERENCE = re.compile(
    r"\b(?:(?:the|this|that|given|above|following|provided|first|second|last) (?:given |provided |above |following "
    r"|same )?(?:passage|text|paragraph|article|excerpt|document|section|context|sentence|statement|fact|facts|"
    r"author|writer|chapter|snippet|table|figure|list|question|extract|information|example|code)"
    r"|according to (?:the|this|it)\b(?! (?:law|rules?|constitution))|mentioned (?:above|below|here|in)|"
    r"(?:is|are|was|were|been|being|be) (?:mentioned|described|discussed|referred to|stated|listed|given|provided)|"
    r"as (?:described|mentioned|stated|discussed|noted|shown|outlined|explained)|this (?:\w+ )?report|"
    r"this (?:form|kind|type|sort|case|way)|(?:dem|im|der|den|diesem|diese[rsn]?|laut) (?:text|abschnitt|artikel|"
    r"textabschnitt|absatz|passage|dokument|aussage|satz)|genannt(?:e[nrs]?)? (?:wird|werden)|"
    r"(?:le|ce|du|au) (?:texte|passage|paragraphe|document)|(?:el|este|del|al) (?:texto|pasaje|párrafo|documento))\b",
    re.IGNORECASE,
)
NOT_STATED = re.compile(
    r"^\W*(?:not (?:stated|mentioned|given|specified|provided|known|said|available)|unknown|no answer|n/?a|none|"
    r"nothing (?:is|was) (?:said|stated)|nicht (?:angegeben|genannt|erwähnt)|the (?:passage|text) does not)\b",
    re.IGNORECASE,
)


def tokens(text: str) -> list[str]:
    """Return words and numbers in lower case."""
    return [token.casefold() for token in TOKEN.findall(text)]


def has_words(text: str, phrase: str) -> bool:
    """Say whether a text holds the words of a phrase in a row."""
    return f" {' '.join(tokens(phrase))} " in f" {' '.join(tokens(text))} "


@cache
def stop_words(language: str) -> frozenset[str]:
    """Return the function words of a language; English for one that is not known."""
    return frozenset(_STOP.get(language, _STOP["en"]).split())


def without_brackets(text: str) -> str:
    """Return a text without what stands in round brackets; parsers and questions do better without it."""
    return re.sub(r"\s*\([^()]*\)", "", text)


def is_function_word(token: str) -> bool:
    """Say whether a token is a function word of any language that is known."""
    return any(token in stop_words(language) for language in _STOP)


def content_words(text: str, language: str) -> list[str]:
    """Return the stems of the words of a text that carry meaning, numbers among them."""
    stop = stop_words(language)
    return [
        stem(token, language) for token in tokens(text) if token not in stop and (len(token) > 1 or token.isdigit())
    ]


def stem(token: str, language: str) -> str:
    """Return the Snowball stem of a token without a possessive ending."""
    bare = re.sub(r"['’]s?$", "", token)
    return str(_stemmer(language).stemWord(bare))


def numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text, without thousands separators."""
    return frozenset(re.sub(r"(?<=\d)[.,](?=\d{3}\b)", "", number) for number in NUMBER.findall(text))


def starts_dependent(text: str, language: str) -> bool:
    """Say whether a text opens with a pronoun or connective that points at what came before."""
    pattern = _PRONOUN_START.get(language, _PRONOUN_START["en"])
    return re.match(r"\W*" + pattern, text, re.IGNORECASE) is not None


def loose_pronouns(text: str, language: str) -> int:
    """Count pronouns that may have no antecedent in the text."""
    return len(re.findall(_LOOSE_PRONOUN.get(language, _LOOSE_PRONOUN["en"]), text, re.IGNORECASE))


def question_word(question: str, language: str) -> int | None:
    """Return the position, in words, of the first question word within the first words, or None."""
    known = _QUESTION_WORDS.get(language, _QUESTION_WORDS["en"]).split()
    return next((i for i, token in enumerate(tokens(question)) if token in known), None)


@cache
def _stemmer(language: str) -> Any:
    names = {
        "de": "german",
        "fr": "french",
        "es": "spanish",
        "it": "italian",
        "nl": "dutch",
        "pt": "portuguese",
    }
    return stemmer(names.get(language, "english"))
