"""Examples of all steps from shipped labels and gold rows."""

from typing import Any

import pytest

from groundset.compiling.labels import gold_files, label_files
from groundset.runtime.parser import load_parser
from optimizers.gold import GoldRow, read_gold
from optimizers.labels import ChunkLabel, QuestionLabel, read_labels
from optimizers.steps import COMPILABLE
from optimizers.steps.answer import NOT_STATED
from optimizers.steps.compress import CompressGold
from optimizers.steps.examples import Examples, examples_of, passages_of, source_of
from optimizers.steps.question import QuestionGold
from optimizers.steps.rewrite import RewriteGold
from programs.languages import LANGUAGES
from programs.languages.table import Languages
from programs.steps.follow_up import refers_back
from programs.text import plain, tokens
from programs.types import Focus

SPLITS = ("train", "dev", "test")
FACT = "The tide mill of Orsle stood still in 1712 because the sluice had rotted."
ASKED = "Why was the tide mill of Orsle still in 1712?"
PLACE: dict[str, Any] = {"document": "tide-mill", "chunk": "tide-mill-00", "language": "en", "split": "train"}


def mill_question(name: str, **more: Any) -> QuestionGold:
    fields = {"topic": "Orsle > Orsle", "before": "", "fact": FACT, "answer": "because the sluice had rotted"}
    return QuestionGold.model_validate(
        {**PLACE, **fields, "step": "question", "id": name, "question": ASKED, "kind": "why", **more}
    )


def examples_from(step: str, gold: list[GoldRow], texts: dict[str, str] | None = None) -> Examples:
    return examples_of(COMPILABLE[step], source_of([], [], gold, texts or {}, Languages(LANGUAGES)))


@pytest.fixture(scope="module")
def examples() -> dict[str, Examples]:
    files = label_files(())
    every = [*files, *gold_files()]
    texts = {label.id: label.text for label in read_labels(ChunkLabel, every)}
    rows = read_labels(ChunkLabel, files), read_labels(QuestionLabel, files), read_gold(GoldRow, every), texts
    parser = Languages(LANGUAGES, load_parser("en-core-web-sm"))
    unparsed = source_of(*rows, Languages(LANGUAGES))
    # These steps need a parser; the others are faster without. Linked sentences are slow to find.
    sources = {"reasoning": source_of(rows[0][::3], [], [], texts, parser), "question": source_of(*rows, parser)}
    return {
        step: examples_of(row, sources.get(step, unparsed), seed=3)
        for step, row in COMPILABLE.items()
        if not row.step.finetuned
    }


def test_examples_cover_all_splits_without_shared_passages(examples: dict[str, Examples]) -> None:
    for step, found in examples.items():
        for split in SPLITS:
            assert found.inputs[split], step
            assert {row.split for row in found.inputs[split]} == {split}
            assert {row.split for row in found.demos[split]} <= {split}
        passages = [{row.passage for row in (*found.inputs[split], *found.demos[split])} for split in SPLITS]
        assert not passages[0] & passages[2], step
        assert not passages[1] & passages[2], step


def test_one_in_five_answer_examples_is_unanswerable(examples: dict[str, Examples]) -> None:
    for split in SPLITS:
        rows = examples["answer"].inputs[split]
        assert sum(row.answer == NOT_STATED for row in rows) == pytest.approx(0.2 * len(rows), abs=1)


@pytest.mark.parametrize("step", ["chunk", "judge"])
def test_deciding_steps_have_balanced_examples(examples: dict[str, Examples], step: str) -> None:
    for split in SPLITS:
        rows = examples[step].inputs[split]
        assert sum(row.fit for row in rows) * 2 == len(rows)


def test_demos_have_outputs(examples: dict[str, Examples]) -> None:
    for demo in examples["question"].demos["train"][:20]:
        assert demo.question.endswith("?")
        assert demo.answer in demo.fact
        assert demo.question.startswith(demo.opening)
    assert "question" not in examples["question"].inputs["train"][0]
    assert [step for step, found in examples.items() if not found.demos["train"]] == ["reasoning"]


def test_no_opening_is_the_full_question(examples: dict[str, Examples]) -> None:
    for split in SPLITS:
        inputs, demos = examples["question"].inputs[split], examples["question"].demos[split]
        assert not [row.opening for row in (*inputs, *demos) if len(row.opening.split()) > 4]
        assert not [demo.question for demo in demos if demo.question == f"{demo.opening}?"]
        assert sum(bool(row.opening) for row in inputs) >= 20, "question words alone are kept"
        assert len({row.language for row in inputs}) > 1
    assert len(examples["question"].inputs["dev"]) >= 100


def test_rewrite_demos_change_the_question(examples: dict[str, Examples]) -> None:
    demos = examples["rewrite"].demos["train"]
    assert len(demos) > 100
    for demo in demos:
        assert demo.better_question != demo.question
        assert set(tokens(demo.better_question)) & set(tokens(demo.question)), demo.id
        assert demo.focus == Focus(sentence=demo.fact, answer=demo.answer)
        assert demo.fact in " ".join(demo.passage.split())


@pytest.mark.parametrize(("step", "fewest"), [("answer", 200), ("compress", 80), ("keyphrases", 75)])
def test_inputs_include_demos_and_labels(examples: dict[str, Examples], step: str, fewest: int) -> None:
    found = examples[step]
    for split in SPLITS:
        ids = [row.id for row in found.inputs[split]]
        assert len(ids) == len(set(ids))
        assert {row.id for row in found.demos[split]} <= set(ids)
    assert len(found.inputs["dev"]) >= fewest


@pytest.mark.parametrize("step", ["question", "answer"])
def test_demos_have_no_repeated_questions(examples: dict[str, Examples], step: str) -> None:
    for split in SPLITS:
        demos = examples[step].demos[split]
        assert len({(demo.document, demo.question) for demo in demos}) == len(demos)
    assert {demo.language for demo in examples[step].demos["train"]} >= {"en", "de", "fr", "es"}


def test_conditions_are_in_passage_and_kept_in_demos(examples: dict[str, Examples]) -> None:
    found = examples["conditional"]
    assert len(found.inputs["dev"]) >= 24
    assert all(set(tokens(row.condition)) <= set(tokens(row.passage)) for row in found.inputs["dev"])
    for demo in found.demos["train"]:
        kept = set(LANGUAGES[demo.language].content_words(demo.conditional_question))
        assert set(LANGUAGES[demo.language].content_words(f"{demo.question} {demo.condition}")) <= kept


def test_gold_follow_ups_refer_back(examples: dict[str, Examples]) -> None:
    found = examples["follow_up"]
    for demo in (demo for split in SPLITS for demo in found.demos[split]):
        first = f"{demo.question} {demo.answer}"
        assert refers_back(demo.follow_up, demo.stand_alone_question, first, LANGUAGES[demo.language]), demo.id
    assert set(found.inputs["dev"][0].inputs().keys()) == {"topic", "passage", "question", "answer", "answers"}


@pytest.mark.parametrize("step", ["premise", "resolve"])
def test_premises_and_resolutions_are_balanced(examples: dict[str, Examples], step: str) -> None:
    for split in SPLITS:
        rows = examples[step].inputs[split]
        assert sum(row.fit for row in rows) * 2 == len(rows)


def test_gold_question_has_inputs_of_a_run() -> None:
    rows: list[GoldRow] = [mill_question(str(n), document=f"mill-{n}") for n in range(40)]
    rows.append(mill_question("again", document="mill-0"))
    rows.append(mill_question("yes", kind="yes_no", reply="yes", question="Did it stand still?"))
    rows.append(mill_question("far", question="What stopped the monks' machine from grinding corn?"))
    text = f"## Orsle\n\nIt was built by monks. *{FACT}*"
    demos = examples_from("question", rows, {"tide-mill-00": text}).demos["train"]
    assert len(demos) == 40
    assert {demo.opening for demo in demos} == {"", "Why was"}
    for demo in demos:
        assert set(demo.inputs().keys()) == {"topic", "fact", "answer", "opening"}
        assert (demo.topic, demo.passage, demo.language) == ("Orsle", plain(text), "en")
        assert demo.focus == Focus(sentence=FACT, answer="because the sluice had rotted")


def test_rows_of_unknown_chunks_use_their_fact_or_are_skipped() -> None:
    short = {"question": f"For what reason was it that one {ASKED}", "short_question": "Why did the mill stand still?"}
    compress = CompressGold.model_validate({**PLACE, **short, "step": "compress", "id": "c"})
    rows: list[GoldRow] = [mill_question("q"), compress]
    assert [demo.passage for demo in examples_from("question", rows).demos["train"]] == [FACT]
    assert examples_from("compress", rows).demos["train"] == []
    assert passages_of(source_of([], [], rows, {}, Languages(LANGUAGES))) == [FACT]
    assert [demo.passage for demo in examples_from("compress", rows, {"tide-mill-00": "Mill."}).demos["train"]] == [
        "Mill."
    ]


def test_steps_ignore_gold_rows_of_other_steps() -> None:
    rewrite = RewriteGold.model_validate(
        {
            **mill_question("r").model_dump(exclude={"reply", "question"}),
            "step": "rewrite",
            "question": "Why did it stand still?",
            "feedback": "Name the mill.",
            "better_question": ASKED,
            "kind": "vague",
        }
    )
    for step in COMPILABLE.keys() - {"rewrite", "feedback"}:
        assert examples_from(step, [rewrite]) == examples_from(step, []), step
    for step in ("rewrite", "feedback"):
        assert len(examples_from(step, [rewrite]).inputs["train"]) == 1
