"""Cleaning up completions."""

import pytest

from programs.steps.answer import tidy_answer
from programs.steps.question import tidy_question


@pytest.mark.parametrize(
    ("written", "tidy"),
    [
        ("Question: When did **it** strike?[3] Then it sank.", "When did it strike?"),
        ("  What  does `tide_queue` limit ? ", "What does tide_queue limit?"),
        ("What does the option `max_open_files` limit?", "What does the option max_open_files limit?"),
        ("***", ""),
        ("When did it sink? And why?", "When did it sink?"),
        ("When did it sink? in 1893", "When did it sink?"),
        (
            "How do the films Eve and Christmas...Again?! differ?",
            "How do the films Eve and Christmas...Again?! differ?",
        ),
        ("Who wrote Whose Boat Is This? in 1988?", "Who wrote Whose Boat Is This? in 1988?"),
    ],
)
def test_tidy_question(written: str, tidy: str) -> None:
    assert tidy_question(written) == tidy


@pytest.mark.parametrize(
    ("question", "written", "tidy"),
    [
        ("Which limit?", "Answer: `MAX_ROWS`", "MAX_ROWS"),
        ("Who founded it?", "A: A. P. Møller", "A. P. Møller"),
        ("Who founded it?", "A. P. Møller", "A. P. Møller"),
        ("When?", "**in 1893**[2].", "in 1893"),
        ("What is the Henn Lady?", "The Henn Lady is a ferry.", "a ferry"),
    ],
)
def test_tidy_answer(question: str, written: str, tidy: str) -> None:
    assert tidy_answer(written, question) == tidy
