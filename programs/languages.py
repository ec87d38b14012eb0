"""The languages: English, German, French and Spanish in a table, neutral defaults for all others,
and their detection.

``LANGUAGES[code]`` is the language with an ISO 639-1 code; ``LANGUAGES.values()`` are the four that
are known.
"""

import re
from collections.abc import Collection
from functools import cache, lru_cache

import py3langid

from groundset.programs.text import MAX_READ
from groundset.programs.words import (
    Language,
    at_start,
    page_furniture,
    references,
    refusals,
    whole_words,
    word_list,
)

_AUXILIARY = (
    r"(?:did|does|do|was|were|is|are|am|has|have|had|can|could|will|would|shall|should|must|may|"
    r"might)\b"
)
_WITHOUT_AUXILIARY = (
    r"^(?:(?:on|in|at|by|since|until) (?:what|which) (?:\w+ )?"
    rf"(?:date|year|day|month|night|time)|when|where|why) (?!{_AUXILIARY})"
)
_BROKEN_VERB = (
    r"\b(?:did|does|do)\b[^,?]*\b(?:was|were|been|is|are|be \w+ed)\b|"
    r"\bdid\b[^,?]{1,60}\b(?:\w+ed|began|took|went|made|won|wrote|led|left|became)\?$|"
    r"\bdid\b[^,?]{1,80}\b(?:\w+ed|made|won|written|led|built|sold) by\b|"
    r"^what (?:is|was|are|were) (?:the |an? )?[^?]*\b\w+ed (?:in|on|at|to|and)\b"
)

ENGLISH = Language(
    code="en",
    stemmer="english",
    numerals=True,
    articles=word_list("a an the"),
    fillers=word_list("in on at of for and is are was were it there your"),
    question_words=word_list("what which who whom whose when where why how"),
    stop_words=word_list(
        "a an the of in on at to for from by with as is are was were be been being do does did has"
        " have had and or but not no it its this that these those he she they his her their them"
        " him i we you our your which what who whom whose when where why how there than then so if"
        " into over under after before during between about up out more most can could will would"
        " should may might must also only such other name called according used many much"
    ),
    dependent_start=at_start(
        r"(?:it|its|he|his|she|her|they|their|them|this|these|those|that|such|there|here|both|"
        r"another|the (?:former|latter|same|following|above)|however|moreover|furthermore|"
        r"therefore|thus|also|but|and|or|so|then|instead|meanwhile|in addition|for example|"
        r"as a result|at (?:that|this) time|afterwards?|later|similarly|likewise|consequently|"
        r"nevertheless|otherwise|because of this|since then|we|i|you|our|my)\b"
    ),
    loose_pronoun=whole_words(
        "he|she|they|it|his|her|hers|their|them|him|this|these|those|we|our|us|i|my|you|your"
    ),
    context_reference=whole_words(
        r"(?:the|this|that|given|above|following|provided|first|second|last) "
        r"(?:given |provided |above |following |same )?"
        r"(?:passage|text|paragraph|article|excerpt|document|section|context|sentence|statement|"
        r"fact|facts|author|writer|chapter|snippet|table|figure|list|question|extract|information|"
        r"example|code)",
        r"according to (?:the|this|it)\b(?! (?:law|rules?|constitution))",
        r"mentioned (?:above|below|here|in)",
        r"(?:is|are|was|were|been|being|be) "
        r"(?:mentioned|described|discussed|referred to|stated|listed|given|provided)",
        r"as (?:described|mentioned|stated|discussed|noted|shown|outlined|explained)",
        r"this (?:\w+ )?report",
        r"this (?:form|kind|type|sort|case|way)",
    ),
    broad_question=re.compile(
        r"^(?:what|who|which) (?:is|are|was|were) (?:the )?(?:main |primary |overall )?"
        r"(?:name|topic|subject|purpose|significance|importance|meaning|answer|question|fact|role|"
        r"title|focus|theme|idea|point|difference)\b(?!.*\b(?:of|in|for|between)\b.*[A-Z0-9])|"
        r"\bcorrect\b|\bwhat (?:happened|is (?:it|this|that))\b|"
        r"^(?:what|who) (?:is|was|are|were) [\w’' -]{1,40}\?$",
        re.IGNORECASE,
    ),
    broken_question=re.compile(f"{_WITHOUT_AUXILIARY}|{_BROKEN_VERB}", re.IGNORECASE),
    second_question=re.compile(r"\band (?:what|who|when|where|why|how)\b"),
    alternative=whole_words("or"),
    boilerplate=page_furniture(
        "privacy policy|terms of (?:use|service)|all rights reserved|subscribe|click here|"
        "sign (?:in|up)|edit this page|skip to|table of contents|contents|see also|external links|"
        "further reading|references|bibliography|notes"
    ),
    citation=references("retrieved", "archived from", "accessed"),
    listings=word_list(
        "references|reference|reference list|bibliography|works cited|literature cited|citations|"
        "sources|notes|footnotes|endnotes|notes and references|references and notes|"
        "further reading|external links|see also|contents|table of contents|navigation|"
        "navigation menu",
        "|",
    ),
    table_label=r"table|tab\.",
    past=whole_words("was", "were", "had", "[a-z]+ed", as_written=True),
    modal=whole_words("may|should|must|can|could|will|would|might", as_written=True),
    disclaiming=re.compile(
        r"\b(?:liab|warrant|responsib|permission|reserved|informational|constitute)", re.IGNORECASE
    ),
    definite_start=re.compile("The [a-zß-ÿ]"),
    address=whole_words("I|we|my|our|me|us|you|your", as_written=True),
    months="January|February|March|April|May|June|July|August|September|October|November|December",
    asks={
        "amount": (
            r"\bhow (?:many|much|long|old|far|tall|high|often|deep|wide|large|big|fast|heavy)\b|"
            r"\bwhat (?:percentage|proportion|share)\b"
        ),
        # Not "When the mill burned, who owned it?"
        "time": (
            rf"\bwhen (?={_AUXILIARY})|"
            r"\b(?:what|which) (?:year|date|day|month|decade|century|time)\b"
        ),
        "person": r"\b(?:who|whom|whose)\b",
        "place": r"\bwhere\b",
        "reason": r"\bwhy\b",
    },
    time_words=(
        r"\d{1,2}(?:st|nd|rd|th)|century|spring|summer|autumn|winter|monday|tuesday|wednesday|"
        r"thursday|friday|saturday|sunday|day|days|night|morning|evening|week|weekly|annually|year|"
        r"years|month|months"
    ),
    amount_words=(
        "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|"
        "million|billion|half|third|quarter|twice|once|every|daily|weekly|several"
    ),
)

_GERMAN = Language(
    code="de",
    stemmer="german",
    numerals=True,
    unfinished=re.compile(
        r"\b(?:im|am|vom|zum|zur|beim|ins|ans|dem|der|des|den|das|die|seit|ab) \d{1,2}\.$"
    ),
    fillers=word_list(
        "der die das den dem des ein eine einen einem einer eines im in am an um und ist sind war"
        " es"
    ),
    question_words=word_list(
        "was welche welcher welches welchen welchem wer wen wem wessen wann wo woher wohin warum"
        " weshalb wieso wie wieviele woraus womit wodurch wofür worauf wovon"
    ),
    stop_words=word_list(
        "der die das den dem des ein eine einer eines einem einen und oder aber nicht kein keine"
        " ist sind war waren wird werden wurde wurden hat haben hatte hatten es er sie ihr ihre"
        " sein seine von vom zu zum zur in im an am auf aus bei mit nach seit für durch über unter"
        " vor als wie was welche welcher welches welchem welchen wer wann wo warum auch nur so sich"
        " dass dieser diese dieses viele viel"
    ),
    dependent_start=at_start(
        r"(?:er|sie|es|dies\w*|jene\w*|sein\w*|ihr\w*|dort|damals|danach|daher|deshalb|dadurch|"
        r"dabei|damit|jedoch|außerdem|auch|und|aber|oder|so|dann|beide|wir|ich|zudem|ferner)\b"
    ),
    loose_pronoun=whole_words(r"er|sie|es|ihm|ihn|ihnen|dies\w*|jene\w*|wir|uns|ich"),
    context_reference=whole_words(
        r"(?:dem|im|der|den|diesem|diese[rsn]?|laut) "
        r"(?:text|abschnitt|artikel|textabschnitt|absatz|passage|dokument|aussage|satz)",
        r"genannt(?:e[nrs]?)? (?:wird|werden)",
    ),
    refusal=refusals("nicht (?:angegeben|genannt|erwähnt)"),
    unanswered="Dazu steht nichts in den Dokumenten.",
    broad_question=re.compile(r"^(?:was|wer) (?:ist|war|sind|waren) ", re.IGNORECASE),
    boilerplate=page_furniture("inhalt", "siehe auch", "einzelnachweise", "weblinks", "literatur"),
    citation=references("abgerufen am"),
    listings=word_list(
        "literatur|literaturverzeichnis|quellen|quellenverzeichnis|einzelnachweise|fußnoten|"
        "anmerkungen|belege|weblinks|siehe auch|weiterführende literatur|inhalt|"
        "inhaltsverzeichnis|navigationsmenü",
        "|",
    ),
    table_label=r"tabelle|tab\.",
    past=whole_words("wurde", "war", as_written=True),
    modal=whole_words("kann", "muss", "darf", as_written=True),
    disclaiming=re.compile(r"\bhaft", re.IGNORECASE),
    definite_start=re.compile("(?:Der|Die|Das) [a-zß-ÿ]"),
    address=whole_words("ich", "wir", as_written=True),
    second_question=re.compile(
        r"\bund (?:was|wer|wen|wem|wann|wo|warum|wie|wieso|welche[rsnm]?)\b"
    ),
    alternative=whole_words("oder"),
    months="Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember",
    asks={
        "amount": r"\bwie ?(?:viele?|lange|oft|hoch|weit|groß)\b",
        "time": r"\b(?:wann|welche[mns]? (?:jahr|tag|monat))\b",
        "person": r"\b(?:wer|wen|wem)\b",
        "place": r"\b(?:wo|woher|wohin)\b",
        "reason": r"\b(?:warum|weshalb|wieso)\b",
    },
    time_words="jahr|jahrhundert|winter",
    amount_words=(
        "ein|eine|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|hundert|tausend|million"
    ),
)

_FRENCH = Language(
    code="fr",
    stemmer="french",
    numerals=True,
    unfinished=re.compile(
        r"(?:^|[\s(])(?:MM?|Mme|Mlle|Mgr|Me|Dr|Pr|Ste?|(?:av|apr)\. J)\.(?:-C\.)?$"
    ),
    fillers=word_list("le la les un une des du de en à au aux dans et est sont était"),
    question_words=word_list(
        "que quel quelle quels quelles qui quand où pourquoi comment combien quoi"
    ),
    question_mark=" ?",
    stop_words=word_list(
        "le la les l un une des du de d et ou mais ne pas est sont était étaient a ont avait au aux"
        " à dans en sur par pour avec sans que qui quel quelle quels quelles quand où comment"
        " pourquoi combien ce cette ces il elle ils elles son sa ses leur se s plus"
    ),
    dependent_start=at_start(
        r"(?:il|elle|ils|elles|ce|cet|cette|ces|cela|son|sa|ses|leur|leurs|on|mais|et|donc|ainsi|"
        r"cependant|toutefois|alors|puis|là)\b|c['’]"
    ),
    loose_pronoun=whole_words("il|elle|ils|elles|ceci|cela|cette|ce|ces|nous|je"),
    context_reference=whole_words("(?:le|ce|du|au) (?:texte|passage|paragraphe|document)"),
    unanswered="Les documents ne le disent pas.",
    boilerplate=page_furniture("notes"),
    listings=word_list(
        "références|notes et références|notes|bibliographie|sources|voir aussi|liens externes|"
        "pour aller plus loin|articles connexes|sommaire|table des matières",
        "|",
    ),
    table_label=r"tableau",
    past=whole_words("fut", "était", as_written=True),
    modal=whole_words("peut", "doit", as_written=True),
    definite_start=re.compile("(?:Le|La|Les) [a-zß-ÿ]"),
    address=whole_words("je", "me", "nous", as_written=True),
    second_question=re.compile(
        r"\bet (?:que|qui|quand|où|pourquoi|comment|combien|quel(?:le)?s?)\b"
    ),
    alternative=whole_words("ou"),
    asks={
        "amount": r"\bcombien\b",
        "time": r"\b(?:quand|quelle (?:année|date))\b",
        "person": r"\bqui\b",
        "place": r"\boù\b",
        "reason": r"\bpourquoi\b",
    },
    amount_words="deux|trois|quatre|cinq|six|million",
)

_SPANISH = Language(
    code="es",
    stemmer="spanish",
    numerals=True,
    unfinished=re.compile(r"\b[ap]\. ?m\.$"),
    fillers=word_list("el la los las un una unos unas de del en y es son era fue"),
    question_words=word_list(
        "qué cuál cuáles quién quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas"
    ),
    stop_words=word_list(
        "el la los las un una unos unas de del y o pero no es son era eran fue fueron ha han había"
        " a al en por para con sin que qué quién cuál cuáles cuándo dónde cómo se su sus lo este"
        " esta estos estas más"
    ),
    dependent_start=at_start(
        r"(?:él|ella|ellos|ellas|este|esta|esto|estos|estas|ese|esa|eso|su|sus|pero|y|así|entonces|"
        r"además|sin embargo|allí|aquí)\b"
    ),
    loose_pronoun=whole_words("él|ella|ellos|ellas|esto|eso|este|esta|nosotros"),
    context_reference=whole_words("(?:el|este|del|al) (?:texto|pasaje|párrafo|documento)"),
    unanswered="Los documentos no lo dicen.",
    listings=word_list(
        "referencias|notas|notas y referencias|bibliografía|fuentes|véase también|"
        "enlaces externos|lecturas recomendadas|índice|contenido",
        "|",
    ),
    table_label=r"tabla|cuadro",
    past=whole_words("fue", "era", as_written=True),
    modal=whole_words("puede", "debe", as_written=True),
    definite_start=re.compile("(?:El|La|Los|Las) [a-zß-ÿ]"),
    address=whole_words("me", "yo", "nosotros", as_written=True),
    second_question=re.compile(r"\by (?:qué|quién|cuándo|dónde|cómo|cuánto|cuál(?:es)?)\b"),
    alternative=whole_words("[ou]"),
    asks={
        "amount": r"\bcuánt",
        "time": r"\b(?:cuándo|qué (?:año|fecha))\b",
        "person": r"\b(?:quién|quiénes)\b",
        "place": r"\bdónde\b",
        "reason": r"\bpor qué\b",
    },
    amount_words="dos|tres|cuatro|cinco",
)

# Other languages in Snowball. Norwegian uses Danish sentence rules, which know ordinals
# ("14. juni").
_STEMMED, _NORWEGIAN = word_list("da fi it nl pt sv"), word_list("nb nn no")

# Those of ISO 639-1 that language detection knows.
_NAMES: dict[str, str] = dict(
    re.findall(
        r"(\w\w) ([^,]+)",
        "af Afrikaans, am Amharic, an Aragonese, ar Arabic, as Assamese, az Azerbaijani, "
        "ba Bashkir, be Belarusian, bg Bulgarian, bn Bengali, br Breton, bs Bosnian, ca Catalan, "
        "cs Czech, cy Welsh, da Danish, de German, dz Dzongkha, el Greek, en English, "
        "eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fo Faroese, "
        "fr French, fy Frisian, ga Irish, gd Scottish Gaelic, gl Galician, gu Gujarati, ha Hausa, "
        "he Hebrew, hi Hindi, hr Croatian, ht Haitian Creole, hu Hungarian, hy Armenian, "
        "id Indonesian, ig Igbo, is Icelandic, it Italian, ja Japanese, jv Javanese, ka Georgian, "
        "kk Kazakh, km Khmer, kn Kannada, ko Korean, ku Kurdish, ky Kyrgyz, la Latin, "
        "lb Luxembourgish, lg Ganda, ln Lingala, lo Lao, lt Lithuanian, lv Latvian, mg Malagasy, "
        "mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, "
        "ne Nepali, nl Dutch, nn Nynorsk, no Norwegian, oc Occitan, om Oromo, or Odia, "
        "pa Punjabi, pl Polish, ps Pashto, pt Portuguese, qu Quechua, ro Romanian, ru Russian, "
        "rw Kinyarwanda, sa Sanskrit, se Northern Sami, si Sinhala, sk Slovak, sl Slovenian, "
        "sn Shona, so Somali, sq Albanian, sr Serbian, st Sotho, sv Swedish, sw Swahili, "
        "ta Tamil, te Telugu, tg Tajik, th Thai, tk Turkmen, tl Tagalog, tr Turkish, tt Tatar, "
        "ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, vo Volapük, wa Walloon, "
        "xh Xhosa, yo Yoruba, zh Chinese, zu Zulu",
    )
)


class _Languages(dict[str, Language]):
    def __missing__(self, code: str) -> Language:
        return _neutral(code)


LANGUAGES = _Languages(
    {language.code: language for language in (ENGLISH, _GERMAN, _FRENCH, _SPANISH)}
)


@cache
def _neutral(code: str) -> Language:
    if code in _NORWEGIAN:
        return Language(code=code, stemmer="norwegian", segmenter="da")
    return Language(code=code, stemmer=_NAMES[code].lower() if code in _STEMMED else "")


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the most likely language of a text, by its first ``MAX_READ``
    characters.
    """
    return _classified(text[:MAX_READ])


@lru_cache(512)
def _classified(text: str) -> str:
    code, _ = py3langid.classify(text)
    return str(code)


def language_among(text: str, codes: Collection[str]) -> str:
    """Return the most likely of some languages, which is reliable for far shorter texts than
    :func:`language_of`.
    """
    return next(str(code) for code, _ in py3langid.rank(text[:MAX_READ]) if code in codes)


def name_of(code: str) -> str:
    """Return the English name of a language that can be detected, else its code."""
    return _NAMES.get(code, code)
