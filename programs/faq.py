"""Questions that a document asks and answers itself, as pages of frequent questions and tables of
tickets do.
"""

import re
from collections.abc import Iterator, Sequence

from groundset.programs.languages import LANGUAGES, language_of

STATED = "stated"  # the kind of such a question, which nobody chose
_LENGTHS = range(4, 26)  # words of a question
_ANSWER_WORDS = range(1, 121)  # longer texts answer more than was asked
# A heading of reStructuredText.
_UNDERLINED = re.compile(r"^(?![#>|\s])(.+)\n([=~^\"'*+-])\2{2,} *$", re.MULTILINE)
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
_ENDED = re.compile(r"[.!?。！？)\"”»]$")
# Nobody who has not read what stands before knows what such a question is about, or it is put to
# the reader.
_POINTS_BACK = re.compile(
    r"^(?:\S+\s+){0,4}(?:it|this|that|these|those|they|them)\b|^(?:do|did|have|are) you\b",
    re.IGNORECASE,
)
_ASKED = {"q", "question", "questions", "frage", "fragen", "pregunta"}
_ANSWERED = {"a", "answer", "answers", "resolution", "antwort", "antworten", "réponse", "respuesta"}
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
        )
        if not pointing and not _ASKS_TWO.search(question):
            found.append((question, answer))
    return found


def is_asked(question: str, asked: Sequence[str]) -> bool:
    """Return whether a question is among others, whose marks may be set off."""
    return "".join(question.split()) in {"".join(each.split()) for each in asked}


def _below_lines(passage: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield each line that is a question with the text below it, up to the next heading or
    question.

    Under a heading with lower ones that text is a part only, and is left out.
    """
    question, depth, answer, before = "", 0, list[str](), ""
    for line in _UNDERLINED.sub(r"## \1", f"{passage}\n\n{after or '#'}").splitlines():
        asked = _LINE.match(line.strip()) or _HOW.match(line.strip())
        if asked is not None and not asked[1] and before.strip():
            asked = None  # a question in running text
        if asked is not None or line.startswith("#"):
            marks = len(line) - len(line.lstrip("#"))
            if question and answer and not 0 < depth < marks:
                yield question, _ANSWER.sub("", " ".join(" ".join(answer).split()))
            question, depth, answer = f"{asked[2].strip(' *_?')}?" if asked else "", marks, []
            question = f"¿{question}" if question.startswith("Cómo") else question
        elif line.strip():
            answer.append(line)
        before = line


def _in_rows(passage: str, topic: str) -> Iterator[tuple[str, str]]:
    """Yield the rows of a table whose header, which later chunks have as their last heading, names
    both columns.

    A table in several languages has a pair of columns for each.
    """
    pairs: list[tuple[int, int]] = []
    for line in (topic.rpartition(" > ")[2], *passage.splitlines()):
        cells = (
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            if line.strip().startswith("|")
            else []
        )
        names = [
            named.groups() if (named := _COLUMN.fullmatch(cell.casefold())) else ("", None)
            for cell in cells
        ]
        answers = {
            code: place
            for place, (name, code) in reversed(list(enumerate(names)))
            if name in _ANSWERED
        }
        asked = {
            code: place
            for place, (name, code) in reversed(list(enumerate(names)))
            if name in _ASKED
        }
        if found := [(asked[code], answers[code]) for code in asked if code in answers]:
            pairs = sorted(found)
            continue
        for question, answer in pairs:
            if max(question, answer) < len(cells) and (
                last := _LAST_SENTENCE.search(cells[question])
            ):
                whole = cells[question]
                yield whole if len(whole.split()) in _LENGTHS else last[0].strip(), cells[answer]
