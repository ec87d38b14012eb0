"""Questions that a document asks and answers itself, as pages of frequent questions and tables of
tickets do.
"""

import re
from collections.abc import Iterator, Sequence

from groundset.programs.languages import LANGUAGES, language_of
from groundset.programs.text import CODE_BLOCK
from groundset.programs.words import word_list

STATED = "stated"  # the kind of such a question, which nobody chose
_LENGTHS = range(4, 26)  # words of a question
_ANSWER_WORDS = range(1, 121)  # longer texts answer more than was asked
# A heading of reStructuredText.
_UNDERLINED = re.compile(r"^(?![#>|\s])(.+)\n([=~^\"'*+-])\2{2,} *$", re.MULTILINE)
_ITEM = re.compile(r"\s*(?:[*+•–-]|\d+[.)])\s")
_LINE = re.compile(
    r"^((?:#{1,6} +|\*\*|\d+[.)] +|(?:Q|F|P|Question|Frage|Pregunta)\d* ?[:.] *)*)"
    r"([\w¿\"“«][^|\n]+[?？])[*_ ]*$"
)
# A heading that asks.
_HOW = re.compile(r"^(#{1,6} +)((?:How to|Wie man|Comment|Cómo) [^|\n?]+)$", re.IGNORECASE)
_ANSWER = re.compile(r"^\W*(?:[AR]\d* ?:|(?:Answer|Antwort|Réponse|Respuesta) ?[:.])\W*")
_LAST_SENTENCE = re.compile(r"[^.!?？]+[?？]$")
_ASKS_TWO = re.compile(r"[?？].*[?？]$")
_LINKS = re.compile(r"\b(?:here|hier|ici|aquí)\W*$", re.IGNORECASE)  # and what is linked is lost
# An answer is whole at the end of a sentence, and its last line may be an item, a row or code.
_ENDED = re.compile(
    r"(?:[.!?。！？)\"”»|]|```|^[ \t]*(?:[*+•–-]|\d+[.)])\s[^\n]*[^:\n])\Z", re.MULTILINE
)
# What opens a note in Markdown, on GitHub, in MkDocs, in Docusaurus and in reStructuredText.
_CALLOUT = re.compile(
    r"^[ \t]*(?:> ?\[!\w+\][-+]?|[!?]{3}\+? \w+.*|:{3,}.*|\.\. \w+::|\{% .*%\})[ \t]*\n?|"
    r"^[ \t]*> ?",
    re.MULTILINE,
)
_MORE = r"(?:more|further) (?:information|details?)|details"
_POINTER = (
    rf"#\d+|here|hier|ici|aquí|above|below|oben|unten|ci-dessus|ci-dessous|arriba|abajo|{_MORE}|section|chapter|"
    r"(?:learn|know|read) more|mehr|davantage|más"
)
_SEE = r"(?:see|read|refer to|check|siehe|vgl\.|voir|véase|ver)\b"
_REST = r"(?:[^.!?\n]|[.!?](?=[\w/]))"  # of a sentence
# A sentence that only says where more stands, which a reader of the answer cannot follow.
_DANGLING = re.compile(
    rf"[ \t]*(?:\({_SEE}[^()\n]{{1,80}}\)|"
    rf"(?:(?<=[.!?:)] )|^)(?:for (?:{_MORE}){_REST}{{0,80}}?{_SEE}|"
    rf"(?:please )?{_SEE}{_REST}{{0,80}}?(?:{_POINTER})\b){_REST}{{0,100}}(?:[.!]|$))",
    re.IGNORECASE | re.MULTILINE,
)
_BRACKETED = re.compile(r"(?<![\w\])!])\[([^\[\]\n]{2,80})\](?![\[(:])")  # of a lost link
# What the text speaks of and does not hold.
_UNSHOWN = re.compile(
    r"\b(?:screen ?shots?|(?:figure|image|picture|diagram|video|clip)s? (?:\d|above|below|shows?)|"
    r"(?:this|following|attached) (?:figure|image|picture|diagram|video|clip)|bildschirmfoto|"
    r"captures? d[’']écran|capturas? de pantalla)|(?:abbildung|bild) \d|\{\{",
    re.IGNORECASE,
)
# Nobody who has not read what stands before knows what such a question is about, or it is put to
# the reader.
_POINTS_BACK = re.compile(
    r"^(?:\S+\s+){0,4}(?:it|this|that|these|those|they|them)\b|^(?:do|did|have|are) you\b",
    re.IGNORECASE,
)
# Names of columns; those of a ticket are its subject and its resolution.
ASKED = word_list("q question questions query frage fragen pregunta subject betreff asunto objet")
ANSWERED = word_list(
    "a answer answers response resolution solution reply antwort antworten lösung réponse solución"
    " respuesta"
)
_COLUMN = re.compile(r"([^\W_]+)(?:[ _-]([a-z]{2}))?")  # perhaps with a language: q_fr


def stated_questions(passage: str, topic: str = "", after: str = "") -> list[tuple[str, str]]:
    """Return the questions that a passage states, each with the text that answers it.

    They are headings, lines of their own, or cells of a table beside those of the answers.
    ``after`` is the line that follows the passage in its document: where that goes on, the last
    answer may be a part only, and is left out.
    """
    language, found = LANGUAGES[language_of(passage)], []
    for question, answer in (*_below_lines(passage, after), *_in_rows(passage, topic)):
        if (
            len(question.split()) not in _LENGTHS
            or len(answer.split()) not in _ANSWER_WORDS
            or not _ENDED.search(answer)
        ):
            continue
        pointing = (
            _POINTS_BACK.search(question)
            or language.refers_to_text(question)
            or _LINKS.search(answer)
            or _UNSHOWN.search(answer)
        )
        if not pointing and not _ASKS_TWO.search(question):
            found.append((question, answer))
    return found


def is_asked(question: str, asked: Sequence[str]) -> bool:
    """Return whether a question is among others, whose marks may be set off."""
    return "".join(question.split()) in {"".join(each.split()) for each in asked}


def _below_lines(passage: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield each line that is a question with the text below it, as it is laid out, up to the next
    heading or question.

    Under a heading with lower ones that text is a part only, and is left out.
    """
    question, depth, answer, before = "", 0, list[str](), ""
    is_numbered = False
    for line in _lines(f"{passage}\n\n{after or '#'}"):
        is_item = bool(_ITEM.match(line))
        asked = _LINE.match(line) or _HOW.match(line)
        if asked is not None and before.strip() and (is_item or not asked[1]):
            asked = None  # in a list or in running text
        if asked is not None or line.startswith("#"):
            marks = len(line) - len(line.lstrip("#"))
            is_listed = is_numbered and _ITEM.match("".join(answer[:1]))
            if question and any(answer) and not 0 < depth < marks and not is_listed:
                yield question, _shown("\n".join(answer))
            question, depth, answer = f"{asked[2].strip(' *_?')}?" if asked else "", marks, []
            question = f"¿{question}" if question.startswith("Cómo") else question
            is_numbered = is_item
        elif line.strip() or answer:
            answer.append(line)
        before = line


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text; those of a code block are one."""
    for place, piece in enumerate(CODE_BLOCK.split(text)):
        yield from [piece] if place % 2 else _UNDERLINED.sub(r"## \1", piece).splitlines()


def _shown(answer: str) -> str:
    """Return an answer in its Markdown form, without what only its document can show: marks of
    notes, and references to elsewhere.
    """
    pieces = CODE_BLOCK.split(_ANSWER.sub("", answer))
    for place, prose in enumerate(pieces):
        if place % 2 == 0:
            bare = _DANGLING.sub("", _CALLOUT.sub("", prose))
            pieces[place] = _BRACKETED.sub(r"\1", bare)
    return re.sub(r"\n\s*\n", "\n\n", "".join(pieces)).strip()


def _in_rows(passage: str, topic: str) -> Iterator[tuple[str, str]]:
    """Yield the rows of a table whose header, which later chunks have as their last heading, names
    both columns.

    A table in several languages has a pair of columns for each.
    """
    pairs: list[tuple[int, int]] = []
    for line in (topic.rpartition(" > ")[2], *passage.splitlines()):
        row = line.strip()
        cells = [cell.strip() for cell in row.strip("|").split("|")] if row[:1] == "|" else []
        names = [*enumerate(_COLUMN.fullmatch(cell.casefold()) for cell in cells)][::-1]
        asked, answers = (
            {name[2]: place for place, name in names if name and name[1] in known}
            for known in (ASKED, ANSWERED)
        )
        if found := [(asked[code], answers[code]) for code in asked if code in answers]:
            pairs = sorted(found)
            continue
        for question, answer in pairs:
            if max(question, answer) < len(cells):
                whole = cells[question]
                last = _LAST_SENTENCE.search(whole)
                is_long = last and len(whole.split()) not in _LENGTHS
                yield last[0].strip() if last and is_long else whole, cells[answer]
