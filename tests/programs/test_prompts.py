"""Prompts adapted to a language."""

from collections.abc import Sequence

import dspy
import pytest
from scripted_program import tools_of

from programs.demos import Demos, in_language
from programs.prompts import adapt, writes_questions
from programs.steps import STEPS

ASK = {
    "topic": "Mill",
    "passage": "It burnt.",
    "asked_already": ["Who owned it?"],
    "answers": "short",
    "kinds": ["fact"],
}
QUESTIONS = [{"kind": "fact", "question": "What\nburnt?", "answer": "the mill", "evidence": "It burnt."}]
DEMO = dspy.Example(language="en", **ASK, questions=QUESTIONS)


def german(lines: Sequence[str]) -> list[str]:
    return [f"de {line}" for line in lines]


def no_translation(lines: Sequence[str]) -> None:
    return None


def test_question_and_answer_are_translated_and_the_passage_is_not() -> None:
    instructions, [demo] = adapt(STEPS["ask"].predictor([DEMO]), "de", german)
    assert instructions.startswith("de Write questions that")
    assert "Write questions and answers in German" in instructions
    [written] = demo["questions"]
    assert written == {**QUESTIONS[0], "question": "de What burnt?", "answer": "de the mill"}
    assert demo["asked_already"] == ["de Who owned it?"]
    assert {name: demo[name] for name in ("topic", "passage", "kinds", "language")} == {
        **{name: ASK[name] for name in ("topic", "passage", "kinds")},
        "language": "en",
    }


def test_completions_that_steps_recognise_are_kept() -> None:
    demo = dspy.Example(language="en", topic="", passage="It burnt.", question="When?", answer="not stated")
    _, [adapted] = adapt(STEPS["answer"].predictor([demo]), "de", german)
    assert (adapted["question"], adapted["answer"]) == ("de When?", "not stated")


def test_demos_in_the_language_are_used_for_its_passages(demos: Demos) -> None:
    given = demos["ask"]
    _, adapted = adapt(STEPS["ask"].predictor(given), "de", german)
    assert in_language(adapted, "de") == [demo for demo in given if demo["language"] == "de"]
    for language in ("en", "fr"):
        assert all(demo["questions"][0]["question"].startswith("de ") for demo in in_language(adapted, language))


def test_demos_without_translation_are_left_out_or_all_stay() -> None:
    def first_only(lines: Sequence[str]) -> list[str] | None:
        return german(lines) if "What burnt?" in lines else None

    other = DEMO.copy(questions=[{**QUESTIONS[0], "question": "Who?"}])
    _, adapted = adapt(STEPS["ask"].predictor([DEMO, other]), "de", first_only)
    assert len(adapted) == 1
    instructions, adapted = adapt(STEPS["ask"].predictor([DEMO, other]), "de", no_translation)
    assert adapted == [DEMO, other]
    assert instructions.startswith("Write questions")
    assert "in German" in instructions


def test_english_needs_no_translation(demos: Demos) -> None:
    instructions, adapted = adapt(STEPS["ask"].predictor(demos["ask"]), "en", lambda lines: pytest.fail(str(lines)))
    assert "in English" in instructions
    assert {demo["language"] for demo in adapted} == {"en"}


def test_steps_that_write_questions_or_answers() -> None:
    found = {name for name, step in STEPS.items() if writes_questions(step.signature)}
    assert found >= {"ask", "answer", "open_answer", "combine", "compress", "evolve", "rewrite"}
    assert found.isdisjoint({"feedback", "judge", "grounding", "same", "translate", "keyphrases"})


def test_tools_use_an_adapted_prompt() -> None:
    prompt = adapt(STEPS["ask"].predictor([DEMO]), "de", german)
    predict = tools_of().with_prompts({"ask": prompt}).predictor("ask")
    assert predict.signature.instructions == prompt.instructions
    assert predict.demos == prompt.demos


def test_only_quotes_and_notes_keep_their_language(demos: Demos) -> None:
    kept: set[str] = set()
    for name, step in STEPS.items():
        if writes_questions(step.signature):
            before = [demo for demo in step.predictor(demos[name]).demos if demo["language"] == "en"]
            after = adapt(step.predictor(before), "fr", lambda lines: [f"fr {line}" for line in lines]).demos
            pairs = list(zip(before, after, strict=True))
            kept |= {name for name in step.signature.output_fields if all(old[name] == new[name] for old, new in pairs)}
    assert kept == {"evidence", "missing"}
