"""What the shipped labels give each step to be compiled on."""

import pytest

from groundset.compiling.labels import label_files
from groundset.runtime.parser import load_parser
from optimizers.labels import ChunkLabel, QuestionLabel, read_labels
from optimizers.steps import COMPILABLE
from optimizers.steps.answer import NOT_STATED
from optimizers.steps.examples import Examples, examples_of
from programs.languages import LANGUAGES
from programs.languages.table import Languages

SPLITS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def examples() -> dict[str, Examples]:
    files = label_files(())
    chunks, questions = read_labels(ChunkLabel, files), read_labels(QuestionLabel, files)
    parsed, unparsed = Languages(LANGUAGES, load_parser("en-core-web-sm")), Languages(LANGUAGES)
    # Descriptions of names and openings need a parser; the other steps are quicker without.
    languages = {"reasoning": parsed, "question": parsed}
    return {
        step: examples_of(row, chunks, questions, languages.get(step, unparsed), seed=3)
        for step, row in COMPILABLE.items()
    }


def test_every_step_has_examples_in_each_split_and_keeps_documents_apart(examples: dict[str, Examples]) -> None:
    for step, found in examples.items():
        for split in SPLITS:
            assert found.inputs[split], step
            assert {row.split for row in found.inputs[split]} == {split}
        passages = [{row.passage for row in found.inputs[split]} for split in SPLITS]
        assert not passages[0] & passages[2], step
        assert not passages[1] & passages[2], step


def test_saying_not_stated_to_everything_is_no_good_answer(examples: dict[str, Examples]) -> None:
    for split in SPLITS:
        rows = examples["answer"].inputs[split]
        assert sum(row.answer == NOT_STATED for row in rows) == pytest.approx(0.2 * len(rows), abs=1)


@pytest.mark.parametrize("step", ["chunk", "judge"])
def test_deciding_steps_see_as_many_good_rows_as_bad_ones(examples: dict[str, Examples], step: str) -> None:
    for split in SPLITS:
        rows = examples[step].inputs[split]
        assert sum(row.fit for row in rows) * 2 == len(rows)


def test_demos_have_the_outputs_that_inputs_lack(examples: dict[str, Examples]) -> None:
    for demo in examples["question"].demos["train"][:20]:
        assert demo.question.endswith("?")
        assert demo.answer in demo.fact
        assert demo.question.startswith(demo.opening)
    assert "question" not in examples["question"].inputs["train"][0]
    assert examples["compress"].demos["train"] == []


def test_no_question_is_compiled_on_that_its_opening_asks_already(examples: dict[str, Examples]) -> None:
    """They would teach to copy: of such a row nothing is left to the model."""
    for split in SPLITS:
        inputs, demos = examples["question"].inputs[split], examples["question"].demos[split]
        assert not [row.opening for row in (*inputs, *demos) if len(row.opening.split()) > 4]
        assert not [demo.question for demo in demos if demo.question == f"{demo.opening}?"]
        assert sum(bool(row.opening) for row in inputs) >= 20, "but question words alone are left in"
        assert len({row.language for row in inputs}) > 1
    assert len(examples["question"].inputs["dev"]) >= 100


def test_a_refused_question_is_mended_towards_a_good_one_on_the_same_passage(examples: dict[str, Examples]) -> None:
    for demo in examples["rewrite"].demos["train"][:20]:
        assert demo.better_question != demo.question
        assert demo.feedback
        assert demo.answer in demo.passage
