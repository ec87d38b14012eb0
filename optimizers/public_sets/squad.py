"""SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, arXiv:1606.05250; 2018, arXiv:1806.03822), and sets in the same format.

Its questions were written by people about paragraphs of Wikipedia; the answers are spans of the paragraph.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ValidationError

from optimizers.labels import split_of
from optimizers.public_sets.base import PublicSet
from optimizers.rows import first_problem
from optimizers.steps.ask import AskGold
from programs.errors import InputError
from programs.languages.table import Languages
from programs.untrusted import small_text

_MOST = 512 << 20  # bytes; the largest file of the set has 42 million
_LANGUAGE = "en"
_LICENCE = "SQuAD, CC BY-SA 4.0"
_WHY = re.compile(r"why\b", re.IGNORECASE)
_HOW = re.compile(r"how\b(?! (?:many|much|long|old|often|far|large|big|tall|high|fast|deep|wide)\b)", re.IGNORECASE)


class _Answer(BaseModel):
    text: str
    answer_start: int


class _Question(BaseModel):
    id: str
    question: str
    answers: list[_Answer] = []


class _Paragraph(BaseModel):
    context: str
    qas: list[_Question]


class _Article(BaseModel):
    title: str
    paragraphs: list[_Paragraph]


class _File(BaseModel):
    data: list[_Article]


def _rows(file: Path, languages: Languages) -> Iterator[AskGold]:
    """Yield the answerable questions of a file as gold rows; questions that are not valid gold rows are skipped.

    The evidence is the sentence that contains the answer. The split depends on the title of the article.
    """
    try:
        articles = _File.model_validate_json(small_text(file, _MOST)).data
    except ValidationError as error:
        problem = f"--labels squad:{file}: not in the JSON format of SQuAD: {first_problem(error)}"
        raise InputError(problem) from error
    except OSError as error:
        raise InputError(f"--labels squad:{file}: {error.strerror or error}") from error
    language = languages[_LANGUAGE]
    for article in articles:
        document = f"squad/{article.title}"
        for number, paragraph in enumerate(article.paragraphs):
            sentences = _with_offsets(paragraph.context, language.sentences(paragraph.context))
            for item in paragraph.qas:
                answer = item.answers[0] if item.answers else None
                evidence = answer and next((text for start, text in sentences if _contains(start, text, answer)), None)
                if answer is None or evidence is None:
                    continue  # unanswerable, or the answer crosses a sentence boundary
                try:
                    yield AskGold(
                        step="ask",
                        id=f"squad-{item.id}",
                        document=document,
                        chunk=f"{document}/{number}",
                        language=_LANGUAGE,
                        split=split_of(document),
                        kind=_kind(item.question),
                        topic=article.title.replace("_", " "),
                        passage=paragraph.context,
                        question=" ".join(item.question.split()),
                        answer=answer.text,
                        evidence=evidence,
                        answers="short",
                        licence=_LICENCE,
                    )
                except ValidationError:
                    continue  # for example without a question mark


def _with_offsets(text: str, sentences: list[str]) -> list[tuple[int, str]]:
    """Return sentences with their start offsets."""
    placed, after = [], 0
    for sentence in sentences:
        start = text.find(sentence, after)
        if start >= 0:
            placed.append((start, sentence))
            after = start + len(sentence)
    return placed


def _contains(start: int, sentence: str, answer: _Answer) -> bool:
    return start <= answer.answer_start and answer.answer_start + len(answer.text) <= start + len(sentence)


def _kind(question: str) -> str:
    """Return the question kind by the first word; most questions of the set ask for facts."""
    if _WHY.match(question):
        return "why"
    return "how" if _HOW.match(question) else "fact"


PUBLIC_SET = PublicSet("squad", _rows)
