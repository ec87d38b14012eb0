"""Reading and validating gold rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundset.compiling.labels import gold_files, label_files
from groundset.data_files import data_path
from optimizers.gold import GoldRow, check, read_annotated, read_gold
from optimizers.labels import ChunkLabel, QuestionLabel, read_labels
from optimizers.steps import GOLD
from optimizers.steps.question import QuestionGold
from optimizers.steps.reword import RewordGold
from optimizers.steps.vary import VaryGold
from programs.errors import LabelError
from programs.languages import LANGUAGES
from programs.steps import STEPS
from programs.steps.reword import copied_words, wording_fault
from programs.steps.vary import wording_problem
from programs.text import plain

DATA = Path(__file__).parents[2] / "data"
SHIPPED = sorted((DATA / "gold").glob("*.jsonl"))
LABELS = sorted((DATA / "labels").glob("*.jsonl"))

PLACE = {"document": "tide-mill", "chunk": "tide-mill-00", "language": "en", "split": "train", "topic": "Orsle"}
PLACES = {"documents": ["tide-mill"], "chunks": ["tide-mill-00", "tide-mill-01"], "language": "en", "split": "train"}
PASSAGES = {**PLACES, "topics": ["Orsle", "Orsle > Mills"]}
FACT = "The tide mill of Orsle stood still in 1712 because the sluice had rotted."
ASKED = "Why did the tide mill of Orsle stand still in 1712?"
ROWS: dict[str, dict[str, Any]] = {
    "question": {
        **PLACE,
        "before": "It was built by monks.",
        "fact": FACT,
        "answer": "because the sluice had rotted",
        "question": ASKED,
        "kind": "why",
    },
    "answer": {**PLACE, "passage": FACT, "question": ASKED, "answer": "the sluice had rotted", "kind": "words"},
    "rewrite": {
        **PLACE,
        "before": "",
        "fact": FACT,
        "answer": "the sluice had rotted",
        "question": "Why did it stand still in 1712?",
        "feedback": "Name the tide mill of Orsle.",
        "better_question": ASKED,
        "kind": "vague",
    },
    "conditional": {
        **PLACE,
        "facts": ["The mill grinds at ebb.", "At neap tide it grinds at night only."],
        "question": "When does the tide mill of Orsle grind?",
        "condition": "at neap tide",
        "answer": "at night only",
        "conditional_question": "When does the tide mill of Orsle grind at neap tide?",
    },
    "reasoning": {
        **PLACE,
        "facts": ["The mill was built by Ana Rull.", "Rull drowned in 1719."],
        "name": "Ana Rull",
        "question": "When did Ana Rull drown?",
        "answer": "in 1719",
        "derived": False,
        "reasoning_question": "When did the builder of the tide mill of Orsle drown?",
        "kind": "bridge",
    },
    "compress": {
        **{key: value for key, value in PLACE.items() if key != "topic"},
        "question": "For what reason was it that the tide mill that stands at Orsle stood still in the year 1712?",
        "short_question": ASKED,
    },
    "keyphrases": {**PLACE, "passage": FACT, "keyphrases": ["the sluice had rotted", "tide mill of Orsle", "1712"]},
    "ask": {
        **PLACE,
        "before": "",
        "passage": FACT,
        "question": ASKED,
        "answer": "the sluice had rotted",
        "evidence": FACT,
        "answers": "short",
        "kind": "why",
    },
    "sound": {
        **PLACE,
        "before": "",
        "fact": FACT,
        "answer": "the sluice had rotted",
        "question": ASKED,
        "sound": True,
        "kind": "",
    },
    "split": {
        **PLACES,
        "question": "Who built the tide mill of Orsle, and when did it stand still?",
        "questions": ["Who built the tide mill of Orsle?", "When did the tide mill of Orsle stand still?"],
    },
    "multi_context": {
        **PLACES,
        "topic": "Orsle",
        "facts": ["The tide mill was built in 1631.", "The wind mill was built in 1702."],
        "gives": ["the year of the tide mill", "the year of the wind mill"],
        "compare": "which is older",
        "answer": "the tide mill",
        "question": "Which is older, the tide mill or the wind mill of Orsle?",
        "kind": "comparison",
    },
    "same": {
        **{key: value for key, value in PLACE.items() if key != "topic"},
        "first": ASKED,
        "second": "For which reason was the tide mill of Orsle not running in 1712?",
        "alike": True,
        "kind": "",
    },
    "agree": {
        **{key: value for key, value in PLACE.items() if key != "topic"},
        "question": ASKED,
        "first": "the sluice had rotted",
        "second": "the wheel had rotted",
        "alike": False,
        "kind": "fact",
    },
    "panel": {
        **{key: value for key, value in PLACE.items() if key != "topic"},
        "passage": FACT,
        "question": ASKED,
        "answer": "the sluice had rotted",
        "viewpoint": "accuracy",
        "approved": True,
        "kind": "",
    },
    "vary": {
        **{key: value for key, value in PLACE.items() if key != "topic"},
        "passage": FACT,
        "question": ASKED,
        "answer": "because the sluice had rotted",
        "wordings": ["The sluice had rotted."],
    },
    "reword": {
        **PLACE,
        "question": ASKED,
        "answer": "the sluice had rotted",
        "kind": "persona",
        "persona": "a miller",
        "wording": "What made the tide mill of Orsle stand still in 1712?",
    },
    "unanswerable": {
        **PLACE,
        "passage": FACT,
        "answered_question": ASKED,
        "missing": "who repaired the sluice",
        "question": "Who repaired the rotten sluice of the tide mill of Orsle?",
    },
    "premise": {
        **{key: value for key, value in PLACE.items() if key != "topic"},
        "first": FACT,
        "second": "Who repaired the wheel of the tide mill of Orsle after it had burnt?",
        "alike": False,
        "kind": "premise",
    },
    "follow_up": {
        **PLACE,
        "passage": FACT,
        "question": "What had rotted at the tide mill of Orsle?",
        "answer": "the sluice",
        "follow_up": "In which year did it stand still because of that?",
        "stand_alone_question": "In which year did the tide mill of Orsle stand still because its sluice had rotted?",
        "new_answer": "1712",
        "evidence": FACT,
        "answers": "short",
    },
    "resolve": {
        **{key: value for key, value in PLACE.items() if key != "topic"},
        "first": "User: What had rotted at the mill?\nAssistant: the sluice\nUser: When did it stand still?",
        "second": "When did the mill stand still?",
        "alike": True,
        "kind": "",
    },
    "describe": {
        **PLACE,
        "fact": FACT,
        "name": "tide mill of Orsle",
        "phrase": "the mill that stood still because its sluice had rotted",
    },
    "translate": {
        **{key: value for key, value in PLACE.items() if key != "topic"},
        "language": "de",
        "into": "German",
        "text": f"{ASKED}\nin 1712",
        "translation": "Warum stand die Gezeitenmühle von Orsle 1712 still?\nim Jahr 1712",
    },
    "clues": {**PLACE, "clue": ASKED, "example": "The mill had burnt down.", "description": "A pupil asks."},
    "relevance": {**PLACE, "question": ASKED, "relevant": True, "explanation": "the sluice had rotted"},
    "distil": {**PASSAGES, "question": ASKED, "needed": ["tide-mill-00"], "missing": ""},
    "profiles": {
        **PASSAGES,
        "dimensions": {"parameters": {"Form": {"description": "the form", "values": {"why": {"description": "why"}}}}},
        "question": ASKED,
        "profiles": [{"Form": "why"}],
    },
    "ask_profiled": {
        **PASSAGES,
        "clue": ASKED,
        "profile": "Form: choice (three options)",
        "question": ASKED,
        "options": ["the sluice had rotted", "the wheel had burnt", "the pond was dry"],
        "answer": "the sluice had rotted",
        "evidence": FACT,
    },
    "fits": {
        **PASSAGES,
        "profile": "Form: why (asks why)",
        "question": ASKED,
        "answer": "the sluice had rotted",
        "fits": True,
        "explanation": "",
        "kind": "",
    },
}


PROFILED = ("clues", "relevance", "distil", "profiles", "ask_profiled", "fits")


def row_of(step: str, **change: Any) -> dict[str, Any]:
    return {"step": step, "id": f"tide-mill-{step}-1", **ROWS[step], **change}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_valid_rows_of_all_steps(tmp_path: Path) -> None:
    file = write(tmp_path / "all.jsonl", *(row_of(step) for step in GOLD))
    assert check([file]) == []
    assert [row.key for row in read_annotated([file])] == [(f"tide-mill-{step}-1", 1) for step in GOLD]


@pytest.mark.parametrize(
    ("step", "change", "problem_part"),
    [
        ("question", {"answer": "the roof had rotted"}, "not in the fact"),
        ("question", {"answer": FACT}, "whole fact"),
        ("question", {"answer": "1712"}, "contains its answer: 1712"),
        ("question", {"question": "Why?  And when?"}, "question: "),
        ("question", {"kind": "riddle"}, "kind: "),
        ("sound", {"sound": False}, "kind"),
        ("sound", {"kind": "wrong"}, "kind"),
        ("question", {"kind": "yes_no"}, "reply"),
        ("question", {"reply": "Yes."}, "reply"),
        ("question", {"annotator": "me"}, "annotator: "),
        ("question", {"split": None}, "split: "),
        ("answer", {"answer": "the roof"}, "not in the passage"),
        ("answer", {"answer": "not stated"}, "not_stated"),
        ("answer", {"kind": "not_stated"}, "not_stated"),
        ("rewrite", {"question": ASKED}, "nothing was changed"),
        ("rewrite", {"feedback": "What mill?"}, "feedback"),
        ("rewrite", {"kind": "wrong_premise"}, "kind: "),
        ("conditional", {"answer": "at neap tide"}, "contains its answer"),
        ("conditional", {"conditional_question": ROWS["conditional"]["question"]}, "nothing was changed"),
        ("conditional", {"answer": "at dawn"}, "not in the fact"),
        ("reasoning", {"answer": "in 1720"}, "not in the fact"),
        ("reasoning", {"facts": ["one"]}, "facts.1: "),
        ("reasoning", {"answer": "builder"}, "contains its answer: builder"),
        ("compress", {"short_question": ROWS["compress"]["question"]}, "shorter"),
        ("keyphrases", {"keyphrases": ["1712", "roof", "Orsle"]}, "not in the passage: roof"),
        ("keyphrases", {"keyphrases": ["1712", "in 1712", "Orsle"]}, "part of another one: 1712"),
        ("keyphrases", {"keyphrases": ["1712"]}, "keyphrases: "),
        ("split", {"questions": [ASKED]}, "questions: "),
        ("split", {"questions": [ROWS["split"]["question"], ASKED]}, "nothing was changed"),
        ("multi_context", {"chunks": ["tide-mill-00"]}, "chunks"),
        ("multi_context", {"compare": ""}, "compare"),
        ("multi_context", {"kind": "bridge", "compare": ""}, "contains its answer: the tide mill"),
        ("same", {"alike": False}, "kind"),
        ("same", {"second": ASKED}, "nothing was changed"),
        ("agree", {"alike": True}, "kind"),
        ("panel", {"approved": False}, "kind"),
        ("panel", {"viewpoint": "style"}, "viewpoint: "),
        ("vary", {"wordings": ["Because the Sluice had rotted"]}, "repeats the answer"),
        ("vary", {"answer": "in 1712"}, "lacks a number of the answer"),
        ("vary", {"wordings": []}, "wordings: "),
        ("clues", {"example": ASKED}, "the example must be a statement"),
        ("clues", {"clue": "The mill."}, "clue: "),
        ("relevance", {"explanation": ""}, "explanation: "),
        ("distil", {"topics": ["Orsle"]}, "topics"),
        ("distil", {"needed": ["tide-mill-07"]}, "needed"),
        ("distil", {"needed": []}, "missing"),
        ("profiles", {"profiles": [{"Form": "how"}]}, "profile"),
        ("profiles", {"profiles": [{"Form": "why"}, {"Form": "why"}]}, "profile"),
        ("profiles", {"dimensions": {"parameters": {}}}, "dimensions.parameters: "),
        ("ask_profiled", {"answer": "the roof"}, "the answer is not among the options"),
        ("ask_profiled", {"answer": "in 1712", "options": []}, "contains its answer"),
        ("fits", {"fits": False}, "kind and explanation"),
        ("fits", {"kind": "form", "fits": False}, "kind and explanation"),
        ("describe", {"name": "water mill"}, "name"),
        ("follow_up", {"evidence": "The wheel had burnt."}, "evidence"),
        ("follow_up", {"stand_alone_question": "What had rotted at the tide mill of Orsle?"}, "nothing was changed"),
        ("unanswerable", {"question": ASKED}, "nothing was changed"),
        ("premise", {"kind": ""}, "kind names the difference"),
        ("reword", {"wording": ASKED}, "nothing was changed"),
        ("reword", {"answer": "stand still"}, "contains its answer"),
        ("reword", {"kind": "riddle"}, "kind: "),
        ("reword", {"persona": ""}, "persona and examples"),
        ("reword", {"examples": ["who has the key"]}, "persona and examples"),
        ("describe", {"phrase": "the tide mill of Orsle itself"}, "phrase"),
        ("translate", {"into": "French"}, "into French"),
        ("translate", {"translation": "Warum stand die Mühle still?\nim Jahr 1712"}, "lost 1712"),
    ],
)
def test_invalid_row_is_named(tmp_path: Path, step: str, change: dict[str, Any], problem_part: str) -> None:
    file = write(tmp_path / "gold.jsonl", row_of(step, **change))
    [problem] = check([file])
    assert str(problem).startswith(f"{file}, line 1: ")
    assert problem_part in problem.message
    with pytest.raises(LabelError, match="line 1"):
        read_gold(GoldRow, [file])


def test_shipped_wordings_pass_the_rules_of_a_run() -> None:
    texts = {row.id: row.text for row in read_labels(ChunkLabel, [*label_files(()), *gold_files()])}
    rows = read_gold(RewordGold, [data_path("gold", "reword.jsonl")])
    assert len(rows) >= 40
    for row in rows:
        language, passage = LANGUAGES[row.language], plain(texts[row.chunk])
        parts = {"topic": row.topic, "passage": passage, "persona": row.persona}
        assert wording_fault(row.style, language, row.question, row.wording, row.answer, **parts) is None, row.id
        known = f"{row.question} {row.topic} {passage}"
        assert copied_words(language, row.wording, row.examples, row.examples, known) == [], row.id


def test_unknown_step_is_named(tmp_path: Path) -> None:
    [problem] = check([write(tmp_path / "gold.jsonl", {**row_of("answer"), "step": "guess"})])
    assert "'guess'" in problem.message
    assert "agree, answer, " in problem.message


def test_ids_and_splits_are_checked_across_labels_and_gold(tmp_path: Path) -> None:
    label = {"document": "tide-mill", "text": FACT, "label": "good", "reason": "ok", "split": "test"}
    labels = write(tmp_path / "labels.jsonl", {**label, "id": "tide-mill-00"}, {**label, "id": "tide-mill-answer-1"})
    gold = write(tmp_path / "gold.jsonl", row_of("question"), row_of("answer", split="test"), row_of("split"))
    assert [problem.message for problem in check([labels, gold])] == [
        "document tide-mill is in two splits: test and train",
        "id tide-mill-answer-1 is already used in labels.jsonl, line 2",
        "document tide-mill is in two splits: test and train",
    ]


def test_read_gold_ignores_labels_and_other_steps(tmp_path: Path) -> None:
    label = {"id": "c", "document": "d", "text": FACT, "label": "good", "reason": "ok", "split": "test"}
    file = write(tmp_path / "all.jsonl", row_of("question"), row_of("answer"), label)
    assert [row.answer for row in read_gold(QuestionGold, [file])] == ["because the sluice had rotted"]
    assert [label.id for label in read_labels(ChunkLabel, [file])] == ["c"]


def test_gold_rows_have_fields_of_signature() -> None:
    # Gold rows of these steps have other fields: evolved or single questions, ``alike``, chunks by id, or no count.
    others = {"reasoning", "ask", "same", "agree", "premise", "resolve", "reword", "vary", *PROFILED}
    for step in GOLD.keys() - others:
        fields = {name for name, field in STEPS[step].signature.fields.items() if field.is_required()}
        assert fields <= GOLD[step].model_fields.keys(), step


def test_shipped_files_are_valid() -> None:
    assert check([*LABELS, *SHIPPED]) == []
    for file in SHIPPED:
        rows = [row for row in read_annotated([file]) if isinstance(row, GoldRow)]
        step = file.stem.partition("-")[0]  # a suffix names a part of the rows
        assert {row.step for row in rows} <= {step}
        assert bool(rows) == (step in GOLD)
        assert {row.split for row in rows} in ({"train", "dev", "test"}, set())


def test_shipped_wordings_keep_names_and_numbers() -> None:
    for row in read_gold(VaryGold, SHIPPED):
        for wording in row.wordings:
            language = LANGUAGES[row.language]
            assert wording_problem(wording, row.question, row.answer, row.passage, language) is None, wording


def test_shipped_chunks_contain_facts() -> None:
    gold = [DATA / "gold" / "chunks.jsonl", DATA / "gold" / "twins.jsonl"]
    chunks = {label.id: label for label in read_labels(ChunkLabel, [*LABELS, *gold])}
    for row in read_gold(QuestionGold, SHIPPED):
        chunk = chunks[row.chunk]
        assert (chunk.document, chunk.language, chunk.topic) == (row.document, row.language, row.topic), row.id
        assert row.fact in " ".join(plain(chunk.text).split()), row.id
    assert not [twin.id for twin in read_labels(QuestionLabel, gold) if twin.good]
