"""Translations are checked by translating them back, and tried twice."""

import dspy
import pytest
from scripted_program import ScriptedEngine, tools_of

from groundset.runtime.adapter import PlainTextAdapter
from programs.stages.translate import Translate, Translation

ENGLISH = "Where does the road to Lowen begin?"
GERMAN = "Wo beginnt die Straße nach Lowen?"


def translated(
    *completions: str, similarity: float = 1.0, lines: tuple[str, ...] = (ENGLISH,)
) -> tuple[Translation, ScriptedEngine]:
    engine = ScriptedEngine({"translate": completions})
    with dspy.context(lm=engine.lm, adapter=PlainTextAdapter()):
        return Translate(tools_of(), lambda first, second: similarity)(lines, "de"), engine


def test_good_translation_takes_two_calls() -> None:
    found, engine = translated(GERMAN, "Where does the road to Lowen start?")
    assert found == Translation([GERMAN])
    assert [request.messages[-1].text for request in engine.requests] == [
        f"Into: German\nText: {ENGLISH}",
        f"Into: English\nText: {GERMAN}",
    ]


def test_second_try_may_succeed() -> None:
    found, engine = translated(ENGLISH, GERMAN, ENGLISH)
    assert found == Translation([GERMAN])
    assert [request.config.temperature for request in engine.requests] == [0.0, 0.7, 0.7]


def test_second_try_translates_lines_one_at_a_time() -> None:
    found, engine = translated(GERMAN, GERMAN, "ein Weg", ENGLISH, "a path", lines=(ENGLISH, "a path"))
    assert found == Translation([GERMAN, "ein Weg"])
    assert [request.messages[-1].text.partition("Text: ")[2] for request in engine.requests] == [
        f"{ENGLISH}\na path", ENGLISH, "a path", GERMAN, "ein Weg",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("completions", "similarity", "problem"),
    [
        ((ENGLISH,), 1.0, "not in German"),
        (("",), 1.0, "0 lines instead of 1"),
        ((GERMAN, "One.\nTwo.", GERMAN, "One.\nTwo."), 1.0, "translated back, 2 lines instead of 1"),
        ((GERMAN, "Where does it begin?", GERMAN, "Where?"), 1.0, "translated back, it lost the name Lowen: Where?"),
        ((GERMAN, f"{ENGLISH} From Ansa?") * 2, 1.0, "translated back, it has another name, Ansa"),
        ((GERMAN, ENGLISH, GERMAN, ENGLISH), 0.5, "translated back, it says something else (similarity 0.50)"),
    ],
)
def test_two_failures_leave_no_translation(completions: tuple[str, ...], similarity: float, problem: str) -> None:
    found, _ = translated(*completions, similarity=similarity)
    assert found.lines is None
    assert found.problem.startswith(problem)
