"""The words and forms of English."""

import re

from programs.languages.base import Language
from programs.languages.words import at_start, heading_list, page_furniture, references, whole_words, word_list

_AUXILIARY = r"(?:did|does|do|was|were|is|are|am|has|have|had|can|could|will|would|shall|should|must|may|might)\b"
_WITHOUT_AUXILIARY = (
    r"^(?:(?:on|in|at|by|since|until) (?:what|which) (?:\w+ )?(?:date|year|day|month|night|time)|when|where|why) "
    rf"(?!{_AUXILIARY})"
)
_BROKEN_VERB = (
    r"\b(?:did|does|do)\b[^,?]*\b(?:was|were|been|is|are|be \w+ed)\b|\bdid\b[^,?]{1,60}\b(?:\w+ed|began|took|went|"
    r"made|won|wrote|led|left|became)\?$|\bdid\b[^,?]{1,80}\b(?:\w+ed|made|won|written|led|built|sold) by\b|"
    r"^what (?:is|was|are|were) (?:the |an? )?[^?]*\b\w+ed (?:in|on|at|to|and)\b"
)

WORDS = Language(
    code="en",
    stemmer="english",
    numerals="en",
    question_words=word_list("what which who whom whose when where why how"),
    stop_words=word_list(
        "a an the of in on at to for from by with as is are was were be been being do does did has have had "
        "and or but not no it its this that these those he she they his her their them him i we you our your "
        "which what who whom whose when where why how there than then so if into over under after before during "
        "between about up out more most can could will would should may might must also only such other name "
        "called according used many much"
    ),
    dependent_start=at_start(
        r"(?:it|its|he|his|she|her|they|their|them|this|these|those|that|such|there|here|both|another|the "
        r"(?:former|latter|same|following|above)|however|moreover|furthermore|therefore|thus|also|but|and|or|so|"
        r"then|instead|meanwhile|in addition|for example|as a result|at (?:that|this) time|afterwards?|later|"
        r"similarly|likewise|consequently|nevertheless|otherwise|because of this|since then|we|i|you|our|my)\b"
    ),
    loose_pronoun=whole_words("he|she|they|it|his|her|hers|their|them|him|this|these|those|we|our|us|i|my|you|your"),
    context_reference=whole_words(
        r"(?:the|this|that|given|above|following|provided|first|second|last) (?:given |provided |above |following "
        r"|same )?(?:passage|text|paragraph|article|excerpt|document|section|context|sentence|statement|fact|facts|"
        r"author|writer|chapter|snippet|table|figure|list|question|extract|information|example|code)",
        r"according to (?:the|this|it)\b(?! (?:law|rules?|constitution))",
        r"mentioned (?:above|below|here|in)",
        r"(?:is|are|was|were|been|being|be) (?:mentioned|described|discussed|referred to|stated|listed|given|"
        r"provided)",
        r"as (?:described|mentioned|stated|discussed|noted|shown|outlined|explained)",
        r"this (?:\w+ )?report",
        r"this (?:form|kind|type|sort|case|way)",
    ),
    broad_question=re.compile(
        r"^(?:what|who|which) (?:is|are|was|were) (?:the )?(?:main |primary |overall )?(?:name|topic|subject|purpose|"
        r"significance|importance|meaning|answer|question|fact|role|title|focus|theme|idea|point|difference)\b"
        r"(?!.*\b(?:of|in|for|between)\b.*[A-Z0-9])|\bcorrect\b|\bwhat (?:happened|is (?:it|this|that))\b|"
        r"^(?:what|who) (?:is|was|are|were) [\w’' -]{1,40}\?$",
        re.IGNORECASE,
    ),
    broken_question=re.compile(f"{_WITHOUT_AUXILIARY}|{_BROKEN_VERB}", re.IGNORECASE),
    second_question=re.compile(r"\band (?:what|who|when|where|why|how)\b"),
    alternative=whole_words("or"),
    negation=whole_words(
        "not|no|cannot|never|neither|nor|none|nobody|nothing|without|except|other than|rather than|unlike|[a-z]+n['’]t"
    ),
    boilerplate=page_furniture(
        "privacy policy|terms of (?:use|service)|all rights reserved|subscribe|click here|sign (?:in|up)|"
        "edit this page|skip to|table of contents|contents|see also|external links|further reading|references|"
        "bibliography|notes"
    ),
    citation=references("retrieved", "archived from", "accessed"),
    listings=heading_list(
        "references|reference|reference list|bibliography|works cited|literature cited|citations|sources|notes|"
        "footnotes|endnotes|notes and references|references and notes|further reading|external links|see also|contents|"
        "table of contents|navigation|navigation menu"
    ),
    table_label=r"table|tab\.",
    figure_label=r"figure|fig\.",
    past=whole_words("was", "were", "had", "[a-z]+ed", as_written=True),
    modal=whole_words("may|should|must|can|could|will|would|might", as_written=True),
    disclaiming=re.compile(r"\b(?:liab|warrant|responsib|permission|reserved|informational|constitute)", re.IGNORECASE),
    definite_start=re.compile("The [a-zß-ÿ]"),
    address=whole_words("I|we|my|our|me|us|you|your", as_written=True),
    compares_times="which was earlier",
    compares_amounts="which is more",
    condition_clause=(
        "if|when|while|after|before|because|since|although|though|unless|until|once|during|following|despite|"
        "as soon as|where|provided that|in case"
    ),
    condition_phrase=(
        "in|on|at|under|with|without|by|for|as|from|between|within|through|throughout|upon|unlike|among|according to"
    ),
    months="January|February|March|April|May|June|July|August|September|October|November|December",
    units=(
        "per cent|percent|(?:milli|kilo|centi)?(?:met(?:re|er)s?|grams?|tonnes?|lit(?:re|er)s?)|tonnes|tons|miles|"
        "feet|years?|months?|weeks?|days?|hours?|minutes?|seconds?|million|billion|thousand|people|members|residents|"
        "employees|euros?|dollars?|pounds|votes"
    ),
    large="million|billion",
    multiples=frozenset({"hundred", "thousand", "million", "billion"}),
    percent=r"per ?cent\b",
    about="about |up to ",
    between="and|to|or",
    name_links="of|the|and",
    because="because|since",
    openings={
        "year": "In which year",
        "date": "On what date",
        "share": "What percentage",
        "money": "How much",
        "amount": "How many",
        "reason": "Why",
    },
    asks={
        "amount": (
            r"\bhow (?:many|much|long|old|far|tall|high|often|deep|wide|large|big|fast|heavy)\b|"
            r"\bwhat (?:percentage|proportion|share)\b"
        ),
        # Not "When the mill burned, who owned it?"
        "time": rf"\bwhen (?={_AUXILIARY})|\b(?:what|which) (?:year|date|day|month|decade|century|time)\b",
        "person": r"\b(?:who|whom|whose)\b",
        "place": r"\bwhere\b",
        "reason": r"\bwhy\b",
    },
    asks_time=r"(?:(?:in|on|at) )?(?:what|which) (?:year|date|day|month)|when\b",
    time_prepositions="in the year|in|on|since|by|until|from|of",
    time_words=(
        r"\d{1,2}(?:st|nd|rd|th)|century|spring|summer|autumn|winter|monday|tuesday|wednesday|thursday|friday|"
        "saturday|sunday|day|days|night|morning|evening|week|weekly|annually|year|years|month|months"
    ),
    amount_words=(
        "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|half|"
        "third|quarter|twice|once|every|daily|weekly|several"
    ),
)
