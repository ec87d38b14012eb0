"""German."""

import re

from programs.languages.base import Language
from programs.languages.words import (
    at_start,
    heading_list,
    page_furniture,
    references,
    refusals,
    whole_words,
    word_list,
)

LANGUAGE = Language(
    code="de",
    stemmer="german",
    numerals="de",
    capitalises_nouns=True,
    unfinished=re.compile(r"\b(?:im|am|vom|zum|zur|beim|ins|ans|dem|der|des|den|das|die|seit|ab) \d{1,2}\.$"),
    question_words=word_list(
        "was welche welcher welches welchen welchem wer wen wem wessen wann wo woher wohin warum weshalb "
        "wieso wie wieviele woraus womit wodurch wofür worauf wovon"
    ),
    stop_words=word_list(
        "der die das den dem des ein eine einer eines einem einen und oder aber nicht kein keine ist sind war "
        "waren wird werden wurde wurden hat haben hatte hatten es er sie ihr ihre sein seine von vom zu zum zur "
        "in im an am auf aus bei mit nach seit für durch über unter vor als wie was welche welcher welches "
        "welchem welchen wer wann wo warum auch nur so sich dass dieser diese dieses viele viel"
    ),
    dependent_start=at_start(
        r"(?:er|sie|es|dies\w*|jene\w*|sein\w*|ihr\w*|dort|damals|danach|daher|deshalb|dadurch|dabei|damit|"
        r"jedoch|außerdem|auch|und|aber|oder|so|dann|beide|wir|ich|zudem|ferner)\b"
    ),
    loose_pronoun=whole_words(r"er|sie|es|ihm|ihn|ihnen|dies\w*|jene\w*|wir|uns|ich"),
    context_reference=whole_words(
        r"(?:dem|im|der|den|diesem|diese[rsn]?|laut) (?:text|abschnitt|artikel|textabschnitt|absatz|passage|dokument|"
        r"aussage|satz)",
        r"genannt(?:e[nrs]?)? (?:wird|werden)",
    ),
    refusal=refusals("nicht (?:angegeben|genannt|erwähnt)"),
    unanswered="Dazu steht nichts in den Dokumenten.",
    broad_question=re.compile(r"^(?:was|wer) (?:ist|war|sind|waren) ", re.IGNORECASE),
    boilerplate=page_furniture("inhalt", "siehe auch", "einzelnachweise", "weblinks", "literatur"),
    citation=references("abgerufen am"),
    listings=heading_list(
        "literatur|literaturverzeichnis|quellen|quellenverzeichnis|einzelnachweise|fußnoten|anmerkungen|belege|weblinks|"
        "siehe auch|weiterführende literatur|inhalt|inhaltsverzeichnis|navigationsmenü"
    ),
    table_label=r"tabelle|tab\.",
    figure_label=r"abbildung|abb\.|bild",
    past=whole_words("wurde", "war", as_written=True),
    modal=whole_words("kann", "muss", "darf", as_written=True),
    disclaiming=re.compile(r"\bhaft", re.IGNORECASE),
    definite_start=re.compile("(?:Der|Die|Das) [a-zß-ÿ]"),
    address=whole_words("ich", "wir", as_written=True),
    second_question=re.compile(r"\bund (?:was|wer|wen|wem|wann|wo|warum|wie|wieso|welche[rsnm]?)\b"),
    alternative=whole_words("oder"),
    negation=whole_words("nicht|kein(?:e[mnrs]?)?|nie|niemals|ohne|außer|weder"),
    compares_times="was früher war",
    compares_amounts="was mehr ist",
    condition_clause=r"wenn|falls|als|während|nachdem|bevor|weil|da|obwohl|sobald|solange|trotz|bei|nach",
    condition_phrase=r"in|im|am|an|auf|unter|mit|ohne|durch|für|zwischen|seit|ab|laut|nach",
    months="Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember",
    units="Jahren?|Monaten?|Tagen?|Stunden|Minuten|Prozent|Tonnen|Metern?|Kilometern?|Hektar|Menschen|Euro",
    multiples=frozenset({"tausend", "millionen", "milliarden"}),
    percent=r"Prozent\b",
    about="etwa ",
    between="bis|und",
    because="weil",
    openings={
        "year": "In welchem Jahr",
        "date": "An welchem Tag",
        "share": "Wie viel Prozent",
        "money": "Wie viel",
        "amount": "Wie viele",
        "reason": "Warum",
    },
    asks={
        "amount": r"\bwie ?(?:viele?|lange|oft|hoch|weit|groß)\b",
        "time": r"\b(?:wann|welche[mns]? (?:jahr|tag|monat))\b",
        "person": r"\b(?:wer|wen|wem)\b",
        "place": r"\b(?:wo|woher|wohin)\b",
        "reason": r"\b(?:warum|weshalb|wieso)\b",
    },
    asks_time=r"(?:in|an) welche[mn] (?:jahr|tag)|wann\b",
    time_prepositions="im jahr|in|im|am|seit|bis|ab",
    time_words="jahr|jahrhundert|winter",
    amount_words="ein|eine|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|zwölf|hundert|tausend|million",
)
