"""The step ``split``."""

import pytest
from scripted_program import languages_with

from programs.steps.split import asks_twice, parts_of

LANGUAGES = languages_with(None)


@pytest.mark.parametrize(
    ("language", "question", "twice"),
    [
        ("en", "Who built the mill, and how does it run?", True),
        ("en", "When was it built and what did it cost?", True),
        ("en", "Who built the mill? Who owned it?", True),
        ("en", "Which towns do Ebbing and Lodrin trade with?", False),
        ("en", "Who built the mill?", False),
        ("de", "Wer baute die Mühle, und wann brannte sie ab?", True),
        ("de", "Wer baute Ebbing und Lodrin?", False),
        ("fr", "Qui a construit le moulin et combien a-t-il coûté ?", True),
        ("es", "¿Quién construyó el molino y cuándo?", True),
        ("sw", "Nani alijenga kinu?", False),
        ("en", "", False),
    ],
)
def test_asks_twice(language: str, question: str, twice: bool) -> None:
    assert asks_twice(question, LANGUAGES[language]) is twice


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        (["Who built it?", "¿Quién lo tuvo?"], ["Who built it?", "¿Quién lo tuvo?"]),
        (["1. Who built it? 2. Who owned it? Done"], ["Who built it?", "Who owned it?"]),
        (["In 1911", "Question: **Who** built it?"], ["Who built it?"]),
        (["?", "- ?", "桥"], []),
        ([], []),
    ],
)
def test_parts_of(written: list[str], parts: list[str]) -> None:
    assert parts_of(written) == parts
